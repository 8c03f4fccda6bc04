import { deleteNamed } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { createAvatars, deletedAvatars, inAvatars } from './examples.ts'
import { bucketJson } from './present-bucket.ts'
import { bucketAlone } from './schemas.ts'

export const deleteBucketOperation = defineOperation({
  id: 'deleteBucket',
  area: 'buckets',
  summary: 'Delete a bucket; it can be restored for 7 days',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'DELETE', path: '/v1/:db/_buckets/:bucket' },
  command: 'bucket drop {bucket} --db {db}',
  run: deleteNamed('bucket'),
  present: bucketJson,
  describe: () => ({
    title: 'Delete a bucket',
    description:
      'Once the answer is sent, the bucket can only be restored, its URLs do not work, and its name is free. It can be restored for 7 days, with all its files and URLs; after that the files are removed permanently. A bucket that is created again under the name has another `id`.',
    returns: 'The deleted bucket.',
    codes: ['bucket_not_found'],
    input: bucketAlone,
    output: ref('DeletedBucket'),
    client: { on: 'buckets', method: 'drop', result: 'bucket' },
    examples: [
      { name: 'delete', summary: 'Delete a bucket', given: [createAvatars], input: inAvatars, output: deletedAvatars },
    ],
  }),
})
