import { bodyBytesMax } from '../../core/limits.ts'
import { parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { type Patch, parsePatchMembers } from '../../core/records/patch.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { parseRecordToPatch } from '../../core/records/record-patch.ts'
import { checkJson } from '../../core/text/json-scan.ts'
import { shallowValue, valueSpan } from '../../core/text/json-span.ts'
import { firstOrderAt, laterAt, secondOrderAt } from '../example.ts'
import { ofRecord } from '../grant-rules.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type PatchRecordInput, patchRecord, readBody } from '../records/patch-record.ts'
import { ttl } from '../records/record-members.ts'
import { condition } from '../records/schemas.ts'
import { inputOf, ref } from '../schema.ts'
import { collection, first, overtaken, paid, second, wrongVersion } from './examples.ts'
import { parseItemAddress } from './get-item.ts'
import { itemMembers, itemRequired } from './schemas.ts'

/** A text that is the merge and nothing else. */
export const parseMerge = (text: string): Patch => {
  checkJson(text)
  const span = valueSpan(text, 0)
  parseObject(shallowValue(text, span))
  return parsePatchMembers({ merge: text.slice(span.start, span.end) }, '')
}

const parseInput = (text: string, nowMs: number): PatchRecordInput => {
  const { members, parts } = readBody(text)
  refuseUnknownMembers(members, ['collection', 'id', 'rangeKey', 'merge', 'ttl', 'ifUpdatedAt'])
  const { hashKey, rangeKey, ...address } = parseItemAddress(members)
  const { merge, ttl } = members
  // Here it is a parameter of the URL, which has no null: unlike `ttl` of a patch, it removes nothing.
  parseTtl(ttl, 'ttl', nowMs)
  const { patch } = parseRecordToPatch({ hashKey, rangeKey, merge, ttl }, text, parts, nowMs)
  return { ...address, hashKey, rangeKey, patch, condition: parseCondition(members.ifUpdatedAt) }
}

export const patchItemOperation = defineOperation({
  id: 'patchItem',
  area: 'items',
  summary: 'Patch an item: merge a document into it',
  keyNeeded: 'write',
  grants: ofRecord('write'),
  effect: 'writes',
  route: {
    method: 'PATCH',
    path: '/api/collections/:collection/items/:id',
    query: ['rangeKey', 'ttl'],
    body: { schema: 'Item', required: true, bytesMax: bodyBytesMax, member: 'merge' },
  },
  condition: 'put',
  idempotencyScope: 'table',
  respondsMinimal: true,
  version: ({ updatedAtMs }) => updatedAtMs,
  parse: parseInput,
  run: patchRecord,
  present: ({ data }) => data,
  describe: () => ({
    title: 'Patch an item',
    description:
      'Merges the document into that of the item, as `merge` of a patch of its record does (JSON Merge Patch): objects are merged, null removes, everything else replaces, and what is not named stays byte for byte. An item that does not exist is created. Without `ttl` the present one stays.',
    returns: 'The document.',
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'table_not_found',
      'precondition_failed',
      'record_too_large',
    ],
    input: inputOf({}, { ...itemMembers, merge: ref('Item'), ttl, ...condition }, [...itemRequired, 'merge']),
    output: ref('Item'),
    examples: [
      {
        name: 'merge',
        summary: 'Change one field',
        input: { ...first, merge: { status: 'paid' } },
        output: paid,
        version: laterAt,
      },
      {
        name: 'change',
        summary: 'Change the version that was read, and remove a field',
        input: { ...first, ifUpdatedAt: firstOrderAt, merge: { status: 'paid', placedAt: null } },
        output: { status: 'paid', total: 40 },
        version: laterAt,
      },
      {
        name: 'wrongVersion',
        summary: 'Change a version that is out of date',
        given: overtaken,
        input: { ...second, ifUpdatedAt: secondOrderAt, merge: { status: 'paid' } },
        error: wrongVersion,
      },
      {
        name: 'arrayInIndex',
        summary: 'An indexed field that would hold an array',
        input: { ...first, merge: { status: ['open', 'paid'] } },
        error: {
          code: 'invalid_index_value',
          message: 'data.status is an array; index i1 takes a string, number or boolean.',
          field: 'data.status',
          hint: 'Store it under another field, or leave data.status out: the index is sparse.',
        },
      },
      {
        name: 'minimal',
        summary: 'Get an answer without a body',
        input: { collection, id: 'bob', merge: { name: 'Bob' } },
        version: laterAt,
        wants: 'minimal',
      },
    ],
  }),
})
