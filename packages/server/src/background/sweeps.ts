import { sweepRowsMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { Maintenance } from '../store/maintenance.ts'
import { makeWaryClock } from './wary-clock.ts'

export interface SweepOptions {
  maintenance: Pick<Maintenance, 'sweepExpired' | 'purgeTables'>
  now(): number
  log: Log
  /** How long a clock that has jumped ahead is distrusted: see wary-clock.ts. */
  jumpHoldMs: number
  /** How often to look for work. */
  everyMs: number
}

export interface Background {
  stop(): Promise<void>
}

/** After each step the sweep rests this many times the step's duration, so that writers get most of the time. */
const restFactor = 3

/**
 * Removes for good what nobody can read any more: expired records, and deleted tables that can no longer be restored. Each
 * step is a small commit between those of the writers. A sweep that a stop or a crash interrupts continues at the next start.
 */
export const startSweeps = ({ maintenance, now, log, jumpHoldMs, everyMs }: SweepOptions): Background => {
  const waryNow = makeWaryClock(now, jumpHoldMs, log)
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
        if (!stopped) log('warn', 'sweep failed; it is retried later', { cause: String(error) })
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
