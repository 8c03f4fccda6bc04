import { type Finish, isKept, type NewRun, type Run } from '../../../core/tasks/run.ts'
import { createRun, finishRun, mergeRun, type RunChange } from '../../../core/tasks/transitions.ts'
import type { AddResult } from '../../../store/runs.ts'
import { toBytes } from '../connection/bytes.ts'
import { type BoundStatement, bind, type Row } from '../connection/driver.ts'
import { drawIds } from '../records/statements.ts'
import { changedValues, runValues, toRun } from './run-rows.ts'
import type { Decision, LockedTask } from './run-transaction.ts'
import * as sql from './statements.ts'

// The locks and writes of the changes that single requests and batches make.

/** Writes a run over its row. If it stopped running, a run of its key that waited behind it can start. */
export const replaceStatements = (before: Run, run: Run): BoundStatement[] => {
  const write = bind(sql.changeRun, ...changedValues(run))
  const ended = before.status === 'running' && run.status !== 'running'
  if (!ended || run.key === null || run.status === 'queued') return [write]
  return [write, bind(sql.releaseKey, run.taskId, toBytes(run.key))]
}

/**
 * Adds `holdKey` to the write of a run that was just queued. A run that is `held` needs none: the running run of its key is
 * locked.
 */
const queueStatements = (write: BoundStatement, { taskId, key, held }: Run): BoundStatement[] =>
  key === null || held ? [write] : [write, bind(sql.holdKey, taskId, toBytes(key))]

export const insertStatements = (run: Run): BoundStatement[] =>
  queueStatements(bind(sql.insertRun, ...runValues(run)), run)

export const requeueStatements = (_before: Run, run: Run): BoundStatement[] =>
  queueStatements(bind(sql.changeRun, ...changedValues(run)), run)

export const keyLocks = (taskId: number, key: string): BoundStatement[] => [
  bind(sql.lockRunningOfKey, taskId, toBytes(key)),
  bind(sql.lockQueuedOfKey, taskId, toBytes(key)),
]

// ── Add ────────────────────────────────────────────────────────────────────────────────────────────────────

export const addLocks = (taskId: number, { id, key }: NewRun): BoundStatement[] => [
  ...(key === null ? [bind(sql.lockRun, taskId, id)] : keyLocks(taskId, key)),
  bind(drawIds),
]

export const decideAdd = (found: Row[][], task: LockedTask, run: NewRun): Decision<AddResult> => {
  const { tableId, declaration, nowMs } = task
  const seq = Number(found.at(-1)![0]![0])
  if (run.key !== null) {
    const [running, [queued]] = found as [Row[], Row[]]
    if (queued !== undefined) {
      const merged = mergeRun(toRun(queued), run, nowMs)
      const write = bind(sql.mergeRun, tableId, merged.id, merged.payload, merged.runAtMs, merged.updatedAtMs)
      return { outcome: { run: merged, created: false }, writes: [write] }
    }
    const created = createRun(seq, tableId, run, running.length > 0, nowMs)
    return { outcome: { run: created, created: true }, writes: insertStatements(created) }
  }
  const present = found[0]![0] && toRun(found[0]![0])
  if (present !== undefined && isKept(present, declaration.keepSeconds, nowMs)) {
    const isSame = run.isNamed && present.payload === run.payload
    return { outcome: isSame ? { run: present, created: false } : { refused: 'exists', run: present }, writes: [] }
  }
  const created = createRun(seq, tableId, run, false, nowMs)
  const writes = insertStatements(created)
  // A run that is no longer kept does not exist.
  if (present !== undefined) writes.unshift(bind(sql.removeRun, tableId, run.id))
  return { outcome: { run: created, created: true }, writes }
}

// ── Finish ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A success need not know whether a run of its key is queued. */
export const finishLocks = (taskId: number, id: string, finish: Finish): BoundStatement[] => [
  bind(sql.lockRun, taskId, id),
  ...('error' in finish ? [bind(sql.lockQueuedOfSameKey, taskId, id)] : []),
]

/** `isOnce` refuses a repeated finish too. */
export const decideFinish = (
  [found, queued = []]: Row[][],
  task: LockedTask,
  finish: Finish,
  isOnce: boolean,
): Decision<RunChange> => {
  const { declaration, nowMs } = task
  const run = keptRun(found!, task)
  return decide(run, finishRun(run, finish, isOnce, declaration, queued.length > 0, Math.random(), nowMs))
}

/** Writes a change over the run `before`, unless the change was refused or is a repetition. */
export const decide = (
  before: Run | undefined,
  change: RunChange,
  statementsOf: (before: Run, run: Run) => BoundStatement[] = replaceStatements,
): Decision<RunChange> => ({
  outcome: change,
  writes: 'refused' in change || change.isRepeated === true ? [] : statementsOf(before!, change.run),
})

/** Returns the run in the row, if it exists and is kept. */
export const keptRun = ([row]: Row[], { declaration, nowMs }: LockedTask): Run | undefined => {
  const run = row && toRun(row)
  return run !== undefined && isKept(run, declaration.keepSeconds, nowMs) ? run : undefined
}
