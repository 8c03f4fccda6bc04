import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type {
  DeleteOrganizationResult,
  Organization,
  Organizations,
  RestoreOrganizationResult,
} from '../../../store/organizations.ts'
import type { Registry } from './registry.ts'

export class PostgresOrganizations implements Organizations {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  create(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#registry.writes.createOrganization(name, keys, nowMs, false)
  }

  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined> {
    return this.#registry.writes.createOrganization(name, keys, nowMs, true)
  }

  find(name: string): Promise<Organization | undefined> {
    return this.#registry.reader.findOrganization(name)
  }

  findById(id: number): Promise<Organization | undefined> {
    return this.#registry.reader.findOrganizationById(id)
  }

  list(): Promise<Organization[]> {
    return this.#registry.reader.listOrganizations()
  }

  async delete(name: string, nowMs: number): Promise<DeleteOrganizationResult | undefined> {
    const deleted = await this.#registry.writes.deleteOrganization(name, nowMs)
    if (deleted === undefined) return undefined
    const { stamp, ...result } = deleted
    this.#registry.cache.moveTo(stamp)
    // Also if it was deleted before: the first command may still be waiting.
    await this.#registry.awaitLeaseExpiry()
    return result
  }

  restore(name: string, nowMs: number): Promise<RestoreOrganizationResult | undefined> {
    return this.#registry.writes.restoreOrganization(name, nowMs)
  }
}
