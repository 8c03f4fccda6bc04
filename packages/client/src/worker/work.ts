import { CubbyError } from '../index.ts'
import type { Task } from '../tasks/task.ts'
import type { TaskClaim } from '../tasks/typed-task.ts'
import type { Handler, WorkOptions } from '../tasks/working-run.ts'
import { attempt } from './attempt.ts'
import { Lease } from './lease.ts'
import { backoffMs, pauseUntil } from './pause.ts'
import { isRefusal } from './refusal.ts'
import { RunFailed } from './run-failed.ts'

/** The most runs that one claim may ask for. */
const claimRunsMax = 100
const claimWaitSeconds = 20
/** A server that stops answers claims at once. */
const claimMsMin = 1_000
/** After `run.signal` has aborted, handlers have this long to end. Then their runs are left to their leases. */
const abortMs = 1_000

const timerMsMax = 2 ** 31 - 1

const checkOptions = ({ concurrency = 1, graceMs = 20_000 }: WorkOptions) => {
  if (Number.isInteger(concurrency) && concurrency >= 1) return { concurrency, graceMs: Math.min(graceMs, timerMsMax) }
  throw new CubbyError('invalid_request', `concurrency is ${concurrency}; it takes an integer from 1 on.`, {
    field: 'concurrency',
  })
}

/** The attempts that are running, with their leases. */
type Running = Map<Lease<never, never>, Promise<void>>

/** Waits for the handlers: for as long as they may take, then for those that were told to stop. */
const drain = async (running: Running, graceMs: number): Promise<void> => {
  const allEnded = new AbortController()
  Promise.all(running.values()).then(() => allEnded.abort())
  await pauseUntil(graceMs, allEnded.signal)
  for (const lease of running.keys()) lease.abort(new RunFailed('The worker was stopped.', { retryAfter: 0 }))
  await pauseUntil(running.size === 0 ? 0 : abortMs, allEnded.signal)
  for (const lease of running.keys()) lease.release()
}

/**
 * Claims runs of the task and works on them until `signal` aborts. It resolves when the last handler has ended, and
 * rejects if the server refuses its claims. While the server is away it waits and tries again.
 */
export const work = async <Payload extends object, Result extends object>(
  task: Task<Payload, Result>,
  handler: Handler<Payload, Result>,
  options: WorkOptions = {},
): Promise<void> => {
  const { concurrency, graceMs } = checkOptions(options)
  const { signal, leaseSeconds } = options
  const running = new Map<Lease<Payload, Result>, Promise<void>>()
  /** Aborts when nothing more is to be claimed. */
  const stop = new AbortController()
  let failure: { error: unknown } | undefined
  /** Called when a handler has ended, and on stop. */
  let wake = () => {}

  const end = (given?: { error: unknown }) => {
    failure ??= given
    stop.abort()
    wake()
  }
  const report = (error: unknown, run?: TaskClaim<Payload, Result>) => {
    try {
      options.onError?.(error, run)
    } catch (thrown) {
      end({ error: thrown })
    }
  }
  const begin = (run: TaskClaim<Payload, Result>): void => {
    const lease = new Lease(task, run)
    const ended = attempt(task, run, lease, handler, (error) => report(error, run)).then(() => {
      running.delete(lease)
      wake()
    })
    running.set(lease, ended)
  }
  const nextWake = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })
  const claimMore = async (): Promise<void> => {
    const askedMs = performance.now()
    const limit = Math.min(concurrency - running.size, claimRunsMax)
    const runs = await task.claim({ limit, leaseSeconds, waitSeconds: claimWaitSeconds, signal: stop.signal })
    for (const run of runs) begin(run)
    if (runs.length === 0) await pauseUntil(askedMs + claimMsMin - performance.now(), stop.signal)
  }

  const onAbort = () => end()
  signal?.addEventListener('abort', onAbort)
  if (signal?.aborted) end()
  for (let failures = 0; !stop.signal.aborted; ) {
    if (running.size >= concurrency) {
      await nextWake()
      continue
    }
    try {
      await claimMore()
      failures = 0
    } catch (error) {
      if (stop.signal.aborted) break
      if (isRefusal(error) || !(error instanceof CubbyError)) end({ error })
      else {
        report(error)
        await pauseUntil(backoffMs(failures++), stop.signal)
      }
    }
  }
  signal?.removeEventListener('abort', onAbort)
  await drain(running as Running, graceMs)
  if (failure) throw failure.error
}
