import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseKeyPart, parseRecordKey, utf8Bytes } from '../../src/core/records/record-key.ts'
import { unicodeString } from './arbitraries.ts'
import { refusal, refused } from './refusal.ts'

describe('a part of a record key', () => {
  test('any character is allowed, NUL and / included', () => {
    for (const key of [
      'a',
      ' ',
      '\0',
      '/',
      'a/b',
      '\\',
      '%2e',
      '#',
      '...',
      '. ',
      ' .',
      './',
      '../',
      'é',
      '\u{1f600}',
      '\ufeff',
    ]) {
      expect(parseKeyPart(key, 'hashKey')).toBe(key)
    }
    fc.assert(
      fc.property(unicodeString, (key) => {
        fc.pre(key !== '' && key !== '.' && key !== '..')
        expect(parseKeyPart(key, 'hashKey')).toBe(key)
      }),
    )
  })

  test('1 to 1,024 bytes of UTF-8', () => {
    for (const [character, size] of [
      ['a', 1],
      ['\0', 1],
      ['\x7f', 1],
      ['\x80', 2],
      ['é', 2],
      ['\u07ff', 2],
      ['\u{10000}', 4],
      ['\u{10ffff}', 4],
    ] as const) {
      const longest = character.repeat(1024 / size)
      expect(parseKeyPart(longest, 'hashKey')).toBe(longest)
      expect(refused(() => parseKeyPart(`${longest}a`, 'hashKey'))).toEqual(['invalid_key', 'hashKey'])
      expect(refused(() => parseKeyPart(`${character}${longest}`, 'hashKey'))).toEqual(['invalid_key', 'hashKey'])
    }
    // Three bytes do not divide 1,024: 341 characters leave room for one byte more, not for two.
    for (const character of ['\u0800', '\ue000', '\uffff']) {
      const most = character.repeat(341)
      expect(parseKeyPart(`${most}a`, 'hashKey')).toBe(`${most}a`)
      expect(refused(() => parseKeyPart(`${most}é`, 'hashKey'))).toEqual(['invalid_key', 'hashKey'])
      expect(refused(() => parseKeyPart(most + character, 'hashKey'))).toEqual(['invalid_key', 'hashKey'])
    }
    expect(refusal(() => parseKeyPart('é'.repeat(513), 'hashKey')).message).toContain('1026 bytes')
  })

  test('exactly the keys of at most 1,024 bytes', () => {
    const long = fc.string({ unit: fc.constantFrom('a', 'é', '\uffff', '\u{1f600}'), minLength: 250, maxLength: 1030 })
    fc.assert(
      fc.property(long, (key) => {
        if (new TextEncoder().encode(key).length <= 1024) expect(parseKeyPart(key, 'hashKey')).toBe(key)
        else expect(refused(() => parseKeyPart(key, 'hashKey'))).toEqual(['invalid_key', 'hashKey'])
      }),
      { numRuns: 300 },
    )
  })

  test('empty, or no string: invalid_key', () => {
    for (const value of ['', undefined, null, 1, 0, true, [], ['a'], {}]) {
      expect([value, ...refused(() => parseKeyPart(value, 'hashKey'))]).toEqual([value, 'invalid_key', 'hashKey'])
    }
  })

  test('a lone surrogate: invalid_key', () => {
    for (const key of ['\ud800', '\udfff', 'a\ud83d', '\ude00a', '\ude00\ud83d', `${'a'.repeat(2000)}\ud800`]) {
      expect(refused(() => parseKeyPart(key, 'rangeKey'))).toEqual(['invalid_key', 'rangeKey'])
    }
  })

  test('. and ..: invalid_key', () => {
    for (const key of ['.', '..']) {
      expect(refused(() => parseKeyPart(key, 'hashKey'))).toEqual(['invalid_key', 'hashKey'])
      expect(refused(() => parseKeyPart(key, 'rangeKey'))).toEqual(['invalid_key', 'rangeKey'])
    }
  })

  test('is not changed: two spellings of one letter are two keys', () => {
    expect(parseKeyPart('e\u0301', 'hashKey')).toBe('e\u0301')
    expect(parseKeyPart('\u00e9', 'hashKey')).toBe('\u00e9')
  })
})

describe('a record key', () => {
  test('no rangeKey means the slot #: "#" and none are the same record', () => {
    expect(parseRecordKey('h', undefined)).toEqual({ hashKey: 'h', rangeKey: '#' })
    expect(parseRecordKey('h', '#')).toEqual(parseRecordKey('h', undefined))
    expect(parseRecordKey('#', undefined)).toEqual({ hashKey: '#', rangeKey: '#' })
    expect(parseRecordKey('h', '##')).toEqual({ hashKey: 'h', rangeKey: '##' })
  })

  test('a rangeKey that is null or empty is not the same as none', () => {
    expect(refused(() => parseRecordKey('h', null))).toEqual(['invalid_key', 'rangeKey'])
    expect(refused(() => parseRecordKey('h', ''))).toEqual(['invalid_key', 'rangeKey'])
    expect(refusal(() => parseRecordKey('h', '')).hint).toContain('Leave rangeKey out')
  })

  test('a missing hashKey: invalid_key', () => {
    expect(refused(() => parseRecordKey(undefined, 'r'))).toEqual(['invalid_key', 'hashKey'])
  })

  test('in a batch the field names the operation', () => {
    expect(refused(() => parseRecordKey('', 'r', 'operations[3].'))).toEqual(['invalid_key', 'operations[3].hashKey'])
    expect(refused(() => parseRecordKey('h', '..', 'operations[3].'))).toEqual([
      'invalid_key',
      'operations[3].rangeKey',
    ])
  })
})

test('bytes are UTF-8', () => {
  expect([...utf8Bytes('a\0é\uffff\u{10ffff}')]).toEqual([
    0x61, 0x00, 0xc3, 0xa9, 0xef, 0xbf, 0xbf, 0xf4, 0x8f, 0xbf, 0xbf,
  ])
})
