import { CubbyError } from '../../core/errors.ts'
import { repeatLater } from '../../core/hint.ts'
import type { Table } from '../../store/tables.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { parseTaskAddressAlone, requireTask, type TaskAddress, taskNotFound } from './task-access.ts'

export const describeTask = async (access: Access, address: TaskAddress, nowMs: number): Promise<TaskAndState> => {
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
  if (state === undefined) throw await taskNotFound(access, address, nowMs)
  return { task, state }
}

export const describeTaskOperation = defineOperation({
  id: 'describeTask',
  area: 'tasks',
  summary: 'Show a task: its declaration, and whether runs wait',
  description:
    'Returns what the task declares, the next time of its schedule, and in `oldestRunAt` since when its oldest due run has been waiting: the one number to watch.',
  keyNeeded: 'write',
  effect: 'reads',
  returns: 'The task.',
  codes: ['task_not_found'],
  parse: parseTaskAddressAlone,
  run: describeTask,
  present: (described) => taskJson(described),
})
