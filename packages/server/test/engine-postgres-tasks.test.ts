import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import { recoveryMs, sweepGraceMs } from '../src/core/limits.ts'
import type { Finish, NewRun, Run } from '../src/core/tasks/run.ts'
import { newRunId } from '../src/core/tasks/run-id.ts'
import type { Read } from '../src/engines/postgres/connection/database.ts'
import type { Row } from '../src/engines/postgres/connection/driver.ts'
import { openPostgresEngine, type PostgresOptions } from '../src/engines/postgres/engine.ts'
import { checkRunsOf } from '../src/engines/postgres/maintenance/check-runs.ts'
import { leaseChange } from '../src/engines/postgres/runs/due-runs.ts'
import { holdKey } from '../src/engines/postgres/runs/statements.ts'
import type { Engine } from '../src/store/engine.ts'
import { expectRefusal, makeTenant, putOf, startMs } from './conformance/fixture.ts'
import { declared, makeBench } from './conformance/runs.ts'
import { expectSound } from './engine-conformance.ts'
import { eventually } from './harness.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

// The promises that several processes on one database keep together: each run has one holder, never more than the limit,
// never two of a key, by one clock.

setDefaultTimeout(120_000)

let server: SharedPostgres
let url = ''
let engine: Engine

const open = (options: Partial<PostgresOptions> = {}): Promise<Engine> =>
  openPostgresEngine({ url, leaseMs: 20, ...options })

beforeAll(async () => {
  server = await sharedPostgres()
  url = await server.createDatabase()
}, 120_000)
afterAll(() => server.remove(), 60_000)

beforeEach(async () => {
  engine = await open()
})
afterEach(async () => {
  await engine.close()
  await server.empty(url)
})

const newRun = (more: Partial<NewRun> = {}): NewRun => ({
  ...{ id: newRunId(), isNamed: false, key: null, payload: '{}', at: { delayMs: 0 } },
  ...more,
})

/** Several processes, each with a pool of its own. */
const withEngines = async <T>(count: number, work: (engines: Engine[]) => Promise<T>): Promise<T> => {
  const engines = await Promise.all(Array.from({ length: count }, () => open({ poolSize: 4 })))
  try {
    return await work(engines)
  } finally {
    await Promise.all(engines.map((one) => one.close()))
  }
}

const findings = (): Promise<string[]> => Array.fromAsync(engine.maintenance.check())

// ── Several claimers ───────────────────────────────────────────────────────────────────────────────────────

describe('claimers on several pools', () => {
  test('get each run once, and finish it once', async () => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    const added = await Promise.all(Array.from({ length: 200 }, () => bench.add()))
    const handed: string[] = []
    await withEngines(4, async (engines) => {
      const claim = async (from: Engine): Promise<void> => {
        for (;;) {
          const runs = await from.runs.claim(caller, bench.task, { limit: 3, leaseMs: undefined }, 0)
          if (runs.length === 0) return
          handed.push(...runs.map(({ id }) => id))
          for (const run of runs) {
            const finish: Finish = { lease: run.lease!, result: null }
            expect(await from.runs.finish(caller, bench.task, run.id, finish, 0)).toHaveProperty('run')
          }
        }
      }
      await Promise.all([...engines, ...engines].map(claim))
    })
    expect(handed).toHaveLength(added.length)
    expect(new Set(handed)).toEqual(new Set(added.map(({ id }) => id)))
    await expectSound(engine)
  })

  test('whose connections are killed again and again: no run is lost, none counts twice', async () => {
    const bench = await makeBench(engine, { attempts: 50 })
    const { caller } = bench.tenant
    const { table } = await engine.tables.create(caller, 'app', 'counts', {}, 0)
    const added = await Promise.all(Array.from({ length: 15 }, () => bench.add()))
    const counted = async (id: string) => {
      const { rangeKey } = putOf(table, id)
      return (await engine.records.get(table, { hashKey: id, rangeKey }, 0))?.data
    }
    const open = () =>
      engine.runs.finishedAmong(
        added.map(({ id }) => ({ taskId: bench.task.id, id })),
        0,
      )
    let killed = 0
    const orFailure = async <T>(work: Promise<T>): Promise<T | undefined> => {
      try {
        return await work
      } catch (error) {
        expect(['unavailable', 'outcome_unknown']).toContain((error as { code?: string }).code!)
        return undefined
      }
    }
    const endAt = performance.now() + 30_000
    let isOver = false
    const work = async (): Promise<void> => {
      while (!isOver && performance.now() < endAt) {
        const runs = await orFailure(engine.runs.claim(caller, bench.task, { limit: 3, leaseMs: 1_000 }, 0))
        for (const { id, lease } of runs ?? []) {
          // The condition makes a second count of the run impossible to overlook.
          const records = [putOf(table, id, { data: { n: 1 }, condition: 'absent' })]
          const tasks = [{ op: 'finish' as const, task: bench.task, id, finish: { lease: lease!, result: null } }]
          const done = await orFailure(engine.runs.applyBatch(caller, { parts: [{ table, records }], tasks }, 0))
          if (done?.applied === false) expect(done).toMatchObject({ refused: 'lease_lost' })
        }
        await orFailure(engine.runs.expireLeases(0, 50))
        if (runs?.length === 0) await Bun.sleep(20)
      }
    }
    const working = Promise.all([work(), work(), work(), work()])
    for (let round = 0; round < 10; round++) {
      await Bun.sleep(15)
      const sql = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'cubby'`
      killed += (await server.query(sql, url)).length
    }
    await eventually('all are finished', async () => ((await open()).length === added.length ? true : undefined))
    isOver = true
    await working
    expect(killed).toBeGreaterThan(5)
    for (const { id } of added) {
      expect(await counted(id)).toBe('{"n":1}')
      expect(await bench.get({ id })).toMatchObject({ status: 'succeeded' })
    }
    await expectSound(engine)
  })

  // Counted wrongly, a limit of 3 would let 8 claimers at once hold 24.
  test('never hold more than the limit between them', async () => {
    const bench = await makeBench(engine, { concurrency: 3 })
    const { caller } = bench.tenant
    await Promise.all(Array.from({ length: 60 }, () => bench.add()))
    let [held, most, done] = [0, 0, 0]
    await withEngines(4, async (engines) => {
      const claim = async (from: Engine): Promise<void> => {
        while (done < 60) {
          const runs = await from.runs.claim(caller, bench.task, { limit: 2, leaseMs: undefined }, 0)
          held += runs.length
          most = Math.max(most, held)
          if (runs.length === 0) await Bun.sleep(1)
          for (const run of runs) {
            // Lowered before the answer: the run may be over, and its place taken, before this process hears of it.
            held--
            await from.runs.finish(caller, bench.task, run.id, { lease: run.lease!, result: null }, 0)
            done++
          }
        }
      }
      await Promise.all([...engines, ...engines].map(claim))
    })
    expect(most).toBeLessThanOrEqual(3)
    await Promise.all(Array.from({ length: 6 }, () => bench.add()))
    const counts = await withEngines(4, (engines) =>
      Promise.all(
        [...engines, ...engines].map(async (from) => {
          const runs = await from.runs.claim(caller, bench.task, { limit: 2, leaseMs: undefined }, 0)
          return runs.length
        }),
      ),
    )
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3)
  })

  // The lock of the limit is held by one claim of one task.
  test('do not wait for those of another task, nor for a run that somebody has locked', async () => {
    const one = await makeBench(engine, { concurrency: 1 })
    const second = await makeBench(engine, { concurrency: 1 }, { tenant: one.tenant, name: 'second' })
    const unlimited = await makeBench(engine, {}, { tenant: one.tenant, name: 'unlimited' })
    await one.add()
    await second.add()
    const [locked, free] = [await unlimited.add(), await unlimited.add()]
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query(`begin; select 1 from cubby_task_8 where table_id = ${one.task.id} for update;
        select 1 from cubby_run_8 where id = '${locked.id}' for update`)
      expect(await second.claim()).toHaveLength(1)
      expect((await unlimited.claim(5)).map(({ id }) => id)).toEqual([free.id])
      let claimed: Run[] | undefined
      const waiting = one.claim().then((runs) => {
        claimed = runs
      })
      await Bun.sleep(50)
      expect(claimed).toBeUndefined()
      await client.query('rollback')
      await waiting
      expect(claimed).toHaveLength(1)
    } finally {
      await client.end()
    }
  })
})

// ── The same id or key at once ─────────────────────────────────────────────────────────────────────────────

describe('processes that add at once', () => {
  test('a run with the same id create it once, and each gets it', async () => {
    const bench = await makeBench(engine)
    await withEngines(4, async (engines) => {
      for (let round = 0; round < 10; round++) {
        const added = await Promise.all(
          [...engines, ...engines].map((from) =>
            from.runs.add(bench.tenant.caller, bench.task, newRun({ id: `order-${round}`, isNamed: true }), 0),
          ),
        )
        expect(added.filter((one) => 'created' in one && one.created)).toHaveLength(1)
        expect(new Set(added.map((one) => one.run.seq)).size).toBe(1)
      }
    })
  })

  test('runs of the same key queue one, which has the payload of one of them', async () => {
    const bench = await makeBench(engine)
    await withEngines(4, async (engines) => {
      for (let round = 0; round < 10; round++) {
        const added = await Promise.all(
          [...engines, ...engines].map((from, n) =>
            from.runs.add(bench.tenant.caller, bench.task, newRun({ key: `k${round}`, payload: `{"n":${n}}` }), 0),
          ),
        )
        expect(added.filter((one) => 'created' in one && one.created)).toHaveLength(1)
        expect(new Set(added.map((one) => one.run.id)).size).toBe(1)
      }
    })
    expect(await bench.claim(20)).toHaveLength(10)
    await expectSound(engine)
  })

  test('the same run in batches create it once, and every record is written', async () => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, Date.now())
    await withEngines(3, async (engines) => {
      const applied = await Promise.all(
        [...engines, ...engines].map((from, i) =>
          from.runs.applyBatch(
            caller,
            {
              parts: [{ table, records: [putOf(table, `o${i}`)] }],
              // In both orders: they must not wait for each other for ever.
              tasks: (i % 2 === 0 ? ['a', 'b'] : ['b', 'a']).map((key) => ({
                ...{ op: 'run', task: bench.task, run: newRun({ key }) },
              })) as never,
            },
            Date.now(),
          ),
        ),
      )
      expect(applied.every((one) => one.applied)).toBe(true)
    })
    expect(await engine.runs.count(bench.task, 'queued', whole, 100, 0)).toMatchObject({ count: 2 })
    for (let i = 0; i < 6; i++) {
      expect(await engine.records.get(table, { hashKey: `o${i}`, rangeKey: '#' }, Date.now())).toBeDefined()
    }
  })
})

test('batches that finish a run of one key and run the others never deadlock', async () => {
  const bench = await makeBench(engine)
  const { caller } = bench.tenant
  const keys = Array.from({ length: 4 }, (_, i) => `k${i}`)
  for (const key of keys) await bench.add({ key })
  const deadlocks = async (): Promise<number> =>
    Number(
      (
        await server.query('select sum(deadlocks) as n from pg_stat_database where datname = current_database()', url)
      )[0]!.n,
    )
  const before = await deadlocks()
  let done = 0
  await withEngines(4, (engines) =>
    Promise.all(
      engines.map(async (from, me) => {
        while (done < 60) {
          const [run] = await from.runs.claim(caller, bench.task, { limit: 1, leaseMs: undefined }, 0)
          if (run === undefined) continue
          const finish = { op: 'finish', task: bench.task, id: run.id, finish: { lease: run.lease!, result: null } }
          // Each in another order, and after what it finishes.
          const others = keys.map((_, i) => keys[(i + me) % keys.length]!)
          const adds = others.map((key) => ({ op: 'run', task: bench.task, run: newRun({ key }) }))
          const batch = { parts: [], tasks: [finish, ...adds] as never }
          expect(await from.runs.applyBatch(caller, batch, Date.now())).toMatchObject({ applied: true })
          done++
        }
      }),
    ),
  )
  // The statistics of a session are there when it has ended.
  expect((await deadlocks()) - before).toBe(0)
  await expectSound(engine)
})

const whole = { index: 't', low: 0, high: Number.MAX_SAFE_INTEGER, lowId: 0, highId: 0, descending: true } as const

// A run that is queued while the one before it starts or ends must neither run beside it nor wait for ever.
test('requests for a few keys against claimers: never two of a key, and a run after the last request of each', async () => {
  const bench = await makeBench(engine, { attempts: 50 })
  const { caller } = bench.tenant
  const keys = ['a', 'b', 'c']
  const requests = 150
  const running = new Map<string, string>()
  const seen = new Map<string, string>()
  const overlaps: string[] = []
  let isOver = false
  let runs = 0
  await withEngines(3, async (engines) => {
    const claim = async (from: Engine): Promise<void> => {
      for (;;) {
        const last = isOver
        const claimed = await from.runs.claim(caller, bench.task, { limit: 2, leaseMs: undefined }, 0)
        for (const { id, key, payload } of claimed) {
          if (running.has(key!)) overlaps.push(`${key}: ${running.get(key!)} and ${id}`)
          running.set(key!, id)
          seen.set(key!, payload)
        }
        for (const run of claimed) {
          runs++
          running.delete(run.key!)
          const finish: Finish =
            runs % 5 === 0
              ? { lease: run.lease!, error: { code: 'worker', message: 'no' }, retry: true, retryAfterMs: 0 }
              : { lease: run.lease!, result: null }
          expect(await from.runs.finish(caller, bench.task, run.id, finish, 0)).toHaveProperty('run')
        }
        if (claimed.length === 0 && last) return
        if (claimed.length === 0) await Bun.sleep(1)
      }
    }
    const claiming = Promise.all([...engines, ...engines].map(claim))
    const request = async (key: string, from: Engine): Promise<void> => {
      for (let n = 0; n < requests; n++) {
        await from.runs.add(caller, bench.task, newRun({ key, payload: `{"n":${n}}` }), 0)
      }
    }
    await Promise.all(keys.map((key, i) => request(key, engines[i]!)))
    await eventually('nothing is queued or running', async () => {
      const counts = await Promise.all(
        (['queued', 'running'] as const).map((status) => engine.runs.count(bench.task, status, whole, 100, 0)),
      )
      return counts.every(({ count }) => count === 0) ? true : undefined
    })
    isOver = true
    await claiming
  })
  expect(overlaps).toEqual([])
  expect([...seen].sort()).toEqual(keys.map((key) => [key, `{"n":${requests - 1}}`]))
  expect(runs).toBeGreaterThan(keys.length)
  await expectSound(engine)
})

// ── The clock ──────────────────────────────────────────────────────────────────────────────────────────────

test('times are those of the database, whatever the process believes', async () => {
  const year = 365 * 24 * 60 * 60 * 1000
  const databaseMs = async (): Promise<number> =>
    Number((await server.query('select floor(extract(epoch from clock_timestamp()) * 1000)::text as ms', url))[0]!.ms)
  const { caller } = await makeTenant(engine)
  const declaration = { ...declared, keepsAuthorization: false, newSecret: 'whsec_x' }
  for (const wrongMs of [Date.now() - year, Date.now() + year]) {
    const before = await databaseMs()
    const result = await engine.tasks.declare(caller, 'app', `t${wrongMs}`, declaration, undefined, wrongMs)
    if (!result.applied) throw new Error('not declared')
    const { task } = result
    const add = (more: Partial<NewRun>) => engine.runs.add(caller, task, newRun(more), wrongMs)
    const [plain, keyed] = [await add({}), await add({ key: 'k' })]
    const delayed = await add({ at: { delayMs: 60_000 } })
    const claimed = await engine.runs.claim(caller, task, { limit: 9, leaseMs: undefined }, wrongMs)
    const finished = await engine.runs.finish(
      ...([caller, task, claimed[0]!.id, { lease: claimed[0]!.lease!, result: null }, wrongMs] as const),
    )
    expect(await engine.runs.expireLeases(wrongMs, 10)).toEqual([])
    expect(await engine.runs.get(task, claimed[0]!.id, wrongMs)).toBeDefined()
    const after = await databaseMs()
    expect(claimed.map(({ id }) => id)).toEqual([plain.run.id, keyed.run.id])
    const times = [
      ...[result.task.createdAtMs, result.state.updatedAtMs, plain.run.runAtMs, keyed.run.createdAtMs],
      ...[delayed.run.runAtMs - 60_000, claimed[0]!.leaseUntilMs! - 30_000],
      (finished as { run: Run }).run.finishedAtMs!,
    ]
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(before)
      expect(time).toBeLessThanOrEqual(after)
    }
  }
})

describe('a clock that jumps', () => {
  const hourMs = 60 * 60 * 1000
  const hourly = { ...declared, schedule: { every: 3_600, payload: '{}' }, keepsAuthorization: false, newSecret: 'x' }

  const withMovedTime = async (work: (moved: Engine) => Promise<void>): Promise<void> => {
    const moved = await open({ sweepClock: 'caller' })
    try {
      await work(moved)
    } finally {
      await moved.close()
    }
  }

  test('repeats no time of a schedule, and loses none', () =>
    withMovedTime(async (moved) => {
      const { caller } = await makeTenant(moved)
      const result = await moved.tasks.declare(caller, 'app', 'mail', hourly, undefined, startMs)
      if (!result.applied) throw new Error('not declared')
      const nextOf = async (nowMs: number) => (await moved.tasks.read([result.task], nowMs))[0]!.nextRunAtMs
      const noon = (await nextOf(startMs))!
      expect((await moved.runs.fireSchedules(noon + 10, 10)).created).toHaveLength(1)
      for (const backMs of [1, 500, hourMs - 20]) {
        expect(await moved.runs.fireSchedules(noon + 10 - backMs, 10)).toEqual({ due: 0, created: [] })
        expect(await nextOf(noon)).toBe(noon + hourMs)
      }
      const year = 365 * 24 * hourMs
      expect((await moved.runs.fireSchedules(noon + year, 10)).due).toBe(1)
      await moved.runs.fireSchedules(noon + 100, 10)
      expect(await nextOf(noon)).toBe(noon + hourMs)
      expect((await moved.runs.fireSchedules(noon + hourMs, 10)).due).toBe(1)
    }))

  test('does not leave a schedule, its run, or the next attempt of a run a year ahead', () =>
    withMovedTime(async (moved) => {
      const { caller } = await makeTenant(moved)
      const ahead = startMs + 365 * 24 * hourMs
      const result = await moved.tasks.declare(caller, 'app', 'mail', hourly, undefined, ahead)
      if (!result.applied) throw new Error('not declared')
      const { task } = result
      const nextOf = async () => (await moved.tasks.read([task], startMs))[0]!.nextRunAtMs
      await moved.runs.fireSchedules(startMs, 10)
      const noon = (Math.floor(startMs / hourMs) + 1) * hourMs
      expect(await nextOf()).toBe(noon)
      await moved.runs.add(caller, task, newRun(), startMs)
      const later = await moved.runs.add(caller, task, newRun({ at: { delayMs: 2 * (ahead - startMs) } }), startMs)
      const [run] = await moved.runs.claim(caller, task, { limit: 1, leaseMs: undefined }, startMs)
      expect(await moved.runs.expireLeases(ahead, 10)).toHaveLength(1)
      await moved.runs.fireSchedules(ahead, 10)
      const [scheduled] = await moved.runs.claim(caller, task, { limit: 1, leaseMs: 1 }, ahead)
      await moved.runs.expireLeases(ahead + 1, 10)
      const timeOf = async ({ id }: Run) => (await moved.runs.get(task, id, startMs))!.runAtMs
      for (const one of [run!, scheduled!]) expect(await timeOf(one)).toBeGreaterThan(ahead)
      await moved.runs.expireLeases(startMs + 5, 10)
      for (const one of [run!, scheduled!]) expect(await timeOf(one)).toBe(startMs + 5)
      expect(await timeOf((later as { run: Run }).run)).toBe(startMs + 2 * (ahead - startMs))
    }))

  test('does not leave a lease a year ahead', () =>
    withMovedTime(async (moved) => {
      const { caller } = await makeTenant(moved)
      const result = await moved.tasks.declare(caller, 'app', 'mail', hourly, undefined, startMs)
      if (!result.applied) throw new Error('not declared')
      await moved.runs.add(caller, result.task, newRun(), startMs)
      const ahead = startMs + 365 * 24 * hourMs
      const [run] = await moved.runs.claim(caller, result.task, { limit: 1, leaseMs: undefined }, ahead)
      expect(await moved.runs.expireLeases(startMs, 10)).toEqual([])
      expect((await moved.runs.get(result.task, run!.id, startMs))!.leaseUntilMs).toBe(startMs + 30_000)
      expect(await moved.runs.expireLeases(startMs + 30_000, 10)).toHaveLength(1)
    }))

  test('finished runs go after their time and the grace period, a deleted task with all its runs', () =>
    withMovedTime(async (moved) => {
      const { caller } = await makeTenant(moved)
      const short = { ...hourly, schedule: null, keepSeconds: 60 }
      const result = await moved.tasks.declare(caller, 'app', 'mail', short, undefined, startMs)
      if (!result.applied) throw new Error('not declared')
      for (let i = 0; i < 7; i++) await moved.runs.add(caller, result.task, newRun(), startMs)
      const [run] = await moved.runs.claim(caller, result.task, { limit: 1, leaseMs: undefined }, startMs)
      await moved.runs.finish(caller, result.task, run!.id, { lease: run!.lease!, result: null }, startMs)
      const { updatedAtMs } = (await moved.runs.get(result.task, run!.id, startMs))!
      expect(await moved.runs.sweepFinished(updatedAtMs + 60_000 + sweepGraceMs - 1, 10)).toBe(0)
      expect(await moved.runs.sweepFinished(updatedAtMs + 60_000 + sweepGraceMs, 10)).toBe(1)
      expect(await moved.runs.sweepFinished(updatedAtMs + 60_000 + sweepGraceMs, 10)).toBe(0)
      await moved.tasks.delete(caller, 'app', 'mail', undefined, startMs)
      const later = startMs + recoveryMs + sweepGraceMs
      expect(await moved.maintenance.purgeTables(later - 1, 3)).toBe(0)
      let steps = 0
      while ((await moved.maintenance.purgeTables(later, 3)) > 0 && steps < 20) steps++
      expect(steps).toBe(2)
      expect(await moved.transfer.lastRunSeq()).toBe(0)
      expect(await moved.tasks.read([result.task], later)).toEqual([undefined])
      await expectSound(moved)
    }))
})

test('of several processes one creates the run of a schedule', async () => {
  const bench = await makeBench(engine, { schedule: { every: 31_536_000, payload: '{}' } })
  await server.query(`update cubby_task_8 set next_run_at = 1`, url)
  const created = await withEngines(4, (engines) =>
    Promise.all([...engines, ...engines].map((from) => from.runs.fireSchedules(0, 10))),
  )
  expect(created.flatMap((one) => one.created)).toHaveLength(1)
  expect(await engine.runs.count(bench.task, 'queued', whole, 10, 0)).toMatchObject({ count: 1 })
})

test('of several processes one applies an expired lease', async () => {
  const bench = await makeBench(engine)
  for (let i = 0; i < 10; i++) await bench.add({ key: `k${i % 5}-${i}` })
  await bench.claim(10)
  await server.query('update cubby_run_8 set lease_until = 1', url)
  const expired = await withEngines(4, (engines) =>
    Promise.all([...engines, ...engines].map((from) => from.runs.expireLeases(0, 100))),
  )
  expect(expired.flat()).toHaveLength(10)
  expect(await server.query('select distinct attempt::int, status from cubby_run_8', url)).toEqual([
    { attempt: 1, status: 'queued' },
  ])
  await expectSound(engine)
})

// ── Revocation ─────────────────────────────────────────────────────────────────────────────────────────────

// Otherwise a claim that waited for a lock could hand out work to a key that was revoked seconds ago.
test('a write of runs with a revoked key is refused, and a revocation waits for those in flight', async () => {
  const bench = await makeBench(engine, { concurrency: 5 })
  await bench.add()
  await bench.claim()
  await bench.add()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`begin; select 1 from cubby_run_8 where status = 'queued' for update`)
  let isRevoked = false
  const revoking = engine.apiKeys.revoke(bench.tenant.operator, bench.tenant.apiKey.id, Date.now()).then(() => {
    isRevoked = true
  })
  await Bun.sleep(200)
  expect(isRevoked).toBe(false)
  await client.query('rollback')
  await client.end()
  await revoking
  await expectRefusal(bench.claim(), 'revoked_api_key')
  await expectRefusal(bench.add(), 'revoked_api_key')
  await expectRefusal(bench.add({ key: 'k' }), 'revoked_api_key')
})

// ── Races that are too rare to wait for ────────────────────────────────────────────────────────────────────

/** Runs the statements in a transaction of another process, which is open until `work` has ended. */
const whileOpen = async (statements: (client: pg.Client) => Promise<unknown>, work: () => Promise<void>) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin')
    await statements(client)
    await work()
    await client.query('commit')
  } finally {
    await client.end()
  }
}

test('a run that is queued behind one that ends at this moment is released by that end', async () => {
  const bench = await makeBench(engine)
  await bench.add({ key: 'k' })
  const [running] = await bench.claim()
  let finishing: Promise<unknown> | undefined
  let isFinished = false
  // This is the case in which the claim came between the two round trips of the request.
  await whileOpen(
    async (client) => {
      await client.query(
        `insert into cubby_run_8 (seq, task_id, id, status, key, run_at, attempt, held, created_at, updated_at, payload)
         values (nextval('cubby_record_id'), ${bench.task.id}, 'behind', 'queued', 'k'::bytea, 1, 0, false, 1, 1, '{}')`,
      )
      const { rowCount } = await client.query(holdKey.text, [bench.task.id, Buffer.from('k')])
      expect(rowCount).toBe(1)
    },
    async () => {
      finishing = bench.finish(running!).then(() => {
        isFinished = true
      })
      await Bun.sleep(100)
      expect(isFinished).toBe(false)
    },
  )
  await finishing
  expect((await bench.claim()).map(({ id }) => id)).toEqual(['behind'])
  await expectSound(engine)
})

// Claims of a task with a limit lock its row, one after the other. A look that skipped it would come too late, again and again.
test('a schedule whose task is locked at this moment is served when the lock ends', async () => {
  await makeBench(engine, { schedule: { every: 31_536_000, payload: '{}' } })
  await server.query('update cubby_task_8 set next_run_at = 1', url)
  let firing: Promise<{ created: unknown[] }> | undefined
  await whileOpen(
    (client) => client.query('select 1 from cubby_task_8 for update'),
    async () => {
      firing = engine.runs.fireSchedules(0, 10)
      await eventually('it waits for the lock', async () => {
        const waiting = await server.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          url,
        )
        return waiting.length > 0 ? true : undefined
      })
    },
  )
  expect((await firing!).created).toHaveLength(1)
  expect((await engine.runs.fireSchedules(0, 10)).created).toEqual([])
})

// Another process may be unable to read what one stores: it knows fewer time zones.
test('a schedule that this process cannot tell the next time of keeps no other from its runs', async () => {
  const strange = await makeBench(engine, { schedule: { cron: '0 0 1 1 *', timezone: 'Europe/Berlin', payload: '{}' } })
  const plain = await makeBench(
    engine,
    { schedule: { every: 31_536_000, payload: '{}' } },
    { tenant: strange.tenant, name: 'plain' },
  )
  await server.query(
    `update cubby_task_8 set next_run_at = 1, declaration = replace(declaration, 'Europe/Berlin', 'Europe/Atlantis')`,
    url,
  )
  for (const [unknown, created] of [
    [1, [{ taskId: plain.task.id }]],
    [1, []],
  ]) {
    expect(await engine.runs.fireSchedules(0, 10)).toMatchObject({ unknown, created } as object)
  }
  expect(await engine.runs.count(strange.task, 'queued', whole, 10, 0)).toMatchObject({ count: 0 })
})

test('a lease that was extended between the look and the lock does not expire', async () => {
  const bench = await makeBench(engine)
  await bench.add()
  const [run] = await bench.claim(1, 30_000)
  const nowMs = run!.leaseUntilMs!
  const task = { tableId: 1, declaration: declared, updatedAtMs: 1, nextRunAtMs: null, servedAtMs: null, secrets: [] }
  const change = (atMs: number) =>
    leaseChange(run!, { ...task, isActive: true, organizationIsActive: true, nowMs: atMs }, new Set())
  expect(change(nowMs - 1)).toBeUndefined()
  expect(change(nowMs)).toMatchObject({ status: 'queued', error: { code: 'lease_expired' } })
})

// ── Verify and copy ────────────────────────────────────────────────────────────────────────────────────────

describe('verify finds', () => {
  const wrongs: [string, string, string][] = [
    ['a lease that cannot be', `lease = 'x'`, 'it is queued, with a lease'],
    ['an end that cannot be', 'finished_at = 1', 'it is queued, with a time of its end'],
    ['a run held by none', 'held = true', 'it waits for a run of its key that is not running'],
    ['a run without a task', 'task_id = 999', 'its task does not exist'],
    ['a payload that is not JSON', `payload = '{'`, 'its payload is not JSON'],
    ['an error that is not JSON', `error = 'oops'`, 'its error is not JSON'],
    ['a number that was never given out', 'seq = 9000000000', 'its number was never given out'],
  ]
  test.each(wrongs)('%s', async (_, change, finding) => {
    const bench = await makeBench(engine)
    const run = await bench.add()
    await expectSound(engine)
    await server.query(`update cubby_run_8 set ${change}`, url)
    const taskId = change.startsWith('task_id') ? 999 : bench.task.id
    expect(await findings()).toEqual([`run ${run.id} (task ${taskId}): ${finding}`])
  })

  test('a run that should wait for its key, a task without a declaration, a declaration without a task', async () => {
    const bench = await makeBench(engine)
    await bench.add({ key: 'k' })
    await bench.claim()
    const behind = await bench.add({ key: 'k' })
    await server.query(`update cubby_run_8 set held = false where id = '${behind.id}'`, url)
    expect(await findings()).toEqual([`run ${behind.id} (task ${bench.task.id}): it does not wait for its key`])
    await server.query(`update cubby_run_8 set held = true where id = '${behind.id}'`, url)
    await server.query('update cubby_task_8 set table_id = 999', url)
    expect(await findings()).toEqual([
      `task ${bench.task.id} has no declaration`,
      'the declaration 999 belongs to no task',
    ])
  })

  test('a task that was purged since it was listed is no finding', async () => {
    const client = new pg.Client(url)
    await client.connect()
    const read: Read = (...steps) =>
      Promise.all(
        steps.map(async ({ statement: { text }, values }) => {
          const { rows, rowCount } = await client.query<Row>({ text, values, rowMode: 'array' })
          return { rows, count: rowCount ?? 0 }
        }),
      )
    try {
      expect(await Array.fromAsync(checkRunsOf(read, 999))).toEqual([])
    } finally {
      await client.end()
    }
  })
})

test('a store with tasks and runs is copied as it is, twice over, and goes on numbering', async () => {
  const bench = await makeBench(engine, { url: 'https://example.com/', concurrency: 2 })
  await bench.add({ key: 'k\0' })
  await engine.runs.claimPushes(bench.task, 1, 0)
  await bench.add({ key: 'k\0', payload: '{"é":"\\u0000"}' })
  await bench.add({ payload: JSON.stringify({ text: 'x'.repeat(300_000) }) })
  const read = async (from: Engine) => {
    const dump = await from.transfer.openDump()
    try {
      const [tasks, chunks] = [await Array.fromAsync(dump.tasks()), await Array.fromAsync(dump.runs(0))]
      const tables = await Array.fromAsync(dump.tables())
      return { tables, tasks, runs: chunks.flat(), count: await dump.countRuns() }
    } finally {
      await dump.close()
    }
  }
  const { tables, tasks, runs, count } = await read(engine)
  expect([tasks.length, runs.length, count]).toEqual([1, 3, 3])
  const target = await server.createDatabase()
  const other = await openPostgresEngine({ url: target, leaseMs: 20 })
  try {
    const organizations = (await engine.organizations.list()).map((one) => ({ ...one, purging: false }))
    for (let i = 0; i < 2; i++) await other.transfer.load({ organizations, tables, tasks, runs })
    expect(await read(other)).toEqual({ tables, tasks, runs, count })
    expect(await other.transfer.lastRunSeq()).toBe(runs.at(-1)!.seq)
    const { operator } = bench.tenant
    const added = await other.runs.add(operator, bench.task, newRun(), 0)
    expect(added.run.seq).toBeGreaterThan(runs.at(-1)!.seq)
    await expectSound(other)
  } finally {
    await other.close()
  }
})
