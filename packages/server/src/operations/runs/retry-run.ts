import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { isFinished, type Run } from '../../core/tasks/run.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { fail, id, ofRun, queued, toClaim, toFinish } from './examples.ts'
import { runJson } from './present-run.ts'
import { changeRun, type RunAddress, type RunOutput } from './run-access.ts'
import { runAddressMembers, runAddressRequired } from './schemas.ts'

const notRetried = ({ db, task, run: id }: RunAddress, run: Run): CubbyError =>
  isFinished(run) || run.id !== id
    ? new CubbyError('run_exists', 'Another run of the same key is queued; nothing was changed.', {
        hint: ['It does the same with newer data. Find it: ', call('queryRuns', { db, task })],
      })
    : new CubbyError('run_exists', `The run "${run.id}" is ${run.status}; only a finished run can be retried.`, {
        hint: 'Wait until it has finished, or cancel it first.',
      })

export const retryRun = (access: Access, address: RunAddress, nowMs: number): Promise<RunOutput> => {
  const retry = (task: Table) => access.engine.runs.retry(callerOf(access), task, address.run, nowMs)
  return changeRun(access, address, nowMs, retry, (run) => notRetried(address, run))
}

export const retryRunOperation = defineOperation({
  id: 'retryRun',
  area: 'runs',
  summary: 'Queue a finished run again',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/runs/:run/retry', body: { schema: 'NoMembers' } },
  command: 'tasks retry {task} {run} --db {db}',
  run: retryRun,
  present: ({ run, task }) => runJson(run, task),
  describe: () => ({
    title: 'Retry a run',
    description:
      'The run is due at once and has all its attempts again; its result, progress, error and `finishedAt` are cleared. A run that has not finished, or of whose key another run is queued, is rejected.',
    returns: 'The queued run.',
    codes: ['task_not_found', 'run_not_found', 'run_exists'],
    input: inputOf({}, runAddressMembers, runAddressRequired),
    output: ref('Run'),
    client: { on: 'task', method: 'retry', result: 'run', args: ({ run }) => [run] },
    examples: [
      {
        name: 'failed',
        summary: 'A run that has failed',
        given: [...toFinish, fail],
        input: ofRun,
        output: { ...queued, runAt: 1767780002999, updatedAt: 1767780003000 },
      },
      {
        name: 'queued',
        summary: 'A run that waits already',
        given: toClaim,
        input: ofRun,
        error: {
          code: 'run_exists',
          message: `The run "${id}" is queued; only a finished run can be retried.`,
          hint: 'Wait until it has finished, or cancel it first.',
        },
      },
    ],
  }),
})
