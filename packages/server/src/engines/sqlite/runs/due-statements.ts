import { isFinished, runStatuses } from '../../../core/tasks/run.ts'
import { clockErrorMs, scheduleKey } from '../../../core/tasks/schedule.ts'

// These statements run again and again while nothing may be due. Each is a seek in an index of waiting rows only, however many
// runs are finished or lie in the future. A test reads their plans.

/** ?1 task, ?2 now, ?3 rows. */
const due = `FROM runs WHERE task_id = ?1 AND held = 0 AND status = 'queued' AND run_at <= ?2 ORDER BY run_at, seq LIMIT ?3`

/** Reads only the index. */
export const dueRuns = `SELECT seq ${due}`

/** ?1 task, ?2 the most that matters. */
export const countRunning = `SELECT count(*) AS n FROM (
  SELECT 1 FROM runs WHERE task_id = ?1 AND status = 'running' LIMIT ?2)`

/**
 * ?1 task, ?2 finished runs count if they changed after this, ?3 the most that is counted of each status. From the index alone.
 */
export const countByStatus = `SELECT ${runStatuses
  .map((status) => {
    const kept = isFinished({ status }) ? 'AND updated_at > ?2' : ''
    return `(SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_by_status
      WHERE task_id = ?1 AND status = '${status}' ${kept} LIMIT ?3)) AS ${status}`
  })
  .join(', ')}`

/** ?1 task, ?2 whether its key holds it back. */
export const firstQueued = `SELECT min(run_at) AS at FROM runs WHERE task_id = ?1 AND held = ?2 AND status = 'queued'`

const lengths = 'octet_length(r.payload) + coalesce(octet_length(r.result), 0)'

/** ?1 now, ?2 rows. Returns `Due`. */
export const expiredLeases = `SELECT r.seq AS id, coalesce(k.org_id, 0) AS orgId, ${lengths} AS bytes
  FROM runs r LEFT JOIN tasks k ON k.table_id = r.task_id
  WHERE r.status = 'running' AND r.lease_until <= ?1 ORDER BY r.lease_until LIMIT ?2`

/** ?1 organization, ?2 now, ?3 rows. Returns `Due`. */
export const expiredLeasesOf = `SELECT l.seq AS id, l.org_id AS orgId, coalesce(${lengths}, 0) AS bytes
  FROM leases l LEFT JOIN runs r ON r.seq = l.seq
  WHERE l.org_id = ?1 AND l.until <= ?2 ORDER BY l.until LIMIT ?3`

/** ?1 the last time that a lease can have, ?2 rows. */
export const leasesAhead = `SELECT seq FROM runs WHERE status = 'running' AND lease_until > ?1 LIMIT ?2`

const dueSchedule = 'table_id AS id, org_id AS orgId, octet_length(declaration) AS bytes FROM tasks'

/** ?1 now, ?2 rows. Returns `Due`. */
export const dueSchedules = `SELECT ${dueSchedule} WHERE next_run_at <= ?1 ORDER BY next_run_at LIMIT ?2`

/** ?1 organization, ?2 now, ?3 rows. Returns `Due`. */
export const dueSchedulesOf = `SELECT ${dueSchedule}
  WHERE org_id = ?1 AND next_run_at <= ?2 ORDER BY next_run_at LIMIT ?3`

/** ?1 after this organization, ?2 organizations: a seek for each, however many rows it has. */
const organizationsIn = (table: string, where: string, more: string): string => `WITH RECURSIVE o (id) AS (
    SELECT min(org_id) FROM ${table} WHERE org_id > ?1 ${where}
    UNION ALL
    SELECT (SELECT min(org_id) FROM ${table} WHERE org_id > o.id ${where}) FROM o WHERE o.id IS NOT NULL
    LIMIT ?2
  )
  SELECT id${more} FROM o WHERE id IS NOT NULL`

/** ?3 is now. Returns `DueOrganization`: this takes another seek for each. */
const dueOrganizationsIn = (table: string, at: string, where: string): string =>
  organizationsIn(table, where, `, (SELECT min(${at}) FROM ${table} WHERE org_id = o.id ${where}) <= ?3 AS isDue`)

export const scheduledOrganizations = dueOrganizationsIn('tasks', 'next_run_at', 'AND next_run_at IS NOT NULL')

export const leasedOrganizations = dueOrganizationsIn('leases', 'until', '')

export const pushingOrganizations = organizationsIn('tasks', 'AND pushes = 1', '')

/**
 * ?1 a time that no schedule can have been served for, ?2 rows. It reads an entry for each schedule, so not every look runs it.
 */
export const schedulesAhead = `SELECT table_id AS id FROM tasks
  WHERE next_run_at IS NOT NULL AND served_at > ?1 ORDER BY next_run_at LIMIT ?2`

/**
 * ?1 after this task, ?2 tasks, ?3 organization. Returns its tasks that push now, each with the time of its first queued run.
 */
export const firstPushes = `SELECT t.table_id AS id, t.org_id AS orgId,
    (SELECT min(run_at) FROM runs WHERE task_id = t.table_id AND held = 0 AND status = 'queued') AS at
  FROM tasks t WHERE t.pushes = 1 AND t.org_id = ?3 AND t.table_id > ?1 ORDER BY t.table_id LIMIT ?2`

/**
 * ?1 task, ?2 now, ?3 rows. Returns queued runs that were written while the clock was ahead: see `wakeRun`. Not every look runs
 * it.
 */
export const runsFromAhead = `SELECT seq FROM runs INDEXED BY runs_by_status
  WHERE task_id = ?1 AND status = 'queued' AND updated_at > ?2 + ${clockErrorMs}
    AND run_at > ?2 AND (attempt > 0 OR key = CAST('${scheduleKey}' AS BLOB))
  LIMIT ?3`

/** ?1 after this task, ?2 tasks. */
export const allTasks = `SELECT table_id AS id, org_id AS orgId, keep_seconds AS keepSeconds FROM tasks
  WHERE table_id > ?1 ORDER BY table_id LIMIT ?2`

/**
 * ?1 task, ?2 the last version to sweep, ?3 rows. `updated_at` of a finished run is never before `finished_at`, and the index
 * has it.
 */
export const runsToSweep = `SELECT seq FROM runs INDEXED BY runs_by_status
  WHERE task_id = ?1 AND status IN ('succeeded', 'failed', 'cancelled') AND updated_at <= ?2 LIMIT ?3`

/** ?1 task, ?2 id. */
export const runBytes = `SELECT octet_length(payload) + coalesce(octet_length(result), 0) AS bytes FROM runs
  WHERE task_id = ?1 AND id = ?2`
