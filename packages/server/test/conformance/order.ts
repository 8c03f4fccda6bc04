import { expect } from 'bun:test'
import { resumeScan } from '../../src/core/records/scan.ts'
import type { Case } from '../engine-conformance.ts'
import { deleteOf, fixtureThrough, indexScan, makeFixture, putOf, startMs, startSeconds, timeScan } from './fixture.ts'

const same = { i1: { hashField: 's' }, i2: { hashField: 's', rangeField: 'r' } }
const data = { s: 'x', r: 1 }
const tied = [indexScan('i1', 'x'), indexScan('i2', 'x')]

export const orderCases = (it: Case): void => {
  it('records equal in an index come in the order in which they were first created', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    const names = ['m', 'z', 'a', '\u{10ffff}', 'b']
    for (const name of names) await fixture.put(name, { data })
    for (const scan of tied) {
      expect(await fixture.names(scan)).toEqual(names)
      expect(await fixture.names({ ...scan, descending: true })).toEqual(names.toReversed())
    }
    expect(await fixture.names(timeScan())).toEqual(names)
  })

  it('in a batch: the order of operations', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    const names = ['m', 'z', 'a', 'y', 'b']
    await fixture.write(names.map((name) => putOf(fixture.table, name, { data })))
    await fixture.write([...'qpo'].map((name) => putOf(fixture.table, name, { data })))
    for (const scan of [...tied, timeScan()]) expect(await fixture.names(scan)).toEqual([...names, 'q', 'p', 'o'])
  })

  it('overwriting a record keeps its place among equals', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    for (const name of 'cab') await fixture.put(name, { data })
    await fixture.put('a', { data: { ...data, more: true } })
    const version = await fixture.put('c', { data })
    await fixture.write([putOf(fixture.table, 'c', { data, condition: { version } })])
    for (const scan of tied) expect(await fixture.names(scan)).toEqual(['c', 'a', 'b'])
  })

  it('a record that leaves an index and comes back has its old place', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    for (const name of 'cab') await fixture.put(name, { data })
    await fixture.put('c')
    await fixture.put('c', { data })
    for (const scan of tied) expect(await fixture.names(scan)).toEqual(['c', 'a', 'b'])
  })

  it('a record deleted and created again comes last', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    for (const name of 'cab') await fixture.put(name, { data })
    await fixture.remove('c')
    await fixture.put('c', { data })
    for (const scan of tied) expect(await fixture.names(scan)).toEqual(['a', 'b', 'c'])
  })

  it('overwriting an expired record creates it anew', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    const ttlSeconds = startSeconds + 10
    for (const name of 'cadb')
      await fixture.put(name, { data, ttlSeconds: 'ca'.includes(name) ? ttlSeconds : undefined })
    // One before its end, one after.
    await fixture.put('c', { data }, ttlSeconds * 1000 - 1)
    await fixture.put('a', { data }, ttlSeconds * 1000)
    for (const scan of tied) expect(await fixture.names(scan, ttlSeconds * 1000)).toEqual(['c', 'd', 'b', 'a'])
  })

  it('in a batch an expired record that is overwritten has the place of its operation', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    const nowMs = startMs + 10_000
    for (const name of 'fb') await fixture.put(name, { data, ttlSeconds: startSeconds + 10 })
    await fixture.put('e', { data })
    await fixture.write(
      [...'zfeab'].map((name) => putOf(fixture.table, name, { data })),
      nowMs,
    )
    for (const scan of tied) expect(await fixture.names(scan, nowMs)).toEqual(['e', 'z', 'f', 'a', 'b'])
  })

  it('an expired record that is overwritten under the condition absent is created anew', async ({ engine }) => {
    const fixture = await makeFixture(engine, same)
    const nowMs = startMs + 10_000
    for (const name of 'ab') await fixture.put(name, { data, ttlSeconds: name === 'a' ? startSeconds + 10 : undefined })
    await fixture.write([putOf(fixture.table, 'a', { data, condition: 'absent' })], nowMs)
    for (const scan of tied) expect(await fixture.names(scan, nowMs)).toEqual(['b', 'a'])
  })

  it('t: by updatedAt, then creation', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    for (const name of 'dcba') await fixture.put(name, {}, startMs + 2)
    await fixture.put('c', {}, startMs + 2)
    await fixture.put('e', {}, startMs + 3)
    await fixture.put('f', {}, startMs)
    // c was moved to the same instant that e has, and is the older of the two.
    expect(await fixture.names(timeScan())).toEqual(['f', 'd', 'b', 'a', 'c', 'e'])
    expect(await fixture.names(timeScan(undefined, true))).toEqual(['e', 'c', 'a', 'b', 'd', 'f'])
  })

  it('a place among equals is never given twice: a page that ended at a deleted record misses none', async (store) => {
    let fixture = await makeFixture(store.engine, same)
    for (const again of ['at once', 'after reopening']) {
      await fixture.write([...'abc'].map((name) => putOf(fixture.table, name, { data })))
      const scans = [...tied, timeScan()]
      const ends = await Promise.all(
        scans.map(async (scan) => (await store.engine.records.scan(fixture.table, scan, 2, startMs)).next!),
      )
      await fixture.write([deleteOf('b'), deleteOf('c')])
      if (again === 'after reopening') fixture = await fixtureThrough(await store.reopen(), fixture)
      await fixture.write([putOf(fixture.table, 'd', { data })])
      for (const [i, scan] of scans.entries()) expect(await fixture.names(resumeScan(scan, ends[i]!))).toEqual(['d'])
      await fixture.write([deleteOf('a'), deleteOf('d')])
    }
  })
}
