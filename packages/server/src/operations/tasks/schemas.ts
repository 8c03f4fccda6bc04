import type {
  ActiveTask,
  CreateTaskSecretRequest,
  CreateTaskSecretResponse,
  DeclaredTask,
  DeclareTaskRequest,
  DeletedTask,
  FollowTable,
  ListTasksResponse,
  RestoreTaskRequest,
  RunCounts,
} from '@cubbydb/client'
import {
  attemptsDefault,
  authorizationCharactersMax,
  backoffSecondsDefault,
  cronCharactersMax,
  followersOfTableMax,
  keepSecondsDefault,
  leaseSecondsDefault,
  pushConcurrencyDefault,
  pushLeaseSecondsMax,
  pushUrlCharactersMax,
  recoveryMs,
  runsCountedInListingMax,
  runsCountedMax,
  scheduleSecondsMax,
} from '../../core/limits.ts'
import { followedOps } from '../../core/tasks/following.ts'
import { declarationRules } from '../../core/tasks/parse-declaration.ts'
import { type RunStatus, runStatuses } from '../../core/tasks/run.ts'
import {
  closed,
  exactIntegers,
  freeObject,
  milliseconds,
  nextCursor,
  nullable,
  number,
  objectOf,
  ref,
  type Schema,
  times,
} from '../schema.ts'
import { dbMember } from '../tables/schemas.ts'

const whole = (minimum: number, maximum: number, description: string): Schema => ({
  type: 'integer',
  minimum,
  maximum,
  description,
})

const counts = {
  leaseSeconds: {
    ...declarationRules.leaseSeconds,
    description: `How long an attempt may go without a sign of life. With \`url\` at most ${pushLeaseSecondsMax}. ${leaseSecondsDefault} by default.`,
  },
  attempts: {
    ...declarationRules.attempts,
    description: `How often a run is tried before it has failed. ${attemptsDefault} by default.`,
  },
  backoffSeconds: {
    ...declarationRules.backoffSeconds,
    description: `The second attempt waits for so long, and each further one twice as long as the one before, at most an hour; a random 50 to 100 % of that. ${backoffSecondsDefault} by default.`,
  },
  concurrency: {
    ...declarationRules.concurrency,
    description: `How many runs are handed out at once. By default ${pushConcurrencyDefault} with \`url\`, and any number without.`,
  },
  keepSeconds: {
    ...declarationRules.keepSeconds,
    description: `Finished runs are kept for so long. ${number(keepSecondsDefault)} by default.`,
  },
}

const paused: Schema = {
  type: 'boolean',
  description: 'True: nothing is handed out, pushed or scheduled; runs may still be added. False by default.',
}

const every = whole(1, scheduleSecondsMax, 'Seconds: the task runs at the multiples of them since 1970.')
const cron: Schema = {
  type: 'string',
  maxLength: cronCharactersMax,
  description:
    'Minute, hour, day of month, month and day of week: numbers, `*`, lists, ranges, steps, names of months and days. If neither field of days begins with `*`, a day that matches one of them is enough.',
}
const timezone: Schema = {
  type: 'string',
  maxLength: 64,
  description: 'The IANA name of a time zone. `UTC` by default.',
}
const payload = freeObject('The payload of each run, returned exactly as it was sent. `{}` by default.')
const nextRunAt = nullable('integer', {
  ...times,
  description: 'The next time of the schedule; null while the task is paused or deleted. Epoch milliseconds.',
})

/** A schema of one of the two forms of a schedule, which are a union in the client. */
const form = (description: string, required: string[], properties: Record<string, Schema>): Schema => ({
  type: 'object',
  description,
  properties,
  required,
})

const ops: Schema = {
  type: 'array',
  items: { type: 'string', enum: [...followedOps] },
  minItems: 1,
  maxItems: followedOps.length,
  uniqueItems: true,
  description:
    'The writes that add a run: `put` (a patch and a line of a load too), `delete`, `expire` (the removal of an expired record, some minutes after its `ttl`). All by default.',
}

const taskFields = {
  db: ref('Name'),
  task: ref('Name'),
  url: nullable('string', { description: 'The address to which runs are pushed; null: workers claim them.' }),
  authorization: nullable('string', {
    description: '`****` if pushes are sent with one. It is never shown.',
  }),
  ...counts,
  concurrency: nullable('integer', {
    ...counts.concurrency,
    description: 'How many runs are handed out at once; null: any number.',
  }),
  paused,
  schedule: {
    description: 'When the task runs by itself; null: only when it is asked to.',
    anyOf: [ref('IntervalOfTask'), ref('CronOfTask'), { type: 'null' }],
  },
  on: {
    description: 'What the task follows; null: no table.',
    anyOf: [ref('FollowedByTask'), { type: 'null' }],
  },
  oldestRunAt: nullable('integer', {
    ...exactIntegers,
    description:
      'Since when the oldest due run has been waiting, also one that a key, the concurrency limit or a pause holds back; null if none is. Epoch milliseconds. In a listing also null while the database cannot reach the runs of the task.',
  }),
  counts: ref('RunCounts'),
  createdAt: milliseconds('When the task was declared first.'),
  updatedAt: milliseconds('The version of the declaration.'),
} satisfies Record<string, Schema>

const required = [
  ...(['db', 'task', 'url', 'authorization', 'leaseSeconds', 'attempts', 'backoffSeconds', 'concurrency'] as const),
  ...(['keepSeconds', 'paused', 'schedule', 'on', 'oldestRunAt', 'status', 'createdAt', 'updatedAt'] as const),
]

const active = { type: 'string', const: 'active' } satisfies Schema

const secret: Schema = {
  type: 'string',
  pattern: '^whsec_[0-9A-Za-z+/]{43}=$',
  description: 'The secret that signs pushes. It is shown once.',
}

const runCounts: Schema = {
  ...objectOf<RunCounts>(
    `How many runs have each status, if \`counts\` asked for it: each up to ${number(runsCountedMax)}, and in a listing up to ${runsCountedInListingMax}. In a listing absent while the database cannot reach the runs of the task.`,
    [...runStatuses],
    Object.fromEntries(
      runStatuses.map((status) => [status, { type: 'integer', minimum: 0, maximum: runsCountedMax }]),
    ) as Record<RunStatus, Schema>,
  ),
}

export const taskSchemas = {
  RunCounts: runCounts,
  IntervalSchedule: closed(form('At the multiples of a number of seconds.', ['every'], { every, payload })),
  CronSchedule: closed(form('At the times of a cron pattern.', ['cron'], { cron, timezone, payload })),
  IntervalOfTask: form('A schedule by seconds, and its next time.', ['every', 'payload', 'nextRunAt'], {
    ...{ every, payload, nextRunAt },
  }),
  CronOfTask: form('A schedule by a cron pattern, and its next time.', ['cron', 'timezone', 'payload', 'nextRunAt'], {
    ...{ cron, timezone, payload, nextRunAt },
  }),
  DeclareTaskRequest: closed(
    objectOf<DeclareTaskRequest>('A declaration. A member that it leaves out has its default.', [], {
      url: {
        type: 'string',
        minLength: 1,
        maxLength: pushUrlCharactersMax,
        description:
          'The address to which runs are pushed: `https`, without a user or password. Without it, workers claim the runs.',
      },
      authorization: {
        type: 'string',
        pattern: '^[ -~]+$',
        minLength: 1,
        maxLength: authorizationCharactersMax,
        description:
          'The `authorization` that is sent with each push: printable ASCII. `****` keeps the present one while the origin of `url` stays.',
      },
      ...counts,
      paused,
      schedule: {
        description: 'When the task runs by itself: `every` or `cron`.',
        anyOf: [ref('IntervalSchedule'), ref('CronSchedule')],
      },
      on: ref('FollowTable'),
    }),
  ),
  FollowTable: closed(
    objectOf<FollowTable>(
      `The table that the task follows: every applied write adds a run in its own commit. At most ${followersOfTableMax} tasks follow a table.`,
      ['table'],
      { table: { ...ref('Name'), description: 'A table of the same database.' }, ops },
    ),
  ),
  FollowedByTask: objectOf<Required<FollowTable>>('A table that a task follows.', ['table', 'ops'], {
    table: ref('Name'),
    ops,
  }),
  RestoreTaskRequest: closed(
    objectOf<RestoreTaskRequest>('Which task to restore, if several with the same name were deleted.', [], {
      // No task was deleted before 1970, but it is not an error to ask for one.
      deletedAt: {
        ...milliseconds('The `deletedAt` of the task; absent: the task deleted last.'),
        ...exactIntegers,
      },
    }),
  ),
  CreateTaskSecretRequest: closed(
    objectOf<CreateTaskSecretRequest>('What happens to the earlier secret.', [], {
      revokeOld: {
        type: 'boolean',
        description: 'True: only the new secret signs from now on. Otherwise the one before signs along for 24 hours.',
      },
    }),
  ),
  TaskSecret: objectOf<CreateTaskSecretResponse>('A secret that signs pushes.', ['secret'], { secret }),
  ActiveTask: objectOf<ActiveTask>('A task.', [...required], { ...taskFields, status: active }),
  DeclaredTask: objectOf<DeclaredTask>('A task as it was declared.', [...required], {
    ...taskFields,
    status: active,
    secret: { ...secret, description: 'The secret that signs pushes: only in the answer that creates it.' },
  }),
  DeletedTask: objectOf<DeletedTask>(
    'A deleted task that can be restored.',
    [...required, 'deletedAt', 'recoverableUntil'],
    {
      ...taskFields,
      status: { type: 'string', const: 'deleted' },
      deletedAt: milliseconds('When it was deleted.'),
      recoverableUntil: milliseconds(
        `It can be restored until this time, ${recoveryMs / 86_400_000} days after \`deletedAt\`.`,
      ),
    },
  ),
  TaskList: objectOf<ListTasksResponse>('Tasks by name.', ['tasks', 'cursor'], {
    tasks: { type: 'array', items: { oneOf: [ref('ActiveTask'), ref('DeletedTask')] } },
    cursor: nextCursor,
  }),
} satisfies Record<string, Schema>

export const taskMembers = {
  ...dbMember,
  task: { ...ref('Name'), description: 'The task, for example one per kind of work.' },
} satisfies Record<string, Schema>

export const taskRequired = ['db', 'task']

/** Asks for the number of runs of each status. */
export const countsMember = (countedMax: number): Schema => ({
  type: 'boolean',
  default: false,
  description: `True: \`counts\` says how many runs have each status, each counted up to ${number(countedMax)}.`,
})

/** A condition on the version of the declaration. */
export const condition = {
  ifUpdatedAt: {
    description:
      'Write only if the declaration is at this version: the `updatedAt` that was read; `*`: only if the task exists; null: only if it does not.',
    oneOf: [nullable('integer', exactIntegers), { type: 'string', const: '*' }],
  },
} satisfies Record<string, Schema>
