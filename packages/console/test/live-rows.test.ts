import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { changeWords, moves, rowChanges } from '../src/screens/table/live/row-changes.ts'
import { gridRow } from '../src/screens/table/rows.ts'

const rowsOf = (...versions: [key: string, updatedAt: number][]) =>
  versions.map(([hashKey, updatedAt]) => gridRow({ hashKey, updatedAt, data: '{}' }))
const idsOf = (...keys: string[]) => keys.map((key) => JSON.stringify([key]))

test('added, changed and removed rows, and the order of those that stay', () => {
  const changes = rowChanges(rowsOf(['a', 1], ['b', 1], ['c', 1]), rowsOf(['d', 2], ['c', 1], ['b', 3]))
  expect(changes).toEqual({ added: idsOf('d'), changed: idsOf('b'), removed: idsOf('a'), isReordered: true })
  expect(moves(changes)).toBe(true)
  expect(changeWords(changes)).toBe('1 new, 1 gone')
})

test('a row that is only written again moves nothing', () => {
  const changes = rowChanges(rowsOf(['a', 1], ['b', 1]), rowsOf(['a', 2], ['b', 1]))
  expect(changes).toEqual({ added: [], changed: idsOf('a'), removed: [], isReordered: false })
  expect(moves(changes)).toBe(false)
  expect(changeWords(changes)).toBe('changes')
})

test('rows that only change places have words too', () => {
  const changes = rowChanges(rowsOf(['a', 1], ['b', 1]), rowsOf(['b', 1], ['a', 1]))
  expect([moves(changes), changeWords(changes)]).toEqual([true, 'another order'])
})

test('for any two results: what stays without moving is what was there, without the removed and with the added', () => {
  const result = fc.uniqueArray(fc.tuple(fc.constantFrom(...'abcdefgh'), fc.nat(3)), { selector: ([key]) => key })
  fc.assert(
    fc.property(result, result, (one, other) => {
      const [before, after] = [rowsOf(...one), rowsOf(...other)]
      const { added, changed, removed } = rowChanges(before, after)
      const ids = new Set(before.map(({ id }) => id))
      for (const id of removed) expect(ids.delete(id)).toBe(true)
      for (const id of changed) expect(ids.has(id)).toBe(true)
      for (const id of added) ids.add(id)
      expect([...ids].sort()).toEqual(after.map(({ id }) => id).sort())
      expect(moves(rowChanges(after, after))).toBe(false)
    }),
  )
})
