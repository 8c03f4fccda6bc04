import { headFrameBytesMin, recordFrameBytesMin } from '../../../core/records/record-json.ts'
import type { Scan } from '../../../core/records/scan.ts'
import type { Statement } from '../connection/driver.ts'
import { live, theRecord } from './statements.ts'

// The statements that read records: by key, in pages, and counts.

export const getRecord: Statement = {
  name: 'get',
  text: `select r.data, r.ttl_seconds, r.updated_at from cubby_record_8 as r where ${theRecord} and ${live(4)}`,
}

const keyBytes = 'octet_length(r.hash_key) + octet_length(r.range_key)'

/** The minimum size of a record in a response: the escapes of its keys are not counted. */
const selected = {
  data: { prefix: 'scan', data: 'r.data', size: `${recordFrameBytesMin} + ${keyBytes} + octet_length(r.data)` },
  // The empty text stands for the data of a record that fits: null marks the first one that does not.
  keys: { prefix: 'scan_keys', data: `''::text`, size: `${headFrameBytesMin} + ${keyBytes}` },
}

/**
 * $1 $2 arrays of hash keys and range keys, $3 table, $4 now in seconds, $5 bytes wanted. It returns a row for each live
 * record: the position of its key, counted from 1, its ttl, version and data. The last one has no data if it did not fit. The
 * length of data that is stored out of line is known without reading it. The limit forces one index seek for each key: in an
 * empty store, the planner would choose to scan the whole table once, and keep that plan.
 */
export const findRecords: Statement = {
  name: 'find',
  text: `
    select p.place, p.ttl_seconds, p.updated_at, case when p.bytes <= $5::bigint then p.data end
    from (
      select w.*, sum(w.size) over (order by w.place rows unbounded preceding) as bytes
      from (
        select v.place, l.*
        from unnest($1::bytea[], $2::bytea[]) with ordinality as v (hash_key, range_key, place)
        cross join lateral (
          select r.ttl_seconds, r.updated_at, r.data, ${selected.data.size} as size from cubby_record_8 as r
          where r.table_id = $3::bigint and r.hash_key = v.hash_key and r.range_key = v.range_key and ${live(4)} limit 1
        ) as l
      ) as w
    ) as p
    where p.bytes - p.size <= $5::bigint order by p.place`,
}

// ── Scans ──────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 now in seconds, $3 rows to scan, $4 expired rows to skip, $5 records wanted, $6 bytes wanted,
// $7 records returned whatever their size, $8 low, $9 high; then the id of the row comparison (not in primary), and last
// the hash (not in t).

interface Walk {
  /** The column that orders the scan. */
  range: string
  where: string
  order: (column: string, id: string) => string
}

/** `first`: the number of the parameter `low`; `high`, id and hash follow it. In a walk, only the hash key follows. */
const walkOf = (index: Scan['index'], descending: boolean, first: number): Walk => {
  const [low, high, third, fourth] = [first, first + 1, first + 2, first + 3].map((parameter) => `$${parameter}`)
  const down = descending ? ' desc' : ''
  if (index === 'primary') {
    return {
      range: 'range_key',
      where: `r.hash_key = ${third}::bytea and r.range_key >= ${low}::bytea and r.range_key < ${high}::bytea`,
      order: (column) => `${column}${down}`,
    }
  }
  if (index === 'walk') {
    return {
      range: 'range_key',
      where: `(r.hash_key, r.range_key) > (${high}::bytea, ${low}::bytea)`,
      order: (column) => `${column.split('.')[0]}.hash_key, ${column}`,
    }
  }
  const [range, type] = index === 't' ? ['updated_at', 'bigint'] : [`${index}_range`, 'bytea']
  const hash = index === 't' ? '' : `r.${index}_hash = ${fourth}::bytea and `
  // A row comparison is one bound of the index; the same written with OR is not.
  const bounds = descending
    ? `r.${range} >= ${low}::${type} and (r.${range}, r.id) < (${high}::${type}, ${third}::bigint)`
    : `(r.${range}, r.id) > (${low}::${type}, ${third}::bigint) and r.${range} < ${high}::${type}`
  return { range, where: `${hash}${bounds}`, order: (column, id) => `${column}${down}, ${id}${down}` }
}

/** These are the columns of the result. Values that the caller knows are null, because every value that is sent costs time. */
export const scanColumn = {
  id: 0,
  updatedAt: 1,
  ttl: 2,
  hashKey: 3,
  rangeKey: 4,
  /** The value of a declared index. */
  position: 5,
  data: 6,
  isExpired: 7,
  endsWalk: 8,
  steppedOver: 9,
}

/**
 * Returns a page and, after it, the row that ended it, without data: the first record that did not fit, or the expired row at
 * which the scan stopped. The running sums follow the index scan, so the server stops reading where the page ends.
 */
export const scanRecords = (index: Scan['index'], descending: boolean, select: 'data' | 'keys' = 'data'): Statement => {
  const { range, where, order } = walkOf(index, descending, 8)
  const { prefix, data, size } = selected[select]
  const walk = `
    select r.id, r.hash_key, r.range_key, r.updated_at, r.ttl_seconds, r.${range} as place, coalesce(r.ttl_seconds <= $2::bigint, false) as expired,
      case when r.ttl_seconds <= $2::bigint then null else ${data} end as data,
      case when r.ttl_seconds <= $2::bigint then 0 else ${size} end as size
    from cubby_record_8 as r where r.table_id = $1::bigint and ${where}
    order by ${order(`r.${range}`, 'r.id')} limit $3::bigint`
  const counted = `
    select w.*, row_number() over o as walked, count(*) filter (where w.expired) over o as stepped_over,
      count(*) filter (where not w.expired) over o as met,
      sum(w.size) over o as bytes
    from (${walk}) as w window o as (order by ${order('w.place', 'w.id')} rows unbounded preceding)`
  return {
    name: `${prefix}_${index}${descending ? '_down' : ''}`,
    text: `
    select p.id, p.updated_at, p.ttl_seconds, ${index === 'primary' ? 'null' : 'p.hash_key'}, p.range_key,
      ${index === 'primary' || index === 't' || index === 'walk' ? 'null' : 'p.place'},
      case when p.met <= $5::bigint and (p.met <= $7::bigint or p.bytes <= $6::bigint) then p.data end,
      nullif(p.expired, false), nullif(p.walked = $3::bigint, false), nullif(p.stepped_over, 0)
    from (${counted}) as p
    where case when p.expired then p.walked = $3::bigint or p.stepped_over = $4::bigint
      else p.met <= $7::bigint + 1 or p.bytes - p.size <= $6::bigint end
    order by ${order('p.place', 'p.id')} limit $5::bigint + 1`,
  }
}

// ── Counts ─────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 now in seconds, $3 rows to scan, $4 expired rows to skip, $5 records to count, $6 low, $7 high; then as in a
// scan.

export const countColumn = {
  id: 0,
  /** The value that orders the scan, at the end of the count. */
  position: 1,
  counted: 2,
  steppedOver: 3,
  /** It is null if already the first row of the scan is too many. */
  fits: 4,
  /** True if there is a row after it. */
  hasNext: 5,
  endsWalk: 6,
}

/**
 * Returns one row: the last row that belongs to the count, and how many records were counted. `lead` reads one row ahead of it;
 * then the server stops. No row means that the scan is empty.
 */
export const countRecords = (index: Scan['index'], descending: boolean): Statement => {
  const { range, where, order } = walkOf(index, descending, 6)
  const walk = `
    select r.id, r.${range} as place, coalesce(r.ttl_seconds <= $2::bigint, false) as expired
    from cubby_record_8 as r where r.table_id = $1::bigint and ${where}
    order by ${order(`r.${range}`, 'r.id')} limit $3::bigint`
  const counted = `
    select w.id, w.place, row_number() over o as walked, count(*) filter (where w.expired) over o as stepped_over,
      count(*) filter (where not w.expired) over o as met
    from (${walk}) as w window o as (order by ${order('w.place', 'w.id')} rows unbounded preceding)`
  const ahead = `
    select c.*, lead(c.met) over n as next_met, lead(c.stepped_over) over n as next_stepped_over
    from (${counted}) as c window n as (order by ${order('c.place', 'c.id')})`
  const fits = (met: string, steppedOver: string): string => `(${met} <= $5::bigint and ${steppedOver} <= $4::bigint)`
  const own = fits('a.met', 'a.stepped_over')
  return {
    name: `count_${index}${descending ? '_down' : ''}`,
    text: `
    select a.id, a.place, a.met, a.stepped_over, nullif(${own}, false), nullif(a.next_met is not null, false),
      nullif(a.walked = $3::bigint, false)
    from (${ahead}) as a
    where case when ${own} then a.next_met is null or not ${fits('a.next_met', 'a.next_stepped_over')}
      else a.walked = 1 end
    limit 1`,
  }
}
