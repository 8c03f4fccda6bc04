import type { Declaration } from '../../../core/tasks/declaration.ts'
import { declareTask, deleteTask, needsTable, restoreTask } from '../../../core/tasks/task-changes.ts'
import { addTaskSecret } from '../../../core/tasks/task-secret.ts'
import type { Condition } from '../../../store/records.ts'
import type { RestoreResult } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult, TaskState } from '../../../store/tasks.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import type { Connection } from '../connection.ts'
import type { Fence, OfTable, RegistryWrites, TableName } from '../registry/registry-writes.ts'
import type { FollowedWrites } from '../runs/followed-writes.ts'
import { fullFollowers, listFollowers } from './followers.ts'
import { oldestRunAt, ParsedTasks, putTask, type TaskRow, taskById, taskValues } from './task-rows.ts'

/** Changes tasks inside the transaction that is open on `db`. */
export class TaskWrites {
  readonly #db: Connection
  readonly #parsed = new ParsedTasks()

  constructor(db: Connection) {
    this.#db = db
  }

  find(tableId: number): DumpedTask | undefined {
    const row = this.#db.one<TaskRow>(taskById, tableId)
    return row && this.#parsed.toTask(row)
  }

  put(task: DumpedTask): void {
    this.#db.change(putTask('INSERT OR REPLACE'), ...taskValues(task))
  }

  /** Does not write the declaration again, which may be long. */
  setSchedule(tableId: number, nextRunAtMs: number | null, servedAtMs: number | null): void {
    const sql = 'UPDATE tasks SET next_run_at = ?2, served_at = ?3 WHERE table_id = ?1'
    this.#db.change(sql, tableId, nextRunAtMs, servedAtMs)
  }
}

const stateOf = (db: Connection, task: DumpedTask, nowMs: number): TaskState => {
  const { declaration, updatedAtMs, nextRunAtMs, tableId } = task
  return { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: oldestRunAt(db, tableId, nowMs) }
}

interface Writers {
  db: Connection
  registry: RegistryWrites
  followed: FollowedWrites
  tasks: TaskWrites
}

/** Lists the followers anew of the tables that the task followed before, and follows now. */
const follow = (writers: Writers, { orgId, db }: TableName, ...declarations: (Declaration | undefined)[]): void => {
  const names = declarations.flatMap((declaration) => declaration?.on?.table ?? [])
  for (const name of new Set(names)) listFollowers(writers, { orgId, db, name })
}

export const taskCommands = {
  declareTask(
    writers: Writers,
    command: OfTable & { declaration: DeclarationToStore; condition: Condition | undefined },
  ): DeclareResult {
    const { table: name, declaration, condition, nowMs } = command
    const { db, registry, tasks } = writers
    const active = registry.findActive(name)
    const present = active && tasks.find(active.id)
    const declared = declareTask(present, declaration, condition, nowMs)
    if (!declared.applied) return declared
    const { on } = declaration
    const mustExist = needsTable(present, declaration)
    if (mustExist && registry.findActive({ ...name, kind: 'table', name: on!.table }) === undefined)
      return { applied: false, reason: 'table' }
    const full = fullFollowers(writers, name, active?.id, on)
    if (full !== undefined) return { applied: false, reason: 'tooMany', tasks: full }
    const { table, created } = registry.createTable(name, {}, null, nowMs)
    const task = { ...declared.task, tableId: table.id }
    tasks.put(task)
    follow(writers, name, present?.declaration, task.declaration)
    const { secretStored } = declared
    return { applied: true, created, secretStored, task: table, state: stateOf(db, task, nowMs) }
  },

  deleteTask(
    writers: Writers,
    { table, condition, nowMs }: OfTable & { condition: Condition | undefined },
  ): DeleteTaskResult | undefined {
    const { db, registry, tasks } = writers
    const active = registry.findActive(table)
    if (active === undefined) return undefined
    const deleted = deleteTask(tasks.find(active.id)!, condition)
    if (!deleted.applied) return deleted
    const task = registry.deleteTable(table, nowMs)!
    tasks.put(deleted.task)
    follow(writers, table, deleted.task.declaration)
    return { applied: true, task, state: stateOf(db, deleted.task, nowMs) }
  },

  restoreTask(
    writers: Writers,
    { table, deletedAtMs, nowMs }: OfTable & { deletedAtMs: number | undefined },
  ): RestoreResult {
    const { registry, tasks } = writers
    const result = registry.restoreTable(table, deletedAtMs, nowMs, (id) => {
      const { on } = tasks.find(id)!.declaration
      const full = fullFollowers(writers, table, id, on)
      return full && { outcome: 'tooMany', table: on!.table, tasks: full }
    })
    if (result.outcome !== 'restored') return result
    const restored = restoreTask(tasks.find(result.table.id)!, nowMs)
    tasks.put(restored)
    follow(writers, table, restored.declaration)
    return result
  },

  addTaskSecret(
    { tasks }: Writers,
    { fence, secret, revokesOld, nowMs }: { fence: Fence; secret: string; revokesOld: boolean; nowMs: number },
  ): void {
    const task = tasks.find(fence.tableId!)!
    tasks.put({ ...task, secrets: addTaskSecret(task.secrets, secret, revokesOld, nowMs) })
  },
}
