import { idempotencyCountEveryMs } from './limits.ts'

/** A user of an organization who has idempotency keys. */
export interface KeyOwner {
  orgId: number
  userHash: string
}

export interface CountedKeys extends KeyOwner {
  count: number
}

/** The index of the idempotency keys of users, by organization and user. */
interface UserKeyIndex {
  /** Counts the first `keysMax` keys of users after this one, by user. The last user may have more. */
  countAfter(from: KeyOwner | undefined, keysMax: number): Promise<CountedKeys[]> | CountedKeys[]
  /** Removes the oldest keys of the user. Returns their number. */
  removeOldest(owner: KeyOwner, keys: number): Promise<number>
}

/**
 * Finds users with too many idempotency keys. A step counts twice as many as one may have, so it gets past a user who does not
 * have too many. All keys are counted again after `idempotencyCountEveryMs`.
 */
export class ExcessUserKeys {
  readonly #index: UserKeyIndex
  #last: KeyOwner | undefined
  #endedAtMs: number | undefined

  constructor(index: UserKeyIndex) {
    this.#index = index
  }

  /** Returns 0 if there is nothing to do at this time; any other result is not a count of rows. */
  async step(nowMs: number, rowsMax: number, keysMax: number): Promise<number> {
    const ended = this.#endedAtMs
    // A clock that was set back does not make the pause longer.
    if (ended !== undefined && nowMs >= ended && nowMs < ended + idempotencyCountEveryMs) return 0
    this.#endedAtMs = undefined
    const counted = await this.#index.countAfter(this.#last, 2 * keysMax)
    const excess = counted.find(({ count }) => count > keysMax)
    if (excess !== undefined) return 1 + (await this.#removeSome(excess, Math.min(rowsMax, excess.count - keysMax)))
    const isLast = counted.reduce((sum, { count }) => sum + count, 0) < 2 * keysMax
    // The last user is counted again, from the beginning.
    this.#last = isLast ? undefined : counted.at(-2)
    if (isLast) this.#endedAtMs = nowMs
    return isLast ? 0 : 1
  }

  async #removeSome(owner: CountedKeys, keys: number): Promise<number> {
    const removed = await this.#index.removeOldest(owner, keys)
    // Another process removes them too, or they cannot be removed now: the next round looks again.
    if (removed === 0) this.#last = owner
    return removed
  }
}
