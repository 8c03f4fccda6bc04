import { describe, expect, test } from 'bun:test'
import { type ApiResponse, storeIsEmbedded } from '../harness.ts'
import {
  createExpiredKey,
  createKey,
  createRevokedKey,
  freshName,
  ok,
  refused,
  unknownKey,
  useService,
  wrongChecksum,
} from './service.ts'
import { asUser } from './user.ts'

const service = useService({ clock: true })
const mib = 1_048_576

/** The path of a new private file. */
const makeFile = async (): Promise<string> => {
  const bucket = `/v1/app/_buckets/${freshName('b')}`
  ok(await service.api.post(bucket), 201)
  ok(await service.api.raw('PUT', `${bucket}/a.txt`, { body: 'bytes' }))
  return `${bucket}/a.txt`
}

/** The path and query of a signed URL of it. */
const signUrl = async (expiresIn: number): Promise<string> => {
  const file = await makeFile()
  const { url } = ok(await service.api.post(file.replace(/a\.txt$/, 'url'), { name: 'a.txt', expiresIn }))
  const { pathname, search } = new URL(url)
  return pathname + search
}

/** A task with a run `a` that is running, and its lease. */
const makeRun = async (): Promise<{ task: string; lease: string }> => {
  const task = `/v1/app/_tasks/${freshName('task')}`
  ok(await service.api.put(task, {}), 201)
  ok(await service.api.post(`${task}/run`, { id: 'a' }), 201)
  const { runs } = ok(await service.api.post(`${task}/claim`))
  return { task, lease: runs[0].lease }
}

const notes = [{ db: 'app', table: 'notes', can: 'read' }]

/** Each code of the contract with its status and a request that meets it. */
const cases: Record<string, [number, () => Promise<ApiResponse>]> = {
  invalid_json: [400, async () => (await service.table()).tryPut('{"hashKey":')],
  invalid_request: [400, async () => (await service.table()).tryPut({ hashKey: 'a' })],
  invalid_name: [400, () => service.api.get('/v1/App')],
  reserved_name: [400, () => service.api.get('/v1/_app')],
  invalid_key: [400, async () => (await service.table()).tryPut({ hashKey: '..', data: {} })],
  invalid_index: [400, () => service.api.post(`/v1/app/${freshName()}`, { indices: { i9: { hashField: 'a' } } })],
  invalid_index_value: [
    400,
    async () => (await service.table({ i1: { hashField: 's' } })).tryPut({ hashKey: 'a', data: { s: [] } }),
  ],
  index_not_declared: [400, async () => (await service.table()).tryQuery({ index: 'i1', hash: 'a' })],
  changes_not_kept: [409, async () => service.api.post(`${(await service.table()).path}/changes`, {})],
  cursor_expired: [
    410,
    async () => {
      const { path } = await service.table()
      const keep = async (keepHours: number | null) => ok(await service.api.put(`${path}/changes`, { keepHours }))
      await keep(1)
      const { cursor } = ok(await service.api.post(`${path}/changes`, {}))
      await keep(null)
      await keep(1)
      return service.api.post(`${path}/changes`, { cursor })
    },
  ],
  invalid_range: [400, async () => (await service.table()).tryQuery({ hash: 'a', range: { near: 'b' } })],
  invalid_cursor: [400, async () => (await service.table()).tryQuery({ hash: 'a', cursor: 'nonsense' })],
  invalid_ttl: [400, async () => (await service.table()).tryPut({ hashKey: 'a', data: {}, ttl: -1 })],
  batch_too_large: [
    400,
    async () =>
      (await service.table()).tryBatch(Array.from({ length: 26 }, (_, i) => ({ op: 'delete', hashKey: `k${i}` }))),
  ],
  batch_duplicate_keys: [
    400,
    async () =>
      (await service.table()).tryBatch([
        { op: 'put', hashKey: 'a', data: {} },
        { op: 'delete', hashKey: 'a' },
      ]),
  ],
  digest_mismatch: [
    400,
    async () =>
      service.api.raw('PUT', await makeFile(), {
        headers: [['Content-Digest', `sha-256=:${Buffer.alloc(32).toString('base64')}:`]],
        body: 'other bytes',
      }),
  ],
  invalid_schedule: [400, () => service.api.put('/v1/app/_tasks/daily', { schedule: { cron: '@daily' } })],
  push_target_refused: [400, () => service.api.put('/v1/app/_tasks/push', { url: 'https://127.0.0.1/' })],
  missing_api_key: [401, () => service.server.request('GET', '/v1')],
  invalid_api_key: [401, () => service.server.as(unknownKey()).get('/v1')],
  expired_api_key: [401, async () => service.server.as((await createExpiredKey(service.api)).key).get('/v1')],
  revoked_api_key: [403, async () => service.server.as((await createRevokedKey(service.api)).key).get('/v1')],
  invalid_grant: [400, () => service.api.post('/api/tokens', { user: 'ada', grants: [] })],
  invalid_token: [401, () => service.server.as('svc_user_nonsense').get('/v1')],
  expired_token: [
    401,
    async () => {
      const ada = await asUser(service.api, 'ada', notes, 60)
      service.server.setClock(61_000)
      try {
        return await ada.get('/api/tokens/self')
      } finally {
        service.server.setClock(0)
      }
    },
  ],
  revoked_token: [
    403,
    async () => {
      const ada = await asUser(service.api, 'ada', notes)
      ok(await service.api.post('/api/tokens/revoke', { user: 'ada' }))
      return ada.get('/api/tokens/self')
    },
  ],
  not_granted: [403, async () => (await asUser(service.api, 'ada', notes)).get('/v1')],
  issuer_not_found: [404, () => service.api.get('/api/issuers/nobody')],
  read_only_key: [403, () => service.reader.post('/v1/app/orders')],
  key_scope: [
    403,
    async () => {
      const { key } = await createKey(service.api, { kind: 'secret', databases: ['elsewhere'] })
      return service.server.as(key).get('/v1/app')
    },
  ],
  secret_key_in_browser: [403, () => service.api.get('/v1', { 'sec-fetch-site': 'cross-site' })],
  private_file: [403, async () => service.reader.get(await makeFile())],
  invalid_signature: [403, async () => service.server.request('GET', `${await signUrl(60)}&more=1`)],
  expired_url: [
    403,
    async () => {
      const url = await signUrl(60)
      service.server.setClock(61_000)
      try {
        return await service.server.request('GET', url)
      } finally {
        service.server.setClock(0)
      }
    },
  ],
  route_not_found: [404, () => service.api.get('/v2')],
  table_not_found: [404, () => service.api.get('/v1/app/nowhere')],
  record_not_found: [404, async () => (await service.table()).get('nobody')],
  bucket_not_found: [404, () => service.api.get('/v1/app/_buckets/nowhere')],
  task_not_found: [404, () => service.api.get('/v1/app/_tasks/nowhere')],
  run_not_found: [404, async () => service.api.get(`${(await makeRun()).task}/runs/nobody`)],
  file_not_found: [404, async () => service.api.get(`${await makeFile()}.gone`)],
  key_not_found: [404, () => service.api.delete('/api/keys/nobody')],
  method_not_allowed: [405, () => service.api.request('PATCH', '/v1/app/orders/a')],
  table_exists: [
    409,
    async () => service.api.post((await service.table()).path, { indices: { i1: { hashField: 'a' } } }),
  ],
  bucket_exists: [
    409,
    async () => {
      const path = `/v1/app/_buckets/${freshName('b')}`
      for (const method of ['POST', 'DELETE', 'POST']) await service.api.request(method, path)
      return service.api.post(`${path}/restore`)
    },
  ],
  not_a_number: [
    409,
    async () =>
      service.api.request('PATCH', (await service.table()).path, {
        hashKey: 'a',
        merge: { n: 'x' },
        increment: { '/n': 1 },
      }),
  ],
  not_an_array: [
    409,
    async () =>
      service.api.request('PATCH', (await service.table()).path, {
        hashKey: 'a',
        merge: { n: 1 },
        append: { '/n': [1] },
      }),
  ],
  run_exists: [409, async () => service.api.post(`${(await makeRun()).task}/run`, { id: 'a', payload: { other: 1 } })],
  lease_lost: [409, async () => service.api.post(`${(await makeRun()).task}/runs/a/extend`, { lease: 'another' })],
  key_not_active: [409, async () => service.api.post(`/api/keys/${(await createRevokedKey(service.api)).id}/roll`)],
  run_finished: [
    409,
    async () => {
      const { task, lease } = await makeRun()
      ok(await service.api.post(`${task}/runs/a/finish`, { lease }))
      return service.api.post(`${task}/runs/a/cancel`)
    },
  ],
  too_many_tasks: [
    409,
    async () => {
      const table = await service.table()
      const declare = () => service.api.put(`/v1/app/_tasks/${freshName('task')}`, { on: { table: table.name } })
      for (let n = 0; n < 5; n++) ok(await declare(), 201)
      return declare()
    },
  ],
  task_exists: [
    409,
    async () => {
      const path = `/v1/app/_tasks/${freshName('task')}`
      for (const method of ['PUT', 'DELETE', 'PUT']) await service.api.request(method, path)
      return service.api.post(`${path}/restore`)
    },
  ],
  idempotency_key_reused: [
    422,
    async () => {
      const [table, headers] = [await service.table(), { 'idempotency-key': 'one' }]
      ok(await table.tryPut({ hashKey: 'a', data: {} }, headers))
      return table.tryPut({ hashKey: 'b', data: {} }, headers)
    },
  ],
  precondition_failed: [
    412,
    async () => (await service.table()).tryPut({ hashKey: 'a', data: {} }, { 'if-match': '*' }),
  ],
  record_too_large: [
    413,
    async () => (await service.table()).tryPut({ hashKey: 'a', data: { a: 'x'.repeat(409_600) } }),
  ],
  body_too_large: [413, async () => (await service.table()).tryPut(' '.repeat(mib + 1))],
  file_too_large: [
    413,
    async () => service.api.raw('PUT', await makeFile(), { headers: [['Content-Length', String(6 * 1024 * mib)]] }),
  ],
  range_not_satisfiable: [
    416,
    async () => service.api.raw('GET', await makeFile(), { headers: [['Range', 'bytes=5-']] }),
  ],
  unsupported_media_type: [
    415,
    async () => (await service.table()).tryPut('hashKey: a', { 'content-type': 'text/yaml' }),
  ],
}

/** These need a store in trouble: other tests make it. */
const provokedElsewhere = ['internal', 'store_damaged', 'outcome_unknown', 'unavailable', 'storage_full']

describe('every code can be met, with its status', () => {
  test('the cases below and those provoked elsewhere are all the codes there are', async () => {
    const { errorCodes } = await import('../../src/core/error-codes.ts')
    expect([...Object.keys(cases), ...provokedElsewhere].sort()).toEqual([...errorCodes].sort())
  })

  for (const [code, [status, provoke]] of Object.entries(cases)) {
    test(`${code}: ${status}, in the shape of every error`, async () => {
      const answer = await provoke()
      const error = refused(answer, status, code)
      const known = ['code', 'message', 'field', 'hint', 'requestId']
      expect(Object.keys(error).filter((member) => !known.includes(member))).toEqual([])
      expect(error.requestId).toBe(answer.headers.get('x-request-id'))
      // A sentence for a person: no stack, no SQL, no path of the machine.
      const { error: shown } = answer.body
      const words = `${shown.message} ${shown.hint ?? ''}`
      expect(words).not.toMatch(/\bat .*\.ts:\d+|node_modules|sqlite|SELECT |INSERT |constraint|undefined|\[object/i)
      expect(words).not.toContain(service.otherOrg.name)
      if (storeIsEmbedded()) expect(words).not.toContain(service.server.dataDir)
      expect(shown.message).toMatch(/^\S.*[.!?]$/s)
    })
  }
})

describe('hints repair the request', () => {
  test('the example of the contract: the field is named, the next step suggested', async () => {
    const table = await service.table({ i1: { hashField: 'status' } })
    const answer = await table.tryPut({ hashKey: 'a', data: { status: ['open'] } })
    const error = refused(answer, 400, 'invalid_index_value', 'data.status')
    expect(error.message).toContain('data.status')
    expect(error.message).toContain('array')
    expect(error.message).toContain('i1')
    expect(error.hint).toContain('sparse')
  })

  test('index_not_declared lists those that are', async () => {
    const table = await service.table({ i2: { hashField: 'a' }, i4: { hashField: 'b' } })
    const { hint } = refused(await table.tryQuery({ index: 'i1', hash: 'x' }), 400, 'index_not_declared')
    expect(hint).toContain('i2')
    expect(hint).toContain('i4')
    expect(hint).not.toContain('i3')
  })
})

describe('x-request-id', () => {
  const sent = async (id: string) => service.server.raw('GET', '/healthz', { headers: [['X-Request-Id', id]] })

  for (const id of [
    'a',
    'x'.repeat(128),
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    '0f8fad5b-d9cb-469f-a165-70867728950e',
  ]) {
    test(`the caller's own comes back: ${id.slice(0, 40)}`, async () => {
      expect((await sent(id)).headers.get('x-request-id')).toBe(id)
      const answer = await service.api.raw('GET', '/v1/app/nowhere', { headers: [['X-Request-Id', id]] })
      expect(refused(answer, 404, 'table_not_found').requestId).toBe(id)
    })
  }

  for (const id of ['', 'x'.repeat(129), 'a b', 'é', 'a\tb']) {
    test(`otherwise a new one: ${JSON.stringify(id.slice(0, 10))} (${id.length})`, async () => {
      const answers = [await sent(id), await sent(id)]
      const ids = answers.map((answer) => answer.headers.get('x-request-id')!)
      expect(ids[0]).not.toBe(id)
      expect(ids[0]).not.toBe(ids[1])
    })
  }

  test('without one, a new one each time', async () => {
    const ids = new Set<string | null>()
    for (let i = 0; i < 20; i++) ids.add((await service.api.get('/v1')).headers.get('x-request-id'))
    expect(ids.size).toBe(20)
  })

  // A counter would tell every caller how many requests of others came between two of its own.
  test('a new one is random from its beginning to its end', async () => {
    const ids: string[] = []
    for (let i = 0; i < 100; i++) ids.push((await service.api.get('/v1')).headers.get('x-request-id')!)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{20}$/)
    expect(new Set(ids.map((id) => id.slice(0, 8))).size).toBe(100)
    expect(new Set(ids.map((id) => id.slice(-8))).size).toBe(100)
    // The ids are neither ascending nor descending.
    const ascents = ids.filter((id, i) => i > 0 && id > ids[i - 1]!).length
    expect(ascents).toBeGreaterThan(10)
    expect(ascents).toBeLessThan(90)
  })
})

describe('methods', () => {
  const routes: [string, string[]][] = [
    ['/v1', ['GET']],
    ['/v1/app', ['GET']],
    ['/v1/app/orders', ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']],
    ['/v1/app/orders/a', ['GET', 'DELETE']],
    ['/v1/app/orders/a/b', ['GET', 'DELETE']],
    ['/v1/app/orders/query', ['GET', 'DELETE', 'POST']],
    ['/v1/app/orders/batch', ['GET', 'DELETE', 'POST']],
    ['/v1/app/orders/restore', ['GET', 'DELETE', 'POST']],
    ['/v1/app/_buckets', ['GET']],
    ['/v1/app/_buckets/avatars', ['GET', 'POST', 'DELETE']],
    ['/v1/app/_tasks', ['GET']],
    ['/v1/app/_tasks/mail', ['GET', 'PUT', 'DELETE']],
    ['/v1/app/_tasks/mail/restore', ['POST']],
    ['/v1/app/_tasks/mail/secret', ['POST']],
    ['/api/collections/app.orders/items/a', ['GET', 'PUT', 'PATCH', 'DELETE']],
    ['/api/keys', ['GET', 'POST']],
    ['/api/keys/key_x', ['DELETE']],
    ['/api/keys/key_x/roll', ['POST']],
    ['/api/keys/self', ['GET', 'DELETE']],
    ['/healthz', ['GET']],
    ['/readyz', ['GET']],
  ]
  for (const [path, methods] of routes) {
    test(`another method on ${path}: 405 with Allow, before any look at the key`, async () => {
      const others = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter((method) => !methods.includes(method))
      for (const method of others) {
        for (const key of [undefined, service.org.secretKey, wrongChecksum(service.org.secretKey)]) {
          const answer = await service.server.raw(method, path, { key, body: method === 'GET' ? undefined : '{}' })
          refused(answer, 405, 'method_not_allowed')
          const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()
          expect([method, answer.headers.get('allow')]).toEqual([method, allowed.join(', ')])
        }
      }
    })
  }

  test('HEAD is as GET: status and headers, no body', async () => {
    const table = await service.table()
    await table.put('a', { n: 1 })
    await table.put('a', { n: 1 }, { rangeKey: 'r' })
    const paths = ['/v1', '/v1/app', table.path, table.at('a'), table.at('a', 'r'), '/api/keys', '/healthz', '/readyz']
    const missing = [table.at('nobody'), '/v1/app/nowhere', '/v1/App', '/nowhere', '/v1?limti=1']
    for (const path of [...paths, ...missing]) {
      const headers: [string, string][] = [['X-Request-Id', 'same']]
      const get = await service.api.raw('GET', path, { headers })
      const head = await service.api.raw('HEAD', path, { headers })
      expect(head.text).toBe('')
      expect(head.status).toBe(get.status)
      for (const name of ['etag', 'content-type', 'cache-control', 'content-length']) {
        expect([path, name, head.headers.get(name)]).toEqual([path, name, get.headers.get(name)])
      }
    }
    refused(await service.server.request('GET', '/v1'), 401, 'missing_api_key')
    expect((await service.server.raw('HEAD', '/v1')).status).toBe(401)
  })
})

describe('order of checks', () => {
  const readOnly = () => service.reader
  const limited = async (kind: string) =>
    service.server.as((await createKey(service.api, { kind, databases: ['elsewhere'] })).key)

  test('route and method before the key', async () => {
    refused(await service.server.request('GET', '/nowhere'), 404, 'route_not_found')
    refused(await service.server.as('nonsense').get('/nowhere'), 404, 'route_not_found')
    refused(await service.server.request('PATCH', '/v1/App'), 405, 'method_not_allowed')
  })

  test('the key before its kind, scope, names and body', async () => {
    const options = { body: '{', headers: { 'content-type': 'text/plain' } }
    refused(await service.server.request('PUT', '/v1/App/_x', options), 401, 'missing_api_key')
    const { key } = await createRevokedKey(service.api, { kind: 'public', databases: ['elsewhere'] })
    refused(await service.server.request('PUT', '/v1/App/_x', { ...options, key }), 403, 'revoked_api_key')
  })

  test('the kind of key before scope and names', async () => {
    refused(await (await limited('public')).put('/v1/App/x', '{'), 403, 'read_only_key')
    refused(await readOnly().post('/v1/App/x', '{'), 403, 'read_only_key')
  })

  test('scope before names', async () => {
    const secret = await limited('secret')
    refused(await secret.put('/v1/App/x', '{'), 403, 'key_scope')
    refused(await secret.get('/v1/_app'), 403, 'key_scope')
    refused(await secret.put('/v1/elsewhere/_x', '{'), 400, 'reserved_name')
  })

  test('names before content type, size and JSON', async () => {
    const type = { 'content-type': 'text/plain' }
    refused(await service.api.put('/v1/app/Orders', '{', type), 400, 'invalid_name')
    refused(await service.api.put('/v1/app/_orders', ' '.repeat(mib + 1)), 400, 'reserved_name')
    refused(await service.api.post('/v1/App/orders/query', '{'), 400, 'invalid_name')
  })

  test('content type before size, size before JSON', async () => {
    const table = await service.table()
    refused(await table.tryPut('x'.repeat(mib + 1), { 'content-type': 'text/plain' }), 415, 'unsupported_media_type')
    refused(await table.tryPut('x'.repeat(mib + 1)), 413, 'body_too_large')
    refused(await table.tryPut('{', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type')
  })

  test('JSON and fields before the table', async () => {
    refused(await service.api.put('/v1/app/nowhere', '{'), 400, 'invalid_json')
    refused(await service.api.put('/v1/app/nowhere', { hashKey: 'a', data: {}, x: 1 }), 400, 'invalid_request')
    refused(await service.api.put('/v1/app/nowhere', { data: {} }), 400, 'invalid_key')
    refused(await service.api.put('/v1/app/nowhere', { hashKey: 'a', data: {}, ttl: -1 }), 400, 'invalid_ttl')
    const large = { hashKey: 'a', data: { a: 'x'.repeat(409_600) } }
    refused(await service.api.put('/v1/app/nowhere', large), 413, 'record_too_large')
    refused(await service.api.post('/v1/app/nowhere/query', {}), 400, 'invalid_key')
    refused(await service.api.post('/v1/app/nowhere/query', { hash: 'a', limit: 0 }), 400, 'invalid_request')
    const twice = [
      { op: 'delete', hashKey: 'a' },
      { op: 'delete', hashKey: 'a' },
    ]
    refused(await service.api.post('/v1/app/nowhere/batch', { operations: twice }), 400, 'batch_duplicate_keys')
    refused(await service.api.raw('GET', '/v1/app/nowhere/%2e%2e'), 400, 'invalid_key')
    refused(await service.api.get('/v1/app/nowhere/a?x=1'), 400, 'invalid_request')
  })

  test('the table before index values, these before conditions', async () => {
    const table = await service.table({ i1: { hashField: 's' } })
    const answer = await table.tryPut({ hashKey: 'a', data: { s: null } }, { 'if-match': '*' })
    refused(answer, 400, 'invalid_index_value')
    const batch = await table.tryBatch([
      { op: 'put', hashKey: 'a', data: { s: 1 }, ifUpdatedAt: 1 },
      { op: 'put', hashKey: 'b', data: { s: null } },
    ])
    refused(batch, 400, 'invalid_index_value', 'operations[1].data.s')
    const unknown = await service.api.put(
      '/v1/app/nowhere',
      { hashKey: 'a', data: { s: null } },
      {
        'if-match': '*',
      },
    )
    refused(unknown, 404, 'table_not_found')
    ok(await service.api.get(table.path))
  })
})

test('paths of the runtime itself are not served', async () => {
  for (const path of ['/bun:info', '/_bun/client.js'])
    refused(await service.server.raw('GET', path), 404, 'route_not_found')
})

describe('Cache-Control', () => {
  // `checkResponse` of the harness looks at every answer to a request with a key; here is one of each kind.
  test('private, no-cache on answers to requests with a key, errors too', async () => {
    const table = await service.table()
    await table.put('a')
    for (const answer of [
      await table.get('a'),
      await table.get('nobody'),
      await table.tryQuery({ hash: 'a' }),
      await table.tryPut('{'),
      await service.api.get('/api/keys'),
      await service.api.get(table.at('a'), { 'if-none-match': '*' }),
    ]) {
      expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    }
  })
})
