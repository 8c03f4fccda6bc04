import { describeLocation, openEngine, type StoreLocation } from '../../engines/open-engine.ts'
import { compareStores, copyStore } from '../../operations/transfer/copy-store.ts'
import type { Engine } from '../../store/engine.ts'
import {
  type Arguments,
  type CliCommand,
  CommandFailed,
  jsonFlag,
  printJson,
  printLine,
  UsageError,
} from '../command.ts'
import { Progress, showRate } from '../transfer/progress.ts'

const parsePlace = (args: Arguments, flag: 'from' | 'to'): StoreLocation => {
  const place = args.text(flag)
  if (place === undefined) throw new UsageError(`--${flag} is missing; it takes a data directory or a postgres:// URL`)
  return /^[a-z]+:\/\//i.test(place) ? { data: '', store: place } : { data: place, store: undefined }
}

const refuseFilled = async (target: Engine, place: StoreLocation): Promise<void> => {
  if ((await target.organizations.list()).length === 0) return
  throw new CommandFailed(
    `the store at ${describeLocation(place)} is not empty; --resume goes on with a copy that was interrupted`,
  )
}

export const copyCommand: CliCommand = {
  name: 'copy',
  summary: 'copy a whole store into another, embedded or PostgreSQL, either way',
  details: `Organizations, API keys, tables (soft-deleted ones too) and records with their versions and times
come along, from one snapshot of the source, and the two are compared at the end. Keys and cursors go on
working. What is written to the source after the copy has begun is not in it: stop its servers first.`,
  flags: {
    from: { type: 'string', value: 'PLACE', help: 'a data directory or postgres://user:password@host/db' },
    to: { type: 'string', value: 'PLACE', help: 'the same; the store there must be empty' },
    resume: { type: 'boolean', help: 'go on with an interrupted copy into a store that is not empty' },
    json: jsonFlag,
  },
  async run(args) {
    const [from, to] = [parsePlace(args, 'from'), parsePlace(args, 'to')]
    const progress = new Progress()
    const source = await openEngine(from, { role: 'guest', mustExist: true })
    try {
      const target = await openEngine(to, { role: 'owner' })
      try {
        if (!args.flag('resume')) await refuseFilled(target, to)
        return await copyAndCompare(source, target, progress, args.flag('json'))
      } finally {
        await target.close()
      }
    } finally {
      progress.clear()
      await source.close()
    }
  },
}

const copyAndCompare = async (source: Engine, target: Engine, progress: Progress, json: boolean): Promise<number> => {
  const dump = await source.transfer.openDump()
  try {
    let all = 0
    for await (const table of dump.tables()) all += await dump.countRecords(table.id)
    progress.begin()
    const records = await copyStore(dump, target, (copied) => progress.show(copied, () => copied / Math.max(1, all)))
    progress.clear()
    const copiedMs = progress.elapsedMs
    const copy = await target.transfer.openDump()
    const differences: string[] = []
    for await (const difference of compareStores(dump, copy)) differences.push(difference)
    await copy.close()
    if (json) printJson({ ok: differences.length === 0, records, differences })
    else {
      printLine(`copied ${showRate(records, copiedMs)}`)
      for (const difference of differences) printLine(difference)
      if (differences.length === 0) printLine('compared: the two stores are equal')
    }
    return differences.length === 0 ? 0 : 1
  } finally {
    await dump.close()
  }
}
