import { beforeEach, describe, expect, test } from 'bun:test'
import { streamMsMax } from '../../src/core/limits.ts'
import { readSendQueues } from '../../src/http/send-queues.ts'
import { eventually, type Server, startServer } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrapeAll } from '../metrics/scraping.ts'
import { type EventStream, lastEventId, makeKept, openReady, openStream } from './event-stream.ts'
import { createKey, ok, type TestTable, useService } from './service.ts'

// How streams of changes end. Without this a reader whose key was revoked would read on, and one whose table is gone would wait
// for ever.

const service = useService({ clock: true, args: metricsOn })
beforeEach(() => service.server.setClock(0))

/** The code with which a stream ends. Its last event has no id, so that its reader goes on from the one before. */
const endOf = async (stream: EventStream): Promise<string> => {
  const last = await stream.ended()
  expect([last?.event, last?.id, stream.end]).toEqual(['end', undefined, 'whole'])
  const { error, ...more } = JSON.parse(last!.data!)
  expect([error.requestId, more]).toEqual([stream.headers.get('x-request-id'), {}])
  return error.code
}

const streamsOf = async (server: Server): Promise<number> =>
  sumOf(await scrapeAll(server), 'cubby_changes_streams') ?? 0

describe('a stream ends', () => {
  test('when its key is revoked; those of other keys go on', async () => {
    const table = await makeKept(service.api)
    const { id, key } = await createKey(service.api, { kind: 'public' })
    const [ended, other] = [await openReady(table, { key }), await openReady(table)]
    ok(await service.api.delete(`/api/keys/${id}`))
    expect(await endOf(ended)).toBe('revoked_api_key')
    await table.put('a')
    expect((await other.next()).event).toBe('put')
    expect(other.end).toBeUndefined()
    other.close()
  })

  test('when its key expires', async () => {
    const table = await makeKept(service.api)
    const { key } = await createKey(service.api, { kind: 'secret', expiresAt: Date.now() + 600_000 })
    const [ended, other] = [await openReady(table, { key }), await openReady(table)]
    service.server.setClock(601_000)
    expect(await endOf(ended)).toBe('expired_api_key')
    expect(other.end).toBeUndefined()
    other.close()
  })

  test('when its table is deleted, also if the table is there again at once', async () => {
    const table = await makeKept(service.api)
    const streams = [await openReady(table), await openReady(table, { key: service.reader.key })]
    ok(await table.api.delete(table.path))
    expect(await Promise.all(streams.map(endOf))).toEqual(['table_not_found', 'table_not_found'])
    ok(await table.api.post(table.path, { changes: {} }), 201)
    const stream = await openReady(table)
    ok(await table.api.delete(table.path))
    ok(await table.api.post(table.path, { changes: {} }), 201)
    // It may be looked at in between.
    expect(['cursor_expired', 'table_not_found']).toContain(await endOf(stream))
  })

  test('when the changes of its table are ended, also if they are begun again at once', async () => {
    const table = await makeKept(service.api)
    const keep = async (keepHours: number | null) => ok(await table.api.put(`${table.path}/changes`, { keepHours }))
    const stream = await openReady(table)
    await keep(48)
    await table.put('a')
    expect((await stream.next()).event).toBe('put')
    await keep(null)
    expect(await endOf(stream)).toBe('changes_not_kept')
    await keep(24)
    const again = await openReady(table)
    await keep(null)
    await keep(24)
    expect(['cursor_expired', 'changes_not_kept']).toContain(await endOf(again))
  })

  test('when its organization is deleted', async () => {
    const org = await service.server.createOrganization()
    const table = await makeKept(service.server.as(org.secretKey))
    const stream = await openReady(table)
    await service.server.cubbyJson('orgs', 'delete', org.name, '--confirm', org.name)
    expect(await endOf(stream)).toBe('invalid_api_key')
  })

  test('after an hour, and nothing is missed by reading on from its last id', async () => {
    const table = await makeKept(service.api)
    const stream = await openReady(table)
    await table.put('a')
    await stream.next()
    service.server.setClock(streamMsMax - 60_000)
    await table.put('b')
    await stream.next()
    expect(stream.end).toBeUndefined()
    service.server.setClock(streamMsMax + 1_000)
    expect(await endOf(stream)).toBe('unavailable')
    await table.put('c')
    const headers = lastEventId(stream.lastId!)
    const next = await openStream(service.server, table.path, { key: table.api.key, headers })
    const events = await next.untilReady()
    expect(events.map(({ event, data }) => [event, JSON.parse(data!).hashKey])).toEqual([
      ['put', 'c'],
      ['ready', undefined],
    ])
    next.close()
  })

  test('and no stream is left in the metric', async () => {
    await eventually('no stream is open', async () => ((await streamsOf(service.server)) === 0 ? true : undefined))
  })
})

describe('a server that stops', () => {
  test('ends streams and waits at once, and cuts readers that take nothing', async () => {
    const server = await startServer()
    try {
      const table = await makeKept(server.as((await server.createOrganization()).secretKey))
      const { key } = table.api
      const text = 'x'.repeat(300_000)
      for (let n = 0; n < 40; n++) await table.put(`large ${n}`, { text })
      const streams = await Promise.all(Array.from({ length: 40 }, () => openReady(table)))
      const stuck = await Promise.all(Array.from({ length: 10 }, () => openStream(server, table.path, { key })))
      for (const { socket } of stuck) socket.pause()
      let before: number[] = []
      const isStuck = async (): Promise<true | undefined> => {
        const queued = await readSendQueues()
        const now = stuck.map(({ port }) => queued({ address: '127.0.0.1', port, localPort: server.port }))
        // Of one at least: on a busy machine the first has been stuck for 10 s, and is cut, before the last is.
        const isSame = now.some((bytes, n) => bytes > 0 && bytes === before[n])
        before = now
        return isSame || undefined
      }
      await eventually('nothing more goes to one', isStuck, { pauseMs: 300 })
      const { cursor } = ok(await table.api.post(`${table.path}/changes`, { from: 'now' }))
      const waits = Array.from({ length: 50 }, () =>
        table.api.post(`${table.path}/changes`, { cursor, waitSeconds: 20 }),
      )
      // The waits are there, which nothing tells: the last one to come is answered first.
      ok(await table.api.post(`${table.path}/changes`, { cursor, waitSeconds: 1 }))
      const startedMs = performance.now()
      const stopped = server.end('SIGTERM')
      expect(await Promise.all(streams.map(endOf))).toEqual(Array(40).fill('unavailable'))
      for (const answer of await Promise.all(waits)) expect(ok(answer).items).toEqual([])
      expect(await stopped).toBe(0)
      const stoppedMs = performance.now() - startedMs
      console.log(`stopping with 50 streams and 50 waits took ${Math.round(stoppedMs)} ms`)
      // A stop that waits for readers lasts until it cuts everything, after 7.5 s; on a busy machine the process itself takes seconds to end.
      expect(stoppedMs).toBeLessThan(7_000)
      for (const stream of stuck) {
        stream.socket.resume()
        await stream.ended()
        expect([stream.end, stream.text.includes('event: end')]).toEqual(['cut', false])
      }
    } finally {
      await server.stop()
    }
  })
})

describe('on every process, with --workers', () => {
  test('streams end with their key, their table and its changes', async () => {
    const server = await startServer({ args: ['--workers', '2', ...metricsOn] })
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      const [deleted, unkept, kept] = [await makeKept(api), await makeKept(api), await makeKept(api)]
      const { id, key } = await createKey(api)
      // Each has a connection of its own: they are spread over the workers.
      const open = (table: TestTable, key?: string) =>
        Promise.all(Array.from({ length: 10 }, () => openReady(table, { key })))
      const streams = { table: await open(deleted), changes: await open(unkept), key: await open(kept, key) }
      const others = await open(kept)
      const startedMs = performance.now()
      ok(await api.delete(deleted.path))
      ok(await api.put(`${unkept.path}/changes`, { keepHours: null }))
      ok(await api.delete(`/api/keys/${id}`))
      const codes = await Promise.all(Object.values(streams).map((each) => Promise.all(each.map(endOf))))
      console.log(`30 streams have ended after ${Math.round(performance.now() - startedMs)} ms`)
      expect(codes.map((each) => [...new Set(each)])).toEqual([
        ['table_not_found'],
        ['changes_not_kept'],
        ['revoked_api_key'],
      ])
      await kept.put('a')
      for (const stream of others) expect((await stream.next()).event).toBe('put')
      await eventually('the others are left', async () => ((await streamsOf(server)) === 10 ? true : undefined))
    } finally {
      await server.stop()
    }
  })
})
