import { randomBytes } from 'node:crypto'
import { bytesLiteral } from '../connection/bytes.ts'
import type { Session } from '../connection/driver.ts'
import type { Dialect } from '../dialect.ts'

/** Changes the schema and the rows of a store of the version `from`. */
interface Migration {
  from: number
  to: number
  run(session: Session, dialect: Dialect): Promise<void>
}

// `migrateTo7` upgrades from 0.1 (version 1) to 0.2. Its time does not depend on the number of records.
//
// A process of 0.1 reads the version only when it starts. One that still runs must not write into the migrated store, so every
// table that it uses gets another name: PostgreSQL analyses a prepared statement again after a rename and does not find the
// table, so each of its statements fails. `cubby_store` keeps its name: 0.1 reads the version there and refuses a newer one.

/** The old and the new name, in the order in which they are locked: a put locks records first. */
const renamedTables = [
  ['cubby_records', 'cubby_record'],
  ['cubby_tables', 'cubby_table'],
  ['cubby_api_keys', 'cubby_api_key'],
  ['cubby_organizations', 'cubby_organization'],
] as const

/** The indexes that the current schema still has. */
const renamedIndexes = {
  cubby_records: ['by_time', 'by_ttl', 'by_i1', 'by_i2', 'by_i3', 'by_i4', 'by_i5', 'pkey'],
  cubby_tables: ['to_purge', 'pkey'],
  cubby_api_keys: ['by_org', 'id_key', 'hash_key', 'pkey'],
  cubby_organizations: ['name_key', 'pkey'],
}

const renamedSequences = [
  ['cubby_record_ids', 'cubby_record_id'],
  ['cubby_tables_id_seq', 'cubby_table_id_seq'],
  ['cubby_api_keys_seq_seq', 'cubby_api_key_seq_seq'],
  ['cubby_organizations_id_seq', 'cubby_organization_id_seq'],
]

const renamedColumns = [
  ['cubby_record', 'ttl', 'ttl_seconds'],
  ['cubby_table', 'deleted_at', 'deleted_at_ms'],
  ['cubby_store', 'registry_epoch', 'epoch'],
]

const migrateTo7 = async (session: Session, dialect: Dialect): Promise<void> => {
  // The locks come first: transactions of 0.1 that are in flight end before anything is changed, and later ones wait.
  await session.run(`lock table ${renamedTables.map(([from]) => from).join(', ')} in access exclusive mode`)
  for (const [from, to] of renamedTables) {
    await session.run(`alter table ${from} rename to ${to}`)
    for (const index of renamedIndexes[from]) {
      await session.run(`alter index if exists ${from}_${index} rename to ${to}_${index}`)
    }
  }
  for (const [from, to] of renamedSequences) await session.run(`alter sequence ${from} rename to ${to}`)
  for (const [table, from, to] of renamedColumns) {
    await session.run(`alter table ${table} rename column ${from} to ${to}`)
  }
  await renameConstraints(session, dialect)
  for (const sql of [...addedColumns, ...addedTables]) await session.run(sql)
  if (dialect.distributesRecords) for (const sql of distributed) await session.run(sql)
  await copyRights(session, 'cubby_record', 'cubby_blob, cubby_task, cubby_run')
  await makeSecret(session)
}

/** The constraints without an index: checks and, from PostgreSQL 18 on, NOT NULL. */
const renameConstraints = async (session: Session, dialect: Dialect): Promise<void> => {
  const renames = [
    ...renamedTables.map(([from, to]) => [to, from, to] as const),
    ['cubby_store', 'cubby_store_registry_epoch', 'cubby_store_epoch'] as const,
  ]
  for (const [table, from, to] of renames) {
    // Citus does not rename constraints of a distributed table. No statement of ours uses their names.
    if (table === 'cubby_record' && dialect.distributesRecords) continue
    const named = await session.run(
      `select quote_ident(conname) from pg_constraint
       where conrelid = '${table}'::regclass and left(conname::text, ${from.length + 1}) = '${from}_'`,
    )
    for (const [name] of named) {
      await session.run(`alter table ${table} rename constraint ${name} to ${name!.replace(from, to)}`)
    }
  }
}

const addedColumns = [
  `alter table cubby_store add column cursor_key bytea, add column accepts_plain_cursors boolean, add column file_mark text,
     add column files_held_until bigint not null default 0, add column organization_deleted boolean not null default false,
     add column secret_begins_at bigint not null default 0, add column earlier_secrets text not null default '[]',
     add column store_id text not null default ''`,
  `alter table cubby_organization add column deleted_at_ms bigint, add column purging boolean not null default false`,
  `create index cubby_organization_to_purge on cubby_organization (deleted_at_ms) where deleted_at_ms is not null`,
  `alter table cubby_api_key add column link text check (link in ('unused', 'used'))`,
  `alter table cubby_table add column kind text not null default 'table', add column public_id text collate "C"`,
  'drop index if exists cubby_tables_active',
  'drop index if exists cubby_tables_deleted',
  `create unique index cubby_table_by_name on cubby_table (org_id, db, kind, name) where deleted_at_ms is null`,
  `create unique index cubby_table_deleted_by_name on cubby_table (org_id, db, kind, name, deleted_at_ms)
     where deleted_at_ms is not null`,
  `create unique index cubby_table_by_public_id on cubby_table (public_id) where public_id is not null`,
]

// PostgreSQL's planner takes the newest of indexes that cost the same, so a table gets its indexes in the order of a new store.
const addedTables = [
  `create table cubby_blob (table_id bigint not null, id text collate "C" not null, state text not null, due_at_ms bigint,
     bytes bytea, primary key (table_id, id))`,
  'create index cubby_blob_by_id on cubby_blob (id)',
  'create index cubby_blob_by_due on cubby_blob (due_at_ms) where due_at_ms is not null',
  `create table cubby_task (table_id bigint primary key, declaration text not null, updated_at bigint not null,
     paused boolean not null, pushes boolean not null, concurrency bigint, keep_seconds bigint not null, next_run_at bigint,
     served_at bigint, secrets text not null, org_id bigint not null default 0)`,
  'create index cubby_task_pushing_by_org on cubby_task (org_id, table_id) where pushes',
  'create index cubby_task_by_next_run on cubby_task (next_run_at) where next_run_at is not null',
  'create index cubby_task_by_org on cubby_task (org_id, next_run_at) where next_run_at is not null',
  'create index cubby_task_by_served on cubby_task (served_at) where served_at is not null',
  `create table cubby_run (seq bigint not null, task_id bigint not null, id text collate "C" not null,
     status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')), key bytea,
     run_at bigint not null, attempt bigint not null, held boolean not null, lease text, lease_until bigint,
     done_lease text, created_at bigint not null, updated_at bigint not null, finished_at bigint, error text,
     progress text, payload text not null, result text, org_id bigint not null default 0)`,
  'create index cubby_run_by_time on cubby_run (task_id, updated_at, seq)',
  'create index cubby_run_by_status on cubby_run (task_id, status, updated_at, seq)',
  `create index cubby_run_by_lease on cubby_run (lease_until) where status = 'running'`,
  `create index cubby_run_by_org on cubby_run (org_id, lease_until) where status = 'running'`,
  `create index cubby_run_due on cubby_run (task_id, held, run_at, seq) where status = 'queued'`,
  `create unique index cubby_run_by_queued_key on cubby_run (task_id, key) where status = 'queued' and key is not null`,
  `create unique index cubby_run_by_running_key on cubby_run (task_id, key) where status = 'running' and key is not null`,
  'alter table cubby_run add primary key (task_id, id)',
]

const distributed = [
  `select create_distributed_table('cubby_blob', 'table_id', colocate_with => 'cubby_record')`,
  `select create_distributed_table('cubby_run', 'task_id')`,
]

/** Users that may use the records may use the new tables: processes need not run as the owner of the tables. */
const copyRights = async (session: Session, from: string, to: string): Promise<void> => {
  const granted = await session.run(
    `select distinct case when p.grantee = 'PUBLIC' then 'public' else quote_ident(p.grantee) end, p.privilege_type
     from information_schema.table_privileges p
     where p.table_schema = any (current_schemas(false)) and p.table_name = '${from}' and p.grantee <> current_user
       and p.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')`,
  )
  for (const [user, right] of granted) {
    await session.run(`grant ${right} on ${to} to ${user}`)
  }
}

// `migrateTo8` upgrades from 0.2 to 0.3. It renames the tables for the same reason, and no statement of 0.2 finds any of them.
// Without the old name of the epoch its lease ends too, so that it answers nothing from its cache.
// Indexes keep their names, except those of constraints, which a new store names after the table.

/** They are locked in this order, the same as in `renamedTables`. */
const tablesOf02 = [
  'cubby_record',
  'cubby_blob',
  'cubby_run',
  'cubby_task',
  'cubby_table',
  'cubby_api_key',
  'cubby_organization',
]
const distributedOf02 = ['cubby_record', 'cubby_blob', 'cubby_run']
const sequencesOf02 = [
  ['cubby_table_id_seq', 'cubby_table_8_id_seq'],
  ['cubby_api_key_seq_seq', 'cubby_api_key_8_seq_seq'],
  ['cubby_organization_id_seq', 'cubby_organization_8_id_seq'],
]

const addedIn8 = [
  'alter table cubby_api_key_8 add column rolled_from text, add column rolled_to text',
  `create table cubby_idempotency_key (scope_id bigint not null, scope_kind text collate "C" not null, key_hash bytea not null,
     request_hash bytea not null, org_id bigint not null, created_at bigint not null, result text not null,
     user_hash text collate "C")`,
  'create index cubby_idempotency_key_by_org on cubby_idempotency_key (org_id, created_at)',
  'create index cubby_idempotency_key_by_time on cubby_idempotency_key (created_at)',
  `create index cubby_idempotency_key_by_user on cubby_idempotency_key (org_id, user_hash, created_at)
     where user_hash is not null`,
  'alter table cubby_idempotency_key add primary key (scope_id, scope_kind, key_hash)',
  `alter table cubby_table_8 add column keep_hours bigint, add column changes_since bigint,
     add column followers text not null default '[]'`,
  'alter table cubby_task_8 add column follows text collate "C"',
  'create index cubby_task_following on cubby_task_8 (org_id, follows) where follows is not null',
  'create index cubby_table_with_changes on cubby_table_8 (id) where changes_since is not null',
  'create table cubby_feed (table_id bigint primary key, seq bigint not null) with (fillfactor = 20)',
  `create table cubby_change (table_id bigint not null, seq bigint not null, at_ms bigint not null, kind bigint not null,
     hash_key bytea not null, range_key bytea not null, version bigint not null, primary key (table_id, seq))`,
  `alter table cubby_store add column user_epoch bigint not null default 1,
     add column swept_user_epoch bigint not null default 0, add column swept_users_at bigint not null default 0`,
  'alter table cubby_run_8 add column user_name text',
  `create table cubby_revoked_user (org_id bigint not null, user_hash text collate "C" not null, epoch bigint not null,
     revoked_at bigint not null, primary key (org_id, user_hash))`,
  'create index cubby_revoked_user_by_time on cubby_revoked_user (revoked_at)',
  `create table cubby_issuer (org_id bigint not null, name text collate "C" not null, declaration text not null,
     identity bytea not null, created_at bigint not null, updated_at bigint not null, epoch bigint not null,
     primary key (org_id, name))`,
]
const distributedIn8 = [
  ['cubby_idempotency_key', 'scope_id'],
  ['cubby_feed', 'table_id'],
  ['cubby_change', 'table_id'],
]

const migrateTo8 = async (session: Session, dialect: Dialect): Promise<void> => {
  await session.run(`lock table ${tablesOf02.join(', ')} in access exclusive mode`)
  for (const table of tablesOf02) {
    await session.run(`alter table ${table} rename to ${table}_8`)
    const isDistributed = dialect.distributesRecords && distributedOf02.includes(table)
    await renameOwnConstraints(session, `${table}_8`, [table, `${table}_8`], isDistributed)
  }
  for (const [from, to] of sequencesOf02) await session.run(`alter sequence ${from} rename to ${to}`)
  await session.run('alter table cubby_store rename column epoch to epoch_8')
  await renameOwnConstraints(session, 'cubby_store', ['cubby_store_epoch', 'cubby_store_epoch_8'], false)
  for (const sql of addedIn8) await session.run(sql)
  if (dialect.distributesRecords) {
    for (const [table, column] of distributedIn8) {
      await session.run(`select create_distributed_table('${table}', '${column}', colocate_with => 'cubby_record_8')`)
    }
  }
  await copyRights(
    session,
    'cubby_record_8',
    'cubby_idempotency_key, cubby_feed, cubby_change, cubby_revoked_user, cubby_issuer',
  )
}

/** Citus does not rename constraints of a distributed table, but the index of a primary key it does. */
const renameOwnConstraints = async (
  session: Session,
  table: string,
  [from, to]: [string, string],
  isDistributed: boolean,
): Promise<void> => {
  const named = await session.run(
    `select quote_ident(conname), contype from pg_constraint
     where conrelid = '${table}'::regclass and left(conname::text, ${from.length + 1}) = '${from}_'`,
  )
  for (const [name, type] of named) {
    const newName = name!.replace(from, to)
    if (!isDistributed) await session.run(`alter table ${table} rename constraint ${name} to ${newName}`)
    else if (type === 'p') await session.run(`alter index ${name} rename to ${newName}`)
  }
}

/** The secret is not in a DDL statement, which servers often log. */
const makeSecret = async (session: Session): Promise<void> => {
  await session.run(
    `update cubby_store set cursor_key = ${bytesLiteral(randomBytes(32))}, accepts_plain_cursors = true,
       store_id = '${randomBytes(16).toString('hex')}'`,
  )
  await session.run(
    'alter table cubby_store alter column cursor_key set not null, alter column accepts_plain_cursors set not null',
  )
}

/**
 * The migrations are in order, and each leads to a released version: 2 to 6 were never released. A migration is never changed
 * after its release: it names tables and columns as they were then, not by constants of the current schema.
 */
export const migrations: Migration[] = [
  { from: 1, to: 7, run: migrateTo7 },
  { from: 7, to: 8, run: migrateTo8 },
]
