import { call } from '../../core/hint.ts'
import type { Members } from '../../core/members.ts'
import { type Example, type ExampleCall, type ExampleError, inOrders, laterAt } from '../example.ts'

// Times after `laterAt`: what happens to a run after it was added.
const claimedAt = 1767780001000
const changedAt = 1767780002000
const leaseUntil = 1767780031000
// The source of the bytes of an upload. One of the two is called, once.
const finishedAt = 1767780001999
const cancelledAt = 1767780000999

export const ofMail = { db: 'app', task: 'mail' }
export const payload = { to: 'ada@example.com', order: 'o-1' }
export const id = 'order-o-1'
export const lease = 'lease_1W8nJq5Z0aXc7TfRk3YdLm'
export const ofRun = { ...ofMail, run: id }

export const queued = {
  id,
  task: 'mail',
  status: 'queued',
  payload,
  key: null,
  user: null,
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
export const claimed = { ...running, lease, leaseUntil }
export const result = { messageId: '<1@mail.example.com>' }
export const succeeded = { ...running, status: 'succeeded', result, updatedAt: changedAt, finishedAt }
export const error = { code: 'worker', message: 'The mail server is busy.' }
export const failed = { ...running, status: 'failed', error, updatedAt: changedAt, finishedAt }
export const cancelled = { ...queued, status: 'cancelled', updatedAt: claimedAt, finishedAt: cancelledAt }

export const declare: ExampleCall = { operation: 'declareTask', input: ofMail }
const add: ExampleCall = { operation: 'runTask', input: { ...ofMail, id, payload }, output: queued }
const claim: ExampleCall = { operation: 'claimRuns', input: ofMail, output: { runs: [claimed] } }
export const fail: ExampleCall = {
  operation: 'finishRun',
  input: { ...ofRun, lease, error: { message: error.message }, retry: false },
  output: failed,
}
export const cancel: ExampleCall = { operation: 'cancelRun', input: ofRun, output: cancelled }

export const toClaim = [declare, add]
export const toFinish = [declare, add, claim]

export const taskMissing: ExampleError = {
  code: 'task_not_found',
  message: 'There is no task invoices in database app.',
  hint: ['Declare it: ', call('declareTask', { ...ofMail, task: 'invoices' })],
}
export const runMissing: ExampleError = {
  code: 'run_not_found',
  message: `The task mail has no run "${id}".`,
  hint: ['It may have been removed when its time to be kept was over. Look for runs: ', call('queryRuns', ofMail)],
}
export const leaseIsLost: ExampleError = {
  code: 'lease_lost',
  message: 'The lease is not that of the running attempt, or it has expired; nothing was changed.',
  field: 'lease',
  hint: 'Stop this attempt: another one may have begun, or the run was cancelled. Extend the lease earlier next time.',
}
export const idIsTaken: ExampleError = {
  code: 'run_exists',
  message: `The run "${id}" exists with another payload; nothing was changed.`,
  field: 'id',
  hint: 'Use another id, or send the same payload to repeat the call.',
}

/** The example for the batch of a table. */
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

/**
 * Returns the arguments with which our client changes an attempt. The lease belongs to the run, as in the response to a claim.
 */
export const clientLease = ({ run, lease, ...members }: Members): unknown[] => [{ id: run, lease }, members]
