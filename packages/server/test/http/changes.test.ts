import { describe, expect, test } from 'bun:test'
import { pageBytesMax } from '../../src/core/limits.ts'
import { type Api, eventually, type Json } from '../harness.ts'
import { graceMs, minuteMs, secondMs, setNow } from './clock.ts'
import { createKey, freshName, makeTable, ok, refused, TestTable, useService } from './service.ts'

// The changes of a table by pages: what a reader gets, how it waits, and when its cursor ends.

const service = useService()
const clocked = useService({ clock: true })

const hourMs = 60 * minuteMs

interface ChangesPage {
  items: Json[]
  count: number
  cursor: string
  more: boolean
}

/** A table that keeps its changes, for a day unless said otherwise. */
const makeKept = async (api: Api = service.api, keepHours?: number): Promise<TestTable> => {
  const table = new TestTable(api, 'app', freshName())
  table.created = ok(await api.post(table.path, { changes: keepHours === undefined ? {} : { keepHours } }), 201)
  return table
}

const read = async (table: TestTable, request: Json = {}, api = table.api): Promise<ChangesPage> => {
  const page = ok(await api.post(`${table.path}/changes`, request))
  expect(Object.keys(page)).toEqual(['items', 'count', 'cursor', 'more'])
  expect(page.count).toBe(page.items.length)
  return page
}

const shown = ({ op, hashKey, rangeKey, data, expired }: Json): string =>
  [expired === true ? 'expired' : op, hashKey, rangeKey, data && JSON.stringify(data)]
    .filter((part) => part !== undefined)
    .join(' ')

/** All that there is to read from a page on. */
const drain = async (
  table: TestTable,
  request: Json = {},
): Promise<{ items: string[]; cursor: string; pages: number }> => {
  let page = await read(table, request)
  const items = page.items.map(shown)
  let pages = 1
  for (; page.more; pages++) {
    page = await read(table, { ...request, cursor: page.cursor, from: undefined })
    items.push(...page.items.map(shown))
  }
  return { items, cursor: page.cursor, pages }
}

describe('keeping changes', () => {
  test('a table is created with them, or told later, for 1 to 168 hours', async () => {
    const table = await makeKept()
    expect(table.created.changes).toEqual({ keepHours: 24, since: table.created.createdAt })
    const plain = await service.table()
    expect(plain.created.changes).toBeUndefined()
    const keep = (body: Json, to: TestTable = plain) => service.api.put(`${to.path}/changes`, body)
    const kept = ok(await keep({ keepHours: 168 }))
    expect(kept).toEqual({ ...plain.created, changes: { keepHours: 168, since: kept.changes.since } })
    expect(ok(await service.api.get(plain.path))).toEqual(kept)
    expect(ok(await keep({ keepHours: 1 })).changes).toEqual({ keepHours: 1, since: kept.changes.since })
    expect(ok(await keep({ keepHours: null }))).toEqual(plain.created)
    expect(ok(await keep({ keepHours: 2 })).changes.since).toBeGreaterThan(kept.changes.since)
    for (const keepHours of [0, 169, 1.5, '24', true, undefined]) {
      refused(await keep({ keepHours }), 400, 'invalid_request', 'keepHours')
      if (keepHours === undefined) continue
      const changes = { keepHours }
      refused(
        await service.api.post(`/v1/app/${freshName()}`, { changes }),
        400,
        'invalid_request',
        'changes.keepHours',
      )
    }
    refused(await service.api.post(`/v1/app/${freshName()}`, { changes: 24 }), 400, 'invalid_request', 'changes')
    refused(await keep({ keepHours: 1, hours: 2 }), 400, 'invalid_request', 'hours')
    refused(await keep({ keepHours: 1 }, new TestTable(service.api, 'app', 'nothing')), 404, 'table_not_found')
    refused(await service.reader.put(`${plain.path}/changes`, { keepHours: 1 }), 403, 'read_only_key')
    refused(await service.stranger.put(`${plain.path}/changes`, { keepHours: 1 }), 404, 'table_not_found')
  })

  test('it is no part of the declaration: a repeated creation neither compares nor changes it', async () => {
    const table = await makeKept(service.api, 7)
    for (const body of [{}, { changes: { keepHours: 9 } }]) {
      expect(ok(await service.api.post(table.path, body))).toEqual(table.created)
    }
    const plain = await service.table()
    expect(ok(await service.api.post(plain.path, { changes: {} }))).toEqual(plain.created)
  })

  test('GET and DELETE of the path are those of the record "changes"', async () => {
    const table = await makeKept()
    await table.put('changes', { mine: true })
    expect(ok(await table.get('changes')).data).toEqual({ mine: true })
    expect(ok(await table.delete('changes'))).toEqual({ deleted: true })
  })

  test('a table that keeps none says how it would', async () => {
    const table = await service.table()
    const { hint } = refused(await service.api.post(`${table.path}/changes`, {}), 409, 'changes_not_kept')
    expect(hint).toContain(`PUT ${table.path}/changes`)
    refused(await service.reader.post(`${table.path}/changes`, {}), 409, 'changes_not_kept')
    refused(await service.stranger.post(`${table.path}/changes`, {}), 404, 'table_not_found')
  })
})

describe('reading', () => {
  test('from the start: every live record once, by its key, then what has changed', async () => {
    const table = await makeKept()
    for (const [hashKey, rangeKey] of [['b', '1'], ['a', '2'], ['a', '1'], ['c']])
      await table.put(hashKey!, {}, { rangeKey })
    await table.put('gone')
    await table.delete('gone')
    await table.put('past', {}, { ttl: Math.floor(Date.now() / 1000) - 60 })
    const first = await read(table, { limit: 2 })
    expect([first.items.map(shown), first.more]).toEqual([['put a 1 {}', 'put a 2 {}'], true])
    await table.put('a', { n: 2 }, { rangeKey: '1' })
    await table.put('new')
    await table.delete('c')
    const rest = await drain(table, { cursor: first.cursor, limit: 2 })
    // A record that the walk had not reached comes as it is then, and once more with its change.
    expect(rest.items).toEqual(['put b 1 {}', 'put new {}', 'put a 1 {"n":2}', 'put new {}', 'delete c'])
    expect(await drain(table, { cursor: rest.cursor })).toEqual({ items: [], cursor: rest.cursor, pages: 1 })
    // A public key reads too, and an empty body is {}.
    expect((await read(table, {}, service.reader)).count).toBe(4)
    expect(ok(await service.api.post(`${table.path}/changes`)).count).toBe(4)
  })

  test('items have the members of the contract', async () => {
    const table = await makeKept()
    const { cursor } = await read(table, { from: 'now' })
    const ttl = Math.floor(Date.now() / 1000) + 1_000
    const { updatedAt } = await table.put('ada', { total: 1.5 }, { rangeKey: 'o-1', ttl })
    await table.put('bob')
    const before = Date.now()
    await table.delete('bob')
    const { items } = await read(table, { cursor })
    expect(items[0]).toEqual({ op: 'put', hashKey: 'ada', rangeKey: 'o-1', data: { total: 1.5 }, ttl, updatedAt })
    expect(items[1]).toEqual({ op: 'delete', hashKey: 'bob', deletedAt: items[1]!.deletedAt })
    expect(items[1]!.deletedAt).toBeGreaterThanOrEqual(before)
    const keys = await read(table, { cursor, select: 'keys' })
    expect(keys.items[0]).toEqual({ op: 'put', hashKey: 'ada', rangeKey: 'o-1', ttl, updatedAt })
    expect((await read(table, { select: 'keys' })).items).toEqual([keys.items[0]])
  })

  test('from now: an empty page at once, and then only what was committed after it', async () => {
    const table = await makeKept()
    await table.put('before')
    const now = await read(table, { from: 'now', waitSeconds: 20 })
    expect([now.items, now.more]).toEqual([[], false])
    await table.put('after')
    expect((await drain(table, { cursor: now.cursor })).items).toEqual(['put after {}'])
  })

  test('data is sent as it was stored', async () => {
    const table = await makeKept()
    const data = '{ "n": 1.50, "n": 2,\r\n "e": "\\u0041" }'
    const body = `{"hashKey":"a","data":${data}}`
    ok(await service.api.request('PUT', table.path, body))
    const { text } = await service.api.post(`${table.path}/changes`, {})
    expect(text).toContain(`"data":${data}`)
  })

  test('patches, batches, batches over tables, loads and items are changes like puts and deletes', async () => {
    const [table, other] = [await makeKept(), await makeKept()]
    const { cursor } = await read(table, { from: 'now' })
    const { api } = service
    ok(await api.request('PATCH', table.path, { hashKey: 'p', merge: { a: 1 } }))
    ok(
      await api.post(`${table.path}/batch`, {
        operations: [
          { op: 'put', hashKey: 'b1', data: {} },
          { op: 'delete', hashKey: 'p' },
        ],
      }),
    )
    ok(
      await api.post('/v1/app/_batch', {
        operations: [
          { op: 'put', table: table.name, hashKey: 'd1', data: {} },
          { op: 'put', table: other.name, hashKey: 'd2', data: {} },
        ],
      }),
    )
    const lines = ['{"hashKey":"l1","data":{}}', '{"hashKey":"l2","data":{}}'].join('\n')
    const headers = { 'Content-Type': 'application/x-ndjson' }
    ok(await api.request('POST', `${table.path}/load`, Buffer.from(lines), headers))
    ok(await api.put(`/api/collections/app.${table.name}/items/i1`, { title: 'x' }))
    expect((await drain(table, { cursor })).items).toEqual([
      ...['put b1 {}', 'delete p', 'put d1 {}', 'put l1 {}', 'put l2 {}', 'put i1 {"title":"x"}'],
    ])
    expect((await drain(other)).items).toEqual(['put d2 {}'])
  })

  test('of one hash key only', async () => {
    const table = await makeKept()
    for (const hashKey of ['ann', 'bob', 'ann']) await table.put(hashKey, {}, { rangeKey: freshName('r') })
    const start = await drain(table, { hash: 'ann', limit: 1 })
    expect([start.items.length, start.items.every((one) => one.startsWith('put ann'))]).toEqual([2, true])
    await table.put('bob')
    await table.delete('bob')
    const empty = await read(table, { hash: 'ann', cursor: start.cursor })
    expect([empty.items, empty.more]).toEqual([[], false])
    await table.put('ann', { n: 1 })
    expect((await drain(table, { hash: 'ann', cursor: empty.cursor })).items).toEqual(['put ann {"n":1}'])
    for (const hash of [undefined, 'bob']) {
      refused(
        await service.api.post(`${table.path}/changes`, { hash, cursor: start.cursor }),
        400,
        'invalid_cursor',
        'cursor',
      )
    }
  })

  test('pages are bounded in items and bytes', async () => {
    const table = await makeKept()
    const { cursor } = await read(table, { from: 'now' })
    const text = 'x'.repeat(300_000)
    for (const key of ['a', 'b', 'c', 'd', 'e']) await table.put(key, { text })
    for (const request of [{}, { cursor }]) {
      const answer = await service.api.post(`${table.path}/changes`, request)
      expect([ok(answer).count, answer.body.more]).toEqual([3, true])
      expect(Buffer.byteLength(answer.text)).toBeLessThan(pageBytesMax + 1_000)
      expect((await drain(table, request)).pages).toBe(2)
      expect((await drain(table, { ...request, limit: 1 })).pages).toBeGreaterThanOrEqual(5)
    }
  })

  test('what is not a request for changes is refused', async () => {
    const table = await makeKept()
    const { cursor } = await read(table)
    const post = (body: unknown) => service.api.post(`${table.path}/changes`, body as Json)
    const wrong: [Json, string][] = [
      [{ from: 'end' }, 'from'],
      [{ from: 'start', cursor }, 'from'],
      [{ limit: 0 }, 'limit'],
      [{ waitSeconds: 21 }, 'waitSeconds'],
      [{ waitSeconds: -1 }, 'waitSeconds'],
      [{ select: 'count' }, 'select'],
      [{ filter: {} }, 'filter'],
    ]
    for (const [body, field] of wrong) refused(await post(body), 400, 'invalid_request', field)
    refused(await post({ hash: 5 }), 400, 'invalid_key', 'hash')
    refused(await post({ hash: '' }), 400, 'invalid_key', 'hash')
    for (const bad of [
      'x',
      `${cursor}A`,
      cursor.slice(0, -4),
      cursor.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      5,
    ]) {
      refused(await post({ cursor: bad }), 400, 'invalid_cursor', 'cursor')
    }
    const other = await makeKept()
    refused(await service.api.post(`${other.path}/changes`, { cursor }), 400, 'invalid_cursor', 'cursor')
    expect((await post({ cursor: null, from: 'now' })).status).toBe(200)
  })
})

describe('the end of a cursor', () => {
  const expired = async (table: TestTable, cursor: string): Promise<void> => {
    const { hint } = refused(await table.api.post(`${table.path}/changes`, { cursor }), 410, 'cursor_expired', 'cursor')
    expect(hint).toContain('start')
  }

  test('goes on after the table was deleted and restored, and ends with its re-creation', async () => {
    const table = await makeKept()
    const { cursor } = await read(table)
    ok(await service.api.delete(table.path))
    refused(await service.api.post(`${table.path}/changes`, { cursor }), 404, 'table_not_found')
    ok(await service.api.post(`${table.path}/restore`))
    await table.put('a')
    expect((await drain(table, { cursor })).items).toEqual(['put a {}'])
    ok(await service.api.delete(table.path))
    ok(await service.api.post(table.path, { changes: {} }), 201)
    await expired(table, cursor)
  })

  test('ends when the changes are ended, also if they are begun again', async () => {
    const table = await makeKept()
    const { cursor } = await read(table)
    const keep = (keepHours: number | null) => service.api.put(`${table.path}/changes`, { keepHours })
    ok(await keep(48))
    await table.put('a')
    expect((await drain(table, { cursor })).items).toEqual(['put a {}'])
    ok(await keep(null))
    refused(await service.api.post(`${table.path}/changes`, { cursor }), 409, 'changes_not_kept')
    ok(await keep(24))
    await expired(table, cursor)
  })

  test('is older than what is kept; the last one is valid however long nothing happens', async () => {
    setNow(clocked.server, Date.now())
    const table = await makeKept(clocked.api, 1)
    await table.put('a')
    const first = await read(table)
    await table.put('b')
    await table.put('c')
    const last = await drain(table)
    setNow(clocked.server, Date.now() + hourMs + graceMs + minuteMs)
    await eventually('the sweep removes what is old', async () => {
      const answer = await table.api.post(`${table.path}/changes`, { cursor: first.cursor })
      return answer.status === 410 ? true : undefined
    })
    await expired(table, first.cursor)
    expect((await drain(table, { cursor: last.cursor })).items).toEqual([])
    await table.put('d')
    expect((await drain(table, { cursor: last.cursor })).items).toEqual(['put d {}'])
    clocked.server.setClock(0)
  })

  test('an expired record is a delete: when its put is read, and when it is swept', async () => {
    clocked.server.setClock(0)
    const table = await makeKept(clocked.api)
    const { cursor } = await read(table, { from: 'now' })
    const ttl = Math.floor(Date.now() / 1000) + 60
    await table.put('a', {}, { ttl })
    await table.put('again', {}, { ttl })
    const before = await drain(table, { cursor })
    expect(before.items).toEqual(['put a {}', 'put again {}'])
    setNow(clocked.server, ttl * 1000 + secondMs)
    const late = await read(table, { cursor })
    const gone = { op: 'delete', deletedAt: ttl * 1000, expired: true }
    expect(late.items).toEqual([
      { ...gone, hashKey: 'a' },
      { ...gone, hashKey: 'again' },
    ])
    await table.put('again', { n: 2 })
    setNow(clocked.server, ttl * 1000 + graceMs + secondMs)
    const swept = await eventually('the sweep removes it', async () => {
      const page = await drain(table, { cursor: before.cursor })
      return page.items.length >= 2 ? page.items : undefined
    })
    expect(swept).toEqual(['put again {"n":2}', 'expired a'])
    clocked.server.setClock(0)
  })
})

describe('waiting', () => {
  test('an empty page waits until something comes for it, or for that long', async () => {
    const table = await makeKept()
    const { cursor } = await read(table)
    const waits = read(table, { cursor, waitSeconds: 20 })
    await table.put('a')
    const page = await waits
    expect(page.items.map(shown)).toEqual(['put a {}'])
    const started = performance.now()
    const over = await read(table, { cursor: page.cursor, waitSeconds: 1 })
    expect([over.items, over.more, performance.now() - started >= 990]).toEqual([[], false, true])
    // A table without records waits too, and a change of another hash key wakes nobody for good.
    const ofOne = (await drain(table, { hash: 'x' })).cursor
    const waitsForOne = read(table, { hash: 'x', cursor: ofOne, waitSeconds: 20 })
    for (let n = 0; n < 5; n++) await table.put('y', { n })
    await table.put('x', { found: true })
    expect((await waitsForOne).items.map(shown)).toEqual(['put x {"found":true}'])
  })

  test('a change between two pages is not missed, however close it comes', async () => {
    const table = await makeKept()
    let { cursor } = await read(table, { from: 'now' })
    for (let n = 0; n < 100; n++) {
      const waits = read(table, { cursor, waitSeconds: 20 })
      const [page] = await Promise.all([waits, table.put('a', { n })])
      expect(page.items.map(shown)).toEqual([`put a {"n":${n}}`])
      cursor = page.cursor
    }
  })

  test('a wait ends with its key and its table', async () => {
    const table = await makeKept()
    const { cursor } = await read(table)
    const key = await createKey(service.api, { kind: 'public' })
    const waits = service.server.as(key.key).post(`${table.path}/changes`, { cursor, waitSeconds: 2 })
    await Bun.sleep(100)
    ok(await service.api.delete(`/api/keys/${key.id}`))
    refused(await waits, 403, 'revoked_api_key')
    const deleted = service.api.post(`${table.path}/changes`, { cursor, waitSeconds: 2 })
    await Bun.sleep(100)
    ok(await service.api.delete(table.path))
    refused(await deleted, 404, 'table_not_found')
  })
})

test('tables of other organizations with the same names have other changes', async () => {
  const name = freshName()
  const [own, others] = await Promise.all(
    [service.api, service.stranger].map(async (api) => {
      const table = await makeTable(api, {}, name)
      ok(await api.put(`${table.path}/changes`, { keepHours: 1 }))
      return table
    }),
  )
  await own!.put('mine')
  const { cursor, items } = await drain(own!)
  expect(items).toEqual(['put mine {}'])
  expect((await drain(others!)).items).toEqual([])
  refused(await service.stranger.post(`${others!.path}/changes`, { cursor }), 400, 'invalid_cursor', 'cursor')
})
