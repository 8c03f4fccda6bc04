import type { ActiveBucket, DeletedBucket, ListBucketsResponse, RestoreBucketRequest } from '@cubbydb/client'
import { recoveryMs } from '../../core/limits.ts'
import { closed, exactIntegers, inputOf, milliseconds, nextCursor, objectOf, ref, type Schema } from '../schema.ts'
import { dbMember } from '../tables/schemas.ts'

const bucketFields = {
  db: ref('Name'),
  bucket: ref('Name'),
  id: {
    type: 'string',
    pattern: '^bkt_[0-9A-Za-z]{22}$',
    description: 'Random. The URLs of the files contain it.',
  },
  createdAt: milliseconds('When the bucket was created.'),
} satisfies Record<string, Schema>

export const bucketSchemas = {
  CreateBucketRequest: closed({ type: 'object', description: 'A bucket has no properties to set.', properties: {} }),
  RestoreBucketRequest: closed(
    objectOf<RestoreBucketRequest>('Which bucket to restore, if several with the same name were deleted.', [], {
      // No bucket was deleted before 1970, but it is not an error to ask for one.
      deletedAt: {
        ...milliseconds('The `deletedAt` of the bucket; absent: the bucket deleted last.'),
        ...exactIntegers,
      },
    }),
  ),
  ActiveBucket: objectOf<ActiveBucket>('A bucket.', ['db', 'bucket', 'id', 'status', 'createdAt'], {
    ...bucketFields,
    status: { type: 'string', const: 'active' },
  }),
  DeletedBucket: objectOf<DeletedBucket>(
    'A deleted bucket that can be restored.',
    ['db', 'bucket', 'id', 'status', 'createdAt', 'deletedAt', 'recoverableUntil'],
    {
      ...bucketFields,
      status: { type: 'string', const: 'deleted' },
      deletedAt: milliseconds('When it was deleted.'),
      recoverableUntil: milliseconds(
        `It can be restored until this time, ${recoveryMs / 86_400_000} days after \`deletedAt\`.`,
      ),
    },
  ),
  BucketList: objectOf<ListBucketsResponse>('Buckets by name.', ['buckets', 'cursor'], {
    buckets: { type: 'array', items: { oneOf: [ref('ActiveBucket'), ref('DeletedBucket')] } },
    cursor: nextCursor,
  }),
} satisfies Record<string, Schema>

export const bucketMembers = {
  ...dbMember,
  bucket: { ...ref('Name'), description: 'The bucket, for example one per kind of file.' },
} satisfies Record<string, Schema>

export const bucketRequired = ['db', 'bucket']

/** The input of an operation that takes nothing but the address. */
export const bucketAlone = inputOf({}, bucketMembers, bucketRequired)
