import { FairQueue } from '../../../core/fair-queue.ts'
import { connectionQueueRequestsMax } from '../../../core/limits.ts'
import type { Log } from '../../../core/log.ts'
import { type Holder, Shares } from '../../../core/shares.ts'
import type { Session } from './driver.ts'
import { endsSession, unavailable } from './failure.ts'

/** After a failed connection attempt, callers are rejected at once for this long, instead of each trying again. */
const backOffMs = 200
const tickMs = 100

interface Waiter extends Holder {
  give(session: Session): void
  refuse(error: Error): void
  sinceMs: number
}

interface PoolOptions {
  size: number
  /** A caller waits at most this long for a connection. */
  waitMsMax: number
  connect(): Promise<Session>
  /** A connection that exists already. */
  first?: Session
  log: Log
}

/**
 * The pool has a bounded number of connections and a bounded queue for them. Organizations take turns, and so do the API keys
 * of one: the backlog of one does not delay another. Each has a share of the queue, and one without a queued call always gets
 * in.
 */
export class Pool {
  readonly #options: PoolOptions
  readonly #idle: Session[] = []
  readonly #open = new Set<Session>()
  readonly #waiting = new FairQueue<Waiter>()
  readonly #shares = new Shares(connectionQueueRequestsMax)
  readonly #ticker: Timer
  #connecting = 0
  #busy = 0
  #failures = 0
  #refusedUntilMs = Number.NEGATIVE_INFINITY
  #isDown = false
  #closed = false
  #onQuiet: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#ticker = setInterval(() => this.#tick(), tickMs)
    this.#ticker.unref()
    if (options.first !== undefined) this.#adopt(options.first)
  }

  /** The metrics show it. */
  get load() {
    return {
      connectionsIdle: this.#idle.length,
      connectionsBusy: this.#busy,
      connectionsMax: this.#options.size,
      connectionWaits: this.#waiting.size,
    }
  }

  /** Runs `work` on a connection of its own. Rejects with `unavailable` if none becomes free in time. */
  async run<T>(holder: Holder, work: (session: Session) => Promise<T>): Promise<T> {
    const session = (this.#closed ? undefined : this.#idle.pop()) ?? (await this.#wait(holder))
    this.#busy++
    try {
      return await work(session)
    } catch (error) {
      if (endsSession(error)) session.destroy((error as Error).message)
      throw error
    } finally {
      this.#busy--
      session.rest()
      this.#release(session)
    }
  }

  /** Waits for work in flight, rejects what is queued, and ends the connections. */
  async close(msMax: number): Promise<void> {
    this.#closed = true
    this.#refuseAll('The server is stopping.')
    if (this.#busy > 0) {
      const quiet = Promise.withResolvers<void>()
      this.#onQuiet = quiet.resolve
      const timer = setTimeout(quiet.resolve, msMax)
      await quiet.promise
      clearTimeout(timer)
    }
    clearInterval(this.#ticker)
    await Promise.all([...this.#open].map((session) => session.close()))
  }

  #wait({ orgId, keySeq }: Holder): Promise<Session> {
    if (this.#closed) return Promise.reject(unavailable('The server is stopping.'))
    if (this.#open.size === 0 && performance.now() < this.#refusedUntilMs) {
      return Promise.reject(unavailable('The database cannot be reached.'))
    }
    if (!this.#shares.tryTake(orgId, keySeq, 1)) {
      return Promise.reject(unavailable('Too many requests wait for the database.'))
    }
    return new Promise<Session>((give, refuse) => {
      this.#waiting.push(orgId, keySeq, { orgId, keySeq, give, refuse, sinceMs: performance.now() })
      if (this.#connecting < this.#waiting.size) this.#connect()
    })
  }

  #nextWaiter(): Waiter | undefined {
    const waiter = this.#waiting.shift()
    if (waiter !== undefined) this.#shares.give(waiter.orgId, waiter.keySeq, 1)
    return waiter
  }

  #release(session: Session): void {
    if (this.#closed && this.#busy === 0) this.#onQuiet?.()
    if (session.isGone) return
    const waiter = this.#closed ? undefined : this.#nextWaiter()
    if (waiter !== undefined) waiter.give(session)
    else this.#idle.push(session)
  }

  #connect(): void {
    if (this.#closed || this.#open.size + this.#connecting >= this.#options.size) return
    this.#connecting++
    this.#options.connect().then(
      (session) => {
        this.#connecting--
        this.#adopt(session)
      },
      (error: Error) => {
        this.#connecting--
        this.#connectFailed(error)
      },
    )
  }

  #adopt(session: Session): void {
    if (this.#closed) {
      session.destroy()
      return
    }
    // It ended before anyone used it, so no caller notices: waiting callers get the error here.
    if (session.isGone) {
      this.#connectFailed(new Error('the connection ended as soon as it was made'))
      return
    }
    this.#open.add(session)
    session.onGone = (cause) => this.#drop(session, cause)
    if (this.#isDown) this.#options.log('info', 'the database is back')
    this.#isDown = false
    this.#failures = 0
    this.#release(session)
  }

  #drop(session: Session, cause: string): void {
    this.#open.delete(session)
    const at = this.#idle.indexOf(session)
    if (at >= 0) this.#idle.splice(at, 1)
    if (!this.#closed) this.#options.log('warn', 'a connection to the database ended', { cause })
    // Waiting callers must not wait for a connection that never comes back.
    if (this.#waiting.size > 0) this.#connect()
  }

  #connectFailed(error: Error): void {
    if (this.#closed) return
    // A single failure may be transient, as when an operator ends all connections: retry at once.
    if (++this.#failures === 1 && this.#waiting.size > 0) {
      this.#connect()
      return
    }
    if (!this.#isDown) this.#options.log('error', 'the database cannot be reached', { cause: error.message })
    this.#isDown = true
    // While other connections are open, waiting callers keep waiting for those.
    if (this.#open.size > 0) return
    this.#refusedUntilMs = performance.now() + backOffMs
    this.#refuseAll('The database cannot be reached.')
  }

  #refuseAll(why: string): void {
    for (let waiter = this.#nextWaiter(); waiter !== undefined; waiter = this.#nextWaiter()) {
      waiter.refuse(unavailable(why))
    }
  }

  #tick(): void {
    const now = performance.now()
    for (const session of this.#open) session.endIfLate(now)
    const late = this.#waiting.removeLate(({ sinceMs }) => now - sinceMs > this.#options.waitMsMax)
    for (const { orgId, keySeq, refuse } of late) {
      this.#shares.give(orgId, keySeq, 1)
      refuse(unavailable('No connection to the database came free in time.'))
    }
  }
}
