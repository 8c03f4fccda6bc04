import { Database } from 'bun:sqlite'

/**
 * Opens an SQLite file that exists. Every connection of ours begins here: the file may have been made by somebody else, and
 * what is in its schema (defaults, checks, expressions of indexes) must call no function that does more than compute.
 */
export const openDatabase = (path: string): Database => {
  const db = new Database(path, { readwrite: true })
  db.run('PRAGMA trusted_schema = OFF')
  return db
}
