import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { bodyBytesMax } from '../../core/limits.ts'
import type { NotKept } from '../../core/tasks/declaration.ts'
import {
  type DeclarationText,
  type ParsedDeclaration,
  parseDeclaration,
  readDeclaration,
} from '../../core/tasks/parse-declaration.ts'
import { newTaskSecret } from '../../core/tasks/task-secret.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf, type TaskAddress } from '../access.ts'
import { laterAt } from '../example.ts'
import { notFound, tooManyTasks } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import {
  daily,
  declaredAt,
  declareMail,
  defaults,
  fullPayments,
  inMail,
  mail,
  payments,
  paymentsAreFull,
  secret,
  taskDeclaredAt,
} from './examples.ts'
import { type TaskAndState, taskConditionFailed, taskJson } from './present-task.ts'
import { condition, taskMembers, taskRequired, taskSchemas } from './schemas.ts'

interface DeclareTaskInput extends TaskAddress {
  declaration: ParsedDeclaration
  condition: Condition | undefined
}

interface DeclaredTask extends TaskAndState {
  created: boolean
  /** The secret of the task, if this declaration created it. */
  secret: string | undefined
}

const declareTask = async (access: Access, input: DeclareTaskInput, nowMs: number): Promise<DeclaredTask> => {
  const { db, task: name, declaration, condition } = input
  await checkUrl(access, input, nowMs)
  const newSecret = newTaskSecret()
  const toStore = { ...declaration, newSecret }
  const declared = await access.engine.tasks.declare(callerOf(access), db, name, toStore, condition, nowMs)
  if (!declared.applied) {
    switch (declared.reason) {
      case 'condition':
        throw taskConditionFailed(input, declared.current)
      case 'table':
        throw (await notFound('table', access, { db, table: declaration.on!.table }, nowMs)).within('on.table')
      case 'tooMany':
        throw tooManyTasks(db, { table: declaration.on!.table, tasks: declared.tasks })
      default:
        throw notKept(declared.reason)
    }
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
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: {
    method: 'PUT',
    path: '/v1/:db/_tasks/:task', // The schedule has a payload.
    body: { schema: 'DeclareTaskRequest', bytesMax: bodyBytesMax },
  },
  command: 'tasks declare {task} --db {db}',
  condition: 'put',
  version: ({ state }) => state.updatedAtMs,
  readBody: readDeclaration,
  read: (body: DeclarationText, nowMs) => ({ declaration: parseDeclaration(body, nowMs) }),
  run: declareTask,
  present: (declared) => taskJson(declared, declared.secret),
  describe: () => ({
    title: 'Declare a task',
    description:
      'A task is a named kind of work. Its runs are pushed to `url`, or claimed by workers if it has none. A declaration replaces the one before as a whole: what it leaves out has its default again. Runs and secrets stay. With `on`, every applied write of a table adds a run in its own commit. The first declaration with a `url` creates the secret that signs pushes, and only its answer has it.',
    returns: 'The task.',
    codes: [
      ...(['invalid_schedule', 'push_target_refused', 'table_not_found', 'too_many_tasks'] as const),
      ...(['precondition_failed', 'record_too_large'] as const),
    ],
    responses: { existing: 'The task existed; it has the new declaration.', created: 'Created.' },
    input: inputOf(taskSchemas.DeclareTaskRequest, { ...taskMembers, ...condition }, taskRequired),
    output: ref('DeclaredTask'),
    client: { on: 'tasks', method: 'declare', result: 'task' },
    examples: [
      {
        name: 'pull',
        summary: 'Workers claim the runs',
        input: { db: 'app', task: 'resize', attempts: 5 },
        output: { db: 'app', task: 'resize', ...defaults, attempts: 5, ...declaredAt(laterAt) },
      },
      {
        name: 'push',
        summary: 'Runs are pushed to a server',
        input: { db: 'app', task: 'notify', url: 'https://example.com/notify', authorization: 'Bearer example' },
        output: {
          ...{ db: 'app', task: 'notify', ...defaults, url: 'https://example.com/notify', authorization: '****' },
          ...{ concurrency: 10, ...declaredAt(laterAt), secret },
        },
      },
      {
        name: 'scheduled',
        summary: 'A run each working day at half past six',
        input: { db: 'app', task: 'report', schedule: daily },
        output: {
          ...{ db: 'app', task: 'report', ...defaults },
          schedule: { ...daily, nextRunAt: 1767850200000 },
          ...declaredAt(laterAt),
        },
      },
      {
        name: 'follow',
        summary: 'A run for each order that is written',
        input: { db: 'app', task: 'index-orders', on: { table: 'orders', ops: ['put', 'delete'] } },
        output: {
          ...{ db: 'app', task: 'index-orders', ...defaults, on: { table: 'orders', ops: ['put', 'delete'] } },
          ...declaredAt(laterAt),
        },
      },
      {
        name: 'pause',
        summary: 'Pause a task, if nobody has changed it',
        given: [declareMail],
        input: { ...inMail, ifUpdatedAt: taskDeclaredAt, paused: true },
        output: { ...mail, paused: true, updatedAt: laterAt },
        unchanged: true,
      },
      {
        name: 'exists',
        summary: 'Create, never replace',
        given: [declareMail],
        input: { ...inMail, ifUpdatedAt: null },
        error: {
          code: 'precondition_failed',
          message: `The task is at version ${taskDeclaredAt}; nothing was changed.`,
          hint: ['Read it again (', call('describeTask', inMail), '), and name its version.'],
        },
      },
      {
        name: 'followNothing',
        summary: 'A table that does not exist',
        input: { ...inMail, on: { table: 'invoices' } },
        error: {
          code: 'table_not_found',
          message: 'There is no table invoices in database app.',
          field: 'on.table',
          hint: [
            'Create it with the indices that it needs, which cannot be changed later: ',
            call('createTable', { db: 'app', table: 'invoices' }),
          ],
        },
      },
      {
        name: 'followedByMany',
        summary: 'A table that five tasks follow',
        given: [{ operation: 'createTable', input: payments }, ...fullPayments],
        input: { ...inMail, on: { table: 'payments' } },
        error: paymentsAreFull,
      },
      {
        name: 'malformedCron',
        summary: 'A schedule with six fields',
        input: { ...inMail, schedule: { cron: '0 30 6 * * *' } },
        error: {
          code: 'invalid_schedule',
          message: 'schedule.cron has 6 fields; it takes five.',
          field: 'schedule.cron',
          hint: 'Write minute, hour, day of month, month and day of week: "0 6 * * mon-fri".',
        },
      },
      {
        name: 'credentialsInUrl',
        summary: 'A target with a password in it',
        input: { ...inMail, url: 'https://ada:secret@example.com/mail' },
        error: {
          code: 'push_target_refused',
          message: 'url has a user or a password.',
          field: 'url',
          hint: 'Leave them out, and send credentials as "authorization".',
        },
      },
      {
        name: 'longLease',
        summary: 'A lease that is too long for pushes',
        input: { ...inMail, url: 'https://example.com/mail', leaseSeconds: 600 },
        error: {
          code: 'invalid_request',
          message: 'leaseSeconds is 600; for a task with url it takes an integer from 1 to 300.',
          field: 'leaseSeconds',
          hint: 'A receiver that needs longer extends its lease.',
        },
      },
    ],
  }),
})
