import type { Access } from '../access.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { type ListOfDatabaseInput, listOfDatabase, type Page, parseListOfDatabase } from '../tables/lifecycle.ts'
import { presentBucket } from './present-bucket.ts'

export const listBuckets = ({ engine, apiKey }: Access, input: ListOfDatabaseInput, nowMs: number): Promise<Page> => {
  const name = input.deleted ? 'deletedBuckets' : 'buckets'
  return listOfDatabase(engine.buckets, engine.secrets, apiKey.orgId, name, input, nowMs)
}

export const listBucketsOperation = defineOperation({
  id: 'listBuckets',
  area: 'buckets',
  summary: 'List the buckets of a database',
  description: `The buckets of a database, by name. For a database without buckets the list is empty. ${pagesNote}`,
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'A page of buckets.',
  codes: ['invalid_cursor'],
  parse: parseListOfDatabase,
  run: listBuckets,
  present: ({ rows, cursor }) => JSON.stringify({ buckets: rows.map(presentBucket), cursor }),
})
