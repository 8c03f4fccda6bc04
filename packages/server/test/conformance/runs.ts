import { expect } from 'bun:test'
import { timeBounds } from '../../src/core/records/range.ts'
import type { TimeScan } from '../../src/core/records/scan.ts'
import type { Declaration } from '../../src/core/tasks/declaration.ts'
import type { Finish, NewRun, Run } from '../../src/core/tasks/run.ts'
import { newRunId } from '../../src/core/tasks/run-id.ts'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Condition } from '../../src/store/records.ts'
import type { RunChange } from '../../src/store/runs.ts'
import type { Case } from '../engine-conformance.ts'
import { expectSound } from '../engine-conformance.ts'
import { expectRefusal, makeTenant, putOf, type Tenant } from './fixture.ts'

// An engine whose database has a clock goes by that one. So these cases use the real time, and wait some milliseconds.

export const declared: Declaration = {
  ...{ url: null, authorization: null, leaseSeconds: 30, attempts: 3, backoffSeconds: 1, concurrency: null },
  ...{ keepSeconds: 3_600, paused: false, schedule: null, on: null },
}

/** One task of one organization. */
export const makeBench = async (
  engine: Engine,
  declaration: Partial<Declaration> = {},
  at: { tenant?: Tenant; name?: string } = {},
) => {
  const tenant = at.tenant ?? (await makeTenant(engine))
  const name = at.name ?? 'mail'
  const declare = async (more: Partial<Declaration> = {}, condition?: Condition) => {
    const whole = { ...declared, ...declaration, ...more, keepsAuthorization: false, newSecret: newTaskSecret() }
    return engine.tasks.declare(tenant.caller, 'app', name, whole, condition, Date.now())
  }
  const result = await declare()
  if (!result.applied) throw new Error('the task was not declared')
  const { task } = result
  const { caller } = tenant
  return {
    ...{ tenant, task, declare },
    async add(run: Partial<NewRun> = {}): Promise<Run> {
      const whole = { id: newRunId(), isNamed: false, key: null, payload: '{}', at: { delayMs: 0 }, ...run }
      const added = await engine.runs.add(caller, task, whole, Date.now())
      if ('refused' in added) throw new Error(`the run was refused: ${added.refused}`)
      return added.run
    },
    claim: (limit = 1, leaseMs?: number): Promise<Run[]> =>
      engine.runs.claim(caller, task, { limit, leaseMs }, Date.now()),
    finish: (run: Run, how: { error?: string; retry?: boolean; retryAfterMs?: number; result?: string } = {}) => {
      const { error, retry = true, retryAfterMs = null, result = null } = how
      const finish: Finish =
        error === undefined
          ? { lease: run.lease!, result }
          : { lease: run.lease!, error: { code: 'worker', message: error }, retry, retryAfterMs }
      return engine.runs.finish(caller, task, run.id, finish, Date.now())
    },
    extend: (run: Run, leaseMs: number, progress?: string) =>
      engine.runs.extend(caller, task, run.id, { lease: run.lease!, leaseMs, progress }, Date.now()),
    cancel: (run: Run) => engine.runs.cancel(caller, task, run.id, Date.now()),
    retry: (run: Run) => engine.runs.retry(caller, task, run.id, Date.now()),
    get: async (run: Pick<Run, 'id'>) => engine.runs.get(task, run.id, Date.now()),
    state: async () => (await engine.tasks.read([task], Date.now()))[0],
  }
}

const runOf = (change: RunChange): Run => {
  if ('refused' in change) throw new Error(`refused: ${change.refused}`)
  return change.run
}

const newest: TimeScan = { index: 't', ...timeBounds(undefined), lowId: 0, highId: 0, descending: true }

const ids = (runs: Run[]): string[] => runs.map(({ id }) => id)

export const runCases = (test: Case): void => {
  test('a run is added, claimed and finished, and each step is a new version', async ({ engine }) => {
    const bench = await makeBench(engine)
    const added = await bench.add({ payload: '{"n":1.10}' })
    expect(added).toMatchObject({ status: 'queued', payload: '{"n":1.10}', attempt: 0, key: null, held: false })
    expect(await bench.get(added)).toEqual(added)
    const [claimed] = await bench.claim()
    expect(claimed).toMatchObject({ id: added.id, status: 'running', attempt: 1, payload: '{"n":1.10}' })
    expect(claimed!.leaseUntilMs! - claimed!.updatedAtMs).toBeGreaterThan(25_000)
    expect(claimed!.updatedAtMs).toBeGreaterThan(added.updatedAtMs)
    expect(await bench.claim()).toEqual([])
    const finished = runOf(await bench.finish(claimed!, { result: '{"ok":1e2}' }))
    expect(finished).toMatchObject({ status: 'succeeded', result: '{"ok":1e2}', error: null, lease: null })
    expect(finished.finishedAtMs).not.toBeNull()
    expect(await bench.get(added)).toEqual(finished)
    expect(runOf(await bench.finish(claimed!, { error: 'late' }))).toEqual(finished)
    await expectSound(engine)
  })

  test('claims go by runAt, then creation, and not ahead of time', async ({ engine }) => {
    const bench = await makeBench(engine)
    const now = Date.now()
    const [a, b, c] = [
      await bench.add({ at: { runAtMs: now - 1_000 } }),
      await bench.add({ at: { runAtMs: now - 2_000 } }),
      await bench.add({ at: { runAtMs: now - 1_000 } }),
    ]
    await bench.add({ at: { delayMs: 60_000 } })
    expect((await bench.state())!.oldestRunAtMs).toBe(now - 2_000)
    expect(ids(await bench.claim(10))).toEqual(ids([b, a, c]))
    expect((await bench.state())!.oldestRunAtMs).toBeNull()
  })

  test('runs are counted by status, up to a limit, without those that are no longer kept', async ({ engine }) => {
    const bench = await makeBench(engine, { keepSeconds: 60, attempts: 1 })
    const other = await makeBench(engine, {}, { tenant: bench.tenant, name: 'other' })
    const counted = async (most: number, nowMs = Date.now()) =>
      (await engine.tasks.read([bench.task, other.task], nowMs, most)).map((state) => state!.counts!)
    await other.add()
    for (let i = 0; i < 4; i++) await bench.add({ at: { delayMs: 60_000 } })
    for (let i = 0; i < 5; i++) await bench.add()
    const claimed = await bench.claim(5)
    await bench.finish(claimed[0]!)
    await bench.finish(claimed[1]!, { error: 'no' })
    const cancelled = runOf(await bench.cancel(claimed[2]!))
    const one = { queued: 4, running: 2, succeeded: 1, failed: 1, cancelled: 1 }
    const none = { queued: 1, running: 0, succeeded: 0, failed: 0, cancelled: 0 }
    expect(await counted(5)).toEqual([one, none])
    expect(await counted(4)).toEqual([one, none])
    expect(await counted(3)).toEqual([{ ...one, queued: 3 }, none])
    expect((await bench.state())!.counts).toBeUndefined()
    await bench.declare({ keepSeconds: 0 })
    // A version may be ahead of the clock by some milliseconds.
    while (Date.now() <= cancelled.updatedAtMs) await Bun.sleep(1)
    expect(await counted(5)).toEqual([{ ...one, succeeded: 0, failed: 0, cancelled: 0 }, none])
  })

  test('a chosen id makes the call repeatable while the run is kept', async ({ engine }) => {
    const bench = await makeBench(engine)
    const run = await bench.add({ id: 'order-1', isNamed: true, payload: '{"a":1}' })
    expect(await bench.add({ id: 'order-1', isNamed: true, payload: '{"a":1}', at: { delayMs: 9_000 } })).toEqual(run)
    const other = { id: 'order-1', isNamed: true, key: null, payload: '{"a":2}', at: { delayMs: 0 } }
    const refused = await engine.runs.add(bench.tenant.caller, bench.task, other, Date.now())
    expect(refused).toEqual({ refused: 'exists', run })
    const two = await makeBench(engine, {}, { tenant: bench.tenant, name: 'other' })
    expect((await two.add({ id: 'order-1', isNamed: true, payload: '{"a":2}' })).taskId).toBe(two.task.id)
  })

  test('of a key one is queued and one runs; a request is never lost', async ({ engine }) => {
    const bench = await makeBench(engine)
    const first = await bench.add({ key: 'k', payload: '{"n":1}', at: { delayMs: 60_000 } })
    const merged = await bench.add({ key: 'k', payload: '{"n":2}' })
    expect(merged).toMatchObject({ id: first.id, payload: '{"n":2}' })
    expect(merged.runAtMs).toBeLessThan(first.runAtMs)
    expect(merged.updatedAtMs).toBeGreaterThan(first.updatedAtMs)
    const [running] = await bench.claim()
    expect(running!.id).toBe(first.id)
    const behind = await bench.add({ key: 'k', payload: '{"n":3}' })
    expect(behind).toMatchObject({ held: true, status: 'queued' })
    expect(behind.id).not.toBe(first.id)
    expect(await bench.claim(10)).toEqual([])
    expect((await bench.state())!.oldestRunAtMs).toBe(behind.runAtMs)
    expect(await engine.runs.dueAmong([bench.task.id], Date.now())).toEqual([])
    await expectSound(engine)
    await bench.finish(running!)
    expect(await engine.runs.dueAmong([bench.task.id], Date.now())).toEqual([bench.task.id])
    expect(ids(await bench.claim(10))).toEqual([behind.id])
    await expectSound(engine)
  })

  test('an attempt that fails while its key is queued is cancelled, out of attempts failed', async ({ engine }) => {
    const bench = await makeBench(engine, { attempts: 2 })
    await bench.add({ key: 'k' })
    const [first] = await bench.claim()
    await bench.add({ key: 'k' })
    expect(runOf(await bench.finish(first!, { error: 'no' }))).toMatchObject({
      status: 'cancelled',
      error: { code: 'worker', message: 'no' },
    })
    const [second] = await bench.claim()
    expect(runOf(await bench.finish(second!, { error: 'no', retryAfterMs: 0 }))).toMatchObject({ status: 'queued' })
    const [again] = await bench.claim()
    expect(again).toMatchObject({ id: second!.id, attempt: 2 })
    await bench.add({ key: 'k' })
    expect(runOf(await bench.finish(again!, { error: 'no' })).status).toBe('failed')
    await expectSound(engine)
  })

  test('a failed attempt waits for its backoff, and a request does not defeat it', async ({ engine }) => {
    const bench = await makeBench(engine, { backoffSeconds: 60 })
    await bench.add({ key: 'k' })
    const [claimed] = await bench.claim()
    const failed = runOf(await bench.finish(claimed!, { error: 'no' }))
    expect(failed.status).toBe('queued')
    const waitsMs = failed.runAtMs - Date.now()
    expect(waitsMs).toBeGreaterThan(25_000)
    expect(waitsMs).toBeLessThanOrEqual(60_000)
    expect((await bench.add({ key: 'k', payload: '{"new":1}' })).runAtMs).toBe(failed.runAtMs)
    expect(await bench.claim()).toEqual([])
  })

  test('a lease that has expired is lost, and the attempt counts as failed', async ({ engine }) => {
    const bench = await makeBench(engine, { attempts: 2 })
    await bench.add({ key: 'k' })
    const [claimed] = await bench.claim(1, 40)
    await Bun.sleep(60)
    expect(await bench.finish(claimed!)).toEqual({ refused: 'lease_lost' })
    expect(await bench.extend(claimed!, 1_000)).toEqual({ refused: 'lease_lost' })
    expect((await bench.get(claimed!))!.status).toBe('running')
    expect(await engine.runs.expireLeases(Date.now(), 10)).toEqual([{ taskId: bench.task.id, id: claimed!.id }])
    expect(await bench.get(claimed!)).toMatchObject({ status: 'queued', error: { code: 'lease_expired' }, lease: null })
    expect(await bench.finish(claimed!)).toEqual({ refused: 'lease_lost' })
    expect(await engine.runs.expireLeases(Date.now(), 10)).toEqual([])
  })

  test('an extension moves the lease, also to an earlier time, and shows progress', async ({ engine }) => {
    const bench = await makeBench(engine)
    await bench.add()
    const [claimed] = await bench.claim(1, 60_000)
    const extended = runOf(await bench.extend(claimed!, 30_000))
    expect(extended.leaseUntilMs).toBeLessThan(claimed!.leaseUntilMs!)
    expect(extended.updatedAtMs).toBe(claimed!.updatedAtMs)
    const told = runOf(await bench.extend(claimed!, 30_000, '{"done":0.50}'))
    expect(told).toMatchObject({ progress: '{"done":0.50}' })
    expect(told.updatedAtMs).toBeGreaterThan(claimed!.updatedAtMs)
    expect(await bench.extend({ ...claimed!, lease: 'another' }, 1)).toEqual({ refused: 'lease_lost' })
    expect(await bench.extend({ ...claimed!, id: 'none' }, 1)).toEqual({ refused: 'missing' })
  })

  test('cancel ends everything of an attempt; retry begins again with all attempts', async ({ engine }) => {
    const bench = await makeBench(engine)
    await bench.add({ key: 'k' })
    const [claimed] = await bench.claim()
    const waiting = await bench.add({ key: 'k' })
    const cancelled = runOf(await bench.cancel(claimed!))
    expect(cancelled.status).toBe('cancelled')
    expect(runOf(await bench.cancel(claimed!))).toEqual(cancelled)
    expect(await bench.finish(claimed!)).toEqual({ refused: 'lease_lost' })
    expect(await bench.retry(claimed!)).toEqual({ refused: 'exists', run: cancelled })
    const [other] = await bench.claim()
    expect(other!.id).toBe(waiting.id)
    const again = runOf(await bench.retry(claimed!))
    expect(again).toMatchObject({ status: 'queued', attempt: 0, held: true, finishedAtMs: null, error: null })
    await expectSound(engine)
    const done = runOf(await bench.finish(other!))
    expect(await bench.cancel(other!)).toEqual({ refused: 'finished', run: done })
    expect(await bench.retry(again)).toMatchObject({ refused: 'exists' })
    expect(ids(await bench.claim(5))).toEqual([again.id])
  })

  test('never more at once than the task allows, none while it is paused', async ({ engine }) => {
    const bench = await makeBench(engine, { concurrency: 2 })
    for (let i = 0; i < 5; i++) await bench.add()
    const running = await bench.claim(5)
    expect(running).toHaveLength(2)
    expect(await bench.claim(5)).toEqual([])
    await bench.finish(running[0]!)
    expect(await bench.claim(5)).toHaveLength(1)
    await bench.declare({ paused: true, concurrency: 10 })
    expect(await bench.claim(5)).toEqual([])
    expect(await engine.runs.dueAmong([bench.task.id], Date.now())).toEqual([])
    expect((await bench.state())!.oldestRunAtMs).not.toBeNull()
    await bench.declare({ concurrency: 10 })
    expect(await bench.claim(5)).toHaveLength(2)
    // Lowered below what is running, it hands out none until enough have finished.
    for (let i = 0; i < 5; i++) await bench.add()
    await bench.declare({ concurrency: 2 })
    expect(await bench.claim(5)).toEqual([])
  })

  test('several claimers at once get each run once', async ({ engine, openBeside }) => {
    const bench = await makeBench(engine, { concurrency: 30 })
    await Promise.all(Array.from({ length: 40 }, () => bench.add()))
    const other = await openBeside()
    const mayWrite = await other.runs
      .claim(bench.tenant.caller, bench.task, { limit: 1, leaseMs: undefined }, Date.now())
      .then(
        (runs) => runs,
        () => undefined,
      )
    const engines = mayWrite === undefined ? [engine] : [engine, other]
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        engines[i % engines.length]!.runs.claim(
          bench.tenant.caller,
          bench.task,
          { limit: 4, leaseMs: undefined },
          Date.now(),
        ),
      ),
    )
    const claimed = [...(mayWrite ?? []), ...claims.flat()].map(({ id }) => id)
    expect(claimed).toHaveLength(30)
    expect(new Set(claimed).size).toBe(30)
  })

  test('a query goes by updatedAt, with a status, in pages, and counts', async ({ engine }) => {
    const bench = await makeBench(engine)
    const added: Run[] = []
    for (let i = 0; i < 5; i++) added.push(await bench.add({ payload: `{"i":${i}}` }))
    await Bun.sleep(2)
    const [claimed] = await bench.claim()
    const page = await engine.runs.scan(bench.task, undefined, newest, 3, Date.now())
    expect(ids(page.runs)[0]).toBe(claimed!.id)
    expect(page.runs).toHaveLength(3)
    const { range, id } = page.next!
    const rest = await engine.runs.scan(bench.task, undefined, { ...newest, high: range, highId: id }, 3, Date.now())
    expect(rest.next).toBeUndefined()
    expect(ids([...page.runs, ...rest.runs]).sort()).toEqual(ids(added).sort())
    const queued = await engine.runs.scan(bench.task, 'queued', { ...newest, descending: false }, 10, Date.now())
    expect(ids(queued.runs)).toEqual(ids(added).filter((one) => one !== claimed!.id))
    expect(await engine.runs.count(bench.task, 'queued', newest, 100, Date.now())).toEqual({
      count: 4,
      next: undefined,
    })
    const first = await engine.runs.count(bench.task, undefined, newest, 3, Date.now())
    expect(first.count).toBe(3)
    expect(first.next).toEqual(page.next!)
  })

  test('a page and a claim are bounded in bytes, but never empty', async ({ engine }) => {
    const bench = await makeBench(engine)
    const payload = JSON.stringify({ text: 'x'.repeat(400_000) })
    for (let i = 0; i < 4; i++) await bench.add({ payload })
    const page = await engine.runs.scan(bench.task, undefined, newest, 10, Date.now())
    expect(page.runs).toHaveLength(2)
    expect(page.next).toBeDefined()
    expect(await bench.claim(10)).toHaveLength(2)
    expect(await bench.claim(10)).toHaveLength(2)
  })

  test('finished ones vanish when their time is over, and the sweep removes them', async ({ engine }) => {
    const bench = await makeBench(engine)
    const run = await bench.add({ id: 'one', isNamed: true })
    const [claimed] = await bench.claim()
    await bench.finish(claimed!)
    expect(await engine.runs.sweepFinished(Date.now(), 10)).toBe(0)
    expect(await engine.runs.finishedAmong([{ taskId: bench.task.id, id: run.id }], Date.now())).toHaveLength(1)
    // The present value counts. Below the least that a request may declare, so that nobody has to wait.
    await bench.declare({ keepSeconds: 0 })
    expect(await bench.get(run)).toBeUndefined()
    expect((await engine.runs.scan(bench.task, undefined, newest, 10, Date.now())).runs).toEqual([])
    expect((await engine.runs.count(bench.task, undefined, newest, 10, Date.now())).count).toBe(0)
    expect(await bench.retry(run)).toEqual({ refused: 'missing' })
    const again = await bench.add({ id: 'one', isNamed: true, payload: '{"other":true}' })
    expect(again.status).toBe('queued')
    await expectSound(engine)
  })

  test('records and runs of a batch are written together or not at all', async ({ engine }) => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, Date.now())
    const run: NewRun = { id: newRunId(), isNamed: false, key: null, payload: '{"m":1}', at: { delayMs: 0 } }
    const put = (condition?: Condition) => putOf(table, 'o1', { data: { n: 1 }, condition })
    const add = { op: 'run' as const, task: bench.task, run }
    const refused = await engine.runs.applyBatch(
      caller,
      { parts: [{ table, records: [put('exists')] }], tasks: [add] },
      Date.now(),
    )
    expect(refused).toEqual({ applied: false, failedPart: 0, failedRecord: 0, current: undefined })
    expect(await bench.get(run)).toBeUndefined()
    const done = await engine.runs.applyBatch(
      caller,
      { parts: [{ table, records: [put('absent')] }], tasks: [add] },
      Date.now(),
    )
    expect(done).toMatchObject({ applied: true, runIds: [run.id] })
    const key = { hashKey: 'o1', rangeKey: putOf(table, 'o1').rangeKey }
    expect((await engine.records.get(table, key, Date.now()))!.data).toBe('{"n":1}')
    const [claimed] = await bench.claim()
    const finish = {
      op: 'finish' as const,
      task: bench.task,
      id: run.id,
      finish: { lease: claimed!.lease!, result: null },
    }
    const count = () =>
      engine.runs.applyBatch(caller, { parts: [{ table, records: [put()] }], tasks: [finish] }, Date.now())
    expect(await count()).toMatchObject({ applied: true, runIds: [run.id] })
    const version = (await engine.records.get(table, key, Date.now()))!.updatedAtMs
    expect(await count()).toEqual({ applied: false, failedTask: 0, refused: 'lease_lost' })
    expect((await engine.records.get(table, key, Date.now()))!.updatedAtMs).toBe(version)
    const named = { ...run, id: 'n', isNamed: true }
    const tasks = [
      { ...add, run: named },
      { ...add, run: { ...run, id: newRunId() } },
    ]
    expect(await engine.runs.applyBatch(caller, { parts: [], tasks }, Date.now())).toMatchObject({
      applied: true,
    })
    const clash = [
      { ...add, run: { ...run, id: newRunId() } },
      { ...add, run: { ...named, payload: '{}' } },
    ]
    expect(
      await engine.runs.applyBatch(caller, { parts: [{ table, records: [put()] }], tasks: clash }, Date.now()),
    ).toEqual({
      ...{ applied: false, failedTask: 1, refused: 'exists' },
    })
    expect(await bench.get(clash[0]!.run)).toBeUndefined()
    await expectSound(engine)
  })

  test('a reader that polls during batches never sees records without their runs, nor runs without records', async ({
    engine,
  }) => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, Date.now())
    const { rangeKey } = putOf(table, 'o')
    const batches = 30
    let written = 0
    const write = async (): Promise<void> => {
      for (; written < batches; written++) {
        const run = { id: `r${written}`, isNamed: true, key: null, payload: '{}', at: { delayMs: 0 } }
        const tasks = [{ op: 'run' as const, task: bench.task, run }]
        await engine.runs.applyBatch(
          caller,
          { parts: [{ table, records: [putOf(table, `o${written}`)] }], tasks },
          Date.now(),
        )
      }
    }
    /** Whichever is read first: if it is there, the other is too. */
    const read = async (runFirst: boolean): Promise<void> => {
      for (let n = 0; n < batches; ) {
        const looks = [
          async () => (await bench.get({ id: `r${n}` })) !== undefined,
          async () => (await engine.records.get(table, { hashKey: `o${n}`, rangeKey }, Date.now())) !== undefined,
        ]
        const [first, second] = runFirst ? looks : looks.reverse()
        if (await first!()) {
          expect([n, runFirst, await second!()]).toEqual([n, runFirst, true])
          n++
        } else await Bun.sleep(0)
      }
    }
    await Promise.all([write(), read(true), read(false)])
  })

  test('nothing of a deleted task is handed out, but its attempts may finish', async ({ engine }) => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    await bench.add()
    const waiting = await bench.add()
    const [claimed] = await bench.claim()
    const deleted = await engine.tasks.delete(caller, 'app', 'mail', undefined, Date.now())
    expect(deleted).toMatchObject({ applied: true })
    await expectRefusal(bench.claim(), 'task_not_found')
    await expectRefusal(bench.add(), 'task_not_found')
    await expectRefusal(bench.cancel(waiting), 'task_not_found')
    await expectRefusal(bench.retry(waiting), 'task_not_found')
    expect(runOf(await bench.extend(claimed!, 1_000)).status).toBe('running')
    expect(runOf(await bench.finish(claimed!)).status).toBe('succeeded')
    const run: NewRun = { id: newRunId(), isNamed: false, key: null, payload: '{}', at: { delayMs: 0 } }
    const batch = { parts: [], tasks: [{ op: 'run' as const, task: bench.task, run }] }
    await expectRefusal(engine.runs.applyBatch(caller, batch, Date.now()), 'task_not_found')
    await engine.tasks.restore(caller, 'app', 'mail', undefined, Date.now())
    const back = await engine.tasks.find(bench.tenant.org.id, 'app', 'mail')
    const runs = await engine.runs.claim(caller, back!, { limit: 9, leaseMs: undefined }, Date.now())
    expect(ids(runs)).toEqual([waiting.id])
  })

  test('pushes are found and claimed with what signs them; workers cannot claim them', async ({ engine }) => {
    const bench = await makeBench(engine, { url: 'https://example.com/hook', concurrency: 1 })
    await makeBench(engine, {}, { tenant: bench.tenant, name: 'pulled' }).then((other) => other.add())
    expect((await engine.runs.duePushes(Date.now())).tasks).toEqual([])
    const later = await bench.add({ at: { delayMs: 60_000 } })
    expect(await engine.runs.duePushes(Date.now())).toEqual({ tasks: [], nextAtMs: later.runAtMs, isMore: false })
    const now = await bench.add()
    await bench.add()
    expect(ids((await engine.runs.duePushes(Date.now())).tasks as never)).toEqual([bench.task.id as never])
    await expectRefusal(bench.claim(), 'invalid_request')
    const pushes = await engine.runs.claimPushes(bench.task, 10, Date.now())
    expect(ids(pushes!.runs)).toEqual([now.id])
    expect(pushes!.secrets).toHaveLength(1)
    expect(pushes!.declaration.url).toBe('https://example.com/hook')
    expect((await engine.runs.claimPushes(bench.task, 10, Date.now()))!.runs).toEqual([])
    await bench.declare({ paused: true })
    expect((await engine.runs.duePushes(Date.now())).tasks).toEqual([])
    await engine.tasks.delete(bench.tenant.caller, 'app', 'mail', undefined, Date.now())
    expect(await engine.runs.claimPushes(bench.task, 10, Date.now())).toBeUndefined()
  })

  test('organizations take turns on the list of due pushes, however long one of them waits', async ({ engine }) => {
    const url = 'https://example.com/'
    const many = await makeTenant(engine)
    const now = Date.now()
    const dueAt = async (tenant: Tenant, name: string, runAtMs: number): Promise<number> => {
      const bench = await makeBench(engine, { url }, { tenant, name })
      await bench.add({ at: { runAtMs } })
      return bench.task.id
    }
    const olds: number[] = []
    for (let i = 0; i < 4; i++) olds.push(await dueAt(many, `old-${i}`, now - 90_000 + i))
    const other = await makeTenant(engine, 'other')
    const others = [await dueAt(other, 'a', now - 2_000), await dueAt(other, 'b', now - 1_000)]
    await dueAt(other, 'later', now + 60_000)
    const { tasks, nextAtMs } = await engine.runs.duePushes(now)
    expect(tasks.map(({ id }) => id)).toEqual([olds[0]!, others[0]!, olds[1]!, others[1]!, olds[2]!, olds[3]!])
    expect(Math.abs(nextAtMs! - (now + 60_000))).toBeLessThan(10_000)
  })

  test('duePushes leaves out organizations and tasks that may hold no more pushes', async ({ engine }) => {
    const push = { url: 'https://example.com/hook' }
    const one = await makeBench(engine, push)
    const two = await makeBench(engine, push, { tenant: one.tenant, name: 'two' })
    const stranger = await makeBench(engine, push, { tenant: await makeTenant(engine, 'stranger') })
    for (const bench of [one, two, stranger]) await bench.add()
    const due = async (orgIds: number[], taskIds: number[]): Promise<number[]> => {
      const { tasks } = await engine.runs.duePushes(Date.now(), { orgIds, taskIds })
      return tasks.map(({ id }) => id).sort((a, b) => a - b)
    }
    expect(await due([], [])).toEqual([one.task.id, two.task.id, stranger.task.id])
    expect(await due([], [one.task.id])).toEqual([two.task.id, stranger.task.id])
    expect(await due([one.tenant.caller.orgId], [])).toEqual([stranger.task.id])
    expect(await due([one.tenant.caller.orgId], [stranger.task.id])).toEqual([])
  })

  test('a batch finishes a run of a key and runs keys, each as if it came alone', async ({ engine }) => {
    const bench = await makeBench(engine)
    const other = await makeBench(engine, {}, { tenant: bench.tenant, name: 'other' })
    await bench.add({ key: 'a' })
    const [running] = await bench.claim()
    const runOf = (key: string): NewRun => ({
      ...{ id: newRunId(), isNamed: false, key, payload: `"${key}"`, at: { delayMs: 0 } },
    })
    const finish = { lease: running!.lease!, error: { message: 'no' }, retry: true, retryAfterMs: 3_600_000 } as never
    const tasks = [
      { op: 'run' as const, task: other.task, run: runOf('x') },
      { op: 'run' as const, task: bench.task, run: runOf('b') },
      { op: 'finish' as const, task: bench.task, id: running!.id, finish },
      { op: 'run' as const, task: bench.task, run: runOf('c') },
    ]
    const batch = { parts: [], tasks }
    expect(await engine.runs.applyBatch(bench.tenant.caller, batch, Date.now())).toMatchObject({ applied: true })
    expect(await bench.get(running!)).toMatchObject({ status: 'queued', key: 'a' })
    expect((await bench.claim(10)).map(({ key }) => key).sort()).toEqual(['b', 'c'])
    expect((await other.claim(10)).map(({ key }) => key)).toEqual(['x'])
  })

  test('organizations take turns when many schedules are due, and when many leases end', async ({ engine }) => {
    const many = await makeTenant(engine)
    const make = (tenant: Tenant, name: string) =>
      makeBench(engine, { schedule: { every: 1, payload: '{}' } }, { tenant, name })
    const olds = await Promise.all(Array.from({ length: 6 }, (_, i) => make(many, `old-${i}`)))
    const other = await make(await makeTenant(engine, 'other'), 'new')
    await Bun.sleep(Math.max(0, (await other.state())!.nextRunAtMs! - Date.now()) + 20)
    const fired = await engine.runs.fireSchedules(Date.now(), 2)
    expect(fired.due).toBe(2)
    expect(fired.created.map(({ taskId }) => taskId)).toContain(other.task.id)
    // The same number of leases end: each task claims its run, the other organization last.
    await engine.runs.fireSchedules(Date.now(), 10)
    for (const bench of [...olds, other]) expect(await bench.claim(1, 100)).toHaveLength(1)
    await Bun.sleep(150)
    const expired = await engine.runs.expireLeases(Date.now(), 2)
    expect(expired).toHaveLength(2)
    expect(expired.map(({ taskId }) => taskId)).toContain(other.task.id)
  })

  test('a schedule creates one run at its time, and none while one is queued', async ({ engine }) => {
    const schedule = { every: 1, payload: '{"by":"clock"}' }
    const bench = await makeBench(engine, { schedule })
    const next = (await bench.state())!.nextRunAtMs!
    expect(next % 1_000).toBe(0)
    await Bun.sleep(Math.max(0, next - Date.now()) + 20)
    const fired = await engine.runs.fireSchedules(Date.now(), 10)
    expect(fired).toMatchObject({ due: 1, created: [{ taskId: bench.task.id }] })
    const run = await bench.get(fired.created[0]!)
    expect(run).toMatchObject({ key: 'schedule', payload: '{"by":"clock"}', runAtMs: next, status: 'queued' })
    const after = (await bench.state())!.nextRunAtMs!
    expect(after).toBeGreaterThan(next)
    // Declaring the same times again skips none.
    await Bun.sleep(Math.max(0, after - Date.now()) + 20)
    await bench.declare({ schedule: { ...schedule, payload: '{"new":1}' } })
    expect((await bench.state())!.nextRunAtMs).toBe(after)
    expect(await engine.runs.fireSchedules(Date.now(), 10)).toEqual({ due: 1, created: [] })
    await bench.declare({ paused: true })
    expect((await bench.state())!.nextRunAtMs).toBeNull()
  })
}
