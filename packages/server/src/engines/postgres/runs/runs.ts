import { claimBytesMax, concurrencyMax } from '../../../core/limits.ts'
import type { TimeScan } from '../../../core/records/scan.ts'
import type { Holder } from '../../../core/shares.ts'
import { WakeChecks } from '../../../core/tasks/due-turns.ts'
import { PushPositions } from '../../../core/tasks/push-positions.ts'
import { type Finish, isKept, type NewRun, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import { newLease } from '../../../core/tasks/run-id.ts'
import { signingSecrets } from '../../../core/tasks/task-secret.ts'
import {
  cancelRun,
  type Extension,
  extendRun,
  pushedTask,
  type RunChange,
  retryRun,
  startAttempt,
} from '../../../core/tasks/transitions.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { CountPage } from '../../../store/records.ts'
import type {
  AddResult,
  Batch,
  BatchResult,
  ClaimOptions,
  DuePushes,
  FiredSchedules,
  Pushes,
  RunPage,
  RunReference,
  Runs,
} from '../../../store/runs.ts'
import type { Table } from '../../../store/tables.ts'
import type { TableLogs } from '../changes/table-logs.ts'
import { bigintArray, textArray } from '../connection/arrays.ts'
import { type Database, holderOf, noOrg, organization } from '../connection/database.ts'
import { type BoundStatement, bind, type Row } from '../connection/driver.ts'
import { isRaised } from '../connection/failure.ts'
import type { RecordWrites } from '../records/record-writes.ts'
import { guardBatch } from '../records/statements.ts'
import { stateStatement as guardStatement, requireActive } from '../records/write-guard.ts'
import type { PostgresIdempotencyKeys } from '../registry/idempotency-keys.ts'
import { type Clock, lockLimit, notPaused, readKeep } from '../tasks/statements.ts'
import { BatchWrites } from './batch-writes.ts'
import { findDuePushes, type PushPolls, type Without } from './due-pushes.ts'
import { FinishedSweep, LeasePolls, SchedulePolls, wakeRuns } from './due-runs.ts'
import * as steps from './run-changes.ts'
import { countRunPage, type PageRequest, readRunPage } from './run-pages.ts'
import { changedValues, toRun } from './run-rows.ts'
import { changeLockedRuns, type Decision, type LockedTask, requireTask, stateStatement } from './run-transaction.ts'
import * as sql from './statements.ts'
import { TaskTurns } from './task-turns.ts'

/** At most this many tasks with a concurrency limit are remembered. */
const limitedTasksMax = 10_000

interface RunsOptions {
  db: Database
  records: RecordWrites
  clock: Clock
  keys: PostgresIdempotencyKeys
  logs: TableLogs
  /** See `Dialect`. */
  namesManyTables: boolean
}

// PostgreSQL's text cannot contain NUL, and no id does.
const isId = (id: string): boolean => !id.includes('\0')

/** Changes of runs of one task take one round trip to add a run without a key, and two for everything else. */
export class PostgresRuns implements Runs {
  readonly #options: RunsOptions
  readonly #db: Database
  readonly #clock: Clock
  /**
   * These tasks had a concurrency limit when they were last read. Only their claims wait for each other and count. It is a
   * guess: the transaction reads the declaration, and starts again if the guess was wrong.
   */
  readonly #limited = new Set<number>()
  readonly #batches: BatchWrites
  readonly #wakes = new WakeChecks()
  readonly #leases: LeasePolls
  readonly #schedules: SchedulePolls
  readonly #sweep: FinishedSweep
  readonly #pushPolls: PushPolls

  constructor(options: RunsOptions) {
    const { db, clock, records, namesManyTables } = options
    this.#options = options
    this.#db = db
    this.#clock = clock
    this.#leases = new LeasePolls(db, namesManyTables)
    this.#schedules = new SchedulePolls(db)
    this.#sweep = new FinishedSweep(db, namesManyTables)
    this.#pushPolls = namesManyTables ? { positions: new PushPositions() } : { turns: new TaskTurns() }
    this.#batches = new BatchWrites(db, records, clock, options.keys, options.logs)
  }

  async get(task: Table, id: string, nowMs: number): Promise<Run | undefined> {
    if (!isId(id)) return undefined
    const [found, keep] = await this.#db.read(
      organization(task.orgId),
      bind(sql.getRun, task.id, id),
      bind(readKeep, task.id, this.#clock(nowMs)),
    )
    const [row] = found!.rows
    if (row === undefined) return undefined
    const run = toRun(row)
    const [keepSeconds = 0, now = 0] = (keep!.rows[0] ?? []).map(Number)
    return isKept(run, keepSeconds, now) ? run : undefined
  }

  #page(task: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): PageRequest {
    const holder = organization(task.orgId)
    return { db: this.#db, holder, taskId: task.id, status, scan, rowsMax, at: this.#clock(nowMs) }
  }

  scan(task: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): Promise<RunPage> {
    return readRunPage(this.#page(task, status, scan, rowsMax, nowMs))
  }

  count(
    task: Table,
    status: RunStatus | undefined,
    scan: TimeScan,
    rowsMax: number,
    nowMs: number,
  ): Promise<CountPage> {
    return countRunPage(this.#page(task, status, scan, rowsMax, nowMs))
  }

  // ── Add ──────────────────────────────────────────────────────────────────────────────────────────────────

  async add(caller: Caller, task: Table, run: NewRun, nowMs: number): Promise<AddResult> {
    if (run.key === null && caller.once === undefined) {
      const added = await this.#addInOne(caller, task, run, nowMs)
      if (added !== undefined) return { run: added, created: true }
    }
    return this.#options.keys.run(caller, () =>
      this.#change(caller, task, nowMs, false, steps.addLocks(task.id, run), (found, locked) =>
        steps.decideAdd(found, locked, run),
      ),
    )
  }

  /** Returns undefined if the id is taken. */
  async #addInOne(
    caller: Caller,
    task: Table,
    { id, payload, user, at }: NewRun,
    nowMs: number,
  ): Promise<Run | undefined> {
    const [runAtMs, delayMs] = 'runAtMs' in at ? [at.runAtMs, null] : [null, at.delayMs]
    try {
      const [added] = await this.#db.write(
        holderOf(caller),
        bind(sql.addRun, task.id, id, payload, runAtMs, delayMs, this.#clock(nowMs), user ?? null),
        // It comes after the insert: from then on `awaitLeaseExpiry` finds this transaction.
        bind(guardBatch, task.id, caller.apiKey?.seq ?? null),
      )
      const row = added!.rows[0]
      return row && toRun(row)
    } catch (error) {
      if (!isRaised(error)) throw error
      const [state] = await this.#db.read(holderOf(caller), guardStatement(caller, task))
      requireActive(task, state!.rows[0]!)
      // The task was restored in between: the other way looks again.
      return undefined
    }
  }

  // ── Claims ───────────────────────────────────────────────────────────────────────────────────────────────

  claim(caller: Caller, task: Table, options: ClaimOptions, nowMs: number): Promise<Run[]> {
    return this.#claim(holderOf(caller), caller, task, options.limit, nowMs, (found, locked) => {
      const { declaration } = requireTask(task, locked)
      if (declaration.url !== null) throw pushedTask()
      const { outcome, writes } = declaration.paused ? nothing : handOut(task, found, locked!, options)
      return { outcome, writes }
    })
  }

  claimPushes(task: Table, limit: number, nowMs: number): Promise<Pushes | undefined> {
    return this.#claim(organization(task.orgId), undefined, task, limit, nowMs, (found, locked) => {
      if (!locked?.isActive) return { outcome: undefined, writes: [] }
      const { declaration, secrets } = locked
      const handsOut = declaration.url !== null && !declaration.paused
      const { outcome, writes } = handsOut ? handOut(task, found, locked, { limit, leaseMs: undefined }) : nothing
      return { outcome: { runs: outcome, declaration, secrets: signingSecrets(secrets, locked.nowMs) }, writes }
    })
  }

  async #claim<T>(
    holder: Holder,
    caller: Caller | undefined,
    task: Table,
    limit: number,
    nowMs: number,
    decide: (found: Found, locked: LockedTask | undefined) => Decision<T>,
  ): Promise<T> {
    const at = this.#clock(nowMs)
    for (;;) {
      const isLimited = this.#limited.has(task.id)
      const due = bind(sql.takeDue, task.id, limit, claimBytesMax, at)
      // The task is locked first: what is counted after that is exact, since only claims add to it.
      const locks = isLimited ? [bind(lockLimit, task.id), bind(sql.countRunning, task.id, concurrencyMax), due] : [due]
      const claimed = await changeLockedRuns<T | typeof limitUnknown>(this.#db, {
        holder,
        locks,
        state: stateStatement(task.id, caller, at),
        decide: (rows, locked) => {
          const hasLimit = locked !== undefined && locked.declaration.concurrency !== null
          if (hasLimit && !isLimited) return { outcome: limitUnknown, writes: [] }
          if (!hasLimit) this.#limited.delete(task.id)
          return decide({ due: rows.at(-1)!, running: isLimited ? Number(rows[1]![0]![0]) : 0 }, locked)
        },
      })
      if (claimed !== limitUnknown) return claimed
      if (this.#limited.size >= limitedTasksMax) this.#limited.clear()
      this.#limited.add(task.id)
    }
  }

  // ── The holder of a lease ────────────────────────────────────────────────────────────────────────────────

  async extend(caller: Caller, task: Table, id: string, extension: Extension, nowMs: number): Promise<RunChange> {
    if (!isId(id)) return { refused: 'missing' }
    return this.#change(caller, task, nowMs, true, [bind(sql.lockRun, task.id, id)], ([rows], locked) => {
      const run = steps.keptRun(rows!, locked)
      return steps.decide(run, extendRun(run, extension, locked.declaration, locked.nowMs))
    })
  }

  async finish(caller: Caller, task: Table, id: string, finish: Finish, nowMs: number): Promise<RunChange> {
    if (!isId(id)) return { refused: 'missing' }
    return this.#change(caller, task, nowMs, true, steps.finishLocks(task.id, id, finish), (found, locked) =>
      steps.decideFinish(found, locked, finish, false),
    )
  }

  // ── Cancel and retry ─────────────────────────────────────────────────────────────────────────────────────

  async cancel(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    if (!isId(id)) return { refused: 'missing' }
    return this.#change(caller, task, nowMs, false, [bind(sql.lockRun, task.id, id)], ([rows], locked) => {
      const run = steps.keptRun(rows!, locked)
      return steps.decide(run, cancelRun(run, locked.nowMs))
    })
  }

  async retry(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    if (!isId(id)) return { refused: 'missing' }
    const locks = [sql.lockRun, sql.lockRunningOfSameKey, sql.lockQueuedOfSameKey].map((one) => bind(one, task.id, id))
    return this.#change(caller, task, nowMs, false, locks, ([rows, running, queued], locked) => {
      const run = steps.keptRun(rows!, locked)
      const change = retryRun(run, queued!.length > 0, running!.length > 0, locked.nowMs)
      return steps.decide(run, change, steps.requeueStatements)
    })
  }

  #change<T>(
    caller: Caller,
    task: Table,
    nowMs: number,
    alsoDeleted: boolean,
    locks: BoundStatement[],
    decide: (found: Row[][], locked: LockedTask) => Decision<T>,
  ): Promise<T> {
    return changeLockedRuns(this.#db, {
      holder: holderOf(caller),
      keyed: caller.once && { once: caller.once, nowMs },
      locks,
      state: stateStatement(task.id, caller, this.#clock(nowMs)),
      decide: (found, locked) => decide(found, requireTask(task, locked, alsoDeleted)),
    })
  }

  async applyBatch(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult> {
    const malformed = batch.tasks.findIndex((operation) => operation.op === 'finish' && !isId(operation.id))
    if (malformed >= 0) return { applied: false, failedTask: malformed, refused: 'missing' }
    return this.#batches.apply(caller, batch, nowMs)
  }

  // ── For waits ────────────────────────────────────────────────────────────────────────────────────────────
  // All tasks are asked in one round trip, with a statement for each.

  async finishedAmong(runs: RunReference[]): Promise<RunReference[]> {
    if (runs.length === 0) return []
    const byTask = [...Map.groupBy(runs, ({ taskId }) => taskId)]
    const lookups = byTask.map(([taskId, group]) => bind(sql.unfinished, taskId, textArray(group.map(({ id }) => id))))
    const answers = await this.#db.readParts(noOrg, [], lookups)
    return byTask.flatMap(([, group], i) => {
      const answer = answers[i]
      if (answer === undefined) return []
      const open = new Set(answer.rows.map(([id]) => id))
      return group.filter(({ id }) => !open.has(id))
    })
  }

  async dueAmong(taskIds: number[], nowMs: number): Promise<number[]> {
    if (taskIds.length === 0) return []
    const at = this.#clock(nowMs)
    const lookups = taskIds.map((id) => bind(sql.anyDue, id, at))
    const [active, ...due] = await this.#db.readParts(noOrg, [bind(notPaused, bigintArray(taskIds))], lookups)
    const open = new Set(active!.rows.map(([id]) => Number(id)))
    return taskIds.filter((id, i) => open.has(id) && (due[i]?.rows.length ?? 0) > 0)
  }

  async goneAmong(taskIds: number[]): Promise<number[]> {
    if (taskIds.length === 0) return []
    const [active] = await this.#db.read(noOrg, bind(sql.activeTasks, bigintArray(taskIds)))
    const open = new Set(active!.rows.map(([id]) => Number(id)))
    return taskIds.filter((id) => !open.has(id))
  }

  // ── For the dispatcher and the scheduler ─────────────────────────────────────────────────────────────────

  duePushes(nowMs: number, without?: Without): Promise<DuePushes> {
    return findDuePushes(this.#db, this.#clock(nowMs), this.#pushPolls, nowMs, without)
  }

  async expireLeases(nowMs: number, rowsMax: number): Promise<RunReference[]> {
    const at = this.#clock(nowMs)
    const { namesManyTables } = this.#options
    if (namesManyTables && this.#wakes.isDue(nowMs) && !(await wakeRuns(this.#db, at, rowsMax)))
      this.#wakes.foundNone(nowMs)
    return this.#leases.expire(at, rowsMax)
  }

  fireSchedules(nowMs: number, rowsMax: number): Promise<FiredSchedules> {
    return this.#schedules.fire(this.#clock(nowMs), rowsMax)
  }

  sweepFinished(nowMs: number, rowsMax: number): Promise<number> {
    return this.#sweep.step(this.#clock(nowMs), rowsMax)
  }
}

const limitUnknown = Symbol('the task has a limit, and it was not locked')

interface Found {
  due: Row[]
  /** Counts the running runs if the task has a limit. */
  running: number
}

const nothing: Decision<Run[]> = { outcome: [], writes: [] }

/** Starts an attempt of each run that is due and within the concurrency. */
const handOut = (
  { orgId }: Table,
  { due, running }: Found,
  { declaration, nowMs }: LockedTask,
  { limit, leaseMs = declaration.leaseSeconds * 1000 }: ClaimOptions,
): Decision<Run[]> => {
  const { concurrency } = declaration
  const rowsMax = concurrency === null ? limit : Math.min(limit, Math.max(0, concurrency - running))
  const started = due
    .map(toRun)
    // On Citus, due runs are chosen by the clock of another server.
    .filter(({ runAtMs }) => runAtMs <= nowMs)
    .slice(0, rowsMax)
    .map((run) => startAttempt(run, newLease(), leaseMs, nowMs))
  return { outcome: started, writes: started.map((run) => bind(sql.startRun, ...changedValues(run), orgId)) }
}
