import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import { canBeRolled, endsOfRoll } from '../../../core/api-keys/roll-api-key.ts'
import type { Awaitable } from '../../../core/awaitable.ts'
import type { ApiKey, ApiKeys, Caller, KeyRoll, KeyUse, RollResult } from '../../../store/api-keys.ts'
import { holderOf, noOrg, organization } from '../connection/database.ts'
import { bind, type Statement, type Value } from '../connection/driver.ts'
import { commitOnce, type PostgresIdempotencyKeys } from './idempotency-keys.ts'
import { changeRegistry, openings, type Registry, refusingGone } from './registry.ts'
import { epochColumn, keyColumns, toApiKey } from './rows.ts'

// ORDER BY names every column of the intended index, also those with a fixed value: in an empty store the planner would
// otherwise choose another index.
const listKeys: Statement = {
  name: 'list_keys',
  text: `select ${keyColumns}, ${epochColumn} from cubby_api_key_8 k
    where k.org_id = $1::bigint and k.seq < $2::bigint order by k.org_id desc, k.seq desc limit $3::bigint`,
}

// $12 is the key that creates it: its end may be sooner than when the caller looked it up. `least` skips nulls.
const insertKey: Statement = {
  name: 'insert_key',
  text: `insert into cubby_api_key_8 as k (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at, link,
      rolled_from)
    values ($1, $2::bigint, $3, $4, $5, $6, $7, $8::bigint,
      least($9::bigint, (select c.expires_at from cubby_api_key_8 c where c.seq = $12::bigint)), $10, $11) returning ${keyColumns}, ${epochColumn}`,
}

const useLink: Statement = {
  name: 'use_link',
  text: `update cubby_api_key_8 as k set link = 'used' where k.seq = $1::bigint and k.link = 'unused' returning k.seq`,
}

const moveEpochForKey: Statement = {
  name: 'move_epoch_key',
  text: `update cubby_store set epoch_8 = epoch_8 + 1 where exists
    (select 1 from cubby_api_key_8 k where k.id = $1 and k.org_id = $2::bigint and k.revoked_at is null)`,
}

const revokeKey: Statement = {
  name: 'revoke_key',
  text: `update cubby_api_key_8 as k set revoked_at = coalesce(k.revoked_at, $3::bigint)
    where k.id = $1 and k.org_id = $2::bigint returning ${keyColumns}, ${epochColumn}`,
}

const lockKey: Statement = {
  name: 'lock_key',
  text: `select ${keyColumns}, ${epochColumn} from cubby_api_key_8 k where k.id = $1 and k.org_id = $2::bigint for update`,
}

const endRolledKey: Statement = {
  name: 'end_rolled_key',
  text: `update cubby_api_key_8 as k set expires_at = $2::bigint, revoked_at = $3::bigint, rolled_to = $4
    where k.seq = $1::bigint`,
}

const moveEpoch: Statement = {
  name: 'move_epoch',
  text: 'update cubby_store as s set epoch_8 = s.epoch_8 + 1 returning s.epoch_8',
}

const noteKeyUse: Statement = {
  name: 'note_key_use',
  text: `update cubby_api_key_8 as k set last_used_at = $2::bigint
    where k.id = $1 and coalesce(k.last_used_at, 0) < $2::bigint`,
}

const keyUsesPerWrite = 500

interface Origin {
  /** Null: a command, or the key of a sign-in link that creates the one key which ends after it. */
  creatorSeq: number | null
  rolledFrom?: string
}

const keyValues = (orgId: number, key: NewApiKey, nowMs: number, { creatorSeq, rolledFrom }: Origin): Value[] => [
  ...[key.id, orgId, key.kind, key.name === null ? null : JSON.stringify(key.name), key.hash, key.lastFour],
  ...[key.databases === null ? null : JSON.stringify(key.databases), nowMs, key.expiresAtMs, key.link],
  ...[rolledFrom ?? null, creatorSeq],
]

export const insertKeyStatement = (...values: Parameters<typeof keyValues>) => bind(insertKey, ...keyValues(...values))

export class PostgresApiKeys implements ApiKeys {
  readonly #registry: Registry
  readonly #keys: PostgresIdempotencyKeys

  constructor(registry: Registry, keys: PostgresIdempotencyKeys) {
    this.#registry = registry
    this.#keys = keys
  }

  find(text: string): Awaitable<ApiKey | undefined> {
    return this.#registry.cache.findApiKey(text)
  }

  findById(id: string): Awaitable<ApiKey | undefined> {
    return id.includes('\0') ? undefined : this.#registry.cache.findApiKeyById(id)
  }

  async create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    return this.#keys.run(caller, () => this.#create(caller, key, nowMs))
  }

  /**
   * Changes of an organization run one after another, so a link is used once even if several requests use it at the same time.
   */
  #create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey> {
    const { db } = this.#registry
    const creatorSeq = caller.apiKey?.seq ?? null
    const creating = db.transaction(holderOf(caller), async (transaction) => {
      const opening = key.linkExpiresAtMs === null ? [] : [bind(useLink, creatorSeq)]
      const opened = await transaction.send(...openings(caller), ...opening)
      const used = opening.length > 0 && opened.at(-1)!.rows.length > 0
      const insert = used
        ? insertKeyStatement(caller.orgId, { ...key, expiresAtMs: key.linkExpiresAtMs }, nowMs, { creatorSeq: null })
        : insertKeyStatement(caller.orgId, key, nowMs, { creatorSeq })
      return commitOnce(transaction, caller, nowMs, [insert], ([made]) => toApiKey(made!.rows[0]!))
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

  async roll(caller: Caller, roll: KeyRoll, nowMs: number): Promise<RollResult> {
    return this.#keys.run(caller, () => this.#roll(caller, roll, nowMs))
  }

  async #roll(caller: Caller, { id, oldEndMs, key }: KeyRoll, nowMs: number): Promise<RollResult> {
    const { db, cache } = this.#registry
    const { orgId } = caller
    if (id.includes('\0')) return { outcome: 'missing' }
    const opening = openings(caller)
    const rolling = db.transaction(holderOf(caller), async (transaction): Promise<RollResult> => {
      const row = (await transaction.send(...opening, bind(lockKey, id, orgId)))[opening.length]!.rows[0]
      if (row === undefined) return { outcome: 'missing' }
      const old = toApiKey(row)
      if (!canBeRolled(old, nowMs)) return { outcome: 'inactive', old }
      const { newKey, oldKey } = endsOfRoll(old, oldEndMs, nowMs)
      const origin = { creatorSeq: caller.apiKey?.seq ?? null, rolledFrom: old.id }
      // The new key comes first: a key that rolls itself must not be limited by the end that this gives it.
      const writes = [
        insertKeyStatement(orgId, { ...key, ...newKey }, nowMs, origin),
        bind(endRolledKey, old.seq, oldKey.expiresAtMs, oldKey.revokedAtMs, key.id),
        bind(moveEpoch),
      ]
      return commitOnce(transaction, caller, nowMs, writes, ([made, , moved]) => ({
        outcome: 'rolled',
        apiKey: toApiKey(made!.rows[0]!, Number(moved!.rows[0]![0])),
      }))
    })
    const result = await refusingGone(db, caller, rolling)
    if (result.outcome !== 'rolled') return result
    cache.moveTo(result.apiKey.epoch)
    await this.#registry.awaitLeaseExpiry()
    return result
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
