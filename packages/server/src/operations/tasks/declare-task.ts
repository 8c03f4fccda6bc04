import { CubbyError } from '../../core/errors.ts'
import type { NotKept } from '../../core/tasks/declaration.ts'
import { type ParsedDeclaration, parseDeclaration, readDeclaration } from '../../core/tasks/parse-declaration.ts'
import { newTaskSecret } from '../../core/tasks/task-secret.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type TaskAndState, taskJson } from './present-task.ts'
import { parseTaskAddress, type TaskAddress, taskConditionFailed } from './task-access.ts'

export interface DeclareTaskInput extends TaskAddress {
  declaration: ParsedDeclaration
  condition: Condition | undefined
}

export interface DeclaredTask extends TaskAndState {
  created: boolean
  /** Only if this declaration created it. */
  secret: string | undefined
}

export const declareTask = async (access: Access, input: DeclareTaskInput, nowMs: number): Promise<DeclaredTask> => {
  const { db, task: name, declaration, condition } = input
  await checkUrl(access, input, nowMs)
  const newSecret = newTaskSecret()
  const toStore = { ...declaration, newSecret }
  const declared = await access.engine.tasks.declare(callerOf(access), db, name, toStore, condition, nowMs)
  if (!declared.applied) {
    throw declared.reason === 'condition' ? taskConditionFailed(input, declared.current) : notKept(declared.reason)
  }
  const { task, state, created, secretStored } = declared
  // It may have been resumed, or may take more runs at once than before.
  access.tasks.signals.changed(task.id)
  return { task, state, created, secret: secretStored ? newSecret : undefined }
}

/**
 * A task must stay pausable whatever has become of its target, so a declaration that pauses may keep the present url: nothing
 * is pushed there, and the one that resumes is checked again.
 */
const checkUrl = async (
  access: Access,
  { db, task: name, declaration }: DeclareTaskInput,
  nowMs: number,
): Promise<void> => {
  const { url, paused } = declaration
  if (url === null) return
  try {
    await access.tasks.checkTarget(url)
  } catch (error) {
    const task = paused ? await access.engine.tasks.find(access.apiKey.orgId, db, name) : undefined
    const present = task && (await access.engine.tasks.read([task], nowMs))[0]
    if (present?.declaration.url !== url) throw error
  }
}

const notKeptBecause: Record<NotKept, string> = {
  authorization: 'the task has none',
  origin: 'url has another origin than before, or is new or left out, and a hidden header is not sent elsewhere',
}

const notKept = (reason: NotKept): CubbyError =>
  new CubbyError(
    'invalid_request',
    `authorization is "****", which keeps the present one, but ${notKeptBecause[reason]}.`,
    { field: 'authorization', hint: 'Give the value of the header itself, or leave authorization out.' },
  )

export const declareTaskOperation = defineOperation({
  id: 'declareTask',
  area: 'tasks',
  summary: 'Declare a task, or replace its declaration',
  description:
    'A task is a named kind of work. Its runs are pushed to `url`, or claimed by workers if it has none. A declaration replaces the one before as a whole: what it leaves out has its default again. Runs and secrets stay. The first declaration with a `url` creates the secret that signs pushes, and only its answer has it.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The task.',
  codes: ['invalid_schedule', 'push_target_refused', 'precondition_failed', 'record_too_large'],
  parse(text, nowMs): DeclareTaskInput {
    const read = readDeclaration(text)
    const { db, task, ifUpdatedAt, ...members } = read.members
    const address = parseTaskAddress(db, task)
    const declaration = parseDeclaration({ ...read, members }, nowMs)
    return { ...address, declaration, condition: parseCondition(ifUpdatedAt) }
  },
  run: declareTask,
  present: (declared) => taskJson(declared, declared.secret),
})
