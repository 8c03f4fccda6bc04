import { beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { checkResponse } from '../harness.ts'
import { makeBucket, sha256, type TestBucket } from './bucket.ts'
import { ok, refused, useService } from './service.ts'

// These tests check what the URL of a file gives to everybody: bytes, ranges, conditions, and headers that keep browsers
// from running it.

const service = useService({ args: ['--log', 'requests'] })

let bucket: TestBucket

beforeAll(async () => {
  bucket = await makeBucket(service.api)
})

interface Got {
  status: number
  headers: Headers
  bytes: Buffer
  text: string
}

const get = async (target: string, init: RequestInit = {}): Promise<Got> => {
  const response = await fetch(new URL(target, service.server.url), init)
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() }
}

const error = (got: Got): ApiResponse => checkResponse({ ...got, body: JSON.parse(got.text) })

/** The path of a file's URL. */
const at = (name: string, query = ''): string =>
  `/files/${bucket.created.id}/${name.split('/').map(encodeURIComponent).join('/')}${query}`

const put = (name: string, bytes: string | Uint8Array, type: string, visibility = 'public'): Promise<Json> =>
  bucket.put(name, bytes, { query: { visibility }, headers: { 'content-type': type } })

const policy = "default-src 'none'; style-src 'unsafe-inline'; media-src 'self'; sandbox"

const expectSafe = ({ headers }: Pick<Got, 'headers'>, csp: string | null = policy): void => {
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  expect(headers.get('content-security-policy')).toBe(csp)
  expect(headers.get('access-control-allow-origin')).toBe('*')
}

/** `url` of an answer, without the address of the server. */
const targetOf = (url: string): string => {
  expect(url.startsWith(`${service.server.url}/files/`)).toBe(true)
  return url.slice(service.server.url.length)
}

const urlOf = async (request: Json, api: Api = service.api): Promise<string> =>
  targetOf(ok(await api.post(`${bucket.path}/url`, request)).url)

describe('a permanent URL', () => {
  test('gives the bytes of a public file, with every header of the contract, without a key', async () => {
    const record = await put('notes/a b.txt', 'hello', 'text/plain; charset=utf-8')
    expect(record.url).toBe(service.server.url + at('notes/a b.txt'))
    const got = await get(record.url)
    expect(got).toMatchObject({ status: 200, text: 'hello' })
    expectSafe(got)
    expect(Object.fromEntries(got.headers)).toMatchObject({
      etag: `"${sha256('hello')}"`,
      'accept-ranges': 'bytes',
      'repr-digest': `sha-256=:${createHash('sha256').update('hello').digest('base64')}:`,
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '5',
      'content-disposition': 'inline; filename="a b.txt"',
      'cache-control': 'public, no-cache',
    })
    expect(got.headers.get('x-request-id')).not.toBeNull()
    expect(got.headers.has('vary')).toBe(false)
    expect(got.headers.get('access-control-expose-headers')).toContain('Content-Range')
  })

  test('an Authorization header is not read, whatever it says', async () => {
    await put('open.txt', 'x', 'text/plain')
    for (const authorization of ['Bearer nonsense', `Bearer ${service.otherOrg.secretKey}`, 'Basic eDp5']) {
      expect(await get(at('open.txt'), { headers: { authorization } })).toMatchObject({ status: 200, text: 'x' })
    }
  })

  test('HEAD: the same headers with the length, no body, and Range is ignored', async () => {
    await put('head.bin', Buffer.alloc(3_000_000, 7), 'application/octet-stream')
    const head = await get(at('head.bin'), { method: 'HEAD', headers: { range: 'bytes=0-9' } })
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers.get('content-length')).toBe('3000000')
    expect(head.headers.has('content-range')).toBe(false)
    expectSafe(head)
  })

  test('?v=<updatedAt> of the current version may be kept forever; another value may not', async () => {
    const { updatedAt } = await put('v.css', 'a{}', 'text/css')
    const cacheOf = async (query: string) => (await get(at('v.css', query))).headers.get('cache-control')
    expect(await cacheOf(`?v=${updatedAt}`)).toBe('public, max-age=31536000, immutable')
    expect(await cacheOf(`?v=${updatedAt - 1}`)).toBe('public, no-cache')
    expect(await cacheOf(`?${'v1=1&'.repeat(2_000)}v=${updatedAt}`)).toBe('public, max-age=31536000, immutable')
    expect(await cacheOf(`?utm_source=x&v=${updatedAt}&v=1`)).toBe('public, max-age=31536000, immutable')
  })

  test('unknown parameters are ignored; ?download saves the file, under its own name or another', async () => {
    await put('pics/ü "x".png', 'png', 'image/png')
    const disposition = async (query: string) =>
      (await get(at('pics/ü "x".png', query))).headers.get('content-disposition')
    const own = `filename="_ \\"x\\".png"; filename*=UTF-8''%C3%BC%20%22x%22.png`
    expect(await disposition('?utm_campaign=spring&expires=1&key=2')).toBe(`inline; ${own}`)
    expect(await disposition('?download')).toBe(`attachment; ${own}`)
    expect(await disposition('?xdownload&downloads=1&a=download&DOWNLOAD')).toBe(`inline; ${own}`)
    expect(await disposition(`?${'a=1&'.repeat(3_000)}download=last.png&download=no`)).toBe(
      'attachment; filename="last.png"',
    )
    expect(await disposition('?download=other+name.png')).toBe('attachment; filename="other name.png"')
    expect(await disposition('?download=a%0D%0ASet-Cookie:x')).toContain('filename="a_Set-Cookie:x"')
    expect(await disposition(`?download=${'n'.repeat(256)}`)).toBe(`attachment; ${own}`)
    const [longest, tooLong] = [255, 256].map((count) => '%F0%9F%98%80'.repeat(count))
    expect(await disposition(`?download=${longest}`)).toBe(`attachment; filename="_"; filename*=UTF-8''${longest}`)
    expect(await disposition(`?download=${tooLong}`)).toBe(`attachment; ${own}`)
  })

  test('only types that cannot run a script are shown; a PDF has no sandbox', async () => {
    const shown = async (type: string): Promise<string> => {
      await put('typed', 'x', type)
      const got = await get(at('typed'))
      expect(got.headers.get('content-type')).toBe(type)
      expectSafe(got, /^application\/pdf/i.test(type) ? null : policy)
      return got.headers.get('content-disposition')!.split(';')[0]!
    }
    for (const type of ['image/png', 'IMAGE/PNG', 'video/webm; codecs="vp8"', 'audio/x-any', 'application/pdf']) {
      expect([type, await shown(type)]).toEqual([type, 'inline'])
    }
    for (const type of ['text/html', 'image/svg+xml', 'text/xml', 'text/javascript', 'image/pngx', 'x/y']) {
      expect([type, await shown(type)]).toEqual([type, 'attachment'])
    }
  })

  test('unknown bucket, unknown file and private file cannot be told apart', async () => {
    await put('secret.txt', 'x', 'text/plain', 'private')
    const deleted = await makeBucket(service.api)
    await deleted.put('a', 'x', { query: { visibility: 'public' } })
    ok(await service.api.delete(deleted.path))
    const targets = [
      at('secret.txt'),
      at('none.txt'),
      '/files/bkt_0000000000000000000000/secret.txt',
      '/files/nonsense/secret.txt',
      `/files/${deleted.created.id}/a`,
    ]
    const headers = { 'x-request-id': 'same' }
    const answers = await Promise.all(targets.map((target) => get(target, { headers })))
    for (const got of answers) {
      refused(error(got), 404, 'file_not_found')
      expectSafe(got)
      expect(got.headers.get('cache-control')).toBe('no-store')
      expect(got.text).toBe(answers[0]!.text)
      const seen = Object.fromEntries(got.headers)
      expect({ ...seen, date: '' }).toEqual({ ...Object.fromEntries(answers[0]!.headers), date: '' })
    }
    // Restored, the URLs work again.
    ok(await service.api.post(`${deleted.path}/restore`))
    expect(await get(targets[4]!)).toMatchObject({ status: 200, text: 'x' })
  })

  test('names: every segment once, %2F is /, bad names are refused as everywhere', async () => {
    await put('deep/er/f', 'deep', 'text/plain')
    expect(await get(`/files/${bucket.created.id}/deep%2Fer/f`)).toMatchObject({ status: 200, text: 'deep' })
    const long = Array.from({ length: 16 }, (_, i) => `s${i}`).join('/')
    await put(long, 'long', 'text/plain')
    expect(await get(at(long))).toMatchObject({ status: 200, text: 'long' })
    const raw = (target: string) => service.server.raw('GET', `/files/${bucket.created.id}/${target}`)
    refused(await raw(`${long}/more`), 400, 'invalid_key', 'name')
    refused(await raw('a/%2e%2e/b'), 400, 'invalid_key', 'name')
    refused(await raw('a%00b'), 400, 'invalid_key', 'name')
    refused(await raw('a//b'), 404, 'route_not_found')
    refused(await raw(''), 404, 'route_not_found')
  })

  test('other methods are 405, PUT without a signature is 404, OPTIONS is a preflight', async () => {
    await put('m', 'x', 'text/plain')
    for (const method of ['POST', 'DELETE', 'PATCH']) {
      const got = await get(at('m'), { method })
      refused(error(got), 405, 'method_not_allowed')
      expect(got.headers.get('allow')).toBe('GET, HEAD, OPTIONS, PUT')
      expectSafe(got)
    }
    refused(error(await get(at('m'), { method: 'PUT', body: 'y' })), 404, 'file_not_found')
    const key = { authorization: `Bearer ${service.org.secretKey}` }
    refused(error(await get(at('m'), { method: 'PUT', body: 'y', headers: key })), 404, 'file_not_found')
    expect((await get(at('m'))).text).toBe('x')
    const preflight = await get(at('m'), { method: 'OPTIONS', headers: { origin: 'https://example.com' } })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('content-digest')
  })

  test('an expired file is gone', async () => {
    const ttl = Math.floor(Date.now() / 1000) - 10
    await bucket.put('old', 'x', { query: { visibility: 'public', ttl: String(ttl) } })
    refused(error(await get(at('old'))), 404, 'file_not_found')
  })
})

describe('ranges and conditions', () => {
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, i) => i % 251))
  const tag = `"${sha256(bytes)}"`
  const ranged = (range: string, more: Record<string, string> = {}) => get(at('r.bin'), { headers: { range, ...more } })

  beforeAll(() => put('r.bin', bytes, 'application/octet-stream'))

  test('one range is 206 with its bytes and its length', async () => {
    for (const [range, start, end] of [
      ['bytes=0-9', 0, 10],
      ['bytes=4990-', 4990, 5000],
      ['bytes=4990-99999', 4990, 5000],
      ['bytes=-7', 4993, 5000],
      ['bytes=-99999', 0, 5000],
      ['BYTES= 3-3 ,', 3, 4],
    ] as const) {
      const got = await ranged(range)
      expect([range, got.status, got.headers.get('content-range')]).toEqual([
        range,
        206,
        `bytes ${start}-${end - 1}/5000`,
      ])
      expect(got.headers.get('content-length')).toBe(String(end - start))
      expect(got.bytes.equals(bytes.subarray(start, end))).toBe(true)
      expect(got.headers.get('etag')).toBe(tag)
    }
  })

  test('a range without bytes is 416 with the size, as an error with a body', async () => {
    for (const range of ['bytes=5000-', 'bytes=9999-10000', 'bytes=-0']) {
      const got = await ranged(range)
      refused(error(got), 416, 'range_not_satisfiable', 'Range')
      expect(got.headers.get('content-range')).toBe('bytes */5000')
      expect(got.headers.get('cache-control')).toBe('no-store')
      expectSafe(got)
    }
    await put('empty', '', 'text/plain')
    expect(await get(at('empty'))).toMatchObject({ status: 200, text: '' })
    expect((await get(at('empty'))).headers.get('content-length')).toBe('0')
    const got = await get(at('empty'), { headers: { range: 'bytes=-5' } })
    refused(error(got), 416, 'range_not_satisfiable')
    expect(got.headers.get('content-range')).toBe('bytes */0')
  })

  test('several ranges, malformed ones, and an If-Range that does not match give everything', async () => {
    for (const range of ['bytes=0-1,3-4', 'bytes=9-3', 'bytes=x', 'lines=0-1', 'bytes=']) {
      expect([range, (await ranged(range)).status]).toEqual([range, 200])
    }
    const other = ['"other"', `W/${tag}`, 'Tue, 15 Nov 1994 12:45:26 GMT']
    for (const ifRange of other) {
      const got = await ranged('bytes=0-9', { 'if-range': ifRange })
      expect([ifRange, got.status, got.bytes.length]).toEqual([ifRange, 200, 5000])
    }
    expect((await ranged('bytes=0-9', { 'if-range': tag })).status).toBe(206)
  })

  test('If-None-Match: 304 without a body, by the weak comparison; before Range', async () => {
    for (const value of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
      const got = await ranged('bytes=99999-', { 'if-none-match': value })
      expect([value, got.status, got.text]).toEqual([value, 304, ''])
      expect(got.headers.get('etag')).toBe(tag)
      expect(got.headers.get('cache-control')).toBe('public, no-cache')
      expectSafe(got)
    }
    expect((await get(at('r.bin'), { headers: { 'if-none-match': '"x"' } })).status).toBe(200)
  })

  test('If-Match: 412 if no tag is that of the bytes, by the strong comparison; before If-None-Match', async () => {
    const matched = (value: string) => get(at('r.bin'), { headers: { 'if-match': value, 'if-none-match': '*' } })
    for (const value of ['"x"', `W/${tag}`, '"x", "y"', `"x",W/${tag}, "y"`, `x${tag}`, `${tag}x`])
      refused(error(await matched(value)), 412, 'precondition_failed')
    for (const value of [tag, '*', `"x", ${tag}`, `W/${tag} , ${tag} ,"y"`])
      expect((await matched(value)).status).toBe(304)
  })

  test('GET with a key: the same, but private', async () => {
    const headers = { authorization: `Bearer ${service.org.secretKey}` }
    const got = await get(bucket.at('r.bin'), { headers: { ...headers, range: 'bytes=1-2' } })
    expect([got.status, got.headers.get('cache-control'), got.headers.get('vary')]).toEqual([
      206,
      'private, no-cache',
      'Authorization',
    ])
    expectSafe(got)
    const past = await get(bucket.at('r.bin'), { headers: { ...headers, range: 'bytes=9999-' } })
    expect([past.status, past.headers.get('content-range')]).toEqual([416, 'bytes */5000'])
    expectSafe(past)
  })
})

describe('large files', () => {
  test('up to 1 MiB there is a Content-Length, above that the bytes are streamed; both are whole', async () => {
    const large = Buffer.alloc(5 * 1024 * 1024 + 17)
    for (let i = 0; i < large.length; i += 4) large.writeUInt32LE(i, Math.min(i, large.length - 4))
    await put('large.bin', large, 'application/octet-stream')
    const all = await get(at('large.bin'))
    expect([all.status, sha256(all.bytes)]).toEqual([200, sha256(large)])
    const part = async (start: number, end: number) => {
      const got = await get(at('large.bin'), { headers: { range: `bytes=${start}-${end - 1}` } })
      expect([got.status, got.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end - 1}/${large.length}`])
      expect(got.bytes.equals(large.subarray(start, end))).toBe(true)
      return got.headers.get('content-length')
    }
    expect(await part(100_001, 100_001 + 1024 * 1024)).toBe(String(1024 * 1024))
    expect(await part(1, 40_000)).toBe('39999')
    await part(3, 3_000_000)
    // An answer that has been read takes no room any more.
    for (let i = 0; i < 40; i++) expect(await part(i, i + 1024 * 1024)).toBe(String(1024 * 1024))
    // A client that goes away in the middle costs nothing: the next ones are served as before.
    for (let i = 0; i < 80; i++) {
      const controller = new AbortController()
      const response = await fetch(service.server.url + at('large.bin'), { signal: controller.signal })
      await response.body!.getReader().read()
      controller.abort()
    }
    expect((await get(at('large.bin'))).bytes.length).toBe(large.length)
  })
})

test('the query of /files URLs is not logged', async () => {
  await put('logged.txt', 'x', 'text/plain')
  const target = await urlOf({ name: 'logged.txt', expiresIn: 60 })
  const query = target.split('?')[1]!
  await get(target)
  await get(`/files//nothing?${query}`)
  await get(`/files/x?${query}`)
  await get(target, { method: 'PUT', body: 'x' })
  await get(target, { method: 'DELETE' })
  await service.server.end('SIGTERM')
  const lines = service.server.logLines.join('\n')
  expect(lines).toContain(at('logged.txt'))
  // The word alone is in the code `invalid_signature`.
  expect(lines).not.toContain('signature=')
  expect(lines).not.toContain(new URLSearchParams(query).get('signature')!)
  await service.server.restart()
})
