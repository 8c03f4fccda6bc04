import { type RunCounts, runStatuses } from '../../../core/tasks/run.ts'
import { declareTask, deleteTask, needsTable, restoreTask } from '../../../core/tasks/task-changes.ts'
import { addTaskSecret } from '../../../core/tasks/task-secret.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Condition } from '../../../store/records.ts'
import type { RestoreResult, Table } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult, TaskState, Tasks } from '../../../store/tasks.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import { bigintArray } from '../connection/arrays.ts'
import { holderOf, organization } from '../connection/database.ts'
import { type BoundStatement, bind, type Row } from '../connection/driver.ts'
import { stateStatement as guardStatement, requireActive } from '../records/write-guard.ts'
import { openings, type Registry, refusingGone } from '../registry/registry.ts'
import { toTable } from '../registry/rows.ts'
import {
  activeTable,
  insertTable,
  markDeleted,
  moveEpoch,
  moveEpochForTable,
  restoreTable,
  TableReads,
} from '../registry/tables.ts'
import { countByStatus, oldestRun } from '../runs/statements.ts'
import { planFollowing } from './followers.ts'
import * as sql from './statements.ts'
import { taskValues, toTask } from './task-rows.ts'

/**
 * `oldest` is the row of `oldestRun`, or undefined while the runs of the task cannot be reached. A run is due if its time has
 * come.
 */
const stateOf = (task: DumpedTask, oldest: Row[] | undefined, nowMs: number): TaskState => {
  const { declaration, updatedAtMs, nextRunAtMs } = task
  const at = oldest?.[0]?.[0] == null ? Number.POSITIVE_INFINITY : Number(oldest[0][0])
  return { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: oldest && (at <= nowMs ? at : null) }
}

/** The active task with a name, and the time. */
interface Found {
  table: Table | undefined
  task: DumpedTask | undefined
  nowMs: number
}

/** Changes of one organization run one after another. */
export class PostgresTasks extends TableReads implements Tasks {
  readonly #clock: (nowMs: number) => number | null

  constructor(registry: Registry, clock: (nowMs: number) => number | null) {
    super(registry, 'task')
    this.#clock = clock
  }

  async read(tasks: Table[], nowMs: number, countedMax?: number): Promise<(TaskState | undefined)[]> {
    if (tasks.length === 0) return []
    const found = [bind(sql.readClock, this.#clock(nowMs)), bind(sql.readTasks, bigintArray(tasks.map(({ id }) => id)))]
    const lookups = tasks.map(({ id }) => bind(oldestRun, id))
    const holder = organization(tasks[0]!.orgId)
    const [clockRows, taskRows, ...oldest] = await this.registry.db.readParts(holder, found, lookups)
    const now = Number(clockRows!.rows[0]![0])
    const stored = new Map(taskRows!.rows.map((row) => [Number(row[0]), toTask(row)]))
    const states = tasks.map(({ id }, i) => {
      const task = stored.get(id)
      return task && stateOf(task, oldest[i]?.rows, now)
    })
    return countedMax === undefined ? states : this.#withCounts(tasks, states, now, countedMax)
  }

  /** A round trip of its own, because the declarations say how long finished runs are kept. */
  async #withCounts(
    tasks: Table[],
    states: (TaskState | undefined)[],
    nowMs: number,
    countedMax: number,
  ): Promise<(TaskState | undefined)[]> {
    const bound = tasks.map(({ id }, i) =>
      bind(countByStatus, id, nowMs - 1000 * (states[i]?.declaration.keepSeconds ?? 0), countedMax),
    )
    const counted = await this.registry.db.readParts(organization(tasks[0]!.orgId), [], bound)
    return states.map((state, i) => {
      const row = counted[i]?.rows[0]
      if (state === undefined || row === undefined) return state
      const counts = Object.fromEntries(runStatuses.map((status, at) => [status, Number(row[at])])) as RunCounts
      return { ...state, counts }
    })
  }

  /** Returns the steps that find a task by its name, and a function that reads their results. */
  #finding(
    caller: Caller,
    db: string,
    name: string,
    nowMs: number,
  ): { bound: BoundStatement[]; read: (rows: Row[][]) => Found } {
    const nameValues = this.nameValues(caller.orgId, db, name)
    const opening = openings(caller)
    return {
      bound: [
        ...opening,
        bind(activeTable, ...nameValues),
        bind(sql.lockNamedTask, ...nameValues),
        bind(sql.readClock, this.#clock(nowMs)),
      ],
      read: (rows) => {
        const [active, locked, now] = rows.slice(opening.length) as [Row[], Row[], Row[]]
        return {
          table: active[0] && toTable(active[0]),
          task: locked[0] && toTask(locked[0]),
          nowMs: Number(now[0]![0]),
        }
      },
    }
  }

  async declare(
    caller: Caller,
    db: string,
    name: string,
    declaration: DeclarationToStore,
    condition: Condition | undefined,
    callersMs: number,
  ): Promise<DeclareResult> {
    const { bound, read } = this.#finding(caller, db, name, callersMs)
    const { orgId } = caller
    let listsChange = false
    const run = this.registry.db.transaction(holderOf(caller), async ({ send, commit }): Promise<DeclareResult> => {
      const { table, task: present, nowMs } = read((await send(...bound)).map(({ rows }) => rows))
      const declared = declareTask(present, declaration, condition, nowMs)
      if (!declared.applied) return declared
      const before = present?.declaration.on ?? null
      const following = await planFollowing(send, { orgId, db }, present?.tableId, before, declaration.on)
      if (following.isMissing && needsTable(present, declaration)) return { applied: false, reason: 'table' }
      if (following.full !== undefined) return { applied: false, reason: 'tooMany', tasks: following.full }
      let active = table
      if (active === undefined) {
        const nameValues = this.nameValues(caller.orgId, db, name)
        const [, made] = await send(
          bind(insertTable, ...nameValues, '{}', null, nowMs),
          bind(activeTable, ...nameValues),
        )
        active = toTable(made!.rows[0]!)
      }
      const task = { ...declared.task, tableId: active.id }
      const write = present === undefined ? sql.insertTask : sql.updateTask
      const lists = following.statementsFor(active)
      listsChange = lists.length > 0
      const [, oldest] = await commit(
        bind(write, ...taskValues(task)),
        bind(oldestRun, active.id),
        ...lists,
        ...(listsChange ? [bind(moveEpoch)] : []),
      )
      const { secretStored } = declared
      const state = stateOf(task, oldest!.rows, nowMs)
      return { applied: true, created: table === undefined, secretStored, task: active, state }
    })
    const result = await refusingGone(this.registry.db, caller, run)
    if (listsChange) await this.#everywhere()
    return result
  }

  /** Resolves when every process knows who follows a table. */
  async #everywhere(): Promise<void> {
    this.registry.cache.forgetLease()
    await this.registry.awaitLeaseExpiry()
  }

  async addSecret(caller: Caller, task: Table, secret: string, revokesOld: boolean, callersMs: number): Promise<void> {
    const { db } = this.registry
    const adding = db.transaction(holderOf(caller), async ({ send, commit }) => {
      const results = await send(
        ...openings(caller),
        bind(sql.lockTask, task.id),
        guardStatement(caller, task),
        bind(sql.readClock, this.#clock(callersMs)),
      )
      const [locked, guard, now] = results.slice(-3).map(({ rows }) => rows[0]) as [Row | undefined, Row, Row]
      requireActive(task, guard)
      const present = toTask(locked!)
      const secrets = addTaskSecret(present.secrets, secret, revokesOld, Number(now[0]))
      await commit(bind(sql.updateTask, ...taskValues({ ...present, secrets })))
    })
    await refusingGone(db, caller, adding)
  }

  async delete(
    caller: Caller,
    db: string,
    name: string,
    condition: Condition | undefined,
    callersMs: number,
  ): Promise<DeleteTaskResult | undefined> {
    const { bound, read } = this.#finding(caller, db, name, callersMs)
    const run = this.registry.db.transaction(
      holderOf(caller),
      async ({ send, commit }): Promise<DeleteTaskResult | undefined> => {
        const { table, task: present, nowMs } = read((await send(...bound)).map(({ rows }) => rows))
        if (table === undefined || present === undefined) return undefined
        const deleted = deleteTask(present, condition)
        if (!deleted.applied) return deleted
        const nameValues = this.nameValues(caller.orgId, db, name)
        const following = await planFollowing(send, table, table.id, present.declaration.on, null)
        const lists = following.statementsFor(table)
        const written = await commit(
          ...lists,
          bind(moveEpochForTable, ...nameValues),
          bind(markDeleted, ...nameValues, nowMs),
          bind(oldestRun, table.id),
          bind(sql.updateTask, ...taskValues(deleted.task)),
        )
        const [, marked, oldest] = written.slice(lists.length)
        const state = stateOf(deleted.task, oldest!.rows, nowMs)
        return { applied: true, task: toTable(marked!.rows[0]!), state }
      },
    )
    const result = await refusingGone(this.registry.db, caller, run)
    if (!result?.applied) return result
    this.registry.cache.moveTo(result.task.epoch)
    await this.registry.awaitLeaseExpiry()
    return result
  }

  async restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    callersMs: number,
  ): Promise<RestoreResult> {
    const nameValues = this.nameValues(caller.orgId, db, name)
    let listsChange = false
    const restored = await restoreTable(
      this.registry.db,
      caller,
      nameValues,
      deletedAtMs,
      callersMs,
      async (table, send) => {
        const [locked, now] = await send(bind(sql.lockTask, table.id), bind(sql.readClock, this.#clock(callersMs)))
        const [row] = locked!.rows
        if (row === undefined) return []
        const task = restoreTask(toTask(row), Number(now!.rows[0]![0]))
        const { on } = task.declaration
        const { full, statementsFor } = await planFollowing(send, table, table.id, null, on)
        if (full !== undefined) return { outcome: 'tooMany', table: on!.table, tasks: full }
        const lists = statementsFor(table)
        listsChange = lists.length > 0
        return [bind(sql.updateTask, ...taskValues(task)), ...lists, ...(listsChange ? [bind(moveEpoch)] : [])]
      },
    )
    if (listsChange) await this.#everywhere()
    return restored
  }
}
