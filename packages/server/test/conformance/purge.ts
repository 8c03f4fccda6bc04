import { expect } from 'bun:test'
import { type SweepOptions, startSweeps } from '../../src/background/sweeps.ts'
import { recoveryMs, sweepGraceMs, sweepRowsMax } from '../../src/core/limits.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import {
  type Fixture,
  fill,
  fixtureOf,
  indexScan,
  makeFixture,
  makeTenant,
  numbered,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

const indices = { i1: { hashField: 's' } }
const deadline = startMs + recoveryMs + sweepGraceMs

const fillWith = (fixture: Fixture, count: number): Promise<void> =>
  fill(
    fixture,
    numbered(count).map((name) => putOf(fixture.table, name, { data: { s: 'x' } })),
  )

/** Steps until there is nothing left to do; how many it took. */
const purgeAll = async (engine: Engine, nowMs: number, rowsMax: number): Promise<number> => {
  for (let steps = 0; steps < 1_000; steps++) {
    if ((await engine.maintenance.purgeTables(nowMs, rowsMax)) === 0) return steps
  }
  throw new Error('The purge has no end.')
}

const rowsOf = async (engine: Engine, ...fixtures: Fixture[]): Promise<number> => {
  const dump = await engine.transfer.openDump()
  try {
    let rows = 0
    for (const { table } of fixtures) rows += await dump.countRecords(table.id)
    return rows
  } finally {
    await dump.close()
  }
}

export const purgeCases = (it: Case): void => {
  // The writes of a whole commit wait for a step: one that removes a table at once stops the store for seconds.
  it('sweeps: a step removes sweepRowsMax rows and no more, of expired records and of deleted tables', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine, indices)
    const expired = await makeFixture(engine, indices, { tenant: fixture.tenant, name: 'expired' })
    const count = 2 * sweepRowsMax + 10
    await fillWith(fixture, count)
    await fill(
      expired,
      numbered(count).map((name) => putOf(expired.table, name, { data: { s: 'x' }, ttlSeconds: startSeconds + 1 })),
    )
    await engine.tables.delete(fixture.tenant.caller, 'app', fixture.table.name, startMs)
    const removed = { expired: [] as number[], purged: [] as number[] }
    const done = Promise.withResolvers<void>()
    /** The engine as sweeps see it, with the rows counted around each step. */
    const counting = async (into: number[], step: () => Promise<number>): Promise<number> => {
      const before = await rowsOf(engine, fixture, expired)
      const answered = await step()
      into.push(before - (await rowsOf(engine, fixture, expired)))
      return answered
    }
    const watched = {
      sweepExpired: (nowMs, rowsMax) =>
        counting(removed.expired, () => engine.maintenance.sweepExpired(nowMs, rowsMax)),
      async purgeTables(nowMs, rowsMax) {
        const answered = await counting(removed.purged, () => engine.maintenance.purgeTables(nowMs, rowsMax))
        if (answered === 0) done.resolve()
        return answered
      },
      purgeOrganizations: async () => 0,
      sweepIdempotencyKeys: async () => 0,
      sweepChanges: async () => 0,
      sweepRevocations: async () => 0,
    } satisfies SweepOptions['maintenance']
    const sweeps = startSweeps({
      maintenance: watched,
      runs: engine.runs,
      now: () => deadline,
      log: (_, message) => done.reject(new Error(message)),
      jumpHoldMs: 0,
      everyMs: 60_000,
    })
    try {
      await done.promise
    } finally {
      await sweeps.stop()
    }
    for (const steps of [removed.expired, removed.purged]) {
      expect(Math.max(...steps)).toBe(sweepRowsMax)
      expect(steps.reduce((sum, rows) => sum + rows)).toBe(count)
    }
  })

  it('purgeTables: 0 on a store without anything to purge', async ({ engine }) => {
    expect(await engine.maintenance.purgeTables(startMs, 500)).toBe(0)
    const fixture = await makeFixture(engine)
    await fixture.put('a')
    expect(await engine.maintenance.purgeTables(deadline * 2, 500)).toBe(0)
    expect(await fixture.get('a')).toBeDefined()
  })

  it('purgeTables: removes nothing until 5 minutes past the seven days', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const { caller } = fixture.tenant
    await fillWith(fixture, 3)
    await engine.tables.delete(caller, 'app', 'orders', startMs)
    for (const nowMs of [startMs, startMs + recoveryMs, deadline - 1]) {
      expect(await engine.maintenance.purgeTables(nowMs, 500)).toBe(0)
    }
    // By an earlier clock it is all there.
    const restored = await engine.tables.restore(caller, 'app', 'orders', undefined, startMs + recoveryMs - 1)
    if (restored.outcome !== 'restored') throw new Error(restored.outcome)
    expect(await fixtureOf(engine, fixture.tenant, restored.table).names(indexScan('i1', 'x'))).toEqual(numbered(3))

    await engine.tables.delete(caller, 'app', 'orders', startMs)
    expect(await engine.maintenance.purgeTables(deadline, 500)).toBeGreaterThan(0)
    expect(await engine.tables.restore(caller, 'app', 'orders', undefined, startMs)).toEqual({ outcome: 'missing' })
  })

  it('purgeTables: in steps of at most rowsMax, 0 when nothing is left', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fillWith(fixture, 23)
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    // 23 rows, 5 at the most each time.
    expect(await purgeAll(engine, deadline, 5)).toBeGreaterThanOrEqual(5)
    expect(await engine.maintenance.purgeTables(deadline, 5)).toBe(0)
  })

  it('purgeTables: a table being purged cannot be restored, whatever the clock says', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const { caller, org } = fixture.tenant
    await fillWith(fixture, 12)
    await engine.tables.delete(caller, 'app', 'orders', startMs)
    expect(await engine.maintenance.purgeTables(deadline, 5)).toBeGreaterThan(0)
    for (const deletedAtMs of [undefined, startMs]) {
      expect(await engine.tables.restore(caller, 'app', 'orders', deletedAtMs, startMs)).toEqual({ outcome: 'missing' })
    }
    expect(await engine.tables.findDeleted(org.id, 'app', 'orders', startMs)).toBeUndefined()
    const listing = { orgId: org.id, db: 'app', after: undefined, limit: 10 }
    expect(await engine.tables.listDeleted(listing, startMs)).toEqual([])
    await purgeAll(engine, deadline, 5)
  })

  it('purgeTables: leaves every other table alone', async ({ engine }) => {
    const tenant = await makeTenant(engine, 'ours')
    const theirs = await makeTenant(engine, 'theirs')
    const gone = await makeFixture(engine, indices, { tenant })
    await fillWith(gone, 12)
    await engine.tables.delete(tenant.caller, 'app', 'orders', startMs)

    const again = await makeFixture(engine, indices, { tenant })
    const beside = await makeFixture(engine, indices, { tenant, name: 'beside' })
    const foreign = await makeFixture(engine, indices, { tenant: theirs })
    const recoverable = await makeFixture(engine, indices, { tenant, name: 'recoverable' })
    for (const fixture of [again, beside, foreign, recoverable]) await fillWith(fixture, 3)
    await engine.tables.delete(tenant.caller, 'app', 'recoverable', startMs + 1)

    await purgeAll(engine, deadline, 5)
    for (const fixture of [again, beside, foreign]) {
      expect(await fixture.names(timeScan())).toEqual(numbered(3))
      expect(await fixture.names(indexScan('i1', 'x'))).toEqual(numbered(3))
    }
    const restored = await engine.tables.restore(tenant.caller, 'app', 'recoverable', undefined, startMs + recoveryMs)
    if (restored.outcome !== 'restored') throw new Error(restored.outcome)
    expect(await fixtureOf(engine, tenant, restored.table).names(timeScan())).toEqual(numbered(3))
  })

  it('purgeTables: several tables, empty ones too', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const listing = { orgId: tenant.org.id, db: 'app', after: undefined, limit: 10 }
    for (const [name, count] of [
      ['a', 0],
      ['b', 7],
      ['b', 4],
      ['c', 0],
    ] as const) {
      const fixture = await makeFixture(engine, {}, { tenant, name })
      await fillWith(fixture, count)
      await engine.tables.delete(tenant.caller, 'app', name, startMs)
    }
    expect(await engine.tables.listDeleted(listing, startMs)).toHaveLength(4)
    expect(await purgeAll(engine, deadline + 1, 3)).toBeGreaterThanOrEqual(4)
    expect(await engine.tables.listDeleted(listing, startMs)).toEqual([])
  })

  it('purgeTables: ids of purged tables are not given again', async (store) => {
    const fixture = await makeFixture(store.engine)
    const { caller, org, secret } = fixture.tenant
    await fixture.put('a')
    await store.engine.tables.delete(caller, 'app', 'orders', startMs)
    await purgeAll(store.engine, deadline, 500)
    const { table: second } = await store.engine.tables.create(caller, 'app', 'orders', {}, startMs)
    expect(second.id).not.toBe(fixture.table.id)
    await store.engine.tables.delete(caller, 'app', 'orders', startMs)
    await purgeAll(store.engine, deadline, 500)

    const engine = await store.reopen()
    const apiKey = await engine.apiKeys.find(secret)
    const { table: third } = await engine.tables.create({ orgId: org.id, apiKey }, 'app', 'orders', {}, startMs)
    expect([fixture.table.id, second.id]).not.toContain(third.id)
  })

  it('purgeTables and sweepExpired: both may come by a table whose records have expired', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const kept = await makeFixture(engine, indices, { tenant: fixture.tenant, name: 'kept' })
    for (const at of [fixture, kept]) {
      const puts = numbered(9).map((name, i) =>
        putOf(at.table, name, { data: { s: 'x' }, ttlSeconds: i < 5 ? startSeconds : undefined }),
      )
      await fill(at, puts)
    }
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    for (let step = 0; step < 40; step++) {
      await engine.maintenance.sweepExpired(deadline, 2)
      await engine.maintenance.purgeTables(deadline, 2)
    }
    expect(await engine.maintenance.purgeTables(deadline, 2)).toBe(0)
    expect(await engine.maintenance.sweepExpired(deadline, 2)).toBe(0)
    expect(await kept.names(timeScan(), startMs - 1)).toEqual(numbered(9).slice(5))
  })
}
