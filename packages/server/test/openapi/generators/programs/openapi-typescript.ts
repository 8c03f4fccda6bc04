import createClient from 'openapi-fetch'
import { key, url } from './connection.json'
import type { components, paths } from './generated/openapi-typescript'

// A program as a user of openapi-typescript writes it. A line with @ts-expect-error must not compile: it shows that
// the types are neither `any` nor empty.

const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } })
const path = { db: 'app', table: 'notes' }

const table = await client.POST('/v1/{db}/{table}', {
  params: { path },
  body: { indices: { i1: { hashField: 'x' } } },
})

const put = await client.PUT('/v1/{db}/{table}', {
  params: { path },
  body: { hashKey: 'a', rangeKey: 'b', data: { x: 1 } },
})

const created = await client.PUT('/v1/{db}/{table}', {
  params: { path, header: { 'If-None-Match': '*', Prefer: 'return=minimal' } },
  body: { hashKey: 'alone', data: { x: 'text', nested: { list: [1, null] } }, ttl: 4102444800 },
})

const query = await client.POST('/v1/{db}/{table}/query', { params: { path }, body: { hash: 'a' } })
const byIndex = await client.POST('/v1/{db}/{table}/query', {
  params: { path },
  body: { index: 'i1', hash: 1, ascending: false, limit: 10 },
})
const x: unknown = query.data?.items[0]?.data?.x

const got = await client.GET('/v1/{db}/{table}/{hashKey}/{rangeKey}', {
  params: { path: { ...path, hashKey: 'a', rangeKey: 'b' } },
})
const record: components['schemas']['StoredRecord'] | undefined = got.data
const version: number | undefined = record?.updatedAt

const batch = await client.POST('/v1/{db}/{table}/batch', {
  params: { path },
  body: { operations: [{ op: 'delete', hashKey: 'alone', ifUpdatedAt: null }] },
})

const missing = await client.GET('/v1/{db}/{table}/{hashKey}', { params: { path: { ...path, hashKey: 'nobody' } } })
const code: components['schemas']['Error']['error']['code'] | undefined = missing.error?.error.code

const keys = await client.GET('/api/keys', { params: { query: { limit: 1 } } })

const wrong = async (): Promise<void> => {
  // @ts-expect-error: data is an object
  await client.PUT('/v1/{db}/{table}', { params: { path }, body: { hashKey: 'a', data: 1 } })
  // @ts-expect-error: there is no slot i9
  await client.POST('/v1/{db}/{table}/query', { params: { path }, body: { index: 'i9', hash: 1 } })
  // @ts-expect-error: a query takes a hash or an index
  await client.POST('/v1/{db}/{table}/query', { params: { path }, body: {} })
  // @ts-expect-error: the path has two parameters
  await client.GET('/v1/{db}/{table}', { params: { path: { db: 'app' } } })
}
void wrong

console.log(
  JSON.stringify({
    created: table.response.status,
    put: put.data,
    minimal: created.data,
    x,
    count: byIndex.data?.count,
    sameVersion: version === put.data?.updatedAt,
    batch: { status: batch.response.status, code: batch.error?.error.code },
    missing: { status: missing.response.status, code },
    keys: keys.data?.keys.length,
  }),
)
