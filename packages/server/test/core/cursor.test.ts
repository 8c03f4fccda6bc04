import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  decodeListCursor,
  decodeScanCursor,
  encodeListCursor,
  encodeScanCursor,
  scanFingerprint,
} from '../../src/core/cursor.ts'
import { CursorSeal, TextSeal } from '../../src/core/cursor-seal.ts'
import { cursorCharactersMax } from '../../src/core/limits.ts'
import { indexBounds, parseRange, primaryBounds, timeBounds } from '../../src/core/records/range.ts'
import type { ByteScan, Position, Scan, TimeScan } from '../../src/core/records/scan.ts'
import { encodeIndexValue } from '../../src/core/tables/index-value.ts'
import { indexScalar, unicodeString } from './arbitraries.ts'
import { refusal, refused } from './refusal.ts'

const noIds = { lowId: 0, highId: 0 }
const invalidCursor: [string, string] = ['invalid_cursor', 'cursor']

const byteScan = (over: Partial<ByteScan> = {}): ByteScan => ({
  index: 'i1',
  hash: 'sopen',
  ...indexBounds(parseRange({ gte: 'a' }, 'index')),
  ...noIds,
  descending: false,
  ...over,
})

const timeScan = (over: Partial<TimeScan> = {}): TimeScan => ({
  index: 't',
  ...timeBounds(undefined),
  ...noIds,
  descending: true,
  ...over,
})

const secret = Buffer.from('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex')
/** The secret of a store that version 0.1 made. */
const seal = new CursorSeal([new TextSeal(secret, 'cursor')], true)

/** A cursor of version 0.1, as a client could forge it. */
const forge = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64url')

const id = fc.oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs))

describe('the cursor of a query', () => {
  test('comes back as the position it was made from', () => {
    const textPosition = fc.record({ range: fc.oneof(unicodeString, indexScalar.map(encodeIndexValue)), id })
    fc.assert(
      fc.property(fc.nat(), unicodeString, fc.boolean(), textPosition, (table, hash, descending, position) => {
        const scan = byteScan({ hash, descending })
        const primary = byteScan({ index: 'primary', hash, ...primaryBounds(undefined), descending })
        expect(decodeScanCursor(seal, encodeScanCursor(seal, table, scan, position), table, scan)).toEqual(position)
        expect(decodeScanCursor(seal, encodeScanCursor(seal, table, primary, position), table, primary)).toEqual(
          position,
        )
      }),
    )
    fc.assert(
      fc.property(fc.nat(), fc.maxSafeInteger(), id, (table, range, rowId) => {
        const cursor = encodeScanCursor(seal, table, timeScan(), { range, id: rowId })
        expect(decodeScanCursor(seal, cursor, table, timeScan())).toEqual({ range, id: rowId })
      }),
    )
  })

  test('is made of characters that need no escaping', () => {
    fc.assert(
      fc.property(unicodeString, id, (range, rowId) => {
        expect(encodeScanCursor(seal, 1, byteScan(), { range, id: rowId })).toMatch(/^[A-Za-z0-9_-]+$/)
      }),
    )
  })

  test('does not expire: every process reads it, at any later time', () => {
    for (const cursor of [
      'AqbNsylVi_Q860qYNH0xRzcpfrgI0wuPIzTY9jzxCz0NrbU0M-RFdt61tG5FGw8FvJFBnfOvbilFrM3k',
      'WzEsIndOb3VVRmVNT0xSdzFDcTYiLCJzYSIsM10',
    ]) {
      expect(decodeScanCursor(seal, cursor, 7, byteScan())).toEqual({ range: 'sa', id: 3 })
    }
  })

  test('shows nothing: neither the query, nor the position, nor by its length how far the store has counted', () => {
    const scan = byteScan({ hash: 'sconfidential', ...indexBounds(parseRange({ gte: 'hidden' }, 'index')) })
    const lengths = new Set<number>()
    for (const rowId of [1, 12_345_678, Number.MAX_SAFE_INTEGER]) {
      for (const table of [1, Number.MAX_SAFE_INTEGER]) {
        const cursor = encodeScanCursor(seal, table, scan, { range: 'swhere', id: rowId })
        lengths.add(cursor.length)
        const shown = Buffer.from(cursor, 'base64url').toString('latin1')
        const texts = ['confidential', 'hidden', 'where', scanFingerprint(table, scan), '[', '"', ',']
        // One byte may be there by chance; a name may not.
        for (const text of texts.filter((text) => text.length > 1)) expect(shown).not.toContain(text)
        if (rowId > 1) expect(shown).not.toContain(String(rowId))
      }
    }
    for (const seq of [1, 99_999]) lengths.add(encodeListCursor(seal, 'keys', [seq]).length)
    expect(lengths.size).toBe(2)
  })

  test('two that differ in one digit have nothing in common but the version', () => {
    const bytes = (rowId: number): Buffer =>
      Buffer.from(encodeScanCursor(seal, 1, byteScan(), { range: 'sa', id: rowId }), 'base64url')
    const [one, other] = [bytes(1), bytes(2)]
    const equal = one.filter((byte, at) => byte === other[at]).length
    // By chance one byte in 256 is equal.
    expect(equal).toBeLessThan(one.length / 8)
  })

  test('is refused by a store with another key, and when any bit of it is changed', () => {
    const cursor = encodeScanCursor(seal, 1, byteScan(), { range: 'sa', id: 3 })
    const other = new CursorSeal([new TextSeal(Buffer.alloc(32, 7), 'cursor')], true)
    expect(refused(() => decodeScanCursor(other, cursor, 1, byteScan()))).toEqual(invalidCursor)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let at = 0; at < cursor.length; at++) {
      for (let bit = 1; bit < 64; bit *= 2) {
        const changed = alphabet[alphabet.indexOf(cursor[at]!) ^ bit]!
        const text = cursor.slice(0, at) + changed + cursor.slice(at + 1)
        expect([at, bit, ...refused(() => decodeScanCursor(seal, text, 1, byteScan()))]).toEqual([
          at,
          bit,
          ...invalidCursor,
        ])
      }
    }
    for (let length = 0; length < cursor.length; length++) {
      expect(refused(() => decodeScanCursor(seal, cursor.slice(0, length), 1, byteScan()))).toEqual(invalidCursor)
    }
    for (const more of ['A', 'AA', 'AAAA']) {
      expect(refused(() => decodeScanCursor(seal, cursor + more, 1, byteScan()))).toEqual(invalidCursor)
    }
  })

  test('of version 0.1 is refused by a store that never gave one out: by trying them ids could be found out', () => {
    const fresh = new CursorSeal([new TextSeal(secret, 'cursor')], false)
    const plain = forge([1, scanFingerprint(1, byteScan()), 'sa', 3])
    expect(decodeScanCursor(seal, plain, 1, byteScan())).toEqual({ range: 'sa', id: 3 })
    expect(refused(() => decodeScanCursor(fresh, plain, 1, byteScan()))).toEqual(invalidCursor)
    const sealed = encodeScanCursor(fresh, 1, byteScan(), { range: 'sa', id: 3 })
    expect(decodeScanCursor(fresh, sealed, 1, byteScan())).toEqual({ range: 'sa', id: 3 })
  })

  test('is refused for another table, hash, index, range or direction', () => {
    const own = byteScan()
    const cursor = encodeScanCursor(seal, 7, own, { range: 'sb', id: 3 })
    const others: [string, number, Scan][] = [
      ['table', 8, own],
      ['hash', 7, byteScan({ hash: 'sclosed' })],
      ['type of hash', 7, byteScan({ hash: 'b1' })],
      ['index', 7, byteScan({ index: 'i2' })],
      ['primary', 7, byteScan({ index: 'primary' })],
      ['t', 7, timeScan({ descending: false })],
      ['no range', 7, byteScan(indexBounds(undefined))],
      ['operator', 7, byteScan(indexBounds(parseRange({ gt: 'a' }, 'index')))],
      ['operand', 7, byteScan(indexBounds(parseRange({ gte: 'b' }, 'index')))],
      ['high bound', 7, byteScan(indexBounds(parseRange({ between: ['a', 'z'] }, 'index')))],
      ['direction', 7, byteScan({ descending: true })],
    ]
    for (const [what, table, scan] of others) {
      expect([what, ...refused(() => decodeScanCursor(seal, cursor, table, scan))]).toEqual([what, ...invalidCursor])
    }
    const times = encodeScanCursor(seal, 7, timeScan(), { range: 1000, id: 3 })
    for (const over of [{ descending: false }, { low: 1 }, { high: 2000 }]) {
      expect(refused(() => decodeScanCursor(seal, times, 7, timeScan(over)))).toEqual(invalidCursor)
    }
    expect(refused(() => decodeScanCursor(seal, times, 8, timeScan()))).toEqual(invalidCursor)
  })

  test('belongs to one query: any two that differ refuse each other', () => {
    const scans = fc
      .tuple(
        fc.constantFrom('primary', 'i1', 'i5'),
        fc.constantFrom('', 'a', 'a,b', '"', '["'),
        fc.constantFrom('', 'a', 'b', '"'),
        fc.boolean(),
      )
      .map(([index, hash, low, descending]) =>
        byteScan({ index: index as ByteScan['index'], hash, low: Buffer.from(low), descending }),
      )
    const table = fc.integer({ min: 1, max: 2 })
    fc.assert(
      fc.property(table, scans, table, scans, (tableA, a, tableB, b) => {
        const cursor = encodeScanCursor(seal, tableA, a, { range: 'x', id: 1 })
        const same =
          tableA === tableB &&
          a.index === b.index &&
          a.hash === b.hash &&
          Buffer.compare(a.low, b.low) === 0 &&
          a.descending === b.descending
        if (same) expect(decodeScanCursor(seal, cursor, tableB, b)).toEqual({ range: 'x', id: 1 })
        else expect(refused(() => decodeScanCursor(seal, cursor, tableB, b))).toEqual(invalidCursor)
      }),
      { numRuns: 1000 },
    )
  })

  test('is the same for a range written otherwise that means the same', () => {
    const iso = byteScan(indexBounds(parseRange({ gte: '2026-01-01T00:00:00Z' }, 'index')))
    const ms = byteScan(indexBounds(parseRange({ gte: 1767225600000 }, 'index')))
    const cursor = encodeScanCursor(seal, 1, iso, { range: encodeIndexValue(1767225600001), id: 1 })
    expect(decodeScanCursor(seal, cursor, 1, ms).id).toBe(1)
  })

  test('does not end with the page: one of page 10,000 is read as one of page 1', () => {
    const position: Position = { range: 'sb', id: 10_000_000 }
    expect(decodeScanCursor(seal, encodeScanCursor(seal, 1, byteScan(), position), 1, byteScan())).toEqual(position)
  })

  test('the longest one is within what is read', () => {
    // NUL takes six characters in JSON: no key of 1,024 bytes is longer.
    const range = '\0'.repeat(1024)
    for (const scan of [byteScan({ index: 'primary' }), byteScan({ hash: `s${range}` })]) {
      const position = { range: scan.index === 'primary' ? range : `s${range}`, id: Number.MAX_SAFE_INTEGER }
      const cursor = encodeScanCursor(seal, Number.MAX_SAFE_INTEGER, scan, position)
      expect(cursor.length).toBeLessThanOrEqual(cursorCharactersMax)
      expect(decodeScanCursor(seal, cursor, Number.MAX_SAFE_INTEGER, scan)).toEqual(position)
    }
  })
})

describe('a cursor that cannot be read', () => {
  const good = encodeScanCursor(seal, 1, byteScan(), { range: 'sb', id: 3 })
  const whose = scanFingerprint(1, byteScan())
  const timeWhose = scanFingerprint(1, timeScan())

  const expectRefused = (cursor: unknown, scan: Scan = byteScan()): void => {
    expect([cursor, ...refused(() => decodeScanCursor(seal, cursor, 1, scan))]).toEqual([cursor, ...invalidCursor])
  }

  test('is not text', () => {
    for (const value of [1, 0, true, false, {}, [], [good], undefined]) expectRefused(value)
  })

  test('is garbage', () => {
    for (const value of [
      '',
      ' ',
      'a',
      '!!!!',
      'null',
      `${good}=`,
      `${good} `,
      ` ${good}`,
      `${good}\n`,
      good.slice(1),
    ]) {
      expectRefused(value)
    }
    for (const value of [null, 1, 'a', {}, [], [1], [2], { 0: 1, 1: whose }]) expectRefused(forge(value))
    expectRefused(Buffer.from('[1,"').toString('base64url'))
    expectRefused(Buffer.from([0xff, 0xfe, 0x00]).toString('base64url'))
  })

  test('is of another version', () => {
    expect(decodeScanCursor(seal, forge([1, whose, 'sb', 3]), 1, byteScan())).toEqual({ range: 'sb', id: 3 })
    for (const version of [0, 2, '1', true, null, [1]]) expectRefused(forge([version, whose, 'sb', 3]))
  })

  test('holds what is no position', () => {
    for (const range of [1, null, true, [], {}, '\ud800', 'a\udc00b']) expectRefused(forge([1, whose, range, 3]))
    for (const rowId of [-1, 1.5, '3', null, true, [], {}, 2 ** 53]) expectRefused(forge([1, whose, 'sb', rowId]))
    expectRefused(forge([1, whose]))
    expectRefused(forge([1, whose, 'sb']))
    for (const range of ['1', null, true, 1.5, 2 ** 53, [], {}]) {
      expectRefused(forge([1, timeWhose, range, 3]), timeScan())
    }
    // A number that no double can hold.
    expectRefused(Buffer.from(`[1,"${timeWhose}",1e400,3]`).toString('base64url'), timeScan())
    expectRefused(Buffer.from(`[1,"${whose}","sb",1e400]`).toString('base64url'))
  })

  test('is longer than any of ours', () => {
    // JSON may have spaces around it: only the length is wrong.
    const padded = (bytes: number): string =>
      Buffer.from(JSON.stringify([1, whose, 'sb', 3]).padEnd(bytes, ' ')).toString('base64url')
    const most = padded((cursorCharactersMax * 3) / 4)
    expect(most.length).toBe(cursorCharactersMax)
    expect(decodeScanCursor(seal, most, 1, byteScan())).toEqual({ range: 'sb', id: 3 })
    expect(refused(() => decodeScanCursor(seal, padded((cursorCharactersMax * 3) / 4 + 1), 1, byteScan()))).toEqual(
      invalidCursor,
    )
    expect(refusal(() => decodeScanCursor(seal, 'A'.repeat(10_000_000), 1, byteScan())).message.length).toBeLessThan(
      300,
    )
  })

  test('is any text, or one of ours with a character changed: refused, or a position that is well-typed', () => {
    const changed = fc
      .tuple(fc.nat(), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }))
      .map(([where, put]) => {
        const at = where % good.length
        return good.slice(0, at) + put + good.slice(at + 1)
      })
    fc.assert(
      fc.property(fc.oneof(changed, unicodeString, fc.base64String(), fc.json().map(forge)), (cursor) => {
        let position: Position
        try {
          position = decodeScanCursor(seal, cursor, 1, byteScan())
        } catch (error) {
          expect((error as { code?: string }).code).toBe('invalid_cursor')
          return
        }
        expect(typeof position.range === 'string' && position.range.isWellFormed()).toBe(true)
        expect(Number.isSafeInteger(position.id) && position.id >= 0).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('gets a hint at what to do', () => {
    expect(refusal(() => decodeScanCursor(seal, 'a', 1, byteScan())).hint).toContain('leave it out for the first page')
  })
})

describe('the cursor of a listing', () => {
  // Listings are of tables, databases and keys: a place is made of names and numbers.
  const name = fc.stringMatching(/^[a-z0-9_-]{1,64}$/)
  const position = fc.array(fc.oneof(name, fc.maxSafeInteger()), { maxLength: 3 })
  const typesOf = (parts: (string | number)[]) => parts.map((part) => typeof part as 'string' | 'number')

  test('comes back as the place it was made from', () => {
    fc.assert(
      fc.property(unicodeString, position, (listing, parts) => {
        expect(decodeListCursor(seal, encodeListCursor(seal, listing, parts), listing, typesOf(parts))).toEqual(parts)
      }),
    )
  })

  test('is refused when it holds what is no name', () => {
    for (const forged of ['a\u0000', '\ud800', '', 'A', 'x'.repeat(65)]) {
      const cursor = encodeListCursor(seal, 'databases', [forged])
      expect(refused(() => decodeListCursor(seal, cursor, 'databases', ['string']))).toEqual(invalidCursor)
    }
  })

  test('is refused for another listing', () => {
    const cursor = encodeListCursor(seal, 'tables:app', ['orders'])
    for (const listing of ['tables:other', 'deleted:app', 'databases', '']) {
      expect(refused(() => decodeListCursor(seal, cursor, listing, ['string']))).toEqual(invalidCursor)
    }
    const ofQuery = encodeScanCursor(seal, 1, byteScan(), { range: 'sb', id: 3 })
    expect(refused(() => decodeListCursor(seal, ofQuery, 'tables:app', ['string']))).toEqual(invalidCursor)
    expect(refused(() => decodeScanCursor(seal, cursor, 1, byteScan()))).toEqual(invalidCursor)
  })

  test('is refused with a place of another shape', () => {
    const expectRefused = (parts: unknown[], types: ('string' | 'number')[]): void => {
      const cursor = forge([1, 'keys', ...parts])
      expect([parts, ...refused(() => decodeListCursor(seal, cursor, 'keys', types))]).toEqual([
        parts,
        ...invalidCursor,
      ])
    }
    expectRefused([], ['string'])
    expectRefused(['a', 'b'], ['string'])
    expectRefused(['a'], [])
    expectRefused([1], ['string'])
    expectRefused(['1'], ['number'])
    expectRefused([1.5], ['number'])
    expectRefused([2 ** 53], ['number'])
    expectRefused(['a', '1'], ['string', 'number'])
    for (const part of [null, true, [], {}]) {
      expectRefused([part], ['string'])
      expectRefused([part], ['number'])
    }
  })

  test('is refused when it cannot be read', () => {
    for (const value of [1, {}, [], '', '!', 'a', 'A'.repeat(cursorCharactersMax + 1)]) {
      expect(refused(() => decodeListCursor(seal, value, 'keys', ['number']))).toEqual(invalidCursor)
    }
  })
})
