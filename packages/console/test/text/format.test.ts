import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { checkJson } from '../../src/text/check.ts'
import { compactJson, formatJson } from '../../src/text/format.ts'
import { almostJson, costGrowth, costGrowthMax, jsonText, largeRecord, space } from './arbitraries.ts'

/** The text without the white space outside strings. */
const bare = (text: string): string =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"|[ \t\r\n]+/g, (found) => (found.startsWith('"') ? found : ''))

describe('format', () => {
  test('lays out over lines; short objects and arrays of scalars stay on one', () => {
    const text = '{"a":[1,2.0,{"b":[]}],"c":{"d":1e3,"d":"x y"},"e":{},"f":[ "\\u0061" , null ]}'
    expect(formatJson(text)).toBe(
      [
        '{',
        '  "a": [',
        '    1,',
        '    2.0,',
        '    {',
        '      "b": []',
        '    }',
        '  ],',
        '  "c": { "d": 1e3, "d": "x y" },',
        '  "e": {},',
        '  "f": ["\\u0061", null]',
        '}',
      ].join('\n'),
    )
    expect(formatJson('[[1]]', 4)).toBe('[\n    [1]\n]')
  })

  test('one line has at most 60 characters', () => {
    const fits = `["${'x'.repeat(56)}"]`
    const over = `["${'x'.repeat(57)}"]`
    expect(fits.length).toBe(60)
    expect(formatJson(fits)).toBe(fits)
    expect(formatJson(over)).toBe(`[\n  ${over.slice(1, -1)}\n]`)
    const object = `[{"a":"${'x'.repeat(49)}"}]`
    expect(formatJson(object)).toBe(`[\n  { "a": "${'x'.repeat(49)}" }\n]`)
    expect(formatJson(`[{"a":"${'x'.repeat(50)}"}]`)).toContain('{\n')
    // But the members of a record always have lines of their own.
    expect([formatJson('{"a":1}'), formatJson('{ }')]).toEqual(['{\n  "a": 1\n}', '{}'])
  })

  test('changes white space only, and nothing the second time', () => {
    fc.assert(
      fc.property(space, jsonText, space, (before, { text }, after) => {
        const formatted = formatJson(before + text + after)
        expect(bare(formatted)).toBe(bare(text))
        expect(formatJson(formatted)).toBe(formatted)
        expect(checkJson(formatted).ok).toBe(true)
        expect(compactJson(formatted)).toBe(bare(text))
        expect(formatJson(compactJson(text))).toBe(formatted)
      }),
      { numRuns: 300 },
    )
  })

  test('leaves text that is not JSON as it is', () => {
    expect(formatJson('{"a": tru e}')).toBe('{"a": tru e}')
    expect(compactJson('[1 2]')).toBe('[1 2]')
    fc.assert(
      fc.property(almostJson, (text) => {
        expect(bare(formatJson(text))).toBe(bare(text))
        if (checkJson(text).ok) return
        expect([formatJson(text), compactJson(text)]).toEqual([text, text])
      }),
    )
  })

  test('deep text does not grow without bound', () => {
    const text = '['.repeat(100_000) + ']'.repeat(100_000)
    const formatted = formatJson(text)
    expect(formatted.length).toBeLessThan(text.length + 64 * 64 * 2 * 2)
    expect(compactJson(formatted)).toBe(text)
    expect(formatJson(formatted)).toBe(formatted)
  })

  test('400 kB do not freeze the page', () => {
    const growth = costGrowth((share) => {
      const text = largeRecord(400_000 * share)
      return () => formatJson(text)
    })
    expect(growth).toBeLessThan(costGrowthMax)
  })
})
