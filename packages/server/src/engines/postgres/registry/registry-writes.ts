import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import { recoveryMs } from '../../../core/limits.ts'
import type { ApiKey, Caller, KeyUse } from '../../../store/api-keys.ts'
import type { Organization } from '../../../store/organizations.ts'
import type { RestoreResult, Table, TableKind } from '../../../store/tables.ts'
import { type Database, holderOf, noOrg, type Transaction } from '../connection/database.ts'
import type { Statement, Step, StepResult, Value } from '../connection/driver.ts'
import { isRaised } from '../connection/failure.ts'
import { revokedApiKey } from '../records/refusals.ts'
import {
  epochColumn,
  keyColumns,
  named,
  organizationColumns,
  tableColumns,
  toApiKey,
  toOrganization,
  toTable,
} from './rows.ts'

export const step = (statement: Statement, ...values: Value[]): Step => ({ statement, values })

// Changes of one organization run one after another. Revocations and deletions also increment the epoch, late in the
// transaction, because all organizations share it.
export const lockOrganization: Statement = {
  name: 'lock_org',
  text: 'select o.id from cubby_organization o where o.id = $1::bigint for update',
}

/** Fails if the caller's key is revoked: see `raising` in statements.ts. */
export const guardKey: Statement = {
  name: 'guard_key',
  text: `select 1 / (case when $1::bigint is null
    or exists (select 1 from cubby_api_key k where k.seq = $1::bigint and k.revoked_at is null) then 1 else 0 end)`,
}

const insertKey: Statement = {
  name: 'insert_key',
  text: `insert into cubby_api_key as k (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at)
    values ($1, $2::bigint, $3, $4, $5, $6, $7, $8::bigint, $9::bigint) returning ${keyColumns}, ${epochColumn}`,
}

const moveEpochForKey: Statement = {
  name: 'move_epoch_key',
  text: `update cubby_store set epoch = epoch + 1 where exists
    (select 1 from cubby_api_key k where k.id = $1 and k.org_id = $2::bigint and k.revoked_at is null)`,
}

const revokeKey: Statement = {
  name: 'revoke_key',
  text: `update cubby_api_key as k set revoked_at = coalesce(k.revoked_at, $3::bigint)
    where k.id = $1 and k.org_id = $2::bigint returning ${keyColumns}, ${epochColumn}`,
}

const noteKeyUse: Statement = {
  name: 'note_key_use',
  text: `update cubby_api_key as k set last_used_at = $2::bigint
    where k.id = $1 and coalesce(k.last_used_at, 0) < $2::bigint`,
}

const lockStore: Statement = { name: 'lock_store', text: 'select s.id from cubby_store s for update' }

const insertOrganization: Statement = {
  name: 'insert_org',
  text: `insert into cubby_organization as o (name, created_at) values ($1, $2::bigint)
    on conflict (name) do nothing returning ${organizationColumns}`,
}

const insertFirstOrganization: Statement = {
  name: 'insert_first_org',
  text: `insert into cubby_organization as o (name, created_at)
    select $1, $2::bigint where not exists (select 1 from cubby_organization) returning ${organizationColumns}`,
}

export const insertTable: Statement = {
  name: 'insert_table',
  text: `insert into cubby_table as t (org_id, db, kind, name, indices, public_id, created_at)
    values ($1::bigint, $2, $3, $4, $5, $6, $7::bigint)
    on conflict (org_id, db, kind, name) where deleted_at_ms is null do nothing returning t.id`,
}

export const activeTable: Statement = {
  name: 'active_table',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table t where ${named} and t.deleted_at_ms is null`,
}

export const moveEpochForTable: Statement = {
  name: 'move_epoch_table',
  text: `update cubby_store set epoch = epoch + 1
    where exists (select 1 from cubby_table t where ${named} and t.deleted_at_ms is null)`,
}

// `deletedAt` is unique among the tables of one name, so that a restore can name one of them.
export const markDeleted: Statement = {
  name: 'mark_deleted',
  text: `update cubby_table as t set deleted_at_ms = greatest($5::bigint, 1 + coalesce((select max(d.deleted_at_ms)
      from cubby_table d where ${named.replaceAll('t.', 'd.')} and d.deleted_at_ms is not null), 0))
    where ${named} and t.deleted_at_ms is null returning ${tableColumns}, ${epochColumn}`,
}

const recoverableTables: Statement = {
  name: 'recoverable_tables',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table t
    where ${named} and t.deleted_at_ms > $5::bigint and not t.purging and ($6::bigint is null or t.deleted_at_ms = $6::bigint)
    order by t.org_id desc, t.db desc, t.kind desc, t.name desc, t.deleted_at_ms desc limit 1`,
}

const unmarkDeleted: Statement = {
  name: 'unmark_deleted',
  text: `update cubby_table as t set deleted_at_ms = null where t.id = $1::bigint and not t.purging
    returning ${tableColumns}, ${epochColumn}`,
}

const keyValues = (orgId: number, key: NewApiKey, nowMs: number): Value[] => [
  ...[key.id, orgId, key.kind, key.name === null ? null : JSON.stringify(key.name), key.hash, key.lastFour],
  ...[key.databases === null ? null : JSON.stringify(key.databases), nowMs, key.expiresAtMs],
]

/** Which table, bucket or task of an organization. */
export interface TableName {
  kind: TableKind
  db: string
  name: string
}

/** Changes keys, organizations and tables, each in one transaction. None of this is on the hot path. */
export class RegistryWrites {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** All steps in one round trip, if the caller's key is still active. */
  async #change(caller: Caller, ...steps: Step[]): Promise<StepResult[]> {
    const opening = [step(lockOrganization, caller.orgId), step(guardKey, caller.apiKey?.seq ?? null)]
    const results = await refusingRevoked(this.#db.write(holderOf(caller), ...opening, ...steps))
    return results.slice(opening.length)
  }

  // ── Keys and organizations ───────────────────────────────────────────────────────────────────────────────

  async createApiKey(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    const [made] = await this.#change(caller, step(insertKey, ...keyValues(caller.orgId, key, nowMs)))
    return toApiKey(made!.rows[0]!)
  }

  async revokeApiKey(caller: Caller, id: string, nowMs: number): Promise<ApiKey | undefined> {
    const { orgId } = caller
    if (id.includes('\0')) return undefined
    const [, revoked] = await this.#change(caller, step(moveEpochForKey, id, orgId), step(revokeKey, id, orgId, nowMs))
    const row = revoked!.rows[0]
    return row && toApiKey(row)
  }

  async recordKeyUse(uses: KeyUse[]): Promise<void> {
    // Sorted, so that two processes do not deadlock; in parts, so that neither waits long.
    const sorted = uses.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    for (let at = 0; at < sorted.length; at += keyUsesPerWrite) {
      const part = sorted.slice(at, at + keyUsesPerWrite)
      await this.#db.write(noOrg, ...part.map(({ id, atMs }) => step(noteKeyUse, id, atMs)))
    }
  }

  createOrganization(
    name: string,
    keys: NewApiKey[],
    nowMs: number,
    onlyIfFirst: boolean,
  ): Promise<Organization | undefined> {
    const insert = onlyIfFirst ? insertFirstOrganization : insertOrganization
    return this.#db.transaction(noOrg, async ({ send, commit }) => {
      const [, made] = await send(step(lockStore), step(insert, name, nowMs))
      const row = made!.rows[0]
      if (row === undefined) return undefined
      const organization = toOrganization(row)
      await commit(...keys.map((key) => step(insertKey, ...keyValues(organization.id, key, nowMs))))
      return organization
    })
  }

  // ── Tables and buckets ───────────────────────────────────────────────────────────────────────────────────

  async createTable(
    caller: Caller,
    { kind, db, name }: TableName,
    { indices, publicId }: Pick<Table, 'indices' | 'publicId'>,
    nowMs: number,
  ): Promise<{ table: Table; created: boolean }> {
    const { orgId } = caller
    const [made, active] = await this.#change(
      caller,
      step(insertTable, orgId, db, kind, name, JSON.stringify(indices), publicId, nowMs),
      step(activeTable, orgId, db, kind, name),
    )
    return { table: toTable(active!.rows[0]!), created: made!.rows.length > 0 }
  }

  async deleteTable(caller: Caller, { kind, db, name }: TableName, nowMs: number): Promise<Table | undefined> {
    const { orgId } = caller
    const [, deleted] = await this.#change(
      caller,
      step(moveEpochForTable, orgId, db, kind, name),
      step(markDeleted, orgId, db, kind, name, nowMs),
    )
    const row = deleted!.rows[0]
    return row && toTable(row)
  }

  /** `alsoFor`: what else the transaction writes if the table is restored. */
  restoreTable(
    caller: Caller,
    { kind, db, name }: TableName,
    deletedAtMs: number | undefined,
    nowMs: number,
    alsoFor: (table: Table, send: Transaction['send']) => Promise<Step[]> = async () => [],
  ): Promise<RestoreResult> {
    const { orgId, apiKey } = caller
    const recoverable = (at: number | null) => step(recoverableTables, orgId, db, kind, name, nowMs - recoveryMs, at)
    return refusingRevoked(
      this.#db.transaction(holderOf(caller), async ({ send, commit }): Promise<RestoreResult> => {
        const [, , active, newest, chosen] = await send(
          step(lockOrganization, orgId),
          step(guardKey, apiKey?.seq ?? null),
          step(activeTable, orgId, db, kind, name),
          recoverable(null),
          recoverable(deletedAtMs ?? null),
        )
        const present = active!.rows[0]
        if (present !== undefined && newest!.rows.length === 0) return { outcome: 'active', table: toTable(present) }
        const row = chosen!.rows[0]
        if (row === undefined) return { outcome: 'missing' }
        const table = toTable(row)
        if (present !== undefined) return { outcome: 'taken', deletedAtMs: table.deletedAtMs! }
        const [restored] = await commit(step(unmarkDeleted, table.id), ...(await alsoFor(table, send)))
        // A purge by a process whose clock runs ahead may have been faster.
        const back = restored!.rows[0]
        return back === undefined ? { outcome: 'missing' } : { outcome: 'restored', table: toTable(back) }
      }),
    )
  }
}

const keyUsesPerWrite = 500

export const refusingRevoked = async <T>(change: Promise<T>): Promise<T> => {
  try {
    return await change
  } catch (error) {
    throw isRaised(error) ? revokedApiKey() : error
  }
}
