import type { TimeScan } from '../../../core/records/scan.ts'
import { PushPositions } from '../../../core/tasks/push-positions.ts'
import { type Finish, isKept, type NewRun, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import type { Extension } from '../../../core/tasks/transitions.ts'
import { WakeLooks } from '../../../core/tasks/wake-looks.ts'
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
  RunChange,
  RunPage,
  RunReference,
  Runs,
} from '../../../store/runs.ts'
import type { Table } from '../../../store/tables.ts'
import { bigintArray, textArray } from '../connection/arrays.ts'
import { type Database, noOrg, organization } from '../connection/database.ts'
import { step } from '../connection/driver.ts'
import type { RecordWrites } from '../records/record-writes.ts'
import { notPaused, readKeep } from '../tasks/statements.ts'
import { BatchWrites } from './batch-writes.ts'
import { findDuePushes, type PushLooks, type Without } from './due-pushes.ts'
import { FinishedSweep, LeaseLooks, ScheduleLooks, wakeRuns } from './due-runs.ts'
import { countRunPage, type PageRequest, readRunPage } from './run-pages.ts'
import { toRun } from './run-rows.ts'
import type { Clock } from './run-transaction.ts'
import { RunWrites } from './run-writes.ts'
import { activeTasks, anyDue, getRun, unfinished } from './statements.ts'
import { TaskTurns } from './task-turns.ts'

export interface RunsOptions {
  db: Database
  records: RecordWrites
  clock: Clock
  /** See `Dialect`. */
  namesManyTables: boolean
}

// PostgreSQL's text cannot contain NUL, and no id does.
const isId = (id: string): boolean => !id.includes('\0')

export class PostgresRuns implements Runs {
  readonly #options: RunsOptions
  readonly #db: Database
  readonly #clock: Clock
  readonly #writes: RunWrites
  readonly #batches: BatchWrites
  readonly #wakes = new WakeLooks()
  readonly #leases: LeaseLooks
  readonly #schedules: ScheduleLooks
  readonly #sweep: FinishedSweep
  readonly #pushLooks: PushLooks

  constructor(options: RunsOptions) {
    const { db, clock, records, namesManyTables } = options
    this.#options = options
    this.#db = db
    this.#clock = clock
    this.#leases = new LeaseLooks(db, namesManyTables)
    this.#schedules = new ScheduleLooks(db)
    this.#sweep = new FinishedSweep(db, namesManyTables)
    this.#pushLooks = namesManyTables ? { positions: new PushPositions() } : { turns: new TaskTurns() }
    this.#writes = new RunWrites(db, clock)
    this.#batches = new BatchWrites(db, records, clock)
  }

  add(caller: Caller, task: Table, run: NewRun, nowMs: number): Promise<AddResult> {
    return this.#writes.add(caller, task, run, nowMs)
  }

  async get(task: Table, id: string, nowMs: number): Promise<Run | undefined> {
    if (!isId(id)) return undefined
    const [found, keep] = await this.#db.read(
      organization(task.orgId),
      step(getRun, task.id, id),
      step(readKeep, task.id, this.#clock(nowMs)),
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

  claim(caller: Caller, task: Table, options: ClaimOptions, nowMs: number): Promise<Run[]> {
    return this.#writes.claim(caller, task, options, nowMs)
  }

  async extend(caller: Caller, task: Table, id: string, extension: Extension, nowMs: number): Promise<RunChange> {
    return isId(id) ? this.#writes.extend(caller, task, id, extension, nowMs) : { refused: 'missing' }
  }

  async finish(caller: Caller, task: Table, id: string, finish: Finish, nowMs: number): Promise<RunChange> {
    return isId(id) ? this.#writes.finish(caller, task, id, finish, nowMs) : { refused: 'missing' }
  }

  async cancel(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    return isId(id) ? this.#writes.cancel(caller, task, id, nowMs) : { refused: 'missing' }
  }

  async retry(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    return isId(id) ? this.#writes.retry(caller, task, id, nowMs) : { refused: 'missing' }
  }

  async applyBatch(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult> {
    const malformed = batch.tasks.findIndex((operation) => operation.op === 'finish' && !isId(operation.id))
    if (malformed >= 0) return { applied: false, failedTask: malformed, refused: 'missing' }
    return this.#batches.apply(caller, batch, nowMs)
  }

  // ── For waits ────────────────────────────────────────────────────────────────────────────────────────────
  // One round trip, with a statement for each task.

  async finishedAmong(runs: RunReference[]): Promise<RunReference[]> {
    if (runs.length === 0) return []
    const byTask = [...Map.groupBy(runs, ({ taskId }) => taskId)]
    const looks = byTask.map(([taskId, group]) => step(unfinished, taskId, textArray(group.map(({ id }) => id))))
    const answers = await this.#db.readParts(noOrg, [], looks)
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
    const looks = taskIds.map((id) => step(anyDue, id, at))
    const [active, ...due] = await this.#db.readParts(noOrg, [step(notPaused, bigintArray(taskIds))], looks)
    const open = new Set(active!.rows.map(([id]) => Number(id)))
    return taskIds.filter((id, i) => open.has(id) && (due[i]?.rows.length ?? 0) > 0)
  }

  async goneAmong(taskIds: number[]): Promise<number[]> {
    if (taskIds.length === 0) return []
    const [active] = await this.#db.read(noOrg, step(activeTasks, bigintArray(taskIds)))
    const open = new Set(active!.rows.map(([id]) => Number(id)))
    return taskIds.filter((id) => !open.has(id))
  }

  // ── For the dispatcher and the scheduler ─────────────────────────────────────────────────────────────────

  duePushes(nowMs: number, without?: Without): Promise<DuePushes> {
    return findDuePushes(this.#db, this.#clock(nowMs), this.#pushLooks, nowMs, without)
  }

  claimPushes(task: Table, limit: number, nowMs: number): Promise<Pushes | undefined> {
    return this.#writes.claimPushes(task, limit, nowMs)
  }

  async expireLeases(nowMs: number, rowsMax: number): Promise<RunReference[]> {
    const at = this.#clock(nowMs)
    const { namesManyTables } = this.#options
    if (namesManyTables && this.#wakes.isDue(nowMs) && !(await wakeRuns(this.#db, at, rowsMax)))
      this.#wakes.looked(nowMs)
    return this.#leases.expire(at, rowsMax)
  }

  fireSchedules(nowMs: number, rowsMax: number): Promise<FiredSchedules> {
    return this.#schedules.fire(this.#clock(nowMs), rowsMax)
  }

  sweepFinished(nowMs: number, rowsMax: number): Promise<number> {
    return this.#sweep.step(this.#clock(nowMs), rowsMax)
  }
}
