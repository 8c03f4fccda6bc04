import { randomBytes } from 'node:crypto'
import type { Session } from '../connection/driver.ts'

// Version 6 keeps earlier secrets beside the newest, so that they can be rotated, and marks the keys of sign-in links. The mark of
// the place of files, if there is one, becomes the id of the store. It finds
// what is due by organization: its schedules, and the leases of its running runs. Runs that are running now keep 0 as their
// organization until they end: they take their turns together. The index of leases reads all runs once.
//
// A process of version 5 looks at the version only when it starts. One that is still running goes on with the secret that it
// has read then, and creates keys that outlive their creators. No release has version 5, and the documents say to stop it first.

export const migrateTo6 = async (session: Session): Promise<void> => {
  await session.run('alter table cubby_store add column if not exists secret_begins_at bigint not null default 0')
  await session.run(`alter table cubby_store add column if not exists earlier_secrets text not null default '[]'`)
  await session.run(`alter table cubby_store add column if not exists store_id text not null default ''`)
  await session.run(
    `update cubby_store set store_id = coalesce(file_mark, '${randomBytes(16).toString('hex')}') where store_id = ''`,
  )
  await session.run(`alter table cubby_api_key add column if not exists link text check (link in ('unused', 'used'))`)
  await session.run('alter table cubby_task add column if not exists org_id bigint not null default 0')
  await session.run(
    'update cubby_task as k set org_id = t.org_id from cubby_table t where t.id = k.table_id and k.org_id <> t.org_id',
  )
  await session.run(
    'create index if not exists cubby_task_by_org on cubby_task (org_id, next_run_at) where next_run_at is not null',
  )
  await session.run(
    'create index if not exists cubby_task_pushing_by_org on cubby_task (org_id, table_id) where pushes',
  )
  await session.run('drop index if exists cubby_task_pushing')
  await session.run('alter table cubby_run add column if not exists org_id bigint not null default 0')
  await session.run(
    `create index if not exists cubby_run_by_org on cubby_run (org_id, lease_until) where status = 'running'`,
  )
}
