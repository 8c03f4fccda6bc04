import { storedData } from '../../../core/records/checksum.ts'
import type { LoadRows } from '../../../store/transfer.ts'
import type { ChangeLog } from '../changes/change-log.ts'
import type { Connection } from '../connection.ts'
import { insertRecord, type RecordWrites } from '../records/record-writes.ts'
import { insertRun, moveLease, runValues } from '../runs/run-rows.ts'
import { putTask, taskValues } from '../tasks/task-rows.ts'
import type { IdempotencyKeyWrites } from '../write/idempotency-key-writes.ts'

const addRecord = insertRecord.replace('INSERT', 'INSERT OR IGNORE')
const addRun = insertRun.replace('INSERT', 'INSERT OR IGNORE')

interface Writers {
  db: Connection
  log: ChangeLog
  records: RecordWrites
  idempotencyKeys: IdempotencyKeyWrites
}

/**
 * Adds the rows of a copy with their ids. AUTOINCREMENT continues after the highest id by itself; only the counter of record
 * ids is raised here.
 */
export const load = ({ db, log, records, idempotencyKeys }: Writers, { rows }: { rows: LoadRows }): void => {
  // The loaded rows may have ids above the reserved block.
  records.forgetReservedIds()
  for (const { id, name, createdAtMs, deletedAtMs, purging } of rows.organizations ?? []) {
    db.change(
      'INSERT OR IGNORE INTO organizations (id, name, created_at, deleted_at, purging) VALUES (?1, ?2, ?3, ?4, ?5)',
      ...[id, name, createdAtMs, deletedAtMs, purging ? 1 : 0],
    )
  }
  for (const key of rows.apiKeys ?? []) {
    db.change(
      `INSERT OR IGNORE INTO api_keys (seq, id, org_id, kind, name, hash, last_four, databases, created_at, last_used_at,
       expires_at, revoked_at, link, rolled_from, rolled_to)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
      ...[key.seq, key.id, key.orgId, key.kind, key.name, key.hash, key.lastFour],
      ...[key.databases === null ? null : JSON.stringify(key.databases), key.createdAtMs, key.lastUsedAtMs],
      ...[key.expiresAtMs, key.revokedAtMs, key.link, key.rolledFrom, key.rolledTo],
    )
  }
  for (const table of rows.tables ?? []) {
    db.change(
      `INSERT OR IGNORE INTO tables (id, org_id, db, name, indices, created_at, deleted_at, purging, kind, public_id,
       keep_hours, changes_since, followers) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`,
      ...[table.id, table.orgId, table.db, table.name, JSON.stringify(table.indices)],
      ...[table.createdAtMs, table.deletedAtMs, table.purging ? 1 : 0, table.kind, table.publicId],
      ...[table.changes?.keepHours ?? null, table.changes?.sinceMs ?? null, JSON.stringify(table.followers)],
    )
  }
  for (const { id, tableId, bytes } of rows.blobs ?? []) {
    db.change(`INSERT OR IGNORE INTO blobs VALUES (?1, ?2, 'live', NULL)`, id, tableId)
    const insertBytes = 'INSERT OR IGNORE INTO blob_bytes (id, bytes) VALUES (?1, ?2)'
    if (bytes !== undefined) db.change(insertBytes, id, Buffer.from(bytes, 'base64'))
  }
  for (const task of rows.tasks ?? []) db.change(putTask('INSERT OR IGNORE'), ...taskValues(task))
  for (const run of rows.runs ?? []) {
    const changes = db.change(addRun, ...runValues(run))
    if (changes > 0) moveLease(db, { ...run, leaseUntilMs: null }, run)
  }
  for (const key of rows.idempotencyKeys ?? []) idempotencyKeys.load(key)
  for (const { tableId, ...entry } of rows.changes ?? []) log.load(tableId, entry)
  let lastId = 0
  for (const record of rows.records ?? []) {
    lastId = Math.max(lastId, record.id)
    const { id, tableId, hashKey, rangeKey, updatedAtMs, ttlSeconds, entries } = record
    const values = [id, tableId, hashKey, rangeKey, updatedAtMs, ttlSeconds, storedData(tableId, record), ...entries]
    db.change(addRecord, ...values)
  }
  if (lastId > 0) db.change(`UPDATE meta SET value = max(value, ?1) WHERE name = 'next_record_id'`, lastId + 1)
}
