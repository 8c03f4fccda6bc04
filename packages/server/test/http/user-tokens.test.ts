import { beforeEach, describe, expect, test } from 'bun:test'
import { type Api, eventually, type Json } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrapeAll } from '../metrics/scraping.ts'
import { Receiver } from '../tasks/receiver.ts'
import { makeBucket } from './bucket.ts'
import { makeKept, openReady, openStream } from './event-stream.ts'
import { createKey, freshName, ok, refused, useService } from './service.ts'
import { makeTask } from './task.ts'
import { asUser } from './user.ts'

// A user token is in the browser of somebody whom nobody knows. Without these promises it would do more than its grants say, or
// go on when it has ended.

const service = useService({ clock: true, args: [...metricsOn, '--log', 'requests', '--push-allow', '127.0.0.1/32'] })
beforeEach(() => service.server.setClock(0))

const [hourMs, dayMs] = [3_600_000, 86_400_000]
const anyGrant = { db: 'app', table: 'notes', can: 'read' }
const make = (body: Json, api: Api = service.api) => api.post('/api/tokens', body)
const self = (api: Api) => api.get('/api/tokens/self')
const revoke = (user: string, api: Api = service.api) => api.post('/api/tokens/revoke', { user })
let users = 0
const freshUser = (): string => `user-${++users}`

describe('a token is made', () => {
  test('with a user and grants, for an hour', async () => {
    const user = 'auth0|Ada "Lovelace" é'
    const grants = [
      { db: 'app', table: 'notes', hash: { beginsWith: 'ada:' }, can: 'write', sizeMax: 100 },
      { db: 'app', table: 'notes', index: 'i1', hash: 5, can: 'read' },
      { db: 'app', bucket: 'pictures', prefix: 'ada/', can: 'read' },
      { db: 'app', task: 'mail', can: 'run' },
    ]
    const before = Date.now()
    const made = ok(await make({ user, grants }), 201)
    expect(Object.keys(made)).toEqual(['token', 'user', 'grants', 'expiresAt'])
    expect(made).toMatchObject({ user, grants })
    expect(made.token).toMatch(/^svc_user_[A-Za-z0-9_-]{20,4087}$/)
    expect(made.expiresAt - before).toBeGreaterThanOrEqual(hourMs)
    expect(made.expiresAt - Date.now()).toBeLessThanOrEqual(hourMs)
    const { token: _, ...shown } = made
    expect(ok(await self(service.server.as(made.token)))).toEqual(shown)
    expect(refused(await self(service.api), 403, 'not_granted').message).toBe('An API key has no grants.')
  })

  test('for 60 seconds to a day, and never longer than its key', async () => {
    for (const [expiresIn, ms] of [
      [60, 60_000],
      [86_400, dayMs],
    ] as const) {
      const { expiresAt } = ok(await make({ user: 'ada', grants: [anyGrant], expiresIn }), 201)
      expect(Math.abs(expiresAt - Date.now() - ms)).toBeLessThan(5_000)
    }
    const { key, expiresAt } = await createKey(service.api, { kind: 'secret', expiresAt: Date.now() + 600_000 })
    expect(ok(await make({ user: 'ada', grants: [anyGrant] }, service.server.as(key)), 201).expiresAt).toBe(expiresAt)
    for (const expiresIn of [59, 86_401, 60.5, '60', null]) {
      refused(await make({ user: 'ada', grants: [anyGrant], expiresIn }), 400, 'invalid_request', 'expiresIn')
    }
  })

  test('by a secret key, within its databases', async () => {
    refused(await make({ user: 'ada', grants: [anyGrant] }, service.reader), 403, 'read_only_key')
    const { key } = await createKey(service.api, { kind: 'secret', databases: ['blog'] })
    const limited = service.server.as(key)
    refused(await make({ user: 'ada', grants: [{ ...anyGrant, db: 'blog' }, anyGrant] }, limited), 403, 'key_scope')
    ok(await make({ user: 'ada', grants: [{ ...anyGrant, db: 'blog' }] }, limited), 201)
    refused(await revoke('ada', limited), 403, 'key_scope')
    refused(await revoke('ada', service.reader), 403, 'read_only_key')
  })

  test('from what is well-formed: each error names the member', async () => {
    const good = { user: 'ada', grants: [anyGrant] }
    const cases: [unknown, string, string][] = [
      [{ grants: [anyGrant] }, 'invalid_request', 'user'],
      [{ ...good, user: '' }, 'invalid_request', 'user'],
      [{ ...good, user: 'a\nb' }, 'invalid_request', 'user'],
      [{ ...good, user: 'x'.repeat(257) }, 'invalid_request', 'user'],
      [{ ...good, role: 'admin' }, 'invalid_request', 'role'],
      [{ user: 'ada' }, 'invalid_grant', 'grants'],
      [{ ...good, grants: [anyGrant, anyGrant, { ...anyGrant, hash: '' }] }, 'invalid_grant', 'grants[2].hash'],
    ]
    for (const [body, code, field] of cases) refused(await make(body as Json), 400, code, field)
    const many = Array.from({ length: 25 }, (_, i) => ({ ...anyGrant, hash: `${i}${'x'.repeat(200)}` }))
    expect(refused(await make({ ...good, grants: many }), 400, 'invalid_grant', 'grants').message).toContain(
      'do not fit',
    )
  })
})

describe('a token is sent', () => {
  test('as Authorization: Bearer, by every web page', async () => {
    const ada = await asUser(service.api, 'ada', [anyGrant])
    const pages = [
      ['sec-fetch-site', 'cross-site'],
      ['origin', 'https://app.example.com'],
      ['origin', 'null'],
    ] as const
    for (const [name, value] of pages) {
      const answer = await ada.get('/api/tokens/self', { [name]: value })
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    }
    const { url } = service.server
    for (const path of [`?token=${ada.key}`, `?access_token=${ada.key}`]) {
      expect((await fetch(`${url}/api/tokens/self${path}`)).status).toBe(401)
    }
    expect(
      (await fetch(`${url}/api/tokens/self`, { headers: { cookie: `token=${ada.key}`, 'x-api-key': ada.key } })).status,
    ).toBe(401)
    expect((await fetch(`${url}/api/tokens/self`, { headers: { authorization: `Basic ${ada.key}` } })).status).toBe(401)
  })

  test('and any other text that begins as one is invalid_token', async () => {
    const { key } = await asUser(service.api, 'ada', [anyGrant])
    // A server that has opened it remembers it.
    ok(await self(service.server.as(key)))
    const texts = [
      'svc_user_',
      'svc_user_x',
      key.slice(0, -1),
      `${key}A`,
      `${key}=`,
      `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}`,
      `svc_user_${'A'.repeat(4_000)}`,
      `svc_user_${'A'.repeat(12_000)}`,
      'svc_user_****',
      'svc_user_é',
      'svc_user_a b',
    ]
    for (const text of texts) {
      const answer = await fetch(`${service.server.url}/api/tokens/self`, {
        headers: { authorization: `Bearer ${Buffer.from(text).toString('latin1')}` },
      })
      const body = (await answer.json()) as Json
      expect([text, answer.status, body.error.code]).toEqual([text, 401, 'invalid_token'])
      expect(JSON.stringify(body)).not.toContain(key.slice(9, 40))
    }
    // No other capitals: then it is no token, and no key.
    refused(await self(service.server.as(`SVC_USER_${key.slice(9)}`)), 401, 'invalid_api_key')
  })

  test('of another store is invalid_token', async () => {
    const ada = await asUser(service.stranger, 'ada', [anyGrant])
    expect(ok(await self(ada)).user).toBe('ada')
    refused(
      await self(service.server.as(`svc_user_${Buffer.alloc(300, 7).toString('base64url')}`)),
      401,
      'invalid_token',
    )
  })
})

describe('a token ends', () => {
  const grants = [anyGrant]

  test('at its time', async () => {
    const { token, expiresAt } = ok(await make({ user: 'ada', grants, expiresIn: 120 }), 201)
    const ada = service.server.as(token)
    service.server.setClock(expiresAt - 5_000 - Date.now())
    ok(await self(ada))
    service.server.setClock(expiresAt - Date.now())
    refused(await self(ada), 401, 'expired_token')
  })

  test('when its key ends, also if that was made sooner by a roll', async () => {
    const { id, key } = await createKey(service.api, { kind: 'secret' })
    const ada = await asUser(service.server.as(key), 'ada', grants)
    const endsAt = Date.now() + 600_000
    ok(await service.api.post(`/api/keys/${id}/roll`, { expiresAt: endsAt }), 201)
    expect(ok(await self(ada)).expiresAt).toBe(endsAt)
    service.server.setClock(601_000)
    refused(await self(ada), 401, 'expired_token')
  })

  test('when its key is revoked', async () => {
    const { id, key } = await createKey(service.api, { kind: 'secret' })
    const [ada, bob] = [await asUser(service.server.as(key), 'ada', grants), await asUser(service.api, 'bob', grants)]
    ok(await service.api.delete(`/api/keys/${id}`))
    refused(await self(ada), 403, 'revoked_api_key')
    ok(await self(bob))
  })

  test('when its user is revoked; one made after the answer works', async () => {
    const user = freshUser()
    const before = await Promise.all([asUser(service.api, user, grants), asUser(service.api, user, grants, 86_400)])
    const other = await asUser(service.api, `${user}x`, grants)
    const elsewhere = await asUser(service.stranger, user, grants)
    const at = Date.now()
    const answer = ok(await revoke(user))
    expect(Object.keys(answer)).toEqual(['user', 'revokedAt'])
    expect([answer.user, Math.abs(answer.revokedAt - at) < 5_000]).toEqual([user, true])
    for (const ada of before) refused(await self(ada), 403, 'revoked_token')
    for (const api of [other, elsewhere, await asUser(service.api, user, grants)]) ok(await self(api))
    ok(await revoke(user))
    ok(await self(await asUser(service.api, user, grants)))
    for (const ada of before) refused(await self(ada), 403, 'revoked_token')
  })

  test('when its user is revoked, whatever the clock says', async () => {
    const user = freshUser()
    service.server.setClock(hourMs)
    const ada = await asUser(service.api, user, grants)
    service.server.setClock(0)
    ok(await revoke(user))
    refused(await self(ada), 403, 'revoked_token')
    const next = await asUser(service.api, user, grants)
    service.server.setClock(-hourMs)
    ok(await self(next))
  })

  test('while its organization is deleted', async () => {
    const org = await service.server.createOrganization()
    const ada = await asUser(service.server.as(org.secretKey), 'ada', grants)
    ok(await self(ada))
    await service.server.cubbyJson('orgs', 'delete', org.name, '--confirm', org.name)
    refused(await self(ada), 401, 'invalid_token')
  })

  test('with its streams and waits', async () => {
    const table = await makeKept(service.api)
    const user = freshUser()
    const hash = { db: table.db, table: table.name, hash: 'ada', can: 'read' }
    const [ada, bob] = [await asUser(service.api, user, [hash]), await asUser(service.api, 'bob', [hash], 600)]
    const [stream, other] = [
      await openReady(table, { key: ada.key, hash: 'ada' }),
      await openReady(table, { key: bob.key, hash: 'ada' }),
    ]
    const { cursor } = ok(await ada.post(`${table.path}/changes`, { from: 'now', hash: 'ada' }))
    const wait = ada.post(`${table.path}/changes`, { cursor, hash: 'ada', waitSeconds: 20 })
    ok(await revoke(user))
    const last = await stream.ended()
    expect(JSON.parse(last!.data!).error.code).toBe('revoked_token')
    // Nothing was written: it does not wait for its 20 seconds.
    const askedAtMs = performance.now()
    refused(await wait, 403, 'revoked_token')
    expect(performance.now() - askedAtMs).toBeLessThan(15_000)
    await table.put('ada')
    expect((await other.next()).event).toBe('put')
    service.server.setClock(601_000)
    expect(JSON.parse((await other.ended())!.data!).error.code).toBe('expired_token')
  })
})

describe('hints tell a user nothing of what the grants do not name', () => {
  test('no similar table, no restore, no declared index', async () => {
    const name = freshName()
    const [deleted, near] = [`${name}-gone`, `${name}s`]
    for (const one of [deleted, near]) ok(await service.api.post(`/v1/app/${one}`), 201)
    ok(await service.api.delete(`/v1/app/${deleted}`))
    const granted = [name, deleted, near].map((table) => ({ db: 'app', table, can: 'write' }))
    const ada = await asUser(service.api, 'ada', granted)
    for (const one of [name, deleted]) {
      for (const answer of [
        await ada.get(`/v1/app/${one}/x`),
        await ada.put(`/v1/app/${one}`, { hashKey: 'x', data: {} }),
        await ada.post(`/v1/app/${one}/changes`, {}),
      ]) {
        const error = refused(answer, 404, 'table_not_found')
        expect([error.message, error.hint]).toEqual([`There is no table ${one} in database app.`, undefined])
      }
    }
    const error = refused(
      await ada.post(`/v1/app/${near}/query`, { index: 'i1', hash: 'x' }),
      400,
      'index_not_declared',
    )
    expect(error.hint).toBeUndefined()
    expect(refused(await ada.post(`/v1/app/${near}/changes`, {}), 409, 'changes_not_kept').hint).toBeUndefined()
    expect(refused(await ada.get(`/v1/app/${near}/x`), 404, 'record_not_found').hint).toBeUndefined()
  })

  test('a missing grant is named', async () => {
    const ada = await asUser(service.api, 'ada', [{ ...anyGrant, hash: 'ada' }])
    const error = refused(await ada.get('/v1/app/notes/bob'), 403, 'not_granted')
    expect(error.hint).toBe('It needs the grant {"db":"app","table":"notes","hash":"bob","can":"read"}.')
    const never = refused(await ada.get('/v1/app'), 403, 'not_granted')
    expect(never.hint).toBe('No grant allows this to a user. Send it from your server, with a secret key.')
  })

  test('an empty page of an index says nothing of values of another type', async () => {
    const table = await service.table({ i1: { hashField: 'who', rangeField: 'n' } })
    await table.put('a', { who: 'ada', n: 5 })
    const query = { index: 'i1', hash: 'ada', range: { gt: '1' } }
    expect(ok(await table.tryQuery(query)).hint).toBeString()
    const ada = await asUser(service.api, 'ada', [
      { db: 'app', table: table.name, index: 'i1', hash: 'ada', can: 'read' },
    ])
    expect(ok(await ada.post(`${table.path}/query`, query)).hint).toBeUndefined()
  })
})

describe('sizes', () => {
  test('records: put, patch and batches are held to sizeMax, the largest of those that allow it', async () => {
    const table = await service.table()
    const grant = { db: 'app', table: table.name, hash: 'ada', can: 'write' }
    const ada = await asUser(service.api, 'ada', [
      { ...grant, sizeMax: 20 },
      { ...grant, sizeMax: 40 },
    ])
    const data = (bytes: number): Json => ({ a: 'x'.repeat(bytes - 8) })
    ok(await ada.put(table.path, { hashKey: 'ada', data: data(40) }))
    const large = { hashKey: 'ada', data: data(41) }
    const error = refused(await ada.put(table.path, large), 413, 'record_too_large', 'data')
    expect(error.message).toContain('40')
    refused(await ada.request('PATCH', table.path, { hashKey: 'ada', merge: { b: 1 } }), 413, 'record_too_large')
    ok(await ada.request('PATCH', table.path, { hashKey: 'ada', merge: { a: 'y' } }))
    ok(await ada.put(table.path, { hashKey: 'ada', data: data(40) }))
    for (const path of [`${table.path}/batch`, '/v1/app/_batch']) {
      for (const operation of [
        { op: 'put', ...large },
        { op: 'patch', hashKey: 'ada', merge: { b: 1 } },
      ]) {
        const operations = [{ ...operation, table: path.endsWith('_batch') ? table.name : undefined }]
        expect(refused(await ada.post(path, { operations }), 413, 'record_too_large').field).toStartWith(
          'operations[0]',
        )
      }
    }
    const item = `/api/collections/app.${table.name}/items/ada`
    refused(await ada.put(item, large.data), 413, 'record_too_large')
    refused(await ada.request('PATCH', item, { b: 1 }), 413, 'record_too_large')
    expect(ok(await table.get('ada')).data).toEqual(data(40))
    // Without a limit the table's own holds.
    const free = await asUser(service.api, 'ada', [{ ...grant, sizeMax: 20 }, grant])
    ok(await free.put(table.path, large))
    ok(await free.request('PATCH', table.path, { hashKey: 'ada', merge: { b: 'x'.repeat(1_000) } }))
  })

  test('files: a declared length, and one that turns out to be larger', async () => {
    const bucket = await makeBucket(service.api)
    const name = bucket.path.split('/').at(-1)
    const ada = await asUser(service.api, 'ada', [
      { db: 'app', bucket: name, prefix: 'ada/', can: 'write', sizeMax: 10 },
    ])
    ok(await bucket.tryPut('ada/a', 'x'.repeat(10), {}, ada))
    refused(await bucket.tryPut('ada/b', 'x'.repeat(11), {}, ada), 413, 'file_too_large')
    refused(await bucket.tryPut('ada/b', 'x'.repeat(11), { chunked: true }, ada), 413, 'file_too_large')
    ok(await bucket.tryPut('ada/a', 'x'.repeat(10), { chunked: true }, ada))
    expect(await bucket.names()).toEqual(['ada/a'])
  })
})

describe('files', () => {
  test('private ones are read; their URLs end with the token, and with its user', async () => {
    const bucket = await makeBucket(service.api)
    const name = bucket.path.split('/').at(-1)
    await bucket.put('ada/a', 'private')
    const user = freshUser()
    const api = await asUser(service.api, user, [{ db: 'app', bucket: name, prefix: 'ada/', can: 'read' }], 600)
    expect(await bucket.read('ada/a', api)).toBe('private')
    const { expiresAt } = ok(await self(api))
    const link = ok(await api.post(`${bucket.path}/url`, { name: 'ada/a', expiresIn: 86_400 }))
    expect(link.expiresAt).toBe(expiresAt)
    expect(link.url).not.toContain(user)
    expect(await (await fetch(link.url)).text()).toBe('private')
    expect((await fetch(link.url, { method: 'PUT', body: 'x' })).status).toBe(403)
    const listed = ok(await api.post(`${bucket.path}/query`, { prefix: 'ada/', expiresIn: 86_400 }))
    expect(await (await fetch(listed.items[0].url)).text()).toBe('private')
    // Without the mark of the token it is no URL that was signed.
    const bare = new URL(link.url)
    bare.searchParams.delete('mark')
    expect(((await (await fetch(bare)).json()) as Json).error.code).toBe('invalid_signature')
    service.server.setClock(601_000)
    expect(((await (await fetch(link.url)).json()) as Json).error.code).toBe('expired_url')
    service.server.setClock(0)
    expect((await fetch(link.url)).status).toBe(200)
    ok(await revoke(user))
    for (const { url } of [link, listed.items[0]]) {
      const answer = await fetch(url)
      expect([answer.status, ((await answer.json()) as Json).error.code]).toEqual([403, 'revoked_token'])
    }
  })
})

describe('runs', () => {
  test('have their user, whom nobody else reads or cancels for', async () => {
    const task = await makeTask(service.api)
    const grant = { db: task.db, task: task.name, can: 'run' }
    const [ada, bob] = [await asUser(service.api, 'ada é', [grant]), await asUser(service.api, 'bob', [grant])]
    const run = ok(await ada.post(`${task.path}/run`, { payload: { n: 1 } }), 201)
    expect([run.user, run.key, run.payload]).toEqual(['ada é', null, { n: 1 }])
    expect(ok(await ada.get(task.at(run.id)))).toEqual(run)
    const missing = refused(await bob.get(task.at('run_none')), 404, 'run_not_found')
    for (const answer of [await bob.get(task.at(run.id)), await bob.post(task.at(run.id, 'cancel'))]) {
      const { message, hint, field } = refused(answer, 404, 'run_not_found')
      expect({ message: message.replace(run.id, 'run_none'), hint, field }).toEqual({
        message: missing.message,
        hint: missing.hint,
        field: missing.field,
      })
    }
    expect(ok(await task.api.get(task.at(run.id))).user).toBe('ada é')
    expect('user' in ok(await service.reader.get(task.at(run.id)))).toBe(false)
    const mine = ok(await task.api.post(`${task.path}/run`, {}), 201)
    expect(mine.user).toBeNull()
    refused(await ada.get(task.at(mine.id)), 404, 'run_not_found')
    const [claimed] = await task.claim({ limit: 10 })
    expect(claimed!.user).toBe('ada é')
    expect(ok(await ada.post(task.at(run.id, 'cancel'))).status).toBe('cancelled')
    for (const option of [{ id: run.id }, { key: 'k' }, { runAt: 0 }, { delaySeconds: 1 }]) {
      refused(
        await ada.post(`${task.path}/run`, { payload: {}, ...option }),
        403,
        'not_granted',
        Object.keys(option)[0],
      )
    }
    const batched = ok(await bob.post('/v1/app/_batch', { operations: [{ op: 'run', task: task.name, payload: {} }] }))
    expect(ok(await bob.get(task.at(batched.runs[0]))).user).toBe('bob')
  })

  test('are pushed with it, percent-encoded', async () => {
    const receiver = new Receiver()
    try {
      const task = await makeTask(service.api, { url: receiver.url() })
      const ada = await asUser(service.api, 'ada é/"%', [{ db: task.db, task: task.name, can: 'run' }])
      ok(await ada.post(`${task.path}/run`, {}), 201)
      const pushed = await eventually('the push', () => receiver.of(task.name)[0])
      expect(pushed.headers.get('cubby-user')).toBe('ada%20%C3%A9%2F%22%25')
      ok(await task.api.post(`${task.path}/run`, {}), 201)
      const second = await eventually('the second push', () => receiver.of(task.name)[1])
      expect(second.headers.has('cubby-user')).toBe(false)
    } finally {
      await receiver.stop()
    }
  })
})

describe('an idempotency key', () => {
  test("is its user's alone, and looked at after the grants", async () => {
    const table = await service.table()
    const grant = { db: 'app', table: table.name, can: 'write' }
    const [ada, bob] = [await asUser(service.api, 'ada', [grant]), await asUser(service.api, 'bob', [grant])]
    const add = (api: Api) =>
      api.request('PATCH', table.path, { hashKey: 'n', increment: { '/n': 1 } }, { 'idempotency-key': 'same' })
    ok(await add(ada))
    expect((await add(ada)).headers.get('idempotency-replayed')).toBe('true')
    // With another token of the user too.
    expect((await add(await asUser(service.api, 'ada', [grant]))).headers.get('idempotency-replayed')).toBe('true')
    for (const api of [bob, service.api]) expect((await add(api)).headers.get('idempotency-replayed')).toBeNull()
    expect(ok(await table.get('n')).data).toEqual({ n: 3 })
    refused(await add(await asUser(service.api, 'ada', [{ ...grant, can: 'read' }])), 403, 'not_granted')
    refused(await add(await asUser(service.api, 'ada', [{ ...grant, hash: 'm' }])), 403, 'not_granted')
    refused(
      await ada.put(table.path, { hashKey: 'n', data: {} }, { 'idempotency-key': 'same' }),
      422,
      'idempotency_key_reused',
    )
  })
})

describe('one user has', () => {
  test('16 waits and streams', async () => {
    const table = await makeKept(service.api)
    const grant = { db: 'app', table: table.name, can: 'read' }
    const [ada, bob] = [await asUser(service.api, 'ada', [grant]), await asUser(service.api, 'bob', [grant])]
    const again = await asUser(service.api, 'ada', [grant])
    const streams = []
    for (let i = 0; i < 10; i++) streams.push(await openReady(table, { key: (i % 2 === 0 ? ada : again).key }))
    const { cursor } = ok(await ada.post(`${table.path}/changes`, { from: 'now' }))
    const wait = (api: Api) => api.post(`${table.path}/changes`, { cursor, waitSeconds: 20 })
    const waits = Array.from({ length: 6 }, () => wait(ada))
    const isHeld = async (): Promise<true | undefined> =>
      sumOf(await scrapeAll(service.server), 'cubby_changes_waits') === 6 ? true : undefined
    await eventually('six waits', isHeld)
    const full = await openStream(service.server, table.path, { key: ada.key })
    expect(full.status).toBe(503)
    refused(await wait(again), 503, 'unavailable')
    const others = await openReady(table, { key: bob.key })
    others.close()
    streams[0]!.close()
    const freed = await eventually('a place is free', async () => {
      const stream = await openStream(service.server, table.path, { key: ada.key })
      if (stream.status === 200) return stream
      stream.close()
      return undefined
    })
    await table.put('x')
    for (const answer of await Promise.all(waits)) ok(answer)
    for (const stream of [...streams, freed]) stream.close()
  })

  test('4 uploads', async () => {
    const bucket = await makeBucket(service.api)
    const name = bucket.path.split('/').at(-1)
    const grant = { db: 'app', bucket: name, can: 'write' }
    const [ada, bob] = [await asUser(service.api, 'ada', [grant]), await asUser(service.api, 'bob', [grant])]
    const uploads = Array.from({ length: 4 }, (_, i) => openUpload(ada, bucket.at(`slow-${i}`)))
    await eventually('four uploads', async () =>
      sumOf(await scrapeAll(service.server), 'cubby_file_uploads_in_flight') === 4 ? true : undefined,
    )
    refused(await bucket.tryPut('fifth', 'x', {}, ada), 503, 'unavailable')
    ok(await bucket.tryPut('other', 'x', {}, bob))
    ok(await bucket.tryPut('mine', 'x'))
    for (const upload of uploads) upload.finish()
    for (const upload of uploads) expect(await upload.status).toBe(200)
    ok(await bucket.tryPut('fifth', 'x', {}, ada))
  })
})

/** An upload of 2 MB of which the first part is sent. */
const openUpload = (api: Api, path: string) => {
  const part = new Uint8Array(1_000_000)
  let finish!: () => void
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(part)
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      controller.enqueue(part)
      controller.close()
    },
  })
  const status = fetch(api.server.url + path, {
    method: 'PUT',
    body,
    headers: { authorization: `Bearer ${api.key}`, 'content-type': 'text/plain' },
  }).then((response) => response.status)
  return { status, finish: () => finish() }
}

describe('nobody sees a token', () => {
  test('in the log, in an error or in a metric', async () => {
    const { token } = ok(await make({ user: 'ada', grants: [anyGrant] }), 201)
    const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl'
    const pretty = (value: Json): string => Buffer.from(JSON.stringify(value, null, 2)).toString('base64url')
    const signature = 'c2lnbmF0dXJl'.repeat(7)
    const prettyJwt = `${pretty({ alg: 'ES256', kid: 'login' })}.${pretty({ sub: 'ada' })}.${signature}`
    const escaped = token.replaceAll(/_|(?<=^.{30})./g, (one: string) => `%${one.charCodeAt(0).toString(16)}`)
    for (const text of [token, jwt, prettyJwt, escaped]) {
      const answers = [
        await service.api.put(`/v1/app/${text}`, {}),
        await service.api.get(`/v1/app/notes/${text}/${text}`),
        await service.api.post('/api/tokens', { user: 'ada', grants: [{ db: text }] }),
        await service.api.post('/api/tokens', { [text]: 1 }),
        await service.api.get(`/v1/app/notes?x=${text}`),
        await service.server.as(text).get('/v1'),
        await service.server.request('GET', `/login/${text}`),
      ]
      for (const answer of answers) expect(answer.text).not.toContain(text.slice(9, 60))
    }
    const metrics = await scrapeAll(service.server)
    expect(JSON.stringify(metrics)).not.toContain(token.slice(9, 40))
    const log = service.server.logLines.join('\n')
    expect(log).not.toContain(token.slice(9, 40))
    expect(log).not.toContain('eyJhbGciOiJFUzI1NiJ9')
    expect(log).not.toContain(signature)
    expect(log).not.toContain(token.slice(-40))
    expect(log).toContain('/login/')
  })

  test('but refusals are counted', async () => {
    const count = async (code: string): Promise<number> =>
      sumOf(await scrapeAll(service.server), 'cubby_token_refusals_total', { code }) ?? 0
    const ada = await asUser(service.api, freshUser(), [anyGrant])
    const before = [await count('not_granted'), await count('invalid_token')]
    refused(await ada.get('/v1'), 403, 'not_granted')
    refused(await service.server.as('svc_user_x').get('/v1'), 401, 'invalid_token')
    expect([await count('not_granted'), await count('invalid_token')]).toEqual([before[0]! + 1, before[1]! + 1])
  })
})
