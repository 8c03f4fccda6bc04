import { idempotencyKeyReused, resultToKeep } from '../../../core/idempotency.ts'
import type { Once } from '../../../store/idempotency.ts'
import type { Connection } from '../connection.ts'

/** Finds and keeps the results of requests with an idempotency key, inside the transaction that is open on `db`. */
export class IdempotencyKeyWrites {
  readonly #find
  readonly #insert

  constructor(db: Connection) {
    this.#find = db.prepare<{ requestHash: string; result: string }, [number, string, string]>(
      `SELECT lower(hex(request_hash)) AS requestHash, result FROM idempotency_keys
       WHERE scope_id = ?1 AND scope_kind = ?2 AND key_hash = unhex(?3)`,
    )
    this.#insert = db.prepare<unknown, [number, string, string, string, number, number, string]>(
      'INSERT INTO idempotency_keys VALUES (?1, ?2, unhex(?3), unhex(?4), ?5, ?6, ?7)',
    )
  }

  /** The result of the same request before; undefined if the key is new. */
  find({ scopeId, scopeKind, keyHash, requestHash }: Once): object | undefined {
    const row = this.#find.get(scopeId, scopeKind, keyHash)
    if (row === null) return undefined
    if (row.requestHash !== requestHash) throw idempotencyKeyReused()
    return { ...JSON.parse(row.result), isReplayed: true }
  }

  keep({ scopeId, scopeKind, keyHash, requestHash }: Once, orgId: number, nowMs: number, result: unknown): void {
    const text = resultToKeep(result)
    if (text !== undefined) this.#insert.run(scopeId, scopeKind, keyHash, requestHash, orgId, nowMs, text)
  }
}
