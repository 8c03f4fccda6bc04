import { bodyBytesMax } from '../../core/limits.ts'
import { parseFinish } from '../../core/tasks/parse-finish.ts'
import type { Finish } from '../../core/tasks/run.ts'
import { type RunBody, readRunBody } from '../../core/tasks/run-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { clientLease, error, failed, lease, leaseIsLost, ofRun, result, succeeded, toFinish } from './examples.ts'
import { runJson } from './present-run.ts'
import { changeAttempt, type RunAddress, type RunOutput } from './run-access.ts'
import { failureExcludes } from './run-members.ts'
import { runAddressMembers, runAddressRequired, runSchemas } from './schemas.ts'

interface FinishRunInput extends RunAddress {
  finish: Finish
}

export const finishRun = async (
  access: Access,
  { finish, ...address }: FinishRunInput,
  nowMs: number,
): Promise<RunOutput> => {
  const { engine, tasks } = access
  const { task, run } = await changeAttempt(access, address, nowMs, (task) =>
    engine.runs.finish(callerOf(access), task, address.run, finish, nowMs),
  )
  tasks.signals.changed(task.id)
  return { task: address.task, run }
}

export const finishRunOperation = defineOperation({
  id: 'finishRun',
  area: 'runs',
  summary: 'Finish an attempt, with a result or an error',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: {
    method: 'POST',
    path: '/v1/:db/_tasks/:task/runs/:run/finish',
    body: { schema: 'FinishRequest', required: true, bytesMax: bodyBytesMax },
  },
  readBody: readRunBody,
  read: (body: RunBody) => ({ finish: parseFinish(body) }),
  run: finishRun,
  present: ({ run, task }) => runJson(run, task),
  describe: () => ({
    title: 'Finish an attempt',
    description:
      'Needs the lease of the running attempt. With `result`, or with neither, the run has succeeded. With `error` the attempt has failed: the run is queued again, after `retryAfter` seconds or the backoff, until its attempts are used up; with `retry: false` it fails for good. Repeated with the same lease before a new attempt has begun, it returns the run as it is. It is accepted while the task is paused or deleted.',
    returns: 'The run.',
    codes: ['task_not_found', 'run_not_found', 'lease_lost', 'record_too_large'],
    input: {
      type: 'object',
      oneOf: [
        inputOf(runSchemas.SuccessRequest, runAddressMembers, runAddressRequired),
        { ...inputOf(runSchemas.FailureRequest, runAddressMembers, runAddressRequired), ...failureExcludes },
      ],
    },
    output: ref('Run'),
    client: { on: 'task', method: 'finish', result: 'run', args: clientLease },
    examples: [
      {
        name: 'succeeded',
        summary: 'The attempt has succeeded',
        given: toFinish,
        input: { ...ofRun, lease, result },
        output: succeeded,
      },
      {
        name: 'failed',
        summary: 'The attempt has failed for good',
        given: toFinish,
        input: { ...ofRun, lease, error: { message: error.message }, retry: false },
        output: failed,
      },
      {
        name: 'lost',
        summary: 'The lease of another attempt',
        given: toFinish,
        input: { ...ofRun, lease: 'lease_0', result },
        error: leaseIsLost,
      },
    ],
  }),
})
