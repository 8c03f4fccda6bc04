import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startScheduler } from '../src/background/scheduler.ts'
import { RunSignals } from '../src/core/tasks/run-signals.ts'
import { openPostgresEngine, type PostgresOptions } from '../src/engines/postgres/engine.ts'
import { Connection } from '../src/engines/sqlite/connection.ts'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import { type Backlog, countLooks, loadBacklog } from './conformance/backlogs.ts'
import { makeTenant } from './conformance/fixture.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// One organization with 10,000 schedules of every second, or 10,000 leases that expire at once, must not delay another one: the
// contract gives both a second. What is counted are looks, not times.

setDefaultTimeout(120_000)

const backlog = 10_000
/** The scheduler takes so many in a step. */
const stepRowsMax = 50

let server: PostgresServer
let dataDir = ''
let engine: Engine | undefined

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off' }, auth: 'password' })
}, 120_000)
afterAll(() => server.remove(), 60_000)

afterEach(async () => {
  await engine?.close()
  engine = undefined
  if (dataDir !== '') rmSync(dataDir, { recursive: true, force: true })
  dataDir = ''
})

type Load = (engine: Engine, backlog: Backlog) => Promise<number[]>

/** The first task is loaded, and the database copies it: loading takes a statement for each row. */
const loadCopies =
  (url: string): Load =>
  async (to, { count, ...one }) => {
    const [id] = await loadBacklog(to, { ...one, count: 1 })
    const task =
      'declaration, updated_at, paused, pushes, concurrency, keep_seconds, next_run_at, served_at, secrets, org_id'
    const run = `status, key, run_at, attempt, held, lease, lease_until, done_lease, created_at, updated_at, finished_at, error,
      progress, payload, result, org_id`
    const copies = `cross join generate_series(1, ${count - 1}) n where`
    await server.query(
      `insert into cubby_table_8 (id, org_id, db, name, indices, created_at, kind)
         select id + n, org_id, db, name || '-' || n, indices, created_at, kind from cubby_table_8 ${copies} id = ${id};
       insert into cubby_task_8 (table_id, ${task}) select table_id + n, ${task} from cubby_task_8 ${copies} table_id = ${id};
       insert into cubby_run_8 (seq, task_id, id, ${run}) select seq + n, task_id + n, id || n, ${run} from cubby_run_8
         ${copies} task_id = ${id}`,
      url,
    )
    return Array.from({ length: count }, (_, i) => id! + i)
  }

const openPostgres = async (dialect: PostgresOptions['dialect']): Promise<{ load: Load }> => {
  const url = await server.createDatabase()
  engine = await openPostgresEngine({ url, leaseMs: 20, dialect })
  return { load: loadCopies(url) }
}

/** Each opens `engine`. */
const engines = {
  async sqlite(): Promise<{ load: Load }> {
    dataDir = mkdtempSync(join(tmpdir(), 'cubby-backlogs-'))
    engine = await openSqliteEngine({ dataDir })
    return { load: loadBacklog }
  },
  postgres: () => openPostgres({}),
  'postgres, as on Citus': () => {
    const dialect = { pipelinesAreTransactions: false, guardsWrites: false, putsFromArrays: false }
    return openPostgres({ ...dialect, namesManyTables: false })
  },
}

/**
 * Counts the rows that the statements of this thread have returned: the looks are made here, the writes by another thread.
 */
const countRows = async (work: () => unknown): Promise<number> => {
  const { prepare } = Connection.prototype
  let rows = 0
  Connection.prototype.prepare = function (this: Connection, sql: string) {
    const statement = prepare.call(this, sql)
    return {
      run: () => statement.run(),
      get(...values: never[]) {
        const found = statement.get(...values)
        if (found !== null) rows++
        return found
      },
      all(...values: never[]) {
        const found = statement.all(...values)
        rows += found.length
        return found
      },
    } as never
  }
  try {
    await work()
  } finally {
    Connection.prototype.prepare = prepare
  }
  return rows
}

// The plans say that each row that is returned was found by one seek or step in an index: see engine-sqlite-tasks.test.ts, and for
// PostgreSQL engine-postgres-task-plans.test.ts.
describe('the rows that a look reads do not depend on how much one organization has due', () => {
  const rowsOf = async (count: number) => {
    await engines.sqlite()
    if (engine === undefined) throw new Error('not open')
    const [many, other] = [await makeTenant(engine), await makeTenant(engine, 'other')]
    const nowMs = Date.now()
    const push = { declaration: { url: 'https://example.com/' }, status: 'queued' as const }
    await loadBacklog(engine, { tenant: many, count, firstId: 1_000, sinceMs: nowMs - 60_000 })
    await loadBacklog(engine, { tenant: many, count, firstId: 20_000, sinceMs: nowMs - 60_000, ...push })
    await loadBacklog(engine, { tenant: other, count: 1, firstId: 50_000, sinceMs: nowMs })
    const pushed = await loadBacklog(engine, { tenant: other, count: 1, firstId: 50_001, sinceMs: nowMs, ...push })
    const { runs } = engine
    // The first look of a process also looks for what a clock that was set back has left, task by task.
    await runs.expireLeases(nowMs, 1)
    await runs.fireSchedules(nowMs, 1)
    const counts = {
      leases: await countRows(() => runs.expireLeases(nowMs, stepRowsMax)),
      schedules: await countRows(() => runs.fireSchedules(nowMs, stepRowsMax)),
      pushes: await countRows(async () => {
        const { tasks } = await runs.duePushes(nowMs)
        expect(tasks.slice(0, 2).map(({ id }) => id)).toContain(pushed[0]!)
      }),
    }
    await engine.close()
    engine = undefined
    rmSync(dataDir, { recursive: true, force: true })
    return counts
  }

  test('leases, schedules and pushes', async () => {
    const [few, many] = [await rowsOf(2_000), await rowsOf(backlog)]
    expect(many).toEqual(few)
    for (const rows of Object.values(many)) expect(rows).toBeLessThan(2_500)
  })
})

test.each(Object.entries(engines))(
  `%s: a schedule and a lease are in the first look behind ${backlog} of another organization`,
  async (_, open) => {
    const { load } = await open()
    const { runs } = engine!
    const nowMs = Date.now()
    const [many, other] = [await makeTenant(engine!), await makeTenant(engine!, 'other')]
    await load(engine!, { tenant: many, count: backlog, firstId: 1_000, sinceMs: nowMs - 60_000 })
    const at = { tenant: other, count: 1, sinceMs: nowMs }
    const first = await loadBacklog(engine!, { ...at, firstId: 50_000 })
    const fire = async () => (await runs.fireSchedules(Date.now(), stepRowsMax)).created
    expect(await countLooks(first, fire)).toBe(1)
    expect(await countLooks(first, () => runs.expireLeases(Date.now(), stepRowsMax))).toBe(1)

    // The same as the scheduler does it: both are among those that its first steps tell of.
    const [second] = await loadBacklog(engine!, { ...at, firstId: 60_000 })
    const told: number[] = []
    const twice = Promise.withResolvers<void>()
    const signals = new RunSignals()
    signals.listen((taskId) => {
      told.push(taskId)
      if (told.filter((id) => id === second).length === 2) twice.resolve()
    })
    const scheduler = startScheduler({ runs, firesSchedules: true, signals, now: Date.now, log: () => {} })
    await twice.promise
    await scheduler.stop()
    expect(told.lastIndexOf(second!)).toBeLessThan(2 * stepRowsMax)
  },
)
