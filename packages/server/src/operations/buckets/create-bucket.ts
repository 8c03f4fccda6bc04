import { newBucketId } from '../../core/files/bucket-id.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { type BucketAddress, parseBucketAddressAlone } from './bucket-access.ts'
import { bucketJson } from './present-bucket.ts'

/** Creating an existing bucket is not an error. It keeps its id. */
export const createBucket = (
  access: Access,
  { db, bucket }: BucketAddress,
  nowMs: number,
): Promise<{ table: Table; created: boolean }> =>
  access.engine.buckets.create(callerOf(access), db, bucket, newBucketId(), nowMs)

export const createBucketOperation = defineOperation({
  id: 'createBucket',
  area: 'buckets',
  summary: 'Create a bucket for files',
  description:
    'A bucket holds files. Its `id` is random and cannot be guessed; the URLs of its files contain it. A bucket may have the same name as a table. If the bucket exists, nothing changes.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The bucket.',
  codes: [],
  parse: parseBucketAddressAlone,
  run: createBucket,
  present: ({ table }) => bucketJson(table),
})
