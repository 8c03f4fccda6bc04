import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
  type KeyKind,
  makeApiKey,
  maskApiKey,
  parseExpiresAt,
  parseKeyDatabases,
  parseKeyKind,
  parseKeyName,
} from '../../src/core/api-keys/api-key.ts'
import { refusal, refused } from './refusal.ts'

const kinds: KeyKind[] = ['secret', 'public']
const contractFormat = /^svc_(live|pub)_[0-9A-Za-z]{38}$/
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** CRC-32 as ISO 3309 has it, bit by bit. */
const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return ~crc >>> 0
}

const contractChecksum = (text: string): string => {
  let rest = BigInt(crc32(text))
  let digits = ''
  for (; rest > 0n; rest /= 62n) digits = base62[Number(rest % 62n)] + digits
  return digits.padStart(6, '0')
}

describe('the format of a key', () => {
  test('is the prefix of its kind and 38 base62 characters', () => {
    for (let i = 0; i < 200; i++) {
      expect(generateApiKey('secret')).toMatch(/^svc_live_[0-9A-Za-z]{38}$/)
      expect(generateApiKey('public')).toMatch(/^svc_pub_[0-9A-Za-z]{38}$/)
    }
  })

  test('ends in the CRC-32 of all that stands before, in base62, padded with 0', () => {
    expect(crc32('123456789')).toBe(0xcbf43926)
    for (const kind of kinds) {
      for (let i = 0; i < 200; i++) {
        const key = generateApiKey(kind)
        expect(key.slice(-6)).toBe(contractChecksum(key.slice(0, -6)))
        expect(isWellFormedApiKey(key)).toBe(true)
      }
    }
  })

  test('a key is well-formed exactly if format and checksum are right', () => {
    const body = fc.string({ unit: fc.constantFrom(...base62), minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(fc.constantFrom('svc_live_', 'svc_pub_', 'svc_test_', 'SVC_LIVE_', ''), body, (prefix, random) => {
        const key = prefix + random + contractChecksum(prefix + random)
        expect(isWellFormedApiKey(key)).toBe(contractFormat.test(key))
      }),
    )
    // A checksum that begins with zeros: small numbers are padded.
    fc.assert(
      fc.property(body, (random) => {
        const start = `svc_pub_${random}`
        fc.pre(contractChecksum(start).startsWith('0'))
        expect(isWellFormedApiKey(start + contractChecksum(start))).toBe(true)
        expect(isWellFormedApiKey(start + contractChecksum(start).replace(/^0+/, ''))).toBe(false)
      }),
      { numRuns: 50 },
    )
  })

  test('each change of a single character is refused', () => {
    for (const kind of kinds) {
      const key = generateApiKey(kind)
      for (let at = 0; at < key.length; at++) {
        for (const character of `${base62}_-. `) {
          if (character === key[at]) continue
          const changed = key.slice(0, at) + character + key.slice(at + 1)
          expect([changed, isWellFormedApiKey(changed)]).toEqual([changed, false])
        }
      }
    }
  })

  test('a character more or less, and two neighbours exchanged, are refused', () => {
    for (const kind of kinds) {
      const key = generateApiKey(kind)
      for (const junk of [' ', '\n', '\0', 'a', '\u00e9']) {
        expect(isWellFormedApiKey(junk + key)).toBe(false)
        expect(isWellFormedApiKey(key + junk)).toBe(false)
      }
      for (let at = 0; at < key.length; at++) {
        expect(isWellFormedApiKey(key.slice(0, at) + key.slice(at + 1))).toBe(false)
        const next = key[at + 1]
        if (next === undefined || next === key[at]) continue
        expect(isWellFormedApiKey(key.slice(0, at) + next + key[at] + key.slice(at + 2))).toBe(false)
      }
    }
    for (const text of ['', 'svc_live_', 'Bearer', 'svc_live_'.padEnd(47, '0')])
      expect(isWellFormedApiKey(text)).toBe(false)
  })

  const newKeyId = (): string => makeApiKey({ kind: 'secret' }).kept.id

  test('no two keys or ids are the same', () => {
    const made = Array.from({ length: 1000 }, () => generateApiKey('secret'))
    expect(new Set(made).size).toBe(1000)
    expect(new Set(Array.from({ length: 1000 }, newKeyId)).size).toBe(1000)
  })

  test('every base62 character occurs', () => {
    const seen = new Set(Array.from({ length: 200 }, () => generateApiKey('public').slice(8, -6)).join(''))
    expect([...seen].sort().join('')).toBe(base62)
  })

  test('an id needs no escaping in a path', () => {
    for (let i = 0; i < 100; i++) expect(newKeyId()).toMatch(/^key_[0-9A-Za-z]{20}$/)
  })
})

describe('what is kept of a key', () => {
  test('is its SHA-256 and its last four characters, never the key', () => {
    for (const kind of kinds) {
      const { text, kept } = makeApiKey({ kind })
      expect(isWellFormedApiKey(text)).toBe(true)
      expect(text.startsWith(kind === 'secret' ? 'svc_live_' : 'svc_pub_')).toBe(true)
      expect(kept.hash).toBe(new Bun.CryptoHasher('sha256').update(text).digest('hex'))
      expect(kept.lastFour).toBe(text.slice(-4))
      expect(kept.id).toMatch(/^key_[0-9A-Za-z]{20}$/)
      // All there is: no member holds the key.
      expect(kept).toEqual({
        id: kept.id,
        kind,
        name: null,
        hash: kept.hash,
        lastFour: kept.lastFour,
        databases: null,
        expiresAtMs: null,
        link: null,
        linkExpiresAtMs: null,
      })
    }
  })

  test('is also what was asked for', () => {
    const request = { kind: 'public', name: 'web', databases: ['app'], expiresAtMs: 1767225600000 } as const
    const { kept } = makeApiKey({ ...request, databases: ['app'] })
    expect(kept).toMatchObject(request)
    expect(kept.id).toMatch(/^key_/)
  })

  test('hash: SHA-256 in hexadecimal', () => {
    expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })

  test('masked: the prefix, four stars and the last four', () => {
    expect(maskApiKey('secret', 'wxyz')).toBe('svc_live_****wxyz')
    expect(maskApiKey('public', '0aZ9')).toBe('svc_pub_****0aZ9')
  })
})

describe('kind', () => {
  test('secret or public', () => {
    for (const kind of kinds) expect(parseKeyKind(kind)).toBe(kind)
  })

  test('anything else: invalid_request', () => {
    for (const value of [undefined, null, '', 'Secret', 'live', 1, true, [], ['secret'], {}]) {
      expect(refused(() => parseKeyKind(value))).toEqual(['invalid_request', 'kind'])
    }
  })
})

describe('name', () => {
  test('1 to 128 characters, whatever their bytes; absent or null for none', () => {
    for (const name of ['a', ' ', 'CI – Łódź', 'a'.repeat(128), 'é'.repeat(128), '\u{1f600}'.repeat(128)]) {
      expect(parseKeyName(name)).toBe(name)
    }
    expect(parseKeyName(undefined)).toBeNull()
    expect(parseKeyName(null)).toBeNull()
  })

  test('anything else: invalid_request', () => {
    for (const value of ['', 'a'.repeat(129), '\u{1f600}'.repeat(129), '\ud800', 'a\udc00', 1, true, [], ['a'], {}]) {
      expect(refused(() => parseKeyName(value))).toEqual(['invalid_request', 'name'])
    }
  })
})

describe('expiresAt', () => {
  const nowMs = 1767225600000

  test('an integer in the future; absent or null for none', () => {
    expect(parseExpiresAt(nowMs + 1, nowMs)).toBe(nowMs + 1)
    expect(parseExpiresAt(Number.MAX_SAFE_INTEGER, nowMs)).toBe(Number.MAX_SAFE_INTEGER)
    expect(parseExpiresAt(undefined, nowMs)).toBeNull()
    expect(parseExpiresAt(null, nowMs)).toBeNull()
  })

  test('now, the past and what is no integer: invalid_request', () => {
    const values = [nowMs, nowMs - 1, 0, -1, nowMs + 0.5, 2 ** 53, JSON.parse('1e400'), String(nowMs + 1), true, [], {}]
    for (const value of values) {
      expect(refused(() => parseExpiresAt(value, nowMs))).toEqual(['invalid_request', 'expiresAt'])
    }
    expect(refused(() => parseExpiresAt('2027-01-01T00:00:00Z', nowMs))).toEqual(['invalid_request', 'expiresAt'])
  })

  test('seconds where milliseconds are wanted get a hint', () => {
    expect(refusal(() => parseExpiresAt(nowMs / 1000 + 3600, nowMs)).hint).toContain('milliseconds')
  })

  test('milliseconds that have passed get no hint at seconds', () => {
    for (const passed of [nowMs, nowMs - 3_600_000, nowMs - 365 * 24 * 3_600_000, 1]) {
      expect(refusal(() => parseExpiresAt(passed, nowMs)).hint ?? '').not.toContain('seconds')
    }
  })
})

describe('databases', () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `db${i}`)

  test('1 to 100 valid names; absent or null for all', () => {
    expect(parseKeyDatabases(['app'])).toEqual(['app'])
    expect(parseKeyDatabases(names(100))).toEqual(names(100))
    expect(parseKeyDatabases(undefined)).toBeNull()
    expect(parseKeyDatabases(null)).toBeNull()
  })

  test('a name given twice counts once', () => {
    expect(parseKeyDatabases(['b', 'a', 'b'])).toEqual(['b', 'a'])
  })

  test('none, too many, or no array: invalid_request', () => {
    for (const value of [[], names(101), 'app', 1, true, {}, { 0: 'app', length: 1 }]) {
      expect(refused(() => parseKeyDatabases(value))).toEqual(['invalid_request', 'databases'])
    }
  })

  test('a name that is none is named by its place', () => {
    expect(refused(() => parseKeyDatabases(['app', 'App']))).toEqual(['invalid_name', 'databases[1]'])
    expect(refused(() => parseKeyDatabases(['_app']))).toEqual(['reserved_name', 'databases[0]'])
    expect(refused(() => parseKeyDatabases(['a', 'b', null]))).toEqual(['invalid_name', 'databases[2]'])
  })
})
