import { whyNotKept } from '../../../core/tasks/declaration.ts'
import { scheduleAfterDeclaring } from '../../../core/tasks/next-run.ts'
import { addTaskSecret } from '../../../core/tasks/task-secret.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Condition } from '../../../store/records.ts'
import type { RestoreResult, Table } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult, TaskState } from '../../../store/tasks.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import { type Database, holderOf } from '../connection/database.ts'
import type { Row, Step } from '../connection/driver.ts'
import { holds } from '../records/record-writes.ts'
import { stateStep as guardStateStep, requireActive } from '../records/refusals.ts'
import * as registry from '../registry/registry-writes.ts'
import { toTable } from '../registry/rows.ts'
import { oldestRun } from '../runs/statements.ts'
import * as sql from './statements.ts'
import { taskValues, toTask } from './task-rows.ts'

const { step } = registry

/** A run is due if its time has come. Takes the row of `oldestRun`. */
export const oldestDue = ([row]: Row[], nowMs: number): number | null => {
  const oldest = row?.[0] == null ? Number.POSITIVE_INFINITY : Number(row[0])
  return oldest <= nowMs ? oldest : null
}

/** `oldest`: undefined while the runs of the task cannot be reached. */
export const stateOf = (task: DumpedTask, oldest: Row[] | undefined, nowMs: number): TaskState => {
  const { declaration, updatedAtMs, nextRunAtMs } = task
  return { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: oldest && oldestDue(oldest, nowMs) }
}

/** The active task of a name, and the time. */
interface Found {
  table: Table | undefined
  task: DumpedTask | undefined
  nowMs: number
}

/** Declares, deletes and restores tasks. Changes of one organization run one after another. */
export class TaskWrites {
  readonly #db: Database
  readonly #registry: registry.RegistryWrites
  readonly #clock: (nowMs: number) => number | null

  constructor(db: Database, writes: registry.RegistryWrites, clock: (nowMs: number) => number | null) {
    this.#db = db
    this.#registry = writes
    this.#clock = clock
  }

  /** The steps that find it, and what they found. */
  #finding(caller: Caller, db: string, name: string, nowMs: number): { steps: Step[]; read: (rows: Row[][]) => Found } {
    const place = [caller.orgId, db, 'task', name]
    const openings = registry.openings(caller)
    return {
      steps: [
        ...openings,
        step(registry.activeTable, ...place),
        step(sql.lockNamedTask, ...place),
        step(sql.readClock, this.#clock(nowMs)),
      ],
      read: (rows) => {
        const [active, locked, now] = rows.slice(openings.length) as [Row[], Row[], Row[]]
        return {
          table: active[0] && toTable(active[0]),
          task: locked[0] && toTask(locked[0]),
          nowMs: Number(now[0]![0]),
        }
      },
    }
  }

  declare(
    caller: Caller,
    db: string,
    name: string,
    { keepsAuthorization, newSecret, ...declared }: DeclarationToStore,
    condition: Condition | undefined,
    callersMs: number,
  ): Promise<DeclareResult> {
    const { steps, read } = this.#finding(caller, db, name, callersMs)
    const declaring = this.#db.transaction(holderOf(caller), async ({ send, commit }): Promise<DeclareResult> => {
      const { table, task: present, nowMs } = read((await send(...steps)).map(({ rows }) => rows))
      const current = present?.updatedAtMs
      if (condition !== undefined && !holds(condition, current)) return { applied: false, reason: 'condition', current }
      const notKept = keepsAuthorization ? whyNotKept(present?.declaration, declared.url) : undefined
      if (notKept !== undefined) return { applied: false, reason: notKept }
      const authorization = keepsAuthorization ? present!.declaration.authorization : declared.authorization
      const declaration = { ...declared, authorization }
      const secrets = present?.secrets ?? []
      const secretStored = declaration.url !== null && secrets.length === 0
      const task: Omit<DumpedTask, 'tableId'> = {
        declaration,
        updatedAtMs: current === undefined ? nowMs : Math.max(nowMs, current + 1),
        ...scheduleAfterDeclaring(declaration, present, nowMs),
        secrets: secretStored ? addTaskSecret([], newSecret, true, nowMs) : secrets,
      }
      let active = table
      if (active === undefined) {
        const place = [caller.orgId, db, 'task', name]
        const [, made] = await send(
          step(registry.insertTable, ...place, '{}', null, nowMs),
          step(registry.activeTable, ...place),
        )
        active = toTable(made!.rows[0]!)
      }
      const stored = { ...task, tableId: active.id }
      const write = present === undefined ? sql.insertTask : sql.updateTask
      const [, oldest] = await commit(step(write, ...taskValues(stored)), step(oldestRun, active.id))
      const state = stateOf(stored, oldest!.rows, nowMs)
      return { applied: true, created: table === undefined, secretStored, task: active, state }
    })
    return registry.refusingGone(this.#db, caller, declaring)
  }

  async addSecret(caller: Caller, task: Table, secret: string, revokesOld: boolean, callersMs: number): Promise<void> {
    await registry.refusingGone(
      this.#db,
      caller,
      this.#db.transaction(holderOf(caller), async ({ send, commit }) => {
        const results = await send(
          ...registry.openings(caller),
          step(sql.lockTask, task.id),
          guardStateStep(caller, task),
          step(sql.readClock, this.#clock(callersMs)),
        )
        const [locked, guard, now] = results.slice(-3).map(({ rows }) => rows[0]) as [Row | undefined, Row, Row]
        requireActive(task, guard)
        const present = toTask(locked!)
        const secrets = addTaskSecret(present.secrets, secret, revokesOld, Number(now[0]))
        await commit(step(sql.updateTask, ...taskValues({ ...present, secrets })))
      }),
    )
  }

  delete(
    caller: Caller,
    db: string,
    name: string,
    condition: Condition | undefined,
    callersMs: number,
  ): Promise<DeleteTaskResult | undefined> {
    const { steps, read } = this.#finding(caller, db, name, callersMs)
    const deleting = this.#db.transaction(
      holderOf(caller),
      async ({ send, commit }): Promise<DeleteTaskResult | undefined> => {
        const { table, task, nowMs } = read((await send(...steps)).map(({ rows }) => rows))
        if (table === undefined || task === undefined) return undefined
        if (condition !== undefined && !holds(condition, task.updatedAtMs))
          return { applied: false, current: task.updatedAtMs }
        const stopped = { ...task, nextRunAtMs: null }
        const place = [caller.orgId, db, 'task', name]
        const [, , oldest, deleted] = await commit(
          step(sql.updateTask, ...taskValues(stopped)),
          step(registry.moveEpochForTable, ...place),
          step(oldestRun, table.id),
          step(registry.markDeleted, ...place, nowMs),
        )
        const state = stateOf(stopped, oldest!.rows, nowMs)
        return { applied: true, task: toTable(deleted!.rows[0]!), state }
      },
    )
    return registry.refusingGone(this.#db, caller, deleting)
  }

  /** Times of the schedule that have passed meanwhile create no run: it has no next time, so the schedule begins again. */
  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    callersMs: number,
  ): Promise<RestoreResult> {
    return this.#registry.restoreTable(
      caller,
      { kind: 'task', db, name },
      deletedAtMs,
      callersMs,
      async (table, send) => {
        const [locked, now] = await send(step(sql.lockTask, table.id), step(sql.readClock, this.#clock(callersMs)))
        const row = locked!.rows[0]
        if (row === undefined) return []
        const task = toTask(row)
        const schedule = scheduleAfterDeclaring(task.declaration, task, Number(now!.rows[0]![0]))
        return [step(sql.updateTask, ...taskValues({ ...task, ...schedule }))]
      },
    )
  }
}
