import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreRefused } from '../../../core/store-refused.ts'
import type { Connection } from '../connection.ts'
import { makeDataDir } from '../disk/store-files.ts'
import { holdFile, type StoreLock } from '../disk/store-lock.ts'
import {
  archiveFormat,
  isText,
  type Manifest,
  pathsOf,
  readJson,
  readText,
  shapes,
  writeJson,
} from './archive-files.ts'

/** Undefined if the directory has no archive. Throws if this version cannot read it. */
export const readManifest = (dir: string): Manifest | undefined => {
  const path = pathsOf(dir).manifest
  const format = formatIn(readText(path))
  if (format !== undefined && format !== archiveFormat) {
    const next = format < archiveFormat ? 'no release wrote it; give another directory' : 'use a newer one'
    throw new StoreRefused(
      `the archive in ${dir} has format ${format}; this Cubby knows format ${archiveFormat}: ${next}`,
    )
  }
  return readJson(path, shapes.manifest)
}

/** The format is read first: the rest of a file of another format may have another shape. */
const formatIn = (text: string | undefined): number | undefined => {
  try {
    const { format } = JSON.parse(text ?? '{}')
    return typeof format === 'number' ? format : undefined
  } catch {
    return undefined
  }
}

/** The id is the same for a store and for what is restored from it. */
export const storeIdOf = (db: Connection): string => db.one<{ id: string }>('SELECT id FROM archive_id')!.id

/** The directory of an archive, locked for this process. */
export class ArchiveDirectory {
  readonly #lock: StoreLock
  /** The lock is on this file, which is open: no other file gets its number. */
  readonly #lockFile: string | undefined

  private constructor(
    readonly dir: string,
    lock: StoreLock,
  ) {
    this.#lock = lock
    this.#lockFile = fileAt(lockPath(dir))
  }

  /**
   * Creates the directory if it does not exist. Refuses a directory that has something else in it, or that only the operator
   * can make usable. Any other error comes from the disk and may be gone later.
   *
   * `hadOne`: this server held the directory before, and lost it. Then nothing is created. If the archive was on a disk of its
   * own, also before this start, it waits for a disk: see `wasOnOwnDisk`.
   */
  static hold(dir: string, dataDir: string, hadOne = false): ArchiveDirectory {
    try {
      const isNew = readManifest(dir) === undefined
      if (isNew && wasOnOwnDisk(dir, dataDir) && !isOnOwnDisk(dir, dataDir)) throw new NotMounted(dir)
      if (!hadOne) makeDataDir(dir)
      const isForeign = isNew && readdirSync(dir).some((name) => !ownNames.test(name))
      if (isForeign) throw new StoreRefused(`--archive: ${dir} is not empty and has no archive; give another directory`)
      const lock = holdFile(lockPath(dir), () => `--archive: another server writes the archive in ${dir}`)
      return new ArchiveDirectory(dir, lock)
    } catch (error) {
      if (
        error instanceof NotMounted ||
        error instanceof StoreRefused ||
        diskErrors.test(String((error as { code?: unknown }).code))
      )
        throw error
      throw new StoreRefused(`--archive: ${dir} cannot be used: ${(error as Error).message}`)
    }
  }

  /** Returns the manifest, which is made now if the archive is new. Refuses the archive of another store. */
  claim(store: string, nowMs: number): Manifest {
    const known = readManifest(this.dir)
    if (known !== undefined && known.store !== store) {
      throw new StoreRefused(`--archive: ${this.dir} has the archive of another store; give another directory`)
    }
    if (known !== undefined) return known
    const manifest = { format: archiveFormat, id: randomBytes(8).toString('hex'), store, createdAtMs: nowMs }
    writeJson(pathsOf(this.dir).manifest, manifest)
    return manifest
  }

  /** Tells whether its path still leads to this directory. It may be replaced or unmounted while the server runs. */
  get isThere(): boolean {
    return this.#lockFile !== undefined && fileAt(lockPath(this.dir)) === this.#lockFile
  }

  release(): void {
    this.#lock.release()
  }
}

const lockPath = (dir: string): string => join(dir, 'archive.lock')

/** The disk may be mounted later. */
class NotMounted extends Error {
  constructor(dir: string) {
    super(
      `nothing is mounted at ${dir} or above it: the archive was on a disk of its own; mount it, or give another directory`,
    )
  }
}

/** Identifies the file at the path: another file, also a copy, has another identity. Undefined if no file can be seen there. */
const fileAt = (path: string): string | undefined => {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}-${ino}`
  } catch {
    return undefined
  }
}

const diskErrors = /^(ENOSPC|EDQUOT|EIO|EROFS|ESTALE|SQLITE_FULL|SQLITE_IOERR.*)$/

/** Files that a start which ended early may have left. `lost+found` is in the root of many file systems. */
const ownNames = /^(archive\.lock.*|archive\.json\.tmp|heartbeat|lost\+found)$/

// If the disk of an archive is not mounted, its path leads to the disk of the store or of the system, which the archive
// must not fill. A file in the data directory remembers, also for the next start, that the archive has a disk of its own.

const noteOf = (dataDir: string): string => join(dataDir, 'archive-disk')

/** Tells whether the directory, or its nearest parent that exists, is on another file system than `/` and the store. */
const isOnOwnDisk = (dir: string, dataDir: string): boolean => {
  const { dev } = existing(dir)
  return dev !== statSync('/').dev && dev !== statSync(dataDir).dev
}

const existing = (path: string): { dev: number } => statSync(path, { throwIfNoEntry: false }) ?? existing(dirname(path))

/** Tells whether the archive in this directory was on a disk of its own when it was last used. */
const wasOnOwnDisk = (dir: string, dataDir: string): boolean => {
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
