import { expect } from 'bun:test'
import { sweepGraceMs, ttlSecondsMax } from '../../src/core/limits.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import { fill, indexScan, makeDesk, numbered, primaryScan, putOf, startMs, startSeconds, timeScan } from './material.ts'

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
    const desk = await makeDesk(engine, indices)
    await desk.put('a', { data, ttlSeconds })
    for (const nowMs of [startMs, endMs - 1_000, endMs - 1]) {
      expect(await desk.get('a', '#', nowMs)).toMatchObject({ ttlSeconds })
      for (const scan of everyScan) expect(await desk.names(scan, nowMs)).toEqual(['a'])
    }
    for (const nowMs of [endMs, endMs + 1, endMs + 999, endMs + 1_000_000]) {
      expect(await desk.get('a', '#', nowMs)).toBeUndefined()
      for (const scan of everyScan) {
        expect(await desk.names(scan, nowMs)).toEqual([])
        expect(await desk.names({ ...scan, descending: true }, nowMs)).toEqual([])
      }
    }
  })

  it('a delete of an expired record finds none', async ({ engine }) => {
    const desk = await makeDesk(engine)
    await desk.put('a', { ttlSeconds })
    await desk.put('b', { ttlSeconds })
    expect(await desk.remove('a', '#', endMs)).toBe(false)
    expect(await desk.remove('b', '#', endMs - 1)).toBe(true)
  })

  it('the least and the greatest ttl', async ({ engine }) => {
    const desk = await makeDesk(engine)
    await desk.put('least', { ttlSeconds: 0 })
    await desk.put('greatest', { ttlSeconds: ttlSecondsMax })
    expect(await desk.get('least')).toBeUndefined()
    expect(await desk.get('greatest', '#', ttlSecondsMax * 1000 - 1)).toMatchObject({ ttlSeconds: ttlSecondsMax })
    expect(await desk.get('greatest', '#', ttlSecondsMax * 1000)).toBeUndefined()
  })

  it('a put with a ttl that has passed takes the record away', async ({ engine }) => {
    const desk = await makeDesk(engine, indices)
    await desk.put('a', { data })
    await desk.put('a', { data, ttlSeconds: startSeconds })
    expect(await desk.get('a')).toBeUndefined()
    for (const scan of everyScan) expect(await desk.names(scan)).toEqual([])
    expect(await desk.remove('a')).toBe(false)
  })

  it('a put after the end is a new record: nothing of the old one is left', async ({ engine }) => {
    const desk = await makeDesk(engine, indices)
    await desk.put('a', { data: { s: 'old' }, ttlSeconds })
    expect(await desk.put('a', { data }, endMs)).toBeGreaterThanOrEqual(endMs)
    expect(await desk.get('a', '#', endMs)).toMatchObject({ data: '{"s":"x"}', ttlSeconds: null })
    expect(await desk.names(indexScan('i1', 'old'), endMs - 1)).toEqual([])
    for (const scan of everyScan) expect(await desk.names(scan, endMs)).toEqual(['a'])
  })

  it('sweepExpired: removes nothing until 5 minutes past the ttl, then the row', async ({ engine }) => {
    const desk = await makeDesk(engine, indices)
    await desk.put('a', { data, ttlSeconds })
    const deadline = endMs + sweepGraceMs
    for (const nowMs of [startMs, endMs, deadline - 1_000, deadline - 1]) {
      expect(await engine.maintenance.sweepExpired(nowMs, 500)).toBe(0)
    }
    // By an earlier clock the row is still to be seen.
    expect(await desk.get('a', '#', endMs - 1)).toBeDefined()
    expect(await engine.maintenance.sweepExpired(deadline, 500)).toBe(1)
    expect(await desk.get('a', '#', endMs - 1)).toBeUndefined()
    for (const scan of everyScan) expect(await desk.names(scan, endMs - 1)).toEqual([])
    expect(await engine.maintenance.sweepExpired(deadline, 500)).toBe(0)
  })

  it('sweepExpired: at most rowsMax, 0 when nothing is left, live records untouched', async ({ engine }) => {
    const desk = await makeDesk(engine, indices)
    const other = await makeDesk(engine, indices, { tenant: desk.tenant, name: 'other' })
    const deadline = endMs + sweepGraceMs
    await fill(desk, [
      ...numbered(12, 'gone').map((name) => putOf(desk.table, name, { data, ttlSeconds })),
      ...numbered(5, 'later').map((name) => putOf(desk.table, name, { data, ttlSeconds: ttlSeconds + 1 })),
      ...numbered(5, 'never').map((name) => putOf(desk.table, name, { data })),
    ])
    await fill(
      other,
      numbered(7).map((name) => putOf(other.table, name, { data, ttlSeconds: ttlSeconds - 1 })),
    )
    expect(await sweepAll(engine, deadline, 4)).toBe(19)
    expect(await desk.names(timeScan(), endMs - 1)).toEqual([...numbered(5, 'later'), ...numbered(5, 'never')])
    expect(await other.names(timeScan(), startMs)).toEqual([])
    expect(await sweepAll(engine, deadline + 1_000, 4)).toBe(5)
    expect(await desk.names(timeScan(), startMs)).toEqual(numbered(5, 'never'))
  })

  it('sweepExpired: goes by the ttl that the record has now', async ({ engine }) => {
    const desk = await makeDesk(engine)
    for (const name of ['removed', 'longer', 'anew']) await desk.put(name, { ttlSeconds })
    await desk.put('removed')
    await desk.put('longer', { ttlSeconds: ttlSeconds + 1_000 })
    await desk.put('anew', { ttlSeconds: ttlSeconds + 1_000 }, endMs)
    const deadline = endMs + sweepGraceMs
    expect(await engine.maintenance.sweepExpired(deadline, 500)).toBe(0)
    for (const name of ['removed', 'longer', 'anew']) expect(await desk.get(name, '#', deadline)).toBeDefined()
  })

  it('sweepExpired: a put after the sweep is a new record', async ({ engine }) => {
    const desk = await makeDesk(engine, indices)
    await desk.put('a', { data, ttlSeconds })
    await desk.put('b', { data })
    const nowMs = endMs + sweepGraceMs
    await engine.maintenance.sweepExpired(nowMs, 500)
    expect(await desk.put('a', { data }, nowMs)).toBe(nowMs)
    expect(await desk.names(indexScan('i1', 'x'), nowMs)).toEqual(['b', 'a'])
  })
}
