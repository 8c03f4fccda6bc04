import { slots } from '../../../core/tables/indices.ts'
import type { Condition } from '../../../store/records.ts'
import type { Statement } from '../connection/driver.ts'
import { isOfActive } from '../registry/rows.ts'

// The statements that write records; read-statements.ts has the others. Each has a fixed text, so that it is prepared once
// on each connection, and each scans one index from a bound: test/engine-postgres-plans.test.ts checks that.

export const indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`])

export const theRecord = 'r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea'

/**
 * True if the table and its organization are not deleted. The caller's key belongs to the same organization. With "where …
 * deleted_at_ms is null" the planner would choose the partial index over all active tables in an empty store, and keep that
 * plan.
 */
export const tableIsActive = `coalesce((select t.deleted_at_ms is null and ${isOfActive('t.org_id')}
  from cubby_table_8 t where t.id = $1::bigint), false)`

/** True if the organization of the table is not deleted, and if there is no such table. */
export const organizationIsActive = `coalesce((select ${isOfActive('t.org_id')}
  from cubby_table_8 t where t.id = $1::bigint), true)`

/** The key is null in an operator's command. */
export const keyIsActive = (parameter: number): string =>
  `($${parameter}::bigint is null or coalesce((select k.revoked_at is null from cubby_api_key_8 k where k.seq = $${parameter}::bigint), false))`

/** True if the writes of the table `t` are counted: it keeps changes, or tasks follow it. */
export const isLoggedSql = `(t.keep_hours is not null or t.followers <> '[]')`

/** True if the table and its organization are not deleted, and its writes are not counted. */
const tableIsPlain = tableIsActive.replace('is null and', `is null and not ${isLoggedSql} and`)

/**
 * A write statement has this condition, so that it is applied only if table and key are active. One that brings nothing along
 * must not write into a table that has begun to keep its changes or to be followed.
 */
const guard = (keyParameter: number): string => `${tableIsPlain} and ${keyIsActive(keyParameter)}`

// A pipeline cannot stop to look at a count. A statement that must stop it raises an error instead: division by zero, the
// one error that every database raises at run time and that no other statement of ours can cause.
export const raising = (holds: string): string => `1 / (case when ${holds} then 1 else 0 end)`

const raisingUnlessApplied = (change: string): string =>
  `with w as (${change}) select max(w.updated_at), 1 / count(*) from w`

// ── Put ────────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 $3 the record key, $4 data, $5 ttl, $6 time of the write in ms, $7 … $16 index entries, $17 now in seconds.

const nowParameter = 17
const entryParameters = indexColumns.map((_, i) => `$${i + 7}::bytea`)
export const recordColumns = `id, table_id, hash_key, range_key, data, ttl_seconds, updated_at, ${indexColumns.join(', ')}`
export const expired = `r.ttl_seconds <= $${nowParameter}::bigint`
export const live = (parameter: number): string => `(r.ttl_seconds is null or r.ttl_seconds > $${parameter}::bigint)`

// With "updated_at =" the planner could use the index by time, and scan all records of one millisecond.
const isVersion = (parameter: number): string => `r.updated_at - $${parameter}::bigint = 0`

export const rowOf = (id: string): string =>
  `${id}, $1::bigint, $2::bytea, $3::bytea, $4::text, $5::bigint, $6::bigint, ${entryParameters.join(', ')}`

// An expired row with this key is replaced, with a new id: the record is created, not updated.
export const overwriteWith = (version: string): string => `on conflict (table_id, hash_key, range_key) do update set
  id = case when ${expired} then excluded.id else r.id end, updated_at = ${version},
  data = excluded.data, ttl_seconds = excluded.ttl_seconds,
  ${indexColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`

const overwrite = overwriteWith(
  `case when ${expired} then excluded.updated_at else greatest(excluded.updated_at, r.updated_at + 1) end`,
)

const updateLive = `update cubby_record_8 as r set
  data = $4::text, ttl_seconds = $5::bigint, updated_at = greatest($6::bigint, r.updated_at + 1),
  ${indexColumns.map((column, i) => `${column} = ${entryParameters[i]}`).join(', ')}
  where ${theRecord} and ${live(nowParameter)}`

export type ConditionKind = 'none' | 'exists' | 'version' | 'absent'

export const conditionKind = (condition: Condition | undefined): ConditionKind =>
  condition === undefined ? 'none' : typeof condition === 'string' ? condition : 'version'

/** Ids are drawn this far apart. The operations of a batch use the ids in between. */
export const idStride = 32

export const newId = "nextval('cubby_record_id')"

/** Draws the ids of a batch. Each put then uses the one of its position among the operations. */
export const drawIds: Statement = { name: 'draw_ids', text: `select ${newId}` }

const idInBatch = "currval('cubby_record_id') + $18::bigint"

/** Writes one put alone. A guard adds $18, the API key. The version, if any, is last. No row means that it was not applied. */
export const putAlone = (kind: ConditionKind, guarded: boolean): Statement => {
  const name = `put_${kind}${guarded ? '_guarded' : ''}`
  if (kind === 'exists' || kind === 'version') {
    const version = kind === 'version' ? ` and ${isVersion(guarded ? 19 : 18)}` : ''
    return { name, text: `${updateLive}${version}${guarded ? ` and ${guard(18)}` : ''} returning r.updated_at` }
  }
  const source = guarded ? `select ${rowOf(newId)} where ${guard(18)}` : `values (${rowOf(newId)})`
  const only = kind === 'absent' ? ` where ${expired}` : ''
  const text = `insert into cubby_record_8 as r (${recordColumns}) ${source} ${overwrite}${only} returning r.updated_at`
  return { name, text }
}

/** Writes one put of a batch. $18 is its position among the operations, or the version. It fails if it cannot be applied. */
export const putInBatch = (kind: ConditionKind): Statement => {
  const name = `batch_put_${kind}`
  if (kind === 'exists' || kind === 'version') {
    const version = kind === 'version' ? ` and ${isVersion(18)}` : ''
    return { name, text: raisingUnlessApplied(`${updateLive}${version} returning r.updated_at`) }
  }
  const only = kind === 'absent' ? ` where ${raising(expired)} = 1` : ''
  const text = `insert into cubby_record_8 as r (${recordColumns}) values (${rowOf(idInBatch)}) ${overwrite}${only} returning r.updated_at`
  return { name, text }
}

// ── Puts without conditions, several in one statement ──────────────────────────────────────────────────────
// $1 now in seconds, then arrays with one value for each row, the rows in locking order. Then the table and the API key for
// the guard: values for a batch, arrays for puts of several requests.

const rowTypes = ['bigint', 'bytea', 'bytea', 'text', 'bigint', 'bigint', ...indexColumns.map(() => 'bytea')]
const rowNames = ['place', 'hash_key', 'range_key', 'data', 'ttl_seconds', 'updated_at', ...indexColumns]

const unnest = (types: string[], names: string[]): string =>
  `unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(', ')}) as v (${names.join(', ')})`

/** `now`: the parameter with the current second. With `onlyAbsent`, only an expired record is replaced. */
const overwriteAt = (now: number, onlyAbsent: boolean): string =>
  `${overwrite}${onlyAbsent ? ` where ${expired}` : ''}`.replaceAll(`$${nowParameter}::`, `$${now}::`)

const idAtPlace = `(select ${newId}) + v.place`

const insertRows = (tableId: string, source: string, guarded: string, id = idAtPlace, onlyAbsent = false): string =>
  `insert into cubby_record_8 as r (${recordColumns})
    select ${id}, ${tableId}, ${rowNames
      .slice(1)
      .map((name) => `v.${name}`)
      .join(', ')}
    from ${source} where ${guarded}
    ${overwriteAt(1, onlyAbsent)}`

/**
 * Writes several puts of a batch as plain rows. $1 table, $2 now in seconds, then the values of each row, the rows in locking
 * order. It returns the version and record key of each.
 */
export const putRows = (count: number, onlyAbsent = false): Statement => {
  const row = (_: unknown, i: number): string => {
    const [place, ...values] = rowTypes.map((type, column) => `$${3 + i * rowTypes.length + column}::${type}`)
    return `(currval('cubby_record_id') + ${place}, $1::bigint, ${values.join(', ')})`
  }
  return {
    name: `batch_put_${onlyAbsent ? 'absent_' : ''}rows_${count}`,
    text: `insert into cubby_record_8 as r (${recordColumns}) values ${Array.from({ length: count }, row).join(', ')}
      ${overwriteAt(2, onlyAbsent)} returning r.updated_at, r.hash_key, r.range_key`,
  }
}

const behindRows = rowTypes.length + 2

/**
 * Writes the puts of a batch. It returns the record key and version of each, in any order, or no row if the guard does not
 * hold.
 */
export const putBatch: Statement = {
  name: 'put_batch',
  text: `${insertRows(
    `$${behindRows}::bigint`,
    unnest(rowTypes, rowNames),
    guard(behindRows + 1).replaceAll('$1::', `$${behindRows}::`),
  )} returning r.hash_key, r.range_key, r.updated_at`,
}

const drawsParameter = behindRows + 1

/** More rows than one draw has ids for. The last parameter is the number of draws. */
const idsOfDraws = `(array(select ${newId} from generate_series(1, $${drawsParameter}::int)))[(v.place / ${idStride} + 1)::int] + v.place % ${idStride}`

/** Writes puts of a load, behind `guardBatch`. Its count is that of the written ones. For a log it returns them, as `putRows` does. */
export const putMany = (onlyAbsent: boolean, isLogged = false): Statement => ({
  name: `put_many${onlyAbsent ? '_absent' : ''}${isLogged ? '_logged' : ''}`,
  text:
    insertRows(`$${behindRows}::bigint`, unnest(rowTypes, rowNames), 'true', idsOfDraws, onlyAbsent) +
    (isLogged ? ' returning r.updated_at, r.hash_key, r.range_key' : ''),
})

/** Writes puts of several requests, each with its own guard. A put without a row in the result was not applied. */
export const putTogether: Statement = {
  name: 'put_together',
  text: `${insertRows(
    'v.table_id',
    unnest([...rowTypes, 'bigint', 'bigint'], [...rowNames, 'table_id', 'key_seq']),
    guard(0).replaceAll('$1::bigint', 'v.table_id').replaceAll('$0::bigint', 'v.key_seq'),
  )} returning r.hash_key, r.range_key, r.updated_at, r.table_id`,
}

// ── Delete ─────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 $3 the record key, $4 now in seconds, then the version if there is one, then the API key of the guard.

const deleteLive = (kind: ConditionKind): string =>
  `delete from cubby_record_8 as r where ${theRecord} and ${live(4)}${kind === 'version' ? ` and ${isVersion(5)}` : ''}`

export const deleteAlone = (kind: ConditionKind, guarded: boolean): Statement => ({
  name: `delete_${kind}${guarded ? '_guarded' : ''}`,
  text: `${deleteLive(kind)}${guarded ? ` and ${guard(kind === 'version' ? 6 : 5)}` : ''} returning r.updated_at`,
})

/**
 * Locks a record key of a batch until the end of the transaction, whether the record exists or not. A delete that finds
 * nothing locks nothing: another batch could run between it and the next operation, and readers would see a part of both.
 * So if there is no row, one is inserted, expired since 1970: nobody sees it, and the delete after it removes it.
 */
export const lockInBatch: Statement = {
  name: 'batch_lock',
  text: `insert into cubby_record_8 as r (id, table_id, hash_key, range_key, data, ttl_seconds, updated_at)
    values (0, $1::bigint, $2::bytea, $3::bytea, '', 0, 0)
    on conflict (table_id, hash_key, range_key) do update set ttl_seconds = r.ttl_seconds where r.table_id is null`,
}

/** Reads a live record after its lock: version, ttl, and its data if $5 is true. $4 now in seconds. */
export const readLocked: Statement = {
  name: 'read_locked',
  text: `select r.updated_at, r.ttl_seconds, case when $5::boolean then r.data end from cubby_record_8 as r
    where ${theRecord} and ${live(4)}`,
}

/** Removes the row that a lock has made for a record that is not there. */
export const removeLock: Statement = {
  name: 'remove_lock',
  text: `delete from cubby_record_8 as r where ${theRecord} and r.id = 0`,
}

const deleteHolds: Record<ConditionKind, string> = {
  none: 'true',
  exists: 'w.live',
  version: 'w.live and w.updated_at = $5::bigint',
  absent: 'not w.live',
}

/**
 * Applies one delete of a batch, after its lock, and returns whether there was a record. It fails if its condition does not
 * hold. The other columns are for the log: version, ttl, and the id, which is 0 of a row that only the lock has made.
 */
export const deleteInBatch = (kind: ConditionKind): Statement => ({
  name: `batch_delete_${kind}`,
  text: `with w as (delete from cubby_record_8 as r where ${theRecord}
      returning ${live(4)} as live, r.updated_at, r.ttl_seconds, r.id)
    select w.live, ${raising(deleteHolds[kind])}, w.updated_at, w.ttl_seconds, w.id from w`,
})

// ── Counted writes, under the lock of the table's counter ──────────────────────────────────────────────────

/** Reads and locks a row, also of an expired record. Its data is read if $4 is true. */
export const lockRow: Statement = {
  name: 'row_lock',
  text: `select r.id, r.updated_at, r.ttl_seconds, case when $4::boolean then r.data end from cubby_record_8 as r
    where ${theRecord} for update`,
}

/** $17 is the id. Fails if there is a row: a write from before the log was begun was faster. */
export const insertRow: Statement = {
  name: 'row_insert',
  text: `insert into cubby_record_8 as r (${recordColumns}) values (${rowOf('$17::bigint')})`,
}

export const replaceRow: Statement = {
  name: 'row_replace',
  text: `update cubby_record_8 as r set id = $17::bigint, data = $4::text, ttl_seconds = $5::bigint, updated_at = $6::bigint,
    ${indexColumns.map((column, i) => `${column} = ${entryParameters[i]}`).join(', ')} where ${theRecord}`,
}

export const removeRow: Statement = {
  name: 'row_remove',
  text: `delete from cubby_record_8 as r where ${theRecord}`,
}

// ── The guard of a batch, and why a write was not applied ──────────────────────────────────────────────────

/** $1 the table, $2 the API key. Fails if either is not active, or if the writes of the table are counted. */
export const guardBatch: Statement = { name: 'guard', text: `select ${raising(guard(2))}` }

/** The same for counted writes. */
export const guardLogged: Statement = {
  name: 'guard_logged',
  text: `select ${raising(`${tableIsActive} and ${keyIsActive(2)}`)}`,
}

/** Reads whether the table, the API key and the organization are active, and whether the writes of the table are counted. */
export const guardState: Statement = {
  name: 'guard_state',
  text: `select ${tableIsActive}, ${keyIsActive(2)}, ${organizationIsActive},
    coalesce((select ${isLoggedSql} from cubby_table_8 t where t.id = $1::bigint), false)`,
}

/** Reads the version of a live record. $4 now in seconds. */
export const currentVersion: Statement = {
  name: 'version',
  text: `select r.updated_at from cubby_record_8 as r where ${theRecord} and ${live(4)}`,
}
