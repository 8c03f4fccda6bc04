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
import { countRunning, dueRuns } from './due-statements.ts'
import {
  insertNewRun,
  moveLease,
  newRunValues,
  type RunRow,
  type RunValue,
  readRun,
  runById,
  runBySeq,
  runColumns,
  runValues,
  toRun,
  updateRun,
} from './run-rows.ts'

/** A short run counts this much in a claim: about as much as a record whose writing takes as long. */
export const claimedRowBytes = 4_096

/** At most this many unreadable runs may be due before others without blocking them. */
const unreadableDueMax = 20

const isDue = (run: Run, taskId: number, nowMs: number): boolean =>
  run.taskId === taskId && run.status === 'queued' && !run.held && run.runAtMs <= nowMs

/** Changes runs inside the transaction that is open on `db`. */
export class RunWrites {
  readonly #db: Connection
  readonly #tasks: TaskWrites
  readonly #queued
  readonly #isQueued
  readonly #isRunning
  readonly #insert
  readonly #insertOrIgnore
  readonly #newestSeq
  #isNew = true
  /** The bytes that claims have written since this was last set to 0: the requests do not tell. */
  claimedBytes = 0

  constructor(db: Connection, tasks: TaskWrites) {
    this.#db = db
    this.#tasks = tasks
    // The status is part of the text, so that SQLite takes the partial index.
    const ofKey = <Row>(columns: string, status: 'queued' | 'running') =>
      db.prepare<Row, [number, string]>(
        `SELECT ${columns} FROM runs WHERE task_id = ?1 AND key = CAST(?2 AS BLOB) AND status = '${status}'`,
      )
    this.#queued = ofKey<RunRow>(runColumns, 'queued')
    this.#isQueued = ofKey('1', 'queued')
    this.#isRunning = ofKey('1', 'running')
    this.#insert = db.prepare<unknown, RunValue[]>(insertNewRun)
    this.#insertOrIgnore = db.prepare<unknown, RunValue[]>(insertNewRun.replace('INSERT', 'INSERT OR IGNORE'))
    this.#newestSeq = db.prepare<{ seq: number }, []>(`SELECT seq FROM sqlite_sequence WHERE name = 'runs'`)
  }

  #task(taskId: number): DumpedTask {
    const task = this.#tasks.find(taskId)
    // A purge has removed it since it was looked up.
    if (task === undefined) throw new CubbyError('task_not_found', 'The task has been deleted.')
    return task
  }

  #find(taskId: number, id: string): Run | undefined {
    const row = this.#db.one<RunRow>(runById, taskId, id)
    return row && toRun(row)
  }

  /** A run that is no longer kept does not exist. */
  #findKept({ tableId, declaration }: DumpedTask, id: string, nowMs: number): Run | undefined {
    const run = this.#find(tableId, id)
    return run !== undefined && isKept(run, declaration.keepSeconds, nowMs) ? run : undefined
  }

  isQueued(taskId: number, key: string | null): boolean {
    return key !== null && this.#isQueued.get(taskId, key) !== null
  }

  isRunning(taskId: number, key: string | null): boolean {
    return key !== null && this.#isRunning.get(taskId, key) !== null
  }

  insert(taskId: number, run: NewRun, nowMs: number): Run {
    const created = this.#create(taskId, run, nowMs)
    this.#insert.run(...newRunValues(created))
    return created
  }

  #create(taskId: number, run: NewRun, nowMs: number): Run {
    const seq = 1 + (this.#newestSeq.get()?.seq ?? 0)
    return createRun(seq, taskId, run, this.isRunning(taskId, run.key), nowMs)
  }

  /** Writes a run over its row. */
  replace(before: Run, run: Run): Run {
    this.#db.change(updateRun, ...runValues(run))
    moveLease(this.#db, before, run)
    if (before.status === 'running' && run.status !== 'running') this.release(run.taskId, run.key, run.updatedAtMs)
    return run
  }

  /** Call it when the running run of the key has ended: one that waited behind it can start. */
  release(taskId: number, key: string | null, nowMs: number): void {
    const row = key === null ? null : this.#queued.get(taskId, key)
    if (row === null) return
    const run = readRun(row)
    if (run === undefined) failDamaged(this.#db, row.seq, nowMs)
    else if (run.held) this.replace(run, { ...run, held: false })
  }

  add(taskId: number, run: NewRun, nowMs: number): AddResult {
    const { declaration } = this.#task(taskId)
    if (run.key !== null) return this.addOfKey(taskId, { ...run, key: run.key }, nowMs)
    if (run.isNamed) {
      const present = this.#find(taskId, run.id)
      if (present !== undefined && isKept(present, declaration.keepSeconds, nowMs))
        return present.payload === run.payload ? { run: present, created: false } : { refused: 'exists', run: present }
      if (present !== undefined) this.#db.change('DELETE FROM runs WHERE seq = ?1', present.seq)
    }
    return { run: this.insert(taskId, run, nowMs), created: true }
  }

  addOfKey(taskId: number, run: NewRun & { key: string }, nowMs: number): { run: Run; created: boolean } {
    // Most runs of keys are new, or most are merged: each is taken to be as the one before. It saves the look for a queued one.
    if (this.#isNew) {
      const created = this.#create(taskId, run, nowMs)
      if (this.#insertOrIgnore.run(...newRunValues(created)).changes > 0) return { run: created, created: true }
    }
    const queued = this.#queued.get(taskId, run.key)
    this.#isNew = queued === null
    const before = queued === null ? undefined : readRun(queued)
    if (before !== undefined) return { run: this.replace(before, mergeRun(before, run, nowMs)), created: false }
    // A damaged run does not prevent another of its key from being added.
    if (queued !== null) failDamaged(this.#db, queued.seq, nowMs)
    return { run: this.insert(taskId, run, nowMs), created: true }
  }

  claim(taskId: number, options: ClaimOptions, nowMs: number): Run[] {
    const { declaration } = this.#task(taskId)
    if (declaration.url !== null) throw pushedTask()
    return declaration.paused ? [] : this.#startRuns(taskId, declaration, options, nowMs)
  }

  claimPushes(taskId: number, limit: number, nowMs: number): Pushes | undefined {
    const task = this.#tasks.find(taskId)
    if (task === undefined) return undefined
    const { declaration, secrets } = task
    const pushes = declaration.url !== null && !declaration.paused
    const runs = pushes ? this.#startRuns(taskId, declaration, { limit, leaseMs: undefined }, nowMs) : []
    return { runs, declaration, secrets: signingSecrets(secrets, nowMs) }
  }

  /** Starts attempts by runAt, then seq. Only runs that are due and not held are read. */
  #startRuns(
    taskId: number,
    declaration: DumpedTask['declaration'],
    { limit, leaseMs = declaration.leaseSeconds * 1000 }: ClaimOptions,
    nowMs: number,
  ): Run[] {
    const { concurrency } = declaration
    const rowsMax =
      concurrency === null
        ? limit
        : Math.min(limit, concurrency - this.#db.one<{ n: number }>(countRunning, taskId, concurrency)!.n)
    if (rowsMax <= 0) return []
    const due: { seq: number; run: Run | undefined }[] = []
    let bytes = 0
    for (const seq of this.#dueSeqs(taskId, nowMs, rowsMax)) {
      if (isUnreadable(seq)) continue
      // The row is read by its number alone: where the index and the row differ, a row that was found by the index would have
      // values of both.
      const row = readOrNote(seq, () => this.#db.one<RunRow>(runBySeq, seq))
      const run = row && readRun(row)
      if (row === undefined) continue
      if (run !== undefined && !isDue(run, taskId, nowMs)) continue
      bytes += Buffer.byteLength(run?.payload ?? '')
      if (due.length > 0 && bytes > claimBytesMax) break
      due.push({ seq, run })
      this.claimedBytes += claimedRowBytes + (run?.payload.length ?? 0)
      if (due.length === rowsMax) break
    }
    const seqOf = ({ seq }: (typeof due)[number]): number => seq
    return onEach(this.#db, due, seqOf, ({ seq, run }) => {
      // A damaged run is never started, and must not block the others.
      if (run !== undefined) return this.replace(run, startAttempt(run, newLease(), leaseMs, nowMs))
      failDamaged(this.#db, seq, nowMs)
      return undefined
    }).filter((run) => run !== undefined)
  }

  /** The numbers of due runs. More than `rowsMax` are read only if some of the first were left out. */
  *#dueSeqs(taskId: number, nowMs: number, rowsMax: number): Iterable<number> {
    const read = (limit: number) => this.#db.all<{ seq: number }>(dueRuns, taskId, nowMs, limit)
    const first = read(rowsMax)
    for (const { seq } of first) yield seq
    if (first.length < rowsMax) return
    for (const { seq } of read(rowsMax + unreadableDueMax).slice(rowsMax)) yield seq
  }

  /** Applies a change to a run that is still kept, unless the change is refused or was made before. */
  change(
    taskId: number,
    id: string,
    nowMs: number,
    changeOf: (run: Run | undefined, task: DumpedTask) => RunChange,
  ): RunChange {
    const task = this.#task(taskId)
    const run = this.#findKept(task, id, nowMs)
    const change = changeOf(run, task)
    if (!('refused' in change) && change.isRepeated !== true) this.replace(run!, change.run)
    return change
  }

  /** `isOnce`: a repeated finish is refused too. */
  finish(taskId: number, id: string, finish: Finish, isOnce: boolean, nowMs: number): RunChange {
    return this.change(taskId, id, nowMs, (run, { declaration }) => {
      const keyIsQueued = run !== undefined && this.isQueued(taskId, run.key)
      return finishRun(run, finish, isOnce, declaration, keyIsQueued, Math.random(), nowMs)
    })
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
    runs.change(taskId, id, nowMs, (run, { declaration }) => extendRun(run, extension, declaration, nowMs)),
  finishRun: ({ runs }: Writers, { taskId, id, finish, nowMs }: OfAttempt & { finish: Finish }) =>
    runs.finish(taskId, id, finish, false, nowMs),
  cancelRun: ({ runs }: Writers, { fence, id, nowMs }: OfTask & { id: string }) =>
    runs.change(fence.tableId!, id, nowMs, (run) => cancelRun(run, nowMs)),
  retryRun: ({ runs }: Writers, { fence, id, nowMs }: OfTask & { id: string }) => {
    const taskId = fence.tableId!
    return runs.change(taskId, id, nowMs, (run) => {
      const key = run?.key ?? null
      return retryRun(run, runs.isQueued(taskId, key), runs.isRunning(taskId, key), nowMs)
    })
  },
  /** Undefined if the task was deleted. It takes the turn of its organization. */
  claimPushes: (
    { registry, runs }: Writers,
    { taskId, limit, nowMs }: { orgId: number; taskId: number; limit: number; nowMs: number },
  ) => (registry.tableIsActive(taskId) ? runs.claimPushes(taskId, limit, nowMs) : undefined),
}
