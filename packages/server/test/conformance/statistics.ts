import { expect } from 'bun:test'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { recoveryMs } from '../../src/core/limits.ts'
import { timeBounds } from '../../src/core/records/range.ts'
import { resumeScan, type TimeScan } from '../../src/core/records/scan.ts'
import { dayMs } from '../../src/core/statistics/figure.ts'
import { countTable } from '../../src/operations/statistics/count-table.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import type { Case } from '../engine-conformance.ts'
import { type Fixture, fill, makeFixture, makeTenant, numbered, putOf, startMs, startSeconds } from './fixture.ts'
import { makeBench } from './runs.ts'

const whole = (descending = true): TimeScan => ({
  ...{ index: 't', ...timeBounds(undefined), lowId: 0, highId: 0, descending },
})

/** The sizes of all pages. */
const sizes = async (engine: Engine, table: Table, rowsMax: number, descending = true) => {
  const pages: { rows: number; bytes: number }[] = []
  for (let rest = whole(descending); ; ) {
    const { rows, bytes, next } = await engine.statistics.size(table, rest, rowsMax)
    pages.push({ rows, bytes })
    if (next === undefined) return pages
    rest = resumeScan(whole(descending), next) as TimeScan
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0)

const fillFixture = async (engine: Engine): Promise<Fixture> => {
  const fixture = await makeFixture(engine)
  // Many of the same millisecond; data short and long, with characters of several bytes.
  const puts = numbered(23).map((rangeKey, i) =>
    putOf(fixture.table, 'é', { rangeKey, data: { text: 'é'.repeat(i % 5 === 0 ? 9_000 : i) } }),
  )
  await fill(fixture, puts)
  await fixture.put('later', { data: '{ "n" : 1.0 }' }, startMs + 5_000)
  return fixture
}

export const statisticsCases = (it: Case): void => {
  it('sizes: the bytes of keys and data as they were sent, whatever the size of pages, in both directions', async ({
    engine,
  }) => {
    const fixture = await fillFixture(engine)
    await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'other' }).then((other) =>
      other.put('x', { data: { a: 1 } }),
    )
    const records = await fixture.list(whole())
    const expected = sum(
      records.map(({ hashKey, rangeKey, data }) =>
        sum([hashKey, rangeKey, data].map((text) => Buffer.byteLength(text))),
      ),
    )
    for (const rowsMax of [1, 5, 23, 24, 25]) {
      for (const descending of [true, false]) {
        const pages = await sizes(engine, fixture.table, rowsMax, descending)
        expect(sum(pages.map(({ rows }) => rows))).toBe(24)
        expect(sum(pages.map(({ bytes }) => bytes))).toBe(expected)
        expect(Math.max(...pages.map(({ rows }) => rows))).toBeLessThanOrEqual(rowsMax)
      }
    }
  })

  it('sizes: of a bucket those of its files, of a task those of payloads and results', async ({ engine }) => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    const { table: bucket } = await engine.buckets.create(caller, 'app', 'avatars', newBucketId(), startMs)
    for (const [i, size] of [0, 5, 5_368_709_120].entries()) {
      const blob = newBlobId(startMs)
      await engine.files.begin(caller, bucket, blob, startMs)
      const content = { size, contentType: 'text/plain', visibility: 'private' as const, sha256: 'ab'.repeat(32), blob }
      const file = { name: `f${i}`, content: { ...content, metadata: '{"size":7}' }, ttlSeconds: null }
      await engine.files.commit(caller, bucket, { ...file, condition: undefined }, startMs)
    }
    expect(await sizes(engine, bucket, 10)).toEqual([{ rows: 3, bytes: 5_368_709_125 }])
    await bench.add({ payload: '{"text":"é"}' })
    await bench.finish((await bench.claim())[0]!, { result: '{"ok":true}' })
    await bench.add({ payload: '{}' })
    expect(await sizes(engine, bench.task, 10)).toEqual([{ rows: 2, bytes: 13 + 11 + 2 }])
  })

  it('a table is counted with what was written in the last day and week; expired records are not', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    const nowMs = startMs + 10 * dayMs
    await fixture.put('expired', { ttlSeconds: startSeconds + 100 })
    for (const [i, days] of [0, 2, 4, 8, 9.5, 9.9].entries()) await fixture.put(`k${i}`, {}, startMs + days * dayMs)
    const { records, lastDay, lastWeek } = await countTable(engine, fixture.table, { nowMs, msMax: 60_000 })
    expect([records, lastDay, lastWeek]).toEqual([
      { value: 6, isExact: true },
      { value: 2, isExact: true },
      { value: 4, isExact: true },
    ])
    // Exactly a day ago is still in the last day.
    const boundary = await countTable(engine, fixture.table, { nowMs: startMs + 10.5 * dayMs, msMax: 60_000 })
    expect(boundary.lastDay).toEqual({ value: 2, isExact: true })
  })

  it('an estimate of rows, if there is one, is a number of records', async ({ engine }) => {
    const fixture = await fillFixture(engine)
    const estimate = await engine.statistics.estimateRows(fixture.table)
    if (estimate !== undefined) {
      expect(estimate).toBeGreaterThanOrEqual(0)
      expect(estimate).toBeLessThan(10_000)
    }
  })

  it('an estimate of runs, if there is one, is near their number, and is none of another task', async ({ engine }) => {
    const bench = await makeBench(engine)
    const other = await makeBench(engine, {}, { tenant: bench.tenant, name: 'other' })
    for (let i = 0; i < 30; i++) await bench.add()
    await other.add()
    const estimate = await engine.statistics.estimateRows(bench.task)
    if (estimate !== undefined) {
      expect(estimate).toBeGreaterThan(20)
      expect(estimate).toBeLessThanOrEqual(31)
    }
  })

  it('measures: what sweeps will remove first, and the size of the store', async ({ engine }) => {
    const none = await engine.measures.store()
    expect([none.firstExpiryMs, none.firstDeletedMs, none.firstDueBlobMs]).toEqual([undefined, undefined, undefined])
    if (none.storeBytes !== undefined) expect(none.storeBytes).toBeGreaterThan(0)
    const fixture = await makeFixture(engine)
    await fixture.put('late', { ttlSeconds: startSeconds + 200 })
    await fixture.put('early', { ttlSeconds: startSeconds + 100 })
    const { table: bucket } = await engine.buckets.create(fixture.tenant.caller, 'app', 'b', newBucketId(), startMs)
    const blob = newBlobId(startMs)
    await engine.files.begin(fixture.tenant.caller, bucket, blob, startMs)
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs + 7)
    const some = await engine.measures.store()
    expect(some.firstExpiryMs).toBe((startSeconds + 100) * 1000)
    expect(some.firstDeletedMs).toBe(startMs + 7)
    expect(some.firstDueBlobMs).toBeGreaterThan(0)
    expect(some.firstDeletedMs! + recoveryMs).toBeGreaterThan(startMs)
    const { org } = await makeTenant(engine, 'other')
    await engine.organizations.delete(org.name, startMs + 3)
    expect((await engine.measures.store()).firstDeletedMs).toBe(startMs + 3)
    await engine.organizations.restore(org.name, startMs + 4)
    expect((await engine.measures.store()).firstDeletedMs).toBe(startMs + 7)
  })
}
