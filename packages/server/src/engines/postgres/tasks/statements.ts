import type { Statement } from '../connection/driver.ts'
import { keyIsActive, organizationIsActive, tableIsActive } from '../records/statements.ts'
import { named } from '../registry/rows.ts'
import { storedTaskColumns, storedTaskPlaces, taskColumns } from './task-rows.ts'

// The statements on declarations of tasks. They are part of the registry: none of them names runs.

const clock = (of: string): string => `floor(extract(epoch from ${of}) * 1000)::bigint`

/**
 * The database's clock, unless a test gives the time as a value. `statement_timestamp` does not change during a statement, so
 * it can be the bound of an index.
 */
export const statementNow = (place: number): string => `coalesce($${place}::bigint, ${clock('statement_timestamp()')})`

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

const realNow = (place: number): string => `coalesce($${place}::bigint, ${clock('clock_timestamp()')})`

/** $1 the time of a test. */
export const readClock: Statement = { name: 'task_clock', text: `select ${realNow(1)}` }

/**
 * $1 task, $2 the caller's API key, $3 the time of a test. What a write of runs must know, read after it has locked them:
 * whether task and key are active, the time, whether the organization is active, the declaration. No row: the task was purged.
 */
export const taskState: Statement = {
  name: 'task_state',
  text: `select ${taskColumns}, ${tableIsActive}, ${keyIsActive(2)}, ${realNow(3)}, ${organizationIsActive}
    from cubby_task k where k.table_id = $1::bigint`,
}

/**
 * Claims of a task with a limit run one after another, so that the running ones can be counted. A task without a limit has
 * no row here, and nobody waits.
 */
export const lockLimit: Statement = {
  name: 'task_lock_limit',
  text: 'select 1 from cubby_task k where k.table_id = $1::bigint and k.concurrency is not null for update',
}

/** Before any run is locked. */
export const lockForBatch: Statement = {
  name: 'task_lock_for_batch',
  text: 'select 1 from cubby_task k where k.table_id = $1::bigint for update',
}

/** $1 the task, $2 the time of a test. */
export const readKeep: Statement = {
  name: 'task_keep',
  text: `select k.keep_seconds, ${realNow(2)} from cubby_task k where k.table_id = $1::bigint`,
}

/** $1 ids. */
export const readTasks: Statement = {
  name: 'tasks_read',
  text: `select ${taskColumns} from cubby_task k where k.table_id = any ($1::bigint[])`,
}

/** $1 organization, $2 database, $3 kind, $4 name. The declaration of the active task, locked. */
export const lockNamedTask: Statement = {
  name: 'task_lock_named',
  text: `select ${taskColumns} from cubby_task k where k.table_id =
    (select t.id from cubby_table t where ${named} and t.deleted_at_ms is null) for update`,
}

export const lockTask: Statement = {
  name: 'task_lock',
  text: `select ${taskColumns} from cubby_task k where k.table_id = $1::bigint for update`,
}

export const insertTask: Statement = {
  name: 'task_insert',
  text: `insert into cubby_task (${storedTaskColumns}) values (${storedTaskPlaces})`,
}

export const updateTask: Statement = {
  name: 'task_update',
  text: `update cubby_task set declaration = $2, updated_at = $3::bigint, paused = $4::boolean, pushes = $5::boolean,
    concurrency = $6::bigint, keep_seconds = $7::bigint, next_run_at = $8::bigint, served_at = $9::bigint, secrets = $10
    where table_id = $1::bigint`,
}

export const removeTask: Statement = {
  name: 'task_remove',
  text: 'delete from cubby_task where table_id = $1::bigint',
}

/** $1 ids. Those that are not paused. */
export const notPaused: Statement = {
  name: 'tasks_not_paused',
  text: 'select k.table_id from cubby_task k where k.table_id = any ($1::bigint[]) and not k.paused',
}

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────

const notIn = (place: number): string => `k.table_id <> all ($${place}::bigint[])`

/** $1 the time of a test, $2 rows at most, $3 without these. */
export const dueSchedules: Statement = {
  name: 'tasks_due',
  text: `select k.table_id, k.org_id from cubby_task k where k.next_run_at <= ${statementNow(1)} and ${notIn(3)}
    order by k.next_run_at limit $2::bigint`,
}

/**
 * $1 the time of a test, $3 an organization: what is due of it. With a row comparison instead of two, the planner cannot take
 * the index of times and look for the organization among all that is due.
 */
export const isDueOf = (at: string): string => `k.org_id >= $3::bigint
  and (k.org_id, k.${at}) <= ($3::bigint, ${statementNow(1)}) order by k.org_id, k.${at}`

/** $3 organization, $4 without these. */
export const dueSchedulesOf: Statement = {
  name: 'tasks_due_of',
  text: `select k.table_id, k.org_id from cubby_task k
    where k.next_run_at is not null and ${notIn(4)} and ${isDueOf('next_run_at')} limit $2::bigint`,
}

/**
 * $1 the time of a test, $2 rows at most, $3 after this organization. Organizations that have schedules, and whether the first
 * is due: one seek for each, however many schedules it has.
 */
export const scheduledOrganizations: Statement = {
  name: 'tasks_scheduled_organizations',
  text: nextOrganizations('cubby_task', 'next_run_at', 'k.next_run_at is not null'),
}

/** $3 how far ahead of the clock. */
export const servedAhead: Statement = {
  name: 'tasks_served_ahead',
  text: `select k.table_id from cubby_task k where k.served_at > ${statementNow(1)} + $3::bigint
    and k.next_run_at is not null order by k.served_at limit $2::bigint`,
}

/**
 * Of several processes one serves a schedule: the others wait, and find it served. It does not skip a locked row: claims of a
 * task with a limit lock it too, one after the other. $2 the time of a test.
 */
export const takeSchedule: Statement = {
  name: 'task_take_schedule',
  text: `select ${taskColumns}, ${tableIsActive}, ${realNow(2)} from cubby_task k where k.table_id = $1::bigint
    for update`,
}

/** $1 task, $2 the next time, $3 the time served. */
export const setSchedule: Statement = {
  name: 'task_set_schedule',
  text: 'update cubby_task set next_run_at = $2::bigint, served_at = $3::bigint where table_id = $1::bigint',
}

/** All tasks, with their organizations. */
export const everyTask: Statement = { name: 'tasks_all', text: 'select k.table_id, k.org_id from cubby_task k' }

/** After $1, at most $2: for the sweep of finished runs. */
export const tasksToSweep: Statement = {
  name: 'tasks_to_sweep',
  text: `select k.table_id, k.keep_seconds from cubby_task k where k.table_id > $1::bigint
    order by k.table_id limit $2::bigint`,
}
