import { FairQueue } from '../../../core/fair-queue.ts'
import { connectionQueueRequestsMax } from '../../../core/limits.ts'
import { type Holder, Shares } from '../../../core/shares.ts'
import { unavailable } from '../connection/failure.ts'

const tickMs = 100

interface Waiter extends Holder {
  begin(): void
  refuse(error: Error): void
  sinceMs: number
}

/**
 * The writes of a table that keeps changes take turns in memory, one in flight: waiting for the counter of the log, each would
 * hold a connection of the pool that other requests need. API keys take turns, and each has a share of the queue.
 */
export class TableTurns {
  readonly #waitMsMax: number
  /** The queues of the tables that have a write in flight. */
  readonly #queues = new Map<number, FairQueue<Waiter>>()
  readonly #shares = new Shares(connectionQueueRequestsMax)
  #waiting = 0
  #ticker: Timer | undefined

  constructor(waitMsMax: number) {
    this.#waitMsMax = waitMsMax
  }

  /** Runs `work` in its turn of each table. All calls enter tables in the order of their ids, so no two wait for each other. */
  async run<T>(holder: Holder, tableIds: readonly number[], work: () => Promise<T>): Promise<T> {
    const [tableId, ...rest] = [...tableIds].sort((a, b) => a - b)
    if (tableId === undefined) return work()
    const queue = this.#queues.get(tableId)
    if (queue === undefined) this.#queues.set(tableId, new FairQueue())
    else await this.#wait(queue, holder)
    try {
      return await this.run(holder, rest, work)
    } finally {
      this.#leave(tableId)
    }
  }

  #wait(queue: FairQueue<Waiter>, { orgId, keySeq }: Holder): Promise<void> {
    if (!this.#shares.tryTake(orgId, keySeq, 1)) {
      return Promise.reject(unavailable('Too many requests wait for the table.'))
    }
    this.#waiting++
    this.#ticker ??= setInterval(() => this.#refuseLate(), tickMs).unref()
    return new Promise((begin, refuse) => {
      queue.push(orgId, keySeq, { orgId, keySeq, begin, refuse, sinceMs: performance.now() })
    })
  }

  #leave(tableId: number): void {
    const next = this.#queues.get(tableId)!.shift()
    if (next === undefined) {
      this.#queues.delete(tableId)
      return
    }
    this.#forget(next)
    next.begin()
  }

  #forget({ orgId, keySeq }: Holder): void {
    this.#shares.give(orgId, keySeq, 1)
    if (--this.#waiting > 0) return
    clearInterval(this.#ticker)
    this.#ticker = undefined
  }

  #refuseLate(): void {
    const now = performance.now()
    for (const queue of this.#queues.values()) {
      for (const waiter of queue.removeLate(({ sinceMs }) => now - sinceMs > this.#waitMsMax)) {
        this.#forget(waiter)
        waiter.refuse(unavailable('The table had too many writes before this one.'))
      }
    }
  }
}
