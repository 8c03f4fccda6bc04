import type { Statement } from '../connection/driver.ts'

// The statements on the registry that purge an organization. Several processes purge at once: each skips the rows that another
// one has locked.

/** $1 deleted before this time, $2 without these organizations. */
export const takeOrganization: Statement = {
  name: 'take_org',
  text: `select o.id from cubby_organization_8 o where o.deleted_at_ms <= $1::bigint
    and o.id <> all ($2::bigint[]) order by o.deleted_at_ms limit 1 for update skip locked`,
}

// The mark is written first: if a clock steps back, an organization that has lost rows must not be restored.
export const markPurging: Statement = {
  name: 'mark_org_purging',
  text: 'update cubby_organization_8 set purging = true where id = $1::bigint and not purging',
}

// Two indexes are needed: one has the active tables, the other the deleted ones.
const states = [
  { state: 'active', where: 't.deleted_at_ms is null' },
  { state: 'deleted', where: 't.deleted_at_ms is not null' },
]
const byName = 'order by t.org_id, t.db, t.kind, t.name limit 1'

/** Locks a table, bucket or task of organization $1, as a purge of tables does, and returns its id and kind. */
export const takeTables: Statement[] = states.map(({ state, where }) => ({
  name: `take_table_of_org_${state}`,
  text: `select t.id, t.kind from cubby_table_8 t
    where t.org_id = $1::bigint and ${where} ${byName} for update skip locked`,
}))

/** Finds such a table even if another process has locked it. The kind is null. */
export const anyTables: Statement[] = states.map(({ state, where }) => ({
  name: `any_table_of_org_${state}`,
  text: `select t.id, null from cubby_table_8 t where t.org_id = $1::bigint and ${where} ${byName}`,
}))

/** $2 rows at most. */
export const removeKeys: Statement = {
  name: 'remove_keys_of_org',
  text: `delete from cubby_api_key_8 as k using (
      select e.seq from cubby_api_key_8 e where e.org_id = $1::bigint limit $2::bigint
    ) as x where k.seq = x.seq`,
}

/** Those of the organization and of its databases, whose kinds sort before `table`. $2 rows at most. */
export const removeIdempotencyKeys: Statement = {
  name: 'remove_idempotency_keys_of_org',
  text: `delete from cubby_idempotency_key as i using (
      select e.scope_kind, e.key_hash from cubby_idempotency_key e
      where e.scope_id = $1::bigint and e.scope_kind < 'table' limit $2::bigint
    ) as x where i.scope_id = $1::bigint and i.scope_kind = x.scope_kind and i.key_hash = x.key_hash`,
}

/** $2 rows at most. */
export const removeRevocations: Statement = {
  name: 'remove_revocations_of_org',
  text: `delete from cubby_revoked_user as u using (
      select e.user_hash from cubby_revoked_user e where e.org_id = $1::bigint limit $2::bigint
    ) as x where u.org_id = $1::bigint and u.user_hash = x.user_hash`,
}

/** An organization has few. */
export const removeIssuers: Statement = {
  name: 'remove_issuers_of_org',
  text: 'delete from cubby_issuer as i where i.org_id = $1::bigint',
}

export const removeOrganization: Statement = {
  name: 'remove_org',
  text: 'delete from cubby_organization_8 where id = $1::bigint',
}
