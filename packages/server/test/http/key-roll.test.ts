import { describe, expect, test } from 'bun:test'
import { type Api, type Json, startServer } from '../harness.ts'
import { rawRequest } from '../raw-connection.ts'
import { createExpiredKey, createKey, createRevokedKey, makeTable, ok, refused, useService } from './service.ts'

// A key is rolled because somebody may have seen it, while programs still use it. Without this, the old key would work for
// longer than was answered, or a caller would get a key that can do more than its own.

const service = useService()

const [hourMs, dayMs] = [3_600_000, 86_400_000]

const inMs = (ms: number): number => Date.now() + ms
const rollPath = (id: string): string => `/api/keys/${id}/roll`
const roll = async (id: string, body?: Json, api: Api = service.api): Promise<Json> =>
  ok(await api.post(rollPath(id), body), 201)
const listed = async (id: string): Promise<Json> =>
  ok(await service.api.get('/api/keys?limit=1000')).keys.find((key: Json) => key.id === id)
const self = (key: string) => service.server.as(key).get('/api/keys/self')

describe('roll', () => {
  for (const kind of ['secret', 'public']) {
    test(`${kind}: 201 with a new key of the same kind, name and databases`, async () => {
      const old = await createKey(service.api, { kind, name: 'shop', databases: ['app', 'blog'] })
      const made = await roll(old.id)
      expect(made).toEqual({
        ...old,
        id: made.id,
        key: made.key,
        masked: `${old.masked.slice(0, -4)}${made.key.slice(-4)}`,
        createdAt: made.createdAt,
        rolledFrom: old.id,
      })
      expect(made.key).toMatch(kind === 'secret' ? /^svc_live_[0-9A-Za-z]{38}$/ : /^svc_pub_[0-9A-Za-z]{38}$/)
      expect([made.id === old.id, made.key === old.key]).toEqual([false, false])
      const shown = { status: 'active', revokedAt: null, expiresAt: null, rolledFrom: old.id, rolledTo: null }
      expect(await listed(made.id)).toMatchObject(shown)
      expect(ok(await self(made.key))).toMatchObject({ ...shown, id: made.id })
      // The old key works for a day.
      const ended = { status: 'active', expiresAt: made.createdAt + dayMs, rolledFrom: null, rolledTo: made.id }
      expect(await listed(old.id)).toMatchObject(ended)
      expect(ok(await self(old.key))).toMatchObject(ended)
    })
  }

  test('a key that was never rolled names no other', async () => {
    const { id, key } = await createKey(service.api)
    expect(ok(await self(key))).toMatchObject({ rolledFrom: null, rolledTo: null })
    expect(await listed(id)).toMatchObject({ rolledFrom: null, rolledTo: null })
    expect(ok(await service.api.delete(`/api/keys/${id}`))).toMatchObject({ rolledFrom: null, rolledTo: null })
  })

  test('expiresAt is the end of the old key, unless its own is sooner', async () => {
    const endsAt = inMs(hourMs)
    const old = await createKey(service.api)
    await roll(old.id, { expiresAt: endsAt })
    expect((await listed(old.id)).expiresAt).toBe(endsAt)
    const short = await createKey(service.api, { kind: 'secret', expiresAt: endsAt })
    await roll(short.id, { expiresAt: endsAt + 1 })
    expect((await listed(short.id)).expiresAt).toBe(endsAt)
    await roll((await createKey(service.api)).id, { expiresAt: inMs(366 * dayMs) })
  })

  test('the new key of one with an end lives as long as the old one was meant to', async () => {
    const old = await createKey(service.api, { kind: 'public', expiresAt: inMs(hourMs) })
    const made = await roll(old.id, { expiresAt: inMs(1_000) })
    expect(made.expiresAt - made.createdAt).toBe(old.expiresAt - old.createdAt)
  })

  test('the old key is refused when its end has come: expired_api_key', async () => {
    const server = await startServer({ clock: true })
    try {
      const org = await server.createOrganization()
      const api = server.as(org.secretKey)
      const old = await createKey(api)
      const { key, createdAt } = ok(await api.post(rollPath(old.id), { expiresAt: Date.now() + hourMs }), 201)
      ok(await server.as(old.key).get('/v1'))
      server.setClock(createdAt + hourMs - Date.now())
      refused(await server.as(old.key).get('/v1'), 401, 'expired_api_key')
      ok(await server.as(key).get('/v1'))
    } finally {
      await server.stop()
    }
  })

  for (const [what, expiresAt] of [
    ['now', () => Date.now()],
    ['before', () => inMs(-hourMs)],
    ['0', () => 0],
    ['negative', () => -1],
  ] as const) {
    test(`a time of ${what} revokes the old key, from the answer on`, async () => {
      const table = await service.table()
      const old = await createKey(service.api)
      const holder = service.server.as(old.key)
      ok(await holder.put(table.path, { hashKey: 'before', data: {} }))
      const made = await roll(old.id, { expiresAt: expiresAt() })
      refused(await holder.put(table.path, { hashKey: 'after', data: {} }), 403, 'revoked_api_key')
      refused(await holder.get('/v1'), 403, 'revoked_api_key')
      expect(await listed(old.id)).toMatchObject({ status: 'revoked', rolledTo: made.id, expiresAt: null })
      ok(await service.server.as(made.key).put(table.path, { hashKey: 'after', data: {} }))
    })
  }

  test('also a request whose body was still arriving is refused then', async () => {
    const table = await service.table()
    const old = await createKey(service.api)
    const body = '{"hashKey":"late","data":{}}'
    const connection = await service.server.connect()
    try {
      const headers: [string, string][] = [['Content-Length', String(body.length)]]
      connection.send(rawRequest(service.server, 'PUT', table.path, { key: old.key, headers }))
      connection.send(body.slice(0, 5))
      ok(await service.server.as(old.key).get('/v1'))
      await roll(old.id, { expiresAt: 0 })
      connection.send(body.slice(5))
      refused(await connection.answer(), 403, 'revoked_api_key')
    } finally {
      connection.close()
    }
    refused(await table.get('late'), 404, 'record_not_found')
  })

  test('invalid fields are refused, and nothing is rolled', async () => {
    const old = await createKey(service.api)
    const tooFar = { expiresAt: inMs(366 * dayMs + 60_000) }
    refused(await service.api.post(rollPath(old.id), tooFar), 400, 'invalid_request', 'expiresAt')
    for (const expiresAt of [1.5, '2099-01-01T00:00:00Z', null, true, Number.MAX_SAFE_INTEGER + 1]) {
      refused(await service.api.post(rollPath(old.id), { expiresAt }), 400, 'invalid_request', 'expiresAt')
    }
    refused(await service.api.post(rollPath(old.id), { name: 'other' }), 400, 'invalid_request', 'name')
    refused(await service.api.post(`${rollPath(old.id)}?expiresAt=0`), 400, 'invalid_request', 'expiresAt')
    expect(await listed(old.id)).toMatchObject({ status: 'active', expiresAt: null, rolledTo: null })
  })

  test('a time in seconds revokes nothing: the hint writes it in milliseconds', async () => {
    const old = await createKey(service.api)
    const expiresAt = Math.floor(inMs(dayMs) / 1000)
    const error = refused(await service.api.post(rollPath(old.id), { expiresAt }), 400, 'invalid_request', 'expiresAt')
    expect(error.hint).toContain(String(expiresAt * 1000))
    expect((await listed(old.id)).status).toBe('active')
  })
})

describe('what cannot be rolled', () => {
  test('a revoked or expired key: 409 key_not_active', async () => {
    for (const old of [await createRevokedKey(service.api), await createExpiredKey(service.api)]) {
      const error = refused(await service.api.post(rollPath(old.id)), 409, 'key_not_active')
      expect(error.hint).toContain('POST /api/keys')
      expect((await listed(old.id)).rolledTo).toBeNull()
    }
  })

  test('a key that was rolled: the hint names the new one, which can be rolled', async () => {
    for (const body of [{}, { expiresAt: 0 }]) {
      const old = await createKey(service.api)
      const made = await roll(old.id, body)
      const error = refused(await service.api.post(rollPath(old.id)), 409, 'key_not_active')
      expect(error.hint).toContain(made.id)
      expect((await roll(made.id)).rolledFrom).toBe(made.id)
    }
  })

  test('of many rolls at once, one succeeds', async () => {
    const old = await createKey(service.api)
    const answers = await Promise.all(Array.from({ length: 12 }, () => service.api.post(rollPath(old.id))))
    const made = answers.filter(({ status }) => status === 201)
    expect(made).toHaveLength(1)
    for (const answer of answers) if (answer !== made[0]) refused(answer, 409, 'key_not_active')
    const { keys } = ok(await service.api.get('/api/keys?limit=1000'))
    expect(keys.filter((key: Json) => key.rolledFrom === old.id)).toHaveLength(1)
    expect((await listed(old.id)).rolledTo).toBe(made[0]!.body.id)
  })

  test('an unknown id, that of another organization, `self`, and a key itself: 404 key_not_found', async () => {
    const theirs = await createKey(service.server.as(service.otherOrg.secretKey))
    for (const id of [theirs.id, 'key_00000000000000000000', 'self', 'a%2Fb', '%00', theirs.key]) {
      refused(await service.api.post(rollPath(id)), 404, 'key_not_found')
    }
    expect(ok(await self(theirs.key)).rolledTo).toBeNull()
  })

  test('other methods are not there', async () => {
    const { id } = await createKey(service.api)
    for (const method of ['GET', 'PUT', 'DELETE']) {
      refused(await service.api.request(method, rollPath(id)), 405, 'method_not_allowed')
    }
    refused(await service.api.post(`${rollPath(id)}/`), 404, 'route_not_found')
  })
})

describe('who may roll', () => {
  test('needs what creating a key needs', async () => {
    const { id } = await createKey(service.api)
    const limited = await createKey(service.api, { kind: 'secret', databases: ['app'] })
    const reader = await createKey(service.api, { kind: 'public' })
    for (const target of [id, limited.id]) {
      refused(await service.server.as(limited.key).post(rollPath(target)), 403, 'key_scope')
    }
    for (const target of [id, reader.id]) {
      refused(await service.server.as(reader.key).post(rollPath(target)), 403, 'read_only_key')
    }
    // Their owner rolls them.
    expect(await roll(limited.id)).toMatchObject({ databases: ['app'] })
    expect(await roll(reader.id)).toMatchObject({ kind: 'public' })
  })

  test('a secret key without databases rolls itself, also with an end of now: its answer is still sent', async () => {
    const first = await createKey(service.api)
    const second = await roll(first.id, undefined, service.server.as(first.key))
    const third = await roll(second.id, { expiresAt: 0 }, service.server.as(second.key))
    refused(await service.server.as(second.key).get('/v1'), 403, 'revoked_api_key')
    ok(await service.server.as(first.key).get('/v1'))
    expect(ok(await self(third.key)).rolledFrom).toBe(second.id)
  })

  test('a key with an end rolls no key that ends after it, itself neither', async () => {
    const asking = await createKey(service.api, { kind: 'secret', expiresAt: inMs(hourMs) })
    const api = service.server.as(asking.key)
    const endless = await createKey(service.api)
    const long = await createKey(service.api, { kind: 'public', expiresAt: inMs(30 * dayMs) })
    const short = await createKey(service.api, { kind: 'public', expiresAt: inMs(60_000) })
    expect((await roll(endless.id, undefined, api)).expiresAt).toBe(asking.expiresAt)
    expect((await roll(long.id, undefined, api)).expiresAt).toBe(asking.expiresAt)
    expect((await roll(short.id, undefined, api)).expiresAt).toBeLessThan(asking.expiresAt)
    const own = await roll(asking.id, { expiresAt: inMs(60_000) }, api)
    expect(own.expiresAt).toBe(asking.expiresAt)
    expect((await roll(own.id, undefined, service.server.as(own.key))).expiresAt).toBe(asking.expiresAt)
  })

  test('the key of a sign-in link: what it rolls ends with it, its one key of 12 hours stays, no new one is a link', async () => {
    const { link } = await service.server.cubbyJson('console', 'link', '--org', service.org.name)
    const api = service.server.as(link.slice(link.indexOf('#key=') + '#key='.length))
    const { id, expiresAt } = ok(await api.get('/api/keys/self'))
    expect((await roll((await createKey(service.api)).id, undefined, api)).expiresAt).toBe(expiresAt)
    expect(ok(await api.post('/api/keys', { kind: 'secret' }), 201).expiresAt).toBeGreaterThan(expiresAt)
    const made = await roll(id, undefined, api)
    expect(made.expiresAt).toBe(expiresAt)
    expect(await listed(made.id)).not.toHaveProperty('link')
    expect(await listed(id)).toMatchObject({ link: true, rolledTo: made.id })
  })

  test('a deleted organization: 401', async () => {
    const org = await service.server.createOrganization()
    const api = service.server.as(org.secretKey)
    const { id } = await createKey(api)
    expect((await service.server.cubby('orgs', 'delete', org.name, '--confirm', org.name)).exitCode).toBe(0)
    refused(await api.post(rollPath(id)), 401, 'invalid_api_key')
  })
})

test('what the old key has signed ends with it', async () => {
  const bucket = '/v1/app/_buckets/rolled'
  ok(await service.api.post(bucket), 201)
  ok(await service.api.raw('PUT', `${bucket}/a.txt`, { body: 'text' }))
  const old = await createKey(service.api)
  const url: string = ok(await service.server.as(old.key).post(`${bucket}/url`, { name: 'a.txt' })).url
  expect((await fetch(url)).status).toBe(200)
  const made = await roll(old.id)
  expect((await fetch(url)).status).toBe(200)
  ok(await service.api.delete(`/api/keys/${old.id}`))
  expect((await fetch(url)).status).toBe(403)
  const next = ok(await service.server.as(made.key).post(`${bucket}/url`, { name: 'a.txt' })).url
  await roll(made.id, { expiresAt: 0 })
  const answer = await fetch(next)
  expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code: 'revoked_api_key' } }])
})

test('rolled keys survive a restart', async () => {
  const server = await startServer()
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    const old = await createKey(api)
    const made = ok(await api.post(rollPath(old.id), { expiresAt: 0 }), 201)
    await server.restart()
    refused(await server.as(old.key).get('/v1'), 403, 'revoked_api_key')
    expect(ok(await server.as(made.key).get('/api/keys/self'))).toMatchObject({ rolledFrom: old.id, rolledTo: null })
    expect(await makeTable(server.as(made.key))).toBeDefined()
  } finally {
    await server.stop()
  }
})
