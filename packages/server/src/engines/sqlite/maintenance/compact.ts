import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import { OperatorError } from '../../../core/operator-error.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import type { CompactedStore, CompactRoom } from '../../../store/closed-store.ts'
import type { StepNotes } from '../../../store/maintenance.ts'
import { type CheckpointFault, Connection } from '../connection.ts'
import { codeOf, damagedStore, isDamage } from '../disk/damage.ts'
import { closeUnlessMarked, endProcess, noteDiskFailure, recoverMarked } from '../disk/disk-failure.ts'
import { freeBytesIn, inMegabytes, storeBytesOf } from '../disk/store-files.ts'
import { holdStore, type StoreLock } from '../disk/store-lock.ts'
import { prepareStore } from '../migrations/prepare-store.ts'
import { checkStore } from './check.ts'
import { readSpace } from './vacuumer.ts'

// Writes the whole store again, without free or half-empty pages. SQLite's VACUUM does it in one transaction: the new pages are
// in the WAL when it commits, and a process that is killed at any moment leaves the old store or the new one. A copy that takes
// the place of cubby.db would need less room. But a command that has the old file open would then write into a file without a
// name.

const cacheKib = 65_536
/** Commands that read the store have this long to end, before the end of the file is cut off. */
const readersMsMax = 5_000
/** This much is added for the pages that say where others are, and for the frames of the WAL. */
const roomFactor = 1.03

interface CompactOptions {
  dataDir: string
  log: Log
  announce: (room: CompactRoom) => void
  notes?: StepNotes | undefined
}

export const compactStore = async ({ dataDir, log, announce, notes = {} }: CompactOptions): Promise<CompactedStore> => {
  const path = join(dataDir, 'cubby.db')
  if (!existsSync(path)) throw new StoreRefused(`there is no store in ${dataDir}`)
  const lock = lockStore(dataDir)
  try {
    await recoverMarked(dataDir, log)
    const bytesBefore = storeBytesOf(path)
    await prepareStore(path, { isHolder: true, requiresOwnSchema: true, log })
    const db = new Connection(path, cacheKib)
    try {
      const room = requireRoom(db, dataDir)
      announce(room)
      await requireSound(db, 'nothing was changed', notes)
      const counted = countRows(db)
      notes.step?.('writing the store anew', room.neededBytes)
      vacuum(db, dataDir, log)
      const isShort = await copyWal(db, dataDir, log)
      if (countRows(db) !== counted) throw new OperatorError(`${path} has other rows than before: restore a backup`)
      await requireSound(db, 'it was sound before: check the disk, and restore a backup', notes)
      return {
        bytesBefore,
        bytesAfter: isShort ? storeBytesOf(path) : readSpace(db).pages * db.pragma('page_size'),
        isShort,
      }
    } finally {
      closeUnlessMarked(dataDir, () => db.close())
    }
  } finally {
    lock.release()
  }
}

const lockStore = (dataDir: string): StoreLock => {
  try {
    return holdStore(dataDir)
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error
    throw new StoreRefused(`${error.message}: stop it, compact the store, and start it again`)
  }
}

/** All pages in use are written twice: into a temporary file, and from there into the WAL. */
const requireRoom = (db: Connection, dataDir: string): CompactRoom => {
  const { pages, freePages } = readSpace(db)
  const neededBytes = Math.ceil(2 * roomFactor * (pages - freePages) * db.pragma('page_size'))
  const freeBytes = freeBytesIn(dataDir)
  if (freeBytes >= neededBytes) return { neededBytes, freeBytes }
  const [needed, free] = [inMegabytes(neededBytes), inMegabytes(freeBytes)]
  throw new OperatorError(
    `compacting needs up to ${needed} beside the store, and ${free} are free on the disk of ${dataDir}; nothing was changed`,
  )
}

const requireSound = async (db: Connection, next: string, notes: StepNotes): Promise<void> => {
  for await (const finding of checkStore(db, notes)) {
    throw new OperatorError(`${db.path} is not sound: ${finding}; ${next}; see cubby verify`)
  }
}

const countedTables = ['organizations', 'api_keys', 'tables', 'records', 'blobs', 'tasks', 'runs', 'idempotency_keys']

const countRows = (db: Connection): string => countedTables.map((table) => db.count(table)).join()

const vacuum = (db: Connection, dataDir: string, log: Log): void => {
  // Other connections keep temporary data in memory. This one needs space for a whole store, and the disk of the store has it:
  // a system's directory for temporary files may be small, or in memory too. SQLite removes the file's name at once.
  db.run('PRAGMA temp_store = FILE')
  db.run(`PRAGMA temp_store_directory = '${dataDir.replaceAll("'", "''")}'`)
  try {
    // A store of an older version may be without it. The setting takes effect with the VACUUM.
    if (db.pragma('auto_vacuum') === 0) db.run('PRAGMA auto_vacuum = INCREMENTAL')
    db.run('VACUUM')
  } catch (error) {
    const code = codeOf(error)
    if (isDamage(error)) throw damagedStore(db.path, error)
    if (code.startsWith('SQLITE_FULL')) throw new OperatorError('the disk is full; nothing was changed')
    if (code.startsWith('SQLITE_BUSY'))
      throw new OperatorError('another command is writing to the store; nothing was changed')
    if (code.startsWith('SQLITE_IOERR')) endAfterFailure(dataDir, `vacuum: ${code} ${(error as Error).message}`, log)
    throw error
  }
}

/** Copies the new pages into the database file, and gives the WAL back. False if another command still reads the store. */
const copyWal = async (db: Connection, dataDir: string, log: Log): Promise<boolean> => {
  for (const started = performance.now(); ; await Bun.sleep(100)) {
    refuseFault(db.checkpoint(), db, dataDir, log)
    refuseFault(db.truncateWal(), db, dataDir, log)
    if (statSync(`${db.path}-wal`).size === 0) return true
    if (performance.now() - started > readersMsMax) return false
  }
}

const refuseFault = (fault: CheckpointFault | undefined, db: Connection, dataDir: string, log: Log): void => {
  if (fault === undefined) return
  if (fault.kind === 'disk') endAfterFailure(dataDir, fault.cause, log)
  throw new OperatorError(
    `the new pages are in cubby.db-wal and could not be copied into ${db.path} (${fault.cause}); no record is lost: make room, and start the server`,
  )
}

/** Ends the process as the server does: the WAL is the only good copy. */
const endAfterFailure = (dataDir: string, cause: string, log: Log): never => {
  noteDiskFailure(dataDir, cause, log)
  return endProcess(1)
}
