import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Background } from '../../src/background/paced-steps.ts'
import { startScheduler } from '../../src/background/scheduler.ts'
import { RunSignals } from '../../src/core/tasks/run-signals.ts'
import type { RunReference } from '../../src/store/runs.ts'
import { eventually } from '../harness.ts'
import { withClock } from '../moved-clock.ts'

// Nobody asks for an expired lease or a due schedule: if these looks ended, runs would stay as they are for ever.

let expired: RunReference[]
let schedules: RunReference[]
/** Errors that the next calls throw. */
let failures: { expire: Error[]; fire: Error[] }
let calls: { what: 'expire' | 'fire'; nowMs: number; rowsMax: number }[]
let nowMs: number
let told: number[]
let dropped: RunReference[]
let unknown = 0
let logged: Record<string, unknown>[]
let scheduler: Background | undefined

beforeEach(() => {
  expired = []
  schedules = []
  failures = { expire: [], fire: [] }
  calls = []
  nowMs = 1_000_000
  told = []
  dropped = []
  logged = []
  unknown = 0
})
afterEach(() => scheduler?.stop())

const start = (own: { firesSchedules?: boolean; everyMs?: number } = {}): void => {
  const signals = new RunSignals()
  signals.listen((taskId) => void told.push(taskId))
  scheduler = startScheduler({
    runs: {
      async expireLeases(atMs, rowsMax) {
        calls.push({ what: 'expire', nowMs: atMs, rowsMax })
        const error = failures.expire.shift()
        if (error !== undefined) throw error
        return expired.splice(0, rowsMax)
      },
      async fireSchedules(atMs, rowsMax) {
        calls.push({ what: 'fire', nowMs: atMs, rowsMax })
        const error = failures.fire.shift()
        if (error !== undefined) throw error
        const created = schedules.splice(0, rowsMax)
        return { due: created.length + unknown, created, unknown }
      },
    },
    ...{ firesSchedules: true, signals, now: () => nowMs, everyMs: 10, ...own },
    log: (level, message, fields) => void logged.push({ level, message, ...fields }),
    onExpired: (runs) => void dropped.push(...runs),
  })
}

const references = (taskId: number, count: number): RunReference[] =>
  Array.from({ length: count }, (_, i) => ({ taskId, id: `run_${taskId}_${i}` }))

const until = (what: string, holds: () => boolean): Promise<true> =>
  eventually(what, () => (holds() ? true : undefined), { waitMsMax: 30_000, pauseMs: 2 })

const callsOf = (what: 'expire' | 'fire'): number => calls.filter((call) => call.what === what).length

test('expired leases are applied in steps until none is left; waits and the dispatcher are told', async () => {
  expired = [...references(7, 120), ...references(8, 3)]
  start({ everyMs: 60_000 })
  // The last look finds none: a step may be short although some are left.
  await until('nothing is left', () => expired.length === 0 && callsOf('expire') === 4)
  expect(calls.filter(({ what }) => what === 'expire').map(({ rowsMax }) => rowsMax)).toEqual([50, 50, 50, 50])
  expect(callsOf('fire')).toBe(1)
  expect(dropped).toHaveLength(123)
  // Once for each task and step, not for each run.
  expect(told).toEqual([7, 7, 7, 8])
})

test('due schedules are fired in steps, and the dispatcher is told of their runs', async () => {
  schedules = [...references(1, 1), ...references(2, 60)]
  start({ everyMs: 60_000 })
  await until('nothing is left', () => schedules.length === 0 && callsOf('fire') === 2)
  expect(told).toEqual([1, 2, 2])
})

test(
  'idle, it makes one look for each every everyMs',
  withClock(async (clock) => {
    start({ everyMs: 50 })
    await clock.pass(270)
    expect([callsOf('expire'), callsOf('fire')]).toEqual([6, 6])
    await scheduler!.stop()
  }),
)

test('with --no-tasks leases expire, and no schedule is fired', async () => {
  expired = references(7, 1)
  schedules = references(1, 1)
  start({ firesSchedules: false })
  await until('several looks', () => callsOf('expire') > 4)
  expect(expired).toEqual([])
  expect(callsOf('fire')).toBe(0)
})

test('goes by the clock it is given, also when that jumps', async () => {
  start()
  await until('several looks', () => callsOf('fire') > 2)
  nowMs -= 3_600_000
  const before = calls.length
  await until('a look at the new time', () => calls.length > before + 2)
  expect(calls.at(-1)!.nowMs).toBe(nowMs)
})

test('a failure of one keeps the other going; it is retried, ever more rarely, and logged once', async () => {
  failures.expire = Array.from({ length: 3 }, () => new Error('no connection'))
  schedules = references(1, 1)
  start()
  await until('leases are looked at again', () => failures.expire.length === 0 && callsOf('expire') >= 4)
  expect(calls.slice(0, 2).map(({ what }) => what)).toEqual(['expire', 'fire'])
  expect(schedules).toEqual([])
  expect(logged).toEqual([
    {
      ...{ level: 'warn', message: 'looking for expired leases failed; it is retried' },
      cause: 'Error: no connection',
    },
  ])
})

/** A tenant can make this: as soon as a step is done, as much is due again. */
const endless = (taskId: number): RunReference[] => {
  const list = references(taskId, 50)
  list.splice = () => references(taskId, 50)
  return list
}

test('schedules that never come to an end do not keep leases from expiring', async () => {
  schedules = endless(1)
  start({ everyMs: 30 })
  await until('several steps', () => callsOf('fire') > 3)
  expired = references(7, 3)
  await until('the leases are applied', () => expired.length === 0)
})

test('leases that never come to an end do not keep schedules from firing', async () => {
  expired = endless(7)
  start({ everyMs: 30 })
  await until('several steps', () => callsOf('expire') > 3)
  schedules = references(1, 3)
  await until('the schedules are fired', () => schedules.length === 0)
})

test('a stop ends it between two steps', async () => {
  expired = references(7, 10_000)
  start()
  await until('it has begun', () => callsOf('expire') > 1)
  await scheduler!.stop()
  const after = calls.length
  expect(expired.length).toBeGreaterThan(0)
  await Bun.sleep(30)
  expect(calls).toHaveLength(after)
})

test('schedules whose next time is not known here are logged, once in a while, and the others go on', async () => {
  unknown = 2
  schedules = references(7, 1)
  start()
  await until('some looks', () => callsOf('fire') >= 5)
  expect(told).toEqual([7])
  expect(logged).toEqual([
    { level: 'warn', message: 'schedules have a time zone that this server does not know', tasks: 2 },
  ])
})
