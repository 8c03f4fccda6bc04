import { bodyBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { createTaskSecretOperation } from '../../operations/tasks/create-task-secret.ts'
import { declareTaskOperation } from '../../operations/tasks/declare-task.ts'
import { deleteTaskOperation } from '../../operations/tasks/delete-task.ts'
import { describeTaskOperation } from '../../operations/tasks/describe-task.ts'
import { listTasksOperation } from '../../operations/tasks/list-tasks.ts'
import { restoreTaskOperation } from '../../operations/tasks/restore-task.ts'
import type { OperationRoute } from './route.ts'

const optionalBody = (
  schema: 'DeclareTaskRequest' | 'RestoreTaskRequest' | 'CreateTaskSecretRequest',
  bytesMax = plainBodyBytesMax,
) => ({ schema, required: false, bytesMax })

/** Where the tasks of a database are. All that is below it and no route is `route_not_found`, never the key of a record. */
export const tasksPath = '/v1/:db/_tasks'

const paths = [`${tasksPath}/:task`]

export const taskRoutes = {
  listTasks: {
    operation: listTasksOperation,
    method: 'GET',
    paths: [tasksPath],
    query: ['limit', 'cursor', 'deleted'],
  },
  declareTask: {
    operation: declareTaskOperation,
    method: 'PUT',
    paths,
    // The schedule has a payload.
    body: optionalBody('DeclareTaskRequest', bodyBytesMax),
  },
  describeTask: { operation: describeTaskOperation, method: 'GET', paths },
  deleteTask: { operation: deleteTaskOperation, method: 'DELETE', paths },
  restoreTask: {
    operation: restoreTaskOperation,
    method: 'POST',
    paths: [`${tasksPath}/:task/restore`],
    body: optionalBody('RestoreTaskRequest'),
  },
  createTaskSecret: {
    operation: createTaskSecretOperation,
    method: 'POST',
    paths: [`${tasksPath}/:task/secret`],
    body: optionalBody('CreateTaskSecretRequest'),
  },
} satisfies Record<string, OperationRoute>
