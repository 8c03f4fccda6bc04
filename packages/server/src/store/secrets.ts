import type { Awaitable } from '../core/awaitable.ts'
import type { Keyring, StoreSecret } from '../core/store-secrets.ts'

/** The secrets that seal cursors and sign URLs. The same in every process, after a restart and in a copy. */
export interface Secrets {
  /** Those of a time. A rotation is known here as soon as a revocation is to `ApiKeys.find`. */
  at(nowMs: number): Awaitable<Keyring>
  /**
   * Adds a secret, and removes those that are not accepted any more, or all others. Resolves to what the store has then,
   * newest first. Other processes know it within `secretLeadMs`.
   */
  rotate(next: StoreSecret, endsEarlier: boolean, nowMs: number): Promise<StoreSecret[]>
}
