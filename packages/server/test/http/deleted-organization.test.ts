import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Api,
  type ApiResponse,
  eventually,
  type Json,
  type Organization,
  type Server,
  startServer,
} from '../harness.ts'
import type { RawConnection } from '../raw-connection.ts'
import { Receiver } from '../tasks/receiver.ts'
import { makeBucket, type TestBucket } from './bucket.ts'
import { createKey, makeTable, ok, refused, type TestTable } from './service.ts'

// `cubby orgs delete` beside a running server, as its users and its callers see it. Without these promises a tenant whose
// contract has ended would still be served, or one that was deleted by mistake would be lost.

setDefaultTimeout(120_000)

const dayMs = 24 * 60 * 60 * 1000

let server: Server
let receiver: Receiver
beforeAll(async () => {
  receiver = new Receiver()
  server = await startServer({ clock: true, args: ['--push-allow', '127.0.0.1/32', '--no-small-files-in-store'] })
})
beforeEach(() => server.setClock(0))
afterAll(async () => {
  await server.stop()
  receiver.stop()
})

const deleteOrg = async ({ name }: Organization): Promise<Json> =>
  server.cubbyJson('orgs', 'delete', name, '--confirm', name)
const restoreOrg = async ({ name }: Organization): Promise<Json> => server.cubbyJson('orgs', 'restore', name)

interface Tenant {
  org: Organization
  api: Api
  table: TestTable
  bucket: TestBucket
}

const makeTenant = async (): Promise<Tenant> => {
  const org = await server.createOrganization()
  const api = server.as(org.secretKey)
  const table = await makeTable(api)
  await table.put('a', { n: 1 })
  return { org, api, table, bucket: await makeBucket(api) }
}

/** Requests a URL without a key. */
const fetchUrl = async (url: string, method = 'GET', body?: string): Promise<[number, string]> => {
  const answer = await fetch(new URL(url, server.url), { method, ...(body === undefined ? {} : { body }) })
  const text = await answer.text()
  return [answer.status, answer.ok ? text : JSON.parse(text).error.code]
}

test('its keys are unknown when the command ends, and work again when it is restored; a revoked one stays revoked', async () => {
  const [{ org, api, table }, other] = [await makeTenant(), await makeTenant()]
  const revoked = await createKey(api, { kind: 'secret' })
  ok(await api.delete(`/api/keys/${revoked.id}`))
  const keys = [org.secretKey, org.publicKey]
  for (const key of keys) ok(await server.as(key).get(table.at('a')))
  expect(await deleteOrg(org)).toMatchObject({ name: org.name, status: 'deleted' })
  for (const key of [...keys, revoked.key]) {
    refused(await server.as(key).get(table.at('a')), 401, 'invalid_api_key')
    refused(await server.as(key).post('/v1/app/new'), 401, 'invalid_api_key')
  }
  ok(await other.table.get('a'))

  expect(await restoreOrg(org)).toMatchObject({ name: org.name, status: 'active' })
  for (const key of keys) expect(ok(await server.as(key).get(table.at('a'))).data).toEqual({ n: 1 })
  refused(await server.as(revoked.key).get(table.at('a')), 403, 'revoked_api_key')
})

test('the URLs of its files lead nowhere: public, private and signed, to read and to write', async () => {
  const { org, bucket } = await makeTenant()
  const open = await bucket.put('open.txt', 'open', { query: { visibility: 'public' } })
  await bucket.put('hidden.txt', 'hidden')
  const sign = async (request: Json): Promise<string> => ok(await bucket.api.post(`${bucket.path}/url`, request)).url
  const signed = await sign({ name: 'hidden.txt' })
  const upload = await sign({ name: 'new.txt', method: 'PUT' })
  expect(await fetchUrl(open.url)).toEqual([200, 'open'])
  expect(await fetchUrl(signed)).toEqual([200, 'hidden'])
  await deleteOrg(org)
  const urls = [open.url, `${open.url}?v=${open.updatedAt}`, signed.split('?')[0]!, signed]
  for (const url of urls) expect([url, await fetchUrl(url)]).toEqual([url, [404, 'file_not_found']])
  expect(await fetchUrl(upload, 'PUT', 'late')).toEqual([404, 'file_not_found'])
  await restoreOrg(org)
  expect(await fetchUrl(open.url)).toEqual([200, 'open'])
  expect(await fetchUrl(signed)).toEqual([200, 'hidden'])
  refused(await bucket.record('new.txt'), 404, 'file_not_found')
})

describe('what was in flight', () => {
  /** Sends all but the end of the body; `finish` sends the rest and returns the answer. */
  const begin = async (method: string, path: string, key: string, body: string, headers: Json = {}) => {
    const connection: RawConnection = await server.connect()
    const head = {
      Host: `127.0.0.1:${server.port}`,
      Authorization: `Bearer ${key}`,
      'Content-Length': Buffer.byteLength(body),
      ...headers,
    }
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`)
    connection.send(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body.slice(0, -1)}`)
    return async (): Promise<ApiResponse> => {
      connection.send(body.slice(-1))
      try {
        return await connection.answer()
      } finally {
        connection.close()
      }
    }
  }

  test('is refused, and nothing of it is written: a put, a batch, uploads, a tool call, a run', async () => {
    const { org, api, table, bucket } = await makeTenant()
    ok(await api.put('/v1/app/_tasks/mail', {}), 201)
    const json = { 'Content-Type': 'application/json' }
    const put = { hashKey: 'late', data: {} }
    const call = { name: 'put_records', arguments: { db: 'app', table: table.name, records: [put] } }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const requests: [string, string, string, Json][] = [
      ['PUT', table.path, JSON.stringify(put), json],
      ['POST', `${table.path}/batch`, JSON.stringify({ operations: [{ op: 'put', ...put }] }), json],
      ['PUT', bucket.at('small.txt'), 'small', {}],
      ['PUT', bucket.at('large.bin'), 'x'.repeat(100_000), {}],
      ['POST', '/mcp', JSON.stringify(message), { ...json, Accept: 'application/json, text/event-stream' }],
      ['POST', '/v1/app/_tasks/mail/run', '{"id":"late"}', json],
      ['POST', '/v1/app/late', '{"indices":{}}', json],
      ['POST', '/api/keys', '{"kind":"secret"}', json],
    ]
    const pending = await Promise.all(
      requests.map(([method, path, body, headers]) => begin(method, path, org.secretKey, body, headers)),
    )
    // The server has read the heads: each of them was let in.
    await Bun.sleep(300)
    await deleteOrg(org)
    for (const [i, finish] of pending.entries()) {
      const { status, body } = await finish()
      expect([requests[i]!.slice(0, 2), status, body?.error?.code]).toEqual([
        requests[i]!.slice(0, 2),
        401,
        'invalid_api_key',
      ])
    }
    await restoreOrg(org)
    expect(ok(await api.post(`${table.path}/query`, { index: 't', select: 'keys' })).items).toHaveLength(1)
    for (const name of ['small.txt', 'large.bin']) refused(await bucket.record(name), 404, 'file_not_found')
    refused(await api.get('/v1/app/_tasks/mail/runs/late'), 404, 'run_not_found')
    expect(ok(await api.get('/api/keys')).keys).toHaveLength(2)
  })

  test('waits end without a run: a claim, and the wait for a run', async () => {
    const { org, api } = await makeTenant()
    for (const task of ['empty', 'full']) ok(await api.put(`/v1/app/_tasks/${task}`, {}), 201)
    const { id } = ok(await api.post('/v1/app/_tasks/full/run', { delaySeconds: 600 }), 201)
    const waits = [
      api.post('/v1/app/_tasks/empty/claim', { waitSeconds: 20 }),
      // It becomes due while the claim waits, and the organization is deleted.
      api.post('/v1/app/_tasks/full/claim', { waitSeconds: 20 }),
      api.get(`/v1/app/_tasks/full/runs/${id}?waitSeconds=20`),
    ]
    await Bun.sleep(200)
    await deleteOrg(org)
    server.setClock(601_000)
    for (const answer of await Promise.all(waits)) refused(answer, 401, 'invalid_api_key')
    server.setClock(0)
    await restoreOrg(org)
    expect(ok(await api.get(`/v1/app/_tasks/full/runs/${id}`))).toMatchObject({ status: 'queued', attempt: 0 })
  })

  test('waits do not last until their own time is over: its waits, nor those for a task that is deleted', async () => {
    const [{ org, api }, other] = [await makeTenant(), await makeTenant()]
    for (const one of [api, other.api]) ok(await one.put('/v1/app/_tasks/empty', {}), 201)
    const { id } = ok(await api.post('/v1/app/_tasks/empty/run', { delaySeconds: 60 }), 201)
    const ended: string[] = []
    const noted = async (name: string, wait: Promise<ApiResponse>): Promise<ApiResponse> => {
      const answer = await wait
      ended.push(name)
      return answer
    }
    // As long as ours: if ours lasted until their end, it would end with them.
    const theirs = noted('theirs', other.api.post('/v1/app/_tasks/empty/claim', { waitSeconds: 20 }))
    const ours = [
      noted('ours', api.post('/v1/app/_tasks/empty/claim', { waitSeconds: 20 })),
      noted('ours', api.get(`/v1/app/_tasks/empty/runs/${id}?waitSeconds=20`)),
    ]
    await Bun.sleep(200)
    await deleteOrg(org)
    for (const answer of await Promise.all(ours)) refused(answer, 401, 'invalid_api_key')
    expect(ended).toEqual(['ours', 'ours'])
    ok(await other.api.delete('/v1/app/_tasks/empty'))
    refused(await theirs, 404, 'task_not_found')
  })
})

test('its tasks stop: nothing is pushed or scheduled, and the outcome of a push in flight is not written', async () => {
  const [{ org, api }, other] = [await makeTenant(), await makeTenant()]
  const release = Promise.withResolvers<void>()
  receiver.answer = async ({ task }) => {
    if (task === 'slow') await release.promise
    return new Response('{"late":true}')
  }
  // Its lease outlasts every move of the clock.
  ok(await api.put('/v1/app/_tasks/slow', { url: receiver.url(), concurrency: 1, leaseSeconds: 300 }), 201)
  ok(await other.api.put('/v1/app/_tasks/quick', { url: receiver.url() }), 201)
  const [first, second] = [
    ok(await api.post('/v1/app/_tasks/slow/run', {}), 201),
    ok(await api.post('/v1/app/_tasks/slow/run', {}), 201),
  ]
  // The other organization has the same schedule: when that has fired, the scheduler has looked.
  const schedule = { every: 60 }
  const declared = ok(await api.put('/v1/app/_tasks/tick', { schedule }), 201)
  ok(await other.api.put('/v1/app/_tasks/tick', { schedule }), 201)
  const ticks = async (by = api): Promise<Json[]> => ok(await by.post('/v1/app/_tasks/tick/query', {})).items
  const untilTicks = (by: Api, count: number): Promise<Json[]> =>
    eventually(`${count} ticks`, async () => {
      const found = await ticks(by)
      return found.length === count ? found : undefined
    })
  const tickAt = (n: number): void => server.setClock(declared.schedule.nextRunAt + n * 60_000 + 1_000 - Date.now())
  tickAt(0)
  await eventually('the first push', () => (receiver.of('slow').length === 1 ? true : undefined))
  for (const by of [api, other.api]) {
    const [tick] = await untilTicks(by, 1)
    ok(await by.post(`/v1/app/_tasks/tick/runs/${tick!.id}/cancel`))
  }
  await deleteOrg(org)
  release.resolve()
  tickAt(1)
  await untilTicks(other.api, 2)
  // It is tried several times. Only then it is sure that none of them comes after the restore.
  await eventually('the outcome is given up', () => server.log.find(({ run }) => run === first.id))
  // The push of another organization comes after those that were due before it.
  ok(await other.api.post('/v1/app/_tasks/quick/run', {}), 201)
  await receiver.until('quick', 1)
  expect(receiver.of('slow')).toHaveLength(1)
  await restoreOrg(org)
  expect(await ticks()).toHaveLength(1)
  const states = await Promise.all([first, second].map(({ id }) => api.get(`/v1/app/_tasks/slow/runs/${id}`)))
  expect(states.map(({ body }) => [body.status, body.result])).toEqual([
    ['running', null],
    ['queued', null],
  ])
  tickAt(2)
  await untilTicks(api, 2)
  server.setClock(0)
})

test('seven days later a sweep removes everything of it, and nothing else; then the name is free', async () => {
  const files = join(server.dataDir, 'files')
  const blobs = (): string[] =>
    existsSync(files)
      ? readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((name) => /\/[0-9a-f]{32}$/.test(name))
      : []
  const other = await makeTenant()
  await other.bucket.put('kept.bin', 'y'.repeat(100_000), { chunked: true })
  const bytesBefore = blobs()
  const { org, api, bucket } = await makeTenant()
  await bucket.put('small.txt', 'small')
  await bucket.put('large.bin', 'x'.repeat(100_000), { chunked: true })
  expect(blobs().length).toBeGreaterThanOrEqual(bytesBefore.length + 2)
  ok(await api.put('/v1/app/_tasks/mail', {}), 201)
  ok(await api.post('/v1/app/_tasks/mail/run', {}), 201)
  await deleteOrg(org)
  const listed = async (): Promise<Json | undefined> =>
    (await server.cubbyJson('orgs', 'list')).organizations.find(({ name }: Json) => name === org.name)
  server.setClock(7 * dayMs)
  expect((await server.cubby('orgs', 'restore', org.name)).stderr).toContain('could be restored until')
  expect((await server.cubby('orgs', 'create', org.name)).exitCode).toBe(1)
  expect(await listed()).toMatchObject({ status: 'deleted' })

  server.setClock(7 * dayMs + 6 * 60_000)
  await eventually('the organization is purged', async () => ((await listed()) === undefined ? true : undefined), {
    waitMsMax: 30_000,
    pauseMs: 300,
  })
  refused(await api.get('/v1'), 401, 'invalid_api_key')
  expect((await server.cubby('orgs', 'restore', org.name)).stderr).toContain('there is no organization')
  server.setClock(7 * dayMs + 75 * 60_000)
  await eventually('its bytes are gone', () => (blobs().length <= bytesBefore.length ? true : undefined), {
    waitMsMax: 30_000,
    pauseMs: 300,
  })
  expect(blobs().sort()).toEqual(bytesBefore.sort())
  server.setClock(0)
  expect(await fetchUrl(ok(await other.api.post(`${other.bucket.path}/url`, { name: 'kept.bin' })).url)).toEqual([
    200,
    'y'.repeat(100_000),
  ])
  ok(await other.table.get('a'))
  const anew = await server.createOrganization(org.name)
  expect(anew.id).not.toBe(org.id)
  expect(ok(await server.as(anew.secretKey).get('/v1')).databases).toEqual([])
  expect(await server.cubby('verify', '--files', files)).toMatchObject({ exitCode: 0 })
})
