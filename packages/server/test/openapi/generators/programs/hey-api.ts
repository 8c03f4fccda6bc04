import { key, url } from './connection.json'
import {
  applyBatch,
  createTable,
  type Error as ErrorBody,
  getRecord,
  getRecordWithRangeKey,
  listApiKeys,
  putRecord,
  queryRecords,
  type StoredRecord,
} from './generated/hey-api'
import { client } from './generated/hey-api/client.gen'

// A program as a user of @hey-api/openapi-ts writes it. It does the same as openapi-typescript.ts.

client.setConfig({ baseUrl: url, auth: key })
const path = { db: 'app', table: 'notes' }

const table = await createTable({ path, body: { indices: { i1: { hashField: 'x' } } } })

const put = await putRecord({ path, body: { hashKey: 'a', rangeKey: 'b', data: { x: 1 } } })

const created = await putRecord({
  path,
  headers: { 'If-None-Match': '*', Prefer: 'return=minimal' },
  body: { hashKey: 'alone', data: { x: 'text', nested: { list: [1, null] } }, ttl: 4102444800 },
})

const query = await queryRecords({ path, body: { hash: 'a' } })
const byIndex = await queryRecords({ path, body: { index: 'i1', hash: 1, ascending: false, limit: 10 } })
const x: unknown = query.data?.items[0]?.data?.x

const got = await getRecordWithRangeKey({ path: { ...path, hashKey: 'a', rangeKey: 'b' } })
const record: StoredRecord | undefined = got.data
const version: number | undefined = record?.updatedAt

const batch = await applyBatch({
  path,
  body: { operations: [{ op: 'delete', hashKey: 'alone', ifUpdatedAt: null }] },
})
const batchError = batch.error as ErrorBody | undefined

const missing = await getRecord({ path: { ...path, hashKey: 'nobody' } })
const missingError = missing.error as ErrorBody | undefined
const code: ErrorBody['error']['code'] | undefined = missingError?.error.code

const keys = await listApiKeys({ query: { limit: 1 } })

const wrong = async (): Promise<void> => {
  // @ts-expect-error: data is an object
  await putRecord({ path, body: { hashKey: 'a', data: 1 } })
  // @ts-expect-error: there is no slot i9
  await queryRecords({ path, body: { index: 'i9', hash: 1 } })
  // @ts-expect-error: a query takes a hash or an index
  await queryRecords({ path, body: {} })
  // @ts-expect-error: the path has two parameters
  await createTable({ path: { db: 'app' } })
}
void wrong

console.log(
  JSON.stringify({
    created: table.response?.status,
    put: put.data,
    minimal: created.data,
    x,
    count: byIndex.data?.count,
    sameVersion: version === put.data?.updatedAt,
    batch: { status: batch.response?.status, code: batchError?.error.code },
    missing: { status: missing.response?.status, code },
    keys: keys.data?.keys.length,
  }),
)
