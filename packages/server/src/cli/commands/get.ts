import { getRecordOperation, recordNotFound } from '../../operations/records/get-record.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { dbFlag, requireName, requireRecordKey, tableFlag } from '../target/address.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { queryPages } from '../transfer/pages.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'

export const getCommand: CliCommand = {
  name: 'get',
  positionals: ['HASHKEY', '[RANGEKEY]'],
  summary: summaryOf(getRecordOperation),
  details: 'Prints the record, with its data exactly as it was sent.',
  flags: { db: dbFlag, table: tableFlag, ...remoteFlags },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const { hashKey, rangeKey } = requireRecordKey(args)
    // With a query: proxies would decode a slash of the key in a path.
    const query = { hash: JSON.stringify(hashKey), range: `{"eq":${JSON.stringify(rangeKey)}}` }
    for await (const { items } of queryPages(openRemote(args), db, table, query)) {
      if (items.length === 0) continue
      await writeTextToStdout(items[0]!)
      return 0
    }
    throw recordNotFound({ hashKey, rangeKey })
  },
}
