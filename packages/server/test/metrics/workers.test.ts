import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { type Api, eventually, type Server, socketsOf, startServer, storeIsEmbedded } from '../harness.ts'
import { connectRaw, rawRequest } from '../raw-connection.ts'
import { sumOf } from './exposition-rules.ts'
import { growth, metricsOn, scrape, scrapeAll } from './scraping.ts'

// Several processes, one scrape. Without these promises a rate would depend on which process answered, and every worker that
// ends would look like a restart of the whole server.

setDefaultTimeout(60_000)

const workersOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

describe.skipIf(process.platform !== 'linux')('--workers 2 with --metrics', () => {
  let server: Server
  let api: Api
  beforeAll(async () => {
    server = await startServer({ args: ['--workers', '2', ...metricsOn] })
    api = server.as((await server.createOrganization()).secretKey)
    expect((await api.post('/v1/app/notes')).status).toBe(201)
  })
  afterAll(async () => {
    await server.stop()
  })

  /** Gets over so many connections; how many processes have some of them. */
  const spread = async (count: number): Promise<number> => {
    const workers = workersOf(server.pid)
    const socketsBefore = workers.map(socketsOf)
    const connections = await Promise.all(Array.from({ length: count }, () => connectRaw(server.port)))
    await Promise.all(
      connections.map((connection) => {
        connection.send(rawRequest(server, 'GET', '/v1/app/notes/none', { key: api.key }))
        return connection.answer()
      }),
    )
    const served = workers.filter((worker, i) => socketsOf(worker) > socketsBefore[i]!)
    for (const connection of connections) connection.close()
    return served.length
  }

  const labels = { operation: 'getRecord', code: '404' }
  const requests = 'cubby_http_requests_total'

  test('one scrape is the sum of all, whoever served', async () => {
    const before = await scrapeAll(server)
    expect(sumOf(before, 'cubby_processes')).toBe(3)
    expect(await spread(24)).toBe(2)
    for (let i = 0; i < 10; i++) await api.put('/v1/app/notes', { hashKey: `k${i}`, data: {} })
    const after = await scrapeAll(server)
    expect(growth(before, after, requests, labels)).toBe(24)
    expect(growth(before, after, requests, { operation: 'putRecord', code: '200' })).toBe(10)
    // Only the owner commits on the embedded engine; every process has connections to PostgreSQL.
    if (storeIsEmbedded()) expect(growth(before, after, 'cubby_commit_writes_sum')).toBeGreaterThanOrEqual(10)
    else expect(sumOf(after, 'cubby_postgres_connections_max')).toBe(3 * 8)
  })

  test('a run that follows a write is counted once, whichever worker wrote', async () => {
    await api.post('/v1/app/followed')
    await api.put('/v1/app/_tasks/index', { on: { table: 'followed' } })
    const before = await scrapeAll(server)
    for (let i = 0; i < 24; i++) {
      // Each on a connection of its own; each record twice, and the second run is merged.
      const body = JSON.stringify({ hashKey: `k${i >> 1}`, data: {} })
      expect((await api.raw('PUT', '/v1/app/followed', { body })).status).toBe(200)
    }
    expect(growth(before, await scrapeAll(server), 'cubby_task_runs_total', { outcome: 'added' })).toBe(12)
  })

  test('a worker that hangs does not hang the scrape, and takes nothing away', async () => {
    const before = await scrapeAll(server)
    const [hung] = workersOf(server.pid)
    process.kill(hung!, 'SIGSTOP')
    try {
      for (let i = 0; i < 2; i++) {
        // The other two may be late too, on a machine that stands still.
        const now = await eventually('a scrape that two have answered', async () => {
          const families = await scrape(server)
          expect(sumOf(families, requests, labels)).toBe(sumOf(before, requests, labels)!)
          return sumOf(families, 'cubby_processes_answered') === 2 ? families : undefined
        })
        expect(sumOf(now, 'cubby_processes')).toBe(3)
      }
    } finally {
      process.kill(hung!, 'SIGCONT')
    }
    expect(sumOf(await scrapeAll(server), requests, labels)).toBe(sumOf(before, requests, labels)!)
  })

  test('a worker that ends takes nothing away, and its successor is added', async () => {
    const before = await scrapeAll(server)
    const known = sumOf(before, requests, labels)!
    const cpu = sumOf(before, 'process_cpu_seconds_total')!
    const [victim] = workersOf(server.pid)
    process.kill(victim!, 'SIGKILL')
    // This holds at every moment until it is replaced, and after that.
    await eventually(
      'three processes again',
      async () => {
        const now = await scrape(server)
        expect(sumOf(now, requests, labels)).toBeGreaterThanOrEqual(known)
        expect(sumOf(now, 'process_cpu_seconds_total')).toBeGreaterThanOrEqual(cpu)
        return sumOf(now, 'cubby_processes_answered') === 3 && !workersOf(server.pid).includes(victim!)
          ? now
          : undefined
      },
      { waitMsMax: 30_000 },
    )
    await spread(24)
    expect(sumOf(await scrapeAll(server), requests, labels)).toBe(known + 24)
  })
})
