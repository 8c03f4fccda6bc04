import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type Dispatcher, startDispatcher } from '../../src/background/dispatcher.ts'
import { RunSignals } from '../../src/core/tasks/run-signals.ts'
import { startAttempt } from '../../src/core/tasks/transitions.ts'
import type { Push, PushOutcome } from '../../src/push/push-run.ts'
import { eventually } from '../harness.ts'
import { type MovedClock, withClock } from '../moved-clock.ts'
import { FakeRuns } from './fake-runs.ts'

// The dispatcher pushes runs of all tenants with a bounded number of connections. Without these promises, one target that
// does not answer would delay the work of everybody, or a run would be pushed that nobody pushes again.

const succeeded: PushOutcome = { status: 'succeeded', result: null }

let runs: FakeRuns
let signals: RunSignals
let logged: Record<string, unknown>[]
/** Pushes in flight and all that were started, by the order of their starts. */
let inFlight: Set<Push>
let started: Push[]
let mostInFlight: number
/** The behaviour of targets. By default they answer at once. */
let answer: (push: Push, signal: AbortSignal) => Promise<PushOutcome>
let dispatcher: Dispatcher | undefined

beforeEach(() => {
  runs = new FakeRuns()
  signals = new RunSignals()
  logged = []
  inFlight = new Set()
  started = []
  mostInFlight = 0
  answer = async () => succeeded
  dispatcher = undefined
})
afterEach(async () => {
  await dispatcher?.stop()
})

/** Tests of promises about times use it: the dispatcher goes by a clock that the test moves. */
const clocked = (body: (clock: MovedClock) => Promise<void>) =>
  withClock(async (clock) => {
    runs = new FakeRuns(clock.now)
    try {
      await body(clock)
    } finally {
      // One that does not stop has failed a test already, and must not hold up the others.
      await Promise.race([dispatcher?.stop(), Bun.sleep(1_000)])
    }
  })

const start = (own: { pushesMax?: number; everyMs?: number } = {}): Dispatcher => {
  dispatcher = startDispatcher({
    ...{ runs, signals, now: runs.now, everyMs: 20, ...own },
    log: (level, message, fields) => void logged.push({ level, message, ...fields }),
    async send(push, { signal }) {
      started.push(push)
      inFlight.add(push)
      mostInFlight = Math.max(mostInFlight, inFlight.size)
      try {
        return await answer(push, signal)
      } finally {
        inFlight.delete(push)
      }
    },
  })
  return dispatcher
}

/** A target that does not answer. The signal ends it, as it ends a request. */
const hangs = (signal: AbortSignal): Promise<PushOutcome> =>
  new Promise((_, fail) => {
    signal.addEventListener('abort', () => fail(new Error('aborted')))
  })

const answersAfter = async (ms: number): Promise<PushOutcome> => {
  await Bun.sleep(ms)
  return succeeded
}

const until = (what: string, holds: () => boolean): Promise<true> =>
  eventually(what, () => (holds() ? true : undefined), { waitMsMax: 30_000, pauseMs: 2 })

const startsOf = (name: string): number => started.filter(({ task }) => task === name).length

describe('a push', () => {
  test('carries what the task declares, and its outcome is written', async () => {
    const mail = runs.declare(1, 'mail')
    const [run] = runs.add(mail, 1)
    answer = async () => ({ status: 'succeeded', result: '{"ok":true}' })
    // Requests of this process that wait for the run are told when it has finished.
    const told: [number, string][] = []
    signals.listen((taskId) => void told.push([taskId, runs.find(run!.id).status]))
    start()
    await until('it was told', () => told.length > 0)
    expect(told).toEqual([[mail.id, 'succeeded']])
    expect(started).toHaveLength(1)
    const { url, authorization, secrets, db, task, run: pushed } = started[0]!
    expect({ url, authorization, secrets, db, task }).toEqual({
      ...{ url: 'https://example.com/hook', authorization: 'Bearer very-secret', secrets: ['whsec_signing-secret'] },
      ...{ db: 'app', task: 'mail' },
    })
    expect(pushed).toMatchObject({ id: run!.id, attempt: 1, status: 'running' })
    expect(runs.find(run!.id).result).toBe('{"ok":true}')
  })

  test('that failed is repeated after its wait, until the attempts are used up', async () => {
    const mail = runs.declare(1, 'mail', { attempts: 3 })
    runs.add(mail, 1)
    answer = async () => ({
      ...{ status: 'failed', error: { code: 'http_status', message: 'The target answered 500.' }, retry: true },
      retryAfterMs: 30,
    })
    start({ everyMs: 10_000 })
    await until('it has failed', () => runs.count('failed') === 1)
    expect(started.map(({ run }) => run.attempt)).toEqual([1, 2, 3])
  })

  test(
    'starts at its time, although the next look is far away',
    clocked(async (clock) => {
      const mail = runs.declare(1, 'mail')
      const [run] = runs.add(mail, 1, { at: { delayMs: 150 } })
      let startedAtMs = 0
      answer = async () => {
        startedAtMs = clock.now()
        return succeeded
      }
      start({ everyMs: 10_000 })
      await clock.until('it has finished', () => runs.count('succeeded') === 1)
      expect(startedAtMs).toBe(run!.runAtMs)
    }),
  )

  test(
    'starts at once when a signal tells of it; without one at the next look',
    clocked(async (clock) => {
      const mail = runs.declare(1, 'mail')
      const startedAtMs: number[] = []
      answer = async () => {
        startedAtMs.push(clock.now())
        return succeeded
      }
      start({ everyMs: 2_000 })
      await until('the first look', () => runs.looks === 1)
      runs.add(mail, 1)
      const toldAtMs = clock.now()
      signals.changed(mail.id)
      await clock.until('it has finished', () => runs.count('succeeded') === 1)
      // Between two looks there is always a little time.
      expect(startedAtMs[0]! - toldAtMs).toBeLessThan(100)
      // Its own finish is a signal too: after it, there is one more look.
      await clock.pass(100)
      runs.add(mail, 1)
      const addedAtMs = clock.now()
      await clock.until('the second has finished', () => runs.count('succeeded') === 2)
      expect(startedAtMs[1]! - addedAtMs).toBeGreaterThan(1_000)
      expect(startedAtMs[1]! - addedAtMs).toBeLessThanOrEqual(2_000)
    }),
  )

  test(
    'a flood of signals is not a flood of looks',
    clocked(async (clock) => {
      const pull = runs.declare(1, 'pull')
      start({ everyMs: 10_000 })
      await until('the first look', () => runs.looks === 1)
      for (let i = 0; i < 30; i++) {
        for (let n = 0; n < 100; n++) signals.changed(pull.id)
        await clock.pass(10)
      }
      // There is a look every 20 ms after the first, for 300 ms.
      expect(runs.looks).toBeGreaterThan(2)
      expect(runs.looks).toBeLessThanOrEqual(16)
    }),
  )

  test(
    'no task with due runs: nothing is claimed, and looks keep their pace',
    clocked(async (clock) => {
      for (let i = 0; i < 50; i++) runs.declare(1, `task${i}`)
      start({ everyMs: 50 })
      await clock.pass(260)
      expect(runs.claims).toEqual([])
      expect(runs.looks).toBe(6)
    }),
  )
})

describe('bounds', () => {
  test('never more at once than the process may, and never more of one organization than half', async () => {
    const tasks = [1, 2, 3].flatMap((orgId) => [runs.declare(orgId, `a${orgId}`), runs.declare(orgId, `b${orgId}`)])
    for (const task of tasks) runs.add(task, 60)
    const most = new Map<number, number>()
    const held = new Map<number, number>()
    const orgOf = (name: string): number => Number(name.slice(1))
    answer = async ({ task }) => {
      const orgId = orgOf(task)
      held.set(orgId, (held.get(orgId) ?? 0) + 1)
      most.set(orgId, Math.max(most.get(orgId) ?? 0, held.get(orgId)!))
      await Bun.sleep(Math.random() * 10)
      held.set(orgId, held.get(orgId)! - 1)
      return succeeded
    }
    start({ pushesMax: 16 })
    await until('all have finished', () => runs.count('succeeded') === 360)
    expect(mostInFlight).toBeLessThanOrEqual(16)
    expect(mostInFlight).toBeGreaterThan(8)
    expect(Math.max(...most.values())).toBeLessThanOrEqual(8)
  })

  test('an organization alone gets half, and its only task half of that', async () => {
    runs.add(runs.declare(1, 'mail'), 100)
    answer = (_, signal) => hangs(signal)
    start({ pushesMax: 16 })
    await until('its share is in flight', () => inFlight.size === 4)
    await Bun.sleep(100)
    expect(inFlight.size).toBe(4)
    const other = runs.declare(1, 'other')
    runs.add(other, 100)
    await until('the other task has its share', () => startsOf('other') === 2)
    await Bun.sleep(50)
    expect(inFlight.size).toBe(6)
  })

  test('only what can be pushed now is claimed', async () => {
    runs.add(runs.declare(1, 'mail'), 500)
    answer = () => answersAfter(2)
    const watch = setInterval(() => {
      const claimed = runs.count('running')
      if (claimed > 4) throw new Error(`${claimed} claimed`)
    }, 1)
    start({ pushesMax: 16 })
    await until('all have finished', () => runs.count('succeeded') === 500)
    clearInterval(watch)
    expect(Math.max(...runs.claims.map(({ limit }) => limit))).toBeLessThanOrEqual(4)
  })

  test('the concurrency of a task holds, and its next run does not wait for a look', async () => {
    const mail = runs.declare(1, 'mail', { concurrency: 2 })
    runs.add(mail, 40)
    answer = () => answersAfter(5)
    // Only the first look works.
    runs.failures.duePushes.push(undefined, ...Array.from({ length: 10 }, () => new Error('no more looks')))
    start({ everyMs: 10_000 })
    await until('all have finished', () => runs.count('succeeded') === 40)
    expect(mostInFlight).toBe(2)
  })
})

describe('turns', () => {
  test('an organization with more tasks than one look asks: looks continue with them, and ask the others each time', async () => {
    runs.tasksOfPollMax = 3
    for (let i = 0; i < 30; i++) runs.add(runs.declare(1, `many-${i}`), 1)
    const other = runs.declare(2, 'other')
    start({ everyMs: 60_000 })
    await until('the first of them', () => startsOf('many-3') === 1)
    runs.add(other, 1)
    await until('all of them', () => startsOf('many-29') === 1)
    expect(started).toHaveLength(31)
    const names = started.map(({ task }) => task)
    expect(names.indexOf('other')).toBeLessThan(names.indexOf('many-29'))
  })

  test('a target that does not answer delays no other task and no other organization', async () => {
    const hanging = runs.declare(1, 'hanging')
    runs.add(hanging, 1_000)
    const neighbour = runs.declare(1, 'neighbour')
    const stranger = runs.declare(2, 'stranger')
    answer = ({ task }, signal) => (task === 'hanging' ? hangs(signal) : answersAfter(1))
    start({ pushesMax: 16 })
    await until('it has what it may have', () => inFlight.size === 4)
    for (const task of [neighbour, stranger]) {
      runs.add(task, 100)
      signals.changed(task.id)
    }
    await until('both have finished', () => runs.count('succeeded') === 200)
    expect(startsOf('hanging')).toBe(4)
  })

  test('more tasks that hang than the process may push: the next organization still finds room', async () => {
    for (let i = 0; i < 300; i++) runs.add(runs.declare(1, `hanging${i}`), 5)
    const stranger = runs.declare(2, 'stranger')
    answer = ({ task }, signal) => (task === 'stranger' ? answersAfter(1) : hangs(signal))
    start({ pushesMax: 16 })
    await until('they have what they may have', () => inFlight.size === 8)
    runs.add(stranger, 50)
    signals.changed(stranger.id)
    await until('the stranger has finished', () => runs.count('succeeded') === 50)
    expect(inFlight.size).toBe(8)
  })

  test('a backlog of one organization does not come before a run of another', async () => {
    runs.add(runs.declare(1, 'backlog'), 400)
    const small = runs.declare(2, 'small')
    answer = () => answersAfter(3)
    start({ pushesMax: 4 })
    await until('the backlog moves', () => started.length > 10)
    const before = started.length
    runs.add(small, 1)
    signals.changed(small.id)
    await until('it started', () => startsOf('small') === 1)
    expect(started.findIndex(({ task }) => task === 'small') - before).toBeLessThan(60)
    expect(runs.count('queued')).toBeGreaterThan(200)
  })

  for (const [what, orgs] of [
    ['two organizations', [1, 2]],
    ['two tasks of one organization', [1, 1]],
  ] as const) {
    test(`${what} with a backlog take turns when there is room for one push`, async () => {
      runs.add(runs.declare(orgs[0], 'a'), 50)
      runs.add(runs.declare(orgs[1], 'b'), 50)
      start({ pushesMax: 1 })
      await until('some are done', () => runs.count('succeeded') >= 30)
      expect(mostInFlight).toBe(1)
      expect(Math.abs(startsOf('a') - startsOf('b'))).toBeLessThanOrEqual(2)
    })
  }

  test('tasks of one organization that wait share what is free', async () => {
    for (const name of ['a', 'b', 'c', 'd']) runs.add(runs.declare(1, name), 100)
    answer = () => answersAfter(5)
    start({ pushesMax: 16 })
    await until('a quarter is done', () => runs.count('succeeded') >= 100)
    for (const name of ['a', 'b', 'c', 'd']) expect(startsOf(name)).toBeGreaterThan(10)
  })
})

describe('the deadline', () => {
  test(
    'is the end of the lease: a target that does not answer in time is a failed attempt',
    clocked(async (clock) => {
      const [run] = runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.3 }), 1)
      let aborted = false
      answer = (_, signal) => {
        signal.addEventListener('abort', () => {
          aborted = true
        })
        return new Promise(() => {})
      }
      start()
      await clock.until('its attempt has failed', () => runs.finishes.length === 1)
      expect(aborted).toBe(true)
      expect(runs.finishes[0]).toMatchObject({
        refused: undefined,
        finish: { error: { code: 'timeout' }, retry: true },
      })
      expect(runs.find(run!.id)).toMatchObject({ status: 'queued', attempt: 1, error: { code: 'timeout' } })
    }),
  )

  test(
    'moves with the lease that the receiver extends',
    clocked(async (clock) => {
      const [run] = runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.3 }), 1)
      answer = async () => {
        for (let i = 0; i < 8; i++) {
          await clock.sleep(100)
          runs.extend(run!.id, 300)
        }
        return succeeded
      }
      start({ everyMs: 100 })
      await clock.until('its attempt has ended', () => runs.finishes.length === 1)
      expect(runs.finishes[0]).toMatchObject({ refused: undefined, finish: { result: null } })
      expect(runs.find(run!.id)).toMatchObject({ status: 'succeeded', attempt: 1 })
    }),
  )

  test(
    'comes after the last extension, too',
    clocked(async (clock) => {
      runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.3 }), 1)
      answer = (_, signal) => hangs(signal)
      start({ everyMs: 100 })
      await until('it is in flight', () => inFlight.size === 1)
      const atMs = clock.now()
      runs.extend(started[0]!.run.id, 600)
      await clock.until('its attempt has ended', () => runs.finishes.length === 1)
      // The end of a lease of 300 ms less a tenth for its outcome, moved by what the extension added.
      expect(clock.now() - atMs).toBe(570)
      expect(runs.finishes[0]).toMatchObject({ refused: undefined, finish: { error: { code: 'timeout' } } })
    }),
  )

  test(
    'ends a push whose run has another lease by then, and writes nothing',
    clocked(async (clock) => {
      const [run] = runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.3 }), 1)
      answer = (_, signal) => hangs(signal)
      start({ everyMs: 100 })
      await until('it is in flight', () => inFlight.size === 1)
      runs.replace(startAttempt(runs.find(run!.id), 'lease_of_another', 60_000, runs.now()))
      await clock.until('it was aborted', () => inFlight.size === 0)
      await clock.pass(100)
      expect(runs.finishes).toEqual([])
    }),
  )

  for (const aheadMs of [3_600_000, -3_600_000]) {
    test(
      `does not move when the clock jumps by ${aheadMs / 3_600_000} h`,
      clocked(async (clock) => {
        runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.4 }), 1)
        answer = (_, signal) => hangs(signal)
        start({ everyMs: 100 })
        await until('it is in flight', () => inFlight.size === 1)
        const atMs = clock.now()
        runs.aheadMs = aheadMs
        await clock.pass(100)
        expect(inFlight.size).toBe(1)
        await clock.until('it was aborted', () => inFlight.size === 0)
        expect(clock.now() - atMs).toBe(360)
      }),
    )
  }
})

describe('what the receiver finished itself', () => {
  const finishByReceiver = async (push: Push): Promise<void> => {
    const { id, lease } = runs.find(push.run.id)
    const finish = { lease: lease!, result: '{"by":"receiver"}' }
    await runs.finish({ orgId: 1, apiKey: undefined }, { id: 1 } as never, id, finish, runs.now())
  }

  test('its answer does not change', async () => {
    const [run] = runs.add(runs.declare(1, 'mail'), 1)
    answer = async (push) => {
      await finishByReceiver(push)
      return { status: 'failed', error: { code: 'http_status', message: 'no' }, retry: true, retryAfterMs: null }
    }
    start()
    await until('both are written', () => runs.finishes.length === 2)
    expect(runs.finishes[1]!.refused).toBe('lease_lost')
    expect(runs.find(run!.id)).toMatchObject({ status: 'succeeded', result: '{"by":"receiver"}' })
  })

  test(
    'ends a push without an answer at its deadline, and nothing is written',
    clocked(async (clock) => {
      runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.3 }), 1)
      answer = async (push, signal) => {
        await finishByReceiver(push)
        return hangs(signal)
      }
      start({ everyMs: 100 })
      await until('it has started', () => started.length === 1)
      await clock.until('it was aborted', () => inFlight.size === 0)
      await clock.pass(100)
      expect(runs.finishes).toHaveLength(1)
    }),
  )
})

describe('a stop', () => {
  const untilStopped = async (one: Dispatcher): Promise<void> => {
    let isStopped = false
    one.stop().then(() => {
      isStopped = true
    })
    await until('it has stopped', () => isStopped)
  }

  test('starts nothing new; a push in flight may still finish', async () => {
    const mail = runs.declare(1, 'mail', { concurrency: 1 })
    runs.add(mail, 2)
    answer = () => answersAfter(100)
    const { hold } = { hold: () => dispatcher!.hold() }
    start()
    await until('one is in flight', () => inFlight.size === 1)
    hold()
    await until('it has finished', () => runs.count('succeeded') === 1)
    signals.changed(mail.id)
    await Bun.sleep(100)
    expect(started).toHaveLength(1)
    expect(runs.claims.filter(({ got }) => got > 0)).toHaveLength(1)
  })

  test(
    'drops what is in flight and leaves it to its lease',
    clocked(async () => {
      runs.add(runs.declare(1, 'mail'), 3)
      answer = () => new Promise(() => {})
      const stopped = start()
      await until('they are in flight', () => inFlight.size === 3)
      // The clock stands still: the deadline of a push that is not dropped never comes.
      await untilStopped(stopped)
      expect(runs.finishes).toEqual([])
      expect(runs.count('running')).toBe(3)
    }),
  )

  test('waits for an outcome that is being written', async () => {
    runs.add(runs.declare(1, 'mail'), 1)
    const stopped = start()
    await until('it was started', () => started.length === 1)
    await stopped.stop()
    expect(runs.count('succeeded')).toBe(1)
  })

  test(
    'does not wait for the tries to write an outcome',
    clocked(async () => {
      runs.add(runs.declare(1, 'mail'), 1)
      runs.failures.finish.push(new Error('first'), new Error('second'), new Error('third'), new Error('fourth'))
      const stopped = start()
      await until('it was tried', () => runs.failures.finish.length < 4)
      // The clock stands still: the time of the next try never comes.
      await untilStopped(stopped)
      expect(runs.failures.finish).toHaveLength(2)
    }),
  )
})

describe('failures', () => {
  test(
    'of the store: an outcome is written again, and counts once',
    clocked(async (clock) => {
      runs.add(runs.declare(1, 'mail'), 1)
      runs.failures.finish.push(new Error('unavailable'), new Error('unavailable'))
      start({ everyMs: 200 })
      await clock.until('it has finished', () => runs.count('succeeded') === 1)
      expect(started).toHaveLength(1)
      expect(runs.finishes).toHaveLength(1)
    }),
  )

  test(
    'of the store that stay: the attempt is left to its lease, and its place is free again',
    clocked(async (clock) => {
      const mail = runs.declare(1, 'mail', { concurrency: 1_000 })
      runs.add(mail, 1)
      runs.failures.finish.push(...Array.from({ length: 4 }, () => new Error('disk')))
      start({ pushesMax: 1, everyMs: 500 })
      const isGivenUp = (): boolean => logged.some(({ message }) => String(message).includes('left to its lease'))
      await clock.until('it was given up', isGivenUp)
      expect(runs.count('running')).toBe(1)
      runs.add(mail, 1)
      signals.changed(mail.id)
      await clock.until('the next has finished', () => runs.count('succeeded') === 1)
    }),
  )

  test('of a look or a claim: it is retried, and other tasks go on', async () => {
    runs.failures.duePushes.push(new Error('look failed'))
    const [bad, good] = [runs.declare(1, 'bad'), runs.declare(2, 'good')]
    runs.add(bad, 1)
    runs.add(good, 1)
    runs.failures.claimPushes.push(new Error('claim failed'))
    start()
    await until('both have finished', () => runs.count('succeeded') === 2)
    expect(logged.map(({ cause }) => cause)).toEqual(['Error: look failed', 'Error: claim failed'])
  })

  test(
    'of the lease to be read: the push is left to it',
    clocked(async (clock) => {
      runs.add(runs.declare(1, 'mail', { leaseSeconds: 0.3 }), 1)
      runs.failures.get.push(new Error('unavailable'))
      answer = (_, signal) => hangs(signal)
      start({ everyMs: 100 })
      await clock.until('it was aborted', () => started.length === 1 && inFlight.size === 0)
      await clock.pass(100)
      expect(runs.finishes).toEqual([])
    }),
  )

  test('that an expired lease ends are dropped at once', async () => {
    const mail = runs.declare(1, 'mail')
    const [one, two] = runs.add(mail, 2)
    answer = (_, signal) => hangs(signal)
    const { dropExpired } = { dropExpired: (id: string) => dispatcher!.dropExpired([{ taskId: mail.id, id }]) }
    start()
    await until('both are in flight', () => inFlight.size === 2)
    dropExpired(one!.id)
    dropExpired('run_unknown')
    await until('it was aborted', () => inFlight.size === 1)
    expect([...inFlight][0]!.run.id).toBe(two!.id)
    expect(runs.finishes).toEqual([])
  })

  test('are logged, many as one line, and never with payload, secret, authorization or url', async () => {
    const mail = runs.declare(1, 'mail', { attempts: 1 })
    runs.add(mail, 50)
    answer = async () => ({
      ...{ status: 'failed', error: { code: 'http_status', message: 'The target answered 500.' }, retry: true },
      retryAfterMs: null,
    })
    const stopped = start()
    await until('all have failed', () => runs.count('failed') === 50)
    await stopped.stop()
    expect(logged).toHaveLength(2)
    expect(logged[0]).toMatchObject({
      ...{ level: 'warn', message: 'a push failed', db: 'app', task: 'mail', attempt: 1, code: 'http_status' },
      cause: 'The target answered 500.',
    })
    expect(logged[1]).toMatchObject({ failures: 49 })
    expect(JSON.stringify(logged)).not.toMatch(/secret|example\.com|lease_/)
  })

  test('an error of the sender itself leaves the run to its lease, and is logged', async () => {
    runs.add(runs.declare(1, 'mail'), 1)
    answer = async () => {
      throw new Error('a bug')
    }
    start()
    await until('it is logged', () => logged.length === 1)
    expect(logged[0]).toMatchObject({ cause: 'Error: a bug' })
    expect(runs.count('running')).toBe(1)
  })
})
