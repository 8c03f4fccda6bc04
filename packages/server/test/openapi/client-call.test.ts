import { expect, test } from 'bun:test'
import type { Members } from '../../src/core/members.ts'
import { clientCall } from '../../src/openapi/samples/client-call.ts'
import { catalogue, type OperationId } from '../../src/operations/catalogue.ts'

// samples.test.ts runs the samples of all examples. Here are the calls about buckets and files that no example has.

const entries = catalogue()
const callOf = (id: OperationId, input: Members) => clientCall(entries[id].client!, { db: 'app', ...input })

const avatars = "const avatars = cubby.db('app').bucket('avatars')\n"
const buckets = "cubby.db('app').buckets"
const bucket = 'avatars'

const calls: [OperationId, Members, string, string][] = [
  ['listBuckets', {}, '', `${buckets}.list()`],
  ['listBuckets', { deleted: true }, '', `${buckets}.list({ deleted: true })`],
  ['createBucket', { bucket }, '', `${buckets}.create('avatars')`],
  ['describeBucket', { bucket }, '', `${buckets}.describe('avatars')`],
  ['deleteBucket', { bucket }, '', `${buckets}.drop('avatars')`],
  ['restoreBucket', { bucket }, '', `${buckets}.restore('avatars')`],
  ['restoreBucket', { bucket, deletedAt: 5 }, '', `${buckets}.restore('avatars', { deletedAt: 5 })`],
  ['putFile', { bucket, name: 'a b/c.png', content: 'x' }, avatars, "avatars.put('a b/c.png', 'x')"],
  [
    'putFile',
    {
      ...{ bucket, name: 'a', content: 'x', contentType: 'image/png', visibility: 'public', ttl: 5 },
      ...{ metadata: { n: 1 }, ifUpdatedAt: 7 },
    },
    avatars,
    "avatars.put('a', 'x', {\n  contentType: 'image/png',\n  visibility: 'public',\n  ttl: 5,\n  metadata: { n: 1 },\n  ifMatch: 7,\n})",
  ],
  ['getFile', { bucket, name: 'query' }, avatars, "avatars.describe('query')"],
  [
    'changeFile',
    { bucket, name: 'a', ttl: null, ifUpdatedAt: '*' },
    avatars,
    "avatars.update('a', { ttl: null }, { ifMatch: '*' })",
  ],
  ['deleteFile', { bucket, name: 'restore' }, avatars, "avatars.remove('restore')"],
  ['queryFiles', { bucket }, avatars, 'avatars.query()'],
  ['queryFiles', { bucket, prefix: 'a/', limit: 5 }, avatars, "avatars.query({ prefix: 'a/', limit: 5 })"],
  ['queryFiles', { bucket, select: 'count' }, avatars, 'avatars.count()'],
  ['getFileUrl', { bucket, name: 'a' }, avatars, "avatars.getUrl('a')"],
  ['getFileUrl', { bucket, name: 'a', method: 'PUT' }, avatars, "avatars.getUrl('a', { method: 'PUT' })"],
]

test.each(calls)('%s %j', (id, input, setup, text) => {
  expect(callOf(id, input)).toMatchObject({ setup, text })
})

test('an object whose name is no identifier has another one', () => {
  expect(callOf('queryFiles', { bucket: 'my-files' })).toMatchObject({
    setup: "const bucket = cubby.db('app').bucket('my-files')\n",
    text: 'bucket.query()',
  })
})

test('what the client has no call for', () => {
  expect(callOf('deleteTask', { task: 'mail', ifUpdatedAt: 1 })).toBeUndefined()
  const without = Object.values(entries).filter(({ route, client }) => route !== undefined && client === undefined)
  expect(without.map(({ id }) => id)).toEqual(['getItem', 'putItem', 'patchItem', 'deleteItem'])
})
