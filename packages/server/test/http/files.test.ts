import { beforeAll, describe, expect, test } from 'bun:test'
import { fileMetadataBytesMax } from '../../src/core/limits.ts'
import type { ApiResponse, Json } from '../harness.ts'
import { contentDigest, makeBucket, sha256, type TestBucket } from './bucket.ts'
import { freshName, justPast, makeTable, ok, refused, useService } from './service.ts'

// Putting, changing and removing files, sentence by sentence. How uploads behave on the wire is in files-wire.test.ts.

const service = useService({ clock: true })
let bucket: TestBucket
beforeAll(async () => {
  bucket = await makeBucket(service.api)
})

const later = (): number => Math.floor(Date.now() / 1000) + 1_000

describe('an upload', () => {
  test('answers the record of the file, with its version as ETag', async () => {
    const answer = await bucket.tryPut('cats/tom.txt', 'meow')
    const file = ok(answer)
    expect(answer.text).toBe(
      `${JSON.stringify({
        name: 'cats/tom.txt',
        size: 4,
        contentType: 'text/plain',
        visibility: 'private',
        sha256: sha256('meow'),
        metadata: {},
        updatedAt: file.updatedAt,
        url: null,
      })}\n`,
    )
    expect(answer.headers.get('etag')).toBe(`"${file.updatedAt}"`)
    expect(Math.abs(file.updatedAt - Date.now())).toBeLessThan(60_000)
    expect(ok(await bucket.record('cats/tom.txt'))).toEqual(file)
    expect(await bucket.read('cats/tom.txt')).toBe('meow')
  })

  test('may be empty, with a length, chunked or without a body', async () => {
    for (const options of [{}, { chunked: true }]) {
      expect(await bucket.put('empty', '', options)).toMatchObject({ size: 0, sha256: sha256('') })
      expect(await bucket.read('empty')).toBe('')
    }
    expect(ok(await service.api.raw('PUT', bucket.at('empty')))).toMatchObject({ size: 0 })
  })

  test('in chunks is stored whole', async () => {
    const bytes = Buffer.alloc(1_000_000, 'chunk ')
    expect(await bucket.put('chunked', bytes, { chunked: true })).toMatchObject({
      size: bytes.length,
      sha256: sha256(bytes),
    })
    expect(await bucket.read('chunked')).toBe(bytes.toString())
  })

  test('replaces a file as a whole: a plain one makes it private and drops its metadata and ttl', async () => {
    const query = { visibility: 'public', ttl: String(later()), metadata: '{"a":1}' }
    const first = await bucket.put('whole', 'one', { query })
    expect(first).toMatchObject({ visibility: 'public', ttl: Number(query.ttl), metadata: { a: 1 } })
    expect(first.url).toBe(`${service.server.url}/files/${bucket.created.id}/whole`)
    const second = await bucket.put('whole', 'two')
    expect(second).toMatchObject({ visibility: 'private', metadata: {}, url: null })
    expect('ttl' in second).toBe(false)
    expect(second.updatedAt).toBeGreaterThan(first.updatedAt)
    expect(await bucket.read('whole')).toBe('two')
  })

  test('keeps metadata byte for byte, and decodes parameters as forms', async () => {
    const texts = [
      '{ "n": 1.0,\t"big": 12345678901234567890, "s": "\\u0041" }',
      '{"a":{"b":[1,{"c":null}]},"a":2}',
      '{}',
    ]
    for (const text of texts) {
      const answer = await bucket.tryPut('kept', 'x', { query: { metadata: text } })
      ok(answer)
      expect(answer.text).toContain(`"metadata":${text},"updatedAt"`)
      expect((await bucket.record('kept')).text).toContain(`"metadata":${text},"updatedAt"`)
      expect((await bucket.tryQuery({ prefix: 'kept' })).text).toContain(`"metadata":${text},"updatedAt"`)
    }
    const plus = await service.api.raw('PUT', `${bucket.at('kept')}?metadata=%7B%22a%22:%22b+c%2Bd%22%7D`)
    expect(ok(plus).metadata).toEqual({ a: 'b c+d' })
    const replaced = await service.api.raw('PUT', `${bucket.at('kept')}?metadata=%7B%22a%22:%22%EF%BF%BD%22%7D`)
    expect(ok(replaced).metadata).toEqual({ a: '\ufffd' })
  })

  test('takes metadata of 2,048 bytes and 64 levels, and not more', async () => {
    const ofBytes = (bytes: number): string => JSON.stringify({ a: 'é'.repeat((bytes - 8) / 2) })
    const ofLevels = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    for (const text of [ofBytes(fileMetadataBytesMax), ofLevels(64)]) {
      await bucket.put('bounds', 'x', { query: { metadata: text } })
    }
    for (const text of [
      ofBytes(fileMetadataBytesMax + 2),
      ofLevels(65),
      '[]',
      '1',
      'null',
      '',
      '{',
      '{"a":1}x',
      '{a:1}',
    ]) {
      const answer = await bucket.tryPut('refused', 'x', { query: { metadata: text } })
      refused(answer, 400, 'invalid_request', 'metadata')
    }
  })

  test('refuses unknown, doubled and malformed parameters by name', async () => {
    const cases: [query: string, code: string, field: string][] = [
      ['?visibilty=public', 'invalid_request', 'visibilty'],
      ['?visibility=Public', 'invalid_request', 'visibility'],
      ['?visibility=', 'invalid_request', 'visibility'],
      ['?visibility=public&visibility=public', 'invalid_request', 'visibility'],
      ['?ttl=60', 'invalid_ttl', 'ttl'],
      ['?ttl=', 'invalid_ttl', 'ttl'],
      ['?ttl=1e10', 'invalid_ttl', 'ttl'],
      ['?ttl=-1', 'invalid_ttl', 'ttl'],
      ['?ttl=4102444800000', 'invalid_ttl', 'ttl'],
      ['?metadata={}&metadata={}', 'invalid_request', 'metadata'],
      ['?metadata=%7B%22a%22:%22%E9%22%7D', 'invalid_request', 'metadata'],
      ['?record=true', 'invalid_request', 'record'],
    ]
    for (const [query, code, field] of cases) {
      refused(await service.api.raw('PUT', bucket.at('refused') + query, { body: 'x' }), 400, code, field)
    }
    refused(await bucket.record('refused'), 404, 'file_not_found')
  })
})

describe('the content type', () => {
  test('is stored as sent', async () => {
    const types = [
      'image/png',
      'IMAGE/PNG',
      'text/plain; charset=utf-8',
      'text/plain;charset="utf-8"',
      'application/vnd.api+json',
      'x/y;',
      `a/${'b'.repeat(253)}`,
    ]
    for (const type of types) {
      const stored = await bucket.put('typed.png', 'x', { headers: { 'content-type': type } })
      expect(stored.contentType).toBe(type)
    }
  })

  test('follows the extension without one, in any case, also for what curl sends by itself', async () => {
    const expected: Record<string, string> = {
      'a.png': 'image/png',
      'a.JPG': 'image/jpeg',
      'a.jpeg': 'image/jpeg',
      'a.svg': 'image/svg+xml',
      'a.ico': 'image/x-icon',
      'a.pdf': 'application/pdf',
      'a.txt': 'text/plain',
      'a.md': 'text/markdown',
      'a.js': 'text/javascript',
      'a.mp3': 'audio/mpeg',
      'a.tar.gz': 'application/gzip',
      'a.woff2': 'font/woff2',
      'a.constructor': 'application/octet-stream',
      'a.png/b': 'application/octet-stream',
      png: 'application/octet-stream',
      'a.exe': 'application/octet-stream',
    }
    for (const [name, type] of Object.entries(expected)) {
      expect([name, ok(await service.api.raw('PUT', bucket.at(name), { body: '<html>' })).contentType]).toEqual([
        name,
        type,
      ])
      const headers: [string, string][] = [['Content-Type', 'application/x-www-form-urlencoded; charset=UTF-8']]
      expect(ok(await service.api.raw('PUT', bucket.at(name), { body: '<html>', headers })).contentType).toBe(type)
    }
  })

  test('that is none, too long or has a comma: 400', async () => {
    const types = ['', 'png', 'image/', '/png', 'image/png, text/html', 'text/plain; charset="a,b"', 'image /png']
    for (const type of [...types, 'text/plain; charset', 'text/plain; charset="a', `a/${'b'.repeat(254)}`]) {
      const headers: [string, string][] = [['Content-Type', type]]
      const answer = await service.api.raw('PUT', bucket.at('refused'), { body: 'x', headers })
      refused(answer, 400, 'invalid_request', 'Content-Type')
    }
  })

  test('of a form, and any Content-Encoding: 415', async () => {
    for (const [name, value] of [
      ['Content-Type', 'multipart/form-data; boundary=x'],
      ['Content-Type', 'Multipart/Form-Data'],
      ['Content-Encoding', 'gzip'],
      ['Content-Encoding', 'identity'],
    ] as const) {
      const answer = await service.api.raw('PUT', bucket.at('refused'), { body: 'x', headers: [[name, value]] })
      refused(answer, 415, 'unsupported_media_type', name)
    }
  })
})

describe('Content-Digest', () => {
  test('is verified: other bytes are 400 digest_mismatch, and nothing is stored', async () => {
    const name = freshName('digest')
    const wrong = await bucket.tryPut(name, 'bytes', { headers: { 'content-digest': contentDigest('others') } })
    refused(wrong, 400, 'digest_mismatch', 'Content-Digest')
    refused(await bucket.record(name), 404, 'file_not_found')
    const right = contentDigest('bytes')
    for (const header of [right, `sha-512=:AAAA:, ${right}`, `${right}, md5=:AAAA:`, `${right};a=1`]) {
      await bucket.put(name, 'bytes', { headers: { 'content-digest': header } })
    }
    // The file of a failed upload stays as it was.
    refused(
      await bucket.tryPut(name, 'new', { headers: { 'content-digest': right } }),
      400,
      'digest_mismatch',
      'Content-Digest',
    )
    expect(await bucket.read(name)).toBe('bytes')
  })

  test('of only other algorithms, or malformed: 400 invalid_request', async () => {
    for (const header of [
      'sha-512=:AAAA:',
      'md5=:AAAA:',
      'sha-256=AAAA',
      'sha-256=:AAAA:',
      'sha-256',
      '',
      'sha-256=:*:',
    ]) {
      const answer = await bucket.tryPut('refused', 'x', { headers: { 'content-digest': header } })
      refused(answer, 400, 'invalid_request', 'Content-Digest')
    }
  })
})

describe('conditions', () => {
  test('of PUT: If-None-Match: * creates, If-Match replaces one version or any', async () => {
    const name = freshName('cond')
    const [absent, any] = [{ 'if-none-match': '*' }, { 'if-match': '*' }]
    refused(await bucket.tryPut(name, 'x', { headers: any }), 412, 'precondition_failed')
    refused(await bucket.tryPut(name, 'x', { headers: { 'if-match': '"1"' } }), 412, 'precondition_failed')
    const first = await bucket.put(name, 'one', { headers: absent })
    refused(await bucket.tryPut(name, 'x', { headers: absent }), 412, 'precondition_failed')
    const second = await bucket.put(name, 'two', { headers: { 'if-match': `"${first.updatedAt}"` } })
    refused(
      await bucket.tryPut(name, 'x', { headers: { 'if-match': `"${first.updatedAt}"` } }),
      412,
      'precondition_failed',
    )
    expect((await bucket.put(name, 'three', { headers: any })).updatedAt).toBeGreaterThan(second.updatedAt)
    expect(await bucket.read(name)).toBe('three')
  })

  test('take versions: the tag of the bytes is 412, the hint naming ?record=true', async () => {
    const name = freshName('cond')
    const { sha256: digest } = await bucket.put(name, 'one')
    const headers = { 'if-match': `"${digest}"` }
    const answers = [
      await bucket.tryPut(name, 'x', { headers }),
      await bucket.change(name, { ttl: null }, headers),
      await bucket.delete(name, headers),
    ]
    for (const answer of answers) {
      expect(refused(answer, 412, 'precondition_failed').hint).toContain(`${bucket.at(name)}?record=true`)
    }
    expect(await bucket.read(name)).toBe('one')
  })

  test('that are malformed or mean nothing: 400, never ignored', async () => {
    const name = freshName('cond')
    await bucket.put(name)
    for (const headers of [
      { 'if-match': 'x' },
      { 'if-match': 'W/"1"' },
      { 'if-match': '"1", "2"' },
      { 'if-none-match': '"1"' },
      { 'if-match': '*', 'if-none-match': '*' },
    ]) {
      refused(await bucket.tryPut(name, 'x', { headers: headers as never }), 400, 'invalid_request')
    }
    const absent = { 'if-none-match': '*' }
    refused(await bucket.change(name, { ttl: null }, absent), 400, 'invalid_request', 'If-None-Match')
    refused(await bucket.delete(name, absent), 400, 'invalid_request', 'If-None-Match')
    refused(await bucket.record(name, { 'if-match': '*' }), 400, 'invalid_request', 'If-Match')
    refused(
      await service.api.request('POST', `${bucket.path}/query`, {}, { 'if-match': '*' }),
      400,
      'invalid_request',
      'If-Match',
    )
  })

  test('of racing writers that name one version, one wins', async () => {
    const name = freshName('race')
    const { updatedAt } = await bucket.put(name, 'start')
    const headers = { 'if-match': `"${updatedAt}"` }
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => bucket.tryPut(name, `writer ${n}`, { headers })),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(7).fill(412)])
    const winner = answers.findIndex(({ status }) => status === 200)
    expect(await bucket.read(name)).toBe(`writer ${winner}`)
  })
})

describe('a change', () => {
  test('replaces what it names, keeps the rest and the bytes, and makes a new version', async () => {
    const name = freshName('change')
    const put = await bucket.put(name, 'bytes', { query: { metadata: '{"a": 1, "b": 2}' } })
    const expected: Json = { ...put }
    const ttl = later()
    const steps: [changes: Json, then: Json][] = [
      [
        { visibility: 'public' },
        { visibility: 'public', url: `${service.server.url}/files/${bucket.created.id}/${name}` },
      ],
      [{ contentType: 'text/html; charset=utf-8' }, { contentType: 'text/html; charset=utf-8' }],
      [{ metadata: { c: 3 } }, { metadata: { c: 3 } }],
      [{ ttl }, { ttl }],
      [
        { ttl: null, visibility: 'private' },
        { ttl: undefined, visibility: 'private', url: null },
      ],
    ]
    for (const [changes, then] of steps) {
      const answer = await bucket.change(name, changes)
      const changed = ok(answer)
      expect(changed.updatedAt).toBeGreaterThan(expected.updatedAt)
      expect(answer.headers.get('etag')).toBe(`"${changed.updatedAt}"`)
      Object.assign(expected, then, { updatedAt: changed.updatedAt })
      expect(changed).toEqual(JSON.parse(JSON.stringify(expected)))
    }
    expect(await bucket.read(name)).toBe('bytes')
  })

  test('answers what it wrote, whoever writes or removes the file next', async () => {
    const name = freshName('change')
    await bucket.put(name, 'bytes', { query: { visibility: 'public' } })
    const turns = Array.from({ length: 40 }, (_, n) => n)
    const [changed] = await Promise.all([
      Promise.all(turns.map((n) => bucket.change(name, { metadata: { n } }))),
      // Others replace and remove the file between them. Only a change that found no file may say so.
      ...turns.map((n) => (n % 4 === 3 ? bucket.delete(name) : bucket.tryPut(name, `other ${n}`))),
    ])
    const found = changed.filter(({ status }) => status === 200)
    for (const answer of changed) {
      if (answer.status !== 200) refused(answer, 404, 'file_not_found')
      else expect(answer.body.metadata).toEqual({ n: changed.indexOf(answer) })
      if (answer.status === 200) expect(answer.headers.get('etag')).toBe(`"${answer.body.updatedAt}"`)
    }
    expect(found.length).toBeGreaterThan(0)
  })

  test('to a ttl that has passed answers the record, as a put does; then the file is gone', async () => {
    const name = freshName('change')
    const { updatedAt } = await bucket.put(name)
    const ttl = justPast()
    const answer = await bucket.change(name, { ttl })
    expect(ok(answer)).toMatchObject({ name, ttl })
    expect(answer.body.updatedAt).toBeGreaterThan(updatedAt)
    refused(await bucket.record(name), 404, 'file_not_found')
  })

  test('keeps metadata as it was sent', async () => {
    const name = freshName('change')
    await bucket.put(name)
    // The metadata that a record shows can be sent back.
    for (const metadata of ['{ "n":1.0 , "x": [ ] }', '{"a":{"b":1,"b":2},"a":3}']) {
      const answer = await service.api.raw('PATCH', bucket.at(name), { body: `{ "metadata" : ${metadata} }` })
      ok(answer)
      expect(answer.text).toContain(`"metadata":${metadata},`)
    }
    const twice = '{"metadata":{},"metadata":{}}'
    refused(await service.api.raw('PATCH', bucket.at(name), { body: twice }), 400, 'invalid_request', 'metadata')
  })

  test('of an absent file is 404; with If-Match 412', async () => {
    refused(await bucket.change('absent', { ttl: null }), 404, 'file_not_found')
    refused(await bucket.change('absent', { ttl: null }, { 'if-match': '*' }), 412, 'precondition_failed')
    refused(await bucket.change('absent', { ttl: null }, { 'if-match': '"1"' }), 412, 'precondition_failed')
  })

  test('takes If-Match', async () => {
    const name = freshName('change')
    const { updatedAt } = await bucket.put(name)
    refused(await bucket.change(name, { ttl: null }, { 'if-match': '"1"' }), 412, 'precondition_failed')
    ok(await bucket.change(name, { ttl: null }, { 'if-match': `"${updatedAt}"` }))
    refused(await bucket.change(name, { ttl: null }, { 'if-match': `"${updatedAt}"` }), 412, 'precondition_failed')
  })

  test('that is empty, unknown or malformed is refused by name', async () => {
    const name = freshName('change')
    const put = await bucket.put(name)
    refused(await bucket.change(name, {}), 400, 'invalid_request')
    const cases: [changes: Json, code: string, field: string][] = [
      [{ visibilty: 'public' }, 'invalid_request', 'visibilty'],
      [{ name: 'other' }, 'invalid_request', 'name'],
      [{ visibility: null }, 'invalid_request', 'visibility'],
      [{ contentType: null }, 'invalid_request', 'contentType'],
      [{ contentType: 'a, b' }, 'invalid_request', 'contentType'],
      [{ metadata: null }, 'invalid_request', 'metadata'],
      [{ metadata: [] }, 'invalid_request', 'metadata'],
      [{ metadata: { a: 'x'.repeat(fileMetadataBytesMax) } }, 'invalid_request', 'metadata'],
      [{ ttl: '1' }, 'invalid_ttl', 'ttl'],
      [{ ttl: 60 }, 'invalid_ttl', 'ttl'],
    ]
    for (const [changes, code, field] of cases) refused(await bucket.change(name, changes), 400, code, field)
    refused(await service.api.raw('PATCH', bucket.at(name), { body: '' }), 400, 'invalid_json')
    refused(
      await service.api.raw('PATCH', `${bucket.at(name)}?ttl=1`, { body: '{"ttl":null}' }),
      400,
      'invalid_request',
      'ttl',
    )
    expect(ok(await bucket.record(name))).toEqual(put)
  })
})

describe('HEAD is as GET, without the body:', () => {
  const headersOf = ({ headers }: ApiResponse): Json => {
    const { date, 'x-request-id': _, ...others } = Object.fromEntries(headers as unknown as Iterable<[string, string]>)
    return others
  }
  const ask = (method: string, path: string, headers: Record<string, string> = {}, key = service.org.secretKey) =>
    fetch(service.server.url + path, { method, headers: { authorization: `Bearer ${key}`, ...headers } })
  let put: Json
  beforeAll(async () => {
    put = await bucket.put('head.txt', 'seven b')
  })

  const both = async (
    query: Record<string, string>,
    headers?: Record<string, string>,
    name = 'head.txt',
    key?: string,
  ) => {
    const path = bucket.at(name, query)
    const [get, head] = [await ask('GET', path, headers, key), await ask('HEAD', path, headers, key)]
    expect(await head.text()).toBe('')
    expect([head.status, headersOf(head as never)]).toEqual([get.status, headersOf(get as never)])
    return head
  }

  test('of the record', async () => {
    const head = await both({ record: 'true' })
    expect(head.headers.get('etag')).toBe(`"${put.updatedAt}"`)
    expect(head.headers.get('content-length')).toBe(String(`${JSON.stringify(put)}\n`.length))
    expect((await both({ record: 'true' }, { 'if-none-match': `"${put.updatedAt}"` })).status).toBe(304)
    // The tag of the bytes is not that of the record.
    expect((await both({ record: 'true' }, { 'if-none-match': `"${put.sha256}"` })).status).toBe(200)
    expect((await both({ record: 'true' }, { 'if-match': `"${put.updatedAt}"` })).status).toBe(400)
  })

  test('of the bytes', async () => {
    const head = await both({})
    expect([head.headers.get('etag'), head.headers.get('content-length')]).toEqual([`"${put.sha256}"`, '7'])
    expect((await both({ record: 'false' })).headers.get('etag')).toBe(`"${put.sha256}"`)
    expect((await both({}, { 'if-none-match': `"${put.sha256}"` })).status).toBe(304)
    expect((await both({}, { 'if-match': `"${put.updatedAt}"` })).status).toBe(412)
  })

  test('of what cannot be read', async () => {
    for (const query of [{}, { record: 'true' }] as Record<string, string>[]) {
      expect((await both(query, {}, 'none')).status).toBe(404)
      expect((await both(query, {}, 'head.txt', service.org.publicKey)).status).toBe(403)
      expect((await both({ ...query, zzz: '1' })).status).toBe(400)
    }
  })
})

describe('a removal', () => {
  test('says whether there was a file', async () => {
    const name = freshName('gone')
    await bucket.put(name)
    expect(ok(await bucket.delete(name))).toEqual({ deleted: true })
    expect(ok(await bucket.delete(name))).toEqual({ deleted: false })
    refused(await bucket.record(name), 404, 'file_not_found')
    refused(await service.api.get(bucket.at(name)), 404, 'file_not_found')
    await bucket.put(name, 'anew')
    expect(await bucket.read(name)).toBe('anew')
  })

  test('takes If-Match, and no body', async () => {
    const name = freshName('gone')
    const { updatedAt } = await bucket.put(name)
    refused(await bucket.delete(name, { 'if-match': '"1"' }), 412, 'precondition_failed')
    refused(await service.api.request('DELETE', bucket.at(name), {}), 400, 'invalid_request')
    refused(await service.api.delete(`${bucket.at(name)}?record=true`), 400, 'invalid_request', 'record')
    expect(ok(await bucket.delete(name, { 'if-match': `"${updatedAt}"` }))).toEqual({ deleted: true })
    refused(await bucket.delete(name, { 'if-match': '*' }), 412, 'precondition_failed')
  })
})

describe('a ttl', () => {
  test('that has passed: the file is gone for reads, listings and conditions', async () => {
    const name = freshName('ttl')
    const ttl = justPast()
    expect((await bucket.put(name, 'x', { query: { ttl: String(ttl), visibility: 'public' } })).ttl).toBe(ttl)
    refused(await bucket.record(name), 404, 'file_not_found')
    refused(await service.api.get(bucket.at(name)), 404, 'file_not_found')
    refused(await service.api.post(`${bucket.path}/url`, { name }), 404, 'file_not_found')
    refused(await service.api.server.request('GET', `/files/${bucket.created.id}/${name}`), 404, 'file_not_found')
    refused(await bucket.change(name, { ttl: null }), 404, 'file_not_found')
    refused(await bucket.tryPut(name, 'x', { headers: { 'if-match': '*' } }), 412, 'precondition_failed')
    expect(await bucket.names({ prefix: name })).toEqual([])
    expect(ok(await bucket.delete(name))).toEqual({ deleted: false })
    await bucket.put(name, 'new', { headers: { 'if-none-match': '*' } })
    expect(await bucket.read(name)).toBe('new')
  })
})

describe('keys', () => {
  test('a public key may not put, change or remove', async () => {
    const name = freshName('keys')
    await bucket.put(name, 'x', { query: { visibility: 'public' } })
    refused(await bucket.tryPut(name, 'y', {}, service.reader), 403, 'read_only_key')
    refused(await bucket.change(name, { ttl: null }, {}, service.reader), 403, 'read_only_key')
    refused(await bucket.delete(name, {}, service.reader), 403, 'read_only_key')
    expect(await bucket.read(name, service.reader)).toBe('x')
    expect(ok(await bucket.record(name, {}, service.reader)).name).toBe(name)
  })

  test('a public key reads no private file: 403 private_file', async () => {
    const name = freshName('keys')
    await bucket.put(name)
    refused(await bucket.record(name, {}, service.reader), 403, 'private_file')
    refused(await service.reader.get(bucket.at(name)), 403, 'private_file')
    refused(await bucket.record('absent', {}, service.reader), 404, 'file_not_found')
  })

  test('of another organization find nothing', async () => {
    const name = freshName('keys')
    await bucket.put(name, 'x', { query: { visibility: 'public' } })
    refused(await bucket.tryPut(name, 'y', {}, service.stranger), 404, 'bucket_not_found')
    refused(await bucket.record(name, {}, service.stranger), 404, 'bucket_not_found')
    refused(await bucket.delete(name, {}, service.stranger), 404, 'bucket_not_found')
    refused(await bucket.tryQuery({}, service.stranger), 404, 'bucket_not_found')
  })
})

test('a table and a bucket of one name are apart', async () => {
  const name = freshName('same')
  const [table, same] = [await makeTable(service.api, undefined, name), await makeBucket(service.api, name)]
  await table.put('#', { text: 'record' })
  await same.put('#', 'file')
  expect(await same.read('#')).toBe('file')
  expect(ok(await table.get('#')).data).toEqual({ text: 'record' })
  expect(await table.hashes({ index: 't' })).toEqual(['#'])
  ok(await service.api.delete(same.path))
  expect(ok(await table.get('#')).data).toEqual({ text: 'record' })
})

test('a deleted bucket answers 404, and its files are there again when it is restored', async () => {
  const own = await makeBucket(service.api)
  await own.put('kept', 'bytes')
  ok(await service.api.delete(own.path))
  refused(await own.record('kept'), 404, 'bucket_not_found')
  refused(await own.tryPut('kept', 'x'), 404, 'bucket_not_found')
  refused(await own.delete('kept'), 404, 'bucket_not_found')
  ok(await service.api.post(`${own.path}/restore`))
  expect(await own.read('kept')).toBe('bytes')
})
