import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { StoreRefused } from '../../core/store-refused.ts'
import type { ClosedStore, OpenOptions } from '../../store/closed-store.ts'
import type { Engine, WorkerChannel } from '../../store/engine.ts'
import { holdingSweep } from '../../store/hold-sweep.ts'
import { refuseDamaged } from './disk/damage.ts'
import { endProcess } from './disk/disk-failure.ts'
import { refuseDirectory } from './disk/store-files.ts'
import { type EmbeddedEngine, logToOperator, openSqliteEngine, type SqliteOptions } from './engine.ts'
import { compactStore } from './maintenance/compact.ts'
import type { SqliteSettings } from './settings.ts'
import { copyStoreToFile, copyStoreToStream, refuseExistingFile, restoreStore } from './transfer/backup.ts'
import type { WorkerCommands, WorkerOutcomes } from './write/process-write-channel.ts'

/** The owner's engine sends the messages that come through it: see `serveWorker`. */
type OwnerChannel = WorkerChannel<WorkerCommands, WorkerOutcomes>

/** Opens the engine, and turns errors of SQLite into one line for the operator. */
const openEngine = async (options: SqliteOptions): Promise<EmbeddedEngine> => {
  try {
    return await openSqliteEngine(options)
  } catch (error) {
    throw refuseDamaged(join(options.dataDir, 'cubby.db'), refuseDirectory(error))
  }
}

export const sqliteStore = (dataDir: string, settings: SqliteSettings = {}): ClosedStore => {
  const open = async ({ mustExist = false, ...options }: OpenOptions): Promise<Engine> => {
    if (mustExist && !existsSync(join(dataDir, 'cubby.db'))) throw new StoreRefused(`there is no store in ${dataDir}`)
    return openEngine({ dataDir, ...options, ...settings })
  }
  /**
   * Runs `work` while a guest has the store open. Opening it checks that it is a store, of a known version and with its schema,
   * and that no sync has failed.
   */
  const besideStore = async <T>(work: () => Promise<T>): Promise<T> => {
    const engine = await open({ role: 'guest', mustExist: true, requiresOwnSchema: true })
    try {
      return await holdingSweep(engine, work)
    } finally {
      await engine.close()
    }
  }
  return {
    describe: () => dataDir,

    open,

    openWorker(channel, log, observer) {
      // The owner may have ended because its disk failed: then the WAL must stay as it is.
      channel.onClose(() => endProcess(1))
      return openEngine({
        dataDir,
        role: 'worker',
        channel: channel as OwnerChannel,
        log,
        observer,
        noMmap: settings.noMmap,
      })
    },

    workerExitHint: (reason) =>
      reason === 'SIGBUS' ? 'a page of cubby.db could not be read: see --no-mmap' : undefined,

    async createBackup(file, withCopy, notes) {
      refuseExistingFile(file)
      return besideStore(() => copyStoreToFile(dataDir, file, withCopy, notes))
    },

    streamBackup: (write, withCopy, notes) => besideStore(() => copyStoreToStream(dataDir, write, withCopy, notes)),

    restoreBackup: (backup, withCopy, notes) => restoreStore(backup, dataDir, withCopy, notes),

    async compact(announce, notes) {
      try {
        return await compactStore({ dataDir, log: logToOperator, announce, notes })
      } catch (error) {
        throw refuseDirectory(error)
      }
    },
  }
}
