import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { lineStarts, placeOf } from '../../src/text/place.ts'
import { anyText } from './arbitraries.ts'

describe('line and column', () => {
  test('are from 1, and a character outside the basic plane is one column', () => {
    const text = 'ab\n\u{1f600}c\r\nd\re'
    const places = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11].map((offset) => {
      const { line, column } = placeOf(text, offset)
      return `${line}:${column}`
    })
    expect(places).toEqual(['1:1', '1:2', '1:3', '2:1', '2:2', '2:3', '2:4', '3:1', '3:2', '4:1', '4:2'])
    expect(lineStarts(text)).toEqual([0, 3, 8, 10])
  })

  test('after the end of the text: the end', () => {
    expect(placeOf('a\nb', 99)).toEqual({ line: 2, column: 2 })
    expect(placeOf('', 0)).toEqual({ line: 1, column: 1 })
    expect(lineStarts('')).toEqual([0])
    expect(lineStarts('\n')).toEqual([0, 1])
  })

  test('agree with the text split into lines and characters', () => {
    fc.assert(
      fc.property(anyText, fc.nat({ max: 60 }), (text, where) => {
        const offset = Math.min(where, text.length)
        // No character starts between the halves of a pair or of CR LF.
        fc.pre(!/^[\udc00-\udfff]/.test(text.slice(offset)) && !/\r$/.test(text.slice(0, offset)))
        const lines = text.slice(0, offset).split(/\r\n|\n|\r/)
        expect(placeOf(text, offset)).toEqual({ line: lines.length, column: [...lines.at(-1)!].length + 1 })
        const all = text.split(/\r\n|\n|\r/)
        const starts = lineStarts(text)
        expect(starts.length).toBe(all.length)
        all.forEach((line, i) => {
          expect(text.startsWith(line, starts[i])).toBe(true)
        })
      }),
    )
  })
})
