import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import { EngineFollower, tableLines } from './changes/engine-follower.ts'
import { deleteOf, type Fixture, fixtureOf, makeTenant, putOf } from './conformance/fixture.ts'
import { expectSound } from './engine-conformance.ts'
import { makeTempDir, removeTempDir } from './harness.ts'

// The writer numbers the entries of logs in memory. What it remembers must be what is committed: a number that was given out in a
// transaction that was rolled back would be a gap, which readers take for damage.

let dir: string
let engine: Engine
let log: Fixture

beforeEach(async () => {
  dir = makeTempDir()
  engine = await openSqliteEngine({ dataDir: dir })
  const tenant = await makeTenant(engine)
  const { table } = await engine.tables.create(tenant.caller, 'app', 'orders', {}, Date.now(), 24)
  log = fixtureOf(engine, tenant, table)
})

afterEach(async () => {
  await engine.close()
  removeTempDir(dir)
})

const outcomes = (writes: Promise<unknown>[]): Promise<string[]> =>
  Promise.all(
    writes.map((write) =>
      write.then(
        () => 'applied',
        ({ code }) => code,
      ),
    ),
  )

test('a commit that is rolled back leaves no gap in the log, and tells nobody', async () => {
  const db = new Database(join(dir, 'cubby.db'))
  db.run(`CREATE TRIGGER fault BEFORE INSERT ON records WHEN NEW.hash_key = CAST('fault' AS BLOB)
    BEGIN SELECT RAISE(ABORT, 'a fault'); END`)
  const reader = await EngineFollower.begin(engine, log.table)
  reader.follow()
  const write = (...names: string[]) => log.write([...names.map((name) => putOf(log.table, name)), deleteOf('gone')])
  for (let round = 0; round < 5; round++) {
    // They share a commit, and each gets one of its own when that has failed.
    const writes = [write(`a${round}`), write('half', 'fault', 'never'), write('gone', 'b'), write('fault'), write('c')]
    expect(await outcomes(writes)).toEqual(['applied', 'internal', 'applied', 'internal', 'applied'])
    expect(await outcomes([write('fault')])).toEqual(['internal'])
  }
  await reader.end()
  expect([reader.copy.faults, reader.copy.lines(Date.now())]).toEqual([[], await tableLines(log, Date.now())])
  expect(reader.copy.records.size).toBe(7)
  db.run('DROP TRIGGER fault')
  db.close()
  await write('fault')
  await expectSound(engine)
})
