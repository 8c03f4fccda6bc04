import type { NewApiKey } from '../../core/keys/api-key.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import type {
  ApiKey,
  Dump,
  Engine,
  KeyUse,
  LoadRows,
  Organization,
  Page,
  RecordOperation,
  RestoreResult,
  StoredRecord,
  Table,
  TableListing,
  WriteResult,
  Writer,
} from '../../store/engine.ts'
import { CubbyError } from '../../core/errors.ts'
import { nowSeconds } from '../../core/records/expiry.ts'
import type { Indices } from '../../core/tables/indices.ts'
import type { Log } from '../../core/log.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import type { Scan } from '../../core/records/scan.ts'
import { StoreRefused } from '../../core/store-refused.ts'
import { toBytes } from './connection/bytes.ts'
import { checkStore } from './maintenance/check.ts'
import { connectLongSession, connectMsMax, connectSession, shareConnections } from './connection/connect.ts'
import { Database, noOrg } from './connection/database.ts'
import { type Dialect, dialectOf, readFacts } from './dialects/dialect.ts'
import { Session } from './connection/driver.ts'
import { openDump } from './transfer/dump.ts'
import { isOutOfConnections, pooledByTransaction, toStartError } from './connection/failure.ts'
import { loadRows } from './transfer/load.ts'
import { Pool } from './connection/pool.ts'
import { RecordWriter, revokedApiKey } from './records/record-writer.ts'
import { RegistryCache } from './registry/registry-cache.ts'
import { RegistryReader } from './registry/registry-reader.ts'
import { RegistryWriter } from './registry/registry-writer.ts'
import { readPage } from './records/scanner.ts'
import { hasStore, leaseMsDefault, prepareStore, type StoreFacts } from './migrations/schema.ts'
import { settle } from './registry/settle.ts'
import { getRecord } from './records/statements.ts'
import { isLocal, parseStoreUrl, type StoreUrl } from './connection/store-url.ts'
import { Upkeep } from './maintenance/upkeep.ts'

const closeMsMax = 5_000
const readyMsMax = 2_000

export interface PostgresOptions {
  /** postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=ca.pem */
  url: string
  /** Refuse a database where no store is yet, instead of making one. */
  mustExist?: boolean
  /** Connections to the database at the most. */
  poolSize?: number
  /** How long a request may wait for one of them. */
  waitMsMax?: number
  /** What a statement may take. */
  statementMsMax?: number
  /** Whose clock says what has expired for good: the earlier of the database's and the caller's, unless tests move time. */
  sweepClock?: 'database' | 'caller'
  /** The lease of a store that is made now; one that is there has its own. */
  leaseMs?: number
  log?: Log
  /** In what to differ from the engine that is found there: tests walk the ways of the others with it. */
  dialect?: Partial<Dialect>
}

export const openPostgresEngine = async (options: PostgresOptions): Promise<Engine> => {
  const { poolSize = 8, waitMsMax = 5_000, statementMsMax = 5_000, sweepClock = 'database', log = () => {} } = options
  const url = parseStoreUrl(options.url)
  let dialect: Dialect
  let store: StoreFacts
  let first: Session | undefined
  try {
    const session = await Session.connect(url, connectMsMax)
    try {
      const facts = await readFacts(session)
      dialect = { ...dialectOf(facts, statementMsMax), ...options.dialect }
      if (options.mustExist && !(await hasStore(session))) throw new StoreRefused(`there is no store in ${url.shown}`)
      first = await connectFirst(session, url, dialect)
      store = await prepareStore(session, dialect, options.leaseMs ?? leaseMsDefault)
      if (store.idsAhead > 1) log('warn', 'the database gives ids out in blocks: see YugabyteDB in docs/engines.md')
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
    db: new Database(pool, statementMsMax, dialect.pipelinesAreTransactions),
    dialect,
    store,
    sweepClock,
    log,
    openLongSession: () => connectLongSession(url, dialect),
  })
}

/**
 * The first connection of the pool, made beside the one that sets the store up: two are needed to notice a pooler that
 * takes them for one. Undefined when the server has only one left; then this is not looked at.
 */
const connectFirst = async (setUp: Session, url: StoreUrl, dialect: Dialect): Promise<Session | undefined> => {
  let first: Session
  try {
    first = await connectSession(url, dialect)
  } catch (error) {
    if (isOutOfConnections(error)) return undefined
    throw error
  }
  try {
    if (dialect.hasBackendIds && (await shareConnections(setUp, first))) throw pooledByTransaction()
    return first
  } catch (error) {
    first.destroy()
    throw error
  }
}

interface Parts {
  pool: Pool
  db: Database
  dialect: Dialect
  store: StoreFacts
  sweepClock: 'database' | 'caller'
  log: Log
  openLongSession(): Promise<Session>
}

class PostgresEngine implements Engine {
  readonly description: string
  readonly #pool: Pool
  readonly #db: Database
  readonly #dialect: Dialect
  readonly #registry: RegistryReader
  readonly #cache: RegistryCache
  readonly #registryWriter: RegistryWriter
  readonly #recordWriter: RecordWriter
  readonly #upkeep: Upkeep
  readonly #settle: () => Promise<void>
  readonly #openLongSession: () => Promise<Session>

  constructor({ pool, db, dialect, store, sweepClock, log, openLongSession }: Parts) {
    this.description = dialect.description
    this.#pool = pool
    this.#db = db
    this.#dialect = dialect
    this.#openLongSession = openLongSession
    this.#registry = new RegistryReader(db)
    this.#cache = new RegistryCache(this.#registry, store.leaseMs)
    this.#registryWriter = new RegistryWriter(db)
    this.#recordWriter = new RecordWriter(db, dialect)
    this.#upkeep = new Upkeep({ db, clock: sweepClock, namesManyTables: dialect.namesManyTables })
    this.#settle = () => settle({ db, leaseMs: store.leaseMs, listsWriters: dialect.listsWriters, log })
  }

  // ── Keys and organizations ─────────────────────────────────────────────────────────────────────────────

  findApiKey(text: string): Awaitable<ApiKey | undefined> {
    return this.#cache.findApiKey(text)
  }

  createApiKey(writer: Writer, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    return this.#registryWriter.createApiKey(writer, key, nowMs)
  }

  listApiKeys(orgId: number, beforeSeq: number | undefined, limit: number): Promise<ApiKey[]> {
    return this.#registry.listApiKeys(orgId, beforeSeq, limit)
  }

  async revokeApiKey(writer: Writer, id: string, nowMs: number): Promise<ApiKey | undefined> {
    const revoked = await this.#registryWriter.revokeApiKey(writer, id, nowMs)
    if (revoked === undefined) return undefined
    this.#cache.moveTo(revoked.stamp)
    // Also when it was revoked before: whoever did that may still be waiting.
    await this.#settle()
    return revoked
  }

  recordKeyUse(uses: KeyUse[]): Promise<void> {
    return this.#registryWriter.recordKeyUse(uses)
  }

  createOrganization(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#registryWriter.createOrganization(name, keys, nowMs, false)
  }

  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#registryWriter.createOrganization(name, keys, nowMs, true)
  }

  findOrganization(name: string): Promise<Organization | undefined> {
    return this.#registry.findOrganization(name)
  }

  listOrganizations(): Promise<Organization[]> {
    return this.#registry.listOrganizations()
  }

  // ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────

  findTable(orgId: number, db: string, name: string): Awaitable<Table | undefined> {
    return this.#cache.findTable(orgId, db, name)
  }

  findDeletedTable(orgId: number, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    return this.#registry.findDeletedTable(orgId, db, name, nowMs)
  }

  createTable(writer: Writer, db: string, name: string, indices: Indices, nowMs: number) {
    return this.#registryWriter.createTable(writer, db, name, indices, nowMs)
  }

  async deleteTable(writer: Writer, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const deleted = await this.#registryWriter.deleteTable(writer, db, name, nowMs)
    if (deleted === undefined) return undefined
    this.#cache.moveTo(deleted.stamp)
    await this.#settle()
    return deleted
  }

  restoreTable(
    writer: Writer,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return this.#registryWriter.restoreTable(writer, db, name, deletedAtMs, nowMs)
  }

  listTables(listing: TableListing): Promise<Table[]> {
    return this.#registry.listTables(listing)
  }

  listDeletedTables(listing: TableListing, nowMs: number): Promise<Table[]> {
    return this.#registry.listDeletedTables(listing, nowMs)
  }

  listDatabases(orgId: number, after: string | undefined, limit: number): Promise<string[]> {
    return this.#registry.listDatabases(orgId, after, limit)
  }

  // ── Records ────────────────────────────────────────────────────────────────────────────────────────────

  async getRecord(
    table: Table,
    { hashKey, rangeKey }: RecordKey,
    nowMs: number,
    keySeq = 0,
  ): Promise<StoredRecord | undefined> {
    const { rows } = await this.#db.lookUp(
      { orgId: table.orgId, keySeq },
      {
        statement: getRecord,
        values: [table.id, toBytes(hashKey), toBytes(rangeKey), nowSeconds(nowMs)],
      },
    )
    const row = rows[0]
    if (row === undefined) return undefined
    const [data, ttl, updatedAt] = row
    return {
      hashKey,
      rangeKey,
      data: data!,
      ttlSeconds: ttl == null ? null : Number(ttl),
      updatedAtMs: Number(updatedAt),
    }
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq = 0): Promise<Page> {
    return readPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs })
  }

  async write(writer: Writer, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult> {
    if (!this.#dialect.guardsWrites) await this.#confirm(writer, table)
    return this.#recordWriter.write(writer, table, operations, nowMs)
  }

  /** Where the statements do not look for themselves: nothing was taken away since both were handed out, or not these. */
  async #confirm(writer: Writer, table: Table): Promise<void> {
    const stamp = Math.min(table.stamp, writer.apiKey?.stamp ?? table.stamp)
    if (await this.#cache.isCurrent(stamp)) return
    const active = await this.#registry.areActive(writer.orgId, table.id, writer.apiKey?.seq ?? 0)
    if (writer.apiKey !== undefined && !active.apiKey) throw revokedApiKey()
    if (!active.table) throw new CubbyError('table_not_found', 'The table has been deleted.')
  }

  // ── Upkeep ─────────────────────────────────────────────────────────────────────────────────────────────

  sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    return this.#upkeep.sweepExpired(nowMs, rowsMax)
  }

  purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    return this.#upkeep.purgeTables(nowMs, rowsMax)
  }

  // ── Moving data ────────────────────────────────────────────────────────────────────────────────────────

  async openDump(): Promise<Dump> {
    return openDump(await this.#openLongSession())
  }

  load(rows: LoadRows): Promise<void> {
    return loadRows(this.#db, rows, this.#dialect.putsFromArrays)
  }

  async lastRecordId(tableId: number): Promise<number> {
    // No index has the ids of a table in order: it takes as long as the table is large.
    const session = await this.#openLongSession()
    try {
      const [row] = await session.run(`select max(id) from cubby_records where table_id = ${Math.trunc(tableId)}`)
      return Number(row![0])
    } finally {
      await session.close()
    }
  }

  check(noteTable?: (tableId: number) => void): AsyncIterable<string> {
    return checkStore(this.#openLongSession, this.#dialect.namesManyTables, noteTable)
  }

  /** Whether the primary answers, and takes writes. */
  async ready(): Promise<boolean> {
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
    return this.#pool.close(closeMsMax)
  }
}

const readOnly = { name: 'read_only', text: `select current_setting('transaction_read_only')` }
