import { describe, expect, test } from 'bun:test'
import type { Api, Json } from '../harness.ts'
import { makeTable, ok, refused, useService } from './service.ts'

// Listings of databases and keys. Those of tables, buckets and tasks are in lifecycle.test.ts.

const service = useService()

/** Every page of a listing at `path`, which has a parameter. */
const pages = async (api: Api, path: string): Promise<Json[]> => {
  const found: Json[] = []
  for (let cursor: string | null = null; ; ) {
    const page: Json = ok(await api.get(cursor === null ? path : `${path}&cursor=${encodeURIComponent(cursor)}`))
    found.push(page)
    if (page.cursor === null) return found
    cursor = page.cursor
  }
}

describe('databases', () => {
  test('{ databases, cursor } by name, page by page', async () => {
    const own = service.server.as((await service.server.createOrganization()).secretKey)
    expect(ok(await own.get('/v1'))).toEqual({ databases: [], cursor: null })
    for (const db of ['c', 'a', 'b-1', 'b', 'b_']) await makeTable(own, undefined, 'orders', db)
    await makeTable(own, undefined, 'users', 'a')
    expect(ok(await own.get('/v1'))).toEqual({ databases: ['a', 'b', 'b-1', 'b_', 'c'], cursor: null })
    const found = await pages(own, '/v1?limit=2')
    expect(found.map((page) => page.databases)).toEqual([['a', 'b'], ['b-1', 'b_'], ['c']])
  })

  test('only those that the key may see', async () => {
    const own = service.server.as((await service.server.createOrganization()).secretKey)
    for (const db of ['a', 'b', 'c', 'd']) await makeTable(own, undefined, 'orders', db)
    for (const kind of ['secret', 'public']) {
      const { key } = ok(await own.post('/api/keys', { kind, databases: ['d', 'b', 'nowhere'] }), 201)
      const limited = service.server.as(key)
      expect(ok(await limited.get('/v1'))).toEqual({ databases: ['b', 'd'], cursor: null })
      const found = await pages(limited, '/v1?limit=1')
      expect(found.flatMap((page) => page.databases)).toEqual(['b', 'd'])
    }
  })
})

describe('parameters', () => {
  for (const path of ['/v1', '/api/keys']) {
    test(`${path}: a limit that is no number of entries is refused`, async () => {
      for (const limit of ['0', '-1', '1.5', 'ten', '']) {
        refused(await service.api.get(`${path}?limit=${limit}`), 400, 'invalid_request', 'limit')
      }
    })
    test(`${path}: a cursor that cannot be read is refused`, async () => {
      for (const cursor of ['x', '%00', 'bm90IG91cnM', 'A'.repeat(3000)]) {
        refused(await service.api.get(`${path}?cursor=${cursor}`), 400, 'invalid_cursor')
      }
    })
    test(`${path}: a parameter that it does not know is refused by name`, async () => {
      const error = refused(await service.api.get(`${path}?limti=3`), 400, 'invalid_request')
      expect(`${error.field} ${error.message}`).toContain('limti')
    })
  }

  test('deleted belongs to the listings of tables, buckets and tasks alone', async () => {
    refused(await service.api.get('/v1?deleted=true'), 400, 'invalid_request')
    refused(await service.api.get('/api/keys?deleted=true'), 400, 'invalid_request')
  })
})
