/** Who holds: an organization's id and one of its API keys (0 for none). */
export interface Holder {
  orgId: number
  keySeq: number
}

interface OrgShare {
  held: number
  readonly byKey: Map<number, number>
}

/**
 * Divides something bounded (requests, bytes) among organizations, and within an organization among its API keys, so
 * that there is always room for another. A fixed share for each would need to know how many there are. Here the limit
 * moves with what is in use: an organization may hold half of what the others leave of `max`, and an API key as much
 * as it leaves of that to the other keys of its organization. So one key alone reaches a quarter of `max`, and the keys of
 * one organization together a half. Those that hold more than their share after others came get nothing until they have
 * given back, so all come to the same.
 *
 * Until they have given back, one that holds nothing must not be shut out. So it is admitted beyond its share: a key
 * while its organization has no more than three quarters of `max` and all together no more than one and a half times
 * `max`, an organization while all together have no more than twice `max`. A crowd of keys leaves room for organizations.
 */
export class Shares {
  readonly #max: number
  readonly #orgs = new Map<number, OrgShare>()
  /** The last one forgotten. In the quiet case the next request reuses it, and nothing is allocated. */
  #spare: OrgShare | undefined
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  get used(): number {
    return this.#used
  }

  /** Whether the share of the organization and of the key leaves room for so much. */
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

  /** Takes it whether or not there is room: for what is known only when it is there already. */
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

  /** Gives back what the same holder took, in the same or other portions. */
  give(orgId: number, keySeq: number, amount: number): void {
    if (amount === 0) return
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
