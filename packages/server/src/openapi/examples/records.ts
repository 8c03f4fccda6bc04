import { draft, draftAt, firstOrder, firstOrderAt } from '../../operations/example.ts'
import type { HttpExample } from './http-example.ts'

// HEAD is no operation: only HTTP has it.

const exists = (parameters: Record<string, string>, updatedAt: number): HttpExample => ({
  name: 'exists',
  summary: 'Does it exist, and at which version?',
  parameters,
  status: 200,
  headers: { ETag: `"${updatedAt}"` },
})

export const headRecord: HttpExample[] = [
  exists({ hashKey: draft.hashKey }, draftAt),
  exists({ hashKey: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }, firstOrderAt),
]

export const headItem: HttpExample[] = [exists({ id: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }, firstOrderAt)]
