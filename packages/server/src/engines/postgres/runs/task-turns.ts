import { takeTurns } from '../../../core/tasks/due-turns.ts'

interface TaskOfOrganization {
  id: number
  orgId: number
}

/**
 * Chooses the tasks that are asked one by one while a server cannot be reached. Organizations take turns, and each continues
 * after its task that was asked last: however many tasks one of them has, the others are asked as often.
 */
export class TaskTurns {
  readonly #lastTaskOf = new Map<number, number>()
  #lastOrgId = 0

  next<T extends TaskOfOrganization>(tasks: T[], tasksMax: number): T[] {
    const byOrganization = [...Map.groupBy(tasks, ({ orgId }) => orgId)].sort(([a], [b]) => a - b)
    const waiting = behind(byOrganization, ([orgId]) => orgId > this.#lastOrgId).flatMap(([orgId, own]) =>
      behind(
        own.sort((a, b) => a.id - b.id),
        ({ id }) => id > (this.#lastTaskOf.get(orgId) ?? 0),
      ),
    )
    const chosen = takeTurns(waiting, ({ orgId }) => orgId).slice(0, tasksMax)
    for (const { id, orgId } of chosen) this.#lastTaskOf.set(orgId, id)
    this.#lastOrgId = chosen.at(-1)?.orgId ?? 0
    return chosen
  }
}

/** Puts the elements after the position first, and then those before it. */
const behind = <T>(sorted: T[], isBehind: (one: T) => boolean): T[] => [
  ...sorted.filter(isBehind),
  ...sorted.filter((one) => !isBehind(one)),
]
