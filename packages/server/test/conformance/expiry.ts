import { expect } from 'bun:test'
import { sweepGraceMs, ttlSecondsMax } from '../../src/core/limits.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import {
  fill,
  indexScan,
  makeFixture,
  numbered,
  primaryScan,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

const indices = { i1: { hashField: 's' }, i2: { hashField: 's', rangeField: 's' } }
const data = { s: 'x' }
const everyScan = [primaryScan('a'), timeScan(), indexScan('i1', 'x'), indexScan('i2', 'x')]
const ttlSeconds = startSeconds + 10
const endMs = ttlSeconds * 1000

/** Steps until nothing is left; how many rows went. No step removes more than it may. */
const sweepAll = async (engine: Engine, nowMs: number, rowsMax: number): Promise<number> => {
  let total = 0
  for (;;) {
    const removed = await engine.maintenance.sweepExpired(nowMs, rowsMax)
    expect(removed).toBeLessThanOrEqual(rowsMax)
    if (removed === 0) return total
    total += removed
  }
}

export const expiryCases = (it: Case): void => {
  it('a record is live until, and not including, the second of its ttl', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fixture.put('a', { data, ttlSeconds })
    for (const nowMs of [startMs, endMs - 1_000, endMs - 1]) {
      expect(await fixture.get('a', '#', nowMs)).toMatchObject({ ttlSeconds })
      for (const scan of everyScan) expect(await fixture.names(scan, nowMs)).toEqual(['a'])
    }
    for (const nowMs of [endMs, endMs + 1, endMs + 999, endMs + 1_000_000]) {
      expect(await fixture.get('a', '#', nowMs)).toBeUndefined()
      for (const scan of everyScan) {
        expect(await fixture.names(scan, nowMs)).toEqual([])
        expect(await fixture.names({ ...scan, descending: true }, nowMs)).toEqual([])
      }
    }
  })

  it('a delete of an expired record finds none', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { ttlSeconds })
    await fixture.put('b', { ttlSeconds })
    expect(await fixture.remove('a', '#', endMs)).toBe(false)
    expect(await fixture.remove('b', '#', endMs - 1)).toBe(true)
  })

  it('the least and the greatest ttl', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('least', { ttlSeconds: 0 })
    await fixture.put('greatest', { ttlSeconds: ttlSecondsMax })
    expect(await fixture.get('least')).toBeUndefined()
    expect(await fixture.get('greatest', '#', ttlSecondsMax * 1000 - 1)).toMatchObject({ ttlSeconds: ttlSecondsMax })
    expect(await fixture.get('greatest', '#', ttlSecondsMax * 1000)).toBeUndefined()
  })

  it('a put with a ttl that has passed takes the record away', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fixture.put('a', { data })
    await fixture.put('a', { data, ttlSeconds: startSeconds })
    expect(await fixture.get('a')).toBeUndefined()
    for (const scan of everyScan) expect(await fixture.names(scan)).toEqual([])
    expect(await fixture.remove('a')).toBe(false)
  })

  it('a put after the end is a new record: nothing of the old one is left', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fixture.put('a', { data: { s: 'old' }, ttlSeconds })
    expect(await fixture.put('a', { data }, endMs)).toBeGreaterThanOrEqual(endMs)
    expect(await fixture.get('a', '#', endMs)).toMatchObject({ data: '{"s":"x"}', ttlSeconds: null })
    expect(await fixture.names(indexScan('i1', 'old'), endMs - 1)).toEqual([])
    for (const scan of everyScan) expect(await fixture.names(scan, endMs)).toEqual(['a'])
  })

  it('sweepExpired: removes nothing until 5 minutes past the ttl, then the row', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fixture.put('a', { data, ttlSeconds })
    const deadline = endMs + sweepGraceMs
    for (const nowMs of [startMs, endMs, deadline - 1_000, deadline - 1]) {
      expect(await engine.maintenance.sweepExpired(nowMs, 500)).toBe(0)
    }
    // By an earlier clock the row is still to be seen.
    expect(await fixture.get('a', '#', endMs - 1)).toBeDefined()
    expect(await engine.maintenance.sweepExpired(deadline, 500)).toBe(1)
    expect(await fixture.get('a', '#', endMs - 1)).toBeUndefined()
    for (const scan of everyScan) expect(await fixture.names(scan, endMs - 1)).toEqual([])
    expect(await engine.maintenance.sweepExpired(deadline, 500)).toBe(0)
  })

  it('sweepExpired: at most rowsMax, 0 when nothing is left, live records untouched', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const other = await makeFixture(engine, indices, { tenant: fixture.tenant, name: 'other' })
    const deadline = endMs + sweepGraceMs
    await fill(fixture, [
      ...numbered(12, 'gone').map((name) => putOf(fixture.table, name, { data, ttlSeconds })),
      ...numbered(5, 'later').map((name) => putOf(fixture.table, name, { data, ttlSeconds: ttlSeconds + 1 })),
      ...numbered(5, 'never').map((name) => putOf(fixture.table, name, { data })),
    ])
    await fill(
      other,
      numbered(7).map((name) => putOf(other.table, name, { data, ttlSeconds: ttlSeconds - 1 })),
    )
    expect(await sweepAll(engine, deadline, 4)).toBe(19)
    expect(await fixture.names(timeScan(), endMs - 1)).toEqual([...numbered(5, 'later'), ...numbered(5, 'never')])
    expect(await other.names(timeScan(), startMs)).toEqual([])
    expect(await sweepAll(engine, deadline + 1_000, 4)).toBe(5)
    expect(await fixture.names(timeScan(), startMs)).toEqual(numbered(5, 'never'))
  })

  it('sweepExpired: goes by the ttl that the record has now', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    for (const name of ['removed', 'longer', 'anew']) await fixture.put(name, { ttlSeconds })
    await fixture.put('removed')
    await fixture.put('longer', { ttlSeconds: ttlSeconds + 1_000 })
    await fixture.put('anew', { ttlSeconds: ttlSeconds + 1_000 }, endMs)
    const deadline = endMs + sweepGraceMs
    expect(await engine.maintenance.sweepExpired(deadline, 500)).toBe(0)
    for (const name of ['removed', 'longer', 'anew']) expect(await fixture.get(name, '#', deadline)).toBeDefined()
  })

  it('sweepExpired: a put after the sweep is a new record', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fixture.put('a', { data, ttlSeconds })
    await fixture.put('b', { data })
    const nowMs = endMs + sweepGraceMs
    await engine.maintenance.sweepExpired(nowMs, 500)
    expect(await fixture.put('a', { data }, nowMs)).toBe(nowMs)
    expect(await fixture.names(indexScan('i1', 'x'), nowMs)).toEqual(['b', 'a'])
  })
}
