import { CubbyError } from '../../core/errors.ts'
import type { Run } from '../../core/tasks/run.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { ofTask } from '../grant-rules.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { cancelled, fail, id, ofRun, toClaim, toFinish } from './examples.ts'
import { runJson } from './present-run.ts'
import { changeRun, type RunAddress, type RunOutput } from './run-access.ts'
import { runAddressMembers, runAddressRequired } from './schemas.ts'

const runFinished = ({ id, status }: Run): CubbyError =>
  new CubbyError(
    'run_finished',
    `The run "${id}" has ${status === 'failed' ? 'failed' : status}; it cannot be cancelled.`,
    { hint: 'Nothing is left to do.' },
  )

export const cancelRun = (access: Access, address: RunAddress, nowMs: number): Promise<RunOutput> => {
  const cancel = (task: Table) => access.engine.runs.cancel(callerOf(access), task, address.run, nowMs)
  return changeRun(access, address, nowMs, cancel, runFinished)
}

export const cancelRunOperation = defineOperation({
  id: 'cancelRun',
  area: 'runs',
  summary: 'Cancel a run',
  keyNeeded: 'write',
  grants: ofTask,
  effect: 'destroys',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/runs/:run/cancel', body: { schema: 'NoMembers' } },
  command: 'tasks cancel {task} {run} --db {db}',
  run: cancelRun,
  present: ({ run, task }) => runJson(run, task),
  describe: () => ({
    title: 'Cancel a run',
    description:
      'Nothing of the running attempt is accepted from that moment on: its lease is lost. A run that was cancelled before is returned as it is.',
    returns: 'The cancelled run.',
    codes: ['task_not_found', 'run_not_found', 'run_finished'],
    input: inputOf({}, runAddressMembers, runAddressRequired),
    output: ref('Run'),
    client: { on: 'task', method: 'cancel', result: 'run', args: ({ run }) => [run] },
    examples: [
      { name: 'queued', summary: 'A run that waits', given: toClaim, input: ofRun, output: cancelled },
      {
        name: 'finished',
        summary: 'A run that has finished',
        given: [...toFinish, fail],
        input: ofRun,
        error: {
          code: 'run_finished',
          message: `The run "${id}" has failed; it cannot be cancelled.`,
          hint: 'Nothing is left to do.',
        },
      },
    ],
  }),
})
