import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type { Awaitable } from '../../../core/awaitable.ts'
import type { ApiKey, ApiKeys, Caller, KeyUse } from '../../../store/api-keys.ts'
import type { Registry } from './registry.ts'

export class PostgresApiKeys implements ApiKeys {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  find(text: string): Awaitable<ApiKey | undefined> {
    return this.#registry.cache.findApiKey(text)
  }

  findById(id: string): Awaitable<ApiKey | undefined> {
    return this.#registry.cache.findApiKeyById(id)
  }

  create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    return this.#registry.writes.createApiKey(caller, key, nowMs)
  }

  list(orgId: number, beforeSeq: number | undefined, limit: number): Promise<ApiKey[]> {
    return this.#registry.reader.listApiKeys(orgId, beforeSeq, limit)
  }

  async revoke(caller: Caller, id: string, nowMs: number): Promise<ApiKey | undefined> {
    const revoked = await this.#registry.writes.revokeApiKey(caller, id, nowMs)
    if (revoked === undefined) return undefined
    this.#registry.cache.moveTo(revoked.stamp)
    // Also if it was revoked before: the first revocation may still be waiting.
    await this.#registry.awaitLeaseExpiry()
    return revoked
  }

  noteUse(uses: KeyUse[]): Promise<void> {
    return this.#registry.writes.recordKeyUse(uses)
  }
}
