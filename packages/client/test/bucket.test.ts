import { describe, expect, test } from 'bun:test'
import { CubbyError, type FileDownload, type GetFileOptions } from '../src/index.ts'
import { fakeBucket, fileRecord } from './fake-bucket.ts'
import { broken, failureOf, json, key, refused, silence } from './fake-fetch.ts'

const authorization = `Bearer ${key}`
const path = '/v1/app/_buckets/avatars'

const bytes = (body: string | ReadableStream = 'hello', headers: Record<string, string> = {}, status = 200) =>
  new Response(body, {
    status,
    headers: {
      'content-type': 'text/plain',
      'content-length': '5',
      etag: `"${fileRecord.sha256}"`,
      'repr-digest': `sha-256=:${Buffer.from(fileRecord.sha256, 'hex').toString('base64')}:`,
      ...headers,
    },
  })

/** Sends `hel`, then breaks. */
const cut = () =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new TextEncoder().encode('hel'))
      await Bun.sleep(1)
      controller.error(broken())
    },
  })

const readOne = async (body: ReadableStream) => {
  const reader = body.getReader()
  await reader.read()
  reader.releaseLock()
}

describe('get', () => {
  test('has the metadata of the headers, and the bytes in four ways', async () => {
    const { bucket, requests } = fakeBucket(Array.from({ length: 4 }, () => bytes()))
    const file = (await bucket.get('cats/a b.txt'))!
    expect(file).toMatchObject({ size: 5, contentType: 'text/plain', sha256: fileRecord.sha256, range: undefined })
    expect(await file.text()).toBe('hello')
    expect(Array.from(await (await bucket.get('a'))!.bytes())).toEqual(Array.from(Buffer.from('hello')))
    expect(await (await (await bucket.get('a'))!.blob()).text()).toBe('hello')
    expect(await new Response((await bucket.get('a'))!.body).text()).toBe('hello')
    expect(requests[0]).toMatchObject({ method: 'GET', path: `${path}/cats/a%20b.txt`, headers: { authorization } })
  })

  const ranges: [GetFileOptions['range'], string][] = [
    [{ start: 0, end: 1 }, 'bytes=0-0'],
    [{ start: 10, end: 20 }, 'bytes=10-19'],
    [{ start: 10 }, 'bytes=10-'],
    [{ start: -10 }, 'bytes=-10'],
  ]
  test.each(ranges)('the range %p is sent as %s', async (range, header) => {
    const { bucket, requests } = fakeBucket([bytes('ell', { 'content-range': 'bytes 1-3/5' }, 206)])
    const file = await bucket.get('a', { range: range! })
    expect(requests[0]!.headers).toEqual({ authorization, range: header })
    expect(file).toMatchObject({ size: 5, range: { start: 1, end: 4 } })
  })

  // A server ignores a range that makes no sense, and the caller would get the whole file.
  test.each([
    [{ start: 5, end: 5 }],
    [{ start: 5, end: 4 }],
    [{ start: 0.5 }],
    [{ start: Number.NaN }],
    [{ start: 0, end: 1.5 }],
    [{ start: -5, end: -1 }],
    [{ start: -5, end: 3 }],
    [{ end: 3 } as never],
  ])('the range %p is refused', async (range) => {
    const { bucket, requests } = fakeBucket([])
    expect(await failureOf(bucket.get('a', { range }))).toMatchObject({ code: 'invalid_request', field: 'range' })
    expect(requests).toEqual([])
  })

  test('is undefined for an absent file, null for an unchanged one', async () => {
    const { bucket, requests } = fakeBucket([refused(404, 'file_not_found'), new Response(null, { status: 304 })])
    expect(await bucket.get('a')).toBeUndefined()
    expect(await bucket.get('a', { ifNoneMatch: fileRecord.sha256 })).toBeNull()
    expect(requests[1]!.headers).toEqual({ authorization, 'if-none-match': `"${fileRecord.sha256}"` })
  })

  test.each([
    [404, 'bucket_not_found'],
    [403, 'private_file'],
    [416, 'range_not_satisfiable'],
  ])('%d %s is an error', async (status, code) => {
    const { bucket } = fakeBucket([refused(status, code)])
    expect(await failureOf(bucket.get('a'))).toMatchObject({ code: code as never, status })
  })

  test('is retried as a read', async () => {
    const { bucket, requests } = fakeBucket([broken(), refused(503, 'unavailable'), bytes()])
    expect(await (await bucket.get('a'))!.text()).toBe('hello')
    expect(requests).toHaveLength(3)
  })

  test("a proxy's page with 200 is not the file: it is retried, then unavailable", async () => {
    const page = () => new Response('<h1>Sign in</h1>', { headers: { 'content-type': 'text/html; charset=utf-8' } })
    const { bucket, requests } = fakeBucket([page(), bytes('hello', { 'content-type': 'text/html' }), page()])
    expect(await (await bucket.get('a'))!.text()).toBe('hello')
    expect(requests).toHaveLength(2)
    expect(await failureOf(bucket.get('a', { retries: 0 }))).toMatchObject({
      code: 'unavailable',
      status: 200,
      message: expect.stringContaining('the body is not from the service'),
    })
  })

  const firstReads: [string, (file: FileDownload) => unknown][] = [
    ['text', (file) => file.text()],
    ['bytes that nobody has awaited', (file) => void file.bytes()],
    ['blob', (file) => file.blob()],
    ['a reader of its body', (file) => void file.body.getReader()],
    ['a part of its body', (file) => readOne(file.body)],
    ['cancel', (file) => file.body.cancel()],
  ]
  test.each(firstReads)('the bytes are read once: after %s, every other way is refused', async (_, first) => {
    const { bucket } = fakeBucket([bytes()])
    const file = (await bucket.get('a'))!
    await first(file)
    for (const again of [file.text(), file.bytes(), file.blob()]) {
      const error = await failureOf(again)
      expect(error).toBeInstanceOf(CubbyError)
      expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('can be read once') })
      expect(error.hint).toContain('call get again')
    }
  })

  test('to look at the body is not to read it', async () => {
    const { bucket } = fakeBucket([bytes()])
    const file = (await bucket.get('a'))!
    expect(file.body.locked).toBe(false)
    expect(await file.text()).toBe('hello')
  })

  test('bytes that break off are never taken for the file', async () => {
    const ways = ['text', 'bytes', 'blob'] as const
    const { bucket } = fakeBucket([...ways, 'body'].map(() => bytes(cut())))
    for (const way of ways) {
      const file = (await bucket.get('a'))!
      const error = await failureOf(file[way]())
      expect(error).toBeInstanceOf(CubbyError)
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(broken().message) })
    }
    expect(await failureOf(new Response((await bucket.get('a'))!.body).text())).toBeInstanceOf(TypeError)
  })

  test('timeoutMs limits the time until the bytes begin, not that of the bytes', async () => {
    const slow = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await Bun.sleep(40)
        controller.enqueue(new TextEncoder().encode('hello'))
        controller.close()
      },
    })
    const { bucket } = fakeBucket([bytes(slow)])
    expect(await (await bucket.get('a', { timeoutMs: 20 }))!.text()).toBe('hello')
    const never = fakeBucket([], { fetch: (_, { signal }) => silence(signal!) })
    const error = await failureOf(never.bucket.get('a', { timeoutMs: 20, retries: 0 }))
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('no answer within 20 ms') })
  })
})

test('describe reads the record; it is undefined for an absent file', async () => {
  const { bucket, requests } = fakeBucket([json(fileRecord), refused(404, 'file_not_found')])
  expect(await bucket.describe('a/b')).toEqual(fileRecord)
  expect(await bucket.describe('a')).toBeUndefined()
  expect(requests[0]).toMatchObject({ method: 'GET', path: `${path}/a/b?record=true` })
})

test('update sends only what is given', async () => {
  const { bucket, requests } = fakeBucket(Array.from({ length: 3 }, () => json(fileRecord)))
  expect(await bucket.update('a', { visibility: 'public', ttl: new Date(1_900_000_000_001) })).toEqual(fileRecord)
  await bucket.update('a', { ttl: null, metadata: { by: 'c' } }, { ifMatch: 7 })
  await bucket.update('a', { contentType: 'image/png' }, { ifMatch: '*' })
  expect(requests.map(({ method, body }) => `${method} ${body}`)).toEqual([
    'PATCH {"visibility":"public","ttl":1900000001}',
    'PATCH {"ttl":null,"metadata":{"by":"c"}}',
    'PATCH {"contentType":"image/png"}',
  ])
  const type = { authorization, 'content-type': 'application/json' }
  expect(requests.map(({ headers }) => headers)).toEqual([
    type,
    { ...type, 'if-match': '"7"' },
    { ...type, 'if-match': '*' },
  ])
})

test('a change or removal without an answer is repeated only if it names a version', async () => {
  const { bucket, requests } = fakeBucket([
    ...[broken(), broken()],
    ...[broken(), json(fileRecord), broken(), json({ deleted: true })],
  ])
  expect(await failureOf(bucket.update('a', { ttl: null }))).toMatchObject({ code: 'outcome_unknown' })
  expect(await failureOf(bucket.remove('a'))).toMatchObject({ code: 'outcome_unknown' })
  expect(requests).toHaveLength(2)
  await bucket.update('a', { ttl: null }, { ifMatch: 7 })
  expect(await bucket.remove('a', { ifMatch: 7 })).toEqual({ deleted: true })
  expect(requests.at(-1)).toMatchObject({ method: 'DELETE', path: `${path}/a`, headers: { 'if-match': '"7"' } })
})

test('query iterates the files of all pages, and is one page if awaited', async () => {
  const page = (names: string[], cursor: string | null) =>
    json({ items: names.map((name) => ({ ...fileRecord, name })), count: names.length, cursor })
  const { bucket, requests } = fakeBucket([page(['a', 'b'], 'next'), page(['c'], null), page(['a'], 'next')])
  const met: string[] = []
  for await (const { name } of bucket.query({ prefix: 'x/', limit: 2, expiresIn: 60 })) met.push(name)
  expect(met).toEqual(['a', 'b', 'c'])
  expect((await bucket.query()).items).toHaveLength(1)
  expect(requests.map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
    ['POST', `${path}/query`, { prefix: 'x/', limit: 2, expiresIn: 60 }],
    ['POST', `${path}/query`, { prefix: 'x/', limit: 2, expiresIn: 60, cursor: 'next' }],
    ['POST', `${path}/query`, {}],
  ])
})

test('count adds up all pages', async () => {
  const { bucket, requests } = fakeBucket([
    json({ items: [], count: 10_000, cursor: 'next' }),
    json({ items: [], count: 5, cursor: null }),
  ])
  expect(await bucket.count({ prefix: 'x/' })).toBe(10_005)
  expect(requests.map(({ body }) => JSON.parse(body))).toEqual([
    { prefix: 'x/', select: 'count' },
    { prefix: 'x/', select: 'count', cursor: 'next' },
  ])
})

test('getUrl asks for a URL, and is retried as a read', async () => {
  const answer = { url: 'http://cubby.test/files/bkt_1/a', method: 'GET', expiresAt: null }
  const { bucket, requests } = fakeBucket([broken(), ...Array.from({ length: 3 }, () => json(answer))])
  expect(await bucket.getUrl('a b/c')).toEqual(answer as never)
  await bucket.getUrl('a', { expiresIn: 60, download: 'b.txt' })
  await bucket.getUrl('a', { method: 'PUT', sizeMax: 100, ttl: new Date(1_900_000_000_000), replace: true })
  expect(requests.slice(1).map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
    ['POST', `${path}/url`, { name: 'a b/c' }],
    ['POST', `${path}/url`, { name: 'a', expiresIn: 60, download: 'b.txt' }],
    ['POST', `${path}/url`, { name: 'a', method: 'PUT', sizeMax: 100, ttl: 1_900_000_000, replace: true }],
  ])
})

test('buckets are managed as tables are', async () => {
  const active = { db: 'app', bucket: 'avatars', id: 'bkt_1', status: 'active', createdAt: 1 } as const
  const deleted = { ...active, status: 'deleted', deletedAt: 2, recoverableUntil: 3 } as const
  const { buckets, requests } = fakeBucket([
    ...[json(active, 201), json(active), json(deleted), json(active), json(active)],
    ...[json({ buckets: [active], cursor: 'next' }), json({ buckets: [active], cursor: null })],
    json({ buckets: [deleted], cursor: null }),
  ])
  expect(await buckets.create('avatars')).toEqual(active)
  expect(await buckets.describe('avatars')).toEqual(active)
  expect(await buckets.drop('avatars')).toEqual(deleted)
  expect(await buckets.restore('avatars')).toEqual(active)
  expect(await buckets.restore('avatars', { deletedAt: 2 })).toEqual(active)
  const met: string[] = []
  for await (const { id } of buckets.list({ limit: 1 })) met.push(id)
  expect(met).toEqual(['bkt_1', 'bkt_1'])
  expect((await buckets.list({ deleted: true })).buckets).toEqual([deleted])
  expect(requests.map(({ method, path, body }) => `${method} ${path} ${body}`.trim())).toEqual([
    `POST ${path}`,
    `GET ${path}`,
    `DELETE ${path}`,
    `POST ${path}/restore`,
    `POST ${path}/restore {"deletedAt":2}`,
    'GET /v1/app/_buckets?limit=1',
    'GET /v1/app/_buckets?limit=1&cursor=next',
    'GET /v1/app/_buckets?deleted=true',
  ])
})

test('the name of a bucket is checked', async () => {
  const { buckets } = fakeBucket([])
  expect(await failureOf(buckets.drop('..'))).toMatchObject({ code: 'invalid_name', field: 'bucket' })
})
