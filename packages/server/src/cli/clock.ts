import { readFileSync } from 'node:fs'
import { lastUsedFlushMs } from '../core/limits.ts'
import { CommandFailed } from './command.ts'

export interface Clock {
  now(): number
  /** Set by a test. */
  isMoved: boolean
  /** How often sweeps look for work and key uses are written: tests do not wait a minute. */
  sweepEveryMs: number
  keyUseEveryMs: number
}

/**
 * The system's clock. Tests move it: CUBBY_TEST_CLOCK names a file that holds milliseconds to add. Outside of
 * tests that is refused, since whoever sets the clock decides what has expired.
 */
export const openClock = (env: Record<string, string | undefined>): Clock => {
  const file = env.CUBBY_TEST_CLOCK
  if (file === undefined) return { now: Date.now, isMoved: false, sweepEveryMs: 60_000, keyUseEveryMs: lastUsedFlushMs }
  if (env.NODE_ENV !== 'test') throw new CommandFailed('CUBBY_TEST_CLOCK is for tests only: it needs NODE_ENV=test')
  const offsetMs = (): number => {
    try {
      return Number(readFileSync(file, 'utf8')) || 0
    } catch {
      return 0
    }
  }
  return { now: () => Date.now() + offsetMs(), isMoved: true, sweepEveryMs: 200, keyUseEveryMs: 200 }
}
