import { afterEach, describe, expect, test } from 'bun:test'
import { followersMax } from '../../src/core/limits.ts'
import { eventually, type Json } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { rawRequest } from '../raw-connection.ts'
import { EventStream, makeKept, openReady, openStream } from './event-stream.ts'
import { createKey, inParallel, ok, refused, type TestTable, useService } from './service.ts'

// A process has room for so many streams and waits. Without fair shares one key would take all of it, and without an end of
// those whose clients are gone the room would be used up for good.

const service = useService({ args: metricsOn })
/** One key alone has a quarter. */
const perKey = followersMax / 4

const opened: EventStream[] = []
afterEach(async () => {
  for (const stream of opened.splice(0)) stream.close()
  await expectNothingLeft()
})

const metric = async (name: string): Promise<number> => sumOf(await scrape(service.server), name) ?? 0

/** Nothing is held for streams, waits and requests. */
const expectNothingLeft = (): Promise<true> =>
  eventually('nothing is left', async () => {
    const names = ['cubby_changes_streams', 'cubby_changes_waits', 'cubby_http_requests_in_flight']
    for (const name of names) if ((await metric(name)) > 0) return undefined
    return true
  })

const open = async (table: TestTable, count: number, key = table.api.key): Promise<void> => {
  await inParallel(Array.from({ length: count }), 50, async () => void opened.push(await openReady(table, { key })))
}

/** The response to a request for a stream that may be refused. */
const statusOf = async (table: TestTable, key = table.api.key): Promise<number> => {
  const stream = await openStream(service.server, table.path, { key })
  opened.push(stream)
  if (stream.status === 503) {
    await stream.ended()
    expect(JSON.parse(stream.text).error.code).toBe('unavailable')
    expect(Number(stream.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  return stream.status
}

describe('shares', () => {
  test('one key has a quarter; its organization and others find room, and it may come again when one has gone', async () => {
    const table = await makeKept(service.api)
    await table.put('large', { text: 'x'.repeat(400_000) })
    await open(table, perKey - 10)
    const { cursor } = ok(await table.api.post(`${table.path}/changes`, { from: 'now' }))
    const wait = (): Promise<Json> => table.api.post(`${table.path}/changes`, { cursor, waitSeconds: 20 })
    const waits = Array.from({ length: 10 }, wait)
    await eventually('they wait', async () => ((await metric('cubby_changes_waits')) === 10 ? true : undefined))
    const before = await metric('cubby_changes_refused_total')
    for (let n = 0; n < 3; n++) expect(await statusOf(table)).toBe(503)
    refused((await wait()) as never, 503, 'unavailable')
    expect((await metric('cubby_changes_refused_total')) - before).toBe(4)
    // Pages that do not wait, and everything else, are served. Streams hold no place among requests; the waits have no answer yet.
    expect(await metric('cubby_http_requests_in_flight')).toBe(10)
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => table.api.post(`${table.path}/query`, { hash: 'large' })),
    )
    for (const answer of answers) expect(ok(answer).count).toBe(1)
    expect(ok(await table.api.post(`${table.path}/changes`)).count).toBe(1)
    // A second key has half of what the first leaves of the organization's half, another organization its own.
    const { key } = await createKey(service.api, { kind: 'public' })
    expect(await statusOf(table, key)).toBe(200)
    expect(await statusOf(await makeKept(service.stranger))).toBe(200)
    // Now that others are there, its share is one less.
    for (const stream of opened.slice(0, 2)) stream.close()
    await eventually('a place is free', async () => ((await statusOf(table)) === 200 ? true : undefined))
    expect(await statusOf(table)).toBe(503)
    await table.put('a')
    for (const answer of await Promise.all(waits)) expect(ok(answer as never).count).toBe(1)
  })
})

describe('a client that goes away without goodbye', () => {
  test('gives its place back', async () => {
    const table = await makeKept(service.api)
    for (let round = 0; round < 2; round++) {
      await open(table, perKey)
      expect(await statusOf(table)).toBe(503)
      for (const stream of opened.splice(0)) stream.close()
      await expectNothingLeft()
    }
  })

  test('at every stage leaves nothing behind', async () => {
    const table = await makeKept(service.api)
    const text = 'x'.repeat(200_000)
    for (let n = 0; n < 30; n++) await table.put(`large ${n}`, { text })
    const { cursor } = ok(await table.api.post(`${table.path}/changes`, { from: 'now' }))
    const request = (body: Json, accept = 'text/event-stream'): Uint8Array =>
      rawRequest(service.server, 'POST', `${table.path}/changes`, {
        ...{ key: table.api.key, headers: [['Accept', accept]], body: JSON.stringify(body) },
      })
    const connected = async (): Promise<EventStream> => {
      const stream = new EventStream(service.server)
      await new Promise((resolve) => stream.socket.once('connect', resolve))
      return stream
    }
    const sent = async (bytes: Uint8Array): Promise<EventStream> => {
      const stream = await connected()
      await new Promise<void>((resolve) => void stream.socket.write(bytes, () => resolve()))
      return stream
    }
    const until = async (body: Json, isThere: (stream: EventStream) => boolean): Promise<EventStream> => {
      const stream = await sent(request(body))
      await stream.until('its stage', () => isThere(stream))
      return stream
    }
    const stages: Record<string, () => Promise<EventStream>> = {
      'half of the request is sent': () => sent(request({ from: 'now' }).slice(0, -5)),
      'the request is sent': () => sent(request({})),
      'the request is sent, for what is to come': () => sent(request({ from: 'now' })),
      'the request of a wait is sent': () => sent(request({ cursor, waitSeconds: 20 }, '*/*')),
      'the head has come': () => until({}, ({ status }) => status > 0),
      'the first event has come': () => until({}, ({ events }) => events.length > 0),
      'it has taken a part and stopped': async () => {
        const stream = await until({}, ({ events }) => events.length > 2)
        stream.socket.pause()
        return stream
      },
      'it is ready': () => openReady(table),
      'it is ready, for one hash key': () => openReady(table, { hash: 'a' }),
      'it has said that it sends no more': async () => {
        const stream = await openReady(table)
        stream.socket.end()
        return stream
      },
    }
    const clients = Object.values(stages).flatMap((stage) => Array.from({ length: 25 }, () => stage))
    let isOver = false
    const writing = (async () => {
      for (let n = 0; !isOver; n++) await table.put('a', { n, text: text.slice(0, 10_000) })
    })()
    await inParallel(clients, 20, async (stage) => (await stage()).close())
    isOver = true
    await writing
    await expectNothingLeft()
    // The room for the pages of streams is there too: each of these needs some of it.
    await inParallel(Array.from({ length: 20 }), 20, async () => {
      const stream = await openStream(service.server, table.path, { key: table.api.key })
      opened.push(stream)
      expect((await stream.untilReady()).length).toBeGreaterThan(30)
    })
    for (const stream of opened.splice(0)) stream.close()
    await open(table, perKey)
    expect(await statusOf(table)).toBe(503)
  })
})
