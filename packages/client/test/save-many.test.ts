import { describe, expect, test } from 'bun:test'
import { SaveError, type SaveProgress } from '../src/index.ts'
import { broken, failureOf, fakeCubby, json, type Reply, refused, type SentRequest, silence } from './fake-fetch.ts'

const names = (n: number) => Array.from({ length: n }, (_, i) => ({ hashKey: `k${i}`, data: { i } }))
const applied = ({ body }: SentRequest) => json({ count: body!.operations!.length })
const sizes = (requests: SentRequest[]) => requests.map(({ body }) => body!.operations!.length)
const holds = ({ body }: SentRequest, hashKey: string) => body!.operations!.some((one) => one.hashKey === hashKey)

/** Answers wait until they are let go, so that the order of events is the test's. */
const gate = () => {
  const waiting: { request: SentRequest; answer: (reply: Reply) => void }[] = []
  const client = fakeCubby((request) => new Promise<Reply>((answer) => void waiting.push({ request, answer })))
  const settle = async () => {
    for (let i = 0; i < 50; i++) await Promise.resolve()
  }
  return { ...client, waiting, settle }
}

describe('chunks', () => {
  test.each([
    [0, []],
    [1, [1]],
    [25, [25]],
    [26, [25, 1]],
    [60, [25, 25, 10]],
  ])('%d records go in batches of %p', async (n, expected) => {
    const { table, requests } = fakeCubby(applied)
    const result = await table.save(names(n))
    expect(sizes(requests)).toEqual(expected)
    expect(requests.every(({ method, path }) => `${method} ${path}` === 'POST /v1/app/orders/batch')).toBe(true)
    expect(requests.flatMap(({ body }) => body!.operations)).toEqual(
      names(n).map((record) => ({ op: 'put', ...record })),
    )
    expect(result.saved).toBe(n)
    expect(result.chunks.map(({ from, to, status }) => [from, to, status])).toEqual(
      expected.map((size, i) => [25 * i, 25 * i + size, 'applied']),
    )
  })

  test('a batch body never passes 12 MiB', async () => {
    const { table, requests } = fakeCubby(applied)
    // Two bytes a character in UTF-8: counting characters would let twice as much through.
    const records = names(25).map((record) => ({ ...record, data: { text: 'ü'.repeat(500_000) } }))
    await table.save(records)
    expect(sizes(requests)).toEqual([12, 12, 1])
    for (const { text } of requests) expect(Buffer.byteLength(text!)).toBeLessThanOrEqual(12 * 1024 * 1024)
  })

  test('a body of exactly 12 MiB is one request, a byte more are two', async () => {
    const limit = 12 * 1024 * 1024
    const [first, second] = names(2)
    const fill = async (extra: number) => {
      const { table, requests } = fakeCubby(applied)
      const data = (text: string) => [{ ...first!, data: { text } }, second!]
      await table.save(data(''))
      const bare = Buffer.byteLength(requests.pop()!.text!)
      await table.save(data('x'.repeat(limit - bare + extra)))
      return { sizes: sizes(requests), bytes: Buffer.byteLength(requests[0]!.text!) }
    }
    expect(await fill(0)).toEqual({ sizes: [2], bytes: limit })
    expect((await fill(1)).sizes).toEqual([1, 1])
  })

  test('a record too large for any request is sent alone, for the server to refuse', async () => {
    const { table, requests } = fakeCubby((request) =>
      request.text!.length > 12e6 ? refused(413, 'body_too_large') : applied(request),
    )
    const [a, b] = names(2)
    const error = await failureOf(table.save([a!, { ...b!, data: { text: 'x'.repeat(13e6) } }]))
    expect(error).toMatchObject({ code: 'body_too_large', status: 413 })
    expect(sizes(requests)).toEqual([1, 1])
  })
})

describe('the same key twice', () => {
  test('goes in separate requests, the later after the earlier is applied', async () => {
    const { table, waiting, settle } = gate()
    const saving = table.save([
      { hashKey: 'a', data: { n: 1 } },
      { hashKey: 'b', data: { n: 2 } },
      { hashKey: 'a', data: { n: 3 } },
      { hashKey: 'a', rangeKey: '#', data: { n: 4 } },
      { hashKey: 'a', rangeKey: 'x', data: { n: 5 } },
    ])
    for (const expected of [[1, 2], [3], [4, 5]]) {
      await settle()
      expect(waiting).toHaveLength(1)
      const { request, answer } = waiting.pop()!
      expect(request.body!.operations!.map(({ data }) => (data as { n: number }).n)).toEqual(expected)
      answer(applied(request))
    }
    expect((await saving).chunks).toEqual([
      { from: 0, to: 2, status: 'applied' },
      { from: 2, to: 3, status: 'applied' },
      { from: 3, to: 5, status: 'applied' },
    ])
  })

  test('keeps the order of chunks that share a key, while others are sent at once', async () => {
    const { table, waiting, settle } = gate()
    // 'k0' is in the first chunk and in the third.
    const records = names(75)
    records[60] = { hashKey: 'k0', data: { i: 60 } }
    const saving = table.save(records)
    await settle()
    expect(waiting).toHaveLength(2)
    // The second chunk is done, the first is not: the third still waits.
    const [first, second] = waiting.splice(0)
    second!.answer(applied(second!.request))
    await settle()
    expect(waiting).toHaveLength(0)
    first!.answer(applied(first!.request))
    await settle()
    expect(waiting).toHaveLength(1)
    waiting[0]!.answer(applied(waiting[0]!.request))
    expect((await saving).saved).toBe(75)
  })

  test('the later is not sent when the earlier failed', async () => {
    const { table, requests } = fakeCubby([broken()])
    const error = await failureOf(
      table.save([
        { hashKey: 'a', data: { n: 1 } },
        { hashKey: 'a', data: { n: 2 } },
      ]),
    )
    expect(error.result.chunks.map(({ status }) => status)).toEqual(['unknown', 'unsent'])
    expect(requests).toHaveLength(1)
  })
})

describe('concurrency and progress', () => {
  test.each([
    [undefined, 4],
    [2, 2],
    [0, 1],
    [100, 12],
  ])('concurrency %p: at most %d requests in flight', async (concurrency, most) => {
    let underWay = 0
    let peak = 0
    const { table } = fakeCubby(async (request) => {
      peak = Math.max(peak, ++underWay)
      for (let i = 0; i < 50; i++) await Promise.resolve()
      underWay--
      return applied(request)
    })
    await table.save(names(300), { concurrency })
    expect(peak).toBe(most)
  })

  test('progress is reported after each chunk, up to the total', async () => {
    const { table } = fakeCubby(applied)
    const told: SaveProgress[] = []
    await table.save(names(60), { onProgress: (progress) => told.push(progress) })
    expect(told.map(({ saved, total }) => [saved, total])).toEqual([
      [25, 60],
      [50, 60],
      [60, 60],
    ])
    expect(told[0]!.chunk).toEqual({ from: 0, to: 25, status: 'applied' })
  })

  test('a progress callback that throws stops the save, and its chunk stays applied', async () => {
    const { table } = fakeCubby(applied)
    const cause = new Error('no terminal')
    const onProgress = () => {
      throw cause
    }
    const error = await failureOf(table.save(names(60), { concurrency: 1, onProgress }))
    expect(error).toBeInstanceOf(SaveError)
    expect(error.cause).toBe(cause)
    expect(error.result).toEqual({
      saved: 25,
      chunks: [
        { from: 0, to: 25, status: 'applied' },
        { from: 25, to: 60, status: 'unsent' },
      ],
    })
  })
})

describe('when a chunk fails', () => {
  test('the error has its code and the result says which chunks were applied', async () => {
    const { table, requests } = fakeCubby((request) =>
      holds(request, 'k30')
        ? refused(400, 'invalid_index_value', { field: 'operations[5].data.i', hint: 'Mend it.' })
        : applied(request),
    )
    const error = await failureOf(table.save(names(100), { concurrency: 1 }))
    expect(error).toBeInstanceOf(SaveError)
    expect(error).toMatchObject({
      name: 'SaveError',
      code: 'invalid_index_value',
      status: 400,
      field: 'operations[5].data.i',
      hint: 'Mend it.',
      requestId: 'req-1',
    })
    expect(error.result.saved).toBe(25)
    expect(error.result.chunks).toMatchObject([
      { from: 0, to: 25, status: 'applied' },
      { from: 25, to: 50, status: 'failed', error: { code: 'invalid_index_value' } },
      { from: 50, to: 100, status: 'unsent' },
    ])
    expect(requests).toHaveLength(2)
  })

  test('chunks in flight are waited for and reported; no further one is sent', async () => {
    const { table, waiting, settle, requests } = gate()
    const saving = failureOf(table.save(names(200)))
    await settle()
    const [first, second, third, fourth] = waiting
    second!.answer(refused(507, 'storage_full'))
    await settle()
    first!.answer(applied(first!.request))
    third!.answer(applied(third!.request))
    await settle()
    fourth!.answer(broken())
    const { result, code } = await saving
    expect(code).toBe('storage_full')
    expect(result.saved).toBe(50)
    expect(result.chunks.map(({ status }) => status)).toEqual(['applied', 'failed', 'applied', 'unknown', 'unsent'])
    expect(result.chunks.at(-1)).toEqual({ from: 100, to: 200, status: 'unsent' })
    expect(requests).toHaveLength(4)
  })

  test('one without an answer is unknown, not failed', async () => {
    const { table } = fakeCubby([broken()])
    const error = await failureOf(table.save(names(1)))
    expect(error).toMatchObject({ code: 'outcome_unknown', result: { saved: 0, chunks: [{ status: 'unknown' }] } })
  })

  test('a value that JSON cannot represent stops the save', async () => {
    const { table } = fakeCubby(applied)
    const records = names(30)
    records[27] = { hashKey: 'x', data: { i: 1n as never } }
    const error = await failureOf(table.save(records))
    expect(error.cause).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ code: 'invalid_request' })
    expect(error.result.chunks.map(({ from, to, status }) => [from, to, status])).toEqual([
      [0, 25, 'applied'],
      [25, 30, 'unsent'],
    ])
  })

  test('a signal stops it: chunks in flight are unknown, the rest unsent', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { table } = fakeCubby((request, signal) => {
      if (!holds(request, 'k25')) return applied(request)
      queueMicrotask(() => controller.abort(reason))
      return silence(signal)
    })
    const error = await failureOf(table.save(names(100), { concurrency: 1, signal: controller.signal }))
    expect(error).toBeInstanceOf(SaveError)
    expect(error).toMatchObject({ code: 'outcome_unknown', cause: reason })
    expect(error.result.chunks.map(({ status }) => status)).toEqual(['applied', 'unknown', 'unsent'])
  })

  test('a signal that is aborted already sends nothing', async () => {
    const { table, requests } = fakeCubby([])
    const reason = new Error('enough')
    expect(await failureOf(table.save(names(1), { signal: AbortSignal.abort(reason) }))).toBe(reason as never)
    expect(requests).toEqual([])
  })
})
