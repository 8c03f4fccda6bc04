import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { storeFileBytesMax } from '../../src/core/limits.ts'
import { content, filesBelow } from '../files/blob-fixture.ts'
import { eventually, startServer, storeIsEmbedded } from '../harness.ts'
import { contentDigest, makeBucket, sha256 } from './bucket.ts'
import { ok, refused, useService } from './service.ts'

// The bytes of small files are in the store, those of larger ones in files. A caller must not see which.

setDefaultTimeout(30_000)

const service = useService({})

const fetchBytes = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(service.server.url + path, {
    headers: { authorization: `Bearer ${service.org.secretKey}`, ...headers },
  })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.bytes()) }
}

const blobs = (): number =>
  filesBelow(join(service.server.dataDir, 'files')).filter((name) => /\/[0-9a-f]{32}(\.part)?$/.test(name)).length

const sizes = [0, 1, 4_096, storeFileBytesMax - 1, storeFileBytesMax, storeFileBytesMax + 1]

test('of every size around the limit, declared or chunked: the exact bytes, whole and in ranges', async () => {
  const bucket = await makeBucket(service.api)
  for (const size of sizes) {
    for (const chunked of [false, true]) {
      const [name, bytes] = [`${size} ${chunked}`, content(size)]
      const stored = await bucket.put(name, bytes, { chunked, headers: { 'content-digest': contentDigest(bytes) } })
      expect(stored).toMatchObject({ size, sha256: sha256(bytes) })
      const whole = await fetchBytes(bucket.at(name))
      expect([name, whole.status, whole.bytes.equals(bytes)]).toEqual([name, 200, true])
      expect(whole.headers.get('content-length')).toBe(String(size))
      expect(whole.headers.get('etag')).toBe(`"${sha256(bytes)}"`)
      const unchanged = await fetchBytes(bucket.at(name), { 'if-none-match': `"${sha256(bytes)}"` })
      expect([unchanged.status, unchanged.bytes.length]).toEqual([304, 0])
      const beyond = await fetchBytes(bucket.at(name), { range: `bytes=${size}-` })
      expect([name, beyond.status]).toEqual([name, 416])
      if (size < 2) continue
      for (const [range, part] of [
        ['bytes=1-', bytes.subarray(1)],
        ['bytes=-1', bytes.subarray(-1)],
        [`bytes=${size - 2}-${size + 5}`, bytes.subarray(size - 2)],
        ['bytes=0-0', bytes.subarray(0, 1)],
      ] as const) {
        const got = await fetchBytes(bucket.at(name), { range })
        expect([name, range, got.status, got.bytes.equals(part)]).toEqual([name, range, 206, true])
      }
      const head = await fetch(service.server.url + bucket.at(name), {
        ...{ method: 'HEAD', headers: { authorization: `Bearer ${service.org.secretKey}` } },
      })
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(size)])
    }
  }
})

test.skipIf(!storeIsEmbedded())('up to the limit no file is made, above it one is', async () => {
  const bucket = await makeBucket(service.api)
  for (const size of sizes) {
    const before = blobs()
    await bucket.put(`f${size}`, content(size))
    expect([size, blobs() - before]).toEqual([size, size <= storeFileBytesMax ? 0 : 1])
  }
})

test('by its permanent URL and by signed ones, also for an upload', async () => {
  const bucket = await makeBucket(service.api)
  const bytes = content(storeFileBytesMax)
  await bucket.put('public', bytes, { query: { visibility: 'public' } })
  await bucket.put('private', bytes)
  const urlOf = async (request: object): Promise<string> => {
    const { pathname, search } = new URL(ok(await bucket.api.post(`${bucket.path}/url`, request)).url)
    return service.server.url + pathname + search
  }
  for (const name of ['public', 'private']) {
    const answer = await fetch(await urlOf({ name }), { headers: { range: 'bytes=10-' } })
    expect([name, answer.status, Buffer.from(await answer.bytes()).equals(bytes.subarray(10))]).toEqual([
      name,
      206,
      true,
    ])
  }
  const upload = await urlOf({ name: 'sent', method: 'PUT', sizeMax: 100 })
  expect((await fetch(upload, { method: 'PUT', body: content(101) })).status).toBe(413)
  expect((await fetch(upload, { method: 'PUT', body: content(100) })).status).toBe(200)
  expect((await fetchBytes(bucket.at('sent'))).bytes.equals(content(100))).toBe(true)
  expect((await fetch(upload, { method: 'PUT', body: content(100) })).status).toBe(412)
})

test('one kind replaces the other; PATCH keeps the bytes; what is refused leaves the file as it was', async () => {
  const bucket = await makeBucket(service.api)
  for (const size of [10, storeFileBytesMax + 1, 20, storeFileBytesMax, 0]) {
    await bucket.put('f', content(size))
    expect((await fetchBytes(bucket.at('f'))).bytes.equals(content(size))).toBe(true)
  }
  await bucket.put('f', content(30))
  ok(await bucket.change('f', { contentType: 'image/png', metadata: { a: 1 } }))
  const got = await fetchBytes(bucket.at('f'))
  expect([got.headers.get('content-type'), got.bytes.equals(content(30))]).toEqual(['image/png', true])
  refused(await bucket.tryPut('f', 'x', { headers: { 'if-none-match': '*' } }), 412, 'precondition_failed')
  const wrong = { headers: { 'content-digest': contentDigest('other') } }
  refused(await bucket.tryPut('f', 'x', wrong), 400, 'digest_mismatch')
  expect((await fetchBytes(bucket.at('f'))).bytes.equals(content(30))).toBe(true)
  ok(await bucket.delete('f'))
  expect((await fetchBytes(bucket.at('f'))).status).toBe(404)
})

test('a deleted bucket that is restored has its small files', async () => {
  const bucket = await makeBucket(service.api)
  await bucket.put('f', content(100))
  ok(await bucket.api.delete(bucket.path))
  ok(await bucket.api.post(`${bucket.path}/restore`))
  expect((await fetchBytes(bucket.at('f'))).bytes.equals(content(100))).toBe(true)
})

test('40 at once to one name: the bytes that are read are those of the record', async () => {
  const bucket = await makeBucket(service.api)
  const uploads = Array.from({ length: 40 }, (_, i) => bucket.tryPut('f', content(1_000 + i)))
  for (const answer of await Promise.all(uploads)) expect(answer.status).toBe(200)
  const { size, sha256: digest } = ok(await bucket.record('f'))
  const { bytes } = await fetchBytes(bucket.at('f'))
  expect([bytes.length, sha256(bytes)]).toEqual([size, digest])
})

test('with --workers: written through one process, read through all, with every byte', async () => {
  const server = await startServer({ args: ['--workers', '2'] })
  try {
    const bucket = await makeBucket(server.as((await server.createOrganization()).secretKey))
    const files = Array.from({ length: 20 }, (_, i) => content(storeFileBytesMax - i))
    await Promise.all(files.map((bytes, i) => bucket.put(`f${i}`, bytes)))
    const answers = await Promise.all(
      files.map((_, i) =>
        fetch(server.url + bucket.at(`f${i}`), {
          headers: { authorization: `Bearer ${bucket.api.key}`, connection: 'close' },
        }),
      ),
    )
    for (const [i, answer] of answers.entries()) {
      expect([i, answer.status, Buffer.from(await answer.bytes()).equals(files[i]!)]).toEqual([i, 200, true])
    }
  } finally {
    await server.stop()
  }
})

test.skipIf(!storeIsEmbedded())(
  'a changed or missing byte in the store is never served: 500, and verify names the file',
  async () => {
    const bucket = await makeBucket(service.api)
    for (const name of ['changed', 'missing', 'whole']) await bucket.put(name, content(200))
    const db = new Database(join(service.server.dataDir, 'cubby.db'))
    const idOf = (name: string): string =>
      db
        .query<{ id: string }, [string]>(
          `SELECT substr(CAST(i3_hash AS TEXT), 2) AS id FROM records WHERE range_key = CAST(? AS BLOB) ORDER BY id DESC`,
        )
        .get(name)!.id
    db.run('UPDATE blob_bytes SET bytes = CAST(? AS BLOB) WHERE id = ?', [Buffer.alloc(200, 7), idOf('changed')])
    db.run('DELETE FROM blob_bytes WHERE id = ?', [idOf('missing')])
    db.close()
    // The server keeps its view of the store until its next commit.
    await bucket.put('whole', content(201))
    for (const name of ['changed', 'missing']) {
      refused(await bucket.api.get(bucket.at(name)), 500, 'store_damaged')
      expect((await bucket.api.request('HEAD', bucket.at(name))).status).toBe(500)
      expect(ok(await bucket.record(name)).size).toBe(200)
    }
    expect((await fetchBytes(bucket.at('whole'))).bytes.equals(content(201))).toBe(true)
    await eventually('the log says so', () =>
      service.server.log.some(({ message }) => message === 'the bytes of a file are missing') ? true : undefined,
    )
    const { exitCode, stdout } = await service.server.cubby('verify')
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/file "changed" of app\/\w+: its bytes in the store are not those that were uploaded/)
    expect(stdout).toMatch(/file "missing" of app\/\w+: its bytes are not in the store/)
  },
)
