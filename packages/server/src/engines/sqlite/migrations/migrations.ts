import { createHash, randomBytes } from 'node:crypto'
import { takeChecksum } from '../../../core/records/checksum.ts'
import type { Connection } from '../connection.ts'
import { type RunRow, runColumns, storedPayload } from '../runs/run-rows.ts'

interface Migration {
  /** The version after it. It is applied to a store of the version before. */
  to: number
  /** Runs in its own transaction. Its time must not depend on the size of the store: work on all rows is done later, in steps. */
  run(db: Connection): void
}

/** The checksum covered the payload alone, and which run it is of. A damaged run stays as it is, and counts as damaged. */
const checksumRuns = (db: Connection): void => {
  const update = db.prepare<unknown, [number, string]>('UPDATE runs SET payload = ?2 WHERE seq = ?1')
  for (const row of db.prepare<RunRow, []>(`SELECT ${runColumns} FROM runs`).all()) {
    const { task_id: taskId, seq, id, payload: data } = row
    const record = { hashKey: id, rangeKey: 'payload', data, ttlSeconds: null, updatedAtMs: seq }
    if (takeChecksum(taskId, record) === 'intact') update.run(seq, storedPayload({ ...row, payload: record.data }))
  }
}

/** In order. A migration is never changed after its release, so it uses no constant of the current schema. */
export const migrations: Migration[] = [
  {
    // Adds a key that makes cursors opaque, and a checksum at the end of every row's data. Existing rows get theirs while
    // the server runs: see maintenance/add-checksums.ts. The checksum has no column, because ALTER TABLE reads every row of a
    // strict table (2.5 s for a million rows), and Bun does not let us edit the schema directly.
    to: 2,
    run(db) {
      db.run(`
        INSERT INTO meta VALUES ('unchecked_next', 1),
          ('unchecked_end', (SELECT value FROM meta WHERE name = 'next_record_id'));
        CREATE TABLE cursor_key (
          secret BLOB NOT NULL,
          accepts_plain INTEGER NOT NULL
        ) STRICT;
        INSERT INTO cursor_key VALUES (x'${randomBytes(32).toString('hex')}', 1);
      `)
    },
  },
  {
    // Buckets: tables of another kind, and a row for each blob. The two indexes of names are made again with the kind in
    // them; they have an entry for each table, not for each record.
    to: 3,
    run(db) {
      db.run(`
        ALTER TABLE tables ADD COLUMN kind TEXT NOT NULL DEFAULT 'table';
        ALTER TABLE tables ADD COLUMN public_id TEXT;
        DROP INDEX tables_active;
        DROP INDEX tables_deleted;
        CREATE UNIQUE INDEX tables_active ON tables (org_id, db, kind, name) WHERE deleted_at IS NULL;
        CREATE UNIQUE INDEX tables_deleted ON tables (org_id, db, kind, name, deleted_at) WHERE deleted_at IS NOT NULL;
        CREATE UNIQUE INDEX tables_by_public_id ON tables (public_id) WHERE public_id IS NOT NULL;
        CREATE TABLE blobs (
          id TEXT PRIMARY KEY,
          table_id INTEGER NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('pending', 'live', 'dead', 'removing')),
          due_at INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX blobs_due ON blobs (due_at) WHERE due_at IS NOT NULL;
        CREATE TABLE file_place (
          mark TEXT NOT NULL
        ) STRICT;
        INSERT INTO meta VALUES ('files_held_until', 0);
      `)
    },
  },
  {
    // Tasks: tables of another kind, each with a declaration, and a row for each run.
    to: 4,
    run(db) {
      db.run(`
        CREATE TABLE tasks (
          table_id INTEGER PRIMARY KEY,
          declaration TEXT NOT NULL,
          updated_at INTEGER NOT NULL,
          pushes INTEGER NOT NULL,
          keep_seconds INTEGER NOT NULL,
          next_run_at INTEGER,
          served_at INTEGER,
          secrets TEXT NOT NULL
        ) STRICT;
        CREATE INDEX tasks_by_next_run ON tasks (next_run_at, served_at) WHERE next_run_at IS NOT NULL;
        CREATE INDEX tasks_pushing ON tasks (table_id) WHERE pushes = 1;
        CREATE TABLE runs (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          task_id INTEGER NOT NULL,
          id TEXT NOT NULL,
          status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
          key BLOB,
          run_at INTEGER NOT NULL,
          attempt INTEGER NOT NULL,
          held INTEGER NOT NULL,
          lease TEXT,
          lease_until INTEGER,
          done_lease TEXT,
          created_at INTEGER NOT NULL,
          updated_at INTEGER NOT NULL,
          finished_at INTEGER,
          error_code TEXT,
          error_message TEXT,
          progress TEXT,
          payload TEXT NOT NULL,
          result TEXT
        ) STRICT;
        CREATE UNIQUE INDEX runs_by_id ON runs (task_id, id);
        CREATE UNIQUE INDEX runs_by_queued_key ON runs (task_id, key) WHERE status = 'queued' AND key IS NOT NULL;
        CREATE UNIQUE INDEX runs_by_running_key ON runs (task_id, key) WHERE status = 'running' AND key IS NOT NULL;
        CREATE INDEX runs_due ON runs (task_id, held, run_at) WHERE status = 'queued';
        CREATE INDEX runs_by_lease ON runs (lease_until) WHERE status = 'running';
        CREATE INDEX runs_by_time ON runs (task_id, updated_at);
        CREATE INDEX runs_by_status ON runs (task_id, status, updated_at);
      `)
    },
  },
  {
    // The bytes of small files, in the store. Files that are there stay where their bytes are. Organizations can be deleted:
    // they are few, so that their rows can be read for the new columns.
    to: 5,
    run(db) {
      db.run(`
        ALTER TABLE organizations ADD COLUMN deleted_at INTEGER;
        ALTER TABLE organizations ADD COLUMN purging INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX organizations_to_purge ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;
        CREATE TABLE blob_bytes (
          id TEXT PRIMARY KEY,
          bytes BLOB NOT NULL
        ) STRICT;
      `)
    },
  },
  {
    // Secrets can be rotated, so the id of the store's archive, which was a digest of the only one, is kept as it is. The mark of the
    // place of files, if there is one, becomes the id of the store. Keys of sign-in links are marked. API keys are few, as organizations are.
    //
    // What is due is found by organization. The column is in the table of tasks, which are few. Leases get a table of their
    // own, which is filled by an index. The checksum of a run covers its whole row: all runs are read for it, because no release
    // has any.
    to: 6,
    run(db) {
      const { secret } = db.prepare<{ secret: Uint8Array }, []>('SELECT secret FROM cursor_key').get()!
      const archiveId = createHash('sha256').update('archive of ').update(secret).digest('hex').slice(0, 32)
      db.run(`
        CREATE TABLE secrets (
          secret BLOB NOT NULL,
          accepts_plain INTEGER NOT NULL,
          begins_at INTEGER NOT NULL
        ) STRICT;
        INSERT INTO secrets SELECT secret, accepts_plain, 0 FROM cursor_key;
        DROP TABLE cursor_key;
        CREATE TABLE archive_id (
          id TEXT NOT NULL
        ) STRICT;
        INSERT INTO archive_id VALUES ('${archiveId}');
        CREATE TABLE store_id (
          id TEXT NOT NULL
        ) STRICT;
        INSERT INTO store_id VALUES (coalesce((SELECT mark FROM file_place), '${randomBytes(16).toString('hex')}'));
        ALTER TABLE api_keys ADD COLUMN link TEXT CHECK (link IN ('unused', 'used'));
        ALTER TABLE tasks ADD COLUMN org_id INTEGER NOT NULL DEFAULT 0;
        UPDATE tasks SET org_id = coalesce((SELECT org_id FROM tables WHERE id = table_id), 0);
        CREATE INDEX tasks_by_org ON tasks (org_id, next_run_at) WHERE next_run_at IS NOT NULL;
        DROP INDEX tasks_pushing;
        CREATE INDEX tasks_pushing ON tasks (org_id) WHERE pushes = 1;
        CREATE TABLE leases (
          org_id INTEGER NOT NULL,
          until INTEGER NOT NULL,
          seq INTEGER NOT NULL,
          PRIMARY KEY (org_id, until, seq)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO leases SELECT coalesce((SELECT org_id FROM tasks WHERE table_id = task_id), 0), lease_until, seq
          FROM runs INDEXED BY runs_by_lease WHERE status = 'running' AND lease_until IS NOT NULL;
      `)
      checksumRuns(db)
    },
  },
]
