import { pageBytesMax } from '../../../core/limits.ts'
import type { TimeScan } from '../../../core/records/scan.ts'
import { isKept, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import type { Runs } from '../../../store/runs.ts'
import type { OpenStore } from '../open-store.ts'
import { bytesOf as recordBytesOf, runsOfWrite } from '../records/records.ts'
import { isOfActive } from '../registry/rows.ts'
import { dueRuns, runBytes } from './due-statements.ts'
import { dueWork } from './due-work.ts'
import { type RunRow, type RunValue, runById, runBySeq, runColumns, toRun } from './run-rows.ts'
import { claimedRowBytes } from './run-writes.ts'

const isFinishedSql = `status NOT IN ('queued', 'running')`

export const sqliteRuns = (store: OpenStore): Runs => {
  const { db } = store
  const sizes = new RunSizes()

  const keepSecondsOf = (taskId: number): number =>
    db.one<{ seconds: number }>('SELECT keep_seconds AS seconds FROM tasks WHERE table_id = ?1', taskId)?.seconds ?? 0

  const isPaused = (taskId: number): boolean => {
    const sql = `SELECT declaration ->> '$.paused' AS paused FROM tasks WHERE table_id = ?1`
    return db.one<{ paused: number }>(sql, taskId)?.paused === 1
  }

  /**
   * A change of a run writes its whole row, which may be long, and the request is short. To keep a commit within its bytes, and
   * the writes of all others with it, rows count as they are now, or as they were claimed: the payload of a running run does
   * not change.
   */
  const bytesOf = (taskId: number, id: string): number =>
    sizes.get(taskId, id) ?? store.read(() => db.one<{ bytes: number }>(runBytes, taskId, id)?.bytes ?? 0)

  /**
   * Bounds as `Scan` describes them. Runs that are no longer kept are few: the sweep removes them. Three columns, one of them
   * from the index, have to agree that a run is not kept, so that one damaged value does not hide it: its row is read and
   * compared.
   */
  const select = (taskId: number, status: RunStatus | undefined, scan: TimeScan, nowMs: number) => {
    const direction = scan.descending ? 'DESC' : 'ASC'
    const bounds = scan.descending
      ? 'updated_at >= ?2 AND (updated_at, seq) < (?3, ?4)'
      : '(updated_at, seq) > (?2, ?4) AND updated_at < ?3'
    const where = `task_id = ?1 AND ${bounds} AND NOT (coalesce(finished_at, ?5 + 1) <= ?5 AND updated_at <= ?5 AND ${isFinishedSql})`
    // The statement names the index: SQLite would take that of times for both.
    const from =
      status === undefined
        ? `FROM runs INDEXED BY runs_by_time WHERE ${where}`
        : `FROM runs INDEXED BY runs_by_status WHERE ${where} AND status = ?6`
    const finishedAfter = nowMs - 1000 * keepSecondsOf(taskId)
    const edge = scan.descending ? scan.highId : scan.lowId
    const values: RunValue[] = [taskId, scan.low, scan.high, edge, finishedAfter]
    return {
      from,
      order: `ORDER BY updated_at ${direction}, seq ${direction}`,
      values: status === undefined ? values : [...values, status],
    }
  }

  return {
    ...dueWork(store),

    get: ({ id: taskId }, id, nowMs) =>
      store.read(() => {
        const row = db.one<RunRow>(runById, taskId, id)
        const run = row && toRun(row)
        return run && isKept(run, keepSecondsOf(taskId), nowMs) ? run : undefined
      }),

    scan: ({ id }, status, scan, rowsMax, nowMs) =>
      store.read(() => {
        const { from, order, values } = select(id, status, scan, nowMs)
        const rows = db.prepare<RunRow, RunValue[]>(`SELECT ${runColumns} ${from} ${order}`).iterate(...values)
        const keepSeconds = keepSecondsOf(id)
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
      }),

    count: ({ id }, status, scan, rowsMax, nowMs) =>
      store.read(() => {
        const { from, order, values } = select(id, status, scan, nowMs)
        const rows = db.all<{ range: number; id: number; isSure: number }>(
          `SELECT updated_at AS range, seq AS id, coalesce(finished_at > ?5 AND finished_at <= updated_at
             AND ${isFinishedSql}, finished_at IS NULL AND NOT ${isFinishedSql}) AS isSure
           ${from} ${order} LIMIT ?${values.length + 1}`,
          ...[...values, rowsMax + 1],
        )
        const keepSeconds = keepSecondsOf(id)
        const isCounted = (row: (typeof rows)[number]): boolean =>
          row.isSure === 1 || isKept(toRun(db.one<RunRow>(runBySeq, row.id)!), keepSeconds, nowMs)
        const { range, id: seq } = rows.at(rowsMax - 1) ?? {}
        return {
          count: rows.slice(0, rowsMax).filter(isCounted).length,
          next: rows.length > rowsMax ? { range: range!, id: seq! } : undefined,
        }
      }),

    add(caller, task, run, nowMs) {
      const fence = store.fence(caller, task)
      return store.channel.submit({ kind: 'addRun', fence, run, nowMs }, run.payload.length)
    },

    async claim(caller, task, options, nowMs) {
      const fence = store.fence(caller, task)
      // Nobody knows yet what it will claim. The writer counts it: see `claimedBytes` of RunWrites.
      const runs = await store.channel.submit({ kind: 'claimRuns', fence, options, nowMs }, claimedRowBytes)
      for (const run of runs) sizes.note(run)
      return runs
    },

    claimPushes: ({ orgId, id: taskId }, limit, nowMs) =>
      store.channel.submit({ kind: 'claimPushes', orgId, taskId, limit, nowMs }),

    extend(caller, { id: taskId }, id, extension, nowMs) {
      const fence = store.fence(caller)
      const bytes = bytesOf(taskId, id) + (extension.progress?.length ?? 0)
      return store.channel.submit({ kind: 'extendRun', fence, taskId, id, extension, nowMs }, bytes)
    },

    finish(caller, { id: taskId }, id, finish, nowMs) {
      const fence = store.fence(caller)
      const bytes = bytesOf(taskId, id) + ('result' in finish ? (finish.result?.length ?? 0) : 0)
      sizes.forget(taskId, id)
      return store.channel.submit({ kind: 'finishRun', fence, taskId, id, finish, nowMs }, bytes)
    },

    cancel(caller, task, id, nowMs) {
      const fence = store.fence(caller, task)
      return store.channel.submit({ kind: 'cancelRun', fence, id, nowMs }, bytesOf(task.id, id))
    },

    retry(caller, task, id, nowMs) {
      const fence = store.fence(caller, task)
      return store.channel.submit({ kind: 'retryRun', fence, id, nowMs }, bytesOf(task.id, id))
    },

    applyBatch(caller, { parts, tasks }, nowMs) {
      const fence = store.fence(caller)
      let bytes = 0
      let runs = 0
      const records = parts.map((part) => {
        bytes += recordBytesOf(part.records)
        runs += runsOfWrite(part.table, part.records)
        fence.epoch = Math.min(fence.epoch, part.table.epoch)
        return { tableId: part.table.id, records: part.records }
      })
      const commands = tasks.map(({ task, ...others }) => {
        fence.epoch = Math.min(fence.epoch, task.epoch)
        if (others.op === 'run') bytes += others.run.payload.length
        else {
          bytes += bytesOf(task.id, others.id)
          sizes.forget(task.id, others.id)
          if ('result' in others.finish) bytes += others.finish.result?.length ?? 0
        }
        return { taskId: task.id, ...others }
      })
      return store.channel.submit({ kind: 'batch', fence, parts: records, tasks: commands, nowMs }, bytes, runs)
    },

    finishedAmong: (runs) =>
      store.read(() => {
        const waiting = `SELECT 1 FROM runs WHERE task_id = ?1 AND id = ?2 AND status IN ('queued', 'running')`
        return runs.filter(({ taskId, id }) => db.one(waiting, taskId, id) === undefined)
      }),

    dueAmong: (taskIds, nowMs) =>
      store.read(() => taskIds.filter((id) => db.one(dueRuns, id, nowMs, 1) !== undefined && !isPaused(id))),

    // An operator's command may have deleted an organization.
    goneAmong: (taskIds) =>
      store.readAnew(() => {
        const active = `SELECT 1 FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`
        return taskIds.filter((id) => db.one(active, id) === undefined)
      }),
  }
}

/** The sizes of at most this many claimed runs are remembered. Each further one takes a read. */
const sizesMax = 10_000

/**
 * The bytes of runs that were claimed here, until they are finished. Most of them are finished soon and through the same
 * process, and to read the row for its size costs as much as to write it: after each commit the cache of pages is empty.
 */
export class RunSizes {
  readonly #bytes = new Map<string, number>()
  readonly #entriesMax: number

  constructor(entriesMax = sizesMax) {
    this.#entriesMax = entriesMax
  }

  get size(): number {
    return this.#bytes.size
  }

  note({ taskId, id, payload, result }: Pick<Run, 'taskId' | 'id' | 'payload' | 'result'>): void {
    // The rows of the forgotten runs are read once more.
    if (this.#bytes.size >= this.#entriesMax) this.#bytes.clear()
    this.#bytes.set(`${taskId}/${id}`, Buffer.byteLength(payload) + (result === null ? 0 : Buffer.byteLength(result)))
  }

  /** Undefined if the row has to be read. */
  get(taskId: number, id: string): number | undefined {
    return this.#bytes.get(`${taskId}/${id}`)
  }

  forget(taskId: number, id: string): void {
    this.#bytes.delete(`${taskId}/${id}`)
  }
}
