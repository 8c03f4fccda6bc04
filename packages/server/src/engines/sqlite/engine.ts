import { writeSync } from 'node:fs'
import { join } from 'node:path'
import type { NewApiKey } from '../../core/keys/api-key.ts'
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
import { isExpired } from '../../core/records/expiry.ts'
import type { Indices } from '../../core/tables/indices.ts'
import { recoveryMs } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import type { Scan } from '../../core/records/scan.ts'
import { checkStore, type NoteTable } from './maintenance/check.ts'
import type { Fence } from './write/command.ts'
import { Connection } from './connection.ts'
import { Damage } from './disk/damage.ts'
import { closeUnlessMarked, noteDiskFailure, recoverMarked, refuseMarked } from './disk/disk-failure.ts'
import { openDump } from './transfer/dump.ts'
import { endProcess } from './disk/end-process.ts'
import { FileWatch } from './disk/file-watch.ts'
import { RegistryCache, registryLeaseMs } from './registry/registry-cache.ts'
import {
  type KeyRow,
  keyColumns,
  type OrganizationRow,
  type TableRow,
  tableColumns,
  toApiKey,
  toOrganization,
  toTable,
} from './registry/rows.ts'
import { Scanner } from './records/scanner.ts'
import { prepareStore } from './migrations/schema.ts'
import { Snapshot } from './snapshot.ts'
import { makeDataDir, warnOfOpenDirectory } from './disk/store-files.ts'
import { holdStore, type StoreLock } from './disk/store-lock.ts'
import {
  type Channel,
  leaseMarginMs,
  serveWorker,
  takesAway,
  type WorkerCommands,
  type WorkerOutcomes,
  WorkerWriter,
} from './write/process-write-channel.ts'
import type { WritePort } from './write/write-channel.ts'
import { type DiskFailure, WriterPort } from './write/thread-write-channel.ts'

const readCacheKib = 32_768
const mapBytesMax = 1024 * 1024 * 1024

export interface SqliteOptions {
  dataDir: string
  /**
   * The owner keeps the store and its writer; there is one at a time. A worker serves the store through the
   * owner's writer. A guest, an operator's command beside them, changes keys and organizations only.
   */
  role?: 'owner' | 'guest' | 'worker'
  /** A worker's way to the owner's writer. */
  channel?: Channel<WorkerCommands, WorkerOutcomes>
  /** Read through SQLite's own page cache alone, not through a memory map: see docs/operating.md. */
  noMmap?: boolean
  log?: Log
  /** The owner's, called before a process ends whose commit failed: lets the answers leave. It gets `drainMsMax`. */
  drain?: () => Promise<unknown>
  /** For tests: see fault-point.ts. */
  faults?: string
}

/** What the answers to a failed commit may take to leave, before the process ends. */
const drainMsMax = 2_000

/** For a command that has no log. Written at once: the process may be about to end. */
const logToOperator: Log = (_, message, fields = {}) => {
  const shown = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  writeSync(2, `cubby: ${[message, ...shown].join('; ')}\n`)
}

export interface EmbeddedEngine extends Engine {
  /** Lets a worker write through this engine's writer. */
  serveWorker(channel: Channel<WorkerOutcomes, WorkerCommands>): void
}

export const openSqliteEngine = async (options: SqliteOptions): Promise<EmbeddedEngine> => {
  const { dataDir, role = 'owner', noMmap = false, log = () => {}, faults } = options
  const path = join(dataDir, 'cubby.db')
  const damage = new Damage(path, log)
  const open = (writer: WritePort, lock?: StoreLock): SqliteEngine => {
    const db = new Connection(path, readCacheKib)
    // At a million records a get is a fifth faster through the map, a page half. A guest reads too little for it.
    if (role !== 'guest' && !noMmap) db.run(`PRAGMA mmap_size = ${mapBytesMax}`)
    return new SqliteEngine({ db, writer, role, dataDir, lock, damage, log })
  }
  if (role === 'worker') return open(new WorkerWriter(options.channel!, damage))
  makeDataDir(dataDir)
  const isOwner = role === 'owner'
  const lock = isOwner ? holdStore(dataDir) : undefined
  const onDiskFailure = async ({ cause, atOnce }: DiskFailure): Promise<void> => {
    // Marked first: a second signal may end the process while the answers leave.
    noteDiskFailure(dataDir, cause, options.log ?? logToOperator)
    if (!atOnce) await Promise.race([Promise.resolve(options.drain?.()).catch(() => {}), Bun.sleep(drainMsMax)])
    endProcess(1)
  }
  try {
    if (isOwner) {
      warnOfOpenDirectory(dataDir, log)
      await recoverMarked(dataDir, options.log ?? logToOperator)
    } else refuseMarked(dataDir)
    prepareStore(path)
    return open(await WriterPort.open({ path, log, checkpoints: isOwner, onDiskFailure, faults }), lock)
  } catch (error) {
    lock?.release()
    throw error
  }
}

interface Parts {
  db: Connection
  writer: WritePort
  role: 'owner' | 'guest' | 'worker'
  dataDir: string
  lock: StoreLock | undefined
  damage: Damage
  log: Log
}

class SqliteEngine implements EmbeddedEngine {
  readonly description: string
  readonly #db: Connection
  readonly #writer: WritePort
  readonly #role: 'owner' | 'guest' | 'worker'
  readonly #dataDir: string
  readonly #lock: StoreLock | undefined
  readonly #damage: Damage
  /** A guest is gone too soon to need one. */
  readonly #watch: FileWatch | undefined
  readonly #snapshot: Snapshot
  readonly #registry: RegistryCache
  readonly #scanner: Scanner
  readonly #record

  constructor({ db, writer, role, dataDir, lock, damage, log }: Parts) {
    this.#db = db
    this.#writer = writer
    this.#role = role
    this.#dataDir = dataDir
    this.#lock = lock
    this.#damage = damage
    db.run('PRAGMA query_only = ON')
    this.#snapshot = new Snapshot(db, role === 'owner')
    writer.onCommit = (commands) => {
      this.#snapshot.noteCommit()
      if (commands.some(takesAway)) this.#registry.forgetEpoch()
    }
    writer.onDamage = (cause) => damage.note(cause)
    this.#registry = new RegistryCache(db, this.#snapshot, role === 'guest' ? 0 : registryLeaseMs)
    this.#scanner = new Scanner(db)
    this.#record = db.prepare<{ data: string; ttl: number | null; updated_at: number }, [number, string, string]>(
      `SELECT data, ttl, updated_at FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
    )
    this.#watch = role === 'guest' ? undefined : new FileWatch(db.path, log)
    this.description = `sqlite ${db.prepare<{ v: string }, []>('SELECT sqlite_version() AS v').get()!.v}`
  }

  #all<Row>(sql: string, ...values: (string | number | null)[]): Row[] {
    try {
      this.#snapshot.renew()
      return this.#db.prepare<Row, (string | number | null)[]>(sql).all(...values)
    } catch (error) {
      throw this.#damage.explain(error)
    }
  }

  #epoch(): number {
    try {
      return this.#registry.epoch()
    } catch (error) {
      throw this.#damage.explain(error)
    }
  }

  /** The way to the writer, while writes are taken. */
  get #port(): WritePort {
    this.#watch?.hold()
    return this.#writer
  }

  #fence(writer: Writer, table?: Table): Fence {
    const stamp = writer.apiKey?.stamp ?? this.#epoch()
    return {
      stamp: table === undefined ? stamp : Math.min(stamp, table.stamp),
      keySeq: writer.apiKey?.seq ?? null,
      tableId: table?.id ?? null,
    }
  }

  // ── Keys and organizations ─────────────────────────────────────────────────────────────────────────────

  findApiKey(text: string): ApiKey | undefined {
    this.#watch?.hold()
    try {
      return this.#registry.findApiKey(text)
    } catch (error) {
      throw this.#damage.explain(error)
    }
  }

  createApiKey(writer: Writer, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    const { orgId } = writer
    return this.#port.submit<'createApiKey'>(orgId, 0, {
      kind: 'createApiKey',
      fence: this.#fence(writer),
      nowMs,
      orgId,
      key,
    })
  }

  listApiKeys(orgId: number, beforeSeq: number | undefined, limit: number): ApiKey[] {
    const stamp = this.#epoch()
    return this.#all<KeyRow>(
      `SELECT ${keyColumns} FROM api_keys WHERE org_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3`,
      ...[orgId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit],
    ).map((row) => toApiKey(row, stamp))
  }

  async revokeApiKey(writer: Writer, id: string, nowMs: number): Promise<ApiKey | undefined> {
    const { orgId } = writer
    const command = { kind: 'revokeApiKey' as const, fence: this.#fence(writer), nowMs, orgId, id }
    const revoked = await this.#port.submit<'revokeApiKey'>(orgId, 0, command)
    // A server beside us believes what it has read until its lease is over.
    if (this.#role === 'guest') await Bun.sleep(registryLeaseMs + leaseMarginMs)
    return revoked
  }

  recordKeyUse(uses: KeyUse[]): Promise<void> {
    return this.#port.submitUpkeep<'recordKeyUse'>({ kind: 'recordKeyUse', uses })
  }

  createOrganization(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#port.submitUpkeep<'createOrganization'>({
      kind: 'createOrganization',
      nowMs,
      name,
      keys,
      onlyIfFirst: false,
    })
  }

  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#port.submitUpkeep<'createOrganization'>({
      kind: 'createOrganization',
      nowMs,
      name,
      keys,
      onlyIfFirst: true,
    })
  }

  findOrganization(name: string): Organization | undefined {
    return this.#all<OrganizationRow>('SELECT id, name, created_at FROM organizations WHERE name = ?1', name).map(
      toOrganization,
    )[0]
  }

  listOrganizations(): Organization[] {
    return this.#all<OrganizationRow>('SELECT id, name, created_at FROM organizations ORDER BY name').map(
      toOrganization,
    )
  }

  // ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────

  findTable(orgId: number, db: string, name: string): Table | undefined {
    try {
      return this.#registry.findTable(orgId, db, name)
    } catch (error) {
      throw this.#damage.explain(error)
    }
  }

  findDeletedTable(orgId: number, db: string, name: string, nowMs: number): Table | undefined {
    const stamp = this.#epoch()
    return this.#all<TableRow>(
      `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at > ?4 AND purging = 0 ORDER BY deleted_at DESC LIMIT 1`,
      ...[orgId, db, name, nowMs - recoveryMs],
    ).map((row) => toTable(row, stamp))[0]
  }

  createTable(writer: Writer, db: string, name: string, indices: Indices, nowMs: number) {
    const { orgId } = writer
    const command = { kind: 'createTable' as const, fence: this.#fence(writer), nowMs, orgId, db, name, indices }
    return this.#port.submit<'createTable'>(orgId, 0, command)
  }

  deleteTable(writer: Writer, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const { orgId } = writer
    return this.#port.submit<'deleteTable'>(orgId, 0, {
      kind: 'deleteTable',
      fence: this.#fence(writer),
      nowMs,
      orgId,
      db,
      name,
    })
  }

  restoreTable(
    writer: Writer,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    const { orgId } = writer
    const command = { kind: 'restoreTable' as const, fence: this.#fence(writer), nowMs, orgId, db, name, deletedAtMs }
    return this.#port.submit<'restoreTable'>(orgId, 0, command)
  }

  listTables({ orgId, db, after, limit }: TableListing): Table[] {
    const stamp = this.#epoch()
    return this.#all<TableRow>(
      `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name > ?3 AND deleted_at IS NULL ORDER BY name LIMIT ?4`,
      ...[orgId, db, after?.name ?? '', limit],
    ).map((row) => toTable(row, stamp))
  }

  listDeletedTables({ orgId, db, after, limit }: TableListing, nowMs: number): Table[] {
    const stamp = this.#epoch()
    return this.#all<TableRow>(
      `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND (name, deleted_at) > (?3, ?4) AND deleted_at > ?5 AND purging = 0
       ORDER BY name, deleted_at LIMIT ?6`,
      ...[orgId, db, after?.name ?? '', after?.deletedAtMs ?? 0, nowMs - recoveryMs, limit],
    ).map((row) => toTable(row, stamp))
  }

  /** One index seek a database, however many tables it has. */
  listDatabases(orgId: number, after: string | undefined, limit: number): string[] {
    const next = this.#db.prepare<{ db: string }, [number, string]>(
      'SELECT db FROM tables WHERE org_id = ?1 AND db > ?2 AND deleted_at IS NULL ORDER BY db LIMIT 1',
    )
    const names: string[] = []
    let last = after ?? ''
    try {
      this.#snapshot.renew()
      while (names.length < limit) {
        const row = next.get(orgId, last)
        if (row === null) break
        last = row.db
        names.push(last)
      }
    } catch (error) {
      throw this.#damage.explain(error)
    }
    return names
  }

  // ── Records ────────────────────────────────────────────────────────────────────────────────────────────

  getRecord(table: Table, key: RecordKey, nowMs: number): StoredRecord | undefined {
    try {
      this.#snapshot.refresh()
      const row = this.#record.get(table.id, key.hashKey, key.rangeKey)
      if (row === null || isExpired(row.ttl, nowMs)) return undefined
      const { hashKey, rangeKey } = key
      return { hashKey, rangeKey, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at }
    } catch (error) {
      throw this.#damage.explain(error)
    }
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page {
    try {
      this.#snapshot.refresh()
      return this.#scanner.scan(table, scan, rowsMax, nowMs)
    } catch (error) {
      throw this.#damage.explain(error)
    }
  }

  write(writer: Writer, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult> {
    if (this.#role === 'guest') throw new Error('a guest of the store does not write records')
    let bytes = 0
    for (const operation of operations) if (operation.op === 'put') bytes += operation.data.length
    const command = { kind: 'write' as const, fence: this.#fence(writer, table), nowMs, operations }
    return this.#port.submit<'write'>(writer.orgId, bytes, command)
  }

  // ── Upkeep ─────────────────────────────────────────────────────────────────────────────────────────────

  sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    return this.#port.submitUpkeep<'sweepExpired'>({ kind: 'sweepExpired', nowMs, rowsMax })
  }

  purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    return this.#port.submitUpkeep<'purgeTables'>({ kind: 'purgeTables', nowMs, rowsMax })
  }

  // ── Moving data ────────────────────────────────────────────────────────────────────────────────────────

  async openDump(): Promise<Dump> {
    return openDump(this.#db.path)
  }

  async load(rows: LoadRows): Promise<void> {
    if (this.#role === 'guest') throw new Error('a guest of the store does not write records')
    await this.#port.submitUpkeep<'load'>({ kind: 'load', rows })
  }

  lastRecordId(tableId: number): number {
    return (
      this.#all<{ id: number | null }>('SELECT max(id) AS id FROM records WHERE table_id = ?1', tableId)[0]!.id ?? 0
    )
  }

  check(noteTable?: NoteTable): AsyncIterable<string> {
    return checkStore(this.#db, noteTable)
  }

  ready(): boolean {
    if (this.#damage.cause !== undefined || this.#watch?.refusal !== undefined) return false
    return this.#writer.ready && this.#epoch() > 0
  }

  serveWorker(channel: Channel<WorkerOutcomes, WorkerCommands>): void {
    serveWorker(this.#writer, channel, { damage: this.#damage, refusal: () => this.#watch?.refusal })
  }

  async close(): Promise<void> {
    this.#watch?.stop()
    await this.#writer.close()
    this.#snapshot.close()
    if (this.#role === 'owner') this.#db.close()
    else closeUnlessMarked(this.#dataDir, () => this.#db.close())
    this.#lock?.release()
  }
}
