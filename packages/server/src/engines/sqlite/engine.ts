import { writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import { printable } from '../../core/text/printable.ts'
import type { OpenOptions } from '../../store/closed-store.ts'
import type { Engine, WorkerChannel } from '../../store/engine.ts'
import { observeRuns, type StoreObserver } from '../../store/observer.ts'
import { Archive } from './archive/archive.ts'
import { sqliteChanges } from './changes/changes.ts'
import { Connection } from './connection.ts'
import { Damage } from './disk/damage.ts'
import { closeUnlessMarked, endProcess, noteDiskFailure, recoverMarked, refuseMarked } from './disk/disk-failure.ts'
import { makeDataDir, warnOfOpenDirectory } from './disk/store-files.ts'
import { holdStore, type ServingLock } from './disk/store-lock.ts'
import { sqliteFiles } from './files/files.ts'
import { sqliteMaintenance } from './maintenance/maintenance.ts'
import { sqliteStatistics } from './maintenance/statistics.ts'
import { sqliteMeasures } from './measures.ts'
import { prepareStore } from './migrations/prepare-store.ts'
import { OpenStore, type Role } from './open-store.ts'
import { sqliteRecords } from './records/records.ts'
import { sqliteApiKeys } from './registry/api-keys.ts'
import { sqliteIdempotencyKeys } from './registry/idempotency-keys.ts'
import { sqliteOrganizations } from './registry/organizations.ts'
import { sqliteSecrets } from './registry/secrets.ts'
import { sqliteBuckets, sqliteTables } from './registry/tables.ts'
import { sqliteUsers } from './registry/users.ts'
import { sqliteRuns } from './runs/runs.ts'
import type { SqliteSettings } from './settings.ts'
import { sqliteTasks } from './tasks/tasks.ts'
import { sqliteTransfer } from './transfer/transfer.ts'
import {
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
   * The owner keeps the store and its writer; there is one at a time. A worker serves the store through the owner's writer. A
   * guest is an operator's command beside them: it changes keys and organizations, and may hold the sweep of blobs.
   */
  role?: Role
  /** The channel from a worker to the owner's writer. */
  channel?: WorkerChannel<WorkerCommands, WorkerOutcomes>
  log?: Log
  /** Counts for the metrics. */
  observer?: StoreObserver
  /** The owner calls it after a failed commit, before the process ends: it sends the pending responses, within `drainMsMax`. */
  drain?: () => Promise<unknown>
}

/** Sending the responses to a failed commit may take this long, before the process ends. */
const drainMsMax = 2_000

/** The log of a command that has none. It writes synchronously: the process may be about to end. */
export const logToOperator: Log = (_, message, fields = {}) => {
  const shown = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  writeSync(2, `${printable(`cubby: ${[message, ...shown].join('; ')}`)}\n`)
}

export interface EmbeddedEngine extends Engine {
  /** Lets a worker write through this engine's writer. */
  serveWorker(channel: WorkerChannel<WorkerOutcomes, WorkerCommands>): void
}

export const openSqliteEngine = async (options: SqliteOptions): Promise<EmbeddedEngine> => {
  const { dataDir, role = 'owner', noMmap = false, log = () => {}, faults, idleMs, observer } = options
  const path = join(dataDir, 'cubby.db')
  const damage = new Damage(path, log)
  const open = (channel: WriteChannel, lock?: ServingLock, archive?: Archive): EmbeddedEngine => {
    const db = new Connection(path, readCacheKib)
    // At a million records the map makes a get a fifth faster, and a page by half. A guest reads too little to need it.
    if (role !== 'guest' && !noMmap) db.run(`PRAGMA mmap_size = ${mapBytesMax}`)
    const store = new OpenStore(db, channel, role, damage, log)
    const { snapshot, watch } = store
    const runs = sqliteRuns(store)
    if (observer !== undefined) observeRuns(runs, observer)
    const maintenance = sqliteMaintenance(store)
    return {
      description: `sqlite ${db.one<{ v: string }>('SELECT sqlite_version() AS v')!.v}`,
      readsAtOnce: 1,
      organizations: sqliteOrganizations(store),
      apiKeys: sqliteApiKeys(store),
      secrets: sqliteSecrets(store),
      users: sqliteUsers(store),
      tables: sqliteTables(store),
      buckets: sqliteBuckets(store),
      records: sqliteRecords(store),
      changes: sqliteChanges(store),
      files: sqliteFiles(store),
      tasks: sqliteTasks(store),
      runs,
      idempotencyKeys: sqliteIdempotencyKeys(store),
      maintenance,
      transfer: sqliteTransfer(store),
      statistics: sqliteStatistics(store),
      measures: sqliteMeasures(store, channel, dataDir, () => ({
        archive: archive?.state,
        changesKept: maintenance.changesKept,
      })),

      get archiveState() {
        return archive?.state
      },

      ready() {
        if (damage.cause !== undefined || watch?.refusal !== undefined) return false
        return channel.ready && store.epoch() > 0
      },

      noteListening: (port) => lock?.notePort(port),

      serveWorker: (worker) => serveWorker(channel, worker, { damage, refusal: () => watch?.refusal }),

      async close() {
        watch?.stop()
        await channel.close()
        snapshot.close()
        const close = (): void => db.close()
        if (role === 'owner') db.letWalGo()
        if (archive !== undefined) await archive.close(close)
        else if (role === 'owner') close()
        else closeUnlessMarked(dataDir, close)
        lock?.release()
      },
    }
  }
  if (role === 'worker') return open(new ProcessWriteChannel(options.channel!, damage))
  makeDataDir(dataDir)
  const isOwner = role === 'owner'
  const lock = isOwner ? holdStore(dataDir) : undefined
  const onDiskFailure = async ({ cause, atOnce }: DiskFailure): Promise<void> => {
    // The mark comes first: a second signal may end the process while the responses are sent.
    noteDiskFailure(dataDir, cause, options.log ?? logToOperator)
    if (!atOnce) await Promise.race([Promise.resolve(options.drain?.()).catch(() => {}), Bun.sleep(drainMsMax)])
    endProcess(1)
  }
  let archive: Archive | undefined
  try {
    // This comes before anything opens the store: the last connection to close it would delete frames that are not archived.
    if (isOwner) archive = await Archive.prepare({ dataDir, settings: options.archive, log, faults })
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
