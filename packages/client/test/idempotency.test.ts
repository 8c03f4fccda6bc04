import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Cubby } from '../src/index.ts'
import { broken, failureOf, fakeCubby, json, type Reply, refused } from './fake-fetch.ts'
import { fakeTimers } from './fake-timers.ts'

// Without these promises a request that is sent again after a lost answer counts twice, or is not sent again although it could be.

let timers: ReturnType<typeof fakeTimers>
beforeEach(() => {
  timers = fakeTimers(0.5)
})
afterEach(() => timers.restore())

const answer = (): Response => json({ hashKey: 'a', data: {}, id: 'r-1', updatedAt: 5 })

const send = async (replies: Reply[], call: (cubby: Cubby) => Promise<unknown>) => {
  const { cubby, requests } = fakeCubby(replies)
  await call(cubby)
  return requests
}

const tableOf = (cubby: Cubby) => cubby.db('app').table('orders')
const mailOf = (cubby: Cubby) => cubby.db('app').task('mail')
const keyOf = ({ headers }: { headers: Record<string, string> }): string | undefined => headers['idempotency-key']

test('the record of a patch that was applied before its answer was lost is read', async () => {
  const replayed = json({ hashKey: 'a', updatedAt: 5 }, 200, { 'idempotency-replayed': 'true' })
  const { cubby, requests } = fakeCubby([broken(), replayed, answer()])
  expect(await tableOf(cubby).patch('a', { increment: { '/n': 1 } })).toMatchObject({ data: {}, updatedAt: 5 })
  expect(requests.map(({ method }) => method)).toEqual(['PATCH', 'PATCH', 'GET'])
  const minimal = fakeCubby([json({ hashKey: 'a', updatedAt: 5 })])
  expect(await tableOf(minimal.cubby).patch('a', {}, { minimal: true })).toEqual({ hashKey: 'a', updatedAt: 5 })
})

describe('a request that the client makes safe by itself', () => {
  const calls: [string, (cubby: Cubby) => Promise<unknown>][] = [
    ['patch', (cubby) => tableOf(cubby).patch('a', { increment: { '/n': 1 } })],
    ['patch, with an option without value', (cubby) => tableOf(cubby).patch('a', {}, { idempotencyKey: undefined! })],
    ['run with key', (cubby) => mailOf(cubby).run({}, { key: 'k' })],
    ['run', (cubby) => mailOf(cubby).run({})],
    ['run, with options without value', (cubby) => mailOf(cubby).run({}, { id: undefined!, key: undefined! })],
  ]

  test.each(calls)('%s is sent again after a lost answer, unchanged', async (_, call) => {
    const [first, second, ...more] = await send([broken(), answer()], call)
    expect([second, more]).toEqual([first!, []])
    const [other] = await send([answer()], call)
    const made = (request: typeof first) => keyOf(request!) ?? request!.body!.id
    expect(made(first)).toMatch(/^(run_)?[0-9a-f]{32}$/)
    expect(made(other)).not.toBe(made(first))
  })

  test('run sends an id or a key, never both', async () => {
    const [plain] = await send([answer()], (cubby) => mailOf(cubby).run({}))
    expect([keyOf(plain!), plain!.body!.id]).toEqual([undefined, expect.stringMatching(/^run_/)])
    const [keyed] = await send([answer()], (cubby) => mailOf(cubby).run({}, { key: 'k' }))
    expect([keyOf(keyed!), keyed!.body]).toEqual([expect.any(String), { key: 'k', payload: {} }])
    const [own] = await send([answer()], (cubby) => mailOf(cubby).run({}, { idempotencyKey: 'own' }))
    expect([keyOf(own!), own!.body]).toEqual(['own', { payload: {} }])
    const [named] = await send([answer()], (cubby) => mailOf(cubby).run({}, { id: 'r-1' }))
    expect([keyOf(named!), named!.body]).toEqual([undefined, { id: 'r-1', payload: {} }])
  })

  test('works without randomUUID, which pages over plain http do not have', async () => {
    const { randomUUID } = crypto
    Object.assign(crypto, { randomUUID: undefined })
    try {
      for (const [, call] of calls) expect(await send([answer()], call)).toHaveLength(1)
    } finally {
      Object.assign(crypto, { randomUUID })
    }
  })
})

describe('the option idempotencyKey', () => {
  const option = { idempotencyKey: 'my-key' }
  const calls: [string, (cubby: Cubby, options: typeof option) => Promise<unknown>][] = [
    ['save', (cubby, options) => tableOf(cubby).save({ hashKey: 'a', data: {} }, options)],
    ['patch', (cubby, options) => tableOf(cubby).patch('a', {}, options)],
    ['remove', (cubby, options) => tableOf(cubby).remove('a', options)],
    ['batch', (cubby, options) => tableOf(cubby).batch([{ op: 'put', hashKey: 'a', data: {} }], options)],
    ['batch of runs', (cubby, options) => mailOf(cubby).batch([{ op: 'run' }], options)],
    ['run', (cubby, options) => mailOf(cubby).run({}, options)],
    ['run with key', (cubby, options) => mailOf(cubby).run({}, { key: 'k', ...options })],
    ['keys.create', (cubby, options) => cubby.keys.create({ kind: 'public' }, options)],
    ['keys.roll', (cubby, options) => cubby.keys.roll('key_1', options)],
  ]

  test.each(calls)('%s sends it as the header, not in the body, and again after a lost answer', async (_, call) => {
    const requests = await send([broken(), answer()], (cubby) => call(cubby, option))
    expect(requests.map(keyOf)).toEqual(['my-key', 'my-key'])
    expect(requests[0]!.text ?? '').not.toContain('my-key')
  })

  test.each(calls)('%s refuses a malformed one before a request', async (_, call) => {
    for (const idempotencyKey of ['', 'a b', 'a,b', 'a"b', 'a\\b', 'a\nb', 'x'.repeat(256), 5 as never]) {
      const { cubby, requests } = fakeCubby([])
      expect(await failureOf(call(cubby, { idempotencyKey }))).toMatchObject({
        ...{ code: 'invalid_request', field: 'idempotencyKey', status: 0 },
      })
      expect(requests).toEqual([])
    }
  })

  test('is refused where one call sends several requests', async () => {
    const { cubby, requests } = fakeCubby([])
    for (const call of [
      tableOf(cubby).save([], option as object),
      tableOf(cubby).remove({ hashKey: 'a', rangeKey: 'a/b' }, option),
    ]) {
      expect(await failureOf(call)).toMatchObject({ code: 'invalid_request', field: 'idempotencyKey' })
    }
    expect(requests).toEqual([])
  })
})

test('a refusal after a lost answer means that nothing was applied; that of the API key, or of a table that is gone, does not', async () => {
  for (const [status, code, told] of [
    [412, 'precondition_failed', 'precondition_failed'],
    [409, 'not_a_number', 'not_a_number'],
    [422, 'idempotency_key_reused', 'idempotency_key_reused'],
    // The key of the request went with its table.
    [404, 'table_not_found', 'outcome_unknown'],
    [403, 'revoked_api_key', 'outcome_unknown'],
    [401, 'invalid_api_key', 'outcome_unknown'],
  ] as const) {
    const { table } = fakeCubby([broken(), refused(status, code)])
    expect(await failureOf(table.patch('a', {}))).toMatchObject({ code: told })
  }
  const { table } = fakeCubby([broken(), refused(412, 'precondition_failed')])
  expect(await failureOf(table.save({ hashKey: 'a', data: {}, ifMatch: 5 }))).toMatchObject({ code: 'outcome_unknown' })
})
