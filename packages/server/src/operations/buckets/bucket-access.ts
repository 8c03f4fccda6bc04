import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { BlobPlace } from '../../store/blob-place.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, notFound, parseNameOf } from '../access.ts'

export interface BucketAddress {
  db: string
  bucket: string
}

export const parseBucketAddress = (db: unknown, bucket: unknown): BucketAddress => ({
  db: parseNameOf(db, 'db'),
  bucket: parseNameOf(bucket, 'bucket'),
})

/** For operations whose input is only the address of a bucket. */
export const parseBucketAddressAlone = (text: string): BucketAddress => {
  const members = parsePlainBody(text)
  refuseUnknownMembers(members, ['db', 'bucket'])
  return parseBucketAddress(members.db, members.bucket)
}

/** The active bucket. Otherwise throws `bucket_not_found` with a hint that names the call to create or restore it. */
export const requireBucket = (access: Access, address: BucketAddress, nowMs: number): Awaitable<Table> =>
  andThen(
    access.engine.buckets.find(access.apiKey.orgId, address.db, address.bucket),
    (bucket) => bucket ?? refuseUnknownBucket(access, address, nowMs),
  )

const refuseUnknownBucket = async (access: Access, address: BucketAddress, nowMs: number): Promise<never> => {
  throw await bucketNotFound(access, address, nowMs)
}

export const bucketNotFound = async (
  access: Access,
  { db, bucket }: BucketAddress,
  nowMs: number,
): Promise<CubbyError> => {
  const deleted = await access.engine.buckets.findDeleted(access.apiKey.orgId, db, bucket, nowMs)
  const calls = { create: call('createBucket', { db, bucket }), restore: call('restoreBucket', { db, bucket }) }
  return notFound('bucket', `bucket ${bucket} in database ${db}`, calls, deleted)
}

/**
 * A write to a bucket that was found before. If it was deleted since, the error is the same as if it had not been found.
 */
export const writeInBucket = async <T>(
  access: Access,
  address: BucketAddress,
  nowMs: number,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write()
  } catch (error) {
    if (error instanceof CubbyError && error.code === 'bucket_not_found')
      throw await bucketNotFound(access, address, nowMs)
    throw error
  }
}

/** Where the bytes of files are. Throws `unavailable` if this process was not told. */
export const requirePlace = ({ place }: Pick<Access, 'place'>): BlobPlace => {
  if (place !== undefined) return place
  throw new CubbyError('unavailable', 'This server has no place for the bytes of files.', {
    hint: 'The operator starts it with --files: a directory, or s3://BUCKET/PREFIX.',
  })
}
