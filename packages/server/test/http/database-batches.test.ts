import { describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { createKey, freshName, ok, refused, type TestTable, useService } from './service.ts'
import { makeTask } from './task.ts'

const service = useService()

const send = (operations: unknown, headers?: Record<string, string>, db = 'app') =>
  service.api.post(`/v1/${db}/_batch`, { operations }, headers)

const on = ({ name }: TestTable, operation: Json): Json => ({ table: name, ...operation })

describe('POST /v1/:db/_batch', () => {
  test('writes several tables, or none of them', async () => {
    const [orders, stock] = [await service.table({ i1: { hashField: 'status' } }), await service.table()]
    await stock.put('cup', { count: 3 })
    const order = (count: number) =>
      send([
        on(stock, { op: 'patch', hashKey: 'cup', increment: { '/count': { by: -count, min: 0 } } }),
        on(orders, { op: 'put', hashKey: 'ada', rangeKey: 'o-1', data: { status: 'open', count } }),
        on(orders, { op: 'delete', hashKey: 'cart' }),
      ])
    refused(await order(4), 412, 'precondition_failed', 'operations[0].increment["/count"]')
    refused(await orders.get('ada', 'o-1'), 404, 'record_not_found')
    expect(ok(await order(2))).toEqual({ count: 3 })
    expect(ok(await stock.get('cup')).data).toEqual({ count: 1 })
    expect(await orders.hashes({ index: 'i1', hash: 'open' })).toEqual(['ada'])
  })

  test('check holds if the record has that version, or does not exist', async () => {
    const [people, names] = [await service.table(), await service.table()]
    const { updatedAt } = await people.put('ada')
    const check = (hashKey: string, ifUpdatedAt: unknown) => on(people, { op: 'check', hashKey, ifUpdatedAt })
    const name = on(names, { op: 'put', hashKey: 'x', data: {} })
    expect(ok(await send([check('ada', updatedAt), check('bob', null), name]))).toEqual({ count: 3 })
    const wrong = refused(await send([name, check('ada', updatedAt + 1)]), 412, 'precondition_failed')
    expect(wrong.field).toBe('operations[1].ifUpdatedAt')
    refused(await send([check('ada', null)]), 412, 'precondition_failed', 'operations[0].ifUpdatedAt')
    refused(await send([check('bob', updatedAt)]), 412, 'precondition_failed', 'operations[0].ifUpdatedAt')
    refused(await send([check('ada', undefined)]), 400, 'invalid_request', 'operations[0].ifUpdatedAt')
    refused(await send([check('ada', '*')]), 400, 'invalid_request', 'operations[0].ifUpdatedAt')
    refused(await send([{ ...check('ada', null), data: {} }]), 400, 'invalid_request', 'operations[0].data')
    // A check writes nothing: the version is the same, and a record that is not there is still not there.
    expect(ok(await people.get('ada')).updatedAt).toBe(updatedAt)
    refused(await people.get('bob'), 404, 'record_not_found')
    expect(ok(await people.tryBatch([{ op: 'check', hashKey: 'ada', ifUpdatedAt: updatedAt }]))).toEqual({ count: 1 })
  })

  test('adds and finishes runs with records of several tables', async () => {
    const [orders, log, task] = [await service.table(), await service.table(), await makeTask(service.api)]
    const operations = [
      on(orders, { op: 'put', hashKey: 'o-1', data: {} }),
      { op: 'run', task: task.name, payload: { order: 'o-1' } },
      on(log, { op: 'put', hashKey: 'l-1', data: {} }),
    ]
    const { count, runs } = ok(await send(operations))
    expect(count).toBe(3)
    expect(runs).toHaveLength(1)
    const [run] = (await task.claim()) as Json[]
    expect(run!.payload).toEqual({ order: 'o-1' })
    const finish = { op: 'finish', task: task.name, run: run!.id, lease: run!.lease }
    const stale = on(log, { op: 'put', hashKey: 'l-1', data: {}, ifUpdatedAt: null })
    refused(await send([finish, stale]), 412, 'precondition_failed', 'operations[1].ifUpdatedAt')
    expect((await task.read(run!.id)).status).toBe('running')
    ok(await send([finish, on(orders, { op: 'delete', hashKey: 'o-1' })]))
    expect((await task.read(run!.id)).status).toBe('succeeded')
  })

  test('names what is wrong, and writes nothing', async () => {
    const [table, other] = [await service.table(), await service.table()]
    const good = on(table, { op: 'put', hashKey: 'good', data: {} })
    const none = freshName('none')
    const cases: [operation: Json, status: number, code: string, field: string][] = [
      [{ op: 'put', hashKey: 'a', data: {} }, 400, 'invalid_name', 'table'],
      [{ op: 'put', table: 'No', hashKey: 'a', data: {} }, 400, 'invalid_name', 'table'],
      [{ op: 'put', table: none, hashKey: 'a', data: {} }, 404, 'table_not_found', 'table'],
      [{ op: 'run', task: none }, 404, 'task_not_found', 'task'],
      [{ op: 'run', task: none, table: table.name }, 400, 'invalid_request', 'table'],
      [on(other, { op: 'get', hashKey: 'a' }), 400, 'invalid_request', 'op'],
      [on(other, { op: 'put', hashKey: '', data: {} }), 400, 'invalid_key', 'hashKey'],
      [on(other, { op: 'patch', hashKey: 'a' }), 400, 'invalid_request', 'merge'],
    ]
    for (const [operation, status, code, field] of cases) {
      refused(await send([good, operation]), status, code, `operations[1].${field}`)
    }
    refused(
      await send([good, { ...good, op: 'delete', data: undefined }]),
      400,
      'batch_duplicate_keys',
      'operations[1]',
    )
    refused(
      await send([good, on(table, { op: 'check', hashKey: 'good', ifUpdatedAt: null })]),
      400,
      'batch_duplicate_keys',
    )
    refused(await send([]), 400, 'invalid_request', 'operations')
    refused(await send([good], undefined, 'elsewhere'), 404, 'table_not_found', 'operations[0].table')
    refused(await table.get('good'), 404, 'record_not_found')
    ok(await send([good, on(other, { op: 'put', hashKey: 'good', data: {} })]))
  })

  test('1 to 100 operations on at most 25 tables and tasks', async () => {
    const tables = await Promise.all(Array.from({ length: 26 }, () => service.table()))
    const puts = (count: number) =>
      Array.from({ length: count }, (_, i) => on(tables[i % 25]!, { op: 'put', hashKey: `k${i}`, data: { i } }))
    expect(ok(await send(puts(100)))).toEqual({ count: 100 })
    refused(await send(puts(101)), 400, 'batch_too_large', 'operations')
    const many = tables.map((table) => on(table, { op: 'put', hashKey: 'x', data: {} }))
    refused(await send(many), 400, 'batch_too_large', 'operations')
    const one = Array.from({ length: 100 }, (_, i) => on(tables[0]!, { op: 'put', hashKey: `one${i}`, data: {} }))
    ok(await send(one))
    refused(
      await tables[0]!.tryBatch(one.slice(0, 26).map(({ table: _, ...operation }) => operation)),
      400,
      'batch_too_large',
    )
  })

  test('needs a secret key that may use the database, and a batch of another organization sees nothing of it', async () => {
    const table = await service.table()
    const body = { operations: [on(table, { op: 'put', hashKey: 'a', data: {} })] }
    refused(await service.reader.post('/v1/app/_batch', body), 403, 'read_only_key')
    const { key } = await createKey(service.api, { kind: 'secret', databases: ['other'] })
    refused(await service.server.as(key).post('/v1/app/_batch', body), 403, 'key_scope')
    refused(await service.stranger.post('/v1/app/_batch', body), 404, 'table_not_found', 'operations[0].table')
    refused(await service.api.get('/v1/app/_batch'), 405, 'method_not_allowed')
    refused(await service.api.post('/v1/app/_batch?x=1', body), 400, 'invalid_request', 'x')
    refused(await service.api.post('/v1/app/_batch', body, { 'if-match': '"1"' }), 400, 'invalid_request', 'If-Match')
    refused(await service.api.post('/v1/app/_batch', { ...body, table: table.name }), 400, 'invalid_request', 'table')
  })

  test('readers see all of a batch or nothing of it', async () => {
    const [a, b] = [await service.table(), await service.table()]
    await Promise.all([a.put('n', { n: 0 }), b.put('n', { n: 0 })])
    let isWriting = true
    const write = async (): Promise<void> => {
      for (let n = 1; n <= 60; n++)
        ok(await send([a, b].map((table) => on(table, { op: 'put', hashKey: 'n', data: { n } }))))
      isWriting = false
    }
    const read = async (): Promise<void> => {
      while (isWriting) {
        // Read in this order, the second record is never older than the first.
        const first = ok(await a.get('n')).data.n
        expect(ok(await b.get('n')).data.n).toBeGreaterThanOrEqual(first)
      }
    }
    await Promise.all([write(), read(), read()])
  })

  test('an idempotency key belongs to the database', async () => {
    const [a, b] = [await service.table(), await service.table()]
    const operations = [a, b].map((table) => on(table, { op: 'patch', hashKey: 'n', increment: { '/n': 1 } }))
    const headers = { 'idempotency-key': freshName('key') }
    const first = await send(operations, headers)
    const again = await send(operations, headers)
    expect([first.text, again.text]).toEqual(['{"count":2}\n', '{"count":2}\n'])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(ok(await a.get('n')).data).toEqual({ n: 1 })
    refused(await send(operations.slice(1), headers), 422, 'idempotency_key_reused')
    // Of a table it is another key.
    ok(await service.api.post(`${a.path}/batch`, { operations: [{ op: 'delete', hashKey: 'n' }] }, headers))
  })
})
