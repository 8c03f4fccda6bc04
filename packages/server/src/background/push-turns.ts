import type { Table } from '../store/tables.ts'

/**
 * The tasks that may have runs to push, in turns: organizations take turns, and within an organization its tasks. The one
 * that had its turn goes behind the others, so a backlog of one delays nobody.
 */
export class PushTurns {
  /** The order of the entries is the order of turns. */
  readonly #orgs = new Map<number, Map<number, Table>>()

  get orgCount(): number {
    return this.#orgs.size
  }

  taskCount(orgId: number): number {
    return this.#orgs.get(orgId)?.size ?? 0
  }

  /** Keeps its place if it is there already. */
  add(task: Table): void {
    const tasks = this.#orgs.get(task.orgId)
    if (tasks === undefined) this.#orgs.set(task.orgId, new Map([[task.id, task]]))
    else tasks.set(task.id, task)
  }

  remove({ orgId, id }: Table): void {
    const tasks = this.#orgs.get(orgId)
    if (tasks?.delete(id) === true && tasks.size === 0) this.#orgs.delete(orgId)
  }

  /** The next task that has room; its organization and it go behind the others. Undefined if none has room. */
  next(orgHasRoom: (orgId: number) => boolean, hasRoom: (task: Table) => boolean): Table | undefined {
    for (const [orgId, tasks] of this.#orgs) {
      if (!orgHasRoom(orgId)) continue
      for (const task of tasks.values()) {
        if (!hasRoom(task)) continue
        tasks.delete(task.id)
        tasks.set(task.id, task)
        this.#orgs.delete(orgId)
        this.#orgs.set(orgId, tasks)
        return task
      }
    }
    return undefined
  }
}
