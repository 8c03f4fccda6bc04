/** The holder: an organization's id and the seq of one of its API keys (0 for none). */
export interface Holder {
  orgId: number
  keySeq: number
}

interface Holding {
  held: number
  readonly byMember: Map<number, number>
}

/** The amounts that each organization holds, and each of its members: API keys, or tasks. */
class Holdings {
  readonly #orgs = new Map<number, Holding>()
  /** The entry that was removed last. Without contention the next request reuses it, and nothing is allocated. */
  #spare: Holding | undefined
  #used = 0

  get used(): number {
    return this.#used
  }

  /** Returns undefined if it holds nothing. */
  protected holdingOf(orgId: number): Holding | undefined {
    return this.#orgs.get(orgId)
  }

  protected get orgIds(): Iterable<number> {
    return this.#orgs.keys()
  }

  /** Takes the amount even if there is no room: for amounts that are only known after the fact. */
  take(orgId: number, memberId: number, amount: number): void {
    if (amount === 0) return
    let org = this.#orgs.get(orgId)
    if (org === undefined) {
      org = this.#spare ?? { held: 0, byMember: new Map() }
      this.#spare = undefined
      this.#orgs.set(orgId, org)
    }
    this.#used += amount
    org.held += amount
    org.byMember.set(memberId, (org.byMember.get(memberId) ?? 0) + amount)
  }

  /** Gives back what the same holder took, in any portions. */
  give(orgId: number, memberId: number, amount: number): void {
    if (amount === 0) return
    const org = this.#orgs.get(orgId)
    const left = (org?.byMember.get(memberId) ?? 0) - amount
    if (org === undefined || left < 0) throw new Error('more was given back than taken')
    this.#used -= amount
    org.held -= amount
    if (left > 0) {
      org.byMember.set(memberId, left)
      return
    }
    org.byMember.delete(memberId)
    if (org.byMember.size > 0) return
    this.#orgs.delete(orgId)
    this.#spare = org
  }
}

/**
 * Divides a bounded resource (requests, bytes) among organizations, and within an organization among its API keys, so
 * that a newcomer always finds room. Fixed shares would need the number of holders in advance. Here the limit depends on
 * the current use: an organization may hold at most half of what the others leave of `max`, and an API key at most half
 * of what the other keys leave of its organization's limit. So one key alone reaches a quarter of `max`, and the keys of
 * one organization together reach half. A holder that is above its limit because others arrived gets nothing until it
 * has given back, so the shares converge.
 *
 * Meanwhile a holder that has nothing must not be locked out. It is admitted beyond its share: a key while its
 * organization holds at most three quarters of `max` and all together at most one and a half times `max`; an organization
 * while all together hold at most twice `max`. So many keys of one organization still leave room for other organizations.
 */
export class Shares extends Holdings {
  readonly #max: number
  readonly #onGiven: () => void

  /** `onGiven` is called when something was given back. */
  constructor(max: number, onGiven: () => void = () => {}) {
    super()
    this.#max = max
    this.#onGiven = onGiven
  }

  /** Tells whether the shares of the organization and of the key leave room for this amount. */
  hasRoom(orgId: number, keySeq: number, amount: number): boolean {
    const org = this.holdingOf(orgId)
    if (org === undefined) return this.used + amount <= this.#max * 2
    const heldByKey = org.byMember.get(keySeq) ?? 0
    const orgMax = (this.#max - (this.used - org.held)) / 2
    return heldByKey + amount <= orgMax - org.held || (heldByKey === 0 && this.#admitsKey(org, amount))
  }

  /** False, and nothing is taken, when there is no room. */
  tryTake(orgId: number, keySeq: number, amount: number): boolean {
    if (!this.hasRoom(orgId, keySeq, amount)) return false
    this.take(orgId, keySeq, amount)
    return true
  }

  override give(orgId: number, keySeq: number, amount: number): void {
    if (amount > 0) this.#onGiven()
    super.give(orgId, keySeq, amount)
  }

  #admitsKey(org: Holding, amount: number): boolean {
    return org.held + amount <= this.#max * 0.75 && this.used + amount <= this.#max * 1.5
  }
}

/**
 * Limits how many units each organization and each of its members may hold. Members are tasks for pushes, and API keys for
 * waiting requests. All together hold at most `max`. An organization may hold half of what the others leave, and a member
 * half of what the other members of its organization leave of that. So nobody ever takes everything: an organization alone
 * reaches half of `max`, and the next one still finds room. One that is above its share because others came gets nothing
 * until it has given back.
 *
 * `Shares` lets a newcomer in beyond `max`. Here `max` is a promise, so a newcomer gets one while any is free.
 */
export class StrictShares extends Holdings {
  readonly #max: number

  constructor(max: number) {
    super()
    this.#max = max
  }

  get free(): number {
    return this.#max - this.used
  }

  heldBy(orgId: number, memberId: number): number {
    return this.holdingOf(orgId)?.byMember.get(memberId) ?? 0
  }

  /** Returns how many more the organization may hold now. */
  roomOf(orgId: number): number {
    const held = this.holdingOf(orgId)?.held ?? 0
    return Math.max(0, Math.min(this.free, half(this.#max - (this.used - held)) - held))
  }

  /** Returns how many more the member may hold now. `isHalved`: it may hold half of what others may. */
  room(orgId: number, memberId: number, isHalved = false): number {
    const room = this.roomOf(orgId)
    const held = this.heldBy(orgId, memberId)
    const share = half(room + held)
    return Math.max(0, Math.min(room, (isHalved ? half(share) : share) - held))
  }

  /** The organizations that hold some and may hold no more now. */
  get fullOrgIds(): number[] {
    return [...this.orgIds].filter((orgId) => this.roomOf(orgId) === 0)
  }
}

/** Half of it, but not nothing while there is one. */
const half = (count: number): number => (count === 1 ? 1 : Math.floor(count / 2))
