import type { Run } from '../core/tasks/run.ts'
import type { RunChange, Runs } from './runs.ts'

/**
 * The events of runs. `added`: a new run. `started`: an attempt began. The others end an attempt or a run: `retried` failed and
 * is queued again, `failed` failed for good, `expired` lost its lease (and is then queued or failed).
 */
export const runEvents = ['added', 'started', 'succeeded', 'retried', 'failed', 'cancelled', 'expired'] as const
export type RunEvent = (typeof runEvents)[number]

/**
 * An engine tells it what it does, for the metrics. Its methods must be cheap and must not throw. Without one nothing is
 * counted.
 */
export interface StoreObserver {
  /** The writer of this process committed a group. Only the embedded engine has one. */
  committed(requests: number, ms: number): void
  runs(event: RunEvent, count: number): void
}

/** The event for the end of an attempt. */
const endOf = ({ status }: Pick<Run, 'status'>): RunEvent | undefined => {
  if (status === 'queued') return 'retried'
  return status === 'running' ? undefined : status
}

type Method = (...args: never[]) => unknown

/** Tells the observer from now on of every change that this process makes with `runs`. */
export const observeRuns = (runs: Runs, observer: StoreObserver): void => {
  const tell = (event: RunEvent | undefined, count = 1): void => {
    if (event !== undefined && count > 0) observer.runs(event, count)
  }
  const after = <K extends keyof Runs>(
    name: K,
    tellOf: (result: Awaited<ReturnType<Runs[K]>>, ...args: Parameters<Runs[K]>) => void,
  ): void => {
    const method = (runs[name] as Method).bind(runs)
    const observed = async (...args: never[]): Promise<unknown> => {
      const result = await method(...args)
      tellOf(result as Awaited<ReturnType<Runs[K]>>, ...(args as unknown as Parameters<Runs[K]>))
      return result
    }
    runs[name] = observed as unknown as Runs[K]
  }
  const tellEnd = (change: RunChange): void => {
    if ('run' in change && !('refused' in change) && change.isRepeated !== true) tell(endOf(change.run))
  }
  after('add', (result) => {
    if ('created' in result && result.created && result.isReplayed !== true) tell('added')
  })
  after('claim', (claimed) => tell('started', claimed.length))
  after('finish', tellEnd)
  after('cancel', tellEnd)
  after('applyBatch', (result, _caller, { tasks }) => {
    if (!result.applied || result.isReplayed === true) return
    for (const [i, { op }] of tasks.entries()) {
      if (op === 'finish') tell(endOf(result.changes[i]!))
      else if (result.changes[i]!.created) tell('added')
    }
  })
  after('claimPushes', (claimed) => tell('started', claimed?.runs.length ?? 0))
  after('expireLeases', (expired) => tell('expired', expired.length))
  after('fireSchedules', ({ created }) => tell('added', created.length))
}
