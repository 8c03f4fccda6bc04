import { drainMicrotasks } from 'bun:jsc'
import type { Awaitable } from '../core/awaitable.ts'
import type { Turns } from './turns.ts'

/** The number of requests at once from which it pays to collect them. */
const busyFrom = 4
/** While reads are answered at once, one in this many counts the requests of an iteration of the event loop. */
const countEvery = 64
/** One iteration brings fewer. */
const collectedMax = 1_024
/** This many responses, or those of this much time, are sent before the next requests run. */
const unsentMax = 16
const unsentMsMax = 1

/** Serves a request. Returns whether its work goes on after a promise. */
type Serve = () => boolean

/**
 * Requests that may run at once, collected while the event loop reads from its sockets, and run one after another when it has
 * read from all that were ready. Between two of them there is no system call and none of Bun's work on a connection, so the
 * code, the pages of the store and the branches that they share are in the caches of the processor: the same tool call takes
 * 11 µs so, and 45 µs if its connection is served before the next one is looked at.
 */
export class Arrivals {
  readonly #turns: Turns
  #collected: Serve[] = []
  #isBusy = false
  #reads = 0
  #isCounting = false

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** Tells whether a request that could be answered within the call of its handler is to be collected instead. */
  takesReads(): boolean {
    if (this.#isBusy) return this.#collected.length < collectedMax
    this.#reads++
    if (!this.#isCounting && this.#reads >= countEvery) {
      this.#isCounting = true
      this.#reads = 1
      setImmediate(this.#endCount)
    }
    return false
  }

  readonly #endCount = (): void => {
    this.#isCounting = false
    if (this.#reads >= busyFrom) this.#isBusy = true
    this.#reads = 0
  }

  /**
   * Runs `work` soon, with a turn that it begins itself. If the requests before it took too long, runs `later` instead, which
   * waits for a turn.
   */
  run<T>(work: () => Awaitable<T>, later: () => Awaitable<T>): Promise<T> {
    // The turn before it ends here: what it takes to receive this request is not the time of another caller.
    this.#turns.end()
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
    this.#turns.end()
    let doneAtOnce = 0
    let unsent = 0
    let sentAtMs = this.#turns.now()
    for (const serve of collected) {
      if (serve()) {
        // The rest of the work is part of this turn. It would come after that of all others, and be charged to the last one.
        drainMicrotasks()
        unsent = 0
      } else {
        doneAtOnce++
        unsent++
      }
      this.#turns.end()
      if (unsent < unsentMax && this.#turns.endedAtMs - sentAtMs < unsentMsMax) continue
      // Bun sends answers in microtasks. In nobody's turn: they are of all callers.
      drainMicrotasks()
      unsent = 0
      sentAtMs = this.#turns.now()
    }
    this.#turns.endIteration()
    // A request that waits for another process gains nothing by this.
    this.#isBusy = doneAtOnce >= busyFrom
  }
}
