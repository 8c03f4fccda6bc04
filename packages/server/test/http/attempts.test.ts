import { beforeEach, describe, expect, test } from 'bun:test'
import { eventually, type Json } from '../harness.ts'
import { inParallel, ok, refused, useService } from './service.ts'
import { makeTask, type TestTask } from './task.ts'

const service = useService({ clock: true })
beforeEach(() => service.server.setClock(0))

describe('claim', () => {
  test('hands out due runs with a lease, in the order of runAt, then creation', async () => {
    const task = await makeTask(service.api, { leaseSeconds: 60 })
    const now = Date.now()
    await task.run({ id: 'late', runAt: now - 1_000 })
    await task.run({ id: 'early', runAt: now - 5_000 })
    await task.run({ id: 'also-late', runAt: now - 1_000 })
    await task.run({ id: 'future', delaySeconds: 1_000 })
    const runs = await task.claim({ limit: 100 })
    expect(runs.map(({ id }) => id)).toEqual(['early', 'late', 'also-late'])
    for (const run of runs) {
      expect(Object.keys(run).slice(-2)).toEqual(['lease', 'leaseUntil'])
      expect(run).toMatchObject({ status: 'running', attempt: 1 })
      expect(run.leaseUntil - run.updatedAt).toBeGreaterThan(59_000)
      expect(run.leaseUntil - run.updatedAt).toBeLessThan(61_000)
    }
    expect(new Set(runs.map(({ lease }) => lease)).size).toBe(3)
    const { lease: _, leaseUntil: __, ...shown } = runs[0]!
    expect(await task.read('early')).toEqual(shown)
    expect(await task.claim({ limit: 100 })).toEqual([])
  })

  test('takes one run by default, also with an empty body, and its own leaseSeconds', async () => {
    const task = await makeTask(service.api)
    for (const id of ['a', 'b', 'c']) await task.run({ id })
    expect((await task.claim()).map(({ id }) => id)).toEqual(['a'])
    const [b] = await task.claim({ leaseSeconds: 3_600 })
    expect(Math.abs(b!.leaseUntil - b!.updatedAt - 3_600_000)).toBeLessThan(1_000)
  })

  test('refuses what is malformed, and a task whose runs are pushed', async () => {
    const task = await makeTask(service.api)
    for (const [body, field] of [
      [{ limit: 101 }, 'limit'],
      [{ limit: 0 }, 'limit'],
      [{ leaseSeconds: 3_601 }, 'leaseSeconds'],
      [{ leaseSeconds: 0 }, 'leaseSeconds'],
      [{ waitSeconds: 21 }, 'waitSeconds'],
      [{ wait: 5 }, 'wait'],
    ] as const) {
      refused(await task.tryClaim(body), 400, 'invalid_request', field)
    }
    const pushed = await makeTask(service.api, { url: 'https://example.com/hook', paused: true })
    expect(refused(await pushed.tryClaim(), 400, 'invalid_request').message).toContain('has a url')
  })

  test('hands out nothing of a paused or deleted task; attempts that are running may finish', async () => {
    const task = await makeTask(service.api)
    const [first, second] = [await task.claimNew(), await task.claimNew()]
    await task.run()
    await task.declare({ paused: true })
    expect(await task.claim({ limit: 10 })).toEqual([])
    await task.finish(first)
    ok(await task.api.delete(task.path))
    refused(await task.tryClaim(), 404, 'task_not_found')
    refused(await task.get(second.id), 404, 'task_not_found')
    ok(await task.extend(second))
    expect(await task.finish(second, { result: { n: 1 } })).toMatchObject({ status: 'succeeded', task: task.name })
    ok(await task.api.post(`${task.path}/restore`))
    await task.declare({ paused: false })
    expect(await task.read(second.id)).toMatchObject({ status: 'succeeded', result: { n: 1 } })
    expect(await task.claim({ limit: 10 })).toHaveLength(1)
  })

  test('of a task that was deleted and declared anew, the old attempts still finish', async () => {
    const task = await makeTask(service.api)
    const old = await task.claimNew({ id: 'a' })
    const other = await task.claimNew({ id: 'b' })
    ok(await task.api.delete(task.path))
    await task.declare()
    refused(await task.get('a'), 404, 'run_not_found')
    expect(await task.finish(old)).toMatchObject({ id: 'a', status: 'succeeded' })
    // The new task has a run of that id too: a lease belongs to one of them only.
    const anew = await task.claimNew({ id: 'b' })
    expect(await task.finish(other, { result: { of: 'old' } })).toMatchObject({ result: { of: 'old' } })
    expect((await task.read('b')).status).toBe('running')
    expect(await task.finish(anew, { result: { of: 'new' } })).toMatchObject({ result: { of: 'new' } })
    refused(await task.tryFinish({ id: 'a', lease: 'lease_0' }), 409, 'lease_lost')
    refused(await task.tryFinish({ id: 'none', lease: 'lease_0' }), 404, 'run_not_found')
  })

  test('of a task whose name was deleted more than once, they finish too', async () => {
    const task = await makeTask(service.api)
    const old = await task.claimNew({ id: 'a' })
    ok(await task.api.delete(task.path))
    await task.declare()
    const next = await task.claimNew({ id: 'b' })
    ok(await task.api.delete(task.path))
    ok(await task.extend(old))
    expect(await task.finish(old)).toMatchObject({ id: 'a', status: 'succeeded' })
    await task.declare()
    expect(await task.finish(next)).toMatchObject({ id: 'b', status: 'succeeded' })
    refused(await task.tryFinish({ id: 'a', lease: 'lease_0' }), 409, 'lease_lost')
    refused(await task.tryFinish({ id: 'none', lease: 'lease_0' }), 404, 'run_not_found')
  })

  test('keeps to the concurrency', async () => {
    const task = await makeTask(service.api, { concurrency: 2 })
    for (let i = 0; i < 4; i++) await task.run()
    const runs = await task.claim({ limit: 10 })
    expect(runs).toHaveLength(2)
    expect(await task.claim({ limit: 10 })).toEqual([])
    await task.finish(runs[0]!)
    expect(await task.claim({ limit: 10 })).toHaveLength(1)
  })

  test('has at most 1 MiB of payload, but at least one run', async () => {
    const task = await makeTask(service.api)
    const payload = { a: 'a'.repeat(400_000) }
    for (let i = 0; i < 5; i++) await task.run({ payload })
    expect(await task.claim({ limit: 100 })).toHaveLength(2)
    expect(await task.claim({ limit: 100 })).toHaveLength(2)
    expect(await task.claim({ limit: 100 })).toHaveLength(1)
  })

  test('gives each run to one caller only', async () => {
    const task = await makeTask(service.api)
    const operations = Array.from({ length: 25 }, () => ({ op: 'run' }))
    for (let i = 0; i < 4; i++) ok(await task.tryBatch(operations))
    const claimed: string[] = []
    await inParallel(
      Array.from({ length: 40 }, (_, i) => i),
      8,
      async () => {
        for (const { id } of await task.claim({ limit: 3 })) claimed.push(id)
      },
    )
    expect([claimed.length, new Set(claimed).size]).toEqual([100, 100])
  })
})

describe('extend', () => {
  test('moves the end of the lease, even back, and shows progress; without it the version stays', async () => {
    const task = await makeTask(service.api, { leaseSeconds: 60 })
    const claimed = await task.claimNew()
    const before = Date.now()
    const { leaseUntil, ...others } = ok(await task.extend(claimed, { leaseSeconds: 3_000 }))
    expect(others).toEqual({})
    expect(leaseUntil - 3_000_000).toBeGreaterThanOrEqual(before)
    expect(leaseUntil - 3_000_000).toBeLessThanOrEqual(Date.now())
    expect((await task.read(claimed.id)).updatedAt).toBe(claimed.updatedAt)
    const back = ok(await task.extend(claimed, { progress: { done: 1.5 } })).leaseUntil
    expect(back).toBeLessThan(leaseUntil - 2_000_000)
    const shown = await task.read(claimed.id)
    expect(shown).toMatchObject({ progress: { done: 1.5 }, status: 'running' })
    expect(shown.updatedAt).toBeGreaterThan(claimed.updatedAt)
    const raw = `{"lease":${JSON.stringify(claimed.lease)},"progress":{ "n":1.0 }}`
    ok(await task.api.post(task.at(claimed.id, 'extend'), raw))
    expect((await task.get(claimed.id)).text).toContain('"progress":{ "n":1.0 }')
  })

  test('refuses a lease of another, and what is malformed', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew()
    refused(await task.extend({ ...claimed, lease: 'x' }), 409, 'lease_lost', 'lease')
    refused(await task.extend({ id: claimed.id }), 400, 'invalid_request', 'lease')
    refused(await task.extend(claimed, { progress: { a: 'a'.repeat(4_096) } }), 400, 'invalid_request', 'progress')
    refused(await task.extend({ ...claimed, id: 'none' }), 404, 'run_not_found')
    refused(await task.api.post(task.at(claimed.id, 'extend'), ''), 400, 'invalid_json')
  })
})

describe('finish', () => {
  test('with a result has succeeded; repeated it is the run as it is, even with another result', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew()
    const raw = `{"lease":${JSON.stringify(claimed.lease)},"result":{ "n":1.0 }}`
    const answer = await task.api.post(task.at(claimed.id, 'finish'), raw)
    expect(answer.text).toContain('"result":{ "n":1.0 }')
    const done = ok(answer)
    expect(done).toMatchObject({ status: 'succeeded', error: null, attempt: 1 })
    expect(Object.keys(done)).not.toContain('lease')
    expect(ok(await task.tryFinish(claimed, { result: { n: 2 } }))).toEqual(done)
    expect(ok(await task.tryFinish(claimed, { error: { message: 'late' } }))).toEqual(done)
    refused(await task.tryFinish({ ...claimed, lease: 'x' }), 409, 'lease_lost')
  })

  test('with an error is queued again after the backoff, and the lease is recognized until the next attempt', async () => {
    const task = await makeTask(service.api, { backoffSeconds: 100 })
    const claimed = await task.claimNew()
    const failed = await task.fail(claimed)
    expect(failed).toMatchObject({ status: 'queued', attempt: 1, error: { code: 'worker', message: 'no' } })
    const waitMs = failed.runAt - failed.updatedAt
    expect(waitMs).toBeGreaterThanOrEqual(49_900)
    expect(waitMs).toBeLessThanOrEqual(100_100)
    expect(ok(await task.tryFinish(claimed))).toEqual(failed)
    expect(await task.claim()).toEqual([])
  })

  test('takes retryAfter without jitter, and loses its lease when a new attempt has begun', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew()
    const day = await task.fail(claimed, { retryAfter: 1_000_000 })
    expect(Math.abs(day.runAt - day.updatedAt - 86_400_000)).toBeLessThan(100)
    const other = await task.claimNew()
    expect(await task.fail(other, { retryAfter: 0 })).toMatchObject({ status: 'queued' })
    const [again] = await task.claim()
    expect(again).toMatchObject({ id: other.id, attempt: 2, error: { code: 'worker', message: 'no' } })
    refused(await task.tryFinish(other), 409, 'lease_lost')
    expect(await task.finish(again!)).toMatchObject({ status: 'succeeded', error: { code: 'worker', message: 'no' } })
  })

  test('fails for good when the attempts are used up, or with retry: false', async () => {
    const task = await makeTask(service.api, { attempts: 2 })
    await task.fail(await task.claimNew(), { retryAfter: 0 })
    const last = await task.fail((await task.claim())[0])
    expect(last).toMatchObject({ status: 'failed', attempt: 2 })
    expect(await task.fail(await task.claimNew(), { retry: false })).toMatchObject({ status: 'failed', attempt: 1 })
  })

  test('refuses what does not fit together, and cuts long messages', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew()
    const error = { message: 'no' }
    for (const [body, field] of [
      [{ result: {}, error }, 'error'],
      [{ retry: false }, 'retry'],
      [{ error, retry: false, retryAfter: 5 }, 'retryAfter'],
      [{ error: {} }, 'error.message'],
    ] as const) {
      refused(await task.tryFinish(claimed, body), 400, 'invalid_request', field)
    }
    const failed = await task.finish(claimed, { error: { message: '😀'.repeat(1_001) }, retry: false })
    expect(failed.error.message).toBe('😀'.repeat(1_000))
  })

  test('takes messages with any character', async () => {
    const task = await makeTask(service.api)
    const text = '{"message":"a\\u0000b\\ud800c\\n"}'
    const claimed = await task.claimNew()
    const body = `{"lease":${JSON.stringify(claimed.lease)},"error":${text},"retry":false}`
    expect(ok(await task.api.post(task.at(claimed.id, 'finish'), body)).error.message).toBe('a\0b\ufffdc\n')
    expect((await task.read(claimed.id)).error.message).toBe('a\0b\ufffdc\n')
  })
})

describe('a lease that has expired', () => {
  const untilExpired = (task: TestTask, id: string): Promise<Json> =>
    eventually('the lease expires', async () => {
      const run = await task.read(id)
      return run.status === 'queued' ? run : undefined
    })

  test('is lost at once, and shows as a failed attempt within a second', async () => {
    const task = await makeTask(service.api, { backoffSeconds: 1 })
    const claimed = await task.claimNew({}, { leaseSeconds: 60 })
    service.server.setClock(61_000)
    refused(await task.extend(claimed), 409, 'lease_lost', 'lease')
    refused(await task.tryFinish(claimed), 409, 'lease_lost', 'lease')
    const shown = await untilExpired(task, claimed.id)
    expect(shown).toMatchObject({ attempt: 1, error: { code: 'lease_expired' } })
    refused(await task.tryFinish(claimed), 409, 'lease_lost', 'lease')
    // The backoff is over then.
    service.server.setClock(71_000)
    const [again] = await task.claim()
    expect(again).toMatchObject({ id: claimed.id, attempt: 2 })
  })

  test('was extended in time: the attempt goes on', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew({}, { leaseSeconds: 60 })
    const other = await task.claimNew({}, { leaseSeconds: 60 })
    ok(await task.extend(claimed, { leaseSeconds: 600 }))
    service.server.setClock(61_000)
    // Once the lease of another run has expired, the look for expired leases has passed this one by.
    await untilExpired(task, other.id)
    expect(await task.finish(claimed)).toMatchObject({ status: 'succeeded', attempt: 1 })
  })
})
