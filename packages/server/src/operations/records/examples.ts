import type { Members } from '../../core/members.ts'
import {
  type ExampleCall,
  type ExampleError,
  firstOrder,
  firstOrderAt,
  inOrders,
  laterAt,
  putInOrders,
  secondOrder,
  secondOrderAt,
} from '../example.ts'

/** Another writer changed the record after it was read. */
export const overtaken = [putInOrders({ ...secondOrder, data: {} }, laterAt)]
export const wrongVersion: ExampleError = {
  code: 'precondition_failed',
  message: `The record is at version ${laterAt}; nothing was changed.`,
  hint: `Read the record again, apply your change to it, and write with its new version, ${laterAt}.`,
}

export const thirdOrder = {
  hashKey: 'bob',
  rangeKey: 'o-3',
  data: { status: 'open', total: 12, placedAt: '2026-01-07T10:00:00Z' },
}
export const paidOrder = { ...firstOrder, data: { ...firstOrder.data, status: 'paid' } }
export const session = { hashKey: 'session-7', data: { user: 'ada' }, ttl: 4102444800 }

export const absentForCondition: ExampleError = {
  code: 'precondition_failed',
  message: 'The record does not exist; nothing was changed.',
  hint: 'Write without the condition, or with one that holds for an absent record, to create it.',
}

// ── Queries and batches ────────────────────────────────────────────────────────────────────────────────────

export const first = { ...firstOrder, updatedAt: firstOrderAt }
export const second = { ...secondOrder, updatedAt: secondOrderAt }
export const withoutData = ({ hashKey, rangeKey, updatedAt }: typeof first) => ({ hashKey, rangeKey, updatedAt })
export const cursor = 'Ahiozs1TS92gs31IqvfH-3B4rFIQ-TSvkM2O2hEJh9RqJEb_UwJwBmuTiAx128GwQjYVarx4B3kjRoCAHAU_'
export const firstPage = { hash: 'ada', range: { beginsWith: 'o-' }, ascending: false, limit: 1 }

export const askFirstPage: ExampleCall = {
  operation: 'queryRecords',
  input: { ...inOrders, ...firstPage },
  output: { items: [second], count: 1, cursor },
}

/** A record key as our client takes it: a string names a record without a range key. */
export const clientKey = ({ hashKey, rangeKey }: Members): unknown =>
  rangeKey === undefined ? hashKey : { hashKey, rangeKey }
