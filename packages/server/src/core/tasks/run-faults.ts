import { isFinished, type Run } from './run.ts'

/**
 * Tells a check of the store which members of a run do not match its status. `keyIsRunning`: another run of its key is running,
 * so that it must wait if it is queued.
 */
export const faultsOfRun = (
  run: Pick<Run, 'status' | 'key' | 'lease' | 'leaseUntilMs' | 'finishedAtMs' | 'held'>,
  keyIsRunning: boolean,
): string[] => {
  const { status, lease, leaseUntilMs, finishedAtMs, held } = run
  const isRunning = status === 'running'
  const faults: string[] = []
  if (isRunning !== (lease !== null) || isRunning !== (leaseUntilMs !== null))
    faults.push(`it is ${status}, with ${lease === null ? 'no lease' : 'a lease'}`)
  if (isFinished(run) !== (finishedAtMs !== null))
    faults.push(`it is ${status}, with ${finishedAtMs === null ? 'no' : 'a'} time of its end`)
  if (held !== (status === 'queued' && run.key !== null && keyIsRunning))
    faults.push(held ? 'it waits for a run of its key that is not running' : 'it does not wait for its key')
  return faults
}
