import type { Json } from '../harness.ts'

// A task in memory, written from the page: lists and loops, no indexes. Time is counted in ticks. Everything that ends, ends
// between two ticks, so no answer is a matter of luck.

export const tickSeconds = 200

interface NaiveRun {
  id: string
  seq: number
  key: string | null
  payload: Json
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'
  /** The time that the server said; only the order of claims uses it. */
  runAt: number
  dueTick: number
  attempt: number
  lease: string | undefined
  /** The first tick at which the lease has expired. */
  leaseTick: number
  doneLease: string | undefined
  progress: Json
  result: Json
  error: string | null
  finishedTick: number | undefined
}

interface Rules {
  attempts: number
  concurrency: number
  /** A finished run exists for so many ticks. */
  keepTicks: number
}

const ticksOf = (seconds: number | undefined): number => Math.ceil((seconds ?? 0) / tickSeconds)
const isFinished = ({ status }: NaiveRun): boolean => status !== 'queued' && status !== 'running'

export class NaiveTask {
  readonly rules: Rules
  runs: NaiveRun[] = []
  /** All that were ever given out. */
  readonly leases: { id: string; lease: string }[] = []
  tick = 0
  #seq = 0

  constructor(rules: Rules) {
    this.rules = rules
  }

  ids(): string[] {
    return this.runs.map(({ id }) => id)
  }

  lastLease(): { id: string; lease: string } | undefined {
    const running = this.runs.find(({ lease }) => lease !== undefined)
    return running === undefined ? this.leases.at(-1) : { id: running.id, lease: running.lease! }
  }

  /** `shown`: the answer, for ids and times that the server chooses. Returns the status of the answer. */
  add({ id, key = null, payload, delaySeconds, runAt }: Json, shown: Json): number {
    const dueTick = runAt === undefined ? this.tick + ticksOf(delaySeconds) : 0
    const same = this.runs.find((run) => run.id === id)
    if (same !== undefined) return same.payload.n === payload.n ? 200 : 409
    const queued = key === null ? undefined : this.#queuedOf(key)
    if (queued !== undefined) {
      queued.payload = payload
      if (queued.attempt === 0 && shown?.runAt < queued.runAt) {
        queued.runAt = shown.runAt
        queued.dueTick = Math.min(queued.dueTick, dueTick)
      }
      return 200
    }
    this.runs.push({
      ...{ id: shown?.id, seq: this.#seq++, key, payload, status: 'queued', runAt: shown?.runAt, dueTick, attempt: 0 },
      ...{ lease: undefined, leaseTick: 0, doneLease: undefined },
      ...{ progress: null, result: null, error: null, finishedTick: undefined },
    })
    return 201
  }

  /** The ids that a claim must get. `came`: the runs with their leases. */
  claim({ limit, leaseSeconds }: Json, came: Json[]): string[] {
    const room = this.rules.concurrency - this.runs.filter(({ status }) => status === 'running').length
    const due = this.runs
      .filter((run) => run.status === 'queued' && run.dueTick <= this.tick && !this.#isRunning(run.key))
      .sort((a, b) => a.runAt - b.runAt || a.seq - b.seq)
      .slice(0, Math.min(limit, Math.max(room, 0)))
    due.forEach((run, i) => {
      const lease: string = came[i]?.lease
      Object.assign(run, { status: 'running', attempt: run.attempt + 1, lease, doneLease: undefined })
      run.leaseTick = this.tick + ticksOf(leaseSeconds)
      this.leases.push({ id: run.id, lease })
    })
    return due.map(({ id }) => id)
  }

  extend({ id, lease }: Json, { leaseSeconds, progress }: Json): number {
    const run = this.runs.find((one) => one.id === id)
    if (run === undefined) return 404
    if (!this.#holds(run, lease)) return 409
    run.leaseTick = this.tick + ticksOf(leaseSeconds)
    if (progress !== undefined) run.progress = progress
    return 200
  }

  finish({ id, lease }: Json, { result, error, retry = true, retryAfter }: Json, shown: Json, inBatch = false): number {
    const run = this.runs.find((one) => one.id === id)
    if (run === undefined) return 404
    if (!this.#holds(run, lease)) return run.doneLease === lease && !inBatch ? 200 : 409
    run.doneLease = lease
    if (error !== undefined) this.#fail(run, 'worker', retry, ticksOf(retryAfter), shown?.runAt)
    else {
      run.result = result ?? null
      this.#end(run, 'succeeded')
    }
    return 200
  }

  cancel(id: string): number {
    const run = this.runs.find((one) => one.id === id)!
    if (run.status === 'cancelled') return 200
    if (isFinished(run)) return 409
    run.doneLease = undefined
    this.#end(run, 'cancelled')
    return 200
  }

  retry(id: string, shown: Json): number {
    const run = this.runs.find((one) => one.id === id)!
    if (!isFinished(run) || (run.key !== null && this.#queuedOf(run.key) !== undefined)) return 409
    Object.assign(run, { status: 'queued', attempt: 0, runAt: shown.runAt, dueTick: this.tick })
    Object.assign(run, { progress: null, result: null, error: null, finishedTick: undefined })
    return 200
  }

  /** The next tick: leases expire, and runs that are no longer kept vanish. */
  advance(): void {
    this.tick++
    for (const run of this.runs) {
      if (run.status !== 'running' || run.leaseTick > this.tick) continue
      run.doneLease = undefined
      // The backoff ends between this tick and the next.
      this.#fail(run, 'lease_expired', true, 1, undefined)
    }
    this.runs = this.runs.filter(
      ({ finishedTick }) => finishedTick === undefined || finishedTick + this.rules.keepTicks >= this.tick,
    )
  }

  /** Applies all of it, or nothing if `work` returns false. */
  atOnce(work: (naive: NaiveTask) => boolean): boolean {
    const before = structuredClone(this.runs)
    const done = work(this)
    if (!done) this.runs = before
    return done
  }

  /** When the server lets runs start: claims go by it, and backoffs are random. */
  learnTimes(items: Json[]): void {
    for (const { id, runAt } of items) {
      const run = this.runs.find((one) => one.id === id)
      if (run !== undefined) run.runAt = runAt
    }
  }

  /** Returns the run as the server shows it, without times. */
  shown(): Json {
    const entries = this.runs.map(({ id, status, key, payload, attempt, progress, result, error, finishedTick }) => [
      id,
      { status, key, payload, attempt, progress, result, error, isFinished: finishedTick !== undefined },
    ])
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a! < b! ? -1 : 1)))
  }

  #queuedOf(key: string): NaiveRun | undefined {
    return this.runs.find((run) => run.key === key && run.status === 'queued')
  }

  #isRunning(key: string | null): boolean {
    return key !== null && this.runs.some((run) => run.key === key && run.status === 'running')
  }

  #holds(run: NaiveRun, lease: string): boolean {
    return run.status === 'running' && run.lease === lease && run.leaseTick > this.tick
  }

  #fail(run: NaiveRun, code: string, retry: boolean, ticks: number, runAt: number | undefined): void {
    run.error = code
    if (!retry || run.attempt >= this.rules.attempts) this.#end(run, 'failed')
    else if (run.key !== null && this.#queuedOf(run.key) !== undefined) this.#end(run, 'cancelled')
    else
      Object.assign(run, { status: 'queued', dueTick: this.tick + ticks, lease: undefined, runAt: runAt ?? Number.NaN })
  }

  #end(run: NaiveRun, status: 'succeeded' | 'failed' | 'cancelled'): void {
    Object.assign(run, { status, lease: undefined, finishedTick: this.tick })
  }
}
