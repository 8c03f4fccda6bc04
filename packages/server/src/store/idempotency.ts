import type { Awaitable } from '../core/awaitable.ts'

/** Names an idempotency key: what it belongs to (`DumpedIdempotencyKey` in store/transfer.ts), and 32 bytes that no other text has, in hex. */
export interface IdempotencyKey {
  scopeId: number
  scopeKind: string
  keyHash: string
}

/**
 * Writes whose caller has this store their result in the same commit, under the key. If the key has the result of the same
 * request, nothing is written and that result is returned, with `isReplayed`. Throws `idempotency_key_reused` for another
 * request.
 */
export interface Once extends IdempotencyKey {
  /** The SHA-256 of the request in hex. */
  requestHash: string
  /** The user whose key it is: see `hashUser`. Of more than `idempotencyKeysOfUserMax` of a user the oldest are removed earlier. */
  userHash?: string | null
}

export interface KeptResult {
  requestHash: string
  createdAtMs: number
  /** JSON text, without the data of records and payloads of runs. */
  result: string
}

export interface IdempotencyKeys {
  /** `orgId`: the organization in whose turn the key is looked for. */
  find(key: IdempotencyKey, orgId: number): Awaitable<KeptResult | undefined>
}
