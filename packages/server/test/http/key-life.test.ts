import { describe, expect, test } from 'bun:test'
import type { Api, Json } from '../harness.ts'
import { createKey, ok, refused, useService } from './service.ts'

// A key with an end is given to somebody for a time. Without this, its holder would make a key without an end, and stay.

const service = useService()

const hourMs = 3_600_000

const inMs = (ms: number): number => Date.now() + ms

const create = async (api: Api, request: Json = {}): Promise<Json> =>
  ok(await api.post('/api/keys', { kind: 'secret', ...request }), 201)

const limitedKey = async (endsInMs: number): Promise<{ api: Api; expiresAt: number }> => {
  const { key, expiresAt } = await createKey(service.api, { kind: 'secret', expiresAt: inMs(endsInMs) })
  return { api: service.server.as(key), expiresAt: expiresAt! }
}

/** The key of a new sign-in link. */
const linkKey = async (): Promise<Api> => {
  const { link } = await service.server.cubbyJson('console', 'link', '--org', service.org.name)
  return service.server.as(link.slice(link.indexOf('#key=') + '#key='.length))
}

describe('what a key with an end creates', () => {
  test('ends with it at the latest, also without expiresAt, in every generation', async () => {
    const { api, expiresAt } = await limitedKey(hourMs)
    for (const kind of ['secret', 'public']) {
      for (const asked of [undefined, null, expiresAt + 1, Number.MAX_SAFE_INTEGER]) {
        expect((await create(api, { kind, expiresAt: asked })).expiresAt).toBe(expiresAt)
      }
    }
    const child = await create(api)
    expect((await create(service.server.as(child.key))).expiresAt).toBe(expiresAt)
    const { keys } = ok(await service.api.get('/api/keys'))
    expect(keys.find(({ id }: Json) => id === child.id).expiresAt).toBe(expiresAt)
  })

  test('may end before it', async () => {
    const { api, expiresAt } = await limitedKey(hourMs)
    for (const asked of [expiresAt, expiresAt - 1]) {
      expect((await create(api, { expiresAt: asked })).expiresAt).toBe(asked)
    }
    refused(await api.post('/api/keys', { kind: 'secret', expiresAt: Date.now() }), 400, 'invalid_request', 'expiresAt')
  })

  test('of a key without an end, what was asked for', async () => {
    expect((await create(service.api)).expiresAt).toBeNull()
    const far = Number.MAX_SAFE_INTEGER
    expect((await create(service.api, { expiresAt: far })).expiresAt).toBe(far)
  })
})

describe('the key of a sign-in link', () => {
  test('says that it is one, to itself and in listings; no other key does, and no request makes one', async () => {
    const api = await linkKey()
    const self = ok(await api.get('/api/keys/self'))
    expect(self).toMatchObject({ kind: 'secret', link: true, organization: service.org.name })
    const { keys } = ok(await service.api.get('/api/keys'))
    expect(keys.find(({ id }: Json) => id === self.id).link).toBe(true)
    expect(keys.filter(({ name, link }: Json) => link !== undefined && name !== 'console sign-in link')).toEqual([])
    expect(ok(await service.api.get('/api/keys/self'))).not.toHaveProperty('link')
    const listed = await service.server.cubbyJson('keys', 'list', '--org', service.org.name)
    expect(listed.keys.find(({ id }: Json) => id === self.id).link).toBe(true)
    for (const link of [true, false, null, 'unused']) {
      refused(await service.api.post('/api/keys', { kind: 'secret', link }), 400, 'invalid_request', 'link')
    }
    expect(ok(await api.delete(`/api/keys/${self.id}`))).toMatchObject({ status: 'revoked', link: true })
  })

  test('creates one key of at most 12 hours; further ones end with it', async () => {
    for (const asked of [undefined, inMs(24 * hourMs)]) {
      const api = await linkKey()
      const { expiresAt: end } = ok(await api.get('/api/keys/self'))
      const first = await create(api, { expiresAt: asked })
      expect(first).not.toHaveProperty('link')
      expect(first.expiresAt).toBe(first.createdAt + 12 * hourMs)
      for (const again of [undefined, inMs(12 * hourMs)]) {
        expect((await create(api, { expiresAt: again })).expiresAt).toBe(end)
      }
      // The key of 12 hours is a key like any other.
      expect((await create(service.server.as(first.key))).expiresAt).toBe(first.expiresAt)
      expect(ok(await api.get('/api/keys/self')).link).toBe(true)
    }
  })

  test('one that ends with it or before is not the one', async () => {
    const api = await linkKey()
    const { expiresAt } = ok(await api.get('/api/keys/self'))
    expect((await create(api, { expiresAt })).expiresAt).toBe(expiresAt)
    expect((await create(api, { expiresAt: expiresAt - 1 })).expiresAt).toBe(expiresAt - 1)
    const asked = inMs(hourMs)
    expect((await create(api, { expiresAt: asked })).expiresAt).toBe(asked)
    expect((await create(api, { expiresAt: asked })).expiresAt).toBe(expiresAt)
  })

  test('of many at once, one gets 12 hours', async () => {
    const api = await linkKey()
    const { expiresAt } = ok(await api.get('/api/keys/self'))
    const made = await Promise.all(Array.from({ length: 20 }, () => create(api)))
    expect(made.filter((key) => key.expiresAt > expiresAt)).toHaveLength(1)
    expect(made.filter((key) => key.expiresAt === expiresAt)).toHaveLength(19)
  })
})
