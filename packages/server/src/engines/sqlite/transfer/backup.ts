import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  openSync,
  readSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { neverDueMs } from '../../../core/files/blob-id.ts'
import { newBlobStoreMark, newStoreId } from '../../../core/files/blob-store-mark.ts'
import { OperatorError } from '../../../core/operator-error.ts'
import { refuseUnreleased, StoreRefused } from '../../../core/store-refused.ts'
import { moveIntoPlace } from '../../../files/sync.ts'
import type { BackupBytes, BackupContents, BackupSource, WithCopy } from '../../../store/closed-store.ts'
import type { StepNotes } from '../../../store/maintenance.ts'
import { restoreArchive } from '../archive/restore-archive.ts'
import { Connection } from '../connection.ts'
import { damagedStore, isDamage } from '../disk/damage.ts'
import { freeBytesIn, inMegabytes, makeDataDir, refuseDirectory, storeBytesOf } from '../disk/store-files.ts'
import { holdFile, holdStore, type StoreLock } from '../disk/store-lock.ts'
import { checkStore } from '../maintenance/check.ts'
import { requireOwnSchema } from '../migrations/check-schema.ts'
import { migrate } from '../migrations/prepare-store.ts'
import { applicationId, schemaVersion } from '../migrations/schema.ts'
import { RowCheck } from '../records/row-check.ts'
import { openDump } from './dump.ts'

// A backup is one SQLite file: the store as it was at one moment.

const chunkBytes = 1024 * 1024

type Counts = Omit<BackupContents, 'bytes'>

const temporaryOf = (file: string): string => `${file}.tmp`

const createTemporary = (temporary: string): void => {
  try {
    // Only its owner can read it from the first moment: it will hold every organization's records.
    closeSync(openSync(temporary, 'wx', 0o600))
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw cannotWrite(temporary, error as Error)
    throw new OperatorError(
      `${temporary} exists: another backup is running, or one was interrupted; in that case remove the file`,
    )
  }
}

const cannotWrite = (file: string, error: Error): OperatorError =>
  new OperatorError(`${file} cannot be written: ${error.message}`)

const removeTemporary = (temporary: string): void => {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(temporary + end, { force: true })
}

/**
 * Creates the file for `use`, which may move it into place. Afterwards it is removed, or earlier if `use` calls `remove`. A
 * file that an interrupted process has left is replaced: its lock is there, and nobody holds it.
 */
const withTemporary = async <T>(temporary: string, use: (remove: () => void) => Promise<T>): Promise<T> => {
  const lockFile = `${temporary}-lock`
  const left = statSync(lockFile, { throwIfNoEntry: false })?.ino
  const wasLeft = left !== undefined
  const lock = holdTemporary(temporary, lockFile, left)
  let isOurs = wasLeft
  let isHeld = true
  const remove = (): void => {
    // Afterwards another process may have one of this name.
    if (!isHeld) return
    isHeld = false
    if (isOurs) removeTemporary(temporary)
    // Windows removes no file that is open.
    const isRemoved = tryRemove(lockFile)
    lock.release()
    if (!isRemoved) tryRemove(lockFile)
  }
  try {
    if (wasLeft) removeTemporary(temporary)
    createTemporary(temporary)
    isOurs = true
    return await use(remove)
  } finally {
    remove()
  }
}

const tryRemove = (file: string): boolean => {
  try {
    rmSync(file, { force: true })
    return true
  } catch {
    return false
  }
}

/** `left` is the inode of the lock file that was there before. */
const holdTemporary = (temporary: string, lockFile: string, left: number | undefined): StoreLock => {
  const refusal = `${temporary} exists: another backup is running`
  let lock: StoreLock
  try {
    lock = holdFile(lockFile, () => refusal)
  } catch (error) {
    throw error instanceof StoreRefused ? error : cannotWrite(temporary, error as Error)
  }
  // The process that held it may have removed the file by now: a lock without a name excludes nobody.
  const now = statSync(lockFile, { throwIfNoEntry: false })?.ino
  if (now !== undefined && (left === undefined || now === left)) return lock
  lock.release()
  throw new OperatorError(refusal)
}

export const refuseExistingFile = (file: string): void => {
  if (existsSync(file)) throw new OperatorError(`${file} exists and is not overwritten`)
}

/** The store has been opened before: it exists and has the current schema. */
export const copyStoreToFile = async (
  dataDir: string,
  file: string,
  withCopy: WithCopy,
  notes?: StepNotes,
): Promise<BackupContents> => {
  const temporary = temporaryOf(file)
  return withTemporary(temporary, async () => {
    const counts = await copyVerified(dataDir, temporary, file, notes)
    await useCopy(temporary, withCopy)
    // Another process may have created it in the meantime.
    refuseExistingFile(file)
    try {
      moveIntoPlace(temporary, file)
    } catch (error) {
      throw cannotWrite(file, error as Error)
    }
    return { ...counts, bytes: statSync(file).size }
  })
}

/**
 * The copy needs a file of its own, because SQLite cannot write one into a pipe. It is in the data directory, where only the
 * owner can read it and where there is room for a store. It has no name any more when the first byte is written, so that
 * an interrupted stream leaves nothing behind.
 */
export const copyStoreToStream = async (
  dataDir: string,
  write: (bytes: Uint8Array) => Promise<void>,
  withCopy: WithCopy,
  notes?: StepNotes,
): Promise<BackupContents> => {
  const temporary = temporaryOf(join(dataDir, 'backup'))
  requireRoom(dataDir)
  return withTemporary(temporary, async (remove) => {
    const counts = await copyVerified(dataDir, temporary, temporary, notes)
    await useCopy(temporary, withCopy)
    const descriptor = openSync(temporary, 'r')
    remove()
    try {
      return { ...counts, bytes: await streamFile(descriptor, write) }
    } finally {
      closeSync(descriptor)
    }
  })
}

/** This much must stay free on the disk of the store for the WAL, which grows while the copy is made. */
const reserveBytes = 256 * 1024 * 1024

/** A copy that fills the disk of the store would make the writes of a running server fail. */
const requireRoom = (dataDir: string): void => {
  const neededBytes = storeBytesOf(join(dataDir, 'cubby.db')) + reserveBytes
  const freeBytes = freeBytesIn(dataDir)
  if (freeBytes >= neededBytes) return
  const [needed, free] = [inMegabytes(neededBytes), inMegabytes(freeBytes)]
  throw new OperatorError(
    `the copy is made in ${dataDir}, where ${free} are free and ${needed} are needed; give a FILE on another disk`,
  )
}

const streamFile = async (descriptor: number, write: (bytes: Uint8Array) => Promise<void>): Promise<number> => {
  for (let bytes = 0; ; ) {
    // A new buffer for each chunk: the last one may still be on its way.
    const chunk = Buffer.allocUnsafe(chunkBytes)
    const length = readSync(descriptor, chunk, 0, chunkBytes, null)
    if (length === 0) return bytes
    await write(chunk.subarray(0, length))
    bytes += length
  }
}

/** Messages name the file `target`. */
const copyVerified = async (
  dataDir: string,
  temporary: string,
  target: string,
  notes: StepNotes = {},
): Promise<Counts> => {
  const store = new Connection(join(dataDir, 'cubby.db'), 16_384)
  try {
    // A store of an older version may be without auto-vacuum: the one that is made from the backup has it.
    if (store.pragma('auto_vacuum') === 0) store.run('PRAGMA auto_vacuum = INCREMENTAL')
    const pages = store.pragma('page_count') - store.pragma('freelist_count')
    notes.step?.('copying the store', pages * store.pragma('page_size'))
    store.run(`VACUUM INTO '${temporary.replaceAll("'", "''")}'`)
  } catch (error) {
    throw isDamage(error) ? damagedStore(store.path, error) : cannotWrite(target, error as Error)
  } finally {
    store.close()
  }
  return verifyCopy(temporary, `the copy of ${join(dataDir, 'cubby.db')}`, notes)
}

/** Throws the first finding. Messages name the copy `what`. */
const verifyCopy = async (path: string, what: string, steps: StepNotes = {}): Promise<Counts> => {
  const db = openCopy(path, what)
  try {
    const version = db.pragma('user_version')
    if (version < 1 || db.pragma('application_id') !== applicationId)
      throw new OperatorError(`${what} is not a backup of Cubby`)
    if (version > schemaVersion) {
      throw new OperatorError(
        `${what} has version ${version}; this Cubby knows versions up to ${schemaVersion}: use a newer one`,
      )
    }
    refuseUnreleased(version, what)
    requireOwnSchema(db, what)
    // A backup of an older version becomes a store of this one.
    migrate(db)
    const foreign: string[] = []
    const notes = { ...steps, foreign: (one: string) => void foreign.push(one) }
    for await (const finding of checkStore(db, notes)) throw new OperatorError(`${what} is not sound: ${finding}`)
    const files = db.count(`blobs WHERE state = 'live'`)
    return {
      organizations: db.count('organizations'),
      tables: db.count(`tables WHERE kind = 'table'`),
      records: db.count('records') - files,
      buckets: db.count(`tables WHERE kind = 'bucket'`),
      files,
      tasks: db.count(`tables WHERE kind = 'task'`),
      runs: db.count('runs'),
      ...(foreign.length > 0 ? { foreign } : {}),
    }
  } catch (error) {
    throw asFinding(error, what)
  } finally {
    db.close()
  }
}

/** Calls `withCopy`. All rows of the copy have been compared with their checksums before. */
const useCopy = async (temporary: string, withCopy: WithCopy): Promise<void> => {
  const dump = openDump(temporary, new RowCheck(() => {}, true))
  try {
    await withCopy(dump)
  } finally {
    await dump.close()
  }
}

const openCopy = (path: string, what: string): Connection => {
  try {
    return new Connection(path, 16_384)
  } catch (error) {
    throw asFinding(error, what)
  }
}

const asFinding = (error: unknown, what: string): unknown => {
  const { code, message } = error as { code?: string; message?: string }
  if (code?.startsWith('SQLITE_NOTADB')) return new OperatorError(`${what} is not a backup of Cubby`)
  return code?.startsWith('SQLITE_') ? new OperatorError(`${what} is damaged: ${message}`) : error
}

// SQLite would replay a WAL that is left without its database over the restored one: any file of a store counts.
const refuseExistingStore = (dataDir: string): void => {
  for (const name of ['cubby.db', 'cubby.db-wal', 'cubby.db-journal']) {
    if (existsSync(join(dataDir, name)))
      throw new OperatorError(`${dataDir} has a store (${name}); give another --data`)
  }
}

export const restoreStore = async (
  backup: BackupSource,
  dataDir: string,
  withCopy: WithCopy,
  notes: StepNotes = {},
): Promise<BackupContents> => {
  if (typeof backup === 'string' && !existsSync(backup)) throw new OperatorError(`there is no file ${backup}`)
  const name = nameOf(backup)
  refuseExistingStore(dataDir)
  const isNew = !existsSync(dataDir)
  try {
    makeDataDir(dataDir)
  } catch (error) {
    throw cannotWrite(dataDir, error as Error)
  }
  const path = join(dataDir, 'cubby.db')
  const temporary = temporaryOf(path)
  const lock = lockStore(dataDir)
  try {
    // An interrupted restore may have left it: nobody else has the lock.
    removeTemporary(temporary)
    createTemporary(temporary)
    notes.step?.(`copying ${name}`)
    if (typeof backup === 'string') copy(backup, temporary)
    else if ('archive' in backup) restoreArchive(backup.archive, backup.atMs, temporary)
    else await receive(backup, temporary)
    refuseCompressed(temporary, name)
    const counts = await verifyCopy(temporary, name, notes)
    const storeId = newStoreId()
    const mark = newBlobStoreMark(storeId)
    await useCopy(temporary, (copy) => withCopy(copy, mark))
    makeAnotherStore(temporary, storeId, mark)
    refuseExistingStore(dataDir)
    moveIntoPlace(temporary, path)
    lock.release()
    return { ...counts, bytes: statSync(path).size }
  } catch (error) {
    removeTemporary(temporary)
    lock.release()
    if (isNew) removeNewDirectory(dataDir)
    throw error
  }
}

/**
 * Gives the copy an id of its own, and the mark of its place. The bytes of all its files were copied there, so they are its
 * own. The id of the archive stays: an archive has the history of a store and of what is restored from it.
 */
const makeAnotherStore = (path: string, storeId: string, mark: string): void => {
  const db = new Connection(path, 2_048)
  try {
    db.run(`BEGIN;
      UPDATE store_id SET id = '${storeId}';
      UPDATE file_place SET mark = '${mark}';
      UPDATE blobs SET due_at = iif(state = 'live', NULL, 0) WHERE due_at = ${neverDueMs};
      COMMIT`)
  } finally {
    db.close()
  }
}

/** Messages name the backup so. */
const nameOf = (backup: BackupSource): string => {
  if (typeof backup === 'string') return backup
  return 'archive' in backup ? `what ${backup.archive} has of that time` : backup.name
}

const lockStore = (dataDir: string): StoreLock => {
  try {
    return holdStore(dataDir)
  } catch (error) {
    throw refuseDirectory(error)
  }
}

const copy = (file: string, temporary: string): void => {
  try {
    // The backup itself is never opened as a database: that would write to it.
    copyFileSync(file, temporary, constants.COPYFILE_FICLONE)
    chmodSync(temporary, 0o600)
  } catch (error) {
    throw new OperatorError(`${file} cannot be copied: ${(error as Error).message}`)
  }
}

const receive = async ({ name, bytes }: BackupBytes, temporary: string): Promise<void> => {
  const descriptor = openSync(temporary, 'w')
  try {
    for await (const chunk of bytes) {
      for (let at = 0; at < chunk.length; ) at += writeSync(descriptor, chunk, at)
    }
  } catch (error) {
    throw new OperatorError(`${name} cannot be copied: ${(error as Error).message}`)
  } finally {
    closeSync(descriptor)
  }
}

/** Refuses a compressed backup. Otherwise the message would be "not a backup of Cubby". */
const refuseCompressed = (temporary: string, name: string): void => {
  const head = Buffer.alloc(2)
  const descriptor = openSync(temporary, 'r')
  readSync(descriptor, head, 0, 2, 0)
  closeSync(descriptor)
  if (head[0] !== 0x1f || head[1] !== 0x8b) return
  throw new OperatorError(`${name} is compressed; unpack it on the way: gunzip -c FILE | cubby backup restore -`)
}

const removeNewDirectory = (dataDir: string): void => {
  rmSync(join(dataDir, 'serve.lock'), { force: true })
  try {
    rmdirSync(dataDir)
  } catch {
    // The directory is not empty: somebody has put something into it.
  }
}

/** Checks a backup in a copy beside it, which is removed again: the check itself would write to the backup. */
export const verifyBackup = async (
  file: string,
  withCopy: WithCopy,
  notes: StepNotes = {},
): Promise<BackupContents> => {
  if (!existsSync(file)) throw new OperatorError(`there is no file ${file}`)
  const temporary = temporaryOf(`${file}.verify`)
  return withTemporary(temporary, async () => {
    notes.step?.(`copying ${file}`)
    copy(file, temporary)
    refuseCompressed(temporary, file)
    const counts = await verifyCopy(temporary, file, notes)
    await useCopy(temporary, withCopy)
    return { ...counts, bytes: statSync(file).size }
  })
}
