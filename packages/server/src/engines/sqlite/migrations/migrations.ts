import { randomBytes } from 'node:crypto'
import type { Connection } from '../connection.ts'

interface Migration {
  /** The version of the stores that it is applied to. */
  from: number
  /** The version after it. */
  to: number
  /**
   * Runs in one transaction. Its time must not depend on the number of records: work on all records is done later, in steps.
   */
  run(db: Connection): void
}

const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex')

/**
 * The migrations are in order, and each leads to a released version: 2 to 6 were never released. A migration is never changed
 * after its release, so it uses no constant of the current schema.
 */
export const migrations: Migration[] = [
  {
    // This one upgrades from 0.1 to 0.2. Only tables with few rows (tables, organizations, API keys) get new columns, because
    // ALTER TABLE reads every row of a strict table (2.5 s for a million rows). So the checksum of a record has no column: it
    // is at the end of the data. Existing records get theirs while the server runs (maintenance/add-checksums.ts).
    from: 1,
    to: 7,
    run(db) {
      db.run(`
        INSERT INTO meta VALUES ('unchecked_next', 1),
          ('unchecked_end', (SELECT value FROM meta WHERE name = 'next_record_id')), ('files_held_until', 0);

        CREATE TABLE secrets (
          secret BLOB NOT NULL,
          accepts_plain INTEGER NOT NULL,
          begins_at INTEGER NOT NULL
        ) STRICT;
        INSERT INTO secrets VALUES (x'${randomHex(32)}', 1, 0);

        CREATE TABLE archive_id (
          id TEXT NOT NULL
        ) STRICT;
        INSERT INTO archive_id VALUES ('${randomHex(16)}');

        CREATE TABLE store_id (
          id TEXT NOT NULL
        ) STRICT;
        INSERT INTO store_id VALUES ('${randomHex(16)}');

        ALTER TABLE organizations ADD COLUMN deleted_at INTEGER;
        ALTER TABLE organizations ADD COLUMN purging INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX organizations_to_purge ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

        ALTER TABLE api_keys ADD COLUMN link TEXT CHECK (link IN ('unused', 'used'));

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

        CREATE TABLE blob_bytes (
          id TEXT PRIMARY KEY,
          bytes BLOB NOT NULL
        ) STRICT;

        CREATE TABLE file_place (
          mark TEXT NOT NULL
        ) STRICT;

        CREATE TABLE tasks (
          table_id INTEGER PRIMARY KEY,
          declaration TEXT NOT NULL,
          updated_at INTEGER NOT NULL,
          pushes INTEGER NOT NULL,
          keep_seconds INTEGER NOT NULL,
          next_run_at INTEGER,
          served_at INTEGER,
          secrets TEXT NOT NULL,
          org_id INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX tasks_by_next_run ON tasks (next_run_at, served_at) WHERE next_run_at IS NOT NULL;
        CREATE INDEX tasks_by_org ON tasks (org_id, next_run_at) WHERE next_run_at IS NOT NULL;
        CREATE INDEX tasks_pushing ON tasks (org_id) WHERE pushes = 1;

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

        CREATE TABLE leases (
          org_id INTEGER NOT NULL,
          until INTEGER NOT NULL,
          seq INTEGER NOT NULL,
          PRIMARY KEY (org_id, until, seq)
        ) STRICT, WITHOUT ROWID;
      `)
    },
  },
  {
    // This one upgrades from 0.2 to 0.3. Only API keys, tables and tasks get new columns: an organization has few of them.
    //
    // A command of 0.2 that is still running has checked the version already. Each of its transactions begins with a read of
    // the epoch, and does not find it under its new name, so nothing is written.
    from: 7,
    to: 8,
    run(db) {
      db.run(`
        UPDATE meta SET name = 'epoch' WHERE name = 'registry_epoch';
        INSERT INTO meta VALUES ('idempotency_keys_indexed', 0), ('user_epoch', 1), ('swept_user_epoch', 0),
          ('swept_users_at', 0);

        ALTER TABLE api_keys ADD COLUMN rolled_from TEXT;
        ALTER TABLE api_keys ADD COLUMN rolled_to TEXT;

        ALTER TABLE tables ADD COLUMN keep_hours INTEGER;
        ALTER TABLE tables ADD COLUMN changes_since INTEGER;
        CREATE INDEX tables_with_changes ON tables (id) WHERE changes_since IS NOT NULL;
        ALTER TABLE tables ADD COLUMN followers TEXT NOT NULL DEFAULT '[]';
        ALTER TABLE tasks ADD COLUMN follows TEXT;
        CREATE INDEX tasks_following ON tasks (org_id, follows) WHERE follows IS NOT NULL;

        CREATE TABLE idempotency_keys (
          id INTEGER PRIMARY KEY,
          short_hash INTEGER NOT NULL,
          scope_id INTEGER NOT NULL,
          scope_kind TEXT NOT NULL,
          key_hash BLOB NOT NULL,
          request_hash BLOB NOT NULL,
          org_id INTEGER NOT NULL,
          created_at INTEGER NOT NULL,
          result TEXT NOT NULL,
          user_hash TEXT
        ) STRICT;
        CREATE INDEX idempotency_keys_by_org ON idempotency_keys (org_id, created_at);
        CREATE INDEX idempotency_keys_by_user ON idempotency_keys (org_id, user_hash, created_at) WHERE user_hash IS NOT NULL;
        CREATE TABLE idempotency_key_index (
          short_hash INTEGER NOT NULL,
          id INTEGER NOT NULL,
          PRIMARY KEY (short_hash, id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE revoked_users (
          org_id INTEGER NOT NULL,
          user_hash TEXT NOT NULL,
          epoch INTEGER NOT NULL,
          revoked_at INTEGER NOT NULL,
          PRIMARY KEY (org_id, user_hash)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX revoked_users_by_time ON revoked_users (revoked_at);

        CREATE TABLE issuers (
          org_id INTEGER NOT NULL,
          name TEXT NOT NULL,
          declaration TEXT NOT NULL,
          identity TEXT NOT NULL,
          created_at INTEGER NOT NULL,
          updated_at INTEGER NOT NULL,
          epoch INTEGER NOT NULL,
          PRIMARY KEY (org_id, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE changes (
          table_id INTEGER NOT NULL,
          seq INTEGER NOT NULL,
          at INTEGER NOT NULL,
          kind INTEGER NOT NULL,
          hash_key BLOB NOT NULL,
          range_key BLOB NOT NULL,
          version INTEGER NOT NULL,
          checksum INTEGER NOT NULL,
          PRIMARY KEY (table_id, seq)
        ) STRICT, WITHOUT ROWID;
      `)
    },
  },
]
