import { call } from '../../core/hint.ts'
import type { Members } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseDeletedAt, restored } from '../tables/lifecycle.ts'
import { type BucketAddress, bucketNotFound, parseBucketAddress } from './bucket-access.ts'
import { bucketJson } from './present-bucket.ts'

export interface RestoreBucketInput extends BucketAddress {
  /** undefined: the bucket deleted last. */
  deletedAtMs: number | undefined
}

export const parseRestoreBucket = (members: Members): number | undefined =>
  parseDeletedAt(members, 'bucket', 'listBuckets')

export const restoreBucket = async (access: Access, input: RestoreBucketInput, nowMs: number): Promise<Table> => {
  const { db, bucket, deletedAtMs } = input
  return restored(await access.engine.buckets.restore(callerOf(access), db, bucket, deletedAtMs, nowMs), {
    kind: 'bucket',
    name: bucket,
    deletedAtMs,
    calls: { remove: call('deleteBucket', { db, bucket }), list: call('listBuckets', { db, deleted: true }) },
    notFound: () => bucketNotFound(access, input, nowMs),
  })
}

export const restoreBucketOperation = defineOperation({
  id: 'restoreBucket',
  area: 'buckets',
  summary: 'Restore a deleted bucket with all its files',
  description:
    'Makes a deleted bucket active again, with all its files, its `id` and its URLs: the one deleted last, or another one by its `deletedAt`. If the bucket is active and no bucket with that name is deleted, nothing changes.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The active bucket.',
  codes: ['bucket_not_found', 'bucket_exists'],
  parse(text): RestoreBucketInput {
    const { db, bucket, ...which } = parsePlainBody(text)
    return { ...parseBucketAddress(db, bucket), deletedAtMs: parseRestoreBucket(which) }
  },
  run: restoreBucket,
  present: bucketJson,
})
