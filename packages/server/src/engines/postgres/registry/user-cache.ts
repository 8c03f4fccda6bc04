import type { Awaitable } from '../../../core/awaitable.ts'
import { userCacheEntriesMax } from '../../../core/limits.ts'
import { endEpochOf, stateOfToken } from '../../../core/tokens/token-state.ts'
import type { TokenMark, TokenState } from '../../../store/users.ts'
import { type Database, noOrg, organization } from '../connection/database.ts'
import { bind, type Statement } from '../connection/driver.ts'
import { tokenFacts } from '../connection/user-guard.ts'
import { EpochLease } from './epoch-lease.ts'

const readUserEpoch: Statement = { name: 'user_epoch', text: 'select s.user_epoch from cubby_store s' }

/** What has ended the tokens of a user from one issuer. */
interface Ends {
  endEpoch: number
  sweptEpoch: number
  /** The user epoch at the time of the read. */
  epoch: number
}

/**
 * Caches what has ended tokens: see epoch-lease.ts. Its epoch is the user epoch, so a revoked user does not clear the caches of keys
 * and tables. Unlike a missing key, a user who was not revoked is cached too.
 */
export class UserCache {
  readonly #db: Database
  readonly #lease: EpochLease
  readonly #ends = new Map<string, Ends>()

  constructor(db: Database, leaseMs: number) {
    this.#db = db
    const read = async (): Promise<number> => {
      const { rows } = await db.lookup(noOrg, bind(readUserEpoch))
      return Number(rows[0]![0])
    }
    this.#lease = new EpochLease({ leaseMs, read, onMove: () => this.#ends.clear() })
  }

  epoch(): Awaitable<number> {
    if (this.#lease.holds()) return this.#lease.epoch
    return this.#lease.renew().then(() => this.#lease.epoch)
  }

  stateOf(orgId: number, mark: TokenMark): Awaitable<TokenState> {
    const name = `${orgId}/${mark.userHash}/${mark.issuerEpoch}`
    const kept = this.#ends.get(name)
    if (kept !== undefined && this.#lease.holds()) return stateOf(mark, kept)
    return this.#lease
      .find(this.#ends, name, userCacheEntriesMax, () => this.#read(orgId, mark))
      .then((ends) => stateOf(mark, ends!))
  }

  async #read(orgId: number, { userHash, issuerEpoch }: TokenMark): Promise<Ends> {
    const { rows } = await this.#db.lookup(organization(orgId), bind(tokenFacts, orgId, userHash, issuerEpoch))
    const [revoked, issuerIsThere, swept, epoch] = rows[0]!
    const facts = { revokedEpoch: Number(revoked), issuerIsThere: issuerIsThere === 't' }
    return { endEpoch: endEpochOf(facts), sweptEpoch: Number(swept), epoch: Number(epoch) }
  }

  /** This process itself has revoked a user or changed an issuer. */
  moveTo(epoch: number): void {
    this.#lease.moveTo(epoch)
  }

  /** This process itself has loaded a copy. */
  forgetLease(): void {
    this.#lease.forget()
  }
}

const stateOf = ({ madeAtEpoch }: TokenMark, { endEpoch, sweptEpoch }: Ends): TokenState =>
  stateOfToken(madeAtEpoch, endEpoch, sweptEpoch)
