import { expect } from 'bun:test'
import { loadCommitLinesMax } from '../../src/core/limits.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  expectRefusal,
  indexScan,
  makeFixture,
  makeTenant,
  numbered,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

export const loadCases = (it: Case): void => {
  it('putAll: as many puts as a commit may have are stored with their index entries, in their order', async ({
    engine,
  }) => {
    const { table, tenant, list, names } = await makeFixture(engine, { i1: { hashField: 's', rangeField: 'n' } })
    const keys = numbered(loadCommitLinesMax).toReversed()
    const puts = keys.map((key, n) => putOf(table, key, { data: { s: 'x', n }, ttlSeconds: startSeconds + 1 + n }))
    expect(await engine.records.putAll(tenant.caller, table, puts, false, startMs)).toBe(loadCommitLinesMax)
    expect((await list(indexScan('i1', 'x'))).map(({ hashKey }) => hashKey)).toEqual(keys)
    expect((await names(indexScan('i1', 'x'), startMs + 10_000)).length).toBe(loadCommitLinesMax - 10)
    expect((await list(timeScan())).length).toBe(loadCommitLinesMax)
  })

  it('putAll: a record that exists is replaced and its version rises; the clock may be behind', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const { table, tenant } = fixture
    await fixture.put('a', { data: { s: 'old' } }, startMs + 500)
    await fixture.put('gone', { data: { s: 'old' }, ttlSeconds: startSeconds - 10 }, startMs)
    const puts = ['a', 'b', 'gone'].map((key) => putOf(table, key, { data: { s: 'new' } }))
    expect(await engine.records.putAll(tenant.caller, table, puts, false, startMs)).toBe(3)
    expect(await fixture.get('a')).toMatchObject({ data: '{"s":"new"}', updatedAtMs: startMs + 501 })
    expect(await fixture.names(indexScan('i1', 'old'))).toEqual([])
    expect((await fixture.names(indexScan('i1', 'new'))).toSorted()).toEqual(['a', 'b', 'gone'])
  })

  it('putAll: with onlyAbsent, records that exist are left, and expired ones are not there', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const { table, tenant } = fixture
    const version = await fixture.put('a', { data: { s: 'old' } })
    await fixture.put('gone', { data: { s: 'old' }, ttlSeconds: startSeconds - 10 }, startMs)
    const puts = ['b', 'a', 'gone'].map((key) => putOf(table, key, { data: { s: 'new' } }))
    expect(await engine.records.putAll(tenant.caller, table, puts, true, startMs + 9)).toBe(2)
    expect(await fixture.get('a')).toMatchObject({ data: '{"s":"old"}', updatedAtMs: version })
    expect(await fixture.get('gone')).toMatchObject({ data: '{"s":"new"}', updatedAtMs: startMs + 9 })
    expect(await engine.records.putAll(tenant.caller, table, puts, true, startMs + 9)).toBe(0)
    expect(await fixture.get('b')).toMatchObject({ updatedAtMs: startMs + 9 })
  })

  it('putAll: puts of one record are applied in their order, and each raises its version', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const { table, tenant } = fixture
    await fixture.put('b', { data: { s: 'old' } })
    const puts = ['a', 'b', 'a', 'c', 'b', 'a'].map((key, n) => putOf(table, key, { data: { s: `s${n}` } }))
    expect(await engine.records.putAll(tenant.caller, table, puts, false, startMs + 10)).toBe(6)
    expect(await fixture.get('a')).toMatchObject({ data: '{"s":"s5"}', updatedAtMs: startMs + 12 })
    expect(await fixture.get('b')).toMatchObject({ data: '{"s":"s4"}', updatedAtMs: startMs + 11 })
    expect(await fixture.names(indexScan('i1', 's0'))).toEqual([])
    const others = ['d', 'a', 'd'].map((key, n) => putOf(table, key, { data: { s: `t${n}` } }))
    expect(await engine.records.putAll(tenant.caller, table, others, true, startMs + 20)).toBe(1)
    expect(await fixture.get('d')).toMatchObject({ data: '{"s":"t0"}' })
    const same = Array.from({ length: 300 }, (_, n) => putOf(table, 'e', { data: { s: `u${n}` } }))
    expect(await engine.records.putAll(tenant.caller, table, same, false, startMs)).toBe(300)
    expect(await fixture.get('e')).toMatchObject({ data: '{"s":"u299"}', updatedAtMs: startMs + 299 })
  })

  it('putAll: nothing is written with a revoked key or into a deleted table, also if nothing would be', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    const { table, tenant } = fixture
    await fixture.put('a')
    const puts = [putOf(table, 'a', { data: { n: 1 } }), putOf(table, 'b')]
    const there = puts.slice(0, 1)
    const { records, apiKeys, tables } = engine
    expect(await apiKeys.revoke(tenant.operator, tenant.apiKey.id, startMs)).toBeDefined()
    for (const onlyAbsent of [false, true]) {
      await expectRefusal(records.putAll(tenant.caller, table, puts, onlyAbsent, startMs), 'revoked_api_key')
    }
    await expectRefusal(records.putAll(tenant.caller, table, there, true, startMs), 'revoked_api_key')
    await tables.delete(tenant.operator, 'app', 'orders', startMs)
    for (const onlyAbsent of [false, true]) {
      await expectRefusal(records.putAll(tenant.operator, table, puts, onlyAbsent, startMs), 'table_not_found')
    }
    await tables.restore(tenant.operator, 'app', 'orders', undefined, startMs)
    expect(await fixture.get('b')).toBeUndefined()
    expect(await fixture.get('a')).toMatchObject({ data: '{}' })
  })

  it('putAll: two that write the same records in opposite order do not wait for each other for ever', async ({
    engine,
  }) => {
    const { table, tenant, list } = await makeFixture(engine)
    const keys = numbered(200)
    const write = (order: string[], n: number) =>
      engine.records.putAll(
        tenant.caller,
        table,
        order.map((key) => putOf(table, key, { data: { n } })),
        false,
        startMs,
      )
    await Promise.all(Array.from({ length: 8 }, (_, n) => write(n % 2 === 0 ? keys : keys.toReversed(), n)))
    const written = await list(timeScan())
    expect(written.length).toBe(keys.length)
    // All are of the commit that was last.
    expect(new Set(written.map(({ data }) => data)).size).toBe(1)
  })

  it('putAll: of two organizations each writes its own table', async ({ engine }) => {
    const one = await makeFixture(engine)
    const other = await makeFixture(engine, {}, { tenant: await makeTenant(engine, 'other') })
    await engine.records.putAll(one.tenant.caller, one.table, [putOf(one.table, 'a')], false, startMs)
    expect(await other.get('a')).toBeUndefined()
    await one.write([deleteOf('a')])
    expect(await one.get('a')).toBeUndefined()
  })
}
