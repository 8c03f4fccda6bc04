import { expect, test } from 'bun:test'
import { eventually, storeIsEmbedded } from '../harness.ts'
import { type ReadFamily, readMetrics, sumOf } from '../metrics/exposition-rules.ts'
import { growth, metricsOn, metricsUrl, scrape } from '../metrics/scraping.ts'
import { connectRaw, rawRequest } from '../raw-connection.ts'
import { Receiver } from '../tasks/receiver.ts'
import { makeBucket } from './bucket.ts'
import { ok, refused, useService } from './service.ts'
import { makeTask } from './task.ts'

// An operator decides by these numbers. Each test does something countable and compares.

const service = useService({ args: [...metricsOn, '--push-allow', '127.0.0.1/32'] })

/** The scrapes before and after the work. */
const around = async (work: () => Promise<unknown>): Promise<[ReadFamily[], ReadFamily[]]> => {
  const before = await scrape(service.server)
  await work()
  return [before, await scrape(service.server)]
}

const requests = 'cubby_http_requests_total'

test('requests are counted by operation and status, with their time and bytes', async () => {
  const table = await service.table()
  const body = JSON.stringify({ hashKey: 'k', data: { text: 'é'.repeat(10) } })
  let answered = 0
  const [before, after] = await around(async () => {
    for (let i = 0; i < 5; i++) answered += Buffer.byteLength((await service.api.put(table.path, body)).text)
    for (let i = 0; i < 7; i++) ok(await table.get('k'))
    await table.get('missing')
    await table.get('missing')
    ok(await service.api.request('HEAD', table.at('k')))
    await service.server.request('GET', table.at('k'))
    await service.server.request('GET', '/nowhere/at/all')
    await service.api.request('PATCH', table.at('k'), {})
    await service.server.request('GET', '/healthz')
  })
  const grew = (name: string, labels: Record<string, string>): number => growth(before, after, name, labels)
  expect(grew(requests, { operation: 'putRecord', code: '200' })).toBe(5)
  expect(grew(requests, { operation: 'getRecord', code: '200' })).toBe(8)
  expect(grew(requests, { operation: 'getRecord', code: '404' })).toBe(2)
  expect(grew(requests, { operation: 'getRecord', code: '401' })).toBe(1)
  expect(grew(requests, { operation: 'none', code: '404' })).toBe(1)
  expect(grew(requests, { operation: 'none', code: '405' })).toBe(1)
  expect(grew(requests, { operation: 'checkHealth', code: '200' })).toBe(1)
  expect(growth(before, after, requests)).toBe(19)
  const seconds = 'cubby_http_request_duration_seconds'
  expect(grew(`${seconds}_count`, { operation: 'putRecord' })).toBe(5)
  expect(grew(`${seconds}_bucket`, { operation: 'getRecord', le: '+Inf' })).toBe(11)
  expect(grew(`${seconds}_sum`, { operation: 'putRecord' })).toBeGreaterThan(0)
  expect(grew('cubby_http_received_bytes_total', { operation: 'putRecord' })).toBe(5 * Buffer.byteLength(body))
  expect(grew('cubby_http_sent_bytes_total', { operation: 'putRecord' })).toBe(answered)
})

test('requests that are repeated with an idempotency key are counted when they are answered again', async () => {
  const table = await service.table()
  const before = await scrape(service.server)
  for (const n of [1, 1, 1, 2]) await table.tryPut({ hashKey: 'a', data: { n } }, { 'idempotency-key': 'k' })
  expect(growth(before, await scrape(service.server), 'cubby_http_replays_total')).toBe(2)
})

// Servers and proxies that take different ones of two hosts would answer for another site, or read another request.
test('two Host headers are 400 on every path, and are counted', async () => {
  const table = await service.table()
  const bucket = await makeBucket(service.api)
  const own = `127.0.0.1:${service.server.port}`
  const requestsTo: [string, string][] = [
    ...(['/', '/healthz', '/docs', '/console', '/llms.txt', '/v1', table.path, table.at('k'), '/nowhere'].map(
      (path) => ['GET', path],
    ) as [string, string][]),
    ['PUT', table.path],
    ['POST', '/mcp'],
    ['GET', `/files/${bucket.created.id}/a`],
    ['PUT', `/files/${bucket.created.id}/a`],
    ['OPTIONS', '/v1'],
    ['PATCH', '/v1'],
  ]
  const hosts: [string, string][] = [
    [own, own],
    [own, 'evil.example'],
    ['evil.example', own],
    ['', own],
    [own, ''],
  ]
  const [before, after] = await around(async () => {
    for (const [method, path] of requestsTo) {
      for (const pair of hosts) {
        const headers = pair.map((host) => ['Host', host] as [string, string])
        const body = method === 'GET' || method === 'OPTIONS' ? {} : { body: '{}' }
        const answer = await service.api.raw(method, path, { headers, ...body })
        expect({ path, ...refused(answer, 400, 'invalid_request', 'Host') }).toMatchObject({ path })
      }
    }
  })
  const count = requestsTo.length * hosts.length
  expect(growth(before, after, requests, { operation: 'none', code: '400' })).toBe(count)
  ok(await service.api.raw('GET', '/v1', { headers: [['Host', 'any.example']] }))
})

test('an answer of many bytes, streamed in pieces, counts in full', async () => {
  const table = await service.table()
  for (let i = 0; i < 5; i++) await table.put('k', { text: 'x'.repeat(50_000) }, { rangeKey: `${i}` })
  let bytes = 0
  const [before, after] = await around(async () => {
    bytes = Buffer.byteLength((await table.tryQuery({ hash: 'k' })).text)
  })
  expect(bytes).toBeGreaterThan(250_000)
  expect(growth(before, after, 'cubby_http_sent_bytes_total', { operation: 'queryRecords' })).toBe(bytes)
})

test.skipIf(!storeIsEmbedded())('commits and their writes are counted, and nothing waits afterwards', async () => {
  const table = await service.table()
  const [before, after] = await around(() =>
    Promise.all(Array.from({ length: 40 }, (_, i) => table.put(`k${i}`, { i }))),
  )
  const writes = growth(before, after, 'cubby_commit_writes_sum')
  const commits = growth(before, after, 'cubby_commit_writes_count')
  // The use of the key and a sweep may be written meanwhile.
  expect(writes).toBeGreaterThanOrEqual(40)
  expect(writes).toBeLessThan(50)
  expect(commits).toBeGreaterThan(0)
  expect(commits).toBeLessThanOrEqual(writes)
  expect(growth(before, after, 'cubby_commit_duration_seconds_count')).toBe(commits)
  expect(growth(before, after, 'cubby_commit_duration_seconds_sum')).toBeGreaterThan(0)
  expect(sumOf(after, 'cubby_write_queue_requests')).toBe(0)
  expect(sumOf(after, 'cubby_write_queue_bytes')).toBe(0)
})

test('the store, the disk, the pool and the process have the values of the moment', async () => {
  // A value that cannot be read within a second is left out.
  const families = await eventually('the size of the store', async () => {
    const found = await scrape(service.server)
    return sumOf(found, 'cubby_store_bytes') === undefined ? undefined : found
  })
  const value = (name: string, labels = {}): number | undefined => sumOf(families, name, labels)
  expect(value('cubby_store_bytes')).toBeGreaterThan(10_000)
  for (const sweep of ['records', 'tables', 'files']) expect(value('cubby_sweep_lag_seconds', { sweep })).toBe(0)
  expect(value('cubby_processes')).toBe(1)
  expect(value('cubby_processes_answered')).toBe(1)
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect(Math.abs(value('process_start_time_seconds')! - Date.now() / 1000)).toBeLessThan(600)
  expect(value('cubby_event_loop_delay_seconds_count')).toBeGreaterThan(0)
  expect(value('cubby_build_info')).toBe(1)
  if (storeIsEmbedded()) {
    for (const name of ['cubby_wal_bytes', 'cubby_disk_bytes', 'cubby_disk_free_bytes']) {
      expect([name, value(name)]).toEqual([name, expect.any(Number)])
      expect(value(name)).toBeGreaterThan(0)
    }
    expect(value('cubby_store_free_bytes')).toBeGreaterThanOrEqual(0)
    expect(value('cubby_postgres_connections')).toBeUndefined()
  } else {
    expect(value('cubby_postgres_connections_max')).toBe(8)
    expect(value('cubby_postgres_connections', { state: 'idle' })).toBeGreaterThan(0)
    expect(value('cubby_postgres_waiting_requests')).toBe(0)
    expect(value('cubby_wal_bytes')).toBeUndefined()
  }
})

const runs = 'cubby_task_runs_total'

test('runs are counted by outcome, once each, also in batches', async () => {
  const task = await makeTask(service.api, { attempts: 2, backoffSeconds: 1 })
  const [before, after] = await around(async () => {
    const done = await task.claimNew({ payload: { n: 1 }, id: 'done' })
    await task.finish(done)
    // A repeated finish and a repeated run change nothing.
    await task.finish(done)
    ok(await task.tryRun({ payload: { n: 1 }, id: 'done' }))
    const retried = await task.claimNew({})
    await task.fail(retried, { retryAfter: 3_600 })
    const failed = await task.claimNew({})
    await task.fail(failed, { retry: false })
    const { id } = await task.run({ delaySeconds: 3_600 })
    ok(await task.cancel(id))
    ok(await task.cancel(id))
    const batched = await task.claimNew({})
    const operations = [
      { op: 'finish', run: batched.id, lease: batched.lease },
      { op: 'run', payload: {}, delaySeconds: 3_600 },
    ]
    ok(await task.tryBatch(operations))
    // Its lease is over: nothing happens.
    expect((await task.tryBatch(operations)).status).toBe(409)
  })
  const outcomes = ['added', 'started', 'succeeded', 'retried', 'failed', 'cancelled', 'expired']
  expect(outcomes.map((outcome) => [outcome, growth(before, after, runs, { outcome })])).toEqual([
    ['added', 6],
    ['started', 4],
    ['succeeded', 2],
    ['retried', 1],
    ['failed', 1],
    ['cancelled', 1],
    ['expired', 0],
  ])
})

test('runs that follow writes are counted as added, those aside that were merged or whose write was not applied', async () => {
  const table = await service.table()
  const on = { table: table.name }
  const [all, deletes] = [
    await makeTask(service.api, { on }),
    await makeTask(service.api, { on: { ...on, ops: ['delete'] } }),
  ]
  const put = (hashKey: string) => ({ op: 'put', hashKey, data: {} })
  const added = async (work: () => Promise<unknown>): Promise<number> => {
    const [before, after] = await around(work)
    return growth(before, after, runs, { outcome: 'added' })
  }
  expect(await added(() => table.put('a'))).toBe(1)
  // Its run waits still.
  expect(await added(() => table.put('a'))).toBe(0)
  expect(await added(() => table.batch([put('a'), put('b'), put('c')]))).toBe(2)
  expect(await added(() => table.delete('a'))).toBe(1)
  const lines = ['c', 'd', 'e', 'f'].map((hashKey) => JSON.stringify({ hashKey, data: {} })).join('\n')
  expect(await added(async () => ok(await service.api.raw('POST', `${table.path}/load`, { body: lines })))).toBe(3)
  const [claimed] = await all.claim()
  expect(await added(() => table.put(claimed.payload.hashKey))).toBe(1)
  // The last operation is refused after the others were written.
  const refusals = [
    [put('g'), put('h'), { op: 'check', hashKey: 'b', ifUpdatedAt: null }],
    [put('i'), { op: 'patch', hashKey: 'b', increment: { '/n': { by: 1, max: 0 } } }],
  ]
  for (const operations of refusals) {
    expect(await added(async () => refused(await table.tryBatch(operations), 412, 'precondition_failed'))).toBe(0)
  }
  expect(await added(async () => ok(await table.delete('nothing')))).toBe(0)
  const finish = { op: 'finish', task: all.name, run: claimed.id, lease: 'wrong' }
  const operations = [{ table: table.name, ...put('j') }, finish]
  expect(
    await added(async () => refused(await service.api.post('/v1/app/_batch', { operations }), 409, 'lease_lost')),
  ).toBe(0)
  // The first table was written when the second one refuses.
  const other = await service.table()
  const parts = [
    { table: table.name, ...put('l') },
    { table: other.name, op: 'check', hashKey: 'none', ifUpdatedAt: 1 },
  ]
  const refusedLate = async () =>
    refused(await service.api.post('/v1/app/_batch', { operations: parts }), 412, 'precondition_failed')
  expect(await added(refusedLate)).toBe(0)
  const mixed = [
    { table: table.name, ...put('k') },
    { op: 'run', task: deletes.name },
  ]
  expect(await added(async () => ok(await service.api.post('/v1/app/_batch', { operations: mixed })))).toBe(2)
})

test('a lease that ends is counted as expired', async () => {
  const task = await makeTask(service.api, { leaseSeconds: 1, attempts: 5 })
  const before = await scrape(service.server)
  await task.claimNew({})
  for (let found = 0; found < 1; ) {
    found = growth(before, await scrape(service.server), runs, { outcome: 'expired' })
    await Bun.sleep(100)
  }
  expect(growth(before, await scrape(service.server), runs, { outcome: 'expired' })).toBe(1)
})

test('pushes are counted by outcome, and answers that are too long', async () => {
  const receiver = new Receiver()
  try {
    receiver.answer = ({ body }) =>
      new Response(body.long ? 'x'.repeat(65_537) : '{}', { status: body.fails ? 500 : 200 })
    const task = await makeTask(service.api, { url: receiver.url(), attempts: 1 })
    const before = await scrape(service.server)
    const payloads = [{}, { fails: true }, { long: true }]
    const added = await Promise.all(payloads.map((payload) => task.run({ payload })))
    for (const { id } of added) {
      while (['queued', 'running'].includes((await task.read(id)).status)) await Bun.sleep(50)
    }
    // A run may be read as finished before its push is counted.
    const after = await eventually('no push in flight', async () => {
      const found = await scrape(service.server)
      return sumOf(found, 'cubby_task_pushes_in_flight') === 0 ? found : undefined
    })
    const pushes = (outcome: string): number => growth(before, after, 'cubby_task_pushes_total', { outcome })
    expect([pushes('succeeded'), pushes('failed'), pushes('error')]).toEqual([2, 1, 0])
    const cuts = (part: string): number => growth(before, after, 'cubby_task_push_answers_cut_total', { part })
    expect([cuts('interim'), cuts('head'), cuts('body')]).toEqual([0, 0, 1])
    expect(growth(before, after, runs, { outcome: 'succeeded' })).toBe(2)
    expect(growth(before, after, runs, { outcome: 'failed' })).toBe(1)
  } finally {
    receiver.stop()
  }
})

test('uploads count as in flight while their bytes arrive, small or large', async () => {
  const bucket = await makeBucket(service.api)
  const inFlight = async () => sumOf(await scrape(service.server), 'cubby_file_uploads_in_flight')
  for (const bytes of [10, 1_000_000]) {
    const connection = await connectRaw(service.server.port, 90_000)
    const headers: [string, string][] = [['Content-Length', String(bytes)]]
    connection.send(rawRequest(service.server, 'PUT', bucket.at('a.bin'), { key: service.api.key, headers }))
    connection.send('abc')
    await eventually('it is in flight', async () => (await inFlight()) === 1 || undefined)
    connection.send('x'.repeat(bytes - 3))
    expect((await connection.answer()).status).toBe(200)
    expect(await inFlight()).toBe(0)
    connection.close()
  }
})

test('bytes of files are counted as they are written and read', async () => {
  const bucket = await makeBucket(service.api)
  const [before, after] = await around(async () => {
    await bucket.put('a.bin', new Uint8Array(70_000))
    await bucket.put('b.bin', new Uint8Array(30_000), { chunked: true })
    await bucket.read('a.bin')
  })
  const bytes = (direction: string): number => growth(before, after, 'cubby_file_bytes_total', { direction })
  expect([bytes('written'), bytes('read')]).toEqual([100_000, 70_000])
  expect(sumOf(after, 'cubby_file_uploads_in_flight')).toBe(0)
  expect(growth(before, after, 'cubby_http_received_bytes_total', { operation: 'putFile' })).toBe(100_000)
  expect(growth(before, after, 'cubby_http_sent_bytes_total', { operation: 'getFile' })).toBe(70_000)
})

test('OpenMetrics, if the scraper asks for it, with the same metrics', async () => {
  const [plain, open] = await Promise.all(
    ['text/plain', 'application/openmetrics-text;version=1.0.0'].map((accept) =>
      fetch(metricsUrl(service.server), { headers: { accept } }),
    ),
  )
  expect(plain!.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(open!.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  const names = (families: ReadFamily[]): string[] => families.map(({ name }) => name.replace(/_(total|info)$/, ''))
  const [inPlain, inOpen] = [readMetrics(await plain!.text()), readMetrics(await open!.text(), 'openmetrics')]
  expect(names(inOpen)).toEqual(names(inPlain))
})

test('no label has a name, key, path or id of a tenant', async () => {
  const secret = 'tenantchosenname'
  const table = await service.table()
  await service.api.post(`/v1/${secret}/${secret}`)
  await table.put(secret, { secret })
  await table.get(secret)
  await service.server.request('GET', `/${secret}/${secret}`)
  await service.server.request('GET', `/v1/${secret}/${secret}?${secret}=1`, { headers: { 'x-request-id': secret } })
  await makeTask(service.api, {}, secret)
  const families = await scrape(service.server)
  const { org } = service
  const labels = families.flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.entries(labels)))
  const text = JSON.stringify(labels)
  for (const word of [secret, table.name, org.name, org.secretKey.slice(-8), '/v1', '/']) {
    expect({ word, isThere: text.includes(word) }).toEqual({ word, isThere: false })
  }
  const known = [
    ...['operation', 'code', 'le', 'state', 'sweep', 'outcome', 'part', 'direction', 'reason'],
    ...['version', 'bun', 'engine'],
  ]
  expect([...new Set(labels.map(([name]) => name))].filter((name) => !known.includes(name))).toEqual([])
})
