import { beforeAll, describe, expect, test } from 'bun:test'
import { valueSpan } from '../../src/core/text/json-span.ts'
import { type Json, startServer } from '../harness.ts'
import { makeTable, ok, refused, type TestTable, useService } from './service.ts'

const service = useService()

/** 60 records of one hash key, in the same order in each index: by range key, by n, and by t upwards. */
const count = 60
const key = (i: number) => String(i).padStart(4, '0')
const records = Array.from({ length: count }, (_, i) => ({ hashKey: 'h', rangeKey: key(i), data: { all: 'x', n: i } }))
const indices = { i1: { hashField: 'all', rangeField: 'n' }, i2: { hashField: 'all' } }
const forms: [string, Json][] = [
  ['by primary key', { hash: 'h' }],
  ['by recency', { index: 't' }],
  ['by declared index', { index: 'i1', hash: 'x' }],
  ['by declared index without a range', { index: 'i2', hash: 'x' }],
]
const keysOf = (items: Json[]) => items.map((item) => item.rangeKey)

describe('limit', () => {
  let table: TestTable
  const many = 1050
  beforeAll(async () => {
    table = await service.table(indices)
    await table.fill(
      Array.from({ length: many }, (_, i) => ({ hashKey: 'h', rangeKey: key(i), data: { all: 'x', n: i } })),
    )
  })

  for (const [what, form] of forms) {
    test(`100 when absent, over 1,000 is taken as 1,000 (${what})`, async () => {
      expect((await table.query(form)).count).toBe(100)
      const most = await table.query({ ...form, limit: 5000 })
      expect(most.count).toBe(1000)
      const rest = await table.query({ ...form, limit: 5000, cursor: most.cursor })
      expect(rest).toMatchObject({ count: many - 1000, cursor: null })
      expect((await table.query({ ...form, limit: 1001 })).count).toBe(1000)
      expect((await table.query({ ...form, limit: 999 })).count).toBe(999)
    })
  }

  test('a last page that is just full says so', async () => {
    const full = await service.table()
    await full.fill(records.slice(0, 10))
    expect((await full.query({ hash: 'h', limit: 10 })).cursor).toBeNull()
    expect((await full.query({ hash: 'h', limit: 9 })).cursor).toBeString()
  })
})

describe('paging meets each record exactly once', () => {
  let table: TestTable
  beforeAll(async () => {
    table = await service.table(indices)
    await table.fill(records)
    await table.put('other', { all: 'y', n: 1 })
  })
  for (const [what, form] of forms) {
    for (const ascending of [true, false]) {
      for (const limit of [1, 7, 59, 60, 61]) {
        test(`${what}, ${ascending ? 'upwards' : 'downwards'}, ${limit} a page`, async () => {
          const range = form.index === 't' ? { range: { gte: 0 } } : {}
          const found = (await table.items({ ...form, ...range, ascending, limit })).filter(
            (item) => item.hashKey === 'h',
          )
          const expected = records.map((record) => record.rangeKey)
          // Records with equal values come in creation order upwards; downwards only their number is promised.
          if (form.index === 'i2' && !ascending) {
            expect(keysOf(found).sort()).toEqual(expected)
          } else {
            expect(keysOf(found)).toEqual(ascending ? expected : expected.toReversed())
          }
        })
      }
    }
  }

  test('within a range condition', async () => {
    const keys = async (query: Json) => keysOf(await table.items({ limit: 4, ...query }))
    const expected = records.slice(10, 31).map((record) => record.rangeKey)
    expect(await keys({ hash: 'h', range: { between: [key(10), key(30)] } })).toEqual(expected)
    expect(await keys({ hash: 'h', range: { between: [key(10), key(30)] }, ascending: false })).toEqual(
      expected.toReversed(),
    )
    expect(await keys({ index: 'i1', hash: 'x', range: { between: [10, 30] } })).toEqual(expected)
    expect(await keys({ index: 'i1', hash: 'x', range: { between: [10, 30] }, ascending: false })).toEqual(
      expected.toReversed(),
    )
  })

  test('within a half-open range', async () => {
    const all = await table.items({ hash: 'h' })
    const at = (i: number) => all[i].updatedAt
    const ranges: [Json, (bound: (i: number) => Json) => Json][] = [
      [{ hash: 'h' }, (bound) => bound(0)],
      [{ index: 't' }, (bound) => bound(1)],
      [{ index: 'i1', hash: 'x' }, (bound) => bound(2)],
    ]
    const operand = (i: number) => [key(i), at(i), i]
    for (const [form, of] of ranges) {
      for (const ascending of [true, false]) {
        const keys = async (lower: string, upper: string) =>
          keysOf(
            await table.items({
              ...form,
              ascending,
              limit: 4,
              range: of((which) => ({ [upper]: operand(30)[which], [lower]: operand(10)[which] })),
            }),
          )
        // Records of one batch share their updatedAt: it has no place in the middle of them.
        const within = (low: number, high: number) => {
          const met = records.slice(low, high).map((record) => record.rangeKey)
          return ascending ? met : met.toReversed()
        }
        if (form.index === 't') {
          const between = all.filter((item) => item.updatedAt >= at(10) && item.updatedAt < at(30))
          const met = keysOf(between)
          expect(await keys('gte', 'lt')).toEqual(ascending ? met : met.toReversed())
        } else {
          expect(await keys('gte', 'lt')).toEqual(within(10, 30))
          expect(await keys('gt', 'lt')).toEqual(within(11, 30))
          expect(await keys('gt', 'lte')).toEqual(within(11, 31))
          expect(await keys('gte', 'lte')).toEqual(within(10, 31))
        }
      }
    }
  })

  test('among equal values, in either direction, although the bounds of the rest are equal too', async () => {
    const ties = await service.table(indices)
    await ties.fill(records.slice(0, 9).map((record) => ({ ...record, data: { all: 'x', n: 5 } })))
    for (const range of [{ eq: 5 }, { gte: 5, lte: 5 }, { gte: 5, lt: 6 }, { between: [5, 5] }]) {
      for (const ascending of [true, false]) {
        const found = keysOf(await ties.items({ index: 'i1', hash: 'x', range, ascending, limit: 2 }))
        expect(found.toSorted()).toEqual(records.slice(0, 9).map((record) => record.rangeKey))
      }
    }
  })

  test('the limit may change from page to page', async () => {
    const first = await table.query({ hash: 'h', limit: 5 })
    const second = await table.query({ hash: 'h', limit: 50, cursor: first.cursor })
    const third = await table.query({ hash: 'h', limit: 50, cursor: second.cursor })
    expect(third.cursor).toBeNull()
    expect(keysOf([...first.items, ...second.items, ...third.items])).toEqual(records.map((r) => r.rangeKey))
  })

  for (const [what, form] of forms) {
    test(`while others are written, and the last one met is removed (${what})`, async () => {
      const busy = await service.table(indices)
      await busy.fill(records)
      const found: string[] = []
      const ascending = form.index !== 't'
      for (let cursor: string | null = null, page = 0; ; page++) {
        const next = await busy.query({ ...form, ascending, limit: 7, cursor })
        found.push(...keysOf(next.items).filter((k) => !k.includes('new')))
        cursor = next.cursor
        if (cursor === null) break
        const last = next.items.at(-1)!
        ok(await busy.delete(last.hashKey, last.rangeKey))
        await busy.put('h', { all: 'x', n: -1 - page }, { rangeKey: `!new${page}` })
        await busy.put('h', { all: 'x', n: 1000 + page }, { rangeKey: `znew${page}` })
      }
      const expected = records.map((record) => record.rangeKey)
      expect(found).toEqual(ascending ? expected : expected.toReversed())
    })
  }

  test('a write moves its record in t: paging upwards may meet it again, all others once', async () => {
    const busy = await service.table()
    await busy.fill(records.slice(0, 20))
    const first = await busy.query({ index: 't', ascending: true, limit: 5 })
    await busy.put('h', { moved: true }, { rangeKey: key(2) })
    const rest = await busy.query({ index: 't', ascending: true, limit: 100, cursor: first.cursor })
    expect(keysOf(rest.items)).toEqual([...records.slice(5, 20).map((r) => r.rangeKey), key(2)])
  })
})

/** The bytes of `items` as they were sent. */
const itemsBytesOf = (page: string): number => {
  const { start, end } = valueSpan(page, page.indexOf('"items":') + '"items":'.length)
  expect(page.slice(0, start)).toBe('{"items":')
  return Buffer.byteLength(page.slice(start, end))
}

describe('a page ends before the record with which the text of items would pass 1,048,576 bytes', () => {
  const most = 1_048_576
  const keys: [what: string, hashKey: string, rangeKey: (i: number) => string, more: Json][] = [
    ['plain keys', 'h', key, {}],
    [
      'keys of control characters',
      '\u0001'.repeat(1_000),
      (i) => `${'\0'.repeat(1_000)}${i}`,
      { ttl: 253_402_300_799 },
    ],
    ['quotes, and characters of several bytes', '"\\é€😀'.repeat(50), (i) => `\u2028"${i}`, { ttl: 253_402_300_799 }],
  ]
  for (const [what, hashKey, rangeKey, more] of keys) {
    test(`exactly so many bytes still fit, one more does not (${what})`, async () => {
      const table = await service.table(indices)
      const put = (i: number, padBytes: number) =>
        table.put(hashKey, { all: 'x', n: 1, pad: 'p'.repeat(padBytes) }, { rangeKey: rangeKey(i), ...more })
      for (let i = 0; i < 4; i++) await put(i, 250_000)
      const pagesOf = async (form: Json, ascending: boolean): Promise<[count: number, bytes: number][]> => {
        const pages: [number, number][] = []
        let cursor = null
        do {
          const answer = await table.tryQuery({ ...form, ascending, limit: 1000, cursor })
          const page = ok(answer)
          expect(page.count).toBe(page.items.length)
          pages.push([page.count, itemsBytesOf(answer.text)])
          cursor = page.cursor
        } while (cursor !== null)
        return pages
      }
      const forms: Json[] = [{ hash: hashKey }, { index: 't' }, { index: 'i1', hash: 'x' }]
      const [[, bytes]] = (await pagesOf(forms[0], true)) as [[number, number]]
      await put(1, 250_000 + most - bytes)
      for (const form of forms) {
        for (const ascending of [true, false]) expect(await pagesOf(form, ascending)).toEqual([[4, most]])
      }
      await put(2, 250_001)
      for (const form of forms) {
        for (const ascending of [true, false]) {
          expect((await pagesOf(form, ascending)).map(([count]) => count)).toEqual([3, 1])
        }
      }
    })
  }

  test('records that are nearly all key come in pages of 1 MiB at the most', async () => {
    const table = await service.table()
    const records = Array.from({ length: 300 }, (_, i) => ({
      hashKey: `${'\u0001'.repeat(1_000)}`,
      rangeKey: `${'\u0002'.repeat(1_000)}${key(i)}`,
      data: {},
    }))
    await table.fill(records)
    let cursor = null
    let count = 0
    do {
      const answer = await table.tryQuery({ index: 't', limit: 1000, cursor })
      const page = ok(answer)
      expect(itemsBytesOf(answer.text)).toBeLessThanOrEqual(most)
      // 12 kB each: full but for less than one of them.
      if (page.cursor !== null) expect(itemsBytesOf(answer.text)).toBeGreaterThan(most - 13_000)
      count += page.count
      cursor = page.cursor
    } while (cursor !== null)
    expect(count).toBe(300)
  })

  test('bytes are counted, not characters', async () => {
    const table = await service.table()
    const wide = { a: '€'.repeat(131_072) }
    for (let i = 0; i < 4; i++) await table.put('h', wide, { rangeKey: key(i) })
    const pages = await table.pages({ hash: 'h' })
    expect(pages.map((page) => page.count)).toEqual([2, 2])
  })

  test('records of the greatest size go two a page', async () => {
    const table = await service.table()
    const most = { a: 'x'.repeat(409_600 - '{"a":""}'.length) }
    for (let i = 0; i < 5; i++) await table.put('h', most, { rangeKey: key(i) })
    const pages = await table.pages({ hash: 'h', limit: 10 })
    expect(pages.map((page) => page.count)).toEqual([2, 2, 1])
  })
})

describe('a cursor belongs to its query', () => {
  let table: TestTable
  let other: TestTable
  beforeAll(async () => {
    table = await service.table(indices)
    other = await service.table(indices)
    for (const each of [table, other]) {
      await each.fill(records.slice(0, 10))
      await each.fill(records.slice(0, 10).map((record) => ({ ...record, hashKey: 'g' })))
    }
  })

  const primary = { hash: 'h', range: { gte: '0' } }
  const recency = { index: 't', range: { gte: 0 } }
  const declared = { index: 'i1', hash: 'x', range: { gte: 0 } }
  const strangers: [string, Json, Json][] = [
    ['another hash', primary, { ...primary, hash: 'g' }],
    ['another range', primary, { ...primary, range: { gte: '00' } }],
    ['another operator', primary, { ...primary, range: { gt: '0' } }],
    ['no range', primary, { hash: 'h' }],
    ['an upper bound more', primary, { ...primary, range: { gte: '0', lt: '9' } }],
    ['an upper bound less', { ...primary, range: { gte: '0', lt: '9' } }, primary],
    ['another upper bound', { ...primary, range: { gte: '0', lt: '9' } }, { ...primary, range: { gte: '0', lt: '8' } }],
    [
      'an upper bound included',
      { ...primary, range: { gte: '0', lt: '9' } },
      { ...primary, range: { gte: '0', lte: '9' } },
    ],
    [
      'a lower bound left out',
      { ...primary, range: { gte: '0', lt: '9' } },
      { ...primary, range: { gt: '0', lt: '9' } },
    ],
    ['another direction', primary, { ...primary, ascending: false }],
    ['another form', primary, recency],
    ['a declared index', primary, declared],
    ['recency, another direction', recency, { ...recency, ascending: true }],
    ['recency, another range', recency, { ...recency, range: { gte: 1 } }],
    ['recency, no range', recency, { index: 't' }],
    ['recency, an upper bound more', recency, { ...recency, range: { gte: 0, lt: 4e12 } }],
    ['a declared index, an upper bound more', declared, { ...declared, range: { gte: 0, lt: 100 } }],
    ['another index', declared, { index: 'i2', hash: 'x' }],
    ['another index value', declared, { ...declared, hash: 'y' }],
    ['an index value of another type', { index: 'i1', hash: 'x' }, { index: 'i1', hash: 1 }],
    ['a declared index, another range', declared, { ...declared, range: { gte: 1 } }],
    ['a declared index, another direction', declared, { ...declared, ascending: false }],
  ]
  for (const [what, query, stranger] of strangers) {
    test(`${what}: invalid_cursor`, async () => {
      const { cursor } = await table.query({ ...query, limit: 2 })
      expect(cursor).toBeString()
      refused(await table.tryQuery({ ...stranger, limit: 2, cursor }), 400, 'invalid_cursor', 'cursor')
      ok(await table.tryQuery({ ...query, limit: 2, cursor }))
    })
  }

  for (const [what, query] of [
    ['primary', primary],
    ['recency', recency],
    ['declared', declared],
  ] as const) {
    test(`another table (${what}): invalid_cursor`, async () => {
      const { cursor } = await table.query({ ...query, limit: 2 })
      refused(await other.tryQuery({ ...query, limit: 2, cursor }), 400, 'invalid_cursor')
    })
  }

  test('the default direction spelled out is the same direction', async () => {
    const { cursor } = await table.query({ hash: 'h', limit: 2 })
    ok(await table.tryQuery({ hash: 'h', ascending: true, limit: 2, cursor }))
    const newest = await table.query({ index: 't', limit: 2 })
    ok(await table.tryQuery({ index: 't', ascending: false, limit: 2, cursor: newest.cursor }))
  })

  test('null is as absent', async () => {
    expect(await table.query({ hash: 'h', cursor: null })).toEqual(await table.query({ hash: 'h' }))
  })

  test('one that cannot be read: invalid_cursor', async () => {
    const { cursor } = await table.query({ hash: 'h', limit: 2 })
    const whole = cursor!
    const spoiled: Json[] = [
      '',
      ' ',
      'nonsense',
      `${whole}x`,
      `${whole}=`,
      ` ${whole}`,
      whole.slice(0, -3),
      whole.slice(3),
      whole.toLowerCase(),
      'A'.repeat(20_000),
      'bnVsbA',
      'W10',
      'WzFd',
      1,
      true,
      {},
      [whole],
    ]
    for (const value of spoiled) {
      refused(await table.tryQuery({ hash: 'h', limit: 2, cursor: value }), 400, 'invalid_cursor', 'cursor')
    }
  })

  test('it can be used more than once', async () => {
    const { cursor } = await table.query({ hash: 'h', limit: 2 })
    const once = await table.query({ hash: 'h', limit: 2, cursor })
    expect(await table.query({ hash: 'h', limit: 2, cursor })).toEqual(once)
  })

  test('another key of the organization may go on with it', async () => {
    const { cursor } = await table.query({ hash: 'h', limit: 2 })
    const page = ok(await service.reader.post(`${table.path}/query`, { hash: 'h', limit: 2, cursor }))
    expect(page).toEqual(await table.query({ hash: 'h', limit: 2, cursor }))
  })

  test('it survives a restart of the server', async () => {
    const server = await startServer()
    const api = server.as((await server.createOrganization()).secretKey)
    const kept = await makeTable(api, indices)
    await kept.fill(records)
    await makeTable(api)
    const cursors: [Json, string | null, Json][] = []
    for (const query of [primary, recency, declared]) {
      const { cursor } = await kept.query({ ...query, limit: 4 })
      cursors.push([query, cursor, await kept.query({ ...query, limit: 4, cursor })])
    }
    const tables = ok(await api.get('/v1/app?limit=1')).cursor
    const keys = ok(await api.get('/api/keys?limit=1')).cursor
    expect([...cursors.map(([, cursor]) => cursor), tables, keys]).not.toContain(null)
    await server.restart()
    for (const [query, cursor, next] of cursors) {
      expect(await kept.query({ ...query, limit: 4, cursor })).toEqual(next)
    }
    ok(await api.get(`/v1/app?limit=1&cursor=${tables}`))
    ok(await api.get(`/api/keys?limit=1&cursor=${keys}`))
    await server.stop()
  })

  test("it ends with a table's re-creation, and lives on through delete and restore", async () => {
    const gone = await makeTable(service.api, indices)
    await gone.fill(records.slice(0, 10))
    const { cursor } = await gone.query({ ...declared, limit: 3 })
    const next = await gone.query({ ...declared, limit: 3, cursor })
    const { deletedAt } = ok(await service.api.delete(gone.path))
    refused(await gone.tryQuery({ ...declared, limit: 3, cursor }), 404, 'table_not_found')
    ok(await service.api.post(gone.path, { indices }), 201)
    await gone.fill(records.slice(0, 10))
    refused(await gone.tryQuery({ ...declared, limit: 3, cursor }), 400, 'invalid_cursor')
    ok(await service.api.delete(gone.path))
    ok(await service.api.post(`${gone.path}/restore`, { deletedAt }))
    expect(await gone.query({ ...declared, limit: 3, cursor })).toEqual(next)
  })
})
