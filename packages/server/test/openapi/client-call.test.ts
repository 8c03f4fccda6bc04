import { expect, test } from 'bun:test'
import type { CurlRequest } from '../../src/openapi/curl.ts'
import { clientCall } from '../../src/openapi/samples/client-call.ts'

// samples.test.ts runs the samples of all examples. Here are the requests about buckets and files that no example has.

const at = '/v1/app/_buckets'
const requestOf = (method: string, path: string, more: Partial<CurlRequest> = {}): CurlRequest => ({
  method,
  target: at + path,
  headers: {},
  withKey: true,
  ...more,
})

const avatars = "const avatars = cubby.db('app').bucket('avatars')\n"
const buckets = "cubby.db('app').buckets"

const calls: [CurlRequest, string, string][] = [
  [requestOf('GET', ''), '', `${buckets}.list()`],
  [requestOf('GET', '?deleted=true'), '', `${buckets}.list({ deleted: true })`],
  [requestOf('POST', '/avatars'), '', `${buckets}.create('avatars')`],
  [requestOf('GET', '/avatars'), '', `${buckets}.describe('avatars')`],
  [requestOf('DELETE', '/avatars'), '', `${buckets}.drop('avatars')`],
  [requestOf('POST', '/avatars/restore'), '', `${buckets}.restore('avatars')`],
  [
    requestOf('POST', '/avatars/restore', { body: { deletedAt: 5 } }),
    '',
    `${buckets}.restore('avatars', { deletedAt: 5 })`,
  ],
  [requestOf('PUT', '/avatars/a%20b/c.png', { bytes: 'x' }), avatars, "avatars.put('a b/c.png', 'x')"],
  [
    requestOf('PUT', '/avatars/a?visibility=public&ttl=5&metadata=%7B%22n%22%3A1%7D', {
      bytes: 'x',
      headers: { 'Content-Type': 'image/png', 'If-Match': '"7"' },
    }),
    avatars,
    "avatars.put('a', 'x', {\n  contentType: 'image/png',\n  visibility: 'public',\n  ttl: 5,\n  metadata: { n: 1 },\n  ifMatch: 7,\n})",
  ],
  [requestOf('GET', '/avatars/query?record=true'), avatars, "avatars.describe('query')"],
  [
    requestOf('PATCH', '/avatars/a', { body: { ttl: null }, headers: { 'If-Match': '*' } }),
    avatars,
    "avatars.update('a', { ttl: null }, { ifMatch: '*' })",
  ],
  [requestOf('DELETE', '/avatars/restore'), avatars, "avatars.remove('restore')"],
  [requestOf('POST', '/avatars/query'), avatars, 'avatars.query()'],
  [
    requestOf('POST', '/avatars/query', { body: { prefix: 'a/', limit: 5 } }),
    avatars,
    "avatars.query({ prefix: 'a/', limit: 5 })",
  ],
  [requestOf('POST', '/avatars/query', { body: { select: 'count' } }), avatars, 'avatars.count()'],
  [requestOf('POST', '/avatars/url', { body: { name: 'a' } }), avatars, "avatars.getUrl('a')"],
  [
    requestOf('POST', '/avatars/url', { body: { name: 'a', method: 'PUT' } }),
    avatars,
    "avatars.getUrl('a', { method: 'PUT' })",
  ],
]

test.each(calls)('%j', (request, setup, text) => {
  expect(clientCall(request)).toMatchObject({ setup, text })
})

test('requests that the client has no call for', () => {
  // The bytes of a file are not JSON that a sample could print, and the client writes a digest in another form.
  expect(clientCall(requestOf('GET', '/avatars/a'))).toBeUndefined()
  expect(clientCall(requestOf('HEAD', '/avatars/a'))).toBeUndefined()
  expect(clientCall(requestOf('PUT', '/avatars/a', { headers: { 'Content-Digest': 'x' } }))).toBeUndefined()
})
