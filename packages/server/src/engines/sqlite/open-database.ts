import { constants, Database } from 'bun:sqlite'
import { dirname } from 'node:path'
import { hasToken } from './archive/token.ts'

/**
 * Opens an SQLite file that exists. Every connection of ours begins here: the file may have been made by somebody else, and
 * what is in its schema (defaults, checks, expressions of indexes) must call no function that does more than compute.
 */
export const openDatabase = (path: string): Database => {
  const db = new Database(path, { readwrite: true })
  db.run('PRAGMA trusted_schema = OFF')
  if (path !== ':memory:' && hasToken(dirname(path))) keepWal(db, true)
  return db
}

/**
 * Whether the WAL stays in place when this connection is the last to close the store. While an archive continues from it, a command
 * that runs after the server was killed must not delete what is not archived yet.
 */
export const keepWal = (db: Database, keeps: boolean): void => {
  db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, keeps ? 1 : 0)
}
