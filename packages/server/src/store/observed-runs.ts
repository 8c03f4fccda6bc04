import type { Run } from '../core/tasks/run.ts'
import type { RunEvent, StoreObserver } from './observer.ts'
import type { RunChange, Runs } from './runs.ts'

/** What the end of an attempt made of its run. */
const endOf = ({ status }: Pick<Run, 'status'>): RunEvent | undefined => {
  if (status === 'queued') return 'retried'
  return status === 'running' ? undefined : status
}

/** The same object. From now on the observer is told of every change that this process makes. */
export const observedRuns = (runs: Runs, observer: StoreObserver): Runs => {
  const tell = (event: RunEvent | undefined, count = 1): void => {
    if (event !== undefined && count > 0) observer.runs(event, count)
  }
  const tellChange = (change: RunChange): void => {
    if ('run' in change && !('refused' in change) && change.isRepeated !== true) tell(endOf(change.run))
  }
  const observed =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>, tellOf: (result: R, args: A) => void) =>
    async (...args: A): Promise<R> => {
      const result = await method.apply(runs, args)
      tellOf(result, args)
      return result
    }
  return Object.assign<Runs, Partial<Runs>>(runs, {
    add: observed(runs.add, (result) => 'created' in result && result.created && tell('added')),
    claim: observed(runs.claim, (claimed) => tell('started', claimed.length)),
    finish: observed(runs.finish, tellChange),
    cancel: observed(runs.cancel, tellChange),
    applyBatch: observed(runs.applyBatch, (result, [, { tasks }]) => {
      if (!result.applied) return
      for (const [i, { op }] of tasks.entries()) {
        const change = result.changes[i]!
        if (op === 'finish') tell(endOf(change))
        else if (change.created) tell('added')
      }
    }),
    claimPushes: observed(runs.claimPushes, (claimed) => tell('started', claimed?.runs.length ?? 0)),
    expireLeases: observed(runs.expireLeases, (expired) => tell('expired', expired.length)),
    fireSchedules: observed(runs.fireSchedules, ({ created }) => tell('added', created.length)),
  })
}
