import { recordNotFound } from '../../operations/records/get-record.ts'
import type { CliCommand } from '../command.ts'
import { dbFlag, requireName, requireRecordKey, tableFlag } from '../target/address.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { queryKey } from '../transfer/pages.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

export const getCommand: CliCommand = {
  ...wordsOf('getRecord'),
  details: 'Prints the record, with its data exactly as it was sent.',
  flags: { db: dbFlag, table: tableFlag, ...remoteFlags },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const key = requireRecordKey(args)
    const record = await queryKey(openRemote(args), db, table, key)
    if (record === undefined) throw recordNotFound(key)
    await writeTextToStdout(record)
    return 0
  },
}
