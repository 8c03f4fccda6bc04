import { beforeAll, describe, expect, test } from 'bun:test'
import { routedOperations } from '../../src/operations/catalogue.ts'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { openStream } from './event-stream.ts'
import { inParallel, ok, useService } from './service.ts'
import { asUser } from './user.ts'

// Every operation with every kind of grant, for the right things and for wrong ones. What is expected stands in the table below,
// which was written by hand from the promises. A verb that is new must get a row here.

const service = useService()

const db = 'app'
const notes = { db, table: 'notes' }
const pictures = { db, bucket: 'pictures' }
const read = { can: 'read' }
const write = { can: 'write' }

/** The right ones, by short names. */
const right = {
  table: { ...notes, ...read },
  tableW: { ...notes, ...write },
  hash: { ...notes, hash: 'ada:1', ...read },
  hashW: { ...notes, hash: 'ada:1', ...write },
  begins: { ...notes, hash: { beginsWith: 'ada:' }, ...read },
  beginsW: { ...notes, hash: { beginsWith: 'ada:' }, ...write },
  index: { ...notes, index: 'i1', hash: 'open', ...read },
  bucket: { ...pictures, ...read },
  bucketW: { ...pictures, ...write },
  prefix: { ...pictures, prefix: 'ada/', ...read },
  prefixW: { ...pictures, prefix: 'ada/', ...write },
  run: { db, task: 'mail', can: 'run' },
}

/** Each differs from a right one in one thing. */
const wrong = {
  otherTable: { ...right.tableW, table: 'others' },
  otherDatabase: { ...right.tableW, db: 'app2' },
  otherHash: { ...right.hashW, hash: 'bob:1' },
  longerHash: { ...right.hashW, hash: 'ada:11' },
  shorterHash: { ...right.hashW, hash: 'ada:' },
  capitalHash: { ...right.hashW, hash: 'Ada:1' },
  starHash: { ...right.hashW, hash: '*' },
  hashOfOtherTable: { ...right.hashW, table: 'others' },
  hashOfOtherDatabase: { ...right.hashW, db: 'app2' },
  otherBeginning: { ...right.beginsW, hash: { beginsWith: 'bob:' } },
  capitalBeginning: { ...right.beginsW, hash: { beginsWith: 'ADA:' } },
  beginningOfOtherTable: { ...right.beginsW, table: 'others' },
  otherIndex: { ...right.index, index: 'i2' },
  otherValue: { ...right.index, hash: 'closed' },
  valueLikeHash: { ...right.index, hash: 'ada:1' },
  indexOfOtherTable: { ...right.index, table: 'others' },
  indexOfOtherDatabase: { ...right.index, db: 'app2' },
  otherBucket: { ...right.bucketW, bucket: 'others' },
  bucketOfOtherDatabase: { ...right.bucketW, db: 'app2' },
  otherPrefix: { ...right.prefixW, prefix: 'bob/' },
  shorterPrefix: { ...right.prefixW, prefix: 'ad/' },
  prefixOfOtherBucket: { ...right.prefixW, bucket: 'others' },
  bucketLikeTable: { ...right.bucketW, bucket: 'notes' },
  tableLikeBucket: { ...right.tableW, table: 'pictures' },
  otherTask: { ...right.run, task: 'others' },
  taskOfOtherDatabase: { ...right.run, db: 'app2' },
}

const grants: Record<string, Json> = { ...right, ...wrong }
type GrantName = keyof typeof right | keyof typeof wrong

const wholeTable = ['table', 'tableW'] as const
const wholeBucket = ['bucket', 'bucketW'] as const
const readsAda1 = [...wholeTable, 'hash', 'hashW', 'begins', 'beginsW'] as const
const readsAda2 = [...wholeTable, 'begins', 'beginsW'] as const
const readsBob1 = [...wholeTable, 'otherHash', 'otherBeginning'] as const
const writesAda1 = ['tableW', 'hashW', 'beginsW'] as const
const writesAda2 = ['tableW', 'beginsW'] as const
const writesBob1 = ['tableW', 'otherHash', 'otherBeginning'] as const
const readsAdasFiles = [...wholeBucket, 'prefix', 'prefixW'] as const
const readsBobsFiles = [...wholeBucket, 'otherPrefix'] as const
const writesAdasFiles = ['bucketW', 'prefixW'] as const

type Row = [operation: string, method: string, path: string, body: unknown, allowed: readonly GrantName[]]

const table = '/v1/app/notes'
const files = '/v1/app/_buckets/pictures'
const task = '/v1/app/_tasks/mail'
const batch = (...operations: Json[]): Json => ({ operations })
const put = (hashKey: string): Json => ({ op: 'put', hashKey, data: {} })
const inNotes = (operation: Json): Json => ({ ...operation, table: 'notes' })
const inOthers = (operation: Json): Json => ({ ...operation, table: 'others' })
const addRun = { op: 'run', task: 'mail', payload: {} }
const finish = { op: 'finish', task: 'mail', run: 'run_x', lease: 'lease_x' }

const rows: Row[] = [
  ['getRecord', 'GET', `${table}/ada:1`, undefined, readsAda1],
  ['getRecord', 'HEAD', `${table}/ada:1`, undefined, readsAda1],
  ['getRecord', 'GET', `${table}/ada%3A1/r`, undefined, readsAda1],
  ['getRecord', 'GET', `${table}/ada:2`, undefined, readsAda2],
  ['getRecord', 'GET', `${table}/bob:1`, undefined, readsBob1],
  ['getRecord', 'GET', `${table}/query`, undefined, wholeTable],
  ['putRecord', 'PUT', table, { hashKey: 'ada:1', data: {} }, writesAda1],
  ['putRecord', 'PUT', table, { hashKey: 'ada:2', data: {} }, writesAda2],
  ['putRecord', 'PUT', table, { hashKey: 'bob:1', data: {} }, writesBob1],
  ['patchRecord', 'PATCH', table, { hashKey: 'ada:1', merge: {} }, writesAda1],
  ['patchRecord', 'PATCH', table, { hashKey: 'bob:1', merge: {} }, writesBob1],
  ['deleteRecord', 'DELETE', `${table}/ada:1/none`, undefined, writesAda1],
  ['deleteRecord', 'DELETE', `${table}/bob:1/none`, undefined, writesBob1],
  ['findRecords', 'POST', `${table}/find`, { keys: [{ hashKey: 'ada:1' }] }, readsAda1],
  ['findRecords', 'POST', `${table}/find`, { keys: [{ hashKey: 'ada:1' }, { hashKey: 'ada:2' }] }, readsAda2],
  ['findRecords', 'POST', `${table}/find`, { keys: [{ hashKey: 'ada:1' }, { hashKey: 'bob:1' }] }, wholeTable],
  ['queryRecords', 'POST', `${table}/query`, { hash: 'ada:1' }, readsAda1],
  ['queryRecords', 'POST', `${table}/query`, { hash: 'ada:2', select: 'count' }, readsAda2],
  ['queryRecords', 'POST', `${table}/query`, { hash: 'bob:1', select: 'keys' }, readsBob1],
  ['queryRecords', 'POST', `${table}/query`, { index: 't' }, wholeTable],
  ['queryRecords', 'POST', `${table}/query`, { index: 'i1', hash: 'open' }, [...wholeTable, 'index']],
  ['queryRecords', 'POST', `${table}/query`, { index: 'i1', hash: 'closed' }, [...wholeTable, 'otherValue']],
  ['queryRecords', 'POST', `${table}/query`, { index: 'i2', hash: 'open' }, [...wholeTable, 'otherIndex']],
  ['readChanges', 'POST', `${table}/changes`, { hash: 'ada:1' }, readsAda1],
  ['readChanges', 'POST', `${table}/changes`, { hash: 'bob:1' }, readsBob1],
  ['readChanges', 'POST', `${table}/changes`, {}, wholeTable],
  ['readChanges', 'POST', `${table}/changes`, undefined, wholeTable],
  ['describeTable', 'GET', table, undefined, wholeTable],
  ['applyBatch', 'POST', `${table}/batch`, batch(put('ada:1')), writesAda1],
  ['applyBatch', 'POST', `${table}/batch`, batch(put('ada:1'), put('ada:2')), writesAda2],
  ['applyBatch', 'POST', `${table}/batch`, batch(put('ada:1'), put('bob:1')), ['tableW']],
  ['applyBatch', 'POST', `${table}/batch`, batch({ op: 'delete', hashKey: 'bob:1', rangeKey: 'none' }), writesBob1],
  ['applyBatch', 'POST', `${table}/batch`, batch({ op: 'patch', hashKey: 'ada:1', merge: {} }), writesAda1],
  ['applyBatch', 'POST', `${table}/batch`, batch({ op: 'check', hashKey: 'ada:1', ifUpdatedAt: 1 }), readsAda1],
  ['applyBatch', 'POST', `${table}/batch`, batch({ op: 'check', hashKey: 'bob:1', ifUpdatedAt: 1 }), readsBob1],
  // The path names a table that this grant does not.
  ['applyBatch', 'POST', `${table}/batch`, batch(addRun), []],
  ['applyBatch', 'POST', `${table}/batch`, batch(put('ada:1'), addRun), []],
  ['applyBatch', 'POST', `${table}/batch`, batch(finish), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(inNotes(put('ada:1'))), writesAda1],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(inNotes(put('bob:1'))), writesBob1],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(inNotes(put('ada:1')), inNotes(put('bob:1'))), ['tableW']],
  [
    'applyDatabaseBatch',
    'POST',
    '/v1/app/_batch',
    batch(inOthers(put('ada:1'))),
    ['otherTable', 'hashOfOtherTable', 'beginningOfOtherTable'],
  ],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(inNotes(put('ada:1')), inOthers(put('ada:1'))), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(inOthers(put('ada:1')), inNotes(put('ada:1'))), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(addRun), ['run']],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch({ ...addRun, id: 'a' }), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch({ ...addRun, key: 'a' }), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch({ ...addRun, delaySeconds: 1 }), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(finish), []],
  ['applyDatabaseBatch', 'POST', '/v1/app/_batch', batch(inNotes(put('ada:1')), addRun), []],
  ['getItem', 'GET', '/api/collections/app.notes/items/ada:1', undefined, readsAda1],
  ['getItem', 'GET', '/api/collections/app.notes/items/ada:2', undefined, readsAda2],
  ['getItem', 'GET', '/api/collections/app.notes/items/bob:1', undefined, readsBob1],
  ['getItem', 'GET', '/api/collections/notes/items/ada:1', undefined, []],
  ['putItem', 'PUT', '/api/collections/app.notes/items/ada:1', {}, writesAda1],
  ['putItem', 'PUT', '/api/collections/app.notes/items/bob:1', {}, writesBob1],
  ['patchItem', 'PATCH', '/api/collections/app.notes/items/ada:1', {}, writesAda1],
  ['patchItem', 'PATCH', '/api/collections/app.notes/items/bob:1', {}, writesBob1],
  ['deleteItem', 'DELETE', '/api/collections/app.notes/items/ada:1?rangeKey=none', undefined, writesAda1],
  ['deleteItem', 'DELETE', '/api/collections/app.notes/items/bob:1?rangeKey=none', undefined, writesBob1],
  ['getFile', 'GET', `${files}/ada/a`, undefined, readsAdasFiles],
  ['getFile', 'HEAD', `${files}/ada/a`, undefined, readsAdasFiles],
  ['getFile', 'GET', `${files}/ada/a?record=true`, undefined, readsAdasFiles],
  ['getFile', 'GET', `${files}/bob/b`, undefined, readsBobsFiles],
  ['getFile', 'GET', `${files}/ada%2Fa`, undefined, readsAdasFiles],
  ['getFile', 'GET', `${files}/ada`, undefined, wholeBucket],
  ['putFile', 'PUT', `${files}/ada/new`, 'x', writesAdasFiles],
  ['putFile', 'PUT', `${files}/bob/new`, 'x', ['bucketW', 'otherPrefix']],
  ['changeFile', 'PATCH', `${files}/ada/a`, { visibility: 'private' }, writesAdasFiles],
  ['changeFile', 'PATCH', `${files}/bob/b`, { visibility: 'private' }, ['bucketW', 'otherPrefix']],
  ['deleteFile', 'DELETE', `${files}/ada/none`, undefined, writesAdasFiles],
  ['deleteFile', 'DELETE', `${files}/bob/none`, undefined, ['bucketW', 'otherPrefix']],
  ['queryFiles', 'POST', `${files}/query`, undefined, wholeBucket],
  ['queryFiles', 'POST', `${files}/query`, {}, wholeBucket],
  ['queryFiles', 'POST', `${files}/query`, { prefix: 'ada/' }, readsAdasFiles],
  ['queryFiles', 'POST', `${files}/query`, { prefix: 'ada/a', select: 'count' }, readsAdasFiles],
  ['queryFiles', 'POST', `${files}/query`, { prefix: 'ada' }, wholeBucket],
  ['queryFiles', 'POST', `${files}/query`, { prefix: 'bob/' }, readsBobsFiles],
  ['queryFiles', 'POST', `${files}/query`, { index: 't' }, wholeBucket],
  ['getFileUrl', 'POST', `${files}/url`, { name: 'ada/a' }, readsAdasFiles],
  ['getFileUrl', 'POST', `${files}/url`, { name: 'bob/b' }, readsBobsFiles],
  ['getFileUrl', 'POST', `${files}/url`, { name: 'ada/a', expiresIn: 60 }, readsAdasFiles],
  ['getFileUrl', 'POST', `${files}/url`, { name: 'ada/a', method: 'PUT' }, []],
  ['runTask', 'POST', `${task}/run`, { payload: {} }, ['run']],
  ['runTask', 'POST', `${task}/run`, undefined, ['run']],
  ['runTask', 'POST', `${task}/run`, { id: 'a' }, []],
  ['runTask', 'POST', `${task}/run`, { key: 'a' }, []],
  ['runTask', 'POST', `${task}/run`, { runAt: 1 }, []],
  ['runTask', 'POST', `${task}/run`, { delaySeconds: 1 }, []],
  ['applyTaskBatch', 'POST', `${task}/batch`, batch(addRun), ['run']],
  ['applyTaskBatch', 'POST', `${task}/batch`, batch({ ...addRun, id: 'a' }), []],
  ['applyTaskBatch', 'POST', `${task}/batch`, batch({ ...addRun, task: 'others' }), []],
  ['applyTaskBatch', 'POST', `${task}/batch`, batch(addRun, finish), []],
  ['getRun', 'GET', `${task}/runs/run_x`, undefined, ['run']],
  ['cancelRun', 'POST', `${task}/runs/run_x/cancel`, undefined, ['run']],
  ['describeOwnToken', 'GET', '/api/tokens/self', undefined, Object.keys(grants) as GrantName[]],
]

/** Refused to every token, whatever it is sent with. The id of an operation, and a request to it. */
const never: [operation: string, method: string, path: string, body?: unknown][] = [
  ['listDatabases', 'GET', '/v1'],
  ['listTables', 'GET', '/v1/app'],
  ['createTable', 'POST', table],
  ['deleteTable', 'DELETE', table],
  ['restoreTable', 'POST', `${table}/restore`],
  ['keepChanges', 'PUT', `${table}/changes`],
  ['loadRecords', 'POST', `${table}/load`, '{"hashKey":"ada:1","data":{}}'],
  ['listBuckets', 'GET', '/v1/app/_buckets'],
  ['describeBucket', 'GET', files],
  ['createBucket', 'POST', files],
  ['deleteBucket', 'DELETE', files],
  ['restoreBucket', 'POST', `${files}/restore`],
  ['listTasks', 'GET', '/v1/app/_tasks'],
  ['declareTask', 'PUT', task, {}],
  ['describeTask', 'GET', task],
  ['deleteTask', 'DELETE', task],
  ['restoreTask', 'POST', `${task}/restore`],
  ['createTaskSecret', 'POST', `${task}/secret`],
  ['queryRuns', 'POST', `${task}/query`],
  ['claimRuns', 'POST', `${task}/claim`],
  ['extendRun', 'POST', `${task}/runs/run_x/extend`, { lease: 'lease_x' }],
  ['finishRun', 'POST', `${task}/runs/run_x/finish`, { lease: 'lease_x' }],
  ['retryRun', 'POST', `${task}/runs/run_x/retry`],
  ['listApiKeys', 'GET', '/api/keys'],
  ['createApiKey', 'POST', '/api/keys', { kind: 'secret' }],
  ['describeOwnApiKey', 'GET', '/api/keys/self'],
  ['rollApiKey', 'POST', '/api/keys/key_x/roll'],
  ['revokeApiKey', 'DELETE', '/api/keys/key_x'],
  ['createToken', 'POST', '/api/tokens', { user: 'bob', grants: [right.tableW] }],
  ['exchangeToken', 'POST', '/api/tokens/exchange', { token: 'eyJ.e30.x' }],
  ['revokeUser', 'POST', '/api/tokens/revoke', { user: 'ada' }],
  ['listIssuers', 'GET', '/api/issuers'],
  ['getIssuer', 'GET', '/api/issuers/login'],
  ['putIssuer', 'PUT', '/api/issuers/login', {}],
  ['deleteIssuer', 'DELETE', '/api/issuers/login'],
  // The tools of agents are no operation of the catalogue.
  ['mcp', 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
]

const all: Row[] = [...rows, ...never.map(([id, method, path, body]): Row => [id, method, path, body, []])]

test('the table names every operation that has a route', () => {
  const named = new Set(all.map(([operation]) => operation))
  named.delete('mcp')
  expect([...named].sort()).toEqual(routedOperations.map(({ id }) => id).sort())
})

const users = new Map<string, { here: Api; elsewhere: Api }>()

beforeAll(async () => {
  const { api, stranger } = service
  for (const one of ['notes', 'others']) {
    for (const name of ['app', 'app2']) {
      ok(
        await api.post(`/v1/${name}/${one}`, { indices: { i1: { hashField: 'status' }, i2: { hashField: 'n' } } }),
        201,
      )
      ok(await api.put(`/v1/${name}/${one}/changes`, { keepHours: 1 }))
      for (const hashKey of ['ada:1', 'ada:2', 'bob:1']) {
        ok(await api.put(`/v1/${name}/${one}`, { hashKey, data: { status: 'open', n: 1 } }))
      }
    }
  }
  for (const one of ['pictures', 'others']) {
    ok(await api.post(`/v1/app/_buckets/${one}`), 201)
    for (const file of ['ada/a', 'bob/b']) ok(await api.put(`/v1/app/_buckets/${one}/${file}`, 'x'))
  }
  for (const one of ['mail', 'others']) ok(await api.put(`/v1/app/_tasks/${one}`, {}), 201)
  for (const [name, grant] of Object.entries(grants)) {
    // The organization of the stranger has nothing, so that an answer that depends on what exists is another one there.
    users.set(name, { here: await asUser(api, 'ada', [grant]), elsewhere: await asUser(stranger, 'ada', [grant]) })
  }
})

const send = ([, method, path, body]: Row, api: Api): Promise<ApiResponse> =>
  typeof body === 'string'
    ? api.server.request(method, path, { key: api.key, body, headers: { 'content-type': 'application/x-ndjson' } })
    : api.request(method, path, body)

const isRefused = ({ status, body }: ApiResponse, method: string): boolean =>
  status === 403 && (method === 'HEAD' || body?.error?.code === 'not_granted')

const withoutId = ({ status, body }: ApiResponse): Json => {
  const { requestId: _, ...error } = body?.error ?? {}
  return { status, error }
}

describe('each grant allows these requests and no others, whatever exists', () => {
  test.each(all)('%s %s %s %p', async (...given) => {
    const row = given.slice(0, 5) as unknown as Row
    const [, method, , , allowed] = row
    const found: string[] = []
    await inParallel([...users], 8, async ([name, { here, elsewhere }]) => {
      const answer = await send(row, here)
      const there = await send(row, elsewhere)
      if (isRefused(answer, method)) return expect([name, withoutId(there)]).toEqual([name, withoutId(answer)])
      found.push(name)
      expect([name, isRefused(there, method)]).toEqual([name, false])
      // What is allowed works, or says why the request itself cannot: it is never a fault of the server.
      expect([name, answer.status < 500 && ![401, 403].includes(answer.status)]).toEqual([name, true])
    })
    expect(found.sort()).toEqual([...allowed].sort())
  })

  test('the path is judged first, then the fields, then what they say', async () => {
    const { server } = service
    const { key } = await asUser(service.api, 'ada', [right.hashW, right.prefixW])
    const cases: [method: string, path: string, body: string | undefined, code: string][] = [
      ['PUT', '/v1/app/others', '{', 'not_granted'],
      ['PUT', '/v1/App/notes', '{', 'not_granted'],
      ['PUT', table, '{', 'invalid_json'],
      ['PUT', table, '{"hashKey":"bob:1"}', 'invalid_request'],
      ['PUT', table, '{"hashKey":"bob:1","data":{"status":[]}}', 'not_granted'],
      ['PUT', table, '{"hashKey":"ada:1","data":{"status":[]}}', 'invalid_index_value'],
      ['GET', `${table}/bob:1?x=1`, undefined, 'not_granted'],
      ['GET', `${table}/ada:1?x=1`, undefined, 'invalid_request'],
      ['PUT', '/api/collections/app.notes/items/bob:1', '{', 'not_granted'],
      ['PUT', '/api/collections/app.notes/items/ada:1', '{', 'invalid_json'],
      ['PATCH', `${files}/bob/b`, '{', 'not_granted'],
      ['PATCH', `${files}/ada/a`, '{', 'invalid_json'],
      ['POST', `${files}/query`, '{"prefix":5}', 'invalid_request'],
      ['POST', '/v1/app2/_batch', '{', 'not_granted'],
      ['POST', '/v1/app/_batch', '{', 'invalid_json'],
      ['POST', `${task}/run`, '{', 'not_granted'],
    ]
    for (const [method, path, body, code] of cases) {
      const headers = { 'content-type': 'application/json' }
      const answer = await server.request(method, path, { key, headers, ...(body === undefined ? {} : { body }) })
      expect([method, path, body, answer.body.error.code]).toEqual([method, path, body, code])
    }
  })

  test('every key of a find and every operation of a batch is judged, the last too', async () => {
    const user = await asUser(service.api, 'ada', [right.hashW])
    const records = (hashKeys: string[]): Json[] => hashKeys.map((hashKey, i) => ({ hashKey, rangeKey: `none-${i}` }))
    const deletions = (hashKeys: string[]): Json[] => records(hashKeys).map((key) => ({ op: 'delete', ...key }))
    const requests: [path: string, most: number, list: string, bodyOf: (hashKeys: string[]) => Json][] = [
      [`${table}/find`, 100, 'keys', (hashKeys) => ({ keys: records(hashKeys) })],
      [`${table}/batch`, 25, 'operations', (hashKeys) => batch(...deletions(hashKeys))],
      ['/v1/app/_batch', 100, 'operations', (hashKeys) => batch(...deletions(hashKeys).map(inNotes))],
    ]
    for (const [path, most, list, bodyOf] of requests) {
      const own = Array<string>(most - 1).fill('ada:1')
      ok(await user.post(path, bodyOf([...own, 'ada:1'])))
      const { error } = (await user.post(path, bodyOf([...own, 'bob:1']))).body
      expect([path, error.code, error.field]).toEqual([path, 'not_granted', `${list}[${most - 1}]`])
    }
  })

  const streams: [body: Json, allowed: readonly GrantName[]][] = [
    [{ hash: 'ada:1' }, readsAda1],
    [{ hash: 'bob:1' }, readsBob1],
    [{}, wholeTable],
  ]
  test.each(streams)('a stream of changes %p', async (body, allowed) => {
    const found: string[] = []
    await inParallel(Object.entries(grants), 8, async ([name, grant]) => {
      // Each is another user: one may have 16 streams.
      const { key } = await asUser(service.api, name, [grant])
      const stream = await openStream(service.server, table, { key, body })
      if (stream.status === 200) found.push(name)
      else {
        await stream.ended()
        expect([name, stream.status, JSON.parse(stream.text).error.code]).toEqual([name, 403, 'not_granted'])
      }
      stream.close()
    })
    expect(found.sort()).toEqual([...allowed].sort())
  })

  test('parts of a batch may be allowed by different grants', async () => {
    const request = batch(inNotes(put('ada:1')), inNotes({ op: 'check', hashKey: 'bob:1', ifUpdatedAt: null }), addRun)
    const { hashW, run } = right
    const readsBob = { ...notes, hash: 'bob:1', can: 'read' }
    const both = await asUser(service.api, 'ada', [hashW, run, readsBob])
    expect((await both.post('/v1/app/_batch', request)).status).toBe(412)
    for (const [missing, field] of [
      [[run, readsBob], 'operations[0]'],
      [[hashW, run], 'operations[1]'],
      [[hashW, readsBob], 'operations[2]'],
    ] as const) {
      const user = await asUser(service.api, 'ada', [...missing])
      const { error } = (await user.post('/v1/app/_batch', request)).body
      expect([error.code, error.field]).toEqual(['not_granted', field])
    }
  })
})
