import { describe, expect, test } from 'bun:test'
import { rawRequest } from '../raw-connection.ts'
import { createKey, freshName, ok, refused, useService } from './service.ts'

const service = useService()
const kib = 1_024
const mib = 1_048_576

/** Every request that takes a body, with one that it accepts. */
const takers = async () => {
  const table = await service.table()
  return [
    { what: 'create a table', method: 'POST', path: `/v1/app/${freshName()}`, body: '{"indices":{}}' },
    { what: 'restore', method: 'POST', path: `${table.path}/restore`, body: '{"deletedAt":1}' },
    { what: 'put', method: 'PUT', path: table.path, body: '{"hashKey":"a","data":{}}' },
    { what: 'query', method: 'POST', path: `${table.path}/query`, body: '{"hash":"a"}' },
    { what: 'find', method: 'POST', path: `${table.path}/find`, body: '{"keys":[{"hashKey":"a"}]}' },
    {
      what: 'batch',
      method: 'POST',
      path: `${table.path}/batch`,
      body: '{"operations":[{"op":"delete","hashKey":"a"}]}',
    },
    { what: 'create a key', method: 'POST', path: '/api/keys', body: '{"kind":"public"}' },
  ]
}

describe('a body is JSON in UTF-8, otherwise invalid_json', () => {
  const broken: [string, (body: string) => string | Uint8Array][] = [
    ['a byte order mark', (body) => `\ufeff${body}`],
    ['a byte that is not UTF-8', (body) => Buffer.concat([Buffer.from(body.slice(0, 2)), Buffer.from([0xff])])],
    ['bytes that are not UTF-8 inside a string', (body) => bytesInside(body, [0xc3, 0x28])],
    ['an overlong form', (body) => bytesInside(body, [0xc0, 0xaf])],
    ['an encoded surrogate', (body) => bytesInside(body, [0xed, 0xa0, 0x80])],
    ['UTF-16', (body) => Buffer.from(body, 'utf16le')],
    ['half of it', (body) => body.slice(0, -1)],
    ['two values', (body) => `${body}${body}`],
    ['a trailing comma', (body) => body.replace(/\}$/, ',}')],
    ['single quotes', (body) => body.replaceAll('"', "'")],
    ['a comment', (body) => `${body}// done`],
    ['a raw control character in a string', (body) => body.replace('{"', '{"\n')],
    ['NaN', () => '{"limit":NaN}'],
    ['a leading zero', () => '{"limit":01}'],
    ['only white space', () => ' \n'],
  ]
  /** The body with these bytes put into its first string. */
  const bytesInside = (body: string, bytes: number[]): Uint8Array =>
    Buffer.concat([Buffer.from(body.slice(0, 2)), Buffer.from(bytes), Buffer.from(body.slice(2))])

  for (const [what, breakIt] of broken) {
    test(what, async () => {
      for (const taker of await takers()) {
        refused(await service.api.request(taker.method, taker.path, breakIt(taker.body)), 400, 'invalid_json')
      }
    })
  }

  test('nested without end, it is refused like any other', async () => {
    for (const taker of await takers()) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        // The bound is what a body without data has room for; a put, a find and a batch take more.
        const levels = ['put', 'find', 'batch'].includes(taker.what) ? 100_000 : 10_000
        const nested = `${open.repeat(levels)}1${close.repeat(levels)}`
        const name = taker.body.slice(0, taker.body.indexOf(':'))
        for (const body of [nested, `${name}:${nested}}`]) {
          expect((await service.api.request(taker.method, taker.path, body)).status).toBe(400)
        }
      }
    }
    ok(await service.api.get('/v1'))
  })

  test('an empty body where one is needed', async () => {
    for (const taker of await takers()) {
      if (taker.what === 'create a table' || taker.what === 'restore') continue
      refused(await service.api.request(taker.method, taker.path), 400, 'invalid_json')
      refused(await service.api.raw(taker.method, taker.path, { body: '' }), 400, 'invalid_json')
    }
  })

  for (const value of ['null', '[]', '"text"', '1', 'true', '[{"hashKey":"a","data":{}}]']) {
    test(`${value} is JSON, but no object: invalid_request`, async () => {
      for (const taker of await takers()) {
        refused(await service.api.request(taker.method, taker.path, value), 400, 'invalid_request')
      }
    })
  }
})

describe('content type', () => {
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="latin1"',
    'Application/JSON',
  ]) {
    test(`${type} is taken`, async () => {
      for (const taker of await takers()) {
        const answer = await service.api.request(taker.method, taker.path, taker.body, { 'content-type': type })
        expect(answer.status).toBeLessThan(300)
      }
    })
  }

  test('none means JSON', async () => {
    for (const taker of await takers()) {
      const answer = await service.api.raw(taker.method, taker.path, { body: taker.body })
      expect(answer.status).toBeLessThan(300)
    }
  })

  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/vnd.api+json',
    'text/json',
    'multipart/form-data; boundary=x',
  ]) {
    test(`${type} on a request with a body: 415 unsupported_media_type`, async () => {
      for (const taker of await takers()) {
        const answer = await service.api.request(taker.method, taker.path, taker.body, { 'content-type': type })
        refused(answer, 415, 'unsupported_media_type')
      }
    })
  }

  test('without a body it is of no matter', async () => {
    const table = await service.table()
    const headers: [string, string][] = [['Content-Type', 'text/plain']]
    ok(await service.api.raw('GET', table.path, { headers }))
    ok(await service.api.raw('POST', table.path, { headers, body: '' }))
    ok(await service.api.raw('DELETE', table.at('a'), { headers }))
  })
})

describe('a body where none is taken is refused, not ignored', () => {
  for (const chunked of [false, true]) {
    test(chunked ? 'in chunks' : 'with a length', async () => {
      const table = await service.table()
      await table.put('a')
      const options = { key: service.api.key, body: '{"ifUpdatedAt":1}', chunked }
      refused(await service.server.request('DELETE', table.at('a'), options), 400, 'invalid_request')
      refused(await service.server.request('DELETE', table.path, options), 400, 'invalid_request')
      ok(await table.get('a'))
    })
  }
})

describe('size', () => {
  /** The body with trailing white space, up to this many bytes. */
  const padded = (body: string, bytes: number) => body + ' '.repeat(bytes - Buffer.byteLength(body))

  for (const chunked of [false, true]) {
    const how = chunked ? 'chunked' : 'with a length'
    test(`1 MiB for a put and a find, 64 KiB for all but a batch; one byte more is 413 body_too_large (${how})`, async () => {
      const { server, org } = service
      for (const { what, method, path, body } of await takers()) {
        if (what === 'batch') continue
        const most = what === 'put' || what === 'find' ? mib : 64 * kib
        const fits = await server.request(method, path, { key: org.secretKey, body: padded(body, most), chunked })
        expect(fits.status).toBeLessThan(300)
        const over = await server.request(method, path, { key: org.secretKey, body: padded(body, most + 1), chunked })
        const { message } = refused(over, 413, 'body_too_large')
        expect(message).toContain(`${most} bytes`)
      }
    })

    test(`12 MiB for a batch, one byte more is 413 body_too_large (${how})`, async () => {
      const { server, org } = service
      const table = await service.table()
      const body = '{"operations":[{"op":"put","hashKey":"a","data":{}}]}'
      const send = (bytes: number) =>
        server.request('POST', `${table.path}/batch`, { key: org.secretKey, body: padded(body, bytes), chunked })
      refused(await send(12 * mib + 1), 413, 'body_too_large')
      refused(await table.get('a'), 404, 'record_not_found')
      expect(ok(await send(12 * mib))).toEqual({ count: 1 })
    })
  }

  test('a batch of 25 records of the greatest size is taken', async () => {
    const table = await service.table()
    const data = { a: 'x'.repeat(409_600 - '{"a":""}'.length) }
    await table.batch(Array.from({ length: 25 }, (_, i) => ({ op: 'put', hashKey: `k${i}`, data })))
    expect((await table.get('k24')).text.length).toBeGreaterThan(409_600)
  })

  test('a chunked body is taken as any other', async () => {
    const table = await service.table()
    const connection = await service.server.connect()
    try {
      const options = { key: service.org.secretKey, headers: [['Transfer-Encoding', 'chunked']] as [string, string][] }
      connection.send(rawRequest(service.server, 'PUT', table.path, options))
      for (const part of ['{"hashKey":"a",', '"da', 'ta":{"n":1.0}}']) {
        connection.send(`${part.length.toString(16)}\r\n${part}\r\n`)
      }
      connection.send('0\r\n\r\n')
      const answer = await connection.answer()
      ok(answer)
      expect(answer.text).toContain('"data":{"n":1.0}')
    } finally {
      connection.close()
    }
  })
})

describe('an unknown field is rejected by name', () => {
  test('in every body', async () => {
    for (const taker of await takers()) {
      const body = taker.body.replace(/\}$/, ',"hashkey":"typo"}')
      const error = refused(await service.api.request(taker.method, taker.path, body), 400, 'invalid_request')
      expect(error.field).toBe('hashkey')
    }
  })

  test('in an operation of a batch', async () => {
    const table = await service.table()
    const operations = [
      { op: 'put', hashKey: 'a', data: {} },
      { op: 'put', hashKey: 'b', data: {}, tttl: 1 },
    ]
    refused(await table.tryBatch(operations), 400, 'invalid_request', 'operations[1].tttl')
    refused(await table.get('a'), 404, 'record_not_found')
  })

  test('__proto__ is a name as any other', async () => {
    const table = await service.table()
    refused(await table.tryPut('{"hashKey":"a","data":{},"__proto__":{"ttl":1}}'), 400, 'invalid_request', '__proto__')
    refused(await table.tryPut('{"__proto__":{"hashKey":"a","data":{}}}'), 400, 'invalid_request', '__proto__')
    const slots = '{"hashKey":"a","data":{},"constructor":1}'
    refused(await table.tryPut(slots), 400, 'invalid_request', 'constructor')
  })

  test('a query parameter likewise, on every route', async () => {
    const table = await service.table()
    const { id } = await createKey(service.api)
    const requests: [string, string, string?][] = [
      ['GET', '/v1'],
      ['GET', '/v1/app'],
      ['GET', table.path],
      ['POST', table.path],
      ['POST', `${table.path}/restore`],
      ['PUT', table.path, '{"hashKey":"a","data":{}}'],
      ['GET', `${table.path}/a`],
      ['GET', `${table.path}/a/b`],
      ['DELETE', `${table.path}/a`],
      ['DELETE', `${table.path}/a/b`],
      ['POST', `${table.path}/query`, '{"hash":"a"}'],
      ['POST', `${table.path}/find`, '{"keys":[{"hashKey":"a"}]}'],
      ['POST', `${table.path}/batch`, '{"operations":[{"op":"delete","hashKey":"a"}]}'],
      ['GET', '/api/keys'],
      ['POST', '/api/keys', '{"kind":"public"}'],
      ['DELETE', `/api/keys/${id}`],
      ['DELETE', table.path],
    ]
    for (const [method, path, body] of requests) {
      for (const parameter of ['force=true', 'force', '%66orce=1']) {
        const error = refused(await service.api.request(method, `${path}?${parameter}`, body), 400, 'invalid_request')
        expect(`${error.field} ${error.message}`).toContain('force')
      }
    }
    ok(await service.api.get(table.path))
    expect(ok(await service.api.get('/api/keys?limit=1')).keys[0]).toMatchObject({ id, status: 'active' })
  })
})

describe('a member that occurs twice in the envelope is rejected', () => {
  const doubled: [string, string, string][] = [
    ['put', '{"hashKey":"a","hashKey":"a","data":{}}', 'hashKey'],
    ['put', '{"hashKey":"a","data":{},"data":{}}', 'data'],
    ['put', '{"hashKey":"a","data":{},"hash\\u004bey":"b"}', 'hashKey'],
    ['put', '{"hashKey":"a","\\u0064ata":{"x":1},"data":{}}', 'data'],
    ['create a table', '{"indices":{},"indices":{}}', 'indices'],
    ['create a table', '{"indices":{"i1":{"hashField":"a"},"i1":{"hashField":"b"}}}', 'indices.i1'],
    ['create a table', '{"indices":{"i1":{"hashField":"a","hashField":"b"}}}', 'indices.i1.hashField'],
    ['restore', '{"deletedAt":1,"deletedAt":1}', 'deletedAt'],
    ['query', '{"hash":"a","hash":"b"}', 'hash'],
    ['query', '{"hash":"a","range":{"eq":"a","eq":"b"}}', 'range.eq'],
    ['find', '{"keys":[{"hashKey":"a"}],"keys":[]}', 'keys'],
    ['find', '{"keys":[{"hashKey":"a"},{"hashKey":"b","hash\\u004bey":"c"}]}', 'keys[1].hashKey'],
    ['batch', '{"operations":[],"operations":[{"op":"delete","hashKey":"a"}]}', 'operations'],
    ['batch', '{"operations":[{"op":"delete","op":"put","hashKey":"a","data":{}}]}', 'operations[0].op'],
    ['batch', '{"operations":[{"op":"put","hashKey":"a","data":{},"d\\u0061ta":{}}]}', 'operations[0].data'],
    ['create a key', '{"kind":"public","kind":"secret"}', 'kind'],
  ]
  for (const [what, body, field] of doubled) {
    test(`${what}: ${body}`, async () => {
      const taker = (await takers()).find((candidate) => candidate.what === what)!
      refused(await service.api.request(taker.method, taker.path, body), 400, 'invalid_request', field)
    })
  }

  test('inside data duplicates are kept, and the last counts for indices', async () => {
    const table = await service.table({ i1: { hashField: 'a' } })
    const data = '{"a":"first","a":"last"}'
    ok(await table.tryPut(`{"hashKey":"k","data":${data}}`))
    expect((await table.get('k')).text).toContain(`"data":${data}`)
    expect(await table.hashes({ index: 'i1', hash: 'first' })).toEqual([])
    expect(await table.hashes({ index: 'i1', hash: 'last' })).toEqual(['k'])
    ok(await table.tryPut('{"hashKey":"k","data":{"a":null,"\\u0061":"escaped"}}'))
    expect(await table.hashes({ index: 'i1', hash: 'escaped' })).toEqual(['k'])
    refused(await table.tryPut('{"hashKey":"k","data":{"a":"fine","a":null}}'), 400, 'invalid_index_value', 'data.a')
  })
})
