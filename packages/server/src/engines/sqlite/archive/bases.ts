import { fstatSync, rmSync } from 'node:fs'
import { makeHoldingClock } from '../../../core/holding-clock.ts'
import type { Log } from '../../../core/log.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import {
  baseCopiesOf,
  basesOf,
  isBefore,
  pathsOf,
  pathsOfRun,
  readJson,
  runsOf,
  segmentPath,
  segmentsOf,
  shapes,
} from './archive-files.ts'
import { BaseCopy, requireRoom } from './base-copy.ts'
import type { Run } from './run.ts'

/** A scheduled base that failed is tried again after this time, or after `baseEveryMs` if that is shorter. */
const retryMsMax = 60_000
/**
 * A base that is made after the clock was set back limits the commits that a restore replays. This interval keeps a clock that
 * is set all the time from causing many.
 */
const setBackEveryMs = 3_600_000

export interface BasesOptions {
  dir: string
  /** A descriptor of the database file that is never closed. */
  databaseFile: number
  keepMs: number
  baseEveryMs: number
  /** Nothing is removed for this long after a start, and after a jump of the clock. */
  holdMs: number
  now: () => number
  log: Log
}

/** Decides when bases are made and which are removed. At most one is being copied. */
export class Bases {
  readonly #options: BasesOptions
  readonly #state: ArchiveState
  /** A clock that may be wrong removes nothing. */
  readonly #keptFrom: () => number
  readonly #removesFrom: number
  #copy: BaseCopy | undefined
  #retryAtMs = 0
  /** A clock that was set back causes no further base until then. */
  #setBackUntil = 0

  constructor(options: BasesOptions, state: ArchiveState) {
    this.#options = options
    this.#state = state
    this.#keptFrom = makeHoldingClock(options.now, options.holdMs, options.log)
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
    // Everything that a checkpoint has copied so far was archived before it. This flush archives at least as much.
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

  /** Removes what is too old. Throws if a base has no room even so. */
  makeRoom(): void {
    const { dir, databaseFile } = this.#options
    this.#dropOld()
    requireRoom(dir, fstatSync(databaseFile).size)
  }

  /** A failure to remove old files is no reason for a gap: it is tried again with the next base. */
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
   * Returns undefined if the base fails. It is made later then: restores use the one before, and the commits since. Throws if
   * there is none before: without it, nothing can be restored from the run.
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

/** A base, as the decision on old files needs it. */
interface KnownBase {
  run: number
  number: number
  firstSegment: number
  keptFromMs: number
}

/** A time that is this far ahead of the clock now was written while the clock was wrong. */
const aheadMsMax = 60_000

/**
 * The oldest base that is needed to restore every time from `sinceMs` on: the last one before the first base that is later than
 * that. Undefined if all are needed. `bases` are in order. A base that was made while the clock was behind counts as late as
 * the one before it; one that was made while the clock was ahead says nothing.
 */
export const oldestNeeded = (bases: readonly KnownBase[], sinceMs: number, nowMs: number): KnownBase | undefined => {
  const right = bases.filter(({ keptFromMs }) => keptFromMs <= nowMs + aheadMsMax)
  const later = right.findIndex(({ keptFromMs }) => keptFromMs > sinceMs)
  return later === -1 ? right.at(-1) : right[later - 1]
}

/** The paths that no restore to `sinceMs` or later needs. Descriptions of bases come before their copies. */
const dropOld = (dir: string, sinceMs: number, nowMs: number): string[] => {
  const runs = runsOf(dir).map((run) => ({ run, runDir: pathsOf(dir).run(run) }))
  const bases = runs.flatMap(({ run, runDir }) =>
    basesOf(runDir).flatMap((number): KnownBase[] => {
      try {
        const { firstSegment, keptFromMs } = readJson(pathsOfRun(runDir).baseInfo(number), shapes.base)!
        return [{ run, number, firstSegment, keptFromMs }]
      } catch {
        // The description is damaged: no restore can use its base, and it is removed with those that are older than the next
        // one.
        return []
      }
    }),
  )
  const oldest = oldestNeeded(bases, sinceMs, nowMs)
  if (oldest === undefined) return []
  const dropped: string[] = []
  for (const { run, runDir } of runs) {
    if (run < oldest.run) dropped.push(runDir)
    if (run !== oldest.run) continue
    const paths = pathsOfRun(runDir)
    for (const number of basesOf(runDir)) {
      if (number < oldest.number) dropped.push(paths.baseInfo(number))
    }
    for (const number of baseCopiesOf(runDir)) if (number < oldest.number) dropped.push(paths.base(number))
    for (const number of segmentsOf(runDir)) {
      if (number < oldest.firstSegment) dropped.push(segmentPath(runDir, number)!)
    }
  }
  return dropped
}
