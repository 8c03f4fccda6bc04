import { recoveryMs, sweepGraceMs } from '../../../core/limits.ts'
import type { TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import { blobsOfRows, markDead } from '../files/file-writes.ts'
import { belongsTo, removeRows } from '../records/remove-damaged.ts'
import { changeDamaged } from '../runs/damaged-runs.ts'
import { moveLease } from '../runs/run-rows.ts'

// One step each, in the transaction that is open on `db`.

interface Writers {
  db: Connection
}

interface SweepStep {
  nowMs: number
  rowsMax: number
}

const run = (db: Connection, sql: string, ...values: number[]): number =>
  db.prepare<unknown, number[]>(sql).run(...values).changes

const findIds = (db: Connection, sql: string, ...values: number[]): number[] =>
  db
    .prepare<{ id: number }, number[]>(sql)
    .all(...values)
    .map(({ id }) => id)

export const sweepExpired = ({ db }: Writers, { nowMs, rowsMax }: SweepStep): number => {
  const expired = findIds(
    db,
    'SELECT id FROM records WHERE id IN (SELECT id FROM records WHERE ttl <= ?1 LIMIT ?2) AND +ttl <= ?1',
    ...[Math.floor((nowMs - sweepGraceMs) / 1000), rowsMax],
  )
  const blobs = blobsOfRows(db, expired)
  const removed = removeRows(db, expired)
  markDead(db, blobs, nowMs)
  return removed
}

interface PurgedTable {
  id: number
  kind: TableKind
}

/** Removes rows of the table, bucket or task that was deleted first, and its own row when no other is left. */
export const purgeTables = ({ db }: Writers, { nowMs, rowsMax }: SweepStep): number => {
  const table = db
    .prepare<PurgedTable, [number]>('SELECT id, kind FROM tables WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1')
    .get(nowMs - recoveryMs - sweepGraceMs)
  if (table === null) return 0
  // Marked first: a table that has lost rows must not be restored, even if the clock steps back.
  run(db, 'UPDATE tables SET purging = 1 WHERE id = ?1 AND purging = 0', table.id)
  return purgeTable(db, table, nowMs, rowsMax)
}

/** One step, of a table that nobody can restore. */
const purgeTable = (db: Connection, table: PurgedTable, nowMs: number, rowsMax: number): number => {
  if (table.kind === 'task') return purgeTask(db, table.id, rowsMax)
  const rows = findIds(db, 'SELECT id FROM records WHERE table_id = ?1 LIMIT ?2', ...[table.id, rowsMax])
  const blobs = table.kind === 'bucket' ? blobsOfRows(db, rows) : []
  // A damaged index entry may point to a record of another table.
  const removed = removeRows(db, rows, (id) => belongsTo(db, table.id, id))
  markDead(db, blobs, nowMs)
  if (rows.length < rowsMax || removed === 0) run(db, 'DELETE FROM tables WHERE id = ?1', table.id)
  return removed + 1
}

const purgeTask = (db: Connection, taskId: number, rowsMax: number): number => {
  const runs = db
    .prepare<{ seq: number; leaseUntilMs: number | null }, [number, number]>(
      'SELECT seq, lease_until AS leaseUntilMs FROM runs WHERE task_id = ?1 LIMIT ?2',
    )
    .all(taskId, rowsMax)
  for (const { seq, leaseUntilMs } of runs) moveLease(db, { seq, taskId, leaseUntilMs }, { leaseUntilMs: null })
  changeDamaged(db, () => {
    for (const { seq } of runs) run(db, 'DELETE FROM runs WHERE seq = ?1', seq)
  })
  const removed = runs.length
  if (removed < rowsMax) {
    run(db, 'DELETE FROM tasks WHERE table_id = ?1', taskId)
    run(db, 'DELETE FROM tables WHERE id = ?1', taskId)
  }
  return removed + 1
}

/** By two indexes: one has the active tables, the other the deleted ones. */
const tableOf = (isDeleted: boolean): string =>
  `SELECT id, kind FROM tables WHERE org_id = ?1 AND deleted_at IS ${isDeleted ? 'NOT NULL' : 'NULL'} LIMIT 1`

/**
 * One step, in the transaction that is open on `db`: rows of a table, bucket or task of the organization that was deleted
 * first; when it has none left, its API keys; at last its own row. Then its name is free.
 */
export const purgeOrganizations = ({ db }: { db: Connection }, { nowMs, rowsMax }: SweepStep): number => {
  const run = (sql: string, ...values: number[]): number => db.prepare<unknown, number[]>(sql).run(...values).changes
  const found = db
    .prepare<{ id: number }, [number]>(
      'SELECT id FROM organizations WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1',
    )
    .get(nowMs - recoveryMs - sweepGraceMs)
  if (found === null) return 0
  const { id } = found
  // Marked first: an organization that has lost rows must not be restored, even if the clock steps back.
  run('UPDATE organizations SET purging = 1 WHERE id = ?1 AND purging = 0', id)
  for (const isDeleted of [false, true]) {
    const table = db.prepare<{ id: number; kind: TableKind }, [number]>(tableOf(isDeleted)).get(id)
    if (table !== null) return purgeTable(db, table, nowMs, rowsMax)
  }
  const sql = 'DELETE FROM api_keys WHERE seq IN (SELECT seq FROM api_keys WHERE org_id = ?1 LIMIT ?2)'
  const keys = run(sql, id, rowsMax)
  if (keys < rowsMax) run('DELETE FROM organizations WHERE id = ?1', id)
  return keys + 1
}
