import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newTaskSecret } from '../src/core/tasks/task-secret.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import { fixtureThrough, makeFixture, putOf } from './conformance/fixture.ts'
import { declared } from './conformance/runs.ts'
import { expectSound } from './engine-conformance.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

// A batch locks the run that it finishes before its records, and a write of a followed table its record before the running run of
// that record. The lock of the table's counter comes before both.

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

const deadlocks = async (): Promise<number> => {
  const text = 'select deadlocks as n from pg_stat_database where datname = current_database()'
  return Number((await server.query(text, url))[0]!.n)
}

test('batches that finish a run and write its record never deadlock with other writes of it', async () => {
  const open = (): Promise<Engine> => openPostgresEngine({ url, leaseMs: 20, poolSize: 4 })
  const engines = await Promise.all(Array.from({ length: 4 }, open))
  const [first] = engines as [Engine]
  const fixture = await makeFixture(first)
  const { caller } = fixture.tenant
  const declaration = { ...declared, on: { table: 'orders', ops: ['put' as const] } }
  const whole = { ...declaration, keepsAuthorization: false, newSecret: newTaskSecret() }
  const result = await first.tasks.declare(caller, 'app', 'index', whole, undefined, Date.now())
  if (!result.applied) throw new Error(`the task was not declared: ${result.reason}`)
  const { task } = result
  const through = await Promise.all(engines.map((engine) => fixtureThrough(engine, fixture)))
  let batches = 0
  const work = async (engine: Engine, { table }: typeof fixture): Promise<void> => {
    while (batches < batchesWanted) {
      const [run] = await engine.runs.claim(caller, task, { limit: 1, leaseMs: undefined }, Date.now())
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
