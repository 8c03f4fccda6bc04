import { describe, expect, test } from 'bun:test'
import {
  acceptedUntilMs,
  decodeSecrets,
  encodeSecrets,
  newSecret,
  rotateSecrets,
  type StoreSecret,
  StoreSecrets,
} from '../../src/core/store-secrets.ts'

const weekMs = 7 * 24 * 60 * 60 * 1000
const startMs = 1_800_000_000_000

const secretOf = (fill: number, beginsAtMs: number, acceptsPlain = false): StoreSecret => ({
  secret: Buffer.alloc(32, fill),
  acceptsPlain,
  beginsAtMs,
})

/** The keyring of a store that has only this secret. */
const alone = (secret: StoreSecret) => new StoreSecrets([secret]).at(startMs)

describe('the secrets of a store', () => {
  test('are read again as they were written', () => {
    const secrets = [newSecret(startMs), secretOf(1, 0, true)]
    expect(decodeSecrets(encodeSecrets(secrets))).toEqual(secrets)
    expect(newSecret(startMs).secret).toHaveLength(32)
    expect(newSecret(startMs)).not.toEqual(newSecret(startMs))
  })

  test('of another length, or none at all, are refused', () => {
    expect(() => new StoreSecrets([{ ...secretOf(1, 0), secret: Buffer.alloc(31) }])).toThrow('31 bytes, not 32')
    expect(() => new StoreSecrets([])).toThrow('no secret')
  })

  test('a new one is accepted at once, and used from its beginning on', () => {
    const [old, next] = [secretOf(1, 0), secretOf(2, startMs)]
    const secrets = new StoreSecrets([next, old])
    const text = Buffer.from('a place')
    for (const [nowMs, used, other] of [
      [startMs - 1, old, next],
      [startMs, next, old],
    ] as const) {
      const { seal, urlKeys } = secrets.at(nowMs)
      expect(seal.seal(text)).toEqual(alone(used).seal.seal(text))
      expect(urlKeys).toEqual([...alone(used).urlKeys, ...alone(other).urlKeys])
      for (const one of [old, next]) expect(seal.open(alone(one).seal.seal(text))).toEqual(text)
    }
  })

  test('an earlier one is accepted until a week after the next one began, with plain cursors of 0.1', () => {
    const [plain, middle, newest] = [secretOf(1, 0, true), secretOf(2, startMs), secretOf(3, startMs + weekMs)]
    const secrets = new StoreSecrets([newest, middle, plain])
    const acceptedAt = (nowMs: number) => {
      const { seal, urlKeys } = secrets.at(nowMs)
      return [urlKeys.length, seal.acceptsPlain]
    }
    expect(acceptedAt(startMs + weekMs - 1)).toEqual([3, true])
    expect(acceptedAt(startMs + weekMs)).toEqual([2, false])
    expect(acceptedAt(startMs + 2 * weekMs - 1)).toEqual([2, false])
    expect(acceptedAt(startMs + 2 * weekMs)).toEqual([1, false])
    // A clock that is set back finds the others again.
    expect(acceptedAt(startMs)).toEqual([3, true])
    expect([0, 1, 2].map((i) => acceptedUntilMs(secrets.secrets, i))).toEqual([
      Number.POSITIVE_INFINITY,
      startMs + 2 * weekMs,
      startMs + weekMs,
    ])
  })

  test('if none has begun by this clock, the oldest is used', () => {
    const [old, next] = [secretOf(1, startMs + 5), secretOf(2, startMs + 10)]
    const [first] = new StoreSecrets([next, old]).at(startMs).urlKeys
    expect(first).toEqual(alone(old).urlKeys[0])
  })
})

describe('a rotation', () => {
  test('keeps 8 earlier ones at most, and none that is over', () => {
    let secrets = [secretOf(0, 0)]
    for (let i = 1; i <= 10; i++) {
      secrets = rotateSecrets(secrets, secretOf(i, startMs + i), false, startMs + i)
      expect(secrets.map(({ secret }) => secret[0])).toEqual(
        Array.from({ length: Math.min(i + 1, 9) }, (_, age) => i - age),
      )
    }
    const later = rotateSecrets(secrets, secretOf(11, startMs + weekMs + 9), false, startMs + weekMs + 9)
    expect(later.map(({ secret }) => secret[0])).toEqual([11, 10, 9])
  })

  test('that ends the earlier ones keeps the new one alone', () => {
    const next = secretOf(9, startMs)
    expect(rotateSecrets([secretOf(2, 5), secretOf(1, 0, true)], next, true, startMs)).toEqual([next])
  })
})
