import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Json, type Server, startServer } from '../harness.ts'
import { type Attempt, type Fault, type Known, repair, withValue } from './repairer.ts'

// A trial without a human page. The agent has the base URL and a key. It finds its way from `/`, makes the mistakes that
// agents make, and repairs each of them with nothing but the error: see repairer.ts, which knows no table, field or code.

setDefaultTimeout(120_000)

const repairsMax = 4

let server: Server
let known: Known
/** The pages that `/` names. */
let found: { skill: string; mcp: string; docs: string }

interface Answered {
  ok: boolean
  body: Json
  error?: Fault & { code: string }
}

/** Sends a request as it is, with the key unless the attempt has headers of its own. */
const request = async ({ verb, path, headers, body }: Attempt): Promise<Answered> => {
  const own = headers ?? {}
  const auth: Record<string, string> = Object.keys(own).some((name) => /key|authorization/.test(name))
    ? {}
    : { authorization: `Bearer ${known.key}` }
  const response = await fetch(server.url + path, {
    method: verb,
    headers: { ...auth, ...(body !== undefined && { 'content-type': 'application/json' }), ...own },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const answer: Json = await response.json()
  return { ok: response.ok, body: answer, error: answer.error }
}

const call = async ({ verb, body }: Attempt): Promise<Answered> => {
  const response = await fetch(found.mcp, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${known.key}`,
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: verb, arguments: body } }),
  })
  const { result }: Json = await response.json()
  if (result.isError === false) return { ok: true, body: result.structuredContent }
  return { ok: false, body: undefined, error: JSON.parse(result.content[0].text).error }
}

type Send = (attempt: Attempt) => Promise<Answered>

/** The value of the first member with this name, wherever it is. */
const memberIn = (value: Json, name: string): Json => {
  if (typeof value !== 'object' || value === null) return undefined
  if (name in value) return value[name]
  return Object.values(value)
    .map((inner) => memberIn(inner, name))
    .find((one) => one !== undefined)
}

/** Sends, repairs and sends again until it works. The codes of the errors on the way. */
const pursue = async (send: Send, first: Attempt): Promise<{ codes: string[]; answers: Json[] }> => {
  const codes: string[] = []
  const answers: Json[] = []
  let open: Attempt[] = [first]
  while (open.length > 0) {
    const [attempt, ...later] = open as [Attempt]
    const { ok, body, error } = await send(attempt)
    if (ok) {
      answers.push(body)
      open = later
      continue
    }
    codes.push(error!.code)
    const repaired = repair(attempt, error!, known)
    const said = `${JSON.stringify(attempt)} → ${JSON.stringify(error)}`
    if (repaired === undefined) throw new Error(`the error does not say what to do: ${said}`)
    if (codes.length > repairsMax) throw new Error(`still refused after ${codes.length} errors: ${said}`)
    if ('again' in repaired) {
      if (JSON.stringify(repaired.again) === JSON.stringify([attempt])) throw new Error(`nothing was changed: ${said}`)
      open = [...repaired.again, ...later]
      continue
    }
    const before = await send(repaired.first)
    if (!before.ok) throw new Error(`what the hint names is refused: ${JSON.stringify(repaired.first)} ${said}`)
    const value = repaired.wanted === undefined ? undefined : memberIn(before.body, repaired.wanted)
    const path = [...(error!.field ?? '').matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, i, name]) =>
      i === undefined ? name! : Number(i),
    )
    open = [value === undefined ? attempt : { ...attempt, body: withValue(attempt.body, path, value) }, ...later]
  }
  return { codes, answers }
}

beforeAll(async () => {
  server = await startServer({ shared: true })
  const org = await server.createOrganization()
  known = {
    key: org.secretKey,
    values: { db: 'app', table: 'orders', hashKey: 'ada', rangeKey: 'r1', data: { n: 1 }, hash: 'ada' },
  }
  found = (await (await fetch(server.url)).json()) as typeof found
  const indices = { i1: { hashField: 'status', rangeField: 'total' } }
  for (const [path, body] of [
    ['orders', { indices }],
    ['gone', undefined],
  ] as const) {
    expect((await request({ verb: 'POST', path: `/v1/app/${path}`, body })).ok).toBe(true)
  }
  for (const rangeKey of [undefined, 'r1', 'r2']) {
    const body = { hashKey: 'ada', rangeKey, data: { status: 'open', total: 5 } }
    expect((await request({ verb: 'PUT', path: '/v1/app/orders', body })).ok).toBe(true)
  }
})
afterAll(async () => {
  await server?.stop()
})

test('the way from the base URL: what `/` names is there, and says how to go on', async () => {
  const skill = await (await fetch(found.skill)).text()
  expect(skill).toContain('/v1/')
  expect(skill).toContain('Authorization: Bearer')
  expect((await fetch(found.docs)).status).toBe(200)
  expect((await call({ verb: 'list_tables', body: {} })).body.databases).toEqual(['app'])
})

interface Mistake {
  attempt: Attempt
  /** The first error. */
  code: string
  /** The condition that must hold in the end. */
  holds?: (answer: Json) => void
}

const table = '/v1/app/orders'
const put = (body: Json, headers?: Record<string, string>): Attempt => ({ verb: 'PUT', path: table, body, headers })
const query = (body: Json): Attempt => ({ verb: 'POST', path: `${table}/query`, body })
const fresh = (more: Json = {}): Json => ({ hashKey: crypto.randomUUID(), data: { status: 'new', total: 1 }, ...more })
const many = (count: number): Json[] => Array.from({ length: count }, () => fresh())
const hasItems = (answer: Json): void => expect(answer.items.length).toBeGreaterThan(0)
const holdsData = ({ data }: Json): void => expect(data).toEqual({ status: 'new', total: 1 })

const refusedOnce = async (send: Send, { attempt, code, holds }: Mistake): Promise<void> => {
  const { codes, answers } = await pursue(send, attempt)
  expect(codes[0]).toBe(code)
  holds?.(answers.at(-1))
}

describe('mistakes over HTTP', () => {
  const mistakes: Record<string, () => Mistake> = {
    'POST for a put': () => ({
      attempt: { verb: 'POST', path: table, body: fresh() },
      code: 'invalid_request',
      holds: holdsData,
    }),
    'PUT with the key in the path': () => ({
      attempt: { verb: 'PUT', path: `${table}/ada`, body: { data: { a: 1 } } },
      code: 'method_not_allowed',
    }),
    'PATCH of a record': () => ({
      attempt: { verb: 'PATCH', path: `${table}/ada`, body: { data: { a: 1 } } },
      code: 'method_not_allowed',
    }),
    'GET to list records': () => ({
      attempt: { verb: 'GET', path: `${table}?limit=5` },
      code: 'invalid_request',
      holds: hasItems,
    }),
    'POST …/search': () => ({
      attempt: { verb: 'POST', path: `${table}/search`, body: {} },
      code: 'method_not_allowed',
      holds: hasItems,
    }),
    'a field in another spelling': () => ({ attempt: put({ hash_key: 'b', data: {} }), code: 'invalid_request' }),
    'a typo in a field': () => ({
      attempt: query({ index: 't', limt: 2 }),
      code: 'invalid_request',
      holds: (answer) => expect(answer.count).toBe(2),
    }),
    'id for hashKey': () => ({
      attempt: put({ id: 'b2', data: {} }),
      code: 'invalid_request',
      holds: (answer) => expect(answer.hashKey).toBe('b2'),
    }),
    'data at the top': () => ({
      attempt: put({ hashKey: 'flat', status: 'new', total: 1 }),
      code: 'invalid_request',
      holds: holdsData,
    }),
    'no hashKey': () => ({ attempt: put({ data: {} }), code: 'invalid_key' }),
    'a number as hashKey': () => ({
      attempt: put({ hashKey: 7, data: {} }),
      code: 'invalid_key',
      holds: (answer) => expect(answer.hashKey).toBe('7'),
    }),
    'data that is a list': () => ({
      attempt: put({ hashKey: 'l', data: [1] }),
      code: 'invalid_request',
      holds: (answer) => expect(answer.data).toEqual({ value: [1] }),
    }),
    'data that is JSON in a string': () => ({
      attempt: put({ hashKey: 's', data: '{"status":"new","total":1}' }),
      code: 'invalid_request',
      holds: holdsData,
    }),
    'an indexed field that is null': () => ({
      attempt: put({ hashKey: 'i', data: { status: null, n: 1 } }),
      code: 'invalid_index_value',
      holds: (answer) => expect(answer.data).toEqual({ n: 1 }),
    }),
    'an index that is not declared': () => ({
      attempt: query({ index: 'i2', hash: 'open' }),
      code: 'index_not_declared',
      holds: hasItems,
    }),
    'an operator of another service': () => ({
      attempt: query({ index: 'i1', hash: 'open', range: { '>=': 1 } }),
      code: 'invalid_range',
      holds: hasItems,
    }),
    'a range that is a number': () => ({
      attempt: query({ index: 'i1', hash: 'open', range: 5 }),
      code: 'invalid_range',
    }),
    'bounds in the wrong order': () => ({
      attempt: query({ index: 'i1', hash: 'open', range: { between: [9, 1] } }),
      code: 'invalid_range',
      holds: hasItems,
    }),
    'a number as range key': () => ({
      attempt: query({ hash: 'ada', range: { gte: 1 } }),
      code: 'invalid_range',
      holds: hasItems,
    }),
    'a date without time': () => ({
      attempt: query({ index: 't', range: { gte: '2020-01-01' } }),
      code: 'invalid_range',
      holds: hasItems,
    }),
    'milliseconds in a string as a date': () => ({
      attempt: query({ index: 't', range: { gte: '1577836800000' } }),
      code: 'invalid_range',
      holds: hasItems,
    }),
    'a filter': () => ({ attempt: query({ filter: { status: 'open' } }), code: 'invalid_request', holds: hasItems }),
    'where, with a limit': () => ({
      attempt: query({ where: { status: 'open' }, limit: 2 }),
      code: 'invalid_request',
      holds: hasItems,
    }),
    'hashKey in a query': () => ({
      attempt: query({ hashKey: 'ada' }),
      code: 'invalid_request',
      holds: (answer) => expect(answer.count).toBe(3),
    }),
    'a query without hash and index': () => ({ attempt: query({}), code: 'invalid_key', holds: hasItems }),
    'limit as a string': () => ({
      attempt: query({ index: 't', limit: '2' }),
      code: 'invalid_request',
      holds: (answer) => expect(answer.count).toBe(2),
    }),
    'ascending as a string': () => ({
      attempt: query({ index: 't', ascending: 'true' }),
      code: 'invalid_request',
      holds: hasItems,
    }),
    'ttl in milliseconds': () => ({
      attempt: put(fresh({ ttl: Date.now() + 3_600_000 })),
      code: 'invalid_ttl',
      holds: ({ ttl }) => expect(ttl * 1000).toBeGreaterThan(Date.now()),
    }),
    'ttl as a duration': () => ({
      attempt: put(fresh({ ttl: 3600 })),
      code: 'invalid_ttl',
      holds: ({ ttl }) => expect(Math.abs(ttl - 3600 - Date.now() / 1000)).toBeLessThan(60),
    }),
    'ttl as a date': () => ({
      attempt: put(fresh({ ttl: '2040-01-01T00:00:00Z' })),
      code: 'invalid_ttl',
      holds: ({ ttl }) => expect(ttl).toBe(2_208_988_800),
    }),
    'a table that does not exist': () => ({
      attempt: { verb: 'PUT', path: '/v1/app/invoices', body: fresh() },
      code: 'table_not_found',
      holds: holdsData,
    }),
    'a typo in the name of a table': () => ({
      attempt: { verb: 'GET', path: '/v1/app/ordres/ada' },
      code: 'table_not_found',
      holds: (answer) => expect(answer.hashKey).toBe('ada'),
    }),
    'capitals in the name of a table': () => ({
      attempt: { verb: 'GET', path: '/v1/app/Orders/ada' },
      code: 'invalid_name',
    }),
    'a record without its range key': () => ({
      attempt: { verb: 'GET', path: `${table}/only` },
      code: 'record_not_found',
      holds: (answer) => expect(answer.rangeKey).toBe('r1'),
    }),
    'a stale version': () => ({
      attempt: put({ hashKey: 'ada', data: {} }, { 'if-match': '"1"' }),
      code: 'precondition_failed',
    }),
    'a version without quotes': () => ({
      attempt: put({ hashKey: 'ada', data: {} }, { 'if-match': '1' }),
      code: 'invalid_request',
    }),
    'a stale version in a batch': () => ({
      attempt: {
        verb: 'POST',
        path: `${table}/batch`,
        body: { operations: [{ op: 'put', hashKey: 'ada', data: {}, ifUpdatedAt: 1 }] },
      },
      code: 'precondition_failed',
    }),
    'a batch that is a list': () => ({
      attempt: { verb: 'POST', path: `${table}/batch`, body: [{ op: 'put', ...fresh() }] },
      code: 'invalid_request',
      holds: (answer) => expect(answer.count).toBe(1),
    }),
    'a batch that is too large': () => ({
      attempt: {
        verb: 'POST',
        path: `${table}/batch`,
        body: { operations: many(30).map((one) => ({ op: 'put', ...one })) },
      },
      code: 'batch_too_large',
      holds: (answer) => expect(answer.count).toBe(5),
    }),
    'an unknown operation': () => ({
      attempt: { verb: 'POST', path: `${table}/batch`, body: { operations: [{ op: 'upsert', ...fresh() }] } },
      code: 'invalid_request',
    }),
    'keys as strings': () => ({
      attempt: { verb: 'POST', path: `${table}/find`, body: { keys: ['ada'] } },
      code: 'invalid_request',
      holds: hasItems,
    }),
    'indices as a list': () => ({
      attempt: { verb: 'POST', path: '/v1/app/listed', body: { indices: ['kind'] } },
      code: 'invalid_index',
      holds: (answer) => expect(answer.indices).toEqual({ i1: { hashField: 'kind' } }),
    }),
    'an index with a name': () => ({
      attempt: { verb: 'POST', path: '/v1/app/named', body: { indices: { byKind: { field: 'kind' } } } },
      code: 'invalid_index',
      holds: (answer) => expect(answer.indices).toEqual({ i1: { hashField: 'kind' } }),
    }),
    'an index that is a string': () => ({
      attempt: { verb: 'POST', path: '/v1/app/texts', body: { indices: { i1: 'kind' } } },
      code: 'invalid_index',
      holds: (answer) => expect(answer.indices).toEqual({ i1: { hashField: 'kind' } }),
    }),
    'other indices for a table that exists': () => ({
      attempt: { verb: 'POST', path: table, body: { indices: { i1: { hashField: 'x' } } } },
      code: 'table_exists',
    }),
    'another content type': () => ({
      attempt: put(fresh(), { 'content-type': 'text/plain' }),
      code: 'unsupported_media_type',
      holds: holdsData,
    }),
    'the key in another header': () => ({
      attempt: { verb: 'GET', path: `${table}/ada`, headers: { 'x-api-key': known.key } },
      code: 'missing_api_key',
    }),
    'the key without Bearer': () => ({
      attempt: { verb: 'GET', path: `${table}/ada`, headers: { authorization: known.key } },
      code: 'invalid_api_key',
    }),
    'no /v1': () => ({ attempt: { verb: 'GET', path: '/app/orders' }, code: 'route_not_found' }),
    'a slash at the end': () => ({ attempt: { verb: 'GET', path: `${table}/` }, code: 'route_not_found' }),
    'DELETE with the key in the body': () => ({
      attempt: { verb: 'DELETE', path: '/v1/app/gone', body: { hashKey: 'ada' } },
      code: 'invalid_request',
      holds: (answer) => expect(answer).toEqual({ deleted: false }),
    }),
  }
  for (const [name, mistake] of Object.entries(mistakes)) test(name, () => refusedOnce(request, mistake()))

  beforeAll(async () => {
    await request(put({ hashKey: 'only', rangeKey: 'r1', data: {} }))
  })

  test('the cursor of another query', async () => {
    const { body } = await request(query({ index: 't', limit: 1 }))
    await refusedOnce(request, {
      attempt: query({ hash: 'ada', cursor: body.cursor }),
      code: 'invalid_cursor',
      holds: hasItems,
    })
  })

  test('a deleted table', async () => {
    await request({ verb: 'POST', path: '/v1/app/dropped' })
    await request({ verb: 'PUT', path: '/v1/app/dropped', body: { hashKey: 'kept', data: {} } })
    await request({ verb: 'DELETE', path: '/v1/app/dropped' })
    const attempt = { verb: 'GET', path: '/v1/app/dropped/kept' }
    await refusedOnce(request, {
      attempt,
      code: 'table_not_found',
      holds: (answer) => expect(answer.hashKey).toBe('kept'),
    })
  })
})

describe('mistakes over MCP', () => {
  const at = { db: 'app', table: 'orders' }
  const puts = (...records: Json[]): Attempt => ({ verb: 'put_records', body: { ...at, records } })
  const asks = (body: Json): Attempt => ({ verb: 'query_records', body: { ...at, ...body } })
  const wrote = (answer: Json): void => expect(answer.written.length).toBeGreaterThan(0)
  const mistakes: Record<string, () => Mistake> = {
    'a record beside records': () => ({
      attempt: { verb: 'put_records', body: { ...at, ...fresh() } },
      code: 'invalid_request',
      holds: wrote,
    }),
    'record for records': () => ({
      attempt: { verb: 'put_records', body: { ...at, record: fresh() } },
      code: 'invalid_request',
      holds: wrote,
    }),
    'a field in another spelling': () => ({
      attempt: puts({ hash_key: crypto.randomUUID(), data: {} }),
      code: 'invalid_request',
      holds: wrote,
    }),
    'id for hashKey': () => ({
      attempt: puts({ id: crypto.randomUUID(), data: {} }),
      code: 'invalid_request',
      holds: wrote,
    }),
    'data at the top': () => ({
      attempt: puts({ hashKey: crypto.randomUUID(), status: 'new', total: 1 }),
      code: 'invalid_request',
      holds: wrote,
    }),
    'data that is a string': () => ({ attempt: puts(fresh({ data: 'x' })), code: 'invalid_request', holds: wrote }),
    'a record that exists': () => ({
      attempt: puts({ hashKey: 'ada', data: {} }),
      code: 'precondition_failed',
      holds: wrote,
    }),
    'a stale version': () => ({
      attempt: puts({ hashKey: 'ada', data: {}, ifUpdatedAt: 1 }),
      code: 'precondition_failed',
      holds: wrote,
    }),
    'a version of a record that does not exist': () => ({
      attempt: puts(fresh({ ifUpdatedAt: 1 })),
      code: 'precondition_failed',
      holds: wrote,
    }),
    'ttl in milliseconds': () => ({
      attempt: puts(fresh({ ttl: Date.now() + 3_600_000 })),
      code: 'invalid_ttl',
      holds: wrote,
    }),
    'ttl as a duration': () => ({ attempt: puts(fresh({ ttl: 60 })), code: 'invalid_ttl', holds: wrote }),
    'too many records': () => ({
      attempt: puts(...many(30)),
      code: 'batch_too_large',
      holds: (answer) => expect(answer.written).toHaveLength(5),
    }),
    'keys as strings': () => ({
      attempt: { verb: 'get_records', body: { ...at, keys: ['ada'] } },
      code: 'invalid_request',
      holds: ({ records }) => expect(records).toHaveLength(1),
    }),
    'hashKey for keys': () => ({
      attempt: { verb: 'get_records', body: { ...at, hashKey: 'ada' } },
      code: 'invalid_request',
      holds: ({ records }) => expect(records).toHaveLength(1),
    }),
    'a table that does not exist': () => ({
      attempt: { verb: 'put_records', body: { db: 'app', table: 'payments', records: [fresh()] } },
      code: 'table_not_found',
      holds: wrote,
    }),
    'a typo in the name of a table': () => ({
      attempt: { verb: 'query_records', body: { db: 'app', table: 'ordes', index: 't' } },
      code: 'table_not_found',
      holds: hasItems,
    }),
    'the database in the name of the table': () => ({
      attempt: { verb: 'query_records', body: { db: 'app', table: 'app/Orders', index: 't' } },
      code: 'invalid_name',
      holds: hasItems,
    }),
    'no database': () => ({
      attempt: { verb: 'query_records', body: { table: 'orders', index: 't' } },
      code: 'invalid_name',
      holds: hasItems,
    }),
    'neither hash nor index': () => ({ attempt: asks({}), code: 'invalid_key', holds: hasItems }),
    'a filter': () => ({ attempt: asks({ filter: { status: 'open' } }), code: 'invalid_request', holds: hasItems }),
    'hashKey in a query': () => ({ attempt: asks({ hashKey: 'ada' }), code: 'invalid_request', holds: hasItems }),
    'an index that is not declared': () => ({
      attempt: asks({ index: 'i4', hash: 'open' }),
      code: 'index_not_declared',
    }),
    'a range of another service': () => ({
      attempt: asks({ hash: 'ada', range: { startsWith: 'r' } }),
      code: 'invalid_range',
      holds: hasItems,
    }),
    'fields as a string': () => ({
      attempt: asks({ index: 't', fields: 'status' }),
      code: 'invalid_request',
      holds: hasItems,
    }),
    'limit as a string': () => ({
      attempt: asks({ index: 't', limit: '1' }),
      code: 'invalid_request',
      holds: (answer) => expect(answer.count).toBe(1),
    }),
    'indices as a list': () => ({
      attempt: { verb: 'create_table', body: { db: 'app', table: 'tools', indices: [{ hashField: 'kind' }] } },
      code: 'invalid_index',
    }),
    'other indices for a table that exists': () => ({
      attempt: { verb: 'create_table', body: { ...at, indices: {} } },
      code: 'table_exists',
    }),
    'a delete without the version': () => ({
      attempt: { verb: 'delete_records', body: { ...at, records: [{ hashKey: 'ada', rangeKey: 'r2' }] } },
      code: 'invalid_request',
      holds: ({ deleted }) => expect(deleted).toEqual([{ hashKey: 'ada', rangeKey: 'r2' }]),
    }),
    'a table deleted without confirm': () => ({
      attempt: { verb: 'delete_table', body: { db: 'app', table: 'gone' } },
      code: 'invalid_request',
      holds: ({ status }) => expect(status).toBe('deleted'),
    }),
    'a deleted table': () => ({
      attempt: { verb: 'query_records', body: { db: 'app', table: 'gone', index: 't' } },
      code: 'table_not_found',
      holds: ({ items }) => expect(items).toEqual([]),
    }),
  }
  for (const [name, mistake] of Object.entries(mistakes)) test(name, () => refusedOnce(call, mistake()))
})

test('a hint that does not help is noticed', async () => {
  const attempt = query({ index: 't' })
  for (const hint of [undefined, 'Something is wrong.', 'Try again with better input.']) {
    expect(repair(attempt, { message: 'The request is wrong.', hint }, known)).toBeUndefined()
  }
})
