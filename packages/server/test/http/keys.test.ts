import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, type Json, storeIsEmbedded } from '../harness.ts'
import { rawRequest } from '../raw-connection.ts'
import {
  createExpiredKey,
  createKey,
  createRevokedKey,
  inParallel,
  keyChecksum,
  makeTable,
  ok,
  refused,
  unknownKey,
  useService,
  wrongChecksum,
} from './service.ts'

const service = useService({ args: ['--log', 'requests'] })

/** An organization that no other test makes keys in. */
const freshApi = async () => service.server.as((await service.server.createOrganization()).secretKey)

/** Every key that the server has handed out in this file: none may be seen in the log or at rest. */
const handedOut: string[] = []
const create = async (request?: Json, api = service.api) => {
  const key = await createKey(api, request)
  handedOut.push(key.key)
  return key
}

describe('create', () => {
  for (const [kind, prefix] of [
    ['secret', 'svc_live_'],
    ['public', 'svc_pub_'],
  ] as const) {
    test(`${kind}: 201 with the key in its format, checksum included`, async () => {
      const before = Date.now()
      const made = await create({ kind })
      expect(made).toEqual({
        id: expect.any(String),
        kind,
        name: null,
        key: expect.any(String),
        masked: `${prefix}****${made.key.slice(-4)}`,
        databases: null,
        createdAt: expect.any(Number),
        expiresAt: null,
      })
      expect(made.key).toMatch(/^svc_(live|pub)_[0-9A-Za-z]{38}$/)
      expect(made.key.startsWith(prefix)).toBe(true)
      expect(made.key.slice(-6)).toBe(keyChecksum(made.key.slice(0, -6)))
      expect(made.createdAt).toBeGreaterThanOrEqual(before)
      expect(made.createdAt).toBeLessThanOrEqual(Date.now())
      ok(await service.server.as(made.key).get('/v1'))
    })
  }

  test('the keys that the operator makes have the same format', () => {
    for (const key of [service.org.secretKey, service.org.publicKey]) {
      expect(key).toMatch(/^svc_(live|pub)_[0-9A-Za-z]{38}$/)
      expect(key.slice(-6)).toBe(keyChecksum(key.slice(0, -6)))
    }
  })

  test('with name, expiresAt and databases', async () => {
    const expiresAt = Date.now() + 3_600_000
    const made = await create({ kind: 'public', name: 'shop', expiresAt, databases: ['app', 'blog'] })
    expect(made).toMatchObject({ kind: 'public', name: 'shop', expiresAt, databases: ['app', 'blog'] })
  })

  test('databases: null means all', async () => {
    expect((await create({ kind: 'secret', databases: null })).databases).toBeNull()
  })

  const hundred = Array.from({ length: 100 }, (_, i) => `db${i}`)
  const taken: [string, Json][] = [
    ['a name of 1 character', { name: 'x' }],
    ['a name of 128 characters', { name: 'x'.repeat(128) }],
    ['a name of 128 characters of several bytes', { name: '鍵'.repeat(128) }],
    ['1 database', { databases: ['app'] }],
    ['100 databases', { databases: hundred }],
  ]
  for (const [what, fields] of taken) {
    test(`${what} is taken`, async () => {
      expect(await create({ kind: 'secret', ...fields })).toMatchObject(fields)
    })
  }

  const invalid: [string, Json, string][] = [
    ['no kind', { kind: undefined }, 'kind'],
    ['an unknown kind', { kind: 'admin' }, 'kind'],
    ['a kind in capitals', { kind: 'Secret' }, 'kind'],
    ['an empty name', { name: '' }, 'name'],
    ['a name of 129 characters', { name: 'x'.repeat(129) }, 'name'],
    ['a number as name', { name: 1 }, 'name'],
    ['expiresAt in the past', { expiresAt: Date.now() - 1000 }, 'expiresAt'],
    ['expiresAt 0', { expiresAt: 0 }, 'expiresAt'],
    ['a fractional expiresAt', { expiresAt: Date.now() + 1e6 + 0.5 }, 'expiresAt'],
    ['an ISO string as expiresAt', { expiresAt: '2099-01-01T00:00:00Z' }, 'expiresAt'],
    ['no database in the list', { databases: [] }, 'databases'],
    ['101 databases', { databases: [...hundred, 'more'] }, 'databases'],
    ['a string as databases', { databases: 'app' }, 'databases'],
  ]
  for (const [what, fields, field] of invalid) {
    test(`${what}: invalid_request`, async () => {
      refused(await service.api.post('/api/keys', { kind: 'secret', ...fields }), 400, 'invalid_request', field)
    })
  }

  test('a database that is no valid name is refused', async () => {
    for (const name of ['App', '', 'a b', 'x'.repeat(65), '_app', 1, null]) {
      const answer = await service.api.post('/api/keys', { kind: 'secret', databases: ['app', name] })
      expect(answer.status).toBe(400)
      expect(answer.body.error.field).toBe('databases[1]')
    }
  })
})

describe('listing', () => {
  test('every field, null where there is no value; never the key', async () => {
    const api = await freshApi()
    const plain = await create({ kind: 'secret' }, api)
    const full = await create({ kind: 'public', name: 'n', databases: ['app'], expiresAt: Date.now() + 1e6 }, api)
    const answer = await api.get('/api/keys')
    const { keys, cursor } = ok(answer)
    expect(cursor).toBeNull()
    expect(keys.length).toBe(4)
    const others = { lastUsedAt: null, revokedAt: null, rolledFrom: null, rolledTo: null }
    const listed = ({ key: _, ...rest }: Json) => ({ ...rest, status: 'active', ...others })
    expect(keys.slice(0, 2)).toEqual([listed(full), listed(plain)])
    for (const { key } of [plain, full]) {
      expect(answer.text).not.toContain(key)
      expect(answer.text).not.toContain(key.slice(9, 41))
    }
  })

  test('the first keys of the organization stand in it', async () => {
    const org = await service.server.createOrganization()
    const { keys } = ok(await service.server.as(org.secretKey).get('/api/keys'))
    expect(keys.map((key: Json) => key.kind).sort()).toEqual(['public', 'secret'])
    const masked = [`svc_live_****${org.secretKey.slice(-4)}`, `svc_pub_****${org.publicKey.slice(-4)}`]
    expect(keys.map((key: Json) => key.masked).sort()).toEqual(masked.sort())
  })

  test('newest first, page by page', async () => {
    const api = await freshApi()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.unshift((await create({ kind: 'public' }, api)).id)
    const found: string[] = []
    const sizes: number[] = []
    for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
      const page: Json = ok(await api.get(`/api/keys?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`))
      found.push(...page.keys.map((key: Json) => key.id))
      sizes.push(page.keys.length)
      cursor = page.cursor
    }
    expect(sizes).toEqual([3, 3, 1])
    expect(found.slice(0, 5)).toEqual(ids)
    expect(new Set(found).size).toBe(7)
  })

  test('100 by default; over 1,000 is taken as 1,000', async () => {
    const api = await freshApi()
    await inParallel(Array.from({ length: 1001 }), 32, () => createKey(api, { kind: 'public' }))
    const first = ok(await api.get('/api/keys'))
    expect(first.keys.length).toBe(100)
    const most = ok(await api.get('/api/keys?limit=9999'))
    expect(most.keys.length).toBe(1000)
    const rest = ok(await api.get(`/api/keys?limit=9999&cursor=${most.cursor}`))
    expect(rest.keys.length).toBe(3)
    expect(rest.cursor).toBeNull()
  })

  test('status is active, expired or revoked', async () => {
    const api = await freshApi()
    const active = await create({ kind: 'secret' }, api)
    const expired = await createExpiredKey(api)
    const revoked = await createRevokedKey(api)
    const both = await createExpiredKey(api)
    ok(await api.delete(`/api/keys/${both.id}`))
    const { keys } = ok(await api.get('/api/keys'))
    const status = (id: string) => keys.find((key: Json) => key.id === id).status
    expect([active, expired, revoked, both].map((key) => status(key.id))).toEqual([
      'active',
      'expired',
      'revoked',
      'revoked',
    ])
  })
})

describe('the Authorization header', () => {
  const status = async (authorization: string) =>
    service.server.raw('GET', '/v1', { headers: [['Authorization', authorization]] })

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    test(`the scheme word ${scheme} is read`, async () => {
      ok(await status(`${scheme} ${service.org.secretKey}`))
    })
  }

  const malformed: [string, () => string][] = [
    ['the key without a scheme', () => service.org.secretKey],
    ['Basic', () => `Basic ${btoa(`${service.org.secretKey}:`)}`],
    ['Token', () => `Token ${service.org.secretKey}`],
    ['Bearer without a key', () => 'Bearer'],
    ['Bearer run into the key', () => `Bearer${service.org.secretKey}`],
    ['a word behind the key', () => `Bearer ${service.org.secretKey} x`],
    ['a key cut short', () => `Bearer ${service.org.secretKey.slice(0, -1)}`],
    ['a key with a character more', () => `Bearer ${service.org.secretKey}0`],
    ['another prefix', () => `Bearer ${service.org.secretKey.replace('svc_live_', 'sk_live_')}`],
    ['the prefix of the other kind', () => `Bearer ${service.org.secretKey.replace('svc_live_', 'svc_pub_')}`],
    ['a wrong checksum', () => `Bearer ${wrongChecksum(service.org.secretKey)}`],
    ['the key in capitals', () => `Bearer ${service.org.secretKey.toUpperCase()}`],
    ['a key in quotes', () => `Bearer "${service.org.secretKey}"`],
    ['a well-formed key that nobody has', () => `Bearer ${unknownKey()}`],
    ['a well-formed public key that nobody has', () => `Bearer ${unknownKey('pub')}`],
    ['an endless key', () => `Bearer svc_live_${'a'.repeat(4000)}`],
  ]
  for (const [what, header] of malformed) {
    test(`${what}: 401 invalid_api_key`, async () => {
      const answer = await status(header())
      refused(answer, 401, 'invalid_api_key')
      expect(answer.text).not.toContain(service.org.secretKey.slice(0, 30))
    })
  }

  test('two of them are none: 401 invalid_api_key', async () => {
    const one: [string, string] = ['Authorization', `Bearer ${service.org.secretKey}`]
    const two: [string, string] = ['Authorization', `Bearer ${service.otherOrg.secretKey}`]
    refused(await service.server.raw('GET', '/v1', { headers: [one, two] }), 401, 'invalid_api_key')
  })
})

test('revoked is reported before expired', async () => {
  const { id, key } = await createExpiredKey(service.api)
  ok(await service.api.delete(`/api/keys/${id}`))
  refused(await service.server.as(key).get('/v1'), 403, 'revoked_api_key')
})

describe('revocation', () => {
  test("200, the listing's record with status revoked; again: 200, unchanged", async () => {
    const { id, key } = await create({ kind: 'secret', name: 'lost' })
    ok(await service.server.as(key).get('/v1'))
    const before = Date.now()
    const revoked = ok(await service.api.delete(`/api/keys/${id}`))
    expect(revoked).toMatchObject({ id, kind: 'secret', name: 'lost', status: 'revoked' })
    expect(revoked.revokedAt).toBeGreaterThanOrEqual(before)
    expect(revoked.revokedAt).toBeLessThanOrEqual(Date.now())
    expect('key' in revoked).toBe(false)
    const listed = ok(await service.api.get('/api/keys?limit=1000')).keys.find((k: Json) => k.id === id)
    expect({ ...listed, lastUsedAt: null }).toEqual({ ...revoked, lastUsedAt: null })
    const again = ok(await service.api.delete(`/api/keys/${id}`))
    expect({ ...again, lastUsedAt: null }).toEqual({ ...revoked, lastUsedAt: null })
  })

  test('an id that is not there: 404 key_not_found', async () => {
    for (const id of ['nothing', 'key_00000000000000000000', 'a%2Fb', '%00', '1']) {
      refused(await service.api.delete(`/api/keys/${id}`), 404, 'key_not_found')
    }
  })

  test('from the moment the answer is sent every request with that key gets 403', async () => {
    const table = await service.table()
    const { id, key } = await create()
    const holder = service.server.as(key)
    let answered = false
    let accepted = 0
    const writer = async (name: string) => {
      for (let i = 0; ; i++) {
        const startedAfter = answered
        const body = { hashKey: `${name}-${i}`, data: {} }
        const answer = i % 2 === 0 ? await holder.put(table.path, body) : await holder.get('/v1')
        if (answer.status !== 200) return refused(answer, 403, 'revoked_api_key')
        expect(startedAfter).toBe(false)
        accepted++
      }
    }
    const writers = Promise.all(Array.from({ length: 12 }, (_, i) => writer(`l${i}`)))
    while (accepted < 50) await Bun.sleep(1)
    ok(await service.api.delete(`/api/keys/${id}`))
    answered = true
    await writers
    refused(await holder.get('/v1'), 403, 'revoked_api_key')
    refused(await holder.get('/api/keys'), 403, 'revoked_api_key')
  })

  for (const [what, revoke] of [
    ['through the API', async (id: string) => void ok(await service.api.delete(`/api/keys/${id}`))],
    [
      'by the operator',
      async (id: string) => {
        const result = await service.server.cubby('keys', 'revoke', id, '--org', service.org.name)
        expect(result.exitCode).toBe(0)
      },
    ],
  ] as const) {
    test(`also a request whose body was still arriving (${what})`, async () => {
      const table = await service.table()
      const { id, key } = await create()
      const put = '{"hashKey":"late","data":{}}'
      const batch = '{"operations":[{"op":"put","hashKey":"late","data":{}}]}'
      const query = '{"index":"t"}'
      const requests = [
        { method: 'PUT', path: table.path, body: put },
        { method: 'POST', path: `${table.path}/batch`, body: batch },
        { method: 'POST', path: `${table.path}/query`, body: query },
        { method: 'POST', path: '/v1/app/late', body: '{"indices":{}}' },
        { method: 'POST', path: '/api/keys', body: '{"kind":"public"}' },
      ]
      const open = await Promise.all(
        requests.map(async ({ method, path, body }) => {
          const connection = await service.server.connect()
          const headers: [string, string][] = [['Content-Length', String(body.length)]]
          connection.send(rawRequest(service.server, method, path, { key, headers }))
          connection.send(body.slice(0, body.length / 2))
          return { connection, rest: body.slice(body.length / 2) }
        }),
      )
      try {
        // A complete request after them: the server has one thread, so by then it has seen their first halves.
        ok(await service.server.as(key).get('/v1'))
        await revoke(id)
        for (const { connection, rest } of open) connection.send(rest)
        for (const { connection } of open) refused(await connection.answer(), 403, 'revoked_api_key')
      } finally {
        for (const { connection } of open) connection.close()
      }
      refused(await table.get('late'), 404, 'record_not_found')
      refused(await service.api.get('/v1/app/late'), 404, 'table_not_found')
    })
  }

  test('a key can revoke itself, and its own answer is still sent', async () => {
    const { id, key } = await create()
    expect(ok(await service.server.as(key).delete(`/api/keys/${id}`)).status).toBe('revoked')
    refused(await service.server.as(key).get('/v1'), 403, 'revoked_api_key')
  })

  test("the operator's command revokes while the server is running", async () => {
    const { id, key } = await create()
    const holder = service.server.as(key)
    ok(await holder.get('/v1'))
    const revoked = await service.server.cubbyJson('keys', 'revoke', id, '--org', service.org.name)
    expect(revoked).toMatchObject({ id, status: 'revoked' })
    refused(await holder.get('/v1'), 403, 'revoked_api_key')
    refused(await holder.put('/v1/app/orders', { hashKey: 'a', data: {} }), 403, 'revoked_api_key')
  })

  test("the operator's new key works at once", async () => {
    const made = await service.server.cubbyJson('keys', 'create', '--org', service.org.name, '--kind', 'public')
    handedOut.push(made.key)
    ok(await service.server.as(made.key).get('/v1'))
    const { keys } = await service.server.cubbyJson('keys', 'list', '--org', service.org.name)
    expect(keys.find((key: Json) => key.id === made.id)).toMatchObject({ kind: 'public', status: 'active' })
  })

  test('revocation survives a restart', async () => {
    const { key } = await createRevokedKey(service.api)
    await service.server.restart()
    refused(await service.server.as(key).get('/v1'), 403, 'revoked_api_key')
    ok(await service.api.get('/v1'))
  })
})

describe('a key limited to databases', () => {
  test('elsewhere it gets 403 key_scope, in its own all is as with any key', async () => {
    const inside = await makeTable(service.api, undefined, 'orders', 'inside')
    const outside = await makeTable(service.api, undefined, 'orders', 'outside')
    await outside.put('a')
    const { key } = await create({ kind: 'secret', databases: ['inside', 'future'] })
    const limited = service.server.as(key)
    ok(await limited.put(inside.path, { hashKey: 'a', data: {} }))
    ok(await limited.get(inside.at('a')))
    ok(await limited.post('/v1/future/orders'), 201)
    for (const answer of [
      await limited.get('/v1/outside'),
      await limited.get(outside.path),
      await limited.get(outside.at('a')),
      await limited.put(outside.path, { hashKey: 'a', data: {} }),
      await limited.delete(outside.at('a')),
      await limited.post(`${outside.path}/query`, { hash: 'a' }),
      await limited.delete(outside.path),
      await limited.get('/v1/nowhere'),
      await limited.get('/v1/insid'),
      await limited.get('/v1/insidee'),
    ]) {
      refused(answer, 403, 'key_scope')
    }
  })

  test('key management needs a secret key without a limit', async () => {
    const { id, key } = await create({ kind: 'secret', databases: ['app'] })
    const limited = service.server.as(key)
    refused(await limited.get('/api/keys'), 403, 'key_scope')
    refused(await limited.post('/api/keys', { kind: 'public', databases: ['app'] }), 403, 'key_scope')
    refused(await limited.delete(`/api/keys/${id}`), 403, 'key_scope')
  })

  test('a public key gets read_only_key there, limited or not', async () => {
    const { id, key } = await create({ kind: 'public', databases: ['app'] })
    for (const reader of [service.reader, service.server.as(key)]) {
      refused(await reader.get('/api/keys'), 403, 'read_only_key')
      refused(await reader.post('/api/keys', { kind: 'public' }), 403, 'read_only_key')
      refused(await reader.delete(`/api/keys/${id}`), 403, 'read_only_key')
    }
  })
})

describe('organizations', () => {
  test('no request can create or list them', async () => {
    for (const path of ['/api/orgs', '/api/organizations', '/v1/../api/orgs']) {
      expect([400, 404]).toContain((await service.api.raw('GET', path)).status)
      expect([400, 404, 405]).toContain((await service.api.raw('POST', path, { body: '{"name":"x"}' })).status)
    }
  })

  test('nothing in a body or parameter names one', async () => {
    const org = service.otherOrg.name
    refused(await service.api.get(`/v1?org=${org}`), 400, 'invalid_request')
    refused(await service.api.post('/api/keys', { kind: 'secret', org }), 400, 'invalid_request', 'org')
  })
})

describe('the key is shown once', () => {
  /** The log up to and with the request of this id. */
  const logUpTo = (id: string) =>
    eventually('the request is logged', () => {
      const log = service.server.logLines.join('\n')
      return log.includes(id) ? log : undefined
    })

  test('it is not in the log, not even with requests logged', async () => {
    const { key } = await create()
    ok(await service.server.as(key).get('/v1', { 'x-request-id': 'seen-in-the-log' }))
    const log = await logUpTo('seen-in-the-log')
    for (const text of handedOut) expect(log.includes(text.slice(9, -6))).toBe(false)
  })

  test('nor when a caller puts it where it does not belong', async () => {
    const { key } = await create()
    const table = await service.table()
    const misplaced = `/v1?key=${key}`
    refused(await service.api.get(misplaced), 400, 'invalid_request')
    refused(await service.api.get(table.at(key)), 404, 'record_not_found')
    refused(await service.api.get(table.at('sessions', key)), 404, 'record_not_found')
    await service.api.get('/v1', { 'x-request-id': 'behind-the-misplaced' })
    const log = await logUpTo('behind-the-misplaced')
    expect(log.includes(key.slice(9, -6))).toBe(false)
  })

  test('at rest there is no key in any file', async () => {
    if (!storeIsEmbedded()) return
    expect(handedOut.length).toBeGreaterThan(5)
    const files = readdirSync(service.server.dataDir, { recursive: true, withFileTypes: true })
    let bytes = 0
    for (const file of files.filter((entry) => entry.isFile())) {
      const content = readFileSync(join(file.parentPath, file.name)).toString('latin1')
      bytes += content.length
      for (const key of [service.org.secretKey, service.org.publicKey, ...handedOut]) {
        expect(content.includes(key.slice(9, -6))).toBe(false)
      }
    }
    expect(bytes).toBeGreaterThan(0)
  })
})
