import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parseWaitSeconds } from '../../core/tasks/parse-numbers.ts'
import { isFinished, type Run } from '../../core/tasks/run.ts'
import { isRunId } from '../../core/tasks/run-id.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { requireTask } from '../tasks/task-access.ts'
import { presentRun } from './present-run.ts'
import { parseRunAddress, type RunAddress, runNotFound } from './run-access.ts'
import { plainWaiting, type Waiting } from './waiting.ts'

export interface GetRunInput extends RunAddress {
  waitSeconds: number
}

const readRun = (access: Access, address: RunAddress, nowMs: number): Awaitable<Run> =>
  andThen(requireTask(access, address, nowMs), (task) => {
    if (!isRunId(address.run)) throw runNotFound(address)
    return andThen(access.engine.runs.get(task, address.run, nowMs), (run) => {
      if (run === undefined) throw runNotFound(address)
      return run
    })
  })

/** The run; with `waitSeconds` as soon as it is finished, or then as it is. */
export const getRun = (access: Access, input: GetRunInput, nowMs: number, waiting?: Waiting): Awaitable<Run> =>
  andThen(readRun(access, input, nowMs), (run) =>
    input.waitSeconds === 0 || isFinished(run) ? run : waitForRun(input, run, waiting ?? plainWaiting(access, nowMs)),
  )

const waitForRun = async (input: GetRunInput, first: Run, waiting: Waiting): Promise<Run> => {
  const { tasks, apiKey } = waiting.access
  const endsAtMs = performance.now() + input.waitSeconds * 1000
  for (let run = first; ; ) {
    const { taskId, id } = run
    const leftMs = endsAtMs - performance.now()
    const end = await waiting.pause(() => tasks.waits.untilFinished(apiKey, { taskId, id }, leftMs, waiting.signal))
    run = await readRun(waiting.access, input, waiting.nowMs)
    // A retry that came in between has queued it again.
    if (end === 'over' || isFinished(run)) return run
  }
}

export const getRunOperation = defineOperation({
  id: 'getRun',
  area: 'runs',
  summary: 'Get a run',
  description:
    'With `waitSeconds` the answer comes as soon as the run is finished, or after that time with the run as it is. A public key reads the run without `payload` and `key`.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The run.',
  codes: ['task_not_found', 'run_not_found'],
  parse(text): GetRunInput {
    const { db, task, run, ...members } = parsePlainBody(text)
    const address = parseRunAddress(db, task, run)
    refuseUnknownMembers(members, ['waitSeconds'])
    return { ...address, waitSeconds: parseWaitSeconds(members.waitSeconds) }
  },
  run: async (access, input, nowMs) => presentRun(access, input.task)(await getRun(access, input, nowMs)),
  present: (text) => text,
})
