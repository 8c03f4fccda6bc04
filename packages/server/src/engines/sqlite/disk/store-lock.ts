import { join } from 'node:path'
import { StoreRefused } from '../../../core/store-refused.ts'
import { openDatabase } from '../open-database.ts'
import { makePrivateFile } from './store-files.ts'

export interface StoreLock {
  release(): void
}

/**
 * Locks the store for this process: at most one process serves it. The lock is an open transaction on a separate file,
 * so the operating system releases it however the process ends.
 */
export const holdStore = (dataDir: string): StoreLock =>
  holdFile(join(dataDir, 'serve.lock'), `another process serves the store in ${dataDir}`)

/** The same with another file. `refusal` is the message if another process holds it. */
export const holdFile = (path: string, refusal: string): StoreLock => {
  makePrivateFile(path)
  const db = openDatabase(path)
  try {
    // Without this, two processes that start at the same time might both fail.
    db.run('PRAGMA busy_timeout = 300')
    // The lock needs no space then: on a full disk it can be taken too.
    db.run('PRAGMA journal_mode = MEMORY')
    db.run('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) {
      throw new StoreRefused(refusal)
    }
    throw error
  }
  return { release: () => db.close() }
}
