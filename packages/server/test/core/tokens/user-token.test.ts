import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { StoreSecrets } from '../../../src/core/store-secrets.ts'
import { parseUser } from '../../../src/core/tokens/user.ts'
import {
  decodeMark,
  decodeUserToken,
  encodeMark,
  encodeUserToken,
  shareOfUser,
  type UserToken,
} from '../../../src/core/tokens/user-token.ts'
import { refused } from '../refusal.ts'

// Nothing is stored for a token: what it says is believed because only the store can have sealed it.

const secretsOf = (secret = randomBytes(32)) =>
  new StoreSecrets([{ secret, acceptsPlain: false, beginsAtMs: 0 }]).at(1_000)
const { tokenSeal, seal } = secretsOf()

const token: UserToken = {
  keyId: 'key_2cH8kP4rS6aWd0JvXn5y',
  expiresAtMs: 1_767_780_000_000,
  madeAtEpoch: 7,
  issuerEpoch: null,
  user: 'ada — "Lovelace"',
  grants: [{ db: 'app', table: 'notes', hash: 'ada', can: 'write' }],
}
const text = encodeUserToken(tokenSeal, token)

describe('a user token', () => {
  test('says what it was made with, and has only the characters that the page names', () => {
    expect(text).toMatch(/^svc_user_[A-Za-z0-9_-]+$/)
    expect(decodeUserToken(tokenSeal, text)).toEqual(token)
    const exchanged = { ...token, issuerEpoch: 9 }
    expect(decodeUserToken(tokenSeal, encodeUserToken(tokenSeal, exchanged))).toEqual(exchanged)
  })

  test('does not show its user or its grants', () => {
    const bytes = Buffer.from(text.slice('svc_user_'.length), 'base64url').toString('latin1')
    for (const word of ['ada', 'notes', 'app', 'key_']) expect(bytes.includes(word)).toBe(false)
  })

  test('is refused with any character changed, cut, doubled or added', () => {
    for (let i = 0; i < text.length; i++) {
      const other = text[i] === 'A' ? 'B' : 'A'
      for (const forged of [
        text.slice(0, i) + other + text.slice(i + 1),
        text.slice(0, i),
        text.slice(0, i) + text.slice(i + 1),
        text.slice(0, i) + text[i] + text.slice(i),
      ]) {
        if (forged === text) continue
        expect([i, decodeUserToken(tokenSeal, forged)]).toEqual([i, undefined])
      }
    }
    for (const more of ['=', '==', ' ', '\n', 'A', '.', '%3D']) {
      expect(decodeUserToken(tokenSeal, text + more)).toBeUndefined()
    }
  })

  test('has one text: base64 that is read leniently would have several', () => {
    // The last character of some texts has bits that no byte has.
    for (const user of ['a', 'ab', 'abc', 'abcd']) {
      const one = encodeUserToken(tokenSeal, { ...token, user })
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const read = [...alphabet].filter((last) => decodeUserToken(tokenSeal, one.slice(0, -1) + last) !== undefined)
      expect(read).toEqual([one.at(-1)!])
      const plain = one.replaceAll('-', '+').replaceAll('_', '/').replace('svc/user/', 'svc_user_')
      if (plain !== one) expect(decodeUserToken(tokenSeal, plain)).toBeUndefined()
    }
  })

  test('parts of two tokens make none', () => {
    const other = encodeUserToken(tokenSeal, { ...token, user: 'bob' })
    for (let i = 'svc_user_'.length + 1; i < Math.min(text.length, other.length); i++) {
      const mixed = text.slice(0, i) + other.slice(i)
      if (mixed !== text && mixed !== other) expect(decodeUserToken(tokenSeal, mixed)).toBeUndefined()
    }
  })

  test('of another store, or sealed as a cursor, is none; nor is a mark, and a token is no mark', () => {
    expect(decodeUserToken(secretsOf().tokenSeal, text)).toBeUndefined()
    const content = JSON.stringify([1, token.keyId, token.expiresAtMs, 7, null, 'ada', token.grants])
    const asCursor = `svc_user_${seal.seal(Buffer.from(content)).toString('base64url')}`
    expect(decodeUserToken(tokenSeal, asCursor)).toBeUndefined()
    const mark = { userHash: 'ab'.repeat(16), madeAtEpoch: 7, issuerEpoch: null }
    const markText = encodeMark(tokenSeal, mark)
    expect(decodeMark(tokenSeal, markText)).toEqual(mark)
    expect(decodeUserToken(tokenSeal, `svc_user_${markText}`)).toBeUndefined()
    expect(decodeMark(tokenSeal, text.slice('svc_user_'.length))).toBeUndefined()
  })

  test('has at most 4,096 characters: grants that do not fit are refused', () => {
    const grants = (count: number): UserToken['grants'] =>
      Array.from({ length: count }, (_, i) => ({ db: 'app', table: `t${i}`, hash: 'x'.repeat(100), can: 'read' }))
    let count = 1
    while (encodes({ ...token, grants: grants(count + 1) })) count++
    expect(count).toBeGreaterThan(10)
    expect(encodeUserToken(tokenSeal, { ...token, grants: grants(count) }).length).toBeLessThanOrEqual(4_096)
    expect(refused(() => encodeUserToken(tokenSeal, { ...token, grants: grants(count + 1) }))).toEqual([
      'invalid_grant',
      'grants',
    ])
  })
})

const encodes = (one: UserToken): boolean => {
  try {
    encodeUserToken(tokenSeal, one)
    return true
  } catch {
    return false
  }
}

describe('secrets that are rotated', () => {
  const old = { secret: randomBytes(32), acceptsPlain: false, beginsAtMs: 0 }
  const next = { secret: randomBytes(32), acceptsPlain: false, beginsAtMs: 10_000 }

  test('seal with the new one and open both, until the old one is no longer accepted', () => {
    const before = new StoreSecrets([old]).at(1_000)
    const made = encodeUserToken(before.tokenSeal, token)
    const both = new StoreSecrets([next, old])
    expect(decodeUserToken(both.at(11_000).tokenSeal, made)).toEqual(token)
    expect(both.at(11_000).id).not.toBe(before.id)
    expect(decodeUserToken(before.tokenSeal, encodeUserToken(both.at(11_000).tokenSeal, token))).toBeUndefined()
    // With --now the old one is gone.
    expect(decodeUserToken(new StoreSecrets([next]).at(11_000).tokenSeal, made)).toBeUndefined()
  })
})

describe('the name of a user', () => {
  test('is text of 1 to 256 bytes without control characters', () => {
    for (const user of ['a', 'auth0|5f7c', 'é', '𝒳', ' ', 'x'.repeat(256), 'é'.repeat(128)])
      expect(parseUser(user)).toBe(user)
    const bad = [
      undefined,
      null,
      5,
      '',
      'a\u0000',
      'a\nb',
      '\u007f',
      '\u0085',
      '\ud800',
      'x'.repeat(257),
      'é'.repeat(129),
      ['a'],
    ]
    for (const user of bad) expect(refused(() => parseUser(user))).toEqual(['invalid_request', 'user'])
  })

  test('is not folded, and has a share of its own in each organization', () => {
    const hashes = ['ada', 'Ada', 'ada ', 'e\u0301', 'é'].map((user) => shareOfUser(1, user))
    expect(new Set([...hashes, shareOfUser(2, 'ada'), shareOfUser(12, 'da')]).size).toBe(hashes.length + 2)
    for (const share of hashes) expect(share).toBeGreaterThan(2 ** 47)
  })
})
