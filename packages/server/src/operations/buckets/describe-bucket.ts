import { call } from '../../core/hint.ts'
import { requireBucket } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { avatars, createAvatars, deleteAvatars, inAvatars } from './examples.ts'
import { bucketJson } from './present-bucket.ts'
import { bucketAlone } from './schemas.ts'

export const describeBucketOperation = defineOperation({
  id: 'describeBucket',
  area: 'buckets',
  summary: 'Show a bucket: its id and when it was created',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_buckets/:bucket' },
  command: 'bucket describe {bucket} --db {db}',
  run: requireBucket,
  present: bucketJson,
  describe: () => ({
    title: 'Show a bucket',
    description: 'Returns the id of the bucket and when it was created.',
    returns: 'The bucket.',
    codes: ['bucket_not_found'],
    input: bucketAlone,
    output: ref('ActiveBucket'),
    client: { on: 'buckets', method: 'describe', result: 'bucket' },
    examples: [
      { name: 'describe', summary: 'A bucket', given: [createAvatars], input: inAvatars, output: avatars },
      {
        name: 'deleted',
        summary: 'A bucket that was deleted',
        given: [createAvatars, deleteAvatars],
        input: inAvatars,
        error: {
          code: 'bucket_not_found',
          message: 'The bucket avatars in database app was deleted.',
          hint: [
            'Restore it until 2026-01-09T00:00:00.000Z: ',
            call('restoreBucket', inAvatars),
            '; or create a new, empty bucket: ',
            call('createBucket', inAvatars),
          ],
        },
      },
    ],
  }),
})
