import { call } from '../../core/hint.ts'
import { type Example, type ExampleCall, type ExampleError, inOrders, laterAt } from '../example.ts'

// Times after `laterAt`: what happens to a run after it was added.
const claimedAt = 1767780001000
const changedAt = 1767780002000
const leaseUntil = 1767780031000
// A version is above the one before even if the clock stands still, so these two may differ.
const finishedAt = 1767780001999
const cancelledAt = 1767780000999

const ofMail = { db: 'app', task: 'mail' }
const payload = { to: 'ada@example.com', order: 'o-1' }
const id = 'order-o-1'
const lease = 'lease_1W8nJq5Z0aXc7TfRk3YdLm'
const ofRun = { ...ofMail, run: id }

const queued = {
  id,
  task: 'mail',
  status: 'queued',
  payload,
  key: null,
  runAt: laterAt,
  attempt: 0,
  progress: null,
  result: null,
  error: null,
  createdAt: laterAt,
  updatedAt: laterAt,
  finishedAt: null,
}
const running = { ...queued, status: 'running', attempt: 1, updatedAt: claimedAt }
const claimed = { ...running, lease, leaseUntil }
const result = { messageId: '<1@mail.example.com>' }
const succeeded = { ...running, status: 'succeeded', result, updatedAt: changedAt, finishedAt }
const error = { code: 'worker', message: 'The mail server is busy.' }
const failed = { ...running, status: 'failed', error, updatedAt: changedAt, finishedAt }
const cancelled = { ...queued, status: 'cancelled', updatedAt: claimedAt, finishedAt: cancelledAt }

const declare: ExampleCall = { operation: 'declareTask', input: ofMail }
const add: ExampleCall = { operation: 'runTask', input: { ...ofMail, id, payload }, output: queued }
const claim: ExampleCall = { operation: 'claimRuns', input: ofMail, output: { runs: [claimed] } }
const fail: ExampleCall = {
  operation: 'finishRun',
  input: { ...ofRun, lease, error: { message: error.message }, retry: false },
  output: failed,
}
const cancel: ExampleCall = { operation: 'cancelRun', input: ofRun, output: cancelled }

export const toClaim = [declare, add]
const toFinish = [declare, add, claim]

const taskMissing: ExampleError = {
  code: 'task_not_found',
  message: 'There is no task invoices in database app.',
  hint: ['Declare it: ', call('declareTask', { ...ofMail, task: 'invoices' })],
}
const runMissing: ExampleError = {
  code: 'run_not_found',
  message: `The task mail has no run "${id}".`,
  hint: ['It may have been removed when its time to be kept was over. Look for runs: ', call('queryRuns', ofMail)],
}
const leaseLost: ExampleError = {
  code: 'lease_lost',
  message: 'The lease is not that of the running attempt, or it has expired; nothing was changed.',
  field: 'lease',
  hint: 'Stop this attempt: another one may have begun, or the run was cancelled. Extend the lease earlier next time.',
}
const idTaken: ExampleError = {
  code: 'run_exists',
  message: `The run "${id}" exists with another payload; nothing was changed.`,
  field: 'id',
  hint: 'Use another id, or send the same payload to repeat the call.',
}

export const runTask: Example[] = [
  {
    name: 'once',
    summary: 'A run with an id, so that the call can be repeated',
    given: [declare],
    input: { ...ofMail, id, payload },
    output: queued,
  },
  {
    name: 'repeated',
    summary: 'The same call again',
    given: toClaim,
    input: { ...ofMail, id, payload },
    output: queued,
    unchanged: true,
  },
  {
    name: 'keyed',
    summary: 'Bring one thing up to date',
    given: [declare],
    input: { ...ofMail, key: 'ada', payload: { customer: 'ada' } },
    output: { ...queued, id: 'run_5Yb2VtKx8QmZ1nWc4RdJ7s', payload: { customer: 'ada' }, key: 'ada' },
  },
  {
    name: 'otherPayload',
    summary: 'An id that another run has',
    given: toClaim,
    input: { ...ofMail, id, payload: { to: 'bob@example.com' } },
    error: idTaken,
  },
  {
    name: 'noTask',
    summary: 'A task that was not declared',
    input: { ...ofMail, task: 'invoices', payload },
    error: taskMissing,
  },
]

export const getRun: Example[] = [
  { name: 'found', summary: 'A run that waits', given: toClaim, input: ofRun, output: queued },
  {
    name: 'finished',
    summary: 'Wait for the end of a run',
    given: [...toFinish, fail],
    input: { ...ofRun, waitSeconds: 20 },
    output: failed,
  },
  { name: 'noRun', summary: 'A run that does not exist', given: [declare], input: ofRun, error: runMissing },
]

export const queryRuns: Example[] = [
  {
    name: 'failedOnes',
    summary: 'The runs that failed, newest first',
    given: [...toFinish, fail],
    input: { ...ofMail, status: 'failed' },
    output: { items: [failed], count: 1, cursor: null },
  },
  {
    name: 'count',
    summary: 'How many runs wait',
    given: toClaim,
    input: { ...ofMail, status: 'queued', select: 'count' },
    output: { items: [], count: 1, cursor: null },
  },
  {
    name: 'noSuchStatus',
    summary: 'A status that no run can have',
    given: [declare],
    input: { ...ofMail, status: 'done' },
    error: {
      code: 'invalid_request',
      message: 'status is "done"; it takes one of "queued", "running", "succeeded", "failed", "cancelled".',
      field: 'status',
      hint: 'Leave status out for all runs.',
    },
  },
  {
    name: 'wrongRange',
    summary: 'A range with an operator that does not exist',
    given: [declare],
    input: { ...ofMail, range: { since: 1767780000000 } },
    error: {
      code: 'invalid_range',
      message: 'range has the operator "since"; the operators are eq, lt, lte, gt, gte, between, beginsWith.',
      field: 'range',
      hint: 'For example { "gte": 10, "lt": 20 }.',
    },
  },
]

export const claimRuns: Example[] = [
  {
    name: 'one',
    summary: 'The run that is due longest',
    given: toClaim,
    input: { ...ofMail, waitSeconds: 20 },
    output: { runs: [claimed] },
  },
  { name: 'none', summary: 'No run is due', given: [declare], input: { ...ofMail, limit: 10 }, output: { runs: [] } },
  {
    name: 'tooMany',
    summary: 'A limit that is too large',
    given: [declare],
    input: { ...ofMail, limit: 1000 },
    error: {
      code: 'invalid_request',
      message: 'limit is 1000; it takes an integer from 1 to 100.',
      field: 'limit',
      hint: 'Claim 100 at a time.',
    },
  },
]

export const extendRun: Example[] = [
  {
    name: 'progress',
    summary: 'A sign of life with progress',
    given: toFinish,
    input: { ...ofRun, lease, leaseSeconds: 60, progress: { sent: 3, of: 10 } },
    output: { leaseUntil: 1767780062000 },
  },
  {
    name: 'lost',
    summary: 'The run was cancelled',
    given: [...toFinish, { ...cancel, output: undefined }],
    input: { ...ofRun, lease },
    error: leaseLost,
  },
]

export const finishRun: Example[] = [
  {
    name: 'succeeded',
    summary: 'The attempt has succeeded',
    given: toFinish,
    input: { ...ofRun, lease, result },
    output: succeeded,
  },
  {
    name: 'failed',
    summary: 'The attempt has failed for good',
    given: toFinish,
    input: { ...ofRun, lease, error: { message: error.message }, retry: false },
    output: failed,
  },
  {
    name: 'lost',
    summary: 'The lease of another attempt',
    given: toFinish,
    input: { ...ofRun, lease: 'lease_0', result },
    error: leaseLost,
  },
]

export const cancelRun: Example[] = [
  { name: 'queued', summary: 'A run that waits', given: toClaim, input: ofRun, output: cancelled },
  {
    name: 'finished',
    summary: 'A run that has finished',
    given: [...toFinish, fail],
    input: ofRun,
    error: {
      code: 'run_finished',
      message: `The run "${id}" has failed; it cannot be cancelled.`,
      hint: 'Nothing is left to do.',
    },
  },
]

export const retryRun: Example[] = [
  {
    name: 'failed',
    summary: 'A run that has failed',
    given: [...toFinish, fail],
    input: ofRun,
    output: { ...queued, runAt: 1767780002999, updatedAt: 1767780003000 },
  },
  {
    name: 'queued',
    summary: 'A run that waits already',
    given: toClaim,
    input: ofRun,
    error: {
      code: 'run_exists',
      message: `The run "${id}" is queued; only a finished run can be retried.`,
      hint: 'Wait until it has finished, or cancel it first.',
    },
  },
]

export const applyTaskBatch: Example[] = [
  {
    name: 'next',
    summary: 'Finish a run and add the next one',
    given: toFinish,
    input: {
      ...ofMail,
      operations: [
        { op: 'finish', run: id, lease, result },
        { op: 'run', id: 'order-o-2', payload: { to: 'ada@example.com', order: 'o-2' } },
      ],
    },
    output: { count: 2, runs: [id, 'order-o-2'] },
  },
  {
    name: 'lost',
    summary: 'The lease of another attempt: nothing is applied',
    given: toFinish,
    input: { ...ofMail, operations: [{ op: 'finish', run: id, lease: 'lease_0' }] },
    error: { ...leaseLost, field: 'operations[0].lease' },
  },
]

/** For the batch of a table. */
export const orderWithMail: Example = {
  name: 'withRun',
  summary: 'An order and its mail, together or not at all',
  given: [declare],
  input: {
    ...inOrders,
    operations: [
      { op: 'put', hashKey: 'ada', rangeKey: 'o-3', data: { status: 'open' } },
      { op: 'run', task: 'mail', id: 'order-o-3', payload: { to: 'ada@example.com', order: 'o-3' } },
    ],
  },
  output: { count: 2, runs: ['order-o-3'] },
}
