import { readFileSync } from 'node:fs'
import { clockJumpHoldMs, lastUsedFlushMs, sweepEveryMs, taskPollEveryMs } from '../core/limits.ts'
import { testVariable } from './test-environment.ts'

export interface Clock {
  now(): number
  /** The time between two sweeps, and between two writes of key uses: tests do not wait a minute. */
  sweepEveryMs: number
  keyUseEveryMs: number
  /** The time between two polls for runs, leases and schedules. */
  taskPollEveryMs: number
  /** The time for which sweeps distrust a clock that has jumped ahead: see holding-clock.ts. */
  jumpHoldMs: number
}

/** The system's clock. Tests move it: CUBBY_TEST_CLOCK names a file that holds milliseconds to add. */
export const openClock = (env: Record<string, string | undefined>): Clock => {
  const file = testVariable(env, 'CUBBY_TEST_CLOCK')
  if (file === undefined) {
    const keyUseEveryMs = lastUsedFlushMs
    return { now: Date.now, sweepEveryMs, keyUseEveryMs, taskPollEveryMs, jumpHoldMs: clockJumpHoldMs }
  }
  const offsetMs = (): number => {
    try {
      return Number(readFileSync(file, 'utf8')) || 0
    } catch {
      return 0
    }
  }
  const now = (): number => Date.now() + offsetMs()
  return { now, sweepEveryMs: 200, keyUseEveryMs: 200, taskPollEveryMs: 100, jumpHoldMs: 0 }
}
