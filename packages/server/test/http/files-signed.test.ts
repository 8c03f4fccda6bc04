import { beforeAll, describe, expect, test } from 'bun:test'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { checkResponse, eventually } from '../harness.ts'
import { contentDigest, makeBucket, sha256, type TestBucket } from './bucket.ts'
import { createKey, ok, refused, useService } from './service.ts'

// A signed URL allows exactly one thing, for a time, as long as its key lives. What would go wrong without it: a URL given to
// one person opens another file, or outlives the key that was revoked because of it.

const service = useService({ clock: true })

let bucket: TestBucket

beforeAll(async () => {
  bucket = await makeBucket(service.api)
  await bucket.put('private.txt', 'private', { headers: { 'content-type': 'text/plain' } })
  await bucket.put('other.txt', 'other')
  await bucket.put('public.txt', 'public', { query: { visibility: 'public' } })
})

const ask = (request: Json, api: Api = service.api): Promise<ApiResponse> => api.post(`${bucket.path}/url`, request)
const urlOf = async (request: Json, api?: Api): Promise<string> => ok(await ask(request, api)).url

const send = async (url: string, init: RequestInit = {}): Promise<ApiResponse> => {
  const response = await fetch(url, init)
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  const answer = {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
  if (response.status >= 400) {
    checkResponse(answer)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-security-policy')).toContain('sandbox')
  }
  return answer
}

const upload = (url: string, body: string, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  send(url, { method: 'PUT', body, headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers } })

/** The URL with another query. */
const changed = (url: string, change: (parameters: URLSearchParams) => void): string => {
  const [path, query] = url.split('?')
  const parameters = new URLSearchParams(query)
  change(parameters)
  return `${path}?${parameters}`
}

describe('the operation', () => {
  test('a private file: a signed URL, for 900 seconds unless asked otherwise', async () => {
    const before = Date.now()
    const given = ok(await ask({ name: 'private.txt' }))
    expect(Object.keys(given)).toEqual(['url', 'method', 'expiresAt'])
    expect(given.method).toBe('GET')
    expect(given.expiresAt - before).toBeGreaterThanOrEqual(899_000)
    expect(given.expiresAt - Date.now()).toBeLessThanOrEqual(900_000)
    expect(given.url).toStartWith(`${service.server.url}/files/${bucket.created.id}/private.txt?`)
    expect(given.url).not.toContain(service.org.name)
    const got = await send(given.url)
    expect([got.status, got.text, got.headers.get('cache-control')]).toEqual([200, 'private', 'private, no-cache'])
    expect((await send(given.url, { method: 'HEAD' })).status).toBe(200)
  })

  test('a public file: its permanent URL; with expiresIn a signed one', async () => {
    const permanent = ok(await ask({ name: 'public.txt', download: 'a & b.txt' }))
    expect(permanent).toEqual({
      url: `${service.server.url}/files/${bucket.created.id}/public.txt?download=a%20%26%20b.txt`,
      method: 'GET',
      expiresAt: null,
    })
    expect((await send(permanent.url)).headers.get('content-disposition')).toBe('attachment; filename="a & b.txt"')
    const emoji = ok(await ask({ name: 'public.txt', expiresIn: 60, download: '😀'.repeat(255) }))
    expect((await send(emoji.url)).headers.get('content-disposition')).toEndWith('%F0%9F%98%80'.repeat(255))
    const signed = ok(await ask({ name: 'public.txt', expiresIn: 1, download: true }))
    expect(signed.expiresAt).toBeNumber()
    const got = await send(signed.url)
    expect([got.status, got.headers.get('cache-control')]).toEqual([200, 'private, no-cache'])
    expect(got.headers.get('content-disposition')).toBe('attachment; filename="public.txt"')
  })

  test('public keys: permanent URLs only; that a file is private comes first', async () => {
    expect(ok(await ask({ name: 'public.txt' }, service.reader)).expiresAt).toBeNull()
    refused(await ask({ name: 'public.txt', expiresIn: 60 }, service.reader), 403, 'read_only_key', 'expiresIn')
    refused(await ask({ name: 'private.txt' }, service.reader), 403, 'private_file')
    refused(await ask({ name: 'private.txt', expiresIn: 60 }, service.reader), 403, 'private_file')
    refused(await ask({ name: 'private.txt', method: 'PUT' }, service.reader), 403, 'private_file')
    refused(await ask({ name: 'public.txt', method: 'PUT' }, service.reader), 403, 'read_only_key', 'method')
    refused(await ask({ name: 'new.txt', method: 'PUT' }, service.reader), 403, 'read_only_key', 'method')
    refused(await ask({ name: 'none.txt', expiresIn: 60 }, service.reader), 403, 'read_only_key', 'expiresIn')
    refused(await ask({ name: 'none.txt' }, service.reader), 404, 'file_not_found')
  })

  test('bad input is named', async () => {
    const wrong: [Json, string, string?][] = [
      [{}, 'name', 'invalid_key'],
      [{ name: '../x' }, 'name', 'invalid_key'],
      [{ name: 'a', method: 'POST' }, 'method'],
      [{ name: 'a', expiresIn: 0 }, 'expiresIn'],
      [{ name: 'a', expiresIn: 604_801 }, 'expiresIn'],
      [{ name: 'a', expiresIn: '60' }, 'expiresIn'],
      [{ name: 'a', download: '' }, 'download'],
      [{ name: 'a', download: 'x'.repeat(256) }, 'download'],
      [{ name: 'a', download: 'a\nb' }, 'download'],
      [{ name: 'a', download: 5 }, 'download'],
      [{ name: 'a', sizeMax: 5 }, 'sizeMax'],
      [{ name: 'a', Name: 'b' }, 'Name'],
      [{ name: 'a', method: 'PUT', download: true }, 'download'],
      [{ name: 'a', method: 'PUT', sizeMax: -1 }, 'sizeMax'],
      [{ name: 'a', method: 'PUT', sizeMax: 5 * 2 ** 30 + 1 }, 'sizeMax'],
      [{ name: 'a', method: 'PUT', contentType: 'a/b, c/d' }, 'contentType'],
      [{ name: 'a', method: 'PUT', visibility: 'open' }, 'visibility'],
      [{ name: 'a', method: 'PUT', metadata: [] }, 'metadata'],
      [{ name: 'a', method: 'PUT', replace: 'yes' }, 'replace'],
      [{ name: 'a', method: 'PUT', ttl: 5 }, 'ttl', 'invalid_ttl'],
      [{ name: 'a', method: 'PUT', expires: 5 }, 'expires'],
    ]
    for (const [request, field, code = 'invalid_request'] of wrong) refused(await ask(request), 400, code, field)
    refused(await ask({ name: 'none.txt' }), 404, 'file_not_found')
    refused(await service.api.post('/v1/app/_buckets/none/url', { name: 'a' }), 404, 'bucket_not_found')
  })

  test('url is a verb only for POST: a file may have this name', async () => {
    await bucket.put('url', 'a file')
    expect(await bucket.read('url')).toBe('a file')
    expect((await send(await urlOf({ name: 'url' }))).text).toBe('a file')
  })
})

test('a query with expiresIn gives private files signed URLs, and public ones their own', async () => {
  const before = Date.now()
  const { items } = await bucket.query({ prefix: 'p', expiresIn: 60 })
  expect(items.map(({ name }: Json) => name)).toEqual(['private.txt', 'public.txt'])
  const [secret, open] = items
  expect(secret.urlExpiresAt - before).toBeGreaterThan(59_000)
  expect(secret.urlExpiresAt - Date.now()).toBeLessThanOrEqual(60_000)
  expect((await send(secret.url)).text).toBe('private')
  refused(await send(changed(secret.url, (p) => p.append('a', ''))), 403, 'invalid_signature')
  expect(open.url).not.toContain('?')
  expect(open).not.toHaveProperty('urlExpiresAt')
  expect((await bucket.query({ prefix: 'private' })).items[0].url).toBeNull()
})

describe('the signature', () => {
  test('any change of path, method or parameters is 403 invalid_signature, before anything is looked up', async () => {
    const url = await urlOf({ name: 'private.txt', download: true })
    const other = await makeBucket(service.api)
    await other.put('private.txt', 'x')
    const forged = [
      url.replace('private.txt', 'other.txt'),
      url.replace('private.txt', 'none.txt'),
      url.replace(bucket.created.id, other.created.id),
      url.replace(bucket.created.id, 'bkt_0000000000000000000000'),
      changed(url, (p) => p.set('expires', String(Number(p.get('expires')) + 1))),
      changed(url, (p) => p.set('key', 'key_other')),
      changed(url, (p) => p.delete('key')),
      changed(url, (p) => p.delete('download')),
      changed(url, (p) => p.set('download', 'evil.html')),
      changed(url, (p) => p.append('download', '')),
      changed(url, (p) => p.append('utm_source', 'x')),
      changed(url, (p) => p.append('v', '1')),
      changed(url, (p) => p.append('signature', p.get('signature')!)),
      changed(url, (p) => p.set('signature', '')),
      changed(url, (p) => p.set('signature', p.get('signature')!.slice(0, -1))),
      changed(url, (p) =>
        p.set(
          'signature',
          p.get('signature')!.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')),
        ),
      ),
      // The last character of base64 has bits that do not count: still only one text is right.
      changed(url, (p) =>
        p.set(
          'signature',
          p.get('signature')!.replace(/.$/, (c) => String.fromCharCode(c.charCodeAt(0) + 1)),
        ),
      ),
    ]
    for (const one of forged) refused(await send(one), 403, 'invalid_signature')
    refused(await upload(url, 'x'), 403, 'invalid_signature')
    expect((await send(url)).text).toBe('private')
    // The same parameters in another order, or escaped in another way, are the same URL.
    const [path, query] = url.split('?')
    expect((await send(`${path}?${query!.split('&').reverse().join('&')}`)).text).toBe('private')
    expect((await send(url.replace('private.txt', '%70rivate.txt'))).text).toBe('private')
  })

  test('more than 16 parameters are 403 invalid_signature, also if the signature is right', async () => {
    const url = await urlOf({ name: 'private.txt' })
    const parameters = url.split('?')[1]!.split('&').length
    // Empty parameters are not signed, so that only their number matters.
    expect((await send(url + '&'.repeat(16 - parameters))).text).toBe('private')
    refused(await send(url + '&'.repeat(17 - parameters)), 403, 'invalid_signature')
    const upload17 = `${await urlOf({ name: 'new.txt', method: 'PUT' })}${'&'.repeat(16)}`
    refused(await upload(upload17, 'x'), 403, 'invalid_signature')
  })

  test('a signature is looked for in the query as it was sent', async () => {
    const url = await urlOf({ name: 'public.txt', expiresIn: 60 })
    // Now it is a parameter that nobody knows.
    expect((await send(url.replace('signature=', '%73ignature=x'))).headers.get('cache-control')).toBe(
      'public, no-cache',
    )
    expect((await send(url.replace('signature=', 'utm_signature=x'))).text).toBe('public')
    refused(await send(url.replace('signature=', 'a=1&signature=x')), 403, 'invalid_signature')
    const escaped = await urlOf({ name: 'private.txt', download: true })
    // A name of an option that is escaped is still signed, and still means the same.
    const saved = await send(escaped.replace('download=', '%64ownload='))
    expect([saved.text, saved.headers.get('content-disposition')]).toEqual([
      'private',
      'attachment; filename="private.txt"',
    ])
  })

  test('without its signature it is a plain URL', async () => {
    const strip = (url: string) => changed(url, (p) => p.delete('signature'))
    refused(await send(strip(await urlOf({ name: 'private.txt' }))), 404, 'file_not_found')
    expect((await send(strip(await urlOf({ name: 'public.txt', expiresIn: 60 })))).text).toBe('public')
  })

  test('it survives a restart', async () => {
    const url = await urlOf({ name: 'private.txt' })
    const { pathname, search } = new URL(url)
    await service.server.restart()
    expect((await send(service.server.url + pathname + search)).text).toBe('private')
  })

  test('a file that is gone is 404, a bucket that is gone too', async () => {
    const other = await makeBucket(service.api)
    await other.put('a', 'x')
    const url: string = ok(await service.api.post(`${other.path}/url`, { name: 'a' })).url
    ok(await other.delete('a'))
    refused(await send(url), 404, 'file_not_found')
    await other.put('a', 'y')
    expect((await send(url)).text).toBe('y')
    ok(await service.api.delete(other.path))
    refused(await send(url), 404, 'file_not_found')
    // A bucket with the same name is another one.
    ok(await service.api.post(other.path), 201)
    await other.put('a', 'z')
    refused(await send(url), 404, 'file_not_found')
  })
})

describe('the end of a URL', () => {
  test('it expires at expiresAt, with 403 expired_url', async () => {
    const { url, expiresAt } = ok(await ask({ name: 'private.txt', expiresIn: 600 }))
    service.server.setClock(expiresAt - Date.now() - 60_000)
    expect((await send(url)).status).toBe(200)
    service.server.setClock(expiresAt - Date.now() + 1_000)
    await eventually('the URL expires', async () => ((await send(url)).status === 403 ? true : undefined))
    expect(refused(await send(url), 403, 'expired_url').hint).toContain('POST /v1/:db/_buckets/:bucket/url')
    refused(await send(changed(url, (p) => p.set('expires', '9999999999999'))), 403, 'invalid_signature')
    service.server.setClock(0)
    await eventually('the clock is back', async () => ((await send(url)).status === 200 ? true : undefined))
  })

  test('it dies with its key: revoked is 403 revoked_api_key, at once; other keys go on', async () => {
    const key = await createKey(service.api)
    const read = await urlOf({ name: 'private.txt' }, service.server.as(key.key))
    const write = await urlOf({ name: 'never.txt', method: 'PUT' }, service.server.as(key.key))
    const own = await urlOf({ name: 'private.txt' })
    expect((await send(read)).status).toBe(200)
    ok(await service.api.delete(`/api/keys/${key.id}`))
    refused(await send(read), 403, 'revoked_api_key')
    refused(await upload(write, 'x'), 403, 'revoked_api_key')
    refused(await send(changed(read, (p) => p.append('x', '1'))), 403, 'invalid_signature')
    expect((await send(own)).status).toBe(200)
  })

  test('it is never valid for longer than its key', async () => {
    const expiresAt = Date.now() + 600_000
    const key = await createKey(service.api, { kind: 'secret', expiresAt })
    const given = ok(await ask({ name: 'private.txt', expiresIn: 604_800 }, service.server.as(key.key)))
    expect(given.expiresAt).toBe(expiresAt)
    expect((await send(given.url)).status).toBe(200)
    service.server.setClock(601_000)
    await eventually('the key expires', async () => ((await send(given.url)).status === 403 ? true : undefined))
    refused(await send(given.url), 403, 'expired_url')
    service.server.setClock(0)
  })

  test('a key limited to other databases signs nothing here', async () => {
    const key = await createKey(service.api, { kind: 'secret', databases: ['elsewhere'] })
    refused(await ask({ name: 'private.txt' }, service.server.as(key.key)), 403, 'key_scope')
    const limited = await createKey(service.api, { kind: 'secret', databases: ['app'] })
    expect((await send(await urlOf({ name: 'private.txt' }, service.server.as(limited.key)))).text).toBe('private')
  })
})

describe('a signed upload', () => {
  test('puts that one file with what the URL says, once unless it may replace', async () => {
    const ttl = Math.floor(Date.now() / 1000) + 86_400
    const metadata = '{"by":"ü & +", "n": 0, "n": 1.0}'
    const body = `{"name":"up/load ü.txt","method":"PUT","visibility":"public","ttl":${ttl},"metadata":${metadata},"contentType":"text/plain; charset=utf-8","sizeMax":10}`
    const given = ok(await service.server.request('POST', `${bucket.path}/url`, { key: service.org.secretKey, body }))
    expect(given.method).toBe('PUT')
    const answer = await upload(given.url, '0123456789', { 'content-digest': contentDigest('0123456789') })
    const record = ok(answer)
    expect(record).toEqual({
      name: 'up/load ü.txt',
      size: 10,
      contentType: 'text/plain; charset=utf-8',
      visibility: 'public',
      sha256: sha256('0123456789'),
      metadata: { by: 'ü & +', n: 1 },
      ttl,
      updatedAt: record.updatedAt,
      url: `${service.server.url}/files/${bucket.created.id}/up/load%20%C3%BC.txt`,
    })
    expect(answer.text).toContain(metadata)
    expect(answer.headers.get('etag')).toBe(`"${record.updatedAt}"`)
    expect(answer.headers.get('content-security-policy')).toContain('sandbox')
    expect(refused(await upload(given.url, 'again'), 412, 'precondition_failed').hint).toContain('"replace": true')
    expect((await send(record.url)).text).toBe('0123456789')
    const replace = await urlOf({ name: 'up/load ü.txt', method: 'PUT', replace: true })
    expect(ok(await upload(replace, 'again'))).toMatchObject({
      size: 5,
      visibility: 'private',
      metadata: {},
      url: null,
    })
    ok(await upload(replace, 'and again'))
  })

  test('another method than PUT: the hint says how', async () => {
    const url = await urlOf({ name: 'deep/form.txt', method: 'PUT' })
    const form = new FormData()
    form.append('file', new Blob(['x']))
    const posted = refused(await send(url, { method: 'POST', body: form }), 405, 'method_not_allowed')
    expect(posted.hint).toContain('takes PUT with the bytes as the body (curl -T FILE, not -F).')
    refused(await send(url, { method: 'DELETE' }), 405, 'method_not_allowed')
    ok(await upload(url, 'x'))
  })

  test('another type is 415, too many bytes are 413, a wrong digest and conditions are 400', async () => {
    const url = await urlOf({ name: 'typed.png', method: 'PUT', contentType: 'image/png', sizeMax: 4, replace: true })
    refused(await upload(url, 'x', { 'content-type': 'text/html' }), 415, 'unsupported_media_type', 'Content-Type')
    refused(await upload(url, 'x', { 'content-type': 'image/png; a=b' }), 415, 'unsupported_media_type')
    refused(await upload(url, 'x', { 'content-encoding': 'gzip' }), 415, 'unsupported_media_type')
    refused(await upload(url, '12345'), 413, 'file_too_large')
    refused(await upload(url, '1', { 'content-digest': contentDigest('2') }), 400, 'digest_mismatch')
    refused(await upload(url, '1', { 'if-none-match': '*' }), 400, 'invalid_request', 'If-None-Match')
    refused(await upload(url, '1', { 'if-match': '"1"' }), 400, 'invalid_request', 'If-Match')
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('123'))
        controller.enqueue(Buffer.from('45'))
        controller.close()
      },
    })
    refused(await send(url, { method: 'PUT', body: chunked }), 413, 'file_too_large')
    refused(await bucket.record('typed.png'), 404, 'file_not_found')
    expect(ok(await upload(url, '1234', { 'content-type': 'Image/PNG' }))).toMatchObject({ contentType: 'image/png' })
    // The type follows the name if neither the URL nor the request has one.
    const free = await urlOf({ name: 'free.csv', method: 'PUT' })
    expect(ok(await upload(free, 'a,b'))).toMatchObject({ contentType: 'text/csv' })
    const empty = await urlOf({ name: 'empty.txt', method: 'PUT', sizeMax: 0 })
    expect(ok(await upload(empty, ''))).toMatchObject({ size: 0 })
  })

  test('no option can be changed, and a URL to upload does not read', async () => {
    const url = await urlOf({ name: 'fixed.txt', method: 'PUT', sizeMax: 5 })
    for (const change of [
      (p: URLSearchParams) => p.set('sizeMax', '500'),
      (p: URLSearchParams) => p.delete('sizeMax'),
      (p: URLSearchParams) => p.append('replace', 'true'),
      (p: URLSearchParams) => p.append('visibility', 'public'),
    ]) {
      refused(await upload(changed(url, change), 'x'), 403, 'invalid_signature')
    }
    refused(await send(url), 403, 'invalid_signature')
    refused(await bucket.record('fixed.txt'), 404, 'file_not_found')
  })

  test('a key that is revoked while the body arrives stores nothing; the expiry counts at the head only', async () => {
    const key = await createKey(service.api)
    const url = new URL(await urlOf({ name: 'late.txt', method: 'PUT' }, service.server.as(key.key)))
    const connection = await service.server.connect()
    const head = (target: string) => `PUT ${target} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 6\r\n\r\nabc`
    connection.send(head(url.pathname + url.search))
    await Bun.sleep(100)
    ok(await service.api.delete(`/api/keys/${key.id}`))
    connection.send('def')
    refused(await connection.answer(), 403, 'revoked_api_key')
    connection.close()
    refused(await bucket.record('late.txt'), 404, 'file_not_found')

    // The same for a key that expires meanwhile: only that of the URL itself counts at the head.
    const brief = await createKey(service.api, { kind: 'secret', expiresAt: Date.now() + 600_000 })
    const ending = new URL(await urlOf({ name: 'late.txt', method: 'PUT' }, service.server.as(brief.key)))
    const cut = await service.server.connect()
    cut.send(head(ending.pathname + ending.search))
    await Bun.sleep(100)
    service.server.setClock(601_000)
    await eventually('the key expires', async () =>
      (await upload(ending.href, 'x')).status === 403 ? true : undefined,
    )
    cut.send('def')
    refused(await cut.answer(), 403, 'expired_url')
    cut.close()
    refused(await bucket.record('late.txt'), 404, 'file_not_found')
    service.server.setClock(0)

    const own = ok(await ask({ name: 'slow.txt', method: 'PUT', expiresIn: 600 }))
    const target = new URL(own.url)
    const slow = await service.server.connect()
    slow.send(head(target.pathname + target.search))
    await Bun.sleep(100)
    service.server.setClock(601_000)
    await eventually('the URL expires', async () => ((await upload(own.url, 'x')).status === 403 ? true : undefined))
    slow.send('def')
    expect(ok(await slow.answer())).toMatchObject({ size: 6 })
    slow.close()
    service.server.setClock(0)
  })
})
