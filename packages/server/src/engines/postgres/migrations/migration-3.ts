import type { Session } from '../connection/driver.ts'
import type { Dialect } from '../dialect.ts'

// Version 3 adds buckets: tables have a kind, and a table of blobs has a row for the bytes of each file.
//
// A process of version 2 looks at the version only when it starts. One that is still running would remove expired files
// without their blobs, and write records into buckets. So one column of each table that it uses for this gets another name:
// all its statements on records name `ttl`, all on tables name `deleted_at`, and those that begin a purge do too. They fail
// from then on.

const renamed = [
  ['cubby_record', 'ttl', 'ttl_seconds'],
  ['cubby_table', 'deleted_at', 'deleted_at_ms'],
] as const

export const migrateTo3 = async (session: Session, dialect: Dialect): Promise<void> => {
  await session.run('lock table cubby_record, cubby_table in access exclusive mode')
  for (const [table, from, to] of renamed) {
    await session.run(`alter table ${table} rename column ${from} to ${to}`)
  }
  await addKinds(session)
  await addBlobs(session, dialect)
  await session.run('alter table cubby_store add column if not exists file_mark text')
  await session.run('alter table cubby_store add column if not exists files_held_until bigint not null default 0')
}

const addKinds = async (session: Session): Promise<void> => {
  await session.run(`alter table cubby_table add column if not exists kind text not null default 'table'`)
  await session.run(`alter table cubby_table add column if not exists public_id text collate "C"`)
  await session.run(
    `create unique index if not exists cubby_table_by_name on cubby_table (org_id, db, kind, name)
     where deleted_at_ms is null`,
  )
  await session.run(
    `create unique index if not exists cubby_table_deleted_by_name
     on cubby_table (org_id, db, kind, name, deleted_at_ms) where deleted_at_ms is not null`,
  )
  await session.run(
    `create unique index if not exists cubby_table_by_public_id on cubby_table (public_id) where public_id is not null`,
  )
  await session.run('drop index if exists cubby_table_active')
  await session.run('drop index if exists cubby_table_deleted')
}

const addBlobs = async (session: Session, dialect: Dialect): Promise<void> => {
  await session.run(
    `create table if not exists cubby_blob (table_id bigint not null, id text collate "C" not null,
       state text not null, due_at_ms bigint, primary key (table_id, id))`,
  )
  await session.run('create index if not exists cubby_blob_by_id on cubby_blob (id)')
  await session.run(
    'create index if not exists cubby_blob_by_due on cubby_blob (due_at_ms) where due_at_ms is not null',
  )
  if (dialect.distributesRecords) {
    await session.run(`select create_distributed_table('cubby_blob', 'table_id', colocate_with => 'cubby_record')`)
  }
  await copyRights(session)
}

/** Users that may use the records may use the blobs: processes need not run as the owner of the tables. */
const copyRights = async (session: Session): Promise<void> => {
  const granted = await session.run(
    `select distinct case when p.grantee = 'PUBLIC' then 'public' else quote_ident(p.grantee) end, p.privilege_type
     from information_schema.table_privileges p
     where p.table_schema = any (current_schemas(false)) and p.table_name = 'cubby_record' and p.grantee <> current_user
       and p.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')`,
  )
  for (const [user, right] of granted) await session.run(`grant ${right} on cubby_blob to ${user}`)
}
