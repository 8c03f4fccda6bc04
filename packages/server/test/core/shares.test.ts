import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { Shares } from '../../src/core/shares.ts'

// A process has limits on what it holds at once. If a few clients could use all of a limit, all others would be rejected as
// long as they keep it.

/** Takes one by one until refused, at most `most` times; how many it got. */
const fill = (shares: Shares, orgId: number, keySeq: number, most = 10_000): number => {
  let taken = 0
  while (taken < most && shares.tryTake(orgId, keySeq, 1)) taken++
  return taken
}

describe('shares', () => {
  test('one key alone gets a quarter, a few keys of one organization a half, and the next key finds room', () => {
    const shares = new Shares(4_096)
    expect(fill(shares, 1, 1)).toBe(1_024)
    for (let key = 2; key <= 12; key++) expect(fill(shares, 1, key)).toBeGreaterThan(0)
    expect(shares.used).toBe(2_048)
    for (let key = 13; key <= 1_000; key++) expect(fill(shares, 1, key)).toBe(1)
    for (let key = 1_001; key <= 4_000; key++) fill(shares, 1, key)
    expect(shares.used).toBe(3_072)
  })

  test('however many organizations take all they can, the next one finds room, and the sum stays bounded', () => {
    const shares = new Shares(4_096)
    let least = Number.POSITIVE_INFINITY
    for (let org = 1; org <= 2_000; org++) least = Math.min(least, fill(shares, org, org))
    expect(least).toBeGreaterThan(0)
    expect(shares.used).toBeLessThanOrEqual(2 * 4_096)
  })

  test('so does the next key of an organization, after other keys and organizations took all they could', () => {
    const shares = new Shares(4_096)
    for (let org = 1; org <= 20; org++) fill(shares, org, org)
    for (let key = 100; key <= 120; key++) expect(fill(shares, 1, key)).toBeGreaterThan(0)
  })

  test('organizations with crowds of keys leave room for every other organization', () => {
    const shares = new Shares(4_096)
    for (let org = 1; org <= 4; org++) for (let key = 0; key < 4_000; key++) fill(shares, org, key)
    expect(shares.used).toBeLessThanOrEqual(1.5 * 4_096 + 4)
    for (let org = 10; org < 2_010; org++) expect(shares.tryTake(org, 1, 1)).toBe(true)
  })

  test('an organization that came late reaches as much as those before it, once they have given back and taken again', () => {
    const shares = new Shares(1_000)
    const held = [1, 2, 3].map((org) => fill(shares, org, org))
    // Each in turn releases one and takes all it can, like requests that end and begin.
    for (let round = 0; round < 1_000; round++) {
      for (let i = 0; i < held.length; i++) {
        shares.give(i + 1, i + 1, 1)
        held[i]! += fill(shares, i + 1, i + 1) - 1
      }
    }
    // (1000 - 2h) / 2 - h = h
    for (const amount of held) expect(Math.abs(amount - 1_000 / 6)).toBeLessThanOrEqual(3)
  })

  test('a caller that holds nothing may take one thing larger than its share; the sum never exceeds twice the bound', () => {
    const shares = new Shares(100)
    expect(shares.tryTake(1, 1, 150)).toBe(true)
    expect(shares.tryTake(1, 1, 1)).toBe(false)
    expect(shares.tryTake(2, 2, 51)).toBe(false)
    expect(shares.tryTake(2, 2, 50)).toBe(true)
    expect(shares.tryTake(3, 3, 1)).toBe(false)
    shares.give(1, 1, 150)
    expect(shares.tryTake(3, 3, 1)).toBe(true)
    expect(shares.used).toBe(51)
  })

  test('no more can be given back than was taken, and not by somebody else', () => {
    const shares = new Shares(100)
    shares.tryTake(1, 1, 5)
    expect(() => shares.give(1, 1, 6)).toThrow('more was given back than taken')
    expect(() => shares.give(1, 2, 1)).toThrow('more was given back than taken')
    expect(() => shares.give(2, 1, 1)).toThrow('more was given back than taken')
    shares.give(1, 1, 2)
    shares.give(1, 1, 3)
    expect(shares.used).toBe(0)
  })

  test('for any sequence of takes and releases: the sum is right, and each take follows the rule', () => {
    const step = fc.record({
      org: fc.integer({ min: 1, max: 6 }),
      key: fc.integer({ min: 0, max: 3 }),
      take: fc.boolean(),
      amount: fc.integer({ min: 1, max: 9 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const shares = new Shares(64)
        const held = new Map<string, number>()
        const ofOrg = (org: number) =>
          [...held].reduce((sum, [holder, amount]) => sum + (holder.startsWith(`${org}/`) ? amount : 0), 0)
        const all = () => [...held.values()].reduce((sum, amount) => sum + amount, 0)
        for (const { org, key, take, amount } of steps) {
          const holder = `${org}/${key}`
          const mine = held.get(holder) ?? 0
          if (take) {
            const wasAlone = ofOrg(org) === 0
            const orgMax = (64 - (all() - ofOrg(org))) / 2
            const isNewKey = mine === 0 && ofOrg(org) + amount <= 48 && all() + amount <= 96
            const wanted = wasAlone ? all() + amount <= 128 : isNewKey || mine + amount <= orgMax - ofOrg(org)
            expect(shares.tryTake(org, key, amount)).toBe(wanted)
            if (wanted) held.set(holder, mine + amount)
          } else if (mine > 0) {
            const part = Math.min(mine, amount)
            shares.give(org, key, part)
            held.set(holder, mine - part)
          }
          expect(shares.used).toBe(all())
        }
      }),
    )
  })
})
