import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { newBlobId } from '../../core/files/blob-id.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { parseIsoDateTime } from '../../core/text/iso-date-time.ts'
import { verifyArchive, verifyBackup } from '../../engines/open-engine.ts'
import { requireNames } from '../../operations/transfer/check-names.ts'
import {
  type CopiedFiles,
  checkFiles,
  copyFiles,
  hasFiles,
  hasFilesInBlobStore,
} from '../../operations/transfer/copy-files.ts'
import type { BlobStore } from '../../store/blob-store.ts'
import type { ArchiveReport, BackupContents, WithCopy } from '../../store/closed-store.ts'
import type { Dump } from '../../store/transfer.ts'
import { type Arguments, type Flag, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printNote } from '../print.ts'
import { blobStoreUrlAt, filesFlag, openBlobStoreAt } from '../target/blob-store.ts'
import { findTargetStore, storeFlags, storeLocation } from '../target/store.ts'
import { noteTasks } from '../transfer/note-tasks.ts'
import { fileProgress, type Progress, withProgress } from '../transfer/progress.ts'
import { showCount, showForeign, showMegabytes } from '../transfer/progress-line.ts'
import { putToStdout } from '../transfer/write-lines.ts'

const withoutFilesFlag: Flag = { type: 'boolean', help: 'leave the bytes of files out that are not in the store' }

/** Returns the directory in which a backup has the bytes of files. */
const filesOfBackup = (file: string): string => `${file}.files`

const blobStoreUrlOf = (args: Arguments): string => blobStoreUrlAt(storeLocation(args), args.text('files'))!

const refuseFiles = async (args: Arguments, copy: Dump, why: string): Promise<void> => {
  if (args.flag('without-files') || !(await hasFilesInBlobStore(copy))) return
  throw withFiles(why)
}

const withFiles = (why: string): OperatorError =>
  new OperatorError(`the store has files: ${why}, or leave them out with --without-files`)

/** The line of progress of a command, and what `bringFiles` has done, for the summary. */
class Transferred {
  readonly progress: Progress
  files: CopiedFiles | undefined

  constructor(progress: Progress) {
    this.progress = progress
  }

  get facts(): FileFacts {
    return this.files === undefined ? {} : { fileBytes: this.files.bytes, filesCopied: this.files.copied }
  }
}

interface FileFacts {
  fileBytes?: number
  /** Those that were not there already. */
  filesCopied?: number
}

/**
 * Copies the bytes of all files between two places. The target gets the mark of the store, which is in the copy. The place of a
 * restored store gets `newMark`, which the next attempt would not know: last, so that an interrupted restore can be repeated.
 */
const bringFiles =
  (args: Arguments, from: string, to: string, transferred: Transferred, ofAnyStore = false): WithCopy =>
  async (copy, newMark) => {
    await requireNames(copy)
    if (args.flag('without-files')) return requireBytesInStore(copy)
    if (!(await hasFilesInBlobStore(copy))) {
      transferred.files = await copyFiles(copy, undefined)
      return
    }
    const mark = await copy.fileMark()
    if (mark === undefined) throw new OperatorError('the store has files, but no mark of their place; see cubby verify')
    if (!from.includes('://') && !existsSync(from)) {
      throw new OperatorError(`there is no directory ${from} with the bytes of files; --without-files leaves them out`)
    }
    const [source, target] = [await openBlobStoreAt(from), await openBlobStoreAt(to)]
    try {
      await requireMark(source, ofAnyStore ? undefined : mark)
      if (newMark === undefined) await markTarget(target, mark)
      else if ((await target.readMark()) !== undefined) throw otherStore(target)
      // Makes a directory that is not there yet.
      else await (await target.write(newBlobId(Date.now()))).abort()
      const onBytes = await fileProgress(transferred.progress, copy, 'copying files')
      transferred.files = await copyFiles(copy, { from: source, to: target }, ({ bytes }) => onBytes(bytes))
      await markTarget(target, newMark ?? mark)
    } finally {
      await source.close()
      await target.close()
    }
  }

const markTarget = async (blobStore: BlobStore, mark: string): Promise<void> => {
  if ((await blobStore.writeMark(mark)) !== mark) throw otherStore(blobStore)
}

/** A backup with the bytes of its files is checked with them; one without them has no directory. */
const checkBytesOf =
  (file: string, checked: FileFacts, progress: Progress): WithCopy =>
  async (copy) => {
    await requireNames(copy)
    const from = filesOfBackup(file)
    const isInBlobStore = await hasFilesInBlobStore(copy)
    if (isInBlobStore && !existsSync(from)) return requireBytesInStore(copy)
    const blobStore = isInBlobStore ? await openBlobStoreAt(from) : undefined
    try {
      if (blobStore !== undefined) await requireMark(blobStore, (await copy.fileMark())!)
      const refuse = ({ line }: { line: string }): never => {
        throw new OperatorError(line)
      }
      const { bytes } = await checkFiles(
        copy,
        blobStore,
        true,
        refuse,
        await fileProgress(progress, copy, 'checking files'),
      )
      checked.fileBytes = bytes
    } finally {
      await blobStore?.close()
    }
  }

/** The bytes that the store keeps are part of every copy of it: a damaged one is no backup. */
const requireBytesInStore = async (copy: Dump): Promise<void> => {
  await checkFiles(copy, undefined, true, ({ line }) => {
    throw new OperatorError(`${line}; see cubby verify`)
  })
}

/**
 * A store that had files in a place has its mark, also if none is left there. The place of the restored store gets it: without
 * it a server would take the place for a wrong one.
 */
const markBlobStore = async (args: Arguments, copy: Dump, mark: string, to: string): Promise<void> => {
  if ((await copy.fileMark()) === undefined || args.flag('without-files') || (await hasFilesInBlobStore(copy))) return
  const blobStore = await openBlobStoreAt(to)
  try {
    await markTarget(blobStore, mark)
  } finally {
    await blobStore.close()
  }
}

/** `mark`: undefined if that of any store will do. */
const requireMark = async (blobStore: BlobStore, mark: string | undefined): Promise<void> => {
  const found = await blobStore.readMark()
  if (found === undefined) throw new OperatorError(`${blobStore.description} has no mark: it is not the place of files`)
  if (mark !== undefined && found !== mark) throw otherStore(blobStore)
}

const otherStore = ({ description }: BlobStore): OperatorError =>
  new OperatorError(`${description} has the files of another store`)

const createCommand: CliCommand = {
  name: 'backup create',
  positionals: ['FILE'],
  summary: 'copy the store, also while the server runs',
  details: `FILE holds the whole store, all organizations, as it was at one moment. It is checked and synced before
it gets its name. An existing file is not overwritten. Only hashes of the API keys are in it, but the secrets
and authorization headers of tasks are in it as they are.
The bytes of files are copied to the directory FILE.files first. Bytes that are there already are not copied
again, so backups of the same store may share the directory: cp -rl LAST.files NEXT.files saves the time.
FILE may be -, for standard output: cubby backup create - | gzip > FILE. The copy is checked before the
first byte is written, and the summary goes to standard error. Bytes of files cannot be written there: a
store with files needs --without-files.`,
  example: 'cubby backup create cubby-2026-01-05.db',
  flags: { ...storeFlags, files: filesFlag, 'without-files': withoutFilesFlag, json: jsonFlag },
  async run(args) {
    if (args.positionals[0] === '-') return writeToOutput(args)
    const file = resolve(args.positionals[0]!)
    const store = await findTargetStore(args)
    const facts = await withProgress(async (progress) => {
      const transferred = new Transferred(progress)
      const withFiles = bringFiles(args, blobStoreUrlOf(args), filesOfBackup(file), transferred)
      const contents = await store.createBackup(file, withFiles, progress)
      return { file, ...contents, ...transferred.facts }
    })
    printLine(report(args, facts, `wrote ${file}`))
    return 0
  },
}

const writeToOutput = async (args: Arguments): Promise<number> => {
  if (process.stdout.isTTY) {
    throw new UsageError('standard output is a terminal; write to a pipe: cubby backup create - | gzip > FILE')
  }
  const store = await findTargetStore(args)
  const requireNoFiles: WithCopy = async (copy) => {
    await requireNames(copy)
    // The check includes small files, which are in the store: a script must not find out with the first large one.
    if (!args.flag('without-files') && (await hasFiles(copy))) {
      throw withFiles('standard output has no room for the bytes of its files; write to a FILE')
    }
    await requireBytesInStore(copy)
  }
  const contents = await withProgress((progress) => {
    let written = 0
    const write = async (bytes: Uint8Array): Promise<void> => {
      if (written === 0) progress.step('writing to standard output', undefined, 'byte')
      await putToStdout(bytes)
      written += bytes.length
      progress.show(written, () => undefined)
    }
    return store.streamBackup(write, requireNoFiles, progress)
  })
  printNote(report(args, { file: '-', ...contents }, 'wrote to standard output'))
  return 0
}

const restoreCommand: CliCommand = {
  name: 'backup restore',
  positionals: ['[FILE]'],
  summary: 'create a data directory from a backup, or from an archive',
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store. A
copy with triggers, views or changed tables is refused.
The bytes of files are read from the directory FILE.files.
FILE may be -, for standard input: gunzip -c FILE | cubby backup restore -. A cut one is rejected.
API keys are as they were at the backup: revoke again what was revoked since. Tasks and runs are as they were
too, so a server repeats what was done since. To look at the store first, start it with --no-tasks.
Give --from DIR and --at TIME instead of FILE to restore the store as it was at that time from an archive,
which cubby serve --archive DIR writes. The restored store has every write that was answered before TIME
and none that arrived after it. --files then names where the server has the bytes of files. The files of that
time are copied to the new data directory.`,
  example: 'cubby backup restore cubby-2026-01-05.db --data ./restored',
  flags: {
    ...storeFlags,
    from: { type: 'string', value: 'DIR', help: 'the archive of cubby serve --archive' },
    at: { type: 'string', value: 'TIME', help: 'with --from: epoch milliseconds or an ISO-8601 date-time' },
    files: filesFlag,
    'without-files': withoutFilesFlag,
    json: jsonFlag,
  },
  async run(args) {
    const [file] = args.positionals
    if (args.text('from') !== undefined || args.text('at') !== undefined) return restoreMoment(args)
    if (file === undefined) throw new UsageError('FILE is missing; give a backup, or --from DIR and --at TIME')
    if (file === '-' && process.stdin.isTTY) {
      throw new UsageError('standard input is a terminal; read from a pipe: gunzip -c FILE | cubby backup restore -')
    }
    const backup = file === '-' ? { name: 'standard input', bytes: process.stdin } : resolve(file!)
    const store = await findTargetStore(args)
    const blobStoreUrl = blobStoreUrlOf(args)
    const data = store.describe()
    const facts = await withProgress(async (progress) => {
      const transferred = new Transferred(progress)
      const withCopy: WithCopy = async (copy, newMark) => {
        if (file === '-') {
          await requireNames(copy)
          await refuseFiles(args, copy, 'standard input has no bytes of its files; give the FILE')
          await requireBytesInStore(copy)
        } else await bringFiles(args, filesOfBackup(resolve(file!)), blobStoreUrl, transferred)(copy, newMark)
        await markBlobStore(args, copy, newMark!, blobStoreUrl)
      }
      return { data, ...(await store.restoreBackup(backup, withCopy, progress)), ...transferred.facts }
    })
    printLine(report(args, facts, `restored ${data}`))
    noteTasks(facts.tasks)
    return 0
  },
}

const restoreMoment = async (args: Arguments): Promise<number> => {
  const [archive, at] = [args.text('from'), args.text('at')]
  if (args.positionals.length > 0) throw new UsageError('FILE and --from exclude each other')
  if (archive === undefined) throw new UsageError('--from is missing: the directory of the archive')
  if (at === undefined) throw new UsageError('--at is missing: the time to restore')
  const moment = { archive: resolve(archive), atMs: parseAt(at) }
  const store = await findTargetStore(args)
  const to = blobStoreUrlAt(storeLocation(args), undefined)!
  const withCopy =
    (transferred: Transferred): WithCopy =>
    async (copy, newMark) => {
      const from = args.text('files')
      if (from === undefined && !args.flag('without-files') && (await hasFilesInBlobStore(copy))) {
        const why = 'give the place of the bytes of files of the archived server with --files'
        throw new OperatorError(`the store of that time has files: ${why}, or leave them out with --without-files`)
      }
      // The store may have been restored since that time: then its place has another mark. All bytes are compared.
      await bringFiles(args, from ?? to, to, transferred, true)(copy, newMark)
      await markBlobStore(args, copy, newMark!, to)
    }
  const data = store.describe()
  const facts = await withProgress(async (progress) => {
    const transferred = new Transferred(progress)
    const contents = await store.restoreBackup(moment, withCopy(transferred), progress)
    return { data, at: moment.atMs, ...contents, ...transferred.facts }
  })
  printLine(report(args, facts, `restored ${data} as of ${new Date(moment.atMs).toISOString()}`))
  noteTasks(facts.tasks)
  return 0
}

const parseAt = (text: string): number => {
  const ms = /^[0-9]{1,15}$/.test(text) ? Number(text) : parseIsoDateTime(text)
  if (ms !== undefined && ms <= timeMsMax) return ms
  throw new UsageError(`--at is "${text}"; it takes epoch milliseconds or an ISO-8601 date-time`)
}

/** The end of the year 9999. */
const timeMsMax = 253_402_300_799_999

const verifyCommand: CliCommand = {
  name: 'backup verify',
  positionals: ['PATH'],
  summary: 'check a backup, or an archive',
  details: `A file is checked as a restore checks it, in a copy beside it that is removed again. A directory is an
archive of cubby serve --archive. Every file of it is read and compared with its digest, and the times
that can be restored are listed, with the gaps between them. The server may write the archive meanwhile.
The exit code is 1 if something is damaged or missing. The bytes of files are read from the directory
FILE.files. If a backup has no such directory, the summary says that it is without the bytes.`,
  example: 'cubby backup verify cubby-2026-01-05.db',
  flags: { json: jsonFlag },
  async run(args) {
    const path = resolve(args.positionals[0]!)
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
      const checked: FileFacts = {}
      const contents = await withProgress((progress) =>
        verifyBackup(path, checkBytesOf(path, checked, progress), progress),
      )
      printLine(report(args, { file: path, ...contents, ...checked }, path))
      return 0
    }
    const found = await withProgress((progress) => verifyArchive(path, progress))
    if (args.flag('json')) printLine(JSON.stringify({ archive: path, ...found }))
    else for (const line of archiveLines(path, found)) printLine(line)
    return found.findings.length === 0 ? 0 : 1
  },
}

const archiveLines = (path: string, { findings, notes, ranges, gaps, twice }: ArchiveReport): string[] => {
  const time = (ms: number): string => new Date(ms).toISOString()
  const lines = [...findings, ...notes]
  ranges.forEach(({ fromMs, toMs, bases, segments }) => {
    const parts = `${showCount(bases, 'base')}, ${showCount(segments, 'segment')}`
    lines.push(`restorable from ${time(fromMs)} to ${time(toMs)}: ${parts}`)
  })
  for (const { fromMs, toMs, reason } of gaps) lines.push(`gap from ${time(fromMs)} to ${time(toMs)}: ${reason}`)
  for (const { fromMs, toMs } of twice) {
    lines.push(
      `not restorable from ${time(fromMs)} to ${time(toMs)}: the clock of the server was set back, and they were twice`,
    )
  }
  if (ranges.length === 0) lines.push('nothing can be restored: there is no complete base yet')
  if (findings.length === 0) lines.push(`ok: ${path}`)
  return lines
}

type Facts = BackupContents & FileFacts & { file?: string; data?: string; at?: number }

const report = (args: Arguments, facts: Facts, what: string): string => {
  if (args.flag('json')) return JSON.stringify(facts)
  const { organizations, tables, records, buckets, files, tasks, runs, bytes } = facts
  const counts = [showCount(organizations, 'organization'), showCount(tables, 'table'), showCount(records)]
  if (buckets > 0) counts.push(showCount(buckets, 'bucket'), `${showCount(files, 'file')}${showFiles(facts)}`)
  if (tasks > 0) counts.push(showCount(tasks, 'task'), showCount(runs, 'run'))
  return `${what}: ${counts.join(', ')}, ${showMegabytes(bytes)}, verified${showForeign(facts.foreign)}`
}

const showFiles = ({ files, fileBytes, filesCopied }: Facts): string => {
  if (files === 0) return ''
  if (fileBytes === undefined) return ' without their bytes'
  return ` (${showMegabytes(fileBytes)}${filesCopied === undefined ? '' : `, ${filesCopied} copied`})`
}

export const backupCommands: CliCommand[] = [createCommand, restoreCommand, verifyCommand]
