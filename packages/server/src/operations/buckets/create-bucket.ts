import { newBucketId } from '../../core/files/bucket-id.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, type BucketAddress, callerOf } from '../access.ts'
import { laterAt } from '../example.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { avatars, createAvatars, inAvatars } from './examples.ts'
import { bucketJson } from './present-bucket.ts'
import { bucketMembers, bucketRequired, bucketSchemas } from './schemas.ts'

/** Creating an existing bucket is not an error. It keeps its id. */
const createBucket = (
  access: Access,
  { db, bucket }: BucketAddress,
  nowMs: number,
): Promise<{ table: Table; created: boolean }> =>
  access.engine.buckets.create(callerOf(access), db, bucket, newBucketId(), nowMs)

export const createBucketOperation = defineOperation({
  id: 'createBucket',
  area: 'buckets',
  summary: 'Create a bucket for files',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_buckets/:bucket', body: { schema: 'CreateBucketRequest' } },
  command: 'bucket create {bucket} --db {db}',
  run: createBucket,
  present: ({ table }) => bucketJson(table),
  describe: () => ({
    title: 'Create a bucket',
    description:
      'A bucket holds files. Its `id` is random and cannot be guessed; the URLs of its files contain it. A bucket may have the same name as a table. If the bucket exists, nothing changes.',
    returns: 'The bucket.',
    codes: [],
    responses: { existing: 'The bucket already exists.', created: 'Created.' },
    input: inputOf(bucketSchemas.CreateBucketRequest, bucketMembers, bucketRequired),
    output: ref('ActiveBucket'),
    client: { on: 'buckets', method: 'create', result: 'bucket' },
    examples: [
      {
        name: 'plain',
        summary: 'A new bucket',
        input: { db: 'app', bucket: 'invoices' },
        output: {
          db: 'app',
          bucket: 'invoices',
          id: 'bkt_0Zr7HdPq3JtXn5Ua9GvKf2',
          status: 'active',
          createdAt: laterAt,
        },
      },
      {
        name: 'again',
        summary: 'A bucket that already exists',
        given: [createAvatars],
        input: inAvatars,
        output: avatars,
        unchanged: true,
      },
    ],
  }),
})
