import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { readScalar } from '../../core/scalar.ts'
import { waitSecondsRule } from '../../core/tasks/parse-numbers.ts'
import { isFinished, type Run } from '../../core/tasks/run.ts'
import { isRunId } from '../../core/tasks/run-id.ts'
import type { Access } from '../access.ts'
import { laterAt } from '../example.ts'
import { ofTask } from '../grant-rules.ts'
import { requireTask } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { declare, fail, failed, ofRun, queued, runMissing, toClaim, toFinish } from './examples.ts'
import { presentRun } from './present-run.ts'
import { isOwn, type RunAddress, runNotFound } from './run-access.ts'
import { runAddressMembers, runAddressRequired } from './schemas.ts'
import { plainWaiting, type Waiting } from './waiting.ts'

interface GetRunInput extends RunAddress {
  waitSeconds: number
}

const readRun = (access: Access, address: RunAddress, nowMs: number): Awaitable<Run> =>
  andThen(requireTask(access, address, nowMs), (task) => {
    if (!isRunId(address.run)) throw runNotFound(address)
    return andThen(access.engine.runs.get(task, address.run, nowMs), (run) => {
      if (run === undefined || !isOwn(access, run)) throw runNotFound(address)
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
  keyNeeded: 'read',
  grants: ofTask,
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_tasks/:task/runs/:run', query: ['waitSeconds'] },
  command: 'tasks get {task} {run} --db {db}',
  tool: 'get_run',
  condition: 'read',
  read({ members }) {
    refuseUnknownMembers(members, ['waitSeconds'])
    return { waitSeconds: readScalar(waitSecondsRule, members.waitSeconds, 'waitSeconds') ?? 0 }
  },
  version: ({ updatedAtMs }) => updatedAtMs,
  async run(access, input: GetRunInput, nowMs) {
    const run = await getRun(access, input, nowMs)
    return { text: presentRun(access, input.task)(run), updatedAtMs: run.updatedAtMs }
  },
  present: ({ text }) => text,
  describe: () => ({
    title: 'Get a run',
    description:
      'With `waitSeconds` the answer comes as soon as the run is finished, or after that time with the run as it is. A public key reads the run without `payload`, `key` and `user`.',
    returns: 'The run.',
    codes: ['task_not_found', 'run_not_found'],
    input: inputOf(
      {},
      {
        ...runAddressMembers,
        waitSeconds: {
          ...waitSecondsRule,
          default: 0,
          description: 'How long the answer waits for the end of the run.',
        },
      },
      runAddressRequired,
    ),
    output: ref('RunView'),
    client: { on: 'task', method: 'get', result: 'run', args: ({ run, ...options }) => [run, options] },
    examples: [
      { name: 'found', summary: 'A run that waits', given: toClaim, input: ofRun, output: queued },
      {
        name: 'finished',
        summary: 'Wait for the end of a run',
        given: [...toFinish, fail],
        input: { ...ofRun, waitSeconds: 20 },
        output: failed,
      },
      { name: 'noRun', summary: 'A run that does not exist', given: [declare], input: ofRun, error: runMissing },
      {
        name: 'unchanged',
        summary: 'A copy that is still current',
        given: toClaim,
        input: ofRun,
        version: laterAt,
        wants: 'changes',
      },
    ],
  }),
})
