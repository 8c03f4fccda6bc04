import type { Holder } from '../../../core/shares.ts'
import type { Session, StatementResult } from './driver.ts'
import type { Pool } from './pool.ts'

/** Says which calls are sent together, and how. */
export interface CoalescerOptions<Call> {
  /** A group has at most this many calls. */
  callsMax: number
  /** Calls with the same value are sent together, no others. */
  groupOf(holder: Holder): number
  /** Says whether `next` can be added to these calls. */
  fits(calls: Call[], next: Call): boolean
  /** Returns one result for each call. */
  send(session: Session, calls: Call[]): Promise<StatementResult[]>
  /** Returns the result of a call after `send` failed. `alone`: it was the only call of its group. */
  recover(holder: Holder, call: Call, error: unknown, alone: boolean): Promise<StatementResult>
}

interface Waiting<Call> {
  holder: Holder
  call: Call
  resolve(result: StatementResult | Promise<StatementResult>): void
}

/**
 * Request coalescing: calls that wait for a connection are sent together when one becomes free. Most of the cost of a
 * small statement is its round trip, and of a small write the sync, so groups grow with the load. While a connection is
 * free, every call is sent alone and at once.
 */
export class Coalescer<Call> {
  readonly #pool: Pool
  readonly #options: CoalescerOptions<Call>
  /** Each group has its calls in the order in which they came. */
  readonly #waiting = new Map<number, Set<Waiting<Call>>>()

  constructor(pool: Pool, options: CoalescerOptions<Call>) {
    this.#pool = pool
    this.#options = options
  }

  run(holder: Holder, call: Call): Promise<StatementResult> {
    const { promise, resolve, reject } = Promise.withResolvers<StatementResult>()
    const own: Waiting<Call> = { holder, call, resolve }
    const group = this.#options.groupOf(holder)
    const waiting = this.#waiting.get(group) ?? new Set()
    if (waiting.size === 0) this.#waiting.set(group, waiting)
    waiting.add(own)
    this.#pool
      .run(holder, (session) => this.#sendWith(session, group, own))
      .catch((error: unknown) => {
        // A call that still waits got no connection. Any other was sent, and its group has its result.
        if (this.#take(group, own)) reject(error)
      })
    return promise
  }

  /** Returns whether the call was still waiting. */
  #take(group: number, one: Waiting<Call>): boolean {
    const waiting = this.#waiting.get(group)
    if (!waiting?.delete(one)) return false
    if (waiting.size === 0) this.#waiting.delete(group)
    return true
  }

  async #sendWith(session: Session, group: number, first: Waiting<Call>): Promise<void> {
    // If this call was sent together with another one, the connection is free for the next call.
    if (!this.#take(group, first)) return
    const together = [first]
    const calls = [first.call]
    for (const next of this.#waiting.get(group) ?? []) {
      if (together.length >= this.#options.callsMax) break
      if (!this.#options.fits(calls, next.call)) continue
      this.#take(group, next)
      together.push(next)
      calls.push(next.call)
    }
    try {
      const results = await this.#options.send(session, calls)
      for (const [i, { resolve }] of together.entries()) resolve(results[i]!)
    } catch (error) {
      const alone = together.length === 1
      for (const { holder, call, resolve } of together) resolve(this.#options.recover(holder, call, error, alone))
      throw error
    }
  }
}
