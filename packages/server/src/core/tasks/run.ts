export type RunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'

export const runStatuses: readonly RunStatus[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled']

/** The number of runs of a task with each status. Each number is counted up to a limit. */
export type RunCounts = Record<RunStatus, number>

export type RunErrorCode = 'worker' | 'http_status' | 'timeout' | 'connection' | 'target_refused' | 'lease_expired'

/** The reason why the last failed attempt failed. */
export interface RunError {
  code: RunErrorCode
  message: string
}

/** A stored run. Texts are JSON as it was sent. */
export interface Run {
  /** Increases in creation order, over all tasks. */
  seq: number
  taskId: number
  id: string
  status: RunStatus
  key: string | null
  /** The user whose token added it; null without one. */
  user: string | null
  payload: string
  runAtMs: number
  /** The number of attempts that have begun. */
  attempt: number
  progress: string | null
  result: string | null
  error: RunError | null
  createdAtMs: number
  /** The version. */
  updatedAtMs: number
  finishedAtMs: number | null
  /** The lease of the attempt that is running. */
  lease: string | null
  leaseUntilMs: number | null
  /** The lease with which the last attempt was finished, so that a repeated finish is recognized. */
  doneLease: string | null
  /** Queued behind a running run of the same key. It is not handed out before that one has ended. */
  held: boolean
}

export const isFinished = ({ status }: Pick<Run, 'status'>): boolean => status !== 'queued' && status !== 'running'

/** A finished run is kept for so long; after that it no longer exists, whether or not the sweep has come. */
export const isKept = ({ finishedAtMs }: Pick<Run, 'finishedAtMs'>, keepSeconds: number, nowMs: number): boolean =>
  finishedAtMs === null || finishedAtMs + keepSeconds * 1000 > nowMs

/** A run to add. `id` is generated if the caller gave none: then `isNamed` is false. */
export interface NewRun {
  id: string
  /** True if the caller chose the id, so that the call can be repeated. */
  isNamed: boolean
  key: string | null
  /** The user whose token adds it; null or absent without one. */
  user?: string | null
  payload: string
  /** A delay counts from the moment of the commit, by the clock of the store. */
  at: { runAtMs: number } | { delayMs: number }
  /** The first member of the request beside the payload. */
  option?: string | undefined
}

/** The end that a holder gives its attempt. */
export type Finish = { lease: string } & (
  | { result: string | null }
  | {
      error: RunError
      /** False: the run fails for good. */
      retry: boolean
      /** Replaces the backoff. */
      retryAfterMs: number | null
    }
)
