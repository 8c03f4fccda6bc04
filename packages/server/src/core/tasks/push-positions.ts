/**
 * Remembers for each organization with more tasks than one poll asks where the next poll for pushes begins. So no poll takes
 * longer because one organization has many tasks, and after some polls each of them was asked.
 */
export class PushPositions {
  #after = new Map<number, number>()
  #next = new Map<number, number>()
  #isMore = false

  /** Tells whether the next look begins with the first task of each organization. */
  get isAtStart(): boolean {
    return this.#after.size === 0
  }

  /** A look begins, without these organizations. Returns the last tasks that looks before have asked, by organization. */
  begin(withoutOrgIds: Iterable<number>): ReadonlyMap<number, number> {
    this.#next = new Map()
    this.#isMore = false
    for (const orgId of withoutOrgIds) {
      const taskId = this.#after.get(orgId)
      if (taskId !== undefined) this.#next.set(orgId, taskId)
    }
    return this.#after
  }

  /** The poll has asked the tasks of this organization up to this one, and some may be left. */
  stop(orgId: number, taskId: number): void {
    this.#next.set(orgId, taskId)
    this.#isMore = true
  }

  /** The look has ended. Returns whether it has left tasks of an organization that it asked. */
  end(): boolean {
    this.#after = this.#next
    return this.#isMore
  }
}
