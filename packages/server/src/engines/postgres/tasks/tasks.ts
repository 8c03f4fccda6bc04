import type { Caller } from '../../../store/api-keys.ts'
import type { Condition } from '../../../store/records.ts'
import type { RestoreResult, Table } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult, TaskState, Tasks } from '../../../store/tasks.ts'
import { bigintArray } from '../connection/arrays.ts'
import { type Database, organization } from '../connection/database.ts'
import type { Registry } from '../registry/registry.ts'
import { TableReads } from '../registry/tables-of-kind.ts'
import { oldestRun } from '../runs/statements.ts'
import { readClock, readTasks } from './statements.ts'
import { toTask } from './task-rows.ts'
import { stateOf, TaskWrites } from './task-writes.ts'

export interface TasksOptions {
  db: Database
  registry: Registry
  clock: (nowMs: number) => number | null
}

export class PostgresTasks extends TableReads implements Tasks {
  readonly #options: TasksOptions
  readonly #writes: TaskWrites

  constructor(options: TasksOptions) {
    super(options.registry, 'task')
    this.#options = options
    this.#writes = new TaskWrites(options.db, options.registry.writes, options.clock)
  }

  async read(tasks: Table[], nowMs: number): Promise<(TaskState | undefined)[]> {
    if (tasks.length === 0) return []
    const { db, clock } = this.#options
    const registry = [
      { statement: readClock, values: [clock(nowMs)] },
      { statement: readTasks, values: [bigintArray(tasks.map(({ id }) => id))] },
    ]
    const looks = tasks.map(({ id }) => ({ statement: oldestRun, values: [id] }))
    const [clockRows, found, ...oldest] = await db.readParts(organization(tasks[0]!.orgId), registry, looks)
    const now = Number(clockRows!.rows[0]![0])
    const stored = new Map(found!.rows.map((row) => [Number(row[0]), toTask(row)]))
    return tasks.map(({ id }, i) => {
      const task = stored.get(id)
      return task && stateOf(task, oldest[i]?.rows, now)
    })
  }

  declare(
    caller: Caller,
    db: string,
    name: string,
    declaration: DeclarationToStore,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<DeclareResult> {
    return this.#writes.declare(caller, db, name, declaration, condition, nowMs)
  }

  addSecret(caller: Caller, task: Table, secret: string, revokesOld: boolean, nowMs: number): Promise<void> {
    return this.#writes.addSecret(caller, task, secret, revokesOld, nowMs)
  }

  async delete(
    caller: Caller,
    db: string,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<DeleteTaskResult | undefined> {
    const result = await this.#writes.delete(caller, db, name, condition, nowMs)
    if (!result?.applied) return result
    this.registry.cache.moveTo(result.task.stamp)
    await this.registry.awaitLeaseExpiry()
    return result
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return this.#writes.restore(caller, db, name, deletedAtMs, nowMs)
  }
}
