import { CubbyError } from '../../core/errors.ts'
import { call, repeatLater } from '../../core/hint.ts'
import { runsCountedMax } from '../../core/limits.ts'
import { parseFlag, refuseUnknownMembers } from '../../core/members.ts'
import type { Table } from '../../store/tables.ts'
import type { Access, TaskAddress } from '../access.ts'
import { notFound, requireTask } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { declareMail, deleteMail, inMail, mail, noRuns } from './examples.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { countsMember, taskMembers, taskRequired } from './schemas.ts'

interface DescribeTaskInput extends TaskAddress {
  counts: boolean
}

const describeTask = async (access: Access, input: DescribeTaskInput, nowMs: number): Promise<TaskAndState> => {
  const countedMax = input.counts ? runsCountedMax : undefined
  const described = await withState(access, input, await requireTask(access, input, nowMs), nowMs, countedMax)
  const { oldestRunAtMs, counts } = described.state
  if (oldestRunAtMs === undefined || (input.counts && counts === undefined)) throw runsUnreachable()
  return described
}

const runsUnreachable = (): CubbyError =>
  new CubbyError('unavailable', 'The database cannot reach the runs of the task.', { hint: repeatLater })

/** A task that is gone since it was found is reported as not found. */
export const withState = async (
  access: Access,
  address: TaskAddress,
  task: Table,
  nowMs: number,
  countedMax?: number,
): Promise<TaskAndState> => {
  const [state] = await access.engine.tasks.read([task], nowMs, countedMax)
  if (state === undefined) throw await notFound('task', access, address, nowMs)
  return { task, state }
}

export const describeTaskOperation = defineOperation({
  id: 'describeTask',
  area: 'tasks',
  summary: 'Show a task: its declaration, and whether runs wait',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_tasks/:task', query: ['counts'] },
  command: 'tasks describe {task} --db {db}',
  version: ({ state }) => state.updatedAtMs,
  read({ members }) {
    refuseUnknownMembers(members, ['counts'])
    return { counts: parseFlag(members.counts, 'counts') }
  },
  run: describeTask,
  present: (described) => taskJson(described),
  describe: () => ({
    title: 'Show a task',
    description:
      'Returns what the task declares, the next time of its schedule, and in `oldestRunAt` since when its oldest due run has been waiting: the one number to watch. With `counts` it also says how many runs have each status.',
    returns: 'The task.',
    codes: ['task_not_found'],
    note: 'The answer is never 304, because `oldestRunAt` and `nextRunAt` change without a new version. `If-Match` is not allowed here.',
    input: inputOf({}, { ...taskMembers, counts: countsMember(runsCountedMax) }, taskRequired),
    output: ref('ActiveTask'),
    client: { on: 'tasks', method: 'describe', result: 'task' },
    examples: [
      { name: 'describe', summary: 'A task', given: [declareMail], input: inMail, output: mail },
      {
        name: 'counts',
        summary: 'How many runs have each status',
        given: [declareMail],
        input: { ...inMail, counts: true },
        output: { ...mail, counts: noRuns },
      },
      {
        name: 'deleted',
        summary: 'A task that was deleted',
        given: [declareMail, deleteMail],
        input: inMail,
        error: {
          code: 'task_not_found',
          message: 'The task mail in database app was deleted.',
          hint: [
            'Restore it until 2026-01-09T00:00:00.000Z: ',
            call('restoreTask', inMail),
            '; or declare a new task without runs: ',
            call('declareTask', inMail),
          ],
        },
      },
    ],
  }),
})
