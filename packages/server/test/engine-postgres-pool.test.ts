import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeApiKey } from '../src/core/api-keys/api-key.ts'
import { connectionQueueRequestsMax } from '../src/core/limits.ts'
import { parseQuery } from '../src/core/records/query.ts'
import { organization } from '../src/engines/postgres/connection/database.ts'
import { type BoundStatement, Session } from '../src/engines/postgres/connection/driver.ts'
import { Pool } from '../src/engines/postgres/connection/pool.ts'
import { parseStoreUrl } from '../src/engines/postgres/connection/store-url.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { findRecord } from '../src/operations/records/get-record.ts'
import { queryRecords } from '../src/operations/records/query-records.ts'
import type { ApiKey } from '../src/store/api-keys.ts'
import { expectRefusal, makeFixture, putOf, startMs } from './conformance/fixture.ts'
import { eventually } from './harness.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { loginServices, taskServices } from './task-services.ts'

// Connections end at a bad moment. A waiting caller gets another connection, or an error at once. A forgotten caller would
// wait until its time is up.

let server: PostgresServer
const pools: Pool[] = []

beforeAll(async () => {
  server = await startPostgres({ auth: 'password' })
}, 120_000)

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close(0)))
  await server.remove()
}, 120_000)

/** A pool of one connection; the first `broken` of them end as soon as they are made. */
const openPool = (broken: number, waitMsMax = 10_000) => {
  const url = parseStoreUrl(server.url())
  const causes: unknown[] = []
  let made = 0
  const connect = async (): Promise<Session> => {
    const session = await Session.connect(url, 5_000)
    if (++made <= broken) session.destroy()
    return session
  }
  const pool = new Pool({ size: 1, waitMsMax, connect, log: (_, __, fields) => causes.push(fields?.cause) })
  pools.push(pool)
  return { pool, causes, made: () => made }
}

const one: BoundStatement = { statement: { name: 'one', text: 'select 1' }, values: [] }
const oneOn = (session: Session) => session.send([one], 5_000).then(([result]) => result!.rows[0]![0])

test('one that ended as it was made is made again for those that wait', async () => {
  // A caller that waits until the end is refused.
  const { pool, made } = openPool(1)
  expect(
    await Promise.all([
      pool.run(organization(1), oneOn),
      pool.run(organization(2), oneOn),
      pool.run(organization(1), oneOn),
    ]),
  ).toEqual(['1', '1', '1'])
  expect(made()).toBe(2)
})

test('if that one ended too, they are refused at once, and served later', async () => {
  const waitMsMax = 40_000
  const { pool, made } = openPool(2, waitMsMax)
  const began = performance.now()
  await Promise.all([1, 2].map((orgId) => expectRefusal(pool.run(organization(orgId), oneOn), 'unavailable')))
  // They are refused before the end of their wait, which refuses them too.
  expect(performance.now() - began).toBeLessThan(waitMsMax)
  expect(made()).toBe(2)
  await eventually('they are served', () => pool.run(organization(1), oneOn).catch(() => undefined))
})

test('one that broke under a call is nobody else’s', async () => {
  const { pool, causes, made } = openPool(0)
  const kill: BoundStatement = {
    statement: { name: 'kill', text: 'select pg_terminate_backend(pg_backend_pid())' },
    values: [],
  }
  const killed = pool
    .run(organization(1), (session) => session.send([kill], 5_000))
    .then(
      () => 'answered',
      (error: Error) => error.message,
    )
  const next = pool.run(organization(1), oneOn)
  expect(await killed).toContain('terminating connection')
  expect(await next).toBe('1')
  expect(made()).toBe(2)
  expect(causes).toEqual([await killed])
})

// A few that ask for more than there is must not keep everybody else out: what is refused for ever is an outage.
describe('with every connection taken', () => {
  type Outcome = 'served' | 'refused'

  /** A pool of one connection that somebody has until `open` is called. Who is served, in order. */
  const openTaken = async (waitMsMax = 25_000) => {
    const { pool } = openPool(0, waitMsMax)
    const gate = Promise.withResolvers<void>()
    const taken = Promise.withResolvers<void>()
    const holding = pool.run({ orgId: 999_999, keySeq: 1 }, async () => {
      taken.resolve()
      await gate.promise
    })
    await taken.promise
    const served: string[] = []
    const ask = (orgId: number, keySeq: number): Promise<Outcome> =>
      pool
        .run({ orgId, keySeq }, async () => void served.push(`${orgId}/${keySeq}`))
        .then(
          (): Outcome => 'served',
          (): Outcome => 'refused',
        )
    /** Asks `count` times; the answers come when the gate is open. */
    const flood = (orgId: number, keySeq: number, count: number) =>
      Promise.all(Array.from({ length: count }, () => ask(orgId, keySeq)))
    const open = () => {
      gate.resolve()
      return holding
    }
    return { ask, flood, open, served }
  }

  const count = (outcomes: Outcome[]) => outcomes.filter((outcome) => outcome === 'served').length

  test('organizations that ask for all there is leave room for the next, however many they are', async () => {
    for (const organizations of [2, 3, 50]) {
      const { ask, flood, open, served } = await openTaken()
      const floods = Array.from({ length: organizations }, (_, i) => flood(i + 1, i + 1, connectionQueueRequestsMax))
      const victim = ask(5_000, 5_000)
      await open()
      expect(await victim).toBe('served')
      // Each of the others had one turn before it.
      expect(served.indexOf('5000/5000')).toBe(organizations)
      const got = (await Promise.all(floods)).map(count)
      expect(Math.min(...got)).toBeGreaterThan(0)
      expect(Math.max(...got)).toBeLessThanOrEqual(connectionQueueRequestsMax / 4)
    }
  }, 120_000)

  test('an API key that asks for all there is leaves room and turns for another of its organization', async () => {
    const { ask, flood, open, served } = await openTaken()
    const other = flood(1, 1, connectionQueueRequestsMax)
    const victim = ask(1, 2)
    await open()
    expect(await victim).toBe('served')
    expect(served.indexOf('1/2')).toBe(1)
    expect(count(await other)).toBe(connectionQueueRequestsMax / 4)
  })

  test('who waited too long is refused, and leaves its room to the next', async () => {
    const { flood, open } = await openTaken(300)
    for (let round = 0; round < 2; round++) {
      const began = performance.now()
      expect(count(await flood(1, 1, connectionQueueRequestsMax))).toBe(0)
      expect(performance.now() - began).toBeGreaterThan(250)
    }
    const admitted = flood(1, 1, connectionQueueRequestsMax)
    await open()
    expect(count(await admitted)).toBe(connectionQueueRequestsMax / 4)
  })

  type Kind = 'writes' | 'gets' | 'pages'
  test.each<Kind>(['writes', 'gets', 'pages'])(
    '%s wait by the API key that sent them',
    async (kind) => {
      const url = await server.createDatabase()
      // A long lease, and the table and the secrets looked up before: nothing is asked of the registry meanwhile.
      const engine = await openPostgresEngine({ url, poolSize: 1, waitMsMax: 25_000, leaseMs: 60_000 })
      const address = { db: 'app', table: 'orders' }
      const locker = await Session.connect(parseStoreUrl(url), 5_000)
      try {
        const { tenant, table, put } = await makeFixture(engine)
        const { text, kept } = makeApiKey({ kind: 'public', name: 'in every browser' })
        await engine.apiKeys.create(tenant.caller, kept, startMs)
        const other = (await engine.apiKeys.find(text))!
        await engine.tables.find(tenant.org.id, address.db, address.table)
        await engine.secrets.at(startMs)
        await put('locked')
        await locker.run('begin; select 1 from cubby_record_8 for update')
        const blocked = put('locked')
        const ask = (apiKey: ApiKey, i: number): Promise<unknown> => {
          // With a condition: such puts do not go together.
          const write = putOf(table, `k${i}`, { condition: 'absent' })
          if (kind === 'writes') return engine.records.write({ orgId: apiKey.orgId, apiKey }, table, [write], startMs)
          const access = { engine, apiKey, blobStore: undefined, tasks: taskServices(engine), logins: loginServices }
          const found =
            kind === 'pages'
              ? queryRecords(access, { ...address, query: parseQuery({ index: 't', limit: 1 }) }, startMs)
              : findRecord(access, { ...address, ...write }, startMs)
          return Promise.resolve(found)
        }
        let served = 0
        const flood = Array.from({ length: connectionQueueRequestsMax }, (_, i) =>
          ask(other, i).then(
            () => void served++,
            () => {},
          ),
        )
        const victim = ask(tenant.apiKey, -1).then(() => served)
        await locker.run('rollback')
        await blocked
        // Gets go eight at a time.
        expect(await victim).toBeLessThan(20)
        await Promise.all(flood)
        expect(served).toBe(connectionQueueRequestsMax / 4)
      } finally {
        await locker.close()
        await engine.close()
      }
    },
    120_000,
  )
})
