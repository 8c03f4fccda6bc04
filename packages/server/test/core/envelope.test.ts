import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseLimit, parseObject, refuseUnknownMembers } from '../../src/core/members.ts'
import { refusal, refused } from './refusal.ts'

const known = ['hashKey', 'rangeKey', 'data', 'ttl']

describe('a JSON object', () => {
  test('is taken as it is', () => {
    const object = { a: 1 }
    expect(parseObject(object)).toBe(object)
    expect(parseObject({}, 'data')).toEqual({})
  })

  test('anything else: invalid_request, which names the field if there is one', () => {
    for (const value of [null, undefined, [], [{}], 'a', '', 1, 0, true]) {
      expect(refused(() => parseObject(value))).toEqual(['invalid_request', undefined])
      expect(refused(() => parseObject(value, 'data'))).toEqual(['invalid_request', 'data'])
    }
    expect(refusal(() => parseObject([], 'data')).message).toBe('data is an array; it takes a JSON object.')
    expect(refusal(() => parseObject(null)).message).toBe('The body is null; it takes a JSON object.')
  })
})

describe('a field that a request does not know', () => {
  test('is refused by name', () => {
    const error = refusal(() => refuseUnknownMembers({ hashKey: 'a', tll: 1 }, known))
    expect([error.code, error.field]).toEqual(['invalid_request', 'tll'])
    expect(error.message).toContain('tll')
    for (const name of known) expect(error.hint).toContain(name)
  })

  test('whatever it is called', () => {
    for (const name of ['', 'hashkey', 'HASHKEY', 'hash_key', ' data', 'constructor', 'toString', '__proto__', '0']) {
      const members = JSON.parse(`{"data":{},${JSON.stringify(name)}:null}`)
      expect([name, ...refused(() => refuseUnknownMembers(members, known))]).toEqual([name, 'invalid_request', name])
    }
  })

  test('in another spelling gets a hint at the right one', () => {
    for (const name of ['hashkey', 'HashKey', 'hash_key', 'HASH_KEY']) {
      expect(refusal(() => refuseUnknownMembers({ [name]: 'a' }, known)).hint).toBe('Write it as "hashKey".')
    }
  })

  test('in a batch names its operation', () => {
    expect(refused(() => refuseUnknownMembers({ nope: 1 }, known, 'operations[3].'))).toEqual([
      'invalid_request',
      'operations[3].nope',
    ])
  })

  test('is named in a few words, however long it is', () => {
    const error = refusal(() => refuseUnknownMembers({ [`${'a'.repeat(79)}\u{1f600}${'b'.repeat(10_000)}`]: 1 }, known))
    expect(error.field!.length).toBeLessThan(100)
    expect(error.message.length).toBeLessThan(200)
    expect(error.field!.isWellFormed()).toBe(true)
    expect(error.message.isWellFormed()).toBe(true)
  })

  test('known ones pass, in any number and with any value', () => {
    expect(refuseUnknownMembers({}, known)).toBeUndefined()
    expect(refuseUnknownMembers({ ttl: null, data: undefined, hashKey: 1 }, known)).toBeUndefined()
  })
})

describe('limit', () => {
  test('the default when absent', () => {
    expect(parseLimit(undefined, 100, 1000)).toBe(100)
  })

  test('an integer of at least 1; over the most is taken as the most', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1 })), (limit) => {
        expect(parseLimit(limit, 100, 1000)).toBe(Math.min(limit, 1000))
      }),
    )
    for (const limit of [1, 999, 1000]) expect(parseLimit(limit, 100, 1000)).toBe(limit)
    for (const limit of [1001, 2 ** 53, 1e300]) expect(parseLimit(limit, 100, 1000)).toBe(1000)
  })

  test('anything else: invalid_request', () => {
    for (const value of [0, -0, -1, 0.5, 1.5, -1e300, null, '', '10', true, [], [10], {}, Number.NaN]) {
      expect([value, ...refused(() => parseLimit(value, 100, 1000))]).toEqual([value, 'invalid_request', 'limit'])
    }
  })
})
