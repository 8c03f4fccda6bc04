import { fileExampleAt, given } from '../../operations/files/examples.ts'
import { givenStep, type HttpExample } from './http-example.ts'

// An example that only HTTP has: revalidation.

export const getFile: HttpExample[] = [
  {
    name: 'unchanged',
    summary: 'A copy of the record that is still current',
    given: given.map(givenStep),
    parameters: { record: true, 'If-None-Match': `"${fileExampleAt}"` },
    status: 304,
    headers: { ETag: `"${fileExampleAt}"` },
  },
]
