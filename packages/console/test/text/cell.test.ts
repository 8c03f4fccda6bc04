import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { printable } from '../../../server/src/core/text/printable.ts'
import { cellOf } from '../../src/text/cell.ts'
import { compactJson } from '../../src/text/format.ts'
import { bestMs, jsonText } from './arbitraries.ts'

const cell = (text: string) => cellOf(text, 0, text.length)

describe('a cell', () => {
  test('has the source of the value with its kind', () => {
    const cases = [
      ['"1"', 'string'],
      ['1', 'number'],
      ['-1.50e+3', 'number'],
      ['12345678901234567890', 'number'],
      ['true', 'boolean'],
      ['false', 'boolean'],
      ['null', 'null'],
      ['{}', 'object'],
      ['[]', 'array'],
      ['"a  b\\n"', 'string'],
    ] as const
    for (const [text, kind] of cases) expect(cell(text)).toEqual({ kind, text, isCut: false })
  })

  test('collapses white space between values, not inside strings', () => {
    const text = '{ "a" :\n [ 1,\t2 ] , "b  c":"x , y : z" }'
    expect(cell(text).text).toBe('{"a": [1, 2], "b  c": "x , y : z"}')
    expect(cellOf(`[${text}]`, 1, 1 + text.length).text).toBe(cell(text).text)
  })

  test('has at most 200 characters, and says when it is cut', () => {
    const fits = `"${'x'.repeat(198)}"`
    expect(cell(fits)).toEqual({ kind: 'string', text: fits, isCut: false })
    const over = cell(`"${'x'.repeat(199)}"`)
    expect([over.text.length, over.isCut]).toEqual([200, true])
  })

  test('never has half a character or half an escape at its end', () => {
    for (let before = 190; before <= 200; before++) {
      for (const character of ['\u{1f600}', '\\u00e9', '\\n', '\u202e']) {
        const { text } = cell(`"${'x'.repeat(before)}${character.repeat(5)}"`)
        expect(text.isWellFormed()).toBe(true)
        expect(text).toMatch(/^"x*(?:\u{1f600}|\\u00e9|\\n|\\u202e)*"?$/u)
        expect(text.length).toBeLessThanOrEqual(200)
      }
    }
  })

  test('shows what could reorder or break the line as escapes', () => {
    const hostile = '\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\u007f\u0085\u009b'
    expect(cell(`"${hostile}"`).text).toBe(`"${printable(hostile)}"`)
    expect(cell(`{"${hostile}":1}`).text).toBe(`{"${printable(hostile)}": 1}`)
    expect(cell('"\0\n\ud800"').text).toBe('"\\u0000\\u000a\\ud800"')
    expect(cell('"שלום é 😀"').text).toBe('"שלום é 😀"')
  })

  test('is the whole value, unless it is cut', () => {
    fc.assert(
      fc.property(jsonText, ({ text }) => {
        const shown = cell(text)
        expect(shown.text.length).toBeLessThanOrEqual(200)
        expect(shown.text).not.toMatch(/[\0-\x1f\u2028]/)
        if (shown.isCut) expect(shown.text.length).toBeGreaterThan(180)
        else expect(compactJson(shown.text)).toBe(printable(compactJson(text)))
      }),
      { numRuns: 300 },
    )
  })

  test('costs no more for a long value', () => {
    const cells = (length: number) => {
      const text = `{"a":"${'x'.repeat(length)}"}`
      return () => {
        for (let i = 0; i < 1_000; i++) cell(text)
      }
    }
    // A thousand long values would take minutes if each were read to its end: four hundred times as long as the others.
    expect(bestMs(cells(400_000), 5)).toBeLessThan(20 * bestMs(cells(1_000), 5))
  })
})
