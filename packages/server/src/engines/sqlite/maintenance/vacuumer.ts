import { CubbyError } from '../../../core/errors.ts'
import type { Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'

// The writer thread runs the steps, as commands. The serving thread has the Vacuumer, which says when.

/** One statement gives this many pages back. The time is compared between statements. */
const pagesPerStatement = 4

/** SQLite's number for `auto_vacuum = INCREMENTAL`. */
const incremental = 2

export interface VacuumStep {
  /** Nothing is done while at most this share of the pages is free. */
  freeShareMax: number
  msMax: number
}

export interface Space {
  pages: number
  /** The pages that no record, index entry or table needs. */
  freePages: number
}

/**
 * Moves pages from the end of the file into free ones, and cuts the end off, in the transaction that is open on `db`. The file
 * itself becomes shorter with the next complete checkpoint. Returns the space after the step; undefined if pages cannot be
 * given back, because the store was made by a version without auto-vacuum (`cubby compact` turns it on).
 * `isAlone`: no other write waits for this transaction. Otherwise nothing is done.
 */
export const vacuumStep = (
  db: Connection,
  { freeShareMax, msMax }: VacuumStep,
  isAlone: boolean,
): Space | undefined => {
  if (db.pragma('auto_vacuum') !== incremental) return undefined
  let space = readSpace(db)
  if (!isAlone) return space
  const giveBack = db.prepare(`PRAGMA incremental_vacuum(${pagesPerStatement})`)
  const endMs = performance.now() + msMax
  while (space.freePages > space.pages * freeShareMax && performance.now() < endMs) {
    // The statement returns a row for each page, and stops when they are not read.
    giveBack.all()
    const after = readSpace(db)
    // SQLite reports a failure as an error, so this is not expected. The loop must not try it for ever.
    if (after.freePages >= space.freePages) return undefined
    space = after
  }
  return space
}

export const readSpace = (db: Connection): Space => ({
  pages: db.pragma('page_count'),
  freePages: db.pragma('freelist_count'),
})

interface Writers {
  db: Connection
  isAlone: boolean
  faults: string | undefined
}

export const vacuum = ({ db, isAlone, faults }: Writers, step: VacuumStep): Space | undefined => {
  if (faults === undefined) return vacuumStep(db, step, isAlone)
  const { pages } = readSpace(db)
  const space = vacuumStep(db, step, isAlone)
  if (readSpace(db).pages < pages) faultPoint(faults, 'vacuum')
  return space
}

/** A store without a commit for this long is paused. The first look for free pages is this long after a commit. */
export const pauseMs = 100
/** A pause gives pages back until at most this share of them is free. */
export const freeShareMax = 0.005
/** Under load, only free pages above this share are given back: new records use the rest. */
export const freeShareUnderLoadMax = 0.1
/** A step takes this long, and its commit. A write that arrives meanwhile waits for both. */
const stepMsMax = 3
/** A step may take longer after this time without a commit: only the first write after such a silence can meet it. */
const longPauseMs = 5_000
const longPauseStepMsMax = 10
/** The time between two steps of a pause is this many times as long as the last one took. */
const restFactor = 1
const restMsMin = 5
/** Steps under load are this far apart: fewer than one put in a hundred meets one. */
const underLoadEveryMs = 500
/** The next step after one that failed, on a full disk for example, waits this long. */
const afterFailureMs = 60_000

interface VacuumerOptions {
  /** Sends a step to the writer. */
  step: (step: VacuumStep) => Promise<Space | undefined>
  /** Tells whether no write is on its way, and the WAL has room. */
  mayStep: () => boolean
}

/**
 * Gives free pages back in small steps, when no write waits. A commit starts it, and it stops when few pages are free: an
 * idle store has no timer.
 */
export class Vacuumer {
  readonly #options: VacuumerOptions
  #commits = 0
  #commitsBefore = 0
  #lastCommitMs = 0
  #timer: Timer | undefined
  #state: 'resting' | 'awake' | 'ended' = 'resting'

  constructor(options: VacuumerOptions) {
    this.#options = options
  }

  /** Call it after each commit of other commands, and at the start: the last process may have left free pages. */
  noteCommit(): void {
    this.#commits++
    this.#lastCommitMs = performance.now()
    if (this.#state !== 'resting') return
    this.#state = 'awake'
    this.#commitsBefore = this.#commits
    this.#checkIn(pauseMs)
  }

  end(): void {
    this.#state = 'ended'
    clearTimeout(this.#timer)
  }

  #checkIn(ms: number): void {
    if (this.#state === 'ended') return
    this.#timer = setTimeout(() => void this.#check(), ms)
    this.#timer.unref()
  }

  async #check(): Promise<void> {
    const isPaused = this.#commits === this.#commitsBefore
    this.#commitsBefore = this.#commits
    if (!this.#options.mayStep()) return this.#checkIn(underLoadEveryMs)
    const startedMs = performance.now()
    let space: Space | undefined
    try {
      const shareMax = isPaused ? freeShareMax : freeShareUnderLoadMax
      const isLong = startedMs - this.#lastCommitMs > longPauseMs
      space = await this.#options.step({
        freeShareMax: shareMax,
        msMax: isLong ? longPauseStepMsMax : stepMsMax,
      })
    } catch (error) {
      // The error was logged with the commit. Pages of a damaged store stay where they are.
      if (error instanceof CubbyError && error.code === 'store_damaged') this.end()
      return this.#checkIn(afterFailureMs)
    }
    if (space === undefined) return this.end()
    const wasPaused = isPaused && this.#commits === this.#commitsBefore
    if (!wasPaused) this.#checkIn(underLoadEveryMs)
    else if (space.freePages > space.pages * freeShareMax) {
      this.#checkIn(Math.max(restMsMin, restFactor * (performance.now() - startedMs)))
    } else if (this.#state !== 'ended') this.#state = 'resting'
  }
}
