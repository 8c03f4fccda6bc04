import { makeHoldingClock } from '../core/holding-clock.ts'
import { sweepRowsMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { Maintenance } from '../store/maintenance.ts'
import type { Runs } from '../store/runs.ts'
import { type Background, inBackground, type Job } from './paced-steps.ts'

/** Old changes per step. They are neighbours, so to remove so many takes about a millisecond. */
const changesMax = 1_000

export interface SweepOptions {
  maintenance: Pick<
    Maintenance,
    | 'sweepExpired'
    | 'sweepStepRows'
    | 'sweepChanges'
    | 'purgeTables'
    | 'purgeOrganizations'
    | 'sweepIdempotencyKeys'
    | 'sweepRevocations'
  >
  runs: Pick<Runs, 'sweepFinished'>
  now(): number
  log: Log
  /** The time for which a clock that has jumped ahead is distrusted: see holding-clock.ts. */
  jumpHoldMs: number
  /** The time between two polls for work. */
  everyMs: number
}

/**
 * Permanently removes data that can no longer be read or is no longer kept: expired records, old changes, finished runs,
 * idempotency keys, revocations of users, and deleted tables and organizations that can no longer be restored.
 * Each step is one small commit between the commits of writers. After a stop or a crash it continues at the next start.
 */
export const startSweeps = ({ maintenance, runs, now, log, jumpHoldMs, everyMs }: SweepOptions): Background => {
  const heldNow = makeHoldingClock(now, jumpHoldMs, log)

  const failed = (error: unknown): void => log('warn', 'sweep failed; it is retried later', { cause: String(error) })
  const jobs: Job[] = [
    { step: () => maintenance.sweepExpired(heldNow(), maintenance.sweepStepRows ?? sweepRowsMax), failed },
    { step: () => maintenance.sweepChanges(heldNow(), changesMax), failed },
    { step: () => runs.sweepFinished(heldNow(), sweepRowsMax), failed },
    { step: () => maintenance.sweepIdempotencyKeys(heldNow(), sweepRowsMax), failed },
    { step: () => maintenance.sweepRevocations(heldNow(), sweepRowsMax), failed },
    { step: () => maintenance.purgeTables(heldNow(), sweepRowsMax), failed },
    { step: () => maintenance.purgeOrganizations(heldNow(), sweepRowsMax), failed },
  ]

  return inBackground(async (steps) => {
    while (!steps.isStopped) {
      // One that has nothing left, or has failed, is asked again after this time, also if another never comes to an end.
      const { isMore } = await steps.drainInTurns(jobs, performance.now() + everyMs)
      if (!steps.isStopped && !isMore) await steps.rest(everyMs)
    }
  })
}
