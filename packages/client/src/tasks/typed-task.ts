// The types of a task. `Payload` is the type of the runs' payloads, `Result` that of their results.

import type { ReadData, SaveData } from '../records/typed-table.ts'
import type { RangeCondition, RangeOperator } from '../transport/wire.ts'
import type { ClaimedRun, Run, RunQuery, RunRequest } from '../transport/wire-runs.ts'
import type { Time } from './run-change.ts'

/** A run as it is read. With a public key it has no `payload` and no `key`. */
export type TaskRun<Payload, Result> = Run<ReadData<Payload>, ReadData<Result>>

export type FinishedRun<Payload, Result> = TaskRun<Payload, Result> & {
  status: 'succeeded' | 'failed' | 'cancelled'
  finishedAt: number
}

export type TaskClaim<Payload, Result> = ClaimedRun<ReadData<Payload>, ReadData<Result>>

/** The run of an attempt: what a claim returns, and what `verifyPush` returns. */
export interface RunLease {
  id: string
  lease: string
}

export interface RunOptions extends Omit<RunRequest, 'payload' | 'runAt'> {
  /** The run starts at this time or later. Not with `delaySeconds`. */
  runAt?: Time
}

/** The end of an attempt. */
export type Outcome<Result> =
  | { result?: SaveData<Result>; error?: never; retry?: never; retryAfter?: never }
  | {
      error: { message: string }
      /** False: the run fails for good. */
      retry?: boolean
      /** Seconds until the next attempt; replaces the backoff. */
      retryAfter?: number
      result?: never
    }

export interface TaskQuery extends Omit<RunQuery, 'range'> {
  /** A condition on `updatedAt`. */
  range?: RangeCondition<Time, Exclude<RangeOperator, 'beginsWith'>>
}
