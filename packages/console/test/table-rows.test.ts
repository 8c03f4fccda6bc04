import { describe, expect, test } from 'bun:test'
import type { Page, RecordRow } from '../src/api/types.ts'
import { countAll, exportAll, totalWords } from '../src/screens/table/all-pages.ts'
import { type DeleteResult, deleteRows } from '../src/screens/table/batch-delete.ts'
import { columnOf, defaultFields, fieldsOf } from '../src/screens/table/columns.ts'
import { cellAt, gridRow, idOf, lineOf, nameText } from '../src/screens/table/rows.ts'
import { Selection } from '../src/screens/table/selection.ts'
import { spansOf } from '../src/screens/table/write-times.ts'

const row = (data: string, part: Partial<RecordRow> = {}): RecordRow => ({ hashKey: 'a', data, updatedAt: 1, ...part })

describe('rows', () => {
  test('cells are the text of the record, and of two members the last counts', () => {
    const shown = gridRow(row('{"n": 12345678901234567890, "x": 1.0, "x": "1"}'))
    expect(cellAt(shown, 'n')).toEqual({ kind: 'number', text: '12345678901234567890', isCut: false })
    expect(cellAt(shown, 'x')).toMatchObject({ kind: 'string', text: '"1"' })
    expect(cellAt(shown, 'y')).toBeUndefined()
    expect(cellAt(gridRow(row(`{"s":"${'x'.repeat(300)}"}`)), 's')).toMatchObject({ isCut: true })
  })

  test('a range key of # is none', () => {
    expect(idOf({ hashKey: 'a', rangeKey: '#' })).toBe(idOf({ hashKey: 'a' }))
    expect(idOf({ hashKey: 'a', rangeKey: 'b' })).not.toBe(idOf({ hashKey: 'a/b' }))
  })

  test('keys are shown as they are, but for what would reorder or break the line', () => {
    expect(nameText('Zoë "1" \\')).toBe('Zoë "1" \\')
    expect(nameText('a\u202eb\n')).toBe('a\\u202eb\\n')
    expect(nameText('x'.repeat(300))).toHaveLength(200)
  })

  test('a line has the exact text; only line breaks outside strings go', () => {
    const exact = '{ "n": 1.0,\t"n":12345678901234567890 }'
    expect(lineOf(row(exact))).toBe(`{"hashKey":"a","data":${exact},"updatedAt":1}`)
    const line = lineOf(row('{\n  "a b": "c\\n d",\r\n  "n": 1.0\n}', { rangeKey: 'r', ttl: 9 }), {
      db: 'd',
      table: 't',
    })
    expect(line).toBe(
      '{"db":"d","table":"t","hashKey":"a","rangeKey":"r","data":{"a b":"c\\n d","n":1.0},"ttl":9,"updatedAt":1}',
    )
  })
})

describe('columns', () => {
  const indices = { i2: { hashField: 'user', rangeField: 'at' }, i1: { hashField: 'status', rangeField: 'at' } }
  const rows = ['{"z":1,"status":"a"}', '{"y":"1","z":2}', '{"z":null,"x":1,"y":2}'].map((data) => gridRow(row(data)))

  test('index fields by slot, then the most frequent others', () => {
    expect(fieldsOf(rows, indices)).toEqual(['status', 'at', 'user', 'z', 'y', 'x'])
    const many = gridRow(row(JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i])))))
    expect(fieldsOf([many], indices)).toHaveLength(203)
    expect(defaultFields(fieldsOf([many], indices), indices)).toHaveLength(9)
  })

  test('a column knows its slots and whether most of its values are numbers', () => {
    expect(columnOf('at', rows, indices)).toMatchObject({ slots: ['i1', 'i2'], isNumber: false })
    expect(columnOf('z', rows, indices)).toMatchObject({ slots: [], isNumber: true })
  })
})

describe('deleting', () => {
  const rows = Array.from({ length: 60 }, (_, i) => row('{}', { hashKey: `k${i}`, updatedAt: i }))

  /** A server that refuses a batch with a record of `conflicts`, whole. */
  const run = async (conflicts: readonly string[], stopAfter = Number.POSITIVE_INFINITY) => {
    const result: DeleteResult = { deleted: [], changed: [] }
    const controller = new AbortController()
    const sizes: number[] = []
    const progress: number[] = []
    await deleteRows(rows, result, {
      send: async (body) => {
        const { operations } = JSON.parse(body) as {
          operations: { op: string; hashKey: string; ifUpdatedAt: number }[]
        }
        for (const operation of operations) {
          expect(operation).toEqual({
            op: 'delete',
            hashKey: operation.hashKey,
            ifUpdatedAt: Number(operation.hashKey.slice(1)),
          })
        }
        sizes.push(operations.length)
        if (sizes.length >= stopAfter) controller.abort()
        return !operations.some(({ hashKey }) => conflicts.includes(hashKey))
      },
      onProgress: ({ deleted, changed }) => progress.push(deleted.length + changed.length),
      signal: controller.signal,
    })
    return { result, sizes, progress }
  }

  test('25 at a time, each in the version that was shown', async () => {
    const { result, sizes, progress } = await run([])
    expect(sizes).toEqual([25, 25, 10])
    expect(progress).toEqual([25, 50, 60])
    expect(result.changed).toEqual([])
  })

  test('records that changed are found by halves and left alone; all others are deleted', async () => {
    const { result, progress } = await run(['k3', 'k4', 'k59'])
    expect(result.changed.map(({ hashKey }) => hashKey)).toEqual(['k3', 'k4', 'k59'])
    expect(result.deleted).toHaveLength(57)
    expect(new Set(result.deleted.map(({ hashKey }) => hashKey)).has('k4')).toBe(false)
    expect(progress.at(-1)).toBe(60)
  })

  test('stop ends it after the batch in flight', async () => {
    const { result, sizes } = await run([], 2)
    expect(sizes).toEqual([25, 25])
    expect(result.deleted).toHaveLength(50)
  })
})

describe('all pages', () => {
  const pages: Page<RecordRow>[] = [
    { items: [row('{"n":1.0}')], count: 1, cursor: 'c1' },
    { items: [], count: 0, cursor: 'c2' },
    { items: [row('{\n"n":2}'), row('{}', { hashKey: 'ü' })], count: 2, cursor: null },
  ]
  const steps = (controller = new AbortController(), stopAt?: string) => {
    const asked: (string | undefined)[] = []
    return {
      asked,
      read: async (cursor: string | undefined) => {
        asked.push(cursor)
        if (cursor === stopAt && stopAt !== undefined) controller.abort()
        return pages[asked.length - 1]!
      },
      onProgress: () => {},
      signal: controller.signal,
    }
  }

  test('go on after short and empty pages, to the last', async () => {
    const given = steps()
    expect(await countAll(given)).toEqual({ count: 3, isWhole: true })
    expect(given.asked).toEqual([undefined, 'c1', 'c2'])
  })

  test('a count that was stopped is not the whole', async () => {
    const total = await countAll(steps(new AbortController(), 'c1'))
    expect(total).toEqual({ count: 1, isWhole: false })
    expect(totalWords({ count: 10_000, isWhole: false })).toBe('10,000+')
  })

  test('an export has a line for each record', async () => {
    const { blob, count, isWhole } = await exportAll(steps(), { db: 'd', table: 't' })
    expect({ count, isWhole }).toEqual({ count: 3, isWhole: true })
    expect(await blob.text()).toBe(
      [
        '{"db":"d","table":"t","hashKey":"a","data":{"n":1.0},"updatedAt":1}',
        '{"db":"d","table":"t","hashKey":"a","data":{"n":2},"updatedAt":1}',
        '{"db":"d","table":"t","hashKey":"ü","data":{},"updatedAt":1}',
        '',
      ].join('\n'),
    )
    expect((await exportAll(steps(new AbortController(), 'c2'), { db: 'd', table: 't' })).isWhole).toBe(true)
    expect((await exportAll(steps(new AbortController(), 'c1'), { db: 'd', table: 't' })).isWhole).toBe(false)
  })
})

test('shift extends from where the selection began, in both directions', () => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const selection = new Selection()
  selection.toggle('e')
  selection.rest()
  selection.extend(ids, 'b', 'c')
  selection.extend(ids, 'c', 'd')
  expect([...selection.ids.value].sort()).toEqual(['b', 'c', 'd', 'e'])
  selection.extend(ids, 'd', 'a')
  expect([...selection.ids.value].sort()).toEqual(['a', 'b', 'e'])
  selection.drop(new Set(['a']))
  expect([...selection.ids.value].sort()).toEqual(['b', 'e'])
})

test('writes are counted by whole hours and days that leave no gap', () => {
  const nowMs = Date.UTC(2026, 10, 16, 23, 30)
  for (const [unit, count] of [
    ['hour', 24],
    ['day', 14],
  ] as const) {
    const spans = spansOf(unit, nowMs)
    expect(spans).toHaveLength(count)
    for (const [index, span] of spans.entries()) if (index > 0) expect(span.fromMs).toBe(spans[index - 1]!.toMs)
    expect(spans.at(-1)!.fromMs).toBeLessThanOrEqual(nowMs)
    expect(spans.at(-1)!.toMs).toBeGreaterThan(nowMs)
    expect(new Set(spans.map(({ label }) => label)).size).toBe(count)
  }
})
