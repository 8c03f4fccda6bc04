import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeIndexValue } from '../../src/core/tables/index-value.ts'
import { type Indices, indexEntries, parseIndices, readIndexEntries, slots } from '../../src/core/tables/indices.ts'
import { finiteNumber, unicodeString } from './arbitraries.ts'
import { refusal, refused } from './refusal.ts'

const parse = (text: string) => JSON.parse(text) as Record<string, unknown>

describe('a declaration of indices', () => {
  test('five slots, each with a hash field and perhaps a range field', () => {
    const declared = {
      i1: { hashField: 'status', rangeField: 'createdAt' },
      i2: { hashField: 'owner' },
      i3: { hashField: 'a', rangeField: 'a' },
      i4: { hashField: 'status' },
      i5: { hashField: 'x', rangeField: 'y' },
    }
    expect(parseIndices(declared)).toEqual(declared)
  })

  test('none: {}', () => {
    expect(parseIndices(undefined)).toEqual({})
    expect(parseIndices({})).toEqual({})
  })

  test('equal declarations have equal JSON, in whatever order they were written', () => {
    const declaration = fc.record({ hashField: fc.constantFrom('a', 'b'), rangeField: fc.constantFrom('c', 'd') })
    const declarations = fc.dictionary(fc.constantFrom(...slots), declaration)
    fc.assert(
      fc.property(declarations, fc.boolean(), fc.boolean(), (indices, slotsTurned, membersTurned) => {
        const turned = (object: object, turn: boolean) =>
          Object.fromEntries(turn ? Object.entries(object).reverse() : Object.entries(object))
        const otherwise = turned(
          Object.fromEntries(Object.entries(indices).map(([slot, value]) => [slot, turned(value, membersTurned)])),
          slotsTurned,
        )
        expect(JSON.stringify(parseIndices(otherwise))).toBe(JSON.stringify(parseIndices(indices)))
      }),
    )
    expect(
      JSON.stringify(parseIndices(parse('{"i2":{"rangeField":"b","hashField":"a"},"i1":{"hashField":"c"}}'))),
    ).toBe('{"i1":{"hashField":"c"},"i2":{"hashField":"a","rangeField":"b"}}')
  })

  const expectRefused = (value: unknown, field: string): void => {
    expect([value, ...refused(() => parseIndices(value))]).toEqual([value, 'invalid_index', field])
  }

  test('what is no object: invalid_index', () => {
    for (const value of [null, [], [{ hashField: 'a' }], 'i1', 1, true]) expectRefused(value, 'indices')
  })

  test('slots other than i1 to i5: invalid_index', () => {
    for (const slot of ['i0', 'i6', 'i10', 'I1', 'i1 ', 't', '', 'constructor', 'toString']) {
      expectRefused({ [slot]: { hashField: 'a' } }, `indices.${slot}`)
      expectRefused({ i1: { hashField: 'a' }, [slot]: { hashField: 'a' } }, `indices.${slot}`)
    }
    expectRefused(parse('{"__proto__":{"hashField":"a"}}'), 'indices.__proto__')
    expect(refusal(() => parseIndices({ i6: {} })).hint).toContain('i1, i2, i3, i4 and i5')
  })

  test('a slot that is no object: invalid_index', () => {
    for (const value of [null, undefined, 'status', 1, true, [], ['status']]) expectRefused({ i3: value }, 'indices.i3')
  })

  test('a member that a slot does not know: invalid_index', () => {
    expectRefused({ i1: { hashField: 'a', unique: true } }, 'indices.i1.unique')
    expectRefused({ i1: { hashField: 'a', hashfield: 'a' } }, 'indices.i1.hashfield')
    expectRefused({ i1: parse('{"hashField":"a","__proto__":{}}') }, 'indices.i1.__proto__')
    // A member of the wrong name must not be taken from the prototype that it would set elsewhere.
    expectRefused({ i1: parse('{"__proto__":{"hashField":"a"}}') }, 'indices.i1.__proto__')
  })

  test('a hash field that is missing or no string: invalid_index', () => {
    expectRefused({ i1: {} }, 'indices.i1.hashField')
    expectRefused({ i2: { rangeField: 'a' } }, 'indices.i2.hashField')
    for (const value of [null, 1, true, [], ['a'], {}]) {
      expectRefused({ i1: { hashField: value } }, 'indices.i1.hashField')
      expectRefused({ i1: { hashField: 'a', rangeField: value } }, 'indices.i1.rangeField')
    }
  })

  test('empty or over-long (255 characters) field names: invalid_index', () => {
    for (const character of ['a', 'é', '\uffff']) {
      const longest = character.repeat(255)
      expect(parseIndices({ i1: { hashField: longest, rangeField: longest } })).toEqual({
        i1: { hashField: longest, rangeField: longest },
      })
      expectRefused({ i1: { hashField: character.repeat(256) } }, 'indices.i1.hashField')
      expectRefused({ i1: { hashField: 'a', rangeField: character.repeat(256) } }, 'indices.i1.rangeField')
    }
    expectRefused({ i1: { hashField: '' } }, 'indices.i1.hashField')
    expectRefused({ i1: { hashField: 'a', rangeField: '' } }, 'indices.i1.rangeField')
  })

  test('a character beyond U+FFFF counts as one in a field name, as it does in the name of a key', () => {
    const longest = '\u{1f600}'.repeat(255)
    expect(parseIndices({ i1: { hashField: longest } })).toEqual({ i1: { hashField: longest } })
    expectRefused({ i1: { hashField: `${longest}a` } }, 'indices.i1.hashField')
  })

  test('names in errors are short and well-formed, whatever was sent', () => {
    const long = `${'a'.repeat(79)}\u{1f600}${'b'.repeat(10_000)}`
    for (const value of [{ [long]: {} }, { i1: { [long]: 'a' } }, { i1: { hashField: long } }]) {
      const error = refusal(() => parseIndices(value))
      expect(error.code).toBe('invalid_index')
      expect(error.message.length).toBeLessThan(300)
      expect(error.message.isWellFormed()).toBe(true)
      expect(error.field!.isWellFormed()).toBe(true)
    }
  })
})

describe('the entries of a record', () => {
  const none = Array<null>(10).fill(null)
  const status: Indices = { i2: { hashField: 'status' } }
  const statusByAge: Indices = { i1: { hashField: 'status', rangeField: 'age' } }

  const entriesAt = (slot: number, hash: string, range: string) =>
    none.with(2 * slot, hash as never).with(2 * slot + 1, range as never)

  test('no index declared: none', () => {
    expect(indexEntries({}, { status: 'open' })).toEqual(none)
  })

  test('hash and range, each as an index value', () => {
    expect(indexEntries(statusByAge, { status: 'open', age: 7 })).toEqual(
      entriesAt(0, encodeIndexValue('open'), encodeIndexValue(7)),
    )
    expect(indexEntries(statusByAge, { status: true, age: '2026-01-01T00:00:00Z' })).toEqual(
      entriesAt(0, encodeIndexValue(true), encodeIndexValue(1767225600000)),
    )
  })

  test('without a range field: an empty range, never null', () => {
    expect(indexEntries(status, { status: 'open' })).toEqual(entriesAt(1, encodeIndexValue('open'), ''))
  })

  test('without the hash field, or without a declared range field, the record is not in that index', () => {
    expect(indexEntries(status, {})).toEqual(none)
    expect(indexEntries(statusByAge, { status: 'open' })).toEqual(none)
    expect(indexEntries(statusByAge, { age: 7 })).toEqual(none)
    expect(indexEntries(statusByAge, { Status: 'open', age: 7 })).toEqual(none)
  })

  test('an empty string, 0 and false are values, not absence', () => {
    for (const value of ['', 0, false]) {
      expect(indexEntries(statusByAge, { status: value, age: value })).toEqual(
        entriesAt(0, encodeIndexValue(value), encodeIndexValue(value)),
      )
    }
  })

  test('each slot by itself: one that is left out does not leave out another', () => {
    const indices: Indices = {
      i1: { hashField: 'a' },
      i2: { hashField: 'b', rangeField: 'a' },
      i3: { hashField: 'a', rangeField: 'b' },
      i5: { hashField: 'a', rangeField: 'a' },
    }
    const a = encodeIndexValue('x')
    const b = encodeIndexValue(1)
    expect(indexEntries(indices, { a: 'x' })).toEqual([a, '', null, null, null, null, null, null, a, a])
    expect(indexEntries(indices, { a: 'x', b: 1 })).toEqual([a, '', b, a, a, b, null, null, a, a])
    expect(indexEntries(indices, { b: 1 })).toEqual(none)
  })

  test('the records of one table do not share entries', () => {
    const first = indexEntries(status, { status: 'open' })
    indexEntries(status, { status: 'closed' })
    expect(first).toEqual(entriesAt(1, encodeIndexValue('open'), ''))
    expect(indexEntries(status, {})).toEqual(none)
  })

  test('names of Object.prototype are fields only if data has them', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
      const indices = parseIndices({ i1: { hashField: name } })
      expect(indexEntries(indices, parse('{}'))).toEqual(none)
      expect(indexEntries(indices, parse(`{"${name}":"a"}`))).toEqual(entriesAt(0, encodeIndexValue('a'), ''))
      expect(refused(() => indexEntries(indices, parse(`{"${name}":{}}`)))).toEqual([
        'invalid_index_value',
        `data.${name}`,
      ])
    }
  })

  test('an object under __proto__ lends its members to nobody', () => {
    expect(indexEntries(status, parse('{"__proto__":{"status":"open"}}'))).toEqual(none)
  })

  test('of a member that appears twice in data the last counts', () => {
    expect(indexEntries(status, parse('{"status":[],"status":"open"}'))).toEqual(
      entriesAt(1, encodeIndexValue('open'), ''),
    )
    expect(refused(() => indexEntries(status, parse('{"status":"open","st\\u0061tus":null}')))).toEqual([
      'invalid_index_value',
      'data.status',
    ])
  })

  test('only top-level fields: a dot is a character of the name', () => {
    const indices = parseIndices({ i1: { hashField: 'a.b' } })
    expect(indexEntries(indices, { a: { b: 'x' } })).toEqual(none)
    expect(indexEntries(indices, { 'a.b': 'x' })).toEqual(entriesAt(0, encodeIndexValue('x'), ''))
  })

  test('any other value: invalid_index_value, which names the field', () => {
    const values = [null, [], ['a'], {}, JSON.parse('1e400'), JSON.parse('-1e400'), 'a'.repeat(1025), '\ud800']
    for (const value of values) {
      expect(refused(() => indexEntries(status, { status: value }))).toEqual(['invalid_index_value', 'data.status'])
      expect(refused(() => indexEntries(statusByAge, { status: 'open', age: value }))).toEqual([
        'invalid_index_value',
        'data.age',
      ])
    }
    expect(refusal(() => indexEntries(statusByAge, { status: [], age: 1 })).message).toBe(
      'data.status is an array; index i1 takes a string, number or boolean.',
    )
  })

  test('a wrong value is refused also where the record would not be in the index', () => {
    expect(refused(() => indexEntries(statusByAge, { status: null }))).toEqual(['invalid_index_value', 'data.status'])
    expect(refused(() => indexEntries(statusByAge, { age: null }))).toEqual(['invalid_index_value', 'data.age'])
  })

  test('the same wrong value in a field that no index names is no matter', () => {
    expect(indexEntries(status, { other: null, list: [] })).toEqual(none)
  })

  test('a field that is there is indexed by its value, whatever else is there', () => {
    const scalar = fc.oneof(fc.boolean(), finiteNumber, unicodeString)
    const hash = fc.option(scalar, { nil: undefined })
    fc.assert(
      fc.property(hash, hash, fc.dictionary(unicodeString, fc.jsonValue()), (a, b, others) => {
        const { status: _status, age: _age, ...rest } = others
        const data: Record<string, unknown> = { ...rest }
        if (a !== undefined) data.status = a
        if (b !== undefined) data.age = b
        const both = a !== undefined && b !== undefined
        expect(indexEntries(statusByAge, data)).toEqual(
          both ? entriesAt(0, encodeIndexValue(a), encodeIndexValue(b)) : none,
        )
      }),
    )
  })
})

// Large data is not built as an object: the members of the indices are picked out of its text.
test('of members that occur twice the last counts, whether the data is small or large', () => {
  const indices: Indices = { i1: { hashField: 'a', rangeField: 'b' } }
  for (const filler of ['', JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ i })))]) {
    const more = filler === '' ? '' : `"filler":${filler},`
    const data = `{"a":"first","b":1,${more}"\\u0061":"second","b":2}`
    expect(readIndexEntries(indices, { data })).toEqual(indexEntries(indices, { a: 'second', b: 2 }))
  }
})
