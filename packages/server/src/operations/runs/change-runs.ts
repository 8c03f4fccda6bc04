import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { runJson } from './present-run.ts'
import { changeRun, parseRunAddress, type RunAddress, type RunOutput } from './run-access.ts'

const parseAddressAlone = (text: string): RunAddress => {
  const { db, task, run, ...others } = parsePlainBody(text)
  const address = parseRunAddress(db, task, run)
  refuseUnknownMembers(others, [])
  return address
}

export const cancelRun = (access: Access, address: RunAddress, nowMs: number): Promise<RunOutput> =>
  changeRun(access, address, nowMs, (task) => access.engine.runs.cancel(callerOf(access), task, address.run, nowMs))

export const cancelRunOperation = defineOperation({
  id: 'cancelRun',
  area: 'runs',
  summary: 'Cancel a run',
  description:
    'Nothing of the running attempt is accepted from that moment on: its lease is lost. A run that was cancelled before is returned as it is.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'The cancelled run.',
  codes: ['task_not_found', 'run_not_found', 'run_finished'],
  parse: parseAddressAlone,
  run: cancelRun,
  present: ({ run, task }) => runJson(run, task),
})

export const retryRun = (access: Access, address: RunAddress, nowMs: number): Promise<RunOutput> =>
  changeRun(access, address, nowMs, (task) => access.engine.runs.retry(callerOf(access), task, address.run, nowMs))

export const retryRunOperation = defineOperation({
  id: 'retryRun',
  area: 'runs',
  summary: 'Queue a finished run again',
  description:
    'The run is due at once and has all its attempts again; its result, progress, error and `finishedAt` are cleared. A run that has not finished, or of whose key another run is queued, is rejected.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The queued run.',
  codes: ['task_not_found', 'run_not_found', 'run_exists'],
  parse: parseAddressAlone,
  run: retryRun,
  present: ({ run, task }) => runJson(run, task),
})
