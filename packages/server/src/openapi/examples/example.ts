import type { GivenStep } from '../types.ts'

/**
 * A request and the answer it gets. A test sends each to a real server on a store of its own, which holds what
 * `exampleStore` made and then what `given` did, and compares the answer.
 */
export interface Example {
  /** Under which parameters, body and answer stand in the document. */
  name: string
  summary: string
  given?: GivenStep[]
  /** Values of path parameters, query parameters and headers; `db` and `table` are `app` and `orders` if absent. */
  parameters?: Record<string, string | number | boolean>
  body?: unknown
  status: number
  /** Headers of the answer that are worth showing. */
  headers?: Record<string, string>
  answer?: unknown
  contentType?: string
}

// Times that stand for those of a real store: a test learns which is which.
export const tableCreatedAt = 1767225600000
export const firstOrderAt = 1767607200000
export const secondOrderAt = 1767693600000
export const draftAt = 1767697200000
export const laterAt = 1767780000000
export const tableDeletedAt = 1767312000000

export const indices = { i1: { hashField: 'status', rangeField: 'placedAt' } }

export const orders = {
  db: 'app',
  table: 'orders',
  indices,
  status: 'active',
  createdAt: tableCreatedAt,
}

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

const put = (record: object, updatedAt: number): GivenStep => ({
  method: 'PUT',
  path: '/v1/app/orders',
  body: record,
  answer: { ...record, updatedAt },
})

/** What every example finds: a table with one index, two orders of one customer, and a draft that expires in 2100. */
export const exampleStore: GivenStep[] = [
  { method: 'POST', path: '/v1/app/orders', body: { indices }, answer: orders },
  put(firstOrder, firstOrderAt),
  put(secondOrder, secondOrderAt),
  put(draft, draftAt),
]

export const deleteOrders: GivenStep = { method: 'DELETE', path: '/v1/app/orders', answer: deletedOrders }
