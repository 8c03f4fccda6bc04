import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type {
  DeleteOrganizationResult,
  Organization,
  Organizations,
  RestoreOrganizationResult,
} from '../../../store/organizations.ts'
import type { OpenStore } from '../open-store.ts'
import { leaseMarginMs, registryLeaseMs } from './registry-cache.ts'
import { type OrganizationRow, organizationColumns, toOrganization } from './rows.ts'

export class SqliteOrganizations implements Organizations {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  create(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#store.channel.submit({ kind: 'createOrganization', nowMs, name, keys, onlyIfFirst: false })
  }

  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#store.channel.submit({ kind: 'createOrganization', nowMs, name, keys, onlyIfFirst: true })
  }

  find(name: string): Organization | undefined {
    return this.#store
      .all<OrganizationRow>(`SELECT ${organizationColumns} FROM organizations WHERE name = ?1`, name)
      .map(toOrganization)[0]
  }

  findById(id: number): Organization | undefined {
    return this.#store
      .all<OrganizationRow>(`SELECT ${organizationColumns} FROM organizations WHERE id = ?1`, id)
      .map(toOrganization)[0]
  }

  list(): Organization[] {
    return this.#store
      .all<OrganizationRow>(`SELECT ${organizationColumns} FROM organizations ORDER BY name`)
      .map(toOrganization)
  }

  async delete(name: string, nowMs: number): Promise<DeleteOrganizationResult | undefined> {
    const deleted = await this.#store.channel.submit({ kind: 'deleteOrganization', name, nowMs })
    // A server on the same store, and each of its workers, uses what it has cached until its lease ends. Also if it was
    // deleted before: the first command may still be waiting.
    if (deleted !== undefined) await Bun.sleep(registryLeaseMs + leaseMarginMs)
    return deleted
  }

  restore(name: string, nowMs: number): Promise<RestoreOrganizationResult | undefined> {
    return this.#store.channel.submit({ kind: 'restoreOrganization', name, nowMs })
  }
}
