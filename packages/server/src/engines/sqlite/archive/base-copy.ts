import { closeSync, fdatasyncSync, fstatSync, fsyncSync, readSync, rmSync } from 'node:fs'
import { openNew } from '../../../files/open-new.ts'
import { moveIntoPlace } from '../../../files/sync.ts'
import { freeBytesIn, inMegabytes } from '../disk/store-files.ts'
import { type BaseInfo, pathsOfRun, type RunReach, writeAll, writeJson } from './archive-files.ts'

const stepBytes = 4 * 1024 * 1024
/** The copy is synced in parts: one sync of a large file would hold the thread, and with it the archive, for too long. */
const syncEveryBytes = 16 * 1024 * 1024
/** This much must stay free for segments while the copy is made. */
const reserveBytes = 4 * 1024 * 1024

/**
 * A copy of the database file, made in small steps while checkpoints write to it. A page that changes meanwhile is copied
 * in any state, or in parts; all such pages have frames in the generation in which the copy began or in later ones, and
 * a restore replays these.
 */
export class BaseCopy {
  readonly #source: number
  /** Undefined once it is closed: another thread may have got the same number since. */
  #target: number | undefined
  readonly #path: string
  readonly #temporary: string
  readonly #hash = new Bun.CryptoHasher('sha256')
  readonly #buffer = Buffer.alloc(stepBytes)
  #bytes = 0
  #unsyncedBytes = 0

  /** `source` is a descriptor of the database file that is never closed: closing it would drop SQLite's locks. */
  constructor(
    readonly runDir: string,
    readonly number: number,
    source: number,
    readonly begun: Pick<BaseInfo, 'firstSegment' | 'startedAtMs'>,
  ) {
    this.#path = pathsOfRun(runDir).base(number)
    this.#temporary = `${this.#path}.tmp`
    this.#source = source
    this.#target = openNew(this.#temporary, 0o600)
  }

  /** Copies a part; false when there is no more. Throws if the rest has no room. */
  step(): boolean {
    requireRoom(this.runDir, Math.max(0, fstatSync(this.#source).size - this.#bytes))
    const length = readSync(this.#source, this.#buffer, 0, stepBytes, this.#bytes)
    if (length === 0) return false
    const part = this.#buffer.subarray(0, length)
    writeAll(this.#target!, [part])
    this.#hash.update(part)
    this.#bytes += length
    this.#unsyncedBytes += length
    if (this.#unsyncedBytes >= syncEveryBytes) {
      fdatasyncSync(this.#target!)
      this.#unsyncedBytes = 0
    }
    return true
  }

  /** Call it when everything that a checkpoint has copied so far is archived up to `last`. `keptFromMs`: see BaseInfo. */
  finish({ last: end, coveredMs }: RunReach, keptFromMs: number): BaseInfo {
    fsyncSync(this.#target!)
    this.#close()
    moveIntoPlace(this.#temporary, this.#path)
    const { firstSegment, startedAtMs } = this.begun
    const sha256 = this.#hash.digest('hex')
    const pageBytes = pageBytesOf(this.#source)
    const times = { startedAtMs, keptFromMs, usableFromMs: coveredMs + 1 }
    const info = { firstSegment, ...times, pageBytes, bytes: this.#bytes, sha256, end }
    writeJson(pathsOfRun(this.runDir).baseInfo(this.number), info)
    return info
  }

  #close(): void {
    const file = this.#target
    this.#target = undefined
    if (file !== undefined) closeSync(file)
  }

  /** `isLost`: its path does not lead to the directory any more. */
  giveUp(isLost = false): void {
    try {
      this.#close()
      if (!isLost) rmSync(this.#temporary, { force: true })
    } catch {
      // The next start removes it.
    }
  }
}

/**
 * Throws if a base has no room. Without this check, a disk that is too small would be filled again and again, and commits would
 * have no room there.
 */
export const requireRoom = (dir: string, databaseBytes: number): void => {
  const [free, needed] = [freeBytesIn(dir), databaseBytes + reserveBytes]
  if (free >= needed) return
  const message = `a base needs ${inMegabytes(needed)}, and ${inMegabytes(free)} are free`
  throw Object.assign(new Error(message), { code: 'ENOSPC' })
}

/** Reads the page size from the header of the database file, where 1 stands for 65,536. */
const pageBytesOf = (file: number): number => {
  const bytes = Buffer.alloc(2)
  readSync(file, bytes, 0, 2, 16)
  return bytes.readUInt16BE(0) === 1 ? 65_536 : bytes.readUInt16BE(0)
}
