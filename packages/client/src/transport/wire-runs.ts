// The JSON bodies of the requests and responses about the runs of tasks, as in wire.ts.

import type { RangeCondition, RangeOperator } from './wire.ts'

// ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────────

export type RunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'

/** The reason why the last failed attempt failed. */
export interface RunError {
  code: 'worker' | 'http_status' | 'timeout' | 'connection' | 'target_refused' | 'lease_expired'
  message: string
}

/** A run as public keys read it. */
export interface PublicRun<Result = Record<string, unknown>> {
  id: string
  task: string
  status: RunStatus
  /** The time at which it is due. */
  runAt: number
  /** The number of attempts that have begun. */
  attempt: number
  /** The progress that the holder of the lease reported last. */
  progress: Record<string, unknown> | null
  result: Result | null
  /** The error of the last failed attempt. A success keeps it. */
  error: RunError | null
  createdAt: number
  /** The run's version. */
  updatedAt: number
  finishedAt: number | null
}

/** A run as get and query return it: a public key reads neither `payload` nor `key` nor `user`. */
export interface RunView<Payload = Record<string, unknown>, Result = Record<string, unknown>>
  extends PublicRun<Result> {
  payload?: Payload
  key?: string | null
  user?: string | null
}

/** A run: the response to run, cancel, retry and finish, and with a secret key to get and query. */
export interface Run<Payload = Record<string, unknown>, Result = Record<string, unknown>> extends PublicRun<Result> {
  payload: Payload
  key: string | null
  /** The user whose token added it; null without one. */
  user: string | null
}

/** A run to add, without the operation and the task: `POST /v1/:db/_tasks/:task/run`. */
export interface RunRequest<Payload = Record<string, unknown>> {
  /** Default `{}`. */
  payload?: Payload
  /** Makes the call repeatable. Not with `key`. */
  id?: string
  /** At most one run of a key is queued, and at most one is running. It cannot be combined with `id`. */
  key?: string
  /** Epoch milliseconds or an ISO date-time. Not with `delaySeconds`. */
  runAt?: number | string
  delaySeconds?: number
}

/** `POST /v1/:db/_tasks/:task/query`: by `updatedAt`, newest first. */
export interface RunQuery {
  status?: RunStatus
  range?: RangeCondition<number | string, Exclude<RangeOperator, 'beginsWith'>>
  /** Default `data`. */
  select?: 'data' | 'count'
  /** 1 to 1,000; 100 when absent. With `select: "count"` 1 to 10,000; 10,000 when absent. */
  limit?: number
  ascending?: boolean
  cursor?: string | null
}

/** A page may be short, even empty, and still have a cursor. Only `cursor: null` means that it is the last page. */
export interface RunQueryResponse<Item = Run> {
  /** Empty with `select: "count"`. */
  items: Item[]
  /** The number of items; with `select: "count"` the number of runs that matched. */
  count: number
  cursor: string | null
}

// ── Attempts ─────────────────────────────────────────────────────────────────────────────────────────────────

/** `POST /v1/:db/_tasks/:task/claim`. */
export interface ClaimRequest {
  /** 1 to 100; default 1. */
  limit?: number
  /** 1 to 3,600; default as declared. */
  leaseSeconds?: number
  /** 0 to 20: the response waits so long for the first run. */
  waitSeconds?: number
}

/** A run with the lease of its attempt. */
export interface ClaimedRun<Payload = Record<string, unknown>, Result = Record<string, unknown>>
  extends Run<Payload, Result> {
  lease: string
  leaseUntil: number
}

export interface ClaimResponse<Item = ClaimedRun> {
  runs: Item[]
}

/** `POST /v1/:db/_tasks/:task/runs/:run/extend`. */
export interface ExtendRequest {
  lease: string
  /** 1 to 3,600; default as declared. */
  leaseSeconds?: number
  /** Progress, at most 4,096 bytes of JSON. */
  progress?: Record<string, unknown>
}

export interface ExtendResponse {
  leaseUntil: number
}

/** The attempt has succeeded. */
export interface SuccessRequest<Result = Record<string, unknown>> {
  lease: string
  result?: Result
}

/** The attempt has failed. */
export interface FailureRequest {
  lease: string
  error: { message: string }
  /** False: the run fails for good. */
  retry?: boolean
  /** Seconds; replaces the backoff. */
  retryAfter?: number
}

/** `POST /v1/:db/_tasks/:task/runs/:run/finish`. */
export type FinishRequest<Result = Record<string, unknown>> = SuccessRequest<Result> | FailureRequest

// ── In batches ───────────────────────────────────────────────────────────────────────────────────────────────

/** Adds a run. */
export interface RunOperation<Payload = Record<string, unknown>> extends RunRequest<Payload> {
  op: 'run'
  task: string
}

/** The attempt of a run has succeeded. */
export interface SuccessOperation<Result = Record<string, unknown>> extends SuccessRequest<Result> {
  op: 'finish'
  task: string
  run: string
}

/** The attempt of a run has failed. */
export interface FailureOperation extends FailureRequest {
  op: 'finish'
  task: string
  run: string
}

export type TaskOperation = RunOperation | SuccessOperation | FailureOperation

type OfTask<Operation> = Operation extends unknown ? Omit<Operation, 'task'> & { task?: string } : never

/** `POST /v1/:db/_tasks/:task/batch`: 1 to 25 operations, all or none. `task`: default that of the path. */
export interface TaskBatchRequest {
  operations: OfTask<TaskOperation>[]
}

export interface TaskBatchResponse {
  count: number
  /** The ids of the runs, one for each operation, in order. */
  runs: string[]
}
