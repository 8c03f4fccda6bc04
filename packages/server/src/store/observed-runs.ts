import type { Run } from '../core/tasks/run.ts'
import type { RunEvent, StoreObserver } from './observer.ts'
import type { BatchResult, RunChange, Runs } from './runs.ts'

/** What the end of an attempt made of its run. */
const endOf = ({ status }: Pick<Run, 'status'>): RunEvent | undefined => {
  if (status === 'queued') return 'retried'
  return status === 'running' ? undefined : status
}

/** The same runs; the observer is told of every change that this process has made. */
export const observedRuns = (runs: Runs, observer: StoreObserver): Runs => {
  const tell = (event: RunEvent | undefined, count = 1): void => {
    if (event !== undefined && count > 0) observer.runs(event, count)
  }
  const tellChange = (change: RunChange): RunChange => {
    if ('run' in change && !('refused' in change) && change.isRepeated !== true) tell(endOf(change.run))
    return change
  }
  const tellBatch = (result: BatchResult, operations: readonly { op: 'run' | 'finish' }[]): BatchResult => {
    if (!result.applied) return result
    for (const [i, { op }] of operations.entries()) {
      if (op === 'finish') tell(endOf({ status: result.changes[i]!.status }))
      else if (result.changes[i]!.created) tell('added')
    }
    return result
  }
  return {
    async add(...args) {
      const result = await runs.add(...args)
      if ('created' in result && result.created) tell('added')
      return result
    },
    get: (...args) => runs.get(...args),
    scan: (...args) => runs.scan(...args),
    count: (...args) => runs.count(...args),
    async claim(...args) {
      const claimed = await runs.claim(...args)
      tell('started', claimed.length)
      return claimed
    },
    extend: (...args) => runs.extend(...args),
    finish: async (...args) => tellChange(await runs.finish(...args)),
    cancel: async (...args) => tellChange(await runs.cancel(...args)),
    retry: (...args) => runs.retry(...args),
    applyBatch: async (caller, batch, nowMs) => tellBatch(await runs.applyBatch(caller, batch, nowMs), batch.tasks),
    finishedAmong: (...args) => runs.finishedAmong(...args),
    dueAmong: (...args) => runs.dueAmong(...args),
    goneAmong: (...args) => runs.goneAmong(...args),
    duePushes: (...args) => runs.duePushes(...args),
    async claimPushes(...args) {
      const claimed = await runs.claimPushes(...args)
      tell('started', claimed?.runs.length ?? 0)
      return claimed
    },
    async expireLeases(...args) {
      const expired = await runs.expireLeases(...args)
      tell('expired', expired.length)
      return expired
    },
    async fireSchedules(...args) {
      const fired = await runs.fireSchedules(...args)
      tell('added', fired.created.length)
      return fired
    },
    sweepFinished: (...args) => runs.sweepFinished(...args),
  }
}
