import type { Log } from '../core/log.ts'

/** A clock is set right by less than that all the time. */
const leapMs = 60_000

/**
 * The time by which data is destroyed. When `now` leaps ahead of the time that has passed, it is not believed until it has
 * stayed there for `holdMs`: whoever set it wrong can set it back, and nothing is lost. After that it is taken as
 * right, since a machine that slept leaps too.
 */
export const makeWaryClock = (now: () => number, holdMs: number, log: Log): (() => number) => {
  let believedMs = now()
  let believedAt = performance.now()
  let leaptAt: number | undefined
  return () => {
    const at = performance.now()
    const nowMs = now()
    const expectedMs = Math.floor(believedMs + (at - believedAt))
    const aheadMs = nowMs - expectedMs
    if (aheadMs > leapMs) {
      if (leaptAt === undefined) {
        leaptAt = at
        const seconds = Math.round(aheadMs / 1000)
        log('warn', 'the clock leapt ahead; sweeps do not believe it yet', { seconds, holdSeconds: holdMs / 1000 })
      }
      if (at - leaptAt < holdMs) return expectedMs
    }
    believedMs = nowMs
    believedAt = at
    leaptAt = undefined
    return nowMs
  }
}
