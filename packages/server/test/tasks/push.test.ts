import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import {
  type Api,
  eventually,
  type Json,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { longestWait } from '../http/task.ts'
import { never, Receiver } from './receiver.ts'

// The whole way of a run, from the request that adds it to the answer of the receiver. Without these promises work would be
// lost between the two, or be done for ever.

setDefaultTimeout(120_000)

/** A machine that stands still for a second breaks these, and nothing else repeats that. A fault of ours does it every time. */
const machineStalls = { retry: 3 }

const allow = ['--push-allow', '127.0.0.1/32']
const payloadSecret = 'the-payload-is-private'
const answerSecret = 'the-answer-is-private'

let receiver: Receiver
let api: Api
let names = 0

beforeEach(() => {
  receiver = new Receiver()
})
afterEach(() => receiver.stop())

/** A new task that pushes to the receiver; its name, and what the PUT answered. */
const declare = async (own: Json = {}, by = api): Promise<{ task: string; declared: Json }> => {
  const task = `task${++names}`
  const { status, body } = await by.put(`/v1/app/_tasks/${task}`, { url: receiver.url(), ...own })
  expect({ status, body }).toMatchObject({ status: 201 })
  return { task, declared: body }
}

const run = async (task: string, body: Json = { payload: { n: 1 } }, by = api): Promise<string> => {
  const answer = await by.post(`/v1/app/_tasks/${task}/run`, body)
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 201 })
  return answer.body.id
}

const get = async (task: string, id: string, by = api): Promise<Json> =>
  (await by.get(`/v1/app/_tasks/${task}/runs/${id}`)).body

const untilStatus = (task: string, id: string, status: string, by = api): Promise<Json> =>
  eventually(`${id} is ${status}`, async () => {
    const found = await get(task, id, by)
    return found.status === status ? found : undefined
  })

/**
 * Another task's run, pushed by now: whatever was due before has been looked at. With a test clock there is a look every
 * 100 ms, and it finds all tasks that have something due.
 */
const untilLooked = async (): Promise<void> => {
  const { task } = await declare()
  await run(task)
  await receiver.until(task, 1)
}

const failing = (status: number, headers: Record<string, string> = {}): Response =>
  new Response(`{"why":"${answerSecret}"}`, { status, headers })

describe('one process', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer({ args: allow, clock: true })
    api = server.as((await server.createOrganization()).secretKey)
  })
  beforeEach(() => server.setClock(0))
  afterAll(() => server.stop())

  test(
    'a run is pushed as it was sent, signed, within a second, and the answer is its result',
    async () => {
      // Due five seconds later: that one must not have come when ours comes.
      const { task: later } = await declare()
      const delayed = await run(later, { delaySeconds: 5 })
      let laterOnes = -1
      receiver.answer = (push) => {
        if (push.task !== later) laterOnes = receiver.of(later).length
        return new Response('{"sent": true}')
      }
      const { task, declared } = await declare({ authorization: 'Bearer receiver-token' })
      const payload = '{"n":1.0, "text":"ü"}'
      const answer = await api.post(`/v1/app/_tasks/${task}/run`, `{"payload":${payload}}`)
      const addedAtMs = Date.now()
      const done = await untilStatus(task, answer.body.id, 'succeeded')
      expect(done).toMatchObject({ attempt: 1, result: { sent: true }, error: null })
      const [push, ...others] = receiver.of(task)
      expect(others).toEqual([])
      expect(push!.text).toBe(payload)
      expect(laterOnes).toBe(0)
      console.log(`a run was pushed after ${push!.atMs - addedAtMs} ms`)
      await api.post(`/v1/app/_tasks/${later}/runs/${delayed}/cancel`)
      expect(Object.fromEntries(push!.headers)).toMatchObject({
        ...{ 'content-type': 'application/json', 'webhook-id': answer.body.id, 'cubby-database': 'app' },
        ...{ 'cubby-task': task, 'cubby-attempt': '1', authorization: 'Bearer receiver-token' },
      })
      const signed = `${answer.body.id}.${push!.headers.get('webhook-timestamp')}.${payload}`
      const key = Buffer.from(declared.secret.replace('whsec_', ''), 'base64')
      const signature = createHmac('sha256', key).update(signed).digest('base64')
      expect(push!.headers.get('webhook-signature')).toBe(`v1,${signature}`)
    },
    machineStalls,
  )

  test('a failed attempt is repeated after its backoff', async () => {
    receiver.answer = ({ attempt }) => (attempt === 1 ? failing(500) : new Response())
    const { task } = await declare({ backoffSeconds: 600 })
    const id = await run(task, { payload: { card: payloadSecret } })
    await eventually('it has failed', async () => ((await get(task, id)).error === null ? undefined : true))
    server.setClock(299_000)
    await untilLooked()
    expect(receiver.of(task)).toHaveLength(1)
    server.setClock(601_000)
    const done = await untilStatus(task, id, 'succeeded')
    expect(done).toMatchObject({ attempt: 2, error: { code: 'http_status' } })
    const [first, second] = receiver.of(task)
    expect(second!.lease).not.toBe(first!.lease)
    expect(JSON.stringify(done.error)).not.toContain(answerSecret)
  })

  test('Retry-After replaces the backoff', async () => {
    receiver.answer = ({ attempt }) => (attempt === 1 ? failing(503, { 'retry-after': '600' }) : new Response())
    const { task } = await declare({ backoffSeconds: 3_600 })
    const id = await run(task)
    await eventually('it has failed', async () => ((await get(task, id)).error === null ? undefined : true))
    server.setClock(500_000)
    await untilLooked()
    expect(receiver.of(task)).toHaveLength(1)
    server.setClock(601_000)
    await untilStatus(task, id, 'succeeded')
  })

  test('410 ends the run, although it has attempts left', async () => {
    receiver.answer = () => failing(410)
    const { task } = await declare()
    const done = await untilStatus(task, await run(task), 'failed')
    expect(done).toMatchObject({ attempt: 1, error: { code: 'http_status' } })
  })

  test('no answer before the lease ends is a failed attempt, and the connection is closed', async () => {
    // The deadline of a push goes by a clock that nobody sets. By the other clock the lease lasts a minute longer: so the
    // failure is written in time, however slow the machine is.
    receiver.answer = () => {
      server.setClock(-60_000)
      return never()
    }
    const { task } = await declare({ leaseSeconds: 1, attempts: 1 })
    const done = await untilStatus(task, await run(task), 'failed')
    expect(done).toMatchObject({ attempt: 1, error: { code: 'timeout' } })
    await eventually('the connection is closed', () => (receiver.of(task)[0]!.isCut ? true : undefined))
  })

  // The deadline of a push goes by the real clock, so this waits for it: dispatcher.test.ts does so on a clock of its own.
  test(
    'a receiver that extends the lease gets more time',
    async () => {
      const { task } = await declare({ leaseSeconds: 2, attempts: 1 })
      receiver.answer = async ({ run: id, lease }) => {
        const body = { lease, leaseSeconds: 60, progress: { half: true } }
        const { status } = await api.post(`/v1/app/_tasks/${task}/runs/${id}/extend`, body)
        await Bun.sleep(2_000)
        return Response.json({ status })
      }
      const done = await untilStatus(task, await run(task), 'succeeded')
      expect(done).toMatchObject({ attempt: 1, result: { status: 200 }, progress: { half: true } })
    },
    machineStalls,
  )

  test('what the receiver has finished itself, its answer does not change', async () => {
    const { task } = await declare()
    let finished: number | undefined
    receiver.answer = async ({ run: id, lease }) => {
      const body = { lease, result: { by: 'receiver' } }
      finished = (await api.post(`/v1/app/_tasks/${task}/runs/${id}/finish`, body)).status
      return failing(500)
    }
    const id = await run(task)
    await untilStatus(task, id, 'succeeded')
    await eventually('its answer was read', () => (receiver.openNow === 0 ? true : undefined))
    await Bun.sleep(200)
    expect(finished).toBe(200)
    expect(await get(task, id)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      result: { by: 'receiver' },
      error: null,
    })
  })

  test('a run that was cancelled stays cancelled, whatever the receiver answers', async () => {
    const { task } = await declare()
    const answered = Promise.withResolvers<Response>()
    receiver.answer = () => answered.promise
    const id = await run(task)
    await receiver.until(task, 1)
    expect((await api.post(`/v1/app/_tasks/${task}/runs/${id}/cancel`)).status).toBe(200)
    answered.resolve(new Response())
    await Bun.sleep(200)
    expect(await get(task, id)).toMatchObject({ status: 'cancelled', result: null })
  })

  test('never more at once than the concurrency, and the next starts when one ends', async () => {
    receiver.answer = async () => {
      await Bun.sleep(60)
      return new Response()
    }
    const { task } = await declare({ concurrency: 2 })
    const ids = await Promise.all(Array.from({ length: 40 }, () => run(task)))
    // That none waits for a look is in dispatcher.test.ts.
    for (const id of ids) await untilStatus(task, id, 'succeeded')
    expect(receiver.mostOpen).toBe(2)
    expect(receiver.of(task)).toHaveLength(40)
  })

  test('at most one run of a key is in flight, and one starts after the last request', async () => {
    const sent = Promise.withResolvers<void>()
    receiver.answer = async () => {
      await sent.promise
      return new Response()
    }
    const { task } = await declare()
    await run(task, { key: 'ada', payload: { n: 1 } })
    await receiver.until(task, 1)
    for (const n of [2, 3, 4]) await api.post(`/v1/app/_tasks/${task}/run`, { key: 'ada', payload: { n } })
    sent.resolve()
    const [, second] = await receiver.until(task, 2)
    expect(second!.body).toEqual({ n: 4 })
    expect(receiver.mostOpen).toBe(1)
  })

  test('nothing is pushed while the task is paused, and everything when it goes on', async () => {
    const { task } = await declare({ paused: true })
    const id = await run(task)
    await untilLooked()
    expect(receiver.of(task)).toEqual([])
    await api.put(`/v1/app/_tasks/${task}`, { url: receiver.url() })
    await untilStatus(task, id, 'succeeded')
  })

  test('nothing is pushed while the task is deleted, and everything once it is restored', async () => {
    const { task } = await declare()
    const id = await run(task, { delaySeconds: 600 })
    expect((await api.delete(`/v1/app/_tasks/${task}`)).status).toBeLessThan(300)
    server.setClock(601_000)
    await untilLooked()
    expect(receiver.of(task)).toEqual([])
    expect((await api.post(`/v1/app/_tasks/${task}/restore`)).status).toBe(200)
    await untilStatus(task, id, 'succeeded')
  })

  test(
    'a push in flight may end while its task is deleted',
    async () => {
      const answered = Promise.withResolvers<Response>()
      receiver.answer = () => answered.promise
      const { task } = await declare()
      const id = await run(task)
      await receiver.until(task, 1)
      await api.delete(`/v1/app/_tasks/${task}`)
      answered.resolve(Response.json({ late: true }))
      await Bun.sleep(200)
      const restoredAtMs = Date.now()
      await api.post(`/v1/app/_tasks/${task}/restore`)
      const ended = await get(task, id)
      expect(ended).toMatchObject({ status: 'succeeded', attempt: 1, result: { late: true } })
      expect(ended.finishedAt).toBeLessThanOrEqual(restoredAtMs)
    },
    machineStalls,
  )

  test('a delayed run is pushed at its time', async () => {
    const { task } = await declare()
    await run(task, { delaySeconds: 600 })
    server.setClock(500_000)
    await untilLooked()
    expect(receiver.of(task)).toEqual([])
    server.setClock(601_000)
    await receiver.until(task, 1)
  })

  // Those that hang would hold up the others for as long as their leases last.
  test('a receiver that hangs delays neither other tasks nor other organizations', async () => {
    const hanging = await declare({ concurrency: 1_000, leaseSeconds: 300 })
    receiver.answer = ({ task }) => (task === hanging.task ? never() : new Response())
    for (let i = 0; i < 8; i++) {
      const operations = Array.from({ length: 25 }, () => ({ op: 'run' }))
      const { status } = await api.post(`/v1/app/_tasks/${hanging.task}/batch`, { operations })
      expect(status).toBe(200)
    }
    await receiver.until(hanging.task, 64)
    const other = server.as((await server.createOrganization()).secretKey)
    for (const by of [api, other]) {
      const { task } = await declare({}, by)
      await untilStatus(task, await run(task, {}, by), 'succeeded', by)
    }
    // Half of what the organization may hold.
    expect(receiver.of(hanging.task)).toHaveLength(64)
    await api.delete(`/v1/app/_tasks/${hanging.task}`)
  })

  test('the log names the failures, without payload, answer, authorization, secret or lease', () => {
    const failures = server.log.filter(({ message }) => message === 'a push failed')
    expect(failures.map(({ code }) => code)).toContain('timeout')
    expect(failures.map(({ code }) => code)).toContain('http_status')
    const text = server.logLines.join('\n')
    for (const secret of [payloadSecret, answerSecret, 'receiver-token', 'whsec_', ...leasesSeen()]) {
      expect(text).not.toContain(secret)
    }
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
  })

  const seen: string[] = []
  afterEach(() => void seen.push(...receiver.received.map(({ lease }) => lease)))
  const leasesSeen = (): string[] => seen
})

describe('a restart', () => {
  let server: Server
  let dataDir: string

  beforeAll(async () => {
    dataDir = makeTempDir()
    server = await startServer({ args: allow, dataDir, clock: true })
    api = server.as((await server.createOrganization()).secretKey)
  })
  afterAll(async () => {
    await server.stop()
    removeTempDir(dataDir)
  })

  test('SIGTERM drops a push in flight; after its lease it is pushed again', async () => {
    let queued = ''
    receiver.answer = (push) => (push.attempt === 1 && push.run !== queued ? never() : new Response())
    // Longer than a stop may last: one that waited for the push would be ended, and not with 0.
    const { task } = await declare({ leaseSeconds: 60, backoffSeconds: 1 })
    const id = await run(task)
    await receiver.until(task, 1)
    queued = await run(task, { delaySeconds: 50 })
    expect(await server.end('SIGTERM')).toBe(0)
    await eventually('the push was dropped', () => (receiver.of(task)[0]!.isCut ? true : undefined))
    await server.start()
    server.setClock(51_000)
    await untilStatus(task, queued, 'succeeded')
    server.setClock(61_000)
    await eventually('its lease has expired', async () => ((await get(task, id)).error === null ? undefined : true))
    server.setClock(63_000)
    const done = await untilStatus(task, id, 'succeeded')
    expect(done).toMatchObject({ attempt: 2, error: { code: 'lease_expired' } })
    expect(receiver.of(task).filter((push) => push.run === id)).toHaveLength(2)
  })

  test('requests that wait for a run are answered at once when the process stops', async () => {
    receiver.answer = never
    const { task } = await declare()
    const id = await run(task)
    const pull = `pull${++names}`
    await api.put(`/v1/app/_tasks/${pull}`, {})
    const waits = [
      api.get(`/v1/app/_tasks/${task}/runs/${id}?waitSeconds=20`),
      api.post(`/v1/app/_tasks/${pull}/claim`, { waitSeconds: 20 }),
    ]
    await receiver.until(task, 1)
    await Bun.sleep(200)
    // Those that are not answered at once are cut, because a stop does not last as long as they.
    const ended = server.end('SIGTERM')
    const [waited, claimed] = await Promise.all(waits)
    expect(await ended).toBe(0)
    expect({ status: waited!.status, body: waited!.body }).toMatchObject({ status: 200, body: { status: 'running' } })
    expect({ status: claimed!.status, body: claimed!.body }).toEqual({ status: 200, body: { runs: [] } })
    await server.start()
  })

  test('with --no-tasks nothing is pushed and claims answer empty, but leases expire', async () => {
    receiver.answer = ({ attempt }) => (attempt === 1 ? never() : new Response())
    server.setClock(0)
    const { task } = await declare({ leaseSeconds: 300, backoffSeconds: 1 })
    const id = await run(task)
    await receiver.until(task, 1)
    const pull = `pull${++names}`
    await api.put(`/v1/app/_tasks/${pull}`, { schedule: { every: 1 } })
    await server.end('SIGTERM')
    const trial = await startServer({ args: ['--no-tasks'], dataDir, clock: true })
    const trialApi = trial.as(api.key)
    trial.setClock(301_000)
    const expired = await untilStatus(task, id, 'queued', trialApi)
    expect(expired).toMatchObject({ attempt: 1, error: { code: 'lease_expired' } })
    await run(pull, {}, trialApi)
    const claim = await trialApi.post(`/v1/app/_tasks/${pull}/claim`)
    expect({ status: claim.status, body: claim.body }).toEqual({ status: 200, body: { runs: [] } })
    // Over its backoff; with a test clock there is a look every 100 ms.
    trial.setClock(310_000)
    await Bun.sleep(200)
    expect(receiver.of(task)).toHaveLength(1)
    const listed = await trialApi.post(`/v1/app/_tasks/${pull}/query`, { status: 'queued' })
    expect(listed.body.items.filter(({ key }: Json) => key === 'schedule').length).toBeLessThanOrEqual(1)
    // It was started without --push-allow.
    const refused = await trialApi.put('/v1/app/_tasks/refused', { url: receiver.url() })
    expect({ status: refused.status, body: refused.body }).toMatchObject({
      ...{ status: 400, body: { error: { code: 'push_target_refused', field: 'url' } } },
    })
    // A task whose target has become refused can be paused as it is, and nothing else.
    const path = `/v1/app/_tasks/${task}`
    const putStatus = async (body: Json): Promise<number> => (await trialApi.put(path, body)).status
    expect(await putStatus({ url: receiver.url('/other'), paused: true })).toBe(400)
    expect(await putStatus({ url: receiver.url() })).toBe(400)
    expect(await putStatus({ url: receiver.url(), paused: true })).toBe(200)
    expect(await putStatus({ url: receiver.url(), paused: false })).toBe(400)
    await trial.stop()
    server.setClock(320_000)
    await server.start()
    expect((await api.put(path, { url: receiver.url(), backoffSeconds: 1 })).status).toBe(200)
    await untilStatus(task, id, 'succeeded')
  })
})

test.skipIf(storeIsEmbedded())('two servers on one store push each run once, and fire a schedule once', async () => {
  const dataDir = makeTempDir()
  const servers = [await startServer({ args: allow, dataDir }), await startServer({ args: allow, dataDir })]
  try {
    const { secretKey } = await servers[0]!.createOrganization()
    const [one, two] = servers.map((server) => server.as(secretKey)) as [Api, Api]
    api = one
    receiver.answer = async () => {
      await Bun.sleep(20)
      return new Response()
    }
    const { task } = await declare({ concurrency: 5 })
    const ids = await Promise.all(Array.from({ length: 40 }, (_, i) => run(task, {}, i % 2 === 0 ? one : two)))
    for (const id of ids) await untilStatus(task, id, 'succeeded')
    expect(
      receiver
        .of(task)
        .map((push) => push.run)
        .sort(),
    ).toEqual(ids.sort())
    expect(receiver.mostOpen).toBeLessThanOrEqual(5)
    const { task: tick } = await declare({ schedule: { every: 1 } })
    const pushes = await receiver.until(tick, 3)
    expect(new Set(pushes.map((push) => push.run)).size).toBe(pushes.length)
    const { body } = await two.post(`/v1/app/_tasks/${tick}/query`, {})
    const times = body.items.map(({ runAt }: Json) => runAt)
    expect(new Set(times).size).toBe(times.length)
  } finally {
    for (const server of servers) await server.stop()
    removeTempDir(dataDir)
  }
})

test.skipIf(process.platform !== 'linux')('with --workers the owner pushes, each run once', async () => {
  const server = await startServer({ args: [...allow, '--workers', '2'] })
  try {
    api = server.as((await server.createOrganization()).secretKey)
    const { task } = await declare()
    const ids = await Promise.all(Array.from({ length: 20 }, () => run(task)))
    const addedAtMs = Date.now()
    for (const id of ids) await untilStatus(task, id, 'succeeded')
    const pushes = receiver.of(task)
    expect(pushes.map((push) => push.run).sort()).toEqual(ids.sort())
    console.log(`the owner has pushed after ${Math.max(...pushes.map(({ atMs }) => atMs)) - addedAtMs} ms`)
    // A wait in a worker ends although the owner has finished the run.
    const longest = await longestWait(api)
    const answered = Promise.withResolvers<Response>()
    receiver.answer = () => answered.promise
    const id = await run(task)
    const waiting = api.get(`/v1/app/_tasks/${task}/runs/${id}?waitSeconds=20`)
    await Bun.sleep(200)
    answered.resolve(new Response())
    expect((await waiting).body).toMatchObject({ status: 'succeeded' })
    expect(longest.isOver).toBe(false)
    // Stopped with a push in flight.
    receiver.answer = never
    await run(task)
    await receiver.until(task, 22)
    expect(await server.end('SIGTERM')).toBe(0)
  } finally {
    await server.stop()
  }
})
