import { OperatorError } from '../../core/operator-error.ts'
import { findStore, type StoreLocation } from '../../engines/open-engine.ts'
import { makeMark } from '../../files/blob-stores/check-mark.ts'
import { requireNames } from '../../operations/transfer/check-names.ts'
import { copyFiles, hasFilesInBlobStore } from '../../operations/transfer/copy-files.ts'
import { type CopiedRows, compareStores, copyStore } from '../../operations/transfer/copy-store.ts'
import type { ClosedStore } from '../../store/closed-store.ts'
import type { Engine } from '../../store/engine.ts'
import { holdingSweep } from '../../store/hold-sweep.ts'
import type { Dump } from '../../store/transfer.ts'
import { type Arguments, givenAs, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine } from '../print.ts'
import { blobStoreUrlAt, filesFlag, openBlobStoreAt, openBlobStoreOf } from '../target/blob-store.ts'
import { noteTasks } from '../transfer/note-tasks.ts'
import { Progress } from '../transfer/progress.ts'
import { showCount, showRate } from '../transfer/progress-line.ts'

const parseLocation = (args: Arguments, flag: 'from' | 'to'): StoreLocation => {
  const text = args.text(flag)
  if (text === undefined) throw new UsageError(`--${flag} is missing; it takes a data directory or a postgres:// URL`)
  return /^[a-z]+:\/\//i.test(text)
    ? { data: '', store: text, storeGivenAs: givenAs(args, flag) }
    : { data: text, store: undefined }
}

const refuseFilled = async (engine: Engine, store: ClosedStore): Promise<void> => {
  if ((await engine.organizations.list()).length === 0) return
  throw new OperatorError(`the store at ${store.describe()} is not empty; --resume continues an interrupted copy`)
}

export const copyCommand: CliCommand = {
  name: 'copy',
  summary: 'copy a whole store into another one, also between the engines',
  details: `Copies organizations, API keys, tables, buckets and tasks (deleted ones too), records, files and runs with
their versions and times, from one snapshot of the source, and then compares both stores. API keys, cursors,
signed URLs, leases and the secrets that sign pushes keep working. The copy does not contain what is written
to the source after it began: stop the source's servers first. If servers run on both stores, both run the
tasks: start one of them with cubby serve --no-tasks. The files of a data directory are in DIR/files.
--files names where the other store has its files.`,
  example: 'cubby copy --from ./cubby-data --to postgres://cubby@127.0.0.1/cubby --files s3://bucket/files',
  flags: {
    from: { type: 'string', value: 'STORE', help: 'a data directory or postgres://user:password@host/db' },
    to: { type: 'string', value: 'STORE', help: 'the same; this store must be empty' },
    files: {
      ...filesFlag,
      help: 'the place of files of the store that is not a data directory; otherwise of the target',
    },
    'from-files': { type: 'string', value: 'PLACE', help: 'the place of the source, if --files is that of the target' },
    resume: { type: 'boolean', help: 'continue an interrupted copy; the store may hold part of it' },
    json: jsonFlag,
  },
  async run(args) {
    const [from, to] = [parseLocation(args, 'from'), parseLocation(args, 'to')]
    const [sourceStore, targetStore] = [await findStore(from), await findStore(to)]
    const progress = new Progress()
    const source = await sourceStore.open({ role: 'guest', mustExist: true, requiresOwnSchema: true })
    try {
      const target = await targetStore.open({ role: 'owner' })
      try {
        if (!args.flag('resume')) await refuseFilled(target, targetStore)
        return await holdingSweep(source, () =>
          copyAndCompare({
            source,
            target,
            progress,
            json: args.flag('json'),
            blobStores: blobStoreUrlsOf(args, from, to),
          }),
        )
      } finally {
        await target.close()
      }
    } finally {
      progress.clear()
      await source.close()
    }
  },
}

interface BlobStoreUrls {
  from: string | undefined
  to: string | undefined
}

/**
 * A data directory has its files in it. `--files` is for the store that has no such place; if both have one, for the target.
 */
const blobStoreUrlsOf = (args: Arguments, from: StoreLocation, to: StoreLocation): BlobStoreUrls => {
  const [given, givenFrom] = [args.text('files'), args.text('from-files')]
  const isForSource = givenFrom === undefined && from.store !== undefined && to.store === undefined
  return {
    from: blobStoreUrlAt(from, givenFrom ?? (isForSource ? given : undefined)),
    to: blobStoreUrlAt(to, isForSource ? undefined : given),
  }
}

/** Copies files before the records: a copy never refers to bytes that are not there. */
const bringFiles = async (dump: Dump, source: Engine, target: Engine, { from, to }: BlobStoreUrls): Promise<number> => {
  if (!(await hasFilesInBlobStore(dump))) return (await copyFiles(dump, undefined)).files
  if (from === undefined) throw new UsageError('the source has files; give their place with --from-files')
  if (to === undefined) throw new UsageError('the source has files; give the place for their copies with --files')
  const sourceBlobStore = await openBlobStoreOf(source, from)
  const targetBlobStore = await openBlobStoreAt(to)
  try {
    await makeMark(targetBlobStore, target.files)
    const { files } = await copyFiles(dump, { from: sourceBlobStore, to: targetBlobStore })
    return files
  } finally {
    await sourceBlobStore.close()
    await targetBlobStore.close()
  }
}

interface Copy {
  source: Engine
  target: Engine
  progress: Progress
  json: boolean
  blobStores: BlobStoreUrls
}

const copyAndCompare = async ({ source, target, progress, json, blobStores }: Copy): Promise<number> => {
  const dump = await source.transfer.openDump()
  try {
    await requireNames(dump)
    let all = await dump.countRuns()
    for await (const table of dump.tables()) all += await dump.countRecords(table.id)
    progress.begin()
    const files = await bringFiles(dump, source, target, blobStores)
    const rows = await copyStore(dump, target, (copied) => progress.show(copied, () => copied / Math.max(1, all)))
    progress.clear()
    const copiedMs = progress.elapsedMs
    const copy = await target.transfer.openDump()
    const differences: string[] = []
    for await (const difference of compareStores(dump, copy)) differences.push(difference)
    await copy.close()
    if (json) printJson({ ok: differences.length === 0, ...rows, files, differences })
    else {
      printLine(`copied ${[showRate(rows.records, copiedMs), ...showOthers(rows, files)].join(' and ')}`)
      for (const difference of differences) printLine(difference)
      if (differences.length === 0) printLine('compared: the two stores are equal')
    }
    noteTasks(rows.tasks)
    return differences.length === 0 ? 0 : 1
  } finally {
    await dump.close()
  }
}

const showOthers = ({ tasks, runs }: CopiedRows, files: number): string[] => [
  ...(tasks > 0 ? [`${showCount(tasks, 'task')} with ${showCount(runs, 'run')}`] : []),
  ...(files > 0 ? [showCount(files, 'file')] : []),
]
