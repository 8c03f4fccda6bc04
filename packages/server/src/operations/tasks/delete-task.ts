import { call } from '../../core/hint.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf, type TaskAddress } from '../access.ts'
import { notFound } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { declareMail, deletedMail, inMail, taskDeclaredAt } from './examples.ts'
import { type TaskAndState, taskConditionFailed, taskJson } from './present-task.ts'
import { condition, taskMembers, taskRequired } from './schemas.ts'

interface DeleteTaskInput extends TaskAddress {
  condition: Condition | undefined
}

const deleteTask = async (access: Access, input: DeleteTaskInput, nowMs: number): Promise<TaskAndState> => {
  const { db, task, condition } = input
  const deleted = await access.engine.tasks.delete(callerOf(access), db, task, condition, nowMs)
  if (deleted === undefined) throw await notFound('task', access, input, nowMs)
  if (!deleted.applied) throw taskConditionFailed(input, deleted.current)
  return deleted
}

export const deleteTaskOperation = defineOperation({
  id: 'deleteTask',
  area: 'tasks',
  summary: 'Delete a task; it can be restored for 7 days',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'DELETE', path: '/v1/:db/_tasks/:task' },
  command: 'tasks drop {task} --db {db}',
  condition: 'change',
  run: deleteTask,
  present: (deleted) => taskJson(deleted),
  describe: () => ({
    title: 'Delete a task',
    description:
      'Once the answer is sent, nothing of the task is handed out, pushed or scheduled, and its name is free. Attempts that are running may finish. It can be restored for 7 days, with its declaration, its secrets and all its runs; after that they are removed permanently.',
    returns: 'The deleted task.',
    codes: ['task_not_found', 'precondition_failed'],
    input: inputOf({}, { ...taskMembers, ...condition }, taskRequired),
    output: ref('DeletedTask'),
    // It takes no condition.
    client: { on: 'tasks', method: 'drop', result: 'task', args: (_, { ifMatch }) => (ifMatch ? undefined : []) },
    examples: [
      { name: 'delete', summary: 'Delete a task', given: [declareMail], input: inMail, output: deletedMail },
      {
        name: 'wrongVersion',
        summary: 'Delete a version that is out of date',
        given: [declareMail],
        input: { ...inMail, ifUpdatedAt: 1 },
        error: {
          code: 'precondition_failed',
          message: `The task is at version ${taskDeclaredAt}; nothing was changed.`,
          hint: ['Read it again (', call('describeTask', inMail), '), and name its version.'],
        },
      },
    ],
  }),
})
