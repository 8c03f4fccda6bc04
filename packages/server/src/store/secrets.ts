import type { Awaitable } from '../core/awaitable.ts'
import type { Keyring, StoreSecret } from '../core/store-secrets.ts'

/** The secrets that seal cursors and sign URLs. They are the same in every process, after a restart and in a copy. */
export interface Secrets {
  /** Returns the secrets of a time. A rotation is known here as soon as a revocation is to `ApiKeys.find`. */
  at(nowMs: number): Awaitable<Keyring>
  /**
   * Adds a secret, and removes those that are not accepted any more, or all others. Resolves to the secrets that the store has
   * then, newest first. Other processes know them within `secretLeadMs`.
   */
  rotate(next: StoreSecret, endsEarlier: boolean, nowMs: number): Promise<StoreSecret[]>
}
