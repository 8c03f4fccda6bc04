import { describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Cubby } from '../src/index.ts'
import { failureOf, fakeCubby, json, key, silence } from './fake-fetch.ts'

const withCode = (message: string, code: string, cause?: Error) =>
  Object.assign(new Error(message, { cause }), { code })
/** Node's fetch fails in this way. */
const fetchFailed = (cause: Error) => new TypeError('fetch failed', { cause })

const refused = withCode('connect ECONNREFUSED 127.0.0.1:4600', 'ECONNREFUSED')
const allRefused = Object.assign(new AggregateError([refused, refused], ''), { code: 'ECONNREFUSED' })

describe('a request without a response', () => {
  test.each([
    ['a closed port', fetchFailed(refused), 'connect ECONNREFUSED 127.0.0.1:4600', 'Nothing listens there'],
    ['a closed port, two addresses', fetchFailed(allRefused), 'connect ECONNREFUSED 127.0.0.1:4600', 'Nothing listens'],
    ['Bun', withCode('ECONNREFUSED: Unable to connect.', 'ECONNREFUSED'), 'ECONNREFUSED: Unable to connect.', 'start'],
    ['DNS', fetchFailed(withCode('getaddrinfo ENOTFOUND nohost', 'ENOTFOUND')), 'getaddrinfo ENOTFOUND nohost', 'host'],
    [
      'a certificate',
      fetchFailed(withCode('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT')),
      'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)',
      'certificate',
    ],
    [
      'https to http',
      fetchFailed(withCode('wrong version\n', 'ERR_SSL_WRONG_VERSION_NUMBER')),
      'wrong version',
      'https',
    ],
    ['a browser', new TypeError('Failed to fetch'), 'Failed to fetch', 'mixed content'],
    ['no Error', 'broken', 'broken', 'CORS'],
  ])('names the address and the cause: %s', async (_, thrown, why, advice) => {
    const { table } = fakeCubby(() => Promise.reject(thrown), { retries: 0 })
    const error = await failureOf(table.findOne('a'))
    expect(error).toMatchObject({ code: 'unavailable', status: 0 })
    expect(error.message).toStartWith(`GET http://cubby.test/v1/app/orders/a: ${why}`)
    expect(error.hint).toContain(advice)
    expect(error.cause).toBe(thrown)
  })

  test('of a write: the hint starts with what to do about the write', async () => {
    const { table } = fakeCubby(() => Promise.reject(fetchFailed(refused)), { retries: 0 })
    const { code, hint } = await failureOf(table.save({ hashKey: 'a', data: {} }))
    expect(code).toBe('outcome_unknown')
    expect(hint).toMatch(/^The write may or may not have been applied: .* Nothing listens there/)
  })

  test('a cause without advice has no hint, and a circle of causes ends', async () => {
    const circle = withCode('it broke', 'ECONNRESET')
    circle.cause = circle
    const { table } = fakeCubby(() => Promise.reject(circle), { retries: 0 })
    const { message, hint } = await failureOf(table.findOne('a'))
    expect(message).toBe('GET http://cubby.test/v1/app/orders/a: it broke (ECONNRESET)')
    expect(hint).toBeUndefined()
  })

  test('a timeout names the address', async () => {
    const { table } = fakeCubby((_, signal) => silence(signal), { timeoutMs: 10, retries: 0 })
    const { message, hint } = await failureOf(table.findOne('a'))
    expect(message).toBe('GET http://cubby.test/v1/app/orders/a: no answer within 10 ms')
    expect(hint).toBeUndefined()
  })

  test('an answer of another server names the address', async () => {
    const { table } = fakeCubby([json({ hello: 1 }, 404)])
    const { message } = await failureOf(table.findOne('a'))
    expect(message).toBe('GET http://cubby.test/v1/app/orders/a: status 404, and the body is not from the service')
  })
})

test('a port on which nothing listens: the real fetch of this runtime', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as { port: number }
  closed.close()
  await once(closed, 'close')
  const table = new Cubby({ url: `http://127.0.0.1:${port}`, key, retries: 0 }).db('app').table('orders')
  const { message, hint } = await failureOf(table.findOne('a'))
  expect(message).toStartWith(`GET http://127.0.0.1:${port}/v1/app/orders/a: `)
  expect(message).toContain('ECONNREFUSED')
  expect(hint).toContain('start the server')
})
