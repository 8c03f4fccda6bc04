import { plainBodyBytesMax } from '../../core/limits.ts'
import { createBucketOperation } from '../../operations/buckets/create-bucket.ts'
import { deleteBucketOperation } from '../../operations/buckets/delete-bucket.ts'
import { describeBucketOperation } from '../../operations/buckets/describe-bucket.ts'
import { listBucketsOperation } from '../../operations/buckets/list-buckets.ts'
import { restoreBucketOperation } from '../../operations/buckets/restore-bucket.ts'
import type { OperationRoute } from './route.ts'

const optionalBody = (schema: 'CreateBucketRequest' | 'RestoreBucketRequest') => ({
  schema,
  required: false,
  bytesMax: plainBodyBytesMax,
})

/** The fixed segment wins over `:table`, so a bucket may have any name: `query` and `restore` too. */
export const bucketRoutes = {
  listBuckets: {
    operation: listBucketsOperation,
    method: 'GET',
    paths: ['/v1/:db/_buckets'],
    query: ['limit', 'cursor', 'deleted'],
  },
  describeBucket: { operation: describeBucketOperation, method: 'GET', paths: ['/v1/:db/_buckets/:bucket'] },
  createBucket: {
    operation: createBucketOperation,
    method: 'POST',
    paths: ['/v1/:db/_buckets/:bucket'],
    body: optionalBody('CreateBucketRequest'),
  },
  deleteBucket: { operation: deleteBucketOperation, method: 'DELETE', paths: ['/v1/:db/_buckets/:bucket'] },
  restoreBucket: {
    operation: restoreBucketOperation,
    method: 'POST',
    paths: ['/v1/:db/_buckets/:bucket/restore'],
    body: optionalBody('RestoreBucketRequest'),
  },
} satisfies Record<string, OperationRoute>
