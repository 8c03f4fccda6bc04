import type { Session } from '../connection/driver.ts'
import type { Dialect } from '../dialect.ts'

// Version 4 adds tasks: tables of the kind `task`, each with a declaration, and a table of runs.
//
// A process of version 3 looks at the version only when it starts. One that is still running would answer a revocation
// before writes of runs that are in flight have ended. So the epoch of the registry gets another name: every look-up of a key
// or table names it, and every revocation and deletion. They fail from then on, when its lease has ended. Its purge fails at a
// deleted task before it changes anything.

export const migrateTo4 = async (session: Session, dialect: Dialect): Promise<void> => {
  await session.run('lock table cubby_store in access exclusive mode')
  await renameEpoch(session)
  await addTasks(session)
  await addRuns(session, dialect)
  for (const table of ['cubby_task', 'cubby_run']) await copyRights(session, table)
}

const renameEpoch = async (session: Session): Promise<void> => {
  await session.run('alter table cubby_store rename column registry_epoch to epoch')
  // From PostgreSQL 18 on, NOT NULL is a constraint with a name.
  const constraint = 'cubby_store_registry_epoch_not_null'
  const named = await session.run(
    `select 1 from pg_constraint where conrelid = 'cubby_store'::regclass and conname = '${constraint}'`,
  )
  if (named.length === 0) return
  await session.run(`alter table cubby_store rename constraint ${constraint} to cubby_store_epoch_not_null`)
}

const addTasks = async (session: Session): Promise<void> => {
  await session.run(
    `create table if not exists cubby_task (table_id bigint primary key, declaration text not null,
       updated_at bigint not null, paused boolean not null, pushes boolean not null, concurrency bigint,
       keep_seconds bigint not null, next_run_at bigint, served_at bigint, secrets text not null)`,
  )
  await session.run('create index if not exists cubby_task_pushing on cubby_task (table_id) where pushes')
  await session.run(
    'create index if not exists cubby_task_by_next_run on cubby_task (next_run_at) where next_run_at is not null',
  )
  await session.run(
    'create index if not exists cubby_task_by_served on cubby_task (served_at) where served_at is not null',
  )
}

const addRuns = async (session: Session, dialect: Dialect): Promise<void> => {
  await session.run(
    `create table if not exists cubby_run (seq bigint not null, task_id bigint not null, id text collate "C" not null,
       status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')), key bytea,
       run_at bigint not null, attempt bigint not null, held boolean not null, lease text, lease_until bigint,
       done_lease text, created_at bigint not null, updated_at bigint not null, finished_at bigint, error text,
       progress text, payload text not null, result text)`,
  )
  for (const sql of [
    'create index if not exists cubby_run_by_time on cubby_run (task_id, updated_at, seq)',
    'create index if not exists cubby_run_by_status on cubby_run (task_id, status, updated_at, seq)',
    `create index if not exists cubby_run_by_lease on cubby_run (lease_until) where status = 'running'`,
    `create index if not exists cubby_run_due on cubby_run (task_id, held, run_at, seq) where status = 'queued'`,
    `create unique index if not exists cubby_run_by_queued_key on cubby_run (task_id, key)
       where status = 'queued' and key is not null`,
    `create unique index if not exists cubby_run_by_running_key on cubby_run (task_id, key)
       where status = 'running' and key is not null`,
  ]) {
    await session.run(sql)
  }
  await session.run('alter table cubby_run add primary key (task_id, id)')
  if (dialect.distributesRecords) await session.run(`select create_distributed_table('cubby_run', 'task_id')`)
}

/** Users that may use the records may use the new tables: processes need not run as the owner of the tables. */
const copyRights = async (session: Session, table: string): Promise<void> => {
  const granted = await session.run(
    `select distinct case when p.grantee = 'PUBLIC' then 'public' else quote_ident(p.grantee) end, p.privilege_type
     from information_schema.table_privileges p
     where p.table_schema = any (current_schemas(false)) and p.table_name = 'cubby_record' and p.grantee <> current_user
       and p.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')`,
  )
  for (const [user, right] of granted) await session.run(`grant ${right} on ${table} to ${user}`)
}
