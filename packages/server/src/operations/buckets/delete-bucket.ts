import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { type BucketAddress, bucketNotFound, parseBucketAddressAlone } from './bucket-access.ts'
import { bucketJson } from './present-bucket.ts'

export const deleteBucket = async (access: Access, address: BucketAddress, nowMs: number): Promise<Table> => {
  const bucket = await access.engine.buckets.delete(callerOf(access), address.db, address.bucket, nowMs)
  if (bucket === undefined) throw await bucketNotFound(access, address, nowMs)
  return bucket
}

export const deleteBucketOperation = defineOperation({
  id: 'deleteBucket',
  area: 'buckets',
  summary: 'Delete a bucket; it can be restored for 7 days',
  description:
    'Once the answer is sent, the bucket can only be restored, its URLs do not work, and its name is free. It can be restored for 7 days, with all its files and URLs; after that the files are removed permanently. A bucket that is created again under the name has another `id`.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'The deleted bucket.',
  codes: ['bucket_not_found'],
  parse: parseBucketAddressAlone,
  run: deleteBucket,
  present: bucketJson,
})
