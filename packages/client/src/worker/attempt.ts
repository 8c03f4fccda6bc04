import { CubbyError } from '../index.ts'
import type { SaveData } from '../records/typed-table.ts'
import type { Task } from '../tasks/task.ts'
import type { Outcome, TaskClaim } from '../tasks/typed-task.ts'
import type { BatchTarget, Handler, WorkingRun } from '../tasks/working-run.ts'
import type { Lease } from './lease.ts'
import { backoffMs, pauseUntil } from './pause.ts'
import { isRefusal } from './refusal.ts'
import { failedOutcome } from './run-failed.ts'

/** The run as the handler gets it. */
const workingRun = <Payload extends object, Result extends object>(
  claimed: TaskClaim<Payload, Result>,
  lease: Lease<Payload, Result>,
  onFinished: () => void,
  onError: (error: unknown) => void,
): WorkingRun<Payload, Result> => {
  const { progress: lastProgress, ...run } = claimed
  const report = async (progress: object): Promise<void> => {
    try {
      await lease.extend(progress)
    } catch (error) {
      // A report that did not arrive is no reason to fail.
      if (lease.lostBy || isRefusal(error)) throw error
      onError(error)
    }
  }
  return {
    ...run,
    signal: lease.signal,
    lastProgress,
    progress(progress) {
      const reported = report(progress)
      // A handler may leave it without await: then nobody else would take its error.
      reported.catch(() => {})
      return reported
    },
    async finishWith(target: BatchTarget, operations: readonly unknown[], result?: SaveData<Result>): Promise<void> {
      const finish = { op: 'finish', task: run.task, run: run.id, lease: run.lease, result }
      await lease.whileFinishing(() => target.batch([...operations, finish] as never))
      onFinished()
    },
  }
}

/** Tells the server how the attempt has ended, as long as the lease lasts. */
const finish = async <Payload extends object, Result extends object>(
  task: Task<Payload, Result>,
  run: TaskClaim<Payload, Result>,
  outcome: Outcome<Result>,
  lease: Lease<Payload, Result>,
): Promise<void> => {
  for (let failures = 0; ; failures++) {
    try {
      await task.finish(run, outcome)
      return
    } catch (error) {
      // An error that is not a CubbyError means that JSON cannot hold the result.
      if (!(error instanceof CubbyError) || isRefusal(error)) throw error
      const delayMs = backoffMs(failures)
      if (delayMs > lease.restMs) throw error
      await pauseUntil(delayMs, undefined)
    }
  }
}

/** Works on one run until it has finished, or the lease is lost. Never rejects. */
export const attempt = async <Payload extends object, Result extends object>(
  task: Task<Payload, Result>,
  claimed: TaskClaim<Payload, Result>,
  lease: Lease<Payload, Result>,
  handler: Handler<Payload, Result>,
  onError: (error: unknown) => void,
): Promise<void> => {
  let isFinished = false
  const run = workingRun(claimed, lease, () => (isFinished = true), onError)
  let outcome: Outcome<Result>
  const kept = lease.keep(onError)
  try {
    outcome = { result: (await handler(run)) ?? undefined }
  } catch (error) {
    outcome = failedOutcome(error)
    // The worker stops: somebody else may begin at once.
    if (lease.signal.aborted && outcome.retry === undefined) outcome.retryAfter ??= 0
    if (!lease.lostBy) onError(error)
  }
  lease.release()
  await kept
  if (isFinished) return
  if (lease.lostBy) return onError(lease.lostBy)
  try {
    try {
      await finish(task, claimed, outcome, lease)
    } catch (error) {
      // The result was refused, for example because it is too large: that is said in the run, instead of nothing.
      const isLost = error instanceof CubbyError && (error.code === 'lease_lost' || !isRefusal(error))
      if (isLost || outcome.error) throw error
      onError(error)
      await finish(task, claimed, failedOutcome(error), lease)
    }
  } catch (error) {
    onError(error)
  }
}
