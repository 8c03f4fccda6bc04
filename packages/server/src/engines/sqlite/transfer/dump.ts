import type { StoredRecord } from '../../../core/records/stored-record.ts'
import { StoreDamaged } from '../../../core/store-refused.ts'
import { type EntriesRule, entriesOf } from '../../../core/tables/entries-of.ts'
import type { Run } from '../../../core/tasks/run.ts'
import type {
  Dump,
  DumpedApiKey,
  DumpedBlob,
  DumpedOrganization,
  DumpedRecord,
  DumpedTable,
  DumpedTask,
} from '../../../store/transfer.ts'
import { Connection } from '../connection.ts'
import { damagedStore, isDamage } from '../disk/damage.ts'
import type { RowCheck } from '../records/row-check.ts'
import {
  type KeyRow,
  keyColumns,
  type OrganizationRow,
  organizationColumns,
  type TableRow,
  tableColumns,
  toApiKey,
  toOrganization,
  toTable,
} from '../registry/rows.ts'
import { readSecrets } from '../registry/secret-rows.ts'
import { type RunRow, runColumns, toRun } from '../runs/run-rows.ts'
import { type TaskRow, taskColumns, toTask } from '../tasks/task-rows.ts'

const chunkBytes = 1024 * 1024
const chunkRows = 500

interface DumpRow extends StoredRecord {
  id: number
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
  db.prepare('SELECT 1 FROM meta').get()
  return {
    secrets: () => readSecrets(db),

    organizations: (): DumpedOrganization[] =>
      db
        .prepare<OrganizationRow & { purging: number }, []>(
          `SELECT ${organizationColumns}, purging FROM organizations ORDER BY id`,
        )
        .all()
        .map((row) => ({ ...toOrganization(row), purging: row.purging === 1 })),

    async *apiKeys(): AsyncIterable<DumpedApiKey> {
      for (const row of db
        .prepare<KeyRow & { hash: string }, []>(`SELECT ${keyColumns}, hash FROM api_keys ORDER BY seq`)
        .iterate()) {
        yield { ...toApiKey(row, 0), hash: row.hash }
      }
    },

    async *tables(): AsyncIterable<DumpedTable> {
      const rows = db.prepare<TableRow & { purging: number }, []>(
        `SELECT ${tableColumns}, purging FROM tables ORDER BY id`,
      )
      for (const row of rows.iterate()) yield { ...toTable(row, 0), purging: row.purging === 1 }
    },

    records: (tableId: number, afterId: number) => dumpRecords(db, rowCheck, tableId, afterId),

    countRecords: (tableId: number): number =>
      db.prepare<{ n: number }, [number]>('SELECT count(*) AS n FROM records WHERE table_id = ?1').get(tableId)!.n,

    async *blobs(): AsyncIterable<DumpedBlob> {
      yield* db
        .prepare<DumpedBlob, []>(`SELECT id, table_id AS tableId FROM blobs WHERE state = 'live' ORDER BY id`)
        .iterate()
    },

    blobBytes: ({ id }: DumpedBlob): Uint8Array | undefined =>
      db.prepare<{ bytes: Uint8Array }, [string]>('SELECT bytes FROM blob_bytes WHERE id = ?1').get(id)?.bytes,

    async *tasks(): AsyncIterable<DumpedTask> {
      const rows = db.prepare<TaskRow, []>(`SELECT ${taskColumns} FROM tasks ORDER BY table_id`)
      for (const row of rows.iterate()) yield toTask(row)
    },

    runs: (afterSeq: number) =>
      dumpRuns(
        db.path,
        db.prepare<RunRow, [number]>(`SELECT ${runColumns} FROM runs WHERE seq > ?1 ORDER BY seq`).iterate(afterSeq),
      ),

    runsOf: (taskId: number) =>
      dumpRuns(
        db.path,
        db.prepare<RunRow, [number]>(`SELECT ${runColumns} FROM runs WHERE task_id = ?1 ORDER BY id`).iterate(taskId),
      ),

    countRuns: (): number => db.prepare<{ n: number }, []>('SELECT count(*) AS n FROM runs').get()!.n,

    fileMark: (): string | undefined => db.prepare<{ mark: string }, []>('SELECT mark FROM file_place').get()?.mark,

    async close() {
      try {
        db.run('COMMIT')
      } catch {
        // It repeats the error of a read that found a damaged page.
        if (db.inTransaction) db.run('ROLLBACK')
      }
      db.close()
    },
  }
}

/** The table's ids are sorted first, in SQLite's own temporary storage; rows then come one by one. */
async function* dumpRecords(
  db: Connection,
  rowCheck: RowCheck,
  tableId: number,
  afterId: number,
): AsyncIterable<DumpedRecord[]> {
  const table = db
    .prepare<{ kind: EntriesRule['kind']; indices: string }, [number]>('SELECT kind, indices FROM tables WHERE id = ?1')
    .get(tableId)
  const rule: EntriesRule = { kind: table?.kind ?? 'table', indices: JSON.parse(table?.indices ?? '{}') }
  const rows = db.prepare<DumpRow, [number, number]>(`
    WITH ids AS MATERIALIZED (SELECT id FROM records WHERE table_id = ?1 AND id > ?2 ORDER BY id)
    SELECT ids.id, CAST(r.hash_key AS TEXT) AS hashKey, CAST(r.range_key AS TEXT) AS rangeKey, r.updated_at AS updatedAtMs,
      r.ttl AS ttlSeconds, r.data
    FROM ids LEFT JOIN records r ON r.id = ids.id`)
  let chunk: DumpedRecord[] = []
  let bytes = 0
  for (const row of orRefuseDamaged(db.path, rows.iterate(tableId, afterId))) {
    // The index has the row, but damage hides the row itself. It must not be left out without a message.
    if ((row.hashKey as string | null) === null)
      throw new StoreDamaged(`${db.path} is damaged: the row ${row.id} of table ${tableId} is gone`)
    rowCheck.take(tableId, row)
    // Computed from the data, which the checksum covers. It does not cover the index values in the row.
    chunk.push({ ...row, tableId, entries: entriesOf(rule, row) })
    bytes += row.data.length
    if (bytes < chunkBytes && chunk.length < chunkRows) continue
    yield chunk
    chunk = []
    bytes = 0
  }
  if (chunk.length > 0) yield chunk
}

async function* dumpRuns(path: string, rows: IterableIterator<RunRow>): AsyncIterable<Run[]> {
  let chunk: Run[] = []
  let bytes = 0
  for (const row of orRefuseDamaged(path, rows)) {
    chunk.push(toRun(row))
    bytes += row.payload.length + (row.result?.length ?? 0)
    if (bytes < chunkBytes && chunk.length < chunkRows) continue
    yield chunk
    chunk = []
    bytes = 0
  }
  if (chunk.length > 0) yield chunk
}

/** For a command that reads a whole store: it says which file is damaged, and what to do. */
function* orRefuseDamaged<Row>(path: string, rows: Iterable<Row>): Iterable<Row> {
  try {
    yield* rows
  } catch (error) {
    throw isDamage(error) ? damagedStore(path, error) : error
  }
}
