import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Indices, SavedChunk, Table } from '../src/index.ts'
import { Cubby, SaveError } from '../src/index.ts'
import { failureOf } from './fake-fetch.ts'
import { createOrganization, inTemporaryDirectory, type RealServer, serve, startRealServer } from './real-server.ts'

interface Order {
  status: string
  total: number
  createdAt: string
}

const indices = {
  i1: { hashField: 'status', rangeField: 'createdAt' },
  i2: { hashField: 'total' },
} as const satisfies Indices

let server: RealServer
let cubby: Cubby
let tables = 0

beforeAll(async () => {
  server = await startRealServer()
  cubby = server.cubby()
}, 120_000)
afterAll(() => server?.stop(), 30_000)

const newTable = async (): Promise<{ name: string; orders: Table<Order, typeof indices> }> => {
  const name = `orders-${++tables}`
  const app = cubby.db('app')
  await app.tables.create(name, { indices })
  return { name, orders: app.table<Order, typeof indices>(name) }
}

const order = (status: string, total: number, createdAt: string | Date = new Date(total)) => ({
  status,
  total,
  createdAt,
})

const keysOf = async (records: AsyncIterable<{ hashKey: string }>): Promise<string[]> => {
  const met: string[] = []
  for await (const { hashKey } of records) met.push(hashKey)
  return met
}

describe('records', () => {
  test('save, findOne and remove', async () => {
    const { orders } = await newTable()
    const before = Date.now()
    const saved = await orders.save({ hashKey: 'a', rangeKey: 'b', data: order('open', 1) })
    expect(saved).toEqual({
      hashKey: 'a',
      rangeKey: 'b',
      data: { status: 'open', total: 1, createdAt: '1970-01-01T00:00:00.001Z' },
      updatedAt: saved.updatedAt,
    })
    expect(saved.updatedAt).toBeGreaterThanOrEqual(before)
    expect(await orders.findOne({ hashKey: 'a', rangeKey: 'b' })).toEqual(saved)
    expect(await orders.findOne(saved)).toEqual(saved)
    expect(await orders.findOne('a')).toBeUndefined()
    expect(await orders.remove(saved)).toEqual({ deleted: true })
    expect(await orders.remove(saved)).toEqual({ deleted: false })
    expect(await orders.findOne(saved)).toBeUndefined()
  })

  test('a minimal save answers without data', async () => {
    const { orders } = await newTable()
    const saved = await orders.save({ hashKey: 'a', data: order('open', 1) }, { minimal: true })
    expect(saved).toEqual({ hashKey: 'a', updatedAt: saved.updatedAt })
    expect(await orders.findOne('a')).toMatchObject(saved)
  })

  test('a record that was read can be saved as it is, alone and among many', async () => {
    const { orders } = await newTable()
    await orders.save({ hashKey: 'a', rangeKey: '#', data: order('open', 1), ttl: new Date(Date.now() + 3_600_000) })
    const read = (await orders.findOne('a'))!
    const again = await orders.save(read)
    expect(again).toEqual({ ...read, updatedAt: again.updatedAt })
    expect(await orders.save([again])).toMatchObject({ saved: 1 })
    expect(await orders.findOne('a')).toMatchObject({ ttl: read.ttl, data: read.data })
  })

  test('a Date as ttl: the record is gone once it has passed', async () => {
    const { orders } = await newTable()
    await orders.save({ hashKey: 'past', data: order('open', 1), ttl: new Date(Date.now() - 5_000) })
    const kept = await orders.save({ hashKey: 'future', data: order('open', 1), ttl: new Date(4_000_000_000_500) })
    expect(await orders.findOne('past')).toBeUndefined()
    expect(kept.ttl).toBe(4_000_000_001)
  })

  test('find answers in the order of the keys', async () => {
    const { orders } = await newTable()
    const names = Array.from({ length: 60 }, (_, i) => `k${i}`)
    await orders.save(names.filter((_, i) => i % 3 > 0).map((hashKey, i) => ({ hashKey, data: order('open', i) })))
    const found = await orders.find(names)
    expect(found.map((record) => record?.hashKey)).toEqual(names.map((name, i) => (i % 3 > 0 ? name : undefined)))
  })

  test('find reads any number of records of any size', async () => {
    const { orders } = await newTable()
    const names = Array.from({ length: 230 }, (_, i) => `k${i}`)
    // One in ten is large: an answer has room for a few of them.
    const big = 'x'.repeat(300_000)
    const data = (i: number) => ({ ...order('open', i), note: i % 10 === 0 ? big : '' })
    await orders.save(names.map((hashKey, i) => ({ hashKey, data: data(i) })))
    const found = await orders.find([...names, 'nobody', 'k7', { hashKey: 'k8', rangeKey: '#' }])
    expect(found.slice(0, 230).map((record) => record?.data.total)).toEqual(names.map((_, i) => i))
    expect(found.slice(230).map((record) => record?.hashKey)).toEqual([undefined, 'k7', 'k8'])
    expect(found[10]?.data).toMatchObject({ note: big })
    const error = await failureOf(orders.find(['a', 'x'.repeat(1025)]))
    expect(error).toMatchObject({ code: 'invalid_key', status: 400, field: 'keys[1].hashKey' })
  })

  test('batch puts and deletes, all or none', async () => {
    const { orders } = await newTable()
    await orders.save({ hashKey: 'a', data: order('open', 1) })
    const operations = [
      { op: 'delete', hashKey: 'a' },
      { op: 'put', hashKey: 'b', data: order('open', 2) },
    ] as const
    const twice = [...operations, { op: 'delete', hashKey: 'b' } as const]
    expect(await failureOf(orders.batch(twice))).toMatchObject({ code: 'batch_duplicate_keys', status: 400 })
    expect(await orders.findOne('a')).toBeDefined()
    expect(await orders.batch(operations)).toEqual({ count: 2 })
    expect(await keysOf(orders.query({ index: 't' }))).toEqual(['b'])
  })
})

describe('record keys', () => {
  const parts = [
    'query',
    'batch',
    'restore',
    '...',
    ' ',
    '%',
    '%2e%2e',
    '%2F',
    'a?b=c&d',
    '#',
    'ü',
    '🗄️',
    '\n',
    '\u007f',
    "!~*'()",
    ';:@=+$,',
    '/',
    'a/b',
    '../..',
    './',
    '\\',
    'a\\b',
    '\0',
    'a\0b',
  ]

  test.each(parts)('%j is saved, found and removed, as a hash key and as a range key', async (part) => {
    const { orders } = await newTable()
    const keys = [{ hashKey: part }, { hashKey: part, rangeKey: 'r' }, { hashKey: 'h', rangeKey: part }]
    for (const key of keys) {
      await orders.save({ ...key, data: order('open', 1) })
      // `#` is the slot of records without a range key.
      const expected = key.rangeKey === '#' ? { hashKey: 'h' } : key
      const found = await orders.findOne(key)
      expect({ hashKey: found?.hashKey, rangeKey: found?.rangeKey }).toEqual({ rangeKey: undefined, ...expected })
      expect(await orders.remove(key)).toEqual({ deleted: true })
      expect(await orders.findOne(key)).toBeUndefined()
      expect(await orders.remove(key)).toEqual({ deleted: false })
    }
    expect((await cubby.db('app').tables.list({ limit: 1000 })).tables.length).toBe(tables)
  })

  test('of many concurrent removes of one record with such a key, exactly one returns deleted: true', async () => {
    const { orders } = await newTable()
    await orders.save({ hashKey: 'a/b', data: order('open', 1) })
    const answers = await Promise.all(Array.from({ length: 8 }, () => orders.remove('a/b')))
    expect(answers.filter(({ deleted }) => deleted)).toHaveLength(1)
  })

  test('remove with ifMatch works for such a key too', async () => {
    const { orders } = await newTable()
    const { updatedAt } = await orders.save({ hashKey: 'a/b', data: order('open', 1) })
    const refusal = { code: 'precondition_failed', status: 412 }
    expect(await failureOf(orders.remove('a/b', { ifMatch: updatedAt - 1 }))).toMatchObject(refusal)
    expect(await orders.remove('a/b', { ifMatch: updatedAt })).toEqual({ deleted: true })
    expect(await failureOf(orders.remove('a/b', { ifMatch: '*' }))).toMatchObject(refusal)
  })

  test('the longest keys, each character three bytes in a path', async () => {
    const { orders } = await newTable()
    const key = { hashKey: 'ü'.repeat(512), rangeKey: ' '.repeat(1024) }
    await orders.save({ ...key, data: order('open', 1) })
    expect(await orders.findOne(key)).toMatchObject(key)
    expect(await failureOf(orders.findOne('x'.repeat(1025)))).toMatchObject({ code: 'invalid_key', status: 400 })
  })
})

describe('conditions', () => {
  test('ifAbsent: of many writers one creates the record', async () => {
    const { orders } = await newTable()
    const tries = Array.from({ length: 8 }, (_, i) =>
      orders.save({ hashKey: 'a', data: order('open', i) }, { ifAbsent: true }),
    )
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'precondition_failed' })
    }
  })

  test('ifMatch: only the version that was read is replaced or removed', async () => {
    const { orders } = await newTable()
    const first = await orders.save({ hashKey: 'a', data: order('open', 1) })
    const second = await orders.save({ ...first, data: order('paid', 1) }, { ifMatch: first.updatedAt })
    const stale = { ifMatch: first.updatedAt }
    const refusal = { code: 'precondition_failed', status: 412 }
    expect(await failureOf(orders.save({ ...first, data: order('lost', 1) }, stale))).toMatchObject(refusal)
    expect(await failureOf(orders.remove('a', stale))).toMatchObject(refusal)
    expect(await failureOf(orders.batch([{ op: 'delete', hashKey: 'a', ...stale }]))).toMatchObject({
      ...refusal,
      field: expect.stringContaining('operations[0]'),
    })
    expect(await orders.findOne('a')).toEqual(second)
    expect(await orders.remove('a', { ifMatch: second.updatedAt })).toEqual({ deleted: true })
  })

  test("ifMatch '*': only if it exists", async () => {
    const { orders } = await newTable()
    const save = () => orders.save({ hashKey: 'a', data: order('open', 1) }, { ifMatch: '*' })
    expect(await failureOf(save())).toMatchObject({ code: 'precondition_failed' })
    await orders.save({ hashKey: 'a', data: order('open', 1) })
    await save()
  })

  test('in a save of many: one failed condition rejects its chunk', async () => {
    const { orders } = await newTable()
    await orders.save({ hashKey: 'k3', data: order('open', 1) })
    const records = Array.from({ length: 5 }, (_, i) => ({
      hashKey: `k${i}`,
      data: order('new', i),
      ifAbsent: true,
    }))
    expect(await failureOf(orders.save(records))).toMatchObject({ code: 'precondition_failed', result: { saved: 0 } })
    expect(await keysOf(orders.query({ index: 't' }))).toEqual(['k3'])
  })
})

describe('queries', () => {
  const seeded = async () => {
    const { orders } = await newTable()
    const records = Array.from({ length: 30 }, (_, i) => ({
      hashKey: 'h',
      rangeKey: `r${String(i).padStart(2, '0')}`,
      data: order(i % 2 ? 'paid' : 'open', i, new Date(Date.UTC(2026, 0, 1 + i))),
    }))
    await orders.save(records)
    return orders
  }
  const totals = async (records: AsyncIterable<{ data: Order }>): Promise<number[]> => {
    const met: number[] = []
    for await (const { data } of records) met.push(data.total)
    return met
  }

  test('by primary key, in both directions, a page at a time', async () => {
    const orders = await seeded()
    const page = await orders.query({ hash: 'h', limit: 7 })
    expect(page.count).toBe(7)
    expect(page.items.map(({ data }) => data.total)).toEqual([0, 1, 2, 3, 4, 5, 6])
    const next = await orders.query({ hash: 'h', limit: 7, cursor: page.cursor })
    expect(next.items[0]!.data.total).toBe(7)
    const all = Array.from({ length: 30 }, (_, i) => i)
    expect(await totals(orders.query({ hash: 'h', limit: 7 }))).toEqual(all)
    expect(await totals(orders.query({ hash: 'h', limit: 7, ascending: false }))).toEqual(all.reverse())
    expect(await totals(orders.query({ hash: 'h', range: { beginsWith: 'r1' }, limit: 3 }))).toHaveLength(10)
  })

  test('by a declared index, with Dates as operands of what was saved as Dates', async () => {
    const orders = await seeded()
    const [low, high] = [new Date('2026-01-05T00:00:00Z'), new Date('2026-01-09T00:00:00Z')]
    const query = { index: 'i1', hash: 'open', range: { between: [low, high] } } as const
    expect(await totals(orders.query(query))).toEqual([4, 6, 8])
    expect(await totals(orders.query({ ...query, range: { lt: +low } }))).toEqual([0, 2])
    expect(await totals(orders.query({ ...query, range: { eq: '2026-01-05T00:00:00Z' } }))).toEqual([4])
    expect(await totals(orders.query({ index: 'i2', hash: 5 }))).toEqual([5])
  })

  test('between a lower and an upper bound; keys without data; the count of all pages', async () => {
    const orders = await seeded()
    const range = { gte: new Date('2026-01-05T00:00:00Z'), lt: new Date('2026-01-09T00:00:00Z') }
    const query = { index: 'i1', hash: 'open', range } as const
    expect(await totals(orders.query(query))).toEqual([4, 6])
    expect(await orders.count(query)).toBe(2)
    expect(await orders.count({ hash: 'h' })).toBe(30)
    expect(await orders.count({ hash: 'nobody' })).toBe(0)
    const whole = await orders.query({ hash: 'h' })
    const keys: unknown[] = []
    for await (const key of orders.query({ hash: 'h', select: 'keys', limit: 7 })) keys.push(key)
    expect(keys).toEqual(whole.items.map(({ data: _, ...head }) => head))
    const failure = await failureOf(orders.query({ hash: 'h', range: { gte: 'b', lt: 'a' } }).then())
    expect(failure).toMatchObject({ code: 'invalid_range', field: 'range' })
  })

  test('by recency, newest first, with a Date as operand', async () => {
    const orders = await seeded()
    const last = await orders.save({ hashKey: 'z', data: order('open', 99) })
    const page = await orders.query({ index: 't', range: { gte: new Date(last.updatedAt) }, limit: 1 })
    expect(page.items).toEqual([last])
    expect(await totals(orders.query({ index: 't', limit: 10 }))).toHaveLength(31)
    expect(await totals(orders.query({ index: 't', range: { lt: new Date(0) } }))).toEqual([])
  })

  test('pages end before 1 MiB of data, and iteration continues over them', async () => {
    const { orders } = await newTable()
    const text = 'x'.repeat(300_000)
    const records = Array.from({ length: 10 }, (_, i) => ({
      hashKey: `k${i}`,
      data: { ...order('open', i), text } as Order,
    }))
    await orders.save(records)
    const counts: number[] = []
    for await (const { count } of orders.query({ index: 't' }).pages()) counts.push(count)
    expect(counts.reduce((sum, count) => sum + count)).toBe(10)
    expect(counts.length).toBeGreaterThan(3)
  })

  test('an undeclared slot, a cursor of another query', async () => {
    const orders = await seeded()
    const untyped = cubby.db('app').table(`orders-${tables}`)
    const error = await failureOf(untyped.query({ index: 'i5', hash: 'x' }))
    expect(error).toMatchObject({ code: 'index_not_declared', status: 400 })
    expect(error.hint).toContain('i1')
    const { cursor } = await orders.query({ hash: 'h', limit: 1 })
    expect(await failureOf(orders.query({ hash: 'other', cursor }))).toMatchObject({ code: 'invalid_cursor' })
  })
})

describe('save of many', () => {
  test('1,010 records, of two with one key the later stays', async () => {
    const { orders } = await newTable()
    const records = Array.from({ length: 1010 }, (_, i) => ({ hashKey: `k${i % 1000}`, data: order('open', i) }))
    const told: number[] = []
    const result = await orders.save(records, { concurrency: 8, onProgress: ({ saved }) => told.push(saved) })
    expect(result.saved).toBe(1010)
    expect(told.at(-1)).toBe(1010)
    expect(told).toHaveLength(result.chunks.length)
    expect(await keysOf(orders.query({ index: 't', limit: 300 }))).toHaveLength(1000)
    expect((await orders.findOne('k5'))!.data.total).toBe(1005)
    expect((await orders.findOne('k11'))!.data.total).toBe(11)
  })

  test('the largest records go through, one that is too large is named', async () => {
    const { orders } = await newTable()
    const frame = JSON.stringify({ ...order('open', 1), text: '' }).length
    const large = (extra: number) => ({ ...order('open', 1), text: 'x'.repeat(409_600 - frame + extra) }) as Order
    const records = Array.from({ length: 26 }, (_, i) => ({ hashKey: `k${i}`, data: large(0) }))
    expect((await orders.save(records)).saved).toBe(26)
    records[7] = { hashKey: 'k7', data: large(1) }
    const error = await failureOf(orders.save(records))
    expect(error).toMatchObject({ code: 'record_too_large', status: 413 })
    expect(error.field).toStartWith('operations[7]')
  }, 120_000)

  test('the result of one that failed agrees with what is in the table', async () => {
    const { orders } = await newTable()
    const records = Array.from({ length: 200 }, (_, i) => ({
      hashKey: `k${i}`,
      data: i === 111 ? ({ ...order('open', i), status: ['open'] } as never) : order('open', i),
    }))
    const error = await failureOf(orders.save(records))
    expect(error).toBeInstanceOf(SaveError)
    expect(error).toMatchObject({ code: 'invalid_index_value', field: 'operations[11].data.status' })
    expect(error.requestId).toBeString()
    const present = new Set(await keysOf(orders.query({ index: 't', limit: 1000 })))
    expect(present.size).toBe(error.result.saved)
    for (const { from, to, status } of error.result.chunks) {
      for (let i = from; i < to; i++) expect(present.has(`k${i}`)).toBe(status === 'applied')
    }
    expect(error.result.chunks.find(({ status }) => status === 'failed')).toMatchObject({ from: 100, to: 125 })
  })

  // Without honest outcomes an importer would skip records that are not there, or overwrite newer ones.
  test('when the server is killed during a save, the status of each chunk is true after a restart', async () => {
    await inTemporaryDirectory(async (data) => {
      const { secretKey } = await createOrganization(data, 'acme')
      const first = await serve(data)
      const table = (url: string) => new Cubby({ url, key: secretKey }).db('app').table('orders')
      await new Cubby({ url: first.url, key: secretKey }).db('app').tables.create('orders')
      const records = Array.from({ length: 20_000 }, (_, i) => ({ hashKey: `k${i}`, data: { i } }))
      let killed: Promise<void> | undefined
      const error = await failureOf(
        table(first.url).save(records, {
          onProgress: ({ saved }) => {
            if (saved > 500) killed ??= first.kill()
          },
        }),
      )
      await killed
      expect(error).toBeInstanceOf(SaveError)
      expect(error.code).toBe('outcome_unknown')

      const second = await serve(data)
      try {
        const present = new Set(await keysOf(table(second.url).query({ index: 't', limit: 1000 })))
        const presentIn = ({ from, to }: SavedChunk) =>
          records.slice(from, to).filter(({ hashKey }) => present.has(hashKey)).length
        for (const chunk of error.result.chunks) {
          const all = chunk.to - chunk.from
          if (chunk.status === 'applied') expect(presentIn(chunk)).toBe(all)
          else if (chunk.status === 'unknown') expect([0, all]).toContain(presentIn(chunk))
          else expect(presentIn(chunk)).toBe(0)
        }
        expect(error.result.saved).toBeGreaterThan(500)
        expect(error.result.chunks.at(-1)!.status).toBe('unsent')
      } finally {
        await second.stop()
      }
    })
  }, 120_000)
})

describe('errors', () => {
  test('have code, status, hint and request id', async () => {
    const error = await failureOf(cubby.db('app').table('nowhere').findOne('a'))
    expect(error).toMatchObject({ name: 'CubbyError', code: 'table_not_found', status: 404 })
    expect(error.hint).toBeString()
    expect(error.requestId).toBeString()
  })

  test('a public key reads and does not write', async () => {
    const { orders, name } = await newTable()
    await orders.save({ hashKey: 'a', data: order('open', 1) })
    const reader = server.cubby({ key: server.publicKey })
    const table = reader.db('app').table<Order>(name)
    expect((await table.findOne('a'))!.data.total).toBe(1)
    expect((await table.query({ index: 't' })).count).toBe(1)
    const refusal = { code: 'read_only_key', status: 403 }
    expect(await failureOf(table.save({ hashKey: 'a', data: order('paid', 1) }))).toMatchObject(refusal)
    expect(await failureOf(table.remove('a'))).toMatchObject(refusal)
    expect(await failureOf(reader.keys.list())).toMatchObject(refusal)
  })

  test('a key that is none', async () => {
    const stranger = server.cubby({ key: `svc_live_${'0'.repeat(38)}` })
    expect(await failureOf(stranger.databases())).toMatchObject({ code: 'invalid_api_key', status: 401 })
  })

  test('no server: a read is unavailable, a write outcome_unknown', async () => {
    // The port was just given back: nothing listens on it.
    const closed = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const { url } = closed
    await closed.stop(true)
    const table = new Cubby({ url, key: server.secretKey, retries: 1 }).db('app').table('orders')
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code: 'unavailable', status: 0 })
    expect(await failureOf(table.save({ hashKey: 'a', data: {} }))).toMatchObject({
      code: 'outcome_unknown',
      status: 0,
    })
  })

  test('a signal ends a call to a server that does not answer', async () => {
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    try {
      const url = `http://127.0.0.1:${silent.port}`
      const table = new Cubby({ url, key: server.secretKey }).db('app').table('orders')
      const error = await failureOf(table.findOne('a', { signal: AbortSignal.timeout(50) }))
      expect(error.name).toBe('TimeoutError')
      const timed = await failureOf(table.findOne('a', { timeoutMs: 50, retries: 0 }))
      expect(timed).toMatchObject({ code: 'unavailable', status: 0 })
    } finally {
      silent.stop(true)
    }
  })
})

describe('tables', () => {
  test('create, describe, list, drop and restore', async () => {
    const { tables } = cubby.db('lists')
    const created = await tables.create('b', { indices })
    expect(created).toEqual({ db: 'lists', table: 'b', indices, status: 'active', createdAt: created.createdAt })
    expect(await tables.create('b', { indices })).toEqual(created)
    expect(await failureOf(tables.create('b'))).toMatchObject({ code: 'table_exists', status: 409 })
    expect(await tables.describe('b')).toEqual(created)
    expect((await tables.create('a')).indices).toEqual({})
    await tables.create('c')
    const listed: string[] = []
    for await (const { table } of tables.list({ limit: 1 })) listed.push(table)
    expect(listed).toEqual(['a', 'b', 'c'])

    const records = cubby.db('lists').table('b')
    await records.save({ hashKey: 'k', data: { n: 1 } })
    const dropped = await tables.drop('b')
    const { deletedAt } = dropped
    expect(dropped).toEqual({
      ...created,
      status: 'deleted',
      deletedAt,
      recoverableUntil: deletedAt + 7 * 24 * 60 * 60 * 1000,
    })
    expect((await tables.list()).tables.map(({ table }) => table)).toEqual(['a', 'c'])
    expect(await tables.list({ deleted: true })).toEqual({ tables: [dropped], cursor: null })
    expect(await failureOf(records.findOne('k'))).toMatchObject({ code: 'table_not_found' })
    expect(await tables.restore('b', { deletedAt })).toEqual(created)
    expect((await records.findOne('k'))!.data).toEqual({ n: 1 })
    expect(await tables.restore('b')).toEqual(created)
  })

  test('databases lists their names', async () => {
    await cubby.db('zoo').tables.create('animals')
    const names: string[] = []
    for await (const name of cubby.databases({ limit: 1 })) names.push(name)
    expect(names).toContain('zoo')
    expect(names).toEqual([...names].sort())
  })
})

describe('API keys', () => {
  test('create, list and revoke', async () => {
    const expiresAt = Date.now() + 3_600_000
    const created = await cubby.keys.create({
      kind: 'public',
      name: 'page',
      databases: ['app'],
      expiresAt: new Date(expiresAt),
    })
    await expect(cubby.keys.create({ kind: 'public', expiresAt: new Date('soon') })).rejects.toThrow('expiresAt')
    const { key, ...description } = created
    expect(created).toMatchObject({ kind: 'public', name: 'page', databases: ['app'], expiresAt })
    expect(key).toMatch(/^svc_pub_[0-9A-Za-z]{38}$/)
    const { keys } = await cubby.keys.list({ limit: 1 })
    const unrolled = { rolledFrom: null, rolledTo: null }
    expect(keys).toEqual([{ ...description, status: 'active', lastUsedAt: null, revokedAt: null, ...unrolled }])
    const page = server.cubby({ key })
    await page.db('app').tables.list()
    expect(await failureOf(page.db('zoo').tables.list())).toMatchObject({ code: 'key_scope', status: 403 })

    const revoked = await cubby.keys.revoke(created.id)
    expect(revoked).toMatchObject({ id: created.id, status: 'revoked' })
    expect(await cubby.keys.revoke(created.id)).toMatchObject({ revokedAt: revoked.revokedAt })
    expect(await failureOf(page.db('app').tables.list())).toMatchObject({ code: 'revoked_api_key', status: 403 })
    expect(await failureOf(cubby.keys.revoke('key_none'))).toMatchObject({ code: 'key_not_found', status: 404 })
    const ids: string[] = []
    for await (const { id } of cubby.keys.list({ limit: 1 })) ids.push(id)
    expect(ids).toHaveLength(3)
  })

  test('a key is rolled: the new one works, the old one until the time given', async () => {
    const old = await cubby.keys.create({ kind: 'public', name: 'page' })
    const endsAt = Date.now() + 60_000
    const rolled = await cubby.keys.roll(old.id, { expiresAt: new Date(endsAt) })
    expect(rolled).toMatchObject({ kind: 'public', name: 'page', expiresAt: null, rolledFrom: old.id })
    await server.cubby({ key: rolled.key }).db('app').tables.list()
    expect(await server.cubby({ key: old.key }).keys.self()).toMatchObject({ expiresAt: endsAt, rolledTo: rolled.id })
    expect(await failureOf(cubby.keys.roll(old.id))).toMatchObject({ code: 'key_not_active', status: 409 })
    const last = await cubby.keys.roll(rolled.id, { expiresAt: 0 })
    expect(await failureOf(server.cubby({ key: rolled.key }).keys.self())).toMatchObject({ code: 'revoked_api_key' })
    expect(await server.cubby({ key: last.key }).keys.self()).toMatchObject({ rolledFrom: rolled.id, rolledTo: null })
    await expect(cubby.keys.roll(last.id, { expiresAt: new Date('soon') })).rejects.toThrow('expiresAt')
    expect(await failureOf(cubby.keys.roll('key_none'))).toMatchObject({ code: 'key_not_found', status: 404 })
  })

  test('self: the key that the client uses, also a public one, with its organization', async () => {
    const created = await cubby.keys.create({ kind: 'public', name: 'who am I', databases: ['app'] })
    const own = await server.cubby({ key: created.key }).keys.self()
    expect(own).toMatchObject({
      id: created.id,
      kind: 'public',
      name: 'who am I',
      databases: ['app'],
      status: 'active',
    })
    expect(own.organization).toBe((await cubby.keys.self()).organization)
    expect(own.organization).toMatch(/^[a-z0-9_-]+$/)
  })
})
