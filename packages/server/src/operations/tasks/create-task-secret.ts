import { parseFlag, refuseUnknownMembers } from '../../core/members.ts'
import { newTaskSecret } from '../../core/tasks/task-secret.ts'
import { type Access, callerOf, type TaskAddress } from '../access.ts'
import { requireTask, writeIn } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { declareMail, inMail, secret } from './examples.ts'
import { taskMembers, taskRequired, taskSchemas } from './schemas.ts'

interface CreateTaskSecretInput extends TaskAddress {
  revokesOld: boolean
}

/** Returns the new secret. It cannot be read again. */
const createTaskSecret = async (access: Access, input: CreateTaskSecretInput, nowMs: number): Promise<string> => {
  const task = await requireTask(access, input, nowMs)
  const secret = newTaskSecret()
  await writeIn('task', access, input, nowMs, () =>
    access.engine.tasks.addSecret(callerOf(access), task, secret, input.revokesOld, nowMs),
  )
  return secret
}

export const createTaskSecretOperation = defineOperation({
  id: 'createTaskSecret',
  area: 'tasks',
  summary: 'Create a new secret that signs the pushes of a task',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/secret', body: { schema: 'CreateTaskSecretRequest' } },
  command: 'tasks secret {task} --db {db}',
  read({ members }) {
    refuseUnknownMembers(members, ['revokeOld'])
    return { revokesOld: parseFlag(members.revokeOld, 'revokeOld') }
  },
  run: createTaskSecret,
  present: (secret) => JSON.stringify({ secret }),
  describe: () => ({
    title: 'Create a secret',
    description:
      'The new secret signs from now on. The one before signs along for 24 hours, so that receivers can change over; with `revokeOld` it is revoked at once. The secret is shown once, in this answer.',
    returns: 'The secret.',
    codes: ['task_not_found'],
    input: inputOf(taskSchemas.CreateTaskSecretRequest, taskMembers, taskRequired),
    output: ref('TaskSecret'),
    client: { on: 'tasks', method: 'createSecret', result: 'created' },
    examples: [
      {
        name: 'change',
        summary: 'A new secret; the one before signs along for a day',
        given: [declareMail],
        input: inMail,
        output: { secret },
      },
      {
        name: 'revoke',
        summary: 'Only the new secret signs',
        given: [declareMail],
        input: { ...inMail, revokeOld: true },
        output: { secret },
      },
    ],
  }),
})
