import type { Log } from '../../../core/log.ts'
import { refuseUnreleased, StoreRefused } from '../../../core/store-refused.ts'
import { newSecret } from '../../../core/store-secrets.ts'
import type { Session } from '../connection/driver.ts'
import { isLockTimeout, isMissingRight, isSetupRace } from '../connection/failure.ts'
import type { Dialect } from '../dialect.ts'
import { migrations } from './migrations.ts'
import { currentSchema, schemaVersion } from './schema.ts'

/**
 * The advisory lock of set-up and migration. Version 0.1 uses the same one: if processes of both versions start at once on an
 * empty database, one of them makes the store.
 */
const setupLock = 0x43756279

const renamed = ['organization', 'api_key', 'table', 'record', 'blob', 'task', 'run']
const tables = [
  'store',
  'idempotency_key',
  'feed',
  'change',
  'revoked_user',
  'issuer',
  ...renamed.map((table) => `${table}_8`),
]
const tablesOf01 = ['organizations', 'api_keys', 'tables', 'records']

/** Describes the transaction that a set-up or migration waits for: the oldest that holds one of the store's locks. */
const describeLockHolder = async (session: Session): Promise<string> => {
  const locked = [...tables, ...renamed, ...tablesOf01].map((table) => `to_regclass('cubby_${table}')`)
  const [holder] = await session.run(
    `select a.pid, a.application_name, a.usename, a.state, to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS TZ')
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.granted and l.pid <> pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and (l.locktype = 'relation' and l.relation in (${locked.join(', ')})
         or l.locktype = 'advisory' and l.classid = 0 and l.objid = ${setupLock})
     order by a.xact_start limit 1`,
  )
  if (holder === undefined) return 'a transaction that has ended since held a lock on it'
  const [pid, application, user, state, since] = holder
  const name = application ? `${application}, ` : ''
  return `it waits for the transaction of process ${pid} (${name}user ${user}, ${state}), open since ${since}`
}

interface PrepareOptions {
  dialect: Dialect
  /** Messages name the store by this. */
  shown: string
  /** Refuse a database without a store instead of making one. */
  mustExist: boolean
  /** The lease of a store that is made now. */
  leaseMs: number
  log: Log
}

const setupAttemptsMax = 20
/** A process waits this long for another one's set-up or migration. */
const setupLockMsMax = 30_000
/** A migration waits this long for other transactions. Requests to processes that still run wait for the migration. */
const tableLockMsMax = 10_000
/** The database rolls back the transaction of a stopped process after this time. */
const idleMsMax = 10_000

/** Returns undefined if there is no store. It waits for a migration that is running. */
const readVersion = async (session: Session): Promise<number | undefined> => {
  const [there] = await session.run(`select to_regclass('cubby_store')`)
  if (there?.[0] == null) return undefined
  const [row] = await session.run('select version from cubby_store')
  if (row === undefined) return undefined
  const version = Number(row[0])
  if (version > schemaVersion) {
    throw new StoreRefused(
      `the store has version ${version}; this Cubby knows versions up to ${schemaVersion}: start a newer one`,
    )
  }
  refuseUnreleased(version, 'the store')
  return version
}

/** A missing right is reported at the start, not by the first request that needs it. */
const requireRights = async (session: Session): Promise<void> => {
  const wanted = tables.flatMap((table) =>
    ['select', 'insert', 'update', 'delete'].map((right) => `('cubby_${table}', '${right}')`),
  )
  const [missing] = await session.run(
    `select name, privilege from (values ${wanted.join(', ')}) as wanted (name, privilege)
     where not has_table_privilege(name, privilege) limit 1`,
  )
  if (missing !== undefined) {
    throw new StoreRefused(`the user may not ${missing[1]} in the table ${missing[0]}; grant it, or own the tables`)
  }
}

/**
 * Makes an empty store, migrates an older one, and refuses a newer one. If several processes start at once, one does it, and
 * the others wait for it. Returns the lease of the store in milliseconds.
 */
export const prepareStore = async (session: Session, options: PrepareOptions): Promise<number> => {
  const { shown, mustExist } = options
  await session.run(`set lock_timeout = ${setupLockMsMax}; set statement_timeout = 0`)
  for (let attempt = 1; ; attempt++) {
    let version: number | undefined
    try {
      version = await readVersion(session)
      if (version === schemaVersion) {
        await requireRights(session)
        const [row] = await session.run('select lease_ms from cubby_store')
        return Number(row![0])
      }
      if (version === undefined && mustExist) throw new StoreRefused(`there is no store in ${shown}`)
      if (version === undefined) await makeStore(session, options)
      else await migrateStore(session, options)
    } catch (error) {
      await session.run('rollback').catch(() => {})
      if (isLockTimeout(error)) throw await lockRefusal(session, version)
      if (isMissingRight(error) && version !== undefined) throw ownerRefusal(version, error as Error)
      if (!isSetupRace(error) || attempt >= setupAttemptsMax) throw error
      await Bun.sleep(20 + Math.random() * 80)
    }
  }
}

const makeStore = async (session: Session, { dialect, leaseMs }: PrepareOptions): Promise<void> => {
  await session.run('begin')
  await session.run(`select pg_advisory_xact_lock(${setupLock})`)
  // The process that held the lock may have made the store.
  if ((await readVersion(session)) === undefined) {
    await session.run(currentSchema(dialect, { leaseMs, secret: newSecret(0) }).join(';\n'))
  }
  await session.run('commit')
}

/** Runs all migrations that are due in one transaction. */
const migrateStore = async (session: Session, { dialect, log }: PrepareOptions): Promise<void> => {
  await session.run('begin isolation level read committed read write')
  // Citus distributes no table in a transaction that has used several connections to one worker.
  if (dialect.distributesRecords) await session.run(`set local citus.multi_shard_modify_mode = 'sequential'`)
  await session.run(`set local idle_in_transaction_session_timeout = ${idleMsMax}`)
  await session.run(`select pg_advisory_xact_lock(${setupLock})`)
  await session.run(`set local lock_timeout = ${tableLockMsMax}`)
  // The process that held the lock may have done it.
  const from = (await readVersion(session))!
  const due = migrations.filter((migration) => migration.from >= from)
  for (const { run } of due) await run(session, dialect)
  if (due.length > 0) await session.run(`update cubby_store set version = ${schemaVersion}`)
  await session.run('commit')
  if (due.length > 0) log('info', 'the store was migrated', { from, to: schemaVersion })
}

const lockRefusal = async (session: Session, version: number | undefined): Promise<StoreRefused> => {
  const holder = await describeLockHolder(session)
  const task = version === undefined ? 'set up' : `migrated from version ${version} to ${schemaVersion}`
  return new StoreRefused(`the store cannot be ${task} now: ${holder}; start again when that has ended`)
}

const ownerRefusal = (version: number, { message }: Error): StoreRefused =>
  new StoreRefused(
    `the store has version ${version} and this user may not migrate it to ${schemaVersion} (${message}): ` +
      'start this version once as the owner of its tables',
  )
