import { readFileSync } from 'node:fs'
import { CommandFailed } from '../cli/command.ts'
import { clockLeapHoldMs, lastUsedFlushMs } from '../core/limits.ts'

export interface Clock {
  now(): number
  /** Set by a test. */
  isMoved: boolean
  /** How often sweeps look for work and key uses are written: tests do not wait a minute. */
  sweepEveryMs: number
  /** For how long sweeps do not believe it when it leaps ahead: see wary-clock.ts. */
  leapHoldMs: number
  keyUseEveryMs: number
  /** The lease of a PostgreSQL store that is made now; undefined for the default. */
  leaseMs?: number
}

/**
 * The system's clock. Tests move it: CUBBY_TEST_CLOCK names a file that holds milliseconds to add. Outside of
 * tests that is refused, since whoever sets the clock decides what has expired.
 */
export const openClock = (env: Record<string, string | undefined>): Clock => {
  const { CUBBY_TEST_CLOCK: file, CUBBY_TEST_LEASE_MS: lease } = env
  if ((file ?? lease) !== undefined && env.NODE_ENV !== 'test') {
    throw new CommandFailed('CUBBY_TEST_CLOCK and CUBBY_TEST_LEASE_MS are for tests only: they need NODE_ENV=test')
  }
  const leaseMs = lease === undefined ? undefined : Number(lease)
  if (file === undefined) {
    const periods = { sweepEveryMs: 60_000, leapHoldMs: clockLeapHoldMs, keyUseEveryMs: lastUsedFlushMs }
    return { now: Date.now, isMoved: false, ...periods, leaseMs }
  }
  const offsetMs = (): number => {
    try {
      return Number(readFileSync(file, 'utf8')) || 0
    } catch {
      return 0
    }
  }
  const periods = { sweepEveryMs: 200, leapHoldMs: 0, keyUseEveryMs: 200 }
  return { now: () => Date.now() + offsetMs(), isMoved: true, ...periods, leaseMs }
}

/** The file of engines/sqlite/disk/fault-point.ts. Refused outside of tests like the clock. */
export const testFaults = (env: Record<string, string | undefined>): string | undefined => {
  const file = env.CUBBY_TEST_FAULTS
  if (file !== undefined && env.NODE_ENV !== 'test') {
    throw new CommandFailed('CUBBY_TEST_FAULTS is for tests only: it needs NODE_ENV=test')
  }
  return file
}
