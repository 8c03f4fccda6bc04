import { beforeAll, describe, expect, test } from 'bun:test'
import { pageBytesMax } from '../../src/core/limits.ts'
import type { Json } from '../harness.ts'
import { makeBucket, type TestBucket } from './bucket.ts'
import { createKey, inParallel, ok, refused, useService } from './service.ts'

const service = useService()
let bucket: TestBucket

/** The names are in the order of their UTF-8 bytes. Every second file is public. */
const names = ['A', 'a', 'a/1', 'a/2', 'a/3/x', 'a0', 'b', 'b/é', 'é', '\uffee', '😀']
const publicNames = names.filter((_, i) => i % 2 === 0)
/** The order in which they were put. */
const putOrder = [...names].reverse()

beforeAll(async () => {
  bucket = await makeBucket(service.api)
  for (const name of putOrder) {
    const visibility = publicNames.includes(name) ? 'public' : 'private'
    await bucket.put(name, name, { query: { visibility } })
  }
})

const withPrefix = (all: string[], prefix: string): string[] => all.filter((name) => name.startsWith(prefix))

describe('a listing', () => {
  test('is by name in the order of UTF-8 bytes, up and down, in pages of any size', async () => {
    for (const limit of [1, 2, 3, 100, 5_000]) {
      expect(await bucket.names({ limit })).toEqual(names)
      expect(await bucket.names({ limit, ascending: false })).toEqual([...names].reverse())
      expect(await bucket.names({ limit, index: 't' })).toEqual([...putOrder].reverse())
      expect(await bucket.names({ limit, index: 't', ascending: true })).toEqual(putOrder)
    }
  })

  test('with a prefix has the names that begin with it', async () => {
    for (const prefix of ['', 'a', 'a/', 'a/3', 'b', 'é', '😀', 'z', '\ud83d\ude00', '%', '_']) {
      for (const limit of [1, 100]) {
        expect([prefix, await bucket.names({ prefix, limit })]).toEqual([prefix, withPrefix(names, prefix)])
        expect(await bucket.names({ prefix, limit, ascending: false })).toEqual(withPrefix(names, prefix).reverse())
      }
    }
  })

  test('with folders has the files and the folders of one level, and its cursors go on', async () => {
    expect(await bucket.query({ folders: true, prefix: 'a' })).toMatchObject({
      folders: ['a/'],
      count: 3,
      cursor: null,
    })
    const { items, folders, count } = await bucket.query({ folders: true, prefix: 'a/' })
    expect([items.map(({ name }: Json) => name), folders, count]).toEqual([['a/1', 'a/2'], ['a/3/'], 3])
    const first = await bucket.query({ folders: true, limit: 3 })
    expect([first.items.map(({ name }: Json) => name), first.folders]).toEqual([['A', 'a'], ['a/']])
    const second = await bucket.query({ folders: true, cursor: first.cursor })
    expect(second.items.map(({ name }: Json) => name)).toEqual(['a0', 'b', 'é', '\uffee', '😀'])
    expect([second.folders, second.cursor]).toEqual([['b/'], null])
    const open = await bucket.query({ folders: true, prefix: 'a/' }, service.reader)
    expect([open.items.map(({ name }: Json) => name), open.folders]).toEqual(
      [['a/1'], ['a/3/']].map((all) => all.filter((name) => publicNames.some((one) => one.startsWith(name)))),
    )
    expect(await bucket.query()).not.toHaveProperty('folders')
    expect(await bucket.query({ folders: true, prefix: 'zz' })).toEqual({
      items: [],
      folders: [],
      count: 0,
      cursor: null,
    })
  })

  test('with folders is by name, is no count, and has cursors of its own', async () => {
    refused(await bucket.tryQuery({ folders: true, index: 't' }), 400, 'invalid_request', 'folders')
    refused(await bucket.tryQuery({ folders: true, select: 'count' }), 400, 'invalid_request', 'folders')
    refused(await bucket.tryQuery({ folders: 'yes' }), 400, 'invalid_request', 'folders')
    const { cursor } = await bucket.query({ folders: true, limit: 3 })
    refused(await bucket.tryQuery({ cursor }), 400, 'invalid_cursor')
    const plain = await bucket.query({ limit: 3 })
    refused(await bucket.tryQuery({ folders: true, cursor: plain.cursor }), 400, 'invalid_cursor')
  })

  test('has the records of the files', async () => {
    const { items } = await bucket.query()
    for (const item of items) expect(item).toEqual(ok(await bucket.record(item.name)))
  })

  test('with a public key has the public files, as if there were no others', async () => {
    for (const limit of [1, 2, 100]) {
      expect(await bucket.names({ limit }, service.reader)).toEqual(publicNames)
      expect(await bucket.names({ limit, prefix: 'a' }, service.reader)).toEqual(withPrefix(publicNames, 'a'))
      expect(await bucket.names({ limit, ascending: false }, service.reader)).toEqual([...publicNames].reverse())
      const newest = [...putOrder].reverse().filter((name) => publicNames.includes(name))
      expect(await bucket.names({ limit, index: 't' }, service.reader)).toEqual(newest)
    }
    const page = await bucket.query({ limit: publicNames.length }, service.reader)
    expect(page.cursor).toBeNull()
  })

  test('follows changes of visibility at once', async () => {
    const own = await makeBucket(service.api)
    await own.put('x', 'x')
    await own.put('y', 'y', { query: { visibility: 'public' } })
    expect(await own.names({}, service.reader)).toEqual(['y'])
    ok(await own.change('x', { visibility: 'public' }))
    ok(await own.change('y', { visibility: 'private' }))
    for (const query of [{}, { index: 't' }]) expect(await own.names(query, service.reader)).toEqual(['x'])
    ok(await own.delete('x'))
    expect(await own.names({}, service.reader)).toEqual([])
  })

  test('counts with select, by pages of 10,000 and less', async () => {
    const count = (query: Json, api = service.api) => bucket.query({ select: 'count', ...query }, api)
    expect(await count({})).toEqual({ items: [], count: names.length, cursor: null })
    expect(await count({}, service.reader)).toEqual({ items: [], count: publicNames.length, cursor: null })
    expect((await count({ prefix: 'a/' })).count).toBe(3)
    expect((await count({ index: 't' })).count).toBe(names.length)
    const first = await count({ limit: 4 })
    expect(first.count).toBe(4)
    expect((await count({ cursor: first.cursor })).count).toBe(names.length - 4)
    // A cursor may go on with another selection.
    expect((await bucket.query({ cursor: first.cursor })).items[0].name).toBe(names[4])
  })

  test('may have an empty body', async () => {
    expect(ok(await service.api.post(`${bucket.path}/query`)).count).toBe(names.length)
  })
})

describe('a cursor', () => {
  test('belongs to its bucket, prefix, index, direction and kind of key', async () => {
    const { cursor } = await bucket.query({ limit: 2 })
    expect((await bucket.query({ cursor })).items.length).toBe(names.length - 2)
    for (const query of [{ prefix: 'a' }, { index: 't' }, { ascending: false }]) {
      refused(await bucket.tryQuery({ ...query, cursor }), 400, 'invalid_cursor', 'cursor')
    }
    refused(await bucket.tryQuery({ cursor }, service.reader), 400, 'invalid_cursor', 'cursor')
    const other = await makeBucket(service.api)
    refused(await other.tryQuery({ cursor }), 400, 'invalid_cursor', 'cursor')
    for (const wrong of ['', 'x', 1, {}, `${cursor}A`]) {
      refused(await bucket.tryQuery({ cursor: wrong }), 400, 'invalid_cursor', 'cursor')
    }
  })

  test('is not given to a bucket made anew under the name', async () => {
    const own = await makeBucket(service.api)
    for (const name of ['x', 'y', 'z']) await own.put(name)
    const { cursor } = await own.query({ limit: 1 })
    ok(await service.api.delete(own.path))
    ok(await service.api.post(own.path), 201)
    refused(await own.tryQuery({ cursor }), 400, 'invalid_cursor', 'cursor')
  })
})

describe('what a query does not take is refused by name:', () => {
  const cases: Json[] = [
    { prefx: 'a' },
    { hash: 'a' },
    { range: {} },
    { prefix: 1 },
    { prefix: null },
    { prefix: '\ud800' },
    { prefix: 'x'.repeat(1_025) },
    { index: 'i1' },
    { index: 'T' },
    { select: 'keys' },
    { select: null },
    { limit: 0 },
    { limit: 1.5 },
    { limit: '1' },
    { ascending: 'yes' },
    { expiresIn: 0 },
    { expiresIn: 604_801 },
    { expiresIn: '60' },
    { expiresIn: null },
  ]
  for (const query of cases) {
    test(JSON.stringify(query).slice(0, 60), async () => {
      refused(await bucket.tryQuery(query), 400, 'invalid_request', Object.keys(query)[0])
    })
  }

  test('prefix with index t', async () => {
    refused(await bucket.tryQuery({ prefix: 'a', index: 't' }), 400, 'invalid_request', 'prefix')
  })

  test('expiresIn with a public key: 403', async () => {
    refused(await bucket.tryQuery({ expiresIn: 60 }, service.reader), 403, 'read_only_key', 'expiresIn')
  })

  test('parameters, other bodies, keys of other databases', async () => {
    refused(await service.api.post(`${bucket.path}/query?limit=1`, {}), 400, 'invalid_request', 'limit')
    refused(await service.api.post(`${bucket.path}/query`, '{'), 400, 'invalid_json')
    refused(await service.api.post(`${bucket.path}/query`, []), 400, 'invalid_request')
    const { key } = await createKey(service.api, { kind: 'public', databases: ['elsewhere'] })
    refused(await bucket.tryQuery({}, service.server.as(key)), 403, 'key_scope')
  })
})

test('a page holds at most 1 MiB with metadata and URLs, and paging meets every file once', async () => {
  const own = await makeBucket(service.api)
  const count = 700
  // A name that is percent-encoded takes three times its bytes in a URL.
  const nameOf = (n: number): string => `${String(n).padStart(4, '0')}-${'é'.repeat(400)}`
  const metadata = JSON.stringify({ text: 'x'.repeat(500) })
  await inParallel(
    Array.from({ length: count }, (_, n) => n),
    16,
    (n) => own.put(nameOf(n), '', { query: { visibility: 'public', metadata } }),
  )
  for (const query of [{}, { index: 't' }, { ascending: false }]) {
    for (const api of [service.api, service.reader]) {
      const seen: string[] = []
      let cursor: string | null = null
      let pages = 0
      do {
        const answer = await own.tryQuery({ ...query, limit: 1_000, cursor }, api)
        const page: Json = ok(answer)
        const text = answer.text.slice(answer.text.indexOf('['), answer.text.lastIndexOf(']') + 1)
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(pageBytesMax)
        // Another item would not have fitted.
        if (page.cursor !== null) expect(Buffer.byteLength(text)).toBeGreaterThan(pageBytesMax - 5_000)
        seen.push(...page.items.map((item: Json) => item.name))
        cursor = page.cursor
      } while (cursor !== null && ++pages < 20)
      expect(pages).toBeGreaterThan(0)
      expect([seen.length, new Set(seen).size]).toEqual([count, count])
    }
  }
})
