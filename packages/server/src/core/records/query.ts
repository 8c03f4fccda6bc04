import { decodeScanCursor, scanFingerprint } from '../cursor.ts'
import type { CursorSeal } from '../cursor-seal.ts'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { countRowsMax, pageRowsDefault, pageRowsMax } from '../limits.ts'
import { type Members, parseFlag, parseLimit, refuseUnknownMembers } from '../members.ts'
import { encodeIndexValue, type IndexScalar, indexValueFault } from '../tables/index-value.ts'
import { type Indices, type Slot, slots } from '../tables/indices.ts'
import { indexBounds, parseRange, primaryBounds, type RangeCondition, timeBounds } from './range.ts'
import { parseKeyPart } from './record-key.ts'
import { resumeScan, type Scan } from './scan.ts'

/** A page has of each record: all of it, all but its data, or only their number. */
export const selections = ['data', 'keys', 'count'] as const
export type Selection = (typeof selections)[number]

/** A query with well-formed fields. Only the table knows whether its slot is declared. */
export interface Query {
  index: 'primary' | 't' | Slot
  hash: unknown
  range: RangeCondition | undefined
  select: Selection
  limit: number
  ascending: boolean
  cursor: unknown
}

export const queryFields = ['index', 'hash', 'range', 'select', 'limit', 'ascending', 'cursor'] as const

const parseIndexName = (value: unknown): Query['index'] => {
  if (value === undefined) return 'primary'
  if (value === 't' || slots.includes(value as Slot)) return value as 't' | Slot
  throw new CubbyError('invalid_request', `index is ${describeValue(value)}; it takes "t" or one of "i1" to "i5".`, {
    field: 'index',
    hint: 'Indices are named by their slots; the description of the table says which field each has. Leave index out to query by primary key.',
  })
}

const parseSelection = (value: unknown): Selection => {
  if (value === undefined) return 'data'
  if (selections.includes(value as Selection)) return value as Selection
  throw new CubbyError('invalid_request', `select is ${describeValue(value)}; it takes "data", "keys" or "count".`, {
    field: 'select',
    hint: 'Leave select out to get whole records.',
  })
}

const parseQueryLimit = (value: unknown, select: Selection): number =>
  select === 'count' ? parseLimit(value, countRowsMax, countRowsMax) : parseLimit(value, pageRowsDefault, pageRowsMax)

const noFilters =
  'There are no filters: { "index": "t" } reads the newest records, and a declared index those with one value: { "index": "i1", "hash": … }.'
const byDirection =
  'The order is given by "ascending": true, or false for the highest first. Only what the range reads can be sorted by.'
const byCursor = 'Go on with "cursor": that of the last answer.'

/** Fields that queries of other services have. */
const foreignFields: Readonly<Record<string, string>> = {
  hashKey: 'In a query it is "hash".',
  rangeKey: 'In a query it is "range", for example { "eq": "…" }.',
  filter: noFilters,
  filters: noFilters,
  where: noFilters,
  query: noFilters,
  q: noFilters,
  sort: byDirection,
  order: byDirection,
  orderBy: byDirection,
  offset: byCursor,
  skip: byCursor,
  page: byCursor,
}

const refuseForeignFields = (members: Members): void => {
  for (const field in members) {
    if (!Object.hasOwn(foreignFields, field)) continue
    throw new CubbyError('invalid_request', `${field} is not a field of this request.`, {
      field,
      hint: foreignFields[field],
    })
  }
}

/** `others`: fields of the request beside those of the query. */
export const parseQuery = (members: Members, others: readonly string[] = []): Query => {
  refuseForeignFields(members)
  refuseUnknownMembers(members, others.length === 0 ? queryFields : [...queryFields, ...others])
  const index = parseIndexName(members.index)
  if (index === 't' && members.hash !== undefined) {
    throw new CubbyError('invalid_request', 'hash is not a field of a query by t, which covers the whole table.', {
      field: 'hash',
      hint: 'Leave hash out, or query by primary key or a declared index.',
    })
  }
  const ascending = parseFlag(members.ascending, 'ascending')
  if (index === 'primary' && members.hash === undefined) throw missingHash()
  if (index === 'primary') parseKeyPart(members.hash, 'hash')
  const select = parseSelection(members.select)
  return {
    index,
    hash: members.hash,
    range: parseRange(members.range, index === 'primary' || index === 't' ? index : 'index'),
    select,
    limit: parseQueryLimit(members.limit, select),
    // A query by recency defaults to newest first; every other order defaults to ascending.
    ascending: members.ascending === undefined ? index !== 't' : ascending,
    cursor: members.cursor ?? undefined,
  }
}

const missingHash = (): CubbyError =>
  new CubbyError('invalid_key', 'hash is missing; it takes a string.', {
    field: 'hash',
    hint: 'Give hash, or index: "t" for the newest records of the table.',
  })

const declaredIndexScan = (query: Query, slot: Slot, indices: Indices): Scan => {
  const declaration = indices[slot]
  if (declaration === undefined) {
    const declared = Object.entries(indices).map(([name, { hashField }]) => `${name} (${hashField})`)
    throw new CubbyError('index_not_declared', `The table declares no index ${slot}.`, {
      field: 'index',
      hint:
        declared.length === 0
          ? 'It declares none; indices are declared when a table is created. { "index": "t" } reads the newest records.'
          : `Declared: ${declared.join(', ')}.`,
    })
  }
  const fault = indexValueFault(query.hash)
  if (fault !== undefined) {
    throw new CubbyError('invalid_index_value', `hash is ${fault}; index ${slot} takes a string, number or boolean.`, {
      field: 'hash',
      hint: `Give the value of ${declaration.hashField} to look for.`,
    })
  }
  if (query.range !== undefined && declaration.rangeField === undefined) {
    throw new CubbyError('invalid_range', `range is not allowed: index ${slot} was declared without a rangeField.`, {
      field: 'range',
      hint: 'Leave range out.',
    })
  }
  const hash = encodeIndexValue(query.hash as IndexScalar)
  return { index: slot, hash, ...indexBounds(query.range), lowId: 0, highId: 0, descending: !query.ascending }
}

const wholeScan = (query: Query, indices: Indices): Scan => {
  const ids = { lowId: 0, highId: 0, descending: !query.ascending }
  if (query.index === 'primary') {
    return { index: 'primary', hash: query.hash as string, ...primaryBounds(query.range), ...ids }
  }
  if (query.index === 't') return { index: 't', ...timeBounds(query.range), ...ids }
  return declaredIndexScan(query, query.index, indices)
}

export interface QueryPlan {
  /** The scan of the whole query, to which its cursors belong. */
  whole: Scan
  /** The same scan from the start of this page. */
  page: Scan
  /** The fingerprint of `whole`, if a cursor was compared with it. */
  fingerprint: string | undefined
}

export const planQuery = (query: Query, tableId: number, indices: Indices, seal: CursorSeal): QueryPlan => {
  const whole = wholeScan(query, indices)
  if (query.cursor === undefined) return { whole, page: whole, fingerprint: undefined }
  const fingerprint = scanFingerprint(tableId, whole)
  return {
    whole,
    page: resumeScan(whole, decodeScanCursor(seal, query.cursor, tableId, whole, fingerprint)),
    fingerprint,
  }
}
