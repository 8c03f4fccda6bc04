import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Background } from '../src/background/paced-steps.ts'
import { startSweeps } from '../src/background/sweeps.ts'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import { type Fixture, fixtureOf, makeFixture, startMs, startSeconds } from './conformance/fixture.ts'
import { eventually } from './harness.ts'

// A clock that jumps while the server runs. What seems to have expired must be there once the clock is set right.

const dayMs = 24 * 60 * 60 * 1000

let dataDir = ''
let engine: Engine
let fixture: Fixture
let sweeps: Background
let warnings: string[] = []
/** The offset of the clock, and how often it was asked. */
let aheadMs = 0
let asked = 0

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'cubby-sweeps-'))
  engine = await openSqliteEngine({ dataDir })
  fixture = await makeFixture(engine)
  await fixture.put('brief', { ttlSeconds: startSeconds + 60 })
  aheadMs = 0
  warnings = []
})

afterEach(async () => {
  await sweeps.stop()
  await engine.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const start = (jumpHoldMs: number): void => {
  const now = () => {
    asked++
    return startMs + aheadMs
  }
  const log = (level: string, message: string) => void warnings.push(`${level}: ${message}`)
  sweeps = startSweeps({ maintenance: engine.maintenance, runs: engine.runs, now, log, jumpHoldMs, everyMs: 1 })
}

const untilSwept = (): Promise<true> => {
  const before = asked
  return eventually('several sweeps', () => (asked > before + 20 ? true : undefined))
}

test('is not believed for a while: set back, it has destroyed nothing', async () => {
  const other = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'deleted' })
  await other.put('a')
  await engine.tables.delete(fixture.tenant.caller, 'app', 'deleted', startMs)
  start(dayMs)
  await untilSwept()
  aheadMs = 8 * dayMs
  await untilSwept()
  expect(await fixture.get('brief', undefined, startMs + aheadMs)).toBeUndefined()
  aheadMs = 0
  await untilSwept()
  expect(await fixture.get('brief')).toBeDefined()
  const restored = await engine.tables.restore(fixture.tenant.caller, 'app', 'deleted', undefined, startMs)
  expect(restored.outcome).toBe('restored')
  expect(await other.get('a')).toBeDefined()
  expect(warnings).toEqual(['warn: the clock jumped ahead; sweeps ignore it for now'])
  // The next jump is a new one.
  aheadMs = dayMs
  await untilSwept()
  expect(await fixture.get('brief')).toBeDefined()
  expect(warnings).toHaveLength(2)
})

test('a jump of a year removes no change that was promised to be kept', async () => {
  const { caller } = fixture.tenant
  const { table } = await engine.tables.create(caller, 'app', 'followed', {}, startMs, 1)
  const followed = fixtureOf(engine, fixture.tenant, table)
  const first = await engine.changes.head(table)
  const changes = async () => {
    const request = { after: first.seq, seen: first, hash: undefined, withData: false, changesMax: 100 }
    return (await engine.changes.read(table, request, startMs))?.changes.length
  }
  for (let n = 0; n < 10; n++) await followed.put(`k${n}`)
  start(dayMs)
  await untilSwept()
  aheadMs = 365 * dayMs
  for (let n = 10; n < 15; n++) await followed.put(`k${n}`, {}, startMs + aheadMs)
  await untilSwept()
  aheadMs = 0
  for (let n = 15; n < 20; n++) await followed.put(`k${n}`)
  await untilSwept()
  expect(await changes()).toBe(20)
})

test('is believed when it has stayed there, as after a sleep of the machine', async () => {
  start(100)
  await untilSwept()
  aheadMs = dayMs
  await eventually('the record swept', async () => ((await fixture.get('brief')) === undefined ? true : undefined))
  expect(warnings).toHaveLength(1)
})
