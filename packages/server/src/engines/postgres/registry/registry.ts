import type { RegistryCache } from './registry-cache.ts'
import type { RegistryReader } from './registry-reader.ts'
import type { RegistryWrites } from './registry-writes.ts'

/** What organizations, API keys and tables share. */
export interface Registry {
  readonly reader: RegistryReader
  readonly cache: RegistryCache
  readonly writes: RegistryWrites
  /** Resolves when no process on the store can still act on what was revoked or deleted. */
  awaitLeaseExpiry(): Promise<void>
}
