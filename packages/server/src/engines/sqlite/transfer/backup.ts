import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../../../core/operator-error.ts'
import { moveIntoPlace } from '../../../files/sync.ts'
import type { BackupContents } from '../../../store/closed-store.ts'
import { Connection } from '../connection.ts'
import { damagedStore, isDamage } from '../disk/damage.ts'
import { makeDataDir, refuseDirectory } from '../disk/store-files.ts'
import { holdStore, type StoreLock } from '../disk/store-lock.ts'
import { checkStore } from '../maintenance/check.ts'
import { migrate } from '../migrations/prepare-store.ts'
import { schemaVersion } from '../migrations/schema.ts'

// A backup is one SQLite file: the store as it was at one moment.

type Counts = Omit<BackupContents, 'bytes'>

const temporaryOf = (file: string): string => `${file}.tmp`

const createTemporary = (temporary: string): void => {
  try {
    // Readable by its owner only from the first moment: it will hold every organization's records.
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

export const refuseExistingFile = (file: string): void => {
  if (existsSync(file)) throw new OperatorError(`${file} exists and is not overwritten`)
}

/** The store has been opened before: it exists and has the current schema. */
export const copyStoreToFile = async (dataDir: string, file: string): Promise<BackupContents> => {
  const temporary = temporaryOf(file)
  createTemporary(temporary)
  try {
    const store = new Connection(join(dataDir, 'cubby.db'), 16_384)
    try {
      store.run(`VACUUM INTO '${temporary.replaceAll("'", "''")}'`)
    } catch (error) {
      throw isDamage(error) ? damagedStore(store.path, error) : cannotWrite(file, error as Error)
    } finally {
      store.close()
    }
    const counts = await verifyCopy(temporary, `the copy of ${join(dataDir, 'cubby.db')}`)
    // Someone may have created it in the meantime.
    refuseExistingFile(file)
    try {
      moveIntoPlace(temporary, file)
    } catch (error) {
      throw cannotWrite(file, error as Error)
    }
    return { ...counts, bytes: statSync(file).size }
  } catch (error) {
    removeTemporary(temporary)
    throw error
  }
}

/** Throws the first finding. `what` is how the message names the copy. */
const verifyCopy = async (path: string, what: string): Promise<Counts> => {
  const db = openCopy(path, what)
  try {
    const version = db.prepare<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version
    if (version === 0) throw new OperatorError(`${what} is not a backup of Cubby`)
    if (version > schemaVersion) {
      throw new OperatorError(
        `${what} has version ${version}; this Cubby knows versions up to ${schemaVersion}: use a newer one`,
      )
    }
    // A backup of an older version becomes a store of this one.
    migrate(db)
    for await (const finding of checkStore(db)) throw new OperatorError(`${what} is not sound: ${finding}`)
    const count = (from: string): number => db.prepare<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()!.n
    return {
      organizations: count('organizations'),
      tables: count('tables'),
      records: count('records'),
    }
  } catch (error) {
    throw asFinding(error, what)
  } finally {
    db.close()
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

export const restoreStoreFromFile = async (file: string, dataDir: string): Promise<BackupContents> => {
  if (!existsSync(file)) throw new OperatorError(`there is no file ${file}`)
  refuseExistingStore(dataDir)
  const isNew = !existsSync(dataDir)
  try {
    makeDataDir(dataDir)
  } catch (error) {
    throw cannotWrite(dataDir, error as Error)
  }
  const path = join(dataDir, 'cubby.db')
  const temporary = temporaryOf(path)
  let made = false
  const lock = lockStore(dataDir)
  try {
    createTemporary(temporary)
    made = true
    copy(file, temporary)
    const counts = await verifyCopy(temporary, file)
    refuseExistingStore(dataDir)
    moveIntoPlace(temporary, path)
    lock.release()
    return { ...counts, bytes: statSync(path).size }
  } catch (error) {
    if (made) removeTemporary(temporary)
    lock.release()
    if (isNew) removeNewDirectory(dataDir)
    throw error
  }
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

const removeNewDirectory = (dataDir: string): void => {
  rmSync(join(dataDir, 'serve.lock'), { force: true })
  try {
    rmdirSync(dataDir)
  } catch {
    // It is not empty: someone has put something into it.
  }
}
