import { listOfDatabase, readListOfDatabase } from '../lifecycle.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { dbMember, listingMembers } from '../tables/schemas.ts'
import { avatars, createAvatars, deleteAvatars, deletedAvatars } from './examples.ts'
import { presentBucket } from './present-bucket.ts'

export const listBucketsOperation = defineOperation({
  id: 'listBuckets',
  area: 'buckets',
  summary: 'List the buckets of a database',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_buckets', query: ['limit', 'cursor', 'deleted'] },
  command: 'bucket list --db {db} [--deleted {deleted}]',
  tool: 'list_tables',
  read: readListOfDatabase,
  run: listOfDatabase('bucket'),
  present: ({ rows, cursor }) => JSON.stringify({ buckets: rows.map(presentBucket), cursor }),
  describe: () => ({
    title: 'List buckets',
    description: `The buckets of a database, by name. For a database without buckets the list is empty. ${pagesNote}`,
    returns: 'A page of buckets.',
    codes: ['invalid_cursor'],
    input: inputOf(
      {},
      {
        ...dbMember,
        ...listingMembers,
        deleted: {
          type: 'boolean',
          default: false,
          description: 'True: list the deleted buckets that can still be restored, by name, then `deletedAt`.',
        },
      },
      ['db'],
    ),
    output: ref('BucketList'),
    client: { on: 'buckets', method: 'list', result: 'page' },
    examples: [
      {
        name: 'all',
        summary: 'All buckets',
        given: [createAvatars],
        input: { db: 'app' },
        output: { buckets: [avatars], cursor: null },
      },
      {
        name: 'deletedOnes',
        summary: 'The deleted buckets that can be restored',
        given: [createAvatars, deleteAvatars],
        input: { db: 'app', deleted: true },
        output: { buckets: [deletedAvatars], cursor: null },
      },
    ],
  }),
})
