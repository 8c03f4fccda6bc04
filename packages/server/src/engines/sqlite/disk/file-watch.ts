import { statSync } from 'node:fs'
import { CubbyError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'

const checkEveryMs = 1_000

interface Watched {
  path: string
  device: bigint
  inode: bigint
}

/**
 * Notices when the files that this process has open are no longer the files at their paths: the data directory or one of
 * its files was deleted, renamed or replaced. SQLite would keep using the open files, and its commits would be lost
 * when the process ends. Only the paths are examined: opening and closing a file would drop SQLite's locks.
 */
export class FileWatch {
  readonly #files: Watched[]
  readonly #log: Log
  readonly #timer: Timer
  #missing: string | undefined

  /** Create it when the store is open: then all three files exist, and stay the same until every process has closed it. */
  constructor(path: string, log: Log) {
    this.#log = log
    this.#files = [path, `${path}-wal`, `${path}-shm`].map((file) => {
      const { dev, ino } = statSync(file, { bigint: true })
      return { path: file, device: dev, inode: ino }
    })
    this.#timer = setInterval(() => this.#check(), checkEveryMs)
    this.#timer.unref()
  }

  /** The reason for which nothing can be served now; undefined if the files are in place. */
  get refusal(): CubbyError | undefined {
    if (this.#missing === undefined) return undefined
    return new CubbyError('unavailable', 'The files of the store are not in their place; nothing was applied.', {
      hint: 'The operator has to put them back; the log says more.',
      cause: this.#missing,
    })
  }

  /** Throws while nothing can be served. */
  hold(): void {
    if (this.#missing !== undefined) throw this.refusal
  }

  #check(): void {
    const missing = this.#files.find((file) => !isInPlace(file))?.path
    if (missing === this.#missing) return
    const isFirst = this.#missing === undefined
    this.#missing = missing
    if (missing === undefined) this.#log('info', 'the files of the store are back in their place')
    else if (isFirst) {
      const hint =
        'do not stop the server before you have read docs/recovering.md, "When the files are gone": it still has them open'
      this.#log('error', 'files of the store were deleted, moved or replaced; nothing is served', {
        file: missing,
        hint,
      })
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

const isInPlace = ({ path, device, inode }: Watched): boolean => {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found !== undefined && found.dev === device && found.ino === inode
  } catch (error) {
    // An error such as a missing permission does not mean that the file is gone.
    return (error as { code?: string }).code !== 'ENOTDIR'
  }
}
