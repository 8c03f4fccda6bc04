import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { type Bucket, Cubby, type Database, type FileBody, type UploadProgress, uploadTo } from '../src/index.ts'
import { failureOf } from './fake-fetch.ts'
import { type RealServer, startRealServer } from './real-server.ts'

let server: RealServer
let app: Database
let files: Bucket
let reader: Bucket
beforeAll(async () => {
  server = await startRealServer()
  app = server.cubby().db('app')
  await app.buckets.create('files')
  files = app.bucket('files')
  reader = new Cubby({ url: server.url, key: server.publicKey }).db('app').bucket('files')
}, 120_000)
afterAll(() => server?.stop(), 30_000)

const hash = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')

describe('put and get', () => {
  const hello = new TextEncoder().encode('hello')
  const bodies: [string, () => FileBody][] = [
    ['a string', () => 'hello'],
    ['a Blob', () => new Blob(['hello'])],
    ['a view', () => hello.subarray(0)],
    ['a ReadableStream', () => new Blob(['hello']).stream() as ReadableStream<Uint8Array>],
    [
      'an async iterable',
      async function* () {
        yield 'hel'
        yield 'lo'
      },
    ],
  ].map(([name, make]) => [name, typeof make === 'function' ? make : () => make]) as never
  test.each(bodies)('%s', async (_, body) => {
    const record = await files.put('kinds/a.txt', body())
    expect(record).toMatchObject({ name: 'kinds/a.txt', size: 5, contentType: 'text/plain', sha256: hash('hello') })
    expect(record).toMatchObject({ visibility: 'private', metadata: {}, url: null })
    const file = (await files.get('kinds/a.txt'))!
    expect(file).toMatchObject({ size: 5, contentType: 'text/plain', sha256: record.sha256, range: undefined })
    expect(await file.text()).toBe('hello')
    expect(await files.describe('kinds/a.txt')).toEqual(record)
  })

  test('everything that is given is stored', async () => {
    const options = {
      contentType: 'image/png',
      visibility: 'public',
      ttl: new Date('2100-01-01T00:00:00Z'),
      metadata: { by: 'ä & b+c', tags: ['x'] },
      sha256: hash('hello'),
    } as const
    expect(await files.put('all.bin', 'hello', options)).toMatchObject({
      contentType: 'image/png',
      visibility: 'public',
      ttl: 4_102_444_800,
      metadata: { by: 'ä & b+c', tags: ['x'] },
      url: expect.stringMatching(/^http.*\/files\/bkt_\w{22}\/all\.bin$/),
    })
  })

  test.each([
    'a',
    'cats & dogs/50%/ä#?+ü.png',
    'query',
    'url',
    'restore',
    '.../.a..b',
    'a\\b',
    "it's (1)*!.txt",
    `${'x/'.repeat(15)}x`,
    '日本/😀',
  ])('the name %p', async (name) => {
    expect(await files.put(name, name)).toMatchObject({ name })
    expect(await (await files.get(name))!.text()).toBe(name)
    expect(await files.describe(name)).toMatchObject({ name, sha256: hash(name) })
    expect(await files.remove(name)).toEqual({ deleted: true })
    expect(await files.get(name)).toBeUndefined()
    expect(await files.describe(name)).toBeUndefined()
    expect(await files.remove(name)).toEqual({ deleted: false })
  })

  test('a name that is too long or too deep is the server’s to refuse', async () => {
    for (const name of ['x'.repeat(1025), `${'x/'.repeat(16)}x`]) {
      expect(await failureOf(files.put(name, 'a'))).toMatchObject({ code: 'invalid_key', status: 400 })
      expect(await failureOf(files.remove(name))).toMatchObject({ code: 'invalid_key', status: 400 })
    }
  })

  test('other bytes than sha256 says are not stored', async () => {
    const error = await failureOf(files.put('digest', 'hello', { sha256: hash('hallo') }))
    expect(error).toMatchObject({ code: 'digest_mismatch', status: 400 })
    expect(await files.describe('digest')).toBeUndefined()
  })

  test('conditions', async () => {
    const { updatedAt } = await files.put('c', '1', { ifAbsent: true })
    expect(await failureOf(files.put('c', '2', { ifAbsent: true }))).toMatchObject({ code: 'precondition_failed' })
    expect(await failureOf(files.put('c', '2', { ifMatch: updatedAt - 1 }))).toMatchObject({ status: 412 })
    const second = await files.put('c', '2', { ifMatch: updatedAt })
    expect(await failureOf(files.remove('c', { ifMatch: updatedAt }))).toMatchObject({ status: 412 })
    expect(await files.remove('c', { ifMatch: second.updatedAt })).toEqual({ deleted: true })
    expect(await failureOf(files.put('c', '3', { ifMatch: '*' }))).toMatchObject({ status: 412 })
  })

  test('ranges, and bytes that the caller has already', async () => {
    const { sha256 } = await files.put('r', 'hello')
    const part = async (range: { start: number; end?: number }) => {
      const file = (await files.get('r', { range }))!
      return [await file.text(), file.size, file.range]
    }
    expect(await part({ start: 1, end: 3 })).toEqual(['el', 5, { start: 1, end: 3 }])
    expect(await part({ start: 2 })).toEqual(['llo', 5, { start: 2, end: 5 }])
    expect(await part({ start: -2 })).toEqual(['lo', 5, { start: 3, end: 5 }])
    expect(await failureOf(files.get('r', { range: { start: 5 } }))).toMatchObject({ code: 'range_not_satisfiable' })
    expect(await files.get('r', { ifNoneMatch: sha256 })).toBeNull()
    expect(await (await files.get('r', { ifNoneMatch: hash('other') }))!.text()).toBe('hello')
  })

  test('an empty file', async () => {
    const met: UploadProgress[] = []
    for (const options of [{}, { onProgress: (progress: UploadProgress) => met.push(progress) }]) {
      expect(await files.put('empty', '', options)).toMatchObject({ size: 0, sha256: hash('') })
      const file = (await files.get('empty'))!
      expect(file.size).toBe(0)
      expect(await file.bytes()).toHaveLength(0)
    }
    expect(met).toEqual([{ sentBytes: 0, totalBytes: 0 }])
  })

  test('8 MiB from a file and back, with progress', async () => {
    const path = join(server.data, 'large.bin')
    const bytes = crypto.getRandomValues(new Uint8Array(65_536))
    await Bun.write(path, new Blob(Array.from({ length: 128 }, () => bytes)))
    const sha256 = hash(await Bun.file(path).bytes())
    const size = 128 * 65_536
    for (const body of [createReadStream(path), Bun.file(path)]) {
      const met: UploadProgress[] = []
      const record = await files.put('large.bin', body, { sha256, onProgress: (progress) => met.push(progress) })
      expect(record).toMatchObject({ size, sha256 })
      expect(met.length).toBeGreaterThan(3)
      expect(met.at(-1)).toEqual({ sentBytes: size, totalBytes: body instanceof Blob ? size : undefined })
    }
    const file = (await files.get('large.bin'))!
    // The README says so: the server sends it in chunks.
    expect(file.size).toBeUndefined()
    expect(hash(await file.bytes())).toBe(sha256)
    const part = (await files.get('large.bin', { range: { start: 0, end: 3 } }))!
    expect([part.size, (await part.bytes()).length, (await files.describe('large.bin'))!.size]).toEqual([size, 3, size])
    // The bytes go from one bucket to another, are never held as a whole, and are checked on the way.
    const source = (await files.get('large.bin'))!
    expect(await files.put('copy.bin', source.body, source)).toMatchObject({ size, sha256 })
  })

  test('a stream that fails leaves the previous file', async () => {
    await files.put('kept', 'hello')
    const failing = async function* () {
      yield 'x'.repeat(100_000)
      await Bun.sleep(20)
      throw new Error('the disk is broken')
    }
    expect(await failureOf(files.put('kept', failing()))).toMatchObject({ message: 'the disk is broken' })
    expect(await (await files.get('kept'))!.text()).toBe('hello')
  })

  test('a file that cannot be read leaves the previous one, and the error is its own', async () => {
    await files.put('kept', 'hello')
    for (const options of [{}, { onProgress: () => {} }]) {
      for (const [path, code] of [
        [join(server.data, 'missing'), 'ENOENT'],
        [server.data, 'EISDIR'],
      ] as const) {
        expect((await failureOf(files.put('kept', Bun.file(path), options))) as unknown).toMatchObject({ code })
      }
    }
    expect(await (await files.get('kept'))!.text()).toBe('hello')
  })

  test('an upload that is aborted leaves the previous file', async () => {
    await files.put('kept', 'hello')
    const endless = async function* () {
      for (;;) {
        await Bun.sleep(2)
        yield 'x'.repeat(1000)
      }
    }
    const signal = AbortSignal.timeout(40)
    expect(await failureOf(files.put('kept', endless(), { signal }))).toMatchObject({ name: 'TimeoutError' })
    expect(await (await files.get('kept'))!.text()).toBe('hello')
  })

  test('what the head of a request decides arrives while the body is being sent', async () => {
    const large = new Blob([new Uint8Array(20_000_000)])
    const endless = async function* () {
      for (;;) {
        await Bun.sleep(1)
        yield 'x'.repeat(10_000)
      }
    }
    for (const body of [large, endless()]) {
      expect(await failureOf(app.bucket('nope').put('a', body))).toMatchObject({ code: 'bucket_not_found' })
    }
    expect(await failureOf(files.put('a', large, { contentType: 'multipart/form-data' }))).toMatchObject({
      status: 415,
    })
    expect(await failureOf(reader.put('a', endless()))).toMatchObject({ code: 'read_only_key', status: 403 })
  })
})

test('update changes what is given and keeps the bytes', async () => {
  const put = await files.put('u.txt', 'hello', { metadata: { a: 1 }, ttl: 4_102_444_800 })
  const changed = await files.update('u.txt', { visibility: 'public', ttl: null }, { ifMatch: put.updatedAt })
  const { ttl: _, ...rest } = put
  expect(changed).toEqual({ ...rest, visibility: 'public', url: expect.any(String), updatedAt: changed.updatedAt })
  expect(changed.updatedAt).toBeGreaterThan(put.updatedAt)
  const again = await files.update('u.txt', { metadata: { b: 2 }, contentType: 'text/markdown' })
  expect(again).toMatchObject({ metadata: { b: 2 }, contentType: 'text/markdown', visibility: 'public' })
  expect(await (await files.get('u.txt'))!.text()).toBe('hello')
  expect(await failureOf(files.update('nope', { ttl: null }))).toMatchObject({ code: 'file_not_found', status: 404 })
  expect(await failureOf(files.update('u.txt', { ttl: null }, { ifMatch: 1 }))).toMatchObject({ status: 412 })
})

test('query and count; a public key sees the public files', async () => {
  for (let i = 0; i < 5; i++) {
    await files.put(`list/${i}`, 'x'.repeat(i), { visibility: i % 2 === 0 ? 'public' : 'private', metadata: { i } })
  }
  const namesOf = async (query: AsyncIterable<{ name: string }>) => {
    const names: string[] = []
    for await (const { name } of query) names.push(name.slice(5))
    return names.join('')
  }
  expect(await namesOf(files.query({ prefix: 'list/', limit: 2 }))).toBe('01234')
  expect(await namesOf(files.query({ prefix: 'list/', ascending: false }))).toBe('43210')
  expect(await namesOf(reader.query({ prefix: 'list/', limit: 1 }))).toBe('024')
  expect((await files.query({ index: 't', limit: 2 })).items.map(({ name }) => name)).toEqual(['list/4', 'list/3'])
  expect([await files.count({ prefix: 'list/' }), await reader.count({ prefix: 'list/' })]).toEqual([5, 3])
  expect((await reader.query({ prefix: 'list/' })).items[0]).toMatchObject({
    name: 'list/0',
    size: 0,
    metadata: { i: 0 },
  })
  expect(await (await reader.get('list/2'))!.text()).toBe('xx')
  expect(await failureOf(reader.get('list/1'))).toMatchObject({ code: 'private_file', status: 403 })
  expect(await failureOf(reader.describe('list/1'))).toMatchObject({ code: 'private_file', status: 403 })
})

describe('URLs', () => {
  test('a public file has a permanent URL, a private one a signed URL', async () => {
    await files.put('url/public.txt', 'open', { visibility: 'public' })
    await files.put('url/private.txt', 'closed')
    const open = await files.getUrl('url/public.txt')
    expect(open).toMatchObject({ method: 'GET', expiresAt: null })
    expect(await (await fetch(open.url)).text()).toBe('open')
    const signed = await files.getUrl('url/private.txt', { expiresIn: 60, download: 'secret.txt' })
    expect(signed.expiresAt).toBeGreaterThan(Date.now())
    const response = await fetch(signed.url)
    expect(response.headers.get('content-disposition')).toMatch(/attachment.*secret\.txt/)
    expect(await response.text()).toBe('closed')
    expect(await reader.getUrl('url/public.txt')).toEqual(open)
    expect(await failureOf(reader.getUrl('url/private.txt'))).toMatchObject({ code: 'private_file', status: 403 })
    expect(await failureOf(files.getUrl('url/none'))).toMatchObject({ code: 'file_not_found', status: 404 })
    const { items } = await files.query({ prefix: 'url/private', expiresIn: 60 })
    expect(await (await fetch(items[0]!.url!)).text()).toBe('closed')
  })

  test('uploadTo needs no key; what was signed holds', async () => {
    const { url, method } = await files.getUrl('up/a.txt', {
      method: 'PUT',
      sizeMax: 100,
      metadata: { by: 'somebody' },
      ttl: new Date('2100-01-01T00:00:00Z'),
    })
    expect(method).toBe('PUT')
    expect(await failureOf(uploadTo(url, 'x'.repeat(101)))).toMatchObject({ code: 'file_too_large', status: 413 })
    const met: UploadProgress[] = []
    const options = { sha256: hash('hello'), onProgress: (progress: UploadProgress) => met.push(progress) }
    expect(await uploadTo(url, 'hello', options)).toMatchObject({
      name: 'up/a.txt',
      size: 5,
      metadata: { by: 'somebody' },
    })
    expect(met.at(-1)).toEqual({ sentBytes: 5, totalBytes: 5 })
    expect(await failureOf(uploadTo(url, 'again'))).toMatchObject({ code: 'precondition_failed', status: 412 })
    const other = `${url}&x=1`
    expect(await failureOf(uploadTo(other, 'hello'))).toMatchObject({ code: 'invalid_signature', status: 403 })
    const stream = await files.getUrl('up/stream', { method: 'PUT', replace: true })
    for (const text of ['one', 'two']) {
      expect(await uploadTo(stream.url, new Blob([text]).stream() as ReadableStream<Uint8Array>)).toMatchObject({
        size: 3,
      })
    }
  })
})

test('buckets are created, listed, dropped and restored', async () => {
  const { buckets } = server.cubby().db('other')
  const created = await buckets.create('one')
  expect(created).toMatchObject({
    db: 'other',
    bucket: 'one',
    status: 'active',
    id: expect.stringMatching(/^bkt_\w{22}$/),
  })
  expect(await buckets.create('one', {})).toEqual(created)
  await buckets.create('two')
  const names: string[] = []
  for await (const { bucket } of buckets.list({ limit: 1 })) names.push(bucket)
  expect(names).toEqual(['one', 'two'])
  const dropped = await buckets.drop('one')
  expect(dropped).toMatchObject({ status: 'deleted', recoverableUntil: dropped.deletedAt + 7 * 86_400_000 })
  expect(await failureOf(buckets.describe('one'))).toMatchObject({ code: 'bucket_not_found', status: 404 })
  expect((await buckets.list({ deleted: true })).buckets).toEqual([dropped])
  expect(await buckets.restore('one', { deletedAt: dropped.deletedAt })).toEqual(created)
  expect(await buckets.describe('one')).toEqual(created)
  expect((await server.cubby().databases()).databases).toContain('other')
})
