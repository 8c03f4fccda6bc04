import {
  draft,
  draftAt,
  type Example,
  type ExampleError,
  firstOrder,
  firstOrderAt,
  laterAt,
  putInOrders,
  secondOrder,
  secondOrderAt,
} from '../example.ts'

/** Another writer changed the record after it was read. */
const overtaken = [putInOrders({ ...secondOrder, data: {} }, laterAt)]
const wrongVersion: ExampleError = {
  code: 'precondition_failed',
  message: `The record is at version ${laterAt}; nothing was changed.`,
  hint: `Read the record again, apply your change to it, and write with its new version, ${laterAt}.`,
}

/** The table that the examples use. */
const collection = 'app.orders'
const first = { collection, id: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }
const second = { collection, id: secondOrder.hashKey, rangeKey: secondOrder.rangeKey }
const drafted = { collection, id: draft.hashKey }

const profile = { name: 'Bob', tags: ['new'] }
const paid = { ...firstOrder.data, status: 'paid' }

export const getItem: Example[] = [
  {
    name: 'get',
    summary: 'An item without a range key',
    input: drafted,
    output: draft.data,
    version: draftAt,
  },
  {
    name: 'getWithRangeKey',
    summary: 'An item with a range key',
    input: first,
    output: firstOrder.data,
    version: firstOrderAt,
  },
  {
    name: 'absent',
    summary: 'No such item',
    input: { collection, id: 'ada' },
    error: {
      code: 'record_not_found',
      message: 'There is no record with that id.',
      hint: 'If it has a range key, give it as rangeKey.',
    },
  },
]

export const putItem: Example[] = [
  {
    name: 'put',
    summary: 'Write an item',
    input: { collection, id: 'bob', data: profile },
    output: profile,
    version: laterAt,
  },
  {
    name: 'expiring',
    summary: 'Write an item that expires',
    input: { collection, id: 'session-7', data: { user: 'ada' }, ttl: 4102444800 },
    output: { user: 'ada' },
    version: laterAt,
  },
  {
    name: 'replace',
    summary: 'Replace the version that was read',
    input: { ...first, ifUpdatedAt: firstOrderAt, data: paid },
    output: paid,
    version: laterAt,
  },
  {
    name: 'create',
    summary: 'Create, never replace',
    input: { collection, id: 'bob', ifUpdatedAt: null, data: profile },
    output: profile,
    version: laterAt,
  },
  {
    name: 'wrongVersion',
    summary: 'Replace a version that is out of date',
    given: overtaken,
    input: { ...second, ifUpdatedAt: secondOrderAt, data: secondOrder.data },
    error: wrongVersion,
  },
  {
    name: 'notAnObject',
    summary: 'A document that is not an object',
    input: { collection, id: 'bob', data: ['new'] },
    error: {
      code: 'invalid_request',
      message: 'data is an array; it takes a JSON object.',
      field: 'data',
      hint: 'Wrap it: { "value": … }.',
    },
  },
  {
    name: 'arrayInIndex',
    summary: 'An indexed field that holds an array',
    input: { collection, id: 'bob', data: { status: ['open', 'paid'] } },
    error: {
      code: 'invalid_index_value',
      message: 'data.status is an array; index i1 takes a string, number or boolean.',
      field: 'data.status',
      hint: 'Store it under another field, or leave data.status out: the index is sparse.',
    },
  },
]

export const deleteItem: Example[] = [
  { name: 'delete', summary: 'Delete an item', input: drafted, output: { deleted: true } },
  { name: 'absent', summary: 'No such item', input: { collection, id: 'ada' }, output: { deleted: false } },
  {
    name: 'wrongVersion',
    summary: 'Delete a version that is out of date',
    given: overtaken,
    input: { ...second, ifUpdatedAt: secondOrderAt },
    error: wrongVersion,
  },
]
