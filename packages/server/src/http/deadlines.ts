/** Something with a time limit. */
export interface Timed {
  startedAtMs: number
  /** Called once, when the time is over, unless it was removed before. */
  expire(): void
}

/** Thousands may expire at the same time. Answering all of them at once would make every other request wait. */
const expireTogetherMax = 64

/** Ends everything that takes longer than `msMax`. One timer for all: one per request would cost more than the request. */
export class Deadlines {
  readonly #msMax: number
  /** Oldest first: a set keeps insertion order. */
  readonly #timed = new Set<Timed>()
  readonly #watch: Timer

  constructor(msMax: number, pollEveryMs: number) {
    this.#msMax = msMax
    this.#watch = setInterval(() => this.#expireSome(), pollEveryMs)
    this.#watch.unref()
  }

  get size(): number {
    return this.#timed.size
  }

  add(timed: Timed): void {
    this.#timed.add(timed)
  }

  /** Tells whether it was still there: not removed before, and not expired. */
  remove(timed: Timed): boolean {
    return this.#timed.delete(timed)
  }

  stop(): void {
    clearInterval(this.#watch)
  }

  readonly #expireSome = (): void => {
    const startedBefore = performance.now() - this.#msMax
    let expired = 0
    for (const timed of this.#timed) {
      if (timed.startedAtMs > startedBefore) return
      if (expired++ === expireTogetherMax) {
        setImmediate(this.#expireSome)
        return
      }
      this.#timed.delete(timed)
      timed.expire()
    }
  }
}
