const slots = ['i1', 'i2', 'i3', 'i4', 'i5']

/**
 * The schema of version 1. With the migrations it gives the schema of every later version. Like a migration it never changes,
 * so it uses no constant of the current schema.
 */
export const firstSchema = `
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('registry_epoch', 1), ('next_record_id', 1);

  CREATE TABLE organizations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
  ) STRICT;

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
    revoked_at INTEGER
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
    purging INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX tables_active ON tables (org_id, db, name) WHERE deleted_at IS NULL;
  CREATE UNIQUE INDEX tables_deleted ON tables (org_id, db, name, deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX tables_to_purge ON tables (deleted_at) WHERE deleted_at IS NOT NULL;

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
`
