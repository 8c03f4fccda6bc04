import { describe, expect, test } from 'bun:test'
import { ObservedResponse } from '../../src/http/observe.ts'
import { logResponses, traceIdOf } from '../../src/http/request-log.ts'
import { eventually, type Json, type Server } from '../harness.ts'
import { makeBucket } from './bucket.ts'
import { ok, useService } from './service.ts'
import { makeTask } from './task.ts'

/** The line of the request with this id. */
const lineOf = (server: Server, id: string): Promise<Json> =>
  eventually(`the line of ${id}`, () => server.log.find(({ requestId }) => requestId === id), { waitMsMax: 30_000 })

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

// An operator who looks for the cause of a complaint has a time, a tenant or a trace. A line without them cannot be found.
describe('--log requests', () => {
  const service = useService({ args: ['--log', 'requests', '--log-slow', '150'] })

  const keyIdOf = async (): Promise<string> => ok(await service.api.get('/api/keys/self')).id

  test('a line has organization, key id, operation, status, bytes in and out, time and trace id', async () => {
    const table = await service.table()
    const body = JSON.stringify({ hashKey: 'a', data: { text: 'é' } })
    const answer = await service.api.put(table.path, body, { 'x-request-id': 'the-put', traceparent })
    const { time, ms, level, message, ...line } = await lineOf(service.server, 'the-put')
    // A machine that stands still makes any request slow.
    expect([level, message]).toEqual(ms >= 150 ? ['warn', 'slow request'] : ['info', 'request'])
    expect(line).toEqual({
      ...{ requestId: 'the-put', method: 'PUT', path: table.path },
      ...{ operation: 'putRecord', organization: service.org.name, keyId: await keyIdOf(), status: 200 },
      ...{ bytesIn: Buffer.byteLength(body), bytesOut: Buffer.byteLength(answer.text), trace_id: traceId },
    })
    expect(ms).toBeGreaterThan(0)
    expect(Date.parse(time)).toBeGreaterThan(0)
  })

  test('an error has its code; a caller that is not known has no organization; a path without a route no operation', async () => {
    const table = await service.table()
    const send = async (id: string, method: string, path: string, key?: string): Promise<Json> => {
      await service.server.request(method, path, { key, headers: { 'x-request-id': id } })
      return lineOf(service.server, id)
    }
    const { org } = service
    const missing = await send('missing', 'GET', table.at('none'), org.publicKey)
    expect(missing).toMatchObject({ status: 404, code: 'record_not_found', organization: org.name, bytesIn: 0 })
    const withoutKey = await send('keyless', 'GET', table.at('none'))
    expect(withoutKey).toMatchObject({ operation: 'getRecord', status: 401, code: 'missing_api_key' })
    expect(Object.keys(withoutKey)).not.toContain('organization')
    const forbidden = await send('forbidden', 'POST', table.path, org.publicKey)
    expect(forbidden).toMatchObject({ operation: 'createTable', status: 403, code: 'read_only_key' })
    const lost = await send('lost', 'GET', '/no/such/path')
    expect(lost).toMatchObject({ path: '/no/such/path', status: 404, code: 'route_not_found' })
    expect(Object.keys(lost)).not.toContain('operation')
    const good = await send('good', 'GET', '/healthz')
    expect(good).toMatchObject({ operation: 'checkHealth', status: 200 })
    for (const absent of ['code', 'trace_id', 'organization', 'waitedMs'])
      expect(Object.keys(good)).not.toContain(absent)
  })

  test('bytes of uploads, downloads and large pages; the answer to HEAD has none', async () => {
    const bucket = await makeBucket(service.api)
    const headers = (id: string) => ({ 'x-request-id': id })
    await bucket.put('f', new Uint8Array(5_000), { headers: headers('up'), chunked: true })
    expect(await lineOf(service.server, 'up')).toMatchObject({ operation: 'putFile', bytesIn: 5_000 })
    const get = await fetch(service.server.url + bucket.at('f'), {
      headers: { authorization: `Bearer ${service.org.secretKey}`, 'x-request-id': 'down', range: 'bytes=0-99' },
    })
    expect((await get.bytes()).length).toBe(100)
    expect(await lineOf(service.server, 'down')).toMatchObject({ status: 206, bytesOut: 100 })
    await service.api.request('HEAD', bucket.at('f'), undefined, headers('head'))
    expect(await lineOf(service.server, 'head')).toMatchObject({ method: 'HEAD', bytesOut: 0 })
  })

  test('a wait for a run is told apart', async () => {
    const task = await makeTask(service.api)
    await service.api.post(`${task.path}/claim`, { waitSeconds: 1 }, { 'x-request-id': 'waiter' })
    const { ms, waitedMs } = await lineOf(service.server, 'waiter')
    expect(waitedMs).toBeGreaterThan(500)
    expect(ms).toBeGreaterThanOrEqual(waitedMs)
  })

  test('with --log-slow a request that took so long is a warning, and has one line', async () => {
    const table = await service.table()
    // The body takes its time: the request is not answered before it is there.
    const connection = await service.server.connect()
    const body = JSON.stringify({ hashKey: 'b', data: {} })
    const head = [`PUT ${table.path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${service.org.secretKey}`]
    const more = ['X-Request-Id: slow', 'Content-Type: application/json', `Content-Length: ${body.length}`]
    connection.send(`${[...head, ...more].join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
    await Bun.sleep(200)
    connection.send(body.slice(5))
    expect((await connection.answer()).status).toBe(200)
    connection.close()
    const { name: organization } = service.org
    await lineOf(service.server, 'slow')
    const lines = service.server.log.filter(({ requestId }) => requestId === 'slow')
    expect(lines).toMatchObject([{ level: 'warn', message: 'slow request', operation: 'putRecord', organization }])
  })
})

test('--log-slow alone: only requests that took so long have a line; a wait that the caller asked for does not count', async () => {
  const lines: unknown[] = []
  const organizations = {
    findById: async (id: number) => ({ id, name: `org-${id}`, createdAtMs: 0, deletedAtMs: null }),
  }
  const log = (level: string, message: string, { requestId, organization, ms }: Json = {}) =>
    void lines.push([level, message, requestId, organization, ms])
  const observe = logResponses({ log, organizations, logRequests: false, logSlowMs: 700 })!
  for (const [requestId, ms, waitedMs] of [
    ['fast', 699.9, 0],
    ['slow', 700, 0],
    ['waited', 5_000, 4_900],
  ] as const) {
    const answered = new ObservedResponse()
    answered.matched = { path: undefined, operationOf: () => 'getRecord' }
    answered.request = new Request('http://x/p')
    answered.exchange = { identity: { orgId: 7, keyId: 'key_a' }, receivedBytes: 0, waitedMs }
    answered.end(new Response(null, { headers: { 'x-request-id': requestId } }))
    answered.ms = ms
    observe(answered)
  }
  await eventually('the line', () => lines.length > 0 || undefined)
  expect(lines).toEqual([['warn', 'slow request', 'slow', 'org-7', 700]])
  expect(logResponses({ log, organizations, logRequests: false, logSlowMs: undefined })).toBeUndefined()
})

test('the trace id of a traceparent, by W3C Trace Context', () => {
  for (const [header, found] of [
    [null, undefined],
    [traceparent, traceId],
    [` ${traceparent} `, traceId],
    [`cc-${traceId}-00f067aa0ba902b7-01-what-the-future-will-be-like`, traceId],
    [`cc-${traceId}-00f067aa0ba902b7-01`, traceId],
    [`00-${traceId}-00f067aa0ba902b7-01-more`, undefined],
    [`cc-${traceId}-00f067aa0ba902b7-01.more`, undefined],
    [`ff-${traceId}-00f067aa0ba902b7-01`, undefined],
    [`00-${traceId.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
    [`00-${traceId}-00f067aa0ba902b7`, undefined],
    [`00-${traceId.slice(1)}-00f067aa0ba902b7-01`, undefined],
    ['"}, forged', undefined],
  ] as const) {
    expect([header, traceIdOf(header)]).toEqual([header, found])
  }
})
