import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Arrivals } from '../../src/http/arrivals.ts'
import { Turns } from '../../src/http/turns.ts'

// Requests that arrive together run together, each within a turn of its own, and none of them is lost.

// The time that requests use passes only in `busy`.
let nowMs = 0
let turns: Turns
let arrivals: Arrivals
beforeEach(() => {
  turns = new Turns(undefined, () => nowMs)
  arrivals = new Arrivals(turns)
})
afterEach(() => turns.stop())

const busy = (ms: number): void => {
  nowMs += ms
}

const never = (): never => {
  throw new Error('it was its turn')
}

/** Runs so many requests in one iteration of the event loop, and the end of it. */
const together = async (count: number, work: () => unknown = () => {}): Promise<void> => {
  await Promise.all(Array.from({ length: count }, () => arrivals.run(work, never)))
  await new Promise((resolve) => setImmediate(resolve))
}

/** Returns how many of so many reads are collected. */
const collected = (reads: number): number =>
  Array.from({ length: reads }, () => arrivals.takesReads()).filter(Boolean).length

test('they run in their order, one after another, and what comes after them follows', async () => {
  const order: string[] = []
  const ask = (name: string) =>
    arrivals
      .run(
        () => order.push(name),
        () => never(),
      )
      .then(() => order.push(`${name} answered`))
  await Promise.all([ask('a'), ask('b'), ask('c')])
  expect(order).toEqual(['a', 'b', 'c', 'a answered', 'b answered', 'c answered'])
})

test('nothing runs within the call', async () => {
  let ran = false
  const running = arrivals.run(
    () => {
      ran = true
    },
    () => never(),
  )
  expect(ran).toBe(false)
  await running
  expect(ran).toBe(true)
})

test('work that goes on after a promise has done so before the next begins', async () => {
  const order: string[] = []
  const ask = (name: string) =>
    arrivals.run(async () => {
      order.push(name)
      for (let i = 0; i < 3; i++) await null
      order.push(`rest of ${name}`)
    }, never)
  await Promise.all([ask('a'), ask('b')])
  expect(order).toEqual(['a', 'rest of a', 'b', 'rest of b'])
})

test('when some milliseconds are used, the others wait for a turn, and the next organization is the one that used least', async () => {
  const served: string[] = []
  const ask = (name: string, orgId: number) => {
    const work = (): void => {
      turns.begin(orgId, 1, true)
      busy(3)
      served.push(name)
    }
    return arrivals.run(work, () => turns.run(orgId, 1, work))
  }
  const asked = [ask('a1', 1), ask('a2', 1), ask('a3', 1), ask('a4', 1), ask('b1', 2)]
  await Promise.all(asked)
  expect(served[0]).toBe('a1')
  expect(served.indexOf('b1')).toBeLessThan(served.indexOf('a4'))
  expect(served.toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])
})

test('an error is that of its own request', async () => {
  const fail = arrivals.run(() => {
    throw new Error('thrown')
  }, never)
  const reject = arrivals.run(() => Promise.reject(new Error('rejected')), never)
  const good = arrivals.run(() => 'good', never)
  const outcomes = await Promise.allSettled([fail, reject, good])
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message))).toEqual([
    'thrown',
    'rejected',
    'good',
  ])
})

test('reads are collected if several arrive together, and no longer when few do', async () => {
  await together(4)
  expect(collected(10)).toBe(10)
  await together(3)
  expect(collected(10)).toBe(0)
})

/** Runs so many reads that are answered at once, each in an iteration of its own or all in one. */
const readsOf = async (count: number): Promise<void> => {
  expect(collected(count)).toBe(0)
  await new Promise((resolve) => setImmediate(resolve))
}

test('while reads are answered at once, it is seen from time to time how many come together', async () => {
  for (let n = 0; n < 300; n++) await readsOf(3)
  await readsOf(100)
  expect(collected(10)).toBe(10)
})

test('reads that wait for something are not collected: nothing is gained', async () => {
  await together(8, async () => {})
  expect(collected(10)).toBe(0)
  // One that waits among others changes nothing for them.
  const mixed = [() => {}, () => {}, async () => {}, () => {}, () => {}]
  await Promise.all(mixed.map((work) => arrivals.run<unknown>(work, never)))
  await new Promise((resolve) => setImmediate(resolve))
  expect(collected(10)).toBe(10)
})

test('no more are collected than an iteration should bring', async () => {
  const all = together(1_024)
  expect(collected(1)).toBe(0)
  await all
  expect(collected(1)).toBe(1)
})

test('the turn before them ends when they arrive: receiving them is not the time of its caller', async () => {
  const first = arrivals.run(() => 'first', never)
  // This is a write that begins between two reads.
  turns.begin(1, 1, true)
  const second = arrivals.run(() => 'second', never)
  busy(8)
  expect(await Promise.all([first, second])).toEqual(['first', 'second'])
})

for (const [takingMs, first] of [
  [0, 16],
  [0.25, 4],
] as const) {
  test(`answers are sent after sixteen requests or a millisecond, in the turn of nobody: ${takingMs} ms each`, async () => {
    const order: string[] = []
    const asked = Array.from({ length: 20 }, (_, n) =>
      arrivals
        .run(() => {
          turns.begin(n, 1, true)
          order.push(`run ${n}`)
          // Together they use less than what runs at once.
          busy(n < first ? takingMs : 0)
        }, never)
        // Bun does this with an answer.
        .then(() => {
          order.push(`sent ${n}`)
          busy(0.5)
        }),
    )
    await Promise.all(asked)
    const numbered = (what: string) => Array.from({ length: first }, (_, n) => `${what} ${n}`)
    expect(order.slice(0, 2 * first)).toEqual([...numbered('run'), ...numbered('sent')])
    // Sixteen answers took eight milliseconds: in a turn they would have made the rest wait, and `never` would have been called.
    expect(order.length).toBe(40)
  })
}

test('after a batch that took long the next iteration may run at once', async () => {
  const running = arrivals.run(() => {
    turns.begin(1, 1, true)
    busy(6)
  }, never)
  // Comes right after the batch, before the sockets are read again.
  const isFree = new Promise((resolve) => setImmediate(() => resolve(turns.isFree)))
  await running
  expect(turns.isFree).toBe(false)
  expect(await isFree).toBe(true)
})
