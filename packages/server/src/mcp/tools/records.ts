import { andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { toolRecordsMax, toolRowsDefault, toolRowsMax } from '../../core/limits.ts'
import { parseLimit } from '../../core/members.ts'
import { shownKey } from '../../core/records/find.ts'
import { parseQuery } from '../../core/records/query.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress } from '../../operations/access.ts'
import { findRecords, findRecordsOperation } from '../../operations/records/find-records.ts'
import { type QueryRecordsInput, queryRecords } from '../../operations/records/query-records.ts'
import { parseFields, pickFields } from './fields.ts'
import { fittingRecord, takeFitting } from './fitting.ts'
import {
  anyObject,
  bool,
  closedObject,
  cursorOut,
  db,
  described,
  integer,
  list,
  object,
  recordKey,
  text,
} from './schemas.ts'
import type { Tool, ToolCall } from './tool.ts'

const keysJson = (keys: RecordKey[]): string => JSON.stringify(keys.map(shownKey))

/** At most so many records or keys in one call. */
export const refuseTooMany = (count: number, field: string): void => {
  if (count <= toolRecordsMax) return
  throw new CubbyError('batch_too_large', `${field} has ${count} elements; it takes at most ${toolRecordsMax}.`, {
    field,
    hint: `Send ${toolRecordsMax} at a time.`,
  })
}

export const getRecordsTool: Tool = {
  name: 'get_records',
  description: 'Get records by key. For what is in unread, call again.',
  keyNeeded: 'read',
  properties: {
    db,
    table: text,
    keys: list(closedObject(recordKey, ['hashKey']), { minItems: 1, maxItems: toolRecordsMax }),
  },
  required: ['db', 'table', 'keys'],
  output: object({ records: list(anyObject), missing: list(anyObject), unread: list(anyObject) }),
  run({ access, text, nowMs }) {
    const input = findRecordsOperation.parse(text, nowMs)
    refuseTooMany(input.keys.length, 'keys')
    return andThen(findRecords(access, input, nowMs), ({ keys, entries }) => {
      const found: string[] = []
      for (const entry of entries) if (entry !== undefined) found.push(fittingRecord(entry))
      const records = takeFitting(found)
      // The first key whose record did not fit, and all after it, are unread.
      let read = 0
      for (let taken = 0; read < entries.length; read++) {
        if (entries[read] === undefined) continue
        if (taken === records.length) break
        taken++
      }
      const missing = keys.slice(0, read).filter((_, i) => entries[i] === undefined)
      return `{"records":[${records.join(',')}],"missing":${keysJson(missing)},"unread":${keysJson(keys.slice(read))}}`
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
    const { records, count, cursor } = await queryRecords(access, { ...input, query }, nowMs)
    const texts = records.map((record) =>
      fittingRecord(
        fields !== undefined && 'data' in record ? { ...record, data: pickFields(record.data, fields) } : record,
      ),
    )
    const items = takeFitting(texts)
    if (items.length === records.length) {
      // A page that the engine has ended before its limit was cut too.
      const isFull = cursor !== null && query.select !== 'count' && records.length < query.limit
      return { items, count, cursor, cut: isCut || isFull }
    }
    isCut = true
    query = { ...query, limit: items.length }
  }
}

export const queryRecordsTool: Tool = {
  name: 'query_records',
  description:
    'Find records in one of three ways: hash (a hash key), ordered by range key; index "t" without hash, newest first; index "i1" to "i5" with hash, the value of its hashField, ordered by its rangeField. range: {"gte": …}, gt, lt, lte, eq, {"between": [low, high]} or {"beginsWith": …}; for t in epoch ms. There are no other filters. If cut is true, the cursor goes on.',
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
    cursor: text,
  },
  required: ['db', 'table'],
  output: object({ items: list(anyObject), count: integer(), cursor: cursorOut, cut: bool }),
  async run(call) {
    const { db, table, fields, limit, ...members } = parsePlainBody(call.text)
    const address = parseAddress(db, table)
    const wanted = parseFields(fields)
    const query = parseQuery(members.select === 'count' ? { ...members, limit } : members)
    if (query.select !== 'count') query.limit = parseLimit(limit, toolRowsDefault, toolRowsMax)
    const { items, count, cursor, cut } = await readPage(call, { ...address, query }, wanted)
    return `{"items":[${items.join(',')}],"count":${count},"cursor":${JSON.stringify(cursor)},"cut":${cut}}`
  },
}
