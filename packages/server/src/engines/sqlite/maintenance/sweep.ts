import { entryKind } from '../../../core/changes/log-entry.ts'
import { recoveryMs, sweepGraceMs } from '../../../core/limits.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import { blobsOfRows, markDead } from '../files/file-writes.ts'
import { belongsTo, removeRows } from '../records/remove-damaged.ts'
import { changeDamaged } from '../runs/damaged-runs.ts'
import type { FollowedWrites } from '../runs/followed-writes.ts'
import { moveLease } from '../runs/run-rows.ts'
import { removeIdempotencyKeys } from '../write/idempotency-key-writes.ts'

// Each of these commands is one step, in the transaction that is open on `db`.

interface Writers {
  db: Connection
}

interface SweepStep {
  nowMs: number
  rowsMax: number
}

const idsIn = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)

export const sweepExpired = (
  { db, followed }: Writers & { followed: FollowedWrites },
  { nowMs, rowsMax }: SweepStep,
): number => {
  const expired = idsIn(
    db.all(
      'SELECT id FROM records WHERE id IN (SELECT id FROM records WHERE ttl <= ?1 LIMIT ?2) AND +ttl <= ?1',
      ...[Math.floor((nowMs - sweepGraceMs) / 1000), rowsMax],
    ),
  )
  const noted = rowsToNote(db, expired)
  const blobs = blobsOfRows(db, expired)
  const removed = removeRows(db, expired)
  markDead(db, blobs, nowMs)
  for (const { tableId, hashKey, rangeKey, ttl } of noted) {
    followed.note(tableId, { kind: entryKind.expire, hashKey, rangeKey, version: ttl * 1000 }, nowMs)
  }
  return removed
}

/** Those of the rows whose tables keep changes or are followed by tasks. */
const rowsToNote = (db: Connection, ids: number[]): (RecordKey & { tableId: number; ttl: number })[] =>
  db.all(
    `SELECT r.table_id AS tableId, CAST(r.hash_key AS TEXT) AS hashKey, CAST(r.range_key AS TEXT) AS rangeKey, r.ttl
     FROM records r CROSS JOIN tables t ON t.id = r.table_id AND (t.keep_hours IS NOT NULL OR t.followers <> '[]')
     WHERE r.id IN (SELECT value FROM json_each(?1))`,
    JSON.stringify(ids),
  )

/** Removes the entries of a log with numbers below `beforeSeq`, the oldest first. Returns their number. */
export const removeOldChanges = (
  { db }: Writers,
  { tableId, beforeSeq, rowsMax }: { tableId: number; beforeSeq: number; rowsMax: number },
): number =>
  db.change(
    `DELETE FROM changes WHERE table_id = ?1 AND seq < ?2 AND seq IN (
       SELECT seq FROM changes WHERE table_id = ?1 ORDER BY seq LIMIT ?3)`,
    ...[tableId, beforeSeq, rowsMax],
  )

/** Removes idempotency keys of an organization that were created before `beforeMs`, the oldest first. Returns their number. */
export const removeOldKeys = (
  { db }: Writers,
  { orgId, beforeMs, rowsMax }: { orgId: number; beforeMs: number; rowsMax: number },
): number =>
  removeIdempotencyKeys(db, 'org_id = ?1 AND created_at < ?2 ORDER BY created_at LIMIT ?3', orgId, beforeMs, rowsMax)

/** Removes the oldest idempotency keys of a user. Returns their number. */
export const removeOldKeysOfUser = (
  { db }: Writers,
  { orgId, userHash, rowsMax }: { orgId: number; userHash: string; rowsMax: number },
): number =>
  removeIdempotencyKeys(db, 'org_id = ?1 AND user_hash = ?2 ORDER BY created_at LIMIT ?3', orgId, userHash, rowsMax)

interface PurgedTable {
  id: number
  orgId: number
  kind: TableKind
}

/** Removes rows of the table, bucket or task that was deleted first, and its own row when no other is left. */
export const purgeTables = ({ db }: Writers, { nowMs, rowsMax }: SweepStep): number => {
  const table = db.one<PurgedTable>(
    'SELECT id, org_id AS orgId, kind FROM tables WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1',
    nowMs - recoveryMs - sweepGraceMs,
  )
  if (table === undefined) return 0
  // This comes first: a table that has lost rows must not be restored, even if the clock steps back.
  db.change('UPDATE tables SET purging = 1 WHERE id = ?1 AND purging = 0', table.id)
  return purgeTable(db, table, nowMs, rowsMax)
}

/** Removes rows of a table that nobody can restore. */
const purgeTable = (db: Connection, table: PurgedTable, nowMs: number, rowsMax: number): number => {
  if (table.kind === 'task') return purgeTask(db, table, nowMs, rowsMax)
  const rows = idsIn(db.all('SELECT id FROM records WHERE table_id = ?1 LIMIT ?2', table.id, rowsMax))
  const blobs = table.kind === 'bucket' ? blobsOfRows(db, rows) : []
  // A damaged index entry may point to a record of another table.
  const removed = removeRows(db, rows, (id) => belongsTo(db, table.id, id))
  markDead(db, blobs, nowMs)
  if (rows.length === rowsMax && removed > 0) return removed + 1
  const entries = removeOldChanges({ db }, { tableId: table.id, beforeSeq: Number.MAX_SAFE_INTEGER, rowsMax })
  if (entries === rowsMax) return removed + entries
  return removed + removeLast(db, table, nowMs, rowsMax - removed)
}

/**
 * Removes the own row of a table that has no other rows left. Its idempotency keys are removed before: they are as old as its
 * deletion, so they are among those of the organization that need not be kept.
 */
const removeLast = (db: Connection, { id, orgId }: PurgedTable, nowMs: number, rowsMax: number): number => {
  const keys = removeOldKeys({ db }, { orgId, beforeMs: nowMs - recoveryMs - sweepGraceMs + 1, rowsMax })
  if (keys < rowsMax) db.change('DELETE FROM tables WHERE id = ?1', id)
  return keys + 1
}

const purgeTask = (db: Connection, task: PurgedTable, nowMs: number, rowsMax: number): number => {
  const taskId = task.id
  const runs = db.all<{ seq: number; leaseUntilMs: number | null }>(
    'SELECT seq, lease_until AS leaseUntilMs FROM runs WHERE task_id = ?1 LIMIT ?2',
    ...[taskId, rowsMax],
  )
  for (const { seq, leaseUntilMs } of runs) moveLease(db, { seq, taskId, leaseUntilMs }, { leaseUntilMs: null })
  changeDamaged(db, () => {
    for (const { seq } of runs) db.change('DELETE FROM runs WHERE seq = ?1', seq)
  })
  if (runs.length === rowsMax) return runs.length + 1
  db.change('DELETE FROM tasks WHERE table_id = ?1', taskId)
  return runs.length + removeLast(db, task, nowMs, rowsMax - runs.length)
}

/** Finds one table of an organization. One index has the active tables, another one the deleted ones. */
const tableOf = (isDeleted: boolean): string =>
  `SELECT id, org_id AS orgId, kind FROM tables WHERE org_id = ?1 AND deleted_at IS ${isDeleted ? 'NOT NULL' : 'NULL'} LIMIT 1`

/**
 * Removes rows of a table, bucket or task of the organization that was deleted first; when it has none left, its API keys, idempotency
 * keys, revoked users and issuers; at last its own row. Then its name is free.
 */
export const purgeOrganizations = ({ db }: Writers, { nowMs, rowsMax }: SweepStep): number => {
  const found = db.one<{ id: number }>(
    'SELECT id FROM organizations WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1',
    nowMs - recoveryMs - sweepGraceMs,
  )
  if (found === undefined) return 0
  const { id } = found
  // This comes first: an organization that has lost rows must not be restored, even if the clock steps back.
  db.change('UPDATE organizations SET purging = 1 WHERE id = ?1 AND purging = 0', id)
  for (const isDeleted of [false, true]) {
    const table = db.one<PurgedTable>(tableOf(isDeleted), id)
    if (table !== undefined) return purgeTable(db, table, nowMs, rowsMax)
  }
  const sql = 'DELETE FROM api_keys WHERE seq IN (SELECT seq FROM api_keys WHERE org_id = ?1 LIMIT ?2)'
  const revocations = `DELETE FROM revoked_users WHERE org_id = ?1 AND user_hash IN
    (SELECT user_hash FROM revoked_users WHERE org_id = ?1 LIMIT ?2)`
  const removed =
    db.change(sql, id, rowsMax) +
    removeIdempotencyKeys(db, 'org_id = ?1 LIMIT ?2', id, rowsMax) +
    db.change(revocations, id, rowsMax)
  db.change('DELETE FROM issuers WHERE org_id = ?1', id)
  if (removed < rowsMax) db.change('DELETE FROM organizations WHERE id = ?1', id)
  return removed + 1
}
