import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import { acceptsGzip } from '../../src/http/accept.ts'
import { type Server, startServer } from '../harness.ts'

// The descriptions are long and the same for everyone, so they are compressed once. Answers with records are not compressed.

setDefaultTimeout(120_000)

let server: Server
beforeAll(async () => {
  server = await startServer({ shared: true })
})
afterAll(async () => {
  await server?.stop()
})

interface Sent {
  status: number
  headers: Headers
  body: Buffer
}

/** `fetch` decompresses by itself unless it is told not to. */
const get = async (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Sent> => {
  const response = await fetch(server.url + path, { method, headers, decompress: false } as BunFetchRequestInit)
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }
}

const plain = { 'Accept-Encoding': 'identity' }
const gzip = { 'Accept-Encoding': 'gzip, deflate, br' }

for (const path of ['/docs', '/openapi.json']) {
  describe(path, () => {
    test('is sent compressed to a client that accepts gzip, and is the same text', async () => {
      const [compressed, whole] = [await get(path, gzip), await get(path, plain)]
      expect(compressed.headers.get('content-encoding')).toBe('gzip')
      expect(whole.headers.get('content-encoding')).toBeNull()
      expect(gunzipSync(compressed.body).equals(whole.body)).toBe(true)
      expect(compressed.body.length * 5).toBeLessThan(whole.body.length)
      expect(compressed.headers.get('content-length')).toBe(String(compressed.body.length))
      for (const { headers } of [compressed, whole]) {
        expect(headers.get('vary')).toBe('Accept-Encoding')
        expect(headers.get('cache-control')).toBe('private, no-cache')
        expect(headers.get('content-type')).toStartWith(path === '/docs' ? 'text/html' : 'application/json')
      }
    })

    test('every reader gets the same bytes', async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => get(path, gzip)))
      for (const { body } of responses) expect(body.equals(responses[0]!.body)).toBe(true)
    })

    test('HEAD has the headers of GET and no body, compressed or not', async () => {
      for (const accepted of [plain, gzip]) {
        const [head, whole] = [await get(path, accepted, 'HEAD'), await get(path, accepted)]
        expect(head.status).toBe(200)
        expect(head.body.length).toBe(0)
        for (const name of ['content-type', 'content-encoding', 'content-length', 'etag', 'vary', 'cache-control']) {
          expect([name, head.headers.get(name)]).toEqual([name, whole.headers.get(name)])
        }
      }
    })

    test('a copy that is still current is answered 304, whatever its encoding', async () => {
      const etag = (await get(path, gzip)).headers.get('etag')!
      expect((await get(path, plain)).headers.get('etag')).toBe(etag)
      for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
        for (const accepted of [plain, gzip]) {
          for (const method of ['GET', 'HEAD']) {
            const { status, headers, body } = await get(path, { ...accepted, 'If-None-Match': tag }, method)
            expect([tag, status, body.length]).toEqual([tag, 304, 0])
            expect(headers.get('etag')).toBe(etag)
            expect(headers.get('vary')).toBe('Accept-Encoding')
            expect(headers.get('content-encoding')).toBeNull()
          }
        }
      }
      expect((await get(path, { 'If-None-Match': '"other"' })).status).toBe(200)
    })

    test('the tag is the same on another process of the same version', async () => {
      const other = await startServer()
      try {
        const theirs = await fetch(`${other.url}${path}`)
        expect(theirs.headers.get('etag')).toBe((await get(path)).headers.get('etag'))
      } finally {
        await other.stop()
      }
    })
  })
}

test('answers with records are not compressed', async () => {
  const { secretKey } = await server.createOrganization()
  const api = server.as(secretKey)
  await api.post('/v1/app/notes')
  await api.put('/v1/app/notes', { hashKey: 'long', data: { text: 'a'.repeat(100_000) } })
  const sent = await get('/v1/app/notes/long', { ...gzip, Authorization: `Bearer ${secretKey}` })
  expect(sent.status).toBe(200)
  expect(sent.headers.get('content-encoding')).toBeNull()
  expect(sent.body.length).toBeGreaterThan(100_000)
})

describe('Accept-Encoding is read as HTTP says', () => {
  for (const [header, expected] of [
    [null, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['x-gzip', true],
    ['br', false],
    ['deflate, gzip;q=1.0, *;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000', false],
    ['gzip;q=0, *', false],
    ['*', true],
    ['*;q=0', false],
    ['identity', false],
    ['identity, gzip', true],
    ['identity;q=1, gzip;q=0.5', false],
    ['identity;q=0.5, gzip;q=1', true],
    ['identity;q=0, gzip;q=0.1', true],
    ['gzip;q=abc', false],
    ['notgzip, gzipped', false],
  ] as const) {
    test(`${header}: ${expected ? 'gzip' : 'plain'}`, async () => {
      expect(acceptsGzip(header)).toBe(expected)
      if (header === null) return
      const { headers } = await get('/openapi.json', { 'Accept-Encoding': header })
      expect(headers.get('content-encoding')).toBe(expected ? 'gzip' : null)
    })
  }
})
