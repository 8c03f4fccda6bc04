import { describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { rawRequest } from '../raw-connection.ts'
import type { Block } from './event-blocks.ts'
import { EventStream, lastEventId, makeKept, openStream, type StreamRequest, shown } from './event-stream.ts'
import { freshName, ok, TestTable, useService } from './service.ts'

// Streams of changes: their bytes, and what a reader gets, also one who comes again.

const service = useService()

const open = (table: TestTable, request: Partial<StreamRequest> = {}): Promise<EventStream> =>
  openStream(service.server, table.path, { key: table.api.key, ...request })

/** Everything that comes up to `ready`. */
const readUntilReady = async (table: TestTable, request: Partial<StreamRequest> = {}): Promise<Block[]> => {
  const stream = await open(table, request)
  const events = await stream.untilReady()
  stream.close()
  return events
}

describe('the response', () => {
  test('has the headers of a stream', async () => {
    const stream = await open(await makeKept(service.api))
    expect(stream.status).toBe(200)
    const { headers } = stream
    expect(
      Object.fromEntries(
        ['content-type', 'cache-control', 'x-accel-buffering'].map((name) => [name, headers.get(name)]),
      ),
    ).toEqual({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual(['*', 'Authorization'])
    expect(headers.get('x-request-id')).toMatch(/^\S+$/)
    stream.close()
  })

  test('is a stream wherever Accept names it, and never packed', async () => {
    const table = await makeKept(service.api)
    for (const accept of ['application/json, text/event-stream', 'TEXT/Event-Stream;q=0.5']) {
      const stream = new EventStream(service.server)
      const headers: [string, string][] = [
        ['Accept', accept],
        ['Accept-Encoding', 'gzip, br'],
      ]
      stream.socket.write(
        rawRequest(service.server, 'POST', `${table.path}/changes`, { key: table.api.key, headers, body: '' }),
      )
      expect((await stream.untilReady()).length).toBe(1)
      expect(stream.headers.get('content-encoding')).toBeNull()
      stream.close()
    }
    for (const accept of ['*/*', 'text/*', 'text/event-stream;q=0']) {
      expect(ok(await service.api.request('POST', `${table.path}/changes`, {}, { accept })).items).toEqual([])
    }
  })

  test('browsers of every origin may send Last-Event-ID', async () => {
    const { headers } = await service.server.raw('OPTIONS', `${(await makeKept(service.api)).path}/changes`)
    expect(headers.get('access-control-allow-headers')?.toLowerCase().split(/, */)).toContain('last-event-id')
  })

  test('begins with one retry, and has each event byte for byte', async () => {
    const table = await makeKept(service.api)
    const { updatedAt } = await table.put('ada', { n: 1.5, s: 'ü€😀' }, { rangeKey: 'o-1' })
    const stream = await open(table)
    await stream.untilReady()
    ok(await table.delete('ada', 'o-1'))
    await stream.next()
    const [deleted] = stream.events.slice(-1)
    const { deletedAt } = JSON.parse(deleted!.data!)
    const ids = stream.events.map(({ id }) => id)
    const retry = stream.blocks[0]!.retry!
    expect([Number.isInteger(retry), retry >= 1_000, retry <= 5_000]).toEqual([true, true, true])
    const put = `{"op":"put","hashKey":"ada","rangeKey":"o-1","data":{"n":1.5,"s":"ü€😀"},"updatedAt":${updatedAt}}`
    expect(stream.text).toBe(
      [
        `retry: ${retry}\n\n`,
        `event: put\ndata: ${put}\nid: ${ids[0]}\n\n`,
        `event: ready\ndata: {}\nid: ${ids[1]}\n\n`,
        `event: delete\ndata: {"op":"delete","hashKey":"ada","rangeKey":"o-1","deletedAt":${deletedAt}}\nid: ${ids[2]}\n\n`,
      ].join(''),
    )
    // An id is a cursor.
    for (const id of ids) expect(id).toMatch(/^[\w-]+$/)
    expect(ok(await service.api.post(`${table.path}/changes`, { cursor: ids[1] })).count).toBe(1)
    stream.close()
  })

  test('retry is drawn for each stream', async () => {
    const table = await makeKept(service.api)
    const streams = await Promise.all(Array.from({ length: 8 }, () => open(table)))
    for (const stream of streams) await stream.untilReady()
    expect(new Set(streams.map(({ blocks }) => blocks[0]!.retry)).size).toBeGreaterThan(1)
    for (const stream of streams) stream.close()
  })

  test('a line break of any kind in data begins a new line of data', async () => {
    const table = await makeKept(service.api)
    const live = await open(table)
    await live.untilReady()
    const data = '{\n  "a": 1,\r\n  "b": "\\n",\r  "c": [\n\n  ]\n}'
    ok(await service.api.request('PUT', table.path, `{"hashKey":"a","data":${data}}`))
    await live.next()
    const walked = await open(table)
    await walked.untilReady()
    for (const { text, events } of [live, walked]) {
      const lines = ['{', '  "a": 1,', '  "b": "\\n",', '  "c": [', '', '  ]', '}']
      expect(text).toContain(`,"data":${lines.join('\ndata: ')},"updatedAt":`)
      expect(text).not.toContain('\r')
      const put = events.find(({ event }) => event === 'put')!
      expect(JSON.parse(put.data!).data).toEqual({ a: 1, b: '\n', c: [] })
    }
    live.close()
    walked.close()
  })
})

describe('what a stream sends', () => {
  test('every live record, what was committed before it began, ready once, and then what comes', async () => {
    const table = await makeKept(service.api)
    const keys = Array.from({ length: 450 }, (_, n) => `k${String(n).padStart(3, '0')}`)
    await table.fill(keys.map((hashKey) => ({ hashKey })))
    const stream = await open(table)
    const first = await stream.untilReady()
    expect(first.map(shown)).toEqual([...keys.map((key) => `put ${key} {}`), 'ready'])
    await table.batch([
      { op: 'put', hashKey: 'b', data: { n: 1 } },
      { op: 'delete', hashKey: 'k000' },
      { op: 'put', hashKey: 'a', data: {} },
    ])
    expect((await stream.take(3)).map(shown)).toEqual(['put b {"n":1}', 'delete k000', 'put a {}'])
    for (let n = 0; n < 20; n++) {
      await table.put('c', { n })
      expect(shown(await stream.next())).toBe(`put c {"n":${n}}`)
    }
    expect(stream.events.filter(({ event }) => event === 'ready')).toHaveLength(1)
    expect(stream.events.every(({ id }) => id !== undefined)).toBe(true)
    stream.close()
  })

  test('from now: ready at once, and then only what comes', async () => {
    const table = await makeKept(service.api)
    await table.put('before')
    const stream = await open(table, { body: { from: 'now' } })
    expect((await stream.untilReady()).map(shown)).toEqual(['ready'])
    await table.put('after')
    expect(shown(await stream.next())).toBe('put after {}')
    stream.close()
  })

  test('of one hash key only, and keys only', async () => {
    const table = await makeKept(service.api)
    for (const hashKey of ['ann', 'bob', 'ann']) await table.put(hashKey, { n: 1 }, { rangeKey: freshName('r') })
    const [ann, keys, all] = [
      await open(table, { body: { hash: 'ann' } }),
      await open(table, { body: { hash: 'ann', select: 'keys' } }),
      await open(table, { body: { select: 'keys' } }),
    ]
    expect((await ann.untilReady()).length).toBe(3)
    for (const { data } of (await keys.untilReady()).slice(0, -1)) {
      expect(Object.keys(JSON.parse(data!))).toEqual(['op', 'hashKey', 'rangeKey', 'updatedAt'])
    }
    expect((await all.untilReady()).length).toBe(4)
    await table.put('bob')
    ok(await table.delete('bob'))
    await table.put('ann', { n: 2 })
    expect(shown(await ann.next())).toBe('put ann {"n":2}')
    expect(shown(await keys.next())).toBe('put ann')
    // The put of bob may have been read before it was deleted.
    await all.until('the last put', () => shown(all.events.at(-1)!) === 'put ann')
    for (const stream of [ann, keys, all]) stream.close()
  })

  test('tables of other organizations with the same name have other streams', async () => {
    const table = await makeKept(service.api)
    ok(await service.stranger.post(table.path, { changes: {} }), 201)
    const others = new TestTable(service.stranger, 'app', table.name)
    const [mine, theirs] = [await open(table), await open(others)]
    await mine.untilReady()
    await theirs.untilReady()
    await table.put('mine')
    await others.put('theirs')
    expect([shown(await mine.next()), shown(await theirs.next())]).toEqual(['put mine {}', 'put theirs {}'])
    expect([mine.text.includes('theirs'), theirs.text.includes('mine')]).toEqual([false, false])
    mine.close()
    theirs.close()
  })
})

describe('reading on', () => {
  test('from any id: nothing is missed, and nothing is repeated that came before it', async () => {
    const table = await makeKept(service.api)
    for (const key of ['a', 'b', 'c', 'd']) await table.put(key)
    const stream = await open(table)
    await stream.untilReady()
    for (const key of ['e', 'f', 'a2']) await table.put(key)
    ok(await table.delete('e'))
    await stream.until('the delete', () => stream.events.at(-1)!.event === 'delete')
    const all = stream.events.map((event) => ({ text: shown(event), id: event.id! }))
    const readyAt = all.findIndex(({ text }) => text === 'ready')
    const live = ['put a {}', 'put a2 {}', 'put b {}', 'put c {}', 'put d {}', 'put f {}']
    for (const [i, { id, text }] of all.entries()) {
      const rest = (await readUntilReady(table, { headers: lastEventId(id) })).map(shown)
      // A walk goes on with the records as they are now. The put of a record that was deleted since is left out.
      const walked = i < readyAt ? live.slice(live.indexOf(text) + 1) : []
      const log = all.slice(Math.max(i, readyAt) + 1).filter((event) => event.text !== 'put e {}')
      expect([i, rest]).toEqual([i, [...walked, ...log.map((event) => event.text), 'ready']])
      expect((await readUntilReady(table, { body: { cursor: id } })).map(shown)).toEqual(rest)
    }
    stream.close()
  })

  test('Last-Event-ID counts before cursor and from; an empty one does not count', async () => {
    const table = await makeKept(service.api)
    await table.put('a')
    const [, ready] = await readUntilReady(table)
    await table.put('b')
    const [, later] = await readUntilReady(table, { headers: lastEventId(ready!.id!) })
    expect(
      (await readUntilReady(table, { headers: lastEventId(later!.id!), body: { from: 'start' } })).map(shown),
    ).toEqual(['ready'])
    expect(
      (await readUntilReady(table, { headers: lastEventId(ready!.id!), body: { cursor: later!.id } })).map(shown),
    ).toEqual(['put b {}', 'ready'])
    expect((await readUntilReady(table, { headers: lastEventId(''), body: { cursor: later!.id } })).map(shown)).toEqual(
      ['ready'],
    )
  })

  test('goes on with pages, and pages go on with a stream', async () => {
    const table = await makeKept(service.api)
    await table.put('a')
    const { cursor } = ok(await service.api.post(`${table.path}/changes`, { limit: 1 }))
    await table.put('b')
    const events = await readUntilReady(table, { body: { cursor } })
    expect(events.map(shown).slice(-2)).toEqual(['put b {}', 'ready'])
    await table.put('c')
    const page = ok(await service.api.post(`${table.path}/changes`, { cursor: events.at(-1)!.id }))
    expect(page.items.map((item: Json) => item.hashKey)).toEqual(['c'])
  })
})
