import { call } from '../../core/hint.ts'
import type { Members } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseDeletedAt, restored } from '../tables/lifecycle.ts'
import { withState } from './describe-task.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { parseTaskAddress, type TaskAddress, taskNotFound } from './task-access.ts'

export interface RestoreTaskInput extends TaskAddress {
  /** undefined: the task deleted last. */
  deletedAtMs: number | undefined
}

export const parseRestoreTask = (members: Members): number | undefined => parseDeletedAt(members, 'task', 'listTasks')

export const restoreTask = async (access: Access, input: RestoreTaskInput, nowMs: number): Promise<TaskAndState> => {
  const { db, task: name, deletedAtMs } = input
  const result = await access.engine.tasks.restore(callerOf(access), db, name, deletedAtMs, nowMs)
  const task = await restored(result, {
    kind: 'task',
    name,
    deletedAtMs,
    calls: { remove: call('deleteTask', { db, task: name }), list: call('listTasks', { db, deleted: true }) },
    notFound: () => taskNotFound(access, input, nowMs),
  })
  access.tasks.signals.changed(task.id)
  return withState(access, input, task, nowMs)
}

export const restoreTaskOperation = defineOperation({
  id: 'restoreTask',
  area: 'tasks',
  summary: 'Restore a deleted task with all its runs',
  description:
    'Makes a deleted task active again, with its declaration, its secrets and all its runs, and everything continues: the one deleted last, or another one by its `deletedAt`. Times of its schedule that have passed meanwhile are skipped. If the task is active and no task with that name is deleted, nothing changes.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The active task.',
  codes: ['task_not_found', 'task_exists'],
  parse(text): RestoreTaskInput {
    const { db, task, ...which } = parsePlainBody(text)
    return { ...parseTaskAddress(db, task), deletedAtMs: parseRestoreTask(which) }
  },
  run: restoreTask,
  present: (described) => taskJson(described),
})
