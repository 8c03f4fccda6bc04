import { CubbyError } from '../../core/errors.ts'
import { call, repeatLater } from '../../core/hint.ts'
import type { Table } from '../../store/tables.ts'
import type { Access, TaskAddress } from '../access.ts'
import { notFound, requireTask } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { declareMail, deleteMail, inMail, mail } from './examples.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { taskMembers, taskRequired } from './schemas.ts'

const describeTask = async (access: Access, address: TaskAddress, nowMs: number): Promise<TaskAndState> => {
  const described = await withState(access, address, await requireTask(access, address, nowMs), nowMs)
  if (described.state.oldestRunAtMs === undefined) throw runsUnreachable()
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
): Promise<TaskAndState> => {
  const [state] = await access.engine.tasks.read([task], nowMs)
  if (state === undefined) throw await notFound('task', access, address, nowMs)
  return { task, state }
}

export const describeTaskOperation = defineOperation({
  id: 'describeTask',
  area: 'tasks',
  summary: 'Show a task: its declaration, and whether runs wait',
  keyNeeded: 'write',
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_tasks/:task' },
  command: 'tasks describe {task} --db {db}',
  version: ({ state }) => state.updatedAtMs,
  run: describeTask,
  present: (described) => taskJson(described),
  describe: () => ({
    title: 'Show a task',
    description:
      'Returns what the task declares, the next time of its schedule, and in `oldestRunAt` since when its oldest due run has been waiting: the one number to watch.',
    returns: 'The task.',
    codes: ['task_not_found'],
    note: 'The answer is never 304, because `oldestRunAt` and `nextRunAt` change without a new version. `If-Match` is not allowed here.',
    input: inputOf({}, taskMembers, taskRequired),
    output: ref('ActiveTask'),
    client: { on: 'tasks', method: 'describe', result: 'task' },
    examples: [
      { name: 'describe', summary: 'A task', given: [declareMail], input: inMail, output: mail },
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
