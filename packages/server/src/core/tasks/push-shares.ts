interface OrgPushes {
  held: number
  readonly byTask: Map<number, number>
}

/**
 * How many pushes of a process each organization and task may hold. At most `max` in all. An organization may hold half of
 * what the others leave, and a task half of what the other tasks of its organization leave of that. So targets that do not
 * answer never take everything: an organization alone reaches half of `max`, and the next one still finds room. One that is
 * above its share because others came gets nothing until it has given back.
 *
 * `core/shares.ts` lets a newcomer in beyond `max`. Here `max` is a promise, so a newcomer gets one push while any is free.
 */
export class PushShares {
  readonly #max: number
  readonly #orgs = new Map<number, OrgPushes>()
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  get free(): number {
    return this.#max - this.#used
  }

  heldBy(orgId: number, taskId: number): number {
    return this.#orgs.get(orgId)?.byTask.get(taskId) ?? 0
  }

  /** How many more the organization may hold now. */
  roomOf(orgId: number): number {
    const held = this.#orgs.get(orgId)?.held ?? 0
    return Math.max(0, Math.min(this.free, half(this.#max - (this.#used - held)) - held))
  }

  /** How many more the task may hold now. */
  room(orgId: number, taskId: number): number {
    const room = this.roomOf(orgId)
    const held = this.heldBy(orgId, taskId)
    return Math.max(0, Math.min(room, half(room + held) - held))
  }

  /** The organizations that have pushes and may hold no more now. */
  get fullOrgIds(): number[] {
    return [...this.#orgs.keys()].filter((orgId) => this.roomOf(orgId) === 0)
  }

  take(orgId: number, taskId: number, count: number): void {
    if (count === 0) return
    let org = this.#orgs.get(orgId)
    if (org === undefined) {
      org = { held: 0, byTask: new Map() }
      this.#orgs.set(orgId, org)
    }
    this.#used += count
    org.held += count
    org.byTask.set(taskId, (org.byTask.get(taskId) ?? 0) + count)
  }

  give(orgId: number, taskId: number, count: number): void {
    if (count === 0) return
    const org = this.#orgs.get(orgId)
    const left = (org?.byTask.get(taskId) ?? 0) - count
    if (org === undefined || left < 0) throw new Error('more was given back than taken')
    this.#used -= count
    org.held -= count
    if (left > 0) org.byTask.set(taskId, left)
    else org.byTask.delete(taskId)
    if (org.held === 0) this.#orgs.delete(orgId)
  }
}

/** Half of it, but not nothing while there is one. */
const half = (count: number): number => (count === 1 ? 1 : Math.floor(count / 2))
