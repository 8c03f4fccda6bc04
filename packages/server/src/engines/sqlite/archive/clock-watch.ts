import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

// A restore to a time is exact as long as the clock runs steadily. Its drift shows whether it does: the time that it shows less
// the time since the machine was started. A watch divides the time into stretches within which the clock was not set back at
// all, and not ahead by more than a minute. Commits belong to stretches by their drift: their order says nothing when a look of
// the archive comes between the beginning of a commit and its end.

export interface Reading {
  ms: number
  /** Undefined if it is not known: the time of another process's commit is that at which it is seen. */
  driftMs: number | undefined
}

/** Routine corrections of a clock are smaller. */
const aheadMsMax = 60_000
/** The drift is known less exactly than the time itself. */
const backMsMax = 2_000
/** At most this many stretches are kept. If there are more, those in the middle are forgotten. */
const stretchesMax = 8

/** The time since the start goes on while the machine sleeps, and is the same for all threads. It is known to the second. */
export const driftOf = (ms: number): number => Math.round(ms - uptime() * 1_000)

interface Stretch {
  fromMs: number
  /** The last look, and the beginning of the last commit. */
  seenMs: number
  commitMs: number
  /**
   * The later of the two times. A commit whose beginning is not known does not count: others may have begun before it was seen.
   */
  coveredMs: number
  driftMs: number | undefined
}

interface Seen {
  /** The time until which the stretch of the last commit was seen. */
  coveredMs: number
  /** The stretch that the clock is in now, if it is another one. */
  later: [fromMs: number, toMs: number] | null
}

export class ClockWatch {
  /** The first stretch is that of the last commit; the others have no commit yet. */
  #stretches: Stretch[] = []
  /** The clock was set back by more than routine; the reader of this sets it to false. */
  wentBack = false

  /**
   * Makes the watch after a start that continues a run. `driftMs` is that of the last look of the process before, if it is
   * known.
   */
  static resume({ coveredMs, later }: Seen, driftMs: number | undefined): ClockWatch {
    const watch = new ClockWatch()
    watch.#stretches.push(stretchOf(coveredMs, later === null ? driftMs : undefined))
    if (later !== null) watch.#stretches.push({ ...stretchOf(later[0], driftMs), seenMs: later[1] })
    return watch
  }

  /** Observes the clock. */
  observe({ ms, driftMs }: Reading): void {
    const now = this.#stretches.at(-1)
    const aheadMs = now === undefined ? 0 : stepOf(now, ms, driftMs)
    if (now !== undefined && aheadMs >= 0 && aheadMs <= aheadMsMax) {
      now.seenMs = ms
      now.coveredMs = Math.max(now.coveredMs, ms)
      now.driftMs = driftMs
      return
    }
    if (aheadMs < -aheadMsMax) this.wentBack = true
    this.#stretches.push(stretchOf(ms, driftMs))
    if (this.#stretches.length > stretchesMax) this.#stretches.splice(1, 1)
  }

  /**
   * Notes a commit that began then. If the clock was set since the commit before, returns the time until which it was seen
   * before that, and the first time after it.
   */
  commit({ ms, driftMs }: Reading): [endedMs: number, begunMs: number] | undefined {
    const known = this.#stretches[0]
    const found = this.#stretchFor(ms, driftMs)
    const isSame = known === undefined || found === known
    found.commitMs = ms
    if (driftMs !== undefined) found.coveredMs = Math.max(found.coveredMs, ms)
    found.fromMs = Math.min(found.fromMs, ms)
    found.driftMs ??= driftMs
    this.#stretches.splice(0, this.#stretches.indexOf(found))
    return isSame ? undefined : [Math.max(known.coveredMs, known.commitMs), found.fromMs]
  }

  get seen(): Seen {
    const [known, ...others] = this.#stretches
    const now = others.at(-1)
    return {
      coveredMs: known?.coveredMs ?? 0,
      later: now === undefined ? null : [now.fromMs, now.seenMs],
    }
  }

  #stretchFor(ms: number, driftMs: number | undefined): Stretch {
    const distance = (stretch: Stretch): number =>
      driftMs === undefined || stretch.driftMs === undefined ? 0 : Math.abs(driftMs - stretch.driftMs)
    // The later one of two equally near stretches is taken: another process has committed just before this look.
    const [nearest] = this.#stretches.toReversed().sort((a, b) => distance(a) - distance(b))
    if (nearest !== undefined && distance(nearest) <= aheadMsMax && ms >= nearest.commitMs) return nearest
    const begun = stretchOf(ms, driftMs)
    // The clock was set, and nobody has looked since.
    const at = nearest === undefined ? 0 : this.#stretches.indexOf(nearest) + 1
    this.#stretches.splice(at, 0, begun)
    return begun
  }
}

const stretchOf = (ms: number, driftMs: number | undefined): Stretch => ({
  ...{ fromMs: ms, seenMs: ms, commitMs: Number.NEGATIVE_INFINITY, coveredMs: ms, driftMs },
})

/** The difference by which the clock was set since the last look; 0 if it ran steadily. */
const stepOf = (last: Stretch, ms: number, driftMs: number | undefined): number => {
  if (ms < last.seenMs) return ms - last.seenMs
  if (last.driftMs === undefined || driftMs === undefined) return ms - last.seenMs
  const setMs = driftMs - last.driftMs
  return setMs < 0 && setMs > -backMsMax ? 0 : setMs
}

/**
 * The server's clock for threads, which cannot be given a function. Tests move it: `file` holds milliseconds to add, as
 * for the serving thread.
 */
export const threadClock = (file: string | undefined): (() => number) => {
  if (file === undefined) return Date.now
  return () => {
    try {
      return Date.now() + (Number(readFileSync(file, 'utf8')) || 0)
    } catch {
      return Date.now()
    }
  }
}
