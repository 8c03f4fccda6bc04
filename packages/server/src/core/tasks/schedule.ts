import { Cron } from 'croner'
import { parseCron } from './cron-pattern.ts'
import { ZoneTime } from './zone-time.ts'

/** When a task runs by itself. */
export type Schedule = ({ every: number } | { cron: string; timezone: string }) & {
  /** JSON text, as it was sent. */
  payload: string
}

/** The key of the runs that a schedule creates: so they neither pile up nor overlap. */
export const scheduleKey = 'schedule'

/** The first time of the schedule after `afterMs`; null if there is none before the year 3000. */
export const nextScheduledMs = (schedule: Schedule, afterMs: number): number | null => {
  if ('every' in schedule) {
    const everyMs = schedule.every * 1000
    return (Math.floor(afterMs / everyMs) + 1) * everyMs
  }
  const { text, isFixed, needsBothDays } = parseCron(schedule.cron)
  const zone = new ZoneTime(schedule.timezone)
  const cronIn = (timezone: string): Cron => new Cron(text, { timezone, mode: '5-part', domAndDow: needsBothDays })
  if (isFixed) return nextFixedMs(cronIn('UTC'), zone, afterMs)
  return cronIn(zone.zone).nextRun(new Date(afterMs))?.getTime() ?? null
}

const dayMs = 24 * 60 * 60 * 1000

/**
 * The next of at most one time a day. `cron` finds the local times, and `zone` says when they are. Croner's own rule differs
 * in one case: where a clock change skips the end of a day, it leaves the time out (23:30 in America/Nuuk, each March).
 */
const nextFixedMs = (cron: Cron, zone: ZoneTime, afterMs: number): number | null => {
  // A time that a change skipped comes later than the wall clock says, at most by a day.
  let localMs: number | undefined = zone.localMs(afterMs) - dayMs - 1
  for (;;) {
    localMs = cron.nextRun(new Date(localMs))?.getTime()
    if (localMs === undefined) return null
    const ms = zone.instantMs(localMs)
    if (ms > afterMs) return ms
  }
}

/** What was written this far ahead of the clock was written while it was wrong. */
export const clockErrorMs = 60 * 60 * 1000

/**
 * The next time after the schedule was served for `servedMs` (null: never). A clock that was set back by up to an hour
 * repeats nothing; after a larger step the times that were served ahead count as not served.
 */
export const nextAfterServed = (schedule: Schedule, servedMs: number | null, nowMs: number): number | null => {
  const served = servedMs !== null && servedMs <= nowMs + clockErrorMs ? servedMs : nowMs
  return nextScheduledMs(schedule, Math.max(nowMs, served))
}

/**
 * The same for a task that may have none. Undefined if this process cannot tell: another one that knows more time zones has
 * stored the schedule. It must not keep those of others from their work.
 */
export const nextIfKnown = (
  schedule: Schedule | null,
  servedMs: number | null,
  nowMs: number,
): number | null | undefined => {
  try {
    return schedule && nextAfterServed(schedule, servedMs, nowMs)
  } catch {
    return undefined
  }
}
