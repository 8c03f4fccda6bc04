import type { Holder } from '../../../core/shares.ts'
import type { Session, StepResult } from './driver.ts'
import type { Pool } from './pool.ts'

/** How calls of one kind go together. */
export interface Way<Call> {
  /** How many at the most. */
  most: number
  /** Only calls that have this in common go together. */
  groupOf(holder: Holder): number
  /** Whether one more can come along. */
  fits(together: Call[], next: Call): boolean
  send(session: Session, together: Call[]): Promise<StepResult[]>
  /** What becomes of each when sending failed; `alone` if no other call was with it. */
  recover(holder: Holder, call: Call, error: unknown, alone: boolean): Promise<StepResult>
}

interface Waiting<Call> {
  holder: Holder
  call: Call
  resolve(result: StepResult | Promise<StepResult>): void
}

/**
 * Calls that wait for a connection and go together when one comes free. With many callers most of the cost of a
 * small statement is the way there and back, and of a small write the sync; so the busier, the larger the group.
 * While connections are free every call goes alone and at once.
 */
export class Gathering<Call> {
  readonly #pool: Pool
  readonly #way: Way<Call>
  /** By group, the longest first. */
  readonly #waiting = new Map<number, Set<Waiting<Call>>>()

  constructor(pool: Pool, way: Way<Call>) {
    this.#pool = pool
    this.#way = way
  }

  run(holder: Holder, call: Call): Promise<StepResult> {
    const { promise, resolve, reject } = Promise.withResolvers<StepResult>()
    const own: Waiting<Call> = { holder, call, resolve }
    const group = this.#way.groupOf(holder)
    const waiting = this.#waiting.get(group) ?? new Set()
    if (waiting.size === 0) this.#waiting.set(group, waiting)
    waiting.add(own)
    this.#pool
      .run(holder, (session) => this.#go(session, group, own))
      .catch((error: unknown) => {
        // No connection came free. Otherwise it has been on its way, and is answered for.
        if (this.#take(group, own)) reject(error)
      })
    return promise
  }

  /** Whether it was still waiting. */
  #take(group: number, one: Waiting<Call>): boolean {
    const waiting = this.#waiting.get(group)
    if (!waiting?.delete(one)) return false
    if (waiting.size === 0) this.#waiting.delete(group)
    return true
  }

  async #go(session: Session, group: number, first: Waiting<Call>): Promise<void> {
    // Others may have taken it along: then the connection is for the next.
    if (!this.#take(group, first)) return
    const together = [first]
    const calls = [first.call]
    for (const next of this.#waiting.get(group) ?? []) {
      if (together.length >= this.#way.most) break
      if (!this.#way.fits(calls, next.call)) continue
      this.#take(group, next)
      together.push(next)
      calls.push(next.call)
    }
    try {
      const results = await this.#way.send(session, calls)
      for (const [i, { resolve }] of together.entries()) resolve(results[i]!)
    } catch (error) {
      const alone = together.length === 1
      for (const { holder, call, resolve } of together) resolve(this.#way.recover(holder, call, error, alone))
      throw error
    }
  }
}
