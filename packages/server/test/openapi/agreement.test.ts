import { describe, expect, test } from 'bun:test'
import { requestHeadBytesMax } from '../../src/core/limits.ts'
import { makeDocument } from '../../src/openapi/document.ts'
import type { Json } from '../harness.ts'
import { justPast, ok, useService } from '../http/service.ts'
import { operationsOf, parametersOf, responsesOf } from './scenario.ts'
import { SchemaCheck } from './schema-check.ts'

// Forms, mocks and generated clients reject requests by the schema. At each limit, the schema and the server must agree.

const service = useService()
const document: Json = JSON.parse(JSON.stringify(makeDocument()))
const check = new SchemaCheck(document)

type Bodies = Record<string, Json>

/** Sends each body and compares: the schema takes it if and only if the server does. */
const agree = (
  schema: string,
  send: (body: Json) => Promise<{ status: number; text: string }>,
  bodies: Bodies,
): void => {
  for (const [what, body] of Object.entries(bodies)) {
    test(what, async () => {
      const faults = check.faults({ $ref: `#/components/schemas/${schema}` }, body)
      const answer = await send(body)
      expect({ taken: faults.length === 0, faults }).toEqual({ taken: answer.status < 400, faults })
      expect(answer.status < 500 ? '' : answer.text).toBe('')
    })
  }
}

const many = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const text = (length: number): string => 'k'.repeat(length)

describe('a put', () => {
  const put = (record: Json) => ({ hashKey: 'a', data: {}, ...record })
  agree('PutRecordRequest', async (body) => (await service.table()).tryPut(body), {
    'of the least that it needs': put({}),
    'without a hash key': { data: {} },
    'with an empty hash key': put({ hashKey: '' }),
    'with a hash key of 1,024 bytes': put({ hashKey: text(1024) }),
    'with a hash key of 1,025 bytes': put({ hashKey: text(1025) }),
    'with a hash key that is a number': put({ hashKey: 1 }),
    'with the hash key .': put({ hashKey: '.' }),
    'with the hash key ..': put({ hashKey: '..' }),
    'with the hash key ...': put({ hashKey: '...' }),
    'with a range key': put({ rangeKey: '#' }),
    'with a range key that is null': put({ rangeKey: null }),
    'without data': { hashKey: 'a' },
    'with data that is an array': put({ data: [] }),
    'with data that is null': put({ data: null }),
    'with a ttl that has just passed': put({ ttl: justPast() }),
    'with a negative ttl': put({ ttl: -1 }),
    'with a ttl that is no integer': put({ ttl: 1.5 }),
    'with the last ttl': put({ ttl: 253402300799 }),
    'with the ttl after it': put({ ttl: 253402300800 }),
    'with a ttl that is null': put({ ttl: null }),
    'with a field that is not known': put({ zzz: 1 }),
  })
})

describe('the creation of a table', () => {
  const declare = (i1: Json) => ({ indices: { i1 } })
  agree('CreateTableRequest', async (body) => service.api.post(`/v1/app/new-${crypto.randomUUID()}`, body), {
    'without indices': {},
    'with no index': { indices: {} },
    'with all slots': { indices: Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`i${n}`, { hashField: 'a' }])) },
    'with a sixth slot': { indices: { i6: { hashField: 'a' } } },
    'with indices that are null': { indices: null },
    'with a range field': declare({ hashField: 'a', rangeField: 'b' }),
    'without a hash field': declare({ rangeField: 'b' }),
    'with an empty field name': declare({ hashField: '' }),
    'with a field name of 255 characters': declare({ hashField: text(255) }),
    'with a field name of 256 characters': declare({ hashField: text(256) }),
    'with 255 characters beyond 16 bits': declare({ hashField: '😀'.repeat(255) }),
    'with a member that a slot does not know': declare({ hashField: 'a', sort: 'b' }),
    'with a field that is not known': { indexes: {} },
  })
})

describe('the restoring of a table', () => {
  const restore = async (body: Json) => {
    const table = await service.table()
    return service.api.post(`${table.path}/restore`, body)
  }
  agree('RestoreTableRequest', restore, {
    'without a time': {},
    'with a time': { deletedAt: 1 },
    'with a time before all others': { deletedAt: -1 },
    'with the largest time': { deletedAt: 2 ** 53 - 1 },
    'with a time after it': { deletedAt: 2 ** 53 },
    'with a time that is text': { deletedAt: '1' },
    'with a time that is null': { deletedAt: null },
    'with a field that is not known': { when: 1 },
  })
})

describe('a query', () => {
  const query = async (body: Json) => (await service.table({ i1: { hashField: 'a', rangeField: 'b' } })).tryQuery(body)
  const byIndex = (more: Json) => ({ index: 'i1', hash: 'x', ...more })
  agree('QueryRequest', query, {
    'by primary key': { hash: 'a' },
    'by primary key without hash': {},
    'by primary key with an empty hash': { hash: '' },
    'by primary key with a number': { hash: 1 },
    'by primary key with a range of strings': { hash: 'a', range: { between: ['a', 'b'] } },
    'by primary key with a range of numbers': { hash: 'a', range: { gt: 1 } },
    'by recency': { index: 't' },
    'by recency with hash': { index: 't', hash: 'a' },
    'by recency since a number': { index: 't', range: { gte: 1 } },
    'by recency since a date-time': { index: 't', range: { gte: '2026-01-01T00:00:00Z' } },
    'by recency since a date': { index: 't', range: { gte: '2026-01-01' } },
    'by recency since an hour that there is not': { index: 't', range: { gte: '2026-01-01T24:00:00Z' } },
    'by recency since a time with an offset': { index: 't', range: { gte: '2026-01-01T00:00:00.123456789+02:00' } },
    'by recency with beginsWith': { index: 't', range: { beginsWith: '2026' } },
    'by recency with a boolean': { index: 't', range: { gt: true } },
    'by index': byIndex({}),
    'by index with a number': byIndex({ hash: 1.5 }),
    'by index with a boolean': byIndex({ hash: false }),
    'by index with null': byIndex({ hash: null }),
    'by index with a list': byIndex({ hash: [] }),
    'by index without hash': { index: 'i1' },
    'by index with a string of 1,024 bytes': byIndex({ hash: text(1024) }),
    'by index with a string of 1,025 bytes': byIndex({ hash: text(1025) }),
    'by a slot that there is not': { index: 'i6', hash: 'a' },
    'with every operator': byIndex({ range: { beginsWith: 'a' } }),
    'with an operator that there is not': byIndex({ range: { like: 'a' } }),
    'with no operator': byIndex({ range: {} }),
    'with a lower and an upper bound': byIndex({ range: { gt: 1, lt: 2 } }),
    'with a lower and an upper bound, both inclusive': byIndex({ range: { gte: 1, lte: 2 } }),
    'with two lower bounds': byIndex({ range: { gt: 1, gte: 2 } }),
    'with two upper bounds': byIndex({ range: { lt: 1, lte: 2 } }),
    'with three bounds of two kinds': byIndex({ range: { gt: 1, lt: 2, lte: 3 } }),
    'with between and a bound': byIndex({ range: { between: [1, 2], lt: 2 } }),
    'with eq and a bound': byIndex({ range: { eq: 1, lt: 2 } }),
    'with a prefix and a bound': byIndex({ range: { beginsWith: 'a', lt: 'b' } }),
    'with a prefix that is a number': byIndex({ range: { beginsWith: 1 } }),
    'with one bound': byIndex({ range: { between: [1] } }),
    'with three bounds': byIndex({ range: { between: [1, 2, 3] } }),
    'with a range that is null': byIndex({ range: null }),
    'that selects data': { hash: 'a', select: 'data' },
    'that selects keys': { index: 't', select: 'keys' },
    'that selects the count': byIndex({ select: 'count', limit: 20_000 }),
    'that selects what there is not': { hash: 'a', select: 'hashKey' },
    'that selects null': { hash: 'a', select: null },
    'that selects a list': { hash: 'a', select: ['keys'] },
    'with limit 1': { hash: 'a', limit: 1 },
    'with limit 0': { hash: 'a', limit: 0 },
    'with limit 1.5': { hash: 'a', limit: 1.5 },
    'with a limit beyond the most': { hash: 'a', limit: 100_000 },
    'with a limit of 21 digits': { hash: 'a', limit: 1e20 },
    'with ascending': { hash: 'a', ascending: false },
    'with ascending as text': { hash: 'a', ascending: 'no' },
    'with a cursor that is null': { hash: 'a', cursor: null },
    'with a cursor that is a number': { hash: 'a', cursor: 1 },
    'with an empty cursor': { hash: 'a', cursor: '' },
    'with a cursor of characters that no cursor has': { hash: 'a', cursor: 'a+b/' },
    'with a cursor that is too long': { hash: 'a', cursor: text(16_385) },
    'with a field that is not known': { hash: 'a', zzz: 1 },
  })
})

describe('a find', () => {
  const find = async (body: Json) => {
    const table = await service.table()
    return service.api.post(`${table.path}/find`, body)
  }
  const one = (key: Json) => ({ keys: [key] })
  const keys = (length: number) => ({ keys: many(length, (i) => ({ hashKey: `k${i}` })) })
  agree('FindRequest', find, {
    'of 100 keys': keys(100),
    'of 101 keys': keys(101),
    'of none': keys(0),
    'without keys': {},
    'with keys that are null': { keys: null },
    'of a hash key and a range key': one({ hashKey: 'a', rangeKey: '#' }),
    'of a key that is text': one('a'),
    'without a hash key': one({ rangeKey: 'a' }),
    'of an empty hash key': one({ hashKey: '' }),
    'of a range key that is null': one({ hashKey: 'a', rangeKey: null }),
    'of a hash key of 1,024 bytes': one({ hashKey: text(1024) }),
    'of a hash key of 1,025 bytes': one({ hashKey: text(1025) }),
    'of the hash key ".."': one({ hashKey: '..' }),
    'of a key with a field that is not known': one({ hashKey: 'a', data: {} }),
    'with a field that is not known': { ...keys(1), limit: 1 },
  })
})

describe('a batch', () => {
  const batch = async (body: Json) => {
    const table = await service.table()
    return service.api.post(`${table.path}/batch`, body)
  }
  const one = (operation: Json) => ({ operations: [{ hashKey: 'a', ...operation }] })
  const deletes = (length: number) => ({ operations: many(length, (i) => ({ op: 'delete', hashKey: `k${i}` })) })
  agree('BatchRequest', batch, {
    'of 25 operations': deletes(25),
    'of 26 operations': deletes(26),
    'of none': deletes(0),
    'without operations': {},
    'of a put': one({ op: 'put', data: {} }),
    'of a put that must create': one({ op: 'put', data: {}, ifUpdatedAt: null }),
    'of a put with a version that is text': one({ op: 'put', data: {}, ifUpdatedAt: '1' }),
    'of a put without data': one({ op: 'put' }),
    'of a put with ttl': one({ op: 'put', data: {}, ttl: 4102444800 }),
    'of a put with a bad ttl': one({ op: 'put', data: {}, ttl: -1 }),
    'of a delete with data': one({ op: 'delete', data: {} }),
    'of a delete with ttl': one({ op: 'delete', ttl: 1 }),
    'of an operation that there is not': one({ op: 'patch', data: {} }),
    'of no operation': one({}),
    'with a field that is not known': { ...deletes(1), atomic: true },
  })
})

describe('the creation of a key', () => {
  const key = (more: Json) => ({ kind: 'public', ...more })
  agree('CreateKeyRequest', (body) => service.api.post('/api/keys', body), {
    'of the least that it needs': key({}),
    'of a secret key': { kind: 'secret' },
    'without a kind': {},
    'of a kind that there is not': { kind: 'admin' },
    'with an empty name': key({ name: '' }),
    'with a name of 128 characters': key({ name: text(128) }),
    'with a name of 129 characters': key({ name: text(129) }),
    'with 128 characters beyond 16 bits': key({ name: '😀'.repeat(128) }),
    'with a name that is null': key({ name: null }),
    'with a name that is a number': key({ name: 7 }),
    'with a time of expiry': key({ expiresAt: 4102444800000 }),
    'with a time of expiry that is null': key({ expiresAt: null }),
    'with the last time of expiry': key({ expiresAt: 2 ** 53 - 1 }),
    'with the time of expiry after it': key({ expiresAt: 2 ** 53 }),
    'with a negative time of expiry': key({ expiresAt: -1 }),
    'with a time of expiry that is text': key({ expiresAt: '2100-01-01' }),
    'with 100 databases': key({ databases: many(100, (i) => `db${i}`) }),
    'with 101 databases': key({ databases: many(101, (i) => `db${i}`) }),
    'with no databases': key({ databases: [] }),
    'with databases that are null': key({ databases: null }),
    'with a database of 64 characters': key({ databases: [text(64)] }),
    'with a database of 65 characters': key({ databases: [text(65)] }),
    'with a database of other characters': key({ databases: ['App'] }),
    'with a reserved database': key({ databases: ['_app'] }),
    'with a database with _ inside': key({ databases: ['a_-0'] }),
    'with an empty database': key({ databases: [''] }),
    'with a field that is not known': key({ role: 'x' }),
  })
})

describe('the name of a table', () => {
  agree('Name', (name) => service.api.post(`/v1/app/${encodeURIComponent(name)}`), {
    'of one character': '-',
    'of 64 characters': text(64),
    'of 65 characters': text(65),
    'that is reserved': '_a',
    'in capitals': 'Orders',
    'with a dot': 'a.b',
    'with a line break at its end': 'a\n',
  })
})

describe('a document', () => {
  const putItem = async (body: Json) => {
    const { name } = await service.table()
    return service.api.raw('PUT', `/api/collections/app.${name}/items/a`, { body: JSON.stringify(body) })
  }
  agree('Item', putItem, {
    'that is empty': {},
    'with any members': { a: null, data: [], hashKey: 1 },
    'that is an array': [],
    'that is null': null,
    'that is text': 'a',
    'that is a number': 1,
  })
})

describe('the name of a collection', () => {
  const named = (collection: string) =>
    service.api.raw('DELETE', `/api/collections/${encodeURIComponent(collection)}/items/a`)
  const long = text(64)
  // Most of these name no table, which is no fault of the name.
  const send = async (collection: string) => ((await named(collection)).status === 404 ? 'taken' : 'refused')
  const operation = operationsOf(document).find(({ id }) => id === 'getItem')!
  const { schema } = parametersOf(document, operation).find(({ name }) => name === 'collection')
  for (const name of ['a', '-', 'a.b', 'a-_0.b_', long, `${long}.${long}`, '.', '..', 'a.', '.b', 'a.b.c', 'a..b']) {
    test(name.length > 40 ? `of ${name.length} characters` : name, async () => {
      expect([name, await send(name)]).toEqual([name, check.faults(schema, name).length === 0 ? 'taken' : 'refused'])
    })
  }
  for (const name of ['_a', '_a.b', 'a._b', 'A', 'a.B', `${long}k`, `a.${long}k`, `${long}k.a`, 'a\n', 'a b', 'a/b']) {
    test(JSON.stringify(name), async () => {
      expect([await send(name), check.faults(schema, name).length > 0]).toEqual(['refused', true])
    })
  }
})

describe('a key in a path', () => {
  const get = async (key: string) => {
    const table = await service.table()
    const path = `${table.path}/${encodeURIComponent(key)}`
    return service.api.raw('DELETE', path)
  }
  agree('RecordKeyPart', get, {
    'of one character': 'a',
    'of 1,024 bytes': text(1024),
    'of 1,025 bytes': text(1025),
    'that is a slash': '/',
    'that is two dots': '..',
  })
})

/** A parameter or header as it is sent; the schema sees the number or boolean that the text means. */
const agreeText = (
  operationId: string,
  parameter: string,
  send: (text: string) => Promise<{ status: number }>,
  texts: string[],
): void => {
  const operation = operationsOf(document).find(({ id }) => id === operationId)!
  const { schema } = parametersOf(document, operation).find(({ name }) => name === parameter)
  for (const value of texts) {
    test(value.length > 40 ? `of ${value.length} characters` : JSON.stringify(value), async () => {
      const read = /^-?\d+(\.\d+)?$|^(true|false)$/.test(value) && schema.type !== 'string' ? JSON.parse(value) : value
      const faults = check.faults(schema, read)
      // A condition that does not hold is a well-formed one.
      expect([value, faults.length === 0, faults]).toEqual([value, (await send(value)).status !== 400, faults])
    })
  }
}

describe('the query parameter limit', () => {
  const list = (limit: string) => service.api.get(`/v1/app?limit=${encodeURIComponent(limit)}`)
  agreeText('listTables', 'limit', list, ['1', '1000', '1001', '9007199254740993', '9'.repeat(20), '9'.repeat(300)])
  agreeText('listTables', 'limit', list, ['0', '-1', '1.5', 'ten', '', '1e3x'])

  test('of any number of digits is read as 1,000', async () => {
    const { databases, cursor } = ok(await service.api.get(`/v1?limit=${'9'.repeat(400)}`))
    expect([databases.length > 0, cursor]).toEqual([true, null])
  })
})

describe('the query parameter deleted', () => {
  const list = (deleted: string) => service.api.get(`/v1/app?deleted=${encodeURIComponent(deleted)}`)
  agreeText('listTables', 'deleted', list, ['true', 'false', '', '1', 'True'])
})

describe('the header If-Match', () => {
  const send = async (value: string) => {
    const { path } = await service.table()
    return service.server.raw('DELETE', `${path}/a`, { key: service.org.secretKey, headers: [['If-Match', value]] })
  }
  agreeText('deleteRecord', 'If-Match', send, ['*', '"1"', '"0"', '""', '"!"', '"abc"', '"99999999999999999999"'])
  agreeText('deleteRecord', 'If-Match', send, [
    '1',
    '**',
    'W/"1"',
    '"1", "2"',
    '"a b"',
    '"a"b"',
    '"',
    '"a\tb"',
    '*, "1"',
  ])
})

describe('the header If-None-Match of a put', () => {
  const send = async (value: string) =>
    (await service.table()).tryPut({ hashKey: 'a', data: {} }, { 'If-None-Match': value })
  agreeText('putRecord', 'If-None-Match', send, ['*', '"1"', '**', 'W/"1"', 'a'])
})

describe('a head that is too large', () => {
  /** The request line and the headers of a request with this many bytes together. */
  const head = (method: string, target: string, bytes: number): string => {
    const start = `${method} ${target} HTTP/1.1\r\nHost: x\r\nX-Padding: `
    return `${start}${'a'.repeat(bytes - start.length - 4)}\r\n\r\n`
  }
  const answerTo = async (bytes: string, toHead: boolean) => {
    const connection = await service.server.connect()
    connection.send(bytes)
    const answer = await connection.answer(toHead)
    connection.close()
    return answer
  }

  for (const operation of operationsOf(document)) {
    test(`${operation.method} ${operation.path}: 431 as documented, without body and headers`, async () => {
      const response = responsesOf(document, operation).find(({ status }) => status === 431)!
      expect([response.content, response.headers]).toEqual([{}, {}])
      const target = operation.path.replaceAll(/[{}]/g, '')
      const toHead = operation.method === 'HEAD'
      const answer = await answerTo(head(operation.method, target, requestHeadBytesMax + 1), toHead)
      expect([answer.status, answer.text, answer.headers.get('x-request-id')]).toEqual([431, '', null])
      const largest = await answerTo(head(operation.method, target, requestHeadBytesMax), toHead)
      expect(largest.status).not.toBe(431)
    })
  }

  test('has too many headers', async () => {
    const lines = many(220, (i) => `X-${i}: a\r\n`).join('')
    const answer = await answerTo(`GET /v1 HTTP/1.1\r\nHost: x\r\n${lines}\r\n`, false)
    expect(answer.status).toBe(431)
  })
})

test('responses too: pages and listings match their schema', async () => {
  const table = await service.table({ i1: { hashField: 'a' } })
  await table.fill(many(30, (i) => ({ hashKey: `k${i}`, rangeKey: `r${i}`, data: { a: i }, ttl: 4102444800 })))
  const responses: [string, Json][] = [
    ['QueryResponse', ok(await table.tryQuery({ index: 't', limit: 10 }))],
    ['TableList', ok(await service.api.get('/v1/app?limit=2'))],
    ['KeyList', ok(await service.api.get('/api/keys'))],
    ['DatabaseList', ok(await service.api.get('/v1'))],
  ]
  for (const [schema, body] of responses) {
    expect([schema, ...check.faults({ $ref: `#/components/schemas/${schema}` }, body)]).toEqual([schema])
  }
})
