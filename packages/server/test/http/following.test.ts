import { describe, expect, test } from 'bun:test'
import { taskPollEveryMs, waitSecondsMax } from '../../src/core/limits.ts'
import { ToolCaller } from '../agents/tool-caller.ts'
import { type ApiResponse, type Json, startServer } from '../harness.ts'
import { Receiver } from '../tasks/receiver.ts'
import { freshName, makeTable, ok, refused, type TestTable, useService } from './service.ts'
import { makeTask, type TestTask } from './task.ts'

// A task follows a table through every door. Without these promises a write by one way in would not be followed, a worker
// would wait for the poll, or somebody would follow a table that does not exist and never learn of it.

const service = useService()

const follow = (table: TestTable, more: Json = {}, on: Json = {}): Promise<TestTask> =>
  makeTask(table.api, { ...more, on: { table: table.name, ...on } }, freshName('task'), table.db)

const makeFollowed = async (): Promise<{ table: TestTable; task: TestTask }> => {
  const table = await service.table()
  return { table, task: await follow(table) }
}

/** Claims and finishes all runs; what their payloads say of the records, in the order of the keys. */
const taken = async (task: TestTask): Promise<string[]> => {
  const runs = await task.claim({ limit: 100 })
  for (const run of runs) {
    const { hashKey, rangeKey } = run.payload
    expect(run.key).toBe(JSON.stringify(rangeKey === undefined ? [hashKey] : [hashKey, rangeKey]))
    expect(run.payload.db).toBe(task.db)
    await task.finish(run)
  }
  return runs.map(({ key, payload }) => `${payload.op} ${key}`).sort()
}

describe('every way in adds a run', () => {
  test('put, patch and delete of a record; the payload has its version', async () => {
    const { table, task } = await makeFollowed()
    const { updatedAt } = await table.put('ada', {}, { rangeKey: 'o-1' })
    const [put] = await task.claim()
    expect(put.payload).toEqual({
      ...{ db: 'app', table: table.name, hashKey: 'ada', rangeKey: 'o-1', op: 'put', updatedAt },
    })
    await task.finish(put)
    const patched = ok(await service.api.request('PATCH', table.path, { hashKey: 'bob', increment: { '/n': 1 } }))
    const [patch] = await task.claim()
    expect(patch.payload).toEqual({
      ...{ db: 'app', table: table.name, hashKey: 'bob', op: 'put', updatedAt: patched.updatedAt },
    })
    await task.finish(patch)
    const beforeMs = (await table.put('ada')).updatedAt
    ok(await table.delete('ada'))
    const [deleted] = await task.claim()
    const { deletedAt, ...rest } = deleted.payload
    expect(rest).toEqual({ db: 'app', table: table.name, hashKey: 'ada', op: 'delete' })
    expect(deletedAt).toBeGreaterThanOrEqual(beforeMs)
    await task.finish(deleted)
    // Nothing was written.
    ok(await table.delete('ada'))
    refused(await table.tryPut({ hashKey: 'ada', data: {} }, { 'if-match': '*' }), 412, 'precondition_failed')
    refused(await table.tryPut({ hashKey: 'ada', data: [] }), 400, 'invalid_request')
    expect(await taken(task)).toEqual([])
  })

  test('put, patch and delete of an item', async () => {
    const { table, task } = await makeFollowed()
    const at = (id: string, query = '') => `/api/collections/app.${table.name}/items/${id}${query}`
    ok(await service.api.put(at('a'), { n: 1 }))
    ok(await service.api.put(at('b', '?rangeKey=r'), { n: 1 }))
    expect(await taken(task)).toEqual(['put ["a"]', 'put ["b","r"]'])
    ok(await service.api.request('PATCH', at('a'), { n: 2 }))
    ok(await service.api.delete(at('b', '?rangeKey=r')))
    expect(await taken(task)).toEqual(['delete ["b","r"]', 'put ["a"]'])
  })

  test('a batch of the table and of the database, whose answers do not list these runs', async () => {
    const { table, task } = await makeFollowed()
    await table.put('old')
    await taken(task)
    const operations = [
      { op: 'put', hashKey: 'a', data: {} },
      { op: 'patch', hashKey: 'b', merge: {} },
      { op: 'delete', hashKey: 'old' },
      { op: 'delete', hashKey: 'nothing' },
      { op: 'check', hashKey: 'c', ifUpdatedAt: null },
    ]
    await table.batch(operations)
    expect(await taken(task)).toEqual(['delete ["old"]', 'put ["a"]', 'put ["b"]'])
    const other = await makeTask(service.api)
    const everywhere = [
      ...operations.slice(0, 2).map((operation) => ({ table: table.name, ...operation })),
      { op: 'run', task: other.name },
    ]
    const answer = ok(await service.api.post('/v1/app/_batch', { operations: everywhere }))
    expect(answer.count).toBe(3)
    expect(answer.runs).toEqual(await other.ids())
    expect(await taken(task)).toEqual(['put ["a"]', 'put ["b"]'])
    const failing = [...operations.slice(1), { op: 'check', hashKey: 'a', ifUpdatedAt: null }]
    refused(await table.tryBatch(failing), 412, 'precondition_failed')
    expect(await taken(task)).toEqual([])
  })

  test('the lines of a load, those aside that are refused or skipped', async () => {
    const { table, task } = await makeFollowed()
    const load = async (keys: (string | undefined)[], query: string): Promise<Json> => {
      const body = keys.map((hashKey) => JSON.stringify({ hashKey, data: {} })).join('\n')
      const headers: [string, string][] = [['content-type', 'application/x-ndjson']]
      return ok(await service.api.raw('POST', `${table.path}/load${query}`, { body, headers }))
    }
    expect(await load(['a', undefined, 'b'], '?onError=skip')).toMatchObject({ count: 2, failed: 1 })
    expect(await taken(task)).toEqual(['put ["a"]', 'put ["b"]'])
    expect(await load(['b', 'c'], '?ifAbsent=true')).toMatchObject({ count: 1, skipped: 1 })
    expect(await taken(task)).toEqual(['put ["c"]'])
  })

  test('the tools of agents', async () => {
    const { table, task } = await makeFollowed()
    const agent = new ToolCaller(service.server, service.org.secretKey)
    const at = { db: 'app', table: table.name }
    const records = [
      { hashKey: 'a', data: {} },
      { ...{ hashKey: 'b', rangeKey: 'r' }, data: {} },
    ]
    await agent.call('put_records', { ...at, records })
    expect(await taken(task)).toEqual(['put ["a"]', 'put ["b","r"]'])
    const { written } = await agent.call('patch_records', { ...at, records: [{ hashKey: 'a', merge: { n: 1 } }] })
    expect(await taken(task)).toEqual(['put ["a"]'])
    const [{ updatedAt: ifUpdatedAt }] = written
    await agent.call('delete_records', { ...at, records: [{ hashKey: 'a', ifUpdatedAt }] })
    expect(await taken(task)).toEqual(['delete ["a"]'])
  })

  test('a request that is repeated with its idempotency key adds no second run', async () => {
    const { table, task } = await makeFollowed()
    const put = () => table.tryPut({ hashKey: 'a', data: {} }, { 'idempotency-key': 'put' })
    const batch = () => table.tryBatch([{ op: 'put', hashKey: 'b', data: {} }], { 'idempotency-key': 'batch' })
    for (const send of [put, batch]) {
      const first = ok(await send())
      expect(await taken(task)).toHaveLength(1)
      expect(ok(await send())).toEqual(first)
      expect(await taken(task)).toEqual([])
    }
  })
})

describe('the runs begin soon', () => {
  const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

  test('a claim that waits gets the run of a write without the next poll', async () => {
    const { table, task } = await makeFollowed()
    const writes: ((n: number) => Promise<unknown>)[] = [
      (n) => table.put(`put-${n}`),
      (n) => table.batch([{ op: 'put', hashKey: `batch-${n}`, data: {} }]),
      (n) => service.api.raw('POST', `${table.path}/load`, { body: `{"hashKey":"load-${n}","data":{}}` }),
    ]
    for (const write of writes) {
      const tookMs: number[] = []
      for (let n = 0; n < 7; n++) {
        const claim = task.claim({ waitSeconds: waitSecondsMax })
        // At another place between two polls each time.
        await Bun.sleep(100 + (n * taskPollEveryMs) / 7)
        const startMs = performance.now()
        await write(n)
        const [run] = await claim
        tookMs.push(performance.now() - startMs)
        await task.finish(run)
      }
      // By the poll alone the median would be half of its time.
      expect(median(tookMs)).toBeLessThan(taskPollEveryMs / 4)
    }
  })

  test('a run of a task with a url is pushed after a write, with the record in its payload', async () => {
    const receiver = new Receiver()
    const server = await startServer({ args: ['--push-allow', '127.0.0.1/32'] })
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      const table = await makeTable(api)
      const task = await follow(table, { url: receiver.url() })
      const { updatedAt } = await table.put('ada', {}, { rangeKey: 'x"y' })
      const [push] = await receiver.until(task.name, 1)
      expect(push!.body).toEqual({
        ...{ db: 'app', table: table.name, hashKey: 'ada', rangeKey: 'x"y', op: 'put', updatedAt },
      })
      ok(await table.delete('ada', 'x"y'))
      const [, second] = await receiver.until(task.name, 2)
      expect(second!.body).toMatchObject({ op: 'delete', hashKey: 'ada', rangeKey: 'x"y' })
    } finally {
      await server.stop()
      receiver.stop()
    }
  })
})

describe('what is declared', () => {
  test('is shown by every answer, and ends with a declaration without it', async () => {
    const table = await service.table()
    const task = await follow(table, {}, { ops: ['delete', 'put'] })
    const on = { table: table.name, ops: ['delete', 'put'] }
    const listed = async (query = ''): Promise<Json> =>
      ok(await service.api.get(`/v1/app/_tasks${query}`)).tasks.find((one: Json) => one.task === task.name)
    expect(ok(await service.api.get(task.path)).on).toEqual(on)
    expect((await listed()).on).toEqual(on)
    const deleted = ok(await service.api.delete(task.path))
    expect([deleted.on, (await listed('?deleted=true')).on]).toEqual([on, on])
    expect(ok(await service.api.post(`${task.path}/restore`)).on).toEqual(on)
    const all = await task.declare({ on: { table: table.name } })
    expect(all.on).toEqual({ table: table.name, ops: ['put', 'delete', 'expire'] })
    expect((await task.declare()).on).toBeNull()
    await table.put('a')
    expect(await taken(task)).toEqual([])
  })

  test('only these writes', async () => {
    const table = await service.table()
    const task = await follow(table, {}, { ops: ['delete'] })
    await table.put('a')
    expect(await taken(task)).toEqual([])
    ok(await table.delete('a'))
    expect(await taken(task)).toEqual(['delete ["a"]'])
  })

  test('is refused for a table that does not exist, also in another database or organization', async () => {
    const table = await service.table()
    const path = `/v1/app/_tasks/${freshName('task')}`
    const wrong = `${table.name}-wrong`
    const error = refused(
      await service.api.put(path, { on: { table: wrong } }),
      ...([404, 'table_not_found', 'on.table'] as const),
    )
    expect(error.message).toContain(wrong)
    expect(error.hint).toContain(`/v1/app/${wrong}`)
    refused(await service.api.get(path), 404, 'task_not_found')
    const on = { table: table.name }
    refused(await service.api.put(path.replace('/app/', '/app2/'), { on }), 404, 'table_not_found', 'on.table')
    refused(await service.stranger.put(path, { on }), 404, 'table_not_found', 'on.table')
    const bucket = freshName('bucket')
    ok(await service.api.post(`/v1/app/_buckets/${bucket}`), 201)
    refused(await service.api.put(path, { on: { table: bucket } }), 404, 'table_not_found', 'on.table')
    ok(await service.api.delete(table.path))
    const gone = refused(await service.api.put(path, { on }), 404, 'table_not_found', 'on.table')
    expect(gone.hint).toContain(`${table.path}/restore`)
  })

  test('is refused by the name of the field if it is malformed', async () => {
    const { name: table } = await service.table()
    const path = `/v1/app/_tasks/${freshName('task')}`
    const wrong: [Json, string][] = [
      ['orders', 'on'],
      [[], 'on'],
      [{}, 'on.table'],
      [{ table: 'no/name' }, 'on.table'],
      [{ table, op: ['put'] }, 'on.op'],
      [{ table, ops: [] }, 'on.ops'],
      [{ table, ops: 'put' }, 'on.ops'],
      [{ table, ops: ['put', 'patch'] }, 'on.ops[1]'],
      [{ table, ops: ['put', 'put'] }, 'on.ops[1]'],
    ]
    for (const [on, field] of wrong) {
      const error = (await service.api.put(path, { on })).body?.error
      expect([on, error?.field]).toEqual([on, field])
    }
    refused(await service.api.get(path), 404, 'task_not_found')
  })

  test('is refused for a sixth task by the names of the others, for a restore too', async () => {
    const table = await service.table()
    const tasks: TestTask[] = []
    for (let i = 0; i < 5; i++) tasks.push(await follow(table))
    const sixth = await makeTask(service.api)
    const expectFull = (answer: ApiResponse, others: TestTask[]): void => {
      const error = refused(answer, 409, 'too_many_tasks', 'on.table')
      for (const { name } of others) expect(error.message).toContain(name)
      expect(error.hint).toContain(others[0]!.path)
    }
    const on = { table: table.name }
    expectFull(await service.api.put(sixth.path, { on }), tasks)
    expect((await service.api.get(sixth.path)).body.on).toBeNull()
    // One of the five may change what it follows.
    await tasks[0]!.declare({ on: { ...on, ops: ['put'] } })
    ok(await service.api.delete(tasks[4]!.path))
    await sixth.declare({ on })
    expectFull(await service.api.post(`${tasks[4]!.path}/restore`), [...tasks.slice(0, 4), sixth])
    refused(await service.api.get(tasks[4]!.path), 404, 'task_not_found')
    await sixth.declare()
    ok(await service.api.post(`${tasks[4]!.path}/restore`))
    await table.put('a')
    expect(await Promise.all([...tasks, sixth].map(async (task) => (await taken(task)).length))).toEqual([
      ...[1, 1, 1, 1, 1, 0],
    ])
  })

  test('a public key cannot declare it, and cannot end it', async () => {
    const { table, task } = await makeFollowed()
    const on = { table: table.name }
    refused(await service.reader.put(`/v1/app/_tasks/${freshName('task')}`, { on }), 403, 'read_only_key')
    refused(await service.reader.put(task.path, {}), 403, 'read_only_key')
    expect(ok(await service.api.get(task.path)).on.table).toBe(table.name)
  })
})

test('with --workers, a declaration holds for writes through every process from the moment of its answer', async () => {
  const server = await startServer({ args: ['--workers', '2'] })
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    const table = await makeTable(api)
    const task = await makeTask(api)
    const on = { table: table.name }
    // Each request on a connection of its own: they are spread over the workers.
    const declare = async (body: Json): Promise<Json> =>
      ok(await api.raw('PUT', task.path, { body: JSON.stringify(body) }))
    const writeAll = (prefix: string): Promise<string[]> =>
      Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const hashKey = `${prefix}-${i}`
          ok(await api.raw('PUT', table.path, { body: JSON.stringify({ hashKey, data: {} }) }))
          return `put ["${hashKey}"]`
        }),
      )
    for (let round = 0; round < 6; round++) {
      await declare({ on })
      const written = await writeAll(`followed-${round}`)
      await declare({})
      await writeAll(`not-${round}`)
      expect(await taken(task)).toEqual(written.sort())
    }
  } finally {
    await server.stop()
  }
})
