import { beforeAll, describe, expect, test } from 'bun:test'
import { valueSpan } from '../../src/core/text/json-span.ts'
import type { Json } from '../harness.ts'
import { justPast, ok, refused, type TestTable, useService } from './service.ts'

const service = useService()

const indices = { i1: { hashField: 'all', rangeField: 'n' }, i2: { hashField: 'all' } }
const key = (i: number) => String(i).padStart(4, '0')
const forms: [string, Json][] = [
  ['by primary key', { hash: 'h' }],
  ['by recency', { index: 't' }],
  ['by declared index', { index: 'i1', hash: 'x' }],
  ['by declared index without a range', { index: 'i2', hash: 'x' }],
]

const withoutData = ({ data: _, ...head }: Json): Json => head
const select = async (table: TestTable, query: Json): Promise<Json> => ok(await table.tryQuery(query))

describe('select', () => {
  let table: TestTable
  beforeAll(async () => {
    table = await service.table(indices)
    await table.fill(
      Array.from({ length: 30 }, (_, i) => ({
        hashKey: 'h',
        ...(i === 7 ? {} : { rangeKey: key(i) }),
        // Some data is longer than what is read with the keys.
        data: { all: 'x', n: i, text: 'é'.repeat(i % 5 === 0 ? 5_000 : 5) },
        ...(i % 3 === 0 ? { ttl: 4102444800 + i } : {}),
      })),
    )
    await table.put('h', { all: 'x', n: 99 }, { rangeKey: 'gone', ttl: justPast() })
  })

  for (const [what, form] of forms) {
    test(`data is the default; keys are the same items without data (${what})`, async () => {
      const whole = await table.query(form)
      expect(whole.count).toBe(30)
      expect(await select(table, { ...form, select: 'data' })).toEqual(whole)
      const keys = await select(table, { ...form, select: 'keys' })
      expect(keys).toEqual({ items: whole.items.map(withoutData), count: 30, cursor: null })
      expect(keys.items.some((item: Json) => 'ttl' in item && 'rangeKey' in item)).toBe(true)
      expect(keys.items.filter((item: Json) => !('rangeKey' in item))).toHaveLength(1)
    })

    test(`count: no items, and how many matched (${what})`, async () => {
      expect(await select(table, { ...form, select: 'count' })).toEqual({ items: [], count: 30, cursor: null })
      expect(await select(table, { ...form, select: 'count', limit: 30 })).toMatchObject({ count: 30, cursor: null })
      const first = await select(table, { ...form, select: 'count', limit: 29 })
      expect(first).toEqual({ items: [], count: 29, cursor: expect.any(String) })
      const rest = await select(table, { ...form, select: 'count', cursor: first.cursor })
      expect(rest).toEqual({ items: [], count: 1, cursor: null })
    })

    test(`a cursor goes on with another select (${what})`, async () => {
      const all = (await table.query(form)).items
      for (const ascending of [true, false]) {
        const ordered = form.index === 't' ? (ascending ? all.toReversed() : all) : ascending ? all : all.toReversed()
        const next = (cursor: string | null, selected: string, limit: number) =>
          select(table, { ...form, ascending, select: selected, limit, cursor })
        const counted = await next(null, 'count', 11)
        const keys = await next(counted.cursor, 'keys', 7)
        const data = await next(keys.cursor, 'data', 5)
        const rest = await next(data.cursor, 'count', 100)
        expect([counted.count, keys.count, data.count, rest.count]).toEqual([11, 7, 5, 7])
        expect(rest.cursor).toBeNull()
        expect(keys.items).toEqual(ordered.slice(11, 18).map(withoutData))
        expect(data.items).toEqual(ordered.slice(18, 23))
      }
    })
  }

  test('within a half-open range', async () => {
    const range = { gte: 10, lt: 20 }
    const form = { index: 'i1', hash: 'x', range }
    expect(await select(table, { ...form, select: 'count' })).toEqual({ items: [], count: 10, cursor: null })
    const keys = await select(table, { ...form, select: 'keys', ascending: false, limit: 3 })
    expect(keys.items.map((item: Json) => item.rangeKey)).toEqual([key(19), key(18), key(17)])
    const empty = { index: 'i1', hash: 'x', range: { gte: 3, lt: 3 } }
    for (const each of ['data', 'keys', 'count']) {
      expect(await select(table, { ...empty, select: each })).toEqual({ items: [], count: 0, cursor: null })
    }
    // Bounds that leave nothing leave no place for a cursor; the rest is checked as ever.
    refused(await table.tryQuery({ ...empty, cursor: keys.cursor }), 400, 'invalid_cursor', 'cursor')
    refused(await table.tryQuery({ ...empty, index: 'i5' }), 400, 'index_not_declared', 'index')
  })

  test('anything else is refused', async () => {
    for (const value of ['', 'Data', 'all', 'hashKey', null, true, 1, [], ['keys'], {}]) {
      for (const [, form] of forms) {
        const error = refused(await table.tryQuery({ ...form, select: value }), 400, 'invalid_request', 'select')
        expect(error.message).toEndWith('; it takes "data", "keys" or "count".')
      }
    }
    refused(await table.tryQuery({ hash: 'h', select: 'count', limit: 0 }), 400, 'invalid_request', 'limit')
  })

  test('a public key may select too', async () => {
    const answer = await service.reader.post(`${table.path}/query`, { hash: 'h', select: 'count' })
    expect(ok(answer)).toEqual({ items: [], count: 30, cursor: null })
  })

  test('a write is counted when its answer is sent, a removed record is not', async () => {
    const own = await service.table(indices)
    for (let i = 0; i < 5; i++) {
      await own.put('h', { all: 'x', n: i }, { rangeKey: key(i) })
      for (const [, form] of forms) expect((await select(own, { ...form, select: 'count' })).count).toBe(i + 1)
    }
    ok(await own.delete('h', key(2)))
    for (const [, form] of forms) expect((await select(own, { ...form, select: 'count' })).count).toBe(4)
  })
})

describe('limits', () => {
  test('keys: 100 when absent, over 1,000 is taken as 1,000; count: 10,000 when absent or larger', async () => {
    const table = await service.table(indices)
    const many = 10_003
    await table.fill(
      Array.from({ length: many }, (_, i) => ({ hashKey: 'h', rangeKey: key(i), data: { all: 'x', n: i } })),
    )
    for (const [, form] of forms) {
      expect((await select(table, { ...form, select: 'keys' })).count).toBe(100)
      expect((await select(table, { ...form, select: 'keys', limit: 20_000 })).items).toHaveLength(1_000)
      for (const limit of [undefined, 10_000, 10_001, 1_000_000]) {
        const first = await select(table, { ...form, select: 'count', limit })
        expect(first.count).toBe(10_000)
        expect(await select(table, { ...form, select: 'count', cursor: first.cursor })).toEqual({
          items: [],
          count: 3,
          cursor: null,
        })
      }
      expect((await select(table, { ...form, select: 'count', limit: 9_999 })).count).toBe(9_999)
    }
  })

  test('keys: the text of items has at most 1,048,576 bytes as sent', async () => {
    const table = await service.table()
    const hashKey = '\u0001"\\é€😀'
    await table.fill(
      Array.from({ length: 200 }, (_, i) => ({ hashKey, rangeKey: `${'\u0002'.repeat(1_000)}${key(i)}`, data: {} })),
    )
    const counts: number[] = []
    let cursor = null
    do {
      const answer = await table.tryQuery({ hash: hashKey, select: 'keys', limit: 1_000, cursor })
      const page = ok(answer)
      const { start, end } = valueSpan(answer.text, '{"items":'.length)
      const bytes = Buffer.byteLength(answer.text.slice(start, end))
      expect(bytes).toBeLessThanOrEqual(1_048_576)
      // 6 kB each: full but for less than one of them.
      if (page.cursor !== null)
        expect(bytes + Buffer.byteLength(JSON.stringify(page.items[0])) + 1).toBeGreaterThan(1_048_576)
      counts.push(page.count)
      cursor = page.cursor
    } while (cursor !== null)
    expect(counts).toHaveLength(2)
    expect(counts[0]! + counts[1]!).toBe(200)
  })
})
