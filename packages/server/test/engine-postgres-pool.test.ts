import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Session, type Step } from '../src/engines/postgres/driver.ts'
import { Pool } from '../src/engines/postgres/pool.ts'
import { parseStoreUrl } from '../src/engines/postgres/store-url.ts'
import { expectRefusal } from './conformance/material.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// When connections end at a bad moment. Whoever waits for one is served by another, or told so at once: were it
// forgotten, it would wait until its time is up.

let server: PostgresServer
const pools: Pool[] = []

beforeAll(async () => {
  server = await startPostgres({ auth: 'password' })
}, 60_000)

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close(0)))
  await server.remove()
}, 60_000)

/** A pool of one connection; the first `broken` of them end as soon as they are made. */
const openPool = (broken: number) => {
  const url = parseStoreUrl(server.url())
  const causes: unknown[] = []
  let made = 0
  const connect = async (): Promise<Session> => {
    const session = await Session.connect(url, 5_000)
    if (++made <= broken) session.destroy()
    return session
  }
  const pool = new Pool({ size: 1, waitMsMax: 10_000, connect, log: (_, __, fields) => causes.push(fields?.cause) })
  pools.push(pool)
  return { pool, causes, made: () => made }
}

const one: Step = { statement: { name: 'one', text: 'select 1' }, values: [] }
const oneOn = (session: Session) => session.send([one], 5_000).then(([result]) => result!.rows[0]![0])

test('one that ended as it was made is made again for those that wait', async () => {
  const { pool, made } = openPool(1)
  const began = performance.now()
  expect(await Promise.all([pool.run(1, oneOn), pool.run(2, oneOn), pool.run(1, oneOn)])).toEqual(['1', '1', '1'])
  expect(made()).toBe(2)
  expect(performance.now() - began).toBeLessThan(5_000)
})

test('if that one ended too, they are refused at once, and served later', async () => {
  const { pool, made } = openPool(2)
  const began = performance.now()
  await Promise.all([1, 2].map((orgId) => expectRefusal(pool.run(orgId, oneOn), 'unavailable')))
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(made()).toBe(2)
  await Bun.sleep(250)
  expect(await pool.run(1, oneOn)).toBe('1')
})

test('one that broke under a call is nobody else’s', async () => {
  const { pool, causes, made } = openPool(0)
  const kill: Step = { statement: { name: 'kill', text: 'select pg_terminate_backend(pg_backend_pid())' }, values: [] }
  const killed = pool
    .run(1, (session) => session.send([kill], 5_000))
    .then(
      () => 'answered',
      (error: Error) => error.message,
    )
  const next = pool.run(1, oneOn)
  expect(await killed).toContain('terminating connection')
  expect(await next).toBe('1')
  expect(made()).toBe(2)
  expect(causes).toEqual([await killed])
})
