import { closeSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Log } from '../../../core/log.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import { syncPath } from '../../../files/sync.ts'

// The data directory and its files.

/** Turns an error of the data directory into one line for the operator. Returns other errors as they are. */
export const refuseDirectory = (error: unknown): unknown => {
  const { code = '', message } = error as { code?: string; message?: string }
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return new StoreRefused(`the data directory cannot be created: ${message}`)
  }
  if (/^(SQLITE_CANTOPEN|SQLITE_READONLY|EACCES$|EPERM$|EROFS$|ENOENT$)/.test(code)) {
    return new StoreRefused(`the data directory cannot be written: ${message}`)
  }
  return error
}

/** Creates the data directory if it does not exist, and syncs its name: it survives a power cut, as its files do. */
export const makeDataDir = (dataDir: string): void => {
  const first = mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  // A name is stored in the parent directory. Sync the parent of every directory that was created.
  const top = dirname(resolve(first))
  for (let parent = dirname(resolve(dataDir)); ; parent = dirname(parent)) {
    syncPath(parent)
    if (parent === top || parent === dirname(parent)) return
  }
}

/** Creates a file that only its owner can read. An existing one is not opened: closing it would drop SQLite's locks. */
export const makePrivateFile = (path: string): void => {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}

/** New files are readable by their owner only, but nothing changes the mode of an existing directory. */
export const warnOfOpenDirectory = (dataDir: string, log: Log): void => {
  const mode = statSync(dataDir).mode & 0o777
  if ((mode & 0o077) === 0) return
  const hint = 'every organization is in it: chmod 700'
  log('warn', 'other users can enter the data directory', { data: dataDir, mode: mode.toString(8), hint })
}

/** The bytes of a database file and its WAL. */
export const storeBytesOf = (path: string): number =>
  [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)

/** The bytes that are free on the disk of a directory. */
export const freeBytesIn = (dir: string): number => {
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize
}

export const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1_000_000)} MB`
