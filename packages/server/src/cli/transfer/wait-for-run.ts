import { waitSecondsMax } from '../../core/limits.ts'
import { isFinished, type RunStatus } from '../../core/tasks/run.ts'
import type { TaskAddress } from '../../operations/access.ts'
import { printNote } from '../print.ts'
import { type Remote, requestOf } from '../target/remote.ts'
import { printObject } from './write-lines.ts'

interface ShownRun {
  id: string
  status: RunStatus
  error: { code: string; message: string } | null
}

/** Also a server that answers at once, because it stops, is not asked more often. */
const lookEveryMs = 1_000

/** Waits until the run is finished, and prints it. The exit code says whether it has succeeded. */
export const waitForRun = async (remote: Remote, address: TaskAddress, first: string): Promise<number> => {
  let text = first
  let run: ShownRun = JSON.parse(text)
  while (!isFinished(run)) {
    const askedAtMs = performance.now()
    const call = requestOf('getRun', { ...address, run: run.id, waitSeconds: waitSecondsMax })
    text = await remote.request({ ...call, repeatable: true })
    run = JSON.parse(text)
    const restMs = lookEveryMs - (performance.now() - askedAtMs)
    if (!isFinished(run) && restMs > 0) await Bun.sleep(restMs)
  }
  await printObject(text)
  if (run.status === 'succeeded') return 0
  const reason = run.error === null ? '' : `: ${run.error.code}: ${run.error.message}`
  printNote(`cubby: the run ${run.id} ${run.status === 'failed' ? 'has failed' : 'was cancelled'}${reason}`)
  return 1
}
