import { slots } from '../../../core/tables/indices.ts'

/** Every change to the schema below raises it and adds a migration. A store of a higher version is refused. */
export const schemaVersion = 8

/** 'Cuby': distinguishes a Cubby store from any other SQLite file. */
export const applicationId = 0x43756279

// An index is not a second table: a record is one row that carries its index values, and SQLite keeps sparse
// indexes over them. Every index ends in the row's id without naming it, as all SQLite indexes do. `data`,
// which may be large, is the last column, so that no other column is on its overflow pages. The row's checksum is at the
// end of `data` (core/records/checksum.ts).
//
// The bytes of small files have a table of their own, so that statements on the states of blobs do not read them.
//
// An idempotency key belongs to `scope_id`: the id of a table, bucket or task, or that of the organization. `scope_kind` says
// which (`DumpedIdempotencyKey` in store/transfer.ts). The newest keys are not in `idempotency_key_index`: see
// write/idempotency-key-writes.ts.
//
// User tokens are not stored: `user_epoch`, revoked users and issuers say which of them have ended. `swept_user_epoch` and
// `swept_users_at` are the highest epoch and the last time of a revocation that was swept.
//
// `follows` is the name of the table that an active task follows. `followers` of a table lists those tasks, so that a write needs
// no other row to know them.
//
// The table `leases` is an index of the leases of running runs by organization. The user of a run is at the beginning of
// `payload`, and its checksum at the end (runs/run-rows.ts).

/** The numbers that every store has in `meta`, and those of a new one. */
export const firstNumbers = {
  epoch: 1,
  next_record_id: 1,
  files_held_until: 0,
  idempotency_keys_indexed: 0,
  user_epoch: 1,
  swept_user_epoch: 0,
  swept_users_at: 0,
}

/** The initial values of a new store, each in hex. */
interface InitialStore {
  secret: string
  archiveId: string
  storeId: string
}

/** Makes the schema of a new store. Migrations give an older store the same. */
export const makeSchema = ({ secret, archiveId, storeId }: InitialStore): string => `
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ${Object.entries(firstNumbers)
    .map(([name, value]) => `('${name}', ${value})`)
    .join(', ')};

  CREATE TABLE secrets (
    secret BLOB NOT NULL,
    accepts_plain INTEGER NOT NULL,
    begins_at INTEGER NOT NULL
  ) STRICT;
  INSERT INTO secrets VALUES (x'${secret}', 0, 0);

  CREATE TABLE archive_id (
    id TEXT NOT NULL
  ) STRICT;
  INSERT INTO archive_id VALUES ('${archiveId}');

  CREATE TABLE store_id (
    id TEXT NOT NULL
  ) STRICT;
  INSERT INTO store_id VALUES ('${storeId}');

  CREATE TABLE organizations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    purging INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX organizations_to_purge ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

  CREATE TABLE api_keys (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    org_id INTEGER NOT NULL REFERENCES organizations,
    kind TEXT NOT NULL CHECK (kind IN ('secret', 'public')),
    name TEXT,
    hash TEXT NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    databases TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER,
    link TEXT CHECK (link IN ('unused', 'used')),
    rolled_from TEXT,
    rolled_to TEXT
  ) STRICT;
  CREATE INDEX api_keys_by_org ON api_keys (org_id, seq);

  CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id INTEGER NOT NULL REFERENCES organizations,
    db TEXT NOT NULL,
    name TEXT NOT NULL,
    indices TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    purging INTEGER NOT NULL DEFAULT 0,
    kind TEXT NOT NULL DEFAULT 'table',
    public_id TEXT,
    keep_hours INTEGER,
    changes_since INTEGER,
    followers TEXT NOT NULL DEFAULT '[]'
  ) STRICT;
  CREATE UNIQUE INDEX tables_active ON tables (org_id, db, kind, name) WHERE deleted_at IS NULL;
  CREATE UNIQUE INDEX tables_deleted ON tables (org_id, db, kind, name, deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX tables_to_purge ON tables (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE UNIQUE INDEX tables_by_public_id ON tables (public_id) WHERE public_id IS NOT NULL;
  CREATE INDEX tables_with_changes ON tables (id) WHERE changes_since IS NOT NULL;

  CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    table_id INTEGER NOT NULL,
    hash_key BLOB NOT NULL,
    range_key BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    ttl INTEGER,
    ${slots.map((slot) => `${slot}_hash BLOB, ${slot}_range BLOB,`).join('\n    ')}
    data TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX records_by_key ON records (table_id, hash_key, range_key);
  CREATE INDEX records_by_time ON records (table_id, updated_at);
  CREATE INDEX records_by_ttl ON records (ttl) WHERE ttl IS NOT NULL;
  ${slots
    .map(
      (slot) =>
        `CREATE INDEX records_by_${slot} ON records (table_id, ${slot}_hash, ${slot}_range) WHERE ${slot}_hash IS NOT NULL;`,
    )
    .join('\n  ')}

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
    org_id INTEGER NOT NULL DEFAULT 0,
    follows TEXT
  ) STRICT;
  CREATE INDEX tasks_by_next_run ON tasks (next_run_at, served_at) WHERE next_run_at IS NOT NULL;
  CREATE INDEX tasks_by_org ON tasks (org_id, next_run_at) WHERE next_run_at IS NOT NULL;
  CREATE INDEX tasks_pushing ON tasks (org_id) WHERE pushes = 1;
  CREATE INDEX tasks_following ON tasks (org_id, follows) WHERE follows IS NOT NULL;

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
`
