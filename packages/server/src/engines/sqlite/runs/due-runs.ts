import { leaseSecondsMax } from '../../../core/limits.ts'
import { isFinished } from '../../../core/tasks/run.ts'
import { newRunId } from '../../../core/tasks/run-id.ts'
import { clockErrorMs, nextIfKnown, scheduleKey } from '../../../core/tasks/schedule.ts'
import { expireAttempt, wakeRun } from '../../../core/tasks/transitions.ts'
import type { FiredSchedules, RunReference } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import type { RegistryWrites } from '../registry/registry-writes.ts'
import type { TaskWrites } from '../tasks/task-writes.ts'
import { failDamaged, onEach } from './damaged-runs.ts'
import { leasesAhead } from './due-statements.ts'
import { type RunRow, readRun, runBySeq, runColumns } from './run-rows.ts'
import type { RunWrites } from './run-writes.ts'

// Changes of runs that are due by time. Each step is one command of the background, in the transaction that is open on `db`.

interface Writers {
  db: Connection
  registry: RegistryWrites
  tasks: TaskWrites
  runs: RunWrites
}

/**
 * `seqs`: runs whose leases were found to have expired. `wakes`: queued runs that were found to be from a time ahead.
 * `rowsMax`: the number of leases too far ahead that one step changes.
 */
interface ExpireStep {
  seqs: number[]
  wakes: number[]
  nowMs: number
  rowsMax: number
}

/** `taskIds`: tasks whose schedules were found to be due. `resets`: those that were found to be served too far ahead. */
interface FireStep {
  taskIds: number[]
  resets: number[]
  nowMs: number
}

/** A lease is never this far ahead, unless the clock was set back after it was given. */
const leaseMsMax = leaseSecondsMax * 1000

const itself = (seq: number): number => seq

export const expireLeases = (
  { db, tasks, runs }: Writers,
  { seqs, wakes, nowMs, rowsMax }: ExpireStep,
): RunReference[] => {
  wakeRuns(db, runs, wakes, nowMs)
  const expire = (seq: number): RunReference | undefined => {
    const row = db.one<RunRow>(runBySeq, seq)
    if (row === undefined) return undefined
    const run = readRun(row)
    const task = tasks.find(row.task_id)
    // The row is damaged, which verify reports. It must not come back in every step.
    if (run === undefined || task === undefined) {
      const { taskId, runningKey } = failDamaged(db, seq, nowMs)
      runs.release(taskId, runningKey, nowMs)
      return undefined
    }
    // The run was finished or extended since it was found.
    if (run.status !== 'running' || run.leaseUntilMs! > nowMs) return undefined
    runs.replace(run, expireAttempt(run, task.declaration, runs.isQueued(run.taskId, run.key), Math.random(), nowMs))
    return { taskId: run.taskId, id: run.id }
  }
  const references = onEach(db, seqs, itself, expire).filter((reference) => reference !== undefined)
  const ahead = db.all<{ seq: number }>(leasesAhead, nowMs + leaseMsMax, rowsMax).map(({ seq }) => seq)
  onEach(db, ahead, itself, (seq) => {
    const row = db.one<RunRow>(runBySeq, seq)
    const run = row && readRun(row)
    if (run === undefined) failDamaged(db, seq, nowMs)
    else {
      const leaseSeconds = tasks.find(run.taskId)?.declaration.leaseSeconds ?? leaseSecondsMax
      runs.replace(run, { ...run, leaseUntilMs: nowMs + 1000 * leaseSeconds })
    }
  })
  return references
}

/** The clock was set back: see `wakeRun`. */
const wakeRuns = (db: Connection, runs: RunWrites, seqs: number[], nowMs: number): void => {
  onEach(db, seqs, itself, (seq) => {
    const row = db.one<RunRow>(runBySeq, seq)
    const run = row && readRun(row)
    const woken = run && wakeRun(run, nowMs)
    if (woken !== undefined) runs.replace(run!, woken)
  })
}

export const fireSchedules = (
  { db, registry, tasks, runs }: Writers,
  { taskIds, resets, nowMs }: FireStep,
): Omit<FiredSchedules, 'due'> => {
  const fire = (taskId: number): RunReference | 'unknown' | undefined => {
    const task = tasks.find(taskId)
    // The schedule was served, paused or deleted since it was found.
    if (task === undefined || task.nextRunAtMs === null || task.nextRunAtMs > nowMs) return undefined
    const { schedule } = task.declaration
    const next = nextIfKnown(schedule, nowMs, nowMs)
    if (next === undefined) return 'unknown'
    tasks.setSchedule(taskId, next, nowMs)
    // The times of a deleted organization pass without runs: once it is restored, its schedules go on at their next times.
    if (schedule !== null && registry.tableIsOfActive(taskId) && !runs.isQueued(taskId, scheduleKey)) {
      const at = { runAtMs: task.nextRunAtMs }
      const run = { id: newRunId(), isNamed: false, key: scheduleKey, payload: schedule.payload, at }
      return { taskId, id: runs.insert(taskId, run, nowMs).id }
    }
    return undefined
  }
  // Runs have positive numbers.
  const fired = onEach(db, taskIds, (taskId) => -taskId, fire)
  const created = fired.filter((one) => one !== undefined && one !== 'unknown')
  const unknown = fired.filter((one) => one === 'unknown').length
  for (const id of resets) {
    const task = tasks.find(id)
    // The schedule was served, paused or deleted since it was found.
    if (task?.nextRunAtMs == null || task.servedAtMs === null || task.servedAtMs <= nowMs + clockErrorMs) continue
    const next = nextIfKnown(task.declaration.schedule, task.servedAtMs, nowMs)
    if (next !== undefined) tasks.setSchedule(id, next, null)
  }
  return { created, ...(unknown > 0 && { unknown }) }
}

/**
 * `seqs`: runs that were found to be finished for long. A run that was retried since has another version. A damaged run stays:
 * its times cannot be trusted, and its reader must learn of the damage.
 */
export const sweepRuns = (
  { db }: Pick<Writers, 'db'>,
  { seqs, before }: { seqs: number[]; before: number },
): number => {
  const find = `SELECT ${runColumns}, (SELECT keep_seconds FROM tasks WHERE table_id = task_id) AS keepSeconds
    FROM runs WHERE seq = ?1`
  const isOver = (seq: number): boolean => {
    const row = db.one<RunRow & { keepSeconds: number | null }>(find, seq)
    const run = row && readRun(row)
    return run !== undefined && isFinished(run) && run.updatedAtMs + 1000 * (row!.keepSeconds ?? 0) <= before
  }
  const removed = onEach(db, seqs, itself, (seq) =>
    isOver(seq) ? db.change('DELETE FROM runs WHERE seq = ?1', seq) : 0,
  )
  return removed.reduce((count, changes) => count + changes, 0)
}
