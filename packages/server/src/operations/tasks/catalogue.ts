import { entry } from '../catalogue-entry.ts'
import { exactIntegers, inputOf, nullable, ref, type Schema } from '../schema.ts'
import { dbMember, listingMembers } from '../tables/schemas.ts'
import { createTaskSecretOperation } from './create-task-secret.ts'
import { declareTaskOperation } from './declare-task.ts'
import { deleteTaskOperation } from './delete-task.ts'
import { describeTaskOperation } from './describe-task.ts'
import * as examples from './examples.ts'
import { listTasksOperation } from './list-tasks.ts'
import { restoreTaskOperation } from './restore-task.ts'
import { taskMembers, taskRequired, taskSchemas } from './schemas.ts'

/** A condition on the version of the declaration. */
const condition = {
  ifUpdatedAt: {
    description:
      'Write only if the declaration is at this version: the `updatedAt` that was read; `*`: only if the task exists; null: only if it does not.',
    oneOf: [nullable('integer', exactIntegers), { type: 'string', const: '*' }],
  },
} satisfies Record<string, Schema>

export const taskCatalogue = {
  listTasks: entry(listTasksOperation, {
    input: inputOf(
      {},
      {
        ...dbMember,
        ...listingMembers,
        deleted: {
          type: 'boolean',
          default: false,
          description: 'True: list the deleted tasks that can still be restored, by name, then `deletedAt`.',
        },
      },
      ['db'],
    ),
    output: ref('TaskList'),
    examples: examples.listTasks,
  }),
  declareTask: entry(declareTaskOperation, {
    input: inputOf(taskSchemas.DeclareTaskRequest, { ...taskMembers, ...condition }, taskRequired),
    output: ref('DeclaredTask'),
    examples: examples.declareTask,
  }),
  describeTask: entry(describeTaskOperation, {
    input: inputOf({}, taskMembers, taskRequired),
    output: ref('ActiveTask'),
    examples: examples.describeTask,
  }),
  deleteTask: entry(deleteTaskOperation, {
    input: inputOf({}, { ...taskMembers, ...condition }, taskRequired),
    output: ref('DeletedTask'),
    examples: examples.deleteTask,
  }),
  restoreTask: entry(restoreTaskOperation, {
    input: inputOf(taskSchemas.RestoreTaskRequest, taskMembers, taskRequired),
    output: ref('ActiveTask'),
    examples: examples.restoreTask,
  }),
  createTaskSecret: entry(createTaskSecretOperation, {
    input: inputOf(taskSchemas.CreateTaskSecretRequest, taskMembers, taskRequired),
    output: ref('TaskSecret'),
    examples: examples.createTaskSecret,
  }),
}
