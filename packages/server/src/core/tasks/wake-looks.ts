const everyMs = 60_000

/**
 * When to look for runs or schedules that a clock which was set back has left in the future (see `wakeRun`): at the start,
 * whenever the clock has jumped, and every minute. Each look costs a seek for every task, so it is not made every time.
 */
export class WakeLooks {
  #lastMs: number | undefined

  isDue(nowMs: number): boolean {
    return this.#lastMs === undefined || Math.abs(nowMs - this.#lastMs) >= everyMs
  }

  /** And none was found. */
  looked(nowMs: number): void {
    if (this.isDue(nowMs)) this.#lastMs = nowMs
  }
}
