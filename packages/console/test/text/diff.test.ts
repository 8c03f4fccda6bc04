import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type DiffRow, diffLines } from '../../src/text/diff.ts'
import { bestMs } from './arbitraries.ts'

const marks = (rows: DiffRow[]): string[] =>
  rows.map(({ left, right, same }) => `${left ?? '-'} ${same ? '=' : '|'} ${right ?? '-'}`)

const lines = (text: string): string[] => text.split(/\r\n|\n|\r/)

/** Every line of both texts is there once, in order, with its number. */
const expectWhole = (mine: string, theirs: string, rows: DiffRow[]): void => {
  const side = (text: 'left' | 'right', line: 'leftLine' | 'rightLine', whole: string): void => {
    const own = rows.filter((row) => row[text] !== undefined)
    // Joined, because comparing arrays of 20,000 takes long.
    expect(own.map((row) => `${row[line]} ${row[text]}`).join('\n')).toBe(
      lines(whole)
        .map((each, i) => `${i + 1} ${each}`)
        .join('\n'),
    )
    expect(rows.every((row) => (row[text] === undefined) === (row[line] === undefined))).toBe(true)
  }
  side('left', 'leftLine', mine)
  side('right', 'rightLine', theirs)
  expect(rows.filter((row) => row.same && row.left !== row.right)).toEqual([])
}

/** The length of the longest common subsequence, by the table. */
const longestCommon = (a: string[], b: string[]): number => {
  let row = new Array<number>(b.length + 1).fill(0)
  for (const line of a) {
    const next = [0]
    b.forEach((other, j) => {
      next.push(line === other ? row[j]! + 1 : Math.max(next[j]!, row[j + 1]!))
    })
    row = next
  }
  return row.at(-1)!
}

/** The work would be a thousand times more without a limit. */
const readTimesMax = 200

describe('two texts side by side', () => {
  test('changed lines stand beside each other', () => {
    expect(marks(diffLines('a\nb\nc\nd', 'a\nx\nc\ny\nd'))).toEqual(['a = a', 'b | x', 'c = c', '- | y', 'd = d'])
    expect(marks(diffLines('a\nb\nc', 'a\nc'))).toEqual(['a = a', 'b | -', 'c = c'])
    expect(marks(diffLines('a', 'a'))).toEqual(['a = a'])
    expect(marks(diffLines('', 'a\nb'))).toEqual([' | a', '- | b'])
    expect(diffLines('x', 'y')).toEqual([{ left: 'x', right: 'y', same: false, leftLine: 1, rightLine: 1 }])
  })

  test('each line is there once, and as many as possible are the same', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 14 }).map((each) => each.join('\n'))
    fc.assert(
      fc.property(text, text, (mine, theirs) => {
        const rows = diffLines(mine, theirs)
        expectWhole(mine, theirs, rows)
        expect(rows.filter(({ same }) => same).length).toBe(longestCommon(lines(mine), lines(theirs)))
      }),
      { numRuns: 500 },
    )
  })

  test('all rows are the same only if the texts are', () => {
    const text = fc.array(fc.constantFrom('a', 'b', '\n', '\r', '\r\n'), { maxLength: 8 }).map((each) => each.join(''))
    fc.assert(
      fc.property(text, text, (mine, theirs) => {
        const rows = diffLines(mine, theirs)
        expectWhole(mine, theirs, rows)
        expect(rows.every(({ same }) => same)).toBe(mine === theirs)
      }),
      { numRuns: 1_000 },
    )
  })

  test('up to 1,000 edits are found', () => {
    const changed = (count: number, side: string): string =>
      Array.from({ length: count }, (_, i) => `${side}${i}\nsame ${i}`).join('\n')
    const sameIn = (count: number): number =>
      diffLines(changed(count, 'm'), changed(count, 't')).filter(({ same }) => same).length
    expect([sameIn(500), sameIn(501)]).toEqual([500, 1])
  })

  test('beyond the bound the beginning and the end are still shared', () => {
    const differing = (side: string): string => Array.from({ length: 3_000 }, (_, i) => `${side}${i}`).join('\n')
    const [mine, theirs] = [`head\n${differing('m')}\ntail`, `head\n${differing('t')}\ntail`]
    const rows = diffLines(mine, theirs)
    expectWhole(mine, theirs, rows)
    expect(rows.length).toBe(3_002)
    expect([rows[0]!.same, rows[1]!.same, rows[3_000]!.same, rows[3_001]!.same]).toEqual([true, false, false, true])
  })

  test('two texts of 400 kB and 20,000 lines never take more than 300 ms', () => {
    let state = 1
    const random = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647
      return state % below
    }
    const of = (line: (i: number) => string): string => Array.from({ length: 20_000 }, (_, i) => line(i)).join('\n')
    const numbered = of((i) => `  "member ${String(i).padStart(6, '0')}": 1`)
    const pairs: [string, string, string][] = [
      ['few changes', numbered, numbered.replaceAll(/^.*77".*$/gm, 'changed')],
      ['nothing in common', numbered, of((i) => `other ${String(i).padStart(12, '0')}`)],
      [
        'the same lines over and over',
        of(() => '    "a": 1,  // same'),
        of((i) => (i % 3 ? '    "a": 1,  // same' : 'x')),
      ],
      [
        'two lines at random',
        of(() => `line ${random(2)} of two, twenty`),
        of(() => `line ${random(2)} of two, twenty`),
      ],
      // Each of the 2,001 diagonals runs through all of the same lines.
      [
        'long runs of the same line',
        `m\n${'same line, 20 units\n'.repeat(18_000)}${of((i) => `m${i}`).slice(0, 12_000)}`,
        `t\n${'same line, 20 units\n'.repeat(18_000)}${of((i) => `t${i}`).slice(0, 12_000)}`,
      ],
      ['the other way round', numbered, numbered.split('\n').reverse().join('\n')],
    ]
    // The least that any comparison must do. It takes some milliseconds on a quiet machine.
    const readMs = bestMs(() => new Set([...numbered.split('\n'), ...pairs[1]![2].split('\n')]), 9)
    for (const [name, mine, theirs] of pairs) {
      const times = bestMs(() => diffLines(mine, theirs), 3) / readMs
      console.log(`${name}: ${times.toFixed(1)} times as long as to read the lines`)
      expect([name, times < readTimesMax, times]).toEqual([name, true, times])
      expectWhole(mine, theirs, diffLines(mine, theirs))
    }
    const few = diffLines(pairs[0]![1], pairs[0]![2])
    expect(few.filter(({ same }) => !same).length).toBe(200)
  })
})
