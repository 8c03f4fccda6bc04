import { describe, expect, test } from 'bun:test'
import type { Api, Json } from '../harness.ts'
import { freshName, inParallel, makeTable, ok, refused, useService } from './service.ts'

const service = useService()

/** Every page of a listing at `path`, which may carry parameters already. */
const pages = async (api: Api, path: string): Promise<Json[]> => {
  const found: Json[] = []
  const join = path.includes('?') ? '&' : '?'
  for (let cursor: string | null = null; ; ) {
    const page: Json = ok(await api.get(cursor === null ? path : `${path}${join}cursor=${encodeURIComponent(cursor)}`))
    found.push(page)
    if (page.cursor === null) return found
    cursor = page.cursor
  }
}

describe('tables of a database', () => {
  test('{ tables, cursor } by name, each as its metadata', async () => {
    const db = freshName('db')
    const names = ['b', 'a', '-', '0', 'a-b', 'a_b', 'ab', 'z']
    const created = []
    for (const name of names) created.push((await makeTable(service.api, undefined, name, db)).created)
    const listing = ok(await service.api.get(`/v1/${db}`))
    expect(Object.keys(listing).sort()).toEqual(['cursor', 'tables'])
    expect(listing.cursor).toBeNull()
    expect(listing.tables).toEqual(created.toSorted((a, b) => (a.table < b.table ? -1 : 1)))
    expect(ok(await service.reader.get(`/v1/${db}`))).toEqual(listing)
  })

  test('a database without tables lists none', async () => {
    expect(ok(await service.api.get('/v1/empty'))).toEqual({ tables: [], cursor: null })
  })

  test('limit and cursor walk it page by page', async () => {
    const db = freshName('db')
    for (const name of ['a', 'b', 'c', 'd', 'e']) await makeTable(service.api, undefined, name, db)
    const found = await pages(service.api, `/v1/${db}?limit=2`)
    expect(found.map((page) => page.tables.map((table: Json) => table.table))).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    const whole = await pages(service.api, `/v1/${db}?limit=5`)
    expect(whole.length).toBe(1)
  })

  test('100 by default; over 1,000 is taken as 1,000', async () => {
    const db = freshName('db')
    const names = Array.from({ length: 1003 }, (_, i) => `t${String(i).padStart(4, '0')}`)
    await inParallel(names, 32, async (name) => ok(await service.api.post(`/v1/${db}/${name}`), 201))
    const first = ok(await service.api.get(`/v1/${db}`))
    expect(first.tables.length).toBe(100)
    expect(first.cursor).toBeString()
    const found = await pages(service.api, `/v1/${db}?limit=5000`)
    expect(found.map((page) => page.tables.length)).toEqual([1000, 3])
    expect(found.flatMap((page) => page.tables.map((table: Json) => table.table))).toEqual(names)
  })

  test('a soft-deleted table leaves the list and is in deleted=true', async () => {
    const db = freshName('db')
    const gone = await makeTable(service.api, { i1: { hashField: 'a' } }, 'gone', db)
    const kept = await makeTable(service.api, undefined, 'kept', db)
    const deleted = ok(await service.api.delete(gone.path))
    expect(ok(await service.api.get(`/v1/${db}`)).tables).toEqual([kept.created])
    expect(ok(await service.api.get(`/v1/${db}?deleted=true`))).toEqual({ tables: [deleted], cursor: null })
    ok(await service.api.post(`${gone.path}/restore`))
    expect(ok(await service.api.get(`/v1/${db}?deleted=true`))).toEqual({ tables: [], cursor: null })
  })

  test('deleted=true goes by name, then deletedAt, with limit and cursor', async () => {
    const db = freshName('db')
    const expected: [string, number][] = []
    for (const name of ['b', 'a', 'b', 'a', 'b']) {
      await makeTable(service.api, undefined, name, db)
      expected.push([name, ok(await service.api.delete(`/v1/${db}/${name}`)).deletedAt])
    }
    expected.sort(([a, aAt], [b, bAt]) => (a === b ? aAt - bAt : a < b ? -1 : 1))
    const found = await pages(service.api, `/v1/${db}?deleted=true&limit=2`)
    expect(found.map((page) => page.tables.length)).toEqual([2, 2, 1])
    const listed = found.flatMap((page) => page.tables.map((table: Json) => [table.table, table.deletedAt]))
    expect(listed).toEqual(expected)
  })

  test('a cursor belongs to its listing', async () => {
    const [db, otherDb] = [freshName('db'), freshName('db')]
    for (const name of ['a', 'b']) {
      await makeTable(service.api, undefined, name, db)
      await makeTable(service.api, undefined, name, otherDb)
    }
    const { cursor } = ok(await service.api.get(`/v1/${db}?limit=1`))
    refused(await service.api.get(`/v1/${otherDb}?cursor=${cursor}`), 400, 'invalid_cursor')
    refused(await service.api.get(`/v1/${db}?deleted=true&cursor=${cursor}`), 400, 'invalid_cursor')
    refused(await service.api.get(`/v1?cursor=${cursor}`), 400, 'invalid_cursor')
    refused(await service.api.get(`/api/keys?cursor=${cursor}`), 400, 'invalid_cursor')
  })
})

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
  for (const path of ['/v1', '/v1/app', '/v1/app?deleted=true', '/api/keys']) {
    const join = path.includes('?') ? '&' : '?'
    for (const limit of ['0', '-1', '1.5', 'ten', '']) {
      test(`${path}: limit=${limit} is refused`, async () => {
        refused(await service.api.get(`${path}${join}limit=${limit}`), 400, 'invalid_request', 'limit')
      })
    }
    test(`${path}: a cursor that cannot be read is refused`, async () => {
      for (const cursor of ['x', '%00', 'bm90IG91cnM', 'A'.repeat(3000)]) {
        refused(await service.api.get(`${path}${join}cursor=${cursor}`), 400, 'invalid_cursor')
      }
    })
    test(`${path}: a parameter that it does not know is refused by name`, async () => {
      const error = refused(await service.api.get(`${path}${join}limti=3`), 400, 'invalid_request')
      expect(`${error.field} ${error.message}`).toContain('limti')
    })
  }

  test('deleted belongs to the listing of tables alone', async () => {
    refused(await service.api.get('/v1?deleted=true'), 400, 'invalid_request')
    refused(await service.api.get('/api/keys?deleted=true'), 400, 'invalid_request')
  })
})
