import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import { recoveryMs } from '../../../core/limits.ts'
import type {
  DeleteOrganizationResult,
  Organization,
  Organizations,
  RestoreOrganizationResult,
} from '../../../store/organizations.ts'
import { noOrg, organization } from '../connection/database.ts'
import { bind, type Statement } from '../connection/driver.ts'
import { insertKeyStatement } from './api-keys.ts'
import type { Registry } from './registry.ts'
import { epochColumn, organizationColumns, toOrganization } from './rows.ts'

const findByName: Statement = {
  name: 'find_org',
  text: `select ${organizationColumns} from cubby_organization_8 o where o.name = $1`,
}

const findById: Statement = {
  name: 'find_org_by_id',
  text: `select ${organizationColumns} from cubby_organization_8 o where o.id = $1::bigint`,
}

const listAll: Statement = {
  name: 'list_orgs',
  text: `select ${organizationColumns} from cubby_organization_8 o order by o.name`,
}

const lockStore: Statement = { name: 'lock_store', text: 'select s.id from cubby_store s for update' }

const insert: Statement = {
  name: 'insert_org',
  text: `insert into cubby_organization_8 as o (name, created_at) values ($1, $2::bigint)
    on conflict (name) do nothing returning ${organizationColumns}`,
}

const insertFirst: Statement = {
  name: 'insert_first_org',
  text: `insert into cubby_organization_8 as o (name, created_at)
    select $1, $2::bigint where not exists (select 1 from cubby_organization_8)
      and not (select s.organization_deleted from cubby_store s) returning ${organizationColumns}`,
}

const lockNamed: Statement = {
  name: 'lock_named_org',
  text: `select ${organizationColumns}, o.purging, ${epochColumn} from cubby_organization_8 o where o.name = $1 for update`,
}

// The store remembers that an organization was deleted: if its last organization was purged, this is not its first start.
const moveEpoch: Statement = {
  name: 'move_epoch_org',
  text: 'update cubby_store set epoch_8 = epoch_8 + 1, organization_deleted = true',
}

const markDeleted: Statement = {
  name: 'mark_org_deleted',
  text: `update cubby_organization_8 as o set deleted_at_ms = $2::bigint where o.id = $1::bigint
    returning ${organizationColumns}, ${epochColumn}`,
}

const unmarkDeleted: Statement = {
  name: 'unmark_org_deleted',
  text: `update cubby_organization_8 as o set deleted_at_ms = null where o.id = $1::bigint returning ${organizationColumns}`,
}

export class PostgresOrganizations implements Organizations {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  create(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#create(insert, name, keys, nowMs)
  }

  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#create(insertFirst, name, keys, nowMs)
  }

  #create(statement: Statement, name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#registry.db.transaction(noOrg, async ({ send, commit }) => {
      const [, made] = await send(bind(lockStore), bind(statement, name, nowMs))
      const row = made!.rows[0]
      if (row === undefined) return undefined
      const organization = toOrganization(row)
      await commit(...keys.map((key) => insertKeyStatement(organization.id, key, nowMs, { creatorSeq: null })))
      return organization
    })
  }

  async find(name: string): Promise<Organization | undefined> {
    if (name.includes('\0')) return undefined
    const [found] = await this.#registry.db.read(noOrg, bind(findByName, name))
    return found!.rows.map(toOrganization)[0]
  }

  async findById(id: number): Promise<Organization | undefined> {
    const [found] = await this.#registry.db.read(organization(id), bind(findById, id))
    return found!.rows.map(toOrganization)[0]
  }

  async list(): Promise<Organization[]> {
    const [listed] = await this.#registry.db.read(noOrg, bind(listAll))
    return listed!.rows.map(toOrganization)
  }

  /** Writes one row, however much the organization has. Every look-up and every guard reads it. */
  async delete(name: string, nowMs: number): Promise<DeleteOrganizationResult | undefined> {
    const { db, cache } = this.#registry
    const deleted = await db.transaction(noOrg, async ({ send, commit }) => {
      const [found] = await send(bind(lockNamed, name))
      const row = found!.rows[0]
      if (row === undefined) return undefined
      const { id, deletedAtMs } = toOrganization(row)
      if (deletedAtMs !== null) return { outcome: 'already' as const, row }
      const [, marked] = await commit(bind(moveEpoch), bind(markDeleted, id, nowMs))
      return { outcome: 'deleted' as const, row: marked!.rows[0]! }
    })
    if (deleted === undefined) return undefined
    const { outcome, row } = deleted
    cache.moveTo(Number(row.at(-1)))
    // It waits even if the organization was deleted before: the first command may still be waiting.
    await this.#registry.awaitLeaseExpiry()
    return { outcome, organization: toOrganization(row) }
  }

  restore(name: string, nowMs: number): Promise<RestoreOrganizationResult | undefined> {
    const { db } = this.#registry
    return db.transaction(noOrg, async ({ send, commit }): Promise<RestoreOrganizationResult | undefined> => {
      const [found] = await send(bind(lockNamed, name))
      const row = found!.rows[0]
      if (row === undefined) return undefined
      const organization = toOrganization(row)
      if (organization.deletedAtMs === null) return { outcome: 'active', organization }
      const isPurging = row.at(-2) === 't'
      if (isPurging || organization.deletedAtMs <= nowMs - recoveryMs) return { outcome: 'over', organization }
      const [restored] = await commit(bind(unmarkDeleted, organization.id))
      return { outcome: 'restored', organization: toOrganization(restored!.rows[0]!) }
    })
  }
}
