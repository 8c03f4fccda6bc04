import { call } from '../../core/hint.ts'
import type { Access } from '../access.ts'
import { tableDeletedAt } from '../example.ts'
import { type RestoreInput, readDeletedAt, restoreNamed } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { withState } from './describe-task.ts'
import {
  declareMail,
  deleteMail,
  followPayments,
  fullPayments,
  inMail,
  mail,
  payments,
  paymentsAreFull,
} from './examples.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { taskMembers, taskRequired, taskSchemas } from './schemas.ts'

const restoreRegistered = restoreNamed('task')

const restoreTask = async (access: Access, input: RestoreInput<'task'>, nowMs: number): Promise<TaskAndState> => {
  const task = await restoreRegistered(access, input, nowMs)
  access.tasks.signals.changed(task.id)
  return withState(access, input, task, nowMs)
}

export const restoreTaskOperation = defineOperation({
  id: 'restoreTask',
  area: 'tasks',
  summary: 'Restore a deleted task with all its runs',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/restore', body: { schema: 'RestoreTaskRequest' } },
  command: 'tasks restore {task} --db {db} [--deleted-at {deletedAt}]',
  read: readDeletedAt('task'),
  run: restoreTask,
  present: (described) => taskJson(described),
  describe: () => ({
    title: 'Restore a task',
    description:
      'Makes a deleted task active again, with its declaration, its secrets and all its runs, and everything continues: the one deleted last, or another one by its `deletedAt`. Times of its schedule that have passed meanwhile are skipped. If the task is active and no task with that name is deleted, nothing changes.',
    returns: 'The active task.',
    codes: ['task_not_found', 'task_exists', 'too_many_tasks'],
    input: inputOf(taskSchemas.RestoreTaskRequest, taskMembers, taskRequired),
    output: ref('ActiveTask'),
    client: { on: 'tasks', method: 'restore', result: 'task' },
    examples: [
      {
        name: 'newest',
        summary: 'The task deleted last',
        given: [declareMail, deleteMail],
        input: inMail,
        output: mail,
      },
      {
        name: 'byTime',
        summary: 'The task deleted at this time',
        given: [declareMail, deleteMail],
        input: { ...inMail, deletedAt: tableDeletedAt },
        output: mail,
      },
      {
        name: 'nameTaken',
        summary: 'The name is taken by a new task',
        given: [declareMail, deleteMail, { operation: 'declareTask', input: inMail }],
        input: inMail,
        error: {
          code: 'task_exists',
          message: 'An active task has the name mail.',
          hint: [
            'Delete it first (',
            call('deleteTask', inMail),
            '), then restore with ',
            { send: { deletedAt: tableDeletedAt } },
            '.',
          ],
        },
      },
      {
        name: 'followedByMany',
        summary: 'Five other tasks follow its table now',
        given: [
          { operation: 'createTable', input: payments },
          followPayments('mail'),
          { operation: 'deleteTask', input: inMail },
          ...fullPayments,
        ],
        input: inMail,
        error: paymentsAreFull,
      },
      {
        name: 'noSuchDeletion',
        summary: 'No task was deleted at this time',
        given: [declareMail, deleteMail],
        input: { ...inMail, deletedAt: 1 },
        error: {
          code: 'task_not_found',
          message: 'No recoverable task mail was deleted at 1.',
          field: 'deletedAt',
          hint: ['See ', call('listTasks', { db: 'app', deleted: true }), ', or leave deletedAt out for the newest.'],
        },
      },
    ],
  }),
})
