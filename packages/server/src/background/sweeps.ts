import { sweepRowsMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { Maintenance } from '../store/maintenance.ts'
import { makeWaryClock } from './wary-clock.ts'

export interface SweepOptions {
  maintenance: Pick<Maintenance, 'sweepExpired' | 'purgeTables'>
  now(): number
  log: Log
  /** For how long a clock that leapt ahead is not believed. */
  leapHoldMs: number
  /** How often to look for work. */
  everyMs: number
}

export interface Background {
  stop(): Promise<void>
}

/** A step is followed by a rest of so many times its own length, so that writers keep most of the store. */
const restFactor = 3

/**
 * Removes for good what nobody can read any more: records past their ttl and tables past their recovery. Each
 * step is a small commit between those of the writers; what a stop or a crash interrupts goes on at the next start.
 */
export const startSweeps = ({ maintenance, now, log, leapHoldMs, everyMs }: SweepOptions): Background => {
  const waryNow = makeWaryClock(now, leapHoldMs, log)
  let stopped = false
  let wake: (() => void) | undefined
  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      wake = resolve
      setTimeout(resolve, ms)
    })

  const drain = async (step: () => Promise<number>): Promise<void> => {
    while (!stopped) {
      const started = performance.now()
      if ((await step()) === 0) return
      await rest(Math.ceil((performance.now() - started) * restFactor))
    }
  }

  const run = async (): Promise<void> => {
    while (!stopped) {
      try {
        await drain(() => maintenance.sweepExpired(waryNow(), sweepRowsMax))
        await drain(() => maintenance.purgeTables(waryNow(), sweepRowsMax))
      } catch (error) {
        if (!stopped) log('warn', 'sweep failed; it goes on later', { cause: String(error) })
      }
      if (!stopped) await rest(everyMs)
    }
  }

  const running = run()
  return {
    async stop() {
      stopped = true
      wake?.()
      await running
    },
  }
}
