import { isFinished, runStatuses } from '../../../core/tasks/run.ts'
import type { Statement } from '../connection/driver.ts'
import { newId } from '../records/statements.ts'
import { epochColumn, isOfActive, tableColumns } from '../registry/rows.ts'
import { isDueOf, nextOrganizations, statementNow } from '../tasks/statements.ts'
import { columnsOf, runColumns, runParameters, storedRunColumns } from './run-rows.ts'

// The statements on runs. Each names one task, so that on Citus it goes to one worker; those whose names begin with `runs_`
// are about all tasks. None names a table of the registry, except two that are not for Citus.
//
// Locks: a run that is running is locked before the queued run of its key, by everybody. Claims wait for no row. So no two
// transactions on the same key deadlock.

const theRun = 'r.task_id = $1::bigint and r.id = $2'

// ── One run ────────────────────────────────────────────────────────────────────────────────────────────────
// $1 task, $2 id.

export const getRun: Statement = { name: 'run_get', text: `select ${runColumns} from cubby_run_8 as r where ${theRun}` }

export const lockRun: Statement = {
  name: 'run_lock',
  text: `select ${runColumns} from cubby_run_8 as r where ${theRun} for update`,
}

export const removeRun: Statement = { name: 'run_remove', text: `delete from cubby_run_8 as r where ${theRun}` }

/** Fails (`isDuplicate`) if there is a run with this id, or a queued one with this key. */
export const insertRun: Statement = {
  name: 'run_insert',
  text: `insert into cubby_run_8 (${storedRunColumns}) values (${runParameters})`,
}

/** Fails (`isDuplicate`) if another run of the key has the status. */
export const changeRun: Statement = {
  name: 'run_change',
  text: `update cubby_run_8 as r set status = $3, run_at = $4::bigint, attempt = $5::bigint, held = $6::boolean, lease = $7,
    lease_until = $8::bigint, done_lease = $9, updated_at = $10::bigint, finished_at = $11::bigint, error = $12,
    progress = $13, result = $14 where ${theRun}`,
}

/** Changes a run that starts. $15 is its organization. */
export const startRun: Statement = {
  name: 'run_start',
  text: changeRun.text.replace('result = $14', 'result = $14, org_id = $15::bigint'),
}

/** Merges a new request into the queued run of its key. $3 payload, $4 runAt, $5 version. */
export const mergeRun: Statement = {
  name: 'run_merge',
  text: `update cubby_run_8 as r set payload = $3, run_at = $4::bigint, updated_at = $5::bigint where ${theRun}`,
}

/**
 * Adds a run without a key in one round trip. $1 task, $2 id, $3 payload, $4 runAt, or $5 delay, $6 the time of a test, $7 user. No
 * row means that the id is taken.
 */
export const addRun: Statement = {
  name: 'run_add',
  text: `insert into cubby_run_8 as r (seq, task_id, id, status, run_at, attempt, held, created_at, updated_at, user_name, payload)
    values (${newId}, $1::bigint, $2, 'queued', coalesce($4::bigint, ${statementNow(6)} + $5::bigint), 0, false,
      ${statementNow(6)}, ${statementNow(6)}, $7, $3)
    on conflict (task_id, id) do nothing returning ${runColumns}`,
}

// ── Keys ───────────────────────────────────────────────────────────────────────────────────────────────────
// $1 task, $2 key.

const ofKey = (status: 'queued' | 'running'): string =>
  `r.task_id = $1::bigint and r.key = $2::bytea and r.status = '${status}'`

export const lockRunningOfKey: Statement = {
  name: 'run_lock_running_of_key',
  text: `select r.id from cubby_run_8 as r where ${ofKey('running')} for update`,
}

export const lockQueuedOfKey: Statement = {
  name: 'run_lock_queued_of_key',
  text: `select ${runColumns} from cubby_run_8 as r where ${ofKey('queued')} for update`,
}

/**
 * Lets the queued run of a key start after the running one has ended. With "and held" the planner would read all runs that are
 * held.
 */
export const releaseKey: Statement = {
  name: 'run_release_key',
  text: `update cubby_run_8 as r set held = false where ${ofKey('queued')}`,
}

/**
 * Holds a run that was just queued if another run of its key is running. From the insert on no other run of the key can be
 * queued, and this one cannot start yet, so the running one is visible. It is locked, so that its end comes after this
 * transaction and releases the queued one.
 */
export const holdKey: Statement = {
  name: 'run_hold_key',
  text: `with o as (select o.id from cubby_run_8 as o where o.task_id = $1::bigint and o.key = $2::bytea
      and o.status = 'running' for update)
    update cubby_run_8 as r set held = true where ${ofKey('queued')} and exists (select 1 from o)`,
}

/**
 * Adds the runs of so many writes of followed records, or merges each into the queued run of its key, as `mergeRun` in transitions.ts
 * does. $1 task, $2 the time of a test, then id, key and payload of each. No two have the same key. Returns the id of each run.
 */
export const followRows = (count: number): Statement => {
  const row = (_: unknown, i: number): string => {
    const [id, key, payload] = [0, 1, 2].map((column) => `$${3 + 3 * i + column}`)
    return `(${newId}, $1::bigint, ${id}, 'queued', ${key}::bytea, ${statementNow(2)}, 0, false, ${statementNow(2)},
      ${statementNow(2)}, ${payload})`
  }
  return {
    name: `run_follow_rows_${count}`,
    text: `insert into cubby_run_8 as r (seq, task_id, id, status, key, run_at, attempt, held, created_at, updated_at, payload)
      values ${Array.from({ length: count }, row).join(', ')}
      on conflict (task_id, key) where status = 'queued' and key is not null do update set payload = excluded.payload,
        run_at = case when r.attempt = 0 then least(r.run_at, excluded.run_at) else r.run_at end,
        updated_at = greatest(excluded.updated_at, r.updated_at + 1)
      returning r.id`,
  }
}

/**
 * Does the same as `holdKey` for the queued runs of the keys $2. The status stands twice, because a run may end while this waits for
 * its lock: then only the outer condition is judged again.
 */
export const holdKeys: Statement = {
  name: 'run_hold_keys',
  text: `with o as (select l.key from cubby_run_8 as l where l.task_id = $1::bigint and l.id = any (array(
        select k.id from cubby_run_8 as k where k.task_id = $1::bigint and k.key = any ($2::bytea[]) and k.status = 'running'
      )) and l.status = 'running' order by l.id for update)
    update cubby_run_8 as r set held = true where r.task_id = $1::bigint and r.status = 'queued'
      and r.key = any (array(select o.key from o))`,
}

/** Locks the queued run with the same key as the run $2. */
export const lockQueuedOfSameKey: Statement = {
  name: 'run_lock_queued_of_same_key',
  text: `select r.id from cubby_run_8 as r where r.task_id = $1::bigint and r.status = 'queued' and r.key =
    (select s.key from cubby_run_8 as s where s.task_id = $1::bigint and s.id = $2) for update`,
}

export const lockRunningOfSameKey: Statement = {
  name: 'run_lock_running_of_same_key',
  text: lockQueuedOfSameKey.text.replace(`'queued'`, `'running'`),
}

// ── Claims ─────────────────────────────────────────────────────────────────────────────────────────────────

const isDue = (now: string): string =>
  `r.task_id = $1::bigint and r.status = 'queued' and r.held = false and r.run_at <= ${now}`
const inOrder = 'order by r.task_id, r.held, r.run_at, r.seq'

/**
 * Locks due runs that nobody else has locked. $1 task, $2 rows at most, $3 bytes of payload at most, $4 the time of a test. The
 * length of a payload that is stored out of line is known without reading it.
 */
export const takeDue: Statement = {
  name: 'run_take_due',
  text: `select ${columnsOf('p')} from (
      select d.*, sum(octet_length(d.payload)) over (order by d.run_at, d.seq rows unbounded preceding) as bytes from (
        select r.* from cubby_run_8 as r where ${isDue(statementNow(4))} ${inOrder} limit $2::bigint
        for update skip locked
      ) as d
    ) as p where p.bytes <= $3::bigint or p.bytes = octet_length(p.payload) order by p.run_at, p.seq`,
}

/** It counts up to $2. */
export const countRunning: Statement = {
  name: 'run_count_running',
  text: `select count(*) from (select 1 from cubby_run_8 as r where r.task_id = $1::bigint and r.status = 'running'
    order by r.task_id, r.status, r.updated_at, r.seq limit $2::bigint) as n`,
}

/** Returns a row if a run can be claimed. $2 the time of a test. */
export const anyDue: Statement = {
  name: 'run_any_due',
  text: `select r.task_id from cubby_run_8 as r where ${isDue(statementNow(2))} ${inOrder} limit 1`,
}

/** $2 ids. It returns those of runs that are not finished. */
export const unfinished: Statement = {
  name: 'run_unfinished',
  text: `select r.id from cubby_run_8 as r
    where r.task_id = $1::bigint and r.id = any ($2::text[]) and r.status in ('queued', 'running')`,
}

const firstQueued = (held: boolean): string =>
  `(select r.run_at from cubby_run_8 as r where r.task_id = $1::bigint and r.status = 'queued' and r.held = ${held}
    ${inOrder} limit 1)`

/** Reads `runAt` of the run that is due first. A run that its key holds back counts too. */
export const oldestRun: Statement = {
  name: 'run_oldest',
  text: `select least(${firstQueued(false)}, ${firstQueued(true)})`,
}

/**
 * $1 task, $2 finished runs count if they changed after this, $3 the most that is counted of each status, in `runStatuses`.
 * The order makes the planner take the index of this task and status, and not one of all running runs.
 */
export const countByStatus: Statement = {
  name: 'run_count_by_status',
  text: `select ${runStatuses
    .map((status) => {
      const kept = isFinished({ status }) ? 'and r.updated_at > $2::bigint' : ''
      return `(select count(*) from (select 1 from cubby_run_8 as r
        where r.task_id = $1::bigint and r.status = '${status}' ${kept}
        order by r.task_id, r.status, r.updated_at, r.seq limit $3::bigint) as counted)`
    })
    .join(', ')}`,
}

// ── Leases, schedules and clocks ─────────────────────────────────────────────────────────────────────────────────────────

/** $1 the time of a test, $2 rows at most. */
export const findExpired: Statement = {
  name: 'runs_find_expired',
  text: `select r.task_id, r.id, r.key, r.org_id from cubby_run_8 as r
    where r.status = 'running' and r.lease_until <= ${statementNow(1)} order by r.lease_until limit $2::bigint`,
}

/** $3 organization. */
export const findExpiredOf: Statement = {
  name: 'runs_find_expired_of',
  text: `select k.task_id, k.id, k.key, k.org_id from cubby_run_8 as k
    where k.status = 'running' and ${isDueOf('lease_until')} limit $2::bigint`,
}

/** Does the same as `scheduledOrganizations` for organizations with running runs. */
export const leasedOrganizations: Statement = {
  name: 'runs_leased_organizations',
  text: nextOrganizations('cubby_run_8', 'lease_until', `k.status = 'running'`),
}

/**
 * $1 the time of a test, $2 after this organization. It reads the first row of `leasedOrganizations` where no statement may
 * walk.
 */
export const nextLeased: Statement = {
  name: 'runs_next_leased',
  text: `select r.org_id, r.lease_until <= ${statementNow(1)} from cubby_run_8 as r
    where r.status = 'running' and r.org_id > $2::bigint order by r.org_id, r.lease_until limit 1`,
}

/** $3 how far ahead of the clock. */
export const findAhead: Statement = {
  name: 'runs_find_ahead',
  text: `select r.task_id, r.id, r.key from cubby_run_8 as r
    where r.status = 'running' and r.lease_until > ${statementNow(1)} + $3::bigint
    order by r.lease_until limit $2::bigint`,
}

/**
 * Finds queued runs that were written while the clock was ahead (see `wakeRun`), in turns of their organizations. $3 how far
 * ahead of the clock, $4 the key of schedules. Each task takes one seek.
 */
export const findFromAhead: Statement = {
  name: 'runs_find_from_ahead',
  text: `select f.task_id, f.id from cubby_task_8 k cross join lateral (
      select r.task_id, r.id from cubby_run_8 as r where r.task_id = k.table_id and r.status = 'queued'
        and r.updated_at > ${statementNow(1)} + $3::bigint and r.run_at > ${statementNow(1)}
        and (r.attempt > 0 or r.key = $4::bytea)
      order by r.task_id, r.status, r.updated_at, r.seq limit $2::bigint
    ) as f order by row_number() over (partition by k.org_id) limit $2::bigint`,
}

/** Finds leases of the task $4 that have expired or are too far ahead. It is used while a server cannot be reached. */
export const findExpiredOfTask: Statement = {
  name: 'run_find_expired',
  text: `select r.task_id, r.id, r.key from cubby_run_8 as r where r.task_id = $4::bigint and r.status = 'running'
    and (r.lease_until <= ${statementNow(1)} or r.lease_until > ${statementNow(1)} + $3::bigint) limit $2::bigint`,
}

/** $2 ids. A run that another process has locked is left to that process. */
export const lockRunning: Statement = {
  name: 'run_lock_running',
  text: `select ${runColumns} from cubby_run_8 as r
    where r.task_id = $1::bigint and r.id = any ($2::text[]) and r.status = 'running' for update skip locked`,
}

// The ids are found first, so that rows are locked in the order of their ids, and found by an index each.

/** Locks the runs $2 and the running runs of the keys $3. */
export const lockNamedAndRunning: Statement = {
  name: 'run_lock_named_and_running',
  text: `select 1 from cubby_run_8 as r where r.task_id = $1::bigint and r.id = any ($2::text[] || array(
      select k.id from cubby_run_8 as k where k.task_id = $1::bigint and k.key = any ($3::bytea[]) and k.status = 'running'
    )) order by r.id for update`,
}

/** Locks the queued runs of the keys $3 and of the keys of the runs $2. */
export const lockQueuedBehind: Statement = {
  name: 'run_lock_queued_behind',
  text: `select 1 from cubby_run_8 as r where r.task_id = $1::bigint and r.id = any (array(
      select k.id from cubby_run_8 as k where k.task_id = $1::bigint and k.status = 'queued' and k.key = any ($3::bytea[] || array(
        select f.key from cubby_run_8 as f where f.task_id = $1::bigint and f.id = any ($2::text[]) and f.key is not null
      ))
    )) order by r.id for update`,
}

/** $2 keys. It returns those that have a queued run. */
export const lockQueuedKeys: Statement = {
  name: 'run_lock_queued_keys',
  text: `select r.key from cubby_run_8 as r
    where r.task_id = $1::bigint and r.key = any ($2::bytea[]) and r.status = 'queued' for update`,
}

// `tableIsActive` in records/statements.ts says why this is not "deleted_at_ms is null".
const isActive = `coalesce(t.deleted_at_ms, 0) = 0 and ${isOfActive('t.org_id')}`

/** $1 ids of tasks. It returns those that were not deleted and whose organizations were not. */
export const activeTasks: Statement = {
  name: 'run_active_tasks',
  text: `select t.id from cubby_table_8 t where t.id = any ($1::bigint[]) and ${isActive}`,
}

/**
 * Finds at most $1 tasks of each organization that push, without the organizations $2. $3 and $4 are organizations, and a task
 * of each after which its tasks begin. Each organization and each task takes one seek, whatever its runs are. `isDueOf` says
 * why this is a row comparison.
 */
const pushingTasks = `with recursive o (org_id) as (
      (select k.org_id from cubby_task_8 k where k.pushes order by k.org_id, k.table_id limit 1)
      union all
      select n.org_id from o cross join lateral (
        select k.org_id from cubby_task_8 k where k.pushes and k.org_id > o.org_id order by k.org_id, k.table_id limit 1
      ) as n
    ), p as (
      select k.org_id, k.table_id from o cross join lateral (
        select k.org_id, k.table_id from cubby_task_8 k where k.pushes and k.org_id <= o.org_id
          and (k.org_id, k.table_id) > (o.org_id, coalesce((
            select a.task_id from unnest($3::bigint[], $4::bigint[]) as a (org_id, task_id) where a.org_id = o.org_id
          ), -1))
        order by k.org_id, k.table_id limit $1::bigint
      ) as k where o.org_id <> all ($2::bigint[])
    )`

/** Returns the last task of each organization that has so many, and may have more. */
export const pushStops: Statement = {
  name: 'tasks_push_stops',
  text: `${pushingTasks}
    select p.org_id, max(p.table_id) from p group by p.org_id having count(*) = $1::bigint`,
}

/**
 * Finds tasks that push and have a queued run, in turns of their organizations. The longest waiting come first, and those that
 * are not due come last. $5 rows at most, $6 the time of a test, $7 without these tasks. The limits force one seek for each
 * task: in an empty store, the planner would choose to scan all tables.
 */
export const duePushesInOne: Statement = {
  name: 'runs_due_pushes',
  text: `${pushingTasks}
    select ${tableColumns}, ${epochColumn}, q.run_at, ${statementNow(6)} from p
      cross join lateral (
        select r.run_at from cubby_run_8 as r where r.task_id = p.table_id and r.status = 'queued' and r.held = false
        ${inOrder} limit 1
      ) as q
      cross join lateral (select t.* from cubby_table_8 t where t.id = p.table_id limit 1) as t
    where ${isActive} and t.id <> all ($7::bigint[])
    order by q.run_at > ${statementNow(6)}, row_number() over (partition by t.org_id order by q.run_at), q.run_at
    limit $5::bigint`,
}

/**
 * Finds all tasks that push, where no statement may name runs and tasks; `findQueued` reads when the first run of each is due.
 * $1 the time of a test.
 */
export const allPushingTasks: Statement = {
  name: 'tasks_pushing',
  text: `select ${tableColumns}, ${epochColumn}, ${statementNow(1)} from cubby_task_8 k join cubby_table_8 t on t.id = k.table_id
    where k.pushes and ${isActive}`,
}

export const findQueued: Statement = {
  name: 'runs_find_queued',
  text: `select r.task_id, min(r.run_at) from cubby_run_8 as r where r.status = 'queued' and r.held = false
    group by r.task_id`,
}

/** Reads when the first run of one task is due. It is used while a server cannot be reached. */
export const findFirstQueued: Statement = {
  name: 'run_first_queued',
  text: `select r.run_at from cubby_run_8 as r where r.task_id = $1::bigint and r.status = 'queued' and r.held = false
    ${inOrder} limit 1`,
}

const finished = ['succeeded', 'failed', 'cancelled'].map((status) => `'${status}'`).join(', ')

/**
 * Removes finished runs that are no longer kept, task by task. $1 the time of a test, $2 rows at most, $3 the grace period, $4
 * after this task. It compares their version, which is not before `finished_at`, because the index has it.
 */
export const sweepInOne: Statement = {
  name: 'runs_sweep',
  text: `delete from cubby_run_8 as r using (
      select e.task_id, e.id from cubby_task_8 k cross join unnest(array[${finished}]) as s (status)
      cross join lateral (
        select f.task_id, f.id from cubby_run_8 as f where f.task_id = k.table_id and f.status = s.status
          and f.updated_at <= ${statementNow(1)} - $3::bigint - 1000 * k.keep_seconds
        order by f.task_id, f.status, f.updated_at, f.seq limit $2::bigint for update skip locked
      ) as e where k.table_id > $4::bigint order by k.table_id limit $2::bigint
    ) as x where r.task_id = x.task_id and r.id = x.id returning r.task_id`,
}

/** Removes them from one task. $1 task, $2 version at most, $3 rows at most. */
export const sweepTask: Statement = {
  name: 'run_sweep_task',
  text: `delete from cubby_run_8 as r using (
      select e.id from cubby_run_8 as e where e.task_id = $1::bigint and e.status in (${finished})
        and e.updated_at <= $2::bigint limit $3::bigint
    ) as x where r.task_id = $1::bigint and r.id = x.id and r.status in (${finished})`,
}

// ── Purge ──────────────────────────────────────────────────────────────────────────────────────────────────

/** $1 task, $2 rows at most. */
export const removeRuns: Statement = {
  name: 'run_purge',
  text: `delete from cubby_run_8 as r using (
      select e.id from cubby_run_8 as e where e.task_id = $1::bigint limit $2::bigint
    ) as x where r.task_id = $1::bigint and r.id = x.id`,
}

export const anyRun: Statement = {
  name: 'run_any',
  text: 'select 1 from cubby_run_8 as r where r.task_id = $1::bigint limit 1',
}
