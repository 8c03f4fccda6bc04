import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import { makeApiKey } from '../src/core/api-keys/api-key.ts'
import { CubbyError } from '../src/core/errors.ts'
import { connectionQueueRequestsMax } from '../src/core/limits.ts'
import { openPostgresEngine, type PostgresOptions } from '../src/engines/postgres/engine.ts'
import { schemaVersion } from '../src/engines/postgres/migrations/schema.ts'
import type { Engine } from '../src/store/engine.ts'
import type { WriteResult } from '../src/store/records.ts'
import {
  deleteOf,
  expectRefusal,
  type Fixture,
  fixtureThrough,
  indexScan,
  makeFixture,
  makeTenant,
  nameOf,
  numbered,
  primaryScan,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './conformance/fixture.ts'
import { expectSound } from './engine-conformance.ts'
import { eventually } from './harness.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

setDefaultTimeout(120_000)

let server: PostgresServer
let url = ''
const opened: Engine[] = []

beforeAll(async () => {
  server = await startPostgres({ settings: { deadlock_timeout: '300ms' } })
  url = await server.createDatabase('faults')
}, 120_000)

afterAll(async () => {
  await Promise.all(opened.map((engine) => engine.close()))
  await server.remove()
}, 120_000)

const open = async (options: Partial<PostgresOptions> = {}): Promise<Engine> => {
  const engine = await openPostgresEngine({ url, leaseMs: 1_000, ...options })
  opened.push(engine)
  return engine
}

let fixtures = 0
/** Organization and table of the test's own. */
const openFixture = async (options: Partial<PostgresOptions> = {}, name = 'orders') => {
  const engine = await open(options)
  const fixture = await makeFixture(engine, { i1: { hashField: 's' } }, { tenant: await tenantOf(engine), name })
  return { engine, fixture }
}

const tenantOf = (engine: Engine) => makeTenant(engine, `org-${++fixtures}`)

const codeOf = (error: unknown): string => {
  if (!(error instanceof CubbyError)) throw error
  return error.code
}

/** Returns what a start says, as one line. */
const refusalOf = (options: PostgresOptions): Promise<string> =>
  openPostgresEngine(options).then(
    async (engine) => {
      await engine.close()
      throw new Error('The store was opened.')
    },
    (error: Error) => error.message,
  )

/** A transaction beside the service, as an operator's shell would have. */
const openTransaction = async () => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  return {
    lock: (hashKey: string) =>
      client.query('select 1 from cubby_record_8 where hash_key = $1 for update', [Buffer.from(hashKey)]),
    async end() {
      await client.query('commit')
      await client.end()
    },
  }
}

const waitingForLock = () =>
  eventually('a statement that waits for a lock', async () => {
    const rows = await server.query(
      `select 1 from pg_stat_activity where application_name = 'cubby' and wait_event_type = 'Lock'`,
    )
    return rows.length > 0 ? true : undefined
  })

describe('the store is set up', () => {
  test('by several processes that start at once on an empty database: each gets the same whole store', async () => {
    const empty = await server.createDatabase()
    const engines = await Promise.all(Array.from({ length: 6 }, () => openPostgresEngine({ url: empty })))
    const made = await Promise.all(
      engines.map((engine) =>
        engine.organizations.bootstrap('default', [makeApiKey({ kind: 'secret' }).kept], startMs),
      ),
    )
    expect(made.filter((org) => org !== undefined)).toHaveLength(1)
    for (const engine of engines) expect(await engine.organizations.list()).toHaveLength(1)
    const [{ indexes }] = (await server.query(
      `select count(*) as indexes from pg_indexes where tablename = 'cubby_record_8' and indexname ~ '_by_|pkey'`,
      empty,
    )) as [{ indexes: string }]
    expect(Number(indexes)).toBe(8)
    await expectSound(engines[0]!)
    await Promise.all(engines.map((engine) => engine.close()))
  })

  test('unless it is newer than the server: refused with a clear line', async () => {
    const newer = await server.createDatabase()
    await (await openPostgresEngine({ url: newer })).close()
    await server.query('update cubby_store set version = 99', newer)
    expect(await refusalOf({ url: newer })).toContain(
      `the store has version 99; this Cubby knows versions up to ${schemaVersion}`,
    )
  })

  test('with the lease that the store has, whatever a process was told', async () => {
    const own = await server.createDatabase()
    await (await openPostgresEngine({ url: own, leaseMs: 20 })).close()
    const toldMs = 60_000
    const engine = await openPostgresEngine({ url: own, leaseMs: toldMs })
    const { tenant } = await makeFixture(engine)
    const began = performance.now()
    await engine.tables.delete(tenant.caller, 'app', 'orders', startMs)
    // A deletion waits for one lease. With the one that this process was told, it would take all of that.
    expect(performance.now() - began).toBeLessThan(toldMs)
    await engine.close()
  })

  test('only in a database with the encoding UTF8', async () => {
    await server.query(`create database latin encoding 'LATIN1' template template0`)
    expect(await refusalOf({ url: server.url('latin') })).toContain('the encoding LATIN1; make one with encoding UTF8')
  })

  test('with a warning where fsync is off', async () => {
    const warnings: string[] = []
    await server.query('alter system set fsync = off')
    await server.query('select pg_reload_conf()')
    try {
      await eventually('fsync off', async () => {
        const engine = await openPostgresEngine({
          url,
          log: (level, message) => level === 'warn' && warnings.push(message),
        })
        await engine.close()
        return warnings.length > 0 ? true : undefined
      })
      expect(warnings[0]).toContain('fsync = off')
    } finally {
      await server.query('alter system reset fsync')
      await server.query('select pg_reload_conf()')
    }
  })
})

test('a database without data checksums is served with a warning, one with them without', async () => {
  const warningsOf = async (storeUrl: string): Promise<string[]> => {
    const warnings: string[] = []
    const log = (level: string, message: string) => level === 'warn' && warnings.push(message)
    await (await openPostgresEngine({ url: storeUrl, log })).close()
    return warnings.filter((line) => line.includes('data_checksums'))
  }
  const without = await startPostgres({ auth: 'password', initdbFlags: ['--no-data-checksums'] })
  try {
    expect(await warningsOf(await without.createDatabase())).toEqual([
      'the database runs with data_checksums = off: it may serve what its disk has damaged',
    ])
  } finally {
    await without.remove()
  }
  expect(await server.query('show data_checksums')).toEqual([{ data_checksums: 'on' }])
  expect(await warningsOf(url)).toEqual([])
})

describe('a start that cannot be is one clear line without the password', () => {
  const secret = 's3cr3t-word'
  const at = (text: string) => `postgres://postgres:${secret}@127.0.0.1:${text}`

  test('a wrong password', async () => {
    const line = await refusalOf({ url: at(`${server.port}/faults`) })
    expect(line).toStartWith(
      `the store at postgres@127.0.0.1:${server.port}/faults cannot be opened: it refuses the user`,
    )
    expect(line).not.toContain(secret)
    expect(line).not.toContain('\n')
  })

  test('a host that does not listen', async () => {
    const line = await refusalOf({ url: at('1/faults') })
    expect(line).toBe('the store at postgres@127.0.0.1:1/faults cannot be opened: nothing listens there')
  })

  test('a database that is not there', async () => {
    expect(await refusalOf({ url: server.url('nowhere') })).toContain(
      'the database does not exist; make it with: createdb',
    )
  })

  test('a right that is missing', async () => {
    await server.query(`create role guest login password '${secret}'`)
    const line = await refusalOf({ url: `postgres://guest:${secret}@127.0.0.1:${server.port}/postgres` })
    expect(line).toContain('the user lacks a right (permission denied for schema public)')
    // The tables are there, and it may read some of them.
    await open()
    await server.query('grant select on cubby_store to guest', url)
    const later = await refusalOf({ url: `postgres://guest:${secret}@127.0.0.1:${server.port}/faults` })
    expect(later).toContain('the user may not insert in the table cubby_store')
    expect(line + later).not.toContain(secret)
  })

  test('a URL that cannot be read', async () => {
    for (const [text, reason] of [
      [`postgres//${secret}`, 'this is no URL'],
      [`mysql://root:${secret}@h/db`, 'the URL starts with postgres://'],
      [`postgres://u:${secret}@h/db?sslmod=require`, 'a parameter that is not known'],
      [`postgres://u:${secret}@h/db?sslmode=prefer`, 'sslmode takes one of disable, require, verify-ca, verify-full'],
      [`postgres://u:${secret}@h/db?sslmode=verify-ca`, 'needs sslrootcert'],
      [
        `postgres://u:${secret}@h/db?sslmode=verify-full&sslrootcert=/no/such.pem`,
        '/no/such.pem cannot be read (ENOENT)',
      ],
      [`postgres://u:${secret}%zz@h/db`, 'a percent-escape in the URL is malformed'],
    ] as const) {
      const line = await refusalOf({ url: text })
      expect(line).toContain(reason)
      expect(line).not.toContain(secret)
    }
  })
})

// After any failure of the server, an acknowledged write is there and a refused one is not. Otherwise a caller that repeats
// a refused write writes twice, and a caller that was told its write is safe loses it.
describe('under load', () => {
  type Ledger = Map<string, string>

  /** Puts and batches of two by several writers until `disturb` is over and each has come through once more. */
  const keepLedger = async (fixture: Fixture, disturb: () => Promise<void>): Promise<Ledger> => {
    const ledger: Ledger = new Map()
    let disturbed = false
    const writer = async (number: number): Promise<void> => {
      for (let i = 0, after = 0; after < 3; i++) {
        const name = `w${number}-${i}`
        const wasOver = disturbed
        const pair = [putOf(fixture.table, name), putOf(fixture.table, name, { rangeKey: 'twin', data: { s: 'x' } })]
        // Half of the writers put a record at a time, as most requests do.
        const outcome = await fixture
          .write(number % 2 === 0 ? pair : pair.slice(1), startMs + i)
          .then(() => 'applied', codeOf)
        ledger.set(name, outcome)
        if (outcome === 'applied' && wasOver) after++
        if (outcome !== 'applied') await Bun.sleep(5)
      }
    }
    const writers = Array.from({ length: 24 }, (_, n) => writer(n))
    await disturb()
    disturbed = true
    await Promise.all(writers)
    return ledger
  }

  const expectLedger = async (engine: Engine, fixture: Fixture, ledger: Ledger): Promise<void> => {
    const versions = new Map((await fixture.list(timeScan())).map((record) => [nameOf(record), record.updatedAtMs]))
    const indexed = new Set(await fixture.names(indexScan('i1', 'x')))
    const wrong: string[] = []
    for (const [name, outcome] of ledger) {
      const [number, round] = name.slice(1).split('-').map(Number)
      const twin = `${name}/twin`
      const all = number! % 2 === 0 ? 3 : 2
      const parts = [versions.has(name), versions.has(twin), indexed.has(twin)].filter(Boolean).length
      const right =
        outcome === 'applied' ? parts === all : outcome === 'unavailable' ? parts === 0 : parts === 0 || parts === all
      if (!right || !['applied', 'unavailable', 'outcome_unknown'].includes(outcome)) {
        wrong.push(`${name}: ${outcome}, but ${parts} of ${all} parts are there`)
      }
      // Sent again after it had been applied, it would have a later version.
      const version = versions.get(twin) ?? startMs + round!
      if (version !== startMs + round!) wrong.push(`${name}: ${outcome}, and was applied more than once`)
    }
    expect(wrong).toEqual([])
    expect([...ledger.values()]).toContain('applied')
    await expectSound(engine)
  }

  test('the server restarted, in order and by a crash: the ledger holds, ready says so', async () => {
    const { engine, fixture } = await openFixture()
    const ledger = await keepLedger(fixture, async () => {
      for (const how of ['crash', 'fast'] as const) {
        await eventually('some load', async () => ((await fixture.names(timeScan())).length > 20 ? true : undefined))
        expect(await engine.ready()).toBe(true)
        await server.stop(how)
        expect(await engine.ready()).toBe(false)
        await server.start()
        await eventually('ready again', async () => (await engine.ready()) || undefined)
      }
    })
    expect([...ledger.values()].some((outcome) => outcome !== 'applied')).toBe(true)
    await expectLedger(engine, fixture, ledger)
  })

  test('its connections killed again and again: the ledger holds', async () => {
    const { engine, fixture } = await openFixture()
    let killed = 0
    const ledger = await keepLedger(fixture, async () => {
      for (let round = 0; round < 12; round++) {
        const rows = await server.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cubby' and datname = 'faults'`,
        )
        killed += rows.length
        await Bun.sleep(20)
      }
    })
    expect(killed).toBeGreaterThan(10)
    await expectLedger(engine, fixture, ledger)
  })

  test('a read whose connection is killed is asked again', async () => {
    const { engine, fixture } = await openFixture({ poolSize: 1 })
    await fixture.put('a')
    for (let round = 0; round < 5; round++) {
      const reads = Array.from({ length: 20 }, () => fixture.get('a'))
      const [, ...records] = await Promise.all([
        server.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cubby'`),
        ...reads,
      ])
      for (const record of records) expect(record).toBeDefined()
    }
    expect(await engine.ready()).toBe(true)
  })
})

describe('limits', () => {
  // Anybody may ask, without a key, and what every request depends on waits in the same line.
  test('many who ask whether it is ready wait for one answer of the database', async () => {
    const engine = await open({ poolSize: 1 })
    const asked = Array.from({ length: 500 }, () => engine.ready())
    expect(engine.measures.process().connectionWaits).toBeLessThanOrEqual(1)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([true]))
    expect(await engine.ready()).toBe(true)
  })

  test('a statement over its time limit is unavailable, and was not applied', async () => {
    const { engine, fixture } = await openFixture({ statementMsMax: 200 })
    const version = await fixture.put('slow', { data: { n: 1 } })
    const beside = await openTransaction()
    await beside.lock('slow')
    const outcomes = await Promise.all([
      fixture.write([putOf(fixture.table, 'slow', { data: { n: 2 } })]).catch(codeOf),
      fixture.write([deleteOf('slow'), putOf(fixture.table, 'other')]).catch(codeOf),
    ])
    await beside.end()
    expect(outcomes).toEqual(['unavailable', 'unavailable'])
    expect(await fixture.get('slow')).toMatchObject({ data: '{"n":1}', updatedAtMs: version })
    expect(await fixture.get('other')).toBeUndefined()
    await expectSound(engine)
  })

  test('with every connection taken a request waits so long, then it is unavailable; later all is well', async () => {
    const { fixture } = await openFixture({ poolSize: 2, waitMsMax: 300 })
    await fixture.put('held')
    const beside = await openTransaction()
    await beside.lock('held')
    const holding = [fixture.put('held'), fixture.put('held')]
    await waitingForLock()
    await expectRefusal(fixture.get('held'), 'unavailable')
    await beside.end()
    await Promise.all(holding)
    expect(await fixture.get('held')).toBeDefined()
  })

  test('no organization fills the queue, and they take turns', async () => {
    const { engine, fixture } = await openFixture({ poolSize: 1, waitMsMax: 20_000, statementMsMax: 20_000 })
    const other = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    await fixture.put('held')
    await other.put('a')
    const beside = await openTransaction()
    await beside.lock('held')
    const holding = fixture.put('held')
    let served = 0
    const flood = Array.from({ length: connectionQueueRequestsMax / 4 + 100 }, () =>
      fixture.get('held').then(() => {
        served++
        return 'served'
      }, codeOf),
    )
    const turn = other.get('a').then(() => served)
    await beside.end()
    await holding
    expect(await turn).toBeLessThan(10)
    const outcomes = await Promise.all(flood)
    expect(outcomes.filter((outcome) => outcome === 'unavailable')).toHaveLength(100)
    expect(outcomes.filter((outcome) => outcome === 'served')).toHaveLength(connectionQueueRequestsMax / 4)
  })

  test('a server that has stopped answering costs the calls that wait for it, no others', async () => {
    const { fixture } = await openFixture({ poolSize: 1, statementMsMax: 100 })
    await fixture.put('a')
    const [row] = await server.query(
      `select pid from pg_stat_activity where application_name = 'cubby' order by backend_start desc limit 1`,
    )
    const pid = Number(row!.pid)
    process.kill(pid, 'SIGSTOP')
    try {
      await expectRefusal(fixture.write([putOf(fixture.table, 'a')]), 'outcome_unknown')
      expect(await fixture.get('a')).toBeDefined()
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })

  test('a database without space is storage_full', async () => {
    const { engine, fixture } = await openFixture()
    // The server's own word for it, from a trigger instead of a disk.
    await server.query(
      `create function no_space() returns trigger language plpgsql as $$ begin
         if new.hash_key = 'too-much' then raise exception 'could not extend file' using errcode = '53100'; end if;
         return new; end $$;
       create trigger no_space before insert on cubby_record_8 for each row execute function no_space()`,
      url,
    )
    try {
      await expectRefusal(fixture.write([putOf(fixture.table, 'too-much')]), 'storage_full')
      await expectRefusal(fixture.write([putOf(fixture.table, 'a'), putOf(fixture.table, 'too-much')]), 'storage_full')
      expect(await fixture.names(timeScan())).toEqual([])
    } finally {
      await server.query('drop trigger no_space on cubby_record_8; drop function no_space', url)
    }
    await expectSound(engine)
  })
})

// With every connection busy, puts of separate requests wait and go in one statement. What one of them meets must
// not be felt by those that happen to go with it.
describe('puts that wait go together, and each has its own answer', () => {
  /** Puts that all wait behind one connection, which a lock from elsewhere holds. */
  const putTogether = async (fixture: Fixture, puts: () => Promise<unknown>[]): Promise<unknown[]> => {
    await fixture.put('held')
    const beside = await openTransaction()
    await beside.lock('held')
    const holding = fixture.put('held')
    await waitingForLock()
    const outcomes = Promise.all(puts().map((put) => put.catch(codeOf)))
    await beside.end()
    await holding
    return outcomes
  }

  test('a revoked key and a deleted table refuse their own puts only', async () => {
    const { engine, fixture } = await openFixture({ poolSize: 1 })
    const { tenant } = fixture
    const other = await open()
    const revoked = await other.apiKeys.create(tenant.caller, makeApiKey({ kind: 'secret' }).kept, startMs)
    const gone = await makeFixture(other, {}, { tenant, name: 'gone' })
    await Promise.all([
      other.apiKeys.revoke(tenant.operator, revoked.id, startMs),
      other.tables.delete(tenant.operator, 'app', 'gone', startMs),
    ])
    const callerOf = (i: number) => (i % 3 === 1 ? { orgId: tenant.org.id, apiKey: revoked } : tenant.caller)
    const outcomes = await putTogether(fixture, () =>
      numbered(12).map(async (name, i) => {
        const table = i % 3 === 2 ? gone.table : fixture.table
        return (await engine.records.write(callerOf(i), table, [putOf(table, name)], startMs)).applied
      }),
    )
    expect(outcomes).toEqual(numbered(12).map((_, i) => [true, 'revoked_api_key', 'table_not_found'][i % 3]))
    const applied = numbered(12).filter((_, i) => i % 3 === 0)
    expect((await fixture.names(timeScan())).toSorted()).toEqual(['held', ...applied].toSorted())
    await expectSound(engine)
  })

  test('one that waits too long for a lock is unavailable, the others are applied', async () => {
    const { engine, fixture } = await openFixture({ poolSize: 1, statementMsMax: 1_500, waitMsMax: 20_000 })
    await fixture.put('k000005', { data: { n: 'old' } })
    const beside = await openTransaction()
    await beside.lock('k000005')
    const outcomes = await putTogether(fixture, () =>
      numbered(10).map(async (name) => {
        await fixture.put(name, { data: { n: 'new' } })
        return 'applied'
      }),
    )
    await beside.end()
    expect(outcomes).toEqual(numbered(10).map((name) => (name === 'k000005' ? 'unavailable' : 'applied')))
    expect(await fixture.get('k000005')).toMatchObject({ data: '{"n":"old"}' })
    await expectSound(engine)
  })

  test('several on one record are all applied, with increasing versions; new records keep the order of arrival', async () => {
    const { engine, fixture } = await openFixture({ poolSize: 1 })
    const names = ['z', 'same', 'b', 'same', 'a', 'same', 'y']
    const versions = (await putTogether(fixture, () =>
      names.map((name, i) => fixture.put(name, { data: { s: 'x', i } })),
    )) as number[]
    const same = versions.filter((_, i) => names[i] === 'same')
    expect(same).toEqual([startMs, startMs + 1, startMs + 2])
    expect(await fixture.get('same')).toMatchObject({ data: '{"s":"x","i":5}' })
    expect(await fixture.names(indexScan('i1', 'x'))).toEqual(['z', 'same', 'b', 'a', 'y'])
    await expectSound(engine)
  })
})

describe('contention', () => {
  test('a deadlock with a transaction from elsewhere is tried again and comes through', async () => {
    const { fixture } = await openFixture()
    for (const name of ['lock-a', 'lock-b']) await fixture.put(name)
    // When both wait, PostgreSQL cancels the one that looks for deadlocks first. On a busy machine that may be the other
    // transaction; then the batch was applied without a fault, and we try again.
    const isGivenUp = async (): Promise<boolean> => {
      await fixture.put('lock-b')
      const beside = await openTransaction()
      await beside.lock('lock-b')
      const batch = fixture.write([putOf(fixture.table, 'lock-a', { data: { n: 2 } }), deleteOf('lock-b')])
      await waitingForLock()
      const wasBatch = await beside.lock('lock-a').then(
        () => true,
        (error) => {
          if (error.code !== '40P01') throw error
          return false
        },
      )
      await beside.end()
      expect(await batch).toMatchObject({ applied: true })
      return wasBatch
    }
    let tries = 0
    while (!(await isGivenUp())) expect(++tries).toBeLessThan(10)
    expect(await fixture.names(timeScan())).toEqual(['lock-a'])
    // It counts deadlocks, and each connection hands its count in with its first statement a second later.
    await eventually('a deadlock', async () => {
      await Promise.all(Array.from({ length: 8 }, () => fixture.get('lock-a')))
      const [row] = await server.query(`select deadlocks from pg_stat_database where datname = 'faults'`)
      return Number(row!.deadlocks) > 0 || undefined
    })
  })

  test('serialization failures are tried again: racing batches all come through', async () => {
    const { engine, fixture } = await openFixture({
      dialect: { planning: [`set default_transaction_isolation = 'serializable'`] },
    })
    const names = numbered(4)
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        fixture.write(names.map((rangeKey) => putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', n } }))),
      ),
    )
    expect(results.every((result) => result.applied)).toBe(true)
    expect(new Set((await fixture.list(primaryScan('h'))).map((record) => record.data)).size).toBe(1)
    await expectSound(engine)
  })

  // A delete that finds no record locks none. Were that all, two batches could each apply a half in between the
  // halves of the other, and readers would meet a state that no order of the two can give.
  test('batches that swap one record for another leave exactly one, through two engines', async () => {
    const { engine, fixture } = await openFixture()
    const there = await fixtureThrough(await open(), fixture)
    await fixture.put('h', { rangeKey: 'a' })
    const swap = async (through: Fixture, seed: number): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const [gone, made] = (seed + i) % 3 === 0 ? ['a', 'b'] : ['b', 'a']
        const operations = [deleteOf('h', gone), putOf(fixture.table, 'h', { rangeKey: made })]
        const result: WriteResult = await through.write(i % 2 === 0 ? operations : operations.toReversed())
        expect(result.applied).toBe(true)
        expect(await through.list(primaryScan('h'))).toHaveLength(1)
      }
    }
    await Promise.all([fixture, there, fixture, there, fixture, there].map(swap))
    await expectSound(engine)
  })
})

describe('several processes', () => {
  // The other process has key and table at hand and uses them all the time: nothing but the lease tells it.
  test('what one revokes or deletes is so for the other from the moment the promise resolves, within 3 s', async () => {
    const { engine, fixture } = await openFixture()
    const other = await open()
    const spare = makeApiKey({ kind: 'secret' })
    const apiKey = await engine.apiKeys.create(fixture.tenant.caller, spare.kept, startMs)
    const second = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'second' })
    let settled = false
    const late: string[] = []
    const use = async (number: number): Promise<void> => {
      for (let i = 0; !settled || i < 50; i++) {
        const wasSettled = settled
        const found = await other.apiKeys.find(spare.text)
        const table = await other.tables.find(fixture.tenant.org.id, 'app', 'second')
        if (wasSettled && found!.revokedAtMs === null) late.push('the key was found active')
        if (wasSettled && table !== undefined) late.push('the table was found active')
        const caller = { orgId: fixture.tenant.org.id, apiKey }
        const writes = [
          other.records.write(caller, fixture.table, [putOf(fixture.table, `k${number}-${i}`)], startMs),
          other.records.write(fixture.tenant.caller, second.table, [putOf(second.table, `t${number}-${i}`)], startMs),
        ]
        for (const outcome of await Promise.all(writes.map((write) => write.then(() => 'applied', codeOf)))) {
          if (wasSettled && outcome === 'applied') late.push('a write was applied')
        }
      }
    }
    const users = [use(0), use(1), use(2)]
    await Bun.sleep(100)
    // The users go on until both are done: either that waited for them to stop would never end.
    await Promise.all([
      engine.apiKeys.revoke(fixture.tenant.operator, spare.kept.id, startMs),
      engine.tables.delete(fixture.tenant.caller, 'app', 'second', startMs),
    ])
    settled = true
    const before = (await fixture.names(timeScan())).length
    await Promise.all(users)
    expect(late).toEqual([])
    expect(await fixture.names(timeScan())).toHaveLength(before)
  })

  test('a write that began before a revocation and hangs is not applied after it', async () => {
    const { engine, fixture } = await openFixture()
    const other = await fixtureThrough(await open(), fixture)
    const version = await fixture.put('stuck', { data: { n: 1 } })
    const beside = await openTransaction()
    await beside.lock('stuck')
    const stuck = other.write([putOf(fixture.table, 'stuck', { data: { n: 2 } })]).then(() => 'applied', codeOf)
    await waitingForLock()
    // The lock is held until it is revoked: a revocation that waited for the write would never end.
    await engine.apiKeys.revoke(fixture.tenant.operator, fixture.tenant.apiKey.id, startMs)
    await beside.end()
    expect(await stuck).toBe('unavailable')
    expect(await fixture.get('stuck')).toMatchObject({ data: '{"n":1}', updatedAtMs: version })
  })

  test('sweeps go by the database’s clock where a process’s runs ahead', async () => {
    const { engine, fixture } = await openFixture()
    const soon = Math.floor(Date.now() / 1000) + 3_600
    await fixture.put('soon', { ttlSeconds: soon })
    await fixture.put('gone', { ttlSeconds: startSeconds })
    await engine.maintenance.sweepExpired((soon + 86_400) * 1000, 500)
    expect(await fixture.get('soon')).toBeDefined()
    expect(await fixture.get('gone', '#', startMs - 1)).toBeUndefined()
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', Date.now())
    await engine.maintenance.purgeTables(Date.now() + 365 * 86_400_000, 500)
    expect(await engine.tables.restore(fixture.tenant.caller, 'app', 'orders', undefined, Date.now())).toMatchObject({
      outcome: 'restored',
    })
  })
})
