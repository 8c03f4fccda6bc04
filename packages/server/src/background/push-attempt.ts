import type { LogLevel } from '../core/log.ts'
import type { Finish, Run } from '../core/tasks/run.ts'
import type { RunSignals } from '../core/tasks/run-signals.ts'
import type { Push, PushOutcome } from '../push/push-run.ts'
import type { Pushes, Runs } from '../store/runs.ts'
import type { Table } from '../store/tables.ts'
import type { ThrottledLog } from './throttled-log.ts'

/** Sends it and reads the answer. Aborting `signal` ends it; then its outcome does not matter. */
export type SendPush = (push: Push, options: { signal: AbortSignal; nowMs: number }) => Promise<PushOutcome>

export interface AttemptParts {
  runs: Pick<Runs, 'get' | 'finish'>
  send: SendPush
  signals: RunSignals
  now(): number
  throttledLog: ThrottledLog
}

/** The end of an attempt. Undefined: somebody else has ended it, or the lease will. */
type End = PushOutcome | undefined

/** The outcome must be committed before the lease ends, otherwise it is a lost lease. */
const marginMs = (leaseMs: number): number => Math.min(leaseMs / 10, 1_000)

/** Waits between the tries to write an outcome. After the last one the attempt is left to its lease. */
const finishWaitsMs = [100, 400, 1_500]

const timedOut: PushOutcome = {
  status: 'failed',
  error: { code: 'timeout', message: 'The target did not answer in full before the lease ended.' },
  retry: true,
  retryAfterMs: null,
}

/**
 * One push, from the claim to the commit of its outcome. Its deadline is the end of its lease. It is measured by a clock
 * that never jumps, from the claim on, because the store may have another clock than this process.
 */
export class PushAttempt {
  readonly #parts: AttemptParts
  readonly #task: Table
  readonly #run: Run
  readonly #controller = new AbortController()
  readonly #ended = Promise.withResolvers<End>()
  readonly #dropped = Promise.withResolvers<void>()
  #isEnded = false
  #isDropped = false
  #deadlineAt: number
  #leaseUntilMs: number
  #timer: Timer | undefined

  /** `leasedAt`: when the claim was answered, by `performance.now()`. */
  constructor(parts: AttemptParts, task: Table, run: Run, leaseMs: number, leasedAt: number) {
    this.#parts = parts
    this.#task = task
    this.#run = run
    this.#deadlineAt = leasedAt + leaseMs - marginMs(leaseMs)
    this.#leaseUntilMs = run.leaseUntilMs!
  }

  /** Resolves when the outcome is written, or left to the lease. Never throws. */
  async make({ declaration, secrets }: Pushes): Promise<void> {
    const { url, authorization } = declaration
    const { db, name } = this.#task
    this.#watch()
    const push = { url: url!, authorization, secrets, db, task: name, run: this.#run }
    const { signal } = this.#controller
    this.#parts.send(push, { signal, nowMs: this.#parts.now() }).then(
      (outcome) => this.#end(outcome),
      (error: unknown) => {
        if (!this.#isEnded) this.#log('warn', 'a push failed by an error of the server', { cause: String(error) })
        this.#end(undefined)
      },
    )
    const outcome = await this.#ended.promise
    clearTimeout(this.#timer)
    this.#controller.abort()
    if (outcome === undefined) return
    if (outcome.status === 'failed') {
      const { code, message } = outcome.error
      this.#log('warn', 'a push failed', { attempt: this.#run.attempt, code, cause: message })
    }
    await this.#finish(outcome)
  }

  /** Ends it without an outcome; it is left to its lease. An outcome that is being written is not tried again. */
  drop(): void {
    this.#isDropped = true
    this.#dropped.resolve()
    this.#end(undefined)
  }

  #end(end: End): void {
    this.#isEnded = true
    this.#ended.resolve(end)
  }

  #watch(): void {
    this.#timer = setTimeout(() => void this.#atDeadline(), Math.max(0, this.#deadlineAt - performance.now()))
  }

  /** The receiver may have extended the lease, or finished the run itself. */
  async #atDeadline(): Promise<void> {
    let run: Run | undefined
    try {
      run = await this.#parts.runs.get(this.#task, this.#run.id, this.#parts.now())
    } catch (error) {
      const cause = String(error)
      this.#log('warn', 'the lease of a push could not be read; the push is left to it', { cause })
    }
    if (run?.lease !== this.#run.lease || run?.leaseUntilMs == null) return this.#end(undefined)
    this.#deadlineAt += run.leaseUntilMs - this.#leaseUntilMs
    this.#leaseUntilMs = run.leaseUntilMs
    if (this.#deadlineAt <= performance.now()) this.#end(timedOut)
    else if (!this.#isEnded) this.#watch()
  }

  /** A lost lease is no failure: the receiver has finished the run, or somebody has cancelled it. */
  async #finish(outcome: PushOutcome): Promise<void> {
    const { runs, signals, now } = this.#parts
    const { orgId, id: taskId } = this.#task
    for (const waitMs of [...finishWaitsMs, undefined]) {
      try {
        await runs.finish({ orgId, apiKey: undefined }, this.#task, this.#run.id, this.#toFinish(outcome), now())
        signals.changed(taskId)
        return
      } catch (error) {
        if (waitMs === undefined || this.#isDropped) {
          const cause = String(error)
          this.#log('warn', 'the outcome of a push could not be written; it is left to its lease', { cause })
          return
        }
        await Promise.race([new Promise((resolve) => setTimeout(resolve, waitMs)), this.#dropped.promise])
      }
    }
  }

  #toFinish(outcome: PushOutcome): Finish {
    const lease = this.#run.lease!
    if (outcome.status === 'succeeded') return { lease, result: outcome.result }
    const { error, retry, retryAfterMs } = outcome
    return { lease, error, retry, retryAfterMs }
  }

  #log(level: LogLevel, message: string, fields: Record<string, unknown>): void {
    const { id: taskId, db, name: task } = this.#task
    this.#parts.throttledLog.about(`task ${taskId}`)(level, message, { db, task, run: this.#run.id, ...fields })
  }
}
