import { drainMicrotasks } from 'bun:jsc'
import type { Awaitable } from '../core/awaitable.ts'
import type { Turns } from './turns.ts'

/** With fewer requests at once it does not pay to collect them. */
const busyFrom = 4
/** While requests are answered at once, each of this many is collected, to see how many arrive with it. */
const probeEvery = 64
/** More than one iteration of the event loop brings. */
const collectedMax = 1_024

/** Serves a request. Returns whether its work goes on after a promise. */
type Serve = () => boolean

/**
 * Requests that may run at once, collected while the event loop reads from its sockets, and run one after another when it has
 * read from all that were ready. Between two of them there is no system call and none of Bun's work on a connection, so the
 * code, the tables of the store and the branches that they share are in the caches of the processor: the same tool call takes
 * 11 µs so, and 45 µs if its connection is served before the next one is looked at.
 */
export class Arrivals {
  readonly #turns: Turns
  #collected: Serve[] = []
  #atOnce = 0
  #isBusy = false

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** Whether a request that could be answered within the call of its handler is to be collected instead. */
  takesReads(): boolean {
    if (this.#isBusy || this.#collected.length > 0) return this.#collected.length < collectedMax
    if (++this.#atOnce < probeEvery) return false
    this.#atOnce = 0
    return true
  }

  /**
   * Runs `work` soon, with a turn that it begins itself. If the requests before it took too long, runs `later` instead, which
   * waits for a turn.
   */
  run<T>(work: () => Awaitable<T>, later: () => Awaitable<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const serve: Serve = () => {
        try {
          const isFree = this.#turns.isFree
          const result = isFree ? work() : later()
          resolve(result)
          return isFree && result instanceof Promise
        } catch (error) {
          reject(error)
          return false
        }
      }
      if (this.#collected.length === 0) setImmediate(this.#serveAll)
      this.#collected.push(serve)
    })
  }

  readonly #serveAll = (): void => {
    const collected = this.#collected
    this.#collected = []
    let waits = false
    for (const serve of collected) {
      if (serve()) {
        waits = true
        // Otherwise the rest of all of them would come after the last one, and would be charged to that.
        drainMicrotasks()
      }
      this.#turns.end()
    }
    // A request that waits for another process gains nothing by this.
    this.#isBusy = collected.length >= busyFrom && !waits
  }
}
