import { bodyBytesMax } from '../../core/limits.ts'
import { type Members, parseObject } from '../../core/members.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import { recordJson } from '../../core/records/record-json.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { runThrough } from '../../core/slices.ts'
import { readIndexEntries } from '../../core/tables/indices.ts'
import { checkJson, isCheapToBuild, parseJson } from '../../core/text/json-scan.ts'
import { readEnvelope, type Span, valueSpan, walkObject } from '../../core/text/json-span.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { firstOrderAt, inOrders, laterAt, secondOrder, secondOrderAt } from '../example.ts'
import { ofPut } from '../grant-rules.ts'
import { requireTable, writeRecords } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { parseCondition, preconditionFailed } from './condition.ts'
import { overtaken, paidOrder, session, thirdOrder, wrongVersion } from './examples.ts'
import { condition, recordSchemas } from './schemas.ts'

/** `data` stays the text that was sent: it is checked, but not turned into values. */
export const parsePut = (text: string, nowMs: number): RecordToPut => {
  if (isCheapToBuild(text)) return parseSmallPut(text, nowMs)
  checkJson(text)
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  return parseRecordToPut(parseObject(value), text, data, nowMs)
}

/** JSON.parse is the fastest for a small body. */
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
  keyNeeded: 'write',
  grants: ofPut,
  effect: 'writes',
  route: {
    method: 'PUT',
    path: '/v1/:db/:table',
    body: { schema: 'PutRecordRequest', required: true, bytesMax: bodyBytesMax },
  },
  command: 'put {hashKey} [{rangeKey}] --db {db} --table {table}',
  tool: 'put_records',
  condition: 'put',
  idempotencyScope: 'table',
  respondsMinimal: true,
  version: ({ updatedAtMs }) => updatedAtMs,
  parse: parseInput,
  run: putRecord,
  present: (record) => recordJson(record),
  describe: () => ({
    title: 'Put a record',
    description:
      'Creates a record or replaces the existing one. When the answer is sent, the record is on disk and in every index. With a condition, it is written only if the condition holds; of several writers that name the same version, at most one succeeds.',
    returns: 'The record.',
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'table_not_found',
      'precondition_failed',
      'record_too_large',
    ],
    minimalOutput: ref('MinimalRecord'),
    input: inputOf(recordSchemas.PutRecordRequest, { ...addressMembers, ...condition }, addressRequired),
    output: ref('StoredRecord'),
    client: { on: 'table', method: 'save', result: 'record' },
    examples: [
      {
        name: 'put',
        summary: 'Write a record',
        input: { ...inOrders, ...thirdOrder },
        output: { ...thirdOrder, updatedAt: laterAt },
      },
      {
        name: 'expiring',
        summary: 'Write a record that expires, without a range key',
        input: { ...inOrders, ...session },
        output: { ...session, updatedAt: laterAt },
      },
      {
        name: 'replace',
        summary: 'Replace the version that was read',
        input: { ...inOrders, ifUpdatedAt: firstOrderAt, ...paidOrder },
        output: { ...paidOrder, updatedAt: laterAt },
      },
      {
        name: 'create',
        summary: 'Create, never replace',
        input: { ...inOrders, ifUpdatedAt: null, ...thirdOrder },
        output: { ...thirdOrder, updatedAt: laterAt },
      },
      {
        name: 'wrongVersion',
        summary: 'Replace a version that is out of date',
        given: overtaken,
        input: { ...inOrders, ifUpdatedAt: secondOrderAt, ...secondOrder },
        error: wrongVersion,
      },
      {
        name: 'typo',
        summary: 'A field that is not known',
        input: { ...inOrders, hashKey: 'bob', dat: {} },
        error: {
          code: 'invalid_request',
          message: 'dat is not a field of this request.',
          field: 'dat',
          hint: 'Put the contents of the record into data. Known fields: hashKey, rangeKey, data, ttl.',
        },
      },
      {
        name: 'noKey',
        summary: 'No hash key',
        input: { ...inOrders, data: {} },
        error: {
          code: 'invalid_key',
          message: 'hashKey is missing; it takes a string.',
          field: 'hashKey',
          hint: 'Give hashKey as a string of 1 to 1024 bytes.',
        },
      },
      {
        name: 'arrayInIndex',
        summary: 'An indexed field that holds an array',
        input: { ...inOrders, hashKey: 'bob', data: { status: ['open', 'paid'] } },
        error: {
          code: 'invalid_index_value',
          message: 'data.status is an array; index i1 takes a string, number or boolean.',
          field: 'data.status',
          hint: 'Store it under another field, or leave data.status out: the index is sparse.',
        },
      },
      {
        name: 'millisecondsAsTtl',
        summary: 'A ttl in milliseconds',
        input: { ...inOrders, hashKey: 'bob', data: {}, ttl: 4102444800000 },
        error: {
          code: 'invalid_ttl',
          message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
          field: 'ttl',
          hint: 'It looks like milliseconds; give seconds: 4102444800.',
        },
      },
      {
        name: 'minimal',
        summary: 'Get an answer without data',
        input: { ...inOrders, hashKey: 'bob', rangeKey: 'o-3', data: { status: 'open' } },
        output: { hashKey: 'bob', rangeKey: 'o-3', updatedAt: laterAt },
        wants: 'minimal',
      },
    ],
  }),
})
