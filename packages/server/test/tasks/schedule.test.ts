import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { sweepGraceMs } from '../../src/core/limits.ts'
import { type Api, eventually, type Json, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { Receiver } from './receiver.ts'

// A schedule runs without a request. The clock of the server is moved instead of waiting for it.

setDefaultTimeout(120_000)

const hourMs = 3_600_000

let server: Server
let api: Api
let receiver: Receiver

const queued = async (task: string): Promise<Json[]> =>
  (await api.post(`/v1/app/_tasks/${task}/query`, { status: 'queued' })).body.items

const untilQueued = (task: string): Promise<Json[]> =>
  eventually(`a run of ${task}`, async () => {
    const found = await queued(task)
    return found.length > 0 ? found : undefined
  })

/** Claims and finishes what is there: so the next time finds no queued run. */
const work = async (task: string): Promise<Json[]> => {
  const { body } = await api.post(`/v1/app/_tasks/${task}/claim`, { limit: 100 })
  for (const { id, lease } of body.runs) await api.post(`/v1/app/_tasks/${task}/runs/${id}/finish`, { lease })
  return body.runs
}

const storedRuns = (): string[] => {
  const db = new Database(join(server.dataDir, 'cubby.db'), { readonly: true })
  const ids = db.prepare<{ id: string }, []>('SELECT id FROM runs').all()
  db.close()
  return ids.map(({ id }) => id)
}

const describeTask = async (task: string): Promise<Json> => (await api.get(`/v1/app/_tasks/${task}`)).body

/** Waits until the scheduler has gone on to this time. */
const untilNext = (task: string, nextMs: number): Promise<true> =>
  eventually(`the next time of ${task} to be ${new Date(nextMs).toISOString()}`, async () =>
    toMs((await describeTask(task)).schedule.nextRunAt) === nextMs ? true : undefined,
  )

const toMs = (time: unknown): number => (typeof time === 'number' ? time : Date.parse(String(time)))

/** A look or two, so that what would have been created is there: with a test clock there is one every 100 ms. */
const looks = (): Promise<void> => Bun.sleep(200)

describe.skipIf(!storeIsEmbedded())('by the clock of the server', () => {
  beforeAll(async () => {
    receiver = new Receiver()
    server = await startServer({ clock: true, args: ['--push-allow', '127.0.0.1/32'] })
    api = server.as((await server.createOrganization()).secretKey)
  })
  beforeEach(() => server.setClock(0))
  afterAll(async () => {
    await server.stop()
    await receiver.stop()
  })

  test('a time creates one run, and times that find it queued create none', async () => {
    const { body } = await api.put('/v1/app/_tasks/hourly', { schedule: { every: 3_600, payload: { by: 'clock' } } })
    const nextMs = toMs(body.schedule.nextRunAt)
    expect(nextMs % hourMs).toBe(0)
    await looks()
    expect(await queued('hourly')).toEqual([])
    server.setClock(nextMs - Date.now() + 1_000)
    const [run] = await untilQueued('hourly')
    expect(run).toMatchObject({ key: 'schedule', payload: { by: 'clock' }, attempt: 0 })
    expect(toMs(run.runAt)).toBe(nextMs)
    expect(toMs((await describeTask('hourly')).schedule.nextRunAt)).toBe(nextMs + hourMs)
    server.setClock(nextMs - Date.now() + 3 * hourMs + 1_000)
    await untilNext('hourly', nextMs + 4 * hourMs)
    expect((await queued('hourly')).map(({ id }) => id)).toEqual([run.id])
    expect(await work('hourly')).toHaveLength(1)
  })

  test('a scheduled run is pushed', async () => {
    const { body } = await api.put('/v1/app/_tasks/push', {
      url: receiver.url(),
      schedule: { cron: '0 3 * * *', payload: { n: 7 } },
    })
    server.setClock(toMs(body.schedule.nextRunAt) - Date.now() + 1_000)
    const [push] = await receiver.until('push', 1)
    expect(push!.body).toEqual({ n: 7 })
  })

  test('a clock that is set back by up to an hour repeats nothing; one that is set ahead skips to one run', async () => {
    const { body } = await api.put('/v1/app/_tasks/jumping', { schedule: { every: 600 } })
    const nextMs = toMs(body.schedule.nextRunAt)
    server.setClock(nextMs - Date.now() + 1_000)
    await untilQueued('jumping')
    expect(await work('jumping')).toHaveLength(1)
    // Back before the time that was served, and over it again.
    server.setClock(nextMs - Date.now() - 1_500_000)
    await looks()
    server.setClock(nextMs - Date.now() + 2_000)
    await looks()
    expect(await queued('jumping')).toEqual([])
    // A day ahead: 144 times have passed.
    server.setClock(nextMs - Date.now() + 24 * hourMs + 1_000)
    await untilQueued('jumping')
    expect(await work('jumping')).toHaveLength(1)
    await looks()
    expect(await queued('jumping')).toEqual([])
    // A day back again: it goes on from there, and does not wait for a day.
    server.setClock(nextMs - Date.now() + 3_000)
    await untilNext('jumping', nextMs + 600_000)
  })

  test('times missed while nothing served create one run at the next start', async () => {
    const { body } = await api.put('/v1/app/_tasks/missed', { schedule: { every: 3_600 } })
    const nextMs = toMs(body.schedule.nextRunAt)
    await server.end('SIGTERM')
    server.setClock(nextMs - Date.now() + 5 * hourMs + 1_000)
    await server.start()
    await untilQueued('missed')
    await looks()
    expect(await queued('missed')).toHaveLength(1)
  })

  test('a paused or deleted task misses its times', async () => {
    const schedule = { every: 3_600 }
    const { body } = await api.put('/v1/app/_tasks/paused', { schedule, paused: true })
    await api.put('/v1/app/_tasks/deleted', { schedule })
    await api.delete('/v1/app/_tasks/deleted')
    expect(body.schedule.nextRunAt).toBeNull()
    const hour = Math.ceil(Date.now() / hourMs) * hourMs
    server.setClock(hour - Date.now() + 2 * hourMs + 1_000)
    await looks()
    await api.put('/v1/app/_tasks/paused', { schedule })
    await api.post('/v1/app/_tasks/deleted/restore')
    await looks()
    for (const task of ['paused', 'deleted']) {
      expect(await queued(task)).toEqual([])
      expect(toMs((await describeTask(task)).schedule.nextRunAt)).toBe(hour + 3 * hourMs)
    }
  })

  test('finished runs vanish when they are no longer kept, and leases expire by the clock', async () => {
    await api.put('/v1/app/_tasks/pull', { keepSeconds: 60, leaseSeconds: 30, attempts: 1 })
    const { body: done } = await api.post('/v1/app/_tasks/pull/run', { id: 'done' })
    expect(done.id).toBe('done')
    expect(await work('pull')).toHaveLength(1)
    await api.post('/v1/app/_tasks/pull/run', { id: 'held' })
    await api.post('/v1/app/_tasks/pull/claim')
    server.setClock(40_000)
    const held = await eventually('its lease has expired', async () => {
      const { body } = await api.get('/v1/app/_tasks/pull/runs/held')
      return body.status === 'failed' ? body : undefined
    })
    expect(held.error.code).toBe('lease_expired')
    server.setClock(70_000)
    expect((await api.get('/v1/app/_tasks/pull/runs/done')).body.error?.code).toBe('run_not_found')
    expect(storedRuns()).toContain('done')
    // The sweep removes the row after the grace period.
    server.setClock(70_000 + sweepGraceMs)
    await eventually('the row is gone', () => (storedRuns().includes('done') ? undefined : true))
  })
})

test('by the clock of the database or of the server: every second', async () => {
  receiver = new Receiver()
  server = await startServer({ args: ['--push-allow', '127.0.0.1/32'] })
  try {
    api = server.as((await server.createOrganization()).secretKey)
    await api.put('/v1/app/_tasks/tick', { url: receiver.url(), schedule: { every: 1 } })
    const pushes = await receiver.until('tick', 2)
    // By the times of the runs: after a machine has stood still, two pushes may come at once.
    const times: number[] = []
    for (const { run } of pushes) times.push(toMs((await api.get(`/v1/app/_tasks/tick/runs/${run}`)).body.runAt))
    expect(times.map((time) => time % 1_000)).toEqual(times.map(() => 0))
    for (const [i, time] of times.slice(1).entries()) expect(time - times[i]!).toBeGreaterThanOrEqual(1_000)
    expect(receiver.mostOpen).toBe(1)
  } finally {
    await server.stop()
    await receiver.stop()
  }
})
