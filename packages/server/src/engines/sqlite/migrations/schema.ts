import { Database } from 'bun:sqlite'
import { dirname } from 'node:path'
import { StoreRefused } from '../../../core/store-refused.ts'
import { slots } from '../../../core/tables/indices.ts'
import { Connection } from '../connection.ts'
import { refuseDamaged } from '../disk/damage.ts'
import { closeUnlessMarked } from '../disk/disk-failure.ts'
import { makePrivateFile } from '../disk/store-files.ts'

/** Raised with every change to the schema below; a store of a higher version is refused. */
export const schemaVersion = 1

/** 'Cuby': tells a Cubby store from any other SQLite file. */
const applicationId = 0x43756279

// An index is not a second table: a record is one row that carries its index values, and SQLite keeps sparse
// indexes over them. Every index ends in the row's id without naming it, as all SQLite indexes do. Large
// `data` stands last, so that what is read beside it never lies behind its overflow pages.
const schema = `
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

/** Refuses a file that is not ours or newer, before anything is changed in it. */
const refuseForeign = (path: string): void => {
  const db = new Database(path, { readwrite: true })
  const pragma = (name: string): number =>
    Object.values(db.query<Record<string, number>, []>(`PRAGMA ${name}`).get()!)[0]!
  try {
    db.run('PRAGMA busy_timeout = 5000')
    const isEmpty = db.query('SELECT 1 FROM sqlite_schema LIMIT 1').get() === null
    if (!isEmpty && pragma('application_id') !== applicationId) {
      throw new StoreRefused(`${path} is an SQLite file, but not a Cubby store`)
    }
    const version = pragma('user_version')
    if (version > schemaVersion) {
      throw new StoreRefused(
        `the store in ${path} has version ${version}; this Cubby knows versions up to ${schemaVersion}: start a newer one`,
      )
    }
  } finally {
    closeUnlessMarked(dirname(path), () => db.close())
  }
}

/** Sets an empty store up. Safe when several processes start at once: one does, the others wait for it. */
export const prepareStore = (path: string): void => {
  // SQLite gives its log and the log's index the mode of the database file.
  makePrivateFile(path)
  try {
    refuseForeign(path)
    prepareSchema(path)
  } catch (error) {
    throw refuseDamaged(path, error)
  }
}

const prepareSchema = (path: string): void => {
  const db = new Connection(path, 2_048)
  try {
    const version = db.prepare<{ user_version: number }, []>('PRAGMA user_version')
    if (version.get()!.user_version === schemaVersion) {
      // Without these no request could be answered: better to say so at the start.
      db.prepare('SELECT name, value FROM meta').all()
      return
    }
    db.run('BEGIN IMMEDIATE')
    if (version.get()!.user_version === 0) {
      db.run(schema)
      db.run(`PRAGMA application_id = ${applicationId}`)
      db.run(`PRAGMA user_version = ${schemaVersion}`)
    }
    db.run('COMMIT')
  } finally {
    closeUnlessMarked(dirname(path), () => db.close())
  }
}
