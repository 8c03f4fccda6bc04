import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseIsoDateTime } from '../../../server/src/core/text/iso-date-time.ts'
import { ageOf, bytesOf, showInstant } from '../../src/text/instant.ts'

describe('an instant', () => {
  test('is shown local and in UTC, and both mean it', () => {
    expect(showInstant(1_767_225_600_000).utc).toBe('2026-01-01 00:00:00 UTC')
    expect(showInstant(1_767_225_600_250).utc).toBe('2026-01-01 00:00:00.250 UTC')
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), (ms) => {
        const { local, utc } = showInstant(ms)
        expect(parseIsoDateTime(utc.replace(' UTC', 'Z').replace(' ', 'T'))).toBe(ms)
        expect(parseIsoDateTime(local.replace(' ', 'T').replace(' ', ''))).toBe(ms)
      }),
    )
    for (const ms of [Number.NaN, 8.64e15 + 1, Number.POSITIVE_INFINITY]) {
      expect(showInstant(ms)).toEqual({ local: 'not a time', utc: 'not a time' })
    }
  })

  test('is local in the zone of the browser', () => {
    const script = `import { showInstant } from '${import.meta.dir}/../../src/text/instant.ts'; console.log(showInstant(1767225600000).local)`
    const localIn = (TZ: string): string =>
      Bun.spawnSync([process.execPath, '-e', script], { env: { ...process.env, TZ } })
        .stdout.toString()
        .trim()
    expect(localIn('Asia/Kolkata')).toBe('2026-01-01 05:30:00 +05:30')
    expect(localIn('America/New_York')).toBe('2025-12-31 19:00:00 -05:00')
  })
})

describe('an age', () => {
  const now = 1_767_225_600_000
  const second = 1_000
  const day = 86_400 * second

  test('is said in words, both ways', () => {
    const cases: [number, string][] = [
      [0, 'just now'],
      [-9 * second, 'just now'],
      [9 * second, 'just now'],
      [-10 * second, '10 s ago'],
      [-59.4 * second, '59 s ago'],
      [-59.5 * second, '1 min ago'],
      [-4 * 60 * second, '4 min ago'],
      [-59.6 * 60 * second, '1 h ago'],
      [-23 * 3_600 * second, '23 h ago'],
      [-day, '1 d ago'],
      [30 * day - 5, 'in 30 d'],
      [12 * 3_600 * second - 5, 'in 12 h'],
      [-59 * day, '59 d ago'],
      [-61 * day, '2 mo ago'],
      [-800 * day, '2 y ago'],
    ]
    for (const [shift, words] of cases) {
      expect([shift, ageOf(now + shift, now)]).toEqual([shift, words])
    }
    expect(ageOf(Number.NaN, now)).toBe('not a time')
  })
})

test('bytes are said in decimal units', () => {
  const cases: [number, string][] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1_000, '1 kB'],
    [1_250, '1.3 kB'],
    [9_949, '9.9 kB'],
    [9_960, '10 kB'],
    [409_600, '410 kB'],
    [999_499, '999 kB'],
    [999_500, '1 MB'],
    [1_234_567, '1.2 MB'],
    [5_368_709_120, '5.4 GB'],
  ]
  for (const [count, words] of cases) expect(bytesOf(count)).toBe(words)
})
