import { draft, draftAt, firstOrder, firstOrderAt, laterAt } from '../../operations/example.ts'
import type { HttpExample } from './http-example.ts'

// Examples that only HTTP has: revalidation and answers without data.

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

export const getRecord: HttpExample[] = [
  unchanged({ hashKey: 'draft' }, draftAt),
  unchanged({ hashKey: 'ada', rangeKey: 'o-1' }, firstOrderAt),
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
