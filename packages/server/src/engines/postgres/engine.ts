import type { Log } from '../../core/log.ts'
import type { Engine } from '../../store/engine.ts'
import { observeRuns, type StoreObserver } from '../../store/observer.ts'
import type { Runs } from '../../store/runs.ts'
import { PostgresChanges } from './changes/changes.ts'
import { TableLogs } from './changes/table-logs.ts'
import { connectLongSession, connectMsMax, connectSession, shareConnections } from './connection/connect.ts'
import { Database, noOrg } from './connection/database.ts'
import { Session } from './connection/driver.ts'
import { isOutOfConnections, pooledByTransaction, toStartError } from './connection/failure.ts'
import { Pool } from './connection/pool.ts'
import { isLocal, parseStoreUrl, type StoreUrl } from './connection/store-url.ts'
import { type Dialect, detectDialect, readServerFacts } from './dialect.ts'
import { PostgresFiles } from './files/files.ts'
import { PostgresMaintenance } from './maintenance/maintenance.ts'
import { PostgresStatistics } from './maintenance/statistics.ts'
import { PostgresMeasures } from './measures.ts'
import { prepareStore } from './migrations/prepare-store.ts'
import { PostgresRecords } from './records/records.ts'
import { WriteGuard } from './records/write-guard.ts'
import { PostgresApiKeys } from './registry/api-keys.ts'
import { awaitLeaseExpiry } from './registry/await-lease-expiry.ts'
import { PostgresIdempotencyKeys } from './registry/idempotency-keys.ts'
import { PostgresOrganizations } from './registry/organizations.ts'
import type { Registry } from './registry/registry.ts'
import { RegistryCache } from './registry/registry-cache.ts'
import { PostgresSecrets } from './registry/secrets.ts'
import { PostgresBuckets, PostgresTables } from './registry/tables.ts'
import { UserCache } from './registry/user-cache.ts'
import { PostgresUsers } from './registry/users.ts'
import { PostgresRuns } from './runs/runs.ts'
import { type PostgresSettings, postgresFlags } from './settings.ts'
import { PostgresTasks } from './tasks/tasks.ts'
import { PostgresTransfer } from './transfer/transfer.ts'

const closeMsMax = 5_000
const readyMsMax = 2_000
/** A process uses keys and tables that it has read for this long. All processes on a store have the same value. */
const leaseMsDefault = 1_000

export interface PostgresOptions extends PostgresSettings {
  /** It has the form postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=ca.pem */
  url: string
  /** The flag or variable that the URL came from. Messages about a malformed URL name it. */
  urlGivenAs?: string
  /** Refuse a database without a store instead of making one. */
  mustExist?: boolean
  /** A request waits at most this long for a connection. */
  waitMsMax?: number
  log?: Log
  /** The metrics are counted through it. */
  observer?: StoreObserver
  /** Overrides of the detected dialect: tests run the code paths of Citus with them. */
  dialect?: Partial<Dialect>
  /** Tests set false to open the store behind a pooler in transaction mode, as if the start had not noticed it. */
  refusesPooler?: boolean
}

export const openPostgresEngine = async (options: PostgresOptions): Promise<Engine> => {
  const { waitMsMax = 5_000, sweepClock = 'database', log = () => {} } = options
  const { poolSize = postgresFlags['pool-size'].default } = options
  const { statementMsMax = postgresFlags['statement-timeout'].default } = options
  const url = parseStoreUrl(options.url, options.urlGivenAs)
  let dialect: Dialect
  let leaseMs: number
  let first: Session | undefined
  try {
    const session = await Session.connect(url, connectMsMax)
    try {
      const facts = await readServerFacts(session)
      dialect = { ...detectDialect(facts, statementMsMax), ...options.dialect }
      first = await connectFirst(session, url, dialect, options.refusesPooler)
      const { mustExist = false } = options
      const newStoreLeaseMs = options.leaseMs ?? leaseMsDefault
      leaseMs = await prepareStore(session, { dialect, shown: url.shown, mustExist, leaseMs: newStoreLeaseMs, log })
      if (facts.fsync === 'off') log('warn', 'the database runs with fsync = off: what it confirms may be lost')
      if (facts.dataChecksums === 'off') {
        log('warn', 'the database runs with data_checksums = off: it may serve what its disk has damaged')
      }
    } finally {
      await session.close()
    }
  } catch (error) {
    first?.destroy()
    throw toStartError(error, url)
  }
  if (url.ssl === false && !isLocal(url)) {
    log('warn', 'the connection to the database is not encrypted; add sslmode=verify-full to the URL')
  }
  const pool = new Pool({ size: poolSize, waitMsMax, connect: () => connectSession(url, dialect), first, log })
  return new PostgresEngine({
    pool,
    poolSize,
    db: new Database(pool, statementMsMax, dialect, log),
    waitMsMax,
    dialect,
    leaseMs,
    sweepClock,
    log,
    openLongSession: () => connectLongSession(url, dialect),
    observer: options.observer,
  })
}

/**
 * Opens the first connection of the pool while the set-up connection is open, because it takes two to detect a pooler in
 * transaction mode. It returns undefined if the server has only one connection left; then nothing is checked.
 */
const connectFirst = async (
  setUp: Session,
  url: StoreUrl,
  dialect: Dialect,
  refusesPooler = true,
): Promise<Session | undefined> => {
  let first: Session
  try {
    first = await connectSession(url, dialect)
  } catch (error) {
    if (isOutOfConnections(error)) return undefined
    throw error
  }
  try {
    if (refusesPooler && (await shareConnections(setUp, first))) throw pooledByTransaction()
    return first
  } catch (error) {
    first.destroy()
    throw error
  }
}

interface Parts {
  pool: Pool
  poolSize: number
  db: Database
  waitMsMax: number
  dialect: Dialect
  leaseMs: number
  sweepClock: 'database' | 'caller'
  log: Log
  openLongSession(): Promise<Session>
  observer: StoreObserver | undefined
}

class PostgresEngine implements Engine {
  readonly description: string
  readonly readsAtOnce: number
  readonly organizations: PostgresOrganizations
  readonly apiKeys: PostgresApiKeys
  readonly secrets: PostgresSecrets
  readonly users: PostgresUsers
  readonly tables: PostgresTables
  readonly buckets: PostgresBuckets
  readonly records: PostgresRecords
  readonly changes: PostgresChanges
  readonly files: PostgresFiles
  readonly tasks: PostgresTasks
  readonly runs: Runs
  readonly maintenance: PostgresMaintenance
  readonly idempotencyKeys: PostgresIdempotencyKeys
  readonly transfer: PostgresTransfer
  readonly statistics: PostgresStatistics
  readonly measures: PostgresMeasures
  readonly #pool: Pool
  readonly #db: Database
  readonly #logs: TableLogs
  #asking: Promise<boolean> | undefined

  constructor({ pool, poolSize, db, waitMsMax, dialect, leaseMs, sweepClock, log, openLongSession, observer }: Parts) {
    this.description = dialect.description
    this.readsAtOnce = poolSize
    this.#pool = pool
    this.#db = db
    const registry: Registry = {
      db,
      cache: new RegistryCache(db, leaseMs),
      users: new UserCache(db, leaseMs),
      awaitLeaseExpiry: () => awaitLeaseExpiry({ db, leaseMs, log }),
    }
    const { namesManyTables, putsFromArrays, guardsWrites, pipelinesAreTransactions } = dialect
    // All times of tasks and runs are those of the database's clock.
    const clock = (nowMs: number) => (sweepClock === 'caller' ? nowMs : null)
    const logs = new TableLogs({ db, putsFromArrays, clock, waitMsMax, observer })
    this.#logs = logs
    const guard = new WriteGuard(db, registry.cache, guardsWrites)
    this.idempotencyKeys = new PostgresIdempotencyKeys(db)
    this.organizations = new PostgresOrganizations(registry)
    this.apiKeys = new PostgresApiKeys(registry, this.idempotencyKeys)
    this.secrets = new PostgresSecrets(registry)
    this.users = new PostgresUsers(registry)
    this.tables = new PostgresTables(registry, logs)
    this.buckets = new PostgresBuckets(registry)
    this.records = new PostgresRecords(db, dialect, guard, this.idempotencyKeys, logs)
    this.changes = new PostgresChanges(db, logs.followers)
    this.files = new PostgresFiles({ db, guard, clock: sweepClock, namesManyTables, pipelinesAreTransactions })
    this.tasks = new PostgresTasks(registry, clock)
    this.runs = new PostgresRuns({
      ...{ db, records: this.records.writes, clock, keys: this.idempotencyKeys, logs, namesManyTables },
    })
    if (observer !== undefined) observeRuns(this.runs, observer)
    this.maintenance = new PostgresMaintenance({ db, logs, clock: sweepClock, namesManyTables, openLongSession })
    this.transfer = new PostgresTransfer({
      db,
      putsFromArrays,
      openLongSession,
      onRegistry: () => {
        registry.cache.forgetLease()
        registry.users.forgetLease()
      },
    })
    this.statistics = new PostgresStatistics(db)
    this.measures = new PostgresMeasures(db, pool, dialect, () => this.maintenance.changesKept)
  }

  /** Returns whether the database answers and accepts writes. Anybody may ask, so all callers that wait share one answer. */
  ready(): Promise<boolean> {
    this.#asking ??= this.#askWhetherReady().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #askWhetherReady(): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(false), readyMsMax)
    const asked = this.#db.read(noOrg, { statement: readOnly, values: [] }).then(
      ([result]) => result!.rows[0]![0] === 'off',
      () => false,
    )
    try {
      return await Promise.race([asked, late])
    } finally {
      clearTimeout(timer)
    }
  }

  close(): Promise<void> {
    this.#logs.followers.close()
    return this.#pool.close(closeMsMax)
  }
}

const readOnly = { name: 'read_only', text: `select current_setting('transaction_read_only')` }
