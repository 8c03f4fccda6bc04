const microsecondsMax = 5_000_000

/** Latencies by the microsecond. */
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
   * A client that waits for one answer before it asks again asks less often while the server stalls. As wrk does,
   * the requests it would have sent meanwhile are added, one for each `expectedUs` of a long wait.
   */
  correct(expectedUs: number): void {
    const step = Math.round(expectedUs)
    if (step <= 0) return
    // Upwards, so that what is added below is not taken for a measurement.
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
