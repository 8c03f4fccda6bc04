import { bodyBytesMax } from '../../core/limits.ts'
import { type Members, parseObject } from '../../core/members.ts'
import { recordJson } from '../../core/records/record-json.ts'
import { parseRecordToPatch, type RecordToPatch } from '../../core/records/record-patch.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { runThrough } from '../../core/slices.ts'
import { checkJson } from '../../core/text/json-scan.ts'
import { type Envelope, readEnvelope } from '../../core/text/json-span.ts'
import type { Condition, PatchResult } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { bytesGranted } from '../authorize.ts'
import { firstOrder, firstOrderAt, inOrders, laterAt, secondOrderAt } from '../example.ts'
import { ofRecord } from '../grant-rules.ts'
import { requireTable, writeRecords } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { parseCondition, preconditionFailed } from './condition.ts'
import { clientKey, overtaken, paidOrder, wrongVersion } from './examples.ts'
import { patchNeeds } from './record-members.ts'
import { condition, recordSchemas } from './schemas.ts'

/** The members of a body, and the places of its objects. */
export const readBody = (text: string): Pick<Envelope, 'parts'> & { members: Members } => {
  checkJson(text)
  const { value, parts } = runThrough(readEnvelope(text, 0, ''))
  return { members: parseObject(value), parts }
}

export const parsePatch = (text: string, nowMs: number): RecordToPatch => {
  const { members, parts } = readBody(text)
  return parseRecordToPatch(members, text, parts, nowMs)
}

export interface PatchRecordInput extends TableAddress, RecordToPatch {
  condition: Condition | undefined
  /** The answer has no data. */
  isMinimal?: boolean
}

/** The most bytes that a patched record may have, if the grants of the caller limit it. */
export const patchedBytesMax = ({ apiKey }: Access, { db, name }: Table, hashKey: string): number | undefined =>
  bytesGranted(apiKey, { of: 'table', db, table: name, can: 'write', hash: hashKey })

export const patchRecord = async (access: Access, input: PatchRecordInput, nowMs: number): Promise<StoredRecord> => {
  const table = await requireTable(access, input, nowMs)
  const { hashKey, rangeKey, patch, condition, isMinimal } = input
  const { indices } = table
  const sizeMax = patchedBytesMax(access, table, hashKey)
  const change = { op: 'patch' as const, hashKey, rangeKey, patch, condition, indices, prefix: '', sizeMax }
  const written = await writeRecords(access, input, table, [{ ...change, wantsData: isMinimal !== true }], nowMs)
  if (!written.applied) throw preconditionFailed(written.current)
  const { data = '{}', ttlSeconds, updatedAtMs } = written.results[0] as PatchResult
  return { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }
}

const firstKey = { hashKey: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }

export const patchRecordOperation = defineOperation({
  id: 'patchRecord',
  area: 'records',
  summary: 'Patch a record: change a part of it',
  keyNeeded: 'write',
  grants: ofRecord('write'),
  effect: 'writes',
  route: {
    method: 'PATCH',
    path: '/v1/:db/:table',
    body: { schema: 'PatchRecordRequest', required: true, bytesMax: bodyBytesMax },
  },
  command: 'patch {hashKey} [{rangeKey}] --db {db} --table {table}',
  tool: 'patch_records',
  condition: 'put',
  idempotencyScope: 'table',
  respondsMinimal: true,
  version: ({ updatedAtMs }) => updatedAtMs,
  parse(text, nowMs): PatchRecordInput {
    const { members, parts } = readBody(text)
    const { db, table, ifUpdatedAt, ...change } = members
    const address = parseAddress(db, table)
    const record = parseRecordToPatch(change, text, parts, nowMs)
    return { ...address, ...record, condition: parseCondition(ifUpdatedAt) }
  },
  run: patchRecord,
  present: (record) => recordJson(record),
  describe: () => ({
    title: 'Patch a record',
    description:
      'Changes a part of a record; what the request does not name stays byte for byte as it was. A record that does not exist is created from `{}`. `merge` is a JSON Merge Patch, `increment` adds to numbers exactly, and `append` adds to the ends of arrays; they are applied in this order, all or none. Patches of the same record that race are applied one after another, and none is lost.',
    returns: 'The record.',
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'not_a_number',
      'not_an_array',
      'table_not_found',
      'precondition_failed',
      'record_too_large',
    ],
    minimalOutput: ref('MinimalRecord'),
    input: {
      ...inputOf(recordSchemas.PatchRecordRequest, { ...addressMembers, ...condition }, addressRequired),
      ...patchNeeds,
    },
    output: ref('StoredRecord'),
    client: {
      on: 'table',
      method: 'patch',
      result: 'record',
      args: ({ hashKey, rangeKey, ...change }, options) => [clientKey({ hashKey, rangeKey }), change, options],
    },
    examples: [
      {
        name: 'merge',
        summary: 'Change one field',
        input: { ...inOrders, ...firstKey, merge: { status: 'paid' } },
        output: { ...paidOrder, updatedAt: laterAt },
      },
      {
        name: 'count',
        summary: 'Count, in a record that need not exist',
        input: { ...inOrders, hashKey: 'visits', increment: { '/home': 1 } },
        output: { hashKey: 'visits', data: { home: 1 }, updatedAt: laterAt },
      },
      {
        name: 'append',
        summary: 'Append to an array, and remove the ttl',
        input: { ...inOrders, hashKey: 'draft', append: { '/lines': ['cup'] }, ttl: null },
        output: { hashKey: 'draft', data: { total: 0, lines: ['cup'] }, updatedAt: laterAt },
      },
      {
        name: 'version',
        summary: 'Change the version that was read',
        input: { ...inOrders, ...firstKey, ifUpdatedAt: firstOrderAt, increment: { '/total': 2 } },
        output: { ...firstOrder, data: { ...firstOrder.data, total: 42 }, updatedAt: laterAt },
      },
      {
        name: 'stock',
        summary: 'Take from a stock that never falls below 0',
        input: { ...inOrders, hashKey: 'cups', increment: { '/stock': { by: -1, min: 0 } } },
        error: {
          code: 'precondition_failed',
          message: 'increment["/stock"] would make it below min, 0; nothing was changed.',
          field: 'increment["/stock"]',
          hint: 'The number is 0. Send a patch whose sum is within the bounds.',
        },
      },
      {
        name: 'wrongVersion',
        summary: 'Change a version that is out of date',
        given: overtaken,
        input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt, merge: { status: 'paid' } },
        error: wrongVersion,
      },
      {
        name: 'notANumber',
        summary: 'An increment of a text',
        input: { ...inOrders, ...firstKey, increment: { '/status': 1 } },
        error: {
          code: 'not_a_number',
          message: 'increment["/status"] leads to "open"; it takes a number, or a member that is missing.',
          field: 'increment["/status"]',
          hint: 'Set the place to a number first; merge does it in the same request.',
        },
      },
      {
        name: 'notAnArray',
        summary: 'Append to a number',
        input: { ...inOrders, ...firstKey, append: { '/total': [1] } },
        error: {
          code: 'not_an_array',
          message: 'append["/total"] leads to 40; it takes an array, or a member that is missing.',
          field: 'append["/total"]',
          hint: 'Set the place to an array first; merge does it in the same request.',
        },
      },
      {
        name: 'arrayInIndex',
        summary: 'An indexed field that would hold an array',
        input: { ...inOrders, ...firstKey, merge: { status: ['open', 'paid'] } },
        error: {
          code: 'invalid_index_value',
          message: 'data.status is an array; index i1 takes a string, number or boolean.',
          field: 'data.status',
          hint: 'Store it under another field, or leave data.status out: the index is sparse.',
        },
      },
      {
        name: 'nothing',
        summary: 'Nothing to change',
        input: { ...inOrders, ...firstKey },
        error: {
          code: 'invalid_request',
          message: 'merge is missing; a patch takes merge, increment, append or ttl.',
          field: 'merge',
          hint: 'Give what changes: { "merge": { "status": "paid" } }.',
        },
      },
      {
        name: 'minimal',
        summary: 'Get an answer without data',
        input: { ...inOrders, hashKey: 'visits', increment: { '/home': 1 } },
        output: { hashKey: 'visits', updatedAt: laterAt },
        wants: 'minimal',
      },
    ],
  }),
})
