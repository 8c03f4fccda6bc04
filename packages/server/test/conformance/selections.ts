import { expect } from 'bun:test'
import { countRowsMax, pageBytesMax, pageExpiredRowsMax } from '../../src/core/limits.ts'
import { noRangeKey } from '../../src/core/records/record-key.ts'
import { resumeScan, type Scan } from '../../src/core/records/scan.ts'
import type { RecordHead } from '../../src/core/records/stored-record.ts'
import { slots } from '../../src/core/tables/indices.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  type Fixture,
  fill,
  fillAtOnce,
  indexScan,
  scannedIndices as indices,
  makeFixture,
  numbered,
  primaryScan,
  putOf,
  scansOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

// Pages of keys and counts: the same rows as a page of records, in the same order, with the same end.

const headOf = ({ hashKey, rangeKey, ttlSeconds, updatedAtMs }: RecordHead): RecordHead => ({
  hashKey,
  rangeKey,
  ttlSeconds,
  updatedAtMs,
})

const keyPages = async (engine: Engine, fixture: Fixture, scan: Scan, rowsMax: number, nowMs = startMs) => {
  const pages: RecordHead[][] = []
  for (let rest = scan; ; ) {
    const { records, next } = await engine.records.scanKeys(fixture.table, rest, rowsMax, nowMs)
    pages.push(records.map(headOf))
    if (next === undefined) return pages
    rest = resumeScan(scan, next)
  }
}

const counts = async (engine: Engine, fixture: Fixture, scan: Scan, rowsMax: number, nowMs = startMs) => {
  const found: number[] = []
  for (let rest = scan; ; ) {
    const { count, next } = await engine.records.count(fixture.table, rest, rowsMax, nowMs)
    expect(count).toBeLessThanOrEqual(rowsMax)
    found.push(count)
    if (next === undefined) return found
    rest = resumeScan(scan, next)
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

/** The bytes of `items` without data as an answer has them. Not by the means that the engines count with. */
const itemsBytes = (records: RecordHead[]): number => {
  const items = records.map(({ hashKey, rangeKey, ttlSeconds, updatedAtMs }) => ({
    hashKey,
    rangeKey: rangeKey === noRangeKey ? undefined : rangeKey,
    ttl: ttlSeconds ?? undefined,
    updatedAt: updatedAtMs,
  }))
  return Buffer.byteLength(JSON.stringify(items))
}

export const selectionCases = (it: Case): void => {
  it('keys and count: the rows of the pages of records, in every order, whatever the size of pages', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine, Object.fromEntries(slots.map((slot) => [slot, indices.i1])))
    // r has ties that reach over the ends of pages. Some data is short, some long.
    const puts = numbered(23).map((rangeKey, i) =>
      putOf(fixture.table, 'h', {
        rangeKey,
        data: { s: 'x', r: i >> 3, text: 'é'.repeat(i % 4 === 0 ? 9_000 : 10) },
        ttlSeconds: [undefined, startSeconds + 1_000, startSeconds][i % 3],
      }),
    )
    await fill(fixture, puts)
    const others = slots.flatMap((slot) => [false, true].map((down) => indexScan(slot, 'x', undefined, down)))
    for (const scan of [...scansOf('h').filter(({ index }) => index === 'primary' || index === 't'), ...others]) {
      const heads = (await fixture.list(scan)).map(headOf)
      expect(heads).toHaveLength(16)
      for (const rowsMax of [1, 2, 5, 15, 16, 17]) {
        const pages = await keyPages(engine, fixture, scan, rowsMax)
        expect(pages.flat()).toEqual(heads)
        expect(pages.map((page) => page.length)).toEqual(await counts(engine, fixture, scan, rowsMax))
        expect(pages).toHaveLength(Math.ceil(16 / rowsMax))
      }
    }
    for (const scan of [primaryScan('none'), indexScan('i1', 'none'), timeScan({ lt: 0 })]) {
      expect(await engine.records.scanKeys(fixture.table, scan, 3, startMs)).toEqual({ records: [], next: undefined })
      expect(await engine.records.count(fixture.table, scan, 3, startMs)).toEqual({ count: 0, next: undefined })
    }
  })

  it('keys and count: within a range, and from a place whose row is gone', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    for (const descending of [false, true]) {
      for (const scan of [
        primaryScan('h', { gte: 'k000003', lt: 'k000013' }, descending),
        timeScan({ gt: startMs + 2, lte: startMs + 12 }, descending),
        indexScan('i1', 'x', { gte: 3, lt: 13 }, descending),
      ]) {
        for (const [i, rangeKey] of numbered(20).entries()) {
          await fixture.put('h', { rangeKey, data: { s: 'x', r: i } }, startMs + i)
        }
        expect(await counts(engine, fixture, scan, 4)).toEqual([4, 4, 2])
        const [first] = await keyPages(engine, fixture, scan, 4)
        const { next } = await engine.records.count(fixture.table, scan, 4, startMs)
        await fixture.write(first!.map((record) => deleteOf('h', record.rangeKey)))
        const rest = resumeScan(scan, next!)
        expect(await counts(engine, fixture, rest, 10)).toEqual([6])
        const keys = numbered(20).slice(3, 13)
        const wanted = descending ? keys.slice(0, 6).toReversed() : keys.slice(4)
        expect((await keyPages(engine, fixture, rest, 5)).flat().map((record) => record.rangeKey)).toEqual(wanted)
        await fixture.write(numbered(20).map((key) => deleteOf('h', key)))
      }
    }
  })

  it('keys and count: a record is live until, and not including, the second of its ttl', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const ttlSeconds = startSeconds + 10
    await fixture.put('h', { rangeKey: 'short', data: { s: 'x', r: 1 }, ttlSeconds })
    await fixture.put('h', { rangeKey: 'long', data: { s: 'x', r: 1, text: 'y'.repeat(9_000) }, ttlSeconds })
    await fixture.put('h', { rangeKey: 'stays', data: { s: 'x', r: 1 } })
    for (const scan of scansOf('h')) {
      for (const [nowMs, live] of [
        [ttlSeconds * 1000 - 1, 3],
        [ttlSeconds * 1000, 1],
      ] as const) {
        expect(await counts(engine, fixture, scan, 5, nowMs)).toEqual([live])
        expect((await keyPages(engine, fixture, scan, 5, nowMs)).flat()).toHaveLength(live)
      }
      // The row after the last is expired, and there is no next page.
      expect(await counts(engine, fixture, scan, 1, ttlSeconds * 1000)).toEqual([1])
    }
  })

  it('count: does not meet the expired records of other tables', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const other = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'other' })
    const puts = (table: Fixture['table'], ttlSeconds?: number) =>
      numbered(40).map((rangeKey) => putOf(table, 'h', { rangeKey, ttlSeconds }))
    await fill(fixture, puts(fixture.table))
    await fill(other, puts(other.table, startSeconds))
    expect(await counts(engine, fixture, primaryScan('h'), 25)).toEqual([25, 15])
    expect(await counts(engine, other, primaryScan('h'), 25)).toEqual([0])
  })

  it('keys: a page ends before the text of items would pass its bytes, and not a byte earlier', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    // Escapes of six bytes and of two, and characters of two, three and four bytes.
    const hashKey = '"\\é€😀'
    const put = (rangeKey: string) =>
      putOf(fixture.table, hashKey, { rangeKey, data: { s: 'x', r: 1 }, ttlSeconds: 4e9 })
    const bytesOf = (rangeKey: string) => itemsBytes([{ hashKey, rangeKey, ttlSeconds: 4e9, updatedAtMs: startMs }])
    const long = numbered(200).map((key) => `${key}${'\u0001'.repeat(1_000)}`)
    const each = bytesOf(long[0]!) - 1
    const rows = Math.floor((pageBytesMax - 1) / each)
    await fillAtOnce(fixture, long.slice(0, rows).map(put))
    // The rest of the page goes to the last record, whose key is as long as it takes.
    const left = pageBytesMax - rows * each - bytesOf('z')
    const last = (more: number) => `z${'\0'.repeat(Math.floor(left / 6))}${'.'.repeat((left % 6) + more)}`
    await fixture.write([put(last(0))])
    for (const scan of scansOf(hashKey)) {
      const pages = await keyPages(engine, fixture, scan, 1_000)
      expect([pages.length, itemsBytes(pages[0]!)]).toEqual([1, pageBytesMax])
    }
    await fixture.write([deleteOf(hashKey, last(0)), put(last(1))])
    for (const scan of scansOf(hashKey)) {
      const pages = await keyPages(engine, fixture, scan, 1_000)
      expect(pages.map((page) => page.length)).toEqual([rows, 1])
    }
  })

  it('keys: the shortest form of a record, too, fills a page to the last one that fits', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const hashKeys = numbered(1_000).map((key) => key.padEnd(1_024, 'x'))
    await fillAtOnce(
      fixture,
      hashKeys.map((hashKey) => putOf(fixture.table, hashKey, { data: { s: 'x', r: 1 } })),
    )
    for (const scan of scansOf('none').filter(({ index }) => index !== 'primary')) {
      const [first, rest] = await keyPages(engine, fixture, scan, 1_000)
      expect(first!.length + rest!.length).toBe(1_000)
      expect(itemsBytes(first!)).toBeLessThanOrEqual(pageBytesMax)
      expect(itemsBytes([...first!, rest![0]!])).toBeGreaterThan(pageBytesMax)
    }
  })

  it('count: 10,000 records and one more, in every order', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const puts = numbered(countRowsMax + 1).map((rangeKey, i) =>
      putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: i >> 5 } }),
    )
    await fillAtOnce(fixture, puts)
    for (const scan of scansOf('h')) {
      expect(await counts(engine, fixture, scan, countRowsMax)).toEqual([countRowsMax, 1])
      expect(await counts(engine, fixture, scan, countRowsMax + 1)).toEqual([countRowsMax + 1])
    }
  }, 120_000)

  it('keys and count: skip a bounded number of expired records, then end early with next', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const expired = numbered(pageExpiredRowsMax + 500).map((rangeKey) =>
      putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: 1 }, ttlSeconds: startSeconds }),
    )
    await fill(fixture, [putOf(fixture.table, 'h', { rangeKey: 'a', data: { s: 'x', r: 0 } })])
    await fillAtOnce(fixture, expired)
    await fill(fixture, [putOf(fixture.table, 'h', { rangeKey: 'z', data: { s: 'x', r: 2 } })])
    await fillAtOnce(
      fixture,
      numbered(1_234).map((rangeKey) => putOf(fixture.table, 'many', { rangeKey })),
    )
    // However the counts are cut, they add up.
    expect(sum(await counts(engine, fixture, primaryScan('many'), countRowsMax))).toBe(1_234)
    expect(await counts(engine, fixture, primaryScan('many'), 700)).toEqual([700, 534])
    for (const scan of scansOf('h').filter(({ index }) => index !== 't')) {
      const found = await counts(engine, fixture, scan, 50)
      expect(found[0]).toBe(1)
      expect(sum(found)).toBe(2)
      expect(found.length).toBeLessThanOrEqual(3)
      const pages = (await keyPages(engine, fixture, scan, 50)).map((page) => page.map(({ rangeKey }) => rangeKey))
      expect(pages[0]).toEqual([scan.descending ? 'z' : 'a'])
      expect(pages.flat()).toEqual(scan.descending ? ['z', 'a'] : ['a', 'z'])
      // The page is full, and only the rows after it tell that there is a next one.
      expect(sum(await counts(engine, fixture, scan, 1))).toBe(2)
    }
    // A scan that begins with them: its first page is empty, and there is a next one.
    for (const scan of [
      primaryScan('h', { gt: 'a' }),
      primaryScan('h', { lt: 'z' }, true),
      indexScan('i1', 'x', { gte: 1 }),
      indexScan('i1', 'x', { lt: 2 }, true),
    ]) {
      expect(await counts(engine, fixture, scan, 50)).toEqual([0, 1])
      expect((await keyPages(engine, fixture, scan, 50)).map((page) => page.length)).toEqual([0, 1])
    }
    // Before their end all of them are live, and none is left out.
    expect(await counts(engine, fixture, primaryScan('h'), 20_000, startMs - 1)).toEqual([pageExpiredRowsMax + 502])
  }, 120_000)

  it('count: among many expired records, live ones are counted exactly once', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const puts = numbered(3_000).map((rangeKey, i) =>
      putOf(fixture.table, 'h', {
        rangeKey,
        data: { s: 'x', r: i >> 4 },
        ttlSeconds: i % 2 === 0 ? startSeconds : undefined,
      }),
    )
    await fillAtOnce(fixture, puts)
    for (const scan of scansOf('h')) {
      for (const rowsMax of [7, 250, 251, 750]) {
        const found = await counts(engine, fixture, scan, rowsMax)
        expect(found).toEqual([
          ...Array(Math.ceil(1_500 / rowsMax) - 1).fill(rowsMax),
          1_500 % rowsMax === 0 ? rowsMax : 1_500 % rowsMax,
        ])
      }
      // Larger ones may be short.
      for (const rowsMax of [1_499, 1_500, countRowsMax]) {
        expect(sum(await counts(engine, fixture, scan, rowsMax))).toBe(1_500)
      }
    }
  }, 120_000)
}
