import {
  attemptsMax,
  dataBytesMax,
  dataDepthMax,
  errorMessageCharactersMax,
  keyBytesMax,
  progressBytesMax,
  runIdCharactersMax,
} from '../../core/limits.ts'
import { retryRule } from '../../core/tasks/parse-finish.ts'
import { delaySecondsRule, leaseSecondsRule, runAtMsMax, runAtMsMin } from '../../core/tasks/parse-numbers.ts'
import { runStatuses } from '../../core/tasks/run.ts'
import { isoDateTime } from '../records/query-schemas.ts'
import { freeObject, milliseconds, nullable, number, ref, type Schema, times } from '../schema.ts'

// The members of requests and answers about runs.

const objectLimits = `at most ${number(dataBytesMax)} bytes, as it was sent, and ${dataDepthMax} levels. It is returned exactly as it was sent`

const payload = freeObject(`The work to do: any JSON object of ${objectLimits}.`)
const result = freeObject(`The outcome of the attempt: any JSON object of ${objectLimits}.`)

/** The schema of an object or null in a response. */
const nullableObject = (description: string): Schema => ({
  type: ['object', 'null'],
  description,
  additionalProperties: true,
})

const id: Schema = {
  type: 'string',
  pattern: `^[A-Za-z0-9_-]{1,${runIdCharactersMax}}$`,
  minLength: 1,
  maxLength: runIdCharactersMax,
}

export const lease: Schema = { type: 'string', description: 'The lease that came with the run.' }

export const leaseSeconds: Schema = {
  ...leaseSecondsRule,
  description: 'How long the lease is valid from now on. As declared if absent.',
}

export const taskMember: Schema = { ...ref('Name'), description: 'A task of the database.' }

/** Members of a run to add. */
export const runMembers = {
  payload: { ...payload, description: `${payload.description} \`{}\` if absent.` },
  id: {
    ...id,
    description:
      'Makes the call repeatable: the same id with the same payload is the same run. It cannot be combined with `key`. Absent: the server makes one, `run_…`.',
  },
  key: {
    ...ref('RecordKeyPart'),
    description: `Names a thing to bring up to date, 1 to ${number(keyBytesMax)} bytes: at most one run of a key is queued, and at most one is running. It cannot be combined with \`id\`.`,
  },
  runAt: {
    anyOf: [
      { type: 'integer', format: 'int64', minimum: runAtMsMin, maximum: runAtMsMax },
      { type: 'string', pattern: isoDateTime },
    ],
    description:
      'When the run is due: epoch milliseconds or an ISO-8601 date-time up to the year 9999. It may be in the past. Absent: now.',
  },
  delaySeconds: {
    ...delaySecondsRule,
    description: 'The run is due so many seconds from now. It cannot be combined with `runAt`.',
  },
} satisfies Record<string, Schema>

const has = (...names: string[]): Schema => ({
  properties: Object.fromEntries(names.map((name) => [name, {}])),
  required: names,
})

/** The members of a run that exclude each other. */
export const runExcludes: Pick<Schema, 'not'> = { not: { anyOf: [has('id', 'key'), has('runAt', 'delaySeconds')] } }

export const successMembers = {
  lease,
  result: { ...result, description: `${result.description} Null in the run if absent.` },
} satisfies Record<string, Schema>

export const failureMembers = {
  lease,
  error: {
    type: 'object',
    description: 'Why the attempt failed.',
    properties: {
      message: {
        type: 'string',
        description: `A message of more than ${number(errorMessageCharactersMax)} characters is cut.`,
      },
    },
    required: ['message'],
    additionalProperties: false,
  },
  retry: { ...retryRule, description: 'False: the run fails for good. True if absent.' },
  retryAfter: {
    type: 'integer',
    minimum: 0,
    description:
      'The next attempt begins so many seconds from now, instead of after the backoff. More than a day is taken as a day. It cannot be combined with `retry: false`.',
  },
} satisfies Record<string, Schema>

export const failureExcludes: Pick<Schema, 'not'> = {
  not: { properties: { retry: { type: 'boolean', const: false }, retryAfter: {} }, required: ['retry', 'retryAfter'] },
}

export const progressMember = freeObject(
  `What the run shows while it is running: any JSON object of at most ${number(progressBytesMax)} bytes, as it was sent. It replaces the progress reported before.`,
)

/** A run in answers, in this order. */
export const runFieldSchemas = {
  id: { ...id, description: 'Unique among the runs of the task.' },
  task: { ...ref('Name'), description: 'The name of its task.' },
  status: ref('RunStatus'),
  payload,
  key: nullable('string', { description: 'Null if it has none.' }),
  user: nullable('string', { description: 'The user whose token added it; null without one.' }),
  runAt: { ...milliseconds('When it is, or was, due.'), minimum: runAtMsMin },
  attempt: {
    type: 'integer',
    minimum: 0,
    maximum: attemptsMax,
    description: 'How many attempts have begun: 0 until the first one starts.',
  },
  progress: nullableObject('What the holder of the lease reported last.'),
  result: nullableObject('What the attempt that succeeded has returned.'),
  error: {
    anyOf: [ref('RunError'), { type: 'null' }],
    description: 'The error of the last failed attempt. A success keeps it.',
  },
  createdAt: milliseconds('When it was created.'),
  updatedAt: milliseconds("The run's version, which is also its `ETag`. It strictly increases with every change."),
  finishedAt: nullable('integer', { ...times, description: 'When it finished. Epoch milliseconds.' }),
} satisfies Record<string, Schema>

export const statusSchema: Schema = {
  type: 'string',
  enum: runStatuses,
  description:
    '`queued`: it waits for `runAt`, which is in the future for a delay or between attempts. `running`: an attempt holds it under a lease. `succeeded`, `failed`, `cancelled`: finished.',
}
