import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { CubbyError } from '../../src/core/errors.ts'
import type { Case } from '../engine-conformance.ts'
import {
  fixtureThrough,
  indexScan,
  makeFixture,
  makeTenant,
  numbered,
  primaryScan,
  putOf,
  startMs,
  startSeconds,
  tenantThrough,
  timeScan,
  withoutEpoch,
} from './fixture.ts'

export const reopenCases = (it: Case): void => {
  it('reopen: records are there, with every index, ttl and version', async (store) => {
    const fixture = await makeFixture(store.engine, { i1: { hashField: 's', rangeField: 'n' } })
    await fixture.write(
      numbered(12).map((rangeKey, n) =>
        putOf(fixture.table, 'h', {
          rangeKey,
          data: { s: 'x', n: -n },
          ttlSeconds: n < 3 ? startSeconds + 5 : undefined,
        }),
      ),
    )
    await fixture.remove('h', 'k000007')
    const version = await fixture.put('h', { rangeKey: 'k000004', data: { s: 'y' } })
    const scans = [primaryScan('h'), timeScan(undefined, true), indexScan('i1', 'x'), indexScan('i1', 'y')]
    const before = await Promise.all(scans.map((scan) => fixture.list(scan)))
    const again = await fixtureThrough(await store.reopen(), fixture)
    expect(await Promise.all(scans.map((scan) => again.list(scan)))).toEqual(before)
    expect(await again.list(primaryScan('h'), startMs + 5_000)).toHaveLength(8)
    // The version goes on from where it was.
    expect(await again.put('h', { rangeKey: 'k000004' }, startMs - 1_000)).toBe(version + 1)
  })

  it('reopen: creation order goes on from where it was', async (store) => {
    const fixture = await makeFixture(store.engine, { i1: { hashField: 's' } })
    const data = { s: 'x' }
    for (const name of 'zyx') await fixture.put(name, { data })
    const again = await fixtureThrough(await store.reopen(), fixture)
    for (const name of 'cba') await again.put(name, { data })
    await again.put('y', { data })
    expect(await again.names(indexScan('i1', 'x'))).toEqual([...'zyxcba'])
  })

  it('reopen: organizations, keys and tables are there, deleted and revoked ones as such', async (store) => {
    const tenant = await makeTenant(store.engine)
    const { caller, operator, org } = tenant
    const { text, kept } = makeApiKey({ kind: 'public', name: 'web', databases: ['app'], expiresAtMs: startMs + 5 })
    await store.engine.apiKeys.create(caller, kept, startMs + 1)
    await store.engine.apiKeys.revoke(operator, kept.id, startMs + 2)
    await store.engine.apiKeys.noteUse([{ id: kept.id, atMs: startMs + 3 }])
    await store.engine.tables.create(caller, 'app', 'orders', { i2: { hashField: 'a', rangeField: 'b' } }, startMs)
    await store.engine.tables.create(caller, 'app', 'gone', {}, startMs)
    await store.engine.tables.delete(caller, 'app', 'gone', startMs + 4)

    const listing = { orgId: org.id, db: 'app', after: undefined, limit: 10 }
    const registry = async (engine: typeof store.engine) => ({
      organizations: await engine.organizations.list(),
      keys: (await engine.apiKeys.list(org.id, undefined, 10)).map(withoutEpoch),
      tables: (await engine.tables.list(listing)).map(withoutEpoch),
      deleted: (await engine.tables.listDeleted(listing, startMs + 5)).map(withoutEpoch),
    })
    const before = await registry(store.engine)
    const engine = await store.reopen()
    expect(await registry(engine)).toEqual(before)
    expect(await engine.apiKeys.find(text)).toMatchObject({ revokedAtMs: startMs + 2, lastUsedAtMs: startMs + 3 })
    const again = await tenantThrough(engine, tenant)
    expect(await engine.tables.restore(again.caller, 'app', 'gone', undefined, startMs + 5)).toMatchObject({
      outcome: 'restored',
    })
    expect(
      await engine.organizations.bootstrap('default', [makeApiKey({ kind: 'secret' }).kept], startMs),
    ).toBeUndefined()
  })

  it('close: of writes under way each is kept that was acknowledged, and none that was refused', async (store) => {
    const fixture = await makeFixture(store.engine)
    const names = numbered(200)
    const attempts = names.map((name) =>
      fixture.write([putOf(fixture.table, name), putOf(fixture.table, name, { rangeKey: 'twin' })]).then(
        (result) => result.applied,
        (error: unknown) => {
          if (!(error instanceof CubbyError)) throw error
          expect(error.code).toBe('unavailable')
          return false
        },
      ),
    )
    const again = await fixtureThrough(await store.reopen(), fixture)
    const applied = await Promise.all(attempts)
    const wanted = names.filter((_, i) => applied[i]).flatMap((name) => [name, `${name}/twin`])
    expect((await again.names(timeScan())).toSorted()).toEqual(wanted.toSorted())
  })

  it('check: nothing to say of an empty store', async (store) => {
    const engine = await store.reopen()
    const findings: string[] = []
    for await (const finding of engine.maintenance.check()) findings.push(finding)
    expect(findings).toEqual([])
  })
}
