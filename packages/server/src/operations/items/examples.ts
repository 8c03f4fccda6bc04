import { draft, type ExampleError, firstOrder, laterAt, putInOrders, secondOrder } from '../example.ts'

/** Another writer changed the record after it was read. */
export const overtaken = [putInOrders({ ...secondOrder, data: {} }, laterAt)]
export const wrongVersion: ExampleError = {
  code: 'precondition_failed',
  message: `The record is at version ${laterAt}; nothing was changed.`,
  hint: `Read the record again, apply your change to it, and write with its new version, ${laterAt}.`,
}

/** The table that the examples use. */
export const collection = 'app.orders'
export const first = { collection, id: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }
export const second = { collection, id: secondOrder.hashKey, rangeKey: secondOrder.rangeKey }
export const drafted = { collection, id: draft.hashKey }

export const profile = { name: 'Bob', tags: ['new'] }
export const paid = { ...firstOrder.data, status: 'paid' }
