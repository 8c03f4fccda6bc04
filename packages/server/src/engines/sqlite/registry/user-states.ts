import { userCacheEntriesMax } from '../../../core/limits.ts'
import { remember } from '../../../core/remember.ts'
import { stateOfToken } from '../../../core/tokens/token-state.ts'
import type { TokenMark, TokenState } from '../../../store/users.ts'
import type { Connection } from '../connection.ts'
import type { Snapshot } from '../snapshot.ts'
import { readTokenEnds } from './user-rows.ts'

/** A cache of what has ended tokens, as of the user epoch. Unlike a missing key, a user who was not revoked is cached too. */
export class UserStates {
  readonly #db: Connection
  readonly #snapshot: Snapshot
  readonly #ends = new Map<string, number>()
  /** It only grows, and is read together with each entry: a sweep does not move the epoch. */
  #sweptEpoch = 0
  epoch = -1

  constructor(db: Connection, snapshot: Snapshot) {
    this.#db = db
    this.#snapshot = snapshot
  }

  moveTo(epoch: number): void {
    if (epoch === this.epoch) return
    this.epoch = epoch
    this.#ends.clear()
  }

  stateOf(orgId: number, mark: TokenMark): TokenState {
    const cacheKey = `${orgId}/${mark.userHash}/${mark.issuerEpoch}`
    const endEpoch = this.#ends.get(cacheKey) ?? this.#read(cacheKey, orgId, mark)
    return stateOfToken(mark.madeAtEpoch, endEpoch, this.#sweptEpoch)
  }

  #read(cacheKey: string, orgId: number, mark: TokenMark): number {
    this.#snapshot.renew()
    const { endEpoch, sweptEpoch } = readTokenEnds(this.#db, orgId, mark)
    this.#sweptEpoch = Math.max(this.#sweptEpoch, sweptEpoch)
    return remember(this.#ends, cacheKey, endEpoch, userCacheEntriesMax)
  }
}
