import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { FairQueue } from '../../src/core/fair-queue.ts'
import { cpuMsOf } from '../cpu-time.ts'

const drain = <T>(queue: FairQueue<T>): T[] => {
  const items: T[] = []
  while (queue.size > 0) {
    const next = queue.peek()
    items.push(queue.shift()!)
    expect(items.at(-1)).toBe(next!)
  }
  return items
}

const queueOf = (...names: string[]): FairQueue<string> => {
  const queue = new FairQueue<string>()
  // `a1x`: organization a, key 1.
  for (const name of names) queue.push(name.charCodeAt(0), Number(name[1]), name)
  return queue
}

describe('the fair queue', () => {
  test('is first come, first served for one key', () => {
    expect(drain(queueOf('a1x', 'a1y', 'a1z'))).toEqual(['a1x', 'a1y', 'a1z'])
  })

  test('gives each organization a turn, however many requests of one wait', () => {
    expect(drain(queueOf('a1x', 'a1y', 'a1z', 'b1x', 'c1x', 'c1y'))).toEqual(['a1x', 'b1x', 'c1x', 'a1y', 'c1y', 'a1z'])
  })

  test('gives the keys of an organization a turn each, and the organization no more turns for having several', () => {
    const queue = queueOf('a1x', 'a1y', 'a1z', 'a2x', 'b1x', 'b1y', 'b1z')
    expect(drain(queue)).toEqual(['a1x', 'b1x', 'a2x', 'b1y', 'a1y', 'b1z', 'a1z'])
  })

  test('gives nothing when it is empty, and is of use again afterwards', () => {
    const queue = queueOf('a1x')
    expect(drain(queue)).toEqual(['a1x'])
    expect(queue.peek()).toBeUndefined()
    expect(queue.shift()).toBeUndefined()
    expect(queue.size).toBe(0)
    queue.push(1, 1, 'again')
    expect(drain(queue)).toEqual(['again'])
  })

  test('lets go of what is late at the front of each line, and keeps the turns', () => {
    const queue = queueOf('a1late', 'a1x', 'a1late', 'a2late', 'b1x', 'c1late', 'c2x')
    expect(queue.removeLate((name) => name.endsWith('late'))).toEqual(['a1late', 'a2late', 'c1late'])
    expect(queue.size).toBe(4)
    expect(drain(queue)).toEqual(['a1x', 'b1x', 'c2x', 'a1late'])
  })

  test('a long line costs no more for each than a short one', () => {
    const use = (length: number): void => {
      const queue = new FairQueue<number>()
      for (let i = 0; i < length; i++) queue.push(1, 1, i)
      let isInOrder = true
      for (let i = 0; i < length; i++) isInOrder &&= queue.shift() === i
      expect(isInOrder).toBe(true)
    }
    const [short, long] = [cpuMsOf(() => use(2_000)), cpuMsOf(() => use(100_000))]
    // 50 times as many. Were the array copied for each, they would take 2,500 times as long.
    expect(long / Math.max(short, 0.1)).toBeLessThan(400)
  })

  test('for any sequence: nothing is lost or duplicated, each key stays in order, between two of one organization every other that waits has a turn', () => {
    const step = fc.option(fc.record({ org: fc.integer({ min: 1, max: 4 }), key: fc.integer({ min: 0, max: 2 }) }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const queue = new FairQueue<{ org: number; key: number; n: number }>()
        const waiting: { org: number; key: number; n: number }[] = []
        /** Organizations served since each one that waits began to wait or was served. */
        const passed = new Map<number, number[]>()
        for (const [n, next] of steps.entries()) {
          if (next !== null) {
            const item = { ...next, n }
            if (!waiting.some(({ org }) => org === next.org)) passed.set(next.org, [])
            queue.push(next.org, next.key, item)
            waiting.push(item)
            continue
          }
          const item = queue.shift()
          expect(item === undefined).toBe(waiting.length === 0)
          if (item === undefined) continue
          expect(item).toBe(waiting.find(({ org, key }) => org === item.org && key === item.key)!)
          waiting.splice(waiting.indexOf(item), 1)
          expect(queue.size).toBe(waiting.length)
          for (const [org, others] of passed) if (org !== item.org) others.push(item.org)
          passed.delete(item.org)
          if (waiting.some(({ org }) => org === item.org)) passed.set(item.org, [])
          for (const others of passed.values()) expect(new Set(others).size).toBe(others.length)
        }
      }),
    )
  })
})
