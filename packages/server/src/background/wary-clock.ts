import type { Log } from '../core/log.ts'

/** Routine clock corrections are smaller than this. */
const leapMs = 60_000

/**
 * The clock for deleting expired data. When `now` jumps ahead of the time that has passed, the jump is ignored for `holdMs`:
 * if the clock was set wrong, it can be set back and nothing is lost. After that the new time is accepted, since a machine
 * that slept jumps too.
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
