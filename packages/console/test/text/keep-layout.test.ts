import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compactJson, formatJson } from '../../src/text/format.ts'
import { keepLayout } from '../../src/text/keep-layout.ts'
import { anyText, costGrowth, costGrowthMax, jsonText, largeRecord, type Placed, space } from './arbitraries.ts'

const allIn = (placed: Placed): Placed[] => [placed, ...placed.children.flatMap(({ value }) => allIn(value))]
/** The new value: anything that is JSON. */
const value = fc.oneof(
  jsonText.map(({ text }) => text.trim()),
  fc.constantFrom('1', '"x"', '[]', '{}', 'null'),
)

describe('edits of formatted text', () => {
  test('looking and laying out change no byte', () => {
    fc.assert(
      fc.property(space, jsonText, space, (before, { text }, after) => {
        const stored = before + text + after
        for (const edited of [formatJson(stored), formatJson(stored, 4), compactJson(stored)]) {
          expect(keepLayout(stored, edited)).toEqual({ text: stored, taken: 'none' })
        }
      }),
      { numRuns: 500 },
    )
  })

  // The risk: who corrects one word in a record would change bytes that nobody looked at.
  test('of one changed value: no byte outside of it changes', () => {
    fc.assert(
      fc.property(space, jsonText, fc.nat(), value, (before, { text, placed }, which, changed) => {
        const stored = before + text
        const values = allIn(placed)
        const { start, end } = values[which % values.length]!
        const head = stored.slice(0, before.length + start)
        const tail = stored.slice(before.length + end)
        const edited = formatJson(head + changed + tail)
        const kept = keepLayout(stored, edited).text
        expect(kept.startsWith(head)).toBe(true)
        expect(kept.endsWith(tail)).toBe(true)
        expect(compactJson(kept.slice(head.length, kept.length - tail.length))).toBe(compactJson(changed))
        // A number, a string or a word is there exactly.
        if (!/^[[{]/.test(changed)) expect(kept).toBe(head + changed + tail)
      }),
      { numRuns: 1_000 },
    )
  })

  test('whatever is changed, the saved text says what is shown', () => {
    fc.assert(
      fc.property(jsonText, jsonText, ({ text: stored }, { text: other }) => {
        const { text, taken } = keepLayout(stored, formatJson(other))
        expect(compactJson(text)).toBe(compactJson(other))
        // A record of one line stays one.
        if (!/[\n\r]/.test(stored)) {
          expect(text).not.toMatch(/[\n\r]/)
          expect(taken).toBe('none')
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('several values, added and removed members: the rest stays', () => {
    const stored = '{"status":"open", "n": 1.0,"n":2,"tags":["a","b"],\t"esc":"\\u0041"}'
    const edit = (...changes: [string, string][]): string =>
      keepLayout(
        stored,
        changes.reduce((text, [from, to]) => {
          expect(text).toContain(from)
          return text.replace(from, to)
        }, formatJson(stored)),
      ).text
    expect(edit(['"open"', '"paid"'], ['"b"', '"c"'])).toBe(stored.replace('open', 'paid').replace('"b"', '"c"'))
    expect(edit(['"n": 1.0,', ''])).toBe(stored.replace('"n": 1.0,', ''))
    expect(edit(['{', '{ "first": [1, 2],'])).toBe(stored.replace('{', '{"first":[1, 2], '))
    expect(edit(['"\\u0041"', '"\\u0041",\n  "last": { "deep": true }'])).toBe(
      stored.replace('}', ', "last":{"deep":true}}'),
    )
    expect(edit(['"status": "open",', ''])).toBe(stored.replace('"status":"open", ', ''))
  })

  test('a stored text of several lines keeps them, and says which white space is not its own', () => {
    const stored = '{\r\n\t"a" : 1,\r\n\t"b" : [ ]\r\n}'
    expect(keepLayout(stored, '{ "a": 2, "b": [] }')).toEqual({ text: stored.replace('1', '2'), taken: 'none' })
    expect(keepLayout(stored, '{\n  "a": 1,\n  "b": [],\n  "c": 3\n}')).toEqual({
      text: '{\r\n\t"a" : 1,\r\n\t"b" : [ ],\n  "c": 3\r\n}',
      taken: 'part',
    })
  })

  test('too many changes to compare: all is saved as it is shown, and said', () => {
    const numbers = (add: number): string => `[${Array.from({ length: 3_000 }, (_, i) => i * 2 + add)}]`
    const shown = formatJson(numbers(1))
    expect(keepLayout(numbers(0), shown)).toEqual({ text: shown, taken: 'all' })
  })

  test('text that is not JSON comes back', () => {
    fc.assert(
      fc.property(jsonText, anyText, ({ text: stored }, edited) => {
        let isJson = true
        try {
          JSON.parse(edited)
        } catch {
          isJson = false
        }
        fc.pre(!isJson)
        expect(keepLayout(stored, edited)).toEqual({ text: edited, taken: 'all' })
      }),
    )
  })

  test('400 kB do not freeze the page', () => {
    const growth = costGrowth((share) => {
      const stored = largeRecord(400_000 * share)
      const edited = formatJson(stored).replace('item 7', 'item seven')
      return () => keepLayout(stored, edited)
    })
    console.log(`growth ${growth.toFixed(1)}`)
    expect(growth).toBeLessThan(costGrowthMax)
  })
})
