import { CubbyError } from '../../core/errors.ts'
import { noRangeKey } from '../../core/records/record-key.ts'
import type { CliCommand } from '../command.ts'
import { dbFlag, requireName, requireRecordKey, tableFlag } from '../target/address.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { queryPages } from '../transfer/pages.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'

export const getCommand: CliCommand = {
  name: 'get',
  positionals: ['HASHKEY', '[RANGEKEY]'],
  summary: 'print a record, its data as it was put',
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
    throw new CubbyError('record_not_found', 'There is no record of that key.', {
      hint: rangeKey === noRangeKey ? 'If it has a range key, give that too.' : undefined,
    })
  },
}
