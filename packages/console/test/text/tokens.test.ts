import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { checkJson } from '../../src/text/check.ts'
import { lineStarts } from '../../src/text/place.ts'
import { tokensOf } from '../../src/text/tokens.ts'
import { anyText, jsonText, type Placed } from './arbitraries.ts'

const shown = (text: string, from?: number, to?: number): string[] =>
  tokensOf(text, from, to).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)

describe('tokens', () => {
  test('of JSON', () => {
    expect(shown('{"a" : [1.5e3, "x", true,null]}')).toEqual([
      'mark {',
      'name "a"',
      'mark :',
      'mark [',
      'number 1.5e3',
      'mark ,',
      'string "x"',
      'mark ,',
      'boolean true',
      'mark ,',
      'null null',
      'mark ]',
      'mark }',
    ])
  })

  test('of text that is not JSON', () => {
    expect(shown('{a: 01, "x')).toEqual(['mark {', 'bad a', 'mark :', 'bad 01', 'mark ,', 'bad "x'])
    expect(shown('"\\x" "\\u12" "a\\\n" \0é')).toEqual(['bad "\\x"', 'bad "\\u12"', 'bad "a\\', 'bad " \0é'])
    expect(shown('"a\tb"')).toEqual(['bad "a\tb"'])
  })

  test('have the kind of the value that stands there', () => {
    const kinds = (text: string, placed: Placed): void => {
      if (placed.kind === 'scalar') {
        const value = JSON.parse(text.slice(placed.start, placed.end)) as unknown
        const token = tokensOf(text).find(({ start }) => start === placed.start)
        expect(token).toEqual({
          kind: value === null ? 'null' : (typeof value as 'string' | 'number' | 'boolean'),
          start: placed.start,
          end: placed.end,
        })
      }
      for (const child of placed.children) kinds(text, child.value)
    }
    fc.assert(
      fc.property(jsonText, ({ text, placed }) => {
        kinds(text, placed)
        const names = tokensOf(text).filter(({ kind }) => kind === 'name')
        const count = (value: Placed): number =>
          value.children.reduce((sum, child) => sum + (child.name === undefined ? 0 : 1) + count(child.value), 0)
        expect(names.length).toBe(count(placed))
      }),
    )
  })

  test('of any text: in order, whole, with nothing but white space between', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let at = 0
        for (const { start, end } of tokensOf(text)) {
          expect(text.slice(at, start)).toMatch(/^[ \t\r\n]*$/)
          expect(end).toBeGreaterThan(start)
          at = end
        }
        expect(text.slice(at)).toMatch(/^[ \t\r\n]*$/)
        if (checkJson(text).ok) expect(tokensOf(text).some(({ kind }) => kind === 'bad')).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  test('line by line are those of the whole text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const starts = lineStarts(text)
        const byLine = starts.flatMap((start, i) => tokensOf(text, start, starts[i + 1] ?? text.length))
        expect(byLine).toEqual(tokensOf(text))
      }),
      { numRuns: 500 },
    )
  })

  test('end at `to`', () => {
    expect(shown('{"abc":1234}', 0, 4)).toEqual(['mark {', 'bad "ab'])
    expect(shown('{"abc":1234}', 6, 9)).toEqual(['mark :', 'number 12'])
    expect(tokensOf('[1]', 3, 99)).toEqual([])
  })
})
