import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type Changes, CubbyError } from '../src/index.ts'
import {
  type Connection,
  errorBody,
  eventText,
  eventually,
  FakeFeed,
  fastTimers,
  firstBytesMs,
  type Item,
  put,
  silenceMs,
} from './fake-feed.ts'
import { failureOf } from './fake-fetch.ts'

let feed: FakeFeed
let timers: ReturnType<typeof fastTimers>
beforeEach(() => {
  feed = new FakeFeed()
  timers = fastTimers()
})
afterEach(() => {
  timers.restore()
  feed.stop()
})

const many = (count: number): Item[] => Array.from({ length: count }, (_, i) => put(`k${i}`, { i, text: 'ü€🗄️' }))

/** The first items, as they come. */
const take = async <T>(changes: AsyncIterable<T>, count: number): Promise<T[]> => {
  const taken: T[] = []
  for await (const item of changes) {
    taken.push(item)
    if (taken.length === count) break
  }
  return taken
}

const keysOf = (items: unknown[]): string[] => (items as Item[]).map(({ hashKey }) => hashKey)
const names = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `k${from + i}`)

describe('a stream', () => {
  test('brings what is there and then what comes, by one request', async () => {
    feed.items.push(...many(3), { op: 'delete', hashKey: 'k1', deletedAt: 5, expired: true })
    const taking = take(feed.table().changes(), 6)
    await eventually(() => feed.streams.length === 1)
    feed.add(put('k4'), put('k5', {}, { rangeKey: 'r', ttl: 7 }))
    expect(await taking).toEqual(feed.items as never)
    expect(feed.requests).toHaveLength(1)
    expect(feed.requests[0]).toMatchObject({ path: '/v1/app/orders/changes', body: {}, isStream: true })
  })

  test('is of what the options say, and a member that is not known is for the server to refuse', async () => {
    feed.items.push(put('k0'))
    const options = { from: 'start', hash: 'ada', select: 'keys', limt: 5 } as const
    await take(feed.table().changes(options), 1)
    expect(feed.requests.map(({ body }) => body)).toEqual([options])
  })

  test('from now: the place is taken by a page first, so nothing is lost if the stream breaks before it begins', async () => {
    feed.items.push(...many(3))
    feed.intercept = ({ isStream }, connection, count) => {
      if (!isStream || count > 2) return false
      feed.items.push(put('between'))
      connection.cut()
      return true
    }
    expect(keysOf(await take(feed.table().changes({ from: 'now' }), 1))).toEqual(['between'])
    expect(feed.requests.map(({ body }) => body)).toEqual([{ from: 'now' }, { cursor: 'c3' }, { cursor: 'c3' }])
    expect(feed.requests.map(({ isStream }) => isStream)).toEqual([false, true, true])
  })

  const cuts: [string, (connection: Connection, item: Item, id: string) => void][] = [
    ['in the middle of an event', (connection, item, id) => connection.write(eventText(item, id).slice(0, -20))],
    ['before the blank line', (connection, item, id) => connection.write(eventText(item, id).slice(0, -1))],
    [
      'within a character',
      (connection, item, id) => {
        const bytes = Buffer.from(eventText(item, id))
        connection.write(bytes.subarray(0, bytes.indexOf(Buffer.from('ü')) + 1))
      },
    ],
    ['between events', () => {}],
  ]
  for (const [where, write] of cuts) {
    for (const how of ['end', 'cut'] as const) {
      test(`that ends (${how}) ${where} is opened again after the last whole event: every item comes once`, async () => {
        feed.items.push(...many(9))
        // Each brings two events and a part of the third.
        feed.intercept = async (request, connection) => {
          const from = Number(String(request.body.cursor ?? 'c0').slice(1))
          if (from > 6) return false
          connection.head()
          connection.write('retry: 5\n\n')
          for (let i = from; i < from + 2; i++) connection.write(eventText(feed.items[i]!, `c${i + 1}`))
          write(connection, feed.items[from + 2]!, `c${from + 3}`)
          // The end may overtake what was sent, which comes again then.
          await Bun.sleep(20)
          connection[how]()
          return true
        }
        expect(keysOf(await take(feed.table().changes(), 9))).toEqual(names(0, 9))
        const cursors = new Set(feed.requests.map(({ body }) => body.cursor))
        expect([...cursors]).toEqual([undefined, 'c2', 'c4', 'c6', 'c8'])
        expect(feed.requests.every(({ headers }) => headers['last-event-id'] === undefined)).toBe(true)
        expect(timers.pauses).toContain(5)
      })
    }
  }

  test('may begin with a BOM, have any line ends, and come byte by byte', async () => {
    const text = `\ufeff: hi\r\nretry: 5\r\n\r\nevent: put\rid: c1\rdata: {"op":"put",\rdata: "hashKey":"ü€🗄️"}\r\rid: c2\n\nevent: delete\r\ndata: {"op":"delete","hashKey":"b"}\r\nid: c3\r\n\r\n`
    feed.intercept = async (_, connection) => {
      connection.head('Text/Event-Stream; charset=utf-8')
      for (const byte of Buffer.from(text)) {
        connection.write(Buffer.from([byte]))
        if (byte > 127 || byte < 14) await Bun.sleep(1)
      }
      return true
    }
    const changes = feed.table().changes()
    expect(keysOf(await take(changes, 2))).toEqual(['ü€🗄️', 'b'])
  })

  test('events that are not known only move the place on', async () => {
    feed.intercept = (_, connection, count) => {
      if (count > 1) return false
      connection.head()
      connection.write('retry: 5\n\nevent: news\nid: c1\ndata: not json\n\n')
      connection.end()
      return true
    }
    feed.items.push(...many(2))
    expect(keysOf(await take(feed.table().changes(), 1))).toEqual(['k1'])
  })

  test('that is silent is taken as dead', async () => {
    timers.limits[silenceMs] = 300
    feed.intercept = (_, connection, count) => {
      if (count > 2) return false
      connection.head()
      connection.write(`retry: 5\n\n${eventText(feed.items[count - 1]!, `c${count}`)}`)
      return true
    }
    feed.items.push(...many(3))
    expect(keysOf(await take(feed.table().changes(), 3))).toEqual(names(0, 3))
    expect(feed.requests.map(({ body }) => body.cursor)).toEqual([undefined, 'c1', 'c2'])
    expect(timers.pauses.filter((ms) => ms === silenceMs).length).toBeGreaterThanOrEqual(2)
    await eventually(() => feed.streams.length === 0)
  })

  test('with comments alone is alive', async () => {
    timers.limits[silenceMs] = 1_000
    feed.intercept = async (_, connection) => {
      connection.head()
      // Longer than the silence that is allowed here.
      for (let i = 0; i < 15; i++) {
        connection.write(': here\n\n')
        await Bun.sleep(100)
      }
      connection.write(eventText(put('k0'), 'c1'))
      return true
    }
    expect(keysOf(await take(feed.table().changes(), 1))).toEqual(['k0'])
    expect(feed.requests).toHaveLength(1)
  })

  test('is not read ahead without bound', async () => {
    const item = put('large', { text: 'x'.repeat(250_000) })
    const count = 800
    let stream: Connection | undefined
    feed.intercept = (_, connection) => {
      stream = connection
      connection.head()
      const text = Buffer.from(eventText(item, 'c1'))
      for (let i = 0; i < count; i++) connection.write(text)
      return true
    }
    const iterator = feed.table().changes()[Symbol.asyncIterator]()
    await iterator.next()
    let before = -1
    // Until nothing moves any more.
    for (let same = 0; same < 20; same = stream!.waiting === before ? same + 1 : 0) {
      before = stream!.waiting
      await Bun.sleep(20)
    }
    const taken = count * 250_000 - stream!.waiting
    console.log(`bytes taken while the loop holds the first item: ${taken} of ${count * 250_000}`)
    expect(taken).toBeLessThan((count * 250_000) / 4)
    for (let i = 1; i < 100; i++) expect((await iterator.next()).done).toBe(false)
    await iterator.return!()
  })

  test('that is cut because the loop is slow goes on without a gap', async () => {
    feed.items.push(...many(400).map((item) => ({ ...item, data: { text: 'x'.repeat(20_000) } })))
    const met: string[] = []
    for await (const { hashKey } of feed.table().changes()) {
      met.push(hashKey)
      if (met.length % 100 === 50) for (const stream of feed.streams) stream.cut()
      if (met.length === 400) break
    }
    expect(met).toEqual(names(0, 400))
    expect(feed.requests.length).toBeGreaterThan(1)
  })
})

describe('the cursor', () => {
  test('moves on when the loop asks for the next item, and never to one that is being handled', async () => {
    feed.items.push(...many(3))
    const changes = feed.table().changes()
    expect(changes.cursor).toBeNull()
    const seen: (string | null)[] = []
    for await (const _ of changes) {
      seen.push(changes.cursor)
      await Bun.sleep(10)
      seen.push(changes.cursor)
      if (seen.length === 6) break
    }
    expect(seen).toEqual([null, null, 'c1', 'c1', 'c2', 'c2'])
    // The last item was perhaps not handled: it comes again.
    expect(changes.cursor).toBe('c2')
    expect(keysOf(await take(changes, 1))).toEqual(['k2'])
    expect(feed.requests.at(-1)?.body).toEqual({ cursor: 'c2' })
  })

  test('moves on while the table is quiet, and with a place alone', async () => {
    feed.items.push(put('k0'))
    const changes = feed.table().changes({ cursor: null })
    const iterator = changes[Symbol.asyncIterator]()
    await iterator.next()
    expect(changes.cursor).toBeNull()
    const pending = iterator.next()
    await eventually(() => changes.cursor === 'c1')
    feed.streams[0]!.write('id: c77\n\n')
    await eventually(() => changes.cursor === 'c77')
    await iterator.return!()
    expect(await pending).toEqual({ done: true, value: undefined })
  })

  test('is where it begins', async () => {
    feed.items.push(...many(3))
    const changes = feed.table().changes({ cursor: 'c2' })
    expect(changes.cursor).toBe('c2')
    expect(keysOf(await take(changes, 1))).toEqual(['k2'])
  })

  test('given together with from is refused', async () => {
    const error = await failureOf(take(feed.table().changes({ cursor: 'c2', from: 'now' }), 1))
    expect(error).toMatchObject({ code: 'invalid_request', field: 'from', status: 0 })
    expect(feed.requests).toEqual([])
  })

  test('of pages moves on with the last item of the page only', async () => {
    feed.items.push(...many(3))
    feed.intercept = ({ isStream }, connection) => isStream && connection.json({})
    const changes = feed.table().changes()
    const seen: (string | null)[] = []
    for await (const _ of changes) {
      seen.push(changes.cursor)
      if (seen.length === 3) break
    }
    expect(seen).toEqual([null, null, 'c2'])
  })
})

describe('ends', () => {
  const open = async (changes: Changes<unknown>) => {
    const iterator = changes[Symbol.asyncIterator]()
    const pending = iterator.next()
    await eventually(() => feed.streams.length === 1)
    return { iterator, pending }
  }

  test('break closes the connection', async () => {
    feed.items.push(...many(3))
    await take(feed.table().changes(), 2)
    await eventually(() => feed.requests.length === 1 && feed.streams.length === 0)
  })

  test('an error in the loop closes the connection', async () => {
    feed.items.push(put('k0'))
    const failing = async () => {
      for await (const { hashKey } of feed.table().changes()) throw new Error(hashKey)
    }
    expect(failing()).rejects.toThrow('k0')
    await eventually(() => feed.requests.length === 1 && feed.streams.length === 0)
  })

  test('the signal ends the loop and closes the connection, also while nothing comes', async () => {
    const controller = new AbortController()
    const { pending } = await open(feed.table().changes({ signal: controller.signal }))
    controller.abort(new Error('enough'))
    expect(await pending).toEqual({ done: true, value: undefined })
    await eventually(() => feed.streams.length === 0)
  })

  test('the signal ends the loop before the items that have arrived already', async () => {
    feed.items.push(...many(9))
    const controller = new AbortController()
    const changes = feed.table().changes({ signal: controller.signal })
    let count = 0
    for await (const _ of changes) if (++count === 2) controller.abort()
    expect(count).toBe(2)
    expect(changes.cursor).toBe('c2')
  })

  test('the signal ends a pause and a wait', async () => {
    for (const answer of ['cut', 'wait'] as const) {
      const controller = new AbortController()
      feed.intercept = ({ isStream }, connection) => {
        if (answer === 'cut') connection.cut()
        else if (isStream) connection.json({})
        setTimeout(() => controller.abort(), 30)
        return answer === 'cut' || isStream
      }
      expect(await take(feed.table().changes({ signal: controller.signal }), 1)).toEqual([])
    }
  })

  test('a signal that is aborted already sends nothing', async () => {
    expect(await take(feed.table().changes({ signal: AbortSignal.abort() }), 1)).toEqual([])
    expect(feed.requests).toEqual([])
  })

  test('leaves no listeners at the signal', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners++
      add(...given)
    }
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners--
      remove(...given)
    }
    feed.items.push(put('k0'))
    await take(feed.table().changes({ signal }), 1)
    expect(listeners).toBe(0)
  })

  test('return ends a loop that waits for an item', async () => {
    const { iterator, pending } = await open(feed.table().changes())
    expect(await iterator.return!()).toEqual({ done: true, value: undefined })
    expect(await pending).toEqual({ done: true, value: undefined })
    await eventually(() => feed.streams.length === 0)
  })

  // `unavailable`: it is old, or the server stops. `internal`: a fault of the server, as a page with 500.
  test.each(['unavailable', 'internal'])('a stream that the server ends with %s is opened again', async (code) => {
    feed.items.push(...many(2))
    feed.intercept = (_, connection, count) => {
      if (count > 1) return false
      connection.head()
      const end = `event: end\ndata: ${JSON.stringify(errorBody(code))}\n\n`
      connection.write(`retry: 5\n\n${eventText(feed.items[0]!, 'c1')}${end}`)
      connection.end()
      return true
    }
    expect(keysOf(await take(feed.table().changes(), 2))).toEqual(['k0', 'k1'])
  })

  test.each(['revoked_api_key', 'table_not_found', 'changes_not_kept'])(
    'a stream that ends with %s is an error, after the items before it',
    async (code) => {
      feed.items.push(put('k0'))
      const changes = feed.table().changes()
      const met: string[] = []
      const taking = async () => {
        for await (const { hashKey } of changes) met.push(hashKey)
      }
      const failing = failureOf(taking())
      await eventually(() => met.length === 1)
      feed.streams[0]!.write(`event: end\ndata: ${JSON.stringify(errorBody(code))}\n\n`)
      const error = await failing
      expect(error).toBeInstanceOf(CubbyError)
      expect(error).toMatchObject({ code, message: `It is ${code}.`, hint: 'A hint.', requestId: 'r-1', status: 200 })
      expect(feed.requests).toHaveLength(1)
      expect(changes.cursor).toBe('c1')
      await eventually(() => feed.streams.length === 0)
    },
  )

  test.each([
    [410, 'cursor_expired'],
    [409, 'changes_not_kept'],
    [403, 'revoked_api_key'],
    [404, 'table_not_found'],
    [400, 'invalid_cursor'],
    [500, 'store_damaged'],
  ])('%d %s is an error at once', async (status, code) => {
    feed.intercept = (_, connection) => {
      connection.json(errorBody(code), status)
      return true
    }
    expect(await failureOf(take(feed.table().changes(), 1))).toMatchObject({ status, code })
    expect(feed.requests).toHaveLength(1)
  })
})

describe('failures', () => {
  test('are repeated until the server is back, with pauses that grow, have a random part and a bound', async () => {
    feed.intercept = (_, connection, count) => {
      if (count > 12) return false
      if (count % 3 === 0) connection.json(errorBody('internal'), 500)
      else if (count % 3 === 1) connection.json(errorBody('unavailable'), 503)
      else connection.cut()
      return true
    }
    feed.items.push(put('k0'))
    expect(await take(feed.table().changes(), 1)).toHaveLength(1)
    expect(feed.requests).toHaveLength(13)
    const pauses = timers.pauses.filter((ms) => ![firstBytesMs, silenceMs].includes(ms) && ms >= 1_000 && ms < 100_000)
    expect(pauses).toHaveLength(12)
    expect(pauses[0]).toBe(1_000)
    for (const [i, ms] of pauses.entries()) {
      const mostMs = Math.min(30_000, 1_000 * 2 ** i)
      expect(ms).toBeLessThanOrEqual(mostMs)
      expect(ms).toBeGreaterThanOrEqual(mostMs / 2)
    }
    expect(new Set(pauses.slice(6)).size).toBeGreaterThan(1)
  })

  test('are repeated no sooner than the server asks for', async () => {
    feed.intercept = (_, connection, count) => {
      if (count > 1) return false
      connection.json(errorBody('unavailable'), 503, 'retry-after: 7\r\n')
      return true
    }
    feed.items.push(put('k0'))
    expect(await take(feed.table().changes(), 1)).toHaveLength(1)
    expect(timers.pauses).toContain(7_000)
  })

  test('of a proxy are repeated too', async () => {
    feed.intercept = (_, connection, count) => {
      if (count > 2) return false
      connection.write(
        `HTTP/1.1 ${count === 1 ? '502 Bad' : '200 OK'}\r\ncontent-type: text/html\r\ncontent-length: 4\r\nconnection: close\r\n\r\n<p>!`,
      )
      connection.end()
      return true
    }
    feed.items.push(put('k0'))
    expect(await take(feed.table().changes(), 1)).toHaveLength(1)
    expect(feed.requests.map(({ isStream }) => isStream)).toEqual([true, true, true])
  })
})

describe('where streams do not come through', () => {
  const expectWaits = async (expectedStreams: number) => {
    feed.items.push(...many(3))
    const met: string[] = []
    for await (const { hashKey } of feed.table().changes()) {
      met.push(hashKey)
      if (met.length === 3) setTimeout(() => feed.add(put('k3'), put('k4')), 30)
      if (met.length === 5) break
    }
    expect(met).toEqual(names(0, 5))
    expect(feed.streamRequests).toHaveLength(expectedStreams)
    const pages = feed.requests.slice(expectedStreams).map(({ body }) => body)
    // The first page does not wait.
    expect(pages[0]).toEqual({})
    expect(pages[1]).toEqual({ cursor: 'c2', waitSeconds: 20 })
    expect(pages.at(-1)).toEqual({ cursor: 'c3', waitSeconds: 20 })
  }

  test('because the answer is no stream', async () => {
    feed.intercept = ({ isStream }, connection) =>
      isStream && connection.json({ items: [], count: 0, cursor: 'c0', more: true })
    await expectWaits(1)
  })

  test('because a proxy holds back all of it, pages wait', async () => {
    timers.limits[firstBytesMs] = 300
    feed.intercept = ({ isStream }) => isStream
    await expectWaits(1)
  })

  test('because a proxy holds back all but the head, pages wait', async () => {
    timers.limits[firstBytesMs] = 300
    feed.intercept = ({ isStream }, connection) => isStream && connection.head()
    await expectWaits(1)
  })

  test('because they end without an event again and again, pages wait', async () => {
    feed.intercept = ({ isStream }, connection) => {
      if (isStream) connection.head()
      if (isStream) connection.write('retry: 5\n\n: nothing\n\n')
      if (isStream) connection.end()
      return isStream
    }
    await expectWaits(3)
  })

  test('a wait that fails is no proof: a stream is tried again', async () => {
    timers.limits[firstBytesMs] = 500
    let answers = 0
    feed.intercept = ({ isStream }, connection) => {
      if (++answers === 1) return isStream
      if (answers === 2) connection.cut()
      return answers === 2
    }
    feed.items.push(put('k0'))
    expect(await take(feed.table().changes(), 1)).toHaveLength(1)
    expect(feed.requests.map(({ isStream }) => isStream)).toEqual([true, false, true])
  })

  test('a server that answers waits at once is not asked at once again', async () => {
    feed.intercept = ({ isStream, body }, connection) => {
      if (!isStream && feed.items.length > 0) return false
      connection.json({ items: [], count: 0, cursor: body.cursor ?? 'c0', more: false })
      return true
    }
    const taking = take(feed.table().changes(), 1)
    await eventually(() => feed.requests.length === 4)
    expect(timers.pauses.filter((ms) => ms > 500 && ms <= 1_000).length).toBeGreaterThan(0)
    feed.add(put('k0'))
    await taking
  })
})
