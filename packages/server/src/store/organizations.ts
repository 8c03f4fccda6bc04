import type { NewApiKey } from '../core/api-keys/api-key.ts'
import type { Awaitable } from '../core/awaitable.ts'

export interface Organization {
  id: number
  name: string
  createdAtMs: number
}

export interface Organizations {
  /** Creates the organization with its first keys; undefined if the name is taken. */
  create(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined>
  /** The same, but only if the store has no organization yet. If several processes call it, one succeeds. */
  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined>
  find(name: string): Awaitable<Organization | undefined>
  findById(id: number): Awaitable<Organization | undefined>
  list(): Awaitable<Organization[]>
}
