import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { recordChecksum, storedData, takeChecksum } from '../../src/core/records/checksum.ts'
import type { StoredRecord } from '../../src/core/records/stored-record.ts'
import { unicodeString } from './arbitraries.ts'

const data = fc
  .dictionary(unicodeString, fc.oneof(unicodeString, fc.double(), fc.boolean()))
  .map((value) => JSON.stringify(value))
const record: fc.Arbitrary<StoredRecord> = fc.record({
  hashKey: unicodeString,
  rangeKey: fc.oneof(fc.constant('#'), unicodeString),
  data,
  ttlSeconds: fc.option(fc.nat({ max: 253_402_300_799 })),
  updatedAtMs: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
})
const tableId = fc.nat({ max: Number.MAX_SAFE_INTEGER })

const sample: StoredRecord = {
  hashKey: 'ada',
  rangeKey: '#',
  data: '{"n":1}',
  ttlSeconds: null,
  updatedAtMs: 1_767_225_600_000,
}
const read = (id: number, stored: StoredRecord) => {
  const row = { ...stored }
  return [takeChecksum(id, row), row.data]
}

describe('the checksum of a record', () => {
  test('is removed again, and matches', () => {
    fc.assert(
      fc.property(tableId, record, (id, written) => {
        const row = { ...written, data: storedData(id, written) }
        expect(takeChecksum(id, row)).toBe('intact')
        expect(row).toEqual(written)
      }),
    )
  })

  test('never changes: it is in every store', () => {
    expect(recordChecksum(1, sample)).toBe(-859225305)
    expect(storedData(1, sample)).toBe('{"n":1}W<Db<3')
    const other = {
      hashKey: 'k'.repeat(40),
      rangeKey: 'é😀',
      data: '{"é":"😀"}',
      ttlSeconds: 4_294_967_295,
      updatedAtMs: 1,
    }
    expect(storedData(2 ** 40, other)).toBe('{"é":"😀"}UE_R=2')
  })

  test('covers each field: whatever else is in its place does not match', () => {
    const others: [string, number, Partial<StoredRecord>][] = [
      ['table', 2, {}],
      ['table of more than 32 bits', 1 + 2 ** 32, {}],
      ['hash key', 1, { hashKey: 'adb' }],
      ['range key', 1, { rangeKey: '$' }],
      ['a character moved from key to key', 1, { hashKey: 'ad', rangeKey: 'a#' }],
      ['keys exchanged', 1, { hashKey: '#', rangeKey: 'ada' }],
      ['version', 1, { updatedAtMs: sample.updatedAtMs + 1 }],
      ['version, a high bit', 1, { updatedAtMs: sample.updatedAtMs + 2 ** 40 }],
      ['ttl', 1, { ttlSeconds: 0 }],
      ['ttl of 32 bits', 1, { ttlSeconds: 4_294_967_295 }],
    ]
    const stored = { ...sample, data: storedData(1, sample) }
    expect(read(1, stored)).toEqual(['intact', sample.data])
    for (const [what, id, over] of others)
      expect([what, read(id, { ...stored, ...over })[0]]).toEqual([what, 'damaged'])
  })

  test('a row in which a bit of its data or checksum was changed is never intact; as bytes, as SQLite reads them', () => {
    const rows = [sample, { ...sample, data: '{"é":"東京 😀","n":[1,2,{"x":"}"}]}', rangeKey: '2024' }]
    for (const row of rows) {
      const stored = storedData(1, row)
      const bytes = Buffer.from(stored)
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = Buffer.from(bytes)
        changed[bit >> 3]! ^= 1 << (bit & 7)
        expect([bit, takeChecksum(1, { ...row, data: changed.toString() })]).toEqual([bit, 'damaged'])
      }
    }
  })

  test('a row in which a bit of a key, the version or the ttl was changed is never intact', () => {
    fc.assert(
      fc.property(tableId, record, fc.nat(), fc.nat({ max: 52 }), (id, written, at, bit) => {
        const stored = { ...written, data: storedData(id, written) }
        const flip = (value: number): number => Number(BigInt(value) ^ (1n << BigInt(bit)))
        expect(read(id, { ...stored, updatedAtMs: flip(written.updatedAtMs) })[0]).toBe('damaged')
        expect(read(flip(id), stored)[0]).toBe('damaged')
        expect(
          read(id, { ...stored, ttlSeconds: written.ttlSeconds === null ? flip(0) : flip(written.ttlSeconds) })[0],
        ).toBe('damaged')
        if (written.ttlSeconds !== null) expect(read(id, { ...stored, ttlSeconds: null })[0]).toBe('damaged')
        for (const field of ['hashKey', 'rangeKey'] as const) {
          const text = written[field]
          const where = at % (text.length + 1)
          const other =
            text.slice(0, where) +
            String.fromCharCode((text.charCodeAt(where) || 0) ^ (1 << (bit % 16))) +
            text.slice(where + 1)
          expect(read(id, { ...stored, [field]: other })[0]).toBe('damaged')
        }
      }),
    )
  })

  test('a row of version 0.1 has none', () => {
    fc.assert(
      fc.property(tableId, record, (id, row) => {
        expect(read(id, row)).toEqual(['unchecked', row.data])
      }),
    )
  })

  test('a row whose columns have lost their types is damaged', () => {
    const stored = { ...sample, data: storedData(1, sample) }
    const values = [null, undefined, '', 'a', 1.5, Number.NaN, 2 ** 60, new Uint8Array(3)]
    for (const value of values) {
      for (const field of ['data', 'updatedAtMs', 'ttlSeconds']) {
        if (field === 'ttlSeconds' && value === null) continue
        expect([field, value, takeChecksum(1, { ...stored, [field]: value } as StoredRecord)]).toEqual([
          field,
          value,
          'damaged',
        ])
      }
    }
    for (const text of ['{', '0', '000000', '{00000', '{}0000', '{"a":1']) {
      expect([text, takeChecksum(1, { ...sample, data: text })]).toEqual([text, 'damaged'])
    }
  })
})
