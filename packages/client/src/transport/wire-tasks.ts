// The JSON bodies of the requests and responses about tasks, as in wire.ts.

import type { RunStatus } from './wire-runs.ts'

/** The times at which a task runs by itself. */
export type TaskSchedule<Payload = Record<string, unknown>> = (
  | {
      /** Seconds: at the multiples of them since 1970. */
      every: number
    }
  | {
      /** Minute, hour, day of month, month, day of week: `0 6 * * mon-fri`. */
      cron: string
      /** The IANA name of a time zone; default `UTC`. */
      timezone?: string
    }
) & {
  /** The payload of each run; default `{}`. */
  payload?: Payload
}

/** `PUT /v1/:db/_tasks/:task`. A declaration replaces the one before: what it leaves out has its default again. */
export interface DeclareTaskRequest<Payload = Record<string, unknown>> {
  /** The URL that runs are pushed to. Without it, workers claim them. */
  url?: string
  /** The header `authorization` of each push. `****` keeps the present one while the origin of `url` stays. */
  authorization?: string
  /** The time that an attempt may go without a sign of life; default 30. */
  leaseSeconds?: number
  /** Default 12. */
  attempts?: number
  /** The delay before the second attempt; it doubles with each further one. Default 5. */
  backoffSeconds?: number
  /** Runs at once. Default: 10 with `url`, unlimited without. */
  concurrency?: number
  /** Finished runs are kept for so long; default 604,800. */
  keepSeconds?: number
  /** True: nothing is handed out, pushed or scheduled. Default false. */
  paused?: boolean
  schedule?: TaskSchedule<Payload>
  /** The table whose writes add runs. */
  on?: FollowTable
}

/** A write of a followed table. A patch is a put; `expire` is the removal of an expired record. */
export type FollowedOp = 'put' | 'delete' | 'expire'

/** A table that a task follows: every applied write adds a run in its own commit. */
export interface FollowTable {
  table: string
  /** Default: all. */
  ops?: FollowedOp[]
}

/** The payload of a run that a write of a followed table has added: the newest write of the record. */
export type FollowedPayload = {
  db: string
  table: string
  hashKey: string
  /** Absent for a record without one. */
  rangeKey?: string
} & ({ op: 'put'; updatedAt: number } | { op: 'delete' | 'expire'; deletedAt: number })

/** A schedule as responses have it. */
export type ScheduleOfTask<Payload = Record<string, unknown>> = (
  | { every: number }
  | { cron: string; timezone: string }
) & {
  payload: Payload
  /** The next time of the schedule; null while the task is paused or deleted. */
  nextRunAt: number | null
}

/** The number of runs with each status: each counted up to 1,000, in a listing up to 100. */
export type RunCounts = Record<RunStatus, number>

export interface ActiveTask<Payload = Record<string, unknown>> {
  db: string
  task: string
  url: string | null
  /** `****` if there is one. */
  authorization: string | null
  leaseSeconds: number
  attempts: number
  backoffSeconds: number
  /** Null: unlimited. */
  concurrency: number | null
  keepSeconds: number
  paused: boolean
  schedule: ScheduleOfTask<Payload> | null
  /** Null: the task follows no table. */
  on: Required<FollowTable> | null
  /** The time since which the oldest due run has been waiting; null if none is due. */
  oldestRunAt: number | null
  /** Present with `counts: true`. */
  counts?: RunCounts
  status: 'active'
  createdAt: number
  /** The version of the declaration. */
  updatedAt: number
}

/** A soft-deleted task: its runs are kept until `recoverableUntil`. */
export interface DeletedTask<Payload = Record<string, unknown>> extends Omit<ActiveTask<Payload>, 'status'> {
  status: 'deleted'
  deletedAt: number
  recoverableUntil: number
}

/** A task, as describe, list, delete and restore return it. */
export type TaskMetadata = ActiveTask | DeletedTask

/** The response to a declaration. */
export interface DeclaredTask<Payload = Record<string, unknown>> extends ActiveTask<Payload> {
  /** `whsec_…`, the secret that signs pushes: only in the response that creates it. */
  secret?: string
}

/** `GET /v1/:db/_tasks`. */
export interface ListTasksResponse<T extends TaskMetadata = TaskMetadata> {
  tasks: T[]
  cursor: string | null
}

/** `POST /v1/:db/_tasks/:task/restore`. Without `deletedAt`: the task that was deleted last. */
export interface RestoreTaskRequest {
  deletedAt?: number
}

/** `POST /v1/:db/_tasks/:task/secret`. */
export interface CreateTaskSecretRequest {
  /** True: only the new secret signs from now on. Otherwise the one before signs along for 24 hours. */
  revokeOld?: boolean
}

export interface CreateTaskSecretResponse {
  /** `whsec_…`. It is not shown again. */
  secret: string
}
