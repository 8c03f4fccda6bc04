import { CubbyError } from '../../core/errors.ts'
import { isRunId } from '../../core/tasks/run-id.ts'
import type { BatchPart, BatchResult, TaskOperation } from '../../store/runs.ts'
import type { Table } from '../../store/tables.ts'
import type { Access, IdempotencyScope } from '../access.ts'
import { requireTask, requireTaskOrDeleted, signalFollowers } from '../lifecycle.ts'
import { writeOnce } from '../once.ts'
import { findDeletedWithRun, leaseLost, runNotFound } from './run-access.ts'
import type { TaskBatchOperation } from './task-operations.ts'

/** An operation and its place in the request. */
export interface Positioned<Operation> {
  position: number
  operation: Operation
}

/** Names a field of an operation: `operations[3].task`. */
const fieldOf = ({ position }: Positioned<unknown>, name: string): string => `operations[${position}].${name}`

/** A fault of one operation names its field. */
const within = async <T>(field: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw error instanceof CubbyError && error.code === 'task_not_found' ? error.within(field) : error
  }
}

const resolve = async (
  access: Access,
  db: string,
  positioned: Positioned<TaskBatchOperation>,
  nowMs: number,
): Promise<TaskOperation> => {
  const { operation } = positioned
  const address = { db, task: operation.task }
  const field = fieldOf(positioned, 'task')
  if (operation.op === 'run') {
    const task = await within(field, () => requireTask(access, address, nowMs))
    return { op: 'run', task, run: { ...operation.newRun, user: access.apiKey.user?.name ?? null } }
  }
  const task = await within(field, () => requireTaskOrDeleted(access, address, nowMs))
  const { run: id, finish } = operation
  if (!isRunId(id)) throw runNotFound({ ...address, run: id }, fieldOf(positioned, 'run'))
  return { op: 'finish', task, id, finish }
}

const resolveAll = async (
  access: Access,
  db: string,
  tasks: Positioned<TaskBatchOperation>[],
  nowMs: number,
): Promise<TaskOperation[]> => {
  const resolved: TaskOperation[] = []
  for (const positioned of tasks) resolved.push(await resolve(access, db, positioned, nowMs))
  return resolved
}

type Refusal = Extract<BatchResult, { refused: unknown }>

const refusalOf = (db: string, positioned: Positioned<TaskBatchOperation>, { refused }: Refusal): CubbyError => {
  const { operation } = positioned
  if (operation.op === 'run') {
    return new CubbyError(
      'run_exists',
      `The run "${operation.newRun.id}" exists with another payload; nothing was changed.`,
      { field: fieldOf(positioned, 'id'), hint: 'Use another id, or send the same payload.' },
    )
  }
  if (refused === 'lease_lost') return leaseLost(fieldOf(positioned, 'lease'))
  return runNotFound({ db, task: operation.task, run: operation.run }, fieldOf(positioned, 'run'))
}

/** A deleted task of the same name that has the run: its attempt may still finish. */
const elsewhere = async (
  access: Access,
  db: string,
  operation: TaskOperation,
  nowMs: number,
): Promise<Table | undefined> => {
  if (operation.op === 'run') return undefined
  const { task, id: run } = operation
  return findDeletedWithRun(access, { db, task: task.name, run }, task, nowMs)
}

/**
 * Writes records of tables, and adds and finishes runs of tasks of the database: all or nothing. A record whose condition
 * does not hold is in the result; `scope`: what an idempotency key belongs to; what is wrong with a run is thrown.
 */
export const applyOperations = async (
  access: Access,
  scope: IdempotencyScope,
  db: string,
  parts: BatchPart[],
  tasks: Positioned<TaskBatchOperation>[],
  nowMs: number,
): Promise<Exclude<BatchResult, Refusal>> => {
  // The request was applied before: its tasks may be gone.
  const { once } = access
  if (once?.kept !== undefined) {
    once.isReplayed = true
    return once.kept as Exclude<BatchResult, Refusal>
  }
  const resolved = await resolveAll(access, db, tasks, nowMs)
  const batch = { parts, tasks: resolved }
  const moved = new Set<number>()
  for (;;) {
    const result = await write(access, scope, db, batch, tasks, nowMs)
    if (!('refused' in result)) {
      if (result.applied) {
        for (const id of new Set(resolved.map(({ task }) => task.id))) access.tasks.signals.changed(id)
        for (const { table } of parts) signalFollowers(access, table)
      }
      return result
    }
    const failed = resolved[result.failedTask]!
    // An operation is moved at most once.
    const deleted = moved.has(result.failedTask) ? undefined : await elsewhere(access, db, failed, nowMs)
    if (deleted === undefined) throw refusalOf(db, tasks[result.failedTask]!, result)
    moved.add(result.failedTask)
    resolved[result.failedTask] = { ...failed, task: deleted }
  }
}

const write = async (
  access: Access,
  scope: IdempotencyScope,
  db: string,
  batch: Parameters<Access['engine']['runs']['applyBatch']>[1],
  tasks: Positioned<TaskBatchOperation>[],
  nowMs: number,
): Promise<BatchResult> => {
  try {
    return await writeOnce(access, scope, (caller) => access.engine.runs.applyBatch(caller, batch, nowMs))
  } catch (error) {
    // A task was deleted since: looked up again, the error names it.
    if (error instanceof CubbyError && error.code === 'task_not_found') await resolveAll(access, db, tasks, nowMs)
    throw error
  }
}
