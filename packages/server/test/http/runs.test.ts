import { describe, expect, test } from 'bun:test'
import { createKey, freshName, makeTable, ok, refused, useService } from './service.ts'
import { makeTask, TestTask } from './task.ts'

const service = useService()
const near = (time: number): boolean => Math.abs(time - Date.now()) < 60_000

describe('run', () => {
  test('answers 201 with the run, its fields as documented and null where there is nothing', async () => {
    const task = await makeTask(service.api)
    const run = await task.run()
    expect(Object.keys(run)).toEqual([
      ...['id', 'task', 'status', 'payload', 'key', 'user', 'runAt', 'attempt', 'progress', 'result', 'error'],
      ...['createdAt', 'updatedAt', 'finishedAt'],
    ])
    expect(run).toMatchObject({ task: task.name, status: 'queued', payload: {}, key: null, attempt: 0 })
    expect(run).toMatchObject({ progress: null, result: null, error: null, finishedAt: null })
    expect(run.id).toMatch(/^run_[0-9A-Za-z]{22}$/)
    expect([near(run.createdAt), run.updatedAt, run.runAt]).toEqual([true, run.createdAt, run.createdAt])
  })

  test('takes an empty body, and keeps the payload as it was sent', async () => {
    const task = await makeTask(service.api)
    ok(await task.tryRun(undefined), 201)
    const payload = '{ "n":1.0, "big" : 12345678901234567890,"n":[ 1E5 ], "s":"\\u00e4\\/" }'
    const created = await task.api.raw('POST', `${task.path}/run`, { body: `{"id":"text","payload":${payload}}` })
    expect(created.status).toBe(201)
    expect(created.text).toContain(`"payload":${payload},"key":null`)
    expect((await task.get('text')).text).toContain(`"payload":${payload},"key":null`)
    expect((await task.tryQuery()).text).toContain(`"payload":${payload},"key":null`)
  })

  test('takes a time, also a past one, or a delay', async () => {
    const task = await makeTask(service.api)
    expect((await task.run({ runAt: 5 })).runAt).toBe(5)
    expect((await task.run({ runAt: '1969-12-31T23:59:59.000Z' })).runAt).toBe(-1_000)
    expect((await task.run({ runAt: '9999-12-31T23:59:59Z' })).runAt).toBe(253_402_300_799_000)
    const { createdAt, runAt } = await task.run({ delaySeconds: 31_536_000 })
    expect(runAt - createdAt).toBe(31_536_000_000)
  })

  test('refuses what is malformed, by its field', async () => {
    const task = await makeTask(service.api)
    for (const [body, code, field] of [
      [{ id: 'a b' }, 'invalid_key', 'id'],
      [{ key: '' }, 'invalid_key', 'key'],
      [{ id: 'a', key: 'a' }, 'invalid_request', 'key'],
      [{ payload: [] }, 'invalid_request', 'payload'],
      [{ runAt: 1, delaySeconds: 1 }, 'invalid_request', 'delaySeconds'],
      [{ dealy: 1 }, 'invalid_request', 'dealy'],
    ] as const) {
      refused(await task.tryRun(body), 400, code, field)
    }
    refused(await task.tryRun({ payload: { a: 'a'.repeat(409_600) } }), 413, 'record_too_large', 'payload')
    refused(await task.tryRun(`{"payload":{"a":"${'a'.repeat(1 << 20)}"}}`), 413, 'body_too_large')
    refused(await task.api.post(`${task.path}/run?id=a`, {}), 400, 'invalid_request', 'id')
    refused(await task.api.post(`${task.path}/run`, {}, { 'if-match': '*' }), 400, 'invalid_request', 'If-Match')
  })
})

describe('the same id', () => {
  test('with the same payload text is the same run, whatever its runAt and status', async () => {
    const task = await makeTask(service.api)
    const first = await task.run({ id: 'a', payload: { n: 1 } })
    const same = { id: 'a', payload: { n: 1 } }
    expect(ok(await task.tryRun(same))).toEqual(first)
    expect(ok(await task.tryRun({ ...same, delaySeconds: 500 }))).toEqual(first)
    const [claimed] = await task.claim()
    const done = await task.finish(claimed)
    expect(ok(await task.tryRun(same))).toEqual(done)
  })

  test('with another payload is refused, also if only the text differs', async () => {
    const task = await makeTask(service.api)
    await task.run({ id: 'a', payload: { n: 1 } })
    refused(await task.tryRun({ id: 'a', payload: { n: 2 } }), 409, 'run_exists', 'id')
    refused(await task.tryRun('{"id":"a","payload":{"n":1.0}}'), 409, 'run_exists', 'id')
    refused(await task.tryRun({ id: 'a' }), 409, 'run_exists', 'id')
  })

  test('in another task is another run', async () => {
    const [one, other] = [await makeTask(service.api), await makeTask(service.api)]
    await one.run({ id: 'a', payload: { n: 1 } })
    expect((await other.run({ id: 'a', payload: { n: 2 } })).payload).toEqual({ n: 2 })
  })
})

describe('a key', () => {
  test('has at most one queued run: a request replaces its payload, and the earlier time counts', async () => {
    const task = await makeTask(service.api)
    const first = await task.run({ key: 'k', payload: { n: 1 }, delaySeconds: 100 })
    const later = ok(await task.tryRun({ key: 'k', payload: { n: 2 }, delaySeconds: 200 }))
    expect(later).toEqual({ ...first, payload: { n: 2 }, updatedAt: later.updatedAt })
    expect(later.updatedAt).toBeGreaterThan(first.updatedAt)
    const sooner = ok(await task.tryRun({ key: 'k', payload: { n: 3 } }))
    expect(sooner.id).toBe(first.id)
    expect(sooner.runAt).toBeLessThan(first.runAt)
    expect(await task.ids()).toEqual([first.id])
  })

  test('has at most one running run: a new one waits behind it and starts after it', async () => {
    const task = await makeTask(service.api)
    const running = await task.claimNew({ key: 'k', payload: { n: 1 } })
    const behind = await task.run({ key: 'k', payload: { n: 2 } })
    expect(behind.id).not.toBe(running.id)
    expect(await task.claim({ limit: 10 })).toEqual([])
    await task.finish(running)
    const [next] = await task.claim({ limit: 10 })
    expect([next.id, next.payload]).toEqual([behind.id, { n: 2 }])
  })

  test('keeps its backoff: a request after a failed attempt changes only the payload', async () => {
    const task = await makeTask(service.api, { backoffSeconds: 600 })
    const failed = await task.fail(await task.claimNew({ key: 'k' }))
    expect(failed).toMatchObject({ status: 'queued', attempt: 1 })
    const again = ok(await task.tryRun({ key: 'k', payload: { n: 2 } }))
    expect(again).toMatchObject({ id: failed.id, runAt: failed.runAt, attempt: 1, payload: { n: 2 } })
  })

  test('of which another run is queued is not repeated: cancelled, its error kept', async () => {
    const task = await makeTask(service.api, { attempts: 2 })
    const running = await task.claimNew({ key: 'k' })
    await task.run({ key: 'k', delaySeconds: 500 })
    expect(await task.fail(running)).toMatchObject({ status: 'cancelled', error: { code: 'worker', message: 'no' } })
  })

  test('may be any string under the rule of hashKey', async () => {
    const task = await makeTask(service.api)
    for (const key of ['a/b', 'a\0b', 'ä'.repeat(512), '😀']) expect((await task.run({ key })).key).toBe(key)
  })
})

describe('get', () => {
  test('has an ETag, and 304 for a copy that is current', async () => {
    const task = await makeTask(service.api)
    const run = await task.run({ id: 'a' })
    const answer = await task.get('a')
    expect(ok(answer)).toEqual(run)
    expect(answer.headers.get('etag')).toBe(`"${run.updatedAt}"`)
    const current = await task.api.get(task.at('a'), { 'if-none-match': `W/"5", "${run.updatedAt}"` })
    expect([current.status, current.text, current.headers.get('etag')]).toEqual([304, '', `"${run.updatedAt}"`])
    await task.claim()
    expect((await task.api.get(task.at('a'), { 'if-none-match': `"${run.updatedAt}"` })).status).toBe(200)
    refused(await task.api.get(task.at('a'), { 'if-match': '*' }), 400, 'invalid_request', 'If-Match')
    expect((await task.api.request('HEAD', task.at('a'))).status).toBe(200)
  })

  test('of a run that does not exist, or whose id is malformed, is run_not_found; of a task, task_not_found', async () => {
    const task = await makeTask(service.api)
    for (const id of ['none', 'a b', 'ä', 'x'.repeat(129), '%', 'a/b'])
      refused(await task.get(id), 404, 'run_not_found')
    for (const target of ['%zz', '%ff', '..', '%2e%2e']) {
      const answer = await task.api.raw('GET', `${task.path}/runs/${target}`)
      refused(answer, 404, 'run_not_found')
    }
    for (const verb of ['extend', 'finish']) {
      refused(await task.api.post(task.at('a b', verb), { lease: 'x' }), 404, 'run_not_found')
    }
    for (const verb of ['cancel', 'retry']) refused(await task.api.post(task.at('a b', verb)), 404, 'run_not_found')
    refused(await new TestTask(service.api, freshName('none')).get('a b'), 404, 'task_not_found')
    await task.run({ id: 'a' })
    expect(ok(await task.api.raw('GET', `${task.path}/runs/%61`)).id).toBe('a')
  })

  test('refuses a wait that is not 0 to 20 seconds, and parameters that it does not know', async () => {
    const task = await makeTask(service.api)
    await task.run({ id: 'a' })
    for (const wait of ['21', '-1', '1.5', 'x', '']) {
      refused(await task.get('a', `?waitSeconds=${wait}`), 400, 'invalid_request', 'waitSeconds')
    }
    refused(await task.get('a', '?wait=5'), 400, 'invalid_request', 'wait')
    ok(await task.get('a', '?waitSeconds=0'))
  })
})

describe('a public key', () => {
  test('reads runs without payload, key and user', async () => {
    const task = await makeTask(service.api)
    const { payload: _, key: __, user: ___, ...run } = await task.run({ key: 'secret', payload: { token: 'secret' } })
    expect(ok(await service.reader.get(task.at(run.id)))).toEqual(run)
    const page = await service.reader.post(`${task.path}/query`, {})
    expect(ok(page)).toEqual({ items: [run], count: 1, cursor: null })
    expect(page.text).not.toContain('secret')
    expect(ok(await service.reader.post(`${task.path}/query`, { select: 'count' })).count).toBe(1)
  })

  test('may do nothing else', async () => {
    const task = await makeTask(service.api)
    const { id, lease } = await task.claimNew()
    const reader = new TestTask(service.reader, task.name)
    for (const answer of [
      await reader.tryRun({}),
      await reader.tryClaim(),
      await reader.extend({ id, lease }),
      await reader.tryFinish({ id, lease }),
      await reader.cancel(id),
      await reader.retry(id),
      await reader.tryBatch([{ op: 'run' }]),
    ]) {
      refused(answer, 403, 'read_only_key')
    }
    expect((await task.read(id)).status).toBe('running')
  })
})

describe('cancel', () => {
  test('is final from that moment: nothing of the attempt is accepted any more', async () => {
    const task = await makeTask(service.api)
    const claimed = await task.claimNew()
    const cancelled = ok(await task.cancel(claimed.id))
    expect(cancelled).toMatchObject({ status: 'cancelled', attempt: 1, error: null })
    expect(near(cancelled.finishedAt)).toBe(true)
    refused(await task.tryFinish(claimed), 409, 'lease_lost', 'lease')
    refused(await task.extend(claimed), 409, 'lease_lost', 'lease')
    expect(await task.read(claimed.id)).toEqual(cancelled)
    expect(ok(await task.cancel(claimed.id))).toEqual(cancelled)
  })

  test('of a queued run keeps it from being handed out, and takes {} as a body', async () => {
    const task = await makeTask(service.api)
    const { id } = await task.run()
    ok(await task.api.post(task.at(id, 'cancel'), {}))
    expect(await task.claim()).toEqual([])
    refused(await task.api.post(task.at(id, 'cancel'), { why: 'x' }), 400, 'invalid_request', 'why')
  })

  test('of a run that has succeeded or failed is run_finished', async () => {
    const task = await makeTask(service.api)
    const succeeded = await task.finish(await task.claimNew())
    refused(await task.cancel(succeeded.id), 409, 'run_finished')
    const failed = await task.fail(await task.claimNew(), { retry: false })
    refused(await task.cancel(failed.id), 409, 'run_finished')
    refused(await task.cancel('none'), 404, 'run_not_found')
  })

  test('of a running run lets the next of its key start', async () => {
    const task = await makeTask(service.api)
    const running = await task.claimNew({ key: 'k' })
    const behind = await task.run({ key: 'k' })
    ok(await task.cancel(running.id))
    expect((await task.claim()).map(({ id }) => id)).toEqual([behind.id])
  })
})

describe('retry', () => {
  test('queues a finished run again, with all attempts and without what it left', async () => {
    const task = await makeTask(service.api, { attempts: 2 })
    const first = await task.run({ payload: { n: 1 } })
    const [claimed] = await task.claim()
    ok(await task.extend(claimed, { progress: { n: 1 } }))
    await task.fail(claimed, { retry: false })
    const again = ok(await task.retry(first.id))
    expect(again).toEqual({ ...first, runAt: again.runAt, updatedAt: again.updatedAt })
    expect(near(again.runAt)).toBe(true)
    expect(await task.fail((await task.claim())[0], { retryAfter: 0 })).toMatchObject({ status: 'queued', attempt: 1 })
  })

  test('works after a success and after a cancel', async () => {
    const task = await makeTask(service.api)
    const { id } = await task.finish(await task.claimNew(), { result: { n: 1 } })
    expect(ok(await task.retry(id))).toMatchObject({ status: 'queued', result: null, finishedAt: null, attempt: 0 })
    ok(await task.cancel(id))
    expect(ok(await task.retry(id)).status).toBe('queued')
  })

  test('of a run that has not finished, or of whose key another is queued, is run_exists', async () => {
    const task = await makeTask(service.api)
    const { id } = await task.run({ key: 'k' })
    expect(refused(await task.retry(id), 409, 'run_exists').message).toContain('is queued; only a finished run')
    const [claimed] = await task.claim()
    expect(refused(await task.retry(id), 409, 'run_exists').message).toContain('is running; only a finished run')
    await task.finish(claimed)
    await task.run({ key: 'k' })
    expect(refused(await task.retry(id), 409, 'run_exists').message).toContain('same key is queued')
    refused(await task.retry('none'), 404, 'run_not_found')
  })

  test('of a run whose key is running waits behind it', async () => {
    const task = await makeTask(service.api)
    const first = await task.finish(await task.claimNew({ key: 'k' }))
    const second = await task.claimNew({ key: 'k' })
    ok(await task.retry(first.id))
    expect(await task.claim()).toEqual([])
    await task.finish(second)
    expect((await task.claim()).map(({ id }) => id)).toEqual([first.id])
  })
})

describe('other callers', () => {
  test('of another organization find neither the task nor the run', async () => {
    const task = await makeTask(service.api)
    const { id } = await task.run()
    const stranger = new TestTask(service.stranger, task.name)
    refused(await stranger.get(id), 404, 'task_not_found')
    refused(await stranger.tryRun(), 404, 'task_not_found')
    await stranger.declare()
    refused(await stranger.get(id), 404, 'run_not_found')
    expect(await stranger.ids()).toEqual([])
    refused(await stranger.cancel(id), 404, 'run_not_found')
  })

  test('limited to other databases get key_scope', async () => {
    const task = await makeTask(service.api)
    const { key } = await createKey(service.api, { kind: 'secret', databases: ['other'] })
    refused(await new TestTask(service.server.as(key), task.name).tryRun(), 403, 'key_scope')
  })
})

test('a task, a table and a bucket of one name do not clash', async () => {
  const task = await makeTask(service.api)
  await makeTable(service.api, undefined, task.name)
  ok(await service.api.post(`/v1/app/_buckets/${task.name}`), 201)
  expect((await task.run()).task).toBe(task.name)
})

test('unknown paths below a task are route_not_found, and other methods 405', async () => {
  const task = await makeTask(service.api)
  refused(await task.api.post(`${task.path}/runs/a/b/c`), 404, 'route_not_found')
  refused(await task.api.post(`${task.path}/nothing`), 404, 'route_not_found')
  refused(await task.api.get(`${task.path}/runs`), 404, 'route_not_found')
  refused(await task.api.get(`${task.path}/claim`), 405, 'method_not_allowed')
  refused(await task.api.post(task.at('a')), 405, 'method_not_allowed')
})

test('bodies: 1 MiB for a declaration, a run and a finish, 12 MiB for a batch, 64 KiB for the rest', async () => {
  const task = await makeTask(service.api)
  await task.run({ id: 'a' })
  const [kib, mib] = [1_024, 1_048_576]
  for (const [method, path, body, bytesMax, status] of [
    ['PUT', task.path, '{}', mib, 200],
    ['POST', `${task.path}/run`, '{}', mib, 201],
    ['POST', task.at('a', 'finish'), '{"lease":"x"}', mib, 409],
    ['POST', `${task.path}/batch`, '{"operations":[{"op":"run"}]}', 12 * mib, 200],
    ['POST', task.at('a', 'extend'), '{"lease":"x"}', 64 * kib, 409],
    ['POST', task.at('a', 'cancel'), '{}', 64 * kib, 200],
    ['POST', task.at('a', 'retry'), '{}', 64 * kib, 200],
    ['POST', `${task.path}/query`, '{}', 64 * kib, 200],
    ['POST', `${task.path}/claim`, '{}', 64 * kib, 200],
    ['POST', `${task.path}/secret`, '{}', 64 * kib, 200],
    ['POST', `${task.path}/restore`, '{}', 64 * kib, 200],
  ] as const) {
    expect([path, (await task.api.request(method, path, body.padEnd(bytesMax))).status]).toEqual([path, status])
    refused(await task.api.request(method, path, body.padEnd(bytesMax + 1)), 413, 'body_too_large')
  }
})
