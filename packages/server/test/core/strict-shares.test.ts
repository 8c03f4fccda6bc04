import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { StrictShares } from '../../src/core/shares.ts'

describe('shares of pushes', () => {
  test('an organization alone gets half, its only task half of that', () => {
    const shares = new StrictShares(256)
    expect([shares.free, shares.roomOf(1), shares.room(1, 1)]).toEqual([256, 128, 64])
    shares.take(1, 1, 64)
    expect([shares.free, shares.roomOf(1), shares.room(1, 1), shares.room(1, 2)]).toEqual([192, 64, 0, 32])
    shares.take(1, 2, 32)
    expect([shares.room(1, 2), shares.room(1, 3)]).toEqual([0, 16])
  })

  test('the next organization finds half of what is left, and its newcomer always a place while one is free', () => {
    const shares = new StrictShares(256)
    for (let task = 1; shares.room(1, task) > 0; task++) shares.take(1, task, shares.room(1, task))
    expect(shares.free).toBe(128)
    expect([shares.roomOf(1), shares.roomOf(2), shares.room(2, 9)]).toEqual([0, 64, 32])
    expect(shares.fullOrgIds).toEqual([1])
    for (let org = 2; shares.free > 0; org++) {
      expect(shares.room(org, org)).toBeGreaterThan(0)
      shares.take(org, org, 1)
    }
    expect(shares.room(999, 1)).toBe(0)
  })

  test('an organization above its share gets nothing until it has given back', () => {
    const shares = new StrictShares(16)
    shares.take(1, 1, 8)
    shares.take(2, 2, 4)
    expect(shares.roomOf(1)).toBe(0)
    shares.give(1, 1, 3)
    expect(shares.roomOf(1)).toBe(1)
  })

  test('what was not taken cannot be given back', () => {
    const shares = new StrictShares(16)
    shares.take(1, 1, 2)
    expect(() => shares.give(1, 2, 1)).toThrow('more was given back than taken')
    expect(() => shares.give(1, 1, 3)).toThrow('more was given back than taken')
  })

  test('whoever takes what there is room for: never more than all, never more than half of one organization', () => {
    const step = fc.record({
      org: fc.integer({ min: 1, max: 4 }),
      task: fc.integer({ min: 1, max: 3 }),
      gives: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.array(step, { maxLength: 80 }), (max, steps) => {
        const shares = new StrictShares(max)
        const held = new Map<number, number>()
        for (const { org, task, gives } of steps) {
          const before = shares.heldBy(org, task)
          const count = gives ? -Math.ceil(before / 2) : shares.room(org, task)
          if (count < 0) shares.give(org, task, -count)
          else shares.take(org, task, count)
          held.set(org, (held.get(org) ?? 0) + count)
          const sum = [...held.values()].reduce((a, b) => a + b, 0)
          expect(shares.free).toBe(max - sum)
          expect(sum).toBeLessThanOrEqual(max)
          expect(Math.max(...held.values())).toBeLessThanOrEqual(max / 2)
        }
      }),
    )
  })
})
