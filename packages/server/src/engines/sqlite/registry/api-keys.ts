import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type { ApiKey, ApiKeys, Caller, KeyUse } from '../../../store/api-keys.ts'
import type { OpenStore } from '../open-store.ts'
import { leaseMarginMs, registryLeaseMs } from './registry-cache.ts'
import { type KeyRow, keyColumns, toApiKey } from './rows.ts'

export class SqliteApiKeys implements ApiKeys {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  find(text: string): ApiKey | undefined {
    return this.#look(() => this.#store.registry.findApiKey(text))
  }

  findById(id: string): ApiKey | undefined {
    return this.#look(() => this.#store.registry.findApiKeyById(id))
  }

  #look(find: () => ApiKey | undefined): ApiKey | undefined {
    this.#store.watch?.hold()
    try {
      return find()
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
  }

  create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    return this.#store.channel.submit({
      kind: 'createApiKey',
      fence: this.#store.fence(caller),
      nowMs,
      key,
    })
  }

  list(orgId: number, beforeSeq: number | undefined, limit: number): ApiKey[] {
    const stamp = this.#store.epoch()
    return this.#store
      .all<KeyRow>(
        `SELECT ${keyColumns} FROM api_keys WHERE org_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3`,
        ...[orgId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit],
      )
      .map((row) => toApiKey(row, stamp))
  }

  async revoke(caller: Caller, id: string, nowMs: number): Promise<ApiKey | undefined> {
    const revoked = await this.#store.channel.submit({
      kind: 'revokeApiKey',
      fence: this.#store.fence(caller),
      nowMs,
      id,
    })
    // A server on the same store uses what it has cached until its lease ends.
    if (this.#store.role === 'guest') await Bun.sleep(registryLeaseMs + leaseMarginMs)
    return revoked
  }

  noteUse(uses: KeyUse[]): Promise<void> {
    return this.#store.channel.submit({ kind: 'recordKeyUse', uses })
  }
}
