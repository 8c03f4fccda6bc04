import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ExcessUserKeys, type KeyOwner } from '../../../src/core/excess-user-keys.ts'
import { idempotencyCountEveryMs, issuersMax } from '../../../src/core/limits.ts'
import { changeIssuers } from '../../../src/core/tokens/put-issuer.ts'
import {
  endEpochOf,
  nextUserEpoch,
  refusedUntilMs,
  requireValidToken,
  stateOfToken,
} from '../../../src/core/tokens/token-state.ts'

describe('the state of a token', () => {
  const end = (revokedEpoch: number, issuerIsThere = true) => endEpochOf({ revokedEpoch, issuerIsThere })

  test('a revocation ends what was made before its epoch, and not what was made at it', () => {
    expect([4, 5, 6].map((madeAt) => stateOfToken(madeAt, end(5), 0))).toEqual(['revoked', 'valid', 'valid'])
    expect(stateOfToken(1, end(0), 0)).toBe('valid')
    expect(stateOfToken(9, end(0, false), 0)).toBe('revoked')
  })

  test('what is older than a swept revocation is forgotten, also of a user who was never revoked', () => {
    expect([4, 5].map((madeAt) => stateOfToken(madeAt, end(0), 5))).toEqual(['forgotten', 'valid'])
    expect(stateOfToken(4, end(6), 5)).toBe('revoked')
  })

  test('only a valid one may write', () => {
    const codes = (['valid', 'revoked', 'forgotten'] as const).map((state) => {
      try {
        return requireValidToken(state)
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    expect(codes).toEqual([undefined, 'revoked_token', 'expired_token'] as never)
  })

  test('the epoch grows with every change, whatever the clock says', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer(), (epoch, nowMs) => {
        const next = nextUserEpoch(epoch, nowMs)
        expect(next).toBeGreaterThan(epoch)
        expect(next).toBeGreaterThanOrEqual(nowMs)
      }),
    )
  })

  test('after a return to a backup, a revocation ends tokens from the lost time too', () => {
    const backup = nextUserEpoch(1, 1_000)
    const madeAt = nextUserEpoch(backup, 2_000)
    expect(stateOfToken(madeAt, end(nextUserEpoch(backup, 3_000)), 0)).toBe('revoked')
  })
})

describe('a put of an issuer', () => {
  const issuer = (name: string, declaration = '{}', identity = name) => ({ name, declaration, identity })
  const many = Array.from({ length: issuersMax }, (_, i) => issuer(`n${i}`))

  test('the same declaration is no change, even if there are too many', () => {
    expect(changeIssuers(many, issuer('n3'))).toEqual({ outcome: 'same', present: many[3]! })
  })

  test('there is room for a change of one, and for no other one', () => {
    expect(changeIssuers(many, issuer('n3', '{"a":1}'))).toEqual({ outcome: 'write', present: many[3]! })
    expect(changeIssuers(many, issuer('new'))).toEqual({ outcome: 'tooMany' })
    expect(changeIssuers(many.slice(1), issuer('new'))).toEqual({ outcome: 'write', present: undefined })
  })

  test('the identity of another one is taken', () => {
    expect(changeIssuers(many, issuer('n3', '{"a":1}', 'n4'))).toEqual({ outcome: 'taken', name: 'n4' })
  })
})

describe('too many idempotency keys of users', () => {
  const keysMax = 5

  /** Keys by owner, the oldest first. */
  const run = async (counts: Record<string, number>, rowsMax: number) => {
    const left = new Map(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
    const nameOf = ({ orgId, userHash }: KeyOwner): string => `${orgId}/${userHash}`
    let counted = 0
    const excess = new ExcessUserKeys({
      countAfter(from, most) {
        const found: { orgId: number; userHash: string; count: number }[] = []
        let sum = 0
        for (const [name, count] of left) {
          if (count === 0 || (from !== undefined && name <= nameOf(from)) || sum === most) continue
          const [orgId, userHash] = name.split('/') as [string, string]
          found.push({ orgId: Number(orgId), userHash, count: Math.min(count, most - sum) })
          sum += found.at(-1)!.count
        }
        counted += sum
        return found
      },
      async removeOldest(owner, keys) {
        expect(keys).toBeLessThanOrEqual(rowsMax)
        left.set(nameOf(owner), left.get(nameOf(owner))! - keys)
        return keys
      },
    })
    let steps = 0
    while ((await excess.step(0, rowsMax, keysMax)) > 0) expect(++steps).toBeLessThan(10_000)
    return { left: Object.fromEntries(left), excess, counted }
  }

  test('each user keeps exactly the newest, however many there are', async () => {
    const names = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 9 })).map(([o, u]) => `${o}/u${u}`)
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(names, fc.integer({ min: 1, max: 40 })),
        fc.integer({ min: 1, max: 7 }),
        async (counts, rowsMax) => {
          const expected = Object.entries(counts).map(([name, count]) => [name, Math.min(count, keysMax)])
          expect((await run(counts, rowsMax)).left).toEqual(Object.fromEntries(expected))
        },
      ),
    )
  })

  test('they are counted again after a while, and a clock that was set back does not make that longer', async () => {
    const { excess } = await run({ '1/u1': 2 }, 1)
    let looked = 0
    const watched = new ExcessUserKeys({
      countAfter: () => {
        looked++
        return []
      },
      removeOldest: async () => 0,
    })
    for (const nowMs of [0, 1, idempotencyCountEveryMs - 1]) await watched.step(nowMs, 1, keysMax)
    expect(looked).toBe(1)
    await watched.step(idempotencyCountEveryMs, 1, keysMax)
    await watched.step(idempotencyCountEveryMs - 1, 1, keysMax)
    expect(looked).toBe(3)
    expect(await excess.step(1, 1, keysMax)).toBe(0)
  })
})

test('login tokens are refused until the later of both times, but not for one that is ahead: a wrong clock made it', () => {
  expect(refusedUntilMs(0, 0, 1_000)).toBeUndefined()
  expect(refusedUntilMs(500, 0, 1_000)).toBe(500)
  expect(refusedUntilMs(500, 800, 1_000)).toBe(800)
  expect(refusedUntilMs(0, 800, 1_000)).toBe(800)
  expect(refusedUntilMs(0, 5_000, 1_000)).toBeUndefined()
  expect(refusedUntilMs(500, 5_000, 1_000)).toBe(500)
  // The user's own revocation counts, whatever the clock was.
  expect(refusedUntilMs(5_000, 800, 1_000)).toBe(5_000)
})
