import { type CronPattern, parseCron } from './cron-pattern.ts'
import { ZoneTime } from './zone-time.ts'

/** The times at which a task runs by itself. */
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
  const pattern = parseCron(schedule.cron)
  const zone = new ZoneTime(schedule.timezone)
  return pattern.isFixed ? nextFixedMs(pattern, zone, afterMs) : nextMatchMs(pattern, zone, afterMs)
}

const secondMs = 1000
const minuteMs = 60 * secondMs
const dayMs = 24 * 60 * minuteMs

/** The rarest date is a leap day on a given day of the week: over a century without a leap day it takes 40 years. */
const searchYears = 50

/** The first whole minute of the wall clock, from `fromMs` on, that matches; null if there is none. */
const nextLocalMs = (pattern: CronPattern, fromMs: number): number | null => {
  let localMs = Math.ceil(fromMs / minuteMs) * minuteMs
  const lastYear = new Date(localMs).getUTCFullYear() + searchYears
  for (;;) {
    const local = new Date(localMs)
    const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
    // NaN: behind the last date that there is.
    if (!(year <= lastYear)) return null
    if (pattern.months.has(month + 1)) {
      const minute = isDay(pattern, local) ? nextMinute(pattern, local) : undefined
      if (minute !== undefined) return Date.UTC(year, month, day) + minute * minuteMs
      localMs = Date.UTC(year, month, day + 1)
    } else localMs = Date.UTC(year, month + 1)
  }
}

const isDay = ({ days, daysOfWeek, needsBothDays }: CronPattern, local: Date): boolean => {
  const isDate = days.has(local.getUTCDate())
  const isDayOfWeek = daysOfWeek.has(local.getUTCDay())
  return needsBothDays ? isDate && isDayOfWeek : isDate || isDayOfWeek
}

/** The first minute of the day, from this time on, that matches. */
const nextMinute = ({ hours, minutes }: CronPattern, local: Date): number | undefined => {
  const [hour, minute] = [local.getUTCHours(), local.getUTCMinutes()]
  for (const one of hours) {
    const found = one < hour ? undefined : one > hour ? minutes[0] : minutes.find((number) => number >= minute)
    if (found !== undefined) return one * 60 + found
  }
  return undefined
}

/**
 * The next moment at which the wall clock shows a match. While the offset stays the same, that is the next local match. So the
 * search goes from one change of the offset to the next, and looks at no more than a day at a time.
 */
const nextMatchMs = (pattern: CronPattern, zone: ZoneTime, afterMs: number): number | null => {
  for (let fromMs = (Math.floor(afterMs / secondMs) + 1) * secondMs; ; ) {
    const fromLocalMs = zone.localMs(fromMs)
    const matchMs = nextLocalMs(pattern, fromLocalMs)
    if (matchMs === null) return null
    const foundMs = matchMs - (fromLocalMs - fromMs)
    const endMs = Math.min(foundMs, fromMs + dayMs)
    const changeMs = zone.changeAfter(fromMs, endMs)
    if (changeMs === undefined && endMs === foundMs) return foundMs
    // Offsets differ by a day at most: the days before the last two have no match.
    fromMs = changeMs ?? Math.max(endMs, foundMs - 2 * dayMs)
  }
}

/** The next of at most one time a day: once if the wall clock shows it twice, and at the change if one skips it. */
const nextFixedMs = (pattern: CronPattern, zone: ZoneTime, afterMs: number): number | null => {
  // A time that a change skipped comes later than the wall clock says, at most by a day.
  for (let fromMs = zone.localMs(afterMs) - dayMs; ; fromMs += minuteMs) {
    const localMs = nextLocalMs(pattern, fromMs)
    if (localMs === null) return null
    const ms = zone.instantMs(localMs)
    if (ms > afterMs) return ms
    fromMs = localMs
  }
}

/** A value this far ahead of the clock was written while the clock was wrong. */
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
