import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Cubby, CubbyError, type LoadOptions, type LoadResponse, type LoadSource, type Table } from '../src/index.ts'
import { LoadError } from '../src/load.ts'
import { broken, json, key, type Reply, refused, silence, url } from './fake-fetch.ts'
import { fakeTimers } from './fake-timers.ts'
import { type RealServer, startRealServer } from './real-server.ts'

type Data = Record<string, unknown>

const indices = { i1: { hashField: 'status' } } as const

const loadFailure = async (work: Promise<unknown>): Promise<LoadError> => {
  const error = await work.then(
    () => undefined,
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(LoadError)
  expect(error).toBeInstanceOf(CubbyError)
  return error as LoadError
}

const records = (count: number) => Array.from({ length: count }, (_, i) => ({ hashKey: `k${i}`, data: { i } as Data }))

const linesOf = (count: number): string =>
  records(count)
    .map((record) => `${JSON.stringify(record)}\n`)
    .join('')

const streamOf = <Item>(items: Item[]): ReadableStream<Item> =>
  new ReadableStream({
    start(controller) {
      for (const item of items) controller.enqueue(item)
      controller.close()
    },
  })

/** Bytes in chunks of this length: they end anywhere, also within a character. */
const bytesOf = (text: string, chunkBytes: number): Uint8Array[] => {
  const bytes = new TextEncoder().encode(text)
  return Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, i) =>
    bytes.slice(i * chunkBytes, (i + 1) * chunkBytes),
  )
}

describe('with a server', () => {
  let server: RealServer
  let cubby: Cubby
  let tables = 0

  beforeAll(async () => {
    server = await startRealServer()
    cubby = server.cubby()
  }, 120_000)
  afterAll(() => server?.stop(), 30_000)

  const newTable = async () => {
    const name = `orders-${++tables}`
    await cubby.db('app').tables.create(name, { indices })
    return { name, table: cubby.db('app').table<Data, typeof indices>(name) }
  }

  const countIn = (table: Table<Data, typeof indices>): Promise<number> => table.count({ index: 't' })

  const sources: [string, () => LoadSource<Data>][] = [
    ['an array', () => records(2_500)],
    [
      'a generator',
      function* () {
        yield* records(2_500)
      },
    ],
    [
      'an async generator',
      async function* () {
        yield* records(2_500)
      },
    ],
    ['a stream of records', () => streamOf(records(2_500))],
    ['a stream of bytes', () => streamOf(bytesOf(linesOf(2_500), 1_000))],
    ['a stream of bytes in one chunk', () => streamOf(bytesOf(linesOf(2_500), 1e9))],
    [
      'an async iterable of bytes',
      async function* () {
        yield* bytesOf(linesOf(2_500), 4_099)
      },
    ],
    ['an array with bytes', () => bytesOf(linesOf(2_500), 100_000)],
  ]
  test.each(sources)('the records of %s are stored, and counted', async (_, source) => {
    const { table } = await newTable()
    expect(await table.load(source())).toEqual({ count: 2_500, skipped: 0, failed: 0, errors: [] })
    expect(await countIn(table)).toBe(2_500)
    expect((await table.find(['k0', 'k999', 'k1000', 'k2499'])).map((record) => record?.data.i)).toEqual([
      0, 999, 1_000, 2_499,
    ])
  })

  test('of two records with one key the later one wins, within a request and across them', async () => {
    const { table } = await newTable()
    const many = Array.from({ length: 2_400 }, (_, i) => ({ hashKey: `k${i % 7}`, data: { i } }))
    expect((await table.load(many)).count).toBe(2_400)
    const found = await table.find(Array.from({ length: 7 }, (_, i) => `k${i}`))
    expect(found.map((record) => record!.data.i as number).sort()).toEqual([
      2_393, 2_394, 2_395, 2_396, 2_397, 2_398, 2_399,
    ])
  })

  test('a record is written as save writes it: dates, range key, ttl, and one that was read', async () => {
    const { table } = await newTable()
    const ttl = new Date(Date.now() + 3_600_000)
    await table.load([
      { hashKey: 'a', rangeKey: 'b', data: { at: new Date(5) }, ttl },
      { hashKey: 'c', data: {} },
    ])
    const read = (await table.findOne({ hashKey: 'a', rangeKey: 'b' }))!
    expect(read).toMatchObject({ data: { at: '1970-01-01T00:00:00.005Z' }, ttl: Math.ceil(+ttl / 1000) })
    expect(await table.load([read])).toMatchObject({ count: 1, failed: 0 })
  })

  test('bytes are stored as they are: all digits, characters that chunks cut, lines that are blank or do not end', async () => {
    const { name, table } = await newTable()
    const text =
      '\ufeff{"hashKey":"ü","data":{"n":12345678901234567890.10}}\r\n\n  \n{"hashKey":"b","data":{"text":"€"}}'
    expect(await table.load(streamOf(bytesOf(text, 1)))).toMatchObject({ count: 2, failed: 0 })
    const answer = await fetch(`${server.url}/v1/app/${name}/${encodeURIComponent('ü')}`, {
      headers: { authorization: `Bearer ${server.secretKey}` },
    })
    expect(await answer.text()).toContain('"data":{"n":12345678901234567890.10}')
    expect((await table.findOne('b'))?.data).toEqual({ text: '€' })
  })

  test('a refused line ends the load: the error names it, those before it are stored, nothing after it', async () => {
    const { table } = await newTable()
    let isClosed = false
    const source = function* () {
      try {
        yield* records(1_500)
        yield { hashKey: 'bad', data: { status: null } }
        yield* records(5_000).slice(1_500)
      } finally {
        isClosed = true
      }
    }
    const error = await loadFailure(table.load(source()))
    const message = 'data.status is null; index i1 takes a string, number or boolean.'
    expect(error).toMatchObject({
      name: 'LoadError',
      code: 'invalid_index_value',
      field: 'data.status',
      message: `Line 1501: ${message}`,
      line: 1_501,
      count: 1_500,
    })
    expect(error.result).toEqual({
      count: 1_500,
      skipped: 0,
      failed: 1,
      errors: [{ line: 1_501, code: 'invalid_index_value', field: 'data.status', message }],
    })
    expect(isClosed).toBe(true)
    expect(await countIn(table)).toBe(1_500)
  })

  test('with onError skip refused lines are left out: all are counted, the first 100 are named by their lines', async () => {
    const { table } = await newTable()
    const some = records(2_500).map((record, i) => (i % 10 === 7 ? { ...record, data: { status: null } } : record))
    const { errors, ...counts } = await table.load(some, { onError: 'skip' })
    expect(counts).toEqual({ count: 2_250, skipped: 0, failed: 250 })
    expect(errors.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, i) => 10 * i + 8))
    expect(await countIn(table)).toBe(2_250)
    // Blank lines count too, here in the second request.
    const bytes = bytesOf(`${'\n'.repeat(1_200)}{}\n`, 100)
    expect((await table.load(bytes, { onError: 'skip' })).errors).toMatchObject([{ line: 1_201, code: 'invalid_key' }])
  })

  test('with ifAbsent records that exist are left alone', async () => {
    const { table } = await newTable()
    await table.load([{ hashKey: 'k3', data: { own: true } }])
    const result = await table.load(records(1_200), { ifAbsent: true })
    expect(result).toEqual({ count: 1_199, skipped: 1, failed: 0, errors: [] })
    expect((await table.findOne('k3'))?.data).toEqual({ own: true })
  })

  test('a member that is not known is refused by its name: a condition is not lost', async () => {
    const { table } = await newTable()
    const error = await loadFailure(table.load([{ hashKey: 'a', data: {}, ifAbsent: true } as never]))
    expect(error).toMatchObject({ code: 'invalid_request', field: 'ifAbsent', line: 1, count: 0 })
    const options = { ifMatch: 5 } as LoadOptions
    expect(await loadFailure(table.load(records(1), options))).toMatchObject({ field: 'ifMatch', status: 400 })
    expect(await countIn(table)).toBe(0)
  })

  test('a line longer than any that is stored is refused alone, and its rest is not kept', async () => {
    const { table } = await newTable()
    const long = `{"hashKey":"long","data":{"text":"${'x'.repeat(9_000_000)}"}}`
    const text = `{"hashKey":"a","data":{}}\n${long}\n{"hashKey":"b","data":{}}\n`
    const result = await table.load(streamOf(bytesOf(text, 100_000)), { onError: 'skip' })
    expect(result).toMatchObject({ count: 2, failed: 1, errors: [{ line: 2, code: 'body_too_large' }] })
  })

  test('nothing is sent for no records', async () => {
    const { table } = await newTable()
    expect(await table.load([])).toEqual({ count: 0, skipped: 0, failed: 0, errors: [] })
    expect(await table.load(streamOf<Uint8Array>([]))).toMatchObject({ count: 0 })
  })

  test('an API key that is revoked during a load ends it: the error says how many lines are stored', async () => {
    const { name, table } = await newTable()
    const { id, key } = await cubby.keys.create({ kind: 'secret' })
    const own = server.cubby({ key }).db('app').table(name)
    const source = async function* () {
      yield* records(1_000)
      yield { hashKey: 'after', data: {} }
      await cubby.keys.revoke(id)
      yield* records(10)
    }
    const error = await loadFailure(own.load(source()))
    expect(error).toMatchObject({ code: 'revoked_api_key', status: 403, line: 1_001, count: 1_000 })
    expect(await countIn(table)).toBe(1_000)
  })
})

describe('requests', () => {
  let timers: ReturnType<typeof fakeTimers>
  beforeEach(() => {
    timers = fakeTimers(0.5)
  })
  afterEach(() => timers.restore())

  const stored = (count: number): Response => json({ count, skipped: 0, failed: 0, errors: [] })

  /** A table whose requests are answered by these replies, one each, or by a function of their lines. */
  const fakeTable = (replies: Reply[] | ((lines: string[], signal: AbortSignal) => Reply | Promise<Reply>)) => {
    const sent: { path: string; type: string; lines: string[]; bytes: number }[] = []
    const fetch = async (target: string, init: RequestInit) => {
      const text = await new Response(init.body).text()
      const lines = text.replace(/\n$/, '').split('\n')
      const type = new Headers(init.headers).get('content-type')!
      sent.push({ path: target.slice(url.length), type, lines, bytes: text.length })
      init.signal!.throwIfAborted()
      const reply = Array.isArray(replies) ? replies[sent.length - 1]! : await replies(lines, init.signal!)
      if (reply instanceof Error) throw reply
      return reply
    }
    return { table: new Cubby({ url, key, fetch }).db('app').table('orders'), sent }
  }

  test('have at most 1,000 lines, and at most 1 MiB and one line', async () => {
    const { table, sent } = fakeTable((lines) => stored(lines.length))
    expect((await table.load(records(2_001))).count).toBe(2_001)
    expect(sent.map(({ lines }) => lines.length)).toEqual([1_000, 1_000, 1])
    expect(sent[0]).toMatchObject({ path: '/v1/app/orders/load', type: 'application/x-ndjson' })
    sent.length = 0
    const large = Array.from({ length: 9 }, (_, i) => ({ hashKey: `${i}`, data: { text: 'x'.repeat(400_000) } }))
    await table.load(large)
    expect(sent.map(({ lines }) => lines.length)).toEqual([3, 3, 3])
    sent.length = 0
    const options = { onError: 'skip', retries: 1, timeoutMs: 60_000, repeatWrites: true } as const
    await table.load(bytesOf(large.map((one) => JSON.stringify(one)).join('\n'), 65_536), options)
    expect(sent.map(({ lines }) => lines.length)).toEqual([3, 3, 3])
    expect(sent[2]).toMatchObject({ path: '/v1/app/orders/load?onError=skip', type: 'application/x-ndjson' })
  })

  test('have no more than 2 MiB of a line, and the next line is in the next request', async () => {
    const { table, sent } = fakeTable((lines) => stored(lines.length))
    const text = `${'x'.repeat(9_000_000)}\n${'y'.repeat(9_000_000)}\nz`
    await table.load(streamOf(bytesOf(text, 1_000_000)))
    expect(sent.map(({ lines, bytes }) => [lines.length, bytes])).toEqual([
      [1, 2 * 1024 * 1024],
      [1, 2 * 1024 * 1024],
      [1, 1],
    ])
  })

  test.each([
    ['records', () => records(1_500)],
    ['bytes', () => streamOf(bytesOf(linesOf(1_500), 900))],
  ])('of %s that get no answer are sent again, unchanged', async (_, source) => {
    const { table, sent } = fakeTable([broken(), stored(1_000), broken(), broken(), stored(500)])
    expect((await table.load(source())).count).toBe(1_500)
    expect(sent.map(({ lines }) => lines.length)).toEqual([1_000, 1_000, 500, 500, 500])
    expect(sent[1]).toEqual(sent[0]!)
    expect(sent[4]).toEqual(sent[2]!)
  })

  test('that are refused for want of room are sent again, even if a part of them is stored', async () => {
    const busy = refused(503, 'unavailable', { count: 300 }, { 'retry-after': '1' })
    const { table, sent } = fakeTable([busy, stored(10)])
    expect((await table.load(records(10))).count).toBe(10)
    expect(sent).toHaveLength(2)
    expect(timers.pauses.some((ms) => ms >= 1_000 && ms < 30_000)).toBe(true)
  })

  test('that fail end the load: count and line are those of the whole', async () => {
    const full = refused(507, 'storage_full', { count: 300, hint: 'Make room.' })
    const { table, sent } = fakeTable([stored(1_000), full])
    const error = await loadFailure(table.load(records(5_000)))
    expect(error).toMatchObject({ code: 'storage_full', status: 507, hint: 'Make room.', requestId: 'req-1' })
    expect(error).toMatchObject({ count: 1_300, line: 1_001, result: { count: 1_300, failed: 0 } })
    expect(error.message).toBe('From line 1001 on: It is storage_full.')
    expect(error.cause).toMatchObject({ name: 'CubbyError', code: 'storage_full', count: 300 })
    expect(sent).toHaveLength(2)
  })

  test('that never get an answer leave the outcome unknown', async () => {
    const { table, sent } = fakeTable([stored(1_000), broken(), broken()])
    const error = await loadFailure(table.load(records(1_001), { retries: 1 }))
    expect(error).toMatchObject({ code: 'outcome_unknown', status: 0, count: 1_000, line: 1_001 })
    expect(sent).toHaveLength(3)
  })

  test('are reported by onProgress with the counts so far, and an error of it ends the load', async () => {
    const { table } = fakeTable((lines) => stored(lines.length))
    const told: LoadResponse[] = []
    await table.load(records(2_500), { onProgress: (progress) => told.push(progress) })
    expect(told.map(({ count }) => count)).toEqual([1_000, 2_000, 2_500])
    const cause = new Error('no terminal')
    const onProgress = () => {
      throw cause
    }
    const error = await loadFailure(table.load(records(2_500), { onProgress }))
    expect(error.cause).toBe(cause)
    expect(error).toMatchObject({ code: 'invalid_request', count: 1_000, line: 1_001 })
  })

  test('are sent while the source is read: it is not read to its end first', async () => {
    const { table, sent } = fakeTable((lines) => stored(lines.length))
    const source = async function* () {
      yield* records(1_000)
      // The request of these lines is sent before the next line is read.
      yield { hashKey: `sent: ${sent.length}`, data: {} }
    }
    await table.load(source())
    expect(JSON.parse(sent[1]!.lines[0]!).hashKey).toBe('sent: 1')
  })

  test('a source that fails ends the load with its own error as the cause', async () => {
    const cause = new Error('the disk is gone')
    const source = async function* () {
      yield* records(1_200)
      throw cause
    }
    const { table, sent } = fakeTable((lines) => stored(lines.length))
    const error = await loadFailure(table.load(source()))
    expect(error.cause).toBe(cause)
    expect(error).toMatchObject({ message: 'From line 1001 on: the disk is gone', count: 1_000, line: 1_001 })
    expect(sent).toHaveLength(1)
  })

  test('a source that fails because another load did is told from this load', async () => {
    const other = fakeTable([
      json({ count: 7, skipped: 0, failed: 1, errors: [{ line: 8, code: 'invalid_ttl', message: '' }] }),
    ])
    const source = async function* () {
      yield* records(1_000)
      await other.table.load(records(9))
    }
    const error = await loadFailure(fakeTable((lines) => stored(lines.length)).table.load(source()))
    expect(error).toMatchObject({ code: 'invalid_ttl', count: 1_000, line: 1_001, cause: { count: 7, line: 8 } })
  })

  test.each([
    ['source', 1_000],
    ['server', 0],
  ])('a signal ends it while the %s is silent, and closes the source', async (silent, count) => {
    const controller = new AbortController()
    const reason = new Error('enough')
    let isClosed = false
    const source = new ReadableStream<{ hashKey: string; data: Data }>({
      start(stream) {
        for (const record of records(1_000)) stream.enqueue(record)
      },
      pull: () => new Promise(() => {}),
      cancel() {
        isClosed = true
      },
    })
    const { table } = fakeTable((lines, signal) => {
      queueMicrotask(() => controller.abort(reason))
      return silent === 'server' ? silence(signal) : stored(lines.length)
    })
    const error = await loadFailure(table.load(source, { signal: controller.signal }))
    expect(error).toMatchObject({ code: 'outcome_unknown', cause: reason, count, line: count + 1 })
    expect(isClosed).toBe(true)
  })

  test('a signal that is aborted already sends nothing', async () => {
    const { table, sent } = fakeTable([])
    const reason = new Error('enough')
    expect(table.load(records(1), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(sent).toEqual([])
  })

  test.each([
    ['a record alone', { hashKey: 'a', data: {} }, 'takes an array'],
    ['nothing', undefined, 'takes an array'],
    ['a text', '{"hashKey":"a","data":{}}', 'has a string'],
    ['bytes alone', new Uint8Array(5), 'has a number'],
    ['an array with null', [null], 'has null'],
  ])('%s is refused before anything is sent', async (_, source, said) => {
    const { table, sent } = fakeTable([])
    const error = await loadFailure(table.load(source as never))
    expect(error).toMatchObject({ code: 'invalid_request', field: 'records', message: expect.stringContaining(said) })
    expect(sent).toEqual([])
  })

  test('a value that JSON cannot represent ends the load', async () => {
    const { table } = fakeTable((lines) => stored(lines.length))
    const some: { hashKey: string; data: Data }[] = records(1_500)
    some[1_200]!.data = { i: 1n }
    const error = await loadFailure(table.load(some))
    expect(error.cause).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ code: 'invalid_request', count: 1_000, line: 1_001 })
  })
})
