import { describe, expect, test } from 'bun:test'
import { createKey, ok, refused, unknownKey, useService } from './service.ts'

const service = useService()

const exposed = [
  ...['accept-ranges', 'content-disposition', 'content-range', 'etag'],
  ...['idempotency-replayed', 'repr-digest', 'retry-after', 'x-request-id'],
]

const list = (value: string | null) => (value ?? '').toLowerCase().split(/\s*,\s*/)

describe('preflight', () => {
  for (const path of [
    '/v1',
    '/v1/app',
    '/v1/app/orders',
    '/v1/app/orders/a',
    '/v1/app/orders/a/b',
    '/v1/app/_buckets',
    '/v1/app/_buckets/avatars',
    '/v1/app/_buckets/avatars/cats/tom.png',
  ]) {
    test(`OPTIONS ${path} answers 204 without a key`, async () => {
      const answer = await service.server.raw('OPTIONS', path, {
        headers: [
          ['Origin', 'https://shop.example'],
          ['Access-Control-Request-Method', 'PUT'],
          ['Access-Control-Request-Headers', 'authorization, content-type'],
        ],
      })
      expect(answer.status).toBe(204)
      expect(answer.text).toBe('')
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(list(answer.headers.get('access-control-allow-headers')).sort()).toEqual([
        'authorization',
        'content-digest',
        'content-encoding',
        'content-type',
        'idempotency-key',
        'if-match',
        'if-none-match',
        'if-range',
        'last-event-id',
        'mcp-method',
        'mcp-name',
        'mcp-protocol-version',
        'prefer',
        'range',
        'traceparent',
        'tracestate',
        'x-request-id',
      ])
      const methods = list(answer.headers.get('access-control-allow-methods'))
      expect(methods.sort()).toEqual(['delete', 'get', 'head', 'options', 'patch', 'post', 'put'])
      expect(list(answer.headers.get('access-control-expose-headers')).sort()).toEqual(exposed)
      expect(answer.headers.get('access-control-max-age')).toBe('86400')
    })
  }

  for (const path of ['/v1/app/orders/query', '/v1/app/orders/batch', '/api/keys', '/api/keys/key_x', '/healthz']) {
    test(`OPTIONS ${path} too, whatever else the request carries`, async () => {
      const answer = await service.server.request('OPTIONS', path, { headers: { authorization: 'Bearer nonsense' } })
      expect(answer.status).toBe(204)
    })
  }
})

describe('every answer, errors too, allows every origin and exposes the same headers', () => {
  // `checkResponse` of the harness looks at the headers of every answer in all of these tests; here are the rare ones.
  test('404 of unknown routes, 405, 401, 403, 413, 415, 304, HEAD', async () => {
    const { server, api, reader } = service
    const table = await service.table()
    const { updatedAt } = await table.put('a')
    const answers = [
      await server.raw('GET', '/nowhere'),
      await server.raw('PATCH', table.at('a')),
      await server.raw('GET', table.path),
      await reader.raw('DELETE', table.path),
      await api.put(table.path, ' '.repeat(1_048_577)),
      await api.put(table.path, '{}', { 'content-type': 'text/plain' }),
      await api.get(table.at('a'), { 'if-none-match': `"${updatedAt}"` }),
      await api.raw('HEAD', table.at('a')),
      await api.raw('HEAD', table.at('b')),
      await server.raw('GET', '/healthz'),
    ]
    expect(answers.map((answer) => answer.status)).toEqual([404, 405, 401, 403, 413, 415, 304, 200, 404, 200])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(list(headers.get('access-control-expose-headers')).sort()).toEqual(exposed)
    }
  })
})

describe('a secret key sent by a page of another site: 403 secret_key_in_browser', () => {
  const requests = (path: string): [string, string, string?][] => [
    ['GET', '/v1'],
    ['GET', path],
    ['PUT', path, '{"hashKey":"a","data":{}}'],
    ['POST', `${path}/query`, '{"hash":"a"}'],
    ['GET', '/api/keys'],
    ['DELETE', path],
  ]
  const host = () => `127.0.0.1:${service.server.port}`

  const refusedHeaders: [string, () => [string, string][]][] = [
    ['Sec-Fetch-Site: cross-site', () => [['Sec-Fetch-Site', 'cross-site']]],
    ['Sec-Fetch-Site: same-site', () => [['Sec-Fetch-Site', 'same-site']]],
    [
      'Sec-Fetch-Site: cross-site, with an Origin that is the host',
      () => [
        ['Sec-Fetch-Site', 'cross-site'],
        ['Origin', `http://${host()}`],
      ],
    ],
    ['an Origin of another host', () => [['Origin', 'https://shop.example']]],
    ['an Origin of another port', () => [['Origin', 'http://127.0.0.1:1']]],
    ['Origin: null', () => [['Origin', 'null']]],
    ['an Origin that ends in the host', () => [['Origin', `http://evil${host()}`]]],
  ]
  for (const [what, headers] of refusedHeaders) {
    test(what, async () => {
      const table = await service.table()
      for (const [method, path, body] of requests(table.path)) {
        const answer = await service.api.raw(method, path, { headers: headers(), body })
        refused(answer, 403, 'secret_key_in_browser')
      }
      ok(await service.api.get(table.path))
      refused(await table.get('a'), 404, 'record_not_found')
    })
  }

  const allowedHeaders: [string, () => [string, string][]][] = [
    ['Sec-Fetch-Site: same-origin', () => [['Sec-Fetch-Site', 'same-origin']]],
    ['Sec-Fetch-Site: none', () => [['Sec-Fetch-Site', 'none']]],
    [
      'Sec-Fetch-Site: same-origin decides, whatever Origin says',
      () => [
        ['Sec-Fetch-Site', 'same-origin'],
        ['Origin', 'https://shop.example'],
      ],
    ],
    ['an Origin whose host is Host', () => [['Origin', `http://${host()}`]]],
    [
      'an Origin whose host is the Host that was sent',
      () => [
        ['Host', 'store.example'],
        ['Origin', 'https://store.example'],
      ],
    ],
    ['neither header', () => []],
  ]
  for (const [what, headers] of allowedHeaders) {
    test(`not with ${what}`, async () => {
      const table = await service.table()
      for (const [method, path, body] of requests(table.path)) {
        ok(await service.api.raw(method, path, { headers: headers(), body }))
      }
    })
  }

  test('a public key is meant for browsers', async () => {
    const table = await service.table()
    await table.put('a')
    for (const [, headers] of refusedHeaders) {
      ok(await service.reader.raw('GET', table.at('a'), { headers: headers() }))
    }
  })

  test('a secret key limited to databases is a secret key', async () => {
    const { key } = await createKey(service.api, { kind: 'secret', databases: ['app'] })
    const headers: [string, string][] = [['Sec-Fetch-Site', 'cross-site']]
    refused(await service.server.raw('GET', '/v1/app', { key, headers }), 403, 'secret_key_in_browser')
  })

  test('a key that is not known stays not known', async () => {
    const headers: [string, string][] = [['Sec-Fetch-Site', 'cross-site']]
    refused(await service.server.raw('GET', '/v1', { key: unknownKey(), headers }), 401, 'invalid_api_key')
    refused(await service.server.raw('GET', '/v1', { headers }), 401, 'missing_api_key')
  })
})
