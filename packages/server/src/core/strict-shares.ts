interface OrgShare {
  held: number
  readonly byMember: Map<number, number>
}

/**
 * How many of something countable each organization and each of its members may hold: of pushes its tasks, of requests that
 * wait its API keys. At most `max` in all. An organization may hold half of what the others leave, and a member half of what
 * the other members of its organization leave of that. So nobody ever takes everything: an organization alone reaches half of
 * `max`, and the next one still finds room. One that is above its share because others came gets nothing until it has given
 * back.
 *
 * `core/shares.ts` lets a newcomer in beyond `max`. Here `max` is a promise, so a newcomer gets one while any is free.
 */
export class StrictShares {
  readonly #max: number
  readonly #orgs = new Map<number, OrgShare>()
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  get free(): number {
    return this.#max - this.#used
  }

  heldBy(orgId: number, memberId: number): number {
    return this.#orgs.get(orgId)?.byMember.get(memberId) ?? 0
  }

  /** How many more the organization may hold now. */
  roomOf(orgId: number): number {
    const held = this.#orgs.get(orgId)?.held ?? 0
    return Math.max(0, Math.min(this.free, half(this.#max - (this.#used - held)) - held))
  }

  /** How many more the member may hold now. `isHalved`: it may hold half of what others may. */
  room(orgId: number, memberId: number, isHalved = false): number {
    const room = this.roomOf(orgId)
    const held = this.heldBy(orgId, memberId)
    const share = half(room + held)
    return Math.max(0, Math.min(room, (isHalved ? half(share) : share) - held))
  }

  /** The organizations that hold some and may hold no more now. */
  get fullOrgIds(): number[] {
    return [...this.#orgs.keys()].filter((orgId) => this.roomOf(orgId) === 0)
  }

  take(orgId: number, memberId: number, count: number): void {
    if (count === 0) return
    let org = this.#orgs.get(orgId)
    if (org === undefined) {
      org = { held: 0, byMember: new Map() }
      this.#orgs.set(orgId, org)
    }
    this.#used += count
    org.held += count
    org.byMember.set(memberId, (org.byMember.get(memberId) ?? 0) + count)
  }

  give(orgId: number, memberId: number, count: number): void {
    if (count === 0) return
    const org = this.#orgs.get(orgId)
    const left = (org?.byMember.get(memberId) ?? 0) - count
    if (org === undefined || left < 0) throw new Error('more was given back than taken')
    this.#used -= count
    org.held -= count
    if (left > 0) org.byMember.set(memberId, left)
    else org.byMember.delete(memberId)
    if (org.held === 0) this.#orgs.delete(orgId)
  }
}

/** Half of it, but not nothing while there is one. */
const half = (count: number): number => (count === 1 ? 1 : Math.floor(count / 2))
