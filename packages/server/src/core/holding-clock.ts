import type { Log } from './log.ts'

/** Routine clock corrections are smaller than this limit. */
const jumpMs = 60_000

/**
 * The clock for deleting expired data. When `now` jumps ahead of the time that has passed, the jump is ignored for `holdMs`:
 * if the clock was set wrong, it can be set back and nothing is lost. After that the new time is accepted, since a machine
 * that slept jumps too.
 */
export const makeHoldingClock = (now: () => number, holdMs: number, log: Log): (() => number) => {
  let acceptedMs = now()
  let acceptedAt = performance.now()
  let jumpedAt: number | undefined
  return () => {
    const at = performance.now()
    const nowMs = now()
    const expectedMs = Math.floor(acceptedMs + (at - acceptedAt))
    const aheadMs = nowMs - expectedMs
    if (aheadMs > jumpMs) {
      if (jumpedAt === undefined) {
        jumpedAt = at
        const seconds = Math.round(aheadMs / 1000)
        log('warn', 'the clock jumped ahead; sweeps ignore it for now', { seconds, holdSeconds: holdMs / 1000 })
      }
      if (at - jumpedAt < holdMs) return expectedMs
    }
    acceptedMs = nowMs
    acceptedAt = at
    jumpedAt = undefined
    return nowMs
  }
}
