import { beforeAll, describe, expect, test } from 'bun:test'
import { dataBytesMax, dataDepthMax } from '../../src/core/limits.ts'
import type { ApiResponse, Json } from '../harness.ts'
import { makeBucket } from './bucket.ts'
import { createKey, freshName, justPast, makeTable, ok, refused, type TestTable, useService } from './service.ts'

// An item is a record as the plain document that it holds. So whatever is written on one route must be found on the other,
// with the same version, and a document must come back as the bytes that were sent.

const service = useService()

let table: TestTable
/** A table in the database `default`, which a collection without a dot names. */
let plain: TestTable
beforeAll(async () => {
  table = await service.table({ i1: { hashField: 'status' } })
  plain = await makeTable(service.api, undefined, freshName('items'), 'default')
})

let ids = 0
const freshId = (): string => `i${++ids}`

const pathOf = (id: string, query = '', collection = `app.${table.name}`): string =>
  `/api/collections/${collection}/items/${encodeURIComponent(id)}${query}`

type Headers = Record<string, string>

const put = (id: string, body: string | Uint8Array, query = '', headers: Headers = {}): Promise<ApiResponse> =>
  service.api.raw('PUT', pathOf(id, query), { body, headers: Object.entries(headers) })

const get = (id: string, query = '', headers: Headers = {}): Promise<ApiResponse> =>
  service.api.raw('GET', pathOf(id, query), { headers: Object.entries(headers) })

const remove = (id: string, query = '', headers: Headers = {}): Promise<ApiResponse> =>
  service.api.raw('DELETE', pathOf(id, query), { headers: Object.entries(headers) })

/** Fails unless the answer is this text. */
const same = (answer: ApiResponse, text: string): ApiResponse => {
  ok(answer)
  expect(answer.text).toBe(text)
  return answer
}

describe('a document comes back byte for byte', () => {
  const documents: Record<string, string> = {
    'with numbers that no double holds': '{"a":1.0,"b":12345678901234567890,"c":1e400,"d":-0,"e":1E+2,"f":0.10}',
    'with a member twice': '{"a":1,"a":{"b":2},"a":3}',
    'with escapes': '{"\\u0061":"\\u00e9\\/\\ud83d\\ude00","b":"\\ud800"}',
    'with raw characters': '{"é":"😀","":"\u2028"}',
    'with white space inside': '{ "a" :\t[ 1 ,\n 2 ]\r\n}',
    'with members of a record': '{"hashKey":"x","data":{},"ttl":1,"updatedAt":2}',
    'with __proto__': '{"__proto__":{"a":1},"constructor":null}',
    'that is empty': '{}',
    // These are scanned, not built: one is long, one has many objects.
    'of 160 kB': `{"text":"${'é'.repeat(80_000)}","a":1.0,"a":1e400}`,
    'of 400 objects': `{"list":[${'{"n":1.0},'.repeat(400)}{ }]}`,
  }
  for (const [what, text] of Object.entries(documents)) {
    test(what, async () => {
      const id = freshId()
      same(await put(id, text), text)
      const got = same(await get(id), text)
      expect(got.headers.get('content-type')).toBe('application/json')
      const record = await table.get(id)
      expect(record.text).toContain(`"data":${text},"updatedAt":`)
    })
  }

  test('white space around it is not part of it', async () => {
    const id = freshId()
    same(await put(id, ' \t\r\n{ "a" : 1 }\n\n '), '{ "a" : 1 }')
    same(await get(id), '{ "a" : 1 }')
    const long = `{"text":"${'x'.repeat(70_000)}"}`
    same(await put(id, `\n\n${long}\n`), long)
    same(await get(id), long)
  })

  test('a record that was put is an item, with its white space', async () => {
    const id = freshId()
    const body = `{"hashKey":"${id}","data": { "n" : 1.50 } }`
    ok(await service.api.raw('PUT', table.path, { body }))
    same(await get(id), '{ "n" : 1.50 }')
  })
})

describe('an item is a record', () => {
  test('both routes answer the same ETag, and an item is in every index', async () => {
    const id = freshId()
    const written = await put(id, '{"status":"fresh"}')
    const tag = written.headers.get('etag')
    expect(tag).toMatch(/^"\d+"$/)
    expect((await get(id)).headers.get('etag')).toBe(tag)
    const record = await table.get(id)
    expect(record.headers.get('etag')).toBe(tag)
    expect(record.body).toEqual({ hashKey: id, data: { status: 'fresh' }, updatedAt: JSON.parse(JSON.parse(tag!)) })
    expect(await table.hashes({ index: 'i1', hash: 'fresh' })).toEqual([id])
    const again = await table.tryPut({ hashKey: id, data: { n: 2 } })
    expect((await get(id)).headers.get('etag')).toBe(again.headers.get('etag'))
    expect(await table.hashes({ index: 'i1', hash: 'fresh' })).toEqual([])
  })

  test('the last of two members with the same name counts for indices', async () => {
    const id = freshId()
    ok(await put(id, '{"status":"one","status":"two"}'))
    expect(await table.hashes({ index: 'i1', hash: 'two' })).toEqual([id])
    expect(await table.hashes({ index: 'i1', hash: 'one' })).toEqual([])
    const large = freshId()
    ok(await put(large, `{"status":"three","text":"${'x'.repeat(70_000)}","status":"four"}`))
    expect(await table.hashes({ index: 'i1', hash: 'four' })).toEqual([large])
    expect(await table.hashes({ index: 'i1', hash: 'three' })).toEqual([])
  })

  test('?rangeKey= names a record that has one; # is none', async () => {
    const id = freshId()
    const range = '2026-01-01T00:00:00+02:00 a/b?&#é'
    ok(await put(id, '{"n":0}'))
    const query = `?rangeKey=${encodeURIComponent(range)}`
    const written = await put(id, '{"n":1}', query)
    const record = await table.get(id, range)
    expect(ok(record)).toMatchObject({ hashKey: id, rangeKey: range, data: { n: 1 } })
    expect(record.headers.get('etag')).toBe(written.headers.get('etag'))
    same(await get(id, query), '{"n":1}')
    same(await get(id), '{"n":0}')
    same(await get(id, '?rangeKey=%23'), '{"n":0}')
    expect(ok(await remove(id, query))).toEqual({ deleted: true })
    expect(ok(await remove(id, query))).toEqual({ deleted: false })
    refused(await get(id, query), 404, 'record_not_found')
    same(await get(id), '{"n":0}')
  })

  test('raw UTF-8 in the query string is the range key that it spells', async () => {
    const id = freshId()
    ok(await put(id, '{"n":1}', '?rangeKey=é😀'))
    expect(ok(await table.get(id, 'é😀')).rangeKey).toBe('é😀')
    same(await get(id, `?rangeKey=${encodeURIComponent('é😀')}`), '{"n":1}')
  })

  test('+ in the query string is a space', async () => {
    const id = freshId()
    ok(await put(id, '{"n":1}', '?rangeKey=a+b'))
    expect(ok(await table.get(id, 'a b')).rangeKey).toBe('a b')
    refused(await table.get(id, 'a+b'), 404, 'record_not_found')
  })

  test('a table alone is in the database default', async () => {
    const path = `/api/collections/${plain.name}/items/a`
    same(await service.api.raw('PUT', path, { body: '{"n":1}' }), '{"n":1}')
    expect(ok(await plain.get('a')).data).toEqual({ n: 1 })
    same(await service.api.raw('GET', pathOf('a', '', `default.${plain.name}`)), '{"n":1}')
    expect(ok(await service.api.raw('DELETE', path))).toEqual({ deleted: true })
    refused(await plain.get('a'), 404, 'record_not_found')
  })

  test('?ttl= makes it expire; a put without it removes it', async () => {
    const id = freshId()
    ok(await put(id, '{}', '?ttl=4102444800'))
    expect(ok(await table.get(id)).ttl).toBe(4102444800)
    ok(await put(id, '{}'))
    expect(ok(await table.get(id)).ttl).toBeUndefined()
    ok(await put(id, '{}', '?ttl=0004102444800&rangeKey=r'))
    expect(ok(await table.get(id, 'r')).ttl).toBe(4102444800)
    ok(await put(id, '{}', `?ttl=${justPast()}`))
    refused(await get(id), 404, 'record_not_found')
    expect(ok(await remove(id))).toEqual({ deleted: false })
  })

  test('a public key reads it', async () => {
    const id = freshId()
    ok(await put(id, '{"n":1}'))
    same(await service.reader.raw('GET', pathOf(id)), '{"n":1}')
  })
})

describe('answers', () => {
  test('Prefer: return=minimal is 204 with the ETag and nothing else', async () => {
    const id = freshId()
    const written = await put(id, '{"n":1}', '', { Prefer: 'return=minimal' })
    expect([written.status, written.text, written.headers.get('content-type')]).toEqual([204, '', null])
    expect(written.headers.get('etag')).toBe((await get(id)).headers.get('etag'))
    expect(written.headers.get('cache-control')).toBe('private, no-cache')
    expect(written.headers.get('access-control-allow-origin')).toBe('*')
    expect(written.headers.get('x-request-id')).toBeString()
    same(await put(id, '{"n":2}', '', { Prefer: 'return=representation' }), '{"n":2}')
  })

  test('HEAD is as GET, without the body', async () => {
    const id = freshId()
    ok(await put(id, '{"n":1}'))
    const [answer, head] = [await get(id), await service.api.raw('HEAD', pathOf(id))]
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control']) {
      expect([name, head.headers.get(name)]).toEqual([name, answer.headers.get(name)])
    }
    expect((await service.api.raw('HEAD', pathOf(freshId()))).status).toBe(404)
  })

  test('a page of another origin may read it, and asks before with OPTIONS', async () => {
    const id = freshId()
    ok(await put(id, '{}'))
    const preflight = await service.server.raw('OPTIONS', pathOf(id))
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
    const answer = await service.reader.raw('GET', pathOf(id), { headers: [['Origin', 'https://example.com']] })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-expose-headers')).toContain('ETag')
    const secret = await service.api.raw('GET', pathOf(id), { headers: [['Origin', 'https://example.com']] })
    refused(secret, 403, 'secret_key_in_browser')
  })
})

describe('conditions', () => {
  test('If-None-Match on GET: 304 while it is current', async () => {
    const id = freshId()
    const tag = (await put(id, '{"n":1}')).headers.get('etag')!
    const current = await get(id, '', { 'If-None-Match': tag })
    expect([current.status, current.text, current.headers.get('etag')]).toEqual([304, '', tag])
    ok(await put(id, '{"n":2}'))
    same(await get(id, '', { 'If-None-Match': tag }), '{"n":2}')
    refused(await get(id, '', { 'If-Match': tag }), 400, 'invalid_request', 'If-Match')
  })

  test('If-Match: only the current version is replaced or deleted', async () => {
    const id = freshId()
    const first = (await put(id, '{"n":1}')).headers.get('etag')!
    const second = (await put(id, '{"n":2}', '', { 'If-Match': first })).headers.get('etag')!
    refused(await put(id, '{"n":3}', '', { 'If-Match': first }), 412, 'precondition_failed')
    refused(await remove(id, '', { 'If-Match': first }), 412, 'precondition_failed')
    same(await get(id), '{"n":2}')
    expect(ok(await remove(id, '', { 'If-Match': second }))).toEqual({ deleted: true })
    refused(await put(id, '{}', '', { 'If-Match': '*' }), 412, 'precondition_failed')
    refused(await remove(id, '', { 'If-Match': '*' }), 412, 'precondition_failed')
    refused(await get(id), 404, 'record_not_found')
  })

  test('If-None-Match: * creates and never replaces', async () => {
    const id = freshId()
    same(await put(id, '{"n":1}', '', { 'If-None-Match': '*' }), '{"n":1}')
    refused(await put(id, '{"n":2}', '', { 'If-None-Match': '*' }), 412, 'precondition_failed')
    same(await get(id), '{"n":1}')
  })

  test('a condition that is malformed or means nothing is rejected, and nothing is written', async () => {
    const id = freshId()
    for (const value of ['1', 'W/"1"', '"1", "2"']) {
      refused(await put(id, '{}', '', { 'If-Match': value }), 400, 'invalid_request', 'If-Match')
      refused(await remove(id, '', { 'If-Match': value }), 400, 'invalid_request', 'If-Match')
    }
    refused(await put(id, '{}', '', { 'If-None-Match': '"1"' }), 400, 'invalid_request', 'If-None-Match')
    refused(await remove(id, '', { 'If-None-Match': '*' }), 400, 'invalid_request', 'If-None-Match')
    refused(await get(id), 404, 'record_not_found')
  })
})

describe('names', () => {
  const names: [collection: string, code: string, words: string][] = [
    ['app.', 'invalid_name', 'The table in collection is ""'],
    ['.orders', 'invalid_name', 'The database in collection is ""'],
    ['.', 'invalid_name', 'The database in collection is ""'],
    ['..', 'invalid_name', 'collection is ".."'],
    ['%2e', 'invalid_name', 'The database in collection'],
    ['%2E%2e', 'invalid_name', 'collection is ".."'],
    ['app.orders.x', 'invalid_name', 'one dot'],
    ['app..orders', 'invalid_name', 'one dot'],
    ['App.orders', 'invalid_name', 'The database in collection is "App"'],
    ['app.Orders', 'invalid_name', 'The table in collection is "Orders"'],
    ['Orders', 'invalid_name', 'collection is "Orders"'],
    ['_app.orders', 'reserved_name', 'The database in collection is "_app"'],
    ['app._orders', 'reserved_name', 'The table in collection is "_orders"'],
    ['_orders', 'reserved_name', 'collection is "_orders"'],
    ['app%2Forders', 'invalid_name', 'collection is "app/orders"'],
    ['app%zz.orders', 'invalid_name', 'collection'],
    ['app%ff', 'invalid_name', 'collection'],
    [`app.${'x'.repeat(65)}`, 'invalid_name', 'The table in collection'],
  ]
  for (const [collection, code, words] of names) {
    test(`${collection.slice(0, 20)}: 400 ${code}`, async () => {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const target = `/api/collections/${collection}/items/a`
        // A fault of the body is looked at later.
        const answer = await service.api.raw(method, target, method === 'PUT' ? { body: 'no JSON' } : {})
        const { message, hint } = refused(answer, 400, code, 'collection')
        expect(`${message} ${hint}`).toContain(words)
      }
    })
  }

  test('an escaped dot is a dot', async () => {
    const id = freshId()
    ok(await put(id, '{}'))
    ok(await service.api.raw('GET', pathOf(id, '', `app%2E${table.name}`)))
  })

  for (const id of ['.', '..', '%2e', '%2E%2e', '.%2e', '%', '%zz', '%ff', '%c0%af', '%ed%a0%80', 'x'.repeat(1_025)]) {
    test(`the id ${id.slice(0, 20)}: 400 invalid_key, and nothing else is touched`, async () => {
      const kept = freshId()
      ok(await put(kept, '{}'))
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const target = `/api/collections/app.${table.name}/items/${id}`
        refused(await service.api.raw(method, target, method === 'PUT' ? { body: '{}' } : {}), 400, 'invalid_key', 'id')
      }
      ok(await get(kept))
    })
  }

  for (const range of ['', '.', '..', '%2e', '%', '%zz', '%ff', '%c0%af', 'x'.repeat(1_025)]) {
    test(`the range key ${range.slice(0, 20)}: 400 invalid_key, and nothing is written or deleted`, async () => {
      const id = freshId()
      ok(await put(id, '{"n":1}'))
      ok(await put(id, '{"n":2}', '?rangeKey=%EF%BF%BD'))
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const target = pathOf(id, `?rangeKey=${range}`)
        const answer = await service.api.raw(method, target, method === 'PUT' ? { body: '{}' } : {})
        refused(answer, 400, 'invalid_key', 'rangeKey')
      }
      expect((await table.items({ hash: id })).map(({ data }) => data.n)).toEqual([1, 2])
    })
  }

  test('any other character is part of the id', async () => {
    for (const id of ['a/b', 'a b', 'a+b', 'a%2Fb', '...', 'é😀', '\u0000', '#', 'items', '{}', '\ufffd']) {
      same(await put(id, '{"n":1}'), '{"n":1}')
      expect(ok(await table.get(id)).hashKey).toBe(id)
      expect(ok(await remove(id))).toEqual({ deleted: true })
    }
  })
})

describe('query parameters', () => {
  const wrong: [method: string, query: string, field: string][] = [
    ['GET', '?ttl=4102444800', 'ttl'],
    ['DELETE', '?ttl=4102444800', 'ttl'],
    ['GET', '?zzz=1', 'zzz'],
    ['PUT', '?zzz=1', 'zzz'],
    ['PUT', '?RangeKey=a', 'RangeKey'],
    ['DELETE', '?rangekey=a', 'rangekey'],
    ['GET', '?rangeKey=a&rangeKey=a', 'rangeKey'],
    ['PUT', '?ttl=4102444800&ttl=4102444800', 'ttl'],
    ['DELETE', '?rangeKey=a&rangeKey=b', 'rangeKey'],
  ]
  for (const [method, query, field] of wrong) {
    test(`${method} ${query}: 400 invalid_request that names ${field}, and nothing changes`, async () => {
      const id = freshId()
      ok(await put(id, '{"n":1}'))
      ok(await put(id, '{"n":2}', '?rangeKey=a'))
      const answer = await service.api.raw(method, pathOf(id, query), method === 'PUT' ? { body: '{}' } : {})
      refused(answer, 400, 'invalid_request', field)
      expect((await table.items({ hash: id })).map(({ data }) => data.n)).toEqual([1, 2])
    })
  }

  for (const ttl of ['', '-1', '+4102444800', '4102444800.0', '4.1e9', '0x10', '%20', '4102444800%20', '٤', '1_0']) {
    test(`ttl=${ttl}: only decimal digits`, async () => {
      const id = freshId()
      refused(await put(id, '{}', `?ttl=${ttl}`), 400, 'invalid_ttl', 'ttl')
      refused(await get(id), 404, 'record_not_found')
    })
  }

  test('a ttl out of range is rejected, with the value that was probably meant', async () => {
    const { hint } = refused(await put(freshId(), '{}', '?ttl=4102444800000'), 400, 'invalid_ttl', 'ttl')
    expect(hint).toContain('4102444800')
    const duration = refused(await put(freshId(), '{}', '?ttl=60'), 400, 'invalid_ttl', 'ttl')
    expect(duration.hint).toContain('looks like a duration')
    refused(await put(freshId(), '{}', `?ttl=${'9'.repeat(400)}`), 400, 'invalid_ttl', 'ttl')
  })
})

describe('bodies', () => {
  const wrong: [what: string, body: string | Uint8Array, status: number, code: string, field?: string][] = [
    ['no body', '', 400, 'invalid_json'],
    ['white space alone', ' \n', 400, 'invalid_json'],
    ['no JSON', '{a:1}', 400, 'invalid_json'],
    ['two documents', '{}{}', 400, 'invalid_json'],
    ['a byte order mark', '\ufeff{}', 400, 'invalid_json'],
    ['a space that JSON does not have', '\u00a0{}', 400, 'invalid_json'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, 'invalid_json'],
    ['an array', '[{}]', 400, 'invalid_request', 'data'],
    ['a string', '"a"', 400, 'invalid_request', 'data'],
    ['null', 'null', 400, 'invalid_request', 'data'],
    ['a long array', `[${'{},'.repeat(300)}{}]`, 400, 'invalid_request', 'data'],
    ['an indexed field that is an array', '{"status":[]}', 400, 'invalid_index_value', 'data.status'],
    ['an indexed field that overflows', '{"status":1e400}', 400, 'invalid_index_value', 'data.status'],
  ]
  for (const [what, body, status, code, field] of wrong) {
    test(`${what}: ${status} ${code}`, async () => {
      const id = freshId()
      refused(await put(id, body), status, code, field)
      refused(await get(id), 404, 'record_not_found')
    })
  }

  /** A document of this many bytes of UTF-8. */
  const sized = (bytes: number): string => `{"é":"${'x'.repeat(bytes - Buffer.byteLength('{"é":""}'))}"}`

  test('at most 409,600 bytes, without the white space around it', async () => {
    const id = freshId()
    const largest = sized(dataBytesMax)
    same(await put(id, ` ${largest}\n`), largest)
    same(await get(id), largest)
    refused(await put(id, sized(dataBytesMax + 1)), 413, 'record_too_large', 'data')
    refused(await put(id, ' '.repeat(1_048_577)), 413, 'body_too_large')
    same(await get(id), largest)
  })

  test('at most 64 levels, itself being the first', async () => {
    const deep = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const id = freshId()
    same(await put(id, deep(dataDepthMax)), deep(dataDepthMax))
    refused(await put(id, deep(dataDepthMax + 1)), 400, 'invalid_request', 'data')
    // Large enough to be scanned, not built.
    refused(await put(id, deep(200_000)), 400, 'invalid_request', 'data')
    same(await get(id), deep(dataDepthMax))
  })

  test('a content type other than JSON: 415', async () => {
    refused(await put(freshId(), '{}', '', { 'Content-Type': 'text/plain' }), 415, 'unsupported_media_type')
    ok(await put(freshId(), '{}', '', { 'Content-Type': 'application/json; charset=utf-8' }))
  })

  test('DELETE takes no body', async () => {
    const id = freshId()
    ok(await put(id, '{}'))
    refused(await service.api.raw('DELETE', pathOf(id), { body: '{}' }), 400, 'invalid_request')
    ok(await get(id))
  })
})

describe('a table that there is not', () => {
  test('404 table_not_found, with the call that creates it', async () => {
    for (const [collection, path] of [
      ['app.none', '/v1/app/none'],
      ['none', '/v1/default/none'],
    ] as const) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const target = pathOf('a', '', collection)
        const answer = await service.api.raw(method, target, method === 'PUT' ? { body: '{}' } : {})
        expect(refused(answer, 404, 'table_not_found').hint).toBe(
          `Create it with the indices that it needs, which cannot be changed later: POST ${path}`,
        )
      }
    }
  })

  test('a bucket is no table: its files are no items', async () => {
    const bucket = await makeBucket(service.api, 'only-files')
    await bucket.put('a', 'bytes')
    // A file is stored under the hash key `#` with its name as the range key.
    for (const [id, query] of [
      ['a', ''],
      ['#', '?rangeKey=a'],
    ] as const) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? { body: '{}' } : {}
        const answer = await service.api.raw(method, pathOf(id, query, 'app.only-files'), body)
        refused(answer, 404, 'table_not_found')
      }
    }
    for (const collection of ['app._buckets', '_buckets']) {
      refused(await service.api.raw('GET', pathOf('a', '', collection)), 400, 'reserved_name')
    }
    expect(await bucket.read('a')).toBe('bytes')
  })

  test('a deleted one: the hint names the call that restores it', async () => {
    const gone = await service.table()
    ok(await service.api.delete(gone.path))
    const { hint } = refused(await service.api.raw('GET', pathOf('a', '', `app.${gone.name}`)), 404, 'table_not_found')
    expect(hint).toContain(`POST ${gone.path}/restore`)
  })
})

describe('the scope of a key is judged on the database that the collection names', () => {
  let limited: { app: string; default: string }
  beforeAll(async () => {
    const make = async (db: string) => (await createKey(service.api, { kind: 'secret', databases: [db] })).key
    limited = { app: await make('app'), default: await make('default') }
  })

  const send = (key: string, collection: string, id = 'a'): Promise<ApiResponse> =>
    service.server.raw('PUT', pathOf(id, '', collection), { key, body: '{}' })

  test('within it', async () => {
    ok(await send(limited.app, `app.${table.name}`))
    ok(await send(limited.default, plain.name))
    ok(await send(limited.default, `default.${plain.name}`))
  })

  test('outside it: 403 key_scope, whether or not there is such a table', async () => {
    for (const collection of [
      plain.name,
      'none',
      `default.${plain.name}`,
      'App.orders',
      '.app',
      '_app.x',
      'other.x.y',
    ]) {
      refused(await send(limited.app, collection), 403, 'key_scope')
    }
    for (const collection of [`app.${table.name}`, 'app.none', 'app.', 'app.a.b']) {
      refused(await send(limited.default, collection), 403, 'key_scope')
    }
  })

  test('it comes before names, keys, bodies and parameters', async () => {
    const target = '/api/collections/other.No/items/..?zzz=1'
    const answer = await service.server.raw('PUT', target, {
      key: limited.app,
      body: 'no JSON',
      headers: [['If-Match', 'nonsense']],
    })
    refused(answer, 403, 'key_scope')
    refused(await send(limited.app, 'app.orders.x'), 400, 'invalid_name')
    refused(await send(limited.app, 'app.'), 400, 'invalid_name')
  })
})

test('an item that there is not: the hint tells of rangeKey, unless it was given', async () => {
  const missing = refused(await get(freshId()), 404, 'record_not_found')
  expect(missing.hint).toBe('If it has a range key, give it as rangeKey.')
  expect(refused(await get(freshId(), '?rangeKey=r'), 404, 'record_not_found').hint).toBeUndefined()
})

test('of ten writers that must create the same item, one does', async () => {
  const id = freshId()
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => put(id, `{"n":${n}}`, '', { 'If-None-Match': '*' })),
  )
  const created = answers.filter(({ status }) => status === 200)
  expect([created.length, answers.filter(({ status }) => status === 412).length]).toEqual([1, 9])
  const winner: Json = created[0]!.text
  same(await get(id), winner)
})
