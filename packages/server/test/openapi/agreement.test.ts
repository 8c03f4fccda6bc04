import { describe, expect, test } from 'bun:test'
import { makeDocument } from '../../src/openapi/document.ts'
import type { Json } from '../harness.ts'
import { justPast, ok, useService } from '../http/service.ts'
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
    'with ascending': { hash: 'a', ascending: false },
    'with ascending as text': { hash: 'a', ascending: 'no' },
    'with a cursor that is null': { hash: 'a', cursor: null },
    'with a cursor that is a number': { hash: 'a', cursor: 1 },
    'with a field that is not known': { hash: 'a', zzz: 1 },
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

test('responses too: pages and listings match their schema', async () => {
  const table = await service.table({ i1: { hashField: 'a' } })
  await table.fill(many(30, (i) => ({ hashKey: `k${i}`, rangeKey: `r${i}`, data: { a: i }, ttl: 4102444800 })))
  const answers: [string, Json][] = [
    ['QueryResponse', ok(await table.tryQuery({ index: 't', limit: 10 }))],
    ['ListTablesResponse', ok(await service.api.get('/v1/app?limit=2'))],
    ['ListKeysResponse', ok(await service.api.get('/api/keys'))],
    ['ListDatabasesResponse', ok(await service.api.get('/v1'))],
  ]
  for (const [schema, body] of answers) {
    expect([schema, ...check.faults({ $ref: `#/components/schemas/${schema}` }, body)]).toEqual([schema])
  }
})
