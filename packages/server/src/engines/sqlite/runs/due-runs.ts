import { leaseSecondsMax, sweepGraceMs } from '../../../core/limits.ts'
import { newRunId } from '../../../core/tasks/run-id.ts'
import { nextAfterServed, scheduleKey } from '../../../core/tasks/schedule.ts'
import { expireAttempt } from '../../../core/tasks/transitions.ts'
import type { RunReference } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import type { TaskWrites } from '../tasks/task-writes.ts'
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
  const expired = db
    .prepare<RunRow, [number, number]>(
      `SELECT ${runColumns} FROM runs WHERE status = 'running' AND lease_until <= ?1 ORDER BY lease_until LIMIT ?2`,
    )
    .all(nowMs, rowsMax)
  const references: RunReference[] = []
  for (const row of expired) {
    const run = readRun(row)
    const task = tasks.find(row.task_id)
    // Damage, which verify reports. It must not come back in every step.
    if (run === undefined || task === undefined) {
      db.prepare<unknown, [number]>(
        `UPDATE runs SET status = 'failed', lease = NULL, lease_until = NULL, finished_at = updated_at WHERE seq = ?1`,
      ).run(row.seq)
      continue
    }
    runs.replace(run, expireAttempt(run, task.declaration, runs.isQueued(run.taskId, run.key), Math.random(), nowMs))
    references.push({ taskId: run.taskId, id: run.id })
  }
  const ahead = db
    .prepare<{ seq: number; task_id: number }, [number, number]>(
      `SELECT seq, task_id FROM runs WHERE status = 'running' AND lease_until > ?1 LIMIT ?2`,
    )
    .all(nowMs + leaseMsMax, rowsMax)
  for (const { seq, task_id } of ahead) {
    const leaseSeconds = tasks.find(task_id)?.declaration.leaseSeconds ?? leaseSecondsMax
    db.prepare<unknown, [number, number]>('UPDATE runs SET lease_until = ?2 WHERE seq = ?1').run(
      seq,
      nowMs + leaseSeconds * 1000,
    )
  }
  return references
}

/** More than this ahead of the clock, `served_at` was written by a clock that was wrong. */
export const clockErrorMs = 60 * 60 * 1000

export const fireSchedules = (
  db: Connection,
  tasks: TaskWrites,
  runs: RunWrites,
  nowMs: number,
  rowsMax: number,
): { due: number; created: RunReference[] } => {
  const find = (where: string): number[] =>
    db
      .prepare<{ id: number }, [number, number]>(
        `SELECT table_id AS id FROM tasks WHERE ${where} ORDER BY next_run_at LIMIT ?2`,
      )
      .all(where.startsWith('served_at') ? nowMs + clockErrorMs : nowMs, rowsMax)
      .map(({ id }) => id)
  const due = find('next_run_at <= ?1')
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
  for (const taskId of find('served_at > ?1 AND next_run_at IS NOT NULL')) {
    const task = tasks.find(taskId)!
    const { schedule } = task.declaration
    tasks.put({ ...task, servedAtMs: null, nextRunAtMs: schedule && nextAfterServed(schedule, task.servedAtMs, nowMs) })
  }
  return { due: due.length, created }
}

/** `updated_at` of a finished run is never before `finished_at`, and it is what the index has. */
export const sweepFinished = (db: Connection, nowMs: number, rowsMax: number): number =>
  db
    .prepare<unknown, [number, number]>(
      `DELETE FROM runs WHERE seq IN (
         SELECT r.seq FROM tasks t CROSS JOIN runs r INDEXED BY runs_by_status
           ON r.task_id = t.table_id AND r.status IN ('succeeded', 'failed', 'cancelled')
             AND r.updated_at <= ?1 - 1000 * t.keep_seconds
         LIMIT ?2)`,
    )
    .run(nowMs - sweepGraceMs, rowsMax).changes
