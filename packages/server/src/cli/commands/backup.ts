import { resolve } from 'node:path'
import type { BackupContents } from '../../store/closed-store.ts'
import { type Arguments, jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine } from '../print.ts'
import { findTargetStore, storeFlags } from '../target/store.ts'
import { showCount } from '../transfer/progress.ts'

export const backupCreateCommand: CliCommand = {
  name: 'backup create',
  positionals: ['FILE'],
  summary: 'copy the store into one file, also while the server runs',
  details: `The file holds the whole store, all organizations, as it was at one moment. It is checked and synced before
it gets its name. An existing file is not overwritten. Only hashes of the API keys are in it.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const file = resolve(args.positionals[0]!)
    const store = await findTargetStore(args)
    const contents = await store.createBackup(file)
    report(args, { file, ...contents }, `wrote ${file}`)
    return 0
  },
}

export const backupRestoreCommand: CliCommand = {
  name: 'backup restore',
  positionals: ['FILE'],
  summary: 'create a data directory from a backup',
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store.
API keys are as they were at the backup: revoke again what was revoked since.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const store = await findTargetStore(args)
    const contents = await store.restoreBackup(resolve(args.positionals[0]!))
    const data = store.describe()
    report(args, { data, ...contents }, `restored ${data}`)
    return 0
  },
}

const report = (args: Arguments, facts: BackupContents & { file?: string; data?: string }, what: string): void => {
  if (args.flag('json')) {
    printJson(facts)
    return
  }
  const { organizations, tables, records, bytes } = facts
  const counts = [showCount(organizations, 'organization'), showCount(tables, 'table'), showCount(records)].join(', ')
  printLine(`${what}: ${counts}, ${(bytes / 1_000_000).toFixed(1)} MB, verified`)
}
