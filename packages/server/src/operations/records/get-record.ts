import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { recordJson } from '../../core/records/record-json.ts'
import { noRangeKey, parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { type Access, parseAddress, requireTable, type TableAddress } from '../access.ts'
import { defineOperation } from '../operation.ts'

export interface GetRecordInput extends TableAddress, RecordKey {}

export const findRecord = (access: Access, input: GetRecordInput, nowMs: number): Awaitable<StoredRecord | undefined> =>
  andThen(requireTable(access, input, nowMs), (table) =>
    access.engine.records.get(table, input, nowMs, access.apiKey.seq),
  )

export const recordNotFound = ({ rangeKey }: RecordKey): CubbyError =>
  new CubbyError('record_not_found', 'There is no record with that key.', {
    hint: rangeKey === noRangeKey ? ['If it has a range key, ', { give: 'rangeKey' }, '.'] : undefined,
  })

export const getRecord = (access: Access, input: GetRecordInput, nowMs: number): Awaitable<StoredRecord> =>
  andThen(findRecord(access, input, nowMs), (record) => {
    if (record === undefined) throw recordNotFound(input)
    return record
  })

export const getRecordOperation = defineOperation({
  id: 'getRecord',
  area: 'records',
  summary: 'Get a record by its key',
  description: 'A record past its `ttl` does not exist.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The record.',
  codes: ['table_not_found', 'record_not_found'],
  parse(text): GetRecordInput {
    const { db, table, ...key } = parsePlainBody(text)
    const address = parseAddress(db, table)
    refuseUnknownMembers(key, ['hashKey', 'rangeKey'])
    return { ...address, ...parseRecordKey(key.hashKey, key.rangeKey) }
  },
  run: getRecord,
  present: (record) => recordJson(record),
})
