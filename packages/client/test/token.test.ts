import { afterEach, beforeEach, describe, expect, setSystemTime, test } from 'bun:test'
import { Cubby, CubbyError, type CubbyOptions, type GivenToken, uploadTo } from '../src/index.ts'
import { errorBody, eventually, FakeFeed, fastTimers, put } from './fake-feed.ts'
import { broken, failureOf, fakeCubby, json, key, refused, type SentRequest, url } from './fake-fetch.ts'

const startMs = Date.UTC(2026, 0, 5)
beforeEach(() => {
  setSystemTime(startMs)
})
afterEach(() => {
  setSystemTime()
})

const tokenOf = (name: string): string => `svc_user_${name}-_`
const record = { hashKey: 'a', data: {}, updatedAt: 5 }
const tokensOf = (requests: SentRequest[]): string[] =>
  requests.map(({ headers }) => headers.authorization!.replace(/^Bearer svc_user_(.*)-_$/, '$1'))

/** Hands out t1, t2, …, each for so many seconds; the service refuses those of `refusals`. */
const application = (secondsOf: (now: number) => number | undefined = () => 3_600) => {
  const state = { asked: 0, refusals: new Map<string, string>(), fails: false }
  const token = async (): Promise<GivenToken> => {
    const name = `t${++state.asked}`
    await Promise.resolve()
    if (state.fails) throw new Error('The login is over.')
    const seconds = secondsOf(state.asked)
    return seconds === undefined ? tokenOf(name) : { token: tokenOf(name), expiresAt: Date.now() + seconds * 1000 }
  }
  const { cubby, requests, table } = fakeCubby(
    ({ path, headers }) => {
      const code = state.refusals.get(headers.authorization!.slice('Bearer '.length))
      if (code !== undefined) return refused(code === 'expired_token' ? 401 : 403, code)
      if (path === '/api/tokens/self') return json({ user: 'ada', grants: [], expiresAt: Date.now() + 3_600_000 })
      return json(path.endsWith('/run') ? { id: 'run_1' } : record)
    },
    { token },
  )
  const refuse = (name: string, code = 'expired_token') => state.refusals.set(tokenOf(name), code)
  const passSeconds = (seconds: number) => setSystemTime(Date.now() + seconds * 1000)
  return { state, cubby, requests, table, refuse, passSeconds }
}

describe('new Cubby', () => {
  const refusalOf = (options: object): CubbyError => {
    try {
      new Cubby({ url, ...options } as CubbyOptions)
    } catch (error) {
      return error as CubbyError
    }
    throw new Error('it was accepted')
  }

  test('takes a key or a token, not both', () => {
    expect(refusalOf({ key, token: tokenOf('t1') })).toMatchObject({
      code: 'invalid_request',
      field: 'token',
      status: 0,
    })
    expect(refusalOf({})).toMatchObject({ code: 'missing_api_key', field: 'key' })
    expect(refusalOf({ key: tokenOf('t1') })).toMatchObject({
      code: 'invalid_api_key',
      hint: 'Pass a user token as token, not as key.',
    })
    expect(() => new Cubby({ url, token: tokenOf('t1') })).not.toThrow()
  })

  test.each(['', 'svc_user_', `${tokenOf('secret')}\n`, `Bearer ${tokenOf('secret')}`, key, 7, {}])(
    'the token %p is rejected and not shown, also when a function returns it',
    async (given) => {
      const early = refusalOf({ token: given })
      const { table, requests } = fakeCubby([], { token: async () => given as string })
      const late = await failureOf(table.findOne('a'))
      for (const error of [early, late]) {
        expect(error).toMatchObject({ code: 'invalid_token', field: 'token', status: 0 })
        expect(Bun.inspect(error, { depth: 9 })).not.toMatch(/secret|00000/)
      }
      expect(requests).toHaveLength(0)
    },
  )

  test('a token that is passed as the url is not shown', () => {
    expect(refusalOf({ url: `http//${tokenOf('a-secret')}`, key }).message).not.toContain('secret')
  })
})

test('a token that is a string is sent as it is; when it has expired, the call fails', async () => {
  const { table, requests } = fakeCubby([json(record), refused(401, 'expired_token')], { token: tokenOf('t1') })
  await table.findOne('a')
  expect(await failureOf(table.findOne('a'))).toMatchObject({ code: 'expired_token', status: 401 })
  expect(tokensOf(requests)).toEqual(['t1', 't1'])
})

describe('a function', () => {
  test('is called by the first request, once for all that are sent together, and not before the token is about to end', async () => {
    const { state, table, requests, passSeconds } = application()
    expect(state.asked).toBe(0)
    await Promise.all(Array.from({ length: 10 }, () => table.findOne('a')))
    passSeconds(3_539)
    await table.findOne('a')
    expect(state.asked).toBe(1)
    passSeconds(1)
    await Promise.all(Array.from({ length: 10 }, () => table.findOne('a')))
    expect(state.asked).toBe(2)
    expect(tokensOf(requests)).toEqual([...Array(11).fill('t1'), ...Array(10).fill('t2')])
  })

  test('is called in the last tenth of a short time', async () => {
    const { state, table, passSeconds } = application(() => 60)
    await table.findOne('a')
    passSeconds(53.999)
    await table.findOne('a')
    expect(state.asked).toBe(1)
    passSeconds(0.001)
    await table.findOne('a')
    expect(state.asked).toBe(2)
  })

  test('that returns a string: the end of the token is asked for once', async () => {
    const { state, table, requests, passSeconds } = application(() => undefined)
    await Promise.all([table.findOne('a'), table.findOne('a')])
    await table.findOne('a')
    expect(requests.map(({ path }) => path).filter((path) => path === '/api/tokens/self')).toHaveLength(1)
    passSeconds(3_540)
    await table.findOne('a')
    expect(state.asked).toBe(2)
  })

  test('that returns a string: a request does not wait for its end, and an unknown end is no error', async () => {
    const { table, requests } = fakeCubby(({ path }) => (path === '/api/tokens/self' ? broken() : json(record)), {
      token: async () => tokenOf('t1'),
    })
    for (let i = 0; i < 3; i++) expect(await table.findOne('a')).toEqual(record)
    expect(requests).toHaveLength(4)
  })

  test.each([undefined, null, '2026-01-05T01:00:00Z', Number.NaN])(
    'is not called for every request when it says %p for the end',
    async (expiresAt) => {
      let asked = 0
      const token = () => ({ token: tokenOf(`t${++asked}`), expiresAt: expiresAt as number })
      const { table } = fakeCubby(() => json(record), { token })
      for (let i = 0; i < 5; i++) await table.findOne('a')
      expect(asked).toBe(1)
    },
  )

  // A phone whose clock is wrong would otherwise ask before every request.
  test('is not called for every request when the clock is ahead', async () => {
    const { state, table, passSeconds } = application(() => -7_200)
    for (let i = 0; i < 5; i++) await table.findOne('a')
    passSeconds(29.999)
    await table.findOne('a')
    expect(state.asked).toBe(1)
  })

  test('that fails before the end: the token is used on; after the end the call rejects with its error', async () => {
    const { state, table, requests, passSeconds } = application()
    await table.findOne('a')
    state.fails = true
    passSeconds(3_599)
    await table.findOne('a')
    expect(tokensOf(requests)).toEqual(['t1', 't1'])
    passSeconds(1)
    expect(await failureOf(table.findOne('a'))).toMatchObject({
      code: 'unavailable',
      status: 0,
      message: 'The function for the token failed: The login is over.',
      cause: new Error('The login is over.'),
    })
    state.fails = false
    await table.findOne('a')
    expect(tokensOf(requests).at(-1)).toBe('t4')
  })

  test('that throws at once rejects the call; a CubbyError stays what it is', async () => {
    const failing = (error: unknown) => () => {
      throw error
    }
    const codeOf = async (error: unknown) => failureOf(fakeCubby([], { token: failing(error) }).table.findOne('a'))
    expect(await codeOf('no')).toMatchObject({ code: 'unavailable', cause: 'no' })
    const loggedOut = new CubbyError('invalid_token', 'Log in again.', { status: 401 })
    expect(await codeOf(loggedOut)).toBe(loggedOut as never)
  })

  test('is not waited for by a call that is aborted; others get its token', async () => {
    const given = Promise.withResolvers<GivenToken>()
    const { table, requests } = fakeCubby(() => json(record), { token: () => given.promise })
    const stop = new AbortController()
    const aborted = table.findOne('a', { signal: stop.signal })
    const other = table.findOne('a')
    stop.abort(new Error('left'))
    expect((await failureOf(aborted)).message).toBe('left')
    given.resolve({ token: tokenOf('t1'), expiresAt: Date.now() + 60_000 })
    await other
    expect(requests).toHaveLength(1)
  })
})

describe.each(['expired_token', 'revoked_token'])('after %s', (code) => {
  test('the function is called once for all requests, and each is sent again, writes too', async () => {
    const { state, table, requests, refuse } = application()
    await table.findOne('a')
    refuse('t1', code)
    await Promise.all([
      ...Array.from({ length: 5 }, () => table.findOne('a', { retries: 0 })),
      table.save({ hashKey: 'a', data: {} }, { retries: 0 }),
      table.remove('a'),
    ])
    expect(state.asked).toBe(2)
    expect(tokensOf(requests)).toEqual(['t1', ...Array(7).fill('t1'), ...Array(7).fill('t2')])
  })

  test('a second refusal is the error of the call', async () => {
    const { state, table, requests, refuse } = application()
    for (const name of ['t1', 't2']) refuse(name, code)
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code })
    expect(tokensOf(requests)).toEqual(['t1', 't2'])
    await table.findOne('a')
    expect(state.asked).toBe(3)
  })

  test('a request that was answered late uses the token that another one has got', async () => {
    const late = Promise.withResolvers<Response>()
    let asked = 0
    const { table } = fakeCubby(
      ({ path, headers }) =>
        headers.authorization === `Bearer ${tokenOf('t2')}`
          ? json(record)
          : path.endsWith('/late')
            ? late.promise
            : refused(401, code),
      { token: () => ({ token: tokenOf(`t${++asked}`), expiresAt: Date.now() + 3_600_000 }) },
    )
    const waiting = table.findOne('late')
    await table.findOne('a')
    late.resolve(refused(401, code))
    expect(await waiting).toEqual(record)
    expect(asked).toBe(2)
  })

  test('a file is sent again; a stream is not, because it has been read', async () => {
    const tokens: string[] = []
    let asked = 0
    const cubby = new Cubby({
      url,
      token: () => ({ token: tokenOf(`t${++asked}`), expiresAt: Date.now() + 3_600_000 }),
      fetch: async (_, { headers, body }) => {
        tokens.push((headers as Record<string, string>).authorization!.slice(16, 18))
        await new Response(body as ReadableStream).text()
        return tokens.length % 2 === 1 ? refused(401, code) : json({ name: 'a' })
      },
    })
    const bucket = cubby.db('app').bucket('files')
    await bucket.put('a', new Blob(['bytes']))
    const stream = () => new Blob(['bytes']).stream()
    expect(await failureOf(bucket.put('a', stream()))).toMatchObject({ code })
    await bucket.put('a', stream())
    expect(tokens).toEqual(['t1', 't2', 't2', 't3'])
  })
})

describe('a stream of changes', () => {
  let feed: FakeFeed
  let timers: ReturnType<typeof fastTimers>
  beforeEach(() => {
    setSystemTime()
    feed = new FakeFeed()
    timers = fastTimers()
  })
  afterEach(() => {
    timers.restore()
    feed.stop()
  })

  test.each(['expired_token', 'revoked_token'])(
    'that ends with %s goes on with the next token, at the same place',
    async (code) => {
      feed.items.push(put('k0'), put('k1'))
      let asked = 0
      const token = () => ({ token: tokenOf(`t${++asked}`), expiresAt: Date.now() + 3_600_000 })
      feed.intercept = ({ body }, connection, count) => {
        if (count === 1) {
          connection.head()
          connection.write(`event: put\nid: c1\ndata: ${JSON.stringify(feed.items[0])}\n\n`)
          connection.write(`event: end\ndata: {"error":{"code":"${code}","message":"It is over.","requestId":"r"}}\n\n`)
          return connection.end() ?? true
        }
        return count === 2 && body.cursor === 'c1' && connection.json({ error: { code, message: '' } }, 401)
      }
      const keys: string[] = []
      for await (const { hashKey } of feed.table({ token }).changes()) {
        keys.push(hashKey)
        if (keys.length === 2) break
      }
      expect(keys).toEqual(['k0', 'k1'])
      expect(feed.requests.map(({ body }) => body.cursor)).toEqual([undefined, 'c1', 'c1'])
      expect(asked).toBe(2)
    },
  )

  // A laptop that was asleep asks for a token before it is online again.
  test('goes on while the function fails, and ends with its CubbyError', async () => {
    let asked = 0
    const token = async () => {
      asked++
      if (asked < 4) throw new TypeError('fetch failed')
      if (asked > 4) throw new CubbyError('invalid_token', 'Log in again.', { status: 401 })
      return { token: tokenOf('t1'), expiresAt: Date.now() + 3_600_000 }
    }
    feed.records = [{ hashKey: 'a', data: {}, updatedAt: 1 }]
    const results: unknown[] = []
    const watching = feed.table({ token }).watch({ hash: 'a' }, { onChange: (items) => void results.push(items) })
    await eventually(() => results.length === 1 && feed.streams.length === 1)
    expect(asked).toBe(4)
    feed.intercept = (_, connection) => connection.json(errorBody('expired_token'), 401)
    feed.streams[0]!.cut()
    expect(await failureOf(watching)).toMatchObject({ code: 'invalid_token' })
    expect(results).toEqual([feed.records])
  })

  test('of a token that is a string ends with its error', async () => {
    feed.intercept = (_, connection) => connection.json({ error: { code: 'expired_token', message: '' } }, 401)
    const changes = feed.table({ token: tokenOf('t1') }).changes()
    expect(await failureOf(changes[Symbol.asyncIterator]().next() as Promise<unknown>)).toMatchObject({
      code: 'expired_token',
    })
  })
})

// A user adds runs with a payload alone: an id would reach the runs of others.
test('a run of a user has no id; an idempotency key makes it safe to send again', async () => {
  const { cubby, requests } = application()
  await cubby.db('app').task('mail').run({ to: 'ada' })
  expect(requests[0]!.body).toEqual({ payload: { to: 'ada' } })
  expect(requests[0]!.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/)
})

test('a token goes to the address of the client alone: no redirect is followed, and an upload to a signed URL has none', async () => {
  const sent: RequestInit[] = []
  const fetch = async (target: string, init: RequestInit) => {
    sent.push({ ...init, window: null, referrer: target })
    return json({ ...record, url: 'https://files.test/x' })
  }
  const cubby = new Cubby({ url, fetch, token: async () => tokenOf('t1') })
  await cubby.db('app').bucket('files').getUrl('a')
  await uploadTo('https://files.test/x', 'bytes', { fetch })
  for (const { redirect, referrer, headers } of sent) {
    expect(redirect).toBe('error')
    expect('authorization' in (headers as object)).toBe(referrer!.startsWith(`${url}/`))
  }
  expect(sent.filter(({ referrer }) => referrer === 'https://files.test/x')).toHaveLength(1)
})

describe('tokens and issuers', () => {
  const grants = [{ db: 'app', table: 'notes', hash: 'ada', can: 'write' }] as const
  const issuer = { issuer: 'https://login.test/', audience: 'notes', keysUrl: 'https://login.test/keys', grants }

  test.each<[string, (cubby: Cubby) => Promise<unknown>, string, object | undefined]>([
    [
      'create',
      ({ tokens }) => tokens.create({ user: 'ada', grants, expiresIn: 60 }),
      'POST /api/tokens',
      { user: 'ada', grants, expiresIn: 60 },
    ],
    ['exchange', ({ tokens }) => tokens.exchange('a.b.c'), 'POST /api/tokens/exchange', { token: 'a.b.c' }],
    ['revoke', ({ tokens }) => tokens.revoke('ada'), 'POST /api/tokens/revoke', { user: 'ada' }],
    ['self', ({ tokens }) => tokens.self(), 'GET /api/tokens/self', undefined],
    ['put', ({ issuers }) => issuers.put('login', issuer), 'PUT /api/issuers/login', issuer],
    ['get', ({ issuers }) => issuers.get('login'), 'GET /api/issuers/login', undefined],
    ['delete', ({ issuers }) => issuers.delete('login'), 'DELETE /api/issuers/login', undefined],
  ])('%s sends what the page says', async (_, call, request, body) => {
    const { cubby, requests } = fakeCubby([json({ answer: true })])
    expect(await call(cubby)).toEqual({ answer: true })
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([request])
    expect(requests[0]!.body).toEqual(body as never)
  })

  test('issuers are listed; one that does not exist is undefined; a name that is none is refused', async () => {
    const { cubby, requests } = fakeCubby([json({ issuers: [{ name: 'login' }] }), refused(404, 'issuer_not_found')])
    expect(await cubby.issuers.list()).toEqual({ issuers: [{ name: 'login' }] } as never)
    expect(await cubby.issuers.get('login')).toBeUndefined()
    expect(await failureOf(cubby.issuers.delete('../keys'))).toMatchObject({ code: 'invalid_name', field: 'name' })
    expect(requests).toHaveLength(2)
  })

  test('a login token is in no error', async () => {
    const { cubby } = fakeCubby([broken()], { retries: 0 })
    const error = await failureOf(cubby.tokens.exchange('eyJ.secret.sig'))
    expect(Bun.inspect(error, { depth: 9 })).not.toContain('secret')
  })
})
