import { bodyBytesMax } from '../../core/limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { parseData, parseTtl, type RecordToPut } from '../../core/records/record-data.ts'
import { runThrough } from '../../core/slices.ts'
import { checkJson, isCheapToBuild, parseJson } from '../../core/text/json-scan.ts'
import { readEnvelope, shallowValue, valueSpan } from '../../core/text/json-span.ts'
import { firstOrderAt, laterAt, secondOrder, secondOrderAt } from '../example.ts'
import { ofPut } from '../grant-rules.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type PutRecordInput, putRecord } from '../records/put-record.ts'
import { ttl } from '../records/record-members.ts'
import { condition } from '../records/schemas.ts'
import { inputOf, ref } from '../schema.ts'
import { collection, first, overtaken, paid, profile, second, wrongVersion } from './examples.ts'
import { parseItemAddress } from './get-item.ts'
import { itemMembers, itemRequired } from './schemas.ts'

/**
 * A text that is the document and nothing else. It is stored as it was sent, without the white space around it, so it is
 * checked but not turned into values: see `parsePut`.
 */
export const parseDocument = (text: string): Pick<RecordToPut, 'data' | 'built'> => {
  if (isCheapToBuild(text)) {
    const built = parseJson(text)
    return { data: parseData(built, text, valueSpan(text, 0), 'data'), built: built as Members }
  }
  checkJson(text)
  const span = valueSpan(text, 0)
  return { data: parseData(shallowValue(text, span), text, span, 'data') }
}

const parseInput = (text: string, nowMs: number): PutRecordInput => {
  checkJson(text)
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  const members = parseObject(value)
  refuseUnknownMembers(members, ['collection', 'id', 'rangeKey', 'data', 'ttl', 'ifUpdatedAt'])
  return {
    ...parseItemAddress(members),
    data: parseData(members.data, text, data, 'data'),
    ttlSeconds: parseTtl(members.ttl, 'ttl', nowMs),
    condition: parseCondition(members.ifUpdatedAt),
  }
}

export const putItemOperation = defineOperation({
  id: 'putItem',
  area: 'items',
  summary: 'Put an item: create it or replace it',
  keyNeeded: 'write',
  grants: ofPut,
  effect: 'writes',
  route: {
    method: 'PUT',
    path: '/api/collections/:collection/items/:id',
    query: ['rangeKey', 'ttl'],
    body: { schema: 'Item', required: true, bytesMax: bodyBytesMax, member: 'data' },
  },
  condition: 'put',
  idempotencyScope: 'table',
  respondsMinimal: true,
  version: ({ updatedAtMs }) => updatedAtMs,
  parse: parseInput,
  run: putRecord,
  present: ({ data }) => data,
  describe: () => ({
    title: 'Put an item',
    description:
      'Writes a record whose `data` is the document, exactly as it was sent; white space around the document is not part of it. Everything else is as for a put of a record: the indices of the table, `ttl`, conditions. An error names a field of the document as `data.status`.',
    returns: 'The document.',
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'table_not_found',
      'precondition_failed',
      'record_too_large',
    ],
    input: inputOf({}, { ...itemMembers, data: ref('Item'), ttl, ...condition }, [...itemRequired, 'data']),
    output: ref('Item'),
    examples: [
      {
        name: 'put',
        summary: 'Write an item',
        input: { collection, id: 'bob', data: profile },
        output: profile,
        version: laterAt,
      },
      {
        name: 'expiring',
        summary: 'Write an item that expires',
        input: { collection, id: 'session-7', data: { user: 'ada' }, ttl: 4102444800 },
        output: { user: 'ada' },
        version: laterAt,
      },
      {
        name: 'replace',
        summary: 'Replace the version that was read',
        input: { ...first, ifUpdatedAt: firstOrderAt, data: paid },
        output: paid,
        version: laterAt,
      },
      {
        name: 'create',
        summary: 'Create, never replace',
        input: { collection, id: 'bob', ifUpdatedAt: null, data: profile },
        output: profile,
        version: laterAt,
      },
      {
        name: 'wrongVersion',
        summary: 'Replace a version that is out of date',
        given: overtaken,
        input: { ...second, ifUpdatedAt: secondOrderAt, data: secondOrder.data },
        error: wrongVersion,
      },
      {
        name: 'notAnObject',
        summary: 'A document that is not an object',
        input: { collection, id: 'bob', data: ['new'] },
        error: {
          code: 'invalid_request',
          message: 'data is an array; it takes a JSON object.',
          field: 'data',
          hint: 'Wrap it: { "value": … }.',
        },
      },
      {
        name: 'arrayInIndex',
        summary: 'An indexed field that holds an array',
        input: { collection, id: 'bob', data: { status: ['open', 'paid'] } },
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
        input: { collection, id: 'bob', data: { name: 'Bob' } },
        version: laterAt,
        wants: 'minimal',
      },
    ],
  }),
})
