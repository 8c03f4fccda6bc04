/** Something that may take only so long. */
export interface Timed {
  startedAtMs: number
  /** Called once, when the time is over and it was not removed before. */
  expire(): void
}

/** Thousands may expire in one moment; the answers to all of them in one go would keep everybody else waiting. */
const expireTogetherMax = 64

/** Ends what takes longer than `msMax`. One timer watches all of it: a timer a request would cost more than the request. */
export class Deadlines {
  readonly #msMax: number
  /** The oldest first: a set keeps the order in which its members came. */
  readonly #timed = new Set<Timed>()
  readonly #watch: Timer

  constructor(msMax: number, lookEveryMs: number) {
    this.#msMax = msMax
    this.#watch = setInterval(() => this.#expireSome(), lookEveryMs)
    this.#watch.unref()
  }

  get size(): number {
    return this.#timed.size
  }

  add(timed: Timed): void {
    this.#timed.add(timed)
  }

  /** Whether it was still there: not removed before, and not expired. */
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
