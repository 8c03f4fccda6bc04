import type { Session } from '../connection/driver.ts'

// Version 6 keeps earlier secrets beside the newest, so that they can be rotated, and marks the keys of sign-in links.
//
// A process of version 5 looks at the version only when it starts. One that is still running goes on with the secret that it
// has read then, and creates keys that outlive their creators. No release has version 5, and the documents say to stop it first.

/** Every statement can be repeated: see migrateTo2. */
export const migrateTo6 = async (session: Session): Promise<void> => {
  await session.run('alter table cubby_store add column if not exists secret_begins_at bigint not null default 0')
  await session.run(`alter table cubby_store add column if not exists earlier_secrets text not null default '[]'`)
  await session.run(`alter table cubby_api_key add column if not exists link text check (link in ('unused', 'used'))`)
}
