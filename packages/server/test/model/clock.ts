import type { Server } from '../harness.ts'
import type { Random } from './random.ts'

/** Nothing ends of itself this soon after a step: then it does not matter how long the requests take. */
export const quietMs = 600_000

const steps = [
  [4, [1_000, 60_000]],
  [4, [600_000, 4_000_000]],
  [4, [-30_000, -1]],
  [1, [8 * 86_400_000, 9 * 86_400_000]],
] as const

/** The server's clock, moved between requests and never onto a deadline. */
export class SteppedClock {
  #offsetMs = 0
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  now(): number {
    return Date.now() + this.#offsetMs
  }

  /** Forwards, backwards, or not at all if every way crosses what must not be crossed. */
  step(random: Random, deadlines: Iterable<number>): void {
    const instants = [...deadlines]
    for (let tries = 0; tries < 50; tries++) {
      const [low, high] = random.weighted(steps)
      const byMs = random.int(low, high)
      const to = this.now() + byMs
      // Steps back are shorter than this, so none crosses a deadline: what has ended may have been swept.
      if (instants.some((at) => at > to && at <= to + quietMs)) continue
      this.#offsetMs += byMs
      this.#server.setClock(this.#offsetMs)
      return
    }
  }
}
