import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { encodeScanCursor } from '../../core/cursor.ts'
import type { CursorSeal } from '../../core/cursor-seal.ts'
import { parseQuery, planQuery, type Query, type Selection } from '../../core/records/query.ts'
import { countPageJson, keysPageJson, pageJson } from '../../core/records/record-json.ts'
import { isEmptyScan, type Position, type Scan } from '../../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../core/records/stored-record.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Page as StoredPage } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, parseAddress, requireTable, type TableAddress } from '../access.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'

export interface QueryRecordsInput extends TableAddress {
  query: Query
}

interface QueryResult {
  select: Selection
  /** Empty if records are only counted. With `keys` they have no data. */
  records: StoredRecord[] | RecordHead[]
  count: number
}

export interface QueryPage extends QueryResult {
  cursor: string | null
}

const readPage = (
  { engine, apiKey }: Access,
  table: Table,
  { select, limit }: Query,
  page: Scan,
  nowMs: number,
): Awaitable<QueryResult & { next: Position | undefined }> => {
  if (select === 'count') {
    return andThen(engine.records.count(table, page, limit, nowMs, apiKey.seq), ({ count, next }) => ({
      select,
      records: [],
      count,
      next,
    }))
  }
  const found: Awaitable<StoredPage<RecordHead>> =
    select === 'keys'
      ? engine.records.scanKeys(table, page, limit, nowMs, apiKey.seq)
      : engine.records.scan(table, page, limit, nowMs, apiKey.seq)
  return andThen(found, ({ records, next }) => ({ select, records, count: records.length, next }))
}

export const queryRecords = (access: Access, input: QueryRecordsInput, nowMs: number): Awaitable<QueryPage> => {
  return andThen(requireTable(access, input, nowMs), (table) =>
    andThen(access.engine.secrets.at(nowMs), ({ seal }) => queryTable(access, table, input.query, seal, nowMs)),
  )
}

const queryTable = (
  access: Access,
  table: Table,
  query: Query,
  seal: CursorSeal,
  nowMs: number,
): Awaitable<QueryPage> => {
  const { whole, page, fingerprint } = planQuery(query, table.id, table.indices, seal)
  // Not `page`: a descending scan that resumes among equal values has equal bounds, and an id that tells them apart.
  if (isEmptyScan(whole)) return { select: query.select, records: [], count: 0, cursor: null }
  return andThen(readPage(access, table, query, page, nowMs), ({ select, records, count, next }) => {
    const cursor = next === undefined ? null : encodeScanCursor(seal, table.id, whole, next, fingerprint)
    return { select, records, count, cursor }
  })
}

/** The page as JSON text. */
export const queryPageJson = ({ select, records, count, cursor }: QueryPage): string => {
  if (select === 'data') return pageJson(records as StoredRecord[], cursor)
  return select === 'keys' ? keysPageJson(records, cursor) : countPageJson(count, cursor)
}

export const queryRecordsOperation = defineOperation({
  id: 'queryRecords',
  area: 'records',
  summary: 'Query records by key, by time of the last write or by an index',
  description: `Three forms:

- by primary key: \`hash\`, ordered by range key;
- by recency: \`index: "t"\` and no \`hash\`, ordered by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, ordered by the index's range field.

The values of an index are ordered: false, true, numbers, then strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pagesNote} A cursor is valid only with the same table, hash, index, range and direction; \`limit\` and \`select\` may change.

With \`select: "keys"\` the items have no \`data\`; with \`select: "count"\` there are no items, and \`count\` is the number of records that matched.`,
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'A page of records.',
  codes: [
    'invalid_key',
    'invalid_index_value',
    'index_not_declared',
    'invalid_range',
    'invalid_cursor',
    'table_not_found',
  ],
  parse(text): QueryRecordsInput {
    const { db, table, ...query } = parsePlainBody(text)
    return { ...parseAddress(db, table), query: parseQuery(query) }
  },
  run: queryRecords,
  present: queryPageJson,
})
