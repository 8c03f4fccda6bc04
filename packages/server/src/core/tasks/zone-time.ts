// Local times are milliseconds as if the wall clock showed UTC: `Date.UTC(2026, 2, 29, 2, 30)` is half past two.

const dayMs = 24 * 60 * 60 * 1000

export class ZoneTime {
  readonly #format: Intl.DateTimeFormat

  /** Throws for a time zone that is not known. */
  constructor(zone: string) {
    const numeric = 'numeric' as const
    this.#format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, calendar: 'iso8601', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
    })
  }

  /** Returns what the wall clock shows, to the second. */
  localMs(ms: number): number {
    const shown: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(ms)) shown[type] = Number(value)
    const { year, month, day, hour, minute, second } = shown as Record<string, number>
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!)
  }

  #offsetMs(ms: number): number {
    return this.localMs(ms) - Math.floor(ms / 1000) * 1000
  }

  /**
   * Returns the moment at which the wall clock shows this time: the first one if it does so twice. If a clock change skips it:
   * the moment of the change.
   */
  instantMs(localMs: number): number {
    // Offsets are less than a day, so one of these is before, and one after, a change that concerns this time.
    const before = this.#offsetMs(localMs - dayMs)
    const after = this.#offsetMs(localMs + dayMs)
    const instants = [localMs - before, localMs - after].sort((a, b) => a - b)
    const shown = instants.find((ms) => this.localMs(ms) === localMs)
    if (shown !== undefined) return shown
    return this.changeAfter(instants[0]!, instants[1]!)!
  }

  /**
   * The moment after `fromMs`, up to `toMs`, at which the offset changes; undefined if it does not. There is at most one change
   * in a day.
   */
  changeAfter(fromMs: number, toMs: number): number | undefined {
    const before = this.#offsetMs(fromMs)
    if (this.#offsetMs(toMs) === before) return undefined
    let [last, first] = [fromMs, toMs]
    while (first - last > 1) {
      const middle = Math.floor((first + last) / 2)
      if (this.#offsetMs(middle) === before) last = middle
      else first = middle
    }
    return first
  }
}
