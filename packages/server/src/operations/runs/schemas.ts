import type {
  ClaimedRun,
  ClaimRequest,
  ClaimResponse,
  ExtendRequest,
  ExtendResponse,
  FailureOperation,
  FailureRequest,
  Run,
  RunError,
  RunOperation,
  RunQuery,
  RunQueryResponse,
  RunRequest,
  RunView,
  SuccessOperation,
  SuccessRequest,
  TaskBatchRequest,
  TaskBatchResponse,
} from '@cubbydb/client'
import {
  batchOperationsMax,
  claimRunsMax,
  countRowsMax,
  pageBytesMax,
  pageRowsDefault,
  pageRowsMax,
} from '../../core/limits.ts'
import { claimLimitRule, waitSecondsRule } from '../../core/tasks/parse-numbers.ts'
import { ascendingRule, runQueryRules } from '../../core/tasks/run-query.ts'
import {
  closed,
  cursorText,
  milliseconds,
  nextCursor,
  nullable,
  number,
  objectOf,
  ref,
  type Schema,
} from '../schema.ts'
import { taskMembers } from '../tasks/schemas.ts'
import {
  failureExcludes,
  failureMembers,
  lease,
  leaseSeconds,
  progressMember,
  runExcludes,
  runFieldSchemas,
  runMembers,
  statusSchema,
  successMembers,
  taskMember,
} from './run-members.ts'

const publicFields = [
  ...(['id', 'task', 'status', 'runAt', 'attempt', 'progress', 'result', 'error'] as const),
  ...(['createdAt', 'updatedAt', 'finishedAt'] as const),
] as const
const allFields = [...publicFields, 'payload', 'key', 'user'] as const

/** `task` is required, except where another place names it. */
const runOperation = (required: ('op' | 'task')[]): Schema => ({
  ...closed(
    objectOf<RunOperation>('Adds a run to a task.', required as ['op', 'task'], {
      op: { type: 'string', const: 'run' },
      task: taskMember,
      ...runMembers,
    }),
  ),
  ...runExcludes,
})

const finishMembers = {
  op: { type: 'string', const: 'finish' },
  task: taskMember,
  run: { type: 'string', description: 'The id of the run.' },
} satisfies Record<string, Schema>

const successOperation = (required: ('op' | 'task' | 'run' | 'lease')[]): Schema =>
  closed(
    objectOf<SuccessOperation>('Finishes an attempt that has succeeded.', required, {
      ...finishMembers,
      ...successMembers,
    }),
  )

const failureOperation = (required: ('op' | 'task' | 'run' | 'lease' | 'error')[]): Schema => ({
  ...closed(
    objectOf<FailureOperation>('Finishes an attempt that has failed.', required, {
      ...finishMembers,
      ...failureMembers,
    }),
  ),
  ...failureExcludes,
})

const operationList = (names: string[], description: string): Schema => ({
  type: 'array',
  minItems: 1,
  maxItems: batchOperationsMax,
  items: { oneOf: names.map(ref) },
  description,
})

export const runSchemas = {
  RunStatus: statusSchema,
  RunError: objectOf<RunError>('Why an attempt failed.', ['code', 'message'], {
    code: {
      type: 'string',
      enum: ['worker', 'http_status', 'timeout', 'connection', 'target_refused', 'lease_expired'],
      description:
        '`worker`: the holder of the lease reported it. `http_status`: the answer to a push was not a success. `timeout`: no whole answer to a push came before the lease ended. `connection`: a push found no connection, or lost it. `target_refused`: the address of the push is not allowed. `lease_expired`: the attempt neither finished nor extended its lease in time.',
    },
    message: { type: 'string', description: 'For people. It never contains the answer to a push.' },
  }),
  Run: objectOf<Run>('A run.', [...allFields], runFieldSchemas),
  RunView: objectOf<RunView>('A run.', [...publicFields], {
    ...runFieldSchemas,
    payload: { ...runFieldSchemas.payload, description: `${runFieldSchemas.payload.description} Not for public keys.` },
    key: { ...runFieldSchemas.key, description: `${runFieldSchemas.key.description} Absent for public keys.` },
    user: { ...runFieldSchemas.user, description: `${runFieldSchemas.user.description} Absent for public keys.` },
  }),
  RunRequest: { ...closed(objectOf<RunRequest>('A run to add.', [], runMembers)), ...runExcludes },
  RunQuery: closed(
    objectOf<RunQuery>('Which runs to list.', [], {
      status: { ...ref('RunStatus'), description: 'Only runs in this state.' },
      range: ref('RecencyRange'),
      select: {
        ...runQueryRules.select,
        description:
          '`data`: the runs, as without `select`. `count`: `items` is empty, and `count` is the number of runs that matched.',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        description: `The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of runs that are counted: ${number(countRowsMax)} if absent, and at most.`,
      },
      ascending: { ...ascendingRule, description: 'True: oldest first. False if absent.' },
      cursor: nullable('string', {
        ...cursorText,
        description:
          'The `cursor` of the previous page, with the same status, range and direction; null: the first page.',
      }),
    }),
  ),
  RunPage: objectOf<RunQueryResponse>(
    `A page. It ends early where the JSON text of \`items\` would exceed ${number(pageBytesMax)} bytes. A page may be short or even empty and still have a cursor: only null means the end.`,
    ['items', 'count', 'cursor'],
    {
      items: { type: 'array', items: ref('RunView'), maxItems: pageRowsMax },
      count: {
        type: 'integer',
        minimum: 0,
        maximum: countRowsMax,
        description: 'The number of items in this page; with `select: "count"` the number of runs that matched.',
      },
      cursor: nextCursor,
    },
  ),
  ClaimRequest: closed(
    objectOf<ClaimRequest>('How much to claim.', [], {
      limit: {
        ...claimLimitRule,
        description: 'The maximum number of runs, 1 if absent.',
      },
      leaseSeconds,
      waitSeconds: {
        ...waitSecondsRule,
        description: 'How long the answer waits for the first run. 0 if absent.',
      },
    }),
  ),
  ClaimedRun: objectOf<ClaimedRun>('A run that is held by the caller.', [...allFields, 'lease', 'leaseUntil'], {
    ...runFieldSchemas,
    lease: { type: 'string', description: 'Proves that the caller holds the run: finish and extend need it.' },
    leaseUntil: milliseconds('When the lease ends.'),
  }),
  ClaimResponse: objectOf<ClaimResponse>('The claimed runs.', ['runs'], {
    runs: {
      type: 'array',
      items: ref('ClaimedRun'),
      maxItems: claimRunsMax,
      description: 'In the order of `runAt`, then creation. Empty if none is due.',
    },
  }),
  ExtendRequest: closed(
    objectOf<ExtendRequest>('A sign of life of an attempt.', ['lease'], {
      lease,
      leaseSeconds,
      progress: progressMember,
    }),
  ),
  ExtendResponse: objectOf<ExtendResponse>('The extended lease.', ['leaseUntil'], {
    leaseUntil: milliseconds('When the lease ends.'),
  }),
  SuccessRequest: closed(objectOf<SuccessRequest>('The attempt has succeeded.', ['lease'], successMembers)),
  FailureRequest: {
    ...closed(objectOf<FailureRequest>('The attempt has failed.', ['lease', 'error'], failureMembers)),
    ...failureExcludes,
  },
  FinishRequest: {
    description: 'How the attempt has ended.',
    oneOf: [ref('SuccessRequest'), ref('FailureRequest')],
  },
  NoMembers: closed({ type: 'object', description: 'The body has no members.', properties: {} }),

  RunOperation: runOperation(['op', 'task']),
  SuccessOperation: successOperation(['op', 'task', 'run', 'lease']),
  FailureOperation: failureOperation(['op', 'task', 'run', 'lease', 'error']),
  TaskRunOperation: runOperation(['op']),
  TaskSuccessOperation: successOperation(['op', 'run', 'lease']),
  TaskFailureOperation: failureOperation(['op', 'run', 'lease', 'error']),
  TaskBatchRequest: closed(
    objectOf<TaskBatchRequest>('Operations of which all are applied, or none.', ['operations'], {
      operations: operationList(
        ['TaskRunOperation', 'TaskSuccessOperation', 'TaskFailureOperation'],
        'No two operations may name the same run, or the same key of a task. An operation without `task` is about the task of the request.',
      ),
    }),
  ),
  TaskBatchResponse: objectOf<TaskBatchResponse>('The result of a batch.', ['count', 'runs'], {
    count: {
      type: 'integer',
      minimum: 1,
      maximum: batchOperationsMax,
      description: 'The number of operations, all of which were applied.',
    },
    runs: { type: 'array', items: { type: 'string' }, description: 'The ids of the runs, one for each operation.' },
  }),
} satisfies Record<string, Schema>

// ── Members of inputs ──────────────────────────────────────────────────────────────────────────────────────

export const runAddressMembers = {
  ...taskMembers,
  run: { type: 'string', description: 'The id of the run.' },
} satisfies Record<string, Schema>

export const runAddressRequired = ['db', 'task', 'run']
