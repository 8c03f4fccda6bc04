import { describe, expect, test } from 'bun:test'
import { eventually, type Json, startServer } from '../harness.ts'
import { createKey, ok, refused, useService } from './service.ts'

// With this clock the uses of keys are written every 200 ms.
const service = useService({ clock: true })

const listed = async (id: string): Promise<Json> =>
  ok(await service.api.get('/api/keys?limit=1000')).keys.find((key: Json) => key.id === id)

describe('GET /api/keys/self', () => {
  for (const [what, request] of Object.entries<Json>({
    'a secret key': { kind: 'secret' },
    'a public key': { kind: 'public', name: 'page' },
    'a secret key limited to databases': { kind: 'secret', databases: ['app', 'shop'] },
    'a public key limited to databases, with an expiry': {
      kind: 'public',
      databases: ['app'],
      expiresAt: Date.now() + 3_600_000,
    },
  })) {
    test(`${what}: its record of the listing, and the organization, in one flat object`, async () => {
      const { id, key } = await createKey(service.api, request)
      const own = ok(await service.server.as(key).get('/api/keys/self'))
      const { organization, ...record } = own
      expect(organization).toBe(service.org.name)
      expect({ ...record, lastUsedAt: null }).toEqual({ ...(await listed(id)), lastUsedAt: null })
      expect(Object.keys(own)).toEqual([...Object.keys(await listed(id)), 'organization'])
      expect(JSON.stringify(own)).not.toContain(key)
    })
  }

  test('is the calling key, not its neighbours', async () => {
    const keys: Json[] = []
    for (let i = 0; i < 3; i++) keys.push(await createKey(service.api))
    for (const { id, key } of keys) expect(ok(await service.server.as(key).get('/api/keys/self')).id).toBe(id)
  })

  test('lastUsedAt is that of the listing: null before a use is written, then the use', async () => {
    const { id, key } = await createKey(service.api)
    const own = service.server.as(key)
    expect(ok(await own.get('/api/keys/self')).lastUsedAt).toBeNull()
    const usedAt = await eventually('the use is written', async () => (await listed(id)).lastUsedAt ?? undefined)
    expect(ok(await own.get('/api/keys/self')).lastUsedAt).toBeGreaterThanOrEqual(usedAt)
  })

  test('each organization gets its own name and its own key', async () => {
    const [mine, other] = [await service.api.get('/api/keys/self'), await service.stranger.get('/api/keys/self')]
    expect([ok(mine).organization, ok(other).organization]).toEqual([service.org.name, service.otherOrg.name])
    expect(ok(mine).id).not.toBe(ok(other).id)
    expect(other.text).not.toContain(service.org.name)
  })

  test('unknown parameters and conditions are refused, as elsewhere', async () => {
    refused(await service.api.get('/api/keys/self?limit=1'), 400, 'invalid_request', 'limit')
    refused(await service.api.get('/api/keys/self', { 'if-match': '*' }), 400, 'invalid_request', 'If-Match')
    refused(await service.server.request('GET', '/api/keys/self'), 401, 'missing_api_key')
    expect((await service.api.raw('HEAD', '/api/keys/self')).status).toBe(200)
  })

  test('with workers too', async () => {
    const server = await startServer({ args: ['--workers', '2'] })
    try {
      const { secretKey, name } = await server.createOrganization()
      expect(ok(await server.as(secretKey).get('/api/keys/self')).organization).toBe(name)
    } finally {
      await server.stop()
    }
  })
})

describe('DELETE /api/keys/self', () => {
  test('404 key_not_found: self is no id, and the key goes on working', async () => {
    const { key } = await createKey(service.api)
    const own = service.server.as(key)
    refused(await own.delete('/api/keys/self'), 404, 'key_not_found')
    expect(ok(await own.get('/api/keys/self')).status).toBe('active')
  })

  test('needs what every revocation needs', async () => {
    refused(await service.reader.delete('/api/keys/self'), 403, 'read_only_key')
    const limited = await createKey(service.api, { kind: 'secret', databases: ['app'] })
    refused(await service.server.as(limited.key).delete('/api/keys/self'), 403, 'key_scope')
    refused(await service.api.request('DELETE', '/api/keys/self', { id: 'self' }), 400, 'invalid_request')
  })
})
