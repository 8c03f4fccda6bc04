/** The holder: an organization's id and the seq of one of its API keys (0 for none). */
export interface Holder {
  orgId: number
  keySeq: number
}

interface OrgShare {
  held: number
  readonly byKey: Map<number, number>
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
export class Shares {
  readonly #max: number
  readonly #onGiven: () => void
  readonly #orgs = new Map<number, OrgShare>()
  /** The entry that was removed last. Without contention the next request reuses it, and nothing is allocated. */
  #spare: OrgShare | undefined
  #used = 0

  /** `onGiven` is called when something was given back. */
  constructor(max: number, onGiven: () => void = () => {}) {
    this.#max = max
    this.#onGiven = onGiven
  }

  get used(): number {
    return this.#used
  }

  /** Whether the shares of the organization and of the key leave room for this amount. */
  hasRoom(orgId: number, keySeq: number, amount: number): boolean {
    const org = this.#orgs.get(orgId)
    if (org === undefined) return this.#used + amount <= this.#max * 2
    const heldByKey = org.byKey.get(keySeq) ?? 0
    const orgMax = (this.#max - (this.#used - org.held)) / 2
    return heldByKey + amount <= orgMax - org.held || (heldByKey === 0 && this.#admitsKey(org, amount))
  }

  /** False, and nothing is taken, when there is no room. */
  tryTake(orgId: number, keySeq: number, amount: number): boolean {
    if (!this.hasRoom(orgId, keySeq, amount)) return false
    this.take(orgId, keySeq, amount)
    return true
  }

  /** Takes the amount even if there is no room: for amounts that are only known after the fact. */
  take(orgId: number, keySeq: number, amount: number): void {
    if (amount === 0) return
    const org = this.#orgs.get(orgId)
    this.#used += amount
    if (org === undefined) {
      this.#orgs.set(orgId, this.#newOrg(keySeq, amount))
      return
    }
    org.held += amount
    org.byKey.set(keySeq, (org.byKey.get(keySeq) ?? 0) + amount)
  }

  /** Gives back what the same holder took, in any portions. */
  give(orgId: number, keySeq: number, amount: number): void {
    if (amount === 0) return
    this.#onGiven()
    const org = this.#orgs.get(orgId)
    const left = (org?.byKey.get(keySeq) ?? 0) - amount
    if (org === undefined || left < 0) throw new Error('more was given back than taken')
    this.#used -= amount
    org.held -= amount
    if (left > 0) {
      org.byKey.set(keySeq, left)
      return
    }
    org.byKey.delete(keySeq)
    if (org.byKey.size > 0) return
    this.#orgs.delete(orgId)
    this.#spare = org
  }

  #admitsKey(org: OrgShare, amount: number): boolean {
    return org.held + amount <= this.#max * 0.75 && this.#used + amount <= this.#max * 1.5
  }

  #newOrg(keySeq: number, amount: number): OrgShare {
    const org = this.#spare ?? { held: 0, byKey: new Map() }
    this.#spare = undefined
    org.held = amount
    org.byKey.set(keySeq, amount)
    return org
  }
}
