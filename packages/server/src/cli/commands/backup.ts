import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { OperatorError } from '../../core/operator-error.ts'
import { type CopiedFiles, copyFiles, hasFiles } from '../../operations/transfer/copy-files.ts'
import type { BlobPlace } from '../../store/blob-place.ts'
import type { BackupContents, WithCopy } from '../../store/closed-store.ts'
import type { Dump } from '../../store/transfer.ts'
import { type Arguments, type Flag, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printNote } from '../print.ts'
import { filesFlag, openPlaceAt, placeOf } from '../target/place.ts'
import { findTargetStore, storeFlags, storeLocation } from '../target/store.ts'
import { noteTasks } from '../transfer/note-tasks.ts'
import { showCount } from '../transfer/progress.ts'
import { openByteOutput } from '../transfer/write-lines.ts'

const withoutFilesFlag: Flag = { type: 'boolean', help: 'leave the bytes of files out' }

/** Where a backup has the bytes of files. */
const filesOfBackup = (file: string): string => `${file}.files`

const placeOfStore = (args: Arguments): string => placeOf(storeLocation(args), args.text('files'))!

const refuseFiles = async (args: Arguments, copy: Dump, why: string): Promise<void> => {
  if (args.flag('without-files') || !(await hasFiles(copy))) return
  throw new OperatorError(`the store has files: ${why}, or leave them out with --without-files`)
}

/** What `bringFiles` has done, for the summary. */
class Brought {
  files: CopiedFiles | undefined

  get facts(): FileFacts {
    return this.files === undefined ? {} : { fileBytes: this.files.bytes, filesCopied: this.files.copied }
  }
}

interface FileFacts {
  fileBytes?: number
  /** Those that were not there already. */
  filesCopied?: number
}

/** Copies the bytes of all files between two places. The target gets the mark of the store, which is in the copy. */
const bringFiles =
  (args: Arguments, from: string, to: string, brought: Brought): WithCopy =>
  async (copy) => {
    if (args.flag('without-files') || !(await hasFiles(copy))) return
    const mark = await copy.fileMark()
    if (mark === undefined) throw new OperatorError('the store has files, but no mark of their place; see cubby verify')
    if (!from.includes('://') && !existsSync(from)) {
      throw new OperatorError(`there is no directory ${from} with the bytes of files; --without-files leaves them out`)
    }
    const [source, target] = [await openPlaceAt(from), await openPlaceAt(to)]
    try {
      await requireMark(source, mark)
      if ((await target.writeMark(mark)) !== mark) throw otherStore(target)
      brought.files = await copyFiles(copy, source, target)
    } finally {
      await source.close()
      await target.close()
    }
  }

const requireMark = async (place: BlobPlace, mark: string): Promise<void> => {
  const found = await place.readMark()
  if (found === undefined) throw new OperatorError(`${place.description} has no mark: it is not the place of files`)
  if (found !== mark) throw otherStore(place)
}

const otherStore = ({ description }: BlobPlace): OperatorError =>
  new OperatorError(`${description} has the files of another store`)

export const backupCreateCommand: CliCommand = {
  name: 'backup create',
  positionals: ['FILE'],
  summary: 'copy the store, also while the server runs',
  details: `FILE holds the whole store, all organizations, as it was at one moment. It is checked and synced before
it gets its name. An existing file is not overwritten. Only hashes of the API keys are in it, but the secrets
and authorization headers of tasks are in it as they are.
The bytes of files go to the directory FILE.files before that; those that are there already are not copied
again, so backups of the same store may share it: cp -rl LAST.files NEXT.files saves the time.
- as FILE is standard output: cubby backup create - | gzip > FILE. The copy is checked before the first byte
is written; the summary goes to standard error. It has no bytes of files: a store with files needs
--without-files for it.`,
  flags: { ...storeFlags, files: filesFlag, 'without-files': withoutFilesFlag, json: jsonFlag },
  async run(args) {
    if (args.positionals[0] === '-') return writeToOutput(args)
    const file = resolve(args.positionals[0]!)
    const store = await findTargetStore(args)
    const brought = new Brought()
    const contents = await store.createBackup(file, bringFiles(args, placeOfStore(args), filesOfBackup(file), brought))
    printLine(report(args, { file, ...contents, ...brought.facts }, `wrote ${file}`))
    return 0
  },
}

const writeToOutput = async (args: Arguments): Promise<number> => {
  if (process.stdout.isTTY) {
    throw new UsageError('standard output is a terminal; write to a pipe: cubby backup create - | gzip > FILE')
  }
  const store = await findTargetStore(args)
  const contents = await store.streamBackup(openByteOutput(), (copy) =>
    refuseFiles(args, copy, 'standard output has no room for the bytes of its files; write to a FILE'),
  )
  printNote(report(args, { file: '-', ...contents }, 'wrote to standard output'))
  return 0
}

export const backupRestoreCommand: CliCommand = {
  name: 'backup restore',
  positionals: ['FILE'],
  summary: 'create a data directory from a backup',
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store.
The bytes of files are read from the directory FILE.files.
- as FILE is standard input: gunzip -c FILE | cubby backup restore -. A backup that was cut is rejected.
API keys are as they were at the backup: revoke again what was revoked since. Tasks and their runs are too: a
server repeats what was done since. To look at the store without that, start it with --no-tasks.`,
  flags: { ...storeFlags, files: filesFlag, 'without-files': withoutFilesFlag, json: jsonFlag },
  async run(args) {
    const [file] = args.positionals
    if (file === '-' && process.stdin.isTTY) {
      throw new UsageError('standard input is a terminal; read from a pipe: gunzip -c FILE | cubby backup restore -')
    }
    const backup = file === '-' ? { name: 'standard input', bytes: process.stdin } : resolve(file!)
    const store = await findTargetStore(args)
    const brought = new Brought()
    const contents = await store.restoreBackup(
      backup,
      file === '-'
        ? (copy) => refuseFiles(args, copy, 'standard input has no bytes of its files; give the FILE')
        : bringFiles(args, filesOfBackup(resolve(file!)), placeOfStore(args), brought),
    )
    const data = store.describe()
    printLine(report(args, { data, ...contents, ...brought.facts }, `restored ${data}`))
    noteTasks(contents.tasks)
    return 0
  },
}

type Facts = BackupContents & FileFacts & { file?: string; data?: string }

const report = (args: Arguments, facts: Facts, what: string): string => {
  if (args.flag('json')) return JSON.stringify(facts)
  const { organizations, tables, records, buckets, files, tasks, runs, bytes } = facts
  const counts = [showCount(organizations, 'organization'), showCount(tables, 'table'), showCount(records)]
  if (buckets > 0) counts.push(showCount(buckets, 'bucket'), `${showCount(files, 'file')}${showFiles(facts)}`)
  if (tasks > 0) counts.push(showCount(tasks, 'task'), showCount(runs, 'run'))
  return `${what}: ${counts.join(', ')}, ${showMegabytes(bytes)}, verified`
}

const showFiles = ({ files, fileBytes, filesCopied }: Facts): string => {
  if (files === 0) return ''
  if (fileBytes === undefined) return ' without their bytes'
  return ` (${showMegabytes(fileBytes)}, ${filesCopied} copied)`
}

const showMegabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`
