import { leaseSecondsMax, sweepGraceMs } from '../../../core/limits.ts'
import { type Due, type DueOrganization, type DueQueries, DueTurns } from '../../../core/tasks/due-turns.ts'
import type { Run } from '../../../core/tasks/run.ts'
import { newRunId } from '../../../core/tasks/run-id.ts'
import { clockErrorMs, nextIfKnown, scheduleKey } from '../../../core/tasks/schedule.ts'
import { createRun, expireAttempt, wakeRun } from '../../../core/tasks/transitions.ts'
import type { FiredSchedules, RunReference } from '../../../store/runs.ts'
import { bigintArray, bytesArray, textArray } from '../connection/arrays.ts'
import { fromHex, toBytes } from '../connection/bytes.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { type BoundStatement, bind, type Row, type Statement, type Value } from '../connection/driver.ts'
import { Postponed } from '../connection/lost-part.ts'
import { drawIds } from '../records/statements.ts'
import * as tasks from '../tasks/statements.ts'
import { taskColumnCount, toTask } from '../tasks/task-rows.ts'
import { insertStatements, keyLocks, replaceStatements } from './run-changes.ts'
import { toRun } from './run-rows.ts'
import { changeLockedRuns, type LockedTask, retryDuplicates, stateStatement } from './run-transaction.ts'
import * as sql from './statements.ts'
import { TaskTurns } from './task-turns.ts'

// Leases expire, schedules become due and finished runs are removed. Every process on the store does this work, and skips rows
// that another process has locked.

/** A lease is never this far ahead, unless the clock was set back after it was given. */
const leaseMsMax = leaseSecondsMax * 1000

/** A look asks at most this many organizations. Without walks each of them is a round trip. */
const organizationsMax = 500
const organizationsMaxWithoutWalks = 20

interface DueRow extends Due {
  row: Row
}

interface DueStatements {
  /** $1 the time of a test, $2 rows at most. Each statement for schedules has one more value, the last: without these tasks. */
  first: Statement
  /** $3 organization. */
  firstOf: Statement
  /** $3 after this organization. It is undefined where no statement may walk through runs. */
  organizations: Statement | undefined
}

const scheduleStatements: DueStatements = {
  ...{ first: tasks.dueSchedules, firstOf: tasks.dueSchedulesOf, organizations: tasks.scheduledOrganizations },
}
const leaseStatements: DueStatements = {
  ...{ first: sql.findExpired, firstOf: sql.findExpiredOf, organizations: sql.leasedOrganizations },
}

const queriesWith = (
  db: Database,
  at: number | null,
  statements: DueStatements,
  without: Value[] = [],
): DueQueries<DueRow> => {
  const { first, firstOf, organizations } = statements
  const toOrganization = ([id, isDue]: Row): DueOrganization => ({ id: Number(id), isDue: isDue === 't' })
  return {
    organizationsMax: organizations === undefined ? organizationsMaxWithoutWalks : organizationsMax,
    async first(rowsMax) {
      const [found] = await db.read(noOrg, bind(first, at, rowsMax, ...without))
      return found!.rows.map(toDue)
    },
    async organizations(afterId, rowsMax) {
      if (organizations !== undefined) {
        const [found] = await db.read(noOrg, bind(organizations, at, rowsMax, afterId))
        return found!.rows.map(toOrganization)
      }
      const all: DueOrganization[] = []
      while (all.length < rowsMax) {
        const [found] = await db.read(noOrg, bind(sql.nextLeased, at, all.at(-1)?.id ?? afterId))
        if (found!.rows.length === 0) break
        all.push(toOrganization(found!.rows[0]!))
      }
      return all
    },
    async firstOf(orgIds, rowsMax) {
      const found = await db.read(noOrg, ...orgIds.map((orgId) => bind(firstOf, at, rowsMax, orgId, ...without)))
      return found.flatMap(({ rows }) => rows.map(toDue))
    },
  }
}

/** Rows begin with their task, and end with their organization; those of runs have the id of the run second. */
const toDue = (row: Row): DueRow => ({ id: row.slice(0, -1).join('/'), orgId: Number(row.at(-1)), bytes: 0, row })

// ── Leases ─────────────────────────────────────────────────────────────────────────────────────────────────

/** While a server cannot be reached, a look asks at most this many tasks. */
export const tasksAskedMax = 200

/** Finds expired leases and ends their attempts. */
export class LeasePolls {
  readonly #db: Database
  readonly #walks: boolean
  readonly #dueTurns = new DueTurns()
  readonly #taskTurns = new TaskTurns()

  /** `walks`: a statement may walk through the runs of all tasks. */
  constructor(db: Database, walks: boolean) {
    this.#db = db
    this.#walks = walks
  }

  async expire(at: number | null, rowsMax: number): Promise<RunReference[]> {
    const references: RunReference[] = []
    const rows = await this.#find(at, rowsMax)
    for (const [taskId, ofTask] of Map.groupBy(rows, ([id]) => Number(id))) {
      references.push(...((await this.#db.reach(() => expireOfTask(this.#db, taskId, ofTask, at))) ?? []))
    }
    return references
  }

  async #find(at: number | null, rowsMax: number): Promise<Row[]> {
    try {
      const statements = this.#walks ? leaseStatements : { ...leaseStatements, organizations: undefined }
      const [{ chosen }, [ahead]] = await Promise.all([
        this.#dueTurns.choose(queriesWith(this.#db, at, statements), rowsMax),
        this.#db.read(noOrg, bind(sql.findAhead, at, rowsMax, leaseMsMax)),
      ])
      this.#db.lostPart.found()
      return [...chosen.map(({ row }) => row), ...ahead!.rows]
    } catch (error) {
      return this.#findByTask(at, rowsMax, error)
    }
  }

  async #findByTask(at: number | null, rowsMax: number, error: unknown): Promise<Row[]> {
    const [all] = await this.#db.read(noOrg, bind(tasks.everyTask))
    this.#db.requirePart(error)
    const asked = this.#taskTurns.next(
      all!.rows.map(([id, orgId]) => ({ id: Number(id), orgId: Number(orgId) })),
      tasksAskedMax,
    )
    const lookups = asked.map(({ id }) => bind(sql.findExpiredOfTask, at, rowsMax, leaseMsMax, id))
    const found = await this.#db.readEach(noOrg, lookups)
    return found.flatMap((result) => result?.rows ?? []).slice(0, rowsMax)
  }
}

const expireOfTask = (db: Database, taskId: number, rows: Row[], at: number | null): Promise<RunReference[]> => {
  const ids = textArray(rows.map(([, id]) => id!))
  const keys = bytesArray(rows.flatMap(([, , key]) => (key == null ? [] : [fromHex(key)])))
  return changeLockedRuns(db, {
    holder: noOrg,
    locks: [bind(sql.lockRunning, taskId, ids), bind(sql.lockQueuedKeys, taskId, keys)],
    state: stateStatement(taskId, undefined, at),
    decide: ([running, queued], task) => {
      const queuedKeys = new Set(queued!.map(([key]) => fromHex(key!)))
      const writes: BoundStatement[] = []
      const ended: RunReference[] = []
      for (const run of running!.map(toRun)) {
        const changed = task === undefined ? failStray(run) : leaseChange(run, task, queuedKeys)
        if (changed === undefined) continue
        writes.push(...replaceStatements(run, changed))
        if (changed.status !== 'running') ended.push({ taskId, id: run.id })
      }
      return { outcome: ended, writes }
    },
  })
}

/** Returns undefined if the lease has not expired: it may have been extended since it was found. */
export const leaseChange = (run: Run, { declaration, nowMs }: LockedTask, queuedKeys: Set<string>): Run | undefined => {
  if (run.leaseUntilMs! <= nowMs) {
    return expireAttempt(run, declaration, run.key !== null && queuedKeys.has(run.key), Math.random(), nowMs)
  }
  if (run.leaseUntilMs! <= nowMs + leaseMsMax) return undefined
  return { ...run, leaseUntilMs: nowMs + declaration.leaseSeconds * 1000 }
}

/** A run without a task is damage, which verify reports. It is failed, so that it does not come back in every step. */
const failStray = (run: Run): Run => ({
  ...run,
  ...{ status: 'failed', finishedAtMs: run.updatedAtMs, lease: null, leaseUntilMs: null },
})

/**
 * Wakes runs after the clock was set back (see `wakeRun`), and returns whether there were any. It is not called where no
 * statement may name both runs and tasks.
 */
export const wakeRuns = async (db: Database, at: number | null, rowsMax: number): Promise<boolean> => {
  const [found] = await db.read(noOrg, bind(sql.findFromAhead, at, rowsMax, clockErrorMs, toBytes(scheduleKey)))
  for (const [taskId, rows] of Map.groupBy(found!.rows, ([id]) => Number(id))) {
    await changeLockedRuns(db, {
      holder: noOrg,
      locks: rows.map(([, id]) => bind(sql.lockRun, taskId, id!)),
      state: stateStatement(taskId, undefined, at),
      decide: (locked, task) => {
        const runs = locked.flatMap(([row]) => (row === undefined ? [] : [toRun(row)]))
        const writes = runs.flatMap((run) => {
          const woken = task && wakeRun(run, task.nowMs)
          return woken === undefined ? [] : replaceStatements(run, woken)
        })
        return { outcome: undefined, writes }
      },
    })
  }
  return found!.rows.length > 0
}

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────

/** Creates the runs of schedules that are due. */
export class SchedulePolls {
  readonly #db: Database
  readonly #turns = new DueTurns()
  readonly #postponed = new Postponed()

  constructor(db: Database) {
    this.#db = db
  }

  async fire(at: number | null, rowsMax: number): Promise<FiredSchedules> {
    const db = this.#db
    const [{ chosen }, [ahead]] = await Promise.all([
      this.#turns.choose(queriesWith(db, at, scheduleStatements, [bigintArray(this.#postponed.ids)]), rowsMax),
      db.read(noOrg, bind(tasks.servedAhead, at, rowsMax, clockErrorMs)),
    ])
    const created: RunReference[] = []
    let unknown = 0
    for (const { row } of chosen) {
      const taskId = Number(row[0])
      const made = await db.reach(() => fireSchedule(db, taskId, at))
      if (made === undefined) this.#postponed.add(taskId)
      else if (made === 'unknown') unknown++
      else created.push(...made)
    }
    for (const [id] of ahead!.rows) await resetSchedule(db, Number(id), at)
    return { due: chosen.length, created, ...(unknown > 0 && { unknown }) }
  }
}

/**
 * Creates the run of a schedule. The row of the task is locked and read again, so that only one of several processes creates
 * it.
 */
const fireSchedule = (db: Database, taskId: number, at: number | null): Promise<RunReference[] | 'unknown'> =>
  retryDuplicates(() =>
    db.transaction(noOrg, async ({ send, commit }): Promise<RunReference[] | 'unknown'> => {
      const results = await send(bind(tasks.takeSchedule, taskId, at), ...keyLocks(taskId, scheduleKey), bind(drawIds))
      const [[row], running, queued, [drawn]] = results.map(({ rows }) => rows) as [Row[], Row[], Row[], Row[]]
      if (row === undefined) return []
      const { declaration, nextRunAtMs } = toTask(row)
      const [isActive, now] = row.slice(taskColumnCount)
      const [nowMs, { schedule }] = [Number(now), declaration]
      if (nextRunAtMs === null || nextRunAtMs > nowMs) return []
      const next = nextIfKnown(schedule, nowMs, nowMs)
      if (next === undefined) return 'unknown'
      const writes = [bind(tasks.setSchedule, taskId, next, nowMs)]
      // The times of a deleted organization pass without runs: once it is restored, its schedules go on at their next times.
      if (schedule === null || isActive === 'f' || queued.length > 0) {
        await commit(...writes)
        return []
      }
      const asked = { id: newRunId(), isNamed: false, key: scheduleKey, payload: schedule.payload }
      const made = { ...asked, at: { runAtMs: nextRunAtMs } }
      const run = createRun(Number(drawn![0]), taskId, made, running.length > 0, nowMs)
      await commit(...writes, ...insertStatements(run))
      return [{ taskId, id: run.id }]
    }),
  )

/** Handles a clock that was set back: times that were served ahead of the clock count as not served. */
const resetSchedule = (db: Database, taskId: number, at: number | null): Promise<void> =>
  db.transaction(noOrg, async ({ send, commit }) => {
    const [taken] = await send(bind(tasks.takeSchedule, taskId, at))
    const row = taken!.rows[0]
    if (row === undefined) return
    const { declaration, nextRunAtMs, servedAtMs } = toTask(row)
    const nowMs = Number(row[taskColumnCount + 1])
    if (nextRunAtMs === null || servedAtMs === null || servedAtMs <= nowMs + clockErrorMs) return
    const next = nextIfKnown(declaration.schedule, servedAtMs, nowMs)
    if (next !== undefined) await commit(bind(tasks.setSchedule, taskId, next, null))
  })

// ── Finished runs that are no longer kept ──────────────────────────────────────────────────────────────────

const tasksPerPoll = 500
/** A step ends after this time if the server of a task cannot be reached. The next step continues after that task. */
const stepMsMax = 5_000
const beforeAllTasks = Number.MIN_SAFE_INTEGER

/**
 * Sweeps in steps. Each begins after the task at which the last step ended: one task may have more to sweep than all others.
 */
export class FinishedSweep {
  readonly #db: Database
  readonly #namesManyTables: boolean
  #afterId = beforeAllTasks

  constructor(db: Database, namesManyTables: boolean) {
    this.#db = db
    this.#namesManyTables = namesManyTables
  }

  /** Returns 0 if nothing is left. */
  async step(at: number | null, rowsMax: number): Promise<number> {
    const startAt = this.#afterId
    this.#afterId = beforeAllTasks
    const removed = await this.#sweep(at, rowsMax, startAt)
    const isDone = removed > 0 || startAt === beforeAllTasks || this.#afterId !== beforeAllTasks
    return isDone ? removed : this.#sweep(at, rowsMax, beforeAllTasks)
  }

  #sweep(at: number | null, rowsMax: number, afterId: number): Promise<number> {
    return this.#namesManyTables ? this.#sweepInOne(at, rowsMax, afterId) : this.#sweepByTask(at, rowsMax, afterId)
  }

  async #sweepInOne(at: number | null, rowsMax: number, afterId: number): Promise<number> {
    const [swept] = await this.#db.write(noOrg, bind(sql.sweepInOne, at, rowsMax, sweepGraceMs, afterId))
    const { rows } = swept!
    if (rows.length >= rowsMax) this.#afterId = Math.max(...rows.map(([taskId]) => Number(taskId)))
    return rows.length
  }

  async #sweepByTask(at: number | null, rowsMax: number, afterId: number): Promise<number> {
    let removed = 0
    const endsAt = performance.now() + stepMsMax
    for (let last = afterId; ; ) {
      const [clock, found] = await this.#db.read(
        noOrg,
        bind(tasks.readClock, at),
        bind(tasks.tasksToSweep, last, tasksPerPoll),
      )
      const before = Number(clock!.rows[0]![0]) - sweepGraceMs
      for (const [id, keepSeconds] of found!.rows) {
        const values = [id!, before - 1000 * Number(keepSeconds), rowsMax - removed]
        const swept = await this.#db.reach(
          async () => (await this.#db.write(noOrg, bind(sql.sweepTask, ...values)))[0]!,
        )
        removed += swept?.count ?? 0
        const isLate = swept === undefined && performance.now() > endsAt
        if (removed < rowsMax && !isLate) continue
        this.#afterId = Number(id)
        return removed
      }
      if (found!.rows.length < tasksPerPoll) return removed
      last = Number(found!.rows.at(-1)![0])
    }
  }
}
