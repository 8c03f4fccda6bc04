import { CubbyError } from '../index.ts'
import type { Task } from '../tasks/task.ts'
import type { TaskClaim } from '../tasks/typed-task.ts'
import { pauseUntil } from './pause.ts'

/** Nobody sets this clock. */
const clockMs = (): number => performance.now()

const isLostLease = (error: unknown): boolean =>
  error instanceof CubbyError && (error.code === 'lease_lost' || error.code === 'run_not_found')

/** The lease of one run. It is extended until it is released or lost. */
export class Lease<Payload extends object, Result extends object> {
  readonly #task: Task<Payload, Result>
  readonly #run: TaskClaim<Payload, Result>
  readonly #seconds: number
  readonly #handler = new AbortController()
  /** Aborts when there is nothing more to extend. */
  readonly #over = new AbortController()
  #endMs = 0
  #endTimer: ReturnType<typeof setTimeout> | undefined
  #lostBy: unknown
  #isFinishing = false

  constructor(task: Task<Payload, Result>, run: TaskClaim<Payload, Result>) {
    this.#task = task
    this.#run = run
    // The claim has set both times, by a clock that may differ from ours.
    this.#seconds = Math.min(3_600, Math.max(1, Math.round((run.leaseUntil - run.updatedAt) / 1000) || 1))
    this.#lastsFrom(clockMs())
  }

  /** The signal of the handler. It aborts when the lease is lost, or when the worker has to stop. */
  get signal(): AbortSignal {
    return this.#handler.signal
  }

  /** The reason why it is lost; undefined while it is not. */
  get lostBy(): unknown {
    return this.#lostBy
  }

  /** The time that it surely lasts. */
  get restMs(): number {
    return this.#endMs - clockMs()
  }

  #lastsFrom(sentMs: number): void {
    this.#endMs = Math.max(this.#endMs, sentMs + this.#seconds * 1000)
    clearTimeout(this.#endTimer)
    this.#endTimer = setTimeout(
      () => {
        const why = 'The lease has expired: the server could not be reached in time.'
        this.lose(new CubbyError('lease_lost', why))
        // Negative if this process was stopped for longer than the lease lasts.
      },
      Math.max(0, this.restMs),
    )
  }

  /** Tells the handler to stop. The lease goes on. */
  abort(reason: unknown): void {
    this.#handler.abort(reason)
  }

  lose(reason: unknown): void {
    if (this.#over.signal.aborted) return
    this.#lostBy = reason
    this.release()
    this.abort(reason)
  }

  /** No more extensions. It lasts for `restMs`. */
  release(): void {
    clearTimeout(this.#endTimer)
    this.#over.abort()
  }

  /** Meanwhile it is not extended: an extension right after the finish is refused, as if the lease were lost. */
  async whileFinishing(finish: () => Promise<unknown>): Promise<void> {
    this.#isFinishing = true
    try {
      await finish()
      this.release()
    } finally {
      this.#isFinishing = false
    }
  }

  async extend(progress?: object): Promise<void> {
    const sentMs = clockMs()
    try {
      await this.#task.extend(this.#run, {
        leaseSeconds: this.#seconds,
        progress,
        signal: this.#over.signal,
        timeoutMs: Math.max(1_000, (this.#seconds * 1000) / 3),
      })
    } catch (error) {
      if (isLostLease(error) && !this.#isFinishing) this.lose(error)
      throw this.#lostBy ?? error
    }
    if (!this.#over.signal.aborted) this.#lastsFrom(sentMs)
  }

  /** Extends it at every third of its time. Never rejects. */
  async keep(onError: (error: unknown) => void): Promise<void> {
    const everyMs = (this.#seconds * 1000) / 3
    const over = this.#over.signal
    for (let delayMs = everyMs; ; ) {
      await pauseUntil(delayMs, over)
      if (over.aborted) return
      delayMs = everyMs
      try {
        if (!this.#isFinishing) await this.extend()
      } catch (error) {
        if (over.aborted) return
        if (!this.#isFinishing) onError(error)
        delayMs = Math.min(everyMs, 1_000)
      }
    }
  }
}
