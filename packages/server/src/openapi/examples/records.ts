import { draft, draftAt, firstOrder, firstOrderAt, laterAt, putInOrders } from '../../operations/example.ts'
import { errorBody } from '../errors.ts'
import { givenStep, type HttpExample } from './http-example.ts'

// Examples that only HTTP has: revalidation, answers without data, and hash keys that are also verbs.

const etag = (updatedAt: number) => ({ ETag: `"${updatedAt}"` })

const order = { hashKey: 'bob', rangeKey: 'o-3', data: { status: 'open' } }

export const putRecord: HttpExample[] = [
  {
    name: 'minimal',
    summary: 'Get an answer without data',
    parameters: { Prefer: 'return=minimal' },
    body: order,
    status: 200,
    headers: etag(laterAt),
    answer: { hashKey: 'bob', rangeKey: 'o-3', updatedAt: laterAt },
  },
]

const unchanged = (parameters: Record<string, string>, updatedAt: number): HttpExample => ({
  name: 'unchanged',
  summary: 'A copy that is still current',
  parameters: { ...parameters, 'If-None-Match': `"${updatedAt}"` },
  status: 304,
  headers: etag(updatedAt),
})

/** For POST these words are verbs; for GET and DELETE they are ordinary hash keys. */
const verbs = ['query', 'find', 'batch', 'restore']
const named = (hashKey: string) => ({ hashKey, data: { note: 'an ordinary key' } })
const givenNamed = (hashKey: string) => [givenStep(putInOrders(named(hashKey), laterAt))]

export const getRecord: HttpExample[] = [
  unchanged({ hashKey: 'draft' }, draftAt),
  unchanged({ hashKey: 'ada', rangeKey: 'o-1' }, firstOrderAt),
  ...verbs.flatMap((hashKey): HttpExample[] => [
    {
      name: 'get',
      summary: `The record whose hash key is "${hashKey}"`,
      given: givenNamed(hashKey),
      parameters: { hashKey },
      status: 200,
      headers: etag(laterAt),
      answer: { ...named(hashKey), updatedAt: laterAt },
    },
    { ...unchanged({ hashKey }, laterAt), given: givenNamed(hashKey) },
    {
      name: 'absent',
      summary: 'No such record',
      parameters: { hashKey },
      status: 404,
      answer: errorBody('record_not_found', {
        message: 'There is no record with that key.',
        hint:
          hashKey === 'query'
            ? 'If it has a range key, add it to the path. Records are found by POST /v1/app/orders/query.'
            : 'If it has a range key, add it to the path.',
      }),
    },
  ]),
]

const exists = (parameters: Record<string, string>, updatedAt: number): HttpExample => ({
  name: 'exists',
  summary: 'Does it exist, and at which version?',
  parameters,
  status: 200,
  headers: etag(updatedAt),
})

export const headRecord: HttpExample[] = [
  exists({ hashKey: draft.hashKey }, draftAt),
  exists({ hashKey: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }, firstOrderAt),
]

export const deleteRecord: HttpExample[] = verbs.flatMap((hashKey): HttpExample[] => [
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
    answer: errorBody('precondition_failed', {
      message: 'The record does not exist; nothing was changed.',
      hint: 'Write without the condition, or with one that holds for an absent record, to create it.',
    }),
  },
])
