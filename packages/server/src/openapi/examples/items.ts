import { draft, draftAt, firstOrder, firstOrderAt, laterAt } from '../../operations/example.ts'
import type { HttpExample } from './http-example.ts'

// Examples that only HTTP has: revalidation and answers without a body.

const etag = (updatedAt: number) => ({ ETag: `"${updatedAt}"` })

export const putItem: HttpExample[] = [
  {
    name: 'minimal',
    summary: 'Get an answer without a body',
    parameters: { id: 'bob', Prefer: 'return=minimal' },
    body: { name: 'Bob' },
    status: 204,
    headers: etag(laterAt),
  },
]

export const getItem: HttpExample[] = [
  {
    name: 'unchanged',
    summary: 'A copy that is still current',
    parameters: { id: draft.hashKey, 'If-None-Match': `"${draftAt}"` },
    status: 304,
    headers: etag(draftAt),
  },
]

export const headItem: HttpExample[] = [
  {
    name: 'exists',
    summary: 'Does it exist, and at which version?',
    parameters: { id: firstOrder.hashKey, rangeKey: firstOrder.rangeKey },
    status: 200,
    headers: etag(firstOrderAt),
  },
]
