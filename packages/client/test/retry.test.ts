import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { CubbyError, type ErrorCode } from '../src/index.ts'
import { broken, failureOf, fakeCubby, json, type Reply, refused, silence } from './fake-fetch.ts'
import { fakeTimers, timeoutMs } from './fake-timers.ts'

let timers: ReturnType<typeof fakeTimers>
beforeEach(() => {
  timers = fakeTimers(0.5)
})
afterEach(() => timers.restore())

const client = (replies: Reply[], options: object = {}) => fakeCubby(replies, { timeoutMs, ...options })
const record = { hashKey: 'a', data: {}, updatedAt: 5 }
const page = { items: [], count: 0, cursor: null }
const unavailable = (headers = {}) => refused(503, 'unavailable', {}, headers)
const gatewayPage = (status: number) => new Response('<h1>Bad gateway</h1>', { status })

describe('reads', () => {
  test.each([
    ['the connection broke', broken],
    ['503 unavailable', unavailable],
    ['500 internal', () => refused(500, 'internal')],
    ['500 outcome_unknown', () => refused(500, 'outcome_unknown')],
    ["a proxy's 502", () => gatewayPage(502)],
    ["a proxy's 504", () => gatewayPage(504)],
    ['a success that was cut off', () => new Response('{"hashKey":', { status: 200 })],
  ])('are repeated after %s', async (_, reply) => {
    const get = client([reply(), json(record)])
    expect(await get.table.findOne('a')).toEqual(record)
    const find = client([reply(), json({ items: [record], missing: [], unread: [] })])
    expect(await find.table.find(['a'])).toEqual([record])
    expect(find.requests.map(({ body }) => body)).toEqual(Array(2).fill({ keys: [{ hashKey: 'a' }] }))
    const query = client([reply(), json(page)])
    expect(await query.table.query({ hash: 'a' })).toEqual({ items: [], count: 0, cursor: null })
    expect(query.requests.map(({ body }) => body)).toEqual([{ hash: 'a' }, { hash: 'a' }])
  })

  test.each([
    [400, 'invalid_key'],
    [401, 'invalid_api_key'],
    [403, 'revoked_api_key'],
    [404, 'table_not_found'],
    [500, 'store_damaged'],
  ])('are not repeated after %d %s', async (status, code) => {
    const { table, requests } = client([refused(status, code)])
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code: code as ErrorCode, status })
    expect(requests).toHaveLength(1)
  })

  test('are given up after three repeats, with the last failure', async () => {
    const { table, requests } = client([broken(), broken(), broken(), refused(503, 'unavailable'), json(record)])
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code: 'unavailable', status: 503 })
    expect(requests).toHaveLength(4)
  })

  test('without an answer are `unavailable` with status 0 and the cause', async () => {
    const cause = broken()
    const { table } = client([cause], { retries: 0 })
    const error = await failureOf(table.findOne('a'))
    expect(error).toBeInstanceOf(CubbyError)
    expect(error).toMatchObject({ code: 'unavailable', status: 0, cause })
    expect(error.message).toContain(cause.message)
  })

  test('`retries` is taken from the call, then from the client', async () => {
    const { table, requests } = client([broken(), broken(), broken(), broken()], { retries: 1 })
    await failureOf(table.findOne('a'))
    expect(requests).toHaveLength(2)
    await failureOf(table.findOne('a', { retries: 0 }))
    expect(requests).toHaveLength(3)
  })
})

describe('writes', () => {
  const writes = (replies: Reply[], options = {}) => {
    const { cubby, table, requests } = client(replies, options)
    const app = cubby.db('app')
    return {
      requests,
      calls: {
        save: () => table.save({ hashKey: 'a', data: {} }),
        'save with ifAbsent': () => table.save({ hashKey: 'a', data: {} }, { ifAbsent: true }),
        'save with ifMatch *': () => table.save({ hashKey: 'a', data: {} }, { ifMatch: '*' }),
        'save of many': () => table.save([{ hashKey: 'a', data: {} }]),
        remove: () => table.remove('a'),
        batch: () => table.batch([{ op: 'delete', hashKey: 'a' }]),
        'batch with ifAbsent': () => table.batch([{ op: 'put', hashKey: 'a', data: {}, ifAbsent: true }]),
        // The check holds the second time too.
        'batch with a check of a version': () =>
          app.batch([
            { op: 'check', table: 'users', hashKey: 'a', ifMatch: 5 },
            { op: 'patch', table: 'orders', hashKey: 'a', increment: { '/n': 1 } },
          ]),
        'create of a table': () => app.tables.create('orders'),
        'drop of a table': () => app.tables.drop('orders'),
        'restore of a table': () => app.tables.restore('orders'),
        'create of a key': () => cubby.keys.create({ kind: 'public' }),
      } as Record<string, () => Promise<unknown>>,
    }
  }
  const names = Object.keys(writes([]).calls)

  test.each(names)('%s is repeated after 503 unavailable', async (name) => {
    const { calls, requests } = writes([unavailable(), unavailable(), json({ count: 1 })])
    await calls[name]!()
    expect(requests).toHaveLength(3)
    expect(requests[2]).toEqual(requests[0]!)
  })

  test.each(names)('%s is not repeated when its connection broke: the outcome is unknown', async (name) => {
    const { calls, requests } = writes([broken(), json({ count: 1 })])
    expect(await failureOf(calls[name]!())).toMatchObject({ code: 'outcome_unknown', status: 0 })
    expect(requests).toHaveLength(1)
  })

  test.each(names)('%s is not retried after outcome_unknown, whatever the options are', async (name) => {
    const { calls, requests } = writes([refused(500, 'outcome_unknown'), json({ count: 1 })], { repeatWrites: true })
    expect(await failureOf(calls[name]!())).toMatchObject({ code: 'outcome_unknown', status: 500 })
    expect(requests).toHaveLength(1)
  })

  test.each(names)('%s is repeated when its connection broke and the caller says so', async (name) => {
    const { calls, requests } = writes([broken(), json({ count: 1 })], { repeatWrites: true })
    await calls[name]!()
    expect(requests).toHaveLength(2)
  })

  test.each([
    ['500 internal', () => refused(500, 'internal'), 'internal'],
    ['507 storage_full', () => refused(507, 'storage_full'), 'storage_full'],
    ["a proxy's 502, which says nothing about the write", () => gatewayPage(502), 'outcome_unknown'],
    ["a proxy's 503, which promises nothing", () => gatewayPage(503), 'outcome_unknown'],
    ['a success without a body of the service', () => gatewayPage(200), 'outcome_unknown'],
  ])('are not repeated after %s', async (_, reply, code) => {
    const { table, requests } = client([reply(), json(record)])
    expect(await failureOf(table.save({ hashKey: 'a', data: {} }))).toMatchObject({ code })
    expect(requests).toHaveLength(1)
  })

  test('the caller may say so for one call', async () => {
    const { table, requests } = client([broken(), json(record)])
    await table.save({ hashKey: 'a', data: {} }, { repeatWrites: true })
    expect(requests).toHaveLength(2)
  })
})

describe('writes that name a version', () => {
  const calls = {
    save: (table: ReturnType<typeof client>['table']) => table.save({ hashKey: 'a', data: {} }, { ifMatch: 5 }),
    remove: (table: ReturnType<typeof client>['table']) => table.remove('a', { ifMatch: 5 }),
    batch: (table: ReturnType<typeof client>['table']) =>
      table.batch([
        { op: 'put', hashKey: 'b', data: {} },
        { op: 'delete', hashKey: 'a', ifMatch: 5 },
      ]),
  }

  test.each(Object.entries(calls))('%s is repeated when the connection broke', async (_, call) => {
    const { table, requests } = client([broken(), json({ count: 1 })])
    await call(table)
    expect(requests).toHaveLength(2)
  })

  test.each(Object.entries(calls))('%s: 412 after a lost answer is outcome_unknown', async (_, call) => {
    const { table } = client([broken(), refused(412, 'precondition_failed')])
    const error = await failureOf(call(table))
    expect(error).toMatchObject({ code: 'outcome_unknown', cause: { code: 'precondition_failed' } })
  })

  test('unavailable after a lost answer is outcome_unknown too', async () => {
    const { table } = client([broken(), unavailable(), unavailable(), unavailable()])
    expect(await failureOf(calls.save(table))).toMatchObject({ code: 'outcome_unknown' })
  })

  test('412 to the first attempt stays precondition_failed', async () => {
    const { table, requests } = client([refused(412, 'precondition_failed')])
    expect(await failureOf(calls.save(table))).toMatchObject({ code: 'precondition_failed', status: 412 })
    expect(requests).toHaveLength(1)
  })

  test('revoking a key changes nothing the second time, so it is repeated', async () => {
    const { cubby, requests } = client([broken(), json({ id: 'key_1', status: 'revoked' })])
    expect((await cubby.keys.revoke('key_1')).status).toBe('revoked')
    expect(requests).toHaveLength(2)
  })
})

describe('pauses', () => {
  test('double from 100 ms, each cut by chance', async () => {
    const { table } = client([broken(), broken(), broken(), json(record)])
    await table.findOne('a')
    expect(timers.pauses).toEqual([50, 100, 200])
  })

  test('never pass 5 s', async () => {
    const { table } = client([...Array.from({ length: 9 }, broken), json(record)], { retries: 9 })
    await table.findOne('a')
    expect(timers.pauses.slice(-2)).toEqual([2500, 2500])
  })

  test('are never shorter than Retry-After in seconds', async () => {
    const { table } = client([unavailable({ 'retry-after': '2' }), unavailable({ 'retry-after': '1' }), json(record)])
    await table.save({ hashKey: 'a', data: {} })
    expect(timers.pauses).toEqual([2050, 1100])
  })

  test('are never shorter than Retry-After as a date', async () => {
    const { table } = client([
      unavailable({ 'retry-after': new Date(Date.now() + 10_000).toUTCString() }),
      json(record),
    ])
    await table.save({ hashKey: 'a', data: {} })
    expect(timers.pauses[0]).toBeGreaterThan(8000)
    expect(timers.pauses[0]).toBeLessThan(10_100)
  })

  test('a Retry-After that cannot be read counts as none', async () => {
    const { table } = client([unavailable({ 'retry-after': 'soon' }), json(record)])
    await table.findOne('a')
    expect(timers.pauses).toEqual([50])
  })

  test('a Retry-After of more than 30 s is left to the caller', async () => {
    const { table, requests } = client([unavailable({ 'retry-after': '31' }), json(record)])
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code: 'unavailable' })
    expect(requests).toHaveLength(1)
  })
})

describe('without fake timers', () => {
  beforeEach(() => timers.restore())

  test('an attempt that takes longer than timeoutMs is ended, and a read repeated', async () => {
    let calls = 0
    const { table, requests } = fakeCubby((_, signal) => (++calls === 1 ? silence(signal) : json(record)), {
      timeoutMs: 20,
    })
    expect(await table.findOne('a')).toEqual(record)
    expect(requests).toHaveLength(2)
  })

  test('timeoutMs includes the body', async () => {
    const stalled = (signal: AbortSignal) =>
      new Response(
        new ReadableStream({
          start: (body) => signal.addEventListener('abort', () => body.error(signal.reason)),
        }),
      )
    const { table } = fakeCubby((_, signal) => stalled(signal), { timeoutMs: 20, retries: 0 })
    const error = await failureOf(table.findOne('a'))
    expect(error).toMatchObject({ code: 'unavailable', status: 0 })
    expect(error.message).toContain('no answer within 20 ms')
  })

  test('a write that timed out is outcome_unknown and not repeated', async () => {
    const { table, requests } = fakeCubby((_, signal) => silence(signal))
    const error = await failureOf(table.save({ hashKey: 'a', data: {} }, { timeoutMs: 20 }))
    expect(error).toMatchObject({ code: 'outcome_unknown', status: 0 })
    expect(requests).toHaveLength(1)
  })

  test('timeoutMs of Infinity is no timeout', async () => {
    // Timers take no more than 2^31 - 1 and turn what is above it into 1 ms.
    const { table } = fakeCubby(
      (_, signal) =>
        new Promise((answer, fail) => {
          signal.addEventListener('abort', () => fail(signal.reason))
          setTimeout(() => answer(json(record)), 20)
        }),
      { retries: 0 },
    )
    expect(await table.findOne('a', { timeoutMs: Number.POSITIVE_INFINITY })).toEqual(record)
  })

  test('a signal that is aborted already sends nothing', async () => {
    const { table, requests } = fakeCubby([json(record)])
    const reason = new Error('not wanted')
    expect(await failureOf(table.findOne('a', { signal: AbortSignal.abort(reason) }))).toBe(reason as never)
    expect(requests).toHaveLength(0)
  })

  test('a signal aborts a request in flight with its reason', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { table, requests } = fakeCubby((_, signal) => {
      queueMicrotask(() => controller.abort(reason))
      return silence(signal)
    })
    expect(await failureOf(table.findOne('a', { signal: controller.signal }))).toBe(reason as never)
    expect(requests).toHaveLength(1)
  })

  test('a signal aborts a write in flight with its reason too', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { table } = fakeCubby((_, signal) => {
      queueMicrotask(() => controller.abort(reason))
      return silence(signal)
    })
    const saving = table.save({ hashKey: 'a', data: {} }, { signal: controller.signal })
    expect(await failureOf(saving)).toBe(reason as never)
  })

  test('a signal ends the pause before a repeat', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { table, requests } = fakeCubby(() => {
      setTimeout(() => controller.abort(reason), 1)
      return refused(503, 'unavailable', {}, { 'retry-after': '20' })
    })
    expect(await failureOf(table.findOne('a', { signal: controller.signal }))).toBe(reason as never)
    expect(requests).toHaveLength(1)
  })

  test('a signal is left without listeners', async () => {
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
    const { table } = fakeCubby([broken(), json(record)])
    await table.findOne('a', { signal })
    expect(listeners).toBe(0)
  })
})
