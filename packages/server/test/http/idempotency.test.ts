import { beforeAll, describe, expect, test } from 'bun:test'
import { type ApiResponse, eventually, type Json, startServer, storeIsEmbedded } from '../harness.ts'
import { makeBucket } from './bucket.ts'
import { dayMs, minuteMs, secondMs } from './clock.ts'
import { createKey, freshName, makeTable, ok, refused, type TestTable, useService } from './service.ts'
import { makeTask, type TestTask } from './task.ts'

// A client that has lost an answer sends its request again. What would go wrong without these promises: the write is applied
// twice, or the second answer tells of a failure although the write is there.

const service = useService({ clock: true })

type Headers = Record<string, string>

let table: TestTable
let task: TestTask
beforeAll(async () => {
  table = await service.table()
  task = await makeTask(service.api)
})

let keys = 0
const freshKey = (): string => `key-${++keys}`

const withKey = (key: string, more: Headers = {}): Headers => ({ 'idempotency-key': key, ...more })

const countTo = (hashKey: string): Json => ({ hashKey, increment: { '/n': 1 } })
const patch = (body: Json, headers: Headers, api = service.api): Promise<ApiResponse> =>
  api.request('PATCH', table.path, body, headers)
const countOf = async (hashKey: string, from = table): Promise<number> => ok(await from.get(hashKey)).data.n

const isReplay = (answer: ApiResponse): boolean => answer.headers.get('idempotency-replayed') === 'true'

/** Sends a request twice. The second answer must be the first one again, or have this body. */
const twice = async (
  send: (headers: Headers) => Promise<ApiResponse>,
  expected: { status: number; body?: (first: Json) => Json; secondStatus?: number },
): Promise<[ApiResponse, ApiResponse]> => {
  const headers = withKey(freshKey())
  const first = await send(headers)
  expect([first.status, first.headers.has('idempotency-replayed')]).toEqual([expected.status, false])
  // The answer is that of the first request, also when the server's clock has gone on.
  const second = await send(headers)
  expect([second.status, isReplay(second)]).toEqual([expected.secondStatus ?? expected.status, true])
  expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
  expect(second.headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed')
  if (expected.body === undefined) expect(second.text).toBe(first.text)
  else expect(second.body).toEqual(expected.body(first.body))
  return [first, second]
}

describe('the header', () => {
  const put = (headers: [string, string][]): Promise<ApiResponse> =>
    service.api.raw('PUT', table.path, { headers, body: '{"hashKey":"header","data":{}}' })

  test('takes 1 to 255 visible ASCII characters, bare or in double quotes, which are not part of the key', async () => {
    for (const key of ['a', 'x'.repeat(255), "!#$%&'()*+-./:;<=>?@[]^_`{|}~"]) {
      expect((await put([['Idempotency-Key', key]])).status).toBe(200)
      const quoted = await put([['Idempotency-Key', `"${key}"`]])
      expect([quoted.status, isReplay(quoted)]).toEqual([200, true])
    }
  })

  test('doubled, empty or malformed is refused, and nothing is written', async () => {
    const wrong = ['', '""', '"', 'a b', 'a,b', 'a"b', '"a', 'a"', 'a\\b', '"a", "b"', 'x'.repeat(256), 'é', 'a\tb']
    for (const value of wrong) {
      const answer = await service.api.raw('PUT', table.path, {
        headers: [['Idempotency-Key', value]],
        body: '{"hashKey":"wrong","data":{}}',
      })
      expect([value, answer.status]).toEqual([value, 400])
      refused(answer, 400, 'invalid_request', 'Idempotency-Key')
    }
    for (const second of ['a', 'b']) {
      const answer = await put([
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', second],
      ])
      refused(answer, 400, 'invalid_request', 'Idempotency-Key')
    }
    expect((await table.get('wrong')).status).toBe(404)
  })

  test('is refused with every other request that writes', async () => {
    const { api } = service
    const bucket = await makeBucket(api)
    const headers = withKey('elsewhere')
    const name = freshName('none')
    const { url } = ok(await api.post(`${bucket.path}/url`, { name: 'signed', method: 'PUT' }))
    const claimed = await task.claimNew()
    const requests: [string, string, unknown?][] = [
      ['POST', `/v1/app/${name}`],
      ['DELETE', table.path],
      ['POST', `${table.path}/restore`],
      ['POST', `/v1/app/_buckets/${name}`],
      ['PUT', `${bucket.path}/a`, 'bytes'],
      ['DELETE', `${bucket.path}/a`],
      ['PUT', `/v1/app/_tasks/${name}`, {}],
      ['POST', `${task.path}/claim`],
      ['POST', task.at(claimed.id, 'extend'), { lease: claimed.lease }],
      ['POST', task.at(claimed.id, 'finish'), { lease: claimed.lease }],
      ['POST', task.at(claimed.id, 'cancel')],
      ['DELETE', '/api/keys/key_4fJ2mQ9sT7bXc1LwZr8a'],
    ]
    for (const [method, path, body] of requests) {
      const answer = await api.request(method, path, body, headers)
      expect([method, path, answer.status]).toEqual([method, path, 400])
      refused(answer, 400, 'invalid_request', 'Idempotency-Key')
    }
    const signed = await fetch(url, { method: 'PUT', body: 'bytes', headers })
    expect([signed.status, ((await signed.json()) as Json).error.field]).toEqual([400, 'Idempotency-Key'])
    expect((await api.get(`/v1/app/${name}`)).status).toBe(404)
    expect((await api.get(`${bucket.path}/signed`)).status).toBe(404)
    expect((await task.read(claimed.id)).status).toBe('running')
    ok(await task.tryFinish(claimed))
  })

  test('is ignored on reads and queries, whatever it is', async () => {
    await table.put('read')
    const item = `/api/collections/app.${table.name}/items/read`
    for (const value of ['a', 'a,b', '']) {
      for (const [method, path, body] of [
        ['GET', table.at('read')],
        ['GET', '/v1/app'],
        ['GET', item],
        ['POST', `${table.path}/query`, { hash: 'read' }],
        ['POST', `${table.path}/find`, { keys: [{ hashKey: 'read' }] }],
        ['POST', `${task.path}/query`, {}],
        ['GET', '/api/keys/self'],
      ] as const) {
        const answer = await service.api.request(method, path, body, withKey(value))
        expect([path, answer.status, isReplay(answer)]).toEqual([path, 200, false])
      }
    }
  })
})

describe('the same request again is not applied, and gets the same status, ETag and body', () => {
  test('PUT of a record, by the Prefer of the repeat', async () => {
    const put = (headers: Headers) => service.api.put(table.path, '{"hashKey":"p","data":{"n": 1.50}}', headers)
    const [first] = await twice(put, { status: 200 })
    const key = withKey(freshKey())
    const whole = await put(key)
    await table.put('p', { other: true })
    const minimal = await put({ ...key, prefer: 'return=minimal' })
    expect(minimal.body).toEqual({ hashKey: 'p', updatedAt: whole.body.updatedAt })
    expect((await put(key)).text).toBe(whole.text)
    expect(whole.body.updatedAt).toBeGreaterThan(first.body.updatedAt)
    expect(ok(await table.get('p')).data).toEqual({ other: true })
  })

  test('PATCH of a record, as with return=minimal', async () => {
    const hashKey = freshKey()
    const [first] = await twice((headers) => patch({ ...countTo(hashKey), rangeKey: 'r', ttl: 4102444800 }, headers), {
      status: 200,
      body: ({ updatedAt }) => ({ hashKey, rangeKey: 'r', ttl: 4102444800, updatedAt }),
    })
    expect(first.body.data).toEqual({ n: 1 })
    expect((await table.get(hashKey, 'r')).text).toBe(first.text)
  })

  test('DELETE of a record, which tells of the one that it removed', async () => {
    await table.put('d')
    const [first] = await twice((headers) => service.api.request('DELETE', table.at('d'), undefined, headers), {
      status: 200,
    })
    expect(first.body).toEqual({ deleted: true })
    const key = withKey(freshKey())
    expect((await service.api.request('DELETE', table.at('d'), undefined, key)).body).toEqual({ deleted: false })
    await table.put('d')
    expect((await service.api.request('DELETE', table.at('d'), undefined, key)).body).toEqual({ deleted: false })
    expect((await table.get('d')).status).toBe(200)
  })

  test('PUT, PATCH and DELETE of an item', async () => {
    const item = `/api/collections/app.${table.name}/items/item`
    const { api } = service
    await twice((headers) => api.put(`${item}?ttl=4102444800`, '{"n": 1.0}', headers), { status: 200 })
    const key = withKey(freshKey())
    expect((await api.put(item, '{"n":2}', key)).status).toBe(200)
    const minimal = await api.put(item, '{"n":2}', { ...key, prefer: 'return=minimal' })
    expect([minimal.status, minimal.text, isReplay(minimal)]).toEqual([204, '', true])
    const [, patched] = await twice((headers) => api.request('PATCH', item, '{"m":3}', headers), {
      status: 200,
      secondStatus: 204,
      body: () => undefined,
    })
    expect(patched.headers.has('content-type')).toBe(false)
    expect(ok(await api.get(item))).toEqual({ n: 2, m: 3 })
    await twice((headers) => api.request('DELETE', item, undefined, headers), { status: 200 })
  })

  test('a batch, and a batch with runs', async () => {
    const hashKey = freshKey()
    const operations = [
      { op: 'patch', ...countTo(hashKey) },
      { op: 'put', hashKey: `${hashKey}-2`, data: {} },
      { op: 'delete', hashKey: 'gone' },
    ]
    await twice((headers) => table.tryBatch(operations, headers), { status: 200 })
    const runs = [...operations, { op: 'run', task: task.name, payload: { to: hashKey } }]
    const [first] = await twice((headers) => table.tryBatch(runs, headers), { status: 200 })
    expect(first.body.runs).toHaveLength(1)
    expect(await countOf(hashKey)).toBe(2)
    expect((await task.query({ status: 'queued' })).items).toHaveLength(1)
    ok(await task.cancel(first.body.runs[0]))
  })

  test('a batch of runs, with one that is finished', async () => {
    const own = await makeTask(service.api)
    const claimed = await own.claimNew()
    const operations = [
      { op: 'finish', run: claimed.id, lease: claimed.lease },
      { op: 'run', payload: { next: 1 } },
    ]
    await twice((headers) => service.api.post(`${own.path}/batch`, { operations }, headers), { status: 200 })
    expect(await own.ids()).toHaveLength(2)
  })

  test('run, which shows the run as it was then', async () => {
    const own = await makeTask(service.api)
    const key = withKey(freshKey())
    const run = (body: Json, headers = key) => service.api.post(`${own.path}/run`, body, headers)
    const first = await run({ payload: { to: 'ada' }, delaySeconds: 0 })
    expect(first.status).toBe(201)
    const [claimed] = await own.claim()
    await own.finish(claimed, { result: { done: true } })
    const second = await run({ payload: { to: 'ada' }, delaySeconds: 0 })
    expect([second.status, second.text, isReplay(second)]).toEqual([201, first.text, true])
    expect(second.body.status).toBe('queued')
    expect(await own.ids()).toEqual([first.body.id])

    // Of a run that joins the queued one of its `key`, the answer is 200.
    await own.run({ key: 'k', payload: { n: 1 } })
    await twice((headers) => run({ key: 'k', payload: { n: 2 } }, headers), { status: 200 })
    await own.claim()
    expect(await own.ids({ status: 'queued' })).toEqual([])
  })

  test('run with an id takes no key', async () => {
    const answer = await service.api.post(`${task.path}/run`, { id: 'named' }, withKey(freshKey()))
    refused(answer, 400, 'invalid_request', 'Idempotency-Key')
    expect((await task.get('named')).status).toBe(404)
  })

  test('a new API key and a rolled one, without the key, with a hint that it was shown once', async () => {
    const withoutKey = ({ key, ...rest }: Json): Json => ({ ...rest, hint: expect.stringContaining('shown once') })
    const before = ok(await service.api.get('/api/keys?limit=1000')).keys.length
    const [made] = await twice((headers) => service.api.post('/api/keys', { kind: 'public' }, headers), {
      status: 201,
      body: withoutKey,
    })
    expect(made.body.key).toStartWith('svc_pub_')
    const expiresAt = Date.now() + dayMs
    const [rolled] = await twice(
      (headers) => service.api.post(`/api/keys/${made.body.id}/roll`, { expiresAt }, headers),
      { status: 201, body: withoutKey },
    )
    expect(rolled.body.rolledFrom).toBe(made.body.id)
    expect(ok(await service.api.get('/api/keys?limit=1000')).keys).toHaveLength(before + 2)
  })

  test('through preflights: pages may send the key and read that the answer is a repeated one', async () => {
    const preflight = await service.server.raw('OPTIONS', table.path)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('idempotency-key')
    expect(preflight.headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed')
  })
})

describe('another request with a used key is refused, and nothing is applied', () => {
  test('with another method, path, query, condition or body', async () => {
    const key = freshKey()
    const hashKey = freshKey()
    const item = `/api/collections/app.${table.name}/items/${hashKey}`
    const put = (headers: Headers, body: Json = { n: 1 }, path = item) => service.api.put(path, body, headers)
    expect((await put(withKey(key))).status).toBe(200)
    const text = (await service.api.get(item)).text
    const others = [
      await put(withKey(key), { n: 2 }),
      await put(withKey(key), '{"n": 1}'),
      await put(withKey(key), { n: 1 }, `${item}2`),
      await put(withKey(key), { n: 1 }, `${item}?rangeKey=r`),
      await put(withKey(key, { 'if-match': '*' })),
      await put(withKey(key, { 'if-none-match': '*' })),
      await service.api.request('PATCH', item, { n: 1 }, withKey(key)),
      await service.api.request('DELETE', item, undefined, withKey(key)),
      await service.api.put(table.path, { hashKey, data: {} }, withKey(key)),
      await table.tryBatch([{ op: 'delete', hashKey }], withKey(key)),
      // These are refused for what they say too.
      await put(withKey(key), '{"n":'),
      await put(withKey(key), { n: 1 }, `${item}?ttl=x`),
      await table.tryBatch([], withKey(key)),
    ]
    for (const answer of others) refused(answer, 422, 'idempotency_key_reused', 'Idempotency-Key')
    expect((await service.api.get(item)).text).toBe(text)
    expect((await service.api.get(`${item}2`)).status).toBe(404)
    // Other headers do not make another request.
    expect(isReplay(await put(withKey(key, { prefer: 'return=minimal', 'x-request-id': 'other' })))).toBe(true)
  })

  test('with a body that is refused unread, after a request without one', async () => {
    const { id } = await createKey(service.api)
    const key = freshKey()
    const roll = (body?: string, headers = {}) => service.api.post(`/api/keys/${id}/roll`, body, withKey(key, headers))
    expect((await roll()).status).toBe(201)
    refused(await roll('{}', { 'content-type': 'text/plain' }), 422, 'idempotency_key_reused')
    refused(await roll(' '.repeat(100_000)), 422, 'idempotency_key_reused')
    expect(isReplay(await roll())).toBe(true)
  })

  test('elsewhere the same text is another key, whichever API key sends it', async () => {
    const key = withKey(freshKey())
    const second = await makeTable(service.api)
    const third = await makeTable(service.stranger, undefined, table.name)
    const sameOrganization = service.server.as((await createKey(service.api)).key)
    for (const [n, path, api] of [
      [1, table.path, service.api],
      [2, second.path, service.api],
      [3, third.path, service.stranger],
    ] as const) {
      const answer = await api.put(path, { hashKey: 'scope', data: { n } }, key)
      expect([answer.status, isReplay(answer)]).toEqual([200, false])
    }
    for (const path of [`${task.path}/run`, '/api/keys']) {
      const answer = await service.api.post(path, path === '/api/keys' ? { kind: 'public' } : {}, key)
      expect([answer.status, isReplay(answer)]).toEqual([201, false])
    }
    expect(isReplay(await sameOrganization.put(table.path, { hashKey: 'scope', data: { n: 1 } }, key))).toBe(true)
    const other = await sameOrganization.put(table.path, { hashKey: 'scope', data: { n: 9 } }, key)
    refused(other, 422, 'idempotency_key_reused')
    expect((await task.claim()).length).toBe(1)
  })
})

describe('a repeated request', () => {
  test('is refused for its API key first', async () => {
    const key = withKey(freshKey())
    const hashKey = freshKey()
    const made = await createKey(service.api)
    const limited = await createKey(service.api, { kind: 'secret', databases: ['blog'] })
    const own = service.server.as(made.key)
    ok(await patch(countTo(hashKey), key, own))
    expect(isReplay(await patch(countTo(hashKey), key, own))).toBe(true)
    ok(await service.api.delete(`/api/keys/${made.id}`))
    refused(await patch(countTo(hashKey), key, own), 403, 'revoked_api_key')
    refused(await patch(countTo(hashKey), key, service.reader), 403, 'read_only_key')
    refused(await patch(countTo(hashKey), key, service.server.as(limited.key)), 403, 'key_scope')
    expect(await countOf(hashKey)).toBe(1)
  })

  test('is not refused for a condition that does not hold any more', async () => {
    const hashKey = freshKey()
    await twice((headers) => table.tryPut({ hashKey, data: {} }, { 'if-none-match': '*', ...headers }), { status: 200 })
    const { updatedAt } = ok(await table.get(hashKey))
    await twice(
      (headers) =>
        service.api.request('DELETE', table.at(hashKey), undefined, { 'if-match': `"${updatedAt}"`, ...headers }),
      { status: 200 },
    )
    await twice((headers) => table.tryBatch([{ op: 'put', hashKey, data: {}, ifUpdatedAt: null }], headers), {
      status: 200,
    })
  })

  test('is not refused for times that have passed', async () => {
    const key = withKey(freshKey())
    const hashKey = freshKey()
    const now = Date.now()
    // A ttl may be a day in the past.
    const ttl = Math.floor((now - dayMs) / secondMs) + 60
    const requests: [string, string, Json, (first: Json) => Json][] = [
      ['PUT', table.path, { hashKey, data: { a: 1 }, ttl }, (first) => first],
      ['POST', '/api/keys', { kind: 'public', expiresAt: now + minuteMs }, ({ key: _, ...rest }) => rest],
    ]
    const firsts: ApiResponse[] = []
    for (const [method, path, body] of requests) firsts.push(await service.api.request(method, path, body, key))
    expect(firsts.map(({ status }) => status)).toEqual([200, 201])
    service.server.setClock(5 * minuteMs)
    try {
      for (const [i, [method, path, body, shown]] of requests.entries()) {
        refused(
          await service.api.request(method, path, body, withKey(freshKey())),
          400,
          i === 0 ? 'invalid_ttl' : 'invalid_request',
        )
        const again = await service.api.request(method, path, body, key)
        expect([again.status, isReplay(again)]).toEqual([firsts[i]!.status, true])
        expect(again.body).toMatchObject(shown(firsts[i]!.body))
      }
    } finally {
      service.server.setClock(0)
    }
  })

  test('is not refused because a task of its batch is gone', async () => {
    const gone = await makeTask(service.api)
    const hashKey = freshKey()
    const key = withKey(freshKey())
    const operations = [
      { op: 'patch', ...countTo(hashKey) },
      { op: 'run', task: gone.name },
    ]
    const first = await table.tryBatch(operations, key)
    ok(first)
    ok(await service.api.delete(gone.path))
    const second = await table.tryBatch(operations, key)
    expect([second.status, second.text, isReplay(second)]).toEqual([200, first.text, true])
    refused(await table.tryBatch(operations, withKey(freshKey())), 404, 'task_not_found', 'operations[1].task')
    expect(await countOf(hashKey)).toBe(1)
  })

  test('is not refused because a table of its batch is gone, or was created anew with another index', async () => {
    const gone = await service.table()
    const hashKey = freshKey()
    const operations = [
      { op: 'patch', table: table.name, ...countTo(hashKey) },
      { op: 'put', table: gone.name, hashKey, data: { status: [] } },
    ]
    const send = (headers: Headers) => service.api.post(`/v1/${table.db}/_batch`, { operations }, headers)
    const key = withKey(freshKey())
    const first = await send(key)
    ok(first)
    ok(await service.api.delete(gone.path))
    const second = await send(key)
    expect([second.status, second.text, isReplay(second)]).toEqual([200, first.text, true])
    refused(await send(withKey(freshKey())), 404, 'table_not_found', 'operations[1].table')
    ok(await service.api.post(gone.path, { indices: { i1: { hashField: 'status' } } }), 201)
    const third = await send(key)
    expect([third.status, third.text, isReplay(third)]).toEqual([200, first.text, true])
    refused(await send(withKey(freshKey())), 400, 'invalid_index_value', 'operations[1].data.status')
    expect(await countOf(hashKey)).toBe(1)
  })

  test('is answered after its table was deleted and restored, and after a restart', async () => {
    const own = await makeTable(service.api)
    const key = withKey(freshKey())
    const send = () => service.api.request('PATCH', own.path, countTo('a'), key)
    const first = await send()
    ok(await service.api.delete(own.path))
    refused(await send(), 404, 'table_not_found')
    ok(await service.api.post(`${own.path}/restore`))
    expect((await send()).headers.get('etag')).toBe(first.headers.get('etag'))
    await service.server.restart()
    const last = await send()
    expect([last.headers.get('etag'), isReplay(last)]).toEqual([first.headers.get('etag'), true])
    expect(await countOf('a', own)).toBe(1)

    // A table that is made anew under the name is another one.
    ok(await service.api.delete(own.path))
    ok(await service.api.post(own.path), 201)
    expect(isReplay(await send())).toBe(false)
  })
})

test('what is refused stores nothing: repaired, the request may use the same key', async () => {
  const hashKey = freshKey()
  const cases: [number, (key: Headers) => Promise<ApiResponse>][] = [
    [412, (key) => patch({ hashKey, increment: { '/n': { by: -100, min: 0 } } }, key)],
    [412, (key) => service.api.put(table.path, { hashKey, data: {} }, { ...key, 'if-match': '"1"' })],
    [412, (key) => table.tryBatch([{ op: 'put', hashKey, data: {}, ifUpdatedAt: 1 }], key)],
    [400, (key) => patch({ hashKey, increment: { '/n': 'x' } }, key)],
    [409, (key) => patch({ hashKey, merge: { n: 'x' }, increment: { '/n': 1 } }, key)],
    [404, (key) => table.tryBatch([{ op: 'run', task: 'nowhere' }], key)],
    [413, (key) => patch({ hashKey, merge: { n: 'x'.repeat(500_000) } }, key)],
  ]
  for (const [status, send] of cases) {
    const key = withKey(freshKey())
    expect([status, (await send(key)).status, (await send(key)).status]).toEqual([status, status, status])
    const repaired = await patch(countTo(hashKey), key)
    expect([repaired.status, isReplay(repaired)]).toEqual([200, false])
    expect(isReplay(await patch(countTo(hashKey), key))).toBe(true)
  }
  expect(await countOf(hashKey)).toBe(cases.length)
  // The condition of a refused request may hold later.
  const key = withKey(freshKey())
  const take = () => patch({ hashKey, increment: { '/n': { by: -15, min: 0 } } }, key)
  refused(await take(), 412, 'precondition_failed')
  ok(await patch({ hashKey, increment: { '/n': 10 } }, {}))
  expect([(await take()).status, isReplay(await take())]).toEqual([200, true])
})

test('of 20 equal requests at once one is applied, and of 20 different ones too', async () => {
  const hashKey = freshKey()
  const key = withKey(freshKey())
  const equal = await Promise.all(Array.from({ length: 20 }, () => patch(countTo(hashKey), key)))
  expect(equal.filter((answer) => !isReplay(answer))).toHaveLength(1)
  expect(new Set(equal.map(({ status, headers }) => `${status} ${headers.get('etag')}`)).size).toBe(1)
  expect(await countOf(hashKey)).toBe(1)

  const other = withKey(freshKey())
  const different = await Promise.all(
    Array.from({ length: 20 }, (_, i) => patch({ hashKey, increment: { '/n': 1 }, merge: { i } }, other)),
  )
  const codes = different.map(({ status }) => status).sort()
  expect(codes).toEqual([200, ...Array(19).fill(422)])
  expect(await countOf(hashKey)).toBe(2)
})

test('a key is kept for 24 hours, and then removed', async () => {
  const hashKey = freshKey()
  const key = withKey(freshKey())
  ok(await patch(countTo(hashKey), key))
  try {
    // Sweeps of this server begin every 200 ms; the conformance cases have the exact time.
    service.server.setClock(dayMs - minuteMs)
    expect(isReplay(await patch(countTo(hashKey), key))).toBe(true)
    service.server.setClock(dayMs + 6 * minuteMs)
    await eventually('the key is removed', async () =>
      isReplay(await patch(countTo(hashKey), key)) ? undefined : true,
    )
    expect(await countOf(hashKey)).toBe(2)
  } finally {
    service.server.setClock(0)
  }
})

test.skipIf(!storeIsEmbedded())('with several processes one of 20 equal requests is applied', async () => {
  const server = await startServer({ args: ['--workers', '2'] })
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    const own = await makeTable(api)
    for (const key of Array.from({ length: 5 }, freshKey)) {
      const send = () => api.request('PATCH', own.path, countTo('n'), withKey(key, { connection: 'close' }))
      const answers = await Promise.all(Array.from({ length: 20 }, send))
      expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
    }
    expect(await countOf('n', own)).toBe(5)
  } finally {
    await server.stop()
  }
})
