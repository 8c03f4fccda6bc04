import { andThen } from '../../core/awaitable.ts'
import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import {
  bodyBytesMax,
  toolFieldsMax,
  toolRecordsMax,
  toolResponseBytesMax,
  toolRowsDefault,
  toolRowsMax,
} from '../../core/limits.ts'
import { parseLimit } from '../../core/members.ts'
import { parseQuery } from '../../core/records/query.ts'
import { headJson, recordJson } from '../../core/records/record-json.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { valueSpan, walkObject } from '../../core/text/json-span.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress } from '../../operations/access.ts'
import { findRecords, parseBuiltFind, parseFind } from '../../operations/records/find-records.ts'
import { type QueryRecordsInput, queryRecords } from '../../operations/records/query-records.ts'
import { fittingRecord, itemsBytesMax, keysBytesAtMost, keysJson, refuseLongKeys, takeFitting } from './fitting.ts'
import {
  anyObject,
  bool,
  closedObject,
  cursorIn,
  cursorOut,
  db,
  described,
  integer,
  keyOut,
  list,
  object,
  recordKey,
  recordOut,
  text,
} from './schemas.ts'
import type { Tool, ToolCall } from './tool.ts'

/** Refuses more records or keys than one call may have. */
export const refuseTooMany = (count: number, field: string): void => {
  if (count <= toolRecordsMax) return
  throw new CubbyError('batch_too_large', `${field} has ${count} elements; it takes at most ${toolRecordsMax}.`, {
    field,
    hint: `Send ${toolRecordsMax} at a time.`,
  })
}

/** Keys that take at most so much are not counted. */
const smallKeysBytes = 10_000

/** The answer if surely all of it fits, as nearly every one does: nothing is counted in bytes. */
const smallAnswer = (
  keys: readonly RecordKey[],
  entries: readonly (StoredRecord | undefined)[],
  bytesMax: number,
): string | undefined => {
  if (entries.length < keys.length) return undefined
  let records = ''
  const missing: RecordKey[] = []
  for (const [position, entry] of entries.entries()) {
    if (entry === undefined) missing.push(keys[position]!)
    else records += records === '' ? recordJson(entry) : `,${recordJson(entry)}`
    // A unit of UTF-16 takes at most three bytes.
    if (records.length * 3 > bytesMax) return undefined
  }
  return foundJson(records, keysJson(missing))
}

const foundJson = (records: string, missing = '[]', unread = '[]'): string =>
  `{"records":[${records}],"missing":${missing},"unread":${unread}}`

export const getRecordsTool: Tool = {
  name: 'get_records',
  description:
    'Get records by key. missing: do not exist; unread: did not fit, call again with these. A record with dataBytes was too long for the answer: ask for it alone, or read parts of it with fields of query_records.',
  keyNeeded: 'read',
  properties: {
    db,
    table: text,
    keys: list(closedObject(recordKey, ['hashKey']), { minItems: 1, maxItems: toolRecordsMax }),
  },
  required: ['db', 'table', 'keys'],
  argumentsBytesMax: bodyBytesMax,
  output: object({ records: list(recordOut), missing: list(keyOut), unread: list(keyOut) }, [
    'records',
    'missing',
    'unread',
  ]),
  run({ access, text, built, nowMs }) {
    const input = built === undefined ? parseFind(text, toolRecordsMax) : parseBuiltFind(built, toolRecordsMax)
    // The other keys may all be in missing or unread.
    const keysAtMost = keysBytesAtMost(input.keys)
    const keysBytes = keysAtMost <= smallKeysBytes ? undefined : refuseLongKeys(input.keys, 'keys')
    return andThen(findRecords(access, input, nowMs), ({ keys, entries }) => {
      const small = keysBytes === undefined ? smallAnswer(keys, entries, itemsBytesMax - keysAtMost) : undefined
      if (small !== undefined) return small
      // Alone, it may have all of the answer.
      const whole = keys.length === 1 && entries[0] !== undefined ? foundJson(recordJson(entries[0])) : undefined
      if (whole !== undefined && Buffer.byteLength(whole) <= toolResponseBytesMax) return whole
      const bytesMax = itemsBytesMax - (keysBytes ?? refuseLongKeys(keys, 'keys'))
      const found: string[] = []
      for (const entry of entries) if (entry !== undefined) found.push(fittingRecord(entry, bytesMax))
      const records = takeFitting(found, bytesMax)
      // The first key whose record did not fit, and all after it, are unread.
      let read = 0
      for (let taken = 0; read < entries.length; read++) {
        if (entries[read] === undefined) continue
        if (taken === records.length) break
        taken++
      }
      const missing = keys.slice(0, read).filter((_, i) => entries[i] === undefined)
      return foundJson(records.join(','), keysJson(missing), keysJson(keys.slice(read)))
    })
  },
}

/** The page with as many rows as fit. Only the engine knows the position of a row, so a page that is cut is read again. */
const readPage = async (
  { access, nowMs }: ToolCall,
  input: QueryRecordsInput,
  fields: readonly string[] | undefined,
) => {
  let isCut = false
  for (let { query } = input; ; ) {
    const { records, count, cursor, hint } = await queryRecords(access, { ...input, query }, nowMs)
    const texts =
      query.select === 'data'
        ? (records as StoredRecord[]).map((record) =>
            fittingRecord(fields === undefined ? record : { ...record, data: pickFields(record.data, fields) }),
          )
        : records.map(headJson)
    const items = takeFitting(texts)
    if (items.length === records.length) {
      // A page that the engine has ended before its limit was cut too.
      const isFull = cursor !== null && query.select !== 'count' && records.length < query.limit
      return { items, count, cursor, cut: isCut || isFull, hint }
    }
    isCut = true
    query = { ...query, limit: items.length }
  }
}

const exampleOf = (value: unknown): string =>
  JSON.stringify(typeof value === 'string' && value.length <= 80 ? [value.toWellFormed()] : ['status', 'total'])

/** `fields` of a query: names of members of `data`; undefined for all of it. */
const parseFields = (value: unknown): readonly string[] | undefined => {
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.length > 0 && value.length <= toolFieldsMax
  if (isList && value.every((name) => typeof name === 'string')) return value
  throw new CubbyError(
    'invalid_request',
    `fields is ${Array.isArray(value) ? `a list of ${value.length}` : describeValue(value)}; it takes 1 to ${toolFieldsMax} names of members of data.`,
    { field: 'fields', hint: `Write it as ${exampleOf(value)}, or leave it out for all of data.` },
  )
}

/** `data` with only these members, as they were stored, in their order. */
const pickFields = (data: string, names: readonly string[]): string => {
  const parts: string[] = []
  walkObject(data, 0, undefined, (name, start) => {
    const { start: from, end } = valueSpan(data, start)
    if (names.includes(name)) parts.push(`${JSON.stringify(name)}:${data.slice(from, end)}`)
    return end
  })
  return `{${parts.join(',')}}`
}

export const queryRecordsTool: Tool = {
  name: 'query_records',
  description:
    'Find records in one of three ways: hash (a hash key), ordered by range key; index "t" without hash, newest first; index "i1" to "i5" with hash, the value of its hashField, ordered by its rangeField. range: {"gte": …}, gt, lt, lte, eq, {"between": [low, high]} or {"beginsWith": …}; for t in epoch ms. There are no other filters. If cut is true, the answer was full: the cursor goes on. count is the number of items; select "count" counts up to limit (10000) without items.',
  keyNeeded: 'read',
  properties: {
    db,
    table: text,
    index: { enum: ['t', 'i1', 'i2', 'i3', 'i4', 'i5'] },
    hash: { type: ['string', 'number', 'boolean'] },
    range: anyObject,
    ascending: bool,
    limit: integer(1, { maximum: toolRowsMax, default: toolRowsDefault }),
    select: { enum: ['data', 'keys', 'count'] },
    fields: described(list(text), 'only these members of data'),
    cursor: cursorIn,
  },
  required: ['db', 'table'],
  refusesUnknown: true,
  output: object({ items: list(recordOut), count: integer(), cursor: cursorOut, cut: bool, hint: text }, [
    'items',
    'count',
    'cursor',
    'cut',
  ]),
  async run(call) {
    const { db, table, fields, limit, ...members } = parsePlainBody(call.text)
    const address = parseAddress(db, table)
    const wanted = parseFields(fields)
    const query = parseQuery(members.select === 'count' ? { ...members, limit } : members, ['db', 'table', 'fields'])
    if (query.select !== 'count') query.limit = parseLimit(limit, toolRowsDefault, toolRowsMax)
    const { items, count, cursor, cut, hint } = await readPage(call, { ...address, query }, wanted)
    const told = hint === undefined ? '' : `,"hint":${JSON.stringify(hint)}`
    return `{"items":[${items.join(',')}],"count":${count},"cursor":${JSON.stringify(cursor)},"cut":${cut}${told}}`
  },
}
