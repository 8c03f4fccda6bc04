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
  return nextMatchMs(cronIn(zone.zone), zone, afterMs)
}

const secondMs = 1000
const utc = new ZoneTime('UTC')

/**
 * The next match of the pattern. Croner takes 1 to 3 March for the 29th to 31st of February, and then leaves out the days of
 * March before the one that matches. So no search of it crosses the end of a February.
 */
const nextMatchMs = (cron: Cron, zone: ZoneTime, afterMs: number): number | null => {
  for (let fromMs = afterMs; ; ) {
    const foundMs = cron.nextRun(new Date(fromMs))?.getTime() ?? null
    const marchMs = zone.instantMs(nextMarchMs(zone.localMs(fromMs) + secondMs))
    if (foundMs === null || foundMs <= marchMs) return foundMs
    fromMs = marchMs - secondMs
  }
}

/** The first beginning of March after this local time. */
const nextMarchMs = (localMs: number): number => {
  const year = new Date(localMs).getUTCFullYear()
  const marchMs = Date.UTC(year, 2, 1)
  return marchMs > localMs ? marchMs : Date.UTC(year + 1, 2, 1)
}

const dayMs = 24 * 60 * 60 * 1000

/**
 * The next of at most one time a day. `cron` finds the local times, and `zone` says when they are. Croner's own rule differs
 * in one case: where a clock change skips the end of a day, it leaves the time out (23:30 in America/Nuuk, each March).
 */
const nextFixedMs = (cron: Cron, zone: ZoneTime, afterMs: number): number | null => {
  // A time that a change skipped comes later than the wall clock says, at most by a day.
  let localMs: number | null = zone.localMs(afterMs) - dayMs - 1
  for (;;) {
    localMs = nextMatchMs(cron, utc, localMs)
    if (localMs === null) return null
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
