import { bytesLiteral } from '../connection/bytes.ts'
import type { Session } from '../connection/driver.ts'
import type { Dialect } from '../dialect.ts'

// Version 2 adds the cursor key, and renames every table that 0.1 reads or writes. A process of 0.1 looks at the version
// only when it starts. One that is still running gets an error for each of its statements from then on: PostgreSQL
// analyses a prepared statement again after a rename, and the name is gone. `cubby_store` keeps its name, because 0.1
// reads the version there and refuses a newer one.

/** Old name and new name, in the order in which they are locked: a put locks records first. */
const tables = [
  ['cubby_records', 'cubby_record'],
  ['cubby_tables', 'cubby_table'],
  ['cubby_api_keys', 'cubby_api_key'],
  ['cubby_organizations', 'cubby_organization'],
] as const

const indexes = {
  cubby_records: ['by_time', 'by_ttl', 'by_i1', 'by_i2', 'by_i3', 'by_i4', 'by_i5', 'pkey'],
  cubby_tables: ['active', 'deleted', 'to_purge', 'pkey'],
  cubby_api_keys: ['by_org', 'id_key', 'hash_key', 'pkey'],
  cubby_organizations: ['name_key', 'pkey'],
}

/** All that give out ids. */
const sequences = [
  ['cubby_record_ids', 'cubby_record_id'],
  ['cubby_tables_id_seq', 'cubby_table_id_seq'],
  ['cubby_api_keys_seq_seq', 'cubby_api_key_seq_seq'],
  ['cubby_organizations_id_seq', 'cubby_organization_id_seq'],
] as const

export const migrateTo2 = async (session: Session, dialect: Dialect): Promise<void> => {
  // All locks first: transactions of 0.1 that are in flight end before anything is changed, and later ones wait.
  await session.run(`lock table ${tables.map(([from]) => from).join(', ')} in access exclusive mode`)
  for (const [from, to] of tables) {
    await session.run(`alter table if exists ${from} rename to ${to}`)
    for (const index of indexes[from]) {
      await session.run(`alter index if exists ${from}_${index} rename to ${to}_${index}`)
    }
  }
  for (const [from, to] of sequences) await session.run(`alter sequence if exists ${from} rename to ${to}`)
  await renameConstraints(session, dialect)
  await addCursorKey(session)
}

/** The constraints that have no index: checks, and from PostgreSQL 18 on, NOT NULL. */
const renameConstraints = async (session: Session, dialect: Dialect): Promise<void> => {
  for (const [from, to] of tables) {
    // Citus does not rename constraints of a distributed table. No statement of ours uses their names.
    if (to === 'cubby_record' && dialect.distributesRecords) continue
    const named = await session.run(
      `select quote_ident(conname) from pg_constraint
       where conrelid = '${to}'::regclass and left(conname::text, ${from.length + 1}) = '${from}_'`,
    )
    for (const [name] of named) {
      await session.run(`alter table ${to} rename constraint ${name} to ${name!.replace(from, to)}`)
    }
  }
}

/** Two steps for each column: the key must not be in a DDL statement, which servers often log. */
const addCursorKey = async (session: Session): Promise<void> => {
  const secret = crypto.getRandomValues(new Uint8Array(32))
  await session.run('alter table cubby_store add column if not exists cursor_key bytea')
  await session.run('alter table cubby_store add column if not exists accepts_plain_cursors boolean')
  await session.run(
    `update cubby_store set cursor_key = ${bytesLiteral(secret)}, accepts_plain_cursors = true where cursor_key is null`,
  )
  await session.run('alter table cubby_store alter column cursor_key set not null')
  await session.run('alter table cubby_store alter column accepts_plain_cursors set not null')
}
