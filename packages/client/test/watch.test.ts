import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { mayConcern } from '../src/changes/may-concern.ts'
import type { RecordResponse, WatchDifference } from '../src/index.ts'
import { errorBody, eventually, FakeFeed, fastTimers, put } from './fake-feed.ts'
import { failureOf } from './fake-fetch.ts'

let feed: FakeFeed
let timers: ReturnType<typeof fastTimers>
let stop: AbortController
beforeEach(() => {
  feed = new FakeFeed()
  timers = fastTimers()
  stop = new AbortController()
})
afterEach(() => {
  stop.abort()
  timers.restore()
  feed.stop()
})

type Result = { items: RecordResponse[]; difference: WatchDifference<RecordResponse> }

const record = (hashKey: string, updatedAt = 1, more: object = {}) => ({ hashKey, data: {}, updatedAt, ...more })

/** A watch whose results are kept. */
const watching = (query: object, { table = feed.table(), signal = stop.signal } = {}) => {
  const results: Result[] = []
  const done = table.watch(query as never, {
    signal,
    onChange: (items, difference) => {
      results.push({ items, difference })
    },
  })
  return { results, done }
}

describe('a watch', () => {
  test('takes a cursor, then runs the query, then follows the table; each result that differs is told', async () => {
    feed.items.push(put('old'))
    const [a, b, c] = [record('a'), record('b'), record('c')]
    feed.records = [a, b]
    const { results, done } = watching({ index: 'i1', hash: 'open', limit: 5 })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    expect(results[0]).toEqual({ items: [a, b], difference: { added: [a, b], changed: [], removed: [] } } as never)
    const [first, ...rest] = feed.requests
    expect(first).toMatchObject({ isStream: false, body: { from: 'now', select: 'keys' } })
    expect(rest.find(({ isStream }) => isStream)?.body).toEqual({ cursor: 'c1', select: 'keys' })
    expect(feed.queries.map(({ body }) => body)).toEqual([{ index: 'i1', hash: 'open', limit: 5 }])

    const changed = record('b', 2)
    feed.records = [c, changed]
    feed.add(put('c'))
    await eventually(() => results.length === 2)
    expect(results[1]).toEqual({
      items: [c, changed],
      difference: { added: [c], changed: [changed], removed: [a] },
    } as never)

    // Nothing of the result has changed: it is not told.
    feed.add(put('elsewhere'))
    await eventually(() => feed.queries.length === 3)
    feed.records = [c]
    feed.add({ op: 'delete', hashKey: 'b', deletedAt: 3 })
    await eventually(() => results.length === 3)
    expect(results[2]?.difference).toEqual({ added: [], changed: [], removed: [changed] } as never)
    stop.abort()
    expect(await done).toBeUndefined()
    await eventually(() => feed.streams.length === 0)
  })

  test('tells of a record that was deleted and written again within a millisecond: it has the version of before', async () => {
    feed.records = [record('a'), record('b')]
    const { results } = watching({ index: 'i1', hash: 'open' })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    const again = record('a', 1, { data: { n: 2 } })
    feed.records = [again, record('b')]
    feed.add({ op: 'delete', hashKey: 'a', deletedAt: 2 }, put('a', { n: 2 }))
    await eventually(() => results.length === 2)
    expect(results[1]?.difference).toEqual({ added: [], changed: [again], removed: [] } as never)
    // Once: what comes later is not about it.
    feed.add(put('elsewhere'))
    await eventually(() => feed.queries.length === 3)
    await Bun.sleep(20)
    expect(results).toHaveLength(2)
  })

  test('misses nothing that is committed while the query runs', async () => {
    feed.intercept = async ({ path }) => {
      if (!path.endsWith('/query') || feed.queries.length > 1) return false
      await eventually(() => feed.streams.length === 1)
      feed.add(put('meanwhile'))
      return false
    }
    const { results } = watching({ index: 't' })
    await eventually(() => feed.queries.length === 2)
    await eventually(() => results.length === 1)
  })

  test('tells of an empty first result, once', async () => {
    const { results } = watching({ index: 't' })
    await eventually(() => feed.streams.length === 1)
    feed.add(put('a'))
    await eventually(() => feed.queries.length === 2)
    await Bun.sleep(20)
    expect(results).toEqual([{ items: [], difference: { added: [], changed: [], removed: [] } }])
  })

  test('reads the first records in as many pages as the server needs', async () => {
    const all = Array.from({ length: 6 }, (_, i) => record(`k${i}`))
    feed.intercept = ({ path, body }, connection) => {
      if (!path.endsWith('/query')) return false
      const from = Number(body.cursor ?? 0)
      const items = all.slice(from, from + Math.min(2, body.limit as number))
      connection.json({ items, count: items.length, cursor: String(from + items.length) })
      return true
    }
    const { results } = watching({ index: 't', limit: 5 })
    await eventually(() => results.length === 1)
    expect(results[0]?.items).toEqual(all.slice(0, 5) as never)
    // A stream that is ready late makes it begin again.
    expect(feed.queries.slice(-3).map(({ body }) => [body.limit, body.cursor])).toEqual([
      [5, undefined],
      [3, '2'],
      [1, '4'],
    ])
  })

  test('is of 1,000 records at most, as a query', async () => {
    feed.intercept = ({ path, body }, connection) => {
      if (!path.endsWith('/query')) return false
      const items = Array.from({ length: 400 }, (_, i) => record(`k${body.cursor}-${i}`))
      return connection.json({ items: items.slice(0, body.limit as number), cursor: `${feed.queries.length}` })
    }
    const { results } = watching({ index: 't', limit: 5_000 })
    await eventually(() => results.length === 1)
    expect(results[0]?.items).toHaveLength(1_000)
  })

  test('runs one query at a time, at most four a second, and the last one after the last change', async () => {
    let running = 0
    let most = 0
    const startedMs = performance.now()
    feed.intercept = async ({ path }) => {
      if (!path.endsWith('/query')) return false
      most = Math.max(most, ++running)
      await Bun.sleep(20)
      running--
      return false
    }
    const { results } = watching({ index: 't' })
    await eventually(() => feed.streams.length === 1)
    for (let i = 1; i <= 60; i++) {
      feed.records = [record('a', i)]
      feed.add(put('a'))
      await Bun.sleep(10)
    }
    await eventually(() => results.at(-1)?.items[0]?.updatedAt === 60)
    expect(most).toBe(1)
    expect(results.length).toBeGreaterThan(1)
    // Judged over the whole time: a busy machine may bring two requests at once that were sent 250 ms apart.
    const elapsedMs = performance.now() - startedMs
    expect(feed.queries.length).toBeLessThanOrEqual(1 + elapsedMs / 245)
  })

  test('of a hash key follows that key, and runs the query for range keys that it may be about', async () => {
    const range = { gte: 'b', lt: 'd' }
    const { results } = watching({ hash: 'ada', range })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    expect(feed.streamRequests[0]?.body).toEqual({ cursor: 'c0', hash: 'ada', select: 'keys' })
    feed.add(put('ada'), put('ada', {}, { rangeKey: 'a' }), put('ada', {}, { rangeKey: 'd' }))
    await Bun.sleep(50)
    expect(feed.queries).toHaveLength(1)
    feed.add({ op: 'delete', hashKey: 'ada', rangeKey: 'c', deletedAt: 1 })
    await eventually(() => feed.queries.length === 2)
  })

  test('runs the query when a ttl in the result passes, and for a while more rarely if the record stays', async () => {
    const ttl = Math.floor(Date.now() / 1000) + 1
    feed.records = [record('a', 1, { ttl: ttl + 3_600 }), record('b', 1, { ttl }), record('c')]
    feed.intercept = ({ path }) => {
      if (path.endsWith('/query') && feed.queries.length === 4) feed.records = [record('c')]
      return false
    }
    const { results } = watching({ index: 't' })
    await eventually(() => results.length === 2)
    expect(results[1]?.difference.removed.map(({ hashKey }) => hashKey)).toEqual(['a', 'b'])
    expect(feed.queries).toHaveLength(4)
    expect(timers.pauses.filter((ms) => ms === 500 || ms === 1_000).length).toBeGreaterThan(1)
  })

  test('survives failures of the query and of the stream', async () => {
    feed.records = [record('a')]
    let failed = 0
    feed.intercept = ({ path, isStream }, connection) => {
      const fails = failed < 5 && (path.endsWith('/query') || isStream)
      if (!fails) return false
      failed++
      if (failed % 2 === 0) connection.json(errorBody('unavailable'), 503)
      else connection.cut()
      return true
    }
    const { results } = watching({ index: 't' })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    feed.records = [record('b')]
    feed.add(put('b'))
    await eventually(() => results.length === 2)
  })

  test('begins again by itself when its cursor has expired', async () => {
    feed.records = [record('a')]
    const { results } = watching({ index: 't' })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    feed.records = [record('b')]
    let refused = 0
    feed.intercept = ({ isStream }, connection) => {
      if (!isStream || refused++ > 0) return false
      // What was committed meanwhile is told by nobody.
      feed.items.push(put('b'))
      connection.json(errorBody('cursor_expired'), 410)
      return true
    }
    feed.streams[0]!.end()
    await eventually(() => results.length === 2 && feed.streams.length === 1)
    expect(results[1]?.difference).toMatchObject({ added: [{ hashKey: 'b' }], removed: [{ hashKey: 'a' }] })
    expect(feed.requests.filter(({ body }) => body.from === 'now')).toHaveLength(2)
  })

  test('whose key may query but not follow runs the query every 5 s', async () => {
    feed.records = [record('a')]
    feed.intercept = ({ path }, connection) => path.endsWith('/changes') && connection.json(errorBody('key_scope'), 403)
    const { results } = watching({ index: 't' })
    await eventually(() => results.length === 1)
    feed.records = [record('b')]
    await eventually(() => results.length === 2)
    expect(timers.pauses).toContain(5_000)
    expect(feed.requests.filter(({ path }) => path.endsWith('/changes'))).toHaveLength(1)
  })

  test.each([
    [409, 'changes_not_kept', '/changes'],
    [404, 'table_not_found', '/changes'],
    [400, 'index_not_declared', '/query'],
    [403, 'revoked_api_key', '/'],
  ])('rejects with %d %s of %s', async (status, code, where) => {
    feed.intercept = ({ path }, connection) => path.includes(where) && connection.json(errorBody(code), status)
    expect(await failureOf(watching({ index: 'i1', hash: 'a' }).done)).toMatchObject({ status, code })
    await eventually(() => feed.streams.length === 0)
  })

  test('rejects when the stream is ended for good', async () => {
    const { results, done } = watching({ index: 't' })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    const failing = failureOf(done)
    feed.streams[0]!.write(`event: end\ndata: ${JSON.stringify(errorBody('table_not_found'))}\n\n`)
    expect(await failing).toMatchObject({ code: 'table_not_found' })
  })

  test.each(['throws', 'rejects'])('rejects with what onChange %s, and closes the stream', async (how) => {
    const error = new Error('the page is gone')
    const onChange = () => {
      if (how === 'throws') throw error
      return Promise.reject(error)
    }
    expect(await failureOf(feed.table().watch({ index: 't' }, { onChange }))).toBe(error as never)
    await eventually(() => feed.streams.length === 0)
  })

  test('waits for the promise of onChange, and tells the newest result then', async () => {
    const told: number[] = []
    let calls = 0
    feed.records = [record('a', 1)]
    feed.table().watch(
      { index: 't' },
      {
        signal: stop.signal,
        onChange: async ([item]) => {
          expect(++calls).toBe(1)
          await Bun.sleep(30)
          calls--
          told.push(item!.updatedAt)
        },
      },
    )
    await eventually(() => feed.streams.length === 1)
    for (let i = 2; i < 6; i++) {
      feed.records = [record('a', i)]
      feed.add(put('a'))
    }
    await eventually(() => told.at(-1) === 5)
    expect(told.length).toBeLessThan(5)
  })

  test('is of the first records and of their data', async () => {
    for (const field of ['cursor', 'select']) {
      const error = await failureOf(watching({ index: 't', [field]: 'keys' }).done)
      expect(error).toMatchObject({ code: 'invalid_request', field: `query.${field}`, status: 0 })
    }
    expect(feed.requests).toEqual([])
  })

  test('whose signal is aborted already sends nothing, and one that is aborted early is told nothing', async () => {
    expect(await watching({ index: 't' }, { signal: AbortSignal.abort() }).done).toBeUndefined()
    expect(feed.requests).toEqual([])
    feed.intercept = ({ path }) => {
      if (path.endsWith('/query')) stop.abort()
      return false
    }
    const { results, done } = watching({ index: 't' })
    await done
    expect(results).toEqual([])
  })
})

describe('watches together', () => {
  test('of one table share a stream, also those that come later, and the last one closes it', async () => {
    const table = feed.table()
    const stops = [new AbortController(), new AbortController(), new AbortController()]
    const queries = [{ index: 't' }, { index: 'i1', hash: 'x' }, { index: 't', limit: 5 }]
    const watches = [0, 1].map((i) => watching(queries[i]!, { table, signal: stops[i]!.signal }))
    await eventually(() => feed.streams.length === 1 && watches.every(({ results }) => results.length === 1))
    watches.push(watching(queries[2]!, { table, signal: stops[2]!.signal }))
    await eventually(() => watches[2]!.results.length === 1)
    feed.records = [record('a')]
    feed.add(put('a'))
    await eventually(() => watches.every(({ results }) => results.length === 2))
    expect(feed.requests.filter(({ path }) => path.endsWith('/changes'))).toHaveLength(2)
    stops[0]!.abort()
    stops[1]!.abort()
    await Promise.all([watches[0]!.done, watches[1]!.done])
    feed.records = [record('b')]
    feed.add(put('b'))
    await eventually(() => watches[2]!.results.length === 3)
    stops[2]!.abort()
    await eventually(() => feed.streams.length === 0)
    // A new one begins anew.
    expect(watching({ index: 't' }, { table }).results).toEqual([])
    await eventually(() => feed.streams.length === 1)
  })

  test('of other tables, hash keys and clients have streams of their own', async () => {
    const cubby = feed.cubby()
    const tables = [
      cubby.db('app').table('a'),
      cubby.db('app').table('b'),
      cubby.db('web').table('a'),
      feed.cubby().db('app').table('a'),
    ]
    for (const table of tables) watching({ index: 't' }, { table })
    for (const hash of ['x', 'y', 'x']) watching({ hash }, { table: tables[0]! })
    await eventually(() => feed.streams.length === 6)
    await Bun.sleep(30)
    expect(feed.streamRequests).toHaveLength(6)
  })

  test('all end if the stream is ended for good', async () => {
    const table = feed.table()
    const watches = [watching({ index: 't' }, { table }), watching({ index: 'i1', hash: 1 }, { table })]
    await eventually(() => feed.streams.length === 1)
    const failing = watches.map(({ done }) => failureOf(done))
    feed.streams[0]!.write(`event: end\ndata: ${JSON.stringify(errorBody('revoked_api_key'))}\n\n`)
    for (const one of failing) expect(await one).toMatchObject({ code: 'revoked_api_key' })
  })
})

describe('in a browser', () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'navigator')!
  beforeEach(() => {
    Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Mozilla/5.0 (X11)' }, configurable: true })
  })
  afterEach(() => Object.defineProperty(globalThis, 'navigator', own))

  test('at most three streams are open; the rest reads pages that do not wait, and takes a place that is free', async () => {
    const table = feed.table()
    let most = 0
    feed.intercept = ({ path, body }) => {
      most = Math.max(most, feed.streams.length)
      // Neither do waits hold connections.
      expect(path.endsWith('/changes') && body.waitSeconds).toBeFalsy()
      return false
    }
    const stops = Array.from({ length: 5 }, () => new AbortController())
    const watches = stops.map(({ signal }, i) => watching({ hash: `h${i}` }, { table, signal }))
    await eventually(() => feed.streams.length === 3 && watches.every(({ results }) => results.length === 1))
    feed.records = [record('a')]
    feed.add(put('a'))
    await eventually(() => watches.every(({ results }) => results.length === 2))
    expect(timers.pauses).toContain(5_000)
    expect(feed.streamRequests).toHaveLength(3)
    const streaming = feed.streamRequests.map(({ body }) => Number((body.hash as string).slice(1)))
    stops[streaming[0]!]!.abort()
    await eventually(() => feed.streamRequests.length === 4)
    await eventually(() => feed.streams.length === 3)
    expect(most).toBeLessThanOrEqual(3)
    for (const { signal } of stops) expect(signal).toBeDefined()
    for (const one of stops) one.abort()
    await Promise.all(watches.map(({ done }) => done))
  })

  test('loops over changes count too', async () => {
    const iterators = Array.from({ length: 4 }, () => feed.table().changes()[Symbol.asyncIterator]())
    const pending = iterators.map((iterator) => iterator.next())
    await eventually(() => feed.requests.length > 6)
    expect(feed.streams).toHaveLength(3)
    feed.add(put('a'))
    for (const one of pending) expect((await one).done).toBe(false)
    for (const iterator of iterators) await iterator.return!()
  })
})

describe('which changes concern a query by primary key', () => {
  const range = fc.oneof(
    ...['eq', 'lt', 'lte', 'gt', 'gte', 'beginsWith'].map((operator) =>
      fc.string({ unit: 'binary' }).map((text) => ({ [operator]: text })),
    ),
    fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })).map((between) => ({ between })),
    fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })).map(([gte, lt]) => ({ gte, lt })),
  )

  test('is decided by the order of the server, that of the bytes of UTF-8', () => {
    const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    const holds: Record<string, (key: string, operand: never) => boolean> = {
      eq: (key, operand: string) => order(key, operand) === 0,
      lt: (key, operand: string) => order(key, operand) < 0,
      lte: (key, operand: string) => order(key, operand) <= 0,
      gt: (key, operand: string) => order(key, operand) > 0,
      gte: (key, operand: string) => order(key, operand) >= 0,
      between: (key, [low, high]: [string, string]) => order(key, low) >= 0 && order(key, high) <= 0,
      beginsWith: (key, operand: string) => Buffer.from(key).indexOf(Buffer.from(operand)) === 0,
    }
    fc.assert(
      fc.property(range, fc.string({ unit: 'binary', minLength: 1 }), (range, rangeKey) => {
        const expected = Object.entries(range).every(([operator, operand]) =>
          holds[operator]!(rangeKey, operand as never),
        )
        const change = { op: 'put', hashKey: 'a', rangeKey, updatedAt: 1 } as const
        expect(mayConcern({ hash: 'a', range } as never, change)).toBe(expected)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a record without a range key has the key #, dates are texts, and what is not known may be anything', () => {
    const change = { op: 'delete', hashKey: 'a', deletedAt: 1 } as const
    expect(mayConcern({ hash: 'a', range: { eq: '#' } }, change)).toBe(true)
    expect(mayConcern({ hash: 'a', range: { gt: '#' } }, change)).toBe(false)
    expect(mayConcern({ hash: 'a' }, change)).toBe(true)
    expect(mayConcern({ hash: 'a', range: { near: 'x' } } as never, change)).toBe(true)
    expect(mayConcern({ index: 'i1', hash: 'a', range: { gt: '#' } }, change)).toBe(true)
    const dated = { ...change, rangeKey: '1970-01-01T00:00:00.005Z' }
    expect(mayConcern({ hash: 'a', range: { eq: new Date(5) } } as never, dated)).toBe(true)
    expect(mayConcern({ hash: 'a', range: { gt: new Date(5) } } as never, dated)).toBe(false)
  })
})
