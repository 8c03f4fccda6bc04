import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import { FeedCursors } from '../src/core/changes/changes-cursor.ts'
import { CubbyError } from '../src/core/errors.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import type { Table } from '../src/store/tables.ts'
import { EngineFollower, tableLines } from './changes/engine-follower.ts'
import { deleteOf, type Fixture, fixtureOf, fixtureThrough, makeTenant, patchOf, putOf } from './conformance/fixture.ts'
import { expectSound } from './engine-conformance.ts'
import { eventually } from './harness.ts'
import { Random, testSeed } from './model/random.ts'
import { type PostgresProxy, startPostgresProxy } from './postgres-proxy.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

// What the log of changes promises where several connections write at once: a reader that has read up to an entry has missed
// nothing before it. Without that a copy would lack a record for good, and nobody would notice.

setDefaultTimeout(120_000)

let server: SharedPostgres
let proxy: PostgresProxy
let url = ''
const opened: Engine[] = []

beforeAll(async () => {
  server = await sharedPostgres()
  url = await server.createDatabase()
  proxy = await startPostgresProxy(server.port)
}, 120_000)

afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close()
})

afterAll(async () => {
  await proxy.close()
  await server.remove()
}, 120_000)

const open = async (storeUrl = url, options: { poolSize?: number } = {}): Promise<Engine> => {
  const engine = await openPostgresEngine({ url: storeUrl, leaseMs: 50, sweepClock: 'caller', ...options })
  opened.push(engine)
  return engine
}

let names = 0

/** A table that keeps its changes, and the same as another engine sees it. */
const makeLogs = async (engine: Engine, other: Engine): Promise<[Fixture, Fixture]> => {
  const tenant = await makeTenant(engine, `org-${++names}`)
  const { table } = await engine.tables.create(tenant.caller, 'app', 'orders', {}, Date.now(), 24)
  const fixture = fixtureOf(engine, tenant, table)
  return [fixture, await fixtureThrough(other, fixture)]
}

const makeTable = async (engine: Engine, { tenant }: Fixture, name: string, keepHours?: number): Promise<Fixture> => {
  const { table } = await engine.tables.create(tenant.caller, 'app', name, {}, Date.now(), keepHours)
  return fixtureOf(engine, tenant, table)
}

// ── A transaction that commits late ────────────────────────────────────────────────────────────────────────

const lockId = 77

describe('a write that commits late is read by those who have read on meanwhile:', () => {
  beforeAll(async () => {
    await open()
    // Its transaction waits in its COMMIT, when all its statements have been executed.
    await server.query(
      `create function hold_late() returns trigger language plpgsql as $$
         begin perform pg_advisory_xact_lock_shared(${lockId}); return null; end $$;
       create constraint trigger hold_late after insert on cubby_change deferrable initially deferred
         for each row when (new.hash_key = 'late'::bytea) execute function hold_late()`,
      url,
    )
  })

  type Write = (fixture: Fixture, engine: Engine, other: Fixture) => Promise<unknown>
  const soonMs = 10 * 60_000
  const once = { scopeKind: 'table', keyHash: '01'.repeat(32), requestHash: '02'.repeat(32) }
  const writes: Record<string, Write> = {
    put: ({ write, table }) => write([putOf(table, 'late')], Date.now()),
    patch: ({ write, table }) => write([patchOf(table, 'late', { merge: { a: 1 } })], Date.now()),
    delete: ({ write }) => write([deleteOf('late')], Date.now()),
    batch: ({ write, table }) => write([putOf(table, 'first'), putOf(table, 'late')], Date.now()),
    load: ({ tenant, table }, engine) =>
      engine.records.putAll(tenant.caller, table, [putOf(table, 'late'), putOf(table, 'later')], false, Date.now()),
    'put with an idempotency key': ({ tenant, table }, engine) =>
      engine.records.write(
        { ...tenant.caller, once: { scopeId: table.id, ...once } },
        table,
        [putOf(table, 'late')],
        Date.now(),
      ),
    'batch over tables': ({ tenant, table }, engine, other) => {
      const parts = [
        { table: other.table, records: [putOf(other.table, 'o')] },
        { table, records: [putOf(table, 'late')] },
      ]
      return engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, Date.now())
    },
    'sweep of expired records': (_, engine) => engine.maintenance.sweepExpired(Date.now() + soonMs, 10),
  }

  test.each(Object.keys(writes))('%s', async (how) => {
    const [engine, beside] = [await open(), await open()]
    const [fixture, fixtureBeside] = await makeLogs(engine, beside)
    const other = await makeTable(engine, fixture, 'other', 1)
    if (how === 'delete') await fixture.put('late-not')
    if (how === 'delete' || how.startsWith('sweep')) {
      // The trigger holds entries of this key, so the record comes by way of SQL.
      const ttl = how === 'delete' ? 'null' : Math.floor(Date.now() / 1000) + 1
      await server.query(
        `insert into cubby_record_8 (id, table_id, hash_key, range_key, updated_at, ttl_seconds, data)
         values (nextval('cubby_record_id'), ${fixture.table.id}, 'late', '#', 1, ${ttl}, '{}')`,
        url,
      )
    }
    const now = () => (how.startsWith('sweep') ? Date.now() + soonMs : Date.now())
    const readers = await Promise.all(
      [fixture, fixtureBeside].map(({ table }, i) =>
        EngineFollower.begin([engine, beside][i]!, table, { hash: i === 0 ? undefined : 'late', now }),
      ),
    )
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    await holder.query(`select pg_advisory_lock(${lockId})`)
    let isAnswered = false
    try {
      const late = writes[how]!(fixture, engine, other)
      const waiting = async (): Promise<number> => {
        const rows = await server.query(
          `select 1 from pg_stat_activity where datname = current_database() and application_name = 'cubby'
             and wait_event_type = 'Lock'`,
          url,
        )
        return rows.length
      }
      await eventually('the late write waits in its COMMIT', async () => ((await waiting()) === 1 ? true : undefined), {
        waitMsMax: 20_000,
      })
      const quick = fixtureBeside.put('quick', {}, now()).then(() => {
        isAnswered = true
      })
      // It has overtaken the late write, or waits for it.
      await eventually('the quick write is answered or waits', async () =>
        isAnswered || (await waiting()) === 2 ? true : undefined,
      )
      for (const reader of readers) await reader.drain()
      await holder.query(`select pg_advisory_unlock(${lockId})`)
      await Promise.all([late, quick])
    } finally {
      await holder.end()
    }
    for (const [i, reader] of readers.entries()) {
      await reader.drain()
      expect(reader.copy.faults).toEqual([])
      expect(reader.copy.lines(now())).toEqual(await tableLines(fixture, now(), i === 0 ? undefined : 'late'))
    }
    const isGone = how === 'delete' || how.startsWith('sweep')
    expect(readers.map(({ copy }) => copy.records.has('late'))).toEqual([!isGone, !isGone])
    await expectSound(engine)
  })
})

// ── Two processes ──────────────────────────────────────────────────────────────────────────────────────────

const keys = Array.from({ length: 12 }, (_, n) => ({ hashKey: `h${n % 3}`, rangeKey: `r${n}` }))

/** One write of any kind to a record that others write too. */
const writeAny = async (engine: Engine, fixture: Fixture, other: Fixture, random: Random): Promise<void> => {
  const { table, tenant } = fixture
  const nowMs = Date.now()
  const [one, two] = random.shuffled(keys)
  const put = (key = one!, of = table) =>
    putOf(of, key.hashKey, { rangeKey: key.rangeKey, data: { n: random.int(0, 1e9) } })
  const patch = (key = one!) =>
    patchOf(table, key.hashKey, { increment: { '/n': 1 } }, { rangeKey: key.rangeKey, prefix: '' })
  const remove = (key = one!) => deleteOf(key.hashKey, key.rangeKey)
  await random.weighted<() => Promise<unknown>>([
    [4, () => fixture.write([put()], nowMs)],
    [3, () => fixture.write([patch()], nowMs)],
    [3, () => fixture.write([remove()], nowMs)],
    [2, () => fixture.write([put(), remove(two)], nowMs)],
    [1, () => fixture.write([patch(), put(two)], nowMs)],
    [1, () => engine.records.putAll(tenant.caller, table, [put(), put(two), put()], random.chance(0.5), nowMs)],
    [
      2,
      () => {
        const parts = [
          { table, records: [put(), remove(two)] },
          { table: other.table, records: [put(two, other.table)] },
        ]
        const shuffled = random.shuffled(parts)
        return engine.runs.applyBatch(tenant.caller, { parts: shuffled, tasks: [] }, nowMs)
      },
    ],
  ])()
}

test('writers and readers of two processes: every copy equals the table, no version goes back, and nobody is told too early', async () => {
  const seed = testSeed()
  console.log(`changes of two processes: CUBBY_TEST_SEED=${seed}`)
  const engines = [await open(), await open()]
  const fixtures = await makeLogs(engines[0]!, engines[1]!)
  const other = await makeTable(engines[0]!, fixtures[0], 'other', 1)
  const otherBeside = await fixtureThrough(engines[1]!, other)
  const begin = (hash?: string, from?: 'now') =>
    Promise.all(engines.map((engine, i) => EngineFollower.begin(engine, fixtures[i]!.table, { hash, from })))
  const readers = [...(await begin(undefined, 'now')), ...(await begin('h1', 'now'))]
  const ofOther = await EngineFollower.begin(engines[1]!, otherBeside.table)
  for (const reader of [...readers, ofOther]) reader.follow()
  let done = 0
  const writers = Array.from({ length: 16 }, async (_, i) => {
    const random = new Random(seed + i)
    const at = i % 2
    for (let n = 0; n < 40; n++) {
      await writeAny(engines[at]!, fixtures[at]!, at === 0 ? other : otherBeside, random)
      // These walk through records that are being written, some of them for the last time.
      const isWalk = [200, 590, 600, 610, 620].includes(++done)
      for (const one of isWalk ? [...(await begin()), ...(await begin('h2'))] : []) {
        one.follow()
        readers.push(one)
      }
    }
  })
  await Promise.all(writers)
  expect(readers.length).toBe(24)
  for (const reader of [...readers, ofOther]) await reader.end()
  const nowMs = Date.now()
  for (const [i, { copy, hash }] of readers.entries()) {
    expect({ i, faults: copy.faults }).toEqual({ i, faults: [] })
    expect({ i, lines: copy.lines(nowMs) }).toEqual({ i, lines: await tableLines(fixtures[0], nowMs, hash) })
  }
  expect([ofOther.copy.faults, ofOther.copy.lines(nowMs)]).toEqual([[], await tableLines(other, nowMs)])
  await expectSound(engines[0]!)
})

test('keeping changes is switched on and off during writes of two processes: what is answered after the answer is in the log', async () => {
  const engines = [await open(), await open()]
  const fixtures = await makeLogs(engines[0]!, engines[1]!)
  const { tenant } = fixtures[0]
  const table = () => engines[0]!.tables.find(tenant.org.id, 'app', 'orders') as Promise<Table>
  const keep = async (hours: number | null, at: number) =>
    (await engines[at]!.tables.keepChanges(fixtures[at]!.tenant.caller, 'app', 'orders', hours, Date.now()))!
  const answered: string[] = []
  let isOver = false
  /** As requests do it: each looks the table up. */
  const write = async (at: number, name: string): Promise<void> => {
    const engine = engines[at]!
    const { caller } = fixtures[at]!.tenant
    for (let n = 0; !isOver; n++) {
      const found = (await engine.tables.find(tenant.org.id, 'app', 'orders'))!
      const key = `${name}-${n}`
      const put = putOf(found, key, { data: { n } })
      if (n % 5 === 4) await engine.records.putAll(caller, found, [put], false, Date.now())
      else if (n % 5 === 3) {
        const parts = [{ table: found, records: [put, putOf(found, `${key}+`)] }]
        await engine.runs.applyBatch(caller, { parts, tasks: [] }, Date.now())
      } else if (n % 5 === 2) {
        await engine.records.write(caller, found, [patchOf(found, key, { merge: { n } })], Date.now())
      } else await engine.records.write(caller, found, n % 5 === 1 ? [put, deleteOf('none')] : [put], Date.now())
      answered.push(key)
    }
  }
  const writers = Array.from({ length: 8 }, (_, i) => write(i % 2, `w${i}`))
  const { seal } = await engines[0]!.secrets.at(Date.now())
  const cursorsOf = ({ id, orgId, changes }: Table) =>
    new FeedCursors(seal, {
      ...{ orgId, db: 'app', table: 'orders', tableId: id, sinceMs: changes!.sinceMs, hash: undefined },
    })
  const some = async (count: number) => {
    const wanted = answered.length + count
    await eventually('answers', () => (answered.length >= wanted ? true : undefined), { pauseMs: 1 })
  }
  let earlier: { cursors: FeedCursors; cursor: string } | undefined
  try {
    for (let round = 0; round < 6; round++) {
      await some(20)
      const ended = await keep(null, round % 2)
      expect(ended.changes?.keepHours).toBe(null)
      await some(20)
      const begun = await keep(24, (round + 1) % 2)
      const from = answered.length
      // A copy is right at once: what was written before is in its walk.
      const reader = await EngineFollower.begin(engines[round % 2]!, await table())
      await reader.read(10)
      await some(60)
      const inLog = new Set(answered.slice(from, from + 40))
      const logged = await server.query(
        `select convert_from(hash_key, 'UTF8') as key from cubby_change where table_id = ${begun.id}
           and seq > (select max(seq) from cubby_change where table_id = ${begun.id} and kind = 0)`,
        url,
      )
      for (const { key } of logged) inLog.delete(key as string)
      expect({ round, missing: [...inLog] }).toEqual({ round, missing: [] })
      const before = [...answered]
      await reader.drain(100)
      expect(before.filter((key) => !reader.copy.records.has(key))).toEqual([])
      const cursors = cursorsOf(begun)
      const cursor = cursors.encode(reader.place)
      expect(cursors.decode(cursor)).toEqual(reader.place)
      if (earlier !== undefined) {
        expect(() => cursors.decode(earlier!.cursor)).toThrow(expect.objectContaining({ code: 'cursor_expired' }))
      }
      earlier = { cursors, cursor }
    }
  } finally {
    isOver = true
    await Promise.all(writers)
  }
  await expectSound(engines[0]!)
})

// Without its lock writes would overtake one another, and without its number an entry would be put before those that were read.
test('a log that has lost its counter takes no write, and verify names it', async () => {
  const engine = await open()
  const [fixture] = await makeLogs(engine, engine)
  const { id } = fixture.table
  for (const key of ['a', 'b', 'c']) await fixture.put(key)
  await server.query(
    `delete from cubby_change where table_id = ${id} and seq < 3; delete from cubby_feed where table_id = ${id}`,
    url,
  )
  await expect(fixture.put('d')).rejects.toMatchObject({ code: 'store_damaged' })
  expect(await fixture.get('d')).toBeUndefined()
  expect(await Array.fromAsync(engine.maintenance.check())).toEqual([`the log of table ${id} has no counter`])
  await server.query(`insert into cubby_feed values (${id}, 4)`, url)
  await expectSound(engine)
})

test.each([
  ['cubby_change where seq = 3', 'has gaps: 3 entries from 1 to 4'],
  ['cubby_change where seq = 4', 'counts to 4, its newest entry is 3'],
  ['cubby_change where true', 'has no entry'],
])('verify finds what is lost of a log: delete from %s', async (lost, finding) => {
  const engine = await open()
  const [fixture] = await makeLogs(engine, engine)
  const { id } = fixture.table
  for (const key of ['a', 'b', 'c']) await fixture.put(key)
  await server.query(`delete from ${lost} and table_id = ${id}`, url)
  expect(await Array.fromAsync(engine.maintenance.check())).toEqual([`the log of table ${id} ${finding}`])
  await server.empty(url)
})

// The database has one clock for all processes. One whose own clock is wrong must not remove what was promised to be kept.
test('a process whose clock is a year ahead sweeps by the clock of the database', async () => {
  const engine = await openPostgresEngine({ url, leaseMs: 50 })
  opened.push(engine)
  const [fixture] = await makeLogs(engine, engine)
  const { table } = fixture
  const hourMs = 60 * 60_000
  const yearMs = 365 * 24 * hourMs
  // The log was begun two days ago.
  await server.query(`update cubby_change set at_ms = at_ms - ${48 * hourMs} where table_id = ${table.id}`, url)
  const begun = await engine.changes.head(table)
  for (const hours of [30, 26, 25, 23, 1]) await fixture.put(`k${hours}`, {}, Date.now() - hours * hourMs)
  await fixture.put('ahead', {}, Date.now() + yearMs)
  await fixture.put('now', {}, Date.now())
  const kept = async () => {
    const rows = await server.query(
      `select convert_from(hash_key, 'UTF8') as key from cubby_change where table_id = ${table.id} order by seq`,
      url,
    )
    return rows.map(({ key }) => key)
  }
  const sweep = async (nowMs: number) => {
    while ((await engine.maintenance.sweepChanges(nowMs, 2)) > 0) {
      // It goes on.
    }
  }
  await sweep(Date.now() - yearMs)
  expect(await kept()).toEqual(['', 'k30', 'k26', 'k25', 'k23', 'k1', 'ahead', 'now'])
  await sweep(Date.now() + yearMs)
  expect(await kept()).toEqual(['k25', 'k23', 'k1', 'ahead', 'now'])
  const read = { after: begun.seq, seen: begun, hash: undefined, withData: true, changesMax: 9 }
  expect(await engine.changes.read(table, read, Date.now())).toBeUndefined()
})

test('those who follow a table in the process that wrote are told before the answer', async () => {
  const engine = await open()
  const [fixture] = await makeLogs(engine, engine)
  const other = await makeTable(engine, fixture, 'other', 1)
  const { table, tenant } = fixture
  let toldSeq = 0
  const end = engine.changes.follow(table, (seq) => {
    toldSeq = Math.max(toldSeq, seq)
  })
  const writes: (() => Promise<unknown>)[] = [
    () => fixture.put('a'),
    () => fixture.remove('a'),
    () => engine.records.putAll(tenant.caller, table, [putOf(table, 'b')], false, Date.now()),
    () => {
      const parts = [table, other.table].map((one) => ({ table: one, records: [putOf(one, 'c')] }))
      return engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, Date.now())
    },
  ]
  let seq = (await engine.changes.head(table)).seq
  for (let n = 0; n < 40; n++) {
    await writes[n % writes.length]!()
    expect(toldSeq).toBe(++seq)
  }
  end()
})

// ── A hot table ────────────────────────────────────────────────────────────────────────────────────────────

const medianOf = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

// Writes of a log wait for each other. If each did so on a connection of its own, a hot table would have them all.
test('64 writers of a table that keeps changes have one connection, and leave the others to other tables', async () => {
  const engine = await open(proxy.urlOf(url), { poolSize: 4 })
  const [hot] = await makeLogs(engine, engine)
  const plain = await makeTable(engine, hot, 'plain')
  const other = await makeTable(engine, hot, 'calm')
  let isOver = false
  let writes = 0
  const writers = (fixture: Fixture) =>
    Array.from({ length: 64 }, async (_, i) => {
      for (let n = 0; !isOver; n++, writes++) await fixture.put(`w${i}`, { data: { n } }, Date.now())
    })
  const during = async (fixture: Fixture): Promise<number> => {
    isOver = false
    const running = writers(fixture)
    const times: number[] = []
    for (let n = 0; n < 60; n++) {
      const began = performance.now()
      await other.put(`k${n}`, {}, Date.now())
      times.push(performance.now() - began)
    }
    isOver = true
    await Promise.all(running)
    return medianOf(times)
  }
  // Once to warm up, then in turns.
  const [withLog, without]: [number[], number[]] = [[], []]
  for (let round = 0; round < 4; round++) {
    without.push(await during(plain))
    withLog.push(await during(hot))
  }
  const [slow, usual] = [medianOf(withLog.slice(1)), medianOf(without.slice(1))]
  console.log(`p50 of puts beside 64 writers: with a log ${slow.toFixed(1)} ms, without ${usual.toFixed(1)} ms`)
  expect(slow / usual).toBeLessThan(5)

  proxy.sent = []
  writes = 0
  isOver = false
  const running = writers(hot)
  await eventually('writes', () => (writes > 1_000 ? true : undefined))
  isOver = true
  await Promise.all(running)
  let [inFlight, inFlightMax, groups] = [0, 0, 0]
  for (const name of proxy.sent) {
    if (name === 'feed_lock') inFlightMax = Math.max(inFlightMax, ++inFlight)
    else if (name === 'commit') {
      inFlight--
      groups++
    }
  }
  console.log(`${writes} writes in ${groups} transactions`)
  expect([inFlight, inFlightMax]).toEqual([0, 1])
  // Those that wait are gathered.
  expect(writes / groups).toBeGreaterThan(4)
})

// ── A connection that breaks ───────────────────────────────────────────────────────────────────────────────

describe('the connection breaks in a write of the log: log and table say the same, whatever the outcome', () => {
  const steps = ['begin', 'feed_lock', 'record', 'change_add', 'feed_move', 'commit']
  const cases = steps.flatMap((step) => [false, true].map((applied) => [step, applied ? 'after' : 'before'] as const))

  test.each(cases)('at %s, %s it is executed', async (step, when) => {
    const engine = await open(proxy.urlOf(url), { poolSize: 2 })
    const [fixture] = await makeLogs(engine, engine)
    const other = await makeTable(engine, fixture, 'other', 1)
    const { table, tenant } = fixture
    const reader = await EngineFollower.begin(engine, table)
    await reader.drain()
    const outcomes: string[] = []
    const attempts: Record<string, () => Promise<unknown>> = {
      puts: () =>
        Promise.all(
          ['a', 'b', 'c'].map((key, n) => fixture.put(key, { data: { n: outcomes.length + n } }, Date.now())),
        ),
      batch: () => fixture.write([putOf(table, 'a', { data: { s: 1 } }), deleteOf('b')], Date.now()),
      load: () =>
        engine.records.putAll(tenant.caller, table, [putOf(table, 'b'), putOf(table, 'l')], false, Date.now()),
      'batch over tables': () => {
        const parts = [
          { table, records: [putOf(table, 'd')] },
          { table: other.table, records: [putOf(other.table, 'o')] },
        ]
        return engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, Date.now())
      },
    }
    let hits = 0
    for (const [name, attempt] of Object.entries(attempts)) {
      proxy.cut = {
        matches: ({ name: sent, text }) => {
          const isRecord = text.includes('cubby_record_8') && !text.includes('cubby_change')
          const isHit = step === 'record' ? isRecord : sent === step || (step === 'change_add' && sent.startsWith(step))
          if (isHit) hits++
          return isHit
        },
        applied: when === 'after',
      }
      const outcome = await attempt().then(
        () => 'applied',
        (error: unknown) => (error instanceof CubbyError ? error.code : String(error)),
      )
      proxy.cut = undefined
      outcomes.push(`${name}: ${outcome}`)
      expect(['applied', 'outcome_unknown', 'unavailable']).toContain(outcome)
      await fixture.put('e', {}, Date.now())
      await reader.drain()
      expect({ name, lines: reader.copy.lines(Date.now()) }).toEqual({
        name,
        lines: await tableLines(fixture, Date.now()),
      })
    }
    expect(reader.copy.faults).toEqual([])
    expect(hits).toBeGreaterThanOrEqual(2)
    // Until the pipeline with the COMMIT is sent, it is certain that nothing was applied, and the write is repeated.
    const isUnknown = ['change_add', 'feed_move', 'commit'].includes(step)
    expect({ outcomes, isUnknown: outcomes.some((one) => one.endsWith('unknown')) }).toEqual({ outcomes, isUnknown })
    const whole = await EngineFollower.begin(engine, table)
    await whole.drain()
    expect(whole.copy.lines(Date.now())).toEqual(reader.copy.lines(Date.now()))
    await expectSound(engine)
  })
})
