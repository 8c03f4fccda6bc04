import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import type { Api, Json } from '../harness.ts'
import { audience, base64, issuer, issuerWith, login, makeKey, notesOfSub, signText } from '../logins/login.ts'
import { comes, http, type Listener, listen } from '../push/push-fixture.ts'
import { dayMs, minuteMs } from './clock.ts'
import { createKey, ok, refused, useService } from './service.ts'

// People come with the tokens of a login service. Without these promises one of them would be somebody else, or come back after
// being thrown out.

const service = useService({ clock: true, args: ['--push-allow', '127.0.0.1/32'] })
let offsetMs = 0
const setClock = (ms: number): void => {
  offsetMs = ms
  service.server.setClock(ms)
}
beforeEach(() => setClock(0))
const now = (): number => Date.now() + offsetMs

const key = makeKey('ES256', { kid: 'one' })
const otherKey = makeKey('RS256', { kid: 'two' })

/** An organization with the issuer `auth`. */
const makeOrganization = async (members: Json = {}): Promise<{ api: Api; page: Api }> => {
  const { secretKey, publicKey } = await service.server.createOrganization()
  const [api, page] = [service.server.as(secretKey), service.server.as(publicKey)]
  ok(await api.put('/api/issuers/auth', issuerWith([key], members)), 201)
  return { api, page }
}

const exchange = (api: Api, claims: Json = {}, ofKey = key) =>
  api.post('/api/tokens/exchange', { token: login(ofKey, now(), claims) })

describe('issuers', () => {
  test('are put, listed by name, read and deleted', async () => {
    const { api } = await makeOrganization()
    const put = ok(await api.get('/api/issuers/auth'))
    const { createdAt, updatedAt, keys, ...others } = put
    expect(others).toEqual({ name: 'auth', issuer, audience, user: 'auth:{sub}', grants: notesOfSub })
    expect(keys.keys).toEqual([expect.objectContaining(key.jwk)])
    expect([typeof createdAt, updatedAt]).toEqual(['number', createdAt])

    const again = ok(await api.put('/api/issuers/auth', issuerWith([key])))
    expect(again).toEqual(put)
    setClock(minuteMs)
    const changed = ok(await api.put('/api/issuers/auth', issuerWith([key], { user: '{sub}' })))
    expect(changed).toMatchObject({ user: '{sub}', createdAt })
    expect(changed.updatedAt).toBeGreaterThan(updatedAt)

    ok(await api.put('/api/issuers/aaa', issuerWith([key], { audience: 'other' })), 201)
    expect(ok(await api.get('/api/issuers')).issuers.map(({ name }: Json) => name)).toEqual(['aaa', 'auth'])
    expect(ok(await api.delete('/api/issuers/aaa'))).toEqual({ deleted: true })
    expect(ok(await api.delete('/api/issuers/aaa'))).toEqual({ deleted: false })
    refused(await api.get('/api/issuers/aaa'), 404, 'issuer_not_found')
    expect(ok(await service.stranger.get('/api/issuers'))).toEqual({ issuers: [] })
  })

  test('need a secret key that is not limited, and a name', async () => {
    const { api, page } = await makeOrganization()
    const { key: limited } = await createKey(api, { kind: 'secret', databases: ['app'] })
    for (const [method, path] of [
      ['GET', '/api/issuers'],
      ['GET', '/api/issuers/auth'],
      ['DELETE', '/api/issuers/auth'],
    ] as const) {
      refused(await page.request(method, path), 403, 'read_only_key')
      refused(await service.server.as(limited).request(method, path), 403, 'key_scope')
    }
    refused(await page.put('/api/issuers/auth', issuerWith([key])), 403, 'read_only_key')
    refused(await api.put('/api/issuers/Auth', issuerWith([key])), 400, 'invalid_name', 'name')
    refused(await api.put('/api/issuers/_auth', issuerWith([key])), 400, 'reserved_name', 'name')
    refused(await api.put('/api/issuers/a', issuerWith([key], { keys: undefined })), 400, 'invalid_request', 'keys')
  })

  test('are at most 20, no two with the same issuer and audience', async () => {
    const { api } = await makeOrganization()
    refused(await api.put('/api/issuers/login', issuerWith([otherKey])), 400, 'invalid_request', 'issuer')
    for (let i = 2; i <= 20; i++) ok(await api.put(`/api/issuers/a${i}`, issuerWith([key], { audience: `a${i}` })), 201)
    refused(await api.put('/api/issuers/a21', issuerWith([key], { audience: 'a21' })), 400, 'invalid_request')
    ok(await api.put('/api/issuers/a20', issuerWith([otherKey], { audience: 'a20' })))
  })

  test('have no keysUrl at an address that is not public or named by the operator', async () => {
    const { api } = await makeOrganization()
    const put = (keysUrl: string) =>
      api.put('/api/issuers/url', issuerWith([], { audience: 'url', keys: undefined, keysUrl }))
    refused(await put('https://10.0.0.1/keys'), 400, 'push_target_refused', 'keysUrl')
    refused(await put('https://169.254.169.254/keys'), 400, 'push_target_refused', 'keysUrl')
    refused(await put('ftp://login.example.com/'), 400, 'push_target_refused', 'keysUrl')
    ok(await put('http://127.0.0.1:9/keys'), 201)
  })
})

describe('a login token is exchanged', () => {
  test('with a public key, for what the issuer grants and for as long as it lives, an hour at most', async () => {
    const { api, page } = await makeOrganization()
    ok(await api.post('/v1/app/notes'), 201)
    const made = ok(await exchange(page), 201)
    const { token, ...shown } = made
    expect(Object.keys(made)).toEqual(['token', 'user', 'grants', 'expiresAt'])
    expect(shown).toMatchObject({ user: 'auth:ada', grants: [{ ...notesOfSub[0], hash: 'ada' }] })
    expect(shown.expiresAt % 1000).toBe(0)
    const ada = service.server.as(token)
    expect(ok(await ada.get('/api/tokens/self'))).toEqual(shown)
    ok(await ada.put('/v1/app/notes', { hashKey: 'ada', data: { a: 1 } }))
    ok(await ada.get('/v1/app/notes/ada'))
    for (const hashKey of ['adam', 'ada:x', 'bob'])
      refused(await ada.get(`/v1/app/notes/${hashKey}`), 403, 'not_granted')
    refused(await exchange(ada), 403, 'not_granted')

    const exp = Math.floor(now() / 1000) + 86_400
    const hour = ok(await exchange(page, { exp }), 201)
    expect(hour.expiresAt).toBeLessThanOrEqual(now() + 60 * minuteMs)
    expect(hour.expiresAt).toBeGreaterThan(now() + 59 * minuteMs)
    const { key: short, expiresAt } = await createKey(api, { kind: 'public', expiresAt: now() + 5 * minuteMs })
    expect(ok(await exchange(service.server.as(short)), 201).expiresAt).toBe(expiresAt)
  })

  test('never with a signature, time or issuer that is wrong: the reason is told, the token is not', async () => {
    const { page } = await makeOrganization()
    const forged = makeKey('ES256', { kid: 'one' })
    const error = refused(await exchange(page, {}, forged), 401, 'invalid_token')
    expect(error.message).toContain('signature')
    const seconds = Math.floor(now() / 1000)
    refused(await exchange(page, { exp: seconds - 1 }), 401, 'invalid_token')
    refused(await exchange(page, { iat: seconds - 86_500 }), 401, 'invalid_token')
    refused(await exchange(page, { iat: seconds + 120 }), 401, 'invalid_token')
    refused(await exchange(page, { aud: 'other' }), 401, 'invalid_token')
    refused(await exchange(service.reader), 401, 'invalid_token')
    const unsigned = `${base64('{"alg":"none"}')}.${login(key, now()).split('.')[1]}.`
    for (const token of [unsigned, '', 'a.b.c', signText(key, '{"alg":"ES256"}', '{"iss":1,"iss":2}')]) {
      const answer = await page.post('/api/tokens/exchange', { token })
      refused(answer, 401, 'invalid_token')
      if (token.length > 8) expect(answer.text).not.toContain(token.slice(0, 30))
    }
    for (const body of [{}, { token: 7 }])
      refused(await page.post('/api/tokens/exchange', body), 400, 'invalid_request', 'token')
    const token = login(key, now())
    const answer = await page.post('/api/tokens/exchange', { token, [token]: 1 })
    expect([answer.status, answer.text.includes(token.split('.')[1]!)]).toEqual([400, false])
  })

  test('of one issuer of several with the same iss', async () => {
    const { api, page } = await makeOrganization()
    ok(await api.put('/api/issuers/two', issuerWith([otherKey], { audience: 'two', user: 'two:{sub}' })), 201)
    expect(ok(await exchange(page, { aud: 'two' }, otherKey), 201).user).toBe('two:ada')
    refused(await exchange(page, { aud: 'two' }), 401, 'invalid_token')
    refused(await exchange(page, { aud: ['two', audience] }), 401, 'invalid_token')
  })

  test('unless a claim is missing or has a value that is not allowed: the answer names the claim', async () => {
    const { page } = await makeOrganization({
      grants: [{ db: '{org}', table: 'notes', hash: { beginsWith: '{sub}:' }, can: 'read' }],
    })
    const named = async (claims: Json): Promise<string> =>
      refused(await exchange(page, claims), 403, 'not_granted').message
    expect(await named({})).toContain('org')
    expect(await named({ org: 'App' })).toContain('org')
    expect(await named({ org: 'app', sub: 'ada:x' })).toContain('sub')
    for (const sub of ['a\0b', '', null, 1.5, ['ada'], { a: 1 }])
      expect(await named({ org: 'app', sub })).toContain('sub')
    expect(ok(await exchange(page, { org: 'app', sub: '../{x}/b' }), 201)).toMatchObject({
      user: 'auth:../{x}/b',
      grants: [{ db: 'app', hash: { beginsWith: '../{x}/b:' } }],
    })
  })

  test('within the databases of the key', async () => {
    const { api } = await makeOrganization()
    const { key: blog } = await createKey(api, { kind: 'public', databases: ['blog'] })
    refused(await exchange(service.server.as(blog)), 403, 'key_scope')
    const { key: app } = await createKey(api, { kind: 'public', databases: ['app'] })
    ok(await exchange(service.server.as(app)), 201)
  })
})

describe('an exchanged token ends', () => {
  test('when its user is revoked; login tokens of that second and before are refused, later ones are not', async () => {
    const { api, page } = await makeOrganization()
    const before = login(key, now())
    const ada = service.server.as(ok(await page.post('/api/tokens/exchange', { token: before }), 201).token)
    const { revokedAt } = ok(await api.post('/api/tokens/revoke', { user: 'auth:ada' }))
    refused(await ada.get('/api/tokens/self'), 403, 'revoked_token')
    const second = Math.floor(revokedAt / 1000)
    expect(refused(await page.post('/api/tokens/exchange', { token: before }), 403, 'revoked_token').message).toContain(
      'login',
    )
    refused(await exchange(page, { iat: second }), 403, 'revoked_token')
    refused(await exchange(page, { iat: second + 0.9 }), 403, 'revoked_token')
    const later = ok(await exchange(page, { iat: second + 1 }), 201)
    ok(await service.server.as(later.token).get('/api/tokens/self'))
    ok(await exchange(page, { sub: 'bob', iat: second }), 201)
  })

  test('when its issuer is changed or deleted, not when it is put again as it is', async () => {
    const { api, page } = await makeOrganization()
    ok(await api.put('/api/issuers/two', issuerWith([otherKey], { audience: 'two' })), 201)
    const [one, two] = await Promise.all([exchange(page), exchange(page, { aud: 'two' }, otherKey)])
    const [ofOne, ofTwo] = [one, two].map((made) => service.server.as(ok(made, 201).token)) as [Api, Api]
    const self = (user: Api) => user.get('/api/tokens/self')
    ok(await api.put('/api/issuers/auth', issuerWith([key])))
    ok(await self(ofOne))
    ok(await api.put('/api/issuers/auth', issuerWith([key, otherKey])))
    refused(await self(ofOne), 403, 'revoked_token')
    ok(await self(ofTwo))
    ok(await api.delete('/api/issuers/two'))
    refused(await self(ofTwo), 403, 'revoked_token')
    refused(await exchange(page, { aud: 'two' }, otherKey), 401, 'invalid_token')
    ok(await exchange(page), 201)
  })

  test('when its key is revoked', async () => {
    const { api } = await makeOrganization()
    const { id, key: text } = await createKey(api, { kind: 'public' })
    const ada = service.server.as(ok(await exchange(service.server.as(text)), 201).token)
    ok(await ada.get('/api/tokens/self'))
    ok(await api.delete(`/api/keys/${id}`))
    refused(await ada.get('/api/tokens/self'), 403, 'revoked_api_key')
  })
})

describe('keys are fetched', () => {
  let listener: Listener | undefined
  let answer: Buffer | undefined
  afterAll(async () => {
    await listener?.close()
  })

  test('from the keysUrl, kept for ten minutes, and used for an hour while it fails', async () => {
    listener = await listen((socket) => {
      if (answer !== undefined) socket.end(answer)
    })
    answer = http(200, JSON.stringify({ keys: [key.jwk] }))
    const { api, page } = await makeOrganization()
    const keysUrl = `http://127.0.0.1:${listener.port}/keys`
    ok(await api.put('/api/issuers/auth', issuerWith([], { keys: undefined, keysUrl })))
    ok(await exchange(page), 201)
    answer = http(200, JSON.stringify({ keys: [otherKey.jwk] }))
    ok(await exchange(page), 201)
    ok(await exchange(page, {}, otherKey), 201)
    refused(await exchange(page), 401, 'invalid_token')
    expect(listener.connections).toBe(2)

    answer = http(500)
    setClock(20 * minuteMs)
    ok(await exchange(page, {}, otherKey), 201)
    setClock(65 * minuteMs)
    const gone = await exchange(page, {}, otherKey)
    refused(gone, 503, 'unavailable')
    expect(gone.headers.get('retry-after')).not.toBeNull()
    answer = http(200, JSON.stringify({ keys: [key.jwk] }))
    setClock(70 * minuteMs)
    ok(await exchange(page), 201)
  })

  for (const [method, path, body] of [
    ['POST', '/api/tokens/revoke', { user: 'auth:ada' }],
    ['PUT', '/api/issuers/auth', issuerWith([key])],
    ['DELETE', '/api/issuers/auth', undefined],
  ] as const) {
    test(`while ${method} ${path} is answered: the token that is made then has ended`, async () => {
      const sockets: Socket[] = []
      const slow = await listen((socket) => void sockets.push(socket))
      const { api, page } = await makeOrganization()
      const keysUrl = `http://127.0.0.1:${slow.port}/keys`
      ok(await api.put('/api/issuers/auth', issuerWith([], { keys: undefined, keysUrl })))
      // The clock of the login service may be ahead: then its token seems to be from after the revocation.
      const waiting = exchange(page, { iat: Math.floor(now() / 1000) + 50 })
      expect(await comes(() => sockets.length === 1)).toBe(true)
      ok(await api.request(method, path, body))
      sockets[0]!.end(http(200, JSON.stringify({ keys: [key.jwk] })))
      const { token } = ok(await waiting, 201)
      refused(await service.server.as(token).get('/api/tokens/self'), 403, 'revoked_token')
      await slow.close()
    })
  }

  test('without delaying anybody else while a target is silent', async () => {
    answer = undefined
    listener ??= await listen(() => {})
    const { api, page } = await makeOrganization()
    const other = await makeOrganization()
    const keysUrl = `http://127.0.0.1:${listener.port}/silent`
    ok(await api.put('/api/issuers/auth', issuerWith([], { keys: undefined, keysUrl })))
    const waiting = Array.from({ length: 20 }, () => exchange(page))
    let isOver = false
    const ended = Promise.all(waiting).then((answers) => {
      isOver = true
      for (const one of answers) refused(one, 503, 'unavailable')
    })
    ok(await exchange(other.page), 201)
    expect(isOver).toBe(false)
    await ended
  })
})

test('a login token of yesterday is of no use, however long it lives', async () => {
  const { page } = await makeOrganization()
  const token = login(key, now(), { exp: Math.floor(now() / 1000) + 40 * 86_400 })
  ok(await page.post('/api/tokens/exchange', { token }), 201)
  setClock(dayMs)
  refused(await page.post('/api/tokens/exchange', { token }), 401, 'invalid_token')
})
