import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { newStoreId } from '../../../core/files/blob-store-mark.ts'
import type { Log } from '../../../core/log.ts'
import { refuseUnreleased, StoreRefused } from '../../../core/store-refused.ts'
import { secretBytes } from '../../../core/store-secrets.ts'
import { Connection, openDatabase } from '../connection.ts'
import { refuseDamaged } from '../disk/damage.ts'
import { closeUnlessMarked } from '../disk/disk-failure.ts'
import { faultPoint } from '../disk/fault-point.ts'
import { makePrivateFile } from '../disk/store-files.ts'
import { holdStore, type StoreLock } from '../disk/store-lock.ts'
import { readSecrets } from '../registry/rows.ts'
import { requireOwnSchema, warnOfForeignSchema } from './check-schema.ts'
import { migrations } from './migrations.ts'
import { applicationId, makeSchema, schemaVersion } from './schema.ts'

interface PrepareOptions {
  /** True if this process holds `serve.lock`: only its holder migrates. */
  isHolder: boolean
  /** Refuse a store whose schema is not that of its version, before it is migrated. */
  requiresOwnSchema?: boolean
  log?: Log
  /** Tests plan faults with it: see fault-point.ts. */
  faults?: string
}

const archiveIdBytes = 16

/** A command waits this long for a server that is just starting, and may be migrating the store. */
const startMsMax = 2_000

/**
 * Makes an empty store, or migrates an older one to this version. Safe when several processes start at once: one does it,
 * and the others wait for it.
 */
export const prepareStore = async (
  path: string,
  { isHolder, requiresOwnSchema = false, log = () => {}, faults }: PrepareOptions,
): Promise<void> => {
  const prepare = (isNew = false): void => prepareSchema(path, { isNew, isHolder, requiresOwnSchema, log, faults })
  // SQLite gives the WAL and its index the mode of the database file.
  makePrivateFile(path)
  try {
    const version = readVersion(path)
    if (isHolder || version === 0 || version === schemaVersion) prepare(version === 0)
    else await prepareAsGuest(path, version, prepare)
    if (version > 0 && version < schemaVersion)
      log('info', 'the store was migrated', { from: version, to: schemaVersion })
  } catch (error) {
    throw refuseDamaged(path, error)
  }
}

/** A server of an older version would keep writing rows without checksums: it has to stop first. */
const prepareAsGuest = async (path: string, version: number, prepare: () => void): Promise<void> => {
  const dataDir = dirname(path)
  for (const started = performance.now(); performance.now() - started < startMsMax; await Bun.sleep(50)) {
    let lock: StoreLock
    try {
      lock = holdStore(dataDir)
    } catch (error) {
      if (!(error instanceof StoreRefused)) throw error
      if (readVersion(path) === schemaVersion) return prepare()
      continue
    }
    try {
      return prepare()
    } finally {
      lock.release()
    }
  }
  throw new StoreRefused(
    `the store in ${dataDir} has version ${version} and an older Cubby serves it: stop that server, start this version (it brings the store to version ${schemaVersion}), and repeat the command`,
  )
}

/** Refuses a file that is not a Cubby store, and a store of a newer or unreleased version, before anything in it is changed. */
const readVersion = (path: string): number => {
  const db = openDatabase(path)
  const pragma = (name: string): number =>
    Object.values(db.query<Record<string, number>, []>(`PRAGMA ${name}`).get()!)[0]!
  try {
    db.run('PRAGMA busy_timeout = 5000')
    const isEmpty = db.query('SELECT 1 FROM sqlite_schema LIMIT 1').get() === null
    const version = pragma('user_version')
    if (!isEmpty && (pragma('application_id') !== applicationId || version < 0)) {
      throw new StoreRefused(`${path} is an SQLite file, but not a Cubby store`)
    }
    if (version > schemaVersion) {
      throw new StoreRefused(
        `the store in ${path} has version ${version}; this Cubby knows versions up to ${schemaVersion}: start a newer one`,
      )
    }
    refuseUnreleased(version, `the store in ${path}`)
    return version
  } finally {
    closeUnlessMarked(dirname(path), () => db.close())
  }
}

interface PrepareSchema extends PrepareOptions {
  isNew: boolean
  log: Log
}

const prepareSchema = (path: string, options: PrepareSchema): void => {
  const { isNew, isHolder, requiresOwnSchema, log, faults } = options
  const db = new Connection(path, 2_048, isNew)
  try {
    if (requiresOwnSchema && !isNew) requireOwnSchema(db, path)
    migrate(db, faults)
    if (isHolder && !requiresOwnSchema) warnOfForeignSchema(db, log)
    // No request can be answered without these: damage here is reported at the start.
    db.prepare('SELECT name, value FROM meta').all()
    readSecrets(db)
  } finally {
    closeUnlessMarked(dirname(path), () => db.close())
  }
}

/**
 * Each migration is one transaction, which also sets the version. It reads the version first: another process may have been
 * faster.
 */
export const migrate = (db: Connection, faults?: string): void => {
  while (db.pragma('user_version') < schemaVersion) {
    db.run('BEGIN IMMEDIATE')
    const version = db.pragma('user_version')
    if (version === 0) {
      const [secret, archiveId] = [secretBytes, archiveIdBytes].map((bytes) => randomBytes(bytes).toString('hex'))
      db.run(makeSchema({ secret: secret!, archiveId: archiveId!, storeId: newStoreId() }))
      db.run(`PRAGMA application_id = ${applicationId}`)
      db.run(`PRAGMA user_version = ${schemaVersion}`)
    } else if (version < schemaVersion) {
      const { to, run } = migrations.find(({ from }) => from === version)!
      run(db)
      db.run(`PRAGMA user_version = ${to}`)
    }
    if (faults !== undefined) faultPoint(faults, 'migrate')
    db.run('COMMIT')
  }
}
