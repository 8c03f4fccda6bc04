import {
  draft,
  draftAt,
  type Example,
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
import { orderWithMail } from '../runs/examples.ts'

/** Another writer changed the record after it was read. */
const overtaken = [putInOrders({ ...secondOrder, data: {} }, laterAt)]
const wrongVersion: ExampleError = {
  code: 'precondition_failed',
  message: `The record is at version ${laterAt}; nothing was changed.`,
  hint: `Read the record again, apply your change to it, and write with its new version, ${laterAt}.`,
}

const thirdOrder = {
  hashKey: 'bob',
  rangeKey: 'o-3',
  data: { status: 'open', total: 12, placedAt: '2026-01-07T10:00:00Z' },
}
const paidOrder = { ...firstOrder, data: { ...firstOrder.data, status: 'paid' } }
const session = { hashKey: 'session-7', data: { user: 'ada' }, ttl: 4102444800 }

export const putRecord: Example[] = [
  {
    name: 'put',
    summary: 'Write a record',
    input: { ...inOrders, ...thirdOrder },
    output: { ...thirdOrder, updatedAt: laterAt },
  },
  {
    name: 'expiring',
    summary: 'Write a record that expires, without a range key',
    input: { ...inOrders, ...session },
    output: { ...session, updatedAt: laterAt },
  },
  {
    name: 'replace',
    summary: 'Replace the version that was read',
    input: { ...inOrders, ifUpdatedAt: firstOrderAt, ...paidOrder },
    output: { ...paidOrder, updatedAt: laterAt },
  },
  {
    name: 'create',
    summary: 'Create, never replace',
    input: { ...inOrders, ifUpdatedAt: null, ...thirdOrder },
    output: { ...thirdOrder, updatedAt: laterAt },
  },
  {
    name: 'wrongVersion',
    summary: 'Replace a version that is out of date',
    given: overtaken,
    input: { ...inOrders, ifUpdatedAt: secondOrderAt, ...secondOrder },
    error: wrongVersion,
  },
  {
    name: 'typo',
    summary: 'A field that is not known',
    input: { ...inOrders, hashKey: 'bob', dat: {} },
    error: {
      code: 'invalid_request',
      message: 'dat is not a field of this request.',
      field: 'dat',
      hint: 'What the record holds goes into data. Known fields: hashKey, rangeKey, data, ttl.',
    },
  },
  {
    name: 'noKey',
    summary: 'No hash key',
    input: { ...inOrders, data: {} },
    error: {
      code: 'invalid_key',
      message: 'hashKey is missing; it takes a string.',
      field: 'hashKey',
      hint: 'Give hashKey as a string of 1 to 1024 bytes.',
    },
  },
  {
    name: 'arrayInIndex',
    summary: 'An indexed field that holds an array',
    input: { ...inOrders, hashKey: 'bob', data: { status: ['open', 'paid'] } },
    error: {
      code: 'invalid_index_value',
      message: 'data.status is an array; index i1 takes a string, number or boolean.',
      field: 'data.status',
      hint: 'Store it under another field, or leave data.status out: the index is sparse.',
    },
  },
  {
    name: 'millisecondsAsTtl',
    summary: 'A ttl in milliseconds',
    input: { ...inOrders, hashKey: 'bob', data: {}, ttl: 4102444800000 },
    error: {
      code: 'invalid_ttl',
      message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
      field: 'ttl',
      hint: 'It looks like milliseconds; give seconds: 4102444800.',
    },
  },
]

export const getRecord: Example[] = [
  {
    name: 'get',
    summary: 'A record without a range key',
    input: { ...inOrders, hashKey: 'draft' },
    output: { ...draft, updatedAt: draftAt },
  },
  {
    name: 'absent',
    summary: 'No such record',
    input: { ...inOrders, hashKey: 'ada' },
    error: {
      code: 'record_not_found',
      message: 'There is no record with that key.',
      hint: ['If it has a range key, ', { give: 'rangeKey' }, '.'],
    },
  },
  {
    name: 'get',
    summary: 'A record with a range key',
    input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-1' },
    output: { ...firstOrder, updatedAt: firstOrderAt },
  },
  {
    name: 'absent',
    summary: 'No such record',
    input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-9' },
    error: { code: 'record_not_found', message: 'There is no record with that key.' },
  },
]

const absentForCondition: ExampleError = {
  code: 'precondition_failed',
  message: 'The record does not exist; nothing was changed.',
  hint: 'Write without the condition, or with one that holds for an absent record, to create it.',
}

export const deleteRecord: Example[] = [
  {
    name: 'delete',
    summary: 'Delete a record without a range key',
    input: { ...inOrders, hashKey: 'draft' },
    output: { deleted: true },
  },
  {
    name: 'absent',
    summary: 'No such record',
    input: { ...inOrders, hashKey: 'ada' },
    output: { deleted: false },
  },
  {
    name: 'mustExist',
    summary: 'Only if it exists',
    input: { ...inOrders, hashKey: 'ada', ifUpdatedAt: '*' },
    error: absentForCondition,
  },
  {
    name: 'delete',
    summary: 'Delete the version that was read',
    input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-1', ifUpdatedAt: firstOrderAt },
    output: { deleted: true },
  },
  {
    name: 'wrongVersion',
    summary: 'Delete a version that is out of date',
    given: overtaken,
    input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
    error: wrongVersion,
  },
]

// ── Queries and batches ────────────────────────────────────────────────────────────────────────────────────

const first = { ...firstOrder, updatedAt: firstOrderAt }
const second = { ...secondOrder, updatedAt: secondOrderAt }
const withoutData = ({ hashKey, rangeKey, updatedAt }: typeof first) => ({ hashKey, rangeKey, updatedAt })
const cursor = 'Ahiozs1TS92gs31IqvfH-3B4rFIQ-TSvkM2O2hEJh9RqJEb_UwJwBmuTiAx128GwQjYVarx4B3kjRoCAHAU_'
const firstPage = { hash: 'ada', range: { beginsWith: 'o-' }, ascending: false, limit: 1 }

const askFirstPage: ExampleCall = {
  operation: 'queryRecords',
  input: { ...inOrders, ...firstPage },
  output: { items: [second], count: 1, cursor },
}

export const queryRecords: Example[] = [
  {
    name: 'byPrimaryKey',
    summary: 'The orders of a customer, last key first',
    input: { ...inOrders, ...firstPage },
    output: { items: [second], count: 1, cursor },
  },
  {
    name: 'nextPage',
    summary: 'The next page of the same query',
    given: [askFirstPage],
    input: { ...inOrders, ...firstPage, cursor },
    output: { items: [first], count: 1, cursor: null },
  },
  {
    name: 'byRecency',
    summary: 'The records written since a time, newest first',
    input: { ...inOrders, index: 't', range: { gte: '2026-01-01T00:00:00Z' } },
    output: { items: [{ ...draft, updatedAt: draftAt }, second, first], count: 3, cursor: null },
  },
  {
    name: 'byIndex',
    summary: 'Open orders placed in January',
    input: {
      ...inOrders,
      index: 'i1',
      hash: 'open',
      range: { gte: '2026-01-01T00:00:00Z', lt: '2026-02-01T00:00:00Z' },
      limit: 20,
    },
    output: { items: [first, second], count: 2, cursor: null },
  },
  {
    name: 'keysOnly',
    summary: 'The keys and versions of the orders of a customer, without data',
    input: { ...inOrders, hash: 'ada', range: { between: ['o-1', 'o-2'] }, select: 'keys' },
    output: { items: [withoutData(first), withoutData(second)], count: 2, cursor: null },
  },
  {
    name: 'countOnly',
    summary: 'How many orders are open',
    input: { ...inOrders, index: 'i1', hash: 'open', select: 'count' },
    output: { items: [], count: 2, cursor: null },
  },
  {
    name: 'nothingBetween',
    summary: 'Bounds with nothing between them',
    input: { ...inOrders, hash: 'ada', range: { gte: 'o-1', lt: 'o-1' } },
    output: { items: [], count: 0, cursor: null },
  },
  {
    name: 'typo',
    summary: 'A field that is not known',
    input: { ...inOrders, hash: 'ada', limt: 10 },
    error: {
      code: 'invalid_request',
      message: 'limt is not a field of this request.',
      field: 'limt',
      hint: 'Write it as "limit".',
    },
  },
  {
    name: 'noHash',
    summary: 'By primary key, without a hash',
    input: { ...inOrders, limit: 10 },
    error: {
      code: 'invalid_key',
      message: 'hash is missing; it takes a string.',
      field: 'hash',
      hint: 'Give hash, or index: "t" for the newest records of the table.',
    },
  },
  {
    name: 'nullHash',
    summary: 'A hash that cannot be indexed',
    input: { ...inOrders, index: 'i1', hash: null },
    error: {
      code: 'invalid_index_value',
      message: 'hash is null; index i1 takes a string, number or boolean.',
      field: 'hash',
      hint: 'Give the value of status to look for.',
    },
  },
  {
    name: 'noSuchIndex',
    summary: 'An index that was not declared',
    input: { ...inOrders, index: 'i2', hash: 'ada' },
    error: {
      code: 'index_not_declared',
      message: 'The table declares no index i2.',
      field: 'index',
      hint: 'Declared: i1 (status).',
    },
  },
  {
    name: 'twoLowerBounds',
    summary: 'A range with two lower bounds',
    input: { ...inOrders, hash: 'ada', range: { gt: 'o-1', gte: 'o-2' } },
    error: {
      code: 'invalid_range',
      message: 'range has gt and gte; it takes one operator, or one of gt and gte together with one of lt and lte.',
      field: 'range',
      hint: 'Both are lower bounds; leave one of them out.',
    },
  },
  {
    name: 'boundsInWrongOrder',
    summary: 'A range whose lower bound is above its upper one',
    input: { ...inOrders, hash: 'ada', range: { gte: 'o-9', lt: 'o-1' } },
    error: {
      code: 'invalid_range',
      message: 'range has its low bound above its high one.',
      field: 'range',
      hint: 'Give gte the lower value.',
    },
  },
  {
    name: 'unknownSelect',
    summary: 'A select that is not known',
    input: { ...inOrders, hash: 'ada', select: 'hashKey' },
    error: {
      code: 'invalid_request',
      message: 'select is "hashKey"; it takes "data", "keys" or "count".',
      field: 'select',
      hint: 'Leave select out to get whole records.',
    },
  },
  {
    name: 'cursorOfAnother',
    summary: 'The cursor of another query',
    given: [askFirstPage],
    input: { ...inOrders, hash: 'bob', cursor },
    error: {
      code: 'invalid_cursor',
      message: 'cursor belongs to another query: table, hash, index, range and direction must be those it came with.',
      field: 'cursor',
      hint: 'Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page.',
    },
  },
]

export const findRecords: Example[] = [
  {
    name: 'find',
    summary: 'Two orders and a draft, one of which does not exist',
    input: {
      ...inOrders,
      keys: [{ hashKey: 'ada', rangeKey: 'o-2' }, { hashKey: 'ada', rangeKey: 'o-9' }, { hashKey: 'draft' }],
    },
    output: {
      items: [second, { ...draft, updatedAt: draftAt }],
      missing: [{ hashKey: 'ada', rangeKey: 'o-9' }],
      unread: [],
    },
  },
  {
    name: 'sameRecordTwice',
    summary: 'One record twice',
    input: { ...inOrders, keys: [{ hashKey: 'draft' }, { hashKey: 'draft', rangeKey: '#' }] },
    error: {
      code: 'batch_duplicate_keys',
      message: 'keys[1] names the same record as keys[0].',
      field: 'keys[1]',
      hint: 'Name each record once. No rangeKey and "#" are the same.',
    },
  },
  {
    name: 'noKeys',
    summary: 'No keys',
    input: { ...inOrders, keys: [] },
    error: {
      code: 'invalid_request',
      message: 'keys is empty; it takes 1 to 100 record keys.',
      field: 'keys',
      hint: 'Write it as [{ "hashKey": … }, { "hashKey": …, "rangeKey": … }].',
    },
  },
  {
    name: 'noHashKey',
    summary: 'A key without a hash key',
    input: { ...inOrders, keys: [{ hashKey: 'draft' }, { rangeKey: 'o-1' }] },
    error: {
      code: 'invalid_key',
      message: 'keys[1].hashKey is missing; it takes a string.',
      field: 'keys[1].hashKey',
      hint: 'Give keys[1].hashKey as a string of 1 to 1024 bytes.',
    },
  },
]

export const applyBatch: Example[] = [
  {
    name: 'mixed',
    summary: 'Create one record, replace one, delete one',
    input: {
      ...inOrders,
      operations: [
        { op: 'put', hashKey: 'bob', rangeKey: 'o-3', data: { status: 'open' }, ifUpdatedAt: null },
        { op: 'put', hashKey: 'draft', data: { total: 12 }, ttl: 4102444800 },
        { op: 'delete', hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
      ],
    },
    output: { count: 3 },
  },
  orderWithMail,
  {
    name: 'wrongVersion',
    summary: 'One condition that does not hold',
    given: overtaken,
    input: {
      ...inOrders,
      operations: [
        { op: 'delete', hashKey: 'draft' },
        { op: 'delete', hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
      ],
    },
    error: {
      code: 'precondition_failed',
      message: `The record is at version ${laterAt}; nothing was changed.`,
      field: 'operations[1].ifUpdatedAt',
      hint: `Read the record again, apply your change to it, and write with its new version, ${laterAt}.`,
    },
  },
  {
    name: 'sameRecordTwice',
    summary: 'Two operations on one record',
    input: {
      ...inOrders,
      operations: [
        { op: 'delete', hashKey: 'draft' },
        { op: 'put', hashKey: 'draft', rangeKey: '#', data: {} },
      ],
    },
    error: {
      code: 'batch_duplicate_keys',
      message: 'operations[1] names the same record as operations[0].',
      field: 'operations[1]',
      hint: 'Send the two operations in separate requests.',
    },
  },
  {
    name: 'noOperations',
    summary: 'No operations',
    input: { ...inOrders, operations: [] },
    error: {
      code: 'invalid_request',
      message: 'operations is empty; it takes 1 to 25 operations.',
      field: 'operations',
    },
  },
  {
    name: 'noKey',
    summary: 'An operation without a hash key',
    input: { ...inOrders, operations: [{ op: 'delete' }] },
    error: {
      code: 'invalid_key',
      message: 'operations[0].hashKey is missing; it takes a string.',
      field: 'operations[0].hashKey',
      hint: 'Give operations[0].hashKey as a string of 1 to 1024 bytes.',
    },
  },
  {
    name: 'nullInIndex',
    summary: 'An indexed field that holds null',
    input: { ...inOrders, operations: [{ op: 'put', hashKey: 'bob', data: { status: null } }] },
    error: {
      code: 'invalid_index_value',
      message: 'data.status is null; index i1 takes a string, number or boolean.',
      field: 'operations[0].data.status',
      hint: 'Store it under another field, or leave data.status out: the index is sparse.',
    },
  },
  {
    name: 'millisecondsAsTtl',
    summary: 'A ttl in milliseconds',
    input: { ...inOrders, operations: [{ op: 'put', hashKey: 'bob', data: {}, ttl: 4102444800000 }] },
    error: {
      code: 'invalid_ttl',
      message: 'operations[0].ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
      field: 'operations[0].ttl',
      hint: 'It looks like milliseconds; give seconds: 4102444800.',
    },
  },
]
