import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Change, Cubby, type RecordResponse, type WatchDifference } from '../src/index.ts'
import { eventually } from './fake-feed.ts'
import { failureOf } from './fake-fetch.ts'
import { createOrganization, inTemporaryDirectory, type RealServer, serve, startRealServer } from './real-server.ts'

let server: RealServer
let cubby: Cubby
let tables = 0

beforeAll(async () => {
  server = await startRealServer()
  cubby = server.cubby()
}, 120_000)
afterAll(() => server?.stop(), 30_000)

const indices = { i1: { hashField: 'status' } } as const

/** Counts the requests that its client sends. */
const counting = (url = server.url, key = server.secretKey) => {
  const sent: string[] = []
  const own = new Cubby({
    url,
    key,
    fetch: (target, init) => {
      const isStream = new Headers(init.headers).get('accept') === 'text/event-stream'
      sent.push(isStream ? 'stream' : target.slice(target.lastIndexOf('/') + 1))
      return fetch(target, init)
    },
  })
  return { own, sent }
}

const newTable = async (of = cubby) => {
  const name = `orders-${++tables}`
  const created = await of.db('app').tables.create(name, { indices, changes: { keepHours: 5 } })
  return { name, created, orders: of.db('app').table(name) }
}

const take = async (changes: AsyncIterable<Change>, count: number): Promise<Change[]> => {
  const taken: Change[] = []
  for await (const change of changes) {
    taken.push(change)
    if (taken.length === count) break
  }
  return taken
}

describe('tables', () => {
  test('keep their changes since they are created, or since keepChanges', async () => {
    const { name, created } = await newTable()
    expect(created.changes).toEqual({ keepHours: 5, since: expect.any(Number) })
    const { tables } = cubby.db('app')
    expect((await tables.keepChanges(name, 24)).changes?.keepHours).toBe(24)
    expect((await tables.keepChanges(name, null)).changes).toBeUndefined()
    expect((await tables.describe(name)).changes).toBeUndefined()
    expect(await failureOf(tables.keepChanges(name, 1_000))).toMatchObject({ status: 400, field: 'keepHours' })
  })

  test('that keep none say so', async () => {
    const { name, orders } = await newTable()
    await cubby.db('app').tables.keepChanges(name, null)
    for (const call of [
      () => orders.readChanges(),
      () => take(orders.changes(), 1),
      () => orders.watch({ index: 't' }, { onChange: () => {} }),
    ]) {
      expect(await failureOf(call())).toMatchObject({ code: 'changes_not_kept', status: 409 })
    }
  })
})

describe('changes', () => {
  test('are every record first, then what happens, by one stream', async () => {
    const { own, sent } = counting()
    const { name, orders } = await newTable()
    const [a, b] = [
      await orders.save({ hashKey: 'a', data: { text: 'ü€🗄️ \n\r\n' } }),
      await orders.save({ hashKey: 'b', rangeKey: 'r', data: {} }),
    ]
    const changes = own.db('app').table(name).changes()
    const met: Change[] = []
    for await (const change of changes) {
      met.push(change)
      if (met.length === 2) {
        await orders.remove('a')
        await orders.save({ hashKey: 'c', data: { n: 1 }, ttl: 4_000_000_000 })
      }
      if (met.length === 4) break
    }
    expect(met).toEqual([
      { op: 'put', ...a },
      { op: 'put', ...b },
      { op: 'delete', hashKey: 'a', deletedAt: expect.any(Number) },
      { op: 'put', hashKey: 'c', data: { n: 1 }, ttl: 4_000_000_000, updatedAt: expect.any(Number) },
    ])
    expect(sent).toEqual(['stream'])
    // The last one was perhaps not handled.
    expect(await take(orders.changes({ cursor: changes.cursor }), 1)).toEqual([met[3]!])
  })

  test('of a hash key, of keys alone, and from now', async () => {
    const { orders } = await newTable()
    await orders.save([
      { hashKey: 'a', data: {} },
      { hashKey: 'b', data: {} },
    ])
    const options = { hash: 'b', select: 'keys' } as const
    expect(await take(orders.changes(options) as never, 1)).toEqual([
      { op: 'put', hashKey: 'b', updatedAt: expect.any(Number) } as never,
    ])
    const changes = orders.changes({ from: 'now' })
    const taking = take(changes, 1)
    await eventually(() => changes.cursor !== null)
    await orders.save({ hashKey: 'c', data: {} })
    expect((await taking)[0]).toMatchObject({ hashKey: 'c' })
  })

  test('by pages, and with a wait', async () => {
    const { orders } = await newTable()
    await orders.save([
      { hashKey: 'a', data: {} },
      { hashKey: 'b', data: {} },
    ])
    let page = await orders.readChanges({ limit: 1 })
    expect(page).toMatchObject({ items: [{ op: 'put', hashKey: 'a' }], count: 1, more: true })
    while (page.more) page = await orders.readChanges({ cursor: page.cursor })
    const waiting = orders.readChanges({ cursor: page.cursor, waitSeconds: 20 })
    await orders.save({ hashKey: 'c', data: {} })
    expect((await waiting).items).toMatchObject([{ hashKey: 'c' }])
  })

  test('are complete for a slow loop over much, in order, each once', async () => {
    const { own, sent } = counting()
    const { name, orders } = await newTable()
    const count = 3_000
    const text = 'x'.repeat(3_000)
    await orders.load(
      Array.from({ length: count }, (_, i) => ({ hashKey: 'a', rangeKey: `${10_000 + i}`, data: { text } })),
    )
    const met = await take(own.db('app').table(name).changes(), count)
    expect(met.map(({ rangeKey }) => rangeKey)).toEqual(Array.from({ length: count }, (_, i) => `${10_000 + i}`))
    expect(sent).toEqual(['stream'])
  }, 60_000)

  test('end when the key is revoked, the table is deleted or its changes are ended', async () => {
    const { key, id } = await cubby.keys.create({ kind: 'public' })
    for (const [code, end] of [
      ['revoked_api_key', () => cubby.keys.revoke(id)],
      ['table_not_found', (name: string) => cubby.db('app').tables.drop(name)],
      ['changes_not_kept', (name: string) => cubby.db('app').tables.keepChanges(name, null)],
    ] as [string, (name: string) => Promise<unknown>][]) {
      const { name, orders } = await newTable()
      const { own } = counting(server.url, code === 'revoked_api_key' ? key : server.secretKey)
      await orders.save({ hashKey: 'a', data: {} })
      const changes = own.db('app').table(name).changes()
      const failing = failureOf(take(changes, 2))
      await eventually(() => changes.cursor !== null)
      await end(name)
      expect(await failing).toMatchObject({ code })
    }
  }, 30_000)

  test('go on after the server was killed and started again: nothing is missing', async () => {
    await inTemporaryDirectory(async (data) => {
      const { secretKey } = await createOrganization(data, 'acme')
      let running = await serve(data)
      const port = new URL(running.url).port
      const own = new Cubby({ url: running.url, key: secretKey })
      await own.db('app').tables.create('orders', { changes: {} })
      const orders = own.db('app').table('orders')
      await orders.save({ hashKey: 'k0', data: {} })
      const met: string[] = []
      const following = (async () => {
        for await (const { hashKey } of orders.changes()) {
          met.push(hashKey)
          if (hashKey === 'k2') break
        }
      })()
      await eventually(() => met.length === 1)
      for (const [end, name] of [
        ['kill', 'k1'],
        ['stop', 'k2'],
      ] as const) {
        await running[end]()
        running = await serve(data, { port })
        await orders.save({ hashKey: name, data: {} })
        await eventually(() => met.includes(name))
      }
      await following
      expect(met).toEqual(['k0', 'k1', 'k2'])
      await running.stop()
    })
  }, 60_000)
})

describe('watch', () => {
  type Result = { items: RecordResponse[]; difference: WatchDifference<RecordResponse> }

  test('shows the first records of an index as they are on the server, while many write', async () => {
    const { own, sent } = counting()
    const { name, orders } = await newTable()
    const stop = new AbortController()
    const results: Result[] = []
    const query = { index: 'i1', hash: 'open', limit: 5 } as const
    const watched = own.db('app').table<{ status: string }, typeof indices>(name)
    const done = watched.watch(query, {
      signal: stop.signal,
      onChange: (items, difference) => {
        results.push({ items: items as RecordResponse[], difference: difference as Result['difference'] })
      },
    })
    await eventually(() => results.length === 1)
    expect(results[0]).toEqual({ items: [], difference: { added: [], changed: [], removed: [] } })
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        i % 5 === 4
          ? orders.remove(`k${i - 1}`)
          : orders.save({ hashKey: `k${i}`, data: { status: i % 2 ? 'paid' : 'open', i } }),
      ),
    )
    const { items } = await orders.query(query as never)
    expect(items).toHaveLength(5)
    await eventually(() => Bun.deepEquals(results.at(-1)?.items, items))
    // The differences lead from each result to the next.
    const shown = new Map<string, RecordResponse>()
    for (const { items, difference } of results) {
      for (const { hashKey } of difference.removed) expect(shown.delete(hashKey)).toBe(true)
      for (const one of difference.added) expect(shown.has(one.hashKey)).toBe(false)
      for (const one of difference.changed) expect(shown.has(one.hashKey)).toBe(true)
      for (const one of [...difference.added, ...difference.changed]) shown.set(one.hashKey, one)
      expect(new Set(shown.values())).toEqual(new Set(items))
    }
    stop.abort()
    await done
    expect(sent.filter((what) => what === 'stream')).toHaveLength(1)
    expect(sent.filter((what) => what === 'query').length).toBeLessThan(40)
  })

  test('of a hash key with a range, and a record that expires', async () => {
    const { orders } = await newTable()
    const stop = new AbortController()
    let shown: string[] = []
    const done = orders.watch(
      { hash: 'ada', range: { beginsWith: '2026-' } },
      {
        signal: stop.signal,
        onChange: (items) => {
          shown = items.map(({ rangeKey }) => rangeKey!)
        },
      },
    )
    await orders.save({ hashKey: 'ada', rangeKey: '2026-1', data: {} })
    await orders.save({ hashKey: 'bob', rangeKey: '2026-2', data: {} })
    await orders.save({ hashKey: 'ada', rangeKey: '2026-3', data: {}, ttl: Math.ceil(Date.now() / 1000) + 1 })
    await eventually(() => shown.join() === '2026-1,2026-3')
    await eventually(() => shown.join() === '2026-1')
    stop.abort()
    await done
  }, 30_000)

  test('by a public key, of a table that is dropped', async () => {
    const { name, orders } = await newTable()
    await orders.save({ hashKey: 'a', data: {} })
    const { own } = counting(server.url, server.publicKey)
    const results: number[] = []
    const failing = failureOf(
      own
        .db('app')
        .table(name)
        .watch({ index: 't' }, { onChange: (items) => results.push(items.length) }),
    )
    await eventually(() => results.length === 1)
    await cubby.db('app').tables.drop(name)
    expect(await failing).toMatchObject({ code: 'table_not_found' })
    expect(results).toEqual([1])
  }, 30_000)
})
