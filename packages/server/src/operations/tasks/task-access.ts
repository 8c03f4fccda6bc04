import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, notFound, parseNameOf } from '../access.ts'

export interface TaskAddress {
  db: string
  task: string
}

/** `prefix` is `operations[3].` inside a batch. */
export const parseTaskAddress = (db: unknown, task: unknown, prefix = ''): TaskAddress => ({
  db: parseNameOf(db, 'db'),
  task: prefix === '' ? parseNameOf(task, 'task') : parseName(task, `${prefix}task`),
})

/** For operations whose input is only the address of a task. */
export const parseTaskAddressAlone = (text: string): TaskAddress => {
  const members = parsePlainBody(text)
  refuseUnknownMembers(members, ['db', 'task'])
  return parseTaskAddress(members.db, members.task)
}

/** The active task. Otherwise throws `task_not_found` with a hint that names the call to declare or restore it. */
export const requireTask = (access: Access, address: TaskAddress, nowMs: number): Awaitable<Table> =>
  andThen(
    access.engine.tasks.find(access.apiKey.orgId, address.db, address.task),
    (task) => task ?? refuseUnknownTask(access, address, nowMs),
  )

const refuseUnknownTask = async (access: Access, address: TaskAddress, nowMs: number): Promise<never> => {
  throw await taskNotFound(access, address, nowMs)
}

export const taskNotFound = async (access: Access, { db, task }: TaskAddress, nowMs: number): Promise<CubbyError> => {
  const deleted = await access.engine.tasks.findDeleted(access.apiKey.orgId, db, task, nowMs)
  const calls = { create: call('declareTask', { db, task }), restore: call('restoreTask', { db, task }) }
  return notFound('task', `task ${task} in database ${db}`, calls, deleted)
}

/**
 * The active task, or else the one deleted last: an attempt that was running when its task was deleted may still extend its
 * lease and finish.
 */
export const requireTaskOrDeleted = async (access: Access, address: TaskAddress, nowMs: number): Promise<Table> => {
  const { db, task } = address
  const { orgId } = access.apiKey
  const found =
    (await access.engine.tasks.find(orgId, db, task)) ?? (await access.engine.tasks.findDeleted(orgId, db, task, nowMs))
  return found ?? refuseUnknownTask(access, address, nowMs)
}

/** A write to a task that was found before. If it was deleted since, the error is the same as if it had not been found. */
export const writeInTask = async <T>(
  access: Access,
  address: TaskAddress,
  nowMs: number,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write()
  } catch (error) {
    if (error instanceof CubbyError && error.code === 'task_not_found') throw await taskNotFound(access, address, nowMs)
    throw error
  }
}

/** `current` is the version of the declaration that was found; undefined if there is no task. */
export const taskConditionFailed = ({ db, task }: TaskAddress, current: number | undefined): CubbyError => {
  if (current === undefined) {
    return new CubbyError('precondition_failed', 'The task does not exist; nothing was changed.', {
      hint: ['Declare it without the condition: ', call('declareTask', { db, task }), '.'],
    })
  }
  return new CubbyError('precondition_failed', `The task is at version ${current}; nothing was changed.`, {
    hint: ['Read it again (', call('describeTask', { db, task }), '), and name its version.'],
  })
}
