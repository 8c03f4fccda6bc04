import { ExcessUserKeys } from '../../../core/excess-user-keys.ts'
import { ExcessKeys } from '../../../core/idempotency-excess.ts'
import { idempotencyKeyMs, sweepGraceMs } from '../../../core/limits.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { type BoundStatement, bind, type Row, type Statement } from '../connection/driver.ts'

const columns = `e.scope_id, e.scope_kind, encode(e.key_hash, 'hex')`

const findOldKeys: Statement = {
  name: 'find_old_idempotency_keys',
  text: `select ${columns} from cubby_idempotency_key e where e.created_at < $1::bigint
    order by e.created_at limit $2::bigint`,
}

const findOldKeysOf: Statement = {
  name: 'find_old_idempotency_keys_of_org',
  text: `select ${columns} from cubby_idempotency_key e where e.org_id = $1::bigint and e.created_at < $2::bigint
    order by e.created_at limit $3::bigint`,
}

/** $1 organization and $2 user, $3 keys at most. */
export const findOldKeysOfUser: Statement = {
  name: 'find_old_idempotency_keys_of_user',
  text: `select ${columns} from cubby_idempotency_key e where e.org_id = $1::bigint and e.user_hash = $2
    order by e.created_at limit $3::bigint`,
}

/** Counts the first $3 keys of users after the organization $1 and the user $2. */
export const countOfUsers: Statement = {
  name: 'count_idempotency_keys_of_users',
  text: `select k.org_id, k.user_hash, count(*) from (
      select e.org_id, e.user_hash from cubby_idempotency_key e
      where e.user_hash is not null and (e.org_id, e.user_hash) > ($1::bigint, $2)
      order by e.org_id, e.user_hash limit $3::bigint
    ) as k group by k.org_id, k.user_hash order by k.org_id, k.user_hash`,
}

/** $1 the id and $2 the kind of what the keys belong to, $3 their hashes in hex. Those that were stored again since are newer than $4. */
const removeKeys: Statement = {
  name: 'remove_old_idempotency_keys',
  text: `delete from cubby_idempotency_key as i where i.scope_id = $1::bigint and i.scope_kind = $2
    and i.created_at < $4::bigint and i.key_hash = any (array(select decode(h, 'hex') from unnest(string_to_array($3, ' ')) as h))`,
}

/** $1 the id of an organization, $2 a time: the key that is $3 keys older, or of an organization before. */
const keyAfter: Statement = {
  name: 'idempotency_key_after',
  text: `select e.org_id, e.created_at from cubby_idempotency_key e where (e.org_id, e.created_at) < ($1::bigint, $2::bigint)
    order by e.org_id desc, e.created_at desc offset $3::bigint limit 1`,
}

/**
 * Citus has the keys beside what they belong to: a statement that removes some names one such thing. Several processes may find
 * the same keys; each removes those that are left.
 */
export class IdempotencyKeySweep {
  readonly #db: Database
  readonly #excess: ExcessKeys
  readonly #excessOfUsers: ExcessUserKeys

  constructor(db: Database) {
    this.#db = db
    this.#excess = new ExcessKeys({
      keyAfter: async (from, count) => {
        const [orgId, createdAtMs] = [from?.orgId ?? Number.MAX_SAFE_INTEGER, from?.createdAtMs ?? 0]
        const [found] = await db.read(noOrg, bind(keyAfter, orgId, createdAtMs, count - 1))
        const row = found!.rows[0]
        return row && { orgId: Number(row[0]), createdAtMs: Number(row[1]) }
      },
      removeOlder: ({ orgId, createdAtMs }, rowsMax) =>
        this.#remove(bind(findOldKeysOf, orgId, createdAtMs, rowsMax), createdAtMs),
    })
    this.#excessOfUsers = new ExcessUserKeys({
      countAfter: async (from, keysMax) => {
        const [counted] = await db.read(noOrg, bind(countOfUsers, from?.orgId ?? 0, from?.userHash ?? '', keysMax))
        return counted!.rows.map(([orgId, userHash, count]) => ({
          ...{ orgId: Number(orgId), userHash: userHash!, count: Number(count) },
        }))
      },
      removeOldest: ({ orgId, userHash }, keys) => this.#remove(bind(findOldKeysOfUser, orgId, userHash, keys)),
    })
  }

  async step(nowMs: number, rowsMax: number, keysMax: number, keysOfUserMax: number): Promise<number> {
    const beforeMs = nowMs - idempotencyKeyMs - sweepGraceMs + 1
    const removed = await this.#remove(bind(findOldKeys, beforeMs, rowsMax), beforeMs)
    if (removed > 0) return removed
    // Users with too many come first: otherwise one of them would push out the keys of everybody else.
    const ofUsers = await this.#excessOfUsers.step(nowMs, rowsMax, keysOfUserMax)
    return ofUsers > 0 ? ofUsers : this.#excess.step(nowMs, rowsMax, keysMax)
  }

  /** Returns the number of keys that were found: another process may have removed them. */
  async #remove(find: BoundStatement, beforeMs = Number.MAX_SAFE_INTEGER): Promise<number> {
    const [found] = await this.#db.read(noOrg, find)
    const { rows } = found!
    for (const ofOne of Map.groupBy(rows, ([scopeId, scopeKind]) => `${scopeId} ${scopeKind}`).values()) {
      const [scopeId, scopeKind] = ofOne[0] as Row
      const hashes = ofOne.map(([, , hash]) => hash).join(' ')
      await this.#db.write(noOrg, bind(removeKeys, scopeId!, scopeKind!, hashes, beforeMs))
    }
    return rows.length
  }
}
