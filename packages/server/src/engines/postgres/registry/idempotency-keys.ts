import type { Awaitable } from '../../../core/awaitable.ts'
import { CubbyError } from '../../../core/errors.ts'
import { idempotencyKeyReused, resultToKeep } from '../../../core/idempotency.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { IdempotencyKey, IdempotencyKeys, KeptResult, Once } from '../../../store/idempotency.ts'
import { type Database, holderOf, type Transaction } from '../connection/database.ts'
import { type BoundStatement, bind, type Statement, type StatementResult } from '../connection/driver.ts'
import { Queues } from '../connection/queues.ts'

const findKept: Statement = {
  name: 'find_idempotency_key',
  text: `select encode(i.request_hash, 'hex'), i.created_at, i.result from cubby_idempotency_key i
    where i.scope_id = $1::bigint and i.scope_kind = $2 and i.key_hash = decode($3, 'hex')`,
}

/** It waits for another transaction that keeps a result under the same key. No row means that one has. */
const insertKept: Statement = {
  name: 'keep_idempotency_key',
  text: `insert into cubby_idempotency_key (scope_id, scope_kind, key_hash, request_hash, org_id, created_at, result,
      user_hash)
    values ($1::bigint, $2, decode($3, 'hex'), decode($4, 'hex'), $5::bigint, $6::bigint, $7, $8)
    on conflict (scope_id, scope_kind, key_hash) do nothing returning 1`,
}

/** Sends the last statements of a write and commits them, with the result under the caller's idempotency key, if it has one. */
export const commitOnce = async <T>(
  { send, commit }: Transaction,
  { once, orgId }: { orgId: number; once?: Once | undefined },
  nowMs: number,
  statements: BoundStatement[],
  resultOf: (answers: StatementResult[]) => T,
): Promise<T> => {
  if (once === undefined) return resultOf(await commit(...statements))
  const result = resultOf(await send(...statements))
  const { scopeId, scopeKind, keyHash, requestHash, userHash = null } = once
  const kept = [scopeId, scopeKind, keyHash, requestHash, orgId, nowMs, resultToKeep(result)!, userHash]
  const [inserted] = await send(bind(insertKept, ...kept))
  if (inserted!.rows.length === 0) throw idempotencyKeyReused()
  await commit()
  return result
}

export class PostgresIdempotencyKeys implements IdempotencyKeys {
  readonly #db: Database
  /** Requests with the same key wait here, and hold no connection. */
  readonly #queues = new Queues()

  constructor(db: Database) {
    this.#db = db
  }

  async find({ scopeId, scopeKind, keyHash }: IdempotencyKey, orgId = 0): Promise<KeptResult | undefined> {
    const [found] = await this.#db.read({ orgId, keySeq: 0 }, bind(findKept, scopeId, scopeKind, keyHash))
    const row = found!.rows[0]
    return row && { requestHash: row[0]!, createdAtMs: Number(row[1]), result: row[2]! }
  }

  /**
   * Runs a write once for the caller's key; `write` calls `commitOnce`. If an earlier request was applied, also one that was
   * in flight on another process meanwhile, its result is returned.
   */
  run<T>(caller: Caller, write: () => Promise<T>): Awaitable<T> {
    const { once } = caller
    if (once === undefined) return write()
    const name = `${once.scopeId} ${once.scopeKind} ${once.keyHash}`
    return this.#queues.run([name], async () => {
      const earlier = await this.#earlier(caller, once)
      if (earlier !== undefined) return earlier as T
      try {
        const result = await write()
        return resultToKeep(result) === undefined ? (((await this.#earlier(caller, once)) as T) ?? result) : result
      } catch (error) {
        const found = error instanceof CubbyError ? await this.#earlier(caller, once) : undefined
        if (found === undefined) throw error
        return found as T
      }
    })
  }

  async #earlier(caller: Caller, once: Once): Promise<object | undefined> {
    const { orgId } = holderOf(caller)
    const kept = await this.find(once, orgId)
    if (kept === undefined) return undefined
    if (kept.requestHash !== once.requestHash) throw idempotencyKeyReused()
    return { ...JSON.parse(kept.result), isReplayed: true }
  }
}
