import { CubbyError } from '../../../core/errors.ts'
import type { Space, VacuumStep } from './vacuum-step.ts'

/** A store without a commit for this long is paused. The first look for free pages is this long after a commit. */
export const pauseMs = 100
/** In a pause pages are given back until at most this share of them is free. */
export const freeShareMax = 0.005
/** Between commits that follow each other, only what exceeds this share: new records use the rest. */
export const freeShareUnderLoadMax = 0.1
/** A step takes this long, and its commit. A write that arrives meanwhile waits for both. */
const stepMsMax = 3
/** After this time without a commit a step may take longer: only the first write after such a silence can meet it. */
const longPauseMs = 5_000
const longPauseStepMsMax = 10
/** Steps in a pause: the time between two is this many times as long as the last one took. */
const restFactor = 1
const restMsMin = 5
/** Steps under load: fewer than one put in a hundred meets one. */
const underLoadEveryMs = 500
/** After a step that failed, on a full disk for example. */
const afterFailureMs = 60_000

interface VacuumerOptions {
  /** Sends a step to the writer. */
  step: (step: VacuumStep) => Promise<Space | undefined>
  /** Whether no write is on its way, and the WAL has room. */
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

  /** After each commit of others, and at the start: the last process may have left free pages. */
  noteCommit(): void {
    this.#commits++
    this.#lastCommitMs = performance.now()
    if (this.#state !== 'resting') return
    this.#state = 'awake'
    this.#commitsBefore = this.#commits
    this.#lookIn(pauseMs)
  }

  end(): void {
    this.#state = 'ended'
    clearTimeout(this.#timer)
  }

  #lookIn(ms: number): void {
    if (this.#state === 'ended') return
    this.#timer = setTimeout(() => void this.#look(), ms)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const isPaused = this.#commits === this.#commitsBefore
    this.#commitsBefore = this.#commits
    if (!this.#options.mayStep()) return this.#lookIn(underLoadEveryMs)
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
      return this.#lookIn(afterFailureMs)
    }
    if (space === undefined) return this.end()
    const wasPaused = isPaused && this.#commits === this.#commitsBefore
    if (!wasPaused) this.#lookIn(underLoadEveryMs)
    else if (space.freePages > space.pages * freeShareMax) {
      this.#lookIn(Math.max(restMsMin, restFactor * (performance.now() - startedMs)))
    } else if (this.#state !== 'ended') this.#state = 'resting'
  }
}
