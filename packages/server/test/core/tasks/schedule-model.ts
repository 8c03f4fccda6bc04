// The contract's words about schedules, minute by minute.

export interface ModelPattern {
  minutes: Set<number>
  hours: Set<number>
  days: Set<number>
  months: Set<number>
  /** 0 to 6. */
  weekdays: Set<number>
  /** Both fields of days are given: either matches. */
  eitherDay: boolean
  /** Minute and hour are single numbers. */
  isFixed: boolean
}

const minuteMs = 60_000

/** Returns the time that a wall clock shows, as if it were UTC. */
export const wallClock = (timezone: string): ((ms: number) => number) => {
  const format = new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: timezone, year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  })
  return (ms) => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`)
}

const matches = (pattern: ModelPattern, local: number): boolean => {
  const date = new Date(local)
  const day = pattern.days.has(date.getUTCDate())
  const weekday = pattern.weekdays.has(date.getUTCDay())
  return (
    pattern.minutes.has(date.getUTCMinutes()) &&
    pattern.hours.has(date.getUTCHours()) &&
    pattern.months.has(date.getUTCMonth() + 1) &&
    (pattern.eitherDay ? day || weekday : day && weekday)
  )
}

/** All times after `afterMs`, up to `untilMs`. The clock is watched from two days earlier on. */
export const modelTimes = (pattern: ModelPattern, timezone: string, afterMs: number, untilMs: number): number[] => {
  const wall = wallClock(timezone)
  const times: number[] = []
  const from = Math.floor(afterMs / minuteMs) * minuteMs - 2 * 24 * 60 * minuteMs
  let shown = wall(from - minuteMs)
  let latest = shown
  for (let ms = from; ms <= untilMs; ms += minuteMs) {
    const before = shown
    shown = wall(ms)
    let due = false
    if (!pattern.isFixed) due = matches(pattern, shown)
    else {
      // Once, the first time.
      due = shown > latest && matches(pattern, shown)
      // Skipped times run right after the change.
      for (let skipped = before + minuteMs; skipped < shown; skipped += minuteMs) {
        if (skipped > latest && matches(pattern, skipped)) due = true
      }
    }
    if (shown > latest) latest = shown
    if (due && ms > afterMs) times.push(ms)
  }
  return times
}
