import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  coerceIndexValue,
  encodeIndexValue,
  type IndexScalar,
  indexValueFault,
  typeSpan,
} from '../../src/core/tables/index-value.ts'
import { edgeString, finiteNumber, indexScalar, unicodeString } from './arbitraries.ts'
import { decodeIndexValue } from './decode-index-value.ts'
import { compareScalars } from './value-order.ts'

const bytes = (value: IndexScalar): Buffer => Buffer.from(encodeIndexValue(value))

const expectSameOrder = (a: IndexScalar, b: IndexScalar): void => {
  expect(Math.sign(Buffer.compare(bytes(a), bytes(b)))).toBe(compareScalars(a, b))
}

/** Values that ISO date-times do not turn into others. */
const uncoerced = indexScalar.filter((value) => coerceIndexValue(value) === value)

describe('order of encodings is order of values', () => {
  test('any two values', () => {
    fc.assert(fc.property(uncoerced, uncoerced, expectSameOrder), { numRuns: 3000 })
  })

  test('any two numbers', () => {
    fc.assert(fc.property(finiteNumber, finiteNumber, expectSameOrder), { numRuns: 3000 })
  })

  test('a number and the very next double', () => {
    const view = new DataView(new ArrayBuffer(8))
    const nextUp = (value: number): number => {
      if (value === 0) return Number.MIN_VALUE
      view.setFloat64(0, value)
      view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n))
      return view.getFloat64(0)
    }
    fc.assert(
      fc.property(finiteNumber, (value) => {
        fc.pre(value < Number.MAX_VALUE)
        expectSameOrder(value, nextUp(value))
      }),
      { numRuns: 1000 },
    )
  })

  test('any two strings', () => {
    fc.assert(fc.property(edgeString, edgeString, expectSameOrder), { numRuns: 3000 })
  })

  test('a list in the order of the contract', () => {
    const inOrder: IndexScalar[] = [
      false,
      true,
      -Number.MAX_VALUE,
      -(2 ** 53) - 2,
      -(2 ** 53),
      -1,
      -2.2250738585072014e-308,
      -2.225073858507201e-308,
      -Number.MIN_VALUE,
      0,
      Number.MIN_VALUE,
      2.225073858507201e-308,
      2.2250738585072014e-308,
      0.1,
      1,
      '2026-01-01T00:00:00Z',
      2 ** 53,
      2 ** 53 + 2,
      Number.MAX_VALUE,
      '',
      '\0',
      '0',
      '10',
      '2',
      '2026-01-01',
      'Z',
      'a',
      'a\0',
      'aa',
      'b',
      'é',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{10ffff}',
    ]
    for (let i = 1; i < inOrder.length; i++) {
      expect([inOrder[i], Buffer.compare(bytes(inOrder[i - 1]!), bytes(inOrder[i]!))]).toEqual([inOrder[i], -1])
    }
  })
})

describe('encoding', () => {
  test('decode undoes encode', () => {
    fc.assert(
      fc.property(uncoerced, (value) => {
        expect(decodeIndexValue(encodeIndexValue(value))).toBe(Object.is(value, -0) ? 0 : value)
      }),
      { numRuns: 3000 },
    )
  })

  test('-0 equals 0', () => {
    expect(encodeIndexValue(-0)).toBe(encodeIndexValue(0))
    expect(decodeIndexValue(encodeIndexValue(-0))).toBe(0)
  })

  test('a strict ISO date-time is as its epoch milliseconds', () => {
    expect(encodeIndexValue('2026-01-01T00:00:00Z')).toBe(encodeIndexValue(1767225600000))
    expect(encodeIndexValue('2026-01-01T01:00:00.0009+01:00')).toBe(encodeIndexValue(1767225600000))
    fc.assert(
      fc.property(
        fc.date({ min: new Date(-62167219200000), max: new Date(253402300799999), noInvalidDate: true }),
        (date) => {
          expect(coerceIndexValue(date.toISOString())).toBe(date.getTime())
          expect(encodeIndexValue(date.toISOString())).toBe(encodeIndexValue(date.getTime()))
        },
      ),
    )
  })

  test('every other string stays a string, date-only ones too', () => {
    for (const text of ['2026-01-01', '2026-02-30T00:00:00Z', '2026-01-01T00:00:00', '1767225600000', 'true', '']) {
      expect(coerceIndexValue(text)).toBe(text)
      expect(decodeIndexValue(encodeIndexValue(text))).toBe(text)
    }
  })

  test('a number and its decimal text are different values', () => {
    expect(encodeIndexValue(1)).not.toBe(encodeIndexValue('1'))
    expect(encodeIndexValue(true)).not.toBe(encodeIndexValue('true'))
  })

  test('the span of a type holds every value of that type and no other', () => {
    fc.assert(
      fc.property(uncoerced, uncoerced, (a, b) => {
        const span = typeSpan(encodeIndexValue(a))
        const within =
          Buffer.compare(bytes(b), Buffer.from(span.low)) >= 0 && Buffer.compare(bytes(b), Buffer.from(span.high)) < 0
        expect(within).toBe(typeof a === typeof b)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('values that no index takes', () => {
  test('null, arrays, objects and a missing value', () => {
    expect(indexValueFault(null)).toBe('null')
    expect(indexValueFault([])).toBe('an array')
    expect(indexValueFault(['a'])).toBe('an array')
    expect(indexValueFault({})).toBe('an object')
    expect(indexValueFault(undefined)).toBe('missing')
  })

  test('a number that overflows a double', () => {
    for (const text of ['1e309', '-1e309', '1'.repeat(400)]) {
      expect(indexValueFault(JSON.parse(text))).toBe('a number that no double can hold')
    }
    expect(indexValueFault(JSON.parse('1.7976931348623157e308'))).toBeUndefined()
    // Too small for a double is rounded to the nearest one, 0; that is no overflow.
    expect(indexValueFault(JSON.parse('1e-400'))).toBeUndefined()
  })

  test('a string over 1,024 bytes of UTF-8, whatever its length in characters', () => {
    for (const [character, size] of [
      ['a', 1],
      ['é', 2],
      ['\u{1f600}', 4],
    ] as const) {
      const most = character.repeat(1024 / size)
      expect(indexValueFault(most)).toBeUndefined()
      expect(indexValueFault(`${most}a`)).toBe('a string of 1025 bytes, more than the limit of 1024')
    }
    // 341 characters of three bytes are 1,023: one more byte fits, one more character does not.
    expect(indexValueFault(`${'\uffff'.repeat(341)}a`)).toBeUndefined()
    expect(indexValueFault('\uffff'.repeat(342))).toBe('a string of 1026 bytes, more than the limit of 1024')
  })

  test('a string with a lone surrogate', () => {
    for (const text of ['\ud800', '\udc00', 'a\ud800b', '\udc00\ud800', '\ud83d\ud83d\ude00']) {
      expect(indexValueFault(text)).toBe('a string with a lone surrogate')
    }
  })

  test('strings, finite numbers and booleans are taken', () => {
    fc.assert(
      fc.property(fc.oneof(fc.boolean(), finiteNumber, unicodeString), (value) => {
        expect(indexValueFault(value)).toBeUndefined()
      }),
    )
  })
})
