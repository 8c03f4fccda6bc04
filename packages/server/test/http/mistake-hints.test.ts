import { beforeAll, describe, expect, test } from 'bun:test'
import { lostPathHint } from '../../src/http/mistake-hints.ts'
import { cpuMsOf } from '../cpu-time.ts'
import type { ApiResponse, Json } from '../harness.ts'
import { createExpiredKey, freshName, ok, refused, type TestTable, unknownKey, useService } from './service.ts'

// A newcomer, or an agent, repairs a request from the error alone. So the request in the hint is taken out and sent.

const service = useService()

let table: TestTable
beforeAll(async () => {
  table = await service.table({ i1: { hashField: 'status' } })
  await table.put('ada', { status: 'open' })
})

/** The first request that a hint names. */
const requestIn = (hint: string): { method: string; path: string } => {
  const [, method, path] = /\b(GET|PUT|PATCH|POST|DELETE) (\/[^\s,;]*[^\s,;.])/.exec(hint) ?? []
  if (method === undefined) throw new Error(`no request in the hint: ${hint}`)
  return { method, path: path! }
}

const send = (method: string, path: string, body?: Json): Promise<ApiResponse> =>
  service.api.raw(method, path, {
    ...(body !== undefined && { body: JSON.stringify(body), headers: [['Content-Type', 'application/json']] }),
  })

const put = { hashKey: 'bob', data: { n: 1 } }
const patch = { hashKey: 'bob', merge: { n: 1 } }
const operations = [{ op: 'put', ...put }]

interface Attempt {
  method: string
  path: (path: string) => string
  body?: Json
  status: number
  code: string
  /** The request that the hint must name, and a body for it. */
  meant: (path: string) => string
  works: Json | undefined
  says?: string
}

const near = (request: string, error: string, meant: string, works?: Json, more: Partial<Attempt> = {}): Attempt => {
  const [method, path] = request.split(' ') as [string, string]
  const [status, code] = error.split(' ') as [string, string]
  const at = (text: string) => (own: string) =>
    text.replace('/v1/app/orders', own).replace('app.orders', own.replace('/v1/app/', 'app.'))
  return { method, path: at(path), status: Number(status), code, meant: at(meant), works, ...more }
}

const noMethod = '405 method_not_allowed'
const badRequest = '400 invalid_request'
const toQuery = 'POST /v1/app/orders/query'
const newest = { index: 't' }
const noRoute = '404 route_not_found'
const toItem = 'PUT /api/collections/app.orders/items/:id'

describe('the five of the contract', () => {
  const written = 'PUT /v1/app/orders'
  const inTheBody = 'with hashKey in the body'
  const cases: Record<string, Attempt> = {
    'PUT of a record by its path': near('PUT /v1/app/orders/ada', noMethod, written, put, {
      body: { data: {} },
      says: inTheBody,
    }),
    'the same with a range key': near('PUT /v1/app/orders/ada/r', noMethod, written, put, { says: inTheBody }),
    'POST of a record to the table': near('POST /v1/app/orders', badRequest, written, put, {
      body: put,
      says: inTheBody,
    }),
    'the same with data first': near('POST /v1/app/orders', badRequest, written, put, {
      body: { data: {}, hashKey: 'bob' },
      says: inTheBody,
    }),
    'the same with a record that is larger than the declaration of a table': near(
      'POST /v1/app/orders',
      '413 body_too_large',
      written,
      put,
      { body: { hashKey: 'bob', data: { text: 'x'.repeat(70_000) } }, says: inTheBody },
    ),
    ...Object.fromEntries(
      ['limit=10', 'cursor=x', 'hash=ada', 'index=t', 'range=x', 'ascending=true', 'select=keys'].map((parameter) => [
        `GET of the table with ${parameter}`,
        near(`GET /v1/app/orders?${parameter}`, badRequest, toQuery, newest),
      ]),
    ),
    'POST …/search': near('POST /v1/app/orders/search', noMethod, toQuery, newest, { body: {} }),
    'POST …/list': near('POST /v1/app/orders/list', noMethod, toQuery, newest),
    'a query without hash and index': near('POST /v1/app/orders/query', '400 invalid_key', toQuery, newest, {
      body: { limit: 10 },
      says: 'index: "t"',
    }),
  }
  attempts(cases)

  test('the words are those of the contract', async () => {
    const { path } = table
    const hints = [
      (await send('PUT', table.at('ada'), {})).body.error.hint,
      (await send('POST', path, put)).body.error.hint,
    ]
    for (const hint of hints) expect(hint).toContain(`records are written by PUT ${path} with hashKey in the body`)
  })
})

describe('and others that are tried often', () => {
  attempts({
    'POST of a record by its path': near('POST /v1/app/orders/ada', noMethod, 'PUT /v1/app/orders', put),
    'PATCH of a record': near('PATCH /v1/app/orders/ada', noMethod, 'PATCH /v1/app/orders', patch),
    ...Object.fromEntries(
      ['query', 'find', 'restore', 'load', 'changes'].map((verb) => [
        `PATCH of a record whose key is ${verb}`,
        near(`PATCH /v1/app/orders/${verb}`, noMethod, 'PATCH /v1/app/orders', patch),
      ]),
    ),
    'PATCH of a record with a range key': near('PATCH /v1/app/orders/ada/r', noMethod, 'PATCH /v1/app/orders', patch),
    'GET …/query': near('GET /v1/app/orders/query', '404 record_not_found', toQuery, newest, { says: 'range key' }),
    'GET …/query?limit': near('GET /v1/app/orders/query?limit=5', badRequest, toQuery, newest),
    'GET …/search': near('GET /v1/app/orders/search', '404 record_not_found', toQuery, newest),
    'GET of a record with limit': near('GET /v1/app/orders/ada?limit=5', badRequest, toQuery, newest),
    'GET of the table with offset': near('GET /v1/app/orders?offset=5', badRequest, toQuery, newest),
    'POST of a flat record to the table': near('POST /v1/app/orders', badRequest, 'PUT /v1/app/orders', put, {
      body: { name: 'Ada', status: 'open' },
      says: '{ "hashKey": …, "data": { … } }',
    }),
    'GET of the table with a field': near('GET /v1/app/orders?status=open', badRequest, toQuery, newest, {
      says: '{ "index": "i1", "hash": … }',
    }),
    'GET of a record with a field': near('GET /v1/app/orders/ada?status=open', badRequest, toQuery, newest),
    'PUT …/batch': near('PUT /v1/app/orders/batch', noMethod, 'POST /v1/app/orders/batch', { operations }),
    'POST …/bulk': near('POST /v1/app/orders/bulk', noMethod, 'POST /v1/app/orders/batch', { operations }),
    'POST …/count': near('POST /v1/app/orders/count', noMethod, toQuery, newest, { says: '"select": "count"' }),
    'GET …/count': near('GET /v1/app/orders/count', '404 record_not_found', toQuery, newest, {
      says: '"select": "count"',
    }),
    'GET of a table named tables': near('GET /v1/app/tables', '404 table_not_found', 'POST /v1/app/tables', undefined, {
      says: 'Tables are listed by GET /v1/app.',
    }),
    'POST …/undelete': near('POST /v1/app/orders/undelete', noMethod, 'POST /v1/app/orders/restore', {}),
    'GET of a key': near('GET /api/keys/key_1', noMethod, 'GET /api/keys'),
    'PATCH of a key': near('PATCH /api/keys/key_1', noMethod, 'POST /api/keys', { kind: 'public' }),
    'GET of a collection': near('GET /api/collections/app.orders', noRoute, 'GET /v1/app/orders'),
    'POST of a collection': near('POST /api/collections/app.orders', noRoute, 'POST /v1/app/orders', {
      indices: { i1: { hashField: 'status' } },
    }),
    'GET of all items': near('GET /api/collections/app.orders/items', noRoute, toQuery, newest),
    'GET of an item with limit': near('GET /api/collections/app.orders/items/ada?limit=5', badRequest, toQuery, newest),
    'POST of an item without an id': near('POST /api/collections/app.orders/items', noRoute, toItem, { n: 1 }),
    'POST of an item': near('POST /api/collections/app.orders/items/ada', noMethod, toItem, { n: 1 }),
    'GET /health': near('GET /health', '404 route_not_found', 'GET /healthz'),
  })

  const hintOf = async (method: string, path: string, body?: Json) => (await send(method, path, body)).body.error.hint

  test('where a key is missing in the path, the hint has its place', async () => {
    for (const [method, path, meant] of [
      ['GET', `${table.path}?hashKey=ada`, `GET ${table.path}/:hashKey`],
      ['DELETE', `${table.path}?hashKey=ada`, `DELETE ${table.path}/:hashKey`],
      ['DELETE', `${table.path}/`, `DELETE ${table.path}/:hashKey`],
      ['DELETE', `${table.path}//`, `DELETE ${table.path}/:hashKey`],
      ['POST', `${table.path}/delete`, `DELETE ${table.path}/:hashKey`],
      ['DELETE', '/v1/app', 'DELETE /v1/app/:table'],
      ['POST', '/v1/app', 'POST /v1/app/:table'],
    ] as const) {
      expect([path, await hintOf(method, path)]).toEqual([path, expect.stringContaining(`${meant}`)])
    }
  })

  // Without this a caller could follow a hint and lose a table.
  test('no hint to a DELETE of a record is the DELETE of its table', async () => {
    for (const path of [
      `${table.path}/`,
      `${table.path}//`,
      `${table.path}/ada/`,
      `/app/${table.name}/`,
      `${table.path}?hashKey=ada`,
      `${table.path}/.%2e/`,
      `${table.path}/x/../`,
    ]) {
      const answer = await service.api.raw('DELETE', path)
      expect([path, answer.status >= 400]).toEqual([path, true])
      const hint: string = answer.body.error.hint ?? ''
      expect([path, hint, new RegExp(`${table.name}(?![/\\w])`).test(hint)]).toEqual([path, hint, false])
    }
    const body = await send('DELETE', table.path, { hashKey: 'ada' })
    expect(refused(body, 400, 'invalid_request').hint).toContain(`DELETE ${table.path}/:hashKey`)
    ok(await service.api.get(table.path))
  })

  test('fields of a record in a query are named as a query has them', async () => {
    expect(await hintOf('POST', `${table.path}/query`, { hashKey: 'ada' })).toBe('In a query it is "hash".')
    expect(await hintOf('POST', `${table.path}/query`, { hash: 'a', rangeKey: 'r' })).toContain('"range"')
    expect(await hintOf('GET', `${table.at('ada')}?rangeKey=r`)).toContain('path')
  })

  // Five agents were given a key and an address, nothing else. These hints had led them into a wrong request.
  test('a field, a value or an operation of another service', async () => {
    const mail = '/v1/app/_tasks/hinted'
    ok(await service.api.put(mail, {}), 201)
    const range = { gte: '2026-11-03', lte: '2026-11-05T23:59:59Z' }
    for (const [method, path, body, says] of [
      ['POST', `${mail}/run`, { idempotencyKey: 'a' }, 'Write it as "id".'],
      ['POST', `${mail}/run`, { delay: 5 }, 'Write it as "delaySeconds".'],
      ['PUT', mail, { retries: 5 }, 'Write it as "attempts".'],
      ['PUT', mail, { webhook: 'https://example.com' }, 'Write it as "url".'],
      ['PUT', table.path, { ...put, ttl: '1796083200000' }, 'Write it as 1796083200.'],
      [
        'POST',
        `${table.path}/query`,
        { index: 'i1', hash: 'open', range },
        'Write 2026-11-03 as "2026-11-03T00:00:00Z".',
      ],
      ['POST', `${table.path}/query`, { hash: 'ada', sort: '-placedAt' }, 'false for the highest first'],
      ['POST', `${table.path}/batch`, { operations: [{ op: 'get', hashKey: 'ada' }] }, 'A batch reads nothing.'],
      ['GET', `/v1/app/${freshName('none')}/ada`, undefined, 'with the indices that it needs, which cannot be changed'],
    ] as [string, string, Json, string][]) {
      expect([path, body, await hintOf(method, path, body)]).toEqual([path, body, expect.stringContaining(says)])
    }
  })

  test('GET /openapi, /swagger.json, /api/docs: where the descriptions are', async () => {
    for (const path of ['/openapi', '/openapi.yaml', '/swagger.json', '/api-docs', '/api/docs']) {
      const { hint } = refused(await service.server.raw('GET', path), 404, 'route_not_found')
      const request = requestIn(hint)
      expect([path, request]).toEqual([path, { method: 'GET', path: '/openapi.json' }])
      expect((await fetch(service.server.url + request.path)).status).toBe(200)
    }
  })

  test('paths that are almost there', () => {
    for (const [path, hint] of [
      ['/v1/app/orders/', 'Without the slash at its end: /v1/app/orders.'],
      ['/v1/app/orders/ada/', 'Without the slash at its end: /v1/app/orders/ada.'],
      ['/docs/', 'Without the slash at its end: /docs.'],
      ['/app/orders', 'Tables and records are below /v1: /v1/app/orders.'],
      ['/app/orders/ada/r', 'Tables and records are below /v1: /v1/app/orders/ada/r.'],
      ['/api/v1/app/orders', 'Tables and records are below /v1: /v1/app/orders.'],
      [
        '/api/collections/app.orders/items/ada/',
        'Without the slash at its end: /api/collections/app.orders/items/ada.',
      ],
      ['/api/collections/app.orders/ada', 'An item is at /api/collections/app.orders/items/:id.'],
      ['/api/collections/orders/items', 'The id is missing; records are found by POST /v1/default/orders/query.'],
      ['/api/collections/App.orders/ada', 'An item is at /api/collections/:collection/items/:id.'],
      ['/version', 'The version is in GET /.'],
      ['/api/keys/key_1/rotate', 'A key is replaced by POST /api/keys/:id/roll.'],
      ['/api/keys/key_1/revoke', 'Keys are revoked by DELETE /api/keys/:id.'],
      ['/keys', 'Keys are below /api: /api/keys.'],
      ['/keys/self', 'Keys are below /api: /api/keys/self.'],
    ] as const) {
      expect([path, lostPathHint('GET', path)]).toEqual([path, hint])
    }
    expect(lostPathHint('GET', '/v1/app/orders/a/b/c')).toContain('%2F')
    expect(lostPathHint('GET', '/api/collections/app.orders/items/ada/o-1')).toContain('items/:id?rangeKey=…')
    expect(lostPathHint('GET', '/api/collections')).toContain('GET /v1/:db')
    const general = lostPathHint('GET', '/favicon.ico')
    for (const path of [
      '/v1//orders',
      '/',
      '/healthz/x',
      '/api/queues',
      '/storage/v1/bucket',
      '/App/Orders',
      '/%2e%2e/x/',
      '/a%20b/c/',
      '/../x/',
    ])
      expect([path, lostPathHint('GET', path)]).toEqual([path, general])
    expect(lostPathHint('DELETE', '/app/orders/')).toBe(general)
  })

  test('a long path costs no time', () => {
    const pathsOf = (length: number): string[] => [
      '/a'.repeat(length / 2),
      `/v1${'/a'.repeat(length / 2)}/%`,
      '/'.repeat(length),
      `/${'a'.repeat(length)}/`,
      `/api/collections/${'a/'.repeat(length / 2)}`,
    ]
    const msOf = (path: string): number =>
      cpuMsOf(() => {
        for (const method of ['GET', 'DELETE']) lostPathHint(method, path)
      })
    const long = pathsOf(16_000)
    // They are not compared with anything.
    const general = lostPathHint('GET', '/favicon.ico')
    for (const path of long) expect(lostPathHint('GET', path)).toBe(general)
    for (const [i, path] of pathsOf(1_000).entries()) {
      // 16 times as long: if each character cost as much as the path is long, it would be 256 times.
      const [short, longer] = [Math.max(msOf(path), 0.05), msOf(long[i]!)]
      expect([path.slice(0, 20), longer / short < 100]).toEqual([path.slice(0, 20), true])
    }
  })
})

describe('tasks', () => {
  const mail = '/v1/app/_tasks/mail'
  const finished = { lease: 'x', error: 'no' }
  const listed = `Runs are listed by POST ${mail}/query.`
  beforeAll(async () => {
    ok(await service.api.put(mail, {}), 201)
    ok(await service.api.post(`${mail}/run`, { id: 'r1' }), 201)
  })

  attempts({
    'POST of a task': near(
      `POST ${mail}`,
      noMethod,
      `PUT ${mail}`,
      {},
      {
        says: `Tasks are declared by PUT ${mail}; a run is added by POST ${mail}/run.`,
      },
    ),
    'PATCH of a task': near(
      `PATCH ${mail}`,
      noMethod,
      `PUT ${mail}`,
      {},
      {
        says: `A declaration is always sent as a whole; tasks are declared by PUT ${mail}.`,
      },
    ),
    'POST …/pause': near(
      `POST ${mail}/pause`,
      noRoute,
      `PUT ${mail}`,
      { paused: false },
      {
        says: `A task is paused and resumed by its declaration, always sent as a whole: PUT ${mail} with paused and all else`,
      },
    ),
    'GET …/runs': near(`GET ${mail}/runs`, noRoute, `POST ${mail}/query`, undefined, { says: listed }),
    'GET …/runs with status': near(`GET ${mail}/runs?status=queued`, noRoute, `POST ${mail}/query`),
    'GET of a task with status': near(`GET ${mail}?status=queued`, badRequest, `POST ${mail}/query`, undefined, {
      says: listed,
    }),
    'POST …/runs': near(`POST ${mail}/runs`, noRoute, `POST ${mail}/run`, { payload: { n: 1 } }),
    'POST …/enqueue': near(`POST ${mail}/enqueue`, noRoute, `POST ${mail}/run`, { payload: { n: 1 } }),
    'POST …/trigger': near(
      `POST ${mail}/trigger`,
      noRoute,
      `POST ${mail}/run`,
      {},
      {
        says: `A run is added by POST ${mail}/run.`,
      },
    ),
    'POST …/runs/:run': near(`POST ${mail}/runs/r1`, noMethod, `POST ${mail}/run`, {}, { says: 'extend and finish' }),
    'GET of no task': near('GET /v1/app/_tasks/nope', '404 task_not_found', 'PUT /v1/app/_tasks/nope', {}),
  })

  test('where the request cannot be named as a whole, the hint says what is missing', async () => {
    const below = `Below ${mail} are run, query, claim, batch, secret, restore and runs/:run;`
    for (const [method, path, says, body] of [
      ['POST', '/v1/app/_tasks', 'Tasks are declared by PUT /v1/app/_tasks/:task.'],
      ['DELETE', `${mail}/runs/r1`, `POST ${mail}/runs/:run/cancel.`],
      ['DELETE', `${mail}?id=r1`, `POST ${mail}/runs/:run/cancel`],
      ['DELETE', mail, `POST ${mail}/runs/:run/cancel`, { id: 'r1' }],
      ['PUT', mail, 'It belongs into "schedule".', { cron: '* * * * *' }],
      ['GET', `${mail}/x`, below],
      ['POST', `${mail}/finish`, below],
      ['POST', `${mail}/runs/r1/ack`, `below ${mail}/runs/:run are cancel, retry, extend and finish`],
      ['PUT', '/v1/app/tasks/mail', `declared by PUT ${mail}; a run is added by POST ${mail}/run`],
      ['POST', '/v1/app/tasks/mail/run', `a run is added by POST ${mail}/run`],
      ['GET', '/v1/app/tasks/mail', 'Tasks are listed by GET /v1/app/_tasks'],
      ['GET', '/v1/app/tasks', 'Tasks are listed by GET /v1/app/_tasks.'],
      ['GET', '/v1/_tasks/mail', 'Tasks are listed by GET /v1/:db/_tasks'],
      ['GET', '/v1/_tasks', 'Tasks are listed by GET /v1/:db/_tasks.'],
      ['GET', '/tasks', 'Tasks are listed by GET /v1/:db/_tasks.'],
    ] as [string, string, string, Json?][]) {
      const answer = await send(method, path, body)
      expect([path, answer.body.error.hint]).toEqual([path, expect.stringContaining(says)])
    }
    const { hint } = refused(await send('POST', `${mail}/runs/r1/finish`, finished), 400, 'invalid_request', 'error')
    expect(hint).toContain('{ "message": ')
  })
})

function attempts(cases: Record<string, Attempt>): void {
  for (const [what, { method, path, body, status, code, meant, works, says }] of Object.entries(cases)) {
    test(`${what}: ${status} ${code}, and the request in the hint works`, async () => {
      const { hint } = refused(await send(method, path(table.path), body), status, code)
      const request = requestIn(hint)
      expect(`${request.method} ${request.path}`).toBe(meant(table.path))
      if (says !== undefined) expect(hint).toContain(says)
      const answer = await send(request.method, request.path, works)
      expect([hint, Math.floor(answer.status / 100), answer.status < 400 ? '' : answer.text]).toEqual([hint, 2, ''])
      if (request.path.endsWith('/query')) expect(answer.body.items.length).toBeGreaterThan(0)
    })
  }
}

describe('names in hints', () => {
  test('are repeated only if a table can have them; never more of the path', async () => {
    for (const name of [
      'Orders',
      '_orders',
      'a%20b',
      '%22%3E',
      'x'.repeat(65),
      '%00',
      'a%2Fb',
      '%F0%9F%98%80',
      '..%2f',
    ]) {
      const { hint } = refused(await service.api.raw('PUT', `/v1/app/${name}/ada`), 405, 'method_not_allowed')
      expect([name, hint]).toEqual([name, expect.stringContaining('PUT /v1/app/:table with')])
      expect(hint).not.toContain(name)
    }
    const { hint } = refused(
      await service.api.raw('PUT', `/v1/app/${table.name}/some-secret`),
      405,
      'method_not_allowed',
    )
    expect(hint).not.toContain('some-secret')
  })

  test('a key of the API in a path is masked', async () => {
    const key = unknownKey()
    for (const [method, path] of [
      ['GET', `/v1/app/${key}/`],
      ['PUT', `/v1/${key}/orders/a`],
      ['GET', `/app/orders/${key}`],
    ] as const) {
      expect((await service.api.raw(method, path)).text).not.toContain(key)
    }
  })

  test('tell nothing: the same for a table that exists, one of another organization and none, with and without a key', async () => {
    const theirs = await service.stranger.post(`/v1/app/${freshName('theirs')}`)
    const names = [table.name, ok(theirs, 201).table, freshName('none')]
    for (const [method, rest] of [
      ['PUT', '/ada'],
      ['POST', '/search'],
      ['GET', '/'],
      ['PATCH', '/ada'],
    ] as const) {
      const hints = new Set<string>()
      for (const name of names) {
        for (const caller of [service.api, service.stranger, service.server]) {
          const { hint } = (await caller.raw(method, `/v1/app/${name}${rest}`)).body.error
          hints.add(hint.replaceAll(name, 'NAME'))
        }
      }
      expect([method, rest, hints.size]).toEqual([method, rest, 1])
    }
  })

  test('what is wrong with the input is said before the table is looked for', async () => {
    const none = `/v1/app/${freshName('none')}`
    expect(refused(await send('GET', `${none}?limit=1`), 400, 'invalid_request').hint).toContain(`POST ${none}/query`)
    expect(refused(await send('POST', `${none}/query`, {}), 400, 'invalid_key').hint).toContain(`POST ${none}/query`)
  })
})

describe('/docs', () => {
  const docs = 'The API is documented at /docs, for agents at /SKILL.md.'

  test('is named by the hint of every 401', async () => {
    const expired = (await createExpiredKey(service.api)).key
    const headers = [
      [],
      ['Authorization', `Bearer ${unknownKey()}`],
      ['Authorization', 'Bearer nonsense'],
      ['Authorization', 'Basic YTpi'],
      ['Authorization', 'Bearer'],
      ['Authorization', service.org.secretKey],
      ['Authorization', `Bearer ${expired}`],
      ['X-Api-Key', service.org.secretKey],
    ]
    for (const header of headers) {
      const answer = await service.server.raw('GET', '/v1', {
        headers: header.length === 0 ? [] : [header as [string, string]],
      })
      expect([header, answer.status, answer.body.error.hint]).toEqual([header, 401, expect.stringContaining(docs)])
    }
    expect((await fetch(`${service.server.url}/docs`)).status).toBe(200)
  })

  test('is named by the hint of every path that is not there', async () => {
    for (const path of ['/nowhere', '/v1/', '/v1/app/orders/', '/app/orders', '/api', '/favicon.ico']) {
      expect(refused(await service.api.raw('GET', path), 404, 'route_not_found').hint).toEndWith(docs)
    }
  })
})

describe('a key that is sent in another way', () => {
  const hintFor = async (headers: [string, string][], target = '/v1'): Promise<[string, string]> => {
    const answer = await service.server.raw('GET', target, { headers })
    expect(answer.text).not.toContain(service.org.secretKey)
    const { code, hint } = answer.body.error
    return [code, hint]
  }

  test('X-Api-Key and its like: the header that is read', async () => {
    for (const name of ['X-Api-Key', 'x-api-key', 'Api-Key', 'X-Auth-Token']) {
      const [code, hint] = await hintFor([[name, service.org.secretKey]])
      expect([code, hint]).toEqual(['missing_api_key', expect.stringContaining('"Authorization: Bearer <API key>"')])
      expect(hint.toLowerCase()).toContain(`${name.toLowerCase()} is not read`)
    }
  })

  test('in the query string', async () => {
    for (const name of ['api_key', 'apikey', 'api-key', 'key', 'access_token', 'token']) {
      const [code, hint] = await hintFor([], `/v1?${name}=${service.org.secretKey}`)
      expect([code, hint]).toEqual(['missing_api_key', expect.stringContaining(`the parameter ${name} is not read`)])
    }
  })

  test('without Bearer; Bearer without a key', async () => {
    const [code, hint] = await hintFor([['Authorization', service.org.secretKey]])
    expect([code, hint]).toEqual(['invalid_api_key', expect.stringContaining('Write "Bearer " before the key')])
    const [empty, why] = await hintFor([['Authorization', 'Bearer ']])
    expect([empty, why]).toEqual(['invalid_api_key', expect.stringContaining('no key after "Bearer"')])
  })
})
