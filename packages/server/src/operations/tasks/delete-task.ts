import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { parseTaskAddress, type TaskAddress, taskConditionFailed, taskNotFound } from './task-access.ts'

export interface DeleteTaskInput extends TaskAddress {
  condition: Condition | undefined
}

export const deleteTask = async (access: Access, input: DeleteTaskInput, nowMs: number): Promise<TaskAndState> => {
  const { db, task, condition } = input
  const deleted = await access.engine.tasks.delete(callerOf(access), db, task, condition, nowMs)
  if (deleted === undefined) throw await taskNotFound(access, input, nowMs)
  if (!deleted.applied) throw taskConditionFailed(input, deleted.current)
  return deleted
}

export const deleteTaskOperation = defineOperation({
  id: 'deleteTask',
  area: 'tasks',
  summary: 'Delete a task; it can be restored for 7 days',
  description:
    'Once the answer is sent, nothing of the task is handed out, pushed or scheduled, and its name is free. Attempts that are running may finish. It can be restored for 7 days, with its declaration, its secrets and all its runs; after that they are removed permanently.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'The deleted task.',
  codes: ['task_not_found', 'precondition_failed'],
  parse(text): DeleteTaskInput {
    const { db, task, ...members } = parsePlainBody(text)
    const address = parseTaskAddress(db, task)
    refuseUnknownMembers(members, ['ifUpdatedAt'])
    return { ...address, condition: parseCondition(members.ifUpdatedAt) }
  },
  run: deleteTask,
  present: (deleted) => taskJson(deleted),
})
