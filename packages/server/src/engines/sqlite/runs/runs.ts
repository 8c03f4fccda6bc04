import { leaseSecondsMax, pageBytesMax } from '../../../core/limits.ts'
import type { TimeScan } from '../../../core/records/scan.ts'
import { type Finish, isKept, type NewRun, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import { clockErrorMs } from '../../../core/tasks/schedule.ts'
import { WakeLooks } from '../../../core/tasks/wake-looks.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { CountPage } from '../../../store/records.ts'
import type {
  AddResult,
  Batch,
  BatchResult,
  ClaimOptions,
  DuePushes,
  Pushes,
  RunChange,
  RunPage,
  RunReference,
  Runs,
} from '../../../store/runs.ts'
import type { Table } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'
import { type TableRow, tableColumns, toTable } from '../registry/rows.ts'
import {
  dueRuns,
  dueSchedules,
  expiredLeases,
  firstPushes,
  leasesAhead,
  runsFromAhead,
  schedulesAhead,
} from './look-statements.ts'
import { type RunRow, type RunValue, runColumns, toRun } from './run-rows.ts'
import type { Extension } from './run-writes.ts'

/** Tasks that one look for pushes returns. The next look finds the others. */
const duePushTasksMax = 1_000

export class SqliteRuns implements Runs {
  readonly #store: OpenStore
  /** What the last look for pushes found, and the state of the database that it saw. */
  #lastLook: { dataVersion: number; nextAtMs: number } | undefined
  readonly #wakes = new WakeLooks()

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

  add(caller: Caller, task: Table, run: NewRun, nowMs: number): Promise<AddResult> {
    const command = { kind: 'addRun' as const, fence: this.#store.fence(caller, task), run, nowMs }
    return this.#store.channel.submit<'addRun'>(caller.orgId, run.payload.length, command)
  }

  claim(caller: Caller, task: Table, options: ClaimOptions, nowMs: number): Promise<Run[]> {
    const command = { kind: 'claimRuns' as const, fence: this.#store.fence(caller, task), options, nowMs }
    return this.#store.channel.submit<'claimRuns'>(caller.orgId, 0, command)
  }

  extend(caller: Caller, { id: taskId }: Table, id: string, extension: Extension, nowMs: number): Promise<RunChange> {
    const command = { kind: 'extendRun' as const, fence: this.#store.fence(caller), taskId, id, extension, nowMs }
    return this.#store.channel.submit<'extendRun'>(caller.orgId, extension.progress?.length ?? 0, command)
  }

  finish(caller: Caller, { id: taskId }: Table, id: string, finish: Finish, nowMs: number): Promise<RunChange> {
    const command = { kind: 'finishRun' as const, fence: this.#store.fence(caller), taskId, id, finish, nowMs }
    const bytes = 'result' in finish ? (finish.result?.length ?? 0) : 0
    return this.#store.channel.submit<'finishRun'>(caller.orgId, bytes, command)
  }

  cancel(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    const command = { kind: 'cancelRun' as const, fence: this.#store.fence(caller, task), id, nowMs }
    return this.#store.channel.submit<'cancelRun'>(caller.orgId, 0, command)
  }

  retry(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    const command = { kind: 'retryRun' as const, fence: this.#store.fence(caller, task), id, nowMs }
    return this.#store.channel.submit<'retryRun'>(caller.orgId, 0, command)
  }

  applyBatch(caller: Caller, { table, records, tasks }: Batch, nowMs: number): Promise<BatchResult> {
    const fence = this.#store.fence(caller, table)
    let bytes = 0
    for (const operation of records) if (operation.op === 'put') bytes += operation.data.length
    const commands = tasks.map((operation) => {
      const { task, ...others } = operation
      fence.stamp = Math.min(fence.stamp, task.stamp)
      if (others.op === 'run') bytes += others.run.payload.length
      else if ('result' in others.finish) bytes += others.finish.result?.length ?? 0
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

  #isPaused(taskId: number): boolean {
    const sql = `SELECT declaration ->> '$.paused' AS paused FROM tasks WHERE table_id = ?1`
    return this.#all<{ paused: number }>(sql, taskId)[0]?.paused === 1
  }

  /** If nothing was committed since the last look, and nothing has become due, the answer is the same: none. */
  duePushes(nowMs: number, without: Parameters<Runs['duePushes']>[1] = { orgIds: [], taskIds: [] }): DuePushes {
    return this.#read(() => {
      const sql = 'PRAGMA data_version'
      const dataVersion = this.#all<{ data_version: number }>(sql)[0]!.data_version
      const last = this.#lastLook
      if (last?.dataVersion === dataVersion && nowMs < last.nextAtMs)
        return { tasks: [], nextAtMs: known(last.nextAtMs) }
      const rows = this.#all<{ id: number; at: number | null }>(firstPushes).filter(
        (row): row is { id: number; at: number } => row.at !== null,
      )
      const due = rows.filter(({ at }) => at <= nowMs).sort((a, b) => a.at - b.at)
      const nextAtMs = Math.min(...rows.filter(({ at }) => at > nowMs).map(({ at }) => at), Number.POSITIVE_INFINITY)
      this.#lastLook = due.length > 0 ? undefined : { dataVersion, nextAtMs }
      const tasks: TableRow[] = []
      for (const { id } of due) {
        if (tasks.length === duePushTasksMax) break
        if (without.taskIds.includes(id)) continue
        const sql = `SELECT ${tableColumns} FROM tables WHERE id = ?1 AND deleted_at IS NULL`
        tasks.push(...this.#all<TableRow>(sql, id).filter((row) => !without.orgIds.includes(row.org_id)))
      }
      return { tasks: tasks.map((row) => toTable(row, 0)), nextAtMs: known(nextAtMs) }
    })
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

  // The background asks every half second, and mostly for nothing: a read is cheaper than a turn of the writer.

  async expireLeases(nowMs: number, rowsMax: number): Promise<RunReference[]> {
    const edge = nowMs + leaseSecondsMax * 1000
    const wakes = this.#wakes.isDue(nowMs) && this.#finds(runsFromAhead, nowMs)
    if (!wakes) this.#wakes.looked(nowMs)
    if (!wakes && !this.#finds(expiredLeases, nowMs) && !this.#finds(leasesAhead, edge)) return []
    return this.#store.channel.submitMaintenance<'expireLeases'>({ kind: 'expireLeases', nowMs, rowsMax, wakes })
  }

  async fireSchedules(nowMs: number, rowsMax: number): Promise<{ due: number; created: RunReference[] }> {
    if (!this.#finds(dueSchedules, nowMs) && !this.#finds(schedulesAhead, nowMs + clockErrorMs))
      return { due: 0, created: [] }
    return this.#store.channel.submitMaintenance<'fireSchedules'>({ kind: 'fireSchedules', nowMs, rowsMax })
  }

  sweepFinished(nowMs: number, rowsMax: number): Promise<number> {
    return this.#store.channel.submitMaintenance<'sweepRuns'>({ kind: 'sweepRuns', nowMs, rowsMax })
  }
}

const known = (ms: number): number | undefined => (ms === Number.POSITIVE_INFINITY ? undefined : ms)
