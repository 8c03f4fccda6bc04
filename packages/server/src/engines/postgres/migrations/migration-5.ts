import type { Session } from '../connection/driver.ts'

// Version 5 keeps the bytes of small files with the rows of their blobs. Files that are there stay where their bytes are. And
// organizations can be deleted.
//
// A process of version 4 looks at the version only when it starts. One that is still running does no harm to files: to it, a
// small file has a blob like any other, which it makes dead and forgets, and the bytes go with the row. It does not find them,
// and answers a read of them with 500. But it does not know that an organization was deleted, and goes on serving it. No
// release has version 4, and the documents say to stop it first.

export const migrateTo5 = async (session: Session): Promise<void> => {
  await session.run('alter table cubby_blob add column if not exists bytes bytea')
  await session.run('alter table cubby_organization add column if not exists deleted_at_ms bigint')
  await session.run('alter table cubby_organization add column if not exists purging boolean not null default false')
  await session.run(
    `create index if not exists cubby_organization_to_purge on cubby_organization (deleted_at_ms)
     where deleted_at_ms is not null`,
  )
  await session.run(
    'alter table cubby_store add column if not exists organization_deleted boolean not null default false',
  )
}
