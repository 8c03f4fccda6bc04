import { beforeAll, describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { freshName, makeTable, ok, refused, type TestTable, useService } from './service.ts'
import { longestWait, makeTask, TestTask } from './task.ts'

// Records are written, runs added and runs finished together or not at all. What would go wrong without it: an order without
// its mail, or a counter that counts a run twice.

const service = useService()
const indices = { i1: { hashField: 'status' } }
let table: TestTable
let task: TestTask
beforeAll(async () => {
  table = await makeTable(service.api, indices)
  task = await makeTask(service.api)
})

const put = (hashKey: string, more: Json = {}): Json => ({ op: 'put', hashKey, data: { n: 1 }, ...more })
const addRun = (more: Json = {}): Json => ({ op: 'run', task: task.name, ...more })
const finish = ({ id, lease }: Json, more: Json = {}): Json => ({
  ...{ op: 'finish', task: task.name, run: id, lease },
  ...more,
})

describe('a batch of a table', () => {
  test('writes records, adds runs and finishes them, and answers the ids of the runs in order', async () => {
    const claimed = await task.claimNew()
    const answer = ok(
      await table.tryBatch([
        addRun({ id: 'a', payload: { n: 1 } }),
        put('one'),
        finish(claimed, { result: { ok: true } }),
        addRun({ key: 'k', delaySeconds: 1_000 }),
        { op: 'delete', hashKey: 'none' },
      ]),
    )
    expect(Object.keys(answer)).toEqual(['count', 'runs'])
    expect(answer.count).toBe(5)
    const [a, done, keyed] = answer.runs
    expect([a, done]).toEqual(['a', claimed.id])
    expect(await task.read('a')).toMatchObject({ status: 'queued', payload: { n: 1 } })
    expect(await task.read(done)).toMatchObject({ status: 'succeeded', result: { ok: true } })
    expect(await task.read(keyed)).toMatchObject({ status: 'queued', key: 'k' })
    expect(ok(await table.get('one')).data).toEqual({ n: 1 })
    ok(await task.cancel('a'))
  })

  test('without runs answers as before, without `runs`', async () => {
    expect(ok(await table.tryBatch([put('plain')]))).toEqual({ count: 1 })
  })

  test('keeps the payload as it was sent', async () => {
    const payload = '{ "n":1.0, "data":{"payload":1} }'
    const operations = `[{"op":"run","task":"${task.name}","id":"text","runAt":0,"payload":${payload}}]`
    ok(await service.api.post(`${table.path}/batch`, `{"operations":${operations}}`))
    expect((await task.get('text')).text).toContain(`"payload":${payload},`)
    ok(await task.cancel('text'))
  })

  test('may fail an attempt, and merges into the queued run of a key', async () => {
    const claimed = await task.claimNew({ key: 'merge' })
    const queued = await task.run({ key: 'merge', delaySeconds: 1_000 })
    const { runs } = ok(
      await table.tryBatch([
        addRun({ key: 'merge', payload: { n: 2 } }),
        finish(claimed, { error: { message: 'no' }, retry: false }),
      ]),
    )
    expect(runs).toEqual([queued.id, claimed.id])
    expect(await task.read(claimed.id)).toMatchObject({ status: 'failed', error: { code: 'worker', message: 'no' } })
    const [next] = await task.claim()
    expect(next).toMatchObject({ id: queued.id, payload: { n: 2 } })
    await task.finish(next!)
  })

  test('repeats an id with the same payload, and refuses another payload', async () => {
    await task.run({ id: 'same', payload: { n: 1 }, delaySeconds: 1_000 })
    const again = addRun({ id: 'same', payload: { n: 1 } })
    expect(ok(await table.tryBatch([put('x'), again])).runs).toEqual(['same'])
    const other = addRun({ id: 'same', payload: { n: 2 } })
    refused(await table.tryBatch([put('not-there'), other]), 409, 'run_exists', 'operations[1].id')
    refused(await table.get('not-there'), 404, 'record_not_found')
  })

  test('is refused as a whole when a lease is lost or a finish was applied before', async () => {
    const claimed = await task.claimNew()
    const wrong = [put('lost'), addRun({ id: 'lost' }), finish({ ...claimed, lease: 'x' })]
    refused(await table.tryBatch(wrong), 409, 'lease_lost', 'operations[2].lease')
    ok(await table.tryBatch([put('counted'), finish(claimed)]))
    refused(await table.tryBatch([put('lost'), finish(claimed)]), 409, 'lease_lost', 'operations[1].lease')
    refused(await table.get('lost'), 404, 'record_not_found')
    refused(await task.get('lost'), 404, 'run_not_found')
    expect((await task.read(claimed.id)).status).toBe('succeeded')
  })

  test('is refused as a whole when the condition of a record does not hold: the run goes on', async () => {
    const claimed = await task.claimNew()
    await table.put('there')
    const batch = [finish(claimed), addRun({ id: 'cond' }), put('there', { ifUpdatedAt: null })]
    refused(await table.tryBatch(batch), 412, 'precondition_failed', 'operations[2].ifUpdatedAt')
    refused(await task.get('cond'), 404, 'run_not_found')
    expect((await task.read(claimed.id)).status).toBe('running')
    await task.finish(claimed)
  })

  test('names the operation in every error', async () => {
    const none = freshName('none')
    for (const [operation, status, code, field] of [
      [addRun({ payload: 1 }), 400, 'invalid_request', 'payload'],
      [addRun({ id: 'a b' }), 400, 'invalid_key', 'id'],
      [addRun({ key: '' }), 400, 'invalid_key', 'key'],
      [addRun({ hashKey: 'a' }), 400, 'invalid_request', 'hashKey'],
      [addRun({ task: 'Mail' }), 400, 'invalid_name', 'task'],
      [addRun({ task: undefined }), 400, 'invalid_name', 'task'],
      [addRun({ task: '_mail' }), 400, 'reserved_name', 'task'],
      [addRun({ task: none }), 404, 'task_not_found', 'task'],
      [finish({ id: 'a', lease: 'x' }, { task: none }), 404, 'task_not_found', 'task'],
      [finish({ id: 'none', lease: 'x' }), 404, 'run_not_found', 'run'],
      [finish({ id: 'a b', lease: 'x' }), 404, 'run_not_found', 'run'],
      [finish({ lease: 'x' }), 400, 'invalid_request', 'run'],
      [finish({ id: 'a' }), 400, 'invalid_request', 'lease'],
      [finish({ id: 'a', lease: 'x' }, { error: {} }), 400, 'invalid_request', 'error.message'],
      [finish({ id: 'a', lease: 'x' }, { retry: true }), 400, 'invalid_request', 'retry'],
      [{ op: 'claim' }, 400, 'invalid_request', 'op'],
    ] as [Json, number, string, string][]) {
      refused(await table.tryBatch([put('ok'), operation]), status, code, `operations[1].${field}`)
    }
    const wrongValue = put('x', { data: { status: [] } })
    refused(await table.tryBatch([addRun(), wrongValue]), 400, 'invalid_index_value', 'operations[1].data.status')
    const large = addRun({ payload: { a: 'a'.repeat(409_600) } })
    refused(await table.tryBatch([large]), 413, 'record_too_large', 'operations[0].payload')
  })

  test('refuses two operations about one run, or about one key of a task', async () => {
    const other = await makeTask(service.api)
    const [a, b] = [
      { id: 'dup', lease: 'x' },
      { id: 'dup2', lease: 'x' },
    ]
    const twice: Json[][] = [
      [addRun({ id: 'dup' }), addRun({ id: 'dup' })],
      [addRun({ key: 'dup' }), addRun({ key: 'dup' })],
      [addRun({ id: 'dup' }), finish(a)],
      [finish(a), addRun({ id: 'dup' })],
      [finish(a), finish(a)],
    ]
    for (const [first, second] of twice) {
      const answer = await table.tryBatch([first, put('between'), second])
      refused(answer, 400, 'batch_duplicate_keys', 'operations[2]')
    }
    refused(await table.tryBatch([put('same'), addRun(), put('same')]), 400, 'batch_duplicate_keys', 'operations[2]')
    refused(await table.tryBatch([finish(a), finish(b)]), 404, 'run_not_found', 'operations[0].run')
    const far = { delaySeconds: 1_000 }
    const fine = [
      addRun({ id: 'dup', ...far }),
      addRun({ key: 'dup', ...far }),
      addRun({ id: 'dup', task: other.name, ...far }),
      addRun({ key: 'dup', task: other.name, ...far }),
      addRun(far),
      addRun(far),
    ]
    expect(new Set(ok(await table.tryBatch(fine)).runs).size).toBe(5)
  })

  test('counts runs among its 25, and needs its table', async () => {
    const runs = (count: number): Json[] => Array.from({ length: count }, () => addRun({ delaySeconds: 1_000 }))
    expect(ok(await table.tryBatch([put('x'), ...runs(24)])).runs).toHaveLength(24)
    refused(await table.tryBatch([put('x'), ...runs(25)]), 400, 'batch_too_large', 'operations')
    refused(
      await service.api.post(`/v1/app/${freshName('none')}/batch`, { operations: runs(1) }),
      404,
      'table_not_found',
    )
    expect(ok(await table.tryBatch(runs(1)))).toMatchObject({ count: 1 })
  })

  test('concerns tasks of its own database and organization only', async () => {
    const elsewhere = await makeTask(service.api, {}, freshName('far'), 'otherdb')
    const run = addRun({ task: elsewhere.name })
    refused(await table.tryBatch([run]), 404, 'task_not_found', 'operations[0].task')
    const foreign = await makeTable(service.stranger)
    refused(await foreign.tryBatch([addRun()]), 404, 'task_not_found', 'operations[0].task')
    refused(await service.reader.post(`${table.path}/batch`, { operations: [addRun()] }), 403, 'read_only_key')
  })

  test('finishes a run of a deleted task, also if the name was declared anew; it adds none', async () => {
    const gone = await makeTask(service.api)
    const claimed = [
      await gone.claimNew({ id: 'x1' }),
      await gone.claimNew({ id: 'x2' }),
      await gone.claimNew({ id: 'x3' }),
    ]
    ok(await gone.api.delete(gone.path))
    const of = { task: gone.name }
    refused(await table.tryBatch([addRun(of)]), 404, 'task_not_found', 'operations[0].task')
    ok(await table.tryBatch([put('late'), finish(claimed[0], of)]))
    ok(await gone.tryBatch([finish(claimed[1], of)]))
    await gone.declare()
    await gone.run({ id: 'x3', delaySeconds: 1_000 })
    ok(await table.tryBatch([finish(claimed[2], of), addRun({ ...of, id: 'new' })]))
    refused(await gone.get('x1'), 404, 'run_not_found')
    expect((await gone.read('x3')).status).toBe('queued')
    expect((await gone.read('new')).status).toBe('queued')
  })

  test('finishes a run of a task whose name was deleted more than once', async () => {
    const gone = await makeTask(service.api)
    const claimed = await gone.claimNew({ id: 'y1' })
    for (let times = 0; times < 2; times++) {
      ok(await gone.api.delete(gone.path))
      await gone.declare()
    }
    ok(await gone.api.delete(gone.path))
    const of = { task: gone.name }
    ok(await table.tryBatch([put('later'), finish(claimed, of)]))
    refused(await table.tryBatch([put('later'), finish(claimed, of)]), 409, 'lease_lost', 'operations[1].lease')
  })

  test('wakes a waiting claim', async () => {
    const own = await makeTask(service.api)
    const longest = await longestWait(service.api)
    const waiting = own.claim({ waitSeconds: 20 })
    await Bun.sleep(150)
    ok(await table.tryBatch([put('wake'), addRun({ task: own.name })]))
    expect(await waiting).toHaveLength(1)
    expect(longest.isOver).toBe(false)
  })

  test('counts each run once, whatever is repeated', async () => {
    const own = await makeTask(service.api)
    ok(await own.tryBatch(Array.from({ length: 10 }, () => ({ op: 'run' }))))
    let counted = 0
    for (const claimed of await own.claim({ limit: 100 })) {
      const batch = [put('counter', { data: { n: counted + 1 } }), finish(claimed, { task: own.name })]
      const answers = await Promise.all([table.tryBatch(batch), table.tryBatch(batch), table.tryBatch(batch)])
      counted++
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    }
    expect(ok(await table.get('counter')).data).toEqual({ n: 10 })
  })
})

describe('a batch of a task', () => {
  test('is the same without records; operations may leave the task out or name another', async () => {
    const [own, other] = [await makeTask(service.api), await makeTask(service.api)]
    const claimed = await own.claimNew()
    const answer = ok(
      await own.tryBatch([
        { op: 'finish', run: claimed.id, lease: claimed.lease },
        { op: 'run', id: 'b' },
        { op: 'run', task: other.name, id: 'c' },
      ]),
    )
    expect(answer).toEqual({ count: 3, runs: [claimed.id, 'b', 'c'] })
    expect([(await own.read('b')).task, (await other.read('c')).task]).toEqual([own.name, other.name])
  })

  test('takes no records, needs its task, and names the operation in errors', async () => {
    const own = await makeTask(service.api)
    refused(await own.tryBatch([{ op: 'run' }, put('x')]), 400, 'invalid_request', 'operations[1].op')
    refused(await own.tryBatch([]), 400, 'invalid_request', 'operations')
    refused(await own.tryBatch(5), 400, 'invalid_request', 'operations')
    refused(await own.tryBatch([5]), 400, 'invalid_request', 'operations[0]')
    refused(await own.tryBatch(Array.from({ length: 26 }, () => ({ op: 'run' }))), 400, 'batch_too_large', 'operations')
    const same = [
      { op: 'run', id: 'a' },
      { op: 'run', id: 'a', task: own.name },
    ]
    refused(await own.tryBatch(same), 400, 'batch_duplicate_keys', 'operations[1]')
    const none = new TestTask(service.api, freshName('none'))
    refused(await none.tryBatch([{ op: 'run', task: own.name }]), 404, 'task_not_found')
    refused(await service.api.post(`${own.path}/batch`, { operation: [] }), 400, 'invalid_request', 'operation')
    expect(await own.ids()).toEqual([])
  })

  test('takes 12 MiB', async () => {
    const own = await makeTask(service.api)
    const payload = { a: 'a'.repeat(409_000) }
    const operations = Array.from({ length: 25 }, () => ({ op: 'run', payload }))
    expect(ok(await own.tryBatch(operations)).count).toBe(25)
    refused(await own.tryBatch([{ op: 'run', payload: { a: 'a'.repeat(12 << 20) } }]), 413, 'body_too_large')
  })
})
