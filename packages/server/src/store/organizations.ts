import type { NewApiKey } from '../core/api-keys/api-key.ts'
import type { Awaitable } from '../core/awaitable.ts'

export interface Organization {
  id: number
  name: string
  createdAtMs: number
  /** The time since which its keys are unknown and nothing of it is found; null if it is active. */
  deletedAtMs: number | null
}

export type DeleteOrganizationResult = {
  /** `already`: it was deleted before, and nothing was changed. */
  outcome: 'deleted' | 'already'
  organization: Organization
}

export type RestoreOrganizationResult = {
  /** `over`: it was deleted so long ago that it is being removed. */
  outcome: 'restored' | 'active' | 'over'
  organization: Organization
}

export interface Organizations {
  /** Creates the organization with its first keys; undefined if the name is taken. */
  create(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined>
  /** Does the same, but only if the store never had an organization. If several processes call it, one succeeds. */
  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined>
  find(name: string): Awaitable<Organization | undefined>
  /** Finds deleted organizations too, until they are purged. So do `find` and `list`. */
  findById(id: number): Awaitable<Organization | undefined>
  /** Sorted by name. */
  list(): Awaitable<Organization[]>
  /**
   * Deletes it with all that it has, for `recoveryMs`; undefined if there is none with that name. When it resolves, no process
   * on the store finds its API keys, tables, buckets or tasks, and no write of it is applied, not even one that was in flight.
   * Expiry, leases and schedules of its records and runs go on. The name stays taken. A second call changes nothing and waits
   * as the first one.
   */
  delete(name: string, nowMs: number): Promise<DeleteOrganizationResult | undefined>
  /** Restores it as it was. Keys that were revoked before, and tables that were deleted before, stay so. */
  restore(name: string, nowMs: number): Promise<RestoreOrganizationResult | undefined>
}
