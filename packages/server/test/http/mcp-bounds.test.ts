import { beforeAll, describe, expect, test } from 'bun:test'
import { structuredTextOf, ToolCaller } from '../agents/tool-caller.ts'
import type { Json } from '../harness.ts'
import { freshName, makeTable, ok, useService } from './service.ts'

// An answer goes into the context of a model: it has at most 40,000 bytes, which `call` checks. Here is what could be longer:
// long keys whose bytes need escapes, names of indexed fields, records, cursors, lists, errors.

const service = useService()

let agent: ToolCaller
beforeAll(() => {
  agent = new ToolCaller(service.server, service.org.secretKey)
})

/** 1,024 bytes that take 6,144 in JSON. */
const longKey = (i: number): string => `${'\0'.repeat(1_020)}${1000 + i}`

const makeAt = async (indices?: Json) => {
  const { db, name } = await service.table(indices)
  return { db, table: name }
}

/** Every page; fails if it does not end. */
const pagesOf = async (tool: string, args: Json): Promise<Json[]> => {
  const pages: Json[] = []
  for (let cursor: string | undefined; pages.length < 500; ) {
    const page = await agent.call(tool, { ...args, ...(cursor !== undefined && { cursor }) })
    pages.push(page)
    if (page.cursor === null) return pages
    cursor = page.cursor
  }
  throw new Error('the cursor never becomes null')
}

describe('records that do not fit together', () => {
  test('query_records cuts, and the cursor meets each record once', async () => {
    const at = await makeAt({ i1: { hashField: 'kind' } })
    const sizes = [
      100, 9_000, 35_000, 400_000, 20_000, 20_000, 50, 36_500, 8_000, 8_000, 8_000, 8_000, 8_000, 60_000, 10,
    ]
    for (const [i, size] of sizes.entries()) {
      const data = { kind: 'k', text: 'é'.repeat(size / 2) }
      await agent.call('put_records', { ...at, records: [{ hashKey: 'h', rangeKey: `${100 + i}`, data }] })
    }
    const forms = [{ hash: 'h' }, { index: 't' }, { index: 'i1', hash: 'k', ascending: false }, { hash: 'h', limit: 3 }]
    for (const form of forms) {
      const pages = await pagesOf('query_records', { ...at, ...form })
      const items = pages.flatMap((page) => page.items)
      expect(items.map((item) => item.rangeKey).sort()).toEqual(sizes.map((_, i) => `${100 + i}`))
      for (const { items, count, cut, cursor } of pages) {
        expect(count).toBe(items.length)
        expect(count).toBeGreaterThan(0)
        if (cut) expect(cursor).not.toBeNull()
      }
      expect(pages.some(({ cut }) => cut)).toBe(true)
      for (const { rangeKey, data, dataBytes } of items) {
        const size = sizes[Number(rangeKey) - 100]!
        expect(data === undefined).toBe(dataBytes !== undefined)
        if (size < 30_000) expect(data.text.length).toBe(size / 2)
        if (size >= 40_000)
          expect(dataBytes).toBe(Buffer.byteLength(JSON.stringify({ kind: 'k', text: 'é'.repeat(size / 2) })))
      }
    }
    // A record that is too long as a whole can be read by field.
    const [{ items }] = (await pagesOf('query_records', { ...at, hash: 'h', fields: ['kind'], limit: 100 })) as [Json]
    expect(items).toHaveLength(sizes.length)
    for (const { data } of items) expect(data).toEqual({ kind: 'k' })
  })

  test('get_records leaves the rest unread, and asking again comes to an end', async () => {
    const at = await makeAt()
    const keys = Array.from({ length: 8 }, (_, i) => ({ hashKey: `k${i}` }))
    for (const [i, key] of keys.entries()) {
      if (i === 2) continue
      const data = { text: 'x'.repeat(i === 5 ? 100_000 : 15_000) }
      await agent.call('put_records', { ...at, records: [{ ...key, data }] })
    }
    const seen: string[] = []
    let asked: Json[] = keys
    for (let calls = 0; asked.length > 0; calls++) {
      const { records, missing, unread } = await agent.call('get_records', { ...at, keys: asked })
      expect([...records, ...missing, ...unread]).toHaveLength(asked.length)
      seen.push(...[...records, ...missing].map(({ hashKey }) => hashKey))
      expect(calls).toBeLessThan(8)
      asked = unread
    }
    expect(seen.sort()).toEqual(keys.map(({ hashKey }) => hashKey))
  })
})

describe('long keys', () => {
  test('one record with the longest keys is written, read, queried and deleted', async () => {
    const at = await makeAt()
    const key = { hashKey: longKey(0), rangeKey: longKey(1) }
    const { written } = await agent.call('put_records', {
      ...at,
      records: [{ ...key, data: { text: 'x'.repeat(30_000) } }],
    })
    expect((await agent.call('get_records', { ...at, keys: [key] })).records[0].dataBytes).toBe(30_011)
    expect((await agent.call('get_records', { ...at, keys: [key, { hashKey: 'b' }] })).missing).toEqual([
      { hashKey: 'b' },
    ])
    expect((await agent.call('query_records', { ...at, hash: key.hashKey })).items).toHaveLength(1)
    await agent.call('delete_records', { ...at, records: [{ ...key, ifUpdatedAt: written[0].updatedAt }] })
  })

  test('keys that leave no room in the answer are refused before anything is written', async () => {
    const at = await makeAt()
    const keys = Array.from({ length: 25 }, (_, i) => ({ hashKey: longKey(i), rangeKey: longKey(i) }))
    const records = keys.map((key) => ({ ...key, data: {} }))
    const { hint } = await agent.refused('put_records', { ...at, records }, 'batch_too_large', 'records')
    await agent.refused('get_records', { ...at, keys }, 'batch_too_large', 'keys')
    await agent.refused(
      'delete_records',
      { ...at, records: keys.map((key) => ({ ...key, ifUpdatedAt: 1 })) },
      'batch_too_large',
      'records',
    )
    expect((await agent.call('query_records', { ...at, index: 't', select: 'count' })).count).toBe(0)
    // The number that the hint names is accepted.
    const fitting = Number(/^Send (\d+) at a time\.$/.exec(hint)![1])
    for (let i = 0; i < 25; i += fitting)
      await agent.call('put_records', { ...at, records: records.slice(i, i + fitting) })
    const some = await agent.call('get_records', { ...at, keys: keys.slice(0, fitting) })
    expect(some.records.length + some.unread.length).toBe(fitting)
    const pages = await pagesOf('query_records', { ...at, index: 't', limit: 100 })
    expect(new Set(pages.flatMap(({ items }) => items.map((item: Json) => item.hashKey))).size).toBe(25)
    expect(pages.some(({ cut }) => cut)).toBe(true)
    const selected = await pagesOf('query_records', { ...at, index: 't', select: 'keys', limit: 100 })
    expect(selected.flatMap(({ items }) => items)).toHaveLength(25)
    // 25 keys of 700 plain bytes are no attack.
    const plain = Array.from({ length: 25 }, (_, i) => ({ hashKey: `${100 + i}`.padEnd(700, 'x') }))
    expect((await agent.call('get_records', { ...at, keys: plain })).missing).toHaveLength(25)
  })

  test('the cursor of an index with the longest values', async () => {
    const at = await makeAt({ i1: { hashField: 'h', rangeField: 'r' } })
    for (let i = 0; i < 6; i++) {
      const data = { h: longKey(0), r: longKey(i), text: 'x'.repeat(20_000) }
      await agent.call('put_records', { ...at, records: [{ hashKey: longKey(i), rangeKey: longKey(i), data }] })
    }
    const pages = await pagesOf('query_records', { ...at, index: 'i1', hash: longKey(0) })
    expect(pages.flatMap(({ items }) => items)).toHaveLength(6)
  })
})

describe('tables', () => {
  /** 255 characters that take 1,530 bytes in JSON. */
  const name = (n: number): string => `${'\u0001'.repeat(254)}${n}`
  const longest = Object.fromEntries(
    [1, 2, 3, 4, 5].map((n) => [`i${n}`, { hashField: name(n), rangeField: name(n + 4) }]),
  )

  test('describe_table with the longest names of fields and indices', async () => {
    const at = await makeAt(longest)
    const inner = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`${'\u0001'.repeat(97)}${100 + i}`, '\u0001'.repeat(90)]),
    )
    const data = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`${'\u0002'.repeat(97)}${100 + i}`, { ...inner, deep: inner }]),
    )
    await agent.call('put_records', { ...at, records: [{ hashKey: 'a', data: { ...data, ...inner } }] })
    const { fields, indices } = await agent.call('describe_table', at)
    expect(indices).toEqual(longest)
    expect(fields.length).toBeGreaterThan(2)
    for (const { example = '' } of fields) expect(example.length).toBeLessThanOrEqual(80)
    const { result } = await agent.rpc('resources/read', { uri: `cubby://${at.db}/${at.table}` })
    expect(Buffer.byteLength(result.contents[0].text)).toBeLessThan(41_000)
  })

  test('list_tables with the longest declarations', async () => {
    const db = freshName('d')
    for (let i = 0; i < 12; i++) await makeTable(service.api, longest, `t${100 + i}`, db)
    for (let i = 0; i < 3; i++) ok(await service.api.post(`/v1/${db}/_buckets/b${i}`), 201)
    const pages = await pagesOf('list_tables', { db })
    expect(pages.flatMap(({ tables = [] }) => tables)).toHaveLength(12)
    expect(pages.flatMap(({ buckets = [] }) => buckets)).toHaveLength(3)
    expect(pages.length).toBeGreaterThan(4)
  })
})

describe('runs and errors', () => {
  test('a run with the longest key, progress and error', async () => {
    const task = freshName('k')
    ok(await service.api.put(`/v1/app/_tasks/${task}`, { attempts: 1 }), 201)
    const run = await agent.call('run_task', {
      db: 'app',
      task,
      key: longKey(0),
      payload: { text: 'x'.repeat(33_000) },
    })
    const { runs } = ok(await service.api.post(`/v1/app/_tasks/${task}/claim`, {}))
    const at = `/v1/app/_tasks/${task}/runs/${run.id}`
    ok(await service.api.post(`${at}/extend`, { lease: runs[0].lease, progress: { text: 'x'.repeat(4_000) } }))
    const error = { message: '\u0001'.repeat(1_000) }
    ok(await service.api.post(`${at}/finish`, { lease: runs[0].lease, error }))
    const found = await agent.call('get_run', { db: 'app', task, run: run.id })
    expect(found).toMatchObject({ payloadBytes: 33_011, status: 'failed', progress: { text: expect.any(String) } })
  })

  test('an error is short whatever was sent, and a call may have only what its tool needs', async () => {
    const at = await makeAt(
      Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`i${n}`, { hashField: `${'\u0001'.repeat(254)}${n}` }])),
    )
    const long = '\u0001'.repeat(20_000)
    const calls: [string, Json][] = [
      ['create_table', at],
      ['query_records', { ...at, hash: 'a', [long]: 1 }],
      ['query_records', { ...at, hash: long }],
      ['query_records', { ...at, hash: 'a', range: { [long]: 1 } }],
      ['query_records', { ...at, hash: 'a', cursor: long }],
      ['query_records', { ...at, hash: 'a', select: long }],
      ['query_records', { ...at, index: long }],
      ['describe_table', { db: long, table: long }],
      ['create_table', { db: 'app', table: 'x', indices: { [long]: {} } }],
      ['create_table', { db: 'app', table: 'x', indices: { i1: { hashField: long } } }],
      ['delete_table', { ...at, confirm: long }],
      ['put_records', { ...at, records: [{ hashKey: long, data: {} }] }],
      ['put_records', { ...at, records: [{ hashKey: 'a', data: {}, [long]: 1 }] }],
      ['put_records', { ...at, records: [{ hashKey: 'a', data: { [`${'\u0001'.repeat(254)}1`]: [] } }] }],
      ['get_run', { db: 'app', task: 'x', run: long }],
      ['get_file_url', { db: 'app', bucket: 'x', name: long }],
    ]
    for (const [tool, args] of calls) {
      const { isError, text } = await agent.try(tool, args)
      expect({ tool, isError }).toEqual({ tool, isError: true })
      expect(Buffer.byteLength(text)).toBeLessThan(20_000)
    }
    const padding = 'x'.repeat(70_000)
    for (const tool of [
      'describe_table',
      'query_records',
      'list_tables',
      'delete_table',
      'restore_table',
      'create_table',
    ]) {
      await agent.refused(tool, { ...at, padding }, 'body_too_large')
    }
    const { raw } = await agent.try('get_records', { ...at, keys: [{ hashKey: 'a' }], padding: 'x'.repeat(1_100_000) })
    expect(raw.length).toBeLessThan(2_000)
    expect(structuredTextOf(raw)).not.toContain(padding)
  })
})

test('describe_table looks at the 50 newest records, however large they are, and says if it leaves out fields', async () => {
  const table = await service.table()
  const at = { db: table.db, table: table.name }
  for (let n = 0; n < 60; n++) await table.put(`small ${n}`, { small: n })
  for (let n = 0; n < 5; n++) await table.put(`large ${n}`, { large: 'x'.repeat(400_000) })
  const { sampled, fields, cut } = await agent.call('describe_table', at)
  const shares = fields.map(({ path, share }: Json) => [path, share])
  expect([sampled, shares, cut]).toEqual([
    50,
    [
      ['small', 0.9],
      ['large', 0.1],
    ],
    false,
  ])
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`field ${n}`, n]))
  await table.put('wide', wide)
  expect((await agent.call('describe_table', at)).cut).toBe(true)
})
