import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { nextAfterServed, nextScheduledMs, type Schedule } from '../../../src/core/tasks/schedule.ts'
import { type ModelPattern, modelTimes, wallClock } from './schedule-model.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const at = (text: string): number => Date.parse(text)

const cron = (pattern: string, timezone = 'UTC'): Schedule => ({ cron: pattern, timezone, payload: '{}' })

/** The times after `from` up to `until`. At most a thousand: a fault must not become a loop without end. */
const timesOf = (schedule: Schedule, fromMs: number, untilMs: number): number[] => {
  const times: number[] = []
  let next = nextScheduledMs(schedule, fromMs)
  while (next !== null && next <= untilMs && times.length < 1_000) {
    times.push(next)
    next = nextScheduledMs(schedule, next)
  }
  return times
}

const shownTimes = (pattern: string, timezone: string, from: string, days: number): string[] => {
  const wall = wallClock(timezone)
  return timesOf(cron(pattern, timezone), at(from), at(from) + days * dayMs).map((ms) => {
    const local = new Date(wall(ms)).toISOString().slice(5, 16)
    return `${local} (${new Date(ms).toISOString().slice(11, 16)}Z)`
  })
}

describe('every', () => {
  test('the times are the multiples since 1970, whenever the task was declared', () => {
    const schedule: Schedule = { every: 90, payload: '{}' }
    expect(nextScheduledMs(schedule, 0)).toBe(90_000)
    expect(nextScheduledMs(schedule, 89_999)).toBe(90_000)
    expect(nextScheduledMs(schedule, 90_000)).toBe(180_000)
    expect(nextScheduledMs({ every: 31_536_000, payload: '{}' }, at('2026-11-16T12:00:00Z'))).toBe(57 * 31_536_000_000)
  })
})

describe('cron', () => {
  test('a time is after the moment asked for, to the millisecond', () => {
    const noon = at('2026-05-01T12:00:00Z')
    expect(nextScheduledMs(cron('0 12 * * *'), noon - 1)).toBe(noon)
    expect(nextScheduledMs(cron('0 12 * * *'), noon)).toBe(noon + dayMs)
    expect(nextScheduledMs(cron('0 12 * * *'), noon + 1)).toBe(noon + dayMs)
    expect(nextScheduledMs(cron('*/5 * * * *'), noon - 1)).toBe(noon)
    expect(nextScheduledMs(cron('*/5 * * * *'), noon)).toBe(noon + 300_000)
    expect(nextScheduledMs(cron('*/5 * * * *'), noon + 999)).toBe(noon + 300_000)
  })

  test('the first days of March are found after a February without those of the pattern', () => {
    const days = (pattern: string, from: string, timezone = 'UTC'): string[] =>
      shownTimes(pattern, timezone, from, 34).map((shown) => shown.slice(0, 5))
    expect(days('0 0 1,31 * *', '2027-02-27T12:00:00Z')).toEqual(['03-01', '03-31', '04-01'])
    expect(days('0 0 2,30 * *', '2028-02-28T12:00:00Z')).toEqual(['03-02', '03-30', '04-02'])
    expect(days('0 */20 1,31 * *', '2028-02-28T12:00:00Z', 'Asia/Kolkata').slice(0, 4)).toEqual([
      '03-01',
      '03-01',
      '03-31',
      '03-31',
    ])
    // 2 March 2027 is a Tuesday.
    expect(days('0 0 1 * tue', '2027-02-25T12:00:00Z').slice(0, 3)).toEqual(['03-01', '03-02', '03-09'])
    expect(nextScheduledMs(cron('0 0 1,31 * *'), at('2027-02-28T23:59:59.5Z'))).toBe(at('2027-03-01T00:00:00Z'))
    expect(nextScheduledMs(cron('0 0 29 2 *'), at('2096-03-01T00:00:00Z'))).toBe(at('2104-02-29T00:00:00Z'))
    expect(nextScheduledMs(cron('0 0 30 2 *'), at('2026-03-01T00:00:00Z'))).toBe(null)
  })

  test('if both fields of days are given, either matches; one that begins with * narrows', () => {
    // 2026-05-01 is a Friday.
    expect(shownTimes('0 0 13 * fri', 'UTC', '2026-05-02T00:00:00Z', 20)).toEqual([
      '05-08T00:00 (00:00Z)',
      '05-13T00:00 (00:00Z)',
      '05-15T00:00 (00:00Z)',
      '05-22T00:00 (00:00Z)',
    ])
    expect(shownTimes('0 0 */2 * fri', 'UTC', '2026-05-01T12:00:00Z', 31)).toEqual([
      '05-15T00:00 (00:00Z)',
      '05-29T00:00 (00:00Z)',
    ])
    expect(shownTimes('0 0 1 * */2', 'UTC', '2026-05-01T12:00:00Z', 130)).toEqual([
      '08-01T00:00 (00:00Z)',
      '09-01T00:00 (00:00Z)',
    ])
  })

  test('0 and 7 are Sunday, also in ranges, steps and names', () => {
    const sundays = shownTimes('0 0 * * 0', 'UTC', '2026-05-01T00:00:00Z', 20)
    expect(sundays).toHaveLength(3)
    for (const same of ['7', 'sun', 'SUN', '0,7', 'sun-sun', '7-7', '*/7', '0-0'])
      expect(shownTimes(`0 0 * * ${same}`, 'UTC', '2026-05-01T00:00:00Z', 20), same).toEqual(sundays)
    const weekend = shownTimes('0 0 * * 0,6', 'UTC', '2026-05-01T00:00:00Z', 20)
    for (const same of ['6-7', 'sat-sun', 'sat,sun', '*/6'])
      expect(shownTimes(`0 0 * * ${same}`, 'UTC', '2026-05-01T00:00:00Z', 20), same).toEqual(weekend)
    expect(shownTimes('0 0 * * 0-7', 'UTC', '2026-05-01T00:00:00Z', 7)).toHaveLength(7)
  })

  test('a leap day is found over the years without one', () => {
    expect(nextScheduledMs(cron('0 0 29 2 *'), at('2096-03-01T00:00:00Z'))).toBe(at('2104-02-29T00:00:00Z'))
    // A leap day on a Sunday, and the years until then.
    expect(nextScheduledMs(cron('0 0 29 2 */7'), at('2088-03-01T00:00:00Z'))).toBe(at('2128-02-29T00:00:00Z'))
  })

  test('a day that no month has is never due', () => {
    for (const pattern of ['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '* * 30-31 feb *'])
      expect(nextScheduledMs(cron(pattern, 'Europe/Berlin'), at('2026-01-01T00:00:00Z')), pattern).toBeNull()
  })
})

describe('clock changes', () => {
  test('a fixed time that the change skips runs right after it', () => {
    expect(shownTimes('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3)).toEqual([
      '03-28T02:30 (01:30Z)',
      '03-29T03:00 (01:00Z)',
      '03-30T02:30 (00:30Z)',
    ])
    expect(shownTimes('15 2 * * *', 'America/New_York', '2026-03-07T00:00:00Z', 3)).toEqual([
      '03-07T02:15 (07:15Z)',
      '03-08T03:00 (07:00Z)',
      '03-09T02:15 (06:15Z)',
    ])
    expect(shownTimes('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T12:00:00Z', 3)).toEqual([
      '10-03T02:15 (15:45Z)',
      '10-04T02:30 (15:30Z)',
      '10-05T02:15 (15:15Z)',
    ])
    expect(shownTimes('0 0 * * *', 'Africa/Cairo', '2026-04-22T12:00:00Z', 3)).toEqual([
      '04-23T00:00 (22:00Z)',
      '04-24T01:00 (22:00Z)',
      '04-25T00:00 (21:00Z)',
    ])
  })

  test('also where the change skips the end of a day, or a whole day', () => {
    expect(shownTimes('30 23 * * *', 'America/Nuuk', '2026-03-27T12:00:00Z', 3)).toEqual([
      '03-27T23:30 (01:30Z)',
      '03-29T00:00 (01:00Z)',
      '03-29T23:30 (00:30Z)',
    ])
    expect(shownTimes('0 12 30 12 *', 'Pacific/Apia', '2011-12-28T12:00:00Z', 3)).toEqual(['12-31T00:00 (10:00Z)'])
  })

  test('a fixed time that occurs twice runs once, the first time', () => {
    expect(shownTimes('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '10-25T02:30 (00:30Z)',
      '10-26T02:30 (01:30Z)',
    ])
    expect(shownTimes('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00:00Z', 2)).toEqual([
      '04-05T01:45 (14:45Z)',
      '04-06T01:45 (15:15Z)',
    ])
    expect(shownTimes('30 23 * * *', 'Africa/Cairo', '2026-10-29T12:00:00Z', 2)).toEqual([
      '10-29T23:30 (20:30Z)',
      '10-30T23:30 (21:30Z)',
    ])
    // Declared between the two.
    expect(nextScheduledMs(cron('30 2 * * *', 'Europe/Berlin'), at('2026-10-25T00:45:00Z'))).toBe(
      at('2026-10-26T01:30:00Z'),
    )
  })

  test('other patterns follow the wall clock', () => {
    expect(shownTimes('*/30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 1)).toEqual([])
    expect(shownTimes('*/30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 1)).toEqual([
      '10-25T02:00 (00:00Z)',
      '10-25T02:30 (00:30Z)',
      '10-25T02:00 (01:00Z)',
      '10-25T02:30 (01:30Z)',
    ])
  })

  const zones = [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Africa/Cairo',
    'America/Nuuk',
    'America/Santiago',
    'Africa/Casablanca',
    'Asia/Kolkata',
    'UTC',
  ]

  /** The moments from 2026 to 2029 at which the offset changes, to six hours. */
  const changesOf = (timezone: string): number[] => {
    const wall = wallClock(timezone)
    const found: number[] = []
    for (let ms = at('2026-01-01T00:00:00Z'); ms < at('2030-01-01T00:00:00Z'); ms += 6 * hourMs) {
      if (wall(ms) - ms !== wall(ms - 6 * hourMs) - (ms - 6 * hourMs)) found.push(ms - 3 * hourMs)
    }
    return found
  }

  const changes = zones.flatMap((timezone) => {
    const found = changesOf(timezone)
    return [...found, at('2027-02-27T12:00:00Z'), at('2028-02-28T12:00:00Z')].map((ms) => ({ timezone, ms }))
  })

  const range = (least: number, most: number): number[] => Array.from({ length: most - least + 1 }, (_, i) => least + i)

  interface FieldOfModel {
    text: string
    values: number[]
    isSingle: boolean
  }

  const fieldOf = (least: number, most: number): fc.Arbitrary<FieldOfModel> => {
    const number = fc.integer({ min: least, max: most })
    const single = number.map((n) => ({ text: String(n), values: [n], isSingle: true }))
    const all = fc.constant({ text: '*', values: range(least, most), isSingle: false })
    const stepped = fc.integer({ min: 2, max: most - least }).map((step) => ({
      text: `*/${step}`,
      values: range(least, most).filter((n) => (n - least) % step === 0),
      isSingle: false,
    }))
    const between = fc
      .tuple(number, number, fc.integer({ min: 1, max: 5 }))
      .filter(([a, b]) => a < b)
      .map(([a, b, step]) => ({
        text: `${a}-${b}${step === 1 ? '' : `/${step}`}`,
        values: range(a, b).filter((n) => (n - a) % step === 0),
        isSingle: false,
      }))
    const list = fc.uniqueArray(number, { minLength: 2, maxLength: 4 }).map((numbers) => ({
      text: numbers.join(','),
      values: numbers,
      isSingle: false,
    }))
    return fc.oneof({ arbitrary: single, weight: 4 }, all, stepped, between, list)
  }

  const days = (least: number, most: number): fc.Arbitrary<FieldOfModel> =>
    fc.oneof(
      { arbitrary: fc.constant({ text: '*', values: range(least, most), isSingle: false }), weight: 3 },
      { arbitrary: fieldOf(least, most), weight: 1 },
    )

  const pattern = fc.tuple(fieldOf(0, 59), fieldOf(0, 23), days(1, 31), days(1, 12), days(0, 7)).map((fields) => {
    const [minute, hour, day, month, weekday] = fields
    const model: ModelPattern = {
      minutes: new Set(minute.values),
      hours: new Set(hour.values),
      days: new Set(day.values),
      months: new Set(month.values),
      weekdays: new Set(weekday.values.map((n) => n % 7)),
      eitherDay: !day.text.startsWith('*') && !weekday.text.startsWith('*'),
      isFixed: minute.isSingle && hour.isSingle,
    }
    return { text: fields.map(({ text }) => text).join(' '), model }
  })

  test('every pattern, around clock changes of many zones, runs when a minute-by-minute model says', () => {
    fc.assert(
      fc.property(
        pattern,
        fc.constantFrom(...changes),
        fc.integer({ min: -40 * 3600, max: 5 * 3600 }),
        fc.integer({ min: 0, max: 999 }),
        ({ text, model }, { timezone, ms }, seconds, milliseconds) => {
          const after = ms + seconds * 1000 + milliseconds
          const until = after + 2 * dayMs
          // Most patterns are dense; the first times are enough.
          const expected = modelTimes(model, timezone, after, until).slice(0, 60)
          const found = timesOf(cron(text, timezone), after, expected.length === 60 ? expected.at(-1)! : until)
          expect(found.map((one) => new Date(one).toISOString())).toEqual(
            expected.map((one) => new Date(one).toISOString()),
          )
        },
      ),
      { numRuns: Number(process.env.CUBBY_TEST_SCHEDULE_RUNS ?? 60) },
    )
  })
})

describe('after a schedule was served', () => {
  const schedule: Schedule = { every: 600, payload: '{}' }
  const now = at('2026-11-16T12:00:00Z')

  test('times that were missed while nothing served are skipped', () => {
    expect(nextAfterServed(schedule, now - 5 * hourMs, now)).toBe(now + 600_000)
  })

  test('a clock that was set back by up to an hour repeats nothing; after a larger step the schedule goes on', () => {
    expect(nextAfterServed(schedule, now + hourMs, now)).toBe(now + hourMs + 600_000)
    expect(nextAfterServed(schedule, now + hourMs + 1, now)).toBe(now + 600_000)
    expect(nextAfterServed(schedule, null, now)).toBe(now + 600_000)
  })
})

test('the search ends where dates end', () => {
  const lastYears = 8.64e15 - 10 * 365 * dayMs
  expect(nextScheduledMs(cron('0 0 31 2 *'), lastYears)).toBeNull()
  expect(nextScheduledMs(cron('*/5 0 31 2 */7'), lastYears)).toBeNull()
})
