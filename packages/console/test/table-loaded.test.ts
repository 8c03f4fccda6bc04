import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ApiError } from '../src/api/error.ts'
import type { RecordRow } from '../src/api/types.ts'
import { fitWidths } from '../src/screens/table/columns.ts'
import { type Place, viewOf } from '../src/screens/table/loaded-view.ts'
import { restoreRows } from '../src/screens/table/restore-rows.ts'
import { gridRow } from '../src/screens/table/rows.ts'

const rowsWith = (...values: (string | undefined)[]) =>
  values.map((json, i) =>
    gridRow({ hashKey: `k${i}`, data: json === undefined ? '{}' : `{"f":${json}}`, updatedAt: 100 - i }),
  )
const keys = (rows: readonly { record: RecordRow }[]): string =>
  rows.map(({ record }) => record.hashKey.slice(1)).join(' ')
const f: Place = { field: 'f' }

describe('what is loaded', () => {
  test('is sorted as an index sorts, and rows without the value come last', () => {
    const rows = rowsWith('"b"', '10', undefined, '9', 'true', '"2026-11-01T00:00:00Z"', 'null', '"a"', '-1e3', '[1]')
    expect(keys(viewOf(rows, { sort: { place: f, isDescending: false } }))).toBe('4 8 3 1 5 7 0 6 9 2')
    expect(keys(viewOf(rows, { sort: { place: f, isDescending: true } }))).toBe('6 9 0 7 5 1 3 8 4 2')
    expect(keys(viewOf(rows, { sort: { place: 'updatedAt', isDescending: false } }))).toBe('9 8 7 6 5 4 3 2 1 0')
    expect(keys(viewOf(rows, {}))).toBe('0 1 2 3 4 5 6 7 8 9')
  })

  test('is filtered by a value, whatever it is written as; "1" is not 1', () => {
    const rows = rowsWith('1', '"1"', '1.0', '"\\u0031"', '{"a": [1]}', '{"a":[1]}', 'null', undefined)
    const only = (json: string) => keys(viewOf(rows, { only: { place: f, json } }))
    expect([only('1'), only('"1"'), only('{"a":[1]}'), only('null')]).toEqual(['0 2', '1 3', '4 5', '6'])
    expect(keys(viewOf(rows, { only: { place: 'hashKey', json: '"k3"' } }))).toBe('3')
    // A field may have the name of a key.
    expect(keys(viewOf(rows, { only: { place: { field: 'hashKey' }, json: '"k3"' } }))).toBe('')
  })
})

test('columns: never narrower than their heads, and what is free goes to those that need it', () => {
  const column = fc.record({
    headPx: fc.nat(300),
    contentPx: fc.nat(1500),
    chosenPx: fc.option(fc.integer({ min: 60, max: 900 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(column, { minLength: 1, maxLength: 12 }), fc.nat(4000), (columns, roomPx) => {
      const widths = fitWidths(columns, roomPx)
      const total = widths.reduce((sum, width) => sum + width, 0)
      const least = fitWidths(columns, 0)
      widths.forEach((width, i) => {
        const { headPx, contentPx, chosenPx } = columns[i]!
        if (chosenPx !== undefined) expect(width).toBe(chosenPx)
        else {
          expect(width).toBeGreaterThanOrEqual(headPx)
          expect(width).toBeGreaterThanOrEqual(least[i]!)
          expect(width).toBeLessThanOrEqual(Math.max(headPx, contentPx))
        }
      })
      const isLacking = widths.some((width, i) => columns[i]!.chosenPx === undefined && width < columns[i]!.contentPx)
      // All of the room is used before anything is cut off, but for less than a pixel a column.
      if (isLacking) expect(total).toBeGreaterThan(roomPx - columns.length)
      if (total > roomPx) expect(widths).toEqual(least)
    }),
    { numRuns: 500 },
  )
  expect(fitWidths([{ headPx: 60, contentPx: 1200 }], 4000)).toEqual([1200])
  expect(fitWidths([{ headPx: 60, contentPx: 1200 }], 0)[0]).toBeLessThan(300)
})

describe('undoing a deletion', () => {
  const rows: RecordRow[] = Array.from({ length: 30 }, (_, i) => ({
    hashKey: `k${i}`,
    data: `{"n":${i}.0}`,
    updatedAt: i,
  }))
  const refusal = (status: number) => new ApiError(status, 'refused', 'Refused.', undefined, undefined, undefined)

  test('what was written meanwhile is left alone and said; what failed may be tried again', async () => {
    const put: string[] = []
    const result = await restoreRows([...rows, { hashKey: 'old', data: '{}', ttl: 1_000, updatedAt: 1 }], {
      put: async ({ hashKey }) => {
        if (hashKey === 'k3') throw refusal(412)
        if (hashKey === 'k4') throw refusal(503)
        put.push(hashKey)
      },
      onProgress: () => {},
      signal: new AbortController().signal,
    })
    expect(put.sort()).toEqual(
      rows
        .map(({ hashKey }) => hashKey)
        .filter((key) => key !== 'k3' && key !== 'k4')
        .sort(),
    )
    expect(result.restored).toHaveLength(28)
    expect(result.left.sort()).toEqual([
      'k3: a record with this key was written meanwhile',
      expect.stringContaining('k4: '),
      'old: it would have expired by now',
    ])
    expect(result.again.map(({ hashKey }) => hashKey)).toEqual(['k4'])
  })

  test('stopped: what was not tried can be put back later', async () => {
    const controller = new AbortController()
    const result = await restoreRows(rows, {
      put: async ({ hashKey }) => {
        if (hashKey === 'k9') controller.abort()
      },
      onProgress: () => {},
      signal: controller.signal,
    })
    expect(result.again.length).toBeGreaterThan(10)
    expect(result.restored.length + result.again.length).toBe(30)
  })
})
