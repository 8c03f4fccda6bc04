import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { encodeScanCursor } from '../../core/cursor.ts'
import type { CursorSeal } from '../../core/cursor-seal.ts'
import { parseQuery, planQuery, type Query, type Selection } from '../../core/records/query.ts'
import type { RangeCondition } from '../../core/records/range.ts'
import { countPageJson, keysPageJson, pageJson } from '../../core/records/record-json.ts'
import { type ByteScan, isEmptyScan, type Position, type Scan } from '../../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../core/records/stored-record.ts'
import { otherTypeHint, scanForOtherType } from '../../core/records/type-hint.ts'
import type { IndexScalar } from '../../core/tables/index-value.ts'
import type { Slot } from '../../core/tables/indices.ts'
import { pickMembers } from '../../core/text/json-span.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { shareOf } from '../../store/api-keys.ts'
import type { Page as StoredPage } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { draft, draftAt, inOrders } from '../example.ts'
import { requireTable } from '../lifecycle.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { askFirstPage, cursor, first, firstPage, second, withoutData } from './examples.ts'
import { queryForms } from './query-schemas.ts'
import { recordSchemas } from './schemas.ts'

export interface QueryRecordsInput extends TableAddress {
  query: Query
}

interface QueryResult {
  select: Selection
  /** Empty if records are only counted. With `keys` they have no data. */
  records: StoredRecord[] | RecordHead[]
  count: number
}

interface QueryPage extends QueryResult {
  cursor: string | null
  /** Says why the page may be empty, if values of another type than the operand of `range` are stored. */
  hint?: string | undefined
}

const readPage = (
  { engine, apiKey }: Access,
  table: Table,
  { select, limit }: Query,
  page: Scan,
  nowMs: number,
): Awaitable<QueryResult & { next: Position | undefined }> => {
  if (select === 'count') {
    return andThen(engine.records.count(table, page, limit, nowMs, shareOf(apiKey)), ({ count, next }) => ({
      select,
      records: [],
      count,
      next,
    }))
  }
  const found: Awaitable<StoredPage<RecordHead>> =
    select === 'keys'
      ? engine.records.scanKeys(table, page, limit, nowMs, shareOf(apiKey))
      : engine.records.scan(table, page, limit, nowMs, shareOf(apiKey))
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
  // `whole` is checked and not `page`: a descending scan that resumes among equal values has equal bounds, and an id that tells
  // them apart.
  if (isEmptyScan(whole)) return { select: query.select, records: [], count: 0, cursor: null }
  return andThen(readPage(access, table, query, page, nowMs), ({ select, records, count, next }) => {
    const cursor = next === undefined ? null : encodeScanCursor(seal, table.id, whole, next, fingerprint)
    const found = { select, records, count, cursor }
    // The look-up may be outside of the grants of a user.
    const isUser = access.apiKey.user !== undefined
    const mayBeOfOtherType =
      !isUser && count === 0 && cursor === null && query.cursor === undefined && query.range !== undefined
    if (!mayBeOfOtherType || whole.index === 'primary' || whole.index === 't' || whole.index === 'walk') return found
    return andThen(findTypeHint(access, table, query.range!, whole, nowMs), (hint) => ({ ...found, hint }))
  })
}

/** One more look-up in the index, of one record. */
const findTypeHint = (
  { engine, apiKey }: Access,
  table: Table,
  range: RangeCondition,
  scan: ByteScan,
  nowMs: number,
): Awaitable<string | undefined> =>
  andThen(
    engine.records.scan(table, scanForOtherType(scan, range), 1, nowMs, shareOf(apiKey)),
    ({ records: [record] }) => {
      const field = table.indices[scan.index as Slot]!.rangeField!
      if (record === undefined) return undefined
      return otherTypeHint(range, field, pickMembers(record.data, [field])[field] as IndexScalar)
    },
  )

/** The page as JSON text. */
export const queryPageJson = ({ hint, ...page }: QueryPage): string => {
  const json = foundJson(page)
  return hint === undefined ? json : `${json.slice(0, -1)},"hint":${JSON.stringify(hint)}}`
}

const foundJson = ({ select, records, count, cursor }: QueryPage): string => {
  if (select === 'data') return pageJson(records as StoredRecord[], cursor)
  return select === 'keys' ? keysPageJson(records, cursor) : countPageJson(count, cursor)
}

export const queryRecordsOperation = defineOperation({
  id: 'queryRecords',
  area: 'records',
  summary: 'Query records by key, by time of the last write or by an index',
  keyNeeded: 'read',
  grants: {
    of: 'table',
    can: 'read',
    needs({ db, table, query: { index, hash } }) {
      if (index === 'primary') return { of: 'table', db, table, can: 'read', hash: hash as string }
      return index === 't' ? { of: 'table', db, table, can: 'read' } : { of: 'index', db, table, index, hash }
    },
  },
  effect: 'reads',
  route: { method: 'POST', path: '/v1/:db/:table/query', body: { schema: 'QueryRequest', required: true } },
  command: 'query --db {db} --table {table}',
  tool: 'query_records',
  parse(text): QueryRecordsInput {
    const { db, table, ...query } = parsePlainBody(text)
    return { ...parseAddress(db, table), query: parseQuery(query) }
  },
  run: queryRecords,
  present: queryPageJson,
  describe: () => ({
    title: 'Query records',
    description: `Three forms:

- by primary key: \`hash\`, ordered by range key;
- by recency: \`index: "t"\` and no \`hash\`, ordered by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, ordered by the index's range field.

The values of an index are ordered: false, true, numbers, then strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pagesNote} A cursor is valid only with the same table, hash, index, range and direction; \`limit\` and \`select\` may change.

With \`select: "keys"\` the items have no \`data\`; with \`select: "count"\` there are no items, and \`count\` is the number of records that matched.

A range matches only values of its operand’s type: \`2026-10-01\` is a string and never equals an instant, \`2026-10-01T00:00:00Z\` is one. If a first page is empty and records under that hash have values of another type, \`hint\` says so.`,
    returns: 'A page of records.',
    codes: [
      'invalid_key',
      'invalid_index_value',
      'index_not_declared',
      'invalid_range',
      'invalid_cursor',
      'table_not_found',
    ],
    tag: 'Queries and batches',
    input: inputOf({ ...recordSchemas.QueryRequest, oneOf: queryForms }, addressMembers, addressRequired),
    output: ref('QueryResponse'),
    client: { on: 'table', method: 'query', result: 'page', counts: true },
    examples: [
      {
        name: 'byPrimaryKey',
        summary: 'The orders of a customer, last key first',
        input: { ...inOrders, ...firstPage },
        output: { items: [second], count: 1, cursor },
      },
      {
        name: 'nextPage',
        summary: 'The next page of the same query',
        given: [askFirstPage],
        input: { ...inOrders, ...firstPage, cursor },
        output: { items: [first], count: 1, cursor: null },
      },
      {
        name: 'byRecency',
        summary: 'The records written since a time, newest first',
        input: { ...inOrders, index: 't', range: { gte: '2026-01-01T00:00:00Z' } },
        output: { items: [{ ...draft, updatedAt: draftAt }, second, first], count: 3, cursor: null },
      },
      {
        name: 'byIndex',
        summary: 'Open orders placed in January',
        input: {
          ...inOrders,
          index: 'i1',
          hash: 'open',
          range: { gte: '2026-01-01T00:00:00Z', lt: '2026-02-01T00:00:00Z' },
          limit: 20,
        },
        output: { items: [first, second], count: 2, cursor: null },
      },
      {
        name: 'keysOnly',
        summary: 'The keys and versions of the orders of a customer, without data',
        input: { ...inOrders, hash: 'ada', range: { between: ['o-1', 'o-2'] }, select: 'keys' },
        output: { items: [withoutData(first), withoutData(second)], count: 2, cursor: null },
      },
      {
        name: 'countOnly',
        summary: 'How many orders are open',
        input: { ...inOrders, index: 'i1', hash: 'open', select: 'count' },
        output: { items: [], count: 2, cursor: null },
      },
      {
        name: 'otherType',
        summary: 'A date where date-times are stored',
        input: { ...inOrders, index: 'i1', hash: 'open', range: { gte: '2026-01-01' } },
        output: {
          items: [],
          count: 0,
          cursor: null,
          hint: 'Under this hash, placedAt has date-times, and range.gte is the string "2026-01-01", which matches none of them. Write it as "2026-01-01T00:00:00Z".',
        },
      },
      {
        name: 'nothingBetween',
        summary: 'Bounds with nothing between them',
        input: { ...inOrders, hash: 'ada', range: { gte: 'o-1', lt: 'o-1' } },
        output: { items: [], count: 0, cursor: null },
      },
      {
        name: 'typo',
        summary: 'A field that is not known',
        input: { ...inOrders, hash: 'ada', limt: 10 },
        error: {
          code: 'invalid_request',
          message: 'limt is not a field of this request.',
          field: 'limt',
          hint: 'Write it as "limit".',
        },
      },
      {
        name: 'noHash',
        summary: 'By primary key, without a hash',
        input: { ...inOrders, limit: 10 },
        error: {
          code: 'invalid_key',
          message: 'hash is missing; it takes a string.',
          field: 'hash',
          hint: 'Give hash, or index: "t" for the newest records of the table.',
        },
      },
      {
        name: 'nullHash',
        summary: 'A hash that cannot be indexed',
        input: { ...inOrders, index: 'i1', hash: null },
        error: {
          code: 'invalid_index_value',
          message: 'hash is null; index i1 takes a string, number or boolean.',
          field: 'hash',
          hint: 'Give the value of status to look for.',
        },
      },
      {
        name: 'noSuchIndex',
        summary: 'An index that was not declared',
        input: { ...inOrders, index: 'i2', hash: 'ada' },
        error: {
          code: 'index_not_declared',
          message: 'The table declares no index i2.',
          field: 'index',
          hint: 'Declared: i1 (status).',
        },
      },
      {
        name: 'twoLowerBounds',
        summary: 'A range with two lower bounds',
        input: { ...inOrders, hash: 'ada', range: { gt: 'o-1', gte: 'o-2' } },
        error: {
          code: 'invalid_range',
          message: 'range has gt and gte; it takes one operator, or one of gt and gte together with one of lt and lte.',
          field: 'range',
          hint: 'Both are lower bounds; leave one of them out.',
        },
      },
      {
        name: 'boundsInWrongOrder',
        summary: 'A range whose lower bound is above its upper one',
        input: { ...inOrders, hash: 'ada', range: { gte: 'o-9', lt: 'o-1' } },
        error: {
          code: 'invalid_range',
          message: 'range has its low bound above its high one.',
          field: 'range',
          hint: 'Give gte the lower value.',
        },
      },
      {
        name: 'unknownSelect',
        summary: 'A select that is not known',
        input: { ...inOrders, hash: 'ada', select: 'hashKey' },
        error: {
          code: 'invalid_request',
          message: 'select is "hashKey"; it takes "data", "keys" or "count".',
          field: 'select',
          hint: 'Leave select out to get whole records.',
        },
      },
      {
        name: 'cursorOfAnother',
        summary: 'The cursor of another query',
        given: [askFirstPage],
        input: { ...inOrders, hash: 'bob', cursor },
        error: {
          code: 'invalid_cursor',
          message:
            'cursor belongs to another query: table, hash, index, range and direction must be those it came with.',
          field: 'cursor',
          hint: 'Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page.',
        },
      },
    ],
  }),
})
