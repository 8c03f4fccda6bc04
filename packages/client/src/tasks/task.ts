import type { SaveData } from '../records/typed-table.ts'
import { sendBatch } from '../transport/batch.ts'
import { absentIf, matches, refusal } from '../transport/errors.ts'
import { makeUpKey, type OnceOptions, onceHeader } from '../transport/idempotency.ts'
import { listPath } from '../transport/list-path.ts'
import { countAll, type Pages, queryPages } from '../transport/pages.ts'
import type { Effect } from '../transport/retry.ts'
import { pause, type RequestOptions, type Send } from '../transport/transport.ts'
import type {
  ClaimRequest,
  ClaimResponse,
  ExtendRequest,
  ExtendResponse,
  RunQueryResponse,
  TaskBatchResponse,
} from '../transport/wire-runs.ts'
import { type OwnRunChange, writeRunChange } from './run-change.ts'
import type { FinishedRun, Outcome, RunLease, RunOptions, TaskClaim, TaskQuery, TaskRun } from './typed-task.ts'
import type { Handler, WorkOptions } from './working-run.ts'

/** The longest wait that the service accepts. */
const waitSecondsMax = 20
/** So many retries take about 13 s, in which a server may restart. */
const finishedRetries = 10
/** A server that is stopping answers a wait at once, so the client asks again only after this time. */
const pollMsMin = 1_000

/** A run that was read, and a method to wait for its end. */
export type RunHandle<Payload, Result> = TaskRun<Payload, Result> & {
  /** Resolves with the run when it has succeeded, failed or was cancelled. */
  finished(options?: RequestOptions): Promise<FinishedRun<Payload, Result>>
}

/** A run's id, or the run. */
export type RunReference = string | { id: string }

/** Every member that is not an option of the request goes into the body, so that the server rejects a typo by its name. */
const bodyOf = ({ signal, timeoutMs, retries, repeatWrites, idempotencyKey, ...fields }: OnceOptions): object => fields

export class Task<Payload extends object = Record<string, unknown>, Result extends object = Record<string, unknown>> {
  /** @internal */
  static readonly name: string = 'Task'
  readonly #send: Send
  readonly #path: string
  readonly name: string

  /** Call `db('app').task('mail')` instead. */
  constructor(send: Send, path: string, name: string) {
    this.#send = send
    this.#path = `${path}/${name}`
    this.name = name
  }

  #pathOf(run: RunReference, verb = ''): string {
    const id = typeof run === 'string' ? run : run?.id
    if (!matches(/^[\w-]{1,128}$/, id))
      throw refusal('run_not_found', 'id', `is ${JSON.stringify(id)}; it takes a string: [A-Za-z0-9_-]{1,128}.`)
    return `/runs/${id}${verb}`
  }

  #post<T>(path: string, effect: Effect, body: object | undefined, options?: RequestOptions, waitMs?: number) {
    const call = {
      method: 'POST',
      path: this.#path + path,
      effect,
      body: body && JSON.stringify(body),
      waitMs,
    } as const
    return this.#send<T>(call, options)
  }

  #withFinished = (run: TaskRun<Payload, Result>): RunHandle<Payload, Result> =>
    // The property is not enumerable, so that the run can be printed, compared and sent on as plain data.
    Object.defineProperty(run, 'finished', {
      value: (options?: RequestOptions) => this.finished(run, options),
    }) as RunHandle<Payload, Result>

  async #change(path: string, effect: Effect, body: object | undefined, options?: RequestOptions) {
    return this.#withFinished(await this.#post<TaskRun<Payload, Result>>(path, effect, body, options))
  }

  /**
   * Adds a run, once: a lost answer is no harm, because the request is sent again with the same `id` or idempotency key. With
   * your own `id` it is added once, however often you call this. With `key`: if a run of the key is queued, that run gets this
   * payload instead.
   */
  async run(payload?: SaveData<Payload>, options: RunOptions & OnceOptions = {}): Promise<RunHandle<Payload, Result>> {
    const { key, idempotencyKey } = options
    // A user adds runs with a payload alone.
    const isUnguarded = key === undefined && idempotencyKey === undefined && !this.#send.ofUser
    const id = options.id ?? (isUnguarded ? `run_${makeUpKey()}` : undefined)
    const hasId = id !== undefined
    const fields = { ...bodyOf(options), id, payload }
    const call = {
      method: 'POST',
      path: `${this.#path}/run`,
      effect: 'once',
      body: JSON.stringify(fields),
      headers: onceHeader(hasId ? idempotencyKey : (idempotencyKey ?? makeUpKey())),
    } as const
    return this.#withFinished(await this.#send<TaskRun<Payload, Result>>(call, options))
  }

  /**
   * The run, or undefined if it does not exist. With `waitSeconds` (at most 20) it resolves when the run has finished, or
   * after that time.
   */
  async get(
    run: RunReference,
    options: RequestOptions & { waitSeconds?: number } = {},
  ): Promise<RunHandle<Payload, Result> | undefined> {
    const { waitSeconds } = options
    const path = listPath(this.#path + this.#pathOf(run), { waitSeconds })
    const found = await absentIf(
      'run_not_found',
      this.#send<TaskRun<Payload, Result>>(
        { method: 'GET', path, effect: 'read', waitMs: (waitSeconds ?? 0) * 1000 },
        options,
      ),
    )
    return found && this.#withFinished(found)
  }

  /**
   * Waits until the run has succeeded, failed or was cancelled. It repeats its request, and makes up to 10 retries while
   * the server restarts. Rejects with `run_not_found` if the run does not exist, or no longer exists.
   */
  async finished(run: RunReference, options: RequestOptions = {}): Promise<FinishedRun<Payload, Result>> {
    const path = `${this.#path}${this.#pathOf(run)}?waitSeconds=${waitSecondsMax}`
    for (;;) {
      // Date.now would be wrong here: if the clock were set back by an hour meanwhile, the pause would last an hour.
      const askedAtMs = performance.now()
      const found = await this.#send<TaskRun<Payload, Result>>(
        { method: 'GET', path, effect: 'read', waitMs: waitSecondsMax * 1000 },
        { retries: finishedRetries, ...options },
      )
      if (found.finishedAt) return found as FinishedRun<Payload, Result>
      await pause(Math.max(0, pollMsMin + askedAtMs - performance.now()), options.signal)
    }
  }

  /** The runs, newest first. Await it to get one page, or use `for await` to get the runs of all pages. */
  query(
    query: TaskQuery & { select?: 'data' } = {},
    options?: RequestOptions,
  ): Pages<RunQueryResponse<RunHandle<Payload, Result>>, RunHandle<Payload, Result>> {
    const send: Send = async <T>(...call: Parameters<Send>): Promise<T> => {
      const page = await this.#send<RunQueryResponse<TaskRun<Payload, Result>>>(...call)
      page.items.forEach(this.#withFinished)
      return page as T
    }
    return queryPages(send, this.#path, query, options)
  }

  /** The number of runs that the query finds, in all its pages. */
  async count(query: TaskQuery & { select?: 'count'; limit?: never } = {}, options?: RequestOptions): Promise<number> {
    return countAll(this.#send, this.#path, query, options)
  }

  /** Cancels a run. From that moment nothing of its attempt is accepted. If it has finished: `run_finished`. */
  async cancel(run: RunReference, options?: RequestOptions): Promise<RunHandle<Payload, Result>> {
    return this.#change(this.#pathOf(run, '/cancel'), 'write', undefined, options)
  }

  /** Queues a finished run again, with all its attempts. */
  async retry(run: RunReference, options?: RequestOptions): Promise<RunHandle<Payload, Result>> {
    return this.#change(this.#pathOf(run, '/retry'), 'write', undefined, options)
  }

  /** Adds and finishes 1 to 25 runs, all or none. `Table.batch` does so together with records. */
  async batch(operations: readonly OwnRunChange[], options: OnceOptions = {}): Promise<TaskBatchResponse> {
    return sendBatch(this.#send, `${this.#path}/batch`, operations.map(writeRunChange), options)
  }

  /** Claims due runs: nobody else gets them while their leases last. `work` does this and the rest of a worker. */
  async claim(options: ClaimRequest & RequestOptions = {}): Promise<TaskClaim<Payload, Result>[]> {
    const waitMs = (options.waitSeconds ?? 0) * 1000
    type Claimed = ClaimResponse<TaskClaim<Payload, Result>>
    return (await this.#post<Claimed>('/claim', 'write', bodyOf(options), options, waitMs)).runs
  }

  /**
   * Moves the end of the lease to `leaseSeconds` from now, and reports progress. Rejects with `lease_lost` if the lease is
   * over.
   */
  async extend(
    run: RunLease,
    options: Omit<ExtendRequest, 'lease' | 'progress'> & { progress?: object } & RequestOptions = {},
  ): Promise<ExtendResponse> {
    return this.#post(this.#pathOf(run, '/extend'), 'once', { ...bodyOf(options), lease: run.lease }, options)
  }

  /** Ends the attempt. Rejects with `lease_lost` if somebody else may have begun another one, or the run was cancelled. */
  async finish(
    run: RunLease,
    outcome: Outcome<Result> = {},
    options?: RequestOptions,
  ): Promise<RunHandle<Payload, Result>> {
    return this.#change(this.#pathOf(run, '/finish'), 'once', { ...outcome, lease: run.lease }, options)
  }

  /**
   * Claims runs and works on them until `signal` aborts, and resolves when the last handler has ended. It rejects if the
   * server refuses its claims, for example with `task_not_found`.
   */
  async work(handler: Handler<Payload, Result>, options?: WorkOptions): Promise<void> {
    // A module of its own, so that programs without workers do not load it.
    const { work } = await import('../worker.ts')
    return work(this, handler, options)
  }
}
