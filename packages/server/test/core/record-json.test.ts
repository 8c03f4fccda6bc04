import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { pageBytesMax } from '../../src/core/limits.ts'
import {
  headFrameBytesMin,
  headJson,
  PageMeter,
  recordFrameBytesMin,
  recordJson,
} from '../../src/core/records/record-json.ts'
import { noRangeKey } from '../../src/core/records/record-key.ts'
import type { StoredRecord } from '../../src/core/records/stored-record.ts'

const keyPart = fc
  .array(fc.constantFrom('a', '/', '"', '\\', '\0', '\n', '\u001f', '\u007f', 'é', '€', '\u2028', '\u{1f511}', '#'), {
    minLength: 1,
    maxLength: 12,
  })
  .map((units) => units.join(''))

const record: fc.Arbitrary<StoredRecord> = fc.record({
  hashKey: keyPart,
  rangeKey: fc.oneof(fc.constant(noRangeKey), keyPart),
  data: fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 2 }).map((value) => JSON.stringify({ value })),
  ttlSeconds: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 253_402_300_799 })),
  updatedAtMs: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
})

const itemsOf = (records: StoredRecord[]): string => `[${records.map((record) => recordJson(record)).join()}]`

describe('a record in an answer', () => {
  test('is JSON with its members, and no rangeKey for the empty slot', () => {
    fc.assert(
      fc.property(record, (stored) => {
        const { hashKey, rangeKey, data, ttlSeconds, updatedAtMs } = stored
        expect(JSON.parse(recordJson(stored))).toEqual({
          hashKey,
          ...(rangeKey === noRangeKey ? {} : { rangeKey }),
          data: JSON.parse(data),
          ...(ttlSeconds === null ? {} : { ttl: ttlSeconds }),
          updatedAt: updatedAtMs,
        })
        expect(recordJson(stored)).toContain(`"data":${data}`)
      }),
    )
  })

  test('never takes fewer bytes than an engine adds up for it', () => {
    const least = ({ hashKey, rangeKey, data }: StoredRecord): number =>
      recordFrameBytesMin + Buffer.byteLength(hashKey) + Buffer.byteLength(rangeKey) + Buffer.byteLength(data)
    fc.assert(
      fc.property(record, (stored) =>
        expect(least(stored)).toBeLessThanOrEqual(Buffer.byteLength(recordJson(stored)) + 1),
      ),
    )
    // The bound is exact: no record takes less.
    const smallest = { hashKey: 'a', rangeKey: noRangeKey, data: '{}', ttlSeconds: null, updatedAtMs: 0 }
    expect(least(smallest)).toBe(Buffer.byteLength(recordJson(smallest)) + 1)
  })
})

describe('a record without its data', () => {
  test('has the other members, as they are with it', () => {
    fc.assert(
      fc.property(record, (stored) => {
        const { data: _, ...head } = JSON.parse(recordJson(stored))
        expect(headJson(stored)).toBe(JSON.stringify(head))
      }),
    )
  })

  test('never takes fewer bytes than an engine adds up for it', () => {
    const least = ({ hashKey, rangeKey }: StoredRecord): number =>
      headFrameBytesMin + Buffer.byteLength(hashKey) + Buffer.byteLength(rangeKey)
    fc.assert(
      fc.property(record, (stored) =>
        expect(least(stored)).toBeLessThanOrEqual(Buffer.byteLength(headJson(stored)) + 1),
      ),
    )
    const smallest = { hashKey: 'a', rangeKey: noRangeKey, data: '', ttlSeconds: null, updatedAtMs: 0 }
    expect(least(smallest)).toBe(Buffer.byteLength(headJson(smallest)) + 1)
  })

  test('its data is not measured: to the byte', () => {
    const long = (hashKey: string): StoredRecord => ({
      hashKey,
      rangeKey: '\0'.repeat(1_000),
      data: `{"a":"${'x'.repeat(300_000)}"}`,
      ttlSeconds: 4_102_444_800,
      updatedAtMs: 1,
    })
    const each = Buffer.byteLength(headJson(long('a'))) + 1
    const rows = Math.floor((pageBytesMax - 1) / each)
    const left = pageBytesMax - 1 - rows * each
    for (const more of [0, 1]) {
      const page: StoredRecord[] = []
      const meter = new PageMeter(page, false)
      // The rest of the page goes into one key.
      const source = [long(`a${'.'.repeat(left + more)}`), ...Array(rows - 1).fill(long('a'))]
      for (const one of source) if (meter.takes(one)) page.push(one)
      expect(page).toHaveLength(more === 0 ? rows : rows - 1)
    }
  })
})

describe('the meter of a page', () => {
  /** Fills a page as engines do; the records that were left. */
  const fill = (source: StoredRecord[], page: StoredRecord[], look = false): StoredRecord[] => {
    const meter = new PageMeter(page)
    for (const [i, next] of source.entries()) {
      // Looking at what is left changes nothing.
      if (look && i % 3 === 0) meter.bytesLeft()
      if (!meter.takes(next)) return source.slice(i)
      page.push(next)
    }
    return []
  }

  const padded = (stored: StoredRecord, bytes: number): StoredRecord => ({
    ...stored,
    data: `{"pad":"${'é'.repeat(Math.floor(bytes / 2))}${'x'.repeat(bytes % 2)}"}`,
  })

  test('ends before the record with which the text of items would pass 1,048,576 bytes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(record, fc.integer({ min: 0, max: 400_000 })), { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        (drawn, look) => {
          const source = drawn.map(([stored, bytes]) => padded(stored, bytes))
          const page: StoredRecord[] = []
          const [next] = fill(source, page, look)
          expect(page).toEqual(source.slice(0, page.length))
          if (page.length > 1) expect(Buffer.byteLength(itemsOf(page))).toBeLessThanOrEqual(pageBytesMax)
          if (next !== undefined) expect(Buffer.byteLength(itemsOf([...page, next]))).toBeGreaterThan(pageBytesMax)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('to the byte, however many records there are and whatever they hold', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 300 }), record, fc.boolean(), (source, last, look) => {
        const empty = Buffer.byteLength(itemsOf([...source, { ...last, data: '{"pad":""}' }]))
        for (const [more, left] of [
          [0, 0],
          [1, 1],
        ] as const) {
          const filler = padded(last, pageBytesMax - empty + more)
          expect(Buffer.byteLength(itemsOf([...source, filler]))).toBe(pageBytesMax + more)
          const page: StoredRecord[] = []
          expect(fill([...source, filler], page, look)).toHaveLength(left)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('whatever fills it: keys that are all escapes, wide characters, ttls, versions', () => {
    const large = { ttlSeconds: 253_402_300_799, updatedAtMs: Number.MAX_SAFE_INTEGER }
    const kinds: StoredRecord[] = [
      { hashKey: '\u0001'.repeat(1_024), rangeKey: '\0'.repeat(1_024), data: '{}', ...large },
      { hashKey: 'a', rangeKey: '\u001f'.repeat(1_024), data: '{}', ...large },
      { hashKey: 'a', rangeKey: 'b', data: '{}', ...large },
      { hashKey: '€'.repeat(341), rangeKey: '"'.repeat(1_024), data: '{}', ...large },
      { hashKey: 'a', rangeKey: 'b', data: `{"a":"${'€'.repeat(1_000)}"}`, ...large },
    ]
    for (const kind of kinds) {
      const each = Buffer.byteLength(recordJson(kind))
      const page: StoredRecord[] = []
      fill(Array(Math.ceil(pageBytesMax / each) + 5).fill(kind), page)
      expect(page.length).toBe(Math.floor((pageBytesMax - 1) / (each + 1)))
    }
  })

  test('says what is left', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), (source) => {
        const page: StoredRecord[] = []
        const meter = new PageMeter(page)
        for (const next of source) {
          meter.takes(next)
          page.push(next)
          // The meter keeps room for the comma of one more record.
          expect(meter.bytesLeft()).toBe(pageBytesMax - Buffer.byteLength(itemsOf(page)))
        }
      }),
    )
  })

  test('a page has its first record, however large', () => {
    const large = padded({ hashKey: 'a', rangeKey: 'b', data: '', ttlSeconds: null, updatedAtMs: 1 }, pageBytesMax)
    const page: StoredRecord[] = []
    expect(fill([large, large], page)).toHaveLength(1)
    expect(page).toHaveLength(1)
  })
})
