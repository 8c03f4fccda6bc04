import { expect } from 'bun:test'
import { resumeScan } from '../../src/core/records/scan.ts'
import type { Case } from '../engine-conformance.ts'
import { deleteOf, deskThrough, indexScan, makeDesk, putOf, startMs, startSeconds, timeScan } from './material.ts'

const same = { i1: { hashField: 's' }, i2: { hashField: 's', rangeField: 'r' } }
const data = { s: 'x', r: 1 }
const tied = [indexScan('i1', 'x'), indexScan('i2', 'x')]

export const orderCases = (it: Case): void => {
  it('records equal in an index come in the order in which they were first created', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    const names = ['m', 'z', 'a', '\u{10ffff}', 'b']
    for (const name of names) await desk.put(name, { data })
    for (const scan of tied) {
      expect(await desk.names(scan)).toEqual(names)
      expect(await desk.names({ ...scan, descending: true })).toEqual(names.toReversed())
    }
    expect(await desk.names(timeScan())).toEqual(names)
  })

  it('in a batch: the order of operations', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    const names = ['m', 'z', 'a', 'y', 'b']
    await desk.write(names.map((name) => putOf(desk.table, name, { data })))
    await desk.write([...'qpo'].map((name) => putOf(desk.table, name, { data })))
    for (const scan of [...tied, timeScan()]) expect(await desk.names(scan)).toEqual([...names, 'q', 'p', 'o'])
  })

  it('overwriting a record keeps its place among equals', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    for (const name of 'cab') await desk.put(name, { data })
    await desk.put('a', { data: { ...data, more: true } })
    const version = await desk.put('c', { data })
    await desk.write([putOf(desk.table, 'c', { data, condition: { version } })])
    for (const scan of tied) expect(await desk.names(scan)).toEqual(['c', 'a', 'b'])
  })

  it('a record that leaves an index and comes back has its old place', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    for (const name of 'cab') await desk.put(name, { data })
    await desk.put('c')
    await desk.put('c', { data })
    for (const scan of tied) expect(await desk.names(scan)).toEqual(['c', 'a', 'b'])
  })

  it('a record deleted and created again comes last', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    for (const name of 'cab') await desk.put(name, { data })
    await desk.remove('c')
    await desk.put('c', { data })
    for (const scan of tied) expect(await desk.names(scan)).toEqual(['a', 'b', 'c'])
  })

  it('overwriting an expired record creates it anew', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    const ttlSeconds = startSeconds + 10
    for (const name of 'cadb') await desk.put(name, { data, ttlSeconds: 'ca'.includes(name) ? ttlSeconds : undefined })
    // One before its end, one after.
    await desk.put('c', { data }, ttlSeconds * 1000 - 1)
    await desk.put('a', { data }, ttlSeconds * 1000)
    for (const scan of tied) expect(await desk.names(scan, ttlSeconds * 1000)).toEqual(['c', 'd', 'b', 'a'])
  })

  it('in a batch an expired record that is overwritten has the place of its operation', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    const nowMs = startMs + 10_000
    for (const name of 'fb') await desk.put(name, { data, ttlSeconds: startSeconds + 10 })
    await desk.put('e', { data })
    await desk.write(
      [...'zfeab'].map((name) => putOf(desk.table, name, { data })),
      nowMs,
    )
    for (const scan of tied) expect(await desk.names(scan, nowMs)).toEqual(['e', 'z', 'f', 'a', 'b'])
  })

  it('an expired record that is overwritten under the condition absent is created anew', async ({ engine }) => {
    const desk = await makeDesk(engine, same)
    const nowMs = startMs + 10_000
    for (const name of 'ab') await desk.put(name, { data, ttlSeconds: name === 'a' ? startSeconds + 10 : undefined })
    await desk.write([putOf(desk.table, 'a', { data, condition: 'absent' })], nowMs)
    for (const scan of tied) expect(await desk.names(scan, nowMs)).toEqual(['b', 'a'])
  })

  it('t: by updatedAt, then creation', async ({ engine }) => {
    const desk = await makeDesk(engine)
    for (const name of 'dcba') await desk.put(name, {}, startMs + 2)
    await desk.put('c', {}, startMs + 2)
    await desk.put('e', {}, startMs + 3)
    await desk.put('f', {}, startMs)
    // c was moved to the same instant that e has, and is the older of the two.
    expect(await desk.names(timeScan())).toEqual(['f', 'd', 'b', 'a', 'c', 'e'])
    expect(await desk.names(timeScan(undefined, true))).toEqual(['e', 'c', 'a', 'b', 'd', 'f'])
  })

  it('a place among equals is never given twice: a page that ended at a deleted record misses none', async (store) => {
    let desk = await makeDesk(store.engine, same)
    for (const again of ['at once', 'after reopening']) {
      await desk.write([...'abc'].map((name) => putOf(desk.table, name, { data })))
      const scans = [...tied, timeScan()]
      const ends = await Promise.all(
        scans.map(async (scan) => (await store.engine.records.scan(desk.table, scan, 2, startMs)).next!),
      )
      await desk.write([deleteOf('b'), deleteOf('c')])
      if (again === 'after reopening') desk = await deskThrough(await store.reopen(), desk)
      await desk.write([putOf(desk.table, 'd', { data })])
      for (const [i, scan] of scans.entries()) expect(await desk.names(resumeScan(scan, ends[i]!))).toEqual(['d'])
      await desk.write([deleteOf('a'), deleteOf('d')])
    }
  })
}
