import { type Condition, holds } from '../records/condition.ts'
import { type Declaration, type NotKept, whyNotKept } from './declaration.ts'
import { nextScheduledMs, type Schedule } from './schedule.ts'
import { addTaskSecret, type TaskSecret } from './task-secret.ts'

interface ScheduleState {
  declaration: Declaration
  nextRunAtMs: number | null
  /** The time until which the times of the schedule have been served, or its declaration; null: `nextRunAtMs` tells. */
  servedAtMs: number | null
}

const timesOf = (schedule: Schedule): string => {
  const { payload: _, ...times } = schedule
  return JSON.stringify(times)
}

/** The state of the schedule after a declaration. Declaring the same times again skips none that is due just now. */
const scheduleAfterDeclaring = (
  declaration: Declaration,
  present: ScheduleState | undefined,
  nowMs: number,
): Pick<ScheduleState, 'nextRunAtMs' | 'servedAtMs'> => {
  const { schedule, paused } = declaration
  if (schedule === null || paused) return { nextRunAtMs: null, servedAtMs: null }
  const before = present?.declaration.schedule ?? null
  if (present !== undefined && present.nextRunAtMs !== null && before !== null && timesOf(before) === timesOf(schedule))
    return { nextRunAtMs: present.nextRunAtMs, servedAtMs: present.servedAtMs }
  // The time is not null: a clock that is ahead and is set back later is noticed by it.
  return { nextRunAtMs: nextScheduledMs(schedule, nowMs), servedAtMs: nowMs }
}

// The rules of tasks, as transitions.ts has those of runs. Each function returns what is to be stored, and changes nothing
// itself. Both engines apply them inside a transaction that holds the task.

/** The stored state of a task, without its names. */
export interface StoredTask extends ScheduleState {
  /** The version of the declaration. */
  updatedAtMs: number
  secrets: TaskSecret[]
}

/** The declaration that a PUT stores. */
export interface DeclarationToStore extends Declaration {
  /** Keep the present `authorization`; the member itself is null then. */
  keepsAuthorization: boolean
  /** Stored if the task has a `url` and no secret yet. */
  newSecret: string
}

type Declared =
  | { applied: true; task: StoredTask; secretStored: boolean }
  | { applied: false; reason: 'condition'; current: number | undefined }
  | { applied: false; reason: NotKept }

/** `present`: the active task of the name. */
export const declareTask = (
  present: StoredTask | undefined,
  { keepsAuthorization, newSecret, ...declared }: DeclarationToStore,
  condition: Condition | undefined,
  nowMs: number,
): Declared => {
  const current = present?.updatedAtMs
  if (!holds(condition, current)) return { applied: false, reason: 'condition', current }
  const notKept = keepsAuthorization ? whyNotKept(present?.declaration, declared.url) : undefined
  if (notKept !== undefined) return { applied: false, reason: notKept }
  const authorization = keepsAuthorization ? present!.declaration.authorization : declared.authorization
  const declaration = { ...declared, authorization }
  const secrets = present?.secrets ?? []
  const secretStored = declaration.url !== null && secrets.length === 0
  const task = {
    declaration,
    updatedAtMs: current === undefined ? nowMs : Math.max(nowMs, current + 1),
    ...scheduleAfterDeclaring(declaration, present, nowMs),
    secrets: secretStored ? addTaskSecret([], newSecret, true, nowMs) : secrets,
  }
  return { applied: true, task, secretStored }
}

/**
 * Tells whether the table of `on` must exist. A task must stay pausable whatever has become of the table, so a declaration that pauses
 * may keep the name that it follows.
 */
export const needsTable = (present: StoredTask | undefined, { on, paused }: Declaration): boolean =>
  on !== null && !(paused && present?.declaration.on?.table === on.table)

/** A deleted task creates no runs: it has no next time. */
export const deleteTask = <T extends StoredTask>(
  present: T,
  condition: Condition | undefined,
): { applied: true; task: T } | { applied: false; current: number } =>
  holds(condition, present.updatedAtMs)
    ? { applied: true, task: { ...present, nextRunAtMs: null } }
    : { applied: false, current: present.updatedAtMs }

/** Times of the schedule that have passed meanwhile create no run: it has no next time, so the schedule begins again. */
export const restoreTask = <T extends StoredTask>(deleted: T, nowMs: number): T => ({
  ...deleted,
  ...scheduleAfterDeclaring(deleted.declaration, deleted, nowMs),
})
