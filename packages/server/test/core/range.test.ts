import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type ByteBounds,
  indexBounds,
  parseRange,
  primaryBounds,
  type RangeOperator,
  type RangeOver,
  rangeOperators,
  timeBounds,
} from '../../src/core/records/range.ts'
import { encodeIndexValue, type IndexScalar } from '../../src/core/tables/index-value.ts'
import { edgeString, finiteNumber, indexScalar } from './arbitraries.ts'
import { refusal, refused } from './refusal.ts'
import { compareScalars } from './value-order.ts'

type Comparison = Exclude<RangeOperator, 'beginsWith'>

const comparisons: Comparison[] = ['eq', 'lt', 'lte', 'gt', 'gte', 'between']

/** The contract's words, value by value. `upper` is for `between` alone. */
const matches = (operator: Comparison, operand: IndexScalar, upper: IndexScalar, value: IndexScalar): boolean => {
  if (typeof value !== typeof operand) return false
  const order = compareScalars(value, operand)
  switch (operator) {
    case 'eq':
      return order === 0
    case 'lt':
      return order < 0
    case 'lte':
      return order <= 0
    case 'gt':
      return order > 0
    case 'gte':
      return order >= 0
    case 'between':
      return order >= 0 && compareScalars(value, upper) <= 0
  }
}

/** Every pair of a lower and an upper bound. */
const bounds = (['gt', 'gte'] as const).flatMap((lower) =>
  (['lt', 'lte'] as const).map((upper) => [lower, upper] as const),
)

const request = (operator: Comparison, operand: unknown, upper: unknown): unknown =>
  operator === 'between' ? { between: [operand, upper] } : { [operator]: operand }

const within = (bounds: ByteBounds, text: string): boolean =>
  Buffer.compare(Buffer.from(text), bounds.low) >= 0 && Buffer.compare(Buffer.from(text), bounds.high) < 0

const withinTime = (bounds: { low: number; high: number }, value: number): boolean =>
  value >= bounds.low && value < bounds.high

/** Operands in order, so that `between` takes them. */
const ordered = <T extends IndexScalar>(a: T, b: T): [T, T] => (compareScalars(a, b) <= 0 ? [a, b] : [b, a])

describe('a range over the primary key holds exactly the range keys that the operator means', () => {
  for (const operator of comparisons) {
    test(operator, () => {
      fc.assert(
        fc.property(edgeString, edgeString, edgeString, (a, b, value) => {
          const [low, high] = ordered(a, b)
          const bounds = primaryBounds(parseRange(request(operator, low, high), 'primary'))
          for (const key of [value, low, high, `${low}\0`, `${high}\0`]) {
            expect(within(bounds, key)).toBe(matches(operator, low, high, key))
          }
        }),
        { numRuns: 1000 },
      )
    })
  }

  test('beginsWith', () => {
    fc.assert(
      fc.property(edgeString, edgeString, (prefix, value) => {
        const bounds = primaryBounds(parseRange({ beginsWith: prefix }, 'primary'))
        for (const key of [value, prefix, prefix + value, value + prefix]) {
          expect(within(bounds, key)).toBe(key.startsWith(prefix))
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('an ISO date-time stays a string', () => {
    const iso = '2026-01-01T00:00:00Z'
    const bounds = primaryBounds(parseRange({ eq: iso }, 'primary'))
    expect(within(bounds, iso)).toBe(true)
    expect(within(bounds, '2026-01-01T01:00:00+01:00')).toBe(false)
    expect(parseRange({ between: [iso, 'a'] }, 'primary')).toEqual({ operator: 'between', operand: iso, upper: 'a' })
  })

  test('the empty slot sorts as the string #', () => {
    expect(within(primaryBounds(parseRange({ lt: '$' }, 'primary')), '#')).toBe(true)
    expect(within(primaryBounds(parseRange({ lt: '"' }, 'primary')), '#')).toBe(false)
    expect(within(primaryBounds(parseRange({ eq: '#' }, 'primary')), '#')).toBe(true)
  })

  test('without a range: every key', () => {
    expect(parseRange(undefined, 'primary')).toBeUndefined()
    const bounds = primaryBounds(undefined)
    fc.assert(
      fc.property(edgeString, (key) => {
        expect(within(bounds, key)).toBe(true)
      }),
    )
    expect(within(bounds, '\u{10ffff}'.repeat(256))).toBe(true)
  })
})

describe('a range over a declared index holds exactly the values that the operator means', () => {
  /** Two operands of one type. */
  const operands = fc.oneof(
    fc.tuple(fc.boolean(), fc.boolean()),
    fc.tuple(finiteNumber, finiteNumber),
    fc.tuple(edgeString, edgeString),
  ) as fc.Arbitrary<[IndexScalar, IndexScalar]>

  for (const operator of comparisons) {
    test(`${operator}, of the operand's own type only`, () => {
      fc.assert(
        fc.property(operands, indexScalar, ([a, b], value) => {
          const [low, high] = ordered(a, b)
          const bounds = indexBounds(parseRange(request(operator, low, high), 'index'))
          const others: IndexScalar[] = [false, true, 0, -Number.MAX_VALUE, Number.MAX_VALUE, '', '\u{10ffff}']
          for (const candidate of [value, low, high, ...others]) {
            expect([candidate, within(bounds, encodeIndexValue(candidate))]).toEqual([
              candidate,
              matches(operator, low, high, candidate),
            ])
          }
        }),
        { numRuns: 1000 },
      )
    })
  }

  test('beginsWith, strings only', () => {
    fc.assert(
      fc.property(edgeString, indexScalar, (prefix, value) => {
        const bounds = indexBounds(parseRange({ beginsWith: prefix }, 'index'))
        for (const candidate of [value, prefix, `${prefix}${value}`, false, true, 0, Number.MAX_VALUE]) {
          const expected = typeof candidate === 'string' && candidate.startsWith(prefix)
          expect([candidate, within(bounds, encodeIndexValue(candidate))]).toEqual([candidate, expected])
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('an ISO date-time operand is its epoch milliseconds', () => {
    const iso = '2026-01-01T00:00:00.5Z'
    const ms = 1767225600500
    for (const operator of comparisons) {
      expect(parseRange(request(operator, iso, iso), 'index')).toEqual(parseRange(request(operator, ms, ms), 'index'))
    }
    // One type after reading: both are numbers.
    const bounds = indexBounds(parseRange({ between: [iso, ms + 1] }, 'index'))
    expect(within(bounds, encodeIndexValue('2026-01-01T01:00:00.501+01:00'))).toBe(true)
    expect(within(bounds, encodeIndexValue(ms + 2))).toBe(false)
  })

  test('beginsWith is never coerced', () => {
    const iso = '2026-01-01T00:00:00Z'
    expect(parseRange({ beginsWith: iso }, 'index')).toEqual({ operator: 'beginsWith', operand: iso })
    const bounds = indexBounds(parseRange({ beginsWith: iso }, 'index'))
    expect(within(bounds, encodeIndexValue(`${iso} and more`))).toBe(true)
    expect(within(bounds, encodeIndexValue(iso))).toBe(false)
  })

  test('without a range: every value, and the empty range of an index without a range field', () => {
    const bounds = indexBounds(undefined)
    expect(within(bounds, '')).toBe(true)
    fc.assert(
      fc.property(indexScalar, (value) => {
        expect(within(bounds, encodeIndexValue(value))).toBe(true)
      }),
    )
  })
})

describe('a range over t holds exactly the instants that the operator means', () => {
  const instant = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: 0, max: 253402300799999 }))
  /** Operands close to the instants, between them, and far outside of everything that can be stored. */
  const operand = fc.oneof(
    instant,
    instant.map((ms) => ms + 0.5),
    instant.map((ms) => ms - 0.001),
    finiteNumber,
    fc.constantFrom(1e300, -1e300, 2 ** 53, -(2 ** 53), 2 ** 63, -(2 ** 63)),
  )

  for (const operator of comparisons) {
    test(operator, () => {
      fc.assert(
        fc.property(operand, operand, instant, (a, b, value) => {
          const [low, high] = ordered(a, b)
          const bounds = timeBounds(parseRange(request(operator, low, high), 't'))
          expect(Number.isSafeInteger(bounds.low)).toBe(true)
          expect(Number.isSafeInteger(bounds.high)).toBe(true)
          for (const ms of [
            value,
            Math.floor(low),
            Math.ceil(low),
            Math.floor(high),
            Math.ceil(high),
            Math.floor(low) + 1,
          ]) {
            if (Math.abs(ms) >= Number.MAX_SAFE_INTEGER) continue
            expect([ms, withinTime(bounds, ms)]).toEqual([ms, matches(operator, low, high, ms)])
          }
        }),
        { numRuns: 2000 },
      )
    })
  }

  test('an operand as an ISO date-time, whose digits past milliseconds are cut off', () => {
    for (const iso of ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00.0009+01:00']) {
      expect(timeBounds(parseRange({ eq: iso }, 't'))).toEqual({ low: 1767225600000, high: 1767225600001 })
    }
  })

  test('without a range: every instant', () => {
    const bounds = timeBounds(undefined)
    for (const ms of [-(2 ** 53) + 2, -1, 0, 1, 1767225600000, 2 ** 53 - 2]) expect(withinTime(bounds, ms)).toBe(true)
  })

  test('a fraction equals no instant', () => {
    const { low, high } = timeBounds(parseRange({ eq: 1.5 }, 't'))
    expect(low).toBeGreaterThanOrEqual(high)
  })
})

describe('a lower and an upper bound together hold what both hold', () => {
  const check = <T extends IndexScalar>(
    low: T,
    high: T,
    candidates: IndexScalar[],
    holds: (range: unknown, value: IndexScalar) => boolean,
  ): void => {
    for (const [lower, upper] of bounds) {
      // The members may come in either order.
      for (const range of [
        { [lower]: low, [upper]: high },
        { [upper]: high, [lower]: low },
      ]) {
        for (const value of candidates) {
          const expected = matches(lower, low, low, value) && matches(upper, high, high, value)
          expect([range, value, holds(range, value)]).toEqual([range, value, expected])
        }
      }
    }
  }

  test('primary', () => {
    fc.assert(
      fc.property(edgeString, edgeString, edgeString, (a, b, value) => {
        const [low, high] = ordered(a, b)
        check(low, high, [value, low, high, `${low}\0`, `${high}\0`], (range, key) =>
          within(primaryBounds(parseRange(range, 'primary')), key as string),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('a declared index', () => {
    const operands = fc.oneof(
      fc.tuple(fc.boolean(), fc.boolean()),
      fc.tuple(finiteNumber, finiteNumber),
      fc.tuple(edgeString, edgeString),
    ) as fc.Arbitrary<[IndexScalar, IndexScalar]>
    fc.assert(
      fc.property(operands, indexScalar, ([a, b], value) => {
        const [low, high] = ordered(a, b)
        check(low, high, [value, low, high, false, true, 0, '', '\u{10ffff}'], (range, one) =>
          within(indexBounds(parseRange(range, 'index')), encodeIndexValue(one)),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('t', () => {
    const instant = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, 1.5, -0.5, 1e300, -1e300))
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        const [low, high] = ordered(a, b)
        check(low, high, [-4, -3, -2, -1, 0, 1, 2, 3, 4], (range, ms) =>
          withinTime(timeBounds(parseRange(range, 't')), ms as number),
        )
      }),
      { numRuns: 500 },
    )
  })
})

describe('refusals', () => {
  const overs: RangeOver[] = ['primary', 't', 'index']
  const expectRefused = (value: unknown, over: RangeOver, field: string): void => {
    expect([value, over, ...refused(() => parseRange(value, over))]).toEqual([value, over, 'invalid_range', field])
  }

  test('a range that is no object', () => {
    for (const over of overs) {
      for (const value of [null, 'gt', 1, true, [], ['gt', 1]]) expectRefused(value, over, 'range')
    }
  })

  test('no operator, several, or an unknown one', () => {
    for (const over of overs) {
      expectRefused({}, over, 'range')
      expectRefused({ eq: 'a', between: ['a', 'b'], gt: 'a' }, over, 'range')
      expectRefused({ GT: 'a' }, over, 'range')
      expectRefused({ ne: 'a' }, over, 'range')
      expectRefused({ '': 'a' }, over, 'range')
      expectRefused({ constructor: 'a' }, over, 'range')
      expectRefused(JSON.parse('{"__proto__":"a"}'), over, 'range')
    }
  })

  test('two operators that are not a lower and an upper bound', () => {
    const allowed = new Set(['gt lt', 'gt lte', 'gte lt', 'gte lte'])
    const pairs = rangeOperators.flatMap((a) => rangeOperators.filter((b) => b !== a).map((b) => [a, b] as const))
    for (const over of overs) {
      for (const pair of pairs) {
        if (allowed.has(pair.join(' ')) || allowed.has(pair.toReversed().join(' '))) continue
        // The combination is at fault, with any operands.
        const range = Object.fromEntries(pair.map((operator) => [operator, operator === 'between' ? [1, 2] : 1]))
        expectRefused(range, over, 'range')
      }
      expectRefused({ gt: 'a', lt: 'b', lte: 'b' }, over, 'range')
    }
  })

  test('the message says which operators there are, and which may be combined', () => {
    const unknown = refusal(() => parseRange({ near: 1 }, 'index'))
    for (const operator of rangeOperators) expect(unknown.message).toContain(operator)
    const cases: [unknown, string, string][] = [
      [{ gt: 1, gte: 2 }, 'range has gt and gte;', 'Both are lower bounds'],
      [{ lt: 1, lte: 2 }, 'range has lt and lte;', 'Both are upper bounds'],
      [{ between: [1, 2], lt: 2 }, 'range has between and lt;', 'between has both bounds already'],
      [{ beginsWith: 'a', lt: 'b' }, 'range has beginsWith and lt;', '{ "gte": 10, "lt": 20 }'],
      [{}, 'range has no operator;', '{ "gte": 10, "lt": 20 }'],
    ]
    for (const [range, start, words] of cases) {
      const { message, hint } = refusal(() => parseRange(range, 'index'))
      expect(message).toStartWith(start)
      expect(message).toEndWith('it takes one operator, or one of gt and gte together with one of lt and lte.')
      expect(hint).toContain(words)
    }
  })

  test('two bounds of different types, or the lower above the upper in the order of the index', () => {
    for (const [lower, upper] of bounds) {
      const range = (low: unknown, high: unknown) => ({ [upper]: high, [lower]: low })
      expectRefused(range(1, '2'), 'index', 'range')
      expectRefused(range(false, 1), 'index', 'range')
      // After it was read, the first is a number.
      expectRefused(range('2024-01-01T00:00:00Z', '2024-01-02'), 'index', 'range')
      expectRefused(range(10, 9), 'index', 'range')
      expectRefused(range('b', 'a'), 'index', 'range')
      expectRefused(range(true, false), 'index', 'range')
      // Texts are ordered by UTF-8 bytes, not by UTF-16 units.
      expectRefused(range('\u{1f600}', '\uffff'), 'index', 'range')
      expectRefused(range('\u{1f600}', '\uffff'), 'primary', 'range')
      // Date-times are ordered by time in an index, and by text in the primary key.
      expectRefused(range('2024-01-01T00:00:00Z', '2024-01-01T00:30:00+01:00'), 'index', 'range')
      expectRefused(range('2024-01-01T00:00:00Z', '2024-01-01T00:30:00+01:00'), 't', 'range')
      expect(parseRange(range('2024-01-01T00:00:00Z', '2024-01-01T00:30:00+01:00'), 'primary')).toBeDefined()
      // The operand at fault is named.
      expectRefused(range(1, null), 'index', `range.${upper}`)
      expectRefused(range(null, 1), 'index', `range.${lower}`)
      expectRefused(range(1, 'soon'), 't', `range.${upper}`)
    }
  })

  test('an unknown operator is named in a few words, however long it is', () => {
    const { message } = refusal(() => parseRange({ [`${'a'.repeat(79)}\u{1f600}${'b'.repeat(10_000)}`]: 1 }, 'index'))
    expect(message.length).toBeLessThan(300)
    expect(message.isWellFormed()).toBe(true)
  })

  test('primary: an operand that is no string', () => {
    for (const operator of ['eq', 'lt', 'lte', 'gt', 'gte', 'beginsWith'] as const) {
      for (const operand of [1, true, null, [], ['a'], {}]) {
        expectRefused({ [operator]: operand }, 'primary', `range.${operator}`)
      }
    }
    expectRefused({ between: ['a', 1] }, 'primary', 'range.between[1]')
    expectRefused({ between: [1, 'a'] }, 'primary', 'range.between[0]')
  })

  test('t: an operand that is neither a number nor an ISO date-time', () => {
    for (const operator of ['eq', 'lt', 'lte', 'gt', 'gte'] as const) {
      for (const operand of ['a', '', '1767225600000', '2026-01-01', true, null, [], {}, Number.POSITIVE_INFINITY]) {
        expectRefused({ [operator]: operand }, 't', `range.${operator}`)
      }
    }
    expectRefused({ between: [1, '2026-01-01'] }, 't', 'range.between[1]')
    expectRefused({ between: [JSON.parse('-1e400'), 1] }, 't', 'range.between[0]')
  })

  test('t: beginsWith', () => {
    for (const operand of ['2026', '', 1, null]) expectRefused({ beginsWith: operand }, 't', 'range.beginsWith')
  })

  test('index: an operand that no index takes', () => {
    for (const operator of ['eq', 'lt', 'lte', 'gt', 'gte'] as const) {
      for (const operand of [null, [], [1], {}, JSON.parse('1e400'), 'a'.repeat(1025), '\ud800']) {
        expectRefused({ [operator]: operand }, 'index', `range.${operator}`)
      }
    }
    expectRefused({ between: [null, 1] }, 'index', 'range.between[0]')
    expectRefused({ between: [1, null] }, 'index', 'range.between[1]')
  })

  test('beginsWith takes a string', () => {
    for (const operand of [1, true, null, ['a'], {}])
      expectRefused({ beginsWith: operand }, 'index', 'range.beginsWith')
  })

  test('an operand over 1,024 bytes, or with a lone surrogate', () => {
    for (const over of ['primary', 'index'] as const) {
      for (const operator of ['eq', 'lt', 'lte', 'gt', 'gte', 'beginsWith'] as const) {
        expect(parseRange({ [operator]: 'é'.repeat(512) }, over)).toEqual({ operator, operand: 'é'.repeat(512) })
        expectRefused({ [operator]: `${'é'.repeat(512)}a` }, over, `range.${operator}`)
        expectRefused({ [operator]: 'a\udc00' }, over, `range.${operator}`)
      }
      expectRefused({ between: ['a', 'b'.repeat(1025)] }, over, 'range.between[1]')
    }
  })

  test('primary: no message offers a type that range keys are not', () => {
    for (const operand of [1, 'b'.repeat(1025), '\ud800']) {
      expect(refusal(() => parseRange({ eq: operand }, 'primary')).message).not.toContain('boolean')
    }
  })

  test('between: not two operands', () => {
    for (const over of overs) {
      for (const operand of ['a', 1, null, {}, [], ['a'], ['a', 'b', 'c'], { 0: 'a', 1: 'b', length: 2 }]) {
        expectRefused({ between: operand }, over, 'range.between')
      }
    }
  })

  test('between: operands of two types', () => {
    for (const operand of [
      [1, 'a'],
      [false, 1],
      [true, 'true'],
      ['2026-01-01T00:00:00Z', '2026-01-02'],
    ]) {
      expectRefused({ between: operand }, 'index', 'range.between')
    }
  })

  test('between: low above high, by UTF-8 bytes', () => {
    expectRefused({ between: ['b', 'a'] }, 'primary', 'range.between')
    expectRefused({ between: ['b', 'a'] }, 'index', 'range.between')
    expectRefused({ between: [2, 1] }, 'index', 'range.between')
    expectRefused({ between: [2, 1] }, 't', 'range.between')
    expectRefused({ between: [true, false] }, 'index', 'range.between')
    expectRefused({ between: ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00+01:00'] }, 'index', 'range.between')
    for (const over of ['primary', 'index'] as const) {
      // UTF-16 order would have these the other way round.
      expectRefused({ between: ['\u{10000}', '\uffff'] }, over, 'range.between')
      expect(parseRange({ between: ['\uffff', '\u{10000}'] }, over)).toBeDefined()
      expect(parseRange({ between: ['a', 'a'] }, over)).toBeDefined()
    }
    expect(parseRange({ between: [0, -0] }, 'index')).toBeDefined()
  })
})
