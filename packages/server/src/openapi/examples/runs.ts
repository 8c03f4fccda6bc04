import { laterAt } from '../../operations/example.ts'
import { toClaim } from '../../operations/runs/examples.ts'
import { givenStep, type HttpExample } from './http-example.ts'

/** Only HTTP has this: revalidation. */
export const getRun: HttpExample[] = [
  {
    name: 'unchanged',
    summary: 'A copy that is still current',
    given: toClaim.map(givenStep),
    parameters: { 'If-None-Match': `"${laterAt}"` },
    status: 304,
    headers: { ETag: `"${laterAt}"` },
  },
]
