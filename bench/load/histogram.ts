const microsecondsMax = 5_000_000

/** Counts latencies by microsecond. */
export class Histogram {
  readonly #counts = new Uint32Array(microsecondsMax + 1)
  count = 0
  maxUs = 0

  record(microseconds: number): void {
    const us = Math.max(0, Math.round(microseconds))
    if (us > this.maxUs) this.maxUs = us
    this.#counts[Math.min(us, microsecondsMax)]!++
    this.count++
  }

  /**
   * Corrects for coordinated omission, as wrk does. A client that waits for a response sends fewer requests while the
   * server stalls. This adds the requests that it would have sent: one for each `expectedUs` of a long wait.
   */
  correct(expectedUs: number): void {
    const step = Math.round(expectedUs)
    if (step <= 0) return
    // In ascending order: values are added below the current one, and must not be corrected themselves.
    for (let us = step * 2; us <= Math.min(this.maxUs, microsecondsMax); us++) {
      const count = this.#counts[us]!
      if (count === 0) continue
      for (let missed = us - step; missed > step; missed -= step) {
        this.#counts[missed]! += count
        this.count += count
      }
    }
  }

  percentileUs(percent: number): number {
    const rank = Math.max(1, Math.ceil((this.count * percent) / 100))
    let seen = 0
    for (let us = 0; us <= microsecondsMax; us++) {
      seen += this.#counts[us]!
      if (seen >= rank) return us
    }
    return this.maxUs
  }
}
