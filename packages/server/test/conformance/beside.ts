import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import type { Case } from '../engine-conformance.ts'
import {
  expectRefusal,
  fill,
  fixtureThrough,
  makeFixture,
  makeTenant,
  numbered,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

// Two engines on one store, as two processes have: without these promises a key revoked on one of them would go
// on opening the other for as long as that one cares to remember it.

export const besideCases = (it: Case): void => {
  it('beside: a key revoked through one engine is revoked for the other from then on', async (store) => {
    const here = await makeFixture(store.engine)
    const other = await store.openBeside()
    const spare = makeApiKey({ kind: 'public' })
    await store.engine.apiKeys.create(here.tenant.caller, spare.kept, startMs)
    // Each has the key at hand when the other revokes it.
    await here.put('a')
    expect(await other.apiKeys.find(spare.text)).toMatchObject({ revokedAtMs: null })

    await store.engine.apiKeys.revoke(here.tenant.caller, spare.kept.id, startMs + 1)
    expect(await other.apiKeys.find(spare.text)).toMatchObject({ revokedAtMs: startMs + 1 })
    await other.apiKeys.revoke(here.tenant.operator, here.tenant.apiKey.id, startMs + 2)
    await expectRefusal(here.write([putOf(here.table, 'b')]), 'revoked_api_key')
    expect(await store.engine.apiKeys.find(here.tenant.secret)).toMatchObject({ revokedAtMs: startMs + 2 })
    expect(await here.names(timeScan())).toEqual(['a'])
  })

  it('beside: a table deleted through one engine is gone for the other, made or restored it is there', async (store) => {
    const { engine } = store
    const { tenant, table } = await makeFixture(engine)
    const other = await store.openBeside()
    const find = () => other.tables.find(tenant.org.id, 'app', 'orders')
    expect(await find()).toMatchObject({ id: table.id })
    await engine.tables.delete(tenant.caller, 'app', 'orders', startMs)
    expect(await find()).toBeUndefined()
    const made = await engine.tables.create(tenant.caller, 'app', 'orders', {}, startMs)
    expect(await find()).toMatchObject({ id: made.table.id })
    await engine.tables.delete(tenant.caller, 'app', 'orders', startMs + 1)
    await engine.tables.restore(tenant.caller, 'app', 'orders', startMs, startMs + 1)
    expect(await find()).toMatchObject({ id: table.id })
  })

  it('beside: a write through one engine into a table deleted through the other is refused', async (store) => {
    const here = await makeFixture(store.engine)
    const other = await store.openBeside()
    const there = await fixtureThrough(other, here)
    await here.put('a')
    await there.put('b')
    await other.tables.delete(there.tenant.caller, 'app', 'orders', startMs)
    await expectRefusal(here.write([putOf(here.table, 'c')]), 'table_not_found')
    await store.engine.tables.restore(here.tenant.caller, 'app', 'orders', undefined, startMs)
    await there.put('d')
    await store.engine.tables.delete(here.tenant.caller, 'app', 'orders', startMs + 1)
    await expectRefusal(there.write([putOf(there.table, 'e')]), 'table_not_found')
    await other.tables.restore(there.tenant.caller, 'app', 'orders', undefined, startMs + 1)
    expect(await here.names(timeScan())).toEqual(['a', 'b', 'd'])
  })

  it('beside: keys, tables and organizations made through one engine are there for the other', async (store) => {
    const besides = await store.openBeside()
    expect(await besides.organizations.find('acme')).toBeUndefined()
    const { org, caller } = await makeTenant(store.engine)
    expect(await besides.organizations.find('acme')).toEqual(org)
    const { text, kept } = makeApiKey({ kind: 'public' })
    expect(await besides.apiKeys.find(text)).toBeUndefined()
    await store.engine.apiKeys.create(caller, kept, startMs)
    expect(await besides.apiKeys.find(text)).toMatchObject({ id: kept.id })
    expect(await besides.tables.find(org.id, 'app', 'orders')).toBeUndefined()
    await store.engine.tables.create(caller, 'app', 'orders', {}, startMs)
    expect(await besides.tables.find(org.id, 'app', 'orders')).toBeDefined()
    expect(await besides.tables.listDatabases(org.id, undefined, 10)).toEqual(['app'])
  })

  it('beside: what one engine wrote the other reads, and versions of a record increase across both', async (store) => {
    const here = await makeFixture(store.engine)
    const there = await fixtureThrough(await store.openBeside(), here)
    let last = 0
    for (let n = 0; n < 10; n++) {
      const [writer, reader] = n % 2 === 0 ? [here, there] : [there, here]
      const version = await writer.put('a', { data: { n } }, startMs - n)
      expect(version).toBeGreaterThan(last)
      expect(await reader.get('a')).toMatchObject({ data: `{"n":${n}}`, updatedAtMs: version })
      last = version
    }
    const versions = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? here : there).put('a', { data: { n } })),
    )
    expect(new Set(versions).size).toBe(40)
    expect(Math.min(...versions)).toBeGreaterThan(last)
    expect(await here.get('a')).toMatchObject({ updatedAtMs: Math.max(...versions) })
  })

  it('beside: of writers that race through both engines under one version exactly one wins', async (store) => {
    const here = await makeFixture(store.engine)
    const there = await fixtureThrough(await store.openBeside(), here)
    const version = await here.put('a')
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? here : there).write([putOf(here.table, 'a', { data: { n }, condition: { version } })]),
      ),
    )
    expect(results.filter((result) => result.applied)).toHaveLength(1)
  })

  it('beside: of several that bootstrap at once, one does', async (store) => {
    const engines = [store.engine, await store.openBeside(), await store.openBeside()]
    const made = await Promise.all(
      engines.map((engine, i) =>
        engine.organizations.bootstrap(`default-${i}`, [makeApiKey({ kind: 'secret' }).kept], startMs),
      ),
    )
    expect(made.filter((org) => org !== undefined)).toHaveLength(1)
    for (const engine of engines) expect(await engine.organizations.list()).toHaveLength(1)
  })

  it('beside: sweeps by both remove each row once, between them all', async (store) => {
    const fixture = await makeFixture(store.engine)
    const gone = await makeFixture(store.engine, {}, { tenant: fixture.tenant, name: 'gone' })
    const engines = [store.engine, await store.openBeside()]
    await fill(
      fixture,
      numbered(60).map((name) => putOf(fixture.table, name, { ttlSeconds: startSeconds })),
    )
    await fill(
      gone,
      numbered(60).map((name) => putOf(gone.table, name)),
    )
    await fixture.put('live')
    await store.engine.tables.delete(fixture.tenant.caller, 'app', 'gone', startMs)
    const nowMs = startMs + recoveryMs + sweepGraceMs
    const sweep = async (step: (engine: (typeof engines)[number]) => Promise<number>): Promise<number> => {
      let total = 0
      for (let idle = 0; idle < 2; ) {
        const removed = await Promise.all(engines.map(step))
        total += removed.reduce((sum, count) => sum + count, 0)
        idle = removed.every((count) => count === 0) ? idle + 1 : 0
      }
      return total
    }
    expect(await sweep((engine) => engine.maintenance.sweepExpired(nowMs, 7))).toBe(60)
    expect(await sweep((engine) => engine.maintenance.purgeTables(nowMs, 7))).toBeGreaterThan(0)
    expect(await store.engine.maintenance.purgeTables(nowMs, 7)).toBe(0)
    expect(await fixture.names(timeScan(), startMs - 1)).toEqual(['live'])
  })
}
