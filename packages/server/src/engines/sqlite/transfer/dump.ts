import { markOf } from '../../../core/changes/log-entry.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import { StoreDamaged } from '../../../core/store-refused.ts'
import { type EntriesRule, entriesOf } from '../../../core/tables/entries-of.ts'
import type { Run } from '../../../core/tasks/run.ts'
import type {
  Dump,
  DumpedBlob,
  DumpedChange,
  DumpedIdempotencyKey,
  DumpedIssuer,
  DumpedRecord,
  DumpedRevocation,
} from '../../../store/transfer.ts'
import { type EntryRow, entryColumns } from '../changes/changes.ts'
import { Connection } from '../connection.ts'
import { damagedStore, isDamage } from '../disk/damage.ts'
import type { RowCheck } from '../records/row-check.ts'
import {
  type KeyRow,
  keyColumns,
  type OrganizationRow,
  organizationColumns,
  readSecrets,
  type TableRow,
  tableColumns,
  toApiKey,
  toOrganization,
  toTable,
} from '../registry/rows.ts'
import { issuerColumns, readUserEpochs } from '../registry/user-rows.ts'
import { type RunRow, runColumns, toRun } from '../runs/run-rows.ts'
import { type TaskRow, taskColumns, toTask } from '../tasks/task-rows.ts'

const chunkBytes = 1024 * 1024
const chunkRows = 500

interface DumpRow extends StoredRecord {
  id: number
}

interface Purging {
  purging: number
}

/**
 * Reads a store through a connection and a transaction of its own: one snapshot from the first row to the last. A
 * damaged record ends it with an error: it must not be copied.
 */
export const openDump = (path: string, rowCheck: RowCheck): Dump => {
  const db = new Connection(path, 4_096)
  db.run('PRAGMA query_only = ON')
  db.run('BEGIN')
  // The snapshot is taken by the first read, not by BEGIN.
  db.one('SELECT 1 FROM meta')
  const runs = (where: string, value: number): AsyncIterable<Run[]> => {
    const rows = db.prepare<RunRow, [number]>(`SELECT ${runColumns} FROM runs WHERE ${where}`).iterate(value)
    return inChunks(db.path, rows, toRun, (row) => row.payload.length + (row.result?.length ?? 0))
  }
  return {
    secrets: () => readSecrets(db),

    organizations: () =>
      db
        .all<OrganizationRow & Purging>(`SELECT ${organizationColumns}, purging FROM organizations ORDER BY id`)
        .map((row) => ({ ...toOrganization(row), purging: row.purging === 1 })),

    async *apiKeys() {
      const sql = `SELECT ${keyColumns}, hash FROM api_keys ORDER BY seq`
      for (const row of db.prepare<KeyRow & { hash: string }, []>(sql).iterate()) {
        yield { ...toApiKey(row, 0), hash: row.hash }
      }
    },

    async *tables() {
      const rows = db.prepare<TableRow & Purging, []>(`SELECT ${tableColumns}, purging FROM tables ORDER BY id`)
      for (const row of rows.iterate()) yield { ...toTable(row, 0), purging: row.purging === 1 }
    },

    records: (tableId, afterId) => dumpRecords(db, rowCheck, tableId, afterId),

    countRecords: (tableId) => db.count('records WHERE table_id = ?1', tableId),

    async *blobs() {
      const sql = `SELECT id, table_id AS tableId FROM blobs WHERE state = 'live' ORDER BY id`
      yield* db.prepare<DumpedBlob, []>(sql).iterate()
    },

    blobBytes: ({ id }) => db.one<{ bytes: Uint8Array }>('SELECT bytes FROM blob_bytes WHERE id = ?1', id)?.bytes,

    async *tasks() {
      const rows = db.prepare<TaskRow, []>(`SELECT ${taskColumns} FROM tasks ORDER BY table_id`)
      for (const row of rows.iterate()) yield toTask(row)
    },

    runs: (afterSeq) => runs('seq > ?1 ORDER BY seq', afterSeq),

    runsOf: (taskId) => runs('task_id = ?1 ORDER BY id', taskId),

    countRuns: () => db.count('runs'),

    async *idempotencyKeys() {
      const sql = `SELECT scope_id AS scopeId, scope_kind AS scopeKind, lower(hex(key_hash)) AS keyHash,
          lower(hex(request_hash)) AS requestHash, org_id AS orgId, created_at AS createdAtMs, result,
          user_hash AS userHash
        FROM idempotency_keys ORDER BY org_id, created_at, scope_id, scope_kind, key_hash`
      yield* db.prepare<DumpedIdempotencyKey, []>(sql).iterate()
    },

    userEpochs: () => readUserEpochs(db),

    async *revocations() {
      yield* db
        .prepare<DumpedRevocation, []>(
          `SELECT org_id AS orgId, user_hash AS userHash, epoch, revoked_at AS revokedAtMs FROM revoked_users
           ORDER BY org_id, user_hash`,
        )
        .iterate()
    },

    async *issuers() {
      yield* db.prepare<DumpedIssuer, []>(`SELECT ${issuerColumns} FROM issuers ORDER BY org_id, name`).iterate()
    },

    changes: () => {
      const rows = db.prepare<EntryRow & { tableId: number }, []>(
        `SELECT table_id AS tableId, ${entryColumns} FROM changes ORDER BY table_id, seq`,
      )
      const dumped = ({ tableId, checksum, ...entry }: EntryRow & { tableId: number }): DumpedChange => {
        if (markOf(entry) !== checksum)
          throw new StoreDamaged(`${db.path} is damaged: the entry ${entry.seq} in the log of table ${tableId}`)
        return { tableId, ...entry }
      }
      return inChunks(db.path, rows.iterate(), dumped, ({ hashKey, rangeKey }) => hashKey.length + rangeKey.length)
    },

    fileMark: () => db.one<{ mark: string }>('SELECT mark FROM file_place')?.mark,

    async close() {
      try {
        db.run('COMMIT')
      } catch {
        // COMMIT repeats the error of a read that found a damaged page.
        if (db.inTransaction) db.run('ROLLBACK')
      }
      db.close()
    },
  }
}

/** SQLite sorts the table's ids first, in its own temporary storage; rows then come one by one. */
const dumpRecords = (
  db: Connection,
  rowCheck: RowCheck,
  tableId: number,
  afterId: number,
): AsyncIterable<DumpedRecord[]> => {
  const table = db.one<{ kind: EntriesRule['kind']; indices: string }>(
    'SELECT kind, indices FROM tables WHERE id = ?1',
    tableId,
  )
  const rule: EntriesRule = { kind: table?.kind ?? 'table', indices: JSON.parse(table?.indices ?? '{}') }
  const rows = db.prepare<DumpRow, [number, number]>(`
    WITH ids AS MATERIALIZED (SELECT id FROM records WHERE table_id = ?1 AND id > ?2 ORDER BY id)
    SELECT ids.id, CAST(r.hash_key AS TEXT) AS hashKey, CAST(r.range_key AS TEXT) AS rangeKey, r.updated_at AS updatedAtMs,
      r.ttl AS ttlSeconds, r.data
    FROM ids LEFT JOIN records r ON r.id = ids.id`)
  const dumped = (row: DumpRow): DumpedRecord => {
    // The index has the row, but damage hides the row itself. It must not be left out without a message.
    if ((row.hashKey as string | null) === null)
      throw new StoreDamaged(`${db.path} is damaged: the row ${row.id} of table ${tableId} is gone`)
    rowCheck.take(tableId, row)
    // The entries are computed from the data: the checksum does not cover the index values in the row.
    return { ...row, tableId, entries: entriesOf(rule, row) }
  }
  return inChunks(db.path, rows.iterate(tableId, afterId), dumped, ({ data }) => data.length)
}

/** Yields chunks of `of(row)`. `bytesOf` is called after `of`. */
async function* inChunks<Row, T>(
  path: string,
  rows: IterableIterator<Row>,
  of: (row: Row) => T,
  bytesOf: (row: Row) => number,
): AsyncIterable<T[]> {
  let chunk: T[] = []
  let bytes = 0
  for (const row of orRefuseDamaged(path, rows)) {
    chunk.push(of(row))
    bytes += bytesOf(row)
    if (bytes < chunkBytes && chunk.length < chunkRows) continue
    yield chunk
    chunk = []
    bytes = 0
  }
  if (chunk.length > 0) yield chunk
}

/** The rows, for a command that reads a whole store: its error says which file is damaged, and what to do. */
function* orRefuseDamaged<Row>(path: string, rows: Iterable<Row>): Iterable<Row> {
  try {
    yield* rows
  } catch (error) {
    throw isDamage(error) ? damagedStore(path, error) : error
  }
}
