import { call } from '../../core/hint.ts'
import { type Example, type ExampleCall, laterAt, tableDeletedAt } from '../example.ts'

const taskDeclaredAt = 1767225800000
export const inMail = { db: 'app', task: 'mail' }

/** The fields of a task that only declares what it must. */
const defaults = {
  ...{ url: null, authorization: null, leaseSeconds: 30, attempts: 12, backoffSeconds: 5, concurrency: null },
  ...{ keepSeconds: 604800, paused: false, schedule: null, oldestRunAt: null, status: 'active' },
}

const declaredAt = (at: number) => ({ createdAt: at, updatedAt: at })

/** The task that the examples of runs use too: workers claim its runs. */
export const mail = { ...inMail, ...defaults, ...declaredAt(taskDeclaredAt) }

const deletedMail = {
  ...mail,
  status: 'deleted',
  deletedAt: tableDeletedAt,
  recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000,
}

export const declareMail: ExampleCall = { operation: 'declareTask', input: inMail, output: mail }
const deleteMail: ExampleCall = { operation: 'deleteTask', input: inMail, output: deletedMail }

export const listTasks: Example[] = [
  {
    name: 'all',
    summary: 'All tasks',
    given: [declareMail],
    input: { db: 'app' },
    output: { tasks: [mail], cursor: null },
  },
  {
    name: 'deletedOnes',
    summary: 'The deleted tasks that can be restored',
    given: [declareMail, deleteMail],
    input: { db: 'app', deleted: true },
    output: { tasks: [deletedMail], cursor: null },
  },
]

const secret = 'whsec_Uyo2pM1YkTQx0ZbC7vRfHn4eWj9sLdGa3tKqXiB5rO8='
const daily = { cron: '30 6 * * mon-fri', timezone: 'Europe/Berlin', payload: { kind: 'daily' } }

export const declareTask: Example[] = [
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
]

export const describeTask: Example[] = [
  { name: 'describe', summary: 'A task', given: [declareMail], input: inMail, output: mail },
  {
    name: 'deleted',
    summary: 'A task that was deleted',
    given: [declareMail, deleteMail],
    input: inMail,
    error: {
      code: 'task_not_found',
      message: 'The task mail in database app was deleted.',
      hint: [
        'Restore it until 2026-01-09T00:00:00.000Z: ',
        call('restoreTask', inMail),
        '; or declare a new task without runs: ',
        call('declareTask', inMail),
      ],
    },
  },
]

export const deleteTask: Example[] = [
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
]

export const restoreTask: Example[] = [
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
]

export const createTaskSecret: Example[] = [
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
]
