import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Cubby, type Database, type FollowedPayload, type Handler } from '../src/index.ts'
import { PushError, verifyPush } from '../src/webhooks.ts'
import { RunFailed } from '../src/worker.ts'
import { failureOf } from './fake-fetch.ts'
import { until } from './fake-tasks.ts'
import { createOrganization, inTemporaryDirectory, type RealServer, serve, startRealServer } from './real-server.ts'

setDefaultTimeout(120_000)

let server: RealServer
let db: Database
beforeAll(async () => {
  server = await startRealServer(['--push-allow', '127.0.0.0/8'])
  db = server.cubby().db('app')
})
afterAll(() => server?.stop())

/** Works until `isDone`, then stops the worker. */
const workUntil = async (
  name: string,
  handler: Handler<Record<string, unknown>, Record<string, unknown>>,
  isDone: () => boolean | Promise<boolean>,
  options: { concurrency?: number; leaseSeconds?: number } = {},
) => {
  const stop = new AbortController()
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const ended = db.task(name).work(handler, { ...options, onError, signal: stop.signal })
  // A worker that ends by itself has failed.
  let isOver = false
  ended.catch(() => {}).then(() => (isOver = true))
  while (!isOver && !(await isDone())) await Bun.sleep(20)
  stop.abort()
  await ended
  return errors as { code?: string; message: string }[]
}

test('tasks are declared, described, listed, paused, resumed, dropped and restored', async () => {
  const declared = await db.tasks.declare('managed', { attempts: 3, schedule: { every: 86_400, payload: { a: 1 } } })
  expect(declared).toMatchObject({ task: 'managed', attempts: 3, paused: false, url: null, concurrency: null })
  expect(declared).not.toHaveProperty('secret')
  expect(await db.tasks.describe('managed')).toEqual(declared)
  const paused = await db.tasks.pause('managed')
  expect(paused).toMatchObject({ paused: true, attempts: 3, schedule: { every: 86_400, payload: { a: 1 } } })
  expect(paused.schedule!.nextRunAt).toBeNull()
  expect(await db.tasks.pause('managed')).toEqual(paused)
  expect(await db.tasks.resume('managed')).toMatchObject({ paused: false, attempts: 3 })
  const stale = db.tasks.declare('managed', {}, { ifMatch: declared.updatedAt })
  expect(await failureOf(stale)).toMatchObject({ code: 'precondition_failed' })
  expect(await failureOf(db.tasks.declare('managed', {}, { ifAbsent: true }))).toMatchObject({
    code: 'precondition_failed',
  })
  const names: string[] = []
  for await (const { task } of db.tasks.list()) names.push(task)
  expect(names).toContain('managed')
  const { deletedAt } = await db.tasks.drop('managed')
  expect(await failureOf(db.tasks.describe('managed'))).toMatchObject({ code: 'task_not_found' })
  const deleted = await db.tasks.list({ deleted: true })
  expect(deleted.tasks.map(({ task }) => task)).toEqual(['managed'])
  expect(await db.tasks.restore('managed', { deletedAt })).toMatchObject({ status: 'active', attempts: 3 })
})

test('a task follows a table: its worker gets every write, and pause and resume keep what it follows', async () => {
  const orders = db.table<{ n: number }>('orders')
  await db.tables.create('orders')
  const on = { table: 'orders', ops: ['put' as const, 'delete' as const] }
  expect((await db.tasks.declare('index', { on: { table: 'orders' } })).on?.ops).toEqual(['put', 'delete', 'expire'])
  const declared = await db.tasks.declare('index', { on, attempts: 3 })
  expect(declared.on).toEqual(on)
  expect(await db.tasks.pause('index')).toMatchObject({ paused: true, attempts: 3, on })
  const { updatedAt } = await orders.save({ hashKey: 'ada', rangeKey: 'o-1', data: { n: 1 } })
  expect(await db.tasks.resume('index')).toMatchObject({ paused: false, attempts: 3, on })
  const seen: FollowedPayload[] = []
  const task = db.task<FollowedPayload>('index')
  await workUntil(
    'index',
    async ({ payload }) => void seen.push(payload as FollowedPayload),
    () => seen.length > 0,
  )
  expect(seen).toEqual([{ db: 'app', table: 'orders', hashKey: 'ada', rangeKey: 'o-1', op: 'put', updatedAt }])
  await orders.remove({ hashKey: 'ada', rangeKey: 'o-1' })
  const [run] = await task.claim({ waitSeconds: 5 })
  expect([run!.key, run!.payload]).toEqual([
    '["ada","o-1"]',
    { db: 'app', table: 'orders', hashKey: 'ada', rangeKey: 'o-1', op: 'delete', deletedAt: expect.any(Number) },
  ])
  await task.finish(run!)
  expect(await failureOf(db.tasks.declare('index', { on: { table: 'invoices' } }))).toMatchObject({
    ...{ code: 'table_not_found', status: 404, field: 'on.table' },
  })
  for (let i = 0; i < 4; i++) await db.tasks.declare(`index-${i}`, { on })
  expect(await failureOf(db.tasks.declare('index-4', { on }))).toMatchObject({ code: 'too_many_tasks', status: 409 })
  expect((await db.tasks.declare('index')).on).toBeNull()
})

describe('runs', () => {
  test('run, get, query, count, cancel and retry', async () => {
    await db.tasks.declare('runs')
    const task = db.task<{ n: number; at?: Date }>('runs')
    const at = new Date('2026-01-02T03:04:05.678Z')
    const run = await task.run({ n: 1, at }, { id: 'one', delaySeconds: 3_600 })
    expect(run).toMatchObject({ id: 'one', status: 'queued', payload: { n: 1, at: at.toISOString() }, attempt: 0 })
    expect(await task.run({ n: 1, at }, { id: 'one' })).toEqual(run)
    expect(await failureOf(task.run({ n: 2 }, { id: 'one' }))).toMatchObject({ code: 'run_exists', status: 409 })
    expect(await task.get('one')).toEqual(run)
    expect(await task.get('two')).toBeUndefined()
    const keyed = await task.run({ n: 3 }, { key: 'k', runAt: new Date(Date.now() + 3_600_000) })
    expect((await task.run({ n: 4 }, { key: 'k', delaySeconds: 7_200 })).id).toBe(keyed.id)
    const ids: string[] = []
    for await (const { id } of task.query({ status: 'queued', limit: 1 })) ids.push(id)
    expect(ids).toEqual([keyed.id, 'one'])
    expect(await task.count({ status: 'queued' })).toBe(2)
    expect(await task.count({ range: { gte: new Date(Date.now() + 60_000) } })).toBe(0)
    expect((await task.cancel(run)).status).toBe('cancelled')
    expect((await task.finished('one')).status).toBe('cancelled')
    expect((await task.retry('one')).status).toBe('queued')
    expect(await failureOf(task.run({ n: 1 }, { delay: 5 } as object))).toMatchObject({ field: 'delay' })
  })

  test('a public key reads and waits for runs, without payload and key', async () => {
    await db.tasks.declare('seen')
    await db.task('seen').run({ secret: true }, { id: 'a', delaySeconds: 60 })
    const reader = new Cubby({ url: server.url, key: server.publicKey }).db('app').task('seen')
    const run = await reader.get('a')
    expect(run).toMatchObject({ id: 'a', status: 'queued' })
    expect(run).not.toContainAnyKeys(['payload', 'key'])
    const finished = run!.finished()
    await db.task('seen').cancel('a')
    expect(await finished).toMatchObject({ status: 'cancelled' })
    expect(await failureOf(reader.run())).toMatchObject({ code: 'read_only_key' })
  })

  test('claim, extend and finish, also repeated', async () => {
    await db.tasks.declare('manual', { backoffSeconds: 1 })
    const task = db.task('manual')
    await task.run({}, { id: 'a' })
    const [claimed] = await task.claim({ waitSeconds: 5, leaseSeconds: 60 })
    expect(claimed).toMatchObject({ id: 'a', status: 'running', attempt: 1 })
    // The worker takes the length of the lease from these two.
    expect(Math.round((claimed!.leaseUntil - claimed!.updatedAt) / 1000)).toBe(60)
    await task.extend(claimed!, { progress: { half: true } })
    expect((await task.get('a'))!.progress).toEqual({ half: true })
    const done = await task.finish(claimed!, { result: { ok: true } })
    expect(done).toMatchObject({ status: 'succeeded', result: { ok: true } })
    expect(await task.finish(claimed!, { error: { message: 'late' } })).toEqual(done)
    expect(await failureOf(task.extend(claimed!))).toMatchObject({ code: 'lease_lost' })
  })
})

describe('the worker', () => {
  test('works on many runs at once, each once, and their callers see the results', async () => {
    await db.tasks.declare('sums')
    const task = db.task<{ n: number }, { twice: number }>('sums')
    const runs = await Promise.all(Array.from({ length: 40 }, (_, n) => task.run({ n })))
    const results = Promise.all(runs.map((run) => run.finished()))
    let begun = 0
    const handler = async ({ payload }: { payload: { [n: string]: unknown } }) => {
      begun++
      await Bun.sleep(5)
      return { twice: 2 * Number(payload.n) }
    }
    let isDone = false
    results.then(() => (isDone = true))
    expect(await workUntil('sums', handler, () => isDone, { concurrency: 8 })).toEqual([])
    expect((await results).map(({ result }) => result!.twice)).toEqual(runs.map((_, n) => 2 * n))
    expect(begun).toBe(40)
  })

  test('failures are attempted again, or not', async () => {
    await db.tasks.declare('failing', { attempts: 3 })
    const task = db.task('failing')
    await task.run({}, { id: 'again' })
    await task.run({}, { id: 'never' })
    const handler = ({ id, attempt }: { id: string; attempt: number }) => {
      if (id === 'never') throw new RunFailed('no such thing', { retry: false })
      if (attempt < 3) throw new RunFailed('not yet', { retryAfter: 0 })
      return { attempt }
    }
    const errors = await workUntil('failing', handler, async () => (await task.count({ status: 'succeeded' })) === 1)
    expect(errors.map(({ message }) => message).sort()).toEqual(['no such thing', 'not yet', 'not yet'])
    expect(await task.get('again')).toMatchObject({ status: 'succeeded', attempt: 3, error: { code: 'worker' } })
    const failed = { status: 'failed', attempt: 1, error: { code: 'worker', message: 'no such thing' } }
    expect(await task.get('never')).toMatchObject(failed)
  })

  test('a short lease lasts while the handler works; a cancelled run aborts it', async () => {
    await db.tasks.declare('long')
    const task = db.task('long')
    await task.run({}, { id: 'slow' })
    await task.run({}, { id: 'cancelled' })
    let reason: { code?: string } | undefined
    const handler = async ({ id, signal }: { id: string; signal: AbortSignal }) => {
      if (id === 'slow') return void (await Bun.sleep(3_600))
      await task.cancel(id)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reason = signal.reason
      return undefined
    }
    const isDone = async () => (await task.count({ status: 'succeeded' })) === 1 && reason !== undefined
    const errors = await workUntil('long', handler, isDone, { leaseSeconds: 3, concurrency: 2 })
    expect(reason!.code).toBe('lease_lost')
    expect(errors.map(({ code }) => code)).toEqual(['lease_lost'])
    expect(await task.get('slow')).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(await task.get('cancelled')).toMatchObject({ status: 'cancelled' })
  })

  test('finishWith: the records and the end of the run are one batch', async () => {
    await db.tables.create('counters')
    await db.tasks.declare('counts', { backoffSeconds: 1 })
    const counters = db.table<{ n: number }>('counters')
    await counters.save({ hashKey: 'c', data: { n: 0 } })
    const task = db.task('counts')
    await task.batch(Array.from({ length: 20 }, (_, i) => ({ op: 'run' as const, id: `r${i}` })))
    const errors = await workUntil(
      'counts',
      async (run) => {
        const { data, updatedAt } = (await counters.findOne('c'))!
        try {
          await run.finishWith(counters, [{ op: 'put', hashKey: 'c', data: { n: data.n + 1 }, ifMatch: updatedAt }])
        } catch (error) {
          // Another handler has counted in between.
          throw new RunFailed((error as Error).message, { retryAfter: 0 })
        }
      },
      async () => (await task.count({ status: 'succeeded' })) === 20,
      { concurrency: 4 },
    )
    expect((await counters.findOne('c'))!.data.n).toBe(20)
    expect(errors.filter(({ message }) => /lease/.test(message))).toEqual([])
  })

  test('a task that is not there, and one with url, are refused', async () => {
    expect(await failureOf(db.task('nowhere').work(() => {}))).toMatchObject({ code: 'task_not_found' })
    await db.tasks.declare('pushed-only', { url: 'http://127.0.0.1:9/', paused: true })
    expect(await failureOf(db.task('pushed-only').work(() => {}))).toMatchObject({ code: 'invalid_request' })
  })
})

describe('batches', () => {
  test('an order and its mail: both or neither', async () => {
    await db.tables.create('orders')
    await db.tasks.declare('mail')
    const orders = db.table('orders')
    const place = (order: string) =>
      orders.batch([
        { op: 'put', hashKey: order, data: { total: 5 }, ifAbsent: true },
        { op: 'run', task: 'mail', id: order, payload: { order }, delaySeconds: 60 },
      ])
    expect(await place('o-1')).toEqual({ count: 2, runs: ['o-1'] })
    await orders.save({ hashKey: 'o-2', data: {} })
    expect(await failureOf(place('o-2'))).toMatchObject({ code: 'precondition_failed' })
    expect(await db.task('mail').get('o-2')).toBeUndefined()
    expect(await db.task('mail').get('o-1')).toMatchObject({ payload: { order: 'o-1' } })
    const lost = orders.batch([
      { op: 'put', hashKey: 'o-3', data: {} },
      { op: 'finish', task: 'mail', run: 'o-1', lease: 'none' },
    ])
    expect(await failureOf(lost)).toMatchObject({ code: 'lease_lost', field: 'operations[1].lease' })
    expect(await orders.findOne('o-3')).toBeUndefined()
  })
})

describe('pushes', () => {
  test('verifyPush accepts what the server sends, and a receiver may finish with its lease', async () => {
    const pushes: unknown[] = []
    let secrets: string[] = []
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        try {
          const push = await verifyPush<{ n: number }>(request, secrets)
          pushes.push(push)
          if (push.payload.n === 2) await db.task(push.task).finish(push, { result: { by: 'lease' } })
          return Response.json({ by: 'answer' })
        } catch (error) {
          if (!(error instanceof PushError)) throw error
          return new Response(error.message, { status: 410 })
        }
      },
    })
    try {
      const { secret } = await db.tasks.declare('pushed', { url: `http://127.0.0.1:${receiver.port}/` })
      secrets = [secret!]
      const task = db.task('pushed')
      const first = await (await task.run({ n: 1, text: 'Grüße 😀' }, { id: 'first' })).finished()
      expect(first).toMatchObject({ status: 'succeeded', result: { by: 'answer' } })
      expect(pushes[0]).toMatchObject({
        ...{ id: 'first', task: 'pushed', database: 'app', attempt: 1 },
        payload: { n: 1, text: 'Grüße 😀' },
      })
      // For a day the old secret signs too.
      const { secret: newer } = await db.tasks.createSecret('pushed')
      expect((await (await task.run({ n: 1 })).finished()).status).toBe('succeeded')
      secrets = [newer]
      expect((await (await task.run({ n: 2 })).finished()).result).toEqual({ by: 'lease' })
      await db.tasks.createSecret('pushed', { revokeOld: true })
      expect((await (await task.run({ n: 3 })).finished()).status).toBe('failed')
    } finally {
      await receiver.stop(true)
    }
  })
})

test('a worker and those who wait survive a server that is killed and comes back', async () => {
  await inTemporaryDirectory(async (data) => {
    const { secretKey: key } = await createOrganization(data, 'acme')
    const first = await serve(data)
    const { url } = first
    const task = new Cubby({ url, key }).db('app').task<{ n: number }>('restarted')
    await new Cubby({ url, key }).db('app').tasks.declare('restarted', { leaseSeconds: 20 })
    const stop = new AbortController()
    let slow = 0
    const isBack = Promise.withResolvers<void>()
    const errors: unknown[] = []
    const working = task.work(
      async ({ payload, signal }) => {
        if (payload.n === 1) {
          slow++
          await isBack.promise
        }
        return { lost: signal.aborted }
      },
      { signal: stop.signal, onError: (error) => void errors.push(error), concurrency: 2 },
    )
    const finished = (await task.run({ n: 1 }, { id: 'before' })).finished()
    await until('the handler has begun', () => slow === 1)
    await first.kill()
    await until('the worker has met it', () => errors.length > 0)
    const second = await serve(data, { port: new URL(url).port })
    isBack.resolve()
    try {
      // It was begun before the kill, and is finished with the lease that it has had since then.
      expect(await finished).toMatchObject({ status: 'succeeded', attempt: 1, result: { lost: false } })
      const after = await task.run({ n: 2 }, { id: 'after' })
      expect(await after.finished()).toMatchObject({ status: 'succeeded' })
    } finally {
      stop.abort()
      await working
      await second.stop()
    }
    expect(slow).toBe(1)
    expect(errors.length).toBeGreaterThan(0)
  })
})
