import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseIsoDateTime } from '../../src/core/text/iso-date-time.ts'

const accepted: [text: string, ms: number][] = [
  ['1970-01-01T00:00:00Z', 0],
  ['2026-01-01T00:00:00Z', 1767225600000],
  ['2026-12-31T23:59:59.999Z', 1798761599999],
  // Offsets
  ['2026-01-01T01:00:00+01:00', 1767225600000],
  ['2025-12-31T19:00:00-05:00', 1767225600000],
  ['2026-01-01T05:45:00+05:45', 1767225600000],
  ['2026-01-01T00:00:00+00:00', 1767225600000],
  ['2026-01-01T00:00:00-00:00', 1767225600000],
  ['1970-01-01T00:00:00-00:00', 0],
  ['2026-01-01T23:59:00+23:59', 1767225600000],
  ['2025-12-31T00:01:00-23:59', 1767225600000],
  // Fractions: 1 to 9 digits, cut off past milliseconds
  ['1970-01-01T00:00:00.1Z', 100],
  ['1970-01-01T00:00:00.12Z', 120],
  ['1970-01-01T00:00:00.123Z', 123],
  ['1970-01-01T00:00:00.1239Z', 123],
  ['1970-01-01T00:00:00.123999999Z', 123],
  ['1970-01-01T00:00:00.000000001Z', 0],
  ['1970-01-01T00:00:00.999999999Z', 999],
  ['1970-01-01T01:00:00.5+01:00', 500],
  ['2026-01-01T00:00:00.123456789+23:59', 1767139260123],
  ['1969-12-31T23:59:59.9Z', -100],
  ['1969-12-31T23:59:59.9999Z', -1],
  ['1969-12-31T23:59:59.9991Z', -1],
  ['1969-12-31T23:59:59.0009Z', -1000],
  // Leap days
  ['2024-02-29T00:00:00Z', 1709164800000],
  ['2000-02-29T12:34:56Z', 951827696000],
  ['0000-02-29T00:00:00Z', -62162121600000],
  // Years of four digits, all of them
  ['0000-01-01T00:00:00Z', -62167219200000],
  ['0001-01-01T00:00:00Z', -62135596800000],
  ['0099-12-31T23:59:59.999Z', -59011459200001],
  ['0100-01-01T00:00:00Z', -59011459200000],
  ['1900-01-01T00:00:00Z', -2208988800000],
  ['9999-12-31T23:59:59.999Z', 253402300799999],
  // The offset may lead out of the four-digit years
  ['0000-01-01T00:00:00+23:59', -62167305540000],
  ['9999-12-31T23:59:59-23:59', 253402387139000],
]

const refusedTexts = [
  // These are no real dates or times of day.
  '2026-02-29T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2100-02-29T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-06-31T00:00:00Z',
  '2026-09-31T00:00:00Z',
  '2026-11-31T00:00:00Z',
  '2026-01-32T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T25:00:00Z',
  '2026-01-01T00:60:00Z',
  '2026-12-31T23:59:60Z',
  '2016-12-31T23:59:60Z',
  '2026-01-01T00:00:61Z',
  // Offsets
  '2026-01-01T00:00:00+24:00',
  '2026-01-01T00:00:00-24:00',
  '2026-01-01T00:00:00+23:60',
  '2026-01-01T00:00:00+0100',
  '2026-01-01T00:00:00+01',
  '2026-01-01T00:00:00+1:00',
  '2026-01-01T00:00:00+01:00:00',
  '2026-01-01T00:00:00Z+01:00',
  '2026-01-01T00:00:00\u221201:00',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00.000',
  // Fractions
  '2026-01-01T00:00:00.Z',
  '2026-01-01T00:00:00.1234567890Z',
  '2026-01-01T00:00:00,5Z',
  '2026-01-01T00:00:00.5.5Z',
  // Letters
  '2026-01-01t00:00:00Z',
  '2026-01-01T00:00:00z',
  '2026-01-01 00:00:00Z',
  // Parts left out or written otherwise
  '2026-01-01',
  '2026-01',
  '2026',
  '2026-01-01T00:00Z',
  '2026-01-01T00Z',
  '20260101T000000Z',
  '2026-1-1T00:00:00Z',
  '2026-W01-4T00:00:00Z',
  '2026-001T00:00:00Z',
  '26-01-01T00:00:00Z',
  '02026-01-01T00:00:00Z',
  '+002026-01-01T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '10000-01-01T00:00:00Z',
  'Thu, 01 Jan 2026 00:00:00 GMT',
  // Junk around it
  ' 2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00Z ',
  '2026-01-01T00:00:00Z\n',
  '\n2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00Z\0',
  '2026-01-01T00:00:00ZZ',
  '2026-01-01T00:00:00Z[UTC]',
  '٢٠٢٦-01-01T00:00:00Z',
  '',
]

describe('a strict ISO-8601 date-time is read', () => {
  for (const [text, ms] of accepted) {
    test(text, () => {
      expect(parseIsoDateTime(text)).toBe(ms)
    })
  }
})

describe('every other string is not', () => {
  for (const text of refusedTexts) {
    test(JSON.stringify(text), () => {
      expect(parseIsoDateTime(text)).toBeUndefined()
    })
  }
})

const two = (value: number): string => String(value).padStart(2, '0')
const four = (value: number): string => String(value).padStart(4, '0')

describe('against Date', () => {
  const instant = fc.oneof(
    fc.integer({ min: -62167219200000, max: 253402300799999 }),
    fc.integer({ min: -100_000, max: 100_000 }),
  )

  test('what Date writes is read back', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        expect(parseIsoDateTime(new Date(ms).toISOString())).toBe(ms)
      }),
      { numRuns: 2000 },
    )
  })

  test('an offset is taken off, and digits past milliseconds are cut off', () => {
    const minutes = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 })
    const moreDigits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 6 })
    fc.assert(
      fc.property(instant, minutes, moreDigits, (ms, offset, digits) => {
        const local = new Date(ms + offset * 60_000)
        fc.pre(local.getUTCFullYear() >= 0 && local.getUTCFullYear() <= 9999)
        const size = Math.abs(offset)
        const suffix = `${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
        expect(parseIsoDateTime(local.toISOString().replace('Z', digits + suffix))).toBe(ms)
      }),
      { numRuns: 2000 },
    )
  })

  test('a calendar date and time of day is read exactly if it is a real one', () => {
    const parts = fc.tuple(
      fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(0, 4, 99, 100, 1900, 2000, 2024, 2100)),
      fc.oneof(fc.constant(2), fc.integer({ min: 0, max: 13 })),
      fc.oneof(fc.integer({ min: 0, max: 32 }), fc.integer({ min: 28, max: 31 })),
      fc.integer({ min: 0, max: 25 }),
      fc.oneof(fc.integer({ min: 0, max: 61 }), fc.constantFrom(0, 59, 60)),
      fc.oneof(fc.integer({ min: 0, max: 61 }), fc.constantFrom(0, 59, 60)),
    )
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second]) => {
        const text = `${four(year)}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}.000Z`
        // Date rolls what is not real over into something else, or gives up.
        const date = new Date(text)
        const real = !Number.isNaN(date.getTime()) && date.toISOString() === text
        expect(parseIsoDateTime(text)).toBe(real ? date.getTime() : undefined)
      }),
      { numRuns: 5000 },
    )
  })

  test('a text changed in one character is read only if Date agrees', () => {
    const junk = fc.constantFrom(...'0123456789TtZz+-:. /', '\n', '\0', '٣', '\u2212')
    fc.assert(
      fc.property(fc.constantFrom(...accepted.map(([text]) => text)), fc.nat(), junk, (text, where, character) => {
        const at = where % text.length
        const changed = text.slice(0, at) + character + text.slice(at + 1)
        const ms = parseIsoDateTime(changed)
        if (ms === undefined) return
        // Date knows milliseconds only.
        expect(ms).toBe(Date.parse(changed.replace(/(\.\d{3})\d+/, '$1')))
      }),
      { numRuns: 3000 },
    )
  })
})
