import { beforeEach, describe, expect, test } from 'bun:test'
import { type ApiResponse, startServer } from '../harness.ts'
import { rawRequest } from '../raw-connection.ts'
import { createKey, ok, refused, useService } from './service.ts'
import { longestWait, makeTask, TestTask } from './task.ts'

const service = useService({ clock: true })
beforeEach(() => service.server.setClock(0))

/** An answer and how long it took. */
const timed = async (answer: Promise<ApiResponse>): Promise<{ answer: ApiResponse; ms: number }> => {
  const startedMs = performance.now()
  return { answer: await answer, ms: performance.now() - startedMs }
}

/** Long enough that a request which was just sent waits. */
const untilItWaits = (): Promise<void> => Bun.sleep(150)

describe('get with waitSeconds', () => {
  test('answers as soon as the run is finished, however it ends', async () => {
    const task = await makeTask(service.api)
    const ends = {
      succeeded: (claimed: object) => task.tryFinish(claimed),
      failed: (claimed: object) => task.tryFinish(claimed, { error: { message: 'no' }, retry: false }),
      cancelled: ({ id }: { id: string }) => task.cancel(id),
    }
    for (const [status, end] of Object.entries(ends)) {
      const claimed = await task.claimNew()
      const longest = await longestWait(service.api)
      const waiting = task.get(claimed.id, '?waitSeconds=20')
      await untilItWaits()
      ok(await end(claimed as never))
      const answer = await waiting
      expect(ok(answer)).toMatchObject({ id: claimed.id, status })
      expect(longest.isOver).toBe(false)
      expect(answer.headers.get('etag')).toBe(`"${answer.body.updatedAt}"`)
    }
  })

  test('answers at once for a finished run, and after its time with the run as it is', async () => {
    const task = await makeTask(service.api)
    const done = await task.finish(await task.claimNew())
    const longest = await longestWait(service.api)
    expect(ok(await task.get(done.id, '?waitSeconds=20'))).toEqual(done)
    const { id } = await task.run({ delaySeconds: 1_000 })
    const { answer, ms } = await timed(task.get(id, '?waitSeconds=1'))
    expect(ok(answer).status).toBe('queued')
    expect(ms).toBeGreaterThan(950)
    expect(longest.isOver).toBe(false)
  })

  test('is not ended by an attempt that fails and is repeated', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew()
    const waiting = task.get(claimed.id, '?waitSeconds=20')
    await untilItWaits()
    await task.fail(claimed, { retryAfter: 0 })
    // Time to answer, if it were ended now.
    await untilItWaits()
    const [again] = await task.claim()
    await task.finish(again!)
    expect(ok(await waiting)).toMatchObject({ status: 'succeeded', attempt: 2 })
  })

  test('works with a public key, which gets no payload', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew({ payload: { secret: 1 } })
    const waiting = service.reader.get(`${task.at(claimed.id)}?waitSeconds=20`)
    await untilItWaits()
    await task.finish(claimed)
    const run = ok(await waiting)
    expect([run.status, run.payload]).toEqual(['succeeded', undefined])
  })

  test('answers 304 if the run is at the version that the caller has', async () => {
    const task = await makeTask(service.api)
    const { id, updatedAt } = await task.run({ delaySeconds: 1_000 })
    const answer = await task.api.get(`${task.at(id)}?waitSeconds=1`, { 'if-none-match': `"${updatedAt}"` })
    expect(answer.status).toBe(304)
  })

  test('answers task_not_found if the task is deleted meanwhile', async () => {
    const task = await makeTask(service.api)
    const { id } = await task.run({ delaySeconds: 1_000 })
    const waiting = task.get(id, '?waitSeconds=1')
    await untilItWaits()
    ok(await task.api.delete(task.path))
    refused(await waiting, 404, 'task_not_found')
  })
})

describe('claim with waitSeconds', () => {
  test('ends with the first run that is added, or that becomes due', async () => {
    const task = await makeTask(service.api)
    const longest = await longestWait(service.api)
    const waiting = task.claim({ waitSeconds: 20, limit: 10 })
    await untilItWaits()
    const { id } = await task.run()
    expect((await waiting).map((run) => run.id)).toEqual([id])
    expect(longest.isOver).toBe(false)
    const later = await task.run({ delaySeconds: 600 })
    const untilDue = task.claim({ waitSeconds: 20 })
    await untilItWaits()
    service.server.setClock(601_000)
    expect((await untilDue).map((run) => run.id)).toEqual([later.id])
  })

  test('ends without a run after its time', async () => {
    const task = await makeTask(service.api)
    const { answer, ms } = await timed(task.tryClaim({ waitSeconds: 1 }))
    expect(ok(answer)).toEqual({ runs: [] })
    expect(ms).toBeGreaterThan(950)
  })

  test('wakes for a run that a key or the concurrency held back, and for a task that is resumed', async () => {
    const task = await makeTask(service.api, { concurrency: 1 })
    const first = await task.claimNew()
    const held = await task.run()
    const waiting = task.claim({ waitSeconds: 20 })
    await untilItWaits()
    await task.finish(first)
    const [second] = await waiting
    expect(second!.id).toBe(held.id)
    await task.finish(second!)
    await task.declare({ paused: true })
    const other = await task.run()
    const paused = task.claim({ waitSeconds: 20 })
    await untilItWaits()
    await task.declare({ paused: false })
    expect((await paused)[0]!.id).toBe(other.id)
  })

  test('gives each of many waiting callers another run', async () => {
    const task = await makeTask(service.api)
    const waiting = Array.from({ length: 30 }, () => task.claim({ waitSeconds: 20 }))
    await untilItWaits()
    for (let i = 0; i < 30; i += 15) ok(await task.tryBatch(Array.from({ length: 15 }, () => ({ op: 'run' }))))
    const runs = (await Promise.all(waiting)).flat()
    expect(new Set(runs.map(({ id }) => id)).size).toBe(30)
  })

  test('claims nothing for a caller whose connection has closed', async () => {
    const task = await makeTask(service.api)
    const connection = await service.server.connect()
    const body = JSON.stringify({ waitSeconds: 20 })
    connection.send(rawRequest(service.server, 'POST', `${task.path}/claim`, { key: task.api.key, body }))
    await untilItWaits()
    connection.close()
    await Bun.sleep(100)
    const { id } = await task.run()
    await Bun.sleep(300)
    expect(await task.read(id)).toMatchObject({ status: 'queued', attempt: 0 })
    expect((await task.claim()).map((run) => run.id)).toEqual([id])
  })
})

describe('a key', () => {
  test('that is revoked while its request waits gets 403, and claims nothing', async () => {
    const task = await makeTask(service.api)
    const { id, key } = await createKey(service.api)
    const worker = new TestTask(service.server.as(key), task.name)
    const { id: run } = await task.run({ delaySeconds: 1_000 })
    const [claim, get] = [worker.tryClaim({ waitSeconds: 20 }), worker.get(run, '?waitSeconds=20')]
    await untilItWaits()
    ok(await service.api.delete(`/api/keys/${id}`))
    const due = await task.run()
    refused(await claim, 403, 'revoked_api_key')
    ok(await task.cancel(run))
    refused(await get, 403, 'revoked_api_key')
    expect((await task.read(due.id)).status).toBe('queued')
  })

  test('that expires while its request waits gets 401', async () => {
    const task = await makeTask(service.api)
    const { key } = await createKey(service.api, { kind: 'secret', expiresAt: Date.now() + 600_000 })
    const worker = new TestTask(service.server.as(key), task.name)
    const { id } = await task.run({ delaySeconds: 1_000 })
    const waits = [worker.tryClaim({ waitSeconds: 1 }), worker.get(id, '?waitSeconds=1')]
    await untilItWaits()
    service.server.setClock(601_000)
    for (const wait of waits) refused(await wait, 401, 'expired_api_key')
  })
})

test('waiting requests do not hold up others, and a process that stops answers them at once', async () => {
  const server = await startServer()
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    const task = await makeTask(api)
    const { id } = await task.run({ delaySeconds: 1_000 })
    let answered = 0
    const waiting = Array.from({ length: 200 }, async (_, i) => {
      const answer = await (i % 2 === 0 ? task.tryClaim({ waitSeconds: 20 }) : task.get(id, '?waitSeconds=20'))
      answered++
      return answer
    })
    await Bun.sleep(200)
    ok(await task.get(id))
    expect(answered).toBe(0)
    // Those that are not answered at once are cut, because a stop does not last as long as they.
    const stopped = server.end('SIGTERM')
    const answers = await Promise.all(waiting)
    for (const [i, answer] of answers.entries()) {
      if (i % 2 === 0) expect(ok(answer)).toEqual({ runs: [] })
      else expect(ok(answer)).toMatchObject({ id, status: 'queued' })
    }
    expect(await stopped).toBe(0)
  } finally {
    await server.stop()
  }
})

test('a change in another process is seen too: with --workers', async () => {
  const server = await startServer({ args: ['--workers', '2'] })
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    const task = await makeTask(api)
    // Each request on a connection of its own: they are spread over the workers.
    for (let i = 0; i < 2; i++) {
      const longest = await longestWait(api)
      const claim = api.raw('POST', `${task.path}/claim`, { body: '{"waitSeconds":20}' })
      await untilItWaits()
      ok(await api.raw('POST', `${task.path}/run`, { body: '{}' }), 201)
      const answer = await claim
      expect(ok(answer).runs).toHaveLength(1)
      expect(longest.isOver).toBe(false)
      const [claimed] = answer.body.runs
      const get = api.raw('GET', `${task.at(claimed.id)}?waitSeconds=20`)
      await untilItWaits()
      ok(await api.raw('POST', task.at(claimed.id, 'finish'), { body: JSON.stringify({ lease: claimed.lease }) }))
      expect(ok(await get).status).toBe('succeeded')
    }
  } finally {
    await server.stop()
  }
})

test('with --no-tasks claims answer empty, after their wait; the rest works', async () => {
  const server = await startServer({ args: ['--no-tasks'] })
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    const task = await makeTask(api)
    const { id } = await task.run()
    expect(await task.claim()).toEqual([])
    const { answer, ms } = await timed(task.tryClaim({ waitSeconds: 1 }))
    expect(ok(answer)).toEqual({ runs: [] })
    expect(ms).toBeGreaterThan(950)
    refused(await task.tryClaim({ limit: 101 }), 400, 'invalid_request', 'limit')
    ok(await task.cancel(id))
    const pushed = await makeTask(api, { url: 'https://1.1.1.1/' })
    expect(refused(await pushed.tryClaim(), 400, 'invalid_request').message).toContain('has a url')
  } finally {
    await server.stop()
  }
})

// A connection may be idle for a minute; a wait is shorter. The long form waits for the whole time.
test.if(process.env.CUBBY_TEST_WAITS === 'full')('a wait of 20 s is answered', async () => {
  const task = await makeTask(service.api)
  const { answer, ms } = await timed(task.tryClaim({ waitSeconds: 20 }))
  expect(ok(answer)).toEqual({ runs: [] })
  expect(ms).toBeGreaterThan(19_500)
})
