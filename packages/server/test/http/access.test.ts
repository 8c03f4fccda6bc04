import { beforeAll, describe, expect, test } from 'bun:test'
import type { ApiResponse, Json } from '../harness.ts'
import {
  createExpiredKey,
  createKey,
  createRevokedKey,
  freshName,
  makeTable,
  ok,
  refused,
  type TestTable,
  unknownKey,
  useService,
  wrongChecksum,
} from './service.ts'

// Every route with every kind of caller. Without this, one route could forget one check.

const service = useService()

/**
 * The fixtures on which requests are made. Requests that may succeed get a fresh one, so that one never disturbs another.
 */
interface Fixture {
  table: TestTable
  deleted: TestTable
  /** Paths of an active and of a deleted bucket. */
  bucket: string
  deletedBucket: string
  /** Paths of an active and of a deleted task. */
  task: string
  deletedTask: string
  /** The lease of the run `busy` of the task, which is running. Its run `waits` is queued, and `over` has finished. */
  lease: string
  keyId: string
}

interface Route {
  method: string
  path: (fixture: Fixture) => string
  body?: Json
  bodyOf?: (fixture: Fixture) => Json
  /** The answer for a public key; a secret one may do everything. */
  public: 'may' | 'may not'
  /** The answer for an unlimited secret key of another organization, by the rule "like one that does not exist". */
  stranger: number | string
  own: number
  /** A limited key outside its databases. */
  outOfScope: 'key_scope' | 200
}

const routes: Record<string, Route> = {
  'list databases': {
    method: 'GET',
    path: () => '/v1',
    public: 'may',
    stranger: 200,
    own: 200,
    outOfScope: 200,
  },
  'list tables': {
    method: 'GET',
    path: ({ table }) => `/v1/${table.db}`,
    public: 'may',
    stranger: 200,
    own: 200,
    outOfScope: 'key_scope',
  },
  'create a table': {
    method: 'POST',
    path: ({ table }) => `${table.path}-more`,
    public: 'may not',
    stranger: 201,
    own: 201,
    outOfScope: 'key_scope',
  },
  'table metadata': {
    method: 'GET',
    path: ({ table }) => table.path,
    public: 'may',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'delete a table': {
    method: 'DELETE',
    path: ({ table }) => table.path,
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'restore a table': {
    method: 'POST',
    path: ({ deleted }) => `${deleted.path}/restore`,
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'put a record': {
    method: 'PUT',
    path: ({ table }) => table.path,
    body: { hashKey: 'new', data: {} },
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'get a record': {
    method: 'GET',
    path: ({ table }) => table.at('a'),
    public: 'may',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'get a record with a range key': {
    method: 'GET',
    path: ({ table }) => table.at('a', 'r'),
    public: 'may',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'delete a record': {
    method: 'DELETE',
    path: ({ table }) => table.at('a'),
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'delete a record with a range key': {
    method: 'DELETE',
    path: ({ table }) => table.at('a', 'r'),
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  query: {
    method: 'POST',
    path: ({ table }) => `${table.path}/query`,
    body: { hash: 'a' },
    public: 'may',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  find: {
    method: 'POST',
    path: ({ table }) => `${table.path}/find`,
    body: { keys: [{ hashKey: 'a' }] },
    public: 'may',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  batch: {
    method: 'POST',
    path: ({ table }) => `${table.path}/batch`,
    body: { operations: [{ op: 'delete', hashKey: 'a' }] },
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'get an item': {
    method: 'GET',
    path: ({ table }) => `/api/collections/${table.db}.${table.name}/items/a`,
    public: 'may',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'put an item': {
    method: 'PUT',
    path: ({ table }) => `/api/collections/${table.db}.${table.name}/items/new`,
    body: { name: 'Ada' },
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'delete an item': {
    method: 'DELETE',
    path: ({ table }) => `/api/collections/${table.db}.${table.name}/items/a?rangeKey=r`,
    public: 'may not',
    stranger: 'table_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'list buckets': {
    method: 'GET',
    path: ({ table }) => `/v1/${table.db}/_buckets`,
    public: 'may',
    stranger: 200,
    own: 200,
    outOfScope: 'key_scope',
  },
  'create a bucket': {
    method: 'POST',
    path: ({ bucket }) => `${bucket}-more`,
    public: 'may not',
    stranger: 201,
    own: 201,
    outOfScope: 'key_scope',
  },
  'bucket metadata': {
    method: 'GET',
    path: ({ bucket }) => bucket,
    public: 'may',
    stranger: 'bucket_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'delete a bucket': {
    method: 'DELETE',
    path: ({ bucket }) => bucket,
    public: 'may not',
    stranger: 'bucket_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'restore a bucket': {
    method: 'POST',
    path: ({ deletedBucket }) => `${deletedBucket}/restore`,
    public: 'may not',
    stranger: 'bucket_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'list tasks': {
    method: 'GET',
    path: ({ table }) => `/v1/${table.db}/_tasks`,
    public: 'may not',
    stranger: 200,
    own: 200,
    outOfScope: 'key_scope',
  },
  'declare a task': {
    method: 'PUT',
    path: ({ task }) => `${task}-more`,
    body: {},
    public: 'may not',
    stranger: 201,
    own: 201,
    outOfScope: 'key_scope',
  },
  'task metadata': {
    method: 'GET',
    path: ({ task }) => task,
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'delete a task': {
    method: 'DELETE',
    path: ({ task }) => task,
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'restore a task': {
    method: 'POST',
    path: ({ deletedTask }) => `${deletedTask}/restore`,
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'add a run': {
    method: 'POST',
    path: ({ task }) => `${task}/run`,
    body: { payload: {} },
    public: 'may not',
    stranger: 'task_not_found',
    own: 201,
    outOfScope: 'key_scope',
  },
  'get a run': {
    method: 'GET',
    path: ({ task }) => `${task}/runs/waits`,
    public: 'may',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'query runs': {
    method: 'POST',
    path: ({ task }) => `${task}/query`,
    body: {},
    public: 'may',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'claim runs': {
    method: 'POST',
    path: ({ task }) => `${task}/claim`,
    body: { limit: 10 },
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'extend a lease': {
    method: 'POST',
    path: ({ task }) => `${task}/runs/busy/extend`,
    bodyOf: ({ lease }) => ({ lease }),
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'finish an attempt': {
    method: 'POST',
    path: ({ task }) => `${task}/runs/busy/finish`,
    bodyOf: ({ lease }) => ({ lease }),
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'cancel a run': {
    method: 'POST',
    path: ({ task }) => `${task}/runs/waits/cancel`,
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'retry a run': {
    method: 'POST',
    path: ({ task }) => `${task}/runs/over/retry`,
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'a batch of runs': {
    method: 'POST',
    path: ({ task }) => `${task}/batch`,
    body: { operations: [{ op: 'run' }] },
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  "a new secret for a task's pushes": {
    method: 'POST',
    path: ({ task }) => `${task}/secret`,
    public: 'may not',
    stranger: 'task_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
  'create a key': {
    method: 'POST',
    path: () => '/api/keys',
    body: { kind: 'public' },
    public: 'may not',
    stranger: 201,
    own: 201,
    outOfScope: 'key_scope',
  },
  'list keys': {
    method: 'GET',
    path: () => '/api/keys',
    public: 'may not',
    stranger: 200,
    own: 200,
    outOfScope: 'key_scope',
  },
  'the calling key': {
    method: 'GET',
    path: () => '/api/keys/self',
    public: 'may',
    stranger: 200,
    own: 200,
    outOfScope: 200,
  },
  'roll a key': {
    method: 'POST',
    path: ({ keyId }) => `/api/keys/${keyId}/roll`,
    body: {},
    public: 'may not',
    stranger: 'key_not_found',
    own: 201,
    outOfScope: 'key_scope',
  },
  'revoke a key': {
    method: 'DELETE',
    path: ({ keyId }) => `/api/keys/${keyId}`,
    public: 'may not',
    stranger: 'key_not_found',
    own: 200,
    outOfScope: 'key_scope',
  },
}

const freshFixture = async (): Promise<Fixture> => {
  const fresh = {
    table: await makeTable(service.api, undefined, freshName(), 'shop'),
    deleted: await makeTable(service.api, undefined, freshName(), 'shop'),
    bucket: `/v1/shop/_buckets/${freshName('b')}`,
    deletedBucket: `/v1/shop/_buckets/${freshName('b')}`,
    task: `/v1/shop/_tasks/${freshName('task')}`,
    deletedTask: `/v1/shop/_tasks/${freshName('task')}`,
    lease: '',
    keyId: (await createKey(service.api)).id,
  }
  for (const path of [fresh.bucket, fresh.deletedBucket]) ok(await service.api.post(path), 201)
  ok(await service.api.delete(fresh.deletedBucket))
  for (const path of [fresh.task, fresh.deletedTask]) ok(await service.api.put(path, {}), 201)
  ok(await service.api.post(`${fresh.task}/run`, { id: 'busy' }), 201)
  fresh.lease = ok(await service.api.post(`${fresh.task}/claim`)).runs[0].lease
  for (const id of ['waits', 'over']) ok(await service.api.post(`${fresh.task}/run`, { id, delaySeconds: 1_000 }), 201)
  ok(await service.api.post(`${fresh.task}/runs/over/cancel`))
  ok(await service.api.delete(fresh.deletedTask))
  await fresh.table.put('a')
  await fresh.table.put('a', {}, { rangeKey: 'r' })
  ok(await service.api.delete(fresh.deleted.path))
  return fresh
}

let fixture: Fixture
const callers: Record<string, string | undefined> = {}
const malformed = 'Bearer not-a-key'

beforeAll(async () => {
  const { api } = service
  fixture = await freshFixture()
  callers['wrong checksum'] = wrongChecksum(service.org.secretKey)
  callers.unknown = unknownKey()
  callers.revoked = (await createRevokedKey(api)).key
  callers['revoked public'] = (await createRevokedKey(api, { kind: 'public' })).key
  callers.expired = (await createExpiredKey(api)).key
  callers['expired public'] = (await createExpiredKey(api, { kind: 'public' })).key
  callers['out of scope'] = (await createKey(api, { kind: 'secret', databases: ['elsewhere'] })).key
  callers['out of scope public'] = (await createKey(api, { kind: 'public', databases: ['elsewhere'] })).key
  callers['limited to the database'] = (await createKey(api, { kind: 'secret', databases: ['shop'] })).key
})

/** Everything of the fixture, as its owner sees it. */
/** It changes by itself when a run becomes due. */
const withoutOldest = ({ oldestRunAt: _, ...task }: Json): Json => task

const snapshot = async () => ({
  tables: ok(await service.api.get('/v1/shop')).tables,
  deleted: ok(await service.api.get('/v1/shop?deleted=true')).tables,
  buckets: ok(await service.api.get('/v1/shop/_buckets')).buckets,
  deletedBuckets: ok(await service.api.get('/v1/shop/_buckets?deleted=true')).buckets,
  tasks: ok(await service.api.get('/v1/shop/_tasks')).tasks.map(withoutOldest),
  deletedTasks: ok(await service.api.get('/v1/shop/_tasks?deleted=true')).tasks.map(withoutOldest),
  runs: ok(await service.api.post(`${fixture.task}/query`)).items,
  records: await fixture.table.items({ index: 't' }),
  keys: ok(await service.api.get('/api/keys?limit=1000')).keys.map((key: Json) => [key.id, key.status, key.rolledTo]),
})

for (const [name, route] of Object.entries(routes)) {
  describe(name, () => {
    const send = (key: string | undefined, headers?: Record<string, string>): Promise<ApiResponse> =>
      service.server.request(route.method, route.path(fixture), {
        key,
        body: route.bodyOf?.(fixture) ?? route.body,
        headers,
      })

    const refusals: [string, number, string, () => Promise<ApiResponse>][] = [
      ['no key', 401, 'missing_api_key', () => send(undefined)],
      ['malformed', 401, 'invalid_api_key', () => send(undefined, { authorization: malformed })],
      ['wrong checksum', 401, 'invalid_api_key', () => send(callers['wrong checksum'])],
      ['unknown', 401, 'invalid_api_key', () => send(callers.unknown)],
      ['revoked', 403, 'revoked_api_key', () => send(callers.revoked)],
      ['revoked public', 403, 'revoked_api_key', () => send(callers['revoked public'])],
      ['expired', 401, 'expired_api_key', () => send(callers.expired)],
      ['expired public', 401, 'expired_api_key', () => send(callers['expired public'])],
    ]
    if (route.public === 'may not') {
      refusals.push(['public', 403, 'read_only_key', () => send(service.org.publicKey)])
      refusals.push(['public out of scope', 403, 'read_only_key', () => send(callers['out of scope public'])])
    } else if (route.outOfScope === 'key_scope') {
      refusals.push(['public out of scope', 403, 'key_scope', () => send(callers['out of scope public'])])
    }
    if (route.outOfScope === 'key_scope') {
      refusals.push(['out of scope', 403, 'key_scope', () => send(callers['out of scope'])])
    }

    test(`refused, and nothing is changed: ${refusals.map(([caller]) => caller).join(', ')}`, async () => {
      const before = await snapshot()
      for (const [caller, status, code, request] of refusals) {
        const answer = await request()
        expect([caller, answer.status, answer.body?.error?.code]).toEqual([caller, status, code])
      }
      expect(await snapshot()).toEqual(before)
    })

    if (route.public === 'may') {
      test(`public: ${route.own}`, async () => {
        ok(await send(service.org.publicKey), route.own)
      })
    }

    test(`other organization: ${route.stranger}`, async () => {
      const before = await snapshot()
      const answer = await send(service.otherOrg.secretKey)
      if (typeof route.stranger === 'number') {
        ok(answer, route.stranger)
      } else {
        refused(answer, 404, route.stranger)
      }
      expect(await snapshot()).toEqual(before)
    })

    if (route.path.toString().includes('api/keys') && route.outOfScope === 'key_scope') {
      test('limited to databases: 403 key_scope', async () => {
        refused(await send(callers['limited to the database']), 403, 'key_scope')
      })
    } else {
      test('limited to databases, within them: as own', async () => {
        const kept = fixture
        try {
          fixture = await freshFixture()
          ok(await send(callers['limited to the database']), route.own)
        } finally {
          fixture = kept
        }
      })
    }

    test(`own: ${route.own}`, async () => {
      const kept = fixture
      try {
        fixture = await freshFixture()
        ok(await send(service.org.secretKey), route.own)
      } finally {
        fixture = kept
      }
    })
  })
}

describe('without a key', () => {
  for (const path of ['/healthz', '/readyz']) {
    test(`GET and HEAD ${path}: 200`, async () => {
      expect((await service.server.request('GET', path)).status).toBe(200)
      expect((await service.server.raw('HEAD', path)).status).toBe(200)
      refused(await service.server.request('POST', path), 405, 'method_not_allowed')
    })
  }
})
