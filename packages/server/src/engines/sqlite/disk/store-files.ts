import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Log } from '../../../core/log.ts'

/** Syncs a directory, and with it the names in it. */
export const syncDirectory = (path: string): void => {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes the data directory, if there is none, so that its name survives a power cut as what is written into it does. */
export const makeDataDir = (dataDir: string): void => {
  const first = mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  // A new name is in its parent: in that of the first directory that was made, and in each between it and the last.
  const top = dirname(resolve(first))
  for (let parent = dirname(resolve(dataDir)); ; parent = dirname(parent)) {
    syncDirectory(parent)
    if (parent === top || parent === dirname(parent)) return
  }
}

/** Readable by its owner alone from the first moment. A file that is there is not opened: that would drop SQLite's locks. */
export const makePrivateFile = (path: string): void => {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}

/** New files are made for their owner alone, but a directory that was there is left as it is. */
export const warnOfOpenDirectory = (dataDir: string, log: Log): void => {
  const mode = statSync(dataDir).mode & 0o777
  if ((mode & 0o077) === 0) return
  const hint = 'every organization is in it: chmod 700'
  log('warn', 'other users can enter the data directory', { data: dataDir, mode: mode.toString(8), hint })
}
