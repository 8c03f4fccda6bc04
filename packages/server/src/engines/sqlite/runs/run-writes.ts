import { CubbyError } from '../../../core/errors.ts'
import { claimBytesMax } from '../../../core/limits.ts'
import { type Finish, isKept, type NewRun, type Run } from '../../../core/tasks/run.ts'
import { newLease } from '../../../core/tasks/run-id.ts'
import { signingSecrets } from '../../../core/tasks/task-secret.ts'
import {
  cancelRun,
  createRun,
  type Extension,
  extendRun,
  finishRun,
  mergeRun,
  pushedTask,
  type RunChange,
  retryRun,
  startAttempt,
} from '../../../core/tasks/transitions.ts'
import type { AddResult, ClaimOptions, Pushes } from '../../../store/runs.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import type { Connection } from '../connection.ts'
import type { Fence, RegistryWrites } from '../registry/registry-writes.ts'
import type { TaskWrites } from '../tasks/task-writes.ts'
import { failDamaged, isUnreadable, onEach, readOrNote } from './damaged-runs.ts'
import { countRunning, dueRuns } from './look-statements.ts'
import {
  insertRun,
  moveLease,
  type RunRow,
  type RunValue,
  readRun,
  runColumns,
  runValues,
  toRun,
  updateRun,
} from './run-rows.ts'

/** What a short run counts in a claim: about what a record does whose writing takes as long. */
export const claimedRowBytes = 4_096

/** So many runs that cannot be read may be due before others, and hold up none. */
const unreadableDueMax = 20

const isDue = (run: Run, taskId: number, nowMs: number): boolean =>
  run.taskId === taskId && run.status === 'queued' && !run.held && run.runAtMs <= nowMs

const runBySeq = `SELECT ${runColumns} FROM runs WHERE seq = ?1`
const runById = `SELECT ${runColumns} FROM runs WHERE task_id = ?1 AND id = ?2`

/** Changes runs inside the transaction that is open on `db`. */
export class RunWrites {
  readonly #db: Connection
  readonly #tasks: TaskWrites
  /** What claims have written since this was last set to 0: the requests do not tell. */
  claimedBytes = 0

  constructor(db: Connection, tasks: TaskWrites) {
    this.#db = db
    this.#tasks = tasks
  }

  #one<Row>(sql: string, ...values: RunValue[]): Row | undefined {
    return this.#db.prepare<Row, RunValue[]>(sql).get(...values) ?? undefined
  }

  #task(taskId: number): DumpedTask {
    const task = this.#tasks.find(taskId)
    // A purge has removed it since it was looked up.
    if (task === undefined) throw new CubbyError('task_not_found', 'The task has been deleted.')
    return task
  }

  #find(taskId: number, id: string): Run | undefined {
    const row = this.#one<RunRow>(runById, taskId, id)
    return row && toRun(row)
  }

  /** A run that is no longer kept does not exist. */
  #findKept({ tableId, declaration }: DumpedTask, id: string, nowMs: number): Run | undefined {
    const run = this.#find(tableId, id)
    return run !== undefined && isKept(run, declaration.keepSeconds, nowMs) ? run : undefined
  }

  isQueued(taskId: number, key: string | null): boolean {
    return key !== null && this.#isAny(taskId, key, 'queued')
  }

  isRunning(taskId: number, key: string | null): boolean {
    return key !== null && this.#isAny(taskId, key, 'running')
  }

  /** Without the row, whose payload may be long. */
  #isAny(taskId: number, key: string, status: 'queued' | 'running'): boolean {
    const sql = `SELECT 1 FROM runs WHERE task_id = ?1 AND key = CAST(?2 AS BLOB) AND status = '${status}'`
    return this.#one(sql, taskId, key) !== undefined
  }

  /** The status is part of the text, so that SQLite takes the partial index. */
  #ofKey(taskId: number, key: string, status: 'queued'): RunRow | undefined {
    return this.#one<RunRow>(
      `SELECT ${runColumns} FROM runs WHERE task_id = ?1 AND key = CAST(?2 AS BLOB) AND status = '${status}'`,
      ...[taskId, key],
    )
  }

  insert(taskId: number, run: NewRun, nowMs: number): Run {
    const { seq } = this.#one<{ seq: number }>(`SELECT 1 + coalesce(
      (SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0) AS seq`)!
    const created = createRun(seq, taskId, run, this.isRunning(taskId, run.key), nowMs)
    this.#db.prepare<unknown, RunValue[]>(insertRun).run(...runValues(created))
    return created
  }

  /** Writes a run over its row. */
  replace(before: Run, run: Run): Run {
    this.#db.prepare<unknown, RunValue[]>(updateRun).run(...runValues(run))
    moveLease(this.#db, before, run)
    if (before.status === 'running' && run.status !== 'running') this.release(run.taskId, run.key, run.updatedAtMs)
    return run
  }

  /** The running run of the key has ended: one that waited behind it can start. */
  release(taskId: number, key: string | null, nowMs: number): void {
    const row = key === null ? undefined : this.#ofKey(taskId, key, 'queued')
    if (row === undefined) return
    const run = readRun(row)
    if (run === undefined) failDamaged(this.#db, row.seq, nowMs)
    else if (run.held) this.replace(run, { ...run, held: false })
  }

  add(taskId: number, run: NewRun, nowMs: number): AddResult {
    const { declaration } = this.#task(taskId)
    if (run.key !== null) {
      const queued = this.#ofKey(taskId, run.key, 'queued')
      const before = queued && readRun(queued)
      if (before !== undefined) return { run: this.replace(before, mergeRun(before, run, nowMs)), created: false }
      // A damaged run keeps no other of its key from being added.
      if (queued !== undefined) failDamaged(this.#db, queued.seq, nowMs)
    } else if (run.isNamed) {
      const present = this.#find(taskId, run.id)
      if (present !== undefined && isKept(present, declaration.keepSeconds, nowMs))
        return present.payload === run.payload ? { run: present, created: false } : { refused: 'exists', run: present }
      if (present !== undefined) this.#db.prepare<unknown, [number]>('DELETE FROM runs WHERE seq = ?1').run(present.seq)
    }
    return { run: this.insert(taskId, run, nowMs), created: true }
  }

  claim(taskId: number, options: ClaimOptions, nowMs: number): Run[] {
    const { declaration } = this.#task(taskId)
    if (declaration.url !== null) throw pushedTask()
    return declaration.paused ? [] : this.#hand(taskId, declaration, options, nowMs)
  }

  claimPushes(taskId: number, limit: number, nowMs: number): Pushes | undefined {
    const task = this.#tasks.find(taskId)
    if (task === undefined) return undefined
    const { declaration, secrets } = task
    const hands = declaration.url !== null && !declaration.paused
    const runs = hands ? this.#hand(taskId, declaration, { limit, leaseMs: undefined }, nowMs) : []
    return { runs, declaration, secrets: signingSecrets(secrets, nowMs) }
  }

  /** By runAt, then seq; only runs that are due and not held are looked at. */
  #hand(
    taskId: number,
    declaration: DumpedTask['declaration'],
    { limit, leaseMs = declaration.leaseSeconds * 1000 }: ClaimOptions,
    nowMs: number,
  ): Run[] {
    const { concurrency } = declaration
    const rowsMax =
      concurrency === null ? limit : Math.min(limit, concurrency - this.#countRunning(taskId, concurrency))
    if (rowsMax <= 0) return []
    const due: { seq: number; run: Run | undefined }[] = []
    let bytes = 0
    const seqs = this.#db.prepare<{ seq: number }, RunValue[]>(dueRuns).all(taskId, nowMs, rowsMax + unreadableDueMax)
    for (const { seq } of seqs) {
      if (due.length === rowsMax) break
      if (isUnreadable(seq)) continue
      // By its number alone: where the index and the row differ, a row that was found by the index would have some of each.
      const row = readOrNote(seq, () => this.#one<RunRow>(runBySeq, seq))
      const run = row && readRun(row)
      if (row === undefined) continue
      if (run !== undefined && !isDue(run, taskId, nowMs)) continue
      bytes += Buffer.byteLength(run?.payload ?? '')
      if (due.length > 0 && bytes > claimBytesMax) break
      due.push({ seq, run })
      this.claimedBytes += claimedRowBytes + (run?.payload.length ?? 0)
    }
    const seqOf = ({ seq }: (typeof due)[number]): number => seq
    return onEach(this.#db, due, seqOf, ({ seq, run }) => {
      // A damaged run is handed to nobody, and must not be in the way of the others.
      if (run !== undefined) return this.replace(run, startAttempt(run, newLease(), leaseMs, nowMs))
      failDamaged(this.#db, seq, nowMs)
      return undefined
    }).filter((run) => run !== undefined)
  }

  #countRunning(taskId: number, most: number): number {
    return this.#one<{ n: number }>(countRunning, taskId, most)!.n
  }

  /** Writes a change over the run `before`, unless it was refused or made before. */
  #apply(before: Run | undefined, change: RunChange): RunChange {
    if (!('refused' in change) && change.isRepeated !== true) this.replace(before!, change.run)
    return change
  }

  extend(taskId: number, id: string, extension: Extension, nowMs: number): RunChange {
    const task = this.#task(taskId)
    const run = this.#findKept(task, id, nowMs)
    return this.#apply(run, extendRun(run, extension, task.declaration, nowMs))
  }

  /** `isOnce`: a repeated finish is refused too. */
  finish(taskId: number, id: string, finish: Finish, isOnce: boolean, nowMs: number): RunChange {
    const task = this.#task(taskId)
    const run = this.#findKept(task, id, nowMs)
    const keyIsQueued = run !== undefined && this.isQueued(taskId, run.key)
    return this.#apply(run, finishRun(run, finish, isOnce, task.declaration, keyIsQueued, Math.random(), nowMs))
  }

  cancel(taskId: number, id: string, nowMs: number): RunChange {
    const run = this.#findKept(this.#task(taskId), id, nowMs)
    return this.#apply(run, cancelRun(run, nowMs))
  }

  retry(taskId: number, id: string, nowMs: number): RunChange {
    const run = this.#findKept(this.#task(taskId), id, nowMs)
    const key = run?.key ?? null
    return this.#apply(run, retryRun(run, this.isQueued(taskId, key), this.isRunning(taskId, key), nowMs))
  }
}

interface Writers {
  registry: RegistryWrites
  runs: RunWrites
}

interface OfTask {
  fence: Fence
  nowMs: number
}

/** The fence names no table: extensions and finishes are accepted while the task is deleted. */
interface OfAttempt extends OfTask {
  taskId: number
  id: string
}

export const runCommands = {
  addRun: ({ runs }: Writers, { fence, run, nowMs }: OfTask & { run: NewRun }) => runs.add(fence.tableId!, run, nowMs),
  claimRuns: ({ runs }: Writers, { fence, options, nowMs }: OfTask & { options: ClaimOptions }) =>
    runs.claim(fence.tableId!, options, nowMs),
  extendRun: ({ runs }: Writers, { taskId, id, extension, nowMs }: OfAttempt & { extension: Extension }) =>
    runs.extend(taskId, id, extension, nowMs),
  finishRun: ({ runs }: Writers, { taskId, id, finish, nowMs }: OfAttempt & { finish: Finish }) =>
    runs.finish(taskId, id, finish, false, nowMs),
  cancelRun: ({ runs }: Writers, { fence, id, nowMs }: OfTask & { id: string }) =>
    runs.cancel(fence.tableId!, id, nowMs),
  retryRun: ({ runs }: Writers, { fence, id, nowMs }: OfTask & { id: string }) => runs.retry(fence.tableId!, id, nowMs),
  /** Undefined if the task was deleted. It takes the turn of its organization. */
  claimPushes: (
    { registry, runs }: Writers,
    { taskId, limit, nowMs }: { orgId: number; taskId: number; limit: number; nowMs: number },
  ) => (registry.tableIsActive(taskId) ? runs.claimPushes(taskId, limit, nowMs) : undefined),
}
