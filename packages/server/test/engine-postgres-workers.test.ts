import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { CubbyError } from '../src/core/errors.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import { deleteOf, type Fixture, makeFixture, makeTenant, putOf, startMs } from './conformance/fixture.ts'
import { makeBench } from './conformance/runs.ts'
import { eventually, runCubby, startServer } from './harness.ts'
import { sumOf } from './metrics/exposition-rules.ts'
import { metricsOn, scrape } from './metrics/scraping.ts'
import { createCitus } from './postgres-citus.ts'
import { makeBucket } from './postgres-files.ts'
import { type Fault, type PostgresProxy, type ProxiedStatement, startPostgresProxy } from './postgres-proxy.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

// The coordinator of Citus loses its connection to a worker. The proxy answers with the errors that the coordinator then has.

setDefaultTimeout(120_000)

let server: SharedPostgres
let proxy: PostgresProxy
let plainUrl = ''
let citusUrl = ''
const opened: Engine[] = []

beforeAll(async () => {
  server = await sharedPostgres()
  plainUrl = await server.createDatabase()
  citusUrl = await createCitus(server)
  proxy = await startPostgresProxy(server.port)
}, 120_000)

afterEach(() => heal())

afterAll(async () => {
  await Promise.all(opened.map((engine) => engine.close()))
  await proxy.close()
  await server.remove()
}, 120_000)

const open = async (url: string): Promise<Engine> => {
  const engine = await openPostgresEngine({ url, leaseMs: 1_000, sweepClock: 'caller' })
  opened.push(engine)
  return engine
}

const fail = (matches: (statement: ProxiedStatement) => boolean, fault: Omit<Fault, 'matches'>): void => {
  proxy.sent = []
  proxy.failed = 0
  proxy.fault = { matches, ...fault }
}

const heal = (): void => {
  proxy.fault = undefined
}

let tenants = 0
const tenantOf = (engine: Engine) => makeTenant(engine, `org-${++tenants}`)

/** The code of a failure, or the value. */
const codeOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.catch((error: unknown) => (error instanceof CubbyError ? error.code : String(error)))

const broken = 'connection to the remote node cubby@worker-1:5432 failed with the following error: '
/** SQLSTATE and text of errors after which a worker may have committed. */
const lost: [sqlState: string, message: string][] = [
  ['08006', `${broken}server closed the connection unexpectedly`],
  ['08003', 'connection not open'],
  ['57P01', 'terminating connection due to administrator command'],
  ['XX000', 'could not commit transaction for shard 102008 on at least one active node'],
  ['XX000', 'server closed the connection unexpectedly'],
  ['XX000', 'terminating connection because the postmaster was shut down'],
]
/** This also happens when the coordinator no longer waited for the worker. */
const unsure = [...lost, ['57014', 'canceling statement due to statement timeout'] as const]
/** The same states when no connection was made. */
const refused: [sqlState: string, message: string][] = [
  ['08006', `${broken}connection to server at "worker-1", port 5432 failed: Connection refused`],
  ['57P03', 'the database system is starting up'],
  ['08006', `${broken}FATAL:  the database system is shutting down`],
]

type Named = Pick<ProxiedStatement, 'name'>
const isWrite = ({ name }: Named): boolean => /^(put|delete)_/.test(name)
const isCommit = ({ name }: Named): boolean => name === 'commit'
const isGet = ({ name }: Named): boolean => name === 'get'

/** Everything that is written to a distributed table, each prepared before the worker is lost. */
const writes: Record<string, (engine: Engine) => Promise<() => Promise<unknown>>> = {
  async 'a put'(engine) {
    const { put } = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    return () => put('k')
  },
  async 'a put with If-Match'(engine) {
    const { put } = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    const version = await put('k')
    return () => put('k', { condition: { version } })
  },
  async 'a delete'(engine) {
    const { put, remove } = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    await put('k')
    return () => remove('k')
  },
  async 'a batch of puts'(engine) {
    const { write, table } = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    return () => write([putOf(table, 'a', { condition: 'absent' }), putOf(table, 'b')])
  },
  async 'a batch with a delete'(engine) {
    const { put, write, table } = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    await put('a')
    return () => write([deleteOf('a'), putOf(table, 'b')])
  },
  async 'the begin of an upload'(engine) {
    const { begin } = await makeBucket(engine, await tenantOf(engine))
    return () => begin()
  },
  async 'the commit of a file'(engine) {
    const { begin, commit } = await makeBucket(engine, await tenantOf(engine))
    const blob = await begin()
    return () => commit('f', blob)
  },
  async 'the change of a file'(engine) {
    const tenant = await tenantOf(engine)
    const { bucket, putFile } = await makeBucket(engine, tenant)
    await putFile('f')
    return () => engine.files.change(tenant.caller, bucket, 'f', { visibility: 'public' }, undefined, startMs)
  },
  async 'the removal of a file'(engine) {
    const tenant = await tenantOf(engine)
    const { bucket, putFile } = await makeBucket(engine, tenant)
    await putFile('f')
    return () => engine.files.remove(tenant.caller, bucket, 'f', undefined, startMs)
  },
  async 'a new run'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    return () => bench.add()
  },
  async 'a new run with a key'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    return () => bench.add({ key: 'k' })
  },
  async 'a claim'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    await bench.add()
    return () => bench.claim()
  },
  async 'an extension of a lease'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    await bench.add()
    const [run] = await bench.claim()
    return () => bench.extend(run!, 60_000)
  },
  async 'a finish'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    await bench.add()
    const [run] = await bench.claim()
    return () => bench.finish(run!)
  },
  async 'a cancel'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    const run = await bench.add()
    return () => bench.cancel(run)
  },
  async 'a retry'(engine) {
    const bench = await makeBench(engine, {}, { tenant: await tenantOf(engine) })
    const run = await bench.add()
    await bench.cancel(run)
    return () => bench.retry(run)
  },
  async 'a batch of records and runs'(engine) {
    const tenant = await tenantOf(engine)
    const { table } = await makeFixture(engine, {}, { tenant })
    const { task } = await makeBench(engine, {}, { tenant })
    const run = { id: 'one', isNamed: true, key: null, payload: '{}', at: { delayMs: 0 } }
    return () =>
      engine.runs.applyBatch(
        tenant.caller,
        { parts: [{ table, records: [putOf(table, 'k')] }], tasks: [{ op: 'run', task, run }] },
        Date.now(),
      )
  },
}

/** Single statements commit by themselves; everything else with a COMMIT. */
const isLastStep = (statement: Named): boolean =>
  isWrite(statement) || isCommit(statement) || statement.name === 'blob_insert'

describe('as on Citus, a worker is lost at the last step of', () => {
  for (const [what, prepare] of Object.entries(writes)) {
    test(`${what}: the outcome is unknown, and nothing is repeated`, async () => {
      const engine = await open(proxy.urlOf(citusUrl))
      for (const [sqlState, message] of unsure) {
        const write = await prepare(engine)
        fail(isLastStep, { sqlState, message, applied: true, timesMax: 1 })
        expect([sqlState, message, await codeOf(write())]).toEqual([sqlState, message, 'outcome_unknown'])
        expect(proxy.failed).toBe(1)
        expect(proxy.sent.filter((name) => isLastStep({ name }))).toHaveLength(1)
        heal()
      }
    })
  }
})

describe('as on Citus', () => {
  const openFixture = async (): Promise<Fixture> => {
    const engine = await open(proxy.urlOf(citusUrl))
    return makeFixture(engine, {}, { tenant: await tenantOf(engine) })
  }

  test('what a worker had committed is there, although it was answered with an error', async () => {
    const { put, remove, get } = await openFixture()
    const version = await put('k')
    const [sqlState, message] = lost[0]!
    fail(isWrite, { sqlState, message, applied: true, timesMax: 1 })
    expect(await codeOf(put('k', { data: { n: 1 }, condition: { version } }))).toBe('outcome_unknown')
    expect((await get('k'))?.data).toBe('{"n":1}')
    fail(isWrite, { sqlState, message, applied: true, timesMax: 1 })
    expect(await codeOf(remove('k'))).toBe('outcome_unknown')
    expect(await get('k')).toBeUndefined()
  })

  test('a write that reached no worker is repeated, and is 503 if that does not help', async () => {
    const { put, write, table, get } = await openFixture()
    for (const [sqlState, message] of refused) {
      for (const isSingle of [true, false]) {
        const attempt = () =>
          isSingle ? put('k') : write([putOf(table, 'a'), putOf(table, 'b')]).then(({ applied }) => applied)
        const matches = ({ name }: ProxiedStatement) => isWrite({ name }) || name.startsWith('batch_put')
        fail(matches, { sqlState, message, applied: false, timesMax: 1 })
        expect(await codeOf(attempt())).not.toBeString()
        expect(proxy.failed).toBe(1)
        fail(matches, { sqlState, message, applied: false })
        expect(await codeOf(attempt())).toBe('unavailable')
        heal()
      }
    }
    expect(await get('k')).toBeDefined()
  })

  test('a statement before the last one has written nothing: the transaction is repeated', async () => {
    const { write, table, get } = await openFixture()
    for (const [sqlState, message] of lost) {
      const matches = ({ name }: ProxiedStatement) => name.startsWith('batch_put')
      fail(matches, { sqlState, message, applied: false, timesMax: 1 })
      expect(await codeOf(write([putOf(table, 'a'), putOf(table, 'b')]))).toMatchObject({ applied: true })
      expect(proxy.failed).toBe(1)
      fail(matches, { sqlState, message, applied: false })
      expect(await codeOf(write([putOf(table, 'a'), putOf(table, 'c')]))).toBe('unavailable')
      heal()
      expect(await get('c')).toBeUndefined()
    }
  })

  test('reads are repeated, and are 503 if that does not help', async () => {
    const { put, get } = await openFixture()
    await put('k', { data: { n: 1 } })
    for (const [sqlState, message] of [...lost, ...refused]) {
      fail(isGet, { sqlState, message, applied: false, timesMax: 1 })
      expect(await codeOf(get('k'))).toMatchObject({ data: '{"n":1}' })
      expect(proxy.failed).toBe(1)
      fail(isGet, { sqlState, message, applied: false })
      expect(await codeOf(get('k'))).toBe('unavailable')
      heal()
    }
  })
})

/** True if a statement needs the worker of one of these tables and tasks, also if it spans all workers. */
const needsWorkerOf = ({ text, values }: ProxiedStatement, lostIds: number[]): boolean => {
  if (!/\bcubby_((record|blob|run)_8|idempotency_key)\b/.test(text)) return false
  const ids = lostIds.map(String)
  if (/^\s*insert into/.test(text)) return values.slice(0, 2).some((value) => ids.includes(value ?? ''))
  const places = [...text.matchAll(/\b(?:table|task|scope)_id = \$(\d+)/g)].map(([, place]) => Number(place))
  return places.length === 0 || places.some((place) => ids.includes(values[place - 1] ?? ''))
}

const loseWorkerOf = (...ids: number[]): void => {
  const [sqlState, message] = refused[0]!
  fail((statement) => needsWorkerOf(statement, ids), { sqlState, message, applied: false })
}

describe('as on Citus, while a worker is lost', () => {
  const schedule = { every: 60, payload: '{}' }

  /** An engine on a store of its own, and a tenant there. */
  const openAlone = async () => {
    const url = await createCitus(server)
    const engine = await open(proxy.urlOf(url))
    return { url, engine, tenant: await tenantOf(engine) }
  }

  test('schedules of other workers create their runs; those of the lost one when it is back', async () => {
    const { url, engine, tenant } = await openAlone()
    const lostOnes = []
    for (let i = 0; i < 12; i++) lostOnes.push(await makeBench(engine, { schedule }, { tenant, name: `lost-${i}` }))
    const other = await makeBench(engine, { schedule }, { tenant, name: 'other' })
    const later = Date.now() + 90_000
    loseWorkerOf(...lostOnes.map(({ task }) => task.id))
    // The lost ones have been due longer, and fill the first steps.
    const fired = []
    for (let i = 0; i < 3; i++) fired.push(await engine.runs.fireSchedules(later, 5))
    expect(fired.flatMap(({ created }) => created.map(({ taskId }) => taskId))).toEqual([other.task.id])
    heal()
    const after = await open(proxy.urlOf(url))
    const { created } = await after.runs.fireSchedules(later, 50)
    expect(created.map(({ taskId }) => taskId).sort()).toEqual(lostOnes.map(({ task }) => task.id).sort())
  })

  test('leases of other workers expire: a look asks at most 200 tasks', async () => {
    const { engine, tenant } = await openAlone()
    const names = Array.from({ length: 230 }, (_, i) => `task-${i}`)
    const benches = []
    for (const name of names) benches.push(await makeBench(engine, {}, { tenant, name }))
    const [first, last] = [benches[0]!, benches.at(-1)!]
    for (const bench of [first, last]) {
      await bench.add()
      await bench.claim(1, 1_000)
    }
    loseWorkerOf(first.task.id)
    const later = Date.now() + 60_000
    // Two looks ask all of them, unless the machine is busy: then a look ends early.
    const expired = await eventually('the expired lease', async () => {
      proxy.sent = []
      const found = await engine.runs.expireLeases(later, 50)
      // A read that fails is tried on three connections.
      expect(proxy.sent.filter((name) => name === 'run_find_expired').length).toBeLessThanOrEqual(200 + 2)
      return found.length > 0 ? found : undefined
    })
    expect(expired.map(({ taskId }) => taskId)).toEqual([last.task.id])
    heal()
    const found = await engine.runs.expireLeases(later, 50)
    expect(found.map(({ taskId }) => taskId)).toEqual([first.task.id])
  })

  test('pushes of other workers are found', async () => {
    const { engine, tenant } = await openAlone()
    const url = 'https://example.com/'
    const lostOne = await makeBench(engine, { url, concurrency: 1 }, { tenant, name: 'lost' })
    const other = await makeBench(engine, { url, concurrency: 1 }, { tenant, name: 'other' })
    for (const bench of [lostOne, other]) await bench.add()
    const due = async () => (await engine.runs.duePushes(Date.now() + 1_000)).tasks.map(({ name }) => name)
    expect(await due()).toEqual(['lost', 'other'])
    loseWorkerOf(lostOne.task.id)
    expect(await due()).toEqual(['other'])
    expect((await engine.runs.claimPushes(other.task, 1, Date.now() + 1_000))?.runs).toHaveLength(1)
  })

  test('waits for runs of other workers end', async () => {
    const { engine, tenant } = await openAlone()
    const lostOne = await makeBench(engine, {}, { tenant, name: 'lost' })
    const other = await makeBench(engine, {}, { tenant, name: 'other' })
    const references = []
    for (const { task, add, cancel } of [lostOne, other]) {
      const run = await add()
      await add()
      await cancel(run)
      references.push({ taskId: task.id, id: run.id })
    }
    const ids = [lostOne.task.id, other.task.id]
    expect(await engine.runs.finishedAmong(references, Date.now())).toEqual(references)
    expect(await engine.runs.dueAmong(ids, Date.now() + 1_000)).toEqual(ids)
    loseWorkerOf(lostOne.task.id)
    expect(await engine.runs.finishedAmong(references, Date.now())).toEqual(references.slice(1))
    expect(await engine.runs.dueAmong(ids, Date.now() + 1_000)).toEqual(ids.slice(1))
  })

  test('sweeps and purges of other workers go on', async () => {
    const { url, engine, tenant } = await openAlone()
    const fixtures = [
      await makeFixture(engine, {}, { tenant, name: 'lost' }),
      await makeFixture(engine, {}, { tenant, name: 'other' }),
    ]
    const benches = [
      await makeBench(engine, {}, { tenant, name: 'lost' }),
      await makeBench(engine, {}, { tenant, name: 'other' }),
    ]
    for (const { put } of fixtures) await put('k', { ttlSeconds: startMs / 1000 - 10 })
    for (const { add, cancel } of benches) await cancel(await add())
    for (const { table } of fixtures) await engine.tables.delete(tenant.caller, 'app', table.name, startMs)
    loseWorkerOf(fixtures[0]!.table.id, benches[0]!.task.id)
    const later = Date.now() + 30 * 86_400_000
    expect(await engine.maintenance.sweepExpired(startMs + 600_000, 50)).toBe(1)
    expect(await engine.runs.sweepFinished(later, 50)).toBe(1)
    const purged = []
    for (let i = 0; i < 2; i++) purged.push(await engine.maintenance.purgeTables(later, 50))
    expect(purged).toEqual([1, 1])
    expect(await engine.maintenance.purgeTables(later, 50)).toBe(0)
    expect(await server.query('select name from cubby_table_8 order by id', url)).toEqual([
      { name: 'lost' },
      { name: 'lost' },
      { name: 'other' },
    ])
    expect(await server.query('select count(*)::int as count from cubby_record_8', url)).toEqual([{ count: 1 }])
    expect(await server.query('select count(*)::int as count from cubby_run_8', url)).toEqual([{ count: 1 }])
  })

  test('tasks are listed, the server is ready, and a metric and a line of the log say that a part is lost', async () => {
    const url = await createCitus(server)
    const serving = await startServer({ args: ['--store', proxy.urlOf(url), ...metricsOn] })
    try {
      const made = await runCubby(['orgs', 'create', 'acme', '--store', url, '--json'])
      const api = serving.as(JSON.parse(made.stdout).secretKey)
      for (const name of ['lost', 'other']) {
        expect((await api.put(`/v1/app/_tasks/${name}`, { attempts: 1 })).status).toBe(201)
        expect((await api.post(`/v1/app/_tasks/${name}/run`, {})).status).toBe(201)
      }
      const [row] = (await server.query(`select id::int from cubby_table_8 where name = 'lost'`, url)) as [
        { id: number },
      ]
      const lossOf = async () => sumOf(await scrape(serving), 'cubby_postgres_part_lost')
      const lines = (text: string) => serving.log.filter(({ message }) => message.startsWith(text))
      await eventually('a look at all runs', async () => ((await lossOf()) === 0 ? true : undefined))
      loseWorkerOf(row.id)
      await eventually('a look that fails', async () => ((await lossOf()) === 1 ? true : undefined))
      const { status, body } = await api.get('/v1/app/_tasks')
      expect(status).toBe(200)
      const tasks = body.tasks as { task: string; oldestRunAt: number | null }[]
      expect(tasks.map(({ task, oldestRunAt }) => [task, oldestRunAt === null])).toEqual([
        ['lost', true],
        ['other', false],
      ])
      expect((await api.get('/v1/app/_tasks/lost')).status).toBe(503)
      expect((await api.get('/v1/app/_tasks/other')).status).toBe(200)
      expect((await fetch(`${serving.url}/readyz`)).status).toBe(200)
      expect(lines('a part of the database cannot be reached')).toHaveLength(1)
      heal()
      await eventually('a look at all runs', async () => ((await lossOf()) === 0 ? true : undefined))
      expect(lines('all parts of the database can be reached again')).toHaveLength(1)
      expect((await api.get('/v1/app/_tasks/lost')).status).toBe(200)
    } finally {
      await serving.stop()
    }
  })
})

describe('on PostgreSQL itself', () => {
  test('an error of the server before the commit means that nothing was applied: the write is repeated', async () => {
    const engine = await open(proxy.urlOf(plainUrl))
    const { put, get } = await makeFixture(engine, {}, { tenant: await tenantOf(engine) })
    const version = await put('k')
    fail(isWrite, { sqlState: '57P01', message: lost[2]![1], applied: false, timesMax: 1 })
    expect(await put('k', { condition: { version } })).toBe(version + 1)
    fail(isWrite, { sqlState: '57P01', message: lost[2]![1], applied: false })
    expect(await codeOf(put('k', { data: { n: 1 } }))).toBe('unavailable')
    fail(isWrite, { sqlState: 'XX000', message: lost[4]![1], applied: false })
    expect(await codeOf(put('k', { data: { n: 1 } }))).toStartWith('Error: PostgreSQL refused a statement: XX000')
    heal()
    expect((await get('k'))?.data).toBe('{}')
  })
})
