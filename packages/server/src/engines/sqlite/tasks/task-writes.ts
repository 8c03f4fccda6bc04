import { declareTask, deleteTask, restoreTask } from '../../../core/tasks/task-changes.ts'
import { addTaskSecret } from '../../../core/tasks/task-secret.ts'
import type { Condition } from '../../../store/records.ts'
import type { RestoreResult } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult, TaskState } from '../../../store/tasks.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import type { Connection } from '../connection.ts'
import type { Fence, OfTable, RegistryWrites, TableName } from '../registry/registry-writes.ts'
import { oldestRunAt, ParsedTasks, putTask, type TaskRow, taskColumns, taskValues } from './task-rows.ts'

const taskById = `SELECT ${taskColumns} FROM tasks WHERE table_id = ?1`

/** Changes tasks inside the transaction that is open on `db`. */
export class TaskWrites {
  readonly #db: Connection
  readonly #registry: RegistryWrites
  readonly #parsed = new ParsedTasks()

  constructor(db: Connection, registry: RegistryWrites) {
    this.#db = db
    this.#registry = registry
  }

  find(tableId: number): DumpedTask | undefined {
    const row = this.#db.prepare<TaskRow, [number]>(taskById).get(tableId)
    return row === null ? undefined : this.#parsed.toTask(row)
  }

  put(task: DumpedTask): void {
    this.#db.prepare<unknown, (string | number | null)[]>(putTask('INSERT OR REPLACE')).run(...taskValues(task))
  }

  /** The declaration, which may be long, is not written again. */
  setSchedule(tableId: number, nextRunAtMs: number | null, servedAtMs: number | null): void {
    this.#db
      .prepare<unknown, (number | null)[]>('UPDATE tasks SET next_run_at = ?2, served_at = ?3 WHERE table_id = ?1')
      .run(tableId, nextRunAtMs, servedAtMs)
  }

  #state(task: DumpedTask, nowMs: number): TaskState {
    const { declaration, updatedAtMs, nextRunAtMs, tableId } = task
    return { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: oldestRunAt(this.#db, tableId, nowMs) }
  }

  declare(
    name: TableName,
    declaration: DeclarationToStore,
    condition: Condition | undefined,
    nowMs: number,
  ): DeclareResult {
    const active = this.#registry.findActive(name)
    const declared = declareTask(active && this.find(active.id), declaration, condition, nowMs)
    if (!declared.applied) return declared
    const { table, created } = this.#registry.createTable(name, {}, null, nowMs)
    const task = { ...declared.task, tableId: table.id }
    this.put(task)
    const { secretStored } = declared
    return { applied: true, created, secretStored, task: table, state: this.#state(task, nowMs) }
  }

  addSecret(tableId: number, secret: string, revokesOld: boolean, nowMs: number): void {
    const task = this.find(tableId)!
    this.put({ ...task, secrets: addTaskSecret(task.secrets, secret, revokesOld, nowMs) })
  }

  delete(name: TableName, condition: Condition | undefined, nowMs: number): DeleteTaskResult | undefined {
    const active = this.#registry.findActive(name)
    if (active === undefined) return undefined
    const deleted = deleteTask(this.find(active.id)!, condition)
    if (!deleted.applied) return deleted
    const task = this.#registry.deleteTable(name, nowMs)!
    this.put(deleted.task)
    return { applied: true, task, state: this.#state(deleted.task, nowMs) }
  }

  restore(name: TableName, deletedAtMs: number | undefined, nowMs: number): RestoreResult {
    const result = this.#registry.restoreTable(name, deletedAtMs, nowMs)
    if (result.outcome === 'restored') this.put(restoreTask(this.find(result.table.id)!, nowMs))
    return result
  }
}

interface Writers {
  tasks: TaskWrites
}

export const taskCommands = {
  declareTask: (
    { tasks }: Writers,
    {
      table,
      declaration,
      condition,
      nowMs,
    }: OfTable & { declaration: DeclarationToStore; condition: Condition | undefined },
  ) => tasks.declare(table, declaration, condition, nowMs),
  deleteTask: ({ tasks }: Writers, { table, condition, nowMs }: OfTable & { condition: Condition | undefined }) =>
    tasks.delete(table, condition, nowMs),
  restoreTask: ({ tasks }: Writers, { table, deletedAtMs, nowMs }: OfTable & { deletedAtMs: number | undefined }) =>
    tasks.restore(table, deletedAtMs, nowMs),
  addTaskSecret: (
    { tasks }: Writers,
    { fence, secret, revokesOld, nowMs }: { fence: Fence; secret: string; revokesOld: boolean; nowMs: number },
  ) => tasks.addSecret(fence.tableId!, secret, revokesOld, nowMs),
}
