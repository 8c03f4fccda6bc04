import { Cron } from 'croner'

/** When a task runs by itself. */
export type Schedule = ({ every: number } | { cron: string; timezone: string }) & {
  /** JSON text, as it was sent. */
  payload: string
}

/** The key of the runs that a schedule creates: so they neither pile up nor overlap. */
export const scheduleKey = 'schedule'

/** The first time of the schedule after `afterMs`; null if there is none. */
export const nextScheduledMs = (schedule: Schedule, afterMs: number): number | null => {
  if ('every' in schedule) {
    const everyMs = schedule.every * 1000
    return (Math.floor(afterMs / everyMs) + 1) * everyMs
  }
  return new Cron(schedule.cron, { timezone: schedule.timezone }).nextRun(new Date(afterMs))?.getTime() ?? null
}

/** Times of the schedule that lie this far ahead of the clock were taken while it was wrong. */
const clockErrorMs = 60 * 60 * 1000

/**
 * The next time after the schedule was served for `servedMs` (null: never). A clock that was set back by up to an hour
 * repeats nothing; after a larger step the times that were served ahead count as not served.
 */
export const nextAfterServed = (schedule: Schedule, servedMs: number | null, nowMs: number): number | null => {
  const served = servedMs !== null && servedMs <= nowMs + clockErrorMs ? servedMs : nowMs
  return nextScheduledMs(schedule, Math.max(nowMs, served))
}
