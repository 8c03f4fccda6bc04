import { errorBody } from '../errors.ts'
import {
  draft,
  draftAt,
  type Example,
  firstOrder,
  firstOrderAt,
  laterAt,
  secondOrder,
  secondOrderAt,
} from './example.ts'

const first = { ...firstOrder, updatedAt: firstOrderAt }
const second = { ...secondOrder, updatedAt: secondOrderAt }
const cursor = 'WzEsIlRfaGVmMWxPN3N3R0dNeGciLCJvLTIiLDJd'
const firstPage = { hash: 'ada', range: { beginsWith: 'o-' }, ascending: false, limit: 1 }

export const queryRecords: Example[] = [
  {
    name: 'byPrimaryKey',
    summary: 'The orders of a customer, last key first',
    body: firstPage,
    status: 200,
    answer: { items: [second], count: 1, cursor },
  },
  {
    name: 'nextPage',
    summary: 'The next page of the same query',
    given: [
      {
        method: 'POST',
        path: '/v1/app/orders/query',
        body: firstPage,
        answer: { items: [second], count: 1, cursor },
      },
    ],
    body: { ...firstPage, cursor },
    status: 200,
    answer: { items: [first], count: 1, cursor: null },
  },
  {
    name: 'byRecency',
    summary: 'What was written last, since a time',
    body: { index: 't', range: { gte: '2026-01-01T00:00:00Z' } },
    status: 200,
    answer: { items: [{ ...draft, updatedAt: draftAt }, second, first], count: 3, cursor: null },
  },
  {
    name: 'byIndex',
    summary: 'Open orders of two days',
    body: {
      index: 'i1',
      hash: 'open',
      range: { between: ['2026-01-05T00:00:00Z', '2026-01-06T23:59:59Z'] },
      limit: 20,
    },
    status: 200,
    answer: { items: [first, second], count: 2, cursor: null },
  },
  {
    name: 'typo',
    summary: 'A field that is not known',
    body: { hash: 'ada', limt: 10 },
    status: 400,
    answer: errorBody('invalid_request', {
      message: 'limt is not a field of this request.',
      field: 'limt',
      hint: 'Known fields: index, hash, range, limit, ascending, cursor.',
    }),
  },
  {
    name: 'noHash',
    summary: 'By primary key, without a hash',
    body: { limit: 10 },
    status: 400,
    answer: errorBody('invalid_key', {
      message: 'hash is missing; it takes a string.',
      field: 'hash',
      hint: 'Give hash as a string of 1 to 1024 bytes.',
    }),
  },
  {
    name: 'nullHash',
    summary: 'A hash that no index takes',
    body: { index: 'i1', hash: null },
    status: 400,
    answer: errorBody('invalid_index_value', {
      message: 'hash is null; index i1 takes a string, number or boolean.',
      field: 'hash',
      hint: 'Give the value of status to look for.',
    }),
  },
  {
    name: 'noSuchIndex',
    summary: 'A slot that was not declared',
    body: { index: 'i2', hash: 'ada' },
    status: 400,
    answer: errorBody('index_not_declared', {
      message: 'The table declares no index i2.',
      field: 'index',
      hint: 'Declared: i1 (status).',
    }),
  },
  {
    name: 'twoOperators',
    summary: 'A range with two operators',
    body: { hash: 'ada', range: { gte: 'o-1', lt: 'o-9' } },
    status: 400,
    answer: errorBody('invalid_range', {
      message: 'range has 2 operators; it takes exactly one of eq, lt, lte, gt, gte, between, beginsWith.',
      field: 'range',
      hint: 'For two bounds use { "between": [low, high] }, both inclusive.',
    }),
  },
  {
    name: 'cursorOfAnother',
    summary: 'The cursor of another query',
    given: [
      {
        method: 'POST',
        path: '/v1/app/orders/query',
        body: firstPage,
        answer: { items: [second], count: 1, cursor },
      },
    ],
    body: { hash: 'bob', cursor },
    status: 400,
    answer: errorBody('invalid_cursor', {
      message: 'cursor belongs to another query: table, hash, index, range and direction must be those it came with.',
      field: 'cursor',
      hint: 'Pass the cursor of the previous answer with the same request otherwise, or leave it out to start over.',
    }),
  },
]

export const applyBatch: Example[] = [
  {
    name: 'mixed',
    summary: 'Create one, replace one, remove one',
    body: {
      operations: [
        { op: 'put', hashKey: 'bob', rangeKey: 'o-3', data: { status: 'open' }, ifUpdatedAt: null },
        { op: 'put', hashKey: 'draft', data: { total: 12 }, ttl: 4102444800 },
        { op: 'delete', hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
      ],
    },
    status: 200,
    answer: { count: 3 },
  },
  {
    name: 'wrongVersion',
    summary: 'One condition that does not hold',
    given: [
      {
        method: 'PUT',
        path: '/v1/app/orders',
        body: { ...secondOrder, data: {} },
        answer: { ...secondOrder, data: {}, updatedAt: laterAt },
      },
    ],
    body: {
      operations: [
        { op: 'delete', hashKey: 'draft' },
        { op: 'delete', hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
      ],
    },
    status: 412,
    answer: errorBody('precondition_failed', {
      message: `The record is at version ${laterAt}; nothing was changed.`,
      field: 'operations[1].ifUpdatedAt',
      hint: 'Read the record, apply your change to what it is now, and write with its new version.',
    }),
  },
  {
    name: 'sameRecordTwice',
    summary: 'Two operations on one record',
    body: {
      operations: [
        { op: 'delete', hashKey: 'draft' },
        { op: 'put', hashKey: 'draft', rangeKey: '#', data: {} },
      ],
    },
    status: 400,
    answer: errorBody('batch_duplicate_keys', {
      message: 'operations[1] names the same record as operations[0].',
      field: 'operations[1]',
      hint: 'Send the two operations in separate requests.',
    }),
  },
  {
    name: 'noOperations',
    summary: 'Nothing to do',
    body: { operations: [] },
    status: 400,
    answer: errorBody('invalid_request', {
      message: 'operations is empty; it takes 1 to 25 operations.',
      field: 'operations',
    }),
  },
  {
    name: 'noKey',
    summary: 'An operation without a hash key',
    body: { operations: [{ op: 'delete' }] },
    status: 400,
    answer: errorBody('invalid_key', {
      message: 'operations[0].hashKey is missing; it takes a string.',
      field: 'operations[0].hashKey',
      hint: 'Give operations[0].hashKey as a string of 1 to 1024 bytes.',
    }),
  },
  {
    name: 'nullInIndex',
    summary: 'An indexed field that holds null',
    body: { operations: [{ op: 'put', hashKey: 'bob', data: { status: null } }] },
    status: 400,
    answer: errorBody('invalid_index_value', {
      message: 'data.status is null; index i1 takes a string, number or boolean.',
      field: 'operations[0].data.status',
      hint: 'Store it under another field, or leave data.status out: the index is sparse.',
    }),
  },
  {
    name: 'millisecondsAsTtl',
    summary: 'A ttl in milliseconds',
    body: { operations: [{ op: 'put', hashKey: 'bob', data: {}, ttl: 4102444800000 }] },
    status: 400,
    answer: errorBody('invalid_ttl', {
      message: 'operations[0].ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
      field: 'operations[0].ttl',
      hint: 'It looks like milliseconds; give seconds: 4102444800.',
    }),
  },
]
