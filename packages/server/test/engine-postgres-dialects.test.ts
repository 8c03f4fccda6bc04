import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { detectDialect } from '../src/engines/postgres/dialects/detect-dialect.ts'
import type { Dialect, ServerFacts } from '../src/engines/postgres/dialects/dialect.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import { batchCases } from './conformance/batches.ts'
import { besideCases } from './conformance/beside.ts'
import { concurrencyCases } from './conformance/concurrency.ts'
import { staleCases } from './conformance/stale.ts'
import { type Case, expectSound } from './engine-conformance.ts'
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

const yugabyte = (version: string) =>
  facts({
    version: `PostgreSQL 15.12-YB-${version}-b0 on x86_64-pc-linux-gnu`,
    number: `15.12-YB-${version}`,
    numeric: 150_012,
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
      `select create_distributed_table('cubby_record', 'table_id')`,
      `select create_distributed_table('cubby_blob', 'table_id', colocate_with => 'cubby_record')`,
      `select create_distributed_table('cubby_run', 'task_id')`,
    ])
    expect(citus.planning).toContain('set plan_cache_mode = force_custom_plan')
    expect(detectDialect(facts({}), 1).planning).toContain('set plan_cache_mode = force_generic_plan')
  })

  test('YugabyteDB by its version, refused where that corrupts partial indexes', () => {
    expect(detectDialect(yugabyte('2025.2.1.0'), 1)).toMatchObject({ description: 'yugabytedb 2025.2.1.0' })
    for (const version of ['2024.2.0.0', '2024.2.7.2', '2025.1.0.1', '2025.1.3.0', '2025.2.0.0', '2025.2.0.9']) {
      expect(() => detectDialect(yugabyte(version), 1)).toThrow(
        `YugabyteDB ${version} loses entries of partial indexes`,
      )
    }
    for (const version of ['2024.1.9.0', '2024.2.7.3', '2025.1.3.1', '2025.2.1.0']) {
      expect(() => detectDialect(yugabyte(version), 1)).not.toThrow()
    }
  })

  test('CockroachDB by its version, whatever PostgreSQL it claims to be', () => {
    const version = 'CockroachDB CCL v25.3.1 (x86_64-pc-linux-gnu, built 2025/09/01)'
    const cockroach = detectDialect(facts({ version, number: '13.0.0', numeric: 130_000, fsync: undefined }), 1)
    expect(cockroach).toMatchObject({ description: 'cockroachdb 25.3.1', isolation: 'serializable', planning: [] })
  })
})

// The ways that other engines take, walked on PostgreSQL: what they write must be as right. Those of Citus are in a file
// of their own.
describe('as on YugabyteDB and CockroachDB: BEGIN and COMMIT said aloud, no named locks, the primary key made first', () => {
  const dialect: Partial<Dialect> = {
    pipelinesAreTransactions: false,
    putsFromArrays: false,
    listsWriters: false,
    hasAdvisoryLocks: false,
    addsPrimaryKeyLast: false,
  }
  let server: SharedPostgres
  let url = ''

  beforeAll(async () => {
    server = await sharedPostgres()
    url = await server.createDatabase()
  }, 120_000)

  afterAll(() => server.remove(), 60_000)

  const it: Case = (name, run, timeoutMs = 20_000) => {
    test(
      name,
      async () => {
        const engines: Engine[] = []
        const open = async () => {
          const engine = await openPostgresEngine({ url, leaseMs: 20, sweepClock: 'caller', dialect })
          engines.push(engine)
          return engine
        }
        const store = { engine: await open(), reopen: open, openBeside: open }
        try {
          await run(store)
          await expectSound(store.engine)
        } finally {
          await Promise.all(engines.map((engine) => engine.close()))
          await server.empty(url)
        }
      },
      timeoutMs,
    )
  }

  batchCases(it)
  staleCases(it)
  besideCases(it)
  concurrencyCases(it)
})
