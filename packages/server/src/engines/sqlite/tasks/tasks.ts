import type { Caller } from '../../../store/api-keys.ts'
import type { Condition } from '../../../store/records.ts'
import type { RestoreResult, Table } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult, TaskState, Tasks } from '../../../store/tasks.ts'
import type { OpenStore } from '../open-store.ts'
import { TableReads } from '../registry/tables.ts'
import { oldestRunAt, type TaskRow, taskColumns, toTask } from './task-rows.ts'

export class SqliteTasks extends TableReads implements Tasks {
  constructor(store: OpenStore) {
    super(store, 'task')
  }

  read(tasks: Table[], nowMs: number): (TaskState | undefined)[] {
    try {
      this.store.snapshot.renew()
      const find = this.store.db.prepare<TaskRow, [number]>(`SELECT ${taskColumns} FROM tasks WHERE table_id = ?1`)
      return tasks.map(({ id }) => {
        const row = find.get(id)
        if (row === null) return undefined
        const { declaration, updatedAtMs, nextRunAtMs } = toTask(row)
        return { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: oldestRunAt(this.store.db, id, nowMs) }
      })
    } catch (error) {
      throw this.store.damage.explain(error)
    }
  }

  declare(
    caller: Caller,
    db: string,
    name: string,
    declaration: DeclarationToStore,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<DeclareResult> {
    const named = this.named(caller, db, name, nowMs)
    const bytes = declaration.schedule?.payload.length ?? 0
    return this.store.channel.submit({ kind: 'declareTask', ...named, declaration, condition }, bytes)
  }

  addSecret(caller: Caller, task: Table, secret: string, revokesOld: boolean, nowMs: number): Promise<void> {
    const fence = this.store.fence(caller, task)
    return this.store.channel.submit({ kind: 'addTaskSecret', fence, secret, revokesOld, nowMs })
  }

  delete(
    caller: Caller,
    db: string,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<DeleteTaskResult | undefined> {
    return this.store.channel.submit({ kind: 'deleteTask', ...this.named(caller, db, name, nowMs), condition })
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return this.store.channel.submit({ kind: 'restoreTask', ...this.named(caller, db, name, nowMs), deletedAtMs })
  }
}
