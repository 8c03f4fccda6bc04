import type { Declaration } from './declaration.ts'
import { nextScheduledMs, type Schedule } from './schedule.ts'

export interface ScheduleState {
  declaration: Declaration
  nextRunAtMs: number | null
  /** Until when the times of the schedule have been served, or its declaration; null: `nextRunAtMs` tells. */
  servedAtMs: number | null
}

const timesOf = (schedule: Schedule): string => {
  const { payload: _, ...times } = schedule
  return JSON.stringify(times)
}

/** The state of the schedule after a declaration. Declaring the same times again skips none that is due just now. */
export const scheduleAfterDeclaring = (
  declaration: Declaration,
  present: ScheduleState | undefined,
  nowMs: number,
): Pick<ScheduleState, 'nextRunAtMs' | 'servedAtMs'> => {
  const { schedule, paused } = declaration
  if (schedule === null || paused) return { nextRunAtMs: null, servedAtMs: null }
  const before = present?.declaration.schedule ?? null
  if (present !== undefined && present.nextRunAtMs !== null && before !== null && timesOf(before) === timesOf(schedule))
    return { nextRunAtMs: present.nextRunAtMs, servedAtMs: present.servedAtMs }
  // Not null: if the clock is ahead and is set back later, this is how it is noticed.
  return { nextRunAtMs: nextScheduledMs(schedule, nowMs), servedAtMs: nowMs }
}
