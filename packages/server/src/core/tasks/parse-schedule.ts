import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { scheduleSecondsMax } from '../limits.ts'
import { type Members, refuseUnknownMembers } from '../members.ts'
import { parseCron } from './cron-pattern.ts'
import { nextScheduledMs, type Schedule } from './schedule.ts'
import { ZoneTime } from './zone-time.ts'

const refuse = (field: string, message: string, hint: string): never => {
  throw new CubbyError('invalid_schedule', message, { field, hint })
}

const formsHint = 'Give { "every": 3600 } in seconds, or { "cron": "0 6 * * mon-fri", "timezone": "Europe/Berlin" }.'

/** `members` have shallow values; `payload` is JSON text. Throws `invalid_schedule`, also for one that is never due. */
export const parseSchedule = (members: Members, payload: string, nowMs: number): Schedule => {
  refuseUnknownMembers(members, ['every', 'cron', 'timezone', 'payload'], 'schedule.')
  const { every, cron, timezone } = members
  if (every === undefined && cron === undefined) refuse('schedule', 'schedule has neither every nor cron.', formsHint)
  if (every !== undefined && cron !== undefined)
    refuse('schedule.cron', 'schedule.cron cannot be combined with every.', formsHint)
  if (every !== undefined) return { every: parseEvery(every, timezone), payload }
  const schedule: Schedule = { cron: parseCronText(cron), timezone: parseTimezone(timezone), payload }
  if (nextScheduledMs(schedule, nowMs) === null) {
    refuse(
      'schedule.cron',
      `schedule.cron is ${describeValue(cron)}, which is never due.`,
      'No month that it names has that day.',
    )
  }
  return schedule
}

const parseEvery = (value: unknown, timezone: unknown): number => {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > scheduleSecondsMax) {
    refuse(
      'schedule.every',
      `schedule.every is ${describeValue(value)}; it takes seconds, an integer from 1 to ${scheduleSecondsMax}.`,
      'For times of the day give cron: "0 6 * * *".',
    )
  }
  if (timezone !== undefined) {
    refuse(
      'schedule.timezone',
      'schedule.timezone is only for cron.',
      'every counts seconds since 1970, which is the same in all time zones. Leave timezone out.',
    )
  }
  return value as number
}

const parseCronText = (value: unknown): string => {
  if (typeof value !== 'string') {
    return refuse('schedule.cron', `schedule.cron is ${describeValue(value)}; it takes a string.`, formsHint)
  }
  parseCron(value)
  return value
}

const parseTimezone = (value: unknown): string => {
  if (value === undefined) return 'UTC'
  if (typeof value === 'string' && isTimezone(value)) return value
  return refuse(
    'schedule.timezone',
    `schedule.timezone is ${describeValue(value)}; it takes the IANA name of a time zone.`,
    'For example "Europe/Berlin" or "America/New_York"; leave it out for UTC.',
  )
}

/** Offsets such as `+02:00`, which Intl takes too, are not names. */
const isTimezone = (name: string): boolean => {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false
  try {
    new ZoneTime(name)
    return true
  } catch {
    return false
  }
}
