import type { Awaitable } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { Fifo } from '../core/fair-queue.ts'
import { turnMsMax } from '../core/limits.ts'
import { Deadlines, type Timed } from './deadlines.ts'

/** Requests run at once for this long in one iteration of the event loop; later ones wait for their turn. */
const atOnceMs = 5
/** Waiting requests run for this long before the event loop handles the sockets again. */
const sliceMs = 2
/** At most this many waiting requests run per slice: the loop's own work is small compared with sixteen requests. */
const sliceRequestsMax = 16
/** A request that ran at once and took less time is not charged: others did not wait for it. */
const chargedFromMs = 0.5
const watchEveryMs = 250

interface Waiter extends Timed {
  /** Gives it its turn. Returns whether its work is done then; otherwise it goes on when the immediate has returned. */
  serve(): boolean
}

/** The time that an API key has used recently (see `#forget`), and its waiting requests. */
class KeyLine {
  usedMs = 0
  readonly waiting = new Fifo<Waiter>()
}

class OrgLine {
  usedMs = 0
  /** The used time of the key that had the last turn. A key that returns does not start with less. */
  floorMs = 0
  readonly keys = new Map<number, KeyLine>()
  readonly waiting = new Set<KeyLine>()
}

const late = (): CubbyError =>
  new CubbyError('unavailable', 'The server is busy; this request waited too long for its turn. Nothing was applied.', {
    hint: 'Repeat the request after the time in Retry-After.',
  })

const leastUsed = <Line extends { usedMs: number }>(lines: Iterable<Line>): Line | undefined => {
  let least: Line | undefined
  for (const line of lines) if (least === undefined || line.usedMs < least.usedMs) least = line
  return least
}

/**
 * Shares the serving thread among organizations, and within an organization among its API keys. A request does its work in
 * this thread without interruption: parse a body, read a page. Under low load every request runs at once. When one
 * iteration of the event loop has run requests for some milliseconds, later requests wait. Then the organization that has
 * used the least time is next. So the requests of a heavy caller wait for each other, and a small request of another caller
 * waits only for the request that is running, or for few that were collected with it (`arrivals.ts`).
 */
export class Turns {
  readonly #orgs = new Map<number, OrgLine>()
  readonly #waitingOrgs = new Set<OrgLine>()
  readonly #waiters: Deadlines
  #floorMs = 0
  #usedAtOnceMs = 0
  #usedInSliceMs = 0
  #resetIsDue = false
  #sliceIsDue = false
  #runningOrgId = 0
  #runningKeySeq = 0
  #startedAtMs: number | undefined
  #turn = 0
  /** The time at which the last turn ended. */
  endedAtMs = 0

  constructor(
    msMax = turnMsMax,
    /** The clock that measures the time of requests. */
    readonly now = () => performance.now(),
  ) {
    this.#waiters = new Deadlines(msMax, watchEveryMs)
  }

  stop(): void {
    this.#waiters.stop()
  }

  /** Tells whether a request may run at once. */
  get isFree(): boolean {
    return this.#usedAtOnceMs < atOnceMs && this.#waiters.size === 0
  }

  /**
   * Starts the time of a request. It ends with `end`, with the next `begin`, or with the iteration of the event loop. Returns
   * the number of the turn.
   */
  begin(orgId: number, keySeq: number, endsByItself = false): number {
    if (this.#startedAtMs !== undefined) this.end()
    this.#runningOrgId = orgId
    this.#runningKeySeq = keySeq
    this.#startedAtMs = this.now()
    if (endsByItself && !this.#resetIsDue) this.#scheduleReset()
    return ++this.#turn
  }

  /** Ends the turn of a request that is answered, perhaps after a wait in which other requests had their turns. */
  endTurn(turn: number): void {
    if (turn === this.#turn) this.end()
  }

  end(): void {
    if (this.#startedAtMs === undefined) return
    this.endedAtMs = this.now()
    const ms = this.endedAtMs - this.#startedAtMs
    this.#startedAtMs = undefined
    this.#usedAtOnceMs += ms
    this.#usedInSliceMs += ms
    if (ms >= chargedFromMs || this.#waiters.size > 0) this.#charge(ms)
    if (this.#usedAtOnceMs > 1 && !this.#resetIsDue) this.#scheduleReset()
  }

  /** Resolves when it is the request's turn; the caller then calls `begin` at once. Rejects if that takes too long. */
  wait(orgId: number, keySeq: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const serve = (): boolean => {
        resolve()
        return false
      }
      this.#add(orgId, keySeq, { startedAtMs: performance.now(), serve, expire: () => reject(late()) })
    })
  }

  /** Calls `work` when it is the request's turn; it calls `begin` at once. With fewer promises than `wait`. */
  run<T>(orgId: number, keySeq: number, work: () => Awaitable<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const serve = (): boolean => {
        try {
          const result = work()
          resolve(result)
          return !(result instanceof Promise)
        } catch (error) {
          reject(error)
          return true
        }
      }
      this.#add(orgId, keySeq, { startedAtMs: performance.now(), serve, expire: () => reject(late()) })
    })
  }

  #add(orgId: number, keySeq: number, waiter: Waiter): void {
    const org = this.#orgLine(orgId)
    const key = keyLine(org, keySeq)
    if (org.waiting.size === 0) {
      org.usedMs = Math.max(org.usedMs, this.#floorMs)
      this.#waitingOrgs.add(org)
    }
    if (key.waiting.size === 0) {
      key.usedMs = Math.max(key.usedMs, org.floorMs)
      org.waiting.add(key)
    }
    key.waiting.push(waiter)
    this.#waiters.add(waiter)
    if (!this.#sliceIsDue) this.#scheduleSlice()
  }

  #orgLine(orgId: number): OrgLine {
    let org = this.#orgs.get(orgId)
    if (org === undefined) {
      org = new OrgLine()
      org.usedMs = this.#floorMs
      this.#orgs.set(orgId, org)
    }
    return org
  }

  #charge(ms: number): void {
    const org = this.#orgLine(this.#runningOrgId)
    org.usedMs += ms
    keyLine(org, this.#runningKeySeq).usedMs += ms
  }

  /** Schedules a reset for when the requests of this iteration have run. */
  #scheduleReset(): void {
    this.#resetIsDue = true
    setImmediate(() => {
      this.#resetIsDue = false
      this.endIteration()
    })
  }

  /** The requests of this iteration of the event loop have run. */
  endIteration(): void {
    this.end()
    this.#usedAtOnceMs = 0
    if (this.#waiters.size === 0) this.#forget()
  }

  /**
   * One immediate per request that may run. Work with a promise in it goes on after its immediate has returned, and the next
   * immediate runs after that work; otherwise all who wait would be served in one turn. Work that is done at once needs none.
   */
  #scheduleSlice(): void {
    this.#sliceIsDue = true
    this.#usedInSliceMs = 0
    const requests = Math.min(this.#waiters.size, sliceRequestsMax)
    for (let i = 0; i < requests; i++) setImmediate(this.#serveNext)
    setImmediate(this.#endSlice)
  }

  readonly #serveNext = (): void => {
    this.end()
    while (this.#usedInSliceMs < sliceMs && this.#takeNext()?.serve() === true) this.end()
  }

  readonly #endSlice = (): void => {
    this.end()
    this.#sliceIsDue = false
    if (this.#waiters.size > 0) this.#scheduleSlice()
    else this.#forget()
  }

  #takeNext(): Waiter | undefined {
    for (;;) {
      const org = leastUsed(this.#waitingOrgs)
      if (org === undefined) return undefined
      this.#floorMs = org.usedMs
      const key = leastUsed(org.waiting)!
      org.floorMs = key.usedMs
      const waiter = key.waiting.shift()!
      if (key.waiting.size === 0) org.waiting.delete(key)
      if (org.waiting.size === 0) this.#waitingOrgs.delete(org)
      // Requests that were rejected meanwhile are still in their queues.
      if (this.#waiters.remove(waiter)) return waiter
    }
  }

  /** No request waits, so the used times no longer matter. */
  #forget(): void {
    if (this.#orgs.size > 0) this.#orgs.clear()
    this.#waitingOrgs.clear()
    this.#floorMs = 0
  }
}

const keyLine = (org: OrgLine, keySeq: number): KeyLine => {
  let key = org.keys.get(keySeq)
  if (key === undefined) {
    key = new KeyLine()
    key.usedMs = org.floorMs
    org.keys.set(keySeq, key)
  }
  return key
}
