import { type CountedKeys, ExcessUserKeys } from '../../../core/excess-user-keys.ts'
import { ExcessKeys, type IndexedKey } from '../../../core/idempotency-excess.ts'
import { idempotencyKeyMs, sweepGraceMs } from '../../../core/limits.ts'
import type { OpenStore } from '../open-store.ts'

/** Organizations that one step looks at. */
const organizationsMax = 1_000

/** Finds the keys to remove through the index by organization and time, so that writes need no other index. */
export class IdempotencyKeySweep {
  readonly #store: OpenStore
  readonly #excess: ExcessKeys
  readonly #excessOfUsers: ExcessUserKeys
  /** The last organization that was looked at in this round. */
  #lastOrgId = 0

  constructor(store: OpenStore) {
    this.#store = store
    const remove = (orgId: number, beforeMs: number, rowsMax: number): Promise<number> =>
      store.channel.submit({ kind: 'removeOldKeys', orgId, beforeMs, rowsMax })
    this.#excess = new ExcessKeys({
      keyAfter: (from, count) =>
        store.read(() =>
          store.db.one<IndexedKey>(
            `SELECT org_id AS orgId, created_at AS createdAtMs FROM idempotency_keys
             WHERE (org_id, created_at) < (?1, ?2) ORDER BY org_id DESC, created_at DESC LIMIT 1 OFFSET ?3`,
            ...[from?.orgId ?? Number.MAX_SAFE_INTEGER, from?.createdAtMs ?? 0, count - 1],
          ),
        ),
      removeOlder: ({ orgId, createdAtMs }, rowsMax) => remove(orgId, createdAtMs, rowsMax),
    })
    this.#excessOfUsers = new ExcessUserKeys({
      countAfter: (from, keysMax) =>
        store.all<CountedKeys>(
          `SELECT orgId, userHash, count(*) AS count FROM (
             SELECT org_id AS orgId, user_hash AS userHash FROM idempotency_keys
             WHERE user_hash IS NOT NULL AND (org_id, user_hash) > (?1, ?2) ORDER BY org_id, user_hash LIMIT ?3
           ) GROUP BY orgId, userHash ORDER BY orgId, userHash`,
          ...[from?.orgId ?? 0, from?.userHash ?? '', keysMax],
        ),
      removeOldest: ({ orgId, userHash }, rowsMax) =>
        store.channel.submit({ kind: 'removeOldKeysOfUser', orgId, userHash, rowsMax }),
    })
  }

  async step(nowMs: number, rowsMax: number, keysMax: number, keysOfUserMax: number): Promise<number> {
    const beforeMs = nowMs - idempotencyKeyMs - sweepGraceMs + 1
    for (let looked = 0; looked < organizationsMax; looked++) {
      const oldest = this.#oldestOfNext()
      if (oldest === undefined) {
        this.#lastOrgId = 0
        // Users with too many come first: otherwise one of them would push out the keys of everybody else.
        const ofUsers = await this.#excessOfUsers.step(nowMs, rowsMax, keysOfUserMax)
        return ofUsers > 0 ? ofUsers : this.#excess.step(nowMs, rowsMax, keysMax)
      }
      // A failed removal is passed over until the next round.
      this.#lastOrgId = oldest.orgId
      if (oldest.createdAtMs >= beforeMs) continue
      const { orgId } = oldest
      const removed = await this.#store.channel.submit({ kind: 'removeOldKeys', orgId, beforeMs, rowsMax })
      if (removed === rowsMax) this.#lastOrgId--
      return removed + 1
    }
    return 1
  }

  #oldestOfNext(): IndexedKey | undefined {
    const { db } = this.#store
    return this.#store.read(() =>
      db.one<IndexedKey>(
        `SELECT org_id AS orgId, created_at AS createdAtMs FROM idempotency_keys
         WHERE org_id > ?1 ORDER BY org_id, created_at LIMIT 1`,
        this.#lastOrgId,
      ),
    )
  }
}
