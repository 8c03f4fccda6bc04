import { defineOperation } from '../operation.ts'
import { parseBucketAddressAlone, requireBucket } from './bucket-access.ts'
import { bucketJson } from './present-bucket.ts'

export const describeBucket = requireBucket

export const describeBucketOperation = defineOperation({
  id: 'describeBucket',
  area: 'buckets',
  summary: 'Show a bucket: its id and when it was created',
  description: 'Returns the id of the bucket and when it was created.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The bucket.',
  codes: ['bucket_not_found'],
  parse: parseBucketAddressAlone,
  run: describeBucket,
  present: bucketJson,
})
