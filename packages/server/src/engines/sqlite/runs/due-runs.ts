import { leaseSecondsMax, sweepGraceMs } from '../../../core/limits.ts'
import { newRunId } from '../../../core/tasks/run-id.ts'
import { clockErrorMs, nextAfterServed, scheduleKey } from '../../../core/tasks/schedule.ts'
import { expireAttempt, wakeRun } from '../../../core/tasks/transitions.ts'
import type { RunReference } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import type { TaskWrites } from '../tasks/task-writes.ts'
import {
  dueSchedules,
  expiredLeases,
  leasesAhead,
  runsFromAhead,
  runsToSweep,
  schedulesAhead,
} from './look-statements.ts'
import { type RunRow, readRun, runColumns } from './run-rows.ts'
import type { RunWrites } from './run-writes.ts'

// What time does to runs, in steps: each is one command of the background, in the transaction that is open on `db`.

/** A lease is never this far ahead, unless the clock was set back after it was given. */
const leaseMsMax = leaseSecondsMax * 1000

export const expireLeases = (
  db: Connection,
  tasks: TaskWrites,
  runs: RunWrites,
  nowMs: number,
  rowsMax: number,
): RunReference[] => {
  const seqs = (sql: string, bound: number): number[] =>
    db
      .prepare<{ seq: number }, [number, number]>(sql)
      .all(bound, rowsMax)
      .map(({ seq }) => seq)
  const find = db.prepare<RunRow, [number]>(`SELECT ${runColumns} FROM runs WHERE seq = ?1`)
  const references: RunReference[] = []
  for (const seq of seqs(expiredLeases, nowMs)) {
    const row = find.get(seq)!
    const run = readRun(row)
    const task = tasks.find(row.task_id)
    // Damage, which verify reports. It must not come back in every step.
    if (run === undefined || task === undefined) {
      db.prepare<unknown, [number]>(
        `UPDATE runs SET status = 'failed', lease = NULL, lease_until = NULL, finished_at = updated_at WHERE seq = ?1`,
      ).run(row.seq)
      runs.release(row.task_id, row.key)
      continue
    }
    runs.replace(run, expireAttempt(run, task.declaration, runs.isQueued(run.taskId, run.key), Math.random(), nowMs))
    references.push({ taskId: run.taskId, id: run.id })
  }
  for (const seq of seqs(leasesAhead, nowMs + leaseMsMax)) {
    const leaseSeconds = tasks.find(find.get(seq)!.task_id)?.declaration.leaseSeconds ?? leaseSecondsMax
    db.prepare<unknown, [number, number]>('UPDATE runs SET lease_until = ?2 WHERE seq = ?1').run(
      seq,
      nowMs + leaseSeconds * 1000,
    )
  }
  return references
}

/** The clock was set back: see `wakeRun`. */
export const wakeRuns = (db: Connection, runs: RunWrites, nowMs: number, rowsMax: number): void => {
  const sql = `SELECT ${runColumns} FROM runs WHERE seq IN (${runsFromAhead})`
  const rows = db.prepare<RunRow, [number, number]>(sql).all(nowMs, rowsMax)
  for (const run of rows.map(readRun)) {
    const woken = run && wakeRun(run, nowMs)
    if (woken !== undefined) runs.replace(run!, woken)
  }
}

export const fireSchedules = (
  db: Connection,
  tasks: TaskWrites,
  runs: RunWrites,
  nowMs: number,
  rowsMax: number,
): { due: number; created: RunReference[] } => {
  const find = (sql: string, bound: number): number[] =>
    db
      .prepare<{ id: number }, [number, number]>(sql)
      .all(bound, rowsMax)
      .map(({ id }) => id)
  const due = find(dueSchedules, nowMs)
  const created: RunReference[] = []
  for (const taskId of due) {
    const task = tasks.find(taskId)!
    const { schedule } = task.declaration
    if (schedule !== null && !runs.isQueued(taskId, scheduleKey)) {
      const at = { runAtMs: task.nextRunAtMs! }
      const run = { id: newRunId(), isNamed: false, key: scheduleKey, payload: schedule.payload, at }
      created.push({ taskId, id: runs.insert(taskId, run, nowMs).id })
    }
    tasks.put({ ...task, servedAtMs: nowMs, nextRunAtMs: schedule && nextAfterServed(schedule, nowMs, nowMs) })
  }
  for (const taskId of find(schedulesAhead, nowMs + clockErrorMs)) {
    const task = tasks.find(taskId)!
    const { schedule } = task.declaration
    tasks.put({ ...task, servedAtMs: null, nextRunAtMs: schedule && nextAfterServed(schedule, task.servedAtMs, nowMs) })
  }
  return { due: due.length, created }
}

export const sweepFinished = (db: Connection, nowMs: number, rowsMax: number): number =>
  db
    .prepare<unknown, [number, number]>(`DELETE FROM runs WHERE seq IN (${runsToSweep})`)
    .run(nowMs - sweepGraceMs, rowsMax).changes
