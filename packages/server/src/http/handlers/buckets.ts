import { refuseUnknownMembers } from '../../core/members.ts'
import { createBucket, createBucketOperation } from '../../operations/buckets/create-bucket.ts'
import { deleteBucket } from '../../operations/buckets/delete-bucket.ts'
import { describeBucket } from '../../operations/buckets/describe-bucket.ts'
import { listBuckets, listBucketsOperation } from '../../operations/buckets/list-buckets.ts'
import { bucketJson } from '../../operations/buckets/present-bucket.ts'
import { parseRestoreBucket, restoreBucket } from '../../operations/buckets/restore-bucket.ts'
import { refuseBody } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { respondLongText, respondText } from '../respond.ts'
import { bucketAddressOf, readListOfDatabase, readMembers, refuseExtras } from './gather.ts'

export const bucketHandlers = {
  async listBuckets(exchange: Exchange): Promise<Response> {
    const page = await listBuckets(exchange.access, readListOfDatabase(exchange), exchange.nowMs)
    return respondLongText(exchange, listBucketsOperation.present(page, exchange.nowMs))
  },

  async describeBucket(exchange: Exchange): Promise<Response> {
    const address = bucketAddressOf(exchange)
    refuseExtras(exchange)
    return respondText(exchange.requestId, bucketJson(await describeBucket(exchange.access, address, exchange.nowMs)))
  },

  async createBucket(exchange: Exchange): Promise<Response> {
    const address = bucketAddressOf(exchange)
    refuseUnknownMembers(await readMembers(exchange, true), [])
    refuseExtras(exchange)
    const result = await createBucket(exchange.access, address, exchange.nowMs)
    const text = createBucketOperation.present(result, exchange.nowMs)
    return respondText(exchange.requestId, text, result.created ? 201 : 200)
  },

  async deleteBucket(exchange: Exchange): Promise<Response> {
    const address = bucketAddressOf(exchange)
    refuseBody(exchange.request.headers)
    refuseExtras(exchange)
    return respondText(exchange.requestId, bucketJson(await deleteBucket(exchange.access, address, exchange.nowMs)))
  },

  async restoreBucket(exchange: Exchange): Promise<Response> {
    const address = bucketAddressOf(exchange)
    const deletedAtMs = parseRestoreBucket(await readMembers(exchange, true))
    refuseExtras(exchange)
    const bucket = await restoreBucket(exchange.access, { ...address, deletedAtMs }, exchange.nowMs)
    return respondText(exchange.requestId, bucketJson(bucket))
  },
}
