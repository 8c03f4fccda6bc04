import { fstatSync, rmSync } from 'node:fs'
import type { Log } from '../../../core/log.ts'
import { makeWaryClock } from '../../../core/wary-clock.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import { basesOf, isBefore } from './archive-files.ts'
import { BaseCopy, requireRoom } from './base-copy.ts'
import { dropOld } from './retention.ts'
import type { Run } from './run.ts'

/** After this time, or after `baseEveryMs` if that is shorter, a scheduled base that failed is tried again. */
const retryMsMax = 60_000
/** A base after the clock was set back bounds what is replayed from before that; a clock that is set all the time causes few. */
const setBackEveryMs = 3_600_000

export interface BasesOptions {
  dir: string
  /** A descriptor of the database file that is never closed. */
  databaseFile: number
  keepMs: number
  baseEveryMs: number
  /** How long after a start, and after a jump of the clock, nothing is removed. */
  holdMs: number
  now: () => number
  log: Log
}

/** When bases are made, and what becomes of old ones. At most one is being copied. */
export class Bases {
  readonly #options: BasesOptions
  readonly #state: ArchiveState
  /** Nothing is removed by a clock that may be wrong. */
  readonly #keptFrom: () => number
  readonly #removesFrom: number
  #copy: BaseCopy | undefined
  #retryAtMs = 0
  /** Until then, a clock that was set back causes no further base. */
  #setBackUntil = 0

  constructor(options: BasesOptions, state: ArchiveState) {
    this.#options = options
    this.#state = state
    this.#keptFrom = makeWaryClock(options.now, options.holdMs, options.log)
    this.#removesFrom = performance.now() + options.holdMs
  }

  get isCopying(): boolean {
    return this.#copy !== undefined
  }

  begin(run: Run): void {
    const { databaseFile, now } = this.#options
    const begun = { firstSegment: run.generationFirstSegment, startedAtMs: now() }
    this.#copy = new BaseCopy(run.dir, (basesOf(run.dir).at(-1) ?? 0) + 1, databaseFile, begun)
  }

  beginIfDue(run: Run): void {
    if (this.isCopying || run.base === undefined) return
    const { now, baseEveryMs } = this.#options
    const { end, startedAtMs } = run.base
    const isDue = isBefore(end, run.position) && now() - startedAtMs >= baseEveryMs
    const isSetBack = run.clock.wentBack && performance.now() >= this.#setBackUntil
    if ((!isDue && !isSetBack) || performance.now() < this.#retryAtMs) return
    run.clock.wentBack = false
    if (isSetBack) this.#setBackUntil = performance.now() + setBackEveryMs
    this.#orPostpone(run, () => {
      this.makeRoom()
      this.begin(run)
    })
  }

  /** Copies a part. `flush` archives everything that is committed. */
  step(run: Run, flush: () => void): void {
    const copy = this.#copy!
    if (this.#orPostpone(run, () => copy.step()) !== false) return
    // What a checkpoint has copied so far was archived before it. This is at least as far.
    flush()
    const base = this.#orPostpone(run, () => copy.finish(run.reach, this.#keptFrom()))
    if (base === undefined) return
    run.base = { ...base, number: copy.number }
    this.#copy = undefined
    this.#state.bases++
    this.#state.baseCause = null
    this.#options.log('info', 'a base of the archive is complete', { megabytes: megabytes(base.bytes) })
    this.#dropOld()
  }

  /** `isLost`: see BaseCopy. */
  giveUp(isLost = false): void {
    this.#copy?.giveUp(isLost)
    this.#copy = undefined
  }

  /** Throws if a base has no room, also without what is too old. */
  makeRoom(): void {
    const { dir, databaseFile } = this.#options
    this.#dropOld()
    requireRoom(dir, fstatSync(databaseFile).size)
  }

  /** Removing what is too old may fail, and is tried again with the next base. That is no reason for a gap. */
  #dropOld(): void {
    const { dir, keepMs, log } = this.#options
    const nowMs = this.#keptFrom()
    if (performance.now() < this.#removesFrom) return
    try {
      for (const path of dropOld(dir, nowMs - keepMs, nowMs)) rmSync(path, { recursive: true, force: true })
    } catch (error) {
      log('error', 'old files of the archive could not be removed', { cause: String(error) })
    }
  }

  /**
   * Undefined if the base fails. It is made later then: restores use the one before, and the commits since. Throws if there is
   * none before: without it, nothing can be restored from the run.
   */
  #orPostpone<T>(run: Run, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (run.base === undefined) throw error
      const { baseEveryMs, log } = this.#options
      this.giveUp()
      const cause = (error as Error).message
      const next =
        'Commits are archived as before, and the base is tried again. Until then a restore replays more of them.'
      if (this.#state.baseCause === null) log('error', 'a base of the archive could not be made', { cause, next })
      this.#state.baseCause = cause
      this.#retryAtMs = performance.now() + Math.min(baseEveryMs, retryMsMax)
      return undefined
    }
  }
}

const megabytes = (bytes: number): number => Math.round(bytes / 100_000) / 10
