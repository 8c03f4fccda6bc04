import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { recordJson } from '../../core/records/record-json.ts'
import { noRangeKey, parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { shareOf } from '../../store/api-keys.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { draft, draftAt, firstOrder, firstOrderAt, inOrders } from '../example.ts'
import { ofRecord } from '../grant-rules.ts'
import { requireTable } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { clientKey } from './examples.ts'
import { keyMembers } from './schemas.ts'

export interface GetRecordInput extends TableAddress, RecordKey {}

export const findRecord = (access: Access, input: GetRecordInput, nowMs: number): Awaitable<StoredRecord | undefined> =>
  andThen(requireTable(access, input, nowMs), (table) =>
    access.engine.records.get(table, input, nowMs, shareOf(access.apiKey)),
  )

export const recordNotFound = ({ rangeKey }: RecordKey): CubbyError =>
  new CubbyError('record_not_found', 'There is no record with that key.', {
    hint: rangeKey === noRangeKey ? ['If it has a range key, ', { give: 'rangeKey' }, '.'] : undefined,
  })

const getRecord = (access: Access, input: GetRecordInput, nowMs: number): Awaitable<StoredRecord> =>
  andThen(findRecord(access, input, nowMs), (record) => {
    if (record === undefined) throw recordNotFound(input)
    return record
  })

export const getRecordOperation = defineOperation({
  id: 'getRecord',
  area: 'records',
  summary: 'Get a record by its key',
  keyNeeded: 'read',
  grants: ofRecord('read'),
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/:table/:hashKey/:rangeKey?' },
  command: 'get {hashKey} [{rangeKey}] --db {db} --table {table}',
  tool: 'get_records',
  condition: 'read',
  version: ({ updatedAtMs }) => updatedAtMs,
  parse(text): GetRecordInput {
    const { db, table, ...key } = parsePlainBody(text)
    const address = parseAddress(db, table)
    refuseUnknownMembers(key, ['hashKey', 'rangeKey'])
    return { ...address, ...parseRecordKey(key.hashKey, key.rangeKey) }
  },
  run: getRecord,
  present: (record) => recordJson(record),
  describe: () => ({
    title: 'Get a record',
    description: 'A record past its `ttl` does not exist.',
    returns: 'The record.',
    codes: ['table_not_found', 'record_not_found'],
    input: inputOf({}, { ...addressMembers, ...keyMembers }, [...addressRequired, 'hashKey']),
    output: ref('StoredRecord'),
    client: { on: 'table', method: 'findOne', result: 'record', args: (key) => [clientKey(key)] },
    examples: [
      {
        name: 'get',
        summary: 'A record without a range key',
        input: { ...inOrders, hashKey: 'draft' },
        output: { ...draft, updatedAt: draftAt },
      },
      {
        name: 'absent',
        summary: 'No such record',
        input: { ...inOrders, hashKey: 'ada' },
        error: {
          code: 'record_not_found',
          message: 'There is no record with that key.',
          hint: ['If it has a range key, ', { give: 'rangeKey' }, '.'],
        },
      },
      {
        name: 'get',
        summary: 'A record with a range key',
        input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-1' },
        output: { ...firstOrder, updatedAt: firstOrderAt },
      },
      {
        name: 'absent',
        summary: 'No such record',
        input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-9' },
        error: { code: 'record_not_found', message: 'There is no record with that key.' },
      },
      {
        name: 'unchanged',
        summary: 'A copy that is still current',
        input: { ...inOrders, hashKey: 'draft' },
        version: draftAt,
        wants: 'changes',
      },
      {
        name: 'unchanged',
        summary: 'A copy that is still current',
        input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-1' },
        version: firstOrderAt,
        wants: 'changes',
      },
    ],
  }),
})
