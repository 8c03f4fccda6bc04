import { recordFrameBytesMin } from '../../../core/records/record-json.ts'
import type { Scan } from '../../../core/records/scan.ts'
import { slots } from '../../../core/tables/indices.ts'
import type { Condition } from '../../../store/records.ts'
import type { Statement } from '../connection/driver.ts'

// Every statement on records. Each has a fixed text, so that each is prepared once a connection; and each walks
// one index from a bound, which test/engine-postgres-plans.test.ts holds them to.

export const indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`])

const theRecord = 'r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea'

// Not "where … deleted_at is null": that would let the planner of an empty store take the partial index over
// all active tables for this, and keep to it.
const tableIsActive = 'coalesce((select t.deleted_at is null from cubby_table t where t.id = $1::bigint), false)'

/** An operator's command has no key, hence null. */
const keyIsActive = (place: number): string =>
  `($${place}::bigint is null or coalesce((select k.revoked_at is null from cubby_api_key k where k.seq = $${place}::bigint), false))`

/** What must hold of table and key for a write of theirs to be applied, looked at by the very statement. */
const guard = (keyPlace: number): string => `${tableIsActive} and ${keyIsActive(keyPlace)}`

// A pipeline cannot stop to look at a count. So a statement that must not go on fails: by a division by zero,
// the one error that every engine raises at run time and no other statement of ours can.
const raising = (holds: string): string => `1 / (case when ${holds} then 1 else 0 end)`

const raisingUnlessApplied = (change: string): string =>
  `with w as (${change}) select max(w.updated_at), 1 / count(*) from w`

// ── Put ────────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 $3 the key, $4 data, $5 ttl, $6 the time of the write in ms, $7 … $16 index entries, $17 now in seconds.

const nowPlace = 17
const entryPlaces = indexColumns.map((_, i) => `$${i + 7}::bytea`)
const recordColumns = `id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns.join(', ')}`
const expired = `r.ttl <= $${nowPlace}::bigint`
const live = (place: number): string => `(r.ttl is null or r.ttl > $${place}::bigint)`

// Not "updated_at =": the index by time has that too, and would be walked through all that one instant wrote.
const isVersion = (place: number): string => `r.updated_at - $${place}::bigint = 0`

const rowOf = (id: string): string =>
  `${id}, $1::bigint, $2::bytea, $3::bytea, $4::text, $5::bigint, $6::bigint, ${entryPlaces.join(', ')}`

// An expired row in the way is taken over with the id of the new record: it is created anew.
const overwrite = `on conflict (table_id, hash_key, range_key) do update set
  id = case when ${expired} then excluded.id else r.id end,
  updated_at = case when ${expired} then excluded.updated_at else greatest(excluded.updated_at, r.updated_at + 1) end,
  data = excluded.data, ttl = excluded.ttl,
  ${indexColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`

const updateLive = `update cubby_record as r set
  data = $4::text, ttl = $5::bigint, updated_at = greatest($6::bigint, r.updated_at + 1),
  ${indexColumns.map((column, i) => `${column} = ${entryPlaces[i]}`).join(', ')}
  where ${theRecord} and ${live(nowPlace)}`

export type ConditionKind = 'none' | 'exists' | 'version' | 'absent'

export const conditionKind = (condition: Condition | undefined): ConditionKind =>
  condition === undefined ? 'none' : typeof condition === 'string' ? condition : 'version'

/** Ids are drawn this far apart, and the operations of a batch take those in between. */
export const idStride = 32

const newId = "nextval('cubby_record_id')"

/** Draws the ids of a batch; its puts then take theirs by their place among the operations. */
export const drawIds: Statement = { name: 'draw_ids', text: `select ${newId}` }

const idInBatch = "currval('cubby_record_id') + $18::bigint"

/** One put on its own. With a guard: $18 the key. With a version: the last. No row: it was not applied. */
export const putAlone = (kind: ConditionKind, guarded: boolean): Statement => {
  const name = `put_${kind}${guarded ? '_guarded' : ''}`
  if (kind === 'exists' || kind === 'version') {
    const version = kind === 'version' ? ` and ${isVersion(guarded ? 19 : 18)}` : ''
    return { name, text: `${updateLive}${version}${guarded ? ` and ${guard(18)}` : ''} returning r.updated_at` }
  }
  const source = guarded ? `select ${rowOf(newId)} where ${guard(18)}` : `values (${rowOf(newId)})`
  const only = kind === 'absent' ? ` where ${expired}` : ''
  const text = `insert into cubby_record as r (${recordColumns}) ${source} ${overwrite}${only} returning r.updated_at`
  return { name, text }
}

/** One put of a batch. $18 its place among the operations, or the version. Fails if it cannot be applied. */
export const putInBatch = (kind: ConditionKind): Statement => {
  const name = `batch_put_${kind}`
  if (kind === 'exists' || kind === 'version') {
    const version = kind === 'version' ? ` and ${isVersion(18)}` : ''
    return { name, text: raisingUnlessApplied(`${updateLive}${version} returning r.updated_at`) }
  }
  const only = kind === 'absent' ? ` where ${raising(expired)} = 1` : ''
  const text = `insert into cubby_record as r (${recordColumns}) values (${rowOf(idInBatch)}) ${overwrite}${only} returning r.updated_at`
  return { name, text }
}

// ── Puts without conditions, several in one statement ──────────────────────────────────────────────────────
// $1 now in seconds, then arrays with a value a row, the rows in the order in which they are to be locked; for a
// batch the table and the key of the guard stand behind them, for puts of several requests they are arrays too.

const rowTypes = ['bigint', 'bytea', 'bytea', 'text', 'bigint', 'bigint', ...indexColumns.map(() => 'bytea')]
const rowNames = ['place', 'hash_key', 'range_key', 'data', 'ttl', 'updated_at', ...indexColumns]

const unnest = (types: string[], names: string[]): string =>
  `unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(', ')}) as v (${names.join(', ')})`

const insertRows = (tableId: string, source: string, guarded: string): string =>
  `insert into cubby_record as r (${recordColumns})
    select (select ${newId}) + v.place, ${tableId}, ${rowNames
      .slice(1)
      .map((name) => `v.${name}`)
      .join(', ')}
    from ${source} where ${guarded}
    ${overwrite.replaceAll(`$${nowPlace}::`, '$1::')}`

const behindRows = rowTypes.length + 2

/** The puts of a batch. No row: the guard does not hold. Otherwise the key and the version of each, in any order. */
export const putBatch: Statement = {
  name: 'put_batch',
  text: `${insertRows(
    `$${behindRows}::bigint`,
    unnest(rowTypes, rowNames),
    guard(behindRows + 1).replaceAll('$1::', `$${behindRows}::`),
  )} returning r.hash_key, r.range_key, r.updated_at`,
}

/** Puts of several requests, each with a guard of its own: those that are not among the rows were not applied. */
export const putTogether: Statement = {
  name: 'put_together',
  text: `${insertRows(
    'v.table_id',
    unnest([...rowTypes, 'bigint', 'bigint'], [...rowNames, 'table_id', 'key_seq']),
    guard(0).replaceAll('$1::bigint', 'v.table_id').replaceAll('$0::bigint', 'v.key_seq'),
  )} returning r.hash_key, r.range_key, r.updated_at, r.table_id`,
}

// ── Delete ─────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 $3 the key, $4 now in seconds, then the version if there is one, then the key of the guard.

const deleteLive = (kind: ConditionKind): string =>
  `delete from cubby_record as r where ${theRecord} and ${live(4)}${kind === 'version' ? ` and ${isVersion(5)}` : ''}`

export const deleteAlone = (kind: ConditionKind, guarded: boolean): Statement => ({
  name: `delete_${kind}${guarded ? '_guarded' : ''}`,
  text: `${deleteLive(kind)}${guarded ? ` and ${guard(kind === 'version' ? 6 : 5)}` : ''} returning r.updated_at`,
})

/**
 * Holds a key of a batch until its end, whether there is a record or not. Without it a delete that finds nothing
 * would let a batch of others in between it and the next, and of both a part would be seen: so where there is no
 * row one is made, expired since 1970, which nobody sees and which the delete behind it takes away again.
 */
export const lockInBatch: Statement = {
  name: 'batch_lock',
  text: `insert into cubby_record as r (id, table_id, hash_key, range_key, data, ttl, updated_at)
    values (0, $1::bigint, $2::bytea, $3::bytea, '', 0, 0)
    on conflict (table_id, hash_key, range_key) do update set ttl = r.ttl where r.table_id is null`,
}

const deleteHolds: Record<ConditionKind, string> = {
  none: 'true',
  exists: 'w.live',
  version: 'w.live and w.updated_at = $5::bigint',
  absent: 'not w.live',
}

/** One delete of a batch, behind its lock: whether there was a record. Fails if its condition does not hold. */
export const deleteInBatch = (kind: ConditionKind): Statement => ({
  name: `batch_delete_${kind}`,
  text: `with w as (delete from cubby_record as r where ${theRecord} returning ${live(4)} as live, r.updated_at)
    select w.live, ${raising(deleteHolds[kind])} from w`,
})

// ── The guard of a batch, and why a write was not applied ──────────────────────────────────────────────────

/** $1 the table, $2 the key. Fails if either is gone. */
export const guardBatch: Statement = { name: 'guard', text: `select ${raising(guard(2))}` }

/** Whether the table and the key are active. */
export const guardState: Statement = { name: 'guard_state', text: `select ${tableIsActive}, ${keyIsActive(2)}` }

/** The version of a live record. $4 now in seconds. */
export const currentVersion: Statement = {
  name: 'version',
  text: `select r.updated_at from cubby_record as r where ${theRecord} and ${live(4)}`,
}

export const getRecord: Statement = {
  name: 'get',
  text: `select r.data, r.ttl, r.updated_at from cubby_record as r where ${theRecord} and ${live(4)}`,
}

// ── Scans ──────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 now in seconds, $3 rows to walk, $4 expired rows to step over, $5 records wanted, $6 bytes wanted,
// $7 records that are given whatever their bytes, $8 low, $9 high; then the id of the row comparison (not in
// primary) and last the hash (not in t).

interface Walk {
  /** The column that orders the scan. */
  range: string
  where: string
  order: (column: string, id: string) => string
}

const walkOf = (index: Scan['index'], descending: boolean): Walk => {
  const down = descending ? ' desc' : ''
  if (index === 'primary') {
    return {
      range: 'range_key',
      where: 'r.hash_key = $10::bytea and r.range_key >= $8::bytea and r.range_key < $9::bytea',
      order: (column) => `${column}${down}`,
    }
  }
  const [range, type] = index === 't' ? ['updated_at', 'bigint'] : [`${index}_range`, 'bytea']
  const hash = index === 't' ? '' : `r.${index}_hash = $11::bytea and `
  // A row comparison is one bound of the index; the same written with OR is not.
  const bounds = descending
    ? `r.${range} >= $8::${type} and (r.${range}, r.id) < ($9::${type}, $10::bigint)`
    : `(r.${range}, r.id) > ($8::${type}, $10::bigint) and r.${range} < $9::${type}`
  return { range, where: `${hash}${bounds}`, order: (column, id) => `${column}${down}, ${id}${down}` }
}

/** What comes back of each row. What is known anyway is null, since every text that crosses has its cost. */
export const scanColumn = {
  id: 0,
  updatedAt: 1,
  ttl: 2,
  hashKey: 3,
  rangeKey: 4,
  /** The value of a declared index. */
  place: 5,
  data: 6,
  isExpired: 7,
  endsWalk: 8,
  steppedOver: 9,
}

/** Of a record in a page; the escapes of its keys are not counted. */
const bytesAtLeast = `${recordFrameBytesMin} + octet_length(r.hash_key) + octet_length(r.range_key) + octet_length(r.data)`

/**
 * A page and, behind it, the row that ends it, without data: the first record that did not fit, or the expired
 * row at which the walk gave up. The running sums follow the walk of the index, so the server stops reading
 * where the page does.
 */
export const scanRecords = (index: Scan['index'], descending: boolean): Statement => {
  const { range, where, order } = walkOf(index, descending)
  const walk = `
    select r.id, r.hash_key, r.range_key, r.updated_at, r.ttl, r.${range} as place, coalesce(r.ttl <= $2::bigint, false) as expired,
      case when r.ttl <= $2::bigint then null else r.data end as data,
      case when r.ttl <= $2::bigint then 0 else ${bytesAtLeast} end as size
    from cubby_record as r where r.table_id = $1::bigint and ${where}
    order by ${order(`r.${range}`, 'r.id')} limit $3::bigint`
  const counted = `
    select w.*, row_number() over o as walked, count(*) filter (where w.expired) over o as stepped_over,
      count(*) filter (where not w.expired) over o as met,
      sum(w.size) over o as bytes
    from (${walk}) as w window o as (order by ${order('w.place', 'w.id')} rows unbounded preceding)`
  return {
    name: `scan_${index}${descending ? '_down' : ''}`,
    text: `
    select p.id, p.updated_at, p.ttl, ${index === 'primary' ? 'null' : 'p.hash_key'}, p.range_key,
      ${index === 'primary' || index === 't' ? 'null' : 'p.place'},
      case when p.met <= $5::bigint and (p.met <= $7::bigint or p.bytes <= $6::bigint) then p.data end,
      nullif(p.expired, false), nullif(p.walked = $3::bigint, false), nullif(p.stepped_over, 0)
    from (${counted}) as p
    where case when p.expired then p.walked = $3::bigint or p.stepped_over = $4::bigint
      else p.met <= $7::bigint + 1 or p.bytes - p.size <= $6::bigint end
    order by ${order('p.place', 'p.id')} limit $5::bigint + 1`,
  }
}
