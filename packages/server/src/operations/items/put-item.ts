import { type Members, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { parseData, parseTtl, type RecordToPut } from '../../core/records/record-data.ts'
import { runThrough } from '../../core/steps.ts'
import { checkJson, isCheapToBuild, parseJson } from '../../core/text/json-scan.ts'
import { readEnvelope, shallowValue, valueSpan } from '../../core/text/json-span.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type PutRecordInput, putRecord } from '../records/put-record.ts'
import { parseItemAddress } from './get-item.ts'

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
  description:
    'Writes a record whose `data` is the document, exactly as it was sent; white space around the document is not part of it. Everything else is as for a put of a record: the indices of the table, `ttl`, conditions. An error names a field of the document as `data.status`.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The document.',
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
  present: ({ data }) => data,
})
