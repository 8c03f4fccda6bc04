import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type { Organization, Organizations } from '../../../store/organizations.ts'
import type { OpenStore } from '../open-store.ts'
import { type OrganizationRow, toOrganization } from './rows.ts'

export class SqliteOrganizations implements Organizations {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  create(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#store.channel.submitMaintenance<'createOrganization'>({
      kind: 'createOrganization',
      nowMs,
      name,
      keys,
      onlyIfFirst: false,
    })
  }

  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#store.channel.submitMaintenance<'createOrganization'>({
      kind: 'createOrganization',
      nowMs,
      name,
      keys,
      onlyIfFirst: true,
    })
  }

  find(name: string): Organization | undefined {
    return this.#store
      .all<OrganizationRow>('SELECT id, name, created_at FROM organizations WHERE name = ?1', name)
      .map(toOrganization)[0]
  }

  findById(id: number): Organization | undefined {
    return this.#store
      .all<OrganizationRow>('SELECT id, name, created_at FROM organizations WHERE id = ?1', id)
      .map(toOrganization)[0]
  }

  list(): Organization[] {
    return this.#store
      .all<OrganizationRow>('SELECT id, name, created_at FROM organizations ORDER BY name')
      .map(toOrganization)
  }
}
