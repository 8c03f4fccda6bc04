import { errorBody } from '../errors.ts'
import type { GivenStep } from '../types.ts'
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

const etag = (updatedAt: number) => ({ ETag: `"${updatedAt}"` })

/** Someone else wrote the record after it was read. */
const overtaken: GivenStep[] = [
  {
    method: 'PUT',
    path: '/v1/app/orders',
    body: { ...secondOrder, data: {} },
    answer: { ...secondOrder, data: {}, updatedAt: laterAt },
  },
]
const wrongVersion = errorBody('precondition_failed', {
  message: `The record is at version ${laterAt}; nothing was changed.`,
  hint: 'Read the record, apply your change to what it is now, and write with its new version.',
})

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
    body: thirdOrder,
    status: 200,
    headers: etag(laterAt),
    answer: { ...thirdOrder, updatedAt: laterAt },
  },
  {
    name: 'minimal',
    summary: 'Have it answered without data',
    parameters: { Prefer: 'return=minimal' },
    body: thirdOrder,
    status: 200,
    headers: etag(laterAt),
    answer: { hashKey: 'bob', rangeKey: 'o-3', updatedAt: laterAt },
  },
  {
    name: 'expiring',
    summary: 'Write a record that expires, without a range key',
    body: session,
    status: 200,
    headers: etag(laterAt),
    answer: { ...session, updatedAt: laterAt },
  },
  {
    name: 'replace',
    summary: 'Replace the version that was read',
    parameters: { 'If-Match': `"${firstOrderAt}"` },
    body: paidOrder,
    status: 200,
    headers: etag(laterAt),
    answer: { ...paidOrder, updatedAt: laterAt },
  },
  {
    name: 'create',
    summary: 'Create, never replace',
    parameters: { 'If-None-Match': '*' },
    body: thirdOrder,
    status: 200,
    headers: etag(laterAt),
    answer: { ...thirdOrder, updatedAt: laterAt },
  },
  {
    name: 'wrongVersion',
    summary: 'Replace a version that is no longer',
    given: overtaken,
    parameters: { 'If-Match': `"${secondOrderAt}"` },
    body: secondOrder,
    status: 412,
    answer: wrongVersion,
  },
  {
    name: 'typo',
    summary: 'A field that is not known',
    body: { hashKey: 'bob', dat: {} },
    status: 400,
    answer: errorBody('invalid_request', {
      message: 'dat is not a field of this request.',
      field: 'dat',
      hint: 'Known fields: hashKey, rangeKey, data, ttl.',
    }),
  },
  {
    name: 'noKey',
    summary: 'No hash key',
    body: { data: {} },
    status: 400,
    answer: errorBody('invalid_key', {
      message: 'hashKey is missing; it takes a string.',
      field: 'hashKey',
      hint: 'Give hashKey as a string of 1 to 1024 bytes.',
    }),
  },
  {
    name: 'arrayInIndex',
    summary: 'An indexed field that holds an array',
    body: { hashKey: 'bob', data: { status: ['open', 'paid'] } },
    status: 400,
    answer: errorBody('invalid_index_value', {
      message: 'data.status is an array; index i1 takes a string, number or boolean.',
      field: 'data.status',
      hint: 'Store it under another field, or leave data.status out: the index is sparse.',
    }),
  },
  {
    name: 'millisecondsAsTtl',
    summary: 'A ttl in milliseconds',
    body: { hashKey: 'bob', data: {}, ttl: 4102444800000 },
    status: 400,
    answer: errorBody('invalid_ttl', {
      message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
      field: 'ttl',
      hint: 'It looks like milliseconds; give seconds: 4102444800.',
    }),
  },
]

/** Hash keys that are verbs for POST, and records like any other for GET and DELETE. */
const verbs = ['query', 'batch', 'restore']
const named = (hashKey: string) => ({ hashKey, data: { note: 'a key like any other' } })
const givenNamed = (hashKey: string): GivenStep[] => [
  { method: 'PUT', path: '/v1/app/orders', body: named(hashKey), answer: { ...named(hashKey), updatedAt: laterAt } },
]

export const getRecord: Example[] = [
  {
    name: 'get',
    summary: 'A record without a range key',
    parameters: { hashKey: 'draft' },
    status: 200,
    headers: etag(draftAt),
    answer: { ...draft, updatedAt: draftAt },
  },
  {
    name: 'unchanged',
    summary: 'A copy that is still good',
    parameters: { hashKey: 'draft', 'If-None-Match': `"${draftAt}"` },
    status: 304,
    headers: etag(draftAt),
  },
  {
    name: 'absent',
    summary: 'No such record',
    parameters: { hashKey: 'ada' },
    status: 404,
    answer: errorBody('record_not_found', {
      message: 'There is no record of that key.',
      hint: 'If it has a range key, add it to the path.',
    }),
  },
  {
    name: 'get',
    summary: 'A record with a range key',
    parameters: { hashKey: 'ada', rangeKey: 'o-1' },
    status: 200,
    headers: etag(firstOrderAt),
    answer: { ...firstOrder, updatedAt: firstOrderAt },
  },
  {
    name: 'unchanged',
    summary: 'A copy that is still good',
    parameters: { hashKey: 'ada', rangeKey: 'o-1', 'If-None-Match': `"${firstOrderAt}"` },
    status: 304,
    headers: etag(firstOrderAt),
  },
  {
    name: 'absent',
    summary: 'No such record',
    parameters: { hashKey: 'ada', rangeKey: 'o-9' },
    status: 404,
    answer: errorBody('record_not_found', { message: 'There is no record of that key.' }),
  },
  ...verbs.flatMap((hashKey): Example[] => [
    {
      name: 'get',
      summary: `The record whose hash key is "${hashKey}"`,
      given: givenNamed(hashKey),
      parameters: { hashKey },
      status: 200,
      headers: etag(laterAt),
      answer: { ...named(hashKey), updatedAt: laterAt },
    },
    {
      name: 'unchanged',
      summary: 'A copy that is still good',
      given: givenNamed(hashKey),
      parameters: { hashKey, 'If-None-Match': `"${laterAt}"` },
      status: 304,
      headers: etag(laterAt),
    },
    {
      name: 'absent',
      summary: 'No such record',
      parameters: { hashKey },
      status: 404,
      answer: errorBody('record_not_found', {
        message: 'There is no record of that key.',
        hint: 'If it has a range key, add it to the path.',
      }),
    },
  ]),
]

export const headRecord: Example[] = [
  {
    name: 'exists',
    summary: 'Is it there, and at which version?',
    parameters: { hashKey: 'draft' },
    status: 200,
    headers: etag(draftAt),
  },
  {
    name: 'exists',
    summary: 'Is it there, and at which version?',
    parameters: { hashKey: 'ada', rangeKey: 'o-1' },
    status: 200,
    headers: etag(firstOrderAt),
  },
]

const absentForCondition = errorBody('precondition_failed', {
  message: 'The record does not exist; nothing was changed.',
  hint: 'Write without the condition, or with one that holds for an absent record, to create it.',
})

export const deleteRecord: Example[] = [
  {
    name: 'delete',
    summary: 'Delete a record without a range key',
    parameters: { hashKey: 'draft' },
    status: 200,
    answer: { deleted: true },
  },
  {
    name: 'absent',
    summary: 'There was none',
    parameters: { hashKey: 'ada' },
    status: 200,
    answer: { deleted: false },
  },
  {
    name: 'mustExist',
    summary: 'Only if it exists',
    parameters: { hashKey: 'ada', 'If-Match': '*' },
    status: 412,
    answer: absentForCondition,
  },
  {
    name: 'delete',
    summary: 'Delete the version that was read',
    parameters: { hashKey: 'ada', rangeKey: 'o-1', 'If-Match': `"${firstOrderAt}"` },
    status: 200,
    answer: { deleted: true },
  },
  {
    name: 'wrongVersion',
    summary: 'Delete a version that is no longer',
    given: overtaken,
    parameters: { hashKey: 'ada', rangeKey: 'o-2', 'If-Match': `"${secondOrderAt}"` },
    status: 412,
    answer: wrongVersion,
  },
  ...verbs.flatMap((hashKey): Example[] => [
    {
      name: 'delete',
      summary: `Delete the record whose hash key is "${hashKey}"`,
      given: givenNamed(hashKey),
      parameters: { hashKey },
      status: 200,
      answer: { deleted: true },
    },
    {
      name: 'mustExist',
      summary: 'Only if it exists',
      parameters: { hashKey, 'If-Match': '*' },
      status: 412,
      answer: absentForCondition,
    },
  ]),
]
