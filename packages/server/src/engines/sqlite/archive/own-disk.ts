import { rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isText, readJson, writeJson } from './archive-files.ts'

// If the disk of an archive is not mounted, its path leads to the disk of the store or of the system, which the archive
// must not fill. A file in the data directory remembers, also for the next start, that the archive has a disk of its own.

const noteOf = (dataDir: string): string => join(dataDir, 'archive-disk')

/** Whether the directory, or the place where it would be created, is on another file system than `/` and the store. */
export const isOnOwnDisk = (dir: string, dataDir: string): boolean => {
  const { dev } = existing(dir)
  return dev !== statSync('/').dev && dev !== statSync(dataDir).dev
}

const existing = (path: string): { dev: number } => statSync(path, { throwIfNoEntry: false }) ?? existing(dirname(path))

/** Whether the archive in this directory was, when it was last used. */
export const wasOnOwnDisk = (dir: string, dataDir: string): boolean => {
  try {
    return readJson(noteOf(dataDir), { dir: isText })?.dir === dir
  } catch {
    return false
  }
}

export const noteDisk = (dir: string, dataDir: string): void => {
  if (!isOnOwnDisk(dir, dataDir)) rmSync(noteOf(dataDir), { force: true })
  else if (!wasOnOwnDisk(dir, dataDir)) writeJson(noteOf(dataDir), { dir })
}
