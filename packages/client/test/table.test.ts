import { describe, expect, test } from 'bun:test'
import { Cubby } from '../src/index.ts'
import { broken, failureOf, fakeCubby, json, key, refused, type SentRequest } from './fake-fetch.ts'

const record = { hashKey: 'a', data: { n: 1 }, updatedAt: 5 }
const empty = { items: [], count: 0, cursor: null }
const nothing = { items: [], missing: [{ hashKey: 'a/b' }], unread: [] }
const line = ({ method, path }: SentRequest) => `${method} ${path}`

describe('requests', () => {
  test('carry the key and, with a body, its content type', async () => {
    const { table, requests } = fakeCubby(() => json(record))
    await table.findOne('a')
    await table.save({ hashKey: 'a', data: {} })
    expect(requests[0]!.headers).toEqual({ authorization: `Bearer ${key}` })
    expect(requests[1]!.headers).toEqual({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })
  })

  test.each([
    ['http://cubby.test', 'http://cubby.test/v1/app/orders/a'],
    ['http://cubby.test/', 'http://cubby.test/v1/app/orders/a'],
    ['https://cubby.test/store//', 'https://cubby.test/store/v1/app/orders/a'],
    [new URL('http://cubby.test:4600'), 'http://cubby.test:4600/v1/app/orders/a'],
  ])('go to the paths under %s', async (url, target) => {
    const targets: string[] = []
    const fetch = async (target: string) => {
      targets.push(target)
      return json(record)
    }
    await new Cubby({ url, key, fetch }).db('app').table('orders').findOne('a')
    expect(targets).toEqual([target])
  })

  test('the client does not show its key when it is printed', () => {
    const { cubby, table } = fakeCubby([])
    expect(Bun.inspect([cubby, cubby.db('app'), table], { depth: 9 })).not.toContain(key)
    expect(JSON.stringify([cubby, table])).not.toContain(key)
  })

  test.each(['', '.', '..', 'a/b', 'A', 'a b', '%2e%2e', 'x'.repeat(65)])('the name %j goes into no path', (name) => {
    const { cubby, requests } = fakeCubby([])
    expect(() => cubby.db(name)).toThrow(expect.objectContaining({ code: 'invalid_name', field: 'db' }))
    const refusal = expect.objectContaining({ code: 'invalid_name', field: 'table' })
    expect(() => cubby.db('app').table(name)).toThrow(refusal)
    expect(cubby.db('app').tables.drop(name)).rejects.toEqual(refusal)
    expect(requests).toEqual([])
  })

  // As texts, "undefined" and "null" would be names.
  test.each([[undefined], [null], [5], [['orders']]])('%p is not a name, and nothing is sent', async (given) => {
    const { cubby, requests } = fakeCubby([])
    const name = given as never
    const app = cubby.db('app')
    const calls: [string, () => unknown][] = [
      ['db', () => cubby.db(name)],
      ['table', () => app.table(name)],
      ['table', () => app.tables.create(name)],
      ['table', () => app.tables.restore(name)],
      ['bucket', () => app.bucket(name)],
      ['bucket', () => app.buckets.create(name)],
      ['bucket', () => app.buckets.describe(name)],
      ['task', () => app.task(name)],
      ['task', () => app.tasks.declare(name)],
      ['task', () => app.tasks.pause(name)],
    ]
    const message = `is ${JSON.stringify(given)}; it takes a string: [a-z0-9_-]{1,64}.`
    for (const [field, call] of calls) {
      const error = await failureOf((async () => call())())
      expect(error).toMatchObject({ code: 'invalid_name', field, status: 0, message: `${field} ${message}` })
    }
    expect(requests).toEqual([])
  })
})

describe('keys in paths', () => {
  test.each([
    ['a', 'GET /v1/app/orders/a'],
    [{ hashKey: 'a', rangeKey: 'b' }, 'GET /v1/app/orders/a/b'],
    ['a b', 'GET /v1/app/orders/a%20b'],
    ['100%', 'GET /v1/app/orders/100%25'],
    ['%2e%2e', 'GET /v1/app/orders/%252e%252e'],
    ['...', 'GET /v1/app/orders/...'],
    ['ü?#&', 'GET /v1/app/orders/%C3%BC%3F%23%26'],
    [{ hashKey: 'a', rangeKey: '#' }, 'GET /v1/app/orders/a/%23'],
    [{ ...record, rangeKey: 'b' }, 'GET /v1/app/orders/a/b'],
  ])('%j is asked for with %s', async (key, expected) => {
    const { table, requests } = fakeCubby([json(record)])
    await table.findOne(key)
    expect(requests.map(line)).toEqual([expected])
  })

  const unsafe = ['.', '..', '']

  test.each(unsafe)('%j is refused as a hash key and as a range key, and nothing is sent', async (part) => {
    const { table, requests } = fakeCubby([])
    for (const [field, key] of [
      ['hashKey', { hashKey: part }],
      ['hashKey', { hashKey: part, rangeKey: 'users' }],
      ['rangeKey', { hashKey: 'a', rangeKey: part }],
    ] as const) {
      const refusal = { code: 'invalid_key', status: 0, field }
      expect(await failureOf(table.findOne(key))).toMatchObject(refusal)
      expect(await failureOf(table.find(['fine', key]))).toMatchObject({ ...refusal, field: `keys[1].${field}` })
      expect(await failureOf(table.remove(key))).toMatchObject(refusal)
      expect(await failureOf(table.save({ ...key, data: {} }))).toMatchObject(refusal)
      expect(
        await failureOf(
          table.save([
            { hashKey: 'a', data: {} },
            { ...key, data: {} },
          ]),
        ),
      ).toMatchObject({
        code: 'invalid_key',
        field: `records[1].${field}`,
      })
      expect(await failureOf(table.batch([{ op: 'delete', ...key }]))).toMatchObject({
        code: 'invalid_key',
        field: `operations[0].${field}`,
      })
    }
    expect(requests).toEqual([])
  })

  test('what is no string is refused, not turned into one', async () => {
    const { table, requests } = fakeCubby([])
    for (const key of [undefined, null, 7, {}, { hashKey: null }, { hashKey: 'a', rangeKey: null }]) {
      expect(await failureOf(table.remove(key as never))).toMatchObject({ code: 'invalid_key' })
    }
    expect(requests).toEqual([])
  })

  test('a lone surrogate is refused', async () => {
    const { table, requests } = fakeCubby([])
    expect(await failureOf(table.findOne('\ud800'))).toMatchObject({ code: 'invalid_key' })
    expect(requests).toEqual([])
  })
})

describe('keys with /, \\ or NUL', () => {
  const keys = [{ hashKey: 'a/b' }, { hashKey: 'a\\b' }, { hashKey: 'a\0b' }, { hashKey: 'a', rangeKey: '/' }]

  test.each(keys)('%j is read by find', async (key) => {
    const found = { ...record, ...key }
    const { table, requests } = fakeCubby([json({ items: [found], missing: [], unread: [] })])
    expect(await table.findOne(key)).toEqual(found)
    expect(requests.map(line)).toEqual(['POST /v1/app/orders/find'])
    expect(requests[0]!.body).toEqual({ keys: [key] })
  })

  test('one that is not there is undefined', async () => {
    expect(await fakeCubby([json(nothing)]).table.findOne('a/b')).toBeUndefined()
  })

  test.each(keys)('%j is removed by batch', async (key) => {
    const { table, requests } = fakeCubby([
      json({ items: [{ ...record, ...key }], missing: [], unread: [] }),
      json({ count: 1 }),
    ])
    expect(await table.remove(key)).toEqual({ deleted: true })
    expect(requests.map(line)).toEqual(['POST /v1/app/orders/find', 'POST /v1/app/orders/batch'])
    expect(requests[1]!.body).toEqual({ operations: [{ op: 'delete', ...key, ifUpdatedAt: 5 }] } as never)
  })

  test('remove returns deleted: false if there was no record', async () => {
    const { table, requests } = fakeCubby([json(nothing)])
    expect(await table.remove('a/b')).toEqual({ deleted: false })
    expect(requests).toHaveLength(1)
  })

  test('remove reads again when the record was written in between', async () => {
    const foundAt = (updatedAt: number) =>
      json({ items: [{ ...record, hashKey: 'a/b', updatedAt }], missing: [], unread: [] })
    const { table, requests } = fakeCubby([
      foundAt(5),
      refused(412, 'precondition_failed'),
      foundAt(6),
      json({ count: 1 }),
    ])
    expect(await table.remove('a/b')).toEqual({ deleted: true })
    expect(requests[3]!.body).toEqual({ operations: [{ op: 'delete', hashKey: 'a/b', ifUpdatedAt: 6 }] } as never)
  })

  test('remove with ifMatch asks for that version alone', async () => {
    const { table, requests } = fakeCubby([refused(412, 'precondition_failed')])
    expect(await failureOf(table.remove('a/b', { ifMatch: 4 }))).toMatchObject({ code: 'precondition_failed' })
    expect(requests.map(({ body }) => body)).toEqual([
      { operations: [{ op: 'delete', hashKey: 'a/b', ifUpdatedAt: 4 }] } as never,
    ])
  })

  test('remove with ifMatch * of one that is not there is precondition_failed', async () => {
    const { table } = fakeCubby([json(nothing)])
    expect(await failureOf(table.remove('a/b', { ifMatch: '*' }))).toMatchObject({
      code: 'precondition_failed',
      status: 412,
    })
  })
})

describe('save', () => {
  test('puts one record and answers with it', async () => {
    const { table, requests } = fakeCubby([json(record)])
    expect(await table.save({ hashKey: 'a', rangeKey: 'b', data: { n: 1 }, ttl: 9 })).toEqual(record)
    expect(requests.map(line)).toEqual(['PUT /v1/app/orders'])
    expect(requests[0]!.body).toEqual({ hashKey: 'a', rangeKey: 'b', data: { n: 1 }, ttl: 9 } as never)
  })

  test('a Date in data is sent as its ISO string, at any depth', async () => {
    const at = new Date('2026-01-02T03:04:05.678Z')
    const { table, requests } = fakeCubby(() => json(record))
    await table.save({ hashKey: 'a', data: { at, list: [{ at }] } })
    await table.save([{ hashKey: 'a', data: { at } }])
    const text = '2026-01-02T03:04:05.678Z'
    expect(requests[0]!.body).toMatchObject({ data: { at: text, list: [{ at: text }] } })
    expect(requests[1]!.body).toMatchObject({ operations: [{ data: { at: text } }] })
  })

  test('a Date as ttl is sent in seconds, never early', async () => {
    const { table, requests } = fakeCubby(() => json(record))
    await table.save({ hashKey: 'a', data: {}, ttl: new Date(1_500) })
    await table.save([{ hashKey: 'a', data: {}, ttl: new Date(1_000) }])
    expect(requests[0]!.body).toMatchObject({ ttl: 2 })
    expect(requests[1]!.body).toMatchObject({ operations: [{ ttl: 1 }] })
  })

  test('a record that was read can be saved as it is', async () => {
    const { table, requests } = fakeCubby(() => json(record))
    const read = { ...record, rangeKey: 'b', ttl: 9 }
    await table.save(read)
    await table.save([read])
    expect(requests[0]!.body).toEqual({ hashKey: 'a', rangeKey: 'b', data: { n: 1 }, ttl: 9 } as never)
    expect(requests[1]!.body!.operations).toEqual([
      { op: 'put', hashKey: 'a', rangeKey: 'b', data: { n: 1 }, ttl: 9 } as never,
    ])
  })

  test('a field that the client does not know goes to the server, to be refused by name', async () => {
    const { table, requests } = fakeCubby(() => json(record))
    await table.save({ hashKey: 'a', data: {}, tll: 9 } as never)
    expect(requests[0]!.body).toEqual({ hashKey: 'a', data: {}, tll: 9 } as never)
  })

  test('minimal asks for the answer without data', async () => {
    const { table, requests } = fakeCubby([json({ hashKey: 'a', updatedAt: 5 })])
    expect(await table.save({ hashKey: 'a', data: {} }, { minimal: true })).toEqual({ hashKey: 'a', updatedAt: 5 })
    expect(requests[0]!.headers).toMatchObject({ prefer: 'return=minimal' })
  })
})

describe('conditions', () => {
  test.each([
    [{ ifMatch: 5 }, { 'if-match': '"5"' }],
    [{ ifMatch: 0 }, { 'if-match': '"0"' }],
    [{ ifMatch: '*' as const }, { 'if-match': '*' }],
    [{ ifAbsent: true }, { 'if-none-match': '*' }],
  ])('save with %j sends %j, from the options or from the record', async (condition, headers) => {
    const { table, requests } = fakeCubby(() => json(record))
    await table.save({ hashKey: 'a', data: {} }, condition)
    await table.save({ hashKey: 'a', data: {}, ...condition })
    for (const request of requests) {
      expect(request.headers).toMatchObject(headers)
      expect(request.body).toEqual({ hashKey: 'a', data: {} } as never)
    }
  })

  test('without a condition none is sent', async () => {
    const { table, requests } = fakeCubby(() => json(record))
    await table.save({ hashKey: 'a', data: {} }, { ifAbsent: false })
    await table.remove('a')
    for (const { headers } of requests) {
      expect(Object.keys(headers)).not.toContain('if-match')
      expect(Object.keys(headers)).not.toContain('if-none-match')
    }
  })

  test('remove takes ifMatch', async () => {
    const { table, requests } = fakeCubby([json({ deleted: true })])
    expect(await table.remove({ hashKey: 'a', rangeKey: 'b' }, { ifMatch: 5 })).toEqual({ deleted: true })
    expect(requests.map(line)).toEqual(['DELETE /v1/app/orders/a/b'])
    expect(requests[0]!.headers).toMatchObject({ 'if-match': '"5"' })
  })

  test('operations of a batch and of a save of many take them as ifUpdatedAt', async () => {
    const { table, requests } = fakeCubby(() => json({ count: 3 }))
    await table.batch([
      { op: 'put', hashKey: 'a', data: {}, ifMatch: 5 },
      { op: 'put', hashKey: 'b', data: {}, ifAbsent: true },
      { op: 'delete', hashKey: 'c', ifMatch: 6 },
      { op: 'delete', hashKey: 'd' },
    ])
    await table.save([
      { hashKey: 'a', data: {}, ifMatch: 5 },
      { hashKey: 'b', data: {}, ifAbsent: true },
    ])
    expect(requests.map(({ body }) => body!.operations)).toEqual([
      [
        { op: 'put', hashKey: 'a', data: {}, ifUpdatedAt: 5 },
        { op: 'put', hashKey: 'b', data: {}, ifUpdatedAt: null },
        { op: 'delete', hashKey: 'c', ifUpdatedAt: 6 },
        { op: 'delete', hashKey: 'd' },
      ],
      [
        { op: 'put', hashKey: 'a', data: {}, ifUpdatedAt: 5 },
        { op: 'put', hashKey: 'b', data: {}, ifUpdatedAt: null },
      ],
    ] as never)
  })

  // A record that was not found has no version: `ifMatch: found?.updatedAt` must not overwrite a record created in between.
  test.each([undefined, null, Number.NaN, 1.5, '5', '"5"'])(
    'ifMatch: %p is refused, never ignored',
    async (ifMatch) => {
      const { table, requests } = fakeCubby([])
      const condition = { ifMatch } as { ifMatch: number }
      const refusal = { code: 'invalid_request', status: 0 }
      expect(await failureOf(table.save({ hashKey: 'a', data: {} }, condition))).toMatchObject(refusal)
      expect(await failureOf(table.remove('a', condition))).toMatchObject(refusal)
      expect(await failureOf(table.remove('a/b', condition))).toMatchObject(refusal)
      expect(await failureOf(table.batch([{ op: 'delete', hashKey: 'a', ...condition }]))).toMatchObject({
        ...refusal,
        field: 'operations[0].ifMatch',
      })
      expect(await failureOf(table.save([{ hashKey: 'a', data: {}, ...condition }]))).toMatchObject({
        ...refusal,
        field: 'records[0].ifMatch',
      })
      expect(requests).toEqual([])
    },
  )

  test('one condition for many records is refused, never ignored', async () => {
    const { table, requests } = fakeCubby([])
    for (const condition of [{ ifAbsent: true }, { ifMatch: 5 }, { ifMatch: undefined }] as object[]) {
      const refusal = { code: 'invalid_request', status: 0 }
      expect(await failureOf(table.save([{ hashKey: 'a', data: {} }], condition))).toMatchObject(refusal)
      expect(await failureOf(table.batch([{ op: 'delete', hashKey: 'a' }], condition))).toMatchObject(refusal)
    }
    expect(requests).toEqual([])
  })

  test('a condition in the words of the wire is not lost either', async () => {
    const { table, requests } = fakeCubby([json({ count: 1 })])
    await table.batch([{ op: 'delete', hashKey: 'a', ifUpdatedAt: 5 } as never])
    expect(requests[0]!.body).toEqual({ operations: [{ op: 'delete', hashKey: 'a', ifUpdatedAt: 5 } as never] })
  })

  test('ifMatch and ifAbsent together are refused', async () => {
    const { table, requests } = fakeCubby([])
    const both = { ifMatch: 5, ifAbsent: true }
    expect(await failureOf(table.save({ hashKey: 'a', data: {} }, both))).toMatchObject({ code: 'invalid_request' })
    expect(requests).toEqual([])
  })
})

describe('findOne and find', () => {
  test('a missing record is undefined', async () => {
    expect(await fakeCubby([refused(404, 'record_not_found')]).table.findOne('a')).toBeUndefined()
  })

  test('a missing table is an error', async () => {
    const { table } = fakeCubby([refused(404, 'table_not_found')])
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code: 'table_not_found', status: 404 })
  })

  /** A server with every record but `b`, with room for so many in an answer. */
  const findServer = (itemsMax = 100) =>
    fakeCubby(({ body }) => {
      const keys = body!.keys as { hashKey: string }[]
      const read = keys.slice(0, itemsMax)
      return json({
        items: read.filter(({ hashKey }) => hashKey !== 'b').map((key) => ({ ...key, data: {}, updatedAt: 5 })),
        missing: read.filter(({ hashKey }) => hashKey === 'b'),
        unread: keys.slice(itemsMax),
      })
    })
  const many = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`)
  const counts = (requests: SentRequest[]) => requests.map(({ body }) => (body!.keys as unknown[]).length)

  test('find is one request, answered in the order of the keys, undefined where there is no record', async () => {
    const { table, requests } = findServer()
    const found = await table.find(['c', 'b', { hashKey: 'a', rangeKey: 'r' }, record])
    expect(found.map((record) => record?.hashKey)).toStrictEqual(['c', undefined, 'a', 'a'])
    expect(found.map((record) => record?.rangeKey)).toEqual([undefined, undefined, 'r', undefined])
    expect(requests.map(line)).toEqual(['POST /v1/app/orders/find'])
    expect(requests[0]!.body).toEqual({
      keys: [{ hashKey: 'c' }, { hashKey: 'b' }, { hashKey: 'a', rangeKey: 'r' }, { hashKey: 'a' }],
    })
    expect(await table.find([])).toEqual([])
    expect(requests).toHaveLength(1)
  })

  test('find asks for a record once, however often its key is given; # is no range key', async () => {
    const { table, requests } = findServer()
    const found = await table.find(['c', { hashKey: 'c', rangeKey: '#' }, 'b', 'c', 'b'])
    expect(found.map((record) => record?.hashKey)).toEqual(['c', 'c', undefined, 'c', undefined])
    expect(requests[0]!.body).toEqual({ keys: [{ hashKey: 'c' }, { hashKey: 'b' }] })
  })

  test('find asks again for what an answer had no room for', async () => {
    const { table, requests } = findServer(3)
    const keys = ['x', 'b', ...many(6)]
    expect((await table.find(keys)).map((record) => record?.hashKey)).toEqual(['x', undefined, ...many(6)])
    expect(counts(requests)).toEqual([8, 5, 2])
  })

  test.each([1, 4])('find ends if an answer is about no key at all (concurrency %d)', async (concurrency) => {
    const { table, requests } = fakeCubby(({ body }) => {
      if (requests.length > 20) return refused(400, 'invalid_request')
      return json({ items: [], missing: [], unread: body!.keys })
    })
    expect(await failureOf(table.find(many(250), { concurrency }))).toMatchObject({ code: 'internal' })
    expect(requests.length).toBeLessThanOrEqual(concurrency)
  })

  test('find puts at most 100 keys into a request', async () => {
    const { table, requests } = findServer()
    expect((await table.find(many(250))).map((record) => record?.hashKey)).toEqual(many(250))
    expect(counts(requests)).toEqual([100, 100, 50])
  })

  test('find puts no more into a request than a body may have, escapes included', async () => {
    const { table, requests } = findServer()
    const long = (i: number) => `${'\u0001'.repeat(1_020)}${1_000 + i}`
    const wide = (i: number) => `${'ü'.repeat(510)}${1_000 + i}`
    const keys = Array.from({ length: 120 }, (_, i) => ({ hashKey: long(i), rangeKey: i % 10 ? long(i) : wide(i) }))
    const found = await table.find(keys)
    expect(found.map((record) => record?.hashKey)).toEqual(keys.map(({ hashKey }) => hashKey))
    expect(requests.length).toBe(2)
    for (const { text } of requests) expect(Buffer.byteLength(text!)).toBeLessThanOrEqual(1_048_576)
  })

  test.each([
    [undefined, 4],
    [3, 3],
    [0, 1],
    [Number.POSITIVE_INFINITY, 10],
  ])('find with concurrency %p has at most %d requests in flight', async (concurrency, most) => {
    let inFlight = 0
    let peak = 0
    const { table } = fakeCubby(async ({ body }) => {
      peak = Math.max(peak, ++inFlight)
      await Promise.resolve()
      inFlight--
      return json({ items: [], missing: body!.keys, unread: [] })
    })
    expect(await table.find(many(1_000), { concurrency })).toHaveLength(1_000)
    expect(peak).toBe(most)
  })

  test('find stops asking after a failure, for what had no room too', async () => {
    const { table, requests } = fakeCubby(async ({ body }) => {
      const keys = body!.keys as { hashKey: string }[]
      if (keys[0]!.hashKey === 'k100') return refused(403, 'revoked_api_key')
      await new Promise((resolve) => setTimeout(resolve, 5))
      return json({ items: [], missing: keys.slice(0, 1), unread: keys.slice(1) })
    })
    expect(await failureOf(table.find(many(5_000)))).toMatchObject({ code: 'revoked_api_key' })
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(requests).toHaveLength(4)
  })
})

describe('queries', () => {
  test('a Date can be a hash value or a range operand', async () => {
    const { table, requests } = fakeCubby(() => json(empty))
    const [low, high] = [new Date(0), new Date(1)]
    await table.query({ index: 'i1', hash: low, range: { between: [low, high] } })
    await table.query({ index: 't', range: { gte: low } })
    await table.query({ hash: 'a', range: { lt: low } })
    const [from, to] = ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.001Z']
    expect(requests.map(({ body }) => body)).toEqual([
      { index: 'i1', hash: from, range: { between: [from, to] } },
      { index: 't', range: { gte: from } },
      { hash: 'a', range: { lt: from } },
    ] as never)
  })

  test('count adds up the pages, each asked for with the cursor of the one before', async () => {
    const cursors = ['one', 'two', null]
    let page = 0
    const { table, requests } = fakeCubby(() => json({ items: [], count: 10 + page, cursor: cursors[page++] }))
    const query = { index: 'i1', hash: 'x', range: { gte: 1, lt: 9 } } as const
    expect(await table.count(query)).toBe(33)
    expect(requests.map(({ body }) => body)).toEqual([
      { ...query, select: 'count' },
      { ...query, select: 'count', cursor: 'one' },
      { ...query, select: 'count', cursor: 'two' },
    ] as never)
  })
})

describe('tables, databases and API keys', () => {
  test('each call is the request that the service documents', async () => {
    const { cubby, requests } = fakeCubby(() => json({ tables: [], databases: [], keys: [], cursor: null }))
    const { tables } = cubby.db('app')
    const indices = { i1: { hashField: 'status' } }
    await tables.create('orders')
    await tables.create('orders', { indices })
    await tables.describe('orders')
    await tables.list()
    await tables.list({ deleted: true, limit: 5, cursor: 'a=b&c' })
    await tables.list({ deleted: false, cursor: null })
    await tables.drop('orders')
    await tables.restore('orders')
    await tables.restore('orders', { deletedAt: 7 })
    await cubby.databases({ limit: 5 })
    await cubby.keys.create({ kind: 'public', name: 'page', databases: ['app'] })
    await cubby.keys.list({ limit: 5 })
    await cubby.keys.revoke('key_1')
    expect(requests.map((request) => [line(request), request.body])).toEqual([
      ['POST /v1/app/orders', undefined],
      ['POST /v1/app/orders', { indices } as never],
      ['GET /v1/app/orders', undefined],
      ['GET /v1/app', undefined],
      ['GET /v1/app?limit=5&cursor=a%3Db%26c&deleted=true', undefined],
      ['GET /v1/app', undefined],
      ['DELETE /v1/app/orders', undefined],
      ['POST /v1/app/orders/restore', undefined],
      ['POST /v1/app/orders/restore', { deletedAt: 7 } as never],
      ['GET /v1?limit=5', undefined],
      ['POST /api/keys', { kind: 'public', name: 'page', databases: ['app'] } as never],
      ['GET /api/keys?limit=5', undefined],
      ['DELETE /api/keys/key_1', undefined],
    ])
  })

  test.each(['', '..', 'a/b', undefined as never, null as never])('the key id %j goes into no path', async (id) => {
    const { cubby, requests } = fakeCubby([])
    expect(await failureOf(cubby.keys.revoke(id))).toMatchObject({ code: 'key_not_found', field: 'id' })
    expect(requests).toEqual([])
  })
})

describe('patch', () => {
  test('sends the key with the change, a Date as seconds, and its condition', async () => {
    const { table, requests } = fakeCubby(() => json(record))
    const ttl = new Date(5_500)
    expect(await table.patch('a', { merge: { b: null }, increment: { '/n': { by: 1, min: 0 } } })).toEqual(record)
    await table.patch({ hashKey: 'a', rangeKey: 'r' }, { append: { '/list': [1] }, ttl }, { ifMatch: 5 })
    await table.patch('a', { ttl: null }, { minimal: true, ifAbsent: true })
    expect(requests.map(line)).toEqual(Array(3).fill('PATCH /v1/app/orders'))
    expect(requests.map(({ body }) => body)).toEqual([
      { hashKey: 'a', merge: { b: null }, increment: { '/n': { by: 1, min: 0 } } },
      { hashKey: 'a', rangeKey: 'r', append: { '/list': [1] }, ttl: 6 },
      { hashKey: 'a', ttl: null },
    ])
    expect(requests[1]!.headers).toMatchObject({ 'if-match': '"5"' })
    expect(requests[2]!.headers).toMatchObject({ 'if-none-match': '*', prefer: 'return=minimal' })
  })

  test('is one of the operations of a batch', async () => {
    const { table, requests } = fakeCubby(() => json({ count: 2 }))
    await table.batch([
      { op: 'patch', hashKey: 'a', increment: { '/n': 1 }, ifMatch: 5 },
      { op: 'patch', hashKey: 'b', merge: { c: 1 }, ttl: new Date(5_500), ifAbsent: true },
    ])
    expect(requests[0]!.body).toEqual({
      operations: [
        { op: 'patch', hashKey: 'a', increment: { '/n': 1 }, ifUpdatedAt: 5 },
        { op: 'patch', hashKey: 'b', merge: { c: 1 }, ttl: 6, ifUpdatedAt: null },
      ] as never,
    })
  })

  test('without a response it is sent again, with the same idempotency key', async () => {
    const { table, requests } = fakeCubby(() => broken(), { retries: 2 })
    expect(await failureOf(table.patch('a', { increment: { '/n': 1 } }))).toMatchObject({ code: 'outcome_unknown' })
    expect(requests).toHaveLength(3)
    expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })

  test('a number that JSON cannot say is refused: as null it would remove a member', async () => {
    const { table, requests } = fakeCubby([])
    const refusal = { code: 'invalid_request', field: 'a' }
    expect(await failureOf(table.patch('x', { merge: { a: Number.NaN } }))).toMatchObject(refusal)
    const operation = { op: 'patch', hashKey: 'x', merge: { a: Number.POSITIVE_INFINITY } } as const
    expect(await failureOf(table.batch([operation]))).toMatchObject(refusal)
    expect(requests).toEqual([])
  })
})
