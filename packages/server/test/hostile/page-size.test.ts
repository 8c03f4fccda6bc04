import { expect, test } from 'bun:test'
import { pageBytesMax } from '../../src/core/limits.ts'
import { type TestTable, useService } from '../http/service.ts'
import { fillTable } from './stage.ts'

// A byte of a key may become six of JSON. If only data counted, a page of small records would be a dozen megabytes.

const service = useService({})

/** The text between the brackets of `items`. There is no bracket after it. */
const itemsText = (answer: string): string => {
  expect(answer.startsWith('{"items":[')).toBe(true)
  return answer.slice('{"items":'.length, answer.lastIndexOf(']') + 1)
}

/** Every page of the query: the records in order, each page within its bytes and holding one at least. */
const readPages = async (table: TestTable, query: object, bytesMax = pageBytesMax): Promise<string[]> => {
  const ranges: string[] = []
  for (let cursor: string | null = null, pages = 0; pages < 2_000; pages++) {
    const answer = await table.tryQuery({ ...query, limit: 1_000, cursor })
    expect(answer.status).toBe(200)
    const items = itemsText(answer.text)
    const { count, cursor: next } = answer.body
    if (count !== 1) expect(Buffer.byteLength(items)).toBeLessThanOrEqual(bytesMax)
    for (const item of answer.body.items) ranges.push(item.rangeKey)
    if (next === null) return ranges
    expect(count).toBeGreaterThan(0)
    cursor = next
  }
  throw new Error('the cursor never becomes null')
}

const number = (n: number): string => String(n).padStart(4, '0')

test.each([
  ['control characters, six bytes each in JSON', '\u0001'],
  ['quotes, two bytes each', '"'],
  ['letters', 'k'],
])('1,000 records whose keys are 1 kB of %s: no page has more than a mebibyte of items', async (_name, character) => {
  const table = await service.table({ i1: { hashField: 'n' } })
  const hashKey = character.repeat(1_024)
  const ranges = Array.from({ length: 1_000 }, (_, n) => number(n) + character.repeat(1_020))
  await fillTable(
    table,
    ranges.map((rangeKey) => ({ hashKey, rangeKey, data: { n: 1 } })),
  )
  expect(await readPages(table, { hash: hashKey })).toEqual(ranges)
  expect(await readPages(table, { index: 'i1', hash: 1 })).toHaveLength(1_000)
  expect((await readPages(table, { hash: hashKey, ascending: false })).toReversed()).toEqual(ranges)
})

test('a record larger than a page is not left out, and no page without need has only one', async () => {
  const table = await service.table()
  const text = 'é'.repeat(100_000)
  await fillTable(
    table,
    Array.from({ length: 12 }, (_, n) => ({ hashKey: 'h', rangeKey: number(n), data: { text } })),
    5,
  )
  const { count } = await table.query({ hash: 'h' })
  expect(count).toBe(5)
  expect(await readPages(table, { hash: 'h' })).toHaveLength(12)
})

test('a page of exactly a mebibyte of items is one page; a byte more is two', async () => {
  for (const [more, pages] of [
    [0, 1],
    [1, 2],
  ] as const) {
    const table = await service.table()
    // Three records, sized by what the answer shows of them.
    const put = (rangeKey: string, bytes: number) => table.put('h', { t: 'x'.repeat(bytes) }, { rangeKey })
    await put('a', 400_000)
    await put('b', 400_000)
    await put('c', 1)
    const shown = Buffer.byteLength(itemsText((await table.tryQuery({ hash: 'h' })).text))
    await put('c', 1 + pageBytesMax - shown + more)
    expect(await table.pages({ hash: 'h' })).toHaveLength(pages)
  }
})
