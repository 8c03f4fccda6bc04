import { entry } from '../catalogue-entry.ts'
import { inputOf, ref } from '../schema.ts'
import { dbMember, listingMembers } from '../tables/schemas.ts'
import { createBucketOperation } from './create-bucket.ts'
import { deleteBucketOperation } from './delete-bucket.ts'
import { describeBucketOperation } from './describe-bucket.ts'
import * as examples from './examples.ts'
import { listBucketsOperation } from './list-buckets.ts'
import { restoreBucketOperation } from './restore-bucket.ts'
import { bucketMembers, bucketRequired, bucketSchemas } from './schemas.ts'

const address = inputOf({}, bucketMembers, bucketRequired)

export const bucketCatalogue = {
  listBuckets: entry(listBucketsOperation, {
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
    examples: examples.listBuckets,
  }),
  createBucket: entry(createBucketOperation, {
    input: inputOf(bucketSchemas.CreateBucketRequest, bucketMembers, bucketRequired),
    output: ref('ActiveBucket'),
    examples: examples.createBucket,
  }),
  describeBucket: entry(describeBucketOperation, {
    input: address,
    output: ref('ActiveBucket'),
    examples: examples.describeBucket,
  }),
  deleteBucket: entry(deleteBucketOperation, {
    input: address,
    output: ref('DeletedBucket'),
    examples: examples.deleteBucket,
  }),
  restoreBucket: entry(restoreBucketOperation, {
    input: inputOf(bucketSchemas.RestoreBucketRequest, bucketMembers, bucketRequired),
    output: ref('ActiveBucket'),
    examples: examples.restoreBucket,
  }),
}
