import type { RunStatus } from '../../../core/tasks/run.ts'
import type { Caller } from '../../../store/api-keys.ts'
import {
  type AddResult,
  type Batch,
  type BatchedChange,
  type BatchResult,
  changeOf,
  type RunChange,
  type TaskOperation,
} from '../../../store/runs.ts'
import type { OpenLogs, TableLogs } from '../changes/table-logs.ts'
import { bytesArray, textArray } from '../connection/arrays.ts'
import { type Database, holderOf, type Transaction } from '../connection/database.ts'
import { type BoundStatement, bind } from '../connection/driver.ts'
import { isRaised, unavailable } from '../connection/failure.ts'
import { decideWrite, mustDecide } from '../records/record-patches.ts'
import {
  batchStatements,
  type Change,
  decidedStatements,
  type RecordWrites,
  raceAttemptsMax,
} from '../records/record-writes.ts'
import { guardBatch, guardLogged } from '../records/statements.ts'
import { isLogged, LogBegun } from '../records/write-guard.ts'
import { commitOnce, type PostgresIdempotencyKeys } from '../registry/idempotency-keys.ts'
import { type Clock, lockForBatch } from '../tasks/statements.ts'
import { addLocks, decideAdd, decideFinish, finishLocks } from './run-changes.ts'
import { type Decision, requireTask, retryDuplicates, stateStatement, toLockedTask } from './run-transaction.ts'
import * as sql from './statements.ts'

/** Writes records and runs in one transaction: a round trip for each run or finish, and one for the records and the commit. */
export class BatchWrites {
  readonly #db: Database
  readonly #records: RecordWrites
  readonly #clock: Clock
  readonly #keys: PostgresIdempotencyKeys
  readonly #logs: TableLogs

  constructor(db: Database, records: RecordWrites, clock: Clock, keys: PostgresIdempotencyKeys, logs: TableLogs) {
    this.#keys = keys
    this.#logs = logs
    this.#db = db
    this.#records = records
    this.#clock = clock
  }

  async apply(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult> {
    try {
      return await this.#applyOnce(caller, batch, nowMs)
    } catch (error) {
      if (!(error instanceof LogBegun)) throw error
      const { table } = error
      const parts = batch.parts.map((part) => (part.table.id === table.id ? { ...part, table } : part))
      return this.apply(caller, { ...batch, parts }, nowMs)
    }
  }

  async #applyOnce(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult> {
    return this.#keys.run(caller, () =>
      this.#records.patchTurns.run(caller.orgId, batch.parts, () => this.#apply(caller, batch, nowMs)),
    )
  }

  async #apply(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult> {
    const { parts } = batch
    for (let attempt = 1; attempt <= raceAttemptsMax; attempt++) {
      try {
        return await retryDuplicates(() => this.#attempt(caller, batch, nowMs))
      } catch (error) {
        if (!isRaised(error)) throw error
      }
      for (const [failedPart, { table, records }] of parts.entries()) {
        const refusal = await this.#records.findRefusal(caller, table, records, nowMs)
        if (refusal === undefined) continue
        return { applied: false, failedPart, failedRecord: refusal.failedOperation, current: refusal.current }
      }
      // Another write made the condition true in between: retry.
    }
    throw unavailable('The records kept changing.')
  }

  #attempt(caller: Caller, batch: Batch, nowMs: number): Promise<BatchResult> {
    const logged = [...new Set(batch.parts.flatMap(({ table }) => (isLogged(table) ? [table.id] : [])))]
    const holder = holderOf(caller)
    return logged.length === 0
      ? this.#db.transaction(holder, (transaction) => this.#write(transaction, caller, batch, nowMs))
      : this.#logs.run(holder, logged, nowMs, (transaction, logs) =>
          this.#write(transaction, caller, batch, nowMs, logs),
        )
  }

  /** With `logs`, what the counted writes bring along: their counters are locked before all else. */
  async #write(
    transaction: Transaction,
    caller: Caller,
    { parts, tasks }: Batch,
    nowMs: number,
    logs?: OpenLogs,
  ): Promise<BatchResult> {
    const at = this.#clock(nowMs)
    const { send } = transaction
    logs?.takeLocks(await send(...logs.locks))
    logs?.leaveOut(tasks.flatMap(({ op, task }) => (op === 'finish' ? [task.id] : [])))
    const following = logs === undefined ? [] : parts.flatMap((part) => followingKeys(logs, part))
    if (tasks.length > 1 || (tasks.length > 0 && following.length > 0)) await lockInOrder(send, tasks, following)
    const runIds: string[] = []
    const changes: BatchedChange[] = []
    /** The writes of the operations so far. They are sent with the locks of the next one. */
    let writes: BoundStatement[] = []
    for (const [i, operation] of tasks.entries()) {
      const locks = locksOf(operation)
      const results = await send(...writes, ...locks, stateStatement(operation.task.id, caller, at))
      const found = results.slice(writes.length).map(({ rows }) => rows)
      const isFinish = operation.op === 'finish'
      const task = requireTask(operation.task, toLockedTask(found.pop()!), isFinish)
      const decision: Decision<AddResult | RunChange> = isFinish
        ? decideFinish(found, task, operation.finish, true)
        : decideAdd(found, task, operation.run)
      if ('refused' in decision.outcome) return { applied: false, failedTask: i, refused: reasonOf(decision.outcome) }
      runIds.push(decision.outcome.run.id)
      changes.push(changeOf(decision.outcome))
      writes = decision.writes
    }
    const result: BatchResult = { applied: true, runIds, changes }
    const guards = parts.map(({ table }) =>
      bind(isLogged(table) ? guardLogged : guardBatch, table.id, caller.apiKey?.seq ?? null),
    )
    if (logs === undefined && parts.length < 2 && !parts.some(({ records }) => mustDecide(records))) {
      const bound = parts.flatMap(({ table, records }) => batchStatements(table, records as Change[], nowMs).bound)
      return commitOnce(transaction, caller, nowMs, [...writes, ...guards, ...bound], () => result)
    }
    const decided = await decideWrite(send, [...writes, ...guards], parts, nowMs, this.#records.patchTurns)
    if (!Array.isArray(decided)) {
      const { failedPart, failedOperation: failedRecord, current } = decided
      return { applied: false, failedPart, failedRecord, current }
    }
    const { bound, readChanges } = decidedStatements(decided, nowMs, logs)
    if (logs === undefined) return commitOnce(transaction, caller, nowMs, [...guards, ...bound], () => result)
    const answers = (await send(...guards, ...bound)).slice(guards.length)
    for (const [i, { table }] of parts.entries()) if (isLogged(table)) logs.append(table.id, readChanges(answers, i))
    return commitOnce(transaction, caller, nowMs, logs.statements, () => result)
  }
}

const locksOf = (operation: TaskOperation): BoundStatement[] =>
  operation.op === 'run'
    ? addLocks(operation.task.id, operation.run)
    : finishLocks(operation.task.id, operation.id, operation.finish)

/** The keys of the runs that a part may add to the tasks that follow its table. */
const followingKeys = (
  logs: OpenLogs,
  { table, records }: Batch['parts'][number],
): [taskId: number, keys: string[]][] =>
  isLogged(table)
    ? logs.runKeysOf(
        table.id,
        records.filter(({ op }) => op !== 'check'),
      )
    : []

/**
 * All processes lock the runs of a batch in the same order, so that no two of them deadlock: first those that are named or
 * running, then those that are queued, as single changes do it too, and of each kind by task and id. Those of followers are
 * among them: the records are written last. The operations are applied as they stand in the batch. A new run of a key has no row
 * yet that could be locked: such batches of one task come one after another, as the writes of a followed table do.
 */
const lockInOrder = async (
  send: Transaction['send'],
  tasks: TaskOperation[],
  following: [taskId: number, keys: string[]][],
): Promise<void> => {
  const taskIds = new Set([...tasks.map(({ task }) => task.id), ...following.map(([taskId]) => taskId)])
  const ofTasks = [...taskIds]
    .sort((a, b) => a - b)
    .map((taskId) => {
      const operations = tasks.filter(({ task }) => task.id === taskId)
      const runs = operations.flatMap((operation) => (operation.op === 'run' ? [operation.run] : []))
      const finished = operations.flatMap((operation) => (operation.op === 'run' ? [] : [operation.id]))
      const named = [...runs.flatMap(({ id, key }) => (key === null ? [id] : [])), ...finished]
      const keys = runs.flatMap(({ key }) => (key === null ? [] : [key]))
      const followed = following.flatMap(([id, ofRecords]) => (id === taskId ? ofRecords : []))
      return {
        taskId,
        named: textArray(named),
        finished: textArray(finished),
        keys: bytesArray([...keys, ...followed]),
        hasKeys: keys.length > 0,
      }
    })
  await send(
    ...ofTasks.flatMap(({ taskId, hasKeys }) => (hasKeys ? [bind(lockForBatch, taskId)] : [])),
    ...ofTasks.map(({ taskId, named, keys }) => bind(sql.lockNamedAndRunning, taskId, named, keys)),
    ...ofTasks.map(({ taskId, finished, keys }) => bind(sql.lockQueuedBehind, taskId, finished, keys)),
  )
}

const reasonOf = (answer: { refused: string; run?: { status: RunStatus } }): 'exists' | 'missing' | 'lease_lost' => {
  const { refused } = answer
  if (refused === 'exists' || refused === 'missing' || refused === 'lease_lost') return refused
  throw new Error(`a batch was refused as ${refused}`)
}
