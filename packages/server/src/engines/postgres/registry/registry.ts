import type { Caller } from '../../../store/api-keys.ts'
import { type Database, holderOf } from '../connection/database.ts'
import { type BoundStatement, bind, type Statement, type StatementResult } from '../connection/driver.ts'
import { isRaised } from '../connection/failure.ts'
import { organizationDeleted, revokedApiKey } from '../records/write-guard.ts'
import type { RegistryCache } from './registry-cache.ts'
import { isOfActive } from './rows.ts'
import type { UserCache } from './user-cache.ts'

/** Organizations, API keys, tables and tasks share these. */
export interface Registry {
  readonly db: Database
  readonly cache: RegistryCache
  readonly users: UserCache
  /** Resolves when no process on the store can still use a key or table that was revoked or deleted. */
  awaitLeaseExpiry(): Promise<void>
}

// Changes of one organization run one after another. Revocations, deletions and rotations also increment the epoch, late in the
// transaction, because all organizations share it.
const lockOrganization: Statement = {
  name: 'lock_org',
  text: 'select o.id from cubby_organization_8 o where o.id = $1::bigint for update',
}

/** Fails if the caller's key is revoked, or the organization ($2) is deleted: see `raising` in statements.ts. */
const guardKey: Statement = {
  name: 'guard_key',
  text: `select 1 / (case when coalesce(${isOfActive('$2::bigint')}, false) and ($1::bigint is null
    or exists (select 1 from cubby_api_key_8 k where k.seq = $1::bigint and k.revoked_at is null)) then 1 else 0 end)`,
}

/** $1 organization. */
const readActivity: Statement = {
  name: 'org_is_active',
  text: `select coalesce(${isOfActive('$1::bigint')}, false)`,
}

/** The first two statements of a change of an organization's registry. */
export const openings = ({ orgId, apiKey }: Caller): BoundStatement[] => [
  bind(lockOrganization, orgId),
  bind(guardKey, apiKey?.seq ?? null, orgId),
]

/** Explains an error that `guardKey` has raised. */
export const refusingGone = async <T>(db: Database, caller: Caller, change: Promise<T>): Promise<T> => {
  try {
    return await change
  } catch (error) {
    if (!isRaised(error)) throw error
    const [activity] = await db.read(holderOf(caller), bind(readActivity, caller.orgId))
    throw activity!.rows[0]![0] === 't' ? revokedApiKey() : organizationDeleted()
  }
}

/** Runs all steps in one round trip, if the caller's key is still active. */
export const changeRegistry = async (
  db: Database,
  caller: Caller,
  ...bound: BoundStatement[]
): Promise<StatementResult[]> => {
  const opening = openings(caller)
  const results = await refusingGone(db, caller, db.write(holderOf(caller), ...opening, ...bound))
  return results.slice(opening.length)
}
