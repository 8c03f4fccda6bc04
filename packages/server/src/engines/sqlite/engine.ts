import { writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import { printable } from '../../core/text/printable.ts'
import type { OpenOptions } from '../../store/closed-store.ts'
import type { Engine } from '../../store/engine.ts'
import type { ArchiveState } from '../../store/measures.ts'
import { observeRuns, type StoreObserver } from '../../store/observer.ts'
import type { Runs } from '../../store/runs.ts'
import { OpenArchive } from './archive/open-archive.ts'
import { Connection } from './connection.ts'
import { Damage } from './disk/damage.ts'
import { closeUnlessMarked, endProcess, noteDiskFailure, recoverMarked, refuseMarked } from './disk/disk-failure.ts'
import { makeDataDir, warnOfOpenDirectory } from './disk/store-files.ts'
import { holdStore, type StoreLock } from './disk/store-lock.ts'
import { SqliteFiles } from './files/files.ts'
import { SqliteMaintenance } from './maintenance/maintenance.ts'
import { SqliteStatistics } from './maintenance/statistics.ts'
import { SqliteMeasures } from './measures.ts'
import { prepareStore } from './migrations/prepare-store.ts'
import { OpenStore, type Role } from './open-store.ts'
import { SqliteRecords } from './records/records.ts'
import { SqliteApiKeys } from './registry/api-keys.ts'
import { SqliteOrganizations } from './registry/organizations.ts'
import { SqliteSecrets } from './registry/secrets.ts'
import { SqliteBuckets, SqliteTables } from './registry/tables.ts'
import { SqliteRuns } from './runs/runs.ts'
import type { SqliteSettings } from './settings.ts'
import { SqliteTasks } from './tasks/tasks.ts'
import { SqliteTransfer } from './transfer/transfer.ts'
import {
  type Channel,
  ProcessWriteChannel,
  serveWorker,
  type WorkerCommands,
  type WorkerOutcomes,
} from './write/process-write-channel.ts'
import { type DiskFailure, ThreadWriteChannel } from './write/thread-write-channel.ts'
import type { WriteChannel } from './write/write-channel.ts'

const readCacheKib = 32_768
const mapBytesMax = 1024 * 1024 * 1024

export interface SqliteOptions extends SqliteSettings, Pick<OpenOptions, 'requiresOwnSchema'> {
  dataDir: string
  /**
   * The owner keeps the store and its writer; there is one at a time. A worker serves the store through the
   * owner's writer. A guest is an operator's command while they run: it changes keys and organizations, and
   * may hold the sweep of blobs.
   */
  role?: Role
  /** The channel from a worker to the owner's writer. */
  channel?: Channel<WorkerCommands, WorkerOutcomes>
  log?: Log
  /** For the metrics. */
  observer?: StoreObserver
  /** For the owner. Called after a failed commit, before the process ends: sends the pending answers, within `drainMsMax`. */
  drain?: () => Promise<unknown>
}

/** How long sending the answers to a failed commit may take, before the process ends. */
const drainMsMax = 2_000

/** For a command that has no log. Written at once: the process may be about to end. */
export const logToOperator: Log = (_, message, fields = {}) => {
  const shown = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  writeSync(2, `${printable(`cubby: ${[message, ...shown].join('; ')}`)}\n`)
}

export interface EmbeddedEngine extends Engine {
  /** Lets a worker write through this engine's writer. */
  serveWorker(channel: Channel<WorkerOutcomes, WorkerCommands>): void
}

export const openSqliteEngine = async (options: SqliteOptions): Promise<EmbeddedEngine> => {
  const { dataDir, role = 'owner', noMmap = false, log = () => {}, faults, idleMs, observer } = options
  const path = join(dataDir, 'cubby.db')
  const damage = new Damage(path, log)
  const open = (channel: WriteChannel, lock?: StoreLock, archive?: OpenArchive): SqliteEngine => {
    const db = new Connection(path, readCacheKib)
    // At a million records the map makes a get a fifth faster, and a page by half. A guest reads too little to need it.
    if (role !== 'guest' && !noMmap) db.run(`PRAGMA mmap_size = ${mapBytesMax}`)
    return new SqliteEngine({ db, channel, role, dataDir, lock, archive, damage, log, observer })
  }
  if (role === 'worker') return open(new ProcessWriteChannel(options.channel!, damage))
  makeDataDir(dataDir)
  const isOwner = role === 'owner'
  const lock = isOwner ? holdStore(dataDir) : undefined
  const onDiskFailure = async ({ cause, atOnce }: DiskFailure): Promise<void> => {
    // Marked first: a second signal may end the process while the answers are sent.
    noteDiskFailure(dataDir, cause, options.log ?? logToOperator)
    if (!atOnce) await Promise.race([Promise.resolve(options.drain?.()).catch(() => {}), Bun.sleep(drainMsMax)])
    endProcess(1)
  }
  let archive: OpenArchive | undefined
  try {
    // Before anything opens the store: the last connection to close it would delete frames that are not archived.
    if (isOwner) archive = await OpenArchive.prepare({ dataDir, settings: options.archive, log, faults })
    if (isOwner) {
      warnOfOpenDirectory(dataDir, log)
      await recoverMarked(dataDir, options.log ?? logToOperator)
    } else refuseMarked(dataDir)
    archive?.keepWal()
    const { requiresOwnSchema } = options
    await prepareStore(path, { isHolder: isOwner, requiresOwnSchema, log, faults })
    const hook = archive?.hook
    const channel = await ThreadWriteChannel.open({
      ...{ path, log, checkpoints: isOwner, archive: hook, onDiskFailure, faults, idleMs, observer },
    })
    try {
      await archive?.start(channel.databaseFile)
    } catch (error) {
      await channel.close()
      throw error
    }
    const engine = open(channel, lock, archive)
    archive?.letGoOfWal()
    return engine
  } catch (error) {
    await archive?.abandon()
    lock?.release()
    throw error
  }
}

interface Parts {
  db: Connection
  channel: WriteChannel
  role: Role
  dataDir: string
  lock: StoreLock | undefined
  archive: OpenArchive | undefined
  damage: Damage
  log: Log
  observer: StoreObserver | undefined
}

class SqliteEngine implements EmbeddedEngine {
  readonly description: string
  readonly readsAtOnce = 1
  readonly organizations: SqliteOrganizations
  readonly apiKeys: SqliteApiKeys
  readonly secrets: SqliteSecrets
  readonly tables: SqliteTables
  readonly buckets: SqliteBuckets
  readonly records: SqliteRecords
  readonly files: SqliteFiles
  readonly tasks: SqliteTasks
  readonly runs: Runs
  readonly maintenance: SqliteMaintenance
  readonly transfer: SqliteTransfer
  readonly statistics: SqliteStatistics
  readonly measures: SqliteMeasures
  readonly #store: OpenStore
  readonly #channel: WriteChannel
  readonly #dataDir: string
  readonly #lock: StoreLock | undefined
  readonly #archive: OpenArchive | undefined

  constructor({ db, channel, role, dataDir, lock, archive, damage, log, observer }: Parts) {
    const store = new OpenStore({ db, channel, role, damage, log })
    this.#store = store
    this.#channel = channel
    this.#dataDir = dataDir
    this.#lock = lock
    this.#archive = archive
    this.organizations = new SqliteOrganizations(store)
    this.apiKeys = new SqliteApiKeys(store)
    this.secrets = new SqliteSecrets(store)
    this.tables = new SqliteTables(store)
    this.buckets = new SqliteBuckets(store)
    this.records = new SqliteRecords(store)
    this.files = new SqliteFiles(store)
    this.tasks = new SqliteTasks(store)
    this.runs = new SqliteRuns(store)
    if (observer !== undefined) observeRuns(this.runs, observer)
    this.maintenance = new SqliteMaintenance(store)
    this.transfer = new SqliteTransfer(store)
    this.statistics = new SqliteStatistics(store)
    this.measures = new SqliteMeasures(store, channel, dataDir, () => this.#archive?.state)
    this.description = `sqlite ${db.prepare<{ v: string }, []>('SELECT sqlite_version() AS v').get()!.v}`
  }

  get archiveState(): ArchiveState | undefined {
    return this.#archive?.state
  }

  ready(): boolean {
    const { damage, watch } = this.#store
    if (damage.cause !== undefined || watch?.refusal !== undefined) return false
    return this.#channel.ready && this.#store.epoch() > 0
  }

  serveWorker(channel: Channel<WorkerOutcomes, WorkerCommands>): void {
    const { damage, watch } = this.#store
    serveWorker(this.#channel, channel, { damage, refusal: () => watch?.refusal })
  }

  async close(): Promise<void> {
    const { db, role, snapshot, watch } = this.#store
    watch?.stop()
    await this.#channel.close()
    snapshot.close()
    const close = (): void => db.close()
    if (role === 'owner') db.letWalGo()
    if (this.#archive !== undefined) await this.#archive.close(close)
    else if (role === 'owner') close()
    else closeUnlessMarked(this.#dataDir, close)
    this.#lock?.release()
  }
}
