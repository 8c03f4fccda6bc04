import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeScanCursor } from '../../src/core/cursor.ts'
import { CursorSeal, TextSeal } from '../../src/core/cursor-seal.ts'
import type { Members } from '../../src/core/members.ts'
import { parseQuery, planQuery } from '../../src/core/records/query.ts'
import { indexBounds, parseRange, primaryBounds, timeBounds } from '../../src/core/records/range.ts'
import { resumeScan } from '../../src/core/records/scan.ts'
import { encodeIndexValue } from '../../src/core/tables/index-value.ts'
import { type Indices, slots } from '../../src/core/tables/indices.ts'
import { indexScalar } from './arbitraries.ts'
import { refusal, refused } from './refusal.ts'

const tableId = 7
const indices: Indices = { i1: { hashField: 'status', rangeField: 'createdAt' }, i3: { hashField: 'owner' } }
const noIds = { lowId: 0, highId: 0 }

const seal = new CursorSeal([new TextSeal(Buffer.alloc(32, 1), 'cursor')], false)
const plan = (members: Members) => planQuery(parseQuery(members), tableId, indices, seal)

describe('the three forms', () => {
  test('no index: by primary key', () => {
    expect(plan({ hash: 'h', range: { gte: 'a' } }).whole).toEqual({
      index: 'primary',
      hash: 'h',
      ...primaryBounds(parseRange({ gte: 'a' }, 'primary')),
      ...noIds,
      descending: false,
    })
  })

  test('index t: by recency', () => {
    expect(plan({ index: 't', range: { gte: '2026-01-01T00:00:00Z' } }).whole).toEqual({
      index: 't',
      ...timeBounds(parseRange({ gte: 1767225600000 }, 't')),
      ...noIds,
      descending: true,
    })
  })

  test('index i1 to i5: by declared index, its hash read as an index value', () => {
    expect(plan({ index: 'i1', hash: 'open', range: { lt: 5 } }).whole).toEqual({
      index: 'i1',
      hash: encodeIndexValue('open'),
      ...indexBounds(parseRange({ lt: 5 }, 'index')),
      ...noIds,
      descending: false,
    })
    fc.assert(
      fc.property(indexScalar, (hash) => {
        expect(plan({ index: 'i3', hash }).whole).toMatchObject({ index: 'i3', hash: encodeIndexValue(hash) })
      }),
    )
    expect(plan({ index: 'i3', hash: '2026-01-01T00:00:00Z' })).toEqual(plan({ index: 'i3', hash: 1767225600000 }))
  })

  test('in the primary form an ISO date-time stays a string', () => {
    const iso = '2026-01-01T00:00:00Z'
    expect(plan({ hash: iso, range: { eq: iso } }).whole).toMatchObject({
      hash: iso,
      ...primaryBounds({ operator: 'eq', operand: iso }),
    })
  })

  test('t is newest first unless ascending: true; the others are ascending unless ascending: false', () => {
    const forms: [Members, boolean][] = [
      [{ hash: 'h' }, false],
      [{ index: 't' }, true],
      [{ index: 'i1', hash: 'h' }, false],
      [{ index: 'i3', hash: 'h' }, false],
    ]
    for (const [members, descending] of forms) {
      expect(plan(members).whole.descending).toBe(descending)
      expect(plan({ ...members, ascending: true }).whole.descending).toBe(false)
      expect(plan({ ...members, ascending: false }).whole.descending).toBe(true)
    }
  })

  test('limit: 100 when absent, over 1,000 is taken as 1,000', () => {
    for (const members of [{ hash: 'h' }, { index: 't' }, { index: 'i1', hash: 'h' }]) {
      expect(parseQuery(members).limit).toBe(100)
      expect(parseQuery({ ...members, limit: 1 }).limit).toBe(1)
      expect(parseQuery({ ...members, limit: 1001 }).limit).toBe(1000)
    }
  })

  test('select: data when absent; with count the limit is 10,000 when absent or larger', () => {
    for (const members of [{ hash: 'h' }, { index: 't' }, { index: 'i1', hash: 'h' }]) {
      expect(parseQuery(members)).toEqual(parseQuery({ ...members, select: 'data' }))
      expect(parseQuery({ ...members, select: 'keys' })).toMatchObject({ select: 'keys', limit: 100 })
      expect(parseQuery({ ...members, select: 'keys', limit: 1001 }).limit).toBe(1000)
      expect(parseQuery({ ...members, select: 'count' })).toMatchObject({ select: 'count', limit: 10_000 })
      expect(parseQuery({ ...members, select: 'count', limit: 1001 }).limit).toBe(1001)
      expect(parseQuery({ ...members, select: 'count', limit: 10_001 }).limit).toBe(10_000)
    }
  })
})

describe('a cursor', () => {
  test('null is as absent', () => {
    expect(plan({ hash: 'h', cursor: null })).toEqual(plan({ hash: 'h' }))
    const { whole, page } = plan({ hash: 'h' })
    expect(page).toEqual(whole)
  })

  test('moves the page, not the query that the next cursor belongs to', () => {
    const forms: [Members, string | number][] = [
      [{ hash: 'h' }, 'r'],
      [{ index: 't' }, 1767225600000],
      [{ index: 'i1', hash: 'open' }, encodeIndexValue(5)],
      [{ index: 'i3', hash: 'ann' }, ''],
    ]
    for (const [members, range] of forms) {
      const { whole } = plan(members)
      const cursor = encodeScanCursor(seal, tableId, whole, { range, id: 3 })
      // The limit may change from page to page: it is no part of the query's place.
      const resumed = plan({ ...members, limit: 5, cursor })
      expect(resumed).toMatchObject({ whole, page: resumeScan(whole, { range, id: 3 }) })
      expect(encodeScanCursor(seal, tableId, whole, { range, id: 3 }, resumed.fingerprint)).toBe(cursor)
    }
  })

  test('of another query, or that cannot be read: invalid_cursor', () => {
    const cursor = encodeScanCursor(seal, tableId, plan({ hash: 'h' }).whole, { range: 'r', id: 3 })
    const others: Members[] = [
      { hash: 'other' },
      { hash: 'h', ascending: false },
      { hash: 'h', range: { gte: 'a' } },
      { index: 't' },
      { index: 'i1', hash: 'h' },
    ]
    for (const members of others) {
      expect(refused(() => plan({ ...members, cursor }))).toEqual(['invalid_cursor', 'cursor'])
    }
    expect(refused(() => planQuery(parseQuery({ hash: 'h', cursor }), tableId + 1, indices, seal))).toEqual([
      'invalid_cursor',
      'cursor',
    ])
    for (const value of ['', 'a', 1, true, [], {}]) {
      expect(refused(() => plan({ hash: 'h', cursor: value }))).toEqual(['invalid_cursor', 'cursor'])
    }
  })
})

describe('refusals', () => {
  test('a field that no query knows', () => {
    expect(refused(() => parseQuery({ hash: 'h', order: 'desc' }))).toEqual(['invalid_request', 'order'])
    expect(refused(() => parseQuery(JSON.parse('{"hash":"h","__proto__":1}')))).toEqual([
      'invalid_request',
      '__proto__',
    ])
  })

  test('an index that is none', () => {
    for (const index of ['i0', 'i6', 'T', '', 'primary', 'status', 1, null, true, [], ['t'], {}]) {
      expect(refused(() => parseQuery({ index, hash: 'h' }))).toEqual(['invalid_request', 'index'])
    }
  })

  test('primary: a hash that is no hashKey: invalid_key', () => {
    for (const hash of [undefined, null, '', 1, true, [], {}, '.', '..', '\ud800', 'a'.repeat(1025)]) {
      expect(refused(() => parseQuery({ hash }))).toEqual(['invalid_key', 'hash'])
    }
    expect(refused(() => parseQuery({}))).toEqual(['invalid_key', 'hash'])
    expect(parseQuery({ hash: 'é'.repeat(512) }).hash).toBe('é'.repeat(512))
  })

  test('t: with a hash', () => {
    for (const hash of ['h', 1, null, false]) {
      expect(refused(() => parseQuery({ index: 't', hash }))).toEqual(['invalid_request', 'hash'])
    }
  })

  test('a declared index: a hash that is no index value: invalid_index_value', () => {
    for (const hash of [undefined, null, [], {}, JSON.parse('1e400'), 'a'.repeat(1025), '\ud800']) {
      expect(refused(() => plan({ index: 'i1', hash }))).toEqual(['invalid_index_value', 'hash'])
    }
    // A text that no key may be is an index value like any other.
    for (const hash of ['', '.', '..']) expect(plan({ index: 'i1', hash }).whole).toMatchObject({ hash: `s${hash}` })
  })

  test('a slot that was not declared: index_not_declared, the hint listing those that are', () => {
    for (const slot of slots) {
      if (slot === 'i1' || slot === 'i3') continue
      const error = refusal(() => plan({ index: slot, hash: 'h' }))
      expect([error.code, error.field]).toEqual(['index_not_declared', 'index'])
      expect(error.hint).toContain('i1')
      expect(error.hint).toContain('i3')
      expect(error.hint).not.toContain('i5')
    }
    expect(refused(() => planQuery(parseQuery({ index: 'i1', hash: 'h' }), tableId, {}, seal))).toEqual([
      'index_not_declared',
      'index',
    ])
  })

  test('a range on an index declared without rangeField: invalid_range', () => {
    for (const range of [{ eq: 1 }, { beginsWith: '' }, { between: ['a', 'b'] }]) {
      expect(refused(() => plan({ index: 'i3', hash: 'h', range }))).toEqual(['invalid_range', 'range'])
    }
  })

  test('operands are read for the form they stand in', () => {
    expect(refused(() => parseQuery({ hash: 'h', range: { gte: 5 } }))).toEqual(['invalid_range', 'range.gte'])
    expect(refused(() => parseQuery({ index: 't', range: { gte: 'a' } }))).toEqual(['invalid_range', 'range.gte'])
    expect(refused(() => parseQuery({ index: 't', range: { beginsWith: '2026' } }))).toEqual([
      'invalid_range',
      'range.beginsWith',
    ])
    expect(refused(() => parseQuery({ index: 'i1', hash: 'h', range: { gte: null } }))).toEqual([
      'invalid_range',
      'range.gte',
    ])
    expect(refused(() => parseQuery({ hash: 'h', range: null }))).toEqual(['invalid_range', 'range'])
  })

  test('a select that is none', () => {
    for (const select of ['', 'Data', 'all', 'hashKey', null, true, 1, [], ['keys'], {}]) {
      expect(refused(() => parseQuery({ hash: 'h', select }))).toEqual(['invalid_request', 'select'])
    }
  })

  test('ascending and limit of another type', () => {
    for (const ascending of [null, 'true', 0, 1, [], {}]) {
      expect(refused(() => parseQuery({ hash: 'h', ascending }))).toEqual(['invalid_request', 'ascending'])
    }
    for (const limit of [0, -1, 1.5, '10', null]) {
      expect(refused(() => parseQuery({ hash: 'h', limit }))).toEqual(['invalid_request', 'limit'])
    }
  })
})
