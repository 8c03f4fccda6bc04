import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { detectDialect, type ServerFacts } from '../src/engines/postgres/dialect.ts'
import { runCubby } from './harness.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

setDefaultTimeout(120_000)

const facts = (own: Partial<ServerFacts>): ServerFacts => ({
  version: 'PostgreSQL 18.4 on aarch64-unknown-linux-gnu',
  number: '18.4',
  numeric: 180_004,
  encoding: 'UTF8',
  fsync: 'on',
  citus: undefined,
  ...own,
})

describe('the engine behind the protocol is found, not configured', () => {
  test('PostgreSQL from version 15 on', () => {
    expect(detectDialect(facts({}), 1).description).toBe('postgres 18.4')
    expect(detectDialect(facts({ number: '15.0 (Debian 15.0-1)', numeric: 150_000 }), 1).description).toBe(
      'postgres 15.0',
    )
    expect(() => detectDialect(facts({ number: '14.19', numeric: 140_019 }), 1)).toThrow(
      'the server is PostgreSQL 14.19; the oldest supported version is 15',
    )
  })

  test('Citus by its extension: records by table, the registry on the coordinator, plans made with the values', () => {
    const citus = detectDialect(facts({ citus: '13.2-1' }), 1)
    expect(citus.description).toBe('citus 13.2-1 on postgres 18.4')
    expect(citus.afterSchema).toEqual([
      `select create_distributed_table('cubby_record_8', 'table_id')`,
      `select create_distributed_table('cubby_blob_8', 'table_id', colocate_with => 'cubby_record_8')`,
      `select create_distributed_table('cubby_run_8', 'task_id')`,
      `select create_distributed_table('cubby_idempotency_key', 'scope_id', colocate_with => 'cubby_record_8')`,
      `select create_distributed_table('cubby_feed', 'table_id', colocate_with => 'cubby_record_8')`,
      `select create_distributed_table('cubby_change', 'table_id', colocate_with => 'cubby_record_8')`,
    ])
    expect(citus.planning).toContain('set plan_cache_mode = force_custom_plan')
    expect(detectDialect(facts({}), 1).planning).toContain('set plan_cache_mode = force_generic_plan')
  })
})

// They were never run, and what they do differently (locks, DDL, partial indexes) would damage a store or lose writes.
describe('a server that only speaks the protocol of PostgreSQL is refused at start, with one line', () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  }, 120_000)
  afterAll(() => server.remove(), 60_000)

  test.each([
    ['CockroachDB', 'CockroachDB CCL v25.3.1 (x86_64-pc-linux-gnu, built 2025/09/01)'],
    ['YugabyteDB', 'PostgreSQL 15.12-YB-2025.2.1.0-b0 on x86_64-pc-linux-gnu'],
  ])('%s', async (name, version) => {
    const url = await server.createDatabase()
    await server.query('create schema fake', url)
    await server.query(
      `create function fake.version() returns text language sql as $$ select '${version}'::text $$`,
      url,
    )
    // Listed last, the system's own functions do not come first.
    const database = new URL(url).pathname.slice(1)
    await server.query(`alter database ${database} set search_path = fake, public, pg_catalog`, url)
    const { exitCode, stdout, stderr } = await runCubby(['serve', '--port', '0', '--store', url])
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(
      new RegExp(`^[^\\n]*the server is ${name}; only PostgreSQL and Citus are supported[^\\n]*\\n$`),
    )
    expect(await server.query(`select to_regclass('public.cubby_store') as store`, url)).toEqual([{ store: null }])
  })
})
