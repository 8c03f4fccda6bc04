import type { Awaitable } from '../core/awaitable.ts'
import type { TimeScan } from '../core/records/scan.ts'
import type { Declaration } from '../core/tasks/declaration.ts'
import type { Finish, NewRun, Run, RunStatus } from '../core/tasks/run.ts'
import type { Extension, RunChange } from '../core/tasks/transitions.ts'
import type { Caller } from './api-keys.ts'
import type { CountPage, RecordOperation } from './records.ts'
import type { Table } from './tables.ts'

export type AddResult =
  /** `created: false`: the run with that id, or the queued run of that key, which has the new payload. */
  | { run: Run; created: boolean; isReplayed?: true }
  /** Another run has the id, with another payload. */
  | { refused: 'exists'; run: Run }

export interface ClaimOptions {
  /**
   * The largest number of runs. The payload is limited by `claimBytesMax`, but at least one run is returned if there is one.
   */
  limit: number
  /** Default: as declared. */
  leaseMs: number | undefined
}

export type { RunChange }

export interface RunPage {
  runs: Run[]
  /** The position of the last row that was read; undefined if the scan is complete. `id` is the run's seq. */
  next: { range: number; id: number } | undefined
}

/** A change of a run in a batch. `task` was looked up before; a finish may be for a deleted task. */
export type TaskOperation =
  | { op: 'run'; task: Table; run: NewRun }
  | { op: 'finish'; task: Table; id: string; finish: Finish }

/** The operations of a batch on the records of one table. */
export interface BatchPart {
  table: Table
  records: RecordOperation[]
}

/** Records of tables and runs of tasks of one database, written together or not at all. */
export interface Batch {
  /** No two parts are about the same table. */
  parts: BatchPart[]
  tasks: TaskOperation[]
}

/** One run after a batch. `created`: false for a finish, and for a run that was there already. */
export interface BatchedChange {
  status: RunStatus
  created: boolean
}

export const changeOf = (applied: { run: Run; created?: boolean }): BatchedChange => ({
  status: applied.run.status,
  created: applied.created === true,
})

export type BatchResult =
  /** `runIds`, `changes`: one for each of `tasks`, in order. */
  | { applied: true; runIds: string[]; changes: BatchedChange[]; isReplayed?: true }
  /** The condition of a record did not hold: `failedRecord` of `parts[failedPart]`. `current` is the version found. */
  | { applied: false; failedPart: number; failedRecord: number; current: number | undefined }
  /** A finish that was applied before is `lease_lost` too in a batch. */
  | { applied: false; failedTask: number; refused: 'exists' | 'missing' | 'lease_lost' }

export interface RunReference {
  taskId: number
  id: string
}

/** Runs of one task to push, each with a lease, and the declaration of the task at this moment. */
export interface Pushes {
  runs: Run[]
  declaration: Declaration
  /** The secrets that sign, newest first; one or two. */
  secrets: string[]
}

export interface DuePushes {
  /**
   * Active tasks with a `url`, not paused, with a due run: at most `duePushTasksMax`. Their organizations take turns, and the
   * tasks that wait longest come first.
   */
  tasks: Table[]
  /** The time at which the next run of any such task is due; undefined if none is queued, or if that is unknown. */
  nextAtMs: number | undefined
  /**
   * True if an organization has more tasks than one look reads. The next look continues with them, and reads those of the
   * others again.
   */
  isMore: boolean
}

export interface FiredSchedules {
  due: number
  created: RunReference[]
  /** The number of due schedules whose next time this process cannot tell, if any. They stay due, and create no runs. */
  unknown?: number
}

/**
 * The runs of tasks. `core/tasks/transitions.ts` has the rules; an engine applies them in a transaction. A finished run that
 * is no longer kept does not exist (`isKept`, with the present declaration). Methods that take a caller and a task throw
 * `task_not_found` if the task was deleted; `extend` and `finish` work on a deleted task too.
 */
export interface Runs {
  add(caller: Caller, task: Table, run: NewRun, nowMs: number): Promise<AddResult>
  get(task: Table, id: string, nowMs: number): Awaitable<Run | undefined>
  /**
   * Returns runs by updatedAt, then seq: at most `rowsMax`, and `pageBytesMax` bytes of payload, progress and result, at least
   * one.
   */
  scan(task: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): Awaitable<RunPage>
  count(
    task: Table,
    status: RunStatus | undefined,
    scan: TimeScan,
    rowsMax: number,
    nowMs: number,
  ): Awaitable<CountPage>
  /**
   * Starts due runs, each for one caller, by runAt, then seq. None is of a paused task, above the concurrency, or has a key
   * that is running. Throws `invalid_request` for a task with a `url`.
   */
  claim(caller: Caller, task: Table, options: ClaimOptions, nowMs: number): Promise<Run[]>
  /** `leaseMs`: default as declared. */
  extend(caller: Caller, task: Table, id: string, extension: Extension, nowMs: number): Promise<RunChange>
  /** A finish that is repeated with the lease of the last attempt returns the run as it is. */
  finish(caller: Caller, task: Table, id: string, finish: Finish, nowMs: number): Promise<RunChange>
  /** Returns the run as it is if it is cancelled already. */
  cancel(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange>
  retry(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange>
  /** Throws `table_not_found` or `task_not_found` if the table, or the task of a run, was deleted. */
  applyBatch(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult>

  // Waits use these.
  /** Returns those of the given runs that are finished, or gone. */
  finishedAmong(runs: RunReference[], nowMs: number): Awaitable<RunReference[]>
  /** Returns those of the given tasks that are not paused and have a due run which no key holds back. */
  dueAmong(taskIds: number[], nowMs: number): Awaitable<number[]>
  /** Returns those of the given tasks that were deleted, or whose organization was. */
  goneAmong(taskIds: number[]): Awaitable<number[]>

  // The dispatcher and the scheduler use these.
  /** `without`: organizations and tasks that may hold no more pushes now. They do not keep others off the list. */
  duePushes(nowMs: number, without?: { orgIds: number[]; taskIds: number[] }): Awaitable<DuePushes>
  /**
   * Does the same as `claim` for a task with a `url`. Returns no runs if it has none any more or is paused, undefined if it was
   * deleted.
   */
  claimPushes(task: Table, limit: number, nowMs: number): Promise<Pushes | undefined>
  /** Applies at most `rowsMax` expired leases. Returns the tasks concerned, one entry for each run; none if none is left. */
  expireLeases(nowMs: number, rowsMax: number): Promise<RunReference[]>
  /**
   * Creates the runs of at most `rowsMax` due schedules, and sets their next times. Returns the runs created and how many
   * schedules were due: `rowsMax` if some may be left.
   */
  fireSchedules(nowMs: number, rowsMax: number): Promise<FiredSchedules>
  /** Removes at most `rowsMax` finished runs that are no longer kept, after the grace period. Returns 0 if nothing is left. */
  sweepFinished(nowMs: number, rowsMax: number): Promise<number>
}
