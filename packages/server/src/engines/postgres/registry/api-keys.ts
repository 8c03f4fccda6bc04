import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type { Awaitable } from '../../../core/awaitable.ts'
import type { ApiKey, ApiKeys, Caller, KeyUse } from '../../../store/api-keys.ts'
import { holderOf, noOrg, organization } from '../connection/database.ts'
import { bind, type Statement, type Value } from '../connection/driver.ts'
import { changeRegistry, openings, type Registry, refusingGone } from './registry.ts'
import { epochColumn, keyColumns, toApiKey } from './rows.ts'

// ORDER BY names every column of the intended index, also those with a fixed value: in an empty store the planner would
// otherwise choose another index.
const listKeys: Statement = {
  name: 'list_keys',
  text: `select ${keyColumns}, ${epochColumn} from cubby_api_key k
    where k.org_id = $1::bigint and k.seq < $2::bigint order by k.org_id desc, k.seq desc limit $3::bigint`,
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

const keyUsesPerWrite = 500

const keyValues = (orgId: number, key: NewApiKey, nowMs: number, expiresAtMs = key.expiresAtMs): Value[] => [
  ...[key.id, orgId, key.kind, key.name === null ? null : JSON.stringify(key.name), key.hash, key.lastFour],
  ...[key.databases === null ? null : JSON.stringify(key.databases), nowMs, expiresAtMs, key.link],
]

export const insertKeyStatement = (...values: Parameters<typeof keyValues>) => bind(insertKey, ...keyValues(...values))

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

  async create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    if (key.linkExpiresAtMs !== null) return this.#createByLink(caller, key, nowMs)
    const [made] = await changeRegistry(this.#registry.db, caller, insertKeyStatement(caller.orgId, key, nowMs))
    return toApiKey(made!.rows[0]!)
  }

  /**
   * Changes of an organization run one after another, so a link is used once even if several requests use it at the same time.
   */
  #createByLink(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    const { db } = this.#registry
    const creating = db.transaction(holderOf(caller), async ({ send, commit }) => {
      const used = (await send(...openings(caller), bind(useLink, caller.apiKey?.seq ?? null))).at(-1)!.rows.length > 0
      const expiresAtMs = used ? key.linkExpiresAtMs : key.expiresAtMs
      const [made] = await commit(insertKeyStatement(caller.orgId, key, nowMs, expiresAtMs))
      return toApiKey(made!.rows[0]!)
    })
    return refusingGone(db, caller, creating)
  }

  async list(orgId: number, beforeSeq: number | undefined, limit: number): Promise<ApiKey[]> {
    const before = beforeSeq ?? Number.MAX_SAFE_INTEGER
    const [listed] = await this.#registry.db.read(organization(orgId), bind(listKeys, orgId, before, limit))
    return listed!.rows.map((row) => toApiKey(row))
  }

  async revoke(caller: Caller, id: string, nowMs: number): Promise<ApiKey | undefined> {
    const { db, cache } = this.#registry
    const { orgId } = caller
    if (id.includes('\0')) return undefined
    const bound = [bind(moveEpochForKey, id, orgId), bind(revokeKey, id, orgId, nowMs)]
    const [, changed] = await changeRegistry(db, caller, ...bound)
    const row = changed!.rows[0]
    if (row === undefined) return undefined
    const revoked = toApiKey(row)
    cache.moveTo(revoked.epoch)
    // It waits even if the key was revoked before: the first revocation may still be waiting.
    await this.#registry.awaitLeaseExpiry()
    return revoked
  }

  async noteUse(uses: KeyUse[]): Promise<void> {
    // The order keeps two processes from a deadlock, and the parts keep each wait short.
    const sorted = uses.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    for (let at = 0; at < sorted.length; at += keyUsesPerWrite) {
      const part = sorted.slice(at, at + keyUsesPerWrite)
      await this.#registry.db.write(noOrg, ...part.map(({ id, atMs }) => bind(noteKeyUse, id, atMs)))
    }
  }
}
