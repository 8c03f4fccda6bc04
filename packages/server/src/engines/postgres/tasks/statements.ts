import type { Statement } from '../connection/driver.ts'
import { keyIsActive, organizationIsActive, tableIsActive } from '../records/statements.ts'
import { named } from '../registry/rows.ts'
import { follows, storedTaskColumns, storedTaskParameters, taskColumns } from './task-rows.ts'

// These statements on declarations of tasks are part of the registry: none of them names runs.

/** Returns null for the time of the database. Only tests give another time. */
export type Clock = (nowMs: number) => number | null

const clock = (of: string): string => `floor(extract(epoch from ${of}) * 1000)::bigint`

/**
 * The database's clock, unless a test gives the time as a value. `statement_timestamp` does not change during a statement, so
 * it can be the bound of an index.
 */
export const statementNow = (parameter: number): string =>
  `coalesce($${parameter}::bigint, ${clock('statement_timestamp()')})`

/** See `scheduledOrganizations`. */
export function nextOrganizations(table: string, at: string, where: string): string {
  const next = (after: string): string => `select k.org_id, k.${at} as due_at from ${table} as k
    where ${where} and k.org_id > ${after} order by k.org_id, k.${at} limit 1`
  return `with recursive o (org_id, due_at) as (
      (${next('$3::bigint')})
      union all
      select n.org_id, n.due_at from o cross join lateral (${next('o.org_id')}) as n
    )
    select o.org_id, o.due_at <= ${statementNow(1)} from o limit $2::bigint`
}

const realNow = (parameter: number): string => `coalesce($${parameter}::bigint, ${clock('clock_timestamp()')})`

/** $1 the time of a test. */
export const readClock: Statement = { name: 'task_clock', text: `select ${realNow(1)}` }

/**
 * $1 task, $2 the caller's API key, $3 the time of a test. A write of runs reads this after it has locked them: whether task
 * and key are active, the time, whether the organization is active, the declaration. No row means that the task was purged.
 */
export const taskState: Statement = {
  name: 'task_state',
  text: `select ${taskColumns}, ${tableIsActive}, ${keyIsActive(2)}, ${realNow(3)}, ${organizationIsActive}
    from cubby_task_8 k where k.table_id = $1::bigint`,
}

/**
 * Claims of a task with a limit run one after another, so that the running ones can be counted. A task without a limit has
 * no row here, and nobody waits.
 */
export const lockLimit: Statement = {
  name: 'task_lock_limit',
  text: 'select 1 from cubby_task_8 k where k.table_id = $1::bigint and k.concurrency is not null for update',
}

/** A batch takes this lock before it locks any run. */
export const lockForBatch: Statement = {
  name: 'task_lock_for_batch',
  text: 'select 1 from cubby_task_8 k where k.table_id = $1::bigint for update',
}

/** $1 the task, $2 the time of a test. */
export const readKeep: Statement = {
  name: 'task_keep',
  text: `select k.keep_seconds, ${realNow(2)} from cubby_task_8 k where k.table_id = $1::bigint`,
}

/** $1 ids. */
export const readTasks: Statement = {
  name: 'tasks_read',
  text: `select ${taskColumns} from cubby_task_8 k where k.table_id = any ($1::bigint[])`,
}

/** Locks and reads the declaration of the active task. $1 organization, $2 database, $3 kind, $4 name. */
export const lockNamedTask: Statement = {
  name: 'task_lock_named',
  text: `select ${taskColumns} from cubby_task_8 k where k.table_id =
    (select t.id from cubby_table_8 t where ${named} and t.deleted_at_ms is null) for update`,
}

export const lockTask: Statement = {
  name: 'task_lock',
  text: `select ${taskColumns} from cubby_task_8 k where k.table_id = $1::bigint for update`,
}

export const insertTask: Statement = {
  name: 'task_insert',
  text: `insert into cubby_task_8 (${storedTaskColumns}) values (${storedTaskParameters})`,
}

export const updateTask: Statement = {
  name: 'task_update',
  text: `update cubby_task_8 set declaration = $2, updated_at = $3::bigint, paused = $4::boolean, pushes = $5::boolean,
    concurrency = $6::bigint, keep_seconds = $7::bigint, next_run_at = $8::bigint, served_at = $9::bigint, secrets = $10,
    follows = ${follows} where table_id = $1::bigint`,
}

export const removeTask: Statement = {
  name: 'task_remove',
  text: 'delete from cubby_task_8 where table_id = $1::bigint',
}

/** $1 ids. It returns those of tasks that are not paused. */
export const notPaused: Statement = {
  name: 'tasks_not_paused',
  text: 'select k.table_id from cubby_task_8 k where k.table_id = any ($1::bigint[]) and not k.paused',
}

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────

const notIn = (parameter: number): string => `k.table_id <> all ($${parameter}::bigint[])`

/** $1 the time of a test, $2 rows at most, $3 without these. */
export const dueSchedules: Statement = {
  name: 'tasks_due',
  text: `select k.table_id, k.org_id from cubby_task_8 k where k.next_run_at <= ${statementNow(1)} and ${notIn(3)}
    order by k.next_run_at limit $2::bigint`,
}

/**
 * The condition for rows of the organization $3 that are due. $1 the time of a test. With a row comparison the planner cannot
 * use the index of times and search all due rows for the organization, as it could with two comparisons.
 */
export const isDueOf = (at: string): string => `k.org_id >= $3::bigint
  and (k.org_id, k.${at}) <= ($3::bigint, ${statementNow(1)}) order by k.org_id, k.${at}`

/** $3 organization, $4 without these. */
export const dueSchedulesOf: Statement = {
  name: 'tasks_due_of',
  text: `select k.table_id, k.org_id from cubby_task_8 k
    where k.next_run_at is not null and ${notIn(4)} and ${isDueOf('next_run_at')} limit $2::bigint`,
}

/**
 * Reads organizations that have schedules, and whether their first one is due. $1 the time of a test, $2 rows at most, $3 after
 * this organization. Each organization takes one seek, however many schedules it has.
 */
export const scheduledOrganizations: Statement = {
  name: 'tasks_scheduled_organizations',
  text: nextOrganizations('cubby_task_8', 'next_run_at', 'k.next_run_at is not null'),
}

/** $3 how far ahead of the clock. */
export const servedAhead: Statement = {
  name: 'tasks_served_ahead',
  text: `select k.table_id from cubby_task_8 k where k.served_at > ${statementNow(1)} + $3::bigint
    and k.next_run_at is not null order by k.served_at limit $2::bigint`,
}

/**
 * Locks a task whose schedule is due, so that one of several processes serves it: the others wait, and find it served. It does
 * not skip a locked row, because claims of a task with a limit lock it too. $2 the time of a test.
 */
export const takeSchedule: Statement = {
  name: 'task_take_schedule',
  text: `select ${taskColumns}, ${tableIsActive}, ${realNow(2)} from cubby_task_8 k where k.table_id = $1::bigint
    for update`,
}

/** $1 task, $2 the next time, $3 the time served. */
export const setSchedule: Statement = {
  name: 'task_set_schedule',
  text: 'update cubby_task_8 set next_run_at = $2::bigint, served_at = $3::bigint where table_id = $1::bigint',
}

/** Reads all tasks, with their organizations. */
export const everyTask: Statement = { name: 'tasks_all', text: 'select k.table_id, k.org_id from cubby_task_8 k' }

/** Reads at most $2 tasks after the id $1 for the sweep of finished runs. */
export const tasksToSweep: Statement = {
  name: 'tasks_to_sweep',
  text: `select k.table_id, k.keep_seconds from cubby_task_8 k where k.table_id > $1::bigint
    order by k.table_id limit $2::bigint`,
}
