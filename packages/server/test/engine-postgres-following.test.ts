import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import { newTaskSecret } from '../src/core/tasks/task-secret.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { holdKeys } from '../src/engines/postgres/runs/statements.ts'
import type { Engine } from '../src/store/engine.ts'
import { type Fixture, fixtureOf, fixtureThrough, makeFixture, putOf } from './conformance/fixture.ts'
import { declared } from './conformance/runs.ts'
import { expectSound } from './engine-conformance.ts'
import { eventually } from './harness.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

// The runs of a record are changed by whoever writes the record and by whoever finishes its run, in any process.

setDefaultTimeout(120_000)

const keys = ['a', 'b']
const batchesWanted = 100

let server: SharedPostgres
let url: string
beforeAll(async () => {
  server = await sharedPostgres()
  url = await server.createDatabase()
}, 120_000)
afterAll(() => server.remove(), 60_000)
afterEach(() => server.empty(url))

const open = (): Promise<Engine> => openPostgresEngine({ url, leaseMs: 20, poolSize: 4 })

const declareOn = async (engine: Engine, { tenant }: Fixture, table: string, name: string) => {
  const declaration = { ...declared, on: { table, ops: ['put' as const] } }
  const whole = { ...declaration, keepsAuthorization: false, newSecret: newTaskSecret() }
  const result = await engine.tasks.declare(tenant.caller, 'app', name, whole, undefined, Date.now())
  if (!result.applied) throw new Error(`the task was not declared: ${result.reason}`)
  return result.task
}

/** A table, and a task that follows it. */
const makeFollowed = async (engine: Engine) => {
  const fixture = await makeFixture(engine)
  const { caller } = fixture.tenant
  const task = await declareOn(engine, fixture, 'orders', 'index')
  const claim = (from: Engine) => from.runs.claim(caller, task, { limit: 1, leaseMs: undefined }, Date.now())
  return { fixture, caller, task, claim }
}

/** What a finish writes. */
const end = `update cubby_run_8 set status = 'succeeded', done_lease = lease, lease = null, lease_until = null,
  finished_at = updated_at + 1, updated_at = updated_at + 1 where task_id = $1 and id = $2`

const untilWaiting = (what: string) =>
  eventually(what, async () => {
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await server.query(waiting, url)).length > 0 ? true : undefined
  })

const deadlocks = async (): Promise<number> => {
  const text = 'select deadlocks as n from pg_stat_database where datname = current_database()'
  return Number((await server.query(text, url))[0]!.n)
}

// A batch locks the run that it finishes before its records, and a write its record before the running run of that record. The
// lock of the table's counter comes before both.
test('batches that finish a run and write its record never deadlock with other writes of it', async () => {
  const engines = await Promise.all(Array.from({ length: 4 }, open))
  const [first] = engines as [Engine]
  const { fixture, caller, task, claim } = await makeFollowed(first)
  const through = await Promise.all(engines.map((engine) => fixtureThrough(engine, fixture)))
  let batches = 0
  const work = async (engine: Engine, { table }: typeof fixture): Promise<void> => {
    while (batches < batchesWanted) {
      const [run] = await claim(engine)
      if (run === undefined) continue
      const records = [putOf(table, JSON.parse(run.payload).hashKey)]
      const finish = { lease: run.lease!, result: null }
      const batch = { parts: [{ table, records }], tasks: [{ op: 'finish' as const, task, id: run.id, finish }] }
      expect(await engine.runs.applyBatch(caller, batch, Date.now())).toMatchObject({ applied: true })
      batches++
    }
  }
  const write = async ({ put }: typeof fixture): Promise<void> => {
    for (let n = 0; batches < batchesWanted; n++) await put(keys[n % keys.length]!, {}, Date.now())
  }
  await Promise.all(through.map((each, i) => (i % 2 === 0 ? work(engines[i]!, each) : write(each))))
  await expectSound(first)
  // The statistics of a session are there when it has ended.
  await Promise.all(engines.map((engine) => engine.close()))
  expect(await deadlocks()).toBe(0)
})

// The worker of each table finishes its run and writes the record of the other table, which adds a run for the other worker.
test('workers that keep two tables alike, in both directions, never deadlock', async () => {
  const engines = await Promise.all(Array.from({ length: 4 }, open))
  const [first] = engines as [Engine]
  const { fixture, caller, task } = await makeFollowed(first)
  const { table } = await first.tables.create(caller, 'app', 'mirror', {}, Date.now())
  const mirror = fixtureOf(first, fixture.tenant, table)
  const tasks = [task, await declareOn(first, mirror, 'mirror', 'back')]
  for (const key of keys) for (const one of [fixture, mirror]) await one.put(key, {}, Date.now())
  let batches = 0
  const work = async (engine: Engine, from: number): Promise<void> => {
    const target = (await fixtureThrough(engine, [mirror, fixture][from]!)).table
    while (batches < batchesWanted) {
      const [run] = await engine.runs.claim(caller, tasks[from]!, { limit: 1, leaseMs: undefined }, Date.now())
      if (run === undefined) continue
      const parts = [{ table: target, records: [putOf(target, JSON.parse(run.payload).hashKey)] }]
      const finish = { lease: run.lease!, result: null }
      const batch = { parts, tasks: [{ op: 'finish' as const, task: tasks[from]!, id: run.id, finish }] }
      expect(await engine.runs.applyBatch(caller, batch, Date.now())).toMatchObject({ applied: true })
      batches++
    }
  }
  await Promise.all(engines.map((engine, i) => work(engine, i % 2)))
  await expectSound(first)
  await Promise.all(engines.map((engine) => engine.close()))
  expect(await deadlocks()).toBe(0)
})

test('the run of a write that meets the end of the running one waits for nobody', async () => {
  const engine = await open()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { fixture, task, claim } = await makeFollowed(engine)
    await fixture.put('a', {}, Date.now())
    const [running] = await claim(engine)
    // Another process finishes it, and has not committed yet.
    await client.query('begin')
    expect((await client.query(end, [task.id, running!.id])).rowCount).toBe(1)
    const writing = fixture.put('a', {}, Date.now())
    await untilWaiting('the write waits for the running run')
    await client.query('commit')
    await writing
    expect((await claim(engine)).map(({ key }) => key)).toEqual(['["a"]'])
    await expectSound(engine)
  } finally {
    await client.end()
    await engine.close()
  }
})

// A run that is claimed and finished between two statements of the write: the last one waits for its end, and sees a running run that
// is none any more.
test('a new run is not held by one that ends while it is added', async () => {
  const engine = await open()
  const clients = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })] as const
  const [finishing, adding] = clients
  for (const client of clients) await client.connect()
  try {
    const { fixture, task, claim } = await makeFollowed(engine)
    await fixture.put('a', {}, Date.now())
    const [running] = await claim(engine)
    await finishing.query('begin')
    await finishing.query(end, [task.id, running!.id])
    await adding.query('begin')
    const add = `insert into cubby_run_8 (seq, task_id, id, status, key, run_at, attempt, held, created_at, updated_at, payload)
      select seq + 1, task_id, 'new', 'queued', key, run_at, 0, false, created_at, updated_at, payload from cubby_run_8 where id = $1`
    await adding.query(add, [running!.id])
    const holding = adding.query(holdKeys.text, [task.id, [Buffer.from(running!.key!)]])
    await untilWaiting('it waits for the running run')
    await finishing.query('commit')
    await holding
    await adding.query('commit')
    expect((await claim(engine)).map(({ id }) => id)).toEqual(['new'])
  } finally {
    for (const client of clients) await client.end()
    await engine.close()
  }
})
