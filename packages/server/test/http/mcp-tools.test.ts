import { beforeAll, describe, expect, test } from 'bun:test'
import { structuredTextOf, ToolCaller } from '../agents/tool-caller.ts'
import type { Json } from '../harness.ts'
import { makeBucket } from './bucket.ts'
import { createKey, freshName, ok, refused, useService } from './service.ts'

// Every tool through HTTP. `call` also compares arguments and answer with the schemas in the list of tools.

const service = useService()

let agent: ToolCaller
let reader: ToolCaller
beforeAll(() => {
  agent = new ToolCaller(service.server, service.org.secretKey)
  reader = new ToolCaller(service.server, service.org.publicKey)
})

/** A new table; the arguments that name it. */
const makeTable = async (indices?: Json): Promise<{ db: string; table: string }> => {
  const { db, name } = await service.table(indices)
  return { db, table: name }
}

describe('patch_records', () => {
  const dataOf = async (at: Json, hashKey: string): Promise<Json> =>
    ok(await service.api.get(`/v1/${at.db}/${at.table}/${hashKey}`)).data

  test('changes parts of records, creates those that do not exist, and answers keys and versions', async () => {
    const at = await makeTable({ i1: { hashField: 'status' } })
    await agent.call('put_records', { ...at, records: [{ hashKey: 'a', data: { n: 1, s: 'x', list: [1] } }] })
    const records = [
      { hashKey: 'a', merge: { s: null, status: 'open' }, increment: { '/n': 2 }, append: { '/list': [2] }, ttl: 4e9 },
      { hashKey: 'b', rangeKey: 'r', increment: { '/n': { by: 1, max: 1 } } },
    ]
    const { written } = await agent.call('patch_records', { ...at, records })
    expect(written).toEqual([
      { hashKey: 'a', updatedAt: expect.any(Number) },
      { hashKey: 'b', rangeKey: 'r', updatedAt: expect.any(Number) },
    ])
    expect(await dataOf(at, 'a')).toEqual({ n: 3, list: [1, 2], status: 'open' })
    expect(await dataOf(at, 'b/r')).toEqual({ n: 1 })
  })

  test('all or none, and errors name the record', async () => {
    const at = await makeTable({ i1: { hashField: 'status' } })
    await agent.call('put_records', { ...at, records: [{ hashKey: 'a', data: { n: 1, s: 'x' } }] })
    const cases: [Json, string, string][] = [
      [{ increment: { '/s': 1 } }, 'not_a_number', 'records[1].increment["/s"]'],
      [{ append: { '/n': [1] } }, 'not_an_array', 'records[1].append["/n"]'],
      [{ increment: { '/n': { by: -2, min: 0 } } }, 'precondition_failed', 'records[1].increment["/n"]'],
      [{ merge: { status: [] } }, 'invalid_index_value', 'records[1].data.status'],
      [{ merge: {}, ifUpdatedAt: 1 }, 'precondition_failed', 'records[1].ifUpdatedAt'],
      [{ data: {} }, 'invalid_request', 'records[1].data'],
      [{}, 'invalid_request', 'records[1].merge'],
    ]
    for (const [change, code, field] of cases) {
      const records = [
        { hashKey: 'new', increment: { '/n': 1 } },
        { hashKey: 'a', ...change },
      ]
      await agent.refused('patch_records', { ...at, records }, code, field)
    }
    expect(await dataOf(at, 'a')).toEqual({ n: 1, s: 'x' })
    expect((await service.api.get(`/v1/${at.db}/${at.table}/new`)).status).toBe(404)
  })
})

describe('put_records', () => {
  test('writes new records and answers their keys and versions', async () => {
    const at = await makeTable({ i1: { hashField: 'status' } })
    const records = [
      { hashKey: 'a', data: { status: 'open' } },
      { hashKey: 'a', rangeKey: '1', data: {}, ttl: 4_000_000_000 },
    ]
    const { written } = await agent.call('put_records', { ...at, records })
    expect(written).toEqual([
      { hashKey: 'a', updatedAt: expect.any(Number) },
      { hashKey: 'a', rangeKey: '1', updatedAt: expect.any(Number) },
    ])
    const found = ok(await service.api.get(`/v1/${at.db}/${at.table}/a/1`))
    expect(found).toEqual({ ...records[1], updatedAt: written[1].updatedAt })
    expect((await agent.call('query_records', { ...at, index: 'i1', hash: 'open' })).count).toBe(1)
  })

  test('what it wrote is found by query_records, which says why a range finds nothing', async () => {
    const at = await makeTable({ i1: { hashField: 'status', rangeField: 'at' } })
    const records = [{ hashKey: 'a', data: { status: 'open', at: '2026-10-05T00:00:00Z' } }]
    await agent.call('put_records', { ...at, records })
    const query = { ...at, index: 'i1', hash: 'open' }
    const { hint, ...page } = await agent.call('query_records', { ...query, range: { gte: '2026-10-01' } })
    expect(page).toEqual({ items: [], count: 0, cursor: null, cut: false })
    expect(hint).toEndWith('Write it as "2026-10-01T00:00:00Z".')
    expect(await agent.call('query_records', query)).not.toHaveProperty('hint')
  })

  test('replaces a record only with its version or overwrite', async () => {
    const at = await makeTable()
    const put = (more: Json, data: Json = {}) => ({ ...at, records: [{ hashKey: 'a', data, ...more }] })
    const first = (await agent.call('put_records', put({}, { n: 1 }))).written[0].updatedAt
    const error = await agent.refused('put_records', put({}, { n: 2 }), 'precondition_failed', 'records[0].ifUpdatedAt')
    expect(error.hint).toContain(`"ifUpdatedAt": ${first}`)
    await agent.refused('put_records', put({ overwrite: false }), 'precondition_failed')
    await agent.refused('put_records', put({ ifUpdatedAt: null }), 'precondition_failed')
    await agent.refused('put_records', put({ ifUpdatedAt: first - 1 }), 'precondition_failed')
    await agent.refused('put_records', put({ ifUpdatedAt: first, overwrite: true }), 'invalid_request')
    expect(ok(await service.api.get(`/v1/${at.db}/${at.table}/a`)).data).toEqual({ n: 1 })
    await agent.call('put_records', put({ ifUpdatedAt: first }, { n: 3 }))
    await agent.call('put_records', put({ overwrite: true }, { n: 4 }))
    expect(ok(await service.api.get(`/v1/${at.db}/${at.table}/a`)).data).toEqual({ n: 4 })
    await agent.refused(
      'put_records',
      { ...at, records: [{ hashKey: 'b', data: {}, ifUpdatedAt: 1 }] },
      'precondition_failed',
    )
  })

  test('writes all or none, and names the record at fault', async () => {
    const at = await makeTable({ i1: { hashField: 'status' } })
    await agent.call('put_records', { ...at, records: [{ hashKey: 'c', data: {} }] })
    const cases: [Json, string, string][] = [
      [{ hashKey: 'c', data: {} }, 'precondition_failed', 'records[1].ifUpdatedAt'],
      [{ hashKey: 'b', data: { status: [] } }, 'invalid_index_value', 'records[1].data.status'],
      [{ hashKey: 'b', data: {}, ttl: 60 }, 'invalid_ttl', 'records[1].ttl'],
      [{ hashKey: 'b' }, 'invalid_request', 'records[1].data'],
      [{ hashKey: 'b', data: {}, overwritee: true }, 'invalid_request', 'records[1].overwritee'],
      [{ data: {} }, 'invalid_key', 'records[1].hashKey'],
      [{ hashKey: 'a', rangeKey: '#', data: {} }, 'batch_duplicate_keys', 'records[1]'],
    ]
    for (const [second, code, field] of cases) {
      await agent.refused('put_records', { ...at, records: [{ hashKey: 'a', data: {} }, second] }, code, field)
    }
    expect((await agent.call('query_records', { ...at, index: 't' })).items).toHaveLength(1)
    const many = Array.from({ length: 26 }, (_, i) => ({ hashKey: `${i}`, data: {} }))
    await agent.refused('put_records', { ...at, records: many }, 'batch_too_large', 'records')
    await agent.refused('put_records', { ...at, records: [] }, 'invalid_request', 'records')
    expect((await agent.call('put_records', { ...at, records: many.slice(1) })).written).toHaveLength(25)
  })

  test('keeps the text of numbers, both ways', async () => {
    const at = await makeTable()
    const data = '{"a":1.50,"b":12345678901234567890,"c":-0,"d":1e400, "e":[1.0,{"f":0.10}]}'
    await agent.whole(
      'put_records',
      `{"db":"${at.db}","table":"${at.table}","records":[{"hashKey":"n","data":${data}}]}`,
    )
    expect(ok(await service.api.get(`/v1/${at.db}/${at.table}/n`))).toBeDefined()
    for (const [tool, args] of [
      ['get_records', { ...at, keys: [{ hashKey: 'n' }] }],
      ['query_records', { ...at, hash: 'n' }],
    ] as const) {
      const { raw, text } = await agent.whole(tool, args)
      expect(structuredTextOf(raw)).toContain(data)
      expect(text).toContain(data)
    }
    const { raw } = await agent.whole('query_records', { ...at, hash: 'n', fields: ['d', 'a', 'none'] })
    expect(structuredTextOf(raw)).toContain('"data":{"a":1.50,"d":1e400}')
  })
})

describe('delete_records', () => {
  test('deletes all or none, and only the version that was read', async () => {
    const at = await makeTable()
    const records = [
      { hashKey: 'a', data: {} },
      { hashKey: 'b', rangeKey: '1', data: {} },
    ]
    const [a, b] = (await agent.call('put_records', { ...at, records })).written
    await agent.refused(
      'delete_records',
      { ...at, records: [{ hashKey: 'a' }] },
      'invalid_request',
      'records[0].ifUpdatedAt',
    )
    await agent.refused(
      'delete_records',
      { ...at, records: [{ hashKey: 'a', ifUpdatedAt: null }] },
      'invalid_request',
      'records[0].ifUpdatedAt',
    )
    const key = ({ updatedAt: ifUpdatedAt, ...rest }: Json) => ({ ...rest, ifUpdatedAt })
    const stale = { ...key(b), ifUpdatedAt: b.updatedAt - 1 }
    await agent.refused(
      'delete_records',
      { ...at, records: [key(a), stale] },
      'precondition_failed',
      'records[1].ifUpdatedAt',
    )
    expect((await agent.call('query_records', { ...at, index: 't' })).count).toBe(2)
    expect(await agent.call('delete_records', { ...at, records: [key(a), key(b)] })).toEqual({
      deleted: [{ hashKey: 'a' }, { hashKey: 'b', rangeKey: '1' }],
    })
    await agent.refused('delete_records', { ...at, records: [key(a)] }, 'precondition_failed')
  })
})

describe('get_records and query_records', () => {
  test('found, missing and the order asked', async () => {
    const at = await makeTable()
    await agent.call('put_records', {
      ...at,
      records: [
        { hashKey: 'a', data: { n: 1 } },
        { hashKey: 'b', rangeKey: 'r', data: {} },
      ],
    })
    const keys = [{ hashKey: 'b', rangeKey: 'r' }, { hashKey: 'no' }, { hashKey: 'a', rangeKey: '#' }]
    const answer = await reader.call('get_records', { ...at, keys })
    expect(answer.records.map((record: Json) => record.hashKey)).toEqual(['b', 'a'])
    expect(answer).toMatchObject({ missing: [{ hashKey: 'no' }], unread: [] })
    await reader.refused('get_records', { ...at, keys: [] }, 'invalid_request', 'keys')
    const many = Array.from({ length: 26 }, (_, i) => ({ hashKey: `${i}` }))
    await reader.refused('get_records', { ...at, keys: many }, 'batch_too_large', 'keys')
    expect((await reader.call('get_records', { ...at, keys: many.slice(1) })).missing).toHaveLength(25)
  })

  test('limit is 20, at most 100; select and the three forms', async () => {
    const table = await service.table({ i1: { hashField: 'kind', rangeField: 'n' } })
    const at = { db: table.db, table: table.name }
    await table.fill(
      Array.from({ length: 130 }, (_, i) => ({ hashKey: 'h', rangeKey: `${1000 + i}`, data: { kind: 'k', n: i } })),
    )
    const sizes = async (query: Json) => (await reader.call('query_records', { ...at, ...query })).items.length
    expect(await sizes({ index: 't' })).toBe(20)
    expect(await sizes({ hash: 'h', limit: 100 })).toBe(100)
    // This is no error over HTTP either: the cursor shows that there is more.
    expect((await reader.try('query_records', { ...at, hash: 'h', limit: 1000 })).content.items).toHaveLength(100)
    expect(await sizes({ index: 'i1', hash: 'k', range: { between: [5, 9] } })).toBe(5)
    expect(await sizes({ hash: 'h', range: { beginsWith: '112' } })).toBe(10)
    const newest = await reader.call('query_records', { ...at, index: 't', limit: 1 })
    expect(newest.items[0].rangeKey).toBe('1129')
    expect(newest.cut).toBe(false)
    const keys = await reader.call('query_records', { ...at, hash: 'h', select: 'keys', limit: 2, ascending: false })
    expect(keys.items.map(Object.keys)).toEqual([
      ['hashKey', 'rangeKey', 'updatedAt'],
      ['hashKey', 'rangeKey', 'updatedAt'],
    ])
    expect(await reader.call('query_records', { ...at, hash: 'h', select: 'count' })).toEqual({
      items: [],
      count: 130,
      cursor: null,
      cut: false,
    })
    await reader.refused('query_records', { ...at, index: 'i2', hash: 'k' }, 'index_not_declared', 'index')
    await reader.refused('query_records', { ...at, hash: 'h', filter: {} }, 'invalid_request', 'filter')
    await reader.refused('query_records', { ...at, hash: 'h', limit: '5' }, 'invalid_request', 'limit')
    await reader.refused('query_records', { ...at, hash: 'h', fields: 'n' }, 'invalid_request', 'fields')
    const { cursor } = keys
    await reader.refused('query_records', { ...at, hash: 'other', cursor }, 'invalid_cursor', 'cursor')
  })
})

describe('tables', () => {
  test('create, describe, delete with confirm, restore', async () => {
    const at = { db: 'app', table: freshName() }
    const indices = { i1: { hashField: 'status', rangeField: 'at' } }
    expect(await agent.call('create_table', { ...at, indices })).toMatchObject({ ...at, indices, status: 'active' })
    expect(await agent.call('create_table', { ...at, indices })).toMatchObject({ ...at, indices })
    await agent.refused('create_table', at, 'table_exists', 'indices')
    for (const confirm of [undefined, '', at.table, `app/${at.table}x`, true]) {
      await agent.refused('delete_table', { ...at, confirm }, 'invalid_request', 'confirm')
    }
    const gone = await agent.call('delete_table', { ...at, confirm: `app/${at.table}` })
    expect(gone.recoverableUntil - gone.deletedAt).toBe(7 * 24 * 3_600_000)
    await agent.refused('describe_table', at, 'table_not_found')
    const listed = await agent.call('list_tables', { db: 'app', deleted: true })
    expect(listed.tables.map((table: Json) => table.table)).toContain(at.table)
    const { hint } = await agent.refused('restore_table', { ...at, deletedAt: 1 }, 'table_not_found', 'deletedAt')
    // Names that the other tool does not take are left out.
    expect(hint).toContain('See list_tables {"db":"app","deleted":true}, or')
    expect(await agent.call('restore_table', { ...at, deletedAt: gone.deletedAt })).toMatchObject({
      ...at,
      status: 'active',
    })
  })

  test('describe_table shows the fields of the newest records', async () => {
    const at = await makeTable({ i1: { hashField: 'kind' } })
    const long = 'x'.repeat(200)
    await agent.call('put_records', {
      ...at,
      records: [
        { hashKey: 'a', data: { kind: 'x', total: 1.5, address: { city: 'Oslo' }, tags: ['a'], note: null, long } },
        { hashKey: 'b', data: { kind: 7, address: { city: 'Rome', zip: '1' }, ok: true } },
      ],
    })
    const { fields, sampled, indices } = await reader.call('describe_table', at)
    expect({ sampled, indices }).toEqual({ sampled: 2, indices: { i1: { hashField: 'kind' } } })
    const by = Object.fromEntries(fields.map(({ path, ...rest }: Json) => [path, rest]))
    expect(Object.keys(by).sort()).toEqual([
      'address',
      'address.city',
      'address.zip',
      'kind',
      'long',
      'note',
      'ok',
      'tags',
      'total',
    ])
    expect(by.kind.types.sort()).toEqual(['number', 'string'])
    expect(by.kind.share).toBe(1)
    expect(by.total).toEqual({ types: ['number'], share: 0.5, example: '1.5' })
    expect(by.address).toEqual({ types: ['object'], share: 1 })
    expect(by.note).toEqual({ types: ['null'], share: 0.5 })
    expect(by.tags.example).toBe('["a"]')
    expect(by.long.example.length).toBe(80)
    const empty = await makeTable()
    expect((await reader.call('describe_table', empty)).fields).toEqual([])
    // Two members with one path: a record has it once.
    const dotted = [
      { hashKey: 'a', data: { 'a.b': 1, a: { b: 'x' } } },
      { hashKey: 'b', data: {} },
    ]
    await agent.call('put_records', { ...empty, records: dotted })
    const [both] = (await reader.call('describe_table', empty)).fields
    expect({ ...both, types: both.types.sort() }).toMatchObject({
      path: 'a.b',
      types: ['number', 'string'],
      share: 0.5,
    })
  })

  test('list_tables pages over tables, buckets and tasks; public keys see no tasks', async () => {
    const db = freshName('d')
    const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${100 + i}`)
    for (const name of names('t', 70)) ok(await service.api.post(`/v1/${db}/${name}`), 201)
    for (const name of names('b', 35)) ok(await service.api.post(`/v1/${db}/_buckets/${name}`), 201)
    for (const name of names('k', 3)) ok(await service.api.put(`/v1/${db}/_tasks/${name}`, {}), 201)
    const all = async (caller: ToolCaller, args: Json) => {
      const found: Record<string, string[]> = { tables: [], buckets: [], tasks: [] }
      for (let cursor: string | undefined, pages = 0; ; pages++) {
        const page = await caller.call('list_tables', { ...args, ...(cursor !== undefined && { cursor }) })
        for (const part in found) found[part]!.push(...(page[part] ?? []).map((one: Json) => one[part.slice(0, -1)]))
        if (page.cursor === null) return { found, pages: pages + 1 }
        cursor = page.cursor
      }
    }
    const { found, pages } = await all(agent, { db })
    expect(pages).toBe(2)
    expect(found).toEqual({ tables: names('t', 70), buckets: names('b', 35), tasks: names('k', 3) })
    expect((await all(reader, { db })).found).toEqual({ ...found, tasks: [] })
    expect((await all(new ToolCaller(service.server, service.org.secretKey, `/mcp?db=${db}`), {})).found).toEqual(found)
    expect((await agent.call('list_tables')).databases).toContain(db)
    // A declaration may hold a secret of the people who declared it.
    expect((await agent.whole('list_tables', { db })).text).not.toContain('authorization')
    await agent.refused('list_tables', { db, cursor: 'x' }, 'invalid_cursor', 'cursor')
    await agent.refused('list_tables', { deleted: true }, 'invalid_request', 'deleted')
    await reader.refused('list_tables', { db, cursor: 'k' }, 'invalid_cursor', 'cursor')
  })
})

describe('tasks', () => {
  test('run_task, get_run with a wait, and what a public key reads', async () => {
    const task = freshName('k')
    ok(await service.api.put(`/v1/app/_tasks/${task}`, {}), 201)
    const payload = '{"n":1.50}'
    const run = await agent.whole('run_task', `{"db":"app","task":"${task}","key":"secret-key","payload":${payload}}`)
    expect(structuredTextOf(run.raw)).toContain(payload)
    expect(run.content.status).toBe('queued')
    const at = { db: 'app', task, run: run.content.id }
    const started = Date.now()
    expect((await agent.call('get_run', { ...at, waitSeconds: 1 })).status).toBe('queued')
    expect(Date.now() - started).toBeGreaterThan(900)
    const { runs } = ok(await service.api.post(`/v1/app/_tasks/${task}/claim`, {}))
    const waiting = agent.call('get_run', { ...at, waitSeconds: 20 })
    ok(
      await service.api.post(`/v1/app/_tasks/${task}/runs/${at.run}/finish`, {
        lease: runs[0].lease,
        result: { ok: 2 },
      }),
    )
    expect(await waiting).toMatchObject({ status: 'succeeded', result: { ok: 2 }, key: 'secret-key' })
    const seen = await reader.whole('get_run', at)
    expect(Object.keys(seen.content)).not.toContainAnyValues(['payload', 'key', 'payloadBytes'])
    expect(seen.raw).not.toContain('secret-key')
    await agent.refused('get_run', { ...at, waitSeconds: 21 }, 'invalid_request', 'waitSeconds')
    await agent.refused('get_run', { ...at, run: 'none' }, 'run_not_found')
    expect(
      (await reader.send('tools/call', { name: 'run_task', arguments: { db: 'app', task } })).body.error.code,
    ).toBe(-32602)
  })

  test('a run that does not fit comes with the sizes of its payload and result', async () => {
    const task = freshName('k')
    ok(await service.api.put(`/v1/app/_tasks/${task}`, {}), 201)
    const payload = { text: 'x'.repeat(50_000) }
    const { content } = await agent.whole('run_task', { db: 'app', task, payload })
    expect(content).toMatchObject({ status: 'queued', payloadBytes: JSON.stringify(payload).length, resultBytes: 0 })
    expect(content).not.toContainAnyKeys(['payload', 'result'])
    const { runs } = ok(await service.api.post(`/v1/app/_tasks/${task}/claim`, {}))
    const at = `/v1/app/_tasks/${task}/runs/${content.id}`
    const progress = '{"\\"result\\":null":1.50,"result":null,"payload":null,"x":"\\"result\\":null"}'
    ok(await service.api.request('POST', `${at}/extend`, `{"lease":"${runs[0].lease}","progress":${progress}}`))
    const { raw, content: seen } = await agent.whole('get_run', { db: 'app', task, run: content.id })
    expect(structuredTextOf(raw)).toContain(`"progress":${progress},"resultBytes":0,"error":null`)
    expect(seen.payloadBytes).toBe(content.payloadBytes)
    const result = await reader.whole('get_run', { db: 'app', task, run: content.id })
    expect(result.content.payloadBytes).toBeUndefined()
    // A public key does not read the payload; what the worker calls so is no place for its size.
    const body = `{"lease":"${runs[0].lease}","result":{"text":"${'x'.repeat(50_000)}"}}`
    ok(await service.api.request('POST', `${at}/finish`, body))
    const finished = await reader.whole('get_run', { db: 'app', task, run: content.id })
    expect(structuredTextOf(finished.raw)).toContain(`"progress":${progress},"resultBytes":50011,"error":null`)
    expect(finished.raw).not.toContain('payloadBytes')
  })
})

describe('files', () => {
  test('list_files and get_file_url; private files are not for public keys', async () => {
    const bucket = await makeBucket(service.api)
    const at = { db: 'app', bucket: bucket.created.bucket }
    await bucket.put('a/open.txt', 'open', { query: { visibility: 'public' } })
    await bucket.put('a/shut.txt', 'shut')
    await bucket.put('b.txt', 'b')
    const names = (page: Json) => page.items.map((item: Json) => item.name)
    expect(names(await agent.call('list_files', at))).toEqual(['a/open.txt', 'a/shut.txt', 'b.txt'])
    expect(names(await agent.call('list_files', { ...at, prefix: 'a/' }))).toEqual(['a/open.txt', 'a/shut.txt'])
    expect(names(await reader.call('list_files', at))).toEqual(['a/open.txt'])
    expect(await agent.call('list_files', { ...at, select: 'count' })).toMatchObject({ count: 3, cut: false })
    const [open, shut] = (await agent.call('list_files', { ...at, prefix: 'a/', expiresIn: 60 })).items
    for (const { url } of [open, shut]) expect((await fetch(url)).status).toBe(200)
    expect(shut.urlExpiresAt).toBeGreaterThan(Date.now())
    await reader.refused('list_files', { ...at, expiresIn: 60 }, 'read_only_key', 'expiresIn')
    const { url, expiresAt } = await agent.call('get_file_url', { ...at, name: 'b.txt' })
    expect(await (await fetch(url)).text()).toBe('b')
    expect(expiresAt - Date.now()).toBeLessThanOrEqual(900_000)
    await reader.refused('get_file_url', { ...at, name: 'b.txt' }, 'private_file')
    expect((await reader.call('get_file_url', { ...at, name: 'a/open.txt' })).expiresAt).toBeNull()
    await agent.refused('get_file_url', { ...at, name: 'none' }, 'file_not_found')
    // Only for reading: the tool is there with readOnly too.
    for (const more of [{ method: 'PUT' }, { method: 'GET' }, { replace: true }, { visibility: 'public' }]) {
      await agent.refused('get_file_url', { ...at, name: 'new.txt', ...more }, 'invalid_request', Object.keys(more)[0])
    }
  })
})

// An agent that is restricted to reading must not hand out what opens private files for everybody.
describe('files with readOnly', () => {
  test('no URL is signed, whatever the key is: private_file', async () => {
    const bucket = await makeBucket(service.api)
    const at = { db: 'app', bucket: bucket.created.bucket }
    await bucket.put('open.txt', 'open', { query: { visibility: 'public' } })
    await bucket.put('shut.txt', 'shut')
    const { bucket: name } = at
    const restricted: [ToolCaller, Json][] = [
      [new ToolCaller(service.server, service.org.secretKey, '/mcp?readOnly=true'), at],
      [new ToolCaller(service.server, service.org.secretKey, '/mcp?db=app&readOnly=true'), { bucket: name }],
    ]
    for (const [caller, its] of restricted) {
      await caller.refused('get_file_url', { ...its, name: 'shut.txt' }, 'private_file')
      await caller.refused('get_file_url', { ...its, name: 'shut.txt', expiresIn: 60 }, 'private_file')
      await caller.refused('get_file_url', { ...its, name: 'open.txt', expiresIn: 60 }, 'private_file', 'expiresIn')
      await caller.refused('get_file_url', { ...its, name: 'none.txt' }, 'file_not_found')
      await caller.refused('list_files', { ...its, expiresIn: 60 }, 'private_file', 'expiresIn')
      const { items } = await caller.call('list_files', its)
      expect(items.map(({ name, url }: Json) => [name, url !== null])).toEqual([
        ['open.txt', true],
        ['shut.txt', false],
      ])
      const { url, expiresAt } = await caller.call('get_file_url', { ...its, name: 'open.txt' })
      expect([await (await fetch(url)).text(), expiresAt]).toEqual(['open', null])
      const whole = JSON.stringify(await caller.try('list_files', its)) + JSON.stringify(items) + url
      expect(whole).not.toContain('signature')
    }
    const reader = new ToolCaller(service.server, service.org.publicKey, '/mcp?readOnly=true')
    await reader.refused('get_file_url', { ...at, name: 'shut.txt' }, 'private_file')
    await reader.refused('list_files', { ...at, expiresIn: 60 }, 'read_only_key', 'expiresIn')
    // The same key without the restriction.
    expect((await agent.call('get_file_url', { ...at, name: 'shut.txt' })).url).toContain('signature=')
  })
})

describe('what a key may do', () => {
  test('a key of one database is judged on db of the call', async () => {
    const [mine, other] = [freshName('d'), freshName('d')]
    for (const db of [mine, other]) ok(await service.api.post(`/v1/${db}/orders`), 201)
    const { key } = await createKey(service.api, { kind: 'secret', databases: [mine] })
    const limited = new ToolCaller(service.server, key)
    expect((await limited.call('list_tables')).databases).toEqual([mine])
    await limited.call('describe_table', { db: mine, table: 'orders' })
    const address = { db: other, table: 'orders' }
    const calls: [string, Json][] = [
      ['describe_table', address],
      ['list_tables', { db: other }],
      ['get_records', { ...address, keys: [{ hashKey: 'a' }] }],
      ['query_records', { ...address, index: 't' }],
      ['create_table', address],
      ['put_records', { ...address, records: [{ hashKey: 'a', data: {} }] }],
      ['patch_records', { ...address, records: [{ hashKey: 'a', merge: { n: 1 } }] }],
      ['delete_records', { ...address, records: [{ hashKey: 'a', ifUpdatedAt: 1 }] }],
      ['delete_table', { ...address, confirm: `${other}/orders` }],
      ['restore_table', address],
      ['run_task', { db: other, task: 'k' }],
      ['get_run', { db: other, task: 'k', run: 'r' }],
      ['list_files', { db: other, bucket: 'b' }],
      ['get_file_url', { db: other, bucket: 'b', name: 'n' }],
    ]
    expect(calls.map(([tool]) => tool).sort()).toEqual((await limited.list()).map(({ name }) => name))
    for (const [tool, args] of calls) await limited.refused(tool, args, 'key_scope')
    const bound = new ToolCaller(service.server, key, `/mcp?db=${other}`)
    for (const [tool, { db: _, ...args }] of calls) await bound.refused(tool, args, 'key_scope')
    expect((await limited.rpc('resources/read', { uri: `cubby://${other}/orders` })).error.data.error.code).toBe(
      'key_scope',
    )
  })

  test('an endpoint bound to a database has no db in its schemas and takes none', async () => {
    const at = await makeTable()
    const bound = new ToolCaller(service.server, service.org.secretKey, '/mcp?db=app')
    for (const { inputSchema } of await bound.list()) {
      expect(inputSchema.properties.db).toBeUndefined()
      expect(inputSchema.required ?? []).not.toContain('db')
    }
    await bound.call('put_records', { table: at.table, records: [{ hashKey: 'a', data: {} }] })
    expect((await bound.call('get_records', { table: at.table, keys: [{ hashKey: 'a' }] })).records).toHaveLength(1)
    for (const db of ['app', 'other', null])
      await bound.refused('describe_table', { db, table: at.table }, 'invalid_request', 'db')
    const error = await bound.refused('describe_table', { table: 'absent-one' }, 'table_not_found')
    expect(error.hint).toContain('create_table {"table":"absent-one"}')
  })

  test('an endpoint bound to a database reads no resource of another one', async () => {
    const at = await makeTable()
    const uri = `cubby://${at.db}/${at.table}`
    const within = new ToolCaller(service.server, service.org.secretKey, `/mcp?db=${at.db}`)
    expect((await within.rpc('resources/read', { uri })).result.contents[0].uri).toBe(uri)
    const elsewhere = new ToolCaller(service.server, service.org.secretKey, '/mcp?db=elsewhere')
    expect((await elsewhere.rpc('resources/read', { uri })).error.message).toBe('Resource not found')
  })

  test('readOnly removes and refuses what writes; a typo in a parameter switches nothing off', async () => {
    const at = await makeTable()
    const reading = (await reader.list()).map(({ name }) => name)
    expect(reading).toEqual([
      'describe_table',
      'get_file_url',
      'get_records',
      'get_run',
      'list_files',
      'list_tables',
      'query_records',
    ])
    const writing = (await agent.list()).map(({ name }) => name).filter((name) => !reading.includes(name))
    for (const caller of [reader, new ToolCaller(service.server, service.org.secretKey, '/mcp?readOnly=true')]) {
      expect((await caller.list()).map(({ name }) => name)).toEqual(reading)
      for (const { annotations } of await caller.list()) expect(annotations.readOnlyHint).toBe(true)
      for (const name of writing) {
        const { body } = await caller.send('tools/call', {
          name,
          arguments: { ...at, records: [{ hashKey: 'a', data: {} }] },
        })
        expect(body.error.code).toBe(-32602)
      }
    }
    expect((await agent.call('query_records', { ...at, index: 't' })).count).toBe(0)
    for (const query of [
      'readonly=true',
      'readOnly=True',
      'readOnly=1',
      'readOnly',
      'readOnly=',
      'readOnly=false',
      'DB=app',
      'db=',
      'db=App',
      'db=_x',
      'readOnly=true&readOnly=true',
      'db=app&db=other',
      'x=1',
    ]) {
      const answer = await service.api.post(`/mcp?${query}`, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
      refused(answer, 400, 'invalid_request')
    }
  })

  test('a typo in an argument of any tool is refused', async () => {
    for (const { name, inputSchema } of await agent.list()) {
      const args = Object.fromEntries((inputSchema.required ?? []).map((member: string) => [member, 'a']))
      const { content, isError } = await agent.try(name, { ...args, db: 'app', confirmm: 'x' })
      expect({ name, isError }).toEqual({ name, isError: true })
      expect(content.code).toMatch(/^invalid_/)
    }
  })
})
