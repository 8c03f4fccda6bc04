import { Collections } from '../tables/collections.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type { ActiveBucket, CreateBucketRequest, DeletedBucket } from '../transport/wire-files.ts'

/** The buckets of one database. The URLs of a dropped bucket stop working; those of a restored one work again. */
export class Buckets extends Collections<ActiveBucket, DeletedBucket, 'buckets'> {
  /** @internal */
  static override readonly name: string = 'Buckets'

  /** Use `db('app').buckets` instead. */
  constructor(send: Send, path: string) {
    super(send, `${path}/_buckets`, 'bucket')
  }

  /** Creates a bucket, or returns it if it exists. */
  async create(name: string, properties?: CreateBucketRequest, options?: RequestOptions): Promise<ActiveBucket> {
    return this.post(this.pathOf(name), properties, options)
  }
}
