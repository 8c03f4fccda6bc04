import type { ErrorCode } from '../core/errors.ts'
import type { Hint } from '../core/hint.ts'
import type { Members } from '../core/members.ts'

/** A call, and its output if a later call depends on it. */
export interface ExampleCall {
  readonly operation: string
  readonly input: Readonly<Members>
  readonly output?: unknown
}

export interface ExampleError {
  readonly code: ErrorCode
  readonly message: string
  readonly field?: string
  readonly hint?: Hint
}

/**
 * An input with its output or error. Tests run each example twice, directly and over HTTP, each time on a new store after
 * the calls of `exampleStore` and then those of `given`, and compare the results.
 */
export interface Example {
  readonly name: string
  readonly summary: string
  readonly given?: readonly ExampleCall[]
  readonly input: Readonly<Members>
  readonly output?: unknown
  /** The version of the record, if the output does not have it. */
  readonly version?: number
  readonly error?: ExampleError
  /** The store was in this state already, and nothing was written. */
  readonly unchanged?: true
  /** The caller wants an answer only if the record is at another version, or one without data. */
  readonly wants?: 'changes' | 'minimal'
}

/** Members with the condition as our client names it. */
export const withClientCondition = ({ ifUpdatedAt, ...members }: Members): Members => {
  if (ifUpdatedAt === undefined) return members
  return ifUpdatedAt === null ? { ...members, ifAbsent: true } : { ...members, ifMatch: ifUpdatedAt }
}

// Placeholders for the times of a real store: tests map each to the time that the store returned.
const tableCreatedAt = 1767225600000
export const firstOrderAt = 1767607200000
export const secondOrderAt = 1767693600000
export const draftAt = 1767697200000
export const laterAt = 1767780000000
export const tableDeletedAt = 1767312000000

export const indices = { i1: { hashField: 'status', rangeField: 'placedAt' } }

/** The table that the examples use. */
export const inOrders = { db: 'app', table: 'orders' }

export const orders = { ...inOrders, indices, status: 'active', createdAt: tableCreatedAt }

export const deletedOrders = {
  ...orders,
  status: 'deleted',
  deletedAt: tableDeletedAt,
  recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000,
}

export const firstOrder = {
  hashKey: 'ada',
  rangeKey: 'o-1',
  data: { status: 'open', total: 40, placedAt: '2026-01-05T10:00:00Z' },
}

export const secondOrder = {
  hashKey: 'ada',
  rangeKey: 'o-2',
  data: { status: 'open', total: 25, placedAt: '2026-01-06T10:00:00Z' },
}

export const draft = { hashKey: 'draft', data: { total: 0 }, ttl: 4102444800 }

export const putInOrders = (record: object, updatedAt: number): ExampleCall => ({
  operation: 'putRecord',
  input: { ...inOrders, ...record },
  output: { ...record, updatedAt },
})

export const deleteOrders: ExampleCall = { operation: 'deleteTable', input: inOrders, output: deletedOrders }

/** The initial state for every example: a table with one index, two orders of one customer, a draft that expires in 2100. */
export const exampleStore: ExampleCall[] = [
  { operation: 'createTable', input: { ...inOrders, indices }, output: orders },
  putInOrders(firstOrder, firstOrderAt),
  putInOrders(secondOrder, secondOrderAt),
  putInOrders(draft, draftAt),
]
