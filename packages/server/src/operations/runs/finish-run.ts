import { parseFinish } from '../../core/tasks/parse-finish.ts'
import type { Finish } from '../../core/tasks/run.ts'
import { readRunBody } from '../../core/tasks/run-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { runJson } from './present-run.ts'
import { changeAttempt, parseRunAddress, type RunAddress, type RunOutput } from './run-access.ts'

export interface FinishRunInput extends RunAddress {
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
  description:
    'Needs the lease of the running attempt. With `result`, or with neither, the run has succeeded. With `error` the attempt has failed: the run is queued again, after `retryAfter` seconds or the backoff, until its attempts are used up; with `retry: false` it fails for good. Repeated with the same lease before a new attempt has begun, it returns the run as it is. It is accepted while the task is deleted.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The run.',
  codes: ['task_not_found', 'run_not_found', 'lease_lost', 'record_too_large'],
  parse(text): FinishRunInput {
    const { members, ...body } = readRunBody(text)
    const { db, task, run, ...finish } = members
    return { ...parseRunAddress(db, task, run), finish: parseFinish({ members: finish, ...body }) }
  },
  run: finishRun,
  present: ({ run, task }) => runJson(run, task),
})
