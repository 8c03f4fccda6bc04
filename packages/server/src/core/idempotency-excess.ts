import type { Awaitable } from './awaitable.ts'
import { idempotencyCountEveryMs } from './limits.ts'

/** An idempotency key in the index by organization and time. */
export interface IndexedKey {
  orgId: number
  createdAtMs: number
}

/** The index, read from the last organization to the first, and from the newest key of each to the oldest. */
interface KeyIndex {
  /** The key that is `count` keys after this one, or after the beginning; undefined if there are fewer. */
  keyAfter(from: IndexedKey | undefined, count: number): Awaitable<IndexedKey | undefined>
  /** Removes at most `rowsMax` keys of its organization that are older than this one, the oldest first. Returns their number. */
  removeOlder(key: IndexedKey, rowsMax: number): Promise<number>
}

/**
 * Finds organizations with too many idempotency keys. One step counts a hundredth of what an organization may have. In a step
 * that reaches another organization, the count begins again: an organization may have that much more, but never loses a key
 * that is among its newest `keysMax`. All keys are counted again after `idempotencyCountEveryMs`.
 */
export class ExcessKeys {
  readonly #index: KeyIndex
  #last: IndexedKey | undefined
  /** Keys of the organization of `#last`, up to it. */
  #count = 0
  #endedAtMs: number | undefined

  constructor(index: KeyIndex) {
    this.#index = index
  }

  /** Returns 0 if there is nothing to do at this time; any other result is not a count of rows. */
  async step(nowMs: number, rowsMax: number, keysMax: number): Promise<number> {
    if (this.#isResting(nowMs)) return 0
    if (this.#last !== undefined && this.#count >= keysMax) {
      const removed = await this.#index.removeOlder(this.#last, rowsMax)
      if (removed > 0) return removed
      // The next step begins with the next organization.
      this.#last = { ...this.#last, createdAtMs: Number.MIN_SAFE_INTEGER }
      this.#count = 0
    }
    const stepKeys = this.#last === undefined ? 1 : Math.ceil(keysMax / 100)
    const next = await this.#index.keyAfter(this.#last, stepKeys)
    if (next === undefined) {
      this.#last = undefined
      this.#count = 0
      this.#endedAtMs = nowMs
      return 0
    }
    this.#count = next.orgId === this.#last?.orgId ? this.#count + stepKeys : 1
    this.#last = next
    return 1
  }

  /** Tells whether the last count ended a short time ago. A clock that was set back does not make it longer. */
  #isResting(nowMs: number): boolean {
    if (this.#endedAtMs === undefined) return false
    return nowMs >= this.#endedAtMs && nowMs < this.#endedAtMs + idempotencyCountEveryMs
  }
}
