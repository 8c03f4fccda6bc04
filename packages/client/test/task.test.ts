import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { CubbyError } from '../src/index.ts'
import { broken, failureOf, fakeCubby, json, type Reply, refused, silence } from './fake-fetch.ts'
import { fakeTimers, timeoutMs } from './fake-timers.ts'

const nothing = { progress: null, result: null, error: null, finishedAt: null }
const queued = { id: 'r-1', task: 'mail', status: 'queued', payload: { to: 'ada' }, key: null, attempt: 0, ...nothing }
const succeeded = { ...queued, status: 'succeeded', attempt: 1, result: { ok: true }, finishedAt: 9 }

const client = (reply: Parameters<typeof fakeCubby>[0], options = {}) => {
  const { cubby, requests } = fakeCubby(reply, options)
  const db = cubby.db('app')
  return { mail: db.task<{ to: string; at?: string }, { ok: boolean }>('mail'), tasks: db.tasks, db, requests }
}

/** Returns what a call sends, when it is answered with `reply`. */
const sentBy = async (work: (given: ReturnType<typeof client>) => unknown, reply: unknown = queued) => {
  const given = client([json(reply)])
  await work(given)
  const { method, path, body } = given.requests[0]!
  return { method, path: path.replace('/v1/app/_tasks', ''), body }
}

describe('runs', () => {
  test('run: payload and options go into the body; a Date is sent as text', async () => {
    const at = new Date('2026-01-02T03:04:05.678Z')
    expect(await sentBy(({ mail }) => mail.run({ to: 'ada', at }, { id: 'r-1', runAt: at }))).toEqual({
      ...{ method: 'POST', path: '/mail/run' },
      body: { payload: { to: 'ada', at: at.toISOString() }, id: 'r-1', runAt: at.toISOString() },
    })
    expect((await sentBy(({ mail }) => mail.run())).body).toEqual({ id: expect.stringMatching(/^run_[0-9a-f]{32}$/) })
    const options = { key: 'ada', delaySeconds: 5, signal: new AbortController().signal, retries: 1, timeoutMs: 900 }
    expect((await sentBy(({ mail }) => mail.run({ to: 'ada' }, options))).body).toEqual({
      ...{ payload: { to: 'ada' }, key: 'ada', delaySeconds: 5 },
    })
  })

  test('run: an option with a typo is sent, so that the server rejects it by its name', async () => {
    const typo = { delaySecond: 5 } as object
    expect((await sentBy(({ mail }) => mail.run({ to: 'ada' }, typo))).body).toMatchObject(typo)
  })

  test('get: the run, or undefined', async () => {
    const { mail, requests } = client([json(queued), refused(404, 'run_not_found'), refused(404, 'task_not_found')])
    expect(await mail.get('r-1', { waitSeconds: 5 })).toEqual(queued as never)
    expect(await mail.get('r-2')).toBeUndefined()
    expect(await failureOf(mail.get('r-3'))).toMatchObject({ code: 'task_not_found' })
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/app/_tasks/mail/runs/r-1?waitSeconds=5',
      'GET /v1/app/_tasks/mail/runs/r-2',
      'GET /v1/app/_tasks/mail/runs/r-3',
    ])
  })

  test('cancel and retry take an id or the run', async () => {
    const plain = { method: 'POST', body: undefined }
    expect(await sentBy(({ mail }) => mail.cancel('r-1'))).toEqual({ ...plain, path: '/mail/runs/r-1/cancel' })
    expect(await sentBy(({ mail }) => mail.retry(queued))).toEqual({ ...plain, path: '/mail/runs/r-1/retry' })
  })

  test('claim, extend and finish: what a worker sends', async () => {
    const run = { id: 'r-1', lease: 'l' }
    const claim = ({ mail }: ReturnType<typeof client>) => mail.claim({ limit: 5, leaseSeconds: 9, waitSeconds: 20 })
    expect(await sentBy(claim, { runs: [] })).toEqual({
      ...{ method: 'POST', path: '/mail/claim', body: { limit: 5, leaseSeconds: 9, waitSeconds: 20 } },
    })
    const extend = await sentBy(({ mail }) => mail.extend(run, { leaseSeconds: 60, progress: { n: 1 } }))
    expect(extend).toMatchObject({ path: '/mail/runs/r-1/extend' })
    expect(extend.body).toEqual({ lease: 'l', leaseSeconds: 60, progress: { n: 1 } })
    const finish = await sentBy(({ mail }) => mail.finish(run, { result: { ok: true } }))
    expect(finish).toMatchObject({ path: '/mail/runs/r-1/finish', body: { lease: 'l', result: { ok: true } } })
    const failed = { error: { message: 'no' }, retry: false }
    expect((await sentBy(({ mail }) => mail.finish(run, failed))).body).toEqual({ lease: 'l', ...failed })
  })

  const noIds = ['', '.', '..', 'a/b', 'ä', 'x'.repeat(129), undefined as never, null as never, 5 as never]
  test.each(noIds)('an id that no run has is not sent: %p', async (id) => {
    const { mail, requests } = client([])
    for (const call of [mail.get(id), mail.cancel(id), mail.retry({ id }), mail.finished(id)]) {
      expect(await failureOf(call)).toMatchObject({ code: 'run_not_found', field: 'id', status: 0 })
    }
    expect(requests).toEqual([])
  })

  test('query: pages and items, each of which can be waited for', async () => {
    const { mail, requests } = client([
      json({ items: [queued], count: 1, cursor: 'c' }),
      json({ items: [{ ...queued, id: 'r-2' }], count: 1, cursor: null }),
      json(succeeded),
      json({ items: [], count: 7, cursor: null }),
    ])
    const met: string[] = []
    let last: { finished(): Promise<{ status: string }> } | undefined
    for await (const run of mail.query({ status: 'queued', range: { gte: new Date(5) } })) {
      met.push(run.id)
      last = run
    }
    expect(met).toEqual(['r-1', 'r-2'])
    expect(requests[1]!.body).toEqual({ status: 'queued', range: { gte: new Date(5).toISOString() }, cursor: 'c' })
    expect((await last!.finished()).status).toBe('succeeded')
    expect(requests[2]!.path).toBe('/v1/app/_tasks/mail/runs/r-2?waitSeconds=20')
    expect(await mail.count({ status: 'failed' })).toBe(7)
    expect(requests[3]!.body).toEqual({ status: 'failed', select: 'count' })
  })

  test('a run is plain data: its method is not printed, compared or sent on', async () => {
    const { mail } = client([json(queued)])
    const run = await mail.run({ to: 'ada' })
    expect(Object.keys(run)).toEqual(Object.keys(queued))
    expect(JSON.parse(JSON.stringify(run))).toEqual(queued)
  })
})

describe('finished', () => {
  let timers: ReturnType<typeof fakeTimers>
  beforeEach(() => {
    timers = fakeTimers(0.5)
  })
  afterEach(() => timers.restore())

  const unavailable = () => refused(503, 'unavailable')
  const pollMs = timeoutMs - 20_000

  test('asks again until the run has finished, with waits of 20 s', async () => {
    const { mail, requests } = client([json(queued), json(queued), json(succeeded)], { timeoutMs: pollMs })
    const run = await mail.run()
    expect(await run.finished()).toEqual(succeeded as never)
    expect(requests.slice(1).map(({ path }) => path)).toEqual(
      Array(2).fill('/v1/app/_tasks/mail/runs/r-1?waitSeconds=20'),
    )
  })

  test('a server that answers at once is asked once a second', async () => {
    const { mail } = client([json(queued), json(queued), json(succeeded)], { timeoutMs: pollMs })
    await mail.finished('r-1')
    expect(timers.pauses.filter((ms) => ms > 900 && ms <= 1000)).toHaveLength(2)
  })

  test('a clock that is set back an hour does not make it wait an hour', async () => {
    const { mail } = client([json(queued), json(succeeded)], { timeoutMs: pollMs })
    let nowMs = Date.now()
    const clock = spyOn(Date, 'now').mockImplementation(() => (nowMs -= 3_600_000))
    try {
      await mail.finished('r-1')
    } finally {
      clock.mockRestore()
    }
    expect(Math.max(...timers.pauses)).toBeLessThanOrEqual(1_000)
  })

  test('after a poll of 20 s it asks again at once, without a warning of a negative timer', async () => {
    const { mail } = client([json(queued), json(succeeded)], { timeoutMs: pollMs })
    let nowMs = 0
    const clock = spyOn(performance, 'now').mockImplementation(() => (nowMs += 20_000))
    try {
      await mail.finished('r-1')
    } finally {
      clock.mockRestore()
    }
    expect(timers.pauses).toContain(0)
    expect(Math.min(...timers.pauses)).toBe(0)
  })

  test('survives a restart: ten retries of a poll, and as many of the next one', async () => {
    const away = [...Array.from({ length: 5 }, broken), ...Array.from({ length: 5 }, unavailable)]
    const { mail, requests } = client([...away, json(queued), ...away.map(() => broken()), json(succeeded)], {
      timeoutMs: pollMs,
    })
    expect((await mail.finished('r-1')).status).toBe('succeeded')
    expect(requests).toHaveLength(22)
  })

  test('gives up after ten retries, or after those of the call', async () => {
    const { mail, requests } = client(Array.from({ length: 20 }, broken), { timeoutMs: pollMs })
    expect(await failureOf(mail.finished('r-1'))).toMatchObject({ code: 'unavailable' })
    expect(requests).toHaveLength(11)
    await failureOf(mail.finished('r-1', { retries: 0 }))
    expect(requests).toHaveLength(12)
  })

  test('a run that is gone is run_not_found', async () => {
    const { mail } = client([json(queued), refused(404, 'run_not_found')], { timeoutMs: pollMs })
    expect(await failureOf(mail.finished('r-1'))).toMatchObject({ code: 'run_not_found', status: 404 })
  })

  test('a signal ends it, while it waits and between two polls', async () => {
    timers.restore()
    for (const reply of [(_: unknown, signal: AbortSignal) => silence(signal), () => json(queued)]) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const { mail } = client(reply)
      setTimeout(() => controller.abort(reason), 20)
      expect(await failureOf(mail.finished('r-1', { signal: controller.signal }))).toBe(reason as never)
    }
  })

  test('the time of the wait is not counted in timeoutMs', async () => {
    timers.restore()
    const slow = async () => {
      await Bun.sleep(60)
      return json(succeeded)
    }
    const { mail } = client((_, signal) => Promise.race([slow(), silence(signal)]), { timeoutMs: 20, retries: 0 })
    expect((await mail.finished('r-1')).status).toBe('succeeded')
    expect((await mail.get('r-1', { waitSeconds: 1 }))?.status).toBe('succeeded')
    expect(await failureOf(mail.get('r-1'))).toMatchObject({ code: 'unavailable' })
  })
})

describe('batches', () => {
  const order = { op: 'put', hashKey: 'o-1', data: { total: 5 } } as const
  const mail = { op: 'run', task: 'mail', id: 'o-1', payload: { to: 'ada' }, runAt: new Date(5) } as const
  const done = { op: 'finish', task: 'mail', run: 'r-1', lease: 'l', result: { ok: true } } as const

  test('a table: records, runs and finishes in one request', async () => {
    const { db, requests } = client([json({ count: 3, runs: ['o-1', 'r-1'] })])
    expect(await db.table('orders').batch([order, mail, done])).toEqual({ count: 3, runs: ['o-1', 'r-1'] })
    expect(requests[0]!.path).toBe('/v1/app/orders/batch')
    expect(requests[0]!.body!.operations).toEqual([order, { ...mail, runAt: new Date(5).toISOString() }, done] as never)
  })

  test('a task: runs and finishes, with `task` or without', async () => {
    const { mail: task, requests } = client([json({ count: 2, runs: ['a', 'r-1'] })])
    await task.batch([{ op: 'run', id: 'a' }, done])
    expect(requests[0]).toMatchObject({ path: '/v1/app/_tasks/mail/batch', method: 'POST' })
    expect(requests[0]!.body!.operations).toEqual([{ op: 'run', id: 'a' }, done] as never)
  })

  test.each([
    ['a finish: it is applied at most once', [order, done], 2],
    ['runs with ids only', [mail], 2],
    ['a run without id', [{ op: 'run', task: 'mail' }], 1],
    ['a run with a key', [{ op: 'run', task: 'mail', key: 'k' }], 1],
    ['a run with id beside a put', [order, mail], 1],
  ] as const)('after a lost answer a batch is repeated or not: %s', async (_, operations, sent) => {
    const { db, requests } = client([broken(), json({ count: 1 })])
    const sending = db.table('orders').batch(operations as never)
    if (sent === 1) expect(await failureOf(sending)).toMatchObject({ code: 'outcome_unknown' })
    else await sending
    expect(requests).toHaveLength(sent)
  })

  test('lease_lost after a lost answer is outcome_unknown: the first attempt may have been applied', async () => {
    const { db } = client([broken(), refused(409, 'lease_lost')])
    expect(await failureOf(db.table('orders').batch([order, done]))).toMatchObject({ code: 'outcome_unknown' })
  })
})

describe('retries', () => {
  const run = { id: 'r-1', lease: 'l' }
  const calls: [string, (given: ReturnType<typeof client>) => Promise<unknown>, number][] = [
    ['run with id', ({ mail }) => mail.run({ to: 'a' }, { id: 'r-1' }), 2],
    ['run', ({ mail }) => mail.run({ to: 'a' }), 2],
    ['run with key', ({ mail }) => mail.run({ to: 'a' }, { key: 'a' }), 2],
    ['get', ({ mail }) => mail.get('r-1'), 2],
    ['query', async ({ mail }) => mail.query(), 2],
    ['cancel', ({ mail }) => mail.cancel('r-1'), 1],
    ['retry', ({ mail }) => mail.retry('r-1'), 1],
    ['claim', ({ mail }) => mail.claim(), 1],
    ['extend', ({ mail }) => mail.extend(run), 2],
    ['finish', ({ mail }) => mail.finish(run), 2],
    ['declare', ({ tasks }) => tasks.declare('mail'), 1],
    ['declare with ifMatch', ({ tasks }) => tasks.declare('mail', {}, { ifMatch: 5 }), 2],
    ['createSecret', ({ tasks }) => tasks.createSecret('mail'), 1],
    ['drop', ({ tasks }) => tasks.drop('mail'), 1],
  ]
  const answer = () => json({ ...queued, runs: [], items: [], count: 0, cursor: null })

  test.each(calls)('%s after a lost answer', async (_, call, sent) => {
    const given = client([broken(), answer()])
    if (sent === 1) expect(await failureOf(call(given))).toMatchObject({ code: 'outcome_unknown', status: 0 })
    else await call(given)
    expect(given.requests).toHaveLength(sent)
  })

  test.each(calls)('%s is repeated after 503 unavailable', async (_, call) => {
    const given = client([refused(503, 'unavailable'), answer()])
    await call(given)
    expect(given.requests).toHaveLength(2)
  })
})

describe('tasks', () => {
  const task = {
    ...{ db: 'app', task: 'mail', url: null, authorization: null, leaseSeconds: 30, attempts: 12, backoffSeconds: 5 },
    ...{ concurrency: null, keepSeconds: 604_800, paused: false, oldestRunAt: 3, status: 'active' },
    schedule: { cron: '0 6 * * *', timezone: 'UTC', payload: { all: true }, nextRunAt: 99 },
    ...{ createdAt: 1, updatedAt: 7 },
  }

  test('declare: PUT with the declaration, and on condition', async () => {
    const { tasks, requests } = client([json(task), json(task), json(task)])
    await tasks.declare('mail', { url: 'https://example.com/mail', attempts: 3 }, { ifAbsent: true })
    await tasks.declare('mail', {}, { ifMatch: 7 })
    await tasks.declare('mail')
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(3).fill('PUT /v1/app/_tasks/mail'))
    expect(requests[0]).toMatchObject({
      body: { url: 'https://example.com/mail', attempts: 3 },
      headers: { 'if-none-match': '*' },
    })
    expect(requests[1]!.headers).toMatchObject({ 'if-match': '"7"' })
    expect(requests[2]!.text).toBe('{}')
  })

  test('describe, list, drop, restore and createSecret', async () => {
    const calls: [unknown, string, string, unknown?][] = []
    const { tasks, requests } = client(() => json({ ...task, tasks: [task], cursor: null, secret: 'whsec_' }))
    calls.push([await tasks.describe('mail'), 'GET', '/mail'])
    calls.push([await tasks.list({ deleted: true, limit: 5 }), 'GET', '?limit=5&deleted=true'])
    calls.push([await tasks.drop('mail'), 'DELETE', '/mail'])
    calls.push([await tasks.restore('mail', { deletedAt: 5 }), 'POST', '/mail/restore', { deletedAt: 5 }])
    calls.push([await tasks.createSecret('mail', { revokeOld: true }), 'POST', '/mail/secret', { revokeOld: true }])
    calls.push([await tasks.createSecret('mail'), 'POST', '/mail/secret'])
    expect(requests.map(({ method, path, body }) => [method, path, body] as unknown)).toEqual(
      calls.map(([, method, path, body]) => [method, `/v1/app/_tasks${path}`, body]),
    )
    const names: string[] = []
    for await (const listed of tasks.list()) names.push(listed.task)
    expect(names).toEqual(['mail'])
  })

  test('pause declares what is declared, and `paused`; a task that is paused is left as it is', async () => {
    const { tasks, requests } = client([json(task), json({ ...task, paused: true }), json({ ...task, paused: true })])
    expect((await tasks.pause('mail')).paused).toBe(true)
    expect(requests[1]).toMatchObject({ method: 'PUT', headers: { 'if-match': '"7"' } })
    expect(requests[1]!.body).toEqual({
      ...{ leaseSeconds: 30, attempts: 12, backoffSeconds: 5, keepSeconds: 604_800, paused: true },
      schedule: { cron: '0 6 * * *', timezone: 'UTC', payload: { all: true } },
    })
    await tasks.pause('mail')
    expect(requests).toHaveLength(3)
  })

  test('resume reads again if somebody declared the task in between', async () => {
    const paused = { ...task, paused: true, authorization: '****', url: 'https://example.com/', schedule: null }
    const { tasks, requests } = client([
      ...[json(paused), refused(412, 'precondition_failed')],
      ...[json({ ...paused, updatedAt: 8, attempts: 3 }), json(task)],
    ] as Reply[])
    await tasks.resume('mail')
    expect(requests[3]).toMatchObject({
      headers: { 'if-match': '"8"' },
      body: { attempts: 3, authorization: '****', url: 'https://example.com/', paused: false },
    })
    expect(requests[3]!.body).not.toContainKeys(['schedule', 'concurrency', 'updatedAt', 'db'])
  })

  test('names are checked before a request', () => {
    const { db } = client([])
    expect(() => db.task('../x')).toThrow(CubbyError)
    expect(() => db.task('Mail')).toThrow('task is "Mail"; it takes a string: [a-z0-9_-]{1,64}.')
  })
})
