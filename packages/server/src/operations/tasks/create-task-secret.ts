import { type Members, parseFlag, refuseUnknownMembers } from '../../core/members.ts'
import { newTaskSecret } from '../../core/tasks/task-secret.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseTaskAddress, requireTask, type TaskAddress, writeInTask } from './task-access.ts'

export interface CreateTaskSecretInput extends TaskAddress {
  revokesOld: boolean
}

export const parseRevokeOld = (members: Members): boolean => {
  refuseUnknownMembers(members, ['revokeOld'])
  return parseFlag(members.revokeOld, 'revokeOld')
}

/** Returns the new secret. It cannot be read again. */
export const createTaskSecret = async (
  access: Access,
  input: CreateTaskSecretInput,
  nowMs: number,
): Promise<string> => {
  const task = await requireTask(access, input, nowMs)
  const secret = newTaskSecret()
  await writeInTask(access, input, nowMs, () =>
    access.engine.tasks.addSecret(callerOf(access), task, secret, input.revokesOld, nowMs),
  )
  return secret
}

export const createTaskSecretOperation = defineOperation({
  id: 'createTaskSecret',
  area: 'tasks',
  summary: 'Create a new secret that signs the pushes of a task',
  description:
    'The new secret signs from now on. The one before signs along for 24 hours, so that receivers can change over; with `revokeOld` it is revoked at once. The secret is shown once, in this answer.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The secret.',
  codes: ['task_not_found'],
  parse(text): CreateTaskSecretInput {
    const { db, task, ...members } = parsePlainBody(text)
    return { ...parseTaskAddress(db, task), revokesOld: parseRevokeOld(members) }
  },
  run: createTaskSecret,
  present: (secret) => JSON.stringify({ secret }),
})
