import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ttlSecondsMax } from '../../src/core/limits.ts'
import { isExpired, nowSeconds } from '../../src/core/records/expiry.ts'

describe('a record is gone from the instant now >= ttl', () => {
  test('and not a millisecond before', () => {
    expect(isExpired(1767225600, 1767225599999)).toBe(false)
    expect(isExpired(1767225600, 1767225600000)).toBe(true)
    expect(isExpired(1767225600, 1767225600001)).toBe(true)
  })

  test('a ttl of 0 has always passed, one of the year 9999 has not', () => {
    expect(isExpired(0, 0)).toBe(true)
    expect(isExpired(0, 1767225600000)).toBe(true)
    expect(isExpired(ttlSecondsMax, 253402300798999)).toBe(false)
    expect(isExpired(ttlSecondsMax, 253402300799000)).toBe(true)
  })

  test('without a ttl it never goes', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (nowMs) => {
        expect(isExpired(null, nowMs)).toBe(false)
      }),
    )
  })

  test('the bound for SQL is the same rule', () => {
    const near = fc.tuple(fc.integer({ min: 0, max: ttlSecondsMax }), fc.integer({ min: -2000, max: 2000 }))
    fc.assert(
      fc.property(near, ([ttl, offsetMs]) => {
        const nowMs = ttl * 1000 + offsetMs
        expect(ttl <= nowSeconds(nowMs)).toBe(isExpired(ttl, nowMs))
        expect(isExpired(ttl, nowMs)).toBe(offsetMs >= 0)
      }),
      { numRuns: 1000 },
    )
  })

  test('also for a clock with fractions of a millisecond', () => {
    expect(isExpired(10, 9999.9)).toBe(false)
    expect(nowSeconds(9999.9)).toBe(9)
    expect(nowSeconds(10000.1)).toBe(10)
  })
})
