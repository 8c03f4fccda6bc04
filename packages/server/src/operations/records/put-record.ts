import { type Members, parseObject } from '../../core/members.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import { recordJson } from '../../core/records/record-json.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { runThrough } from '../../core/steps.ts'
import { readIndexEntries } from '../../core/tables/indices.ts'
import { checkJson, isCheapToBuild, parseJson } from '../../core/text/json-scan.ts'
import { readEnvelope, type Span, valueSpan, walkObject } from '../../core/text/json-span.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, parseAddress, requireTable, type TableAddress, writeRecords } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition, preconditionFailed } from './condition.ts'

/** `data` stays the text that was sent: it is checked, but not turned into values. */
export const parsePut = (text: string, nowMs: number): RecordToPut => {
  if (isCheapToBuild(text)) return parseSmallPut(text, nowMs)
  checkJson(text)
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  return parseRecordToPut(parseObject(value), text, data, nowMs)
}

/** For a small body JSON.parse is the fastest. */
const parseSmallPut = (text: string, nowMs: number): RecordToPut => {
  const members = parseObject(parseJson(text))
  let span: Span | undefined
  walkObject(text, 0, '', (name, start) => {
    const value = valueSpan(text, start)
    if (name === 'data') span = value
    return value.end
  })
  const record = parseRecordToPut(members, text, span, nowMs)
  record.built = members.data as Members
  return record
}

export interface PutRecordInput extends TableAddress, RecordToPut {
  condition: Condition | undefined
}

export const putRecord = async (access: Access, input: PutRecordInput, nowMs: number): Promise<StoredRecord> => {
  const table = await requireTable(access, input, nowMs)
  const { hashKey, rangeKey, data, ttlSeconds, condition } = input
  const entries = readIndexEntries(table.indices, input)
  const put = { op: 'put' as const, hashKey, rangeKey, data, ttlSeconds, entries, condition }
  const written = await writeRecords(access, input, table, [put], nowMs)
  if (!written.applied) throw preconditionFailed(written.current)
  const { updatedAtMs } = written.results[0] as { updatedAtMs: number }
  return { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }
}

const parseInput = (text: string, nowMs: number): PutRecordInput => {
  checkJson(text)
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  const { db, table, ifUpdatedAt, ...members } = parseObject(value)
  const address = parseAddress(db, table)
  const record = parseRecordToPut(members, text, data, nowMs)
  return { ...address, ...record, condition: parseCondition(ifUpdatedAt) }
}

export const putRecordOperation = defineOperation({
  id: 'putRecord',
  area: 'records',
  summary: 'Put a record: create it or replace it',
  description:
    'Creates a record or replaces the existing one. When the answer is sent, the record is on disk and in every index. With a condition, it is written only if the condition holds; of several writers that name the same version, at most one succeeds.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The record.',
  codes: [
    'invalid_key',
    'invalid_index_value',
    'invalid_ttl',
    'table_not_found',
    'precondition_failed',
    'record_too_large',
  ],
  parse: parseInput,
  run: putRecord,
  present: (record) => recordJson(record),
})
