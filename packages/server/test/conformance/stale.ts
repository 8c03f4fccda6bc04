import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  expectRefusal,
  fixtureOf,
  makeFixture,
  makeTenant,
  numbered,
  patchOf,
  putOf,
  startMs,
  timeScan,
} from './fixture.ts'

// A request looks its key and its table up, reads a body that may take seconds, and then writes. Without these
// promises a key revoked or a table deleted in between would still write, and its caller be told that it did.

export const staleCases = (it: Case): void => {
  it('write: refused with revoked_api_key once the caller’s key is revoked', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { n: 1 } })
    await engine.apiKeys.revoke(fixture.tenant.operator, fixture.tenant.apiKey.id, startMs)
    await expectRefusal(fixture.write([putOf(fixture.table, 'a', { data: { n: 2 } })]), 'revoked_api_key')
    await expectRefusal(fixture.write([deleteOf('a'), putOf(fixture.table, 'b')]), 'revoked_api_key')
    expect(await fixture.list(timeScan())).toMatchObject([{ hashKey: 'a', data: '{"n":1}' }])
  })

  it('patch: a revoked key, or a deleted table, is told of first: a refusal would tell of the record', async ({
    engine,
  }) => {
    const { tenant, table, write, put } = await makeFixture(engine)
    await put('a', { data: { s: 'secret' } })
    const refusedPatches = [
      patchOf(table, 'a', { increment: { '/s': 1 } }),
      patchOf(table, 'a', { merge: {} }, { condition: 'absent' }),
      patchOf(table, 'a', { increment: { '/n': { by: -1, min: 0 } } }),
    ]
    await engine.apiKeys.revoke(tenant.operator, tenant.apiKey.id, startMs)
    for (const patch of refusedPatches) {
      await expectRefusal(write([patch]), 'revoked_api_key')
      await expectRefusal(write([putOf(table, 'b'), patch]), 'revoked_api_key')
    }
    await engine.tables.delete(tenant.operator, 'app', 'orders', startMs)
    for (const patch of refusedPatches) {
      await expectRefusal(engine.records.write(tenant.operator, table, [patch], startMs), 'table_not_found')
    }
  })

  it('write: another key of the organization goes on working', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const { text, kept } = makeApiKey({ kind: 'secret' })
    await engine.apiKeys.create(fixture.tenant.caller, kept, startMs)
    const other = { orgId: fixture.tenant.org.id, apiKey: await engine.apiKeys.find(text) }
    await engine.apiKeys.revoke(fixture.tenant.operator, fixture.tenant.apiKey.id, startMs)
    expect(await engine.records.write(other, fixture.table, [putOf(fixture.table, 'a')], startMs)).toMatchObject({
      applied: true,
    })
  })

  it('tables and keys: every change is refused with revoked_api_key once the caller’s key is revoked', async ({
    engine,
  }) => {
    const { tenant } = await makeFixture(engine)
    const { caller, operator, org, apiKey } = tenant
    const { kept } = makeApiKey({ kind: 'secret' })
    const second = makeApiKey({ kind: 'public' })
    await engine.apiKeys.create(operator, second.kept, startMs)
    await engine.tables.create(operator, 'app', 'gone', {}, startMs)
    await engine.tables.delete(operator, 'app', 'gone', startMs)
    await engine.apiKeys.revoke(operator, apiKey.id, startMs)

    await expectRefusal(engine.tables.create(caller, 'app', 'new', {}, startMs), 'revoked_api_key')
    await expectRefusal(engine.tables.delete(caller, 'app', 'orders', startMs), 'revoked_api_key')
    await expectRefusal(engine.tables.restore(caller, 'app', 'gone', undefined, startMs), 'revoked_api_key')
    await expectRefusal(engine.apiKeys.create(caller, kept, startMs), 'revoked_api_key')
    await expectRefusal(engine.apiKeys.revoke(caller, second.kept.id, startMs), 'revoked_api_key')

    const tables = await engine.tables.list({ orgId: org.id, db: 'app', after: undefined, limit: 10 })
    expect(tables.map((table) => table.name)).toEqual(['orders'])
    expect(await engine.apiKeys.list(org.id, undefined, 10)).toHaveLength(2)
    expect(await engine.apiKeys.find(second.text)).toMatchObject({ revokedAtMs: null })
  })

  it('write: refused with table_not_found once the table is deleted', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { n: 1 } })
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    await expectRefusal(fixture.write([putOf(fixture.table, 'a', { data: { n: 2 } })]), 'table_not_found')
    await expectRefusal(fixture.write([deleteOf('a'), putOf(fixture.table, 'b')]), 'table_not_found')
    const restored = await engine.tables.restore(fixture.tenant.caller, 'app', 'orders', undefined, startMs)
    if (restored.outcome !== 'restored') throw new Error(restored.outcome)
    const found = await fixtureOf(engine, fixture.tenant, restored.table).list(timeScan())
    expect(found).toMatchObject([{ hashKey: 'a', data: '{"n":1}' }])
  })

  it('write: never reaches a table that was made anew under the name', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    const { table } = await engine.tables.create(fixture.tenant.caller, 'app', 'orders', {}, startMs)
    await expectRefusal(fixture.write([putOf(fixture.table, 'a')]), 'table_not_found')
    expect(await fixtureOf(engine, fixture.tenant, table).list(timeScan())).toEqual([])
  })

  it('write: a table deleted and restored since it was looked up takes it', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    await engine.tables.restore(fixture.tenant.caller, 'app', 'orders', undefined, startMs)
    await fixture.put('a')
    expect(await fixture.get('a')).toBeDefined()
  })

  it('write: other changes of keys and tables since the lookup do not matter', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const theirs = await makeTenant(engine, 'theirs')
    await engine.apiKeys.revoke(theirs.operator, theirs.apiKey.id, startMs)
    const { kept } = makeApiKey({ kind: 'public' })
    await engine.apiKeys.create(fixture.tenant.caller, kept, startMs)
    await engine.apiKeys.revoke(fixture.tenant.caller, kept.id, startMs)
    await engine.tables.create(fixture.tenant.caller, 'app', 'other', {}, startMs)
    await engine.tables.delete(fixture.tenant.caller, 'app', 'other', startMs)
    await fixture.put('a')
    expect(await fixture.get('a')).toBeDefined()
  })

  it('write: racing with the deletion of its table it is applied whole or refused, as it is told', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    const { caller } = fixture.tenant
    const attempts: Promise<boolean>[] = []
    const names = numbered(120)
    let deletion: Promise<unknown> | undefined
    for (const [i, name] of names.entries()) {
      if (i === 60) deletion = engine.tables.delete(caller, 'app', 'orders', startMs)
      const attempt = fixture.write([putOf(fixture.table, name), putOf(fixture.table, name, { rangeKey: 'twin' })])
      attempts.push(
        attempt.then(
          (result) => result.applied,
          (error: { code: unknown }) => {
            expect(error.code).toBe('table_not_found')
            return false
          },
        ),
      )
      if (i % 10 === 0) await Bun.sleep(0)
    }
    await deletion
    const applied = await Promise.all(attempts)
    // Nothing that started after the deletion resolved can have been applied.
    await expectRefusal(fixture.write([putOf(fixture.table, 'late')]), 'table_not_found')
    const restored = await engine.tables.restore(caller, 'app', 'orders', undefined, startMs)
    if (restored.outcome !== 'restored') throw new Error(restored.outcome)
    const after = fixtureOf(engine, fixture.tenant, restored.table)
    const found = await after.names(timeScan())
    const wanted = names.filter((_, i) => applied[i]).flatMap((name) => [name, `${name}/twin`])
    expect(found.toSorted()).toEqual(wanted.toSorted())
  })

  it('write: racing with the revocation of its key it is applied or refused, as it is told', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const names = numbered(120)
    const attempts: Promise<boolean>[] = []
    let revocation: Promise<unknown> | undefined
    for (const [i, name] of names.entries()) {
      if (i === 60) revocation = engine.apiKeys.revoke(fixture.tenant.operator, fixture.tenant.apiKey.id, startMs)
      attempts.push(
        fixture.write([putOf(fixture.table, name)]).then(
          (result) => result.applied,
          (error: { code: unknown }) => {
            expect(error.code).toBe('revoked_api_key')
            return false
          },
        ),
      )
      if (i % 10 === 0) await Bun.sleep(0)
    }
    await revocation
    await expectRefusal(fixture.write([putOf(fixture.table, 'late')]), 'revoked_api_key')
    const applied = await Promise.all(attempts)
    const found = await fixture.names(timeScan())
    expect(found.toSorted()).toEqual(names.filter((_, i) => applied[i]))
  })
}
