import { call } from '../../core/hint.ts'
import { tableDeletedAt } from '../example.ts'
import { readDeletedAt, restoreNamed } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { avatars, createAvatars, deleteAvatars, inAvatars } from './examples.ts'
import { bucketJson } from './present-bucket.ts'
import { bucketMembers, bucketRequired, bucketSchemas } from './schemas.ts'

export const restoreBucketOperation = defineOperation({
  id: 'restoreBucket',
  area: 'buckets',
  summary: 'Restore a deleted bucket with all its files',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_buckets/:bucket/restore', body: { schema: 'RestoreBucketRequest' } },
  command: 'bucket restore {bucket} --db {db} [--deleted-at {deletedAt}]',
  read: readDeletedAt('bucket'),
  run: restoreNamed('bucket'),
  present: bucketJson,
  describe: () => ({
    title: 'Restore a bucket',
    description:
      'Makes a deleted bucket active again, with all its files, its `id` and its URLs: the one deleted last, or another one by its `deletedAt`. If the bucket is active and no bucket with that name is deleted, nothing changes.',
    returns: 'The active bucket.',
    codes: ['bucket_not_found', 'bucket_exists'],
    input: inputOf(bucketSchemas.RestoreBucketRequest, bucketMembers, bucketRequired),
    output: ref('ActiveBucket'),
    client: { on: 'buckets', method: 'restore', result: 'bucket' },
    examples: [
      {
        name: 'newest',
        summary: 'The bucket deleted last',
        given: [createAvatars, deleteAvatars],
        input: inAvatars,
        output: avatars,
      },
      {
        name: 'byTime',
        summary: 'The bucket deleted at this time',
        given: [createAvatars, deleteAvatars],
        input: { ...inAvatars, deletedAt: tableDeletedAt },
        output: avatars,
      },
      {
        name: 'nameTaken',
        summary: 'The name is taken by a new bucket',
        given: [createAvatars, deleteAvatars, { operation: 'createBucket', input: inAvatars }],
        input: inAvatars,
        error: {
          code: 'bucket_exists',
          message: 'An active bucket has the name avatars.',
          hint: [
            'Delete it first (',
            call('deleteBucket', inAvatars),
            '), then restore with ',
            { send: { deletedAt: tableDeletedAt } },
            '.',
          ],
        },
      },
      {
        name: 'noSuchDeletion',
        summary: 'No bucket was deleted at this time',
        given: [createAvatars, deleteAvatars],
        input: { ...inAvatars, deletedAt: 1 },
        error: {
          code: 'bucket_not_found',
          message: 'No recoverable bucket avatars was deleted at 1.',
          field: 'deletedAt',
          hint: ['See ', call('listBuckets', { db: 'app', deleted: true }), ', or leave deletedAt out for the newest.'],
        },
      },
    ],
  }),
})
