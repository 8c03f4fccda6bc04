import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../../../files/sync.ts'
import {
  hasShape,
  isCount,
  isPair,
  isText,
  type Position,
  position,
  readJson,
  type Shape,
  writeJson,
} from './archive-files.ts'
import type { LastFrame } from './wal-file.ts'

// A file in the data directory says which run of which archive has every frame of this store. It is removed before the first
// checkpoint that does not wait for the archive: removing needs no space on the disk. A server without --archive removes
// it too. Without it, the next start does not continue the run, whatever the WAL looks like.

export interface Token {
  archive: string
  run: number
  /** `cubby.db` as it was when the server closed it: all of it is in the run. */
  closed: Fingerprint | null
  /** The end of the run at that time, with `closed`. A disk that was set back to an older state has an older one. */
  last: LastFrame | null
  /** The reach of the run when the times of earlier starts were removed. An archive that was set back has less. */
  reached: Position
}

const orNull =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || check(value)

const shape: Shape<Token> = {
  ...{ archive: isText, run: isCount, closed: orNull(isText) },
  reached: position,
  last: orNull(hasShape<LastFrame>({ salt1: isCount, salt2: isCount, frame: isCount, checksum: isPair(isCount) })),
}

/** A text that changes with every write to the file, also by a process that sets its times back. */
export type Fingerprint = string

const pathOf = (dataDir: string): string => join(dataDir, 'archive-token')

export const readToken = (dataDir: string): Token | undefined => {
  try {
    return readJson(pathOf(dataDir), shape)
  } catch {
    return undefined
  }
}

export const writeToken = (dataDir: string, token: Token): void => writeJson(pathOf(dataDir), token)

export const removeToken = (dataDir: string): void => {
  rmSync(pathOf(dataDir), { force: true })
  syncPath(dataDir)
}

export const hasToken = (dataDir: string): boolean => statSync(pathOf(dataDir), { throwIfNoEntry: false }) !== undefined

/** Calls only `stat`: opening and closing the file would drop SQLite's locks. */
export const fingerprintOf = (databasePath: string): Fingerprint => {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(databasePath, { bigint: true })
  return [dev, ino, size, mtimeNs, ctimeNs].join('-')
}
