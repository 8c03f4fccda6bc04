import type { Awaitable } from '../core/awaitable.ts'
import type { Declaration, NotKept } from '../core/tasks/declaration.ts'
import type { RunCounts } from '../core/tasks/run.ts'
import type { DeclarationToStore } from '../core/tasks/task-changes.ts'
import type { Caller } from './api-keys.ts'
import type { Condition } from './records.ts'
import type { RestoreResult, Table, TableListing } from './tables.ts'

/** The state of a task, apart from its name. It is read when it is needed, never cached. */
export interface TaskState {
  declaration: Declaration
  /** The version of the declaration. */
  updatedAtMs: number
  /** The next time of the schedule; null without one, and while the task is paused or deleted. */
  nextRunAtMs: number | null
  /**
   * `runAt` of the due run that waits longest, also of a run that is held back; null if none is due, undefined if that is not
   * known now.
   */
  oldestRunAtMs: number | null | undefined
  /**
   * The counts, if they were asked for. A finished run counts as kept by its version, which is in the index and at least
   * `finishedAtMs`.
   */
  counts?: RunCounts
}

export type { DeclarationToStore }

/** The table of `on` does not exist, or so many tasks follow it already. */
type NotFollowed = { applied: false; reason: 'table' } | { applied: false; reason: 'tooMany'; tasks: string[] }

export type DeclareResult =
  | {
      applied: true
      /** True if no active task had the name. */
      created: boolean
      /** True if `newSecret` was stored. */
      secretStored: boolean
      task: Table
      state: TaskState
    }
  | { applied: false; reason: 'condition'; current: number | undefined }
  /** `keepsAuthorization`, but it cannot be kept. */
  | { applied: false; reason: NotKept }
  | NotFollowed

export type DeleteTaskResult =
  | { applied: true; task: Table; state: TaskState }
  | { applied: false; current: number | undefined }

/**
 * Tasks are rows of the registry of the kind `task`, each with a declaration. Their names are apart from those of tables and
 * buckets. Conditions concern the declaration's version.
 *
 * Every applied write of a table adds the runs of the tasks that follow it in its own commit, by every way in, except for a
 * copy. Declaring, deleting and restoring a task resolve when every process acts accordingly.
 *
 * Times come from the database's clock where it has one: then `nowMs` is ignored here and in `Runs`.
 */
export interface Tasks {
  /** The active task with that name. Cached, as tables are. */
  find(orgId: number, db: string, name: string): Awaitable<Table | undefined>
  findDeleted(orgId: number, db: string, name: string, nowMs: number): Awaitable<Table | undefined>
  list(listing: TableListing): Awaitable<Table[]>
  listDeleted(listing: TableListing, nowMs: number): Awaitable<Table[]>
  /**
   * The states of these tasks, in this order; undefined for one that is gone. With `countedMax`, also the runs of each
   * status, counted up to that number from an index; without `counts` if the runs cannot be reached now.
   */
  read(tasks: Table[], nowMs: number, countedMax?: number): Awaitable<(TaskState | undefined)[]>
  /** Declares the task, or replaces the declaration of the active one. Its runs, secrets and createdAt stay. */
  declare(
    caller: Caller,
    db: string,
    name: string,
    declaration: DeclarationToStore,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<DeclareResult>
  /**
   * Adds a secret, which signs from now on. The one before signs too for `oldSecretMs`, unless `revokesOld`. Throws
   * `task_not_found` if the task was deleted.
   */
  addSecret(caller: Caller, task: Table, secret: string, revokesOld: boolean, nowMs: number): Promise<void>
  /** Soft-deletes the active task; undefined if there is none. Attempts that are running may go on. */
  delete(
    caller: Caller,
    db: string,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<DeleteTaskResult | undefined>
  /** Restores it as a table. Times of the schedule that have passed meanwhile are skipped. */
  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult>
}
