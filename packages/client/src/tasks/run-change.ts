import type { BatchPart } from '../transport/batch.ts'
import type { FailureOperation, RunOperation, SuccessOperation } from '../transport/wire-runs.ts'

/** A time: epoch milliseconds, an ISO date-time or a `Date`. */
export type Time = number | string | Date

/** Adds a run in the same batch as records. With `id`, adding it twice adds one run. */
export interface AddRun extends Omit<RunOperation<object>, 'runAt'> {
  runAt?: Time
}

/** Finishes a run in the same batch as records. If the lease is lost, nothing of the batch is applied: `lease_lost`. */
export type FinishRun =
  | (SuccessOperation<object> & { error?: never; retry?: never; retryAfter?: never })
  | (FailureOperation & { result?: never })

/** A change that a batch may make to runs of tasks of the same database. */
export type RunChange = AddRun | FinishRun

type OfTask<Operation> = Operation extends unknown ? Omit<Operation, 'task'> & { task?: string } : never

/** `task` may be left out in a batch of a task. */
export type OwnRunChange = OfTask<RunChange>

export const isRunChange = (operation: { op: string }): operation is OwnRunChange =>
  operation.op === 'run' || operation.op === 'finish'

export const writeRunChange = (operation: OwnRunChange): BatchPart => ({
  json: JSON.stringify(operation),
  guarded: operation.op === 'finish',
  repeatable: operation.op === 'run' && operation.id !== undefined,
})
