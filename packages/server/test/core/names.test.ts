import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { describeValue } from '../../src/core/describe-value.ts'
import { parseName } from '../../src/core/names.ts'
import { refusal, refused } from './refusal.ts'

const characters = 'abcdefghijklmnopqrstuvwxyz0123456789_-'

describe('a name', () => {
  test('matches [a-z0-9_-]{1,64}', () => {
    for (const name of ['a', '0', '-', '--', 'a_b-c', 'a_', '9-lives', 'a'.repeat(64), characters.slice(0, -2)]) {
      expect(parseName(name, 'table')).toBe(name)
    }
    const name = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 64 })
    fc.assert(
      fc.property(name, (text) => {
        fc.pre(!text.startsWith('_'))
        expect(parseName(text, 'table')).toBe(text)
      }),
    )
  })

  test('otherwise: invalid_name', () => {
    const texts = ['', 'A', 'a b', 'a/b', 'a.b', '.', '..', 'é', 'a\n', '\na', 'a\0', 'ａ', 'ſ', 'a%20', 'a'.repeat(65)]
    for (const value of [...texts, undefined, null, 1, true, [], ['a'], {}]) {
      expect([value, ...refused(() => parseName(value, 'db'))]).toEqual([value, 'invalid_name', 'db'])
    }
  })

  test('any character but those: invalid_name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), (character) => {
        fc.pre(!characters.includes(character))
        for (const text of [character, `a${character}`, `${character}a`, `_${character}`]) {
          expect(refused(() => parseName(text, 'table'))).toEqual(['invalid_name', 'table'])
        }
      }),
    )
  })

  test('a leading _: reserved_name', () => {
    for (const name of ['_', '__', '_a', '__proto__', `_${'a'.repeat(63)}`]) {
      expect([name, ...refused(() => parseName(name, 'table'))]).toEqual([name, 'reserved_name', 'table'])
    }
    expect(refusal(() => parseName('__orders', 'table')).hint).toContain('"orders"')
    expect(refused(() => parseName(`_${'a'.repeat(64)}`, 'table'))[0]).toBe('invalid_name')
  })

  test('the name that the hint of a reserved one suggests is taken', () => {
    for (const name of ['_', '_a', '__a_']) {
      const suggested = /"([^"_][^"]*)"\.$/.exec(refusal(() => parseName(name, 'table')).hint!)?.[1]
      expect(parseName(suggested, 'table')).toBe(suggested!)
    }
  })

  test('a message says what was found and what is expected', () => {
    expect(refusal(() => parseName('Orders', 'table')).message).toBe(
      'table is "Orders"; a name matches [a-z0-9_-]{1,64}.',
    )
  })
})

describe('what was found, in a few words', () => {
  test('each type has its words', () => {
    expect(describeValue(undefined)).toBe('missing')
    expect(describeValue(null)).toBe('null')
    expect(describeValue([1])).toBe('an array')
    expect(describeValue({ a: 1 })).toBe('an object')
    expect(describeValue('a')).toBe('"a"')
    expect(describeValue(1.5)).toBe('1.5')
    expect(describeValue(true)).toBe('true')
  })

  test('is short, printable and well-formed, whatever was sent', () => {
    const unit = fc.constantFrom('a', '"', '\\', '\n', '\0', '\u{1f600}', '\ud800', '\udc00')
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 200 }), (text) => {
        const words = describeValue(text)
        // 81 characters, each an escape of six at the most, and the quotes.
        expect(words.length).toBeLessThanOrEqual(81 * 6 + 2)
        expect(words.isWellFormed()).toBe(true)
        expect(words).not.toMatch(/[\0-\x1f]/)
      }),
      { numRuns: 500 },
    )
    expect(describeValue('a'.repeat(1_000_000))).toBe(`"${'a'.repeat(80)}…"`)
  })
})
