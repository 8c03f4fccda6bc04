import { takeTurns } from '../../../core/tasks/take-turns.ts'

/** A run or a task that time has reached. `orgId` is null if its task is missing, which is damage. */
export interface Reached {
  id: number
  orgId: number | null
  /** Of what is read, and mostly written, for it. */
  bytes: number
}

/** Rows that a look reads to choose from: an organization that has more due than that delays the others. */
export const reachedRowsMax = 2_000

/** The writes of everybody wait for a step, so its texts are few as well as its rows. */
const stepBytesMax = 1_048_576

export interface ChosenStep {
  ids: number[]
  /** Whether some that were found are left for the next step. */
  isMore: boolean
}

/** What one step does, at least one if there is one. Organizations take turns: none waits behind all that another has due. */
export const chooseStep = (reached: Reached[], rowsMax: number): ChosenStep => {
  const ids: number[] = []
  let bytes = 0
  for (const one of takeTurns(reached, ({ orgId }) => orgId ?? 0)) {
    bytes += one.bytes
    if (ids.length === rowsMax || (ids.length > 0 && bytes > stepBytesMax)) break
    ids.push(one.id)
  }
  return { ids, isMore: ids.length < reached.length }
}
