import { leaseSecondsMax, pageBytesMax, sweepGraceMs } from '../../../core/limits.ts'
import type { TimeScan } from '../../../core/records/scan.ts'
import { type Finish, isKept, type NewRun, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import { clockErrorMs } from '../../../core/tasks/schedule.ts'
import { takeTurns } from '../../../core/tasks/take-turns.ts'
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
import type { OpenStore } from '../open-store.ts'
import { isOfActive, type TableRow, tableColumns, toTable } from '../registry/rows.ts'
import {
  dueRuns,
  dueSchedules,
  expiredLeases,
  firstPushes,
  leasesAhead,
  runBytes,
  runsFromAhead,
  runsToSweep,
  schedulesAhead,
  tasksToSweep,
} from './look-statements.ts'
import { type RunRow, type RunValue, runColumns, toRun } from './run-rows.ts'
import { RunSizes } from './run-sizes.ts'
import { claimedRowBytes, type Extension } from './run-writes.ts'
import { type ChosenStep, chooseStep, type Reached, reachedRowsMax } from './step.ts'

/** Tasks that one look for pushes returns. The next look finds the others. */
const duePushTasksMax = 1_000

/** Of a walk through the tasks: rows that are read at once, and how long it goes on before others have a turn. */
const walkRowsMax = 20
const walkMsMax = 2

export class SqliteRuns implements Runs {
  readonly #store: OpenStore
  /** What the last look for pushes found, and the state of the database that it saw. */
  #lastLook: { dataVersion: number; nextAtMs: number } | undefined
  readonly #wakes = new WakeLooks()
  readonly #sizes = new RunSizes()

  constructor(store: OpenStore) {
    this.#store = store
  }

  #read<T>(read: () => T): T {
    try {
      this.#store.snapshot.refresh()
      return read()
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
  }

  #all<Row>(sql: string, ...values: RunValue[]): Row[] {
    return this.#store.db.prepare<Row, RunValue[]>(sql).all(...values)
  }

  #keepSeconds(taskId: number): number {
    const sql = 'SELECT keep_seconds AS seconds FROM tasks WHERE table_id = ?1'
    return this.#all<{ seconds: number }>(sql, taskId)[0]?.seconds ?? 0
  }

  get({ id: taskId }: Table, id: string, nowMs: number): Run | undefined {
    return this.#read(() => {
      const row = this.#all<RunRow>(`SELECT ${runColumns} FROM runs WHERE task_id = ?1 AND id = ?2`, taskId, id)[0]
      if (row === undefined || !isKept({ finishedAtMs: row.finished_at }, this.#keepSeconds(taskId), nowMs)) return
      return toRun(row)
    })
  }

  scan({ id }: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): RunPage {
    return this.#read(() => {
      const { from, order, values } = this.#select(id, status, scan, nowMs)
      // One row more than the page: if it is present, there is a next page.
      const rows = this.#store.db
        .prepare<RunRow, RunValue[]>(`SELECT ${runColumns} ${from} ${order} LIMIT ?${values.length + 1}`)
        .iterate(...values, rowsMax + 1)
      const runs: Run[] = []
      let bytes = 0
      let isMore = false
      for (const row of rows) {
        bytes += row.payload.length + (row.result?.length ?? 0) + (row.progress?.length ?? 0)
        isMore = runs.length === rowsMax || (runs.length > 0 && bytes > pageBytesMax)
        if (isMore) break
        runs.push(toRun(row))
      }
      const last = runs.at(-1)
      return { runs, next: isMore ? { range: last!.updatedAtMs, id: last!.seq } : undefined }
    })
  }

  count({ id }: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): CountPage {
    return this.#read(() => {
      const { from, order, values } = this.#select(id, status, scan, nowMs)
      const rows = this.#all<{ range: number; id: number }>(
        `SELECT updated_at AS range, seq AS id ${from} ${order} LIMIT ?${values.length + 1}`,
        ...[...values, rowsMax + 1],
      )
      return { count: Math.min(rows.length, rowsMax), next: rows.length > rowsMax ? rows[rowsMax - 1] : undefined }
    })
  }

  /** Bounds as `Scan` describes them. Runs that are no longer kept are few: the sweep removes them. */
  #select(taskId: number, status: RunStatus | undefined, scan: TimeScan, nowMs: number) {
    const direction = scan.descending ? 'DESC' : 'ASC'
    const bounds = scan.descending
      ? 'updated_at >= ?2 AND (updated_at, seq) < (?3, ?4)'
      : '(updated_at, seq) > (?2, ?4) AND updated_at < ?3'
    const where = `task_id = ?1 AND ${bounds} AND (finished_at IS NULL OR finished_at > ?5)`
    // Named, because SQLite would take the index of times for both.
    const from =
      status === undefined
        ? `FROM runs INDEXED BY runs_by_time WHERE ${where}`
        : `FROM runs INDEXED BY runs_by_status WHERE ${where} AND status = ?6`
    const finishedAfter = nowMs - 1000 * this.#keepSeconds(taskId)
    const edge = scan.descending ? scan.highId : scan.lowId
    const values: RunValue[] = [taskId, scan.low, scan.high, edge, finishedAfter]
    return {
      from,
      order: `ORDER BY updated_at ${direction}, seq ${direction}`,
      values: status === undefined ? values : [...values, status],
    }
  }

  // A change of a run writes its whole row, which may be long, and the request is short. So that a commit
  // stays within its bytes, and everybody's writes with it, the rows are counted as they are now, or as they were claimed:
  // the payload of a running run does not change.

  #bytesOf(taskId: number, id: string): number {
    return (
      this.#sizes.get(taskId, id) ?? this.#read(() => this.#all<{ bytes: number }>(runBytes, taskId, id)[0]?.bytes ?? 0)
    )
  }

  add(caller: Caller, task: Table, run: NewRun, nowMs: number): Promise<AddResult> {
    const command = { kind: 'addRun' as const, fence: this.#store.fence(caller, task), run, nowMs }
    return this.#store.channel.submit<'addRun'>(caller.orgId, run.payload.length, command)
  }

  async claim(caller: Caller, task: Table, options: ClaimOptions, nowMs: number): Promise<Run[]> {
    const command = { kind: 'claimRuns' as const, fence: this.#store.fence(caller, task), options, nowMs }
    // Nobody knows yet what it will claim. The writer counts it: see `claimedBytes` of RunWrites.
    const runs = await this.#store.channel.submit<'claimRuns'>(caller.orgId, claimedRowBytes, command)
    for (const run of runs) this.#sizes.note(run)
    return runs
  }

  extend(caller: Caller, { id: taskId }: Table, id: string, extension: Extension, nowMs: number): Promise<RunChange> {
    const command = { kind: 'extendRun' as const, fence: this.#store.fence(caller), taskId, id, extension, nowMs }
    const bytes = this.#bytesOf(taskId, id) + (extension.progress?.length ?? 0)
    return this.#store.channel.submit<'extendRun'>(caller.orgId, bytes, command)
  }

  finish(caller: Caller, { id: taskId }: Table, id: string, finish: Finish, nowMs: number): Promise<RunChange> {
    const command = { kind: 'finishRun' as const, fence: this.#store.fence(caller), taskId, id, finish, nowMs }
    const bytes = this.#bytesOf(taskId, id) + ('result' in finish ? (finish.result?.length ?? 0) : 0)
    this.#sizes.forget(taskId, id)
    return this.#store.channel.submit<'finishRun'>(caller.orgId, bytes, command)
  }

  cancel(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    const command = { kind: 'cancelRun' as const, fence: this.#store.fence(caller, task), id, nowMs }
    return this.#store.channel.submit<'cancelRun'>(caller.orgId, this.#bytesOf(task.id, id), command)
  }

  retry(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    const command = { kind: 'retryRun' as const, fence: this.#store.fence(caller, task), id, nowMs }
    return this.#store.channel.submit<'retryRun'>(caller.orgId, this.#bytesOf(task.id, id), command)
  }

  applyBatch(caller: Caller, { table, records, tasks }: Batch, nowMs: number): Promise<BatchResult> {
    const fence = this.#store.fence(caller, table)
    let bytes = 0
    for (const operation of records) if (operation.op === 'put') bytes += operation.data.length
    const commands = tasks.map((operation) => {
      const { task, ...others } = operation
      fence.stamp = Math.min(fence.stamp, task.stamp)
      if (others.op === 'run') bytes += others.run.payload.length
      else {
        bytes += this.#bytesOf(task.id, others.id)
        this.#sizes.forget(task.id, others.id)
        if ('result' in others.finish) bytes += others.finish.result?.length ?? 0
      }
      return { taskId: task.id, ...others }
    })
    const command = { kind: 'batch' as const, fence, records, tasks: commands, nowMs }
    return this.#store.channel.submit<'batch'>(caller.orgId, bytes, command)
  }

  finishedAmong(runs: RunReference[], nowMs: number): RunReference[] {
    return this.#read(() => {
      const waiting = this.#store.db.prepare<unknown, RunValue[]>(
        `SELECT 1 FROM runs WHERE task_id = ?1 AND id = ?2 AND status IN ('queued', 'running')`,
      )
      void nowMs
      return runs.filter(({ taskId, id }) => waiting.get(taskId, id) === null)
    })
  }

  dueAmong(taskIds: number[], nowMs: number): number[] {
    return this.#read(() => {
      const due = this.#store.db.prepare<unknown, RunValue[]>(dueRuns)
      return taskIds.filter((id) => due.get(id, nowMs, 1) !== null && !this.#isPaused(id))
    })
  }

  goneAmong(taskIds: number[]): number[] {
    return this.#read(() => {
      // An operator's command may have deleted an organization.
      this.#store.snapshot.renew()
      const active = this.#store.db.prepare<unknown, RunValue[]>(
        `SELECT 1 FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`,
      )
      return taskIds.filter((id) => active.get(id) === null)
    })
  }

  #isPaused(taskId: number): boolean {
    const sql = `SELECT declaration ->> '$.paused' AS paused FROM tasks WHERE table_id = ?1`
    return this.#all<{ paused: number }>(sql, taskId)[0]?.paused === 1
  }

  /** If nothing was committed since the last look, and nothing has become due, the answer is the same: none. */
  async duePushes(
    nowMs: number,
    without: Parameters<Runs['duePushes']>[1] = { orgIds: [], taskIds: [] },
  ): Promise<DuePushes> {
    const dataVersion = this.#read(() => {
      // An operator's command may have deleted or restored an organization.
      this.#store.snapshot.renew()
      return this.#all<{ data_version: number }>('PRAGMA data_version')[0]!.data_version
    })
    const last = this.#lastLook
    if (last?.dataVersion === dataVersion && nowMs < last.nextAtMs) return { tasks: [], nextAtMs: known(last.nextAtMs) }
    const due: { row: TableRow; at: number }[] = []
    const leftOut = { orgs: new Set(without.orgIds), tasks: new Set(without.taskIds) }
    let isAnyDue = false
    let nextAtMs = Number.POSITIVE_INFINITY
    const find = `SELECT ${tableColumns} FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`
    await this.#walk<{ id: number; at: number | null }>(firstPushes, ({ id, at }) => {
      if (at === null) return
      if (at > nowMs) {
        nextAtMs = Math.min(nextAtMs, at)
        return
      }
      const isLeftOut = leftOut.tasks.has(id)
      const row = isLeftOut ? undefined : this.#all<TableRow>(find, id)[0]
      // A deleted one, or one of a deleted organization, is not due: its restore is a commit, which the next look sees.
      if (!isLeftOut && row === undefined) return
      isAnyDue = true
      if (row !== undefined && !leftOut.orgs.has(row.org_id)) due.push({ row, at })
    })
    this.#lastLook = isAnyDue ? undefined : { dataVersion, nextAtMs }
    due.sort((a, b) => a.at - b.at)
    const tasks = takeTurns(due, ({ row }) => row.org_id).slice(0, duePushTasksMax)
    return { tasks: tasks.map(({ row }) => toTable(row, 0)), nextAtMs: known(nextAtMs) }
  }

  /**
   * Calls `visit` for the rows of a statement about tasks that takes ?1 the last task seen and ?2 rows, until it returns true.
   * A tenant decides how many tasks there are, and this is the thread that answers requests: they get their turns in between.
   */
  async #walk<Row extends { id: number }>(sql: string, visit: (row: Row) => unknown): Promise<void> {
    for (let last = Number.MIN_SAFE_INTEGER; ; ) {
      const startedAt = performance.now()
      const isEnded = this.#read(() => {
        do {
          const rows = this.#all<Row>(sql, last, walkRowsMax)
          for (const row of rows) if (visit(row) === true) return true
          if (rows.length < walkRowsMax) return true
          last = rows.at(-1)!.id
        } while (performance.now() - startedAt < walkMsMax)
        return false
      })
      if (isEnded) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  claimPushes(task: Table, limit: number, nowMs: number): Promise<Pushes | undefined> {
    return this.#store.channel.submit<'claimPushes'>(task.orgId, 0, {
      kind: 'claimPushes',
      taskId: task.id,
      limit,
      nowMs,
    })
  }

  #finds(sql: string, bound: number): boolean {
    return this.#read(() => this.#all(sql, bound, 1).length > 0)
  }

  #choose(sql: string, nowMs: number, rowsMax: number): ChosenStep {
    return chooseStep(
      this.#read(() => this.#all<Reached>(sql, nowMs, reachedRowsMax)),
      rowsMax,
    )
  }

  // The background asks every half second, and mostly for nothing: a read is cheaper than a turn of the writer.

  async expireLeases(nowMs: number, rowsMax: number): Promise<RunReference[]> {
    const wakes = this.#wakes.isDue(nowMs) && this.#finds(runsFromAhead, nowMs)
    if (!wakes) this.#wakes.looked(nowMs)
    const { ids: seqs } = this.#choose(expiredLeases, nowMs, rowsMax)
    if (!wakes && seqs.length === 0 && !this.#finds(leasesAhead, nowMs + leaseSecondsMax * 1000)) return []
    return this.#store.channel.submitMaintenance<'expireLeases'>({ kind: 'expireLeases', seqs, nowMs, rowsMax, wakes })
  }

  async fireSchedules(nowMs: number, rowsMax: number): Promise<FiredSchedules> {
    const { ids: taskIds, isMore } = this.#choose(dueSchedules, nowMs, rowsMax)
    if (taskIds.length === 0 && !this.#finds(schedulesAhead, nowMs + clockErrorMs)) return { due: 0, created: [] }
    const command = { kind: 'fireSchedules' as const, taskIds, nowMs, rowsMax }
    const fired = await this.#store.channel.submitMaintenance<'fireSchedules'>(command)
    return { due: isMore ? rowsMax : taskIds.length, ...fired }
  }

  async sweepFinished(nowMs: number, rowsMax: number): Promise<number> {
    const before = nowMs - sweepGraceMs
    const seqs: number[] = []
    await this.#walk<{ id: number; keepSeconds: number }>(tasksToSweep, ({ id, keepSeconds }) => {
      const found = this.#all<{ seq: number }>(runsToSweep, id, before - 1000 * keepSeconds, rowsMax - seqs.length)
      seqs.push(...found.map(({ seq }) => seq))
      return seqs.length >= rowsMax
    })
    if (seqs.length === 0) return 0
    return this.#store.channel.submitMaintenance<'sweepRuns'>({ kind: 'sweepRuns', seqs, before })
  }
}

const known = (ms: number): number | undefined => (ms === Number.POSITIVE_INFINITY ? undefined : ms)
