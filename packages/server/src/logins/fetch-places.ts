import { Turns } from '../core/fair-queue.ts'
import { keyFetchesMax, keyFetchesOfOrgMax } from '../core/limits.ts'

interface Waiter {
  start(): void
}

const waitMsMax = 5_000

/** Too many fetches were in front. */
export class NoPlace extends Error {}

/**
 * Places for fetches. Organizations take turns, and one holds two places at most: while all its targets are slow, another waits
 * for the end of one fetch.
 */
export class FetchPlaces {
  readonly #waiting = new Turns<Waiter>()
  readonly #held = new Map<number, number>()
  readonly #waitMsMax: number
  #used = 0
  #tickets = 0

  /** Tests set a shorter time. */
  constructor(msMax = waitMsMax) {
    this.#waitMsMax = msMax
  }

  /** Does the work when there is a place. Rejects with `NoPlace` if there is none in time. */
  async run<T>(orgId: number, work: () => Promise<T>): Promise<T> {
    await this.#take(orgId)
    try {
      return await work()
    } finally {
      this.#give(orgId)
    }
  }

  #hasRoom(orgId: number): boolean {
    return this.#used < keyFetchesMax && (this.#held.get(orgId) ?? 0) < keyFetchesOfOrgMax
  }

  #take(orgId: number): Promise<void> {
    const ticket = ++this.#tickets
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      this.#waiting.remove(orgId, ticket)
      reject(new NoPlace())
    }, this.#waitMsMax)
    const start = (): void => {
      clearTimeout(timer)
      this.#waiting.remove(orgId, ticket)
      this.#used++
      this.#held.set(orgId, (this.#held.get(orgId) ?? 0) + 1)
      resolve()
    }
    this.#waiting.set(orgId, ticket, { start })
    this.#startNext()
    return promise
  }

  #give(orgId: number): void {
    const held = this.#held.get(orgId)! - 1
    if (held > 0) this.#held.set(orgId, held)
    else this.#held.delete(orgId)
    this.#used--
    this.#startNext()
  }

  #startNext(): void {
    this.#waiting.next((orgId) => this.#hasRoom(orgId))?.start()
  }
}
