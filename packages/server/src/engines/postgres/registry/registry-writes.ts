import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import { recoveryMs } from '../../../core/limits.ts'
import { rotateSecrets, type StoreSecret } from '../../../core/store-secrets.ts'
import type { ApiKey, Caller, KeyUse } from '../../../store/api-keys.ts'
import type { DeleteOrganizationResult, Organization, RestoreOrganizationResult } from '../../../store/organizations.ts'
import type { RestoreResult, Table, TableKind } from '../../../store/tables.ts'
import { type Database, holderOf, noOrg, type Transaction } from '../connection/database.ts'
import type { Statement, Step, StepResult, Value } from '../connection/driver.ts'
import { isRaised } from '../connection/failure.ts'
import { organizationDeleted, revokedApiKey } from '../records/refusals.ts'
import {
  epochColumn,
  isOfActive,
  keyColumns,
  named,
  organizationColumns,
  secretColumns,
  secretValues,
  tableColumns,
  toApiKey,
  toOrganization,
  toSecrets,
  toTable,
  writeSecrets,
} from './rows.ts'

export const step = (statement: Statement, ...values: Value[]): Step => ({ statement, values })

// Changes of one organization run one after another. Revocations, deletions and rotations also increment the epoch, late in the
// transaction, because all organizations share it.
export const lockOrganization: Statement = {
  name: 'lock_org',
  text: 'select o.id from cubby_organization o where o.id = $1::bigint for update',
}

/** Fails if the caller's key is revoked, or the organization ($2) is deleted: see `raising` in statements.ts. */
export const guardKey: Statement = {
  name: 'guard_key',
  text: `select 1 / (case when coalesce(${isOfActive('$2::bigint')}, false) and ($1::bigint is null
    or exists (select 1 from cubby_api_key k where k.seq = $1::bigint and k.revoked_at is null)) then 1 else 0 end)`,
}

/** $1 organization. */
const readActivity: Statement = {
  name: 'org_is_active',
  text: `select coalesce(${isOfActive('$1::bigint')}, false)`,
}

const lockNamedOrganization: Statement = {
  name: 'lock_named_org',
  text: `select ${organizationColumns}, o.purging, ${epochColumn} from cubby_organization o where o.name = $1 for update`,
}

// The store remembers it: one whose last organization was purged is not at its first start.
const moveEpochForOrganization: Statement = {
  name: 'move_epoch_org',
  text: 'update cubby_store set epoch = epoch + 1, organization_deleted = true',
}

const markOrganizationDeleted: Statement = {
  name: 'mark_org_deleted',
  text: `update cubby_organization as o set deleted_at_ms = $2::bigint where o.id = $1::bigint
    returning ${organizationColumns}, ${epochColumn}`,
}

const unmarkOrganizationDeleted: Statement = {
  name: 'unmark_org_deleted',
  text: `update cubby_organization as o set deleted_at_ms = null where o.id = $1::bigint returning ${organizationColumns}`,
}

const insertKey: Statement = {
  name: 'insert_key',
  text: `insert into cubby_api_key as k (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at, link)
    values ($1, $2::bigint, $3, $4, $5, $6, $7, $8::bigint, $9::bigint, $10) returning ${keyColumns}, ${epochColumn}`,
}

const useLink: Statement = {
  name: 'use_link',
  text: `update cubby_api_key as k set link = 'used' where k.seq = $1::bigint and k.link = 'unused' returning k.seq`,
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

const lockSecrets: Statement = {
  name: 'lock_secrets',
  text: `select ${secretColumns} from cubby_store s for update`,
}

const insertOrganization: Statement = {
  name: 'insert_org',
  text: `insert into cubby_organization as o (name, created_at) values ($1, $2::bigint)
    on conflict (name) do nothing returning ${organizationColumns}`,
}

const insertFirstOrganization: Statement = {
  name: 'insert_first_org',
  text: `insert into cubby_organization as o (name, created_at)
    select $1, $2::bigint where not exists (select 1 from cubby_organization)
      and not (select s.organization_deleted from cubby_store s) returning ${organizationColumns}`,
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

const keyValues = (orgId: number, key: NewApiKey, nowMs: number, expiresAtMs = key.expiresAtMs): Value[] => [
  ...[key.id, orgId, key.kind, key.name === null ? null : JSON.stringify(key.name), key.hash, key.lastFour],
  ...[key.databases === null ? null : JSON.stringify(key.databases), nowMs, expiresAtMs, key.link],
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
    const opening = openings(caller)
    const results = await refusingGone(this.#db, caller, this.#db.write(holderOf(caller), ...opening, ...steps))
    return results.slice(opening.length)
  }

  // ── Keys and organizations ───────────────────────────────────────────────────────────────────────────────

  async createApiKey(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    if (key.linkExpiresAtMs !== null) return this.#createApiKeyByLink(caller, key, nowMs)
    const [made] = await this.#change(caller, step(insertKey, ...keyValues(caller.orgId, key, nowMs)))
    return toApiKey(made!.rows[0]!)
  }

  /** Changes of an organization run one after another, so of several keys at once one uses the link. */
  #createApiKeyByLink(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    return refusingGone(
      this.#db,
      caller,
      this.#db.transaction(holderOf(caller), async ({ send, commit }) => {
        const used =
          (await send(...openings(caller), step(useLink, caller.apiKey?.seq ?? null))).at(-1)!.rows.length > 0
        const expiresAtMs = used ? key.linkExpiresAtMs : key.expiresAtMs
        const [made] = await commit(step(insertKey, ...keyValues(caller.orgId, key, nowMs, expiresAtMs)))
        return toApiKey(made!.rows[0]!)
      }),
    )
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

  /** One row, however much the organization has: every look-up and every guard reads it. */
  deleteOrganization(name: string, nowMs: number): Promise<(DeleteOrganizationResult & { stamp: number }) | undefined> {
    return this.#db.transaction(noOrg, async ({ send, commit }) => {
      const [found] = await send(step(lockNamedOrganization, name))
      const row = found!.rows[0]
      if (row === undefined) return undefined
      const organization = toOrganization(row)
      if (organization.deletedAtMs !== null) return { outcome: 'already', organization, stamp: Number(row.at(-1)) }
      const [, marked] = await commit(
        step(moveEpochForOrganization),
        step(markOrganizationDeleted, organization.id, nowMs),
      )
      const deleted = marked!.rows[0]!
      return { outcome: 'deleted', organization: toOrganization(deleted), stamp: Number(deleted.at(-1)) }
    })
  }

  restoreOrganization(name: string, nowMs: number): Promise<RestoreOrganizationResult | undefined> {
    return this.#db.transaction(noOrg, async ({ send, commit }): Promise<RestoreOrganizationResult | undefined> => {
      const [found] = await send(step(lockNamedOrganization, name))
      const row = found!.rows[0]
      if (row === undefined) return undefined
      const organization = toOrganization(row)
      if (organization.deletedAtMs === null) return { outcome: 'active', organization }
      const isPurging = row.at(-2) === 't'
      if (isPurging || organization.deletedAtMs <= nowMs - recoveryMs) return { outcome: 'over', organization }
      const [restored] = await commit(step(unmarkOrganizationDeleted, organization.id))
      return { outcome: 'restored', organization: toOrganization(restored!.rows[0]!) }
    })
  }

  // ── Secrets ──────────────────────────────────────────────────────────────────────────────────────────────

  rotateSecrets(
    next: StoreSecret,
    endsEarlier: boolean,
    nowMs: number,
  ): Promise<{ secrets: StoreSecret[]; epoch: number }> {
    return this.#db.transaction(noOrg, async ({ send, commit }) => {
      const [found] = await send(step(lockSecrets))
      const secrets = rotateSecrets(toSecrets(found!.rows[0]!), next, endsEarlier, nowMs)
      const [written] = await commit(step(writeSecrets, ...secretValues(secrets)))
      return { secrets, epoch: Number(written!.rows[0]![0]) }
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
    const { orgId } = caller
    const recoverable = (at: number | null) => step(recoverableTables, orgId, db, kind, name, nowMs - recoveryMs, at)
    return refusingGone(
      this.#db,
      caller,
      this.#db.transaction(holderOf(caller), async ({ send, commit }): Promise<RestoreResult> => {
        const [, , active, newest, chosen] = await send(
          ...openings(caller),
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

/** The first two statements of a change of an organization's registry. */
export const openings = ({ orgId, apiKey }: Caller): Step[] => [
  step(lockOrganization, orgId),
  step(guardKey, apiKey?.seq ?? null, orgId),
]

/** Explains what `guardKey` has raised. */
export const refusingGone = async <T>(db: Database, caller: Caller, change: Promise<T>): Promise<T> => {
  try {
    return await change
  } catch (error) {
    if (!isRaised(error)) throw error
    const [activity] = await db.read(holderOf(caller), step(readActivity, caller.orgId))
    throw activity!.rows[0]![0] === 't' ? revokedApiKey() : organizationDeleted()
  }
}
