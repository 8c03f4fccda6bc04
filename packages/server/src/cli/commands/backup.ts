import { resolve } from 'node:path'
import type { BackupContents } from '../../store/closed-store.ts'
import { type Arguments, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printNote } from '../print.ts'
import { findTargetStore, storeFlags } from '../target/store.ts'
import { showCount } from '../transfer/progress.ts'
import { openByteOutput } from '../transfer/write-lines.ts'

export const backupCreateCommand: CliCommand = {
  name: 'backup create',
  positionals: ['FILE'],
  summary: 'copy the store into one file, also while the server runs',
  details: `The file holds the whole store, all organizations, as it was at one moment. It is checked and synced before
it gets its name. An existing file is not overwritten. Only hashes of the API keys are in it.
- as FILE is standard output: cubby backup create - | gzip > FILE. The copy is checked before the first byte
is written; the summary goes to standard error.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    if (args.positionals[0] === '-') return writeToOutput(args)
    const file = resolve(args.positionals[0]!)
    const store = await findTargetStore(args)
    const contents = await store.createBackup(file)
    printLine(report(args, { file, ...contents }, `wrote ${file}`))
    return 0
  },
}

const writeToOutput = async (args: Arguments): Promise<number> => {
  if (process.stdout.isTTY) {
    throw new UsageError('standard output is a terminal; write to a pipe: cubby backup create - | gzip > FILE')
  }
  const store = await findTargetStore(args)
  const contents = await store.streamBackup(openByteOutput())
  printNote(report(args, { file: '-', ...contents }, 'wrote to standard output'))
  return 0
}

export const backupRestoreCommand: CliCommand = {
  name: 'backup restore',
  positionals: ['FILE'],
  summary: 'create a data directory from a backup',
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store.
- as FILE is standard input: gunzip -c FILE | cubby backup restore -. A backup that was cut is rejected.
API keys are as they were at the backup: revoke again what was revoked since.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const [file] = args.positionals
    if (file === '-' && process.stdin.isTTY) {
      throw new UsageError('standard input is a terminal; read from a pipe: gunzip -c FILE | cubby backup restore -')
    }
    const backup = file === '-' ? { name: 'standard input', bytes: process.stdin } : resolve(file!)
    const store = await findTargetStore(args)
    const contents = await store.restoreBackup(backup)
    const data = store.describe()
    printLine(report(args, { data, ...contents }, `restored ${data}`))
    return 0
  },
}

const report = (args: Arguments, facts: BackupContents & { file?: string; data?: string }, what: string): string => {
  if (args.flag('json')) return JSON.stringify(facts)
  const { organizations, tables, records, bytes } = facts
  const counts = [showCount(organizations, 'organization'), showCount(tables, 'table'), showCount(records)].join(', ')
  return `${what}: ${counts}, ${(bytes / 1_000_000).toFixed(1)} MB, verified`
}
