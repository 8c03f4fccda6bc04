import { leaseSecondsMax, pageBytesMax, sweepGraceMs } from '../../../core/limits.ts'
import type { TimeScan } from '../../../core/records/scan.ts'
import {
  type ChosenStep,
  type Due,
  type DueLooks,
  DueTurns,
  takeTurns,
  WakeLooks,
} from '../../../core/tasks/due-turns.ts'
import { PushPositions } from '../../../core/tasks/push-positions.ts'
import { type Finish, isKept, type NewRun, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import { clockErrorMs } from '../../../core/tasks/schedule.ts'
import type { Extension } from '../../../core/tasks/transitions.ts'
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
  allTasks,
  dueRuns,
  dueSchedules,
  dueSchedulesOf,
  expiredLeases,
  expiredLeasesOf,
  firstPushes,
  leasedOrganizations,
  leasesAhead,
  pushingOrganizations,
  runBytes,
  runsFromAhead,
  runsToSweep,
  scheduledOrganizations,
  schedulesAhead,
} from './look-statements.ts'
import { type RunRow, type RunValue, runColumns, toRun } from './run-rows.ts'
import { RunSizes } from './run-sizes.ts'
import { claimedRowBytes } from './run-writes.ts'

/** Tasks that one look for pushes returns. The next look finds the others. */
const duePushTasksMax = 1_000

/** The writes of everybody wait for a step, so its texts are few as well as its rows. */
const stepBytesMax = 1_048_576

/** Organizations that a look for due schedules or leases asks: each costs about 3 µs of the thread that answers requests. */
const organizationsMax = 500

/** What one look asks for: due rows by time, due rows of one organization, and the organizations that have any. */
const leaseLook = { first: expiredLeases, firstOf: expiredLeasesOf, organizations: leasedOrganizations }
const scheduleLook: typeof leaseLook = {
  ...{ first: dueSchedules, firstOf: dueSchedulesOf, organizations: scheduledOrganizations },
}

interface DueRow extends Due {
  id: number
}

/** A walk through tasks reads so many rows at once, and goes on for so long before others have a turn. */
const walkRowsMax = 20
const walkMsMax = 2
/** Every id is above it. */
const beforeAll = Number.MIN_SAFE_INTEGER

/** Tasks of one organization that one look for pushes asks. The next look continues with the others. */
const pushingTasksMax = 1_000

interface PushingTask {
  id: number
  orgId: number
  /** When its first queued run is due. */
  at: number | null
}

interface TaskToLookAt {
  id: number
  orgId: number
  keepSeconds: number
}

export class SqliteRuns implements Runs {
  readonly #store: OpenStore
  /** What the last look for pushes found, and the state of the database that it saw. */
  #lastLook: { dataVersion: number; nextAtMs: number } | undefined
  readonly #wakes = new WakeLooks()
  readonly #resets = new WakeLooks()
  #sweepAfter = beforeAll
  readonly #positions = new PushPositions()
  /** Looks for pushes that together ask all tasks. `isQuiet`: nothing was due, and nothing was committed meanwhile. */
  #round = { dataVersion: 0, nextAtMs: Number.POSITIVE_INFINITY, isQuiet: true }
  readonly #sizes = new RunSizes()
  readonly #leaseTurns = new DueTurns()
  readonly #scheduleTurns = new DueTurns()

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
      const run = row && toRun(row)
      return run && isKept(run, this.#keepSeconds(taskId), nowMs) ? run : undefined
    })
  }

  scan({ id }: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): RunPage {
    return this.#read(() => {
      const { from, order, values } = this.#select(id, status, scan, nowMs)
      const rows = this.#store.db
        .prepare<RunRow, RunValue[]>(`SELECT ${runColumns} ${from} ${order}`)
        .iterate(...values)
      const keepSeconds = this.#keepSeconds(id)
      const runs: Run[] = []
      let bytes = 0
      let isMore = false
      for (const row of rows) {
        const run = toRun(row)
        if (!isKept(run, keepSeconds, nowMs)) continue
        bytes += run.payload.length + (run.result?.length ?? 0) + (run.progress?.length ?? 0)
        isMore = runs.length === rowsMax || (runs.length > 0 && bytes > pageBytesMax)
        if (isMore) break
        runs.push(run)
      }
      const last = runs.at(-1)
      return { runs, next: isMore ? { range: last!.updatedAtMs, id: last!.seq } : undefined }
    })
  }

  count({ id }: Table, status: RunStatus | undefined, scan: TimeScan, rowsMax: number, nowMs: number): CountPage {
    return this.#read(() => {
      const { from, order, values } = this.#select(id, status, scan, nowMs)
      const rows = this.#all<{ range: number; id: number; isSure: number }>(
        `SELECT updated_at AS range, seq AS id, coalesce(finished_at > ?5 AND finished_at <= updated_at
           AND ${isFinishedSql}, finished_at IS NULL AND NOT ${isFinishedSql}) AS isSure
         ${from} ${order} LIMIT ?${values.length + 1}`,
        ...[...values, rowsMax + 1],
      )
      const keepSeconds = this.#keepSeconds(id)
      const isCounted = (row: (typeof rows)[number]): boolean =>
        row.isSure === 1 || isKept(toRun(this.#all<RunRow>(runBySeq, row.id)[0]!), keepSeconds, nowMs)
      const { range, id: seq } = rows.at(rowsMax - 1) ?? {}
      return {
        count: rows.slice(0, rowsMax).filter(isCounted).length,
        next: rows.length > rowsMax ? { range: range!, id: seq! } : undefined,
      }
    })
  }

  /**
   * Bounds as `Scan` describes them. Runs that are no longer kept are few: the sweep removes them. Three columns, one of them from
   * the index, have to agree that a run is not kept, so that one damaged value does not hide it: its row is read and compared.
   */
  #select(taskId: number, status: RunStatus | undefined, scan: TimeScan, nowMs: number) {
    const direction = scan.descending ? 'DESC' : 'ASC'
    const bounds = scan.descending
      ? 'updated_at >= ?2 AND (updated_at, seq) < (?3, ?4)'
      : '(updated_at, seq) > (?2, ?4) AND updated_at < ?3'
    const where = `task_id = ?1 AND ${bounds} AND NOT (coalesce(finished_at, ?5 + 1) <= ?5 AND updated_at <= ?5 AND ${isFinishedSql})`
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
    const fence = this.#store.fence(caller, task)
    return this.#store.channel.submit({ kind: 'addRun', fence, run, nowMs }, run.payload.length)
  }

  async claim(caller: Caller, task: Table, options: ClaimOptions, nowMs: number): Promise<Run[]> {
    const fence = this.#store.fence(caller, task)
    // Nobody knows yet what it will claim. The writer counts it: see `claimedBytes` of RunWrites.
    const runs = await this.#store.channel.submit({ kind: 'claimRuns', fence, options, nowMs }, claimedRowBytes)
    for (const run of runs) this.#sizes.note(run)
    return runs
  }

  extend(caller: Caller, { id: taskId }: Table, id: string, extension: Extension, nowMs: number): Promise<RunChange> {
    const fence = this.#store.fence(caller)
    const bytes = this.#bytesOf(taskId, id) + (extension.progress?.length ?? 0)
    return this.#store.channel.submit({ kind: 'extendRun', fence, taskId, id, extension, nowMs }, bytes)
  }

  finish(caller: Caller, { id: taskId }: Table, id: string, finish: Finish, nowMs: number): Promise<RunChange> {
    const fence = this.#store.fence(caller)
    const bytes = this.#bytesOf(taskId, id) + ('result' in finish ? (finish.result?.length ?? 0) : 0)
    this.#sizes.forget(taskId, id)
    return this.#store.channel.submit({ kind: 'finishRun', fence, taskId, id, finish, nowMs }, bytes)
  }

  cancel(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    const fence = this.#store.fence(caller, task)
    return this.#store.channel.submit({ kind: 'cancelRun', fence, id, nowMs }, this.#bytesOf(task.id, id))
  }

  retry(caller: Caller, task: Table, id: string, nowMs: number): Promise<RunChange> {
    const fence = this.#store.fence(caller, task)
    return this.#store.channel.submit({ kind: 'retryRun', fence, id, nowMs }, this.#bytesOf(task.id, id))
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
    return this.#store.channel.submit({ kind: 'batch', fence, records, tasks: commands, nowMs }, bytes)
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
    if (last?.dataVersion === dataVersion && nowMs < last.nextAtMs)
      return { tasks: [], nextAtMs: known(last.nextAtMs), isMore: false }
    const due: { row: TableRow; at: number }[] = []
    const leftOut = { orgs: new Set(without.orgIds), tasks: new Set(without.taskIds) }
    let isAnyDue = leftOut.orgs.size > 0
    let nextAtMs = Number.POSITIVE_INFINITY
    if (this.#positions.isAtStart) this.#round = { dataVersion, nextAtMs: Number.POSITIVE_INFINITY, isQuiet: true }
    const round = this.#round
    const after = this.#positions.begin(leftOut.orgs)
    const find = `SELECT ${tableColumns} FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`
    await this.#walk(this.#pushingTasks(after, leftOut.orgs), ({ id, at }) => {
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
      if (row !== undefined) due.push({ row, at })
    })
    const isMore = this.#positions.end()
    round.nextAtMs = Math.min(round.nextAtMs, nextAtMs)
    if (isAnyDue || round.dataVersion !== dataVersion) round.isQuiet = false
    this.#lastLook = this.#positions.isAtStart && round.isQuiet ? round : undefined
    due.sort((a, b) => a.at - b.at)
    const tasks = takeTurns(due, ({ row }) => row.org_id).slice(0, duePushTasksMax)
    return { tasks: tasks.map(({ row }) => toTable(row, 0)), nextAtMs: known(nextAtMs), isMore }
  }

  /** Some tasks of each organization. The next look continues with those of it that are left. */
  *#pushingTasks(after: ReadonlyMap<number, number>, withoutOrgs: Set<number>): Generator<PushingTask> {
    for (const { id: orgId } of this.#each<{ id: number }>(pushingOrganizations, beforeAll)) {
      if (withoutOrgs.has(orgId)) continue
      let count = 0
      for (const task of this.#each<PushingTask>(firstPushes, after.get(orgId) ?? beforeAll, orgId)) {
        yield task
        if (++count < pushingTasksMax) continue
        this.#positions.stop(orgId, task.id)
        break
      }
    }
  }

  /** The rows of a statement that takes ?1 the last id seen, ?2 rows, and then `values`: in small pages. */
  *#each<Row extends { id: number }>(sql: string, afterId: number, ...values: RunValue[]): Generator<Row> {
    for (let last = afterId; ; ) {
      const rows = this.#all<Row>(sql, last, walkRowsMax, ...values)
      yield* rows
      if (rows.length < walkRowsMax) return
      last = rows.at(-1)!.id
    }
  }

  /**
   * Calls `visit` for each row until it returns true. A tenant decides how many there are, and this is the thread that answers
   * requests: they get their turns in between.
   */
  async #walk<Row>(rows: Iterator<Row>, visit: (row: Row) => unknown): Promise<void> {
    for (;;) {
      const startedAt = performance.now()
      const isEnded = this.#read(() => {
        do {
          const { done, value } = rows.next()
          if (done === true || visit(value) === true) return true
        } while (performance.now() - startedAt < walkMsMax)
        return false
      })
      if (isEnded) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  claimPushes(task: Table, limit: number, nowMs: number): Promise<Pushes | undefined> {
    const { orgId, id: taskId } = task
    return this.#store.channel.submit({ kind: 'claimPushes', orgId, taskId, limit, nowMs })
  }

  #choose(turns: DueTurns, sql: typeof leaseLook, nowMs: number, rowsMax: number): Promise<ChosenStep<DueRow>> {
    const looks: DueLooks<DueRow> = {
      organizationsMax,
      first: (most) => this.#read(() => this.#all<DueRow>(sql.first, nowMs, most)),
      organizations: (afterId, most) =>
        this.#read(() => this.#all<{ id: number; isDue: number }>(sql.organizations, afterId, most, nowMs)).map(
          ({ id, isDue }) => ({ id, isDue: isDue === 1 }),
        ),
      firstOf: (orgIds, most) =>
        this.#read(() => orgIds.flatMap((orgId) => this.#all<DueRow>(sql.firstOf, orgId, nowMs, most))),
    }
    return turns.choose(looks, rowsMax, stepBytesMax)
  }

  // The background asks every half second, and mostly for nothing: a read is cheaper than a turn of the writer.

  async expireLeases(nowMs: number, rowsMax: number): Promise<RunReference[]> {
    const wakes = await this.#findToWake(nowMs, rowsMax)
    const { chosen } = await this.#choose(this.#leaseTurns, leaseLook, nowMs, rowsMax)
    const seqs = chosen.map(({ id }) => id)
    const isAny = wakes.length > 0 || seqs.length > 0
    if (!isAny && this.#read(() => this.#all(leasesAhead, nowMs + leaseSecondsMax * 1000, 1)).length === 0) return []
    return this.#store.channel.submit({ kind: 'expireLeases', seqs, wakes, nowMs, rowsMax })
  }

  /** Runs that a clock which was set back has left in the future, in turns of their organizations. */
  async #findToWake(nowMs: number, rowsMax: number): Promise<number[]> {
    if (!this.#wakes.isDue(nowMs)) return []
    const found = new Map<number, { seq: number; orgId: number }[]>()
    await this.#walk(this.#each<TaskToLookAt>(allTasks, beforeAll), ({ id, orgId }) => {
      const ofOrganization = found.get(orgId) ?? []
      const rows = this.#all<{ seq: number }>(runsFromAhead, id, nowMs, rowsMax - ofOrganization.length)
      if (rows.length > 0) found.set(orgId, [...ofOrganization, ...rows.map(({ seq }) => ({ seq, orgId }))])
    })
    if (found.size === 0) this.#wakes.looked(nowMs)
    const all = [...found.values()].flat()
    return takeTurns(all, ({ orgId }) => orgId)
      .slice(0, rowsMax)
      .map(({ seq }) => seq)
  }

  async fireSchedules(nowMs: number, rowsMax: number): Promise<FiredSchedules> {
    const { chosen, isMore } = await this.#choose(this.#scheduleTurns, scheduleLook, nowMs, rowsMax)
    const taskIds = chosen.map(({ id }) => id)
    const resets = this.#findToReset(nowMs, rowsMax)
    if (taskIds.length === 0 && resets.length === 0) return { due: 0, created: [] }
    const fired = await this.#store.channel.submit({ kind: 'fireSchedules', taskIds, resets, nowMs })
    return { due: isMore ? rowsMax : taskIds.length, ...fired }
  }

  /** Tasks whose schedules a clock that was set back has left in the future. */
  #findToReset(nowMs: number, rowsMax: number): number[] {
    if (!this.#resets.isDue(nowMs)) return []
    const found = this.#read(() => this.#all<{ id: number }>(schedulesAhead, nowMs + clockErrorMs, rowsMax))
    if (found.length === 0) this.#resets.looked(nowMs)
    return found.map(({ id }) => id)
  }

  /** Each step begins after the task at which the last one ended: one task may have more to sweep than all others. */
  async sweepFinished(nowMs: number, rowsMax: number): Promise<number> {
    const before = nowMs - sweepGraceMs
    const seqs: number[] = []
    const startAt = this.#sweepAfter
    this.#sweepAfter = beforeAll
    const visit = ({ id, keepSeconds }: TaskToLookAt): boolean => {
      const found = this.#all<{ seq: number }>(runsToSweep, id, before - 1000 * keepSeconds, rowsMax - seqs.length)
      seqs.push(...found.map(({ seq }) => seq))
      if (seqs.length < rowsMax) return false
      this.#sweepAfter = id
      return true
    }
    await this.#walk(this.#each<TaskToLookAt>(allTasks, startAt), visit)
    if (seqs.length === 0 && startAt !== beforeAll)
      await this.#walk(this.#each<TaskToLookAt>(allTasks, beforeAll), visit)
    if (seqs.length === 0) return 0
    return this.#store.channel.submit({ kind: 'sweepRuns', seqs, before })
  }
}

const runBySeq = `SELECT ${runColumns} FROM runs WHERE seq = ?1`

const isFinishedSql = `status NOT IN ('queued', 'running')`

const known = (ms: number): number | undefined => (ms === Number.POSITIVE_INFINITY ? undefined : ms)
