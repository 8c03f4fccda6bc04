import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Turns } from '../../src/http/turns.ts'

// All requests share one thread. Without turns, one client that asks for a lot makes everybody else wait for all of it.

let turns: Turns
afterEach(() => turns.stop())

const busy = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** The work of a request in its turn. */
let spend = busy
beforeEach(() => {
  spend = busy
})

/** Turns on a clock that only requests move: on a busy machine any of them could seem to take long. */
const turnsByCount = (): Turns => {
  let nowMs = 0
  spend = (ms) => {
    nowMs += ms
  }
  return new Turns(undefined, () => nowMs)
}

const oneIteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A request that waits for its turn, then keeps the thread for so long. Its name goes into `served`. */
type Ask = (served: string[], name: string, orgId: number, keySeq: number, ms: number) => Promise<void>

const waits: Ask = async (served, name, orgId, keySeq, ms) => {
  await turns.wait(orgId, keySeq)
  turns.begin(orgId, keySeq, true)
  spend(ms)
  served.push(name)
}

const runs: Ask = (served, name, orgId, keySeq, ms) =>
  turns.run(orgId, keySeq, () => {
    turns.begin(orgId, keySeq, true)
    spend(ms)
    served.push(name)
  })

/** Its work comes after a promise, as in most handlers. */
const runsLater: Ask = (served, name, orgId, keySeq, ms) =>
  turns.run(orgId, keySeq, async () => {
    turns.begin(orgId, keySeq, true)
    await null
    spend(ms)
    served.push(name)
  })

let asked = 0
const either: Ask = (...args) => (asked++ % 2 === 0 ? waits(...args) : runs(...args))

const many = (count: number, start: (n: number) => Promise<void>): Promise<void>[] =>
  Array.from({ length: count }, (_, n) => start(n))

describe.each([
  ['waits', waits],
  ['runs', runs],
  ['runs after a promise', runsLater],
  ['waits or runs', either],
] as const)('turns, for a request that %s', (_, request) => {
  test('while little is done every request may run at once; after some milliseconds the next has to wait', async () => {
    turns = turnsByCount()
    for (let i = 0; i < 49; i++) {
      expect(turns.isFree).toBe(true)
      turns.begin(1, 1)
      spend(0.1)
      turns.end()
    }
    expect(turns.isFree).toBe(true)
    turns.begin(1, 1)
    spend(0.2)
    turns.end()
    expect(turns.isFree).toBe(false)
    await oneIteration()
    expect(turns.isFree).toBe(true)
  })

  test('an organization that has used little time goes before one that has used a lot, however many of its requests wait', async () => {
    turns = turnsByCount()
    const served: string[] = []
    const large = many(40, () => request(served, 'large', 1, 1, 5))
    const small = many(20, () => request(served, 'small', 2, 2, 0.05))
    await Promise.all([...large, ...small])
    // At first nobody has used anything; from then on it takes a hundred small ones to use as much as a large one.
    expect(served.lastIndexOf('small')).toBeLessThan(24)
  })

  test('an organization that arrives later does not wait for those already waiting', async () => {
    turns = turnsByCount()
    const served: string[] = []
    const large = many(20, () => request(served, 'large', 1, 1, 5))
    while (served.length < 3) await oneIteration()
    const before = served.length
    await request(served, 'small', 2, 2, 0.05)
    expect(served.indexOf('small') - before).toBeLessThanOrEqual(3)
    expect(before).toBeLessThan(15)
    await Promise.all(large)
  })

  test('and so it is with the API keys of one organization', async () => {
    turns = turnsByCount()
    const served: string[] = []
    const large = many(40, () => request(served, 'public', 1, 1, 5))
    const small = many(20, () => request(served, 'secret', 1, 2, 0.05))
    await Promise.all([...large, ...small])
    expect(served.lastIndexOf('secret')).toBeLessThan(24)
  })

  test('organizations with equal requests get equal time, however many requests of each wait', async () => {
    turns = turnsByCount()
    const served: string[] = []
    const all = [
      ...many(90, () => request(served, 'a', 1, 1, 1)),
      ...many(20, () => request(served, 'b', 2, 2, 1)),
      ...many(20, () => request(served, 'c', 3, 3, 1)),
    ]
    await Promise.all(all)
    const first = served.slice(0, 60)
    expect(['a', 'b', 'c'].map((name) => first.filter((each) => each === name).length)).toEqual([20, 20, 20])
  })

  test('the requests of one key are served in the order in which they came', async () => {
    turns = new Turns()
    const served: string[] = []
    await Promise.all(many(50, (n) => request(served, String(n), 1, 1, 0.1)))
    expect(served).toEqual(Array.from({ length: 50 }, (_, n) => String(n)))
  })

  test('between turns the event loop looks at everything else', async () => {
    turns = new Turns()
    const served: string[] = []
    let servedAtTimer = -1
    setTimeout(() => {
      servedAtTimer = served.length
    }, 10)
    await Promise.all(many(60, () => request(served, 'large', 1, 1, 5)))
    expect(servedAtTimer).toBeGreaterThan(0)
    expect(servedAtTimer).toBeLessThan(30)
  })

  test('a request whose turn does not come in time is rejected, and the others continue', async () => {
    turns = new Turns(300)
    const served: string[] = []
    const results = await Promise.allSettled(many(60, (n) => request(served, String(n), 1, 1, 20)))
    const refused = results.filter((result) => result.status === 'rejected')
    expect(refused.length).toBeGreaterThan(5)
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'unavailable' })
    expect(served.length).toBe(60 - refused.length)
    await request(served, 'later', 1, 1, 1)
    expect(served.at(-1)).toBe('later')
  })
})

test('work that fails is rejected with its error, and the others continue', async () => {
  turns = new Turns()
  const served: string[] = []
  const failing = [
    turns.run(1, 1, () => {
      throw new Error('at once')
    }),
    turns.run(1, 1, () => Promise.reject(new Error('later'))),
  ]
  const others = many(5, () => runs(served, 'other', 1, 1, 0.1))
  const results = await Promise.allSettled(failing)
  expect(results.map((result) => result.status === 'rejected' && result.reason.message)).toEqual(['at once', 'later'])
  await Promise.all(others)
  expect(served).toHaveLength(5)
  expect(await turns.run(1, 1, () => 7)).toBe(7)
})
