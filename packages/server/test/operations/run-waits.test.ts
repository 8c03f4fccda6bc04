import { afterEach, describe, expect, test } from 'bun:test'
import type { KeyKind } from '../../src/core/api-keys/api-key.ts'
import { taskPollEveryMs, waitsMax } from '../../src/core/limits.ts'
import { RunSignals } from '../../src/core/tasks/run-signals.ts'
import { RunWaits } from '../../src/operations/runs/run-waits.ts'
import type { RunReference } from '../../src/store/runs.ts'
import { withClock } from '../moved-clock.ts'

// Requests wait for runs without a loop of their own. What would go wrong without it: thousands of requests, each of which
// asks the database again and again.

/** A store that counts looks. */
class Looks {
  due = new Set<number>()
  finished = new Set<string>()
  dueLooks: number[][] = []
  finishedLooks: RunReference[][] = []
  fails = false

  /** The time that a look takes. */
  ms = 0

  async dueAmong(taskIds: number[]): Promise<number[]> {
    this.dueLooks.push(taskIds)
    const found = taskIds.filter((id) => this.due.has(id))
    if (this.ms > 0) await Bun.sleep(this.ms)
    if (this.fails) throw new Error('the database is away')
    return found
  }

  gone = new Set<number>()

  goneAmong(taskIds: number[]): number[] {
    return taskIds.filter((id) => this.gone.has(id))
  }

  finishedAmong(runs: RunReference[]): RunReference[] {
    this.finishedLooks.push(runs)
    return runs.filter(({ taskId, id }) => this.finished.has(`${taskId}/${id}`))
  }
}

/** The callers: keys of their organizations. */
const keyOf = (orgId: number, seq: number, kind: KeyKind = 'secret') => ({ orgId, seq, kind })
const ada = keyOf(1, 1)
const other = keyOf(2, 2)

let all: RunWaits[] = []
afterEach(() => {
  for (const waits of all) waits.stop()
  all = []
})

const make = (pollEveryMs?: number) => {
  const looks = new Looks()
  const signals = new RunSignals()
  const counts = { refused: 0 }
  const waits = new RunWaits(looks, signals, Date.now, { pollEveryMs, onRefused: () => void counts.refused++ })
  all.push(waits)
  return { looks, signals, waits, counts }
}

describe('a wait ends', () => {
  test(
    'soon after a change of this process',
    withClock(async (clock) => {
      // The regular look never comes: only the change can end them.
      const { looks, signals, waits } = make(3_600_000)
      const ends = [
        waits.untilDue(ada, 5, 10_000, undefined),
        waits.untilFinished(ada, { taskId: 6, id: 'a' }, 10_000, undefined),
      ]
      await clock.pass(50)
      const changedMs = clock.now()
      looks.due.add(5)
      signals.changed(5)
      looks.finished.add('6/a')
      signals.changed(6)
      await clock.until('both have ended', () => waits.size === 0)
      expect(await Promise.all(ends)).toEqual(['maybe', 'maybe'])
      expect(clock.now() - changedMs).toBeLessThan(100)
    }),
  )

  test(
    'within a look after a change of another process, and after the end of its own time',
    withClock(async (clock) => {
      const { looks, waits } = make()
      const due = waits.untilDue(ada, 5, 10_000, undefined)
      const over = waits.untilFinished(ada, { taskId: 6, id: 'a' }, 300, undefined)
      await clock.pass(50)
      const changedMs = clock.now()
      looks.due.add(5)
      await clock.until('one has ended', () => waits.size === 1)
      expect(await over).toBe('over')
      expect(clock.now() - changedMs).toBe(250)
      await clock.until('both have ended', () => waits.size === 0)
      expect(await due).toBe('maybe')
      expect(clock.now() - changedMs).toBeLessThanOrEqual(taskPollEveryMs)
    }),
  )

  test('within a look after its task was deleted', async () => {
    const { looks, waits } = make(100)
    const ends = [
      waits.untilDue(ada, 5, 60_000, undefined),
      waits.untilDue(ada, 5, 60_000, undefined),
      waits.untilFinished(ada, { taskId: 5, id: 'a' }, 60_000, undefined),
    ]
    const other = waits.untilDue(ada, 6, 60_000, undefined)
    looks.gone.add(5)
    expect(await Promise.all(ends)).toEqual(['maybe', 'maybe', 'maybe'])
    expect(waits.size).toBe(1)
    waits.stop()
    expect(await other).toBe('over')
  })

  test('at once when the connection closes, when the process stops, and if it has stopped', async () => {
    const { waits } = make()
    const closed = new AbortController()
    const wait = waits.untilDue(ada, 5, 10_000, closed.signal)
    const others = [
      waits.untilFinished(ada, { taskId: 6, id: 'a' }, 10_000, undefined),
      waits.untilOver(other, 10_000, undefined),
    ]
    closed.abort()
    expect(await wait).toBe('over')
    expect(waits.size).toBe(2)
    waits.stop()
    expect(await Promise.all(others)).toEqual(['over', 'over'])
    expect(await waits.untilDue(ada, 5, 10_000, undefined)).toBe('over')
    expect(waits.size).toBe(0)
  })

  test('at once if its connection has closed already', async () => {
    const { waits } = make()
    expect(await waits.untilDue(ada, 5, 10_000, AbortSignal.abort())).toBe('over')
  })
})

describe('looks', () => {
  test('at all tasks are not postponed by a task that changes all the time', async () => {
    const { looks, signals, waits } = make(300)
    looks.ms = 30
    void waits.untilDue(ada, 5, 60_000, undefined)
    const quiet = waits.untilDue(ada, 6, 60_000, undefined)
    const busy = setInterval(() => signals.changed(5), 1)
    try {
      await Bun.sleep(20)
      looks.due.add(6)
      const seen = looks.dueLooks.length
      await Promise.race([
        quiet,
        // So many looks take longer than the time between two looks at all: there is a rest after each.
        (async () => {
          while (looks.dueLooks.length < seen + 6) await Bun.sleep(5)
        })(),
      ])
      expect(looks.dueLooks.slice(seen).some((taskIds) => taskIds.includes(6))).toBe(true)
      expect(await quiet).toBe('maybe')
    } finally {
      clearInterval(busy)
    }
  })

  test(
    'are one for all waits',
    withClock(async (clock) => {
      const { looks, waits } = make()
      const ends = Array.from({ length: 50 }, (_, i) => waits.untilDue(ada, i % 5, 700, undefined))
      await clock.until('all have ended', () => waits.size === 0)
      await Promise.all(ends)
      // One soon after they came, and one after `taskPollEveryMs`.
      expect(looks.dueLooks.length).toBeLessThanOrEqual(4)
      expect(looks.dueLooks[0]!.toSorted()).toEqual([0, 1, 2, 3, 4])
    }),
  )

  test(
    'are not made for changes that nobody waits for, nor without waits',
    withClock(async (clock) => {
      const { looks, signals, waits } = make()
      signals.changed(5)
      const wait = waits.untilDue(ada, 5, 100, undefined)
      await clock.pass(30)
      const before = looks.dueLooks.length
      for (let i = 0; i < 100; i++) signals.changed(6)
      await clock.pass(70)
      expect(await wait).toBe('over')
      await clock.pass(10 * taskPollEveryMs)
      expect([before, looks.dueLooks.length]).toEqual([1, 1])
    }),
  )

  test(
    'that fail do not end waits',
    withClock(async (clock) => {
      const { looks, signals, waits } = make()
      looks.fails = true
      const wait = waits.untilDue(ada, 5, 10_000, undefined)
      await clock.pass(30)
      expect([looks.dueLooks.length, waits.size]).toEqual([1, 1])
      looks.fails = false
      looks.due.add(5)
      signals.changed(5)
      await clock.until('it has ended', () => waits.size === 0)
      expect(await wait).toBe('maybe')
    }),
  )
})

describe('a due run', () => {
  test(
    'wakes the longest wait first, and more of them while a run is still due',
    withClock(async (clock) => {
      const { looks, signals, waits } = make()
      const woken: number[] = []
      for (let i = 0; i < 20; i++) void waits.untilDue(ada, 5, 10_000, undefined).then(() => woken.push(i))
      await clock.pass(30)
      looks.due.add(5)
      signals.changed(5)
      // Each woken one claims one of two runs.
      await clock.until('one is woken', () => woken.length > 0)
      looks.due.delete(5)
      await clock.pass(100)
      expect(woken[0]).toBe(0)
      expect(woken.length).toBeLessThan(4)
      looks.due.add(5)
      signals.changed(5)
      await clock.pass(2_000)
      expect(woken).toEqual(Array.from({ length: 20 }, (_, i) => i))
    }),
  )

  test(
    'that nobody gets, because the concurrency holds it back, does not keep waking',
    withClock(async (clock) => {
      const { looks, waits } = make()
      looks.due.add(5)
      let claims = 0
      const closed = new AbortController()
      const poll = async (): Promise<void> => {
        for (let again = false; (await waits.untilDue(ada, 5, 10_000, closed.signal, again)) === 'maybe'; again = true)
          claims++
      }
      const polls = Array.from({ length: 5 }, poll)
      await clock.pass(taskPollEveryMs * 2 + 200)
      closed.abort()
      await Promise.all(polls)
      expect(claims).toBeGreaterThan(0)
      expect(claims).toBeLessThan(20)
    }),
  )
})

describe('waits are shared', () => {
  /** Lets the key wait until it is refused: how many of its requests wait then. */
  const fill = async (waits: RunWaits, key: ReturnType<typeof keyOf>): Promise<number> => {
    for (let count = 0; ; count++) {
      const size = waits.size
      const wait = waits.untilOver(key, 10_000, undefined)
      wait.catch(() => {})
      if (waits.size > size) continue
      await expect(wait).rejects.toMatchObject({ code: 'unavailable' })
      return count
    }
  }

  test('each organization gets half of what the others leave, so that the next one finds room', async () => {
    const { waits, counts } = make()
    const held: number[] = []
    for (let orgId = 1; orgId <= 6; orgId++) {
      let ofOne = 0
      // Many keys, as an organization can have.
      for (let n = 0; n < 20; n++) ofOne += await fill(waits, keyOf(orgId, 100 * orgId + n))
      held.push(ofOne)
    }
    expect(held).toEqual([2048, 1024, 512, 256, 128, 64])
    expect(waits.size).toBeLessThan(waitsMax)
    expect(counts.refused).toBe(6 * 20)
    waits.stop()
    expect(waits.size).toBe(0)
  })

  test('a key gets half of what the other keys leave, a public one half of that: it locks no worker out', async () => {
    const alone = make().waits
    expect(await fill(alone, keyOf(1, 1))).toBe(waitsMax / 4)
    const { waits } = make()
    expect(await fill(waits, keyOf(1, 2, 'public'))).toBe(waitsMax / 8)
    expect(await fill(waits, keyOf(1, 1))).toBe((waitsMax / 2 - waitsMax / 8) / 2)
    expect(await fill(waits, keyOf(2, 3))).toBeGreaterThan(waitsMax / 8)
  })

  test('whoever was above its share because others came waits again when it has given back', async () => {
    const { waits } = make()
    const closed = new AbortController()
    const first = Array.from({ length: waitsMax / 4 }, () => waits.untilDue(ada, 5, 10_000, closed.signal))
    expect(await fill(waits, other)).toBeGreaterThan(0)
    await expect(waits.untilFinished(ada, { taskId: 1, id: 'a' }, 10_000, undefined)).rejects.toMatchObject({
      code: 'unavailable',
    })
    closed.abort()
    await Promise.all(first)
    void waits.untilFinished(ada, { taskId: 1, id: 'a' }, 10_000, undefined)
    expect(waits.size).toBeGreaterThan(1)
  })
})
