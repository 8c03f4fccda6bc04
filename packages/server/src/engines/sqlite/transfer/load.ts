import { storedData } from '../../../core/records/checksum.ts'
import type { LoadRows } from '../../../store/transfer.ts'
import type { Connection } from '../connection.ts'
import { indexColumns, type RecordWrites } from '../records/record-writes.ts'
import { insertRun, moveLease, runValues } from '../runs/run-rows.ts'
import { putTask, taskValues } from '../tasks/task-rows.ts'

type Value = string | number | null

/** Adds the rows of a copy with their ids. AUTOINCREMENT continues after the highest id by itself; record ids are raised here. */
export const load = (
  { db, records }: { db: Connection; records: RecordWrites },
  { rows }: { rows: LoadRows },
): void => {
  // The loaded rows may have ids above the reserved block.
  records.forgetReservedIds()
  const insert = (sql: string) => db.prepare<unknown, Value[]>(sql)
  for (const { id, name, createdAtMs, deletedAtMs, purging } of rows.organizations ?? []) {
    insert(`INSERT OR IGNORE INTO organizations (id, name, created_at, deleted_at, purging)
      VALUES (?1, ?2, ?3, ?4, ?5)`).run(id, name, createdAtMs, deletedAtMs, purging ? 1 : 0)
  }
  for (const key of rows.apiKeys ?? []) {
    insert(`INSERT OR IGNORE INTO api_keys (seq, id, org_id, kind, name, hash, last_four, databases, created_at, last_used_at,
      expires_at, revoked_at, link) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`).run(
      ...[key.seq, key.id, key.orgId, key.kind, key.name, key.hash, key.lastFour],
      ...[key.databases === null ? null : JSON.stringify(key.databases), key.createdAtMs, key.lastUsedAtMs],
      ...[key.expiresAtMs, key.revokedAtMs, key.link],
    )
  }
  for (const table of rows.tables ?? []) {
    insert(`INSERT OR IGNORE INTO tables (id, org_id, db, name, indices, created_at, deleted_at, purging, kind, public_id)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`).run(
      ...[table.id, table.orgId, table.db, table.name, JSON.stringify(table.indices)],
      ...[table.createdAtMs, table.deletedAtMs, table.purging ? 1 : 0, table.kind, table.publicId],
    )
  }
  const insertBytes = db.prepare<unknown, [string, Uint8Array]>(
    'INSERT OR IGNORE INTO blob_bytes (id, bytes) VALUES (?1, ?2)',
  )
  for (const { id, tableId, bytes } of rows.blobs ?? []) {
    insert(`INSERT OR IGNORE INTO blobs VALUES (?1, ?2, 'live', NULL)`).run(id, tableId)
    if (bytes !== undefined) insertBytes.run(id, Buffer.from(bytes, 'base64'))
  }
  for (const task of rows.tasks ?? []) insert(putTask('INSERT OR IGNORE')).run(...taskValues(task))
  for (const run of rows.runs ?? []) {
    const { changes } = insert(insertRun.replace('INSERT', 'INSERT OR IGNORE')).run(...runValues(run))
    if (changes > 0) moveLease(db, { ...run, leaseUntilMs: null }, run)
  }
  let lastId = 0
  for (const record of rows.records ?? []) {
    lastId = Math.max(lastId, record.id)
    insert(`INSERT OR IGNORE INTO records (id, table_id, hash_key, range_key, updated_at, ttl, data, ${indexColumns.join(', ')})
      VALUES (?1, ?2, CAST(?3 AS BLOB), CAST(?4 AS BLOB), ?5, ?6, ?7,
        ${indexColumns.map((_, i) => `CAST(?${i + 8} AS BLOB)`).join(', ')})`).run(
      ...[
        record.id,
        record.tableId,
        record.hashKey,
        record.rangeKey,
        record.updatedAtMs,
        record.ttlSeconds,
        storedData(record.tableId, record),
      ],
      ...record.entries,
    )
  }
  if (lastId > 0) {
    insert(`UPDATE meta SET value = max(value, ?1) WHERE name = 'next_record_id'`).run(lastId + 1)
  }
}
