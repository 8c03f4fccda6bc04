import { expect } from 'bun:test'
import { pageBytesMax, pageExpiredRowsMax } from '../../src/core/limits.ts'
import { noRangeKey } from '../../src/core/records/record-key.ts'
import { resumeScan, type Scan } from '../../src/core/records/scan.ts'
import type { StoredRecord } from '../../src/core/records/stored-record.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  type Fixture,
  fill,
  fillAtOnce,
  indexScan,
  scannedIndices as indices,
  makeFixture,
  nameOf,
  numbered,
  primaryScan,
  putOf,
  readPages,
  scansOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

const everyScan = scansOf('h')

/** The bytes of `items` as an answer has them. Not by the means that the engines count with. */
const itemsBytes = (records: StoredRecord[]): number => {
  const items = records.map(({ hashKey, rangeKey, ttlSeconds, updatedAtMs }) => ({
    hashKey,
    rangeKey: rangeKey === noRangeKey ? undefined : rangeKey,
    data: null,
    ttl: ttlSeconds ?? undefined,
    updatedAt: updatedAtMs,
  }))
  const data = records.reduce((sum, record) => sum + Buffer.byteLength(record.data) - 'null'.length, 0)
  return Buffer.byteLength(JSON.stringify(items)) + data
}

/** JSON of just this many bytes, with characters of one, two and four bytes in it. */
const dataOfBytes = (bytes: number): string => {
  const start = '{"s":"x","r":1,"pad":"é\u{1f511}'
  return `${start}${'.'.repeat(bytes - Buffer.byteLength(start) - 2)}"}`
}

const sizesOfPages = async (fixture: Fixture, engine: Parameters<typeof readPages>[0], scan: Scan, rowsMax = 1_000) =>
  (await readPages(engine, fixture.table, scan, rowsMax)).map((page) => page.length)

export const pageCases = (it: Case): void => {
  it('pages meet each record exactly once, in every order, whatever their size', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const names = numbered(23)
    // r has ties that reach over the ends of pages.
    const puts = names.map((rangeKey, i) => putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: i >> 3 } }))
    await fill(fixture, puts)
    for (const scan of everyScan) {
      const wanted = scan.descending ? names.toReversed() : names
      for (const rowsMax of [1, 2, 5, 22, 23, 24]) {
        const found = await fixture.list(scan, startMs, rowsMax)
        expect(found.map((record) => record.rangeKey)).toEqual(wanted)
      }
    }
  })

  it('next: undefined on the page with which the scan comes to its end, a full one too', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await fixture.write(numbered(6).map((rangeKey) => putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: 1 } })))
    for (const scan of everyScan) {
      expect(await sizesOfPages(fixture, engine, scan, 6)).toEqual([6])
      expect(await sizesOfPages(fixture, engine, scan, 3)).toEqual([3, 3])
      expect(await sizesOfPages(fixture, engine, scan, 4)).toEqual([4, 2])
    }
    for (const scan of [primaryScan('none'), indexScan('i1', 'none'), timeScan({ lt: 0 })]) {
      expect(await engine.records.scan(fixture.table, scan, 3, startMs)).toEqual({ records: [], next: undefined })
    }
  })

  it('next: the place of the last row, by which the rest is found although that row is gone', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    for (const scan of everyScan) {
      const puts = numbered(6).map((rangeKey) => putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: 1 } }))
      await fixture.write(puts)
      const page = await engine.records.scan(fixture.table, scan, 3, startMs)
      await fixture.write(page.records.map((record) => deleteOf('h', record.rangeKey)))
      const rest = await fixture.list(resumeScan(scan, page.next!))
      const met = [...page.records, ...rest].map((record) => record.rangeKey)
      expect(met).toEqual(scan.descending ? numbered(6).toReversed() : numbered(6))
      await fixture.write(rest.map((record) => deleteOf('h', record.rangeKey)))
    }
  })

  it('next: records made behind the place are not met, those ahead of it are', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's', rangeField: 'r' } })
    for (const r of [10, 20, 30, 40]) await fixture.put(`r${r}`, { data: { s: 'x', r } })
    for (const descending of [false, true]) {
      const scan = indexScan('i1', 'x', undefined, descending)
      const page = await engine.records.scan(fixture.table, scan, 2, startMs)
      const [behind, ahead] = descending ? [35, 15] : [15, 35]
      for (const r of [behind, ahead]) await fixture.put('new', { rangeKey: String(r), data: { s: 'x', r } })
      const rest = await fixture.names(resumeScan(scan, page.next!))
      expect(rest).toEqual(descending ? ['r20', 'new/15', 'r10'] : ['r30', 'new/35', 'r40'])
      await fixture.write([deleteOf('new', '15'), deleteOf('new', '35')])
    }
  })

  // Four records, their commas and the brackets: one page to the byte, whatever their keys are made of.
  const keyKinds: [what: string, hashKey: string, rangeKeys: string[], ttlSeconds: number | undefined][] = [
    ['plain ones', 'h', ['a', 'b', 'c', 'd'], undefined],
    ['no range key, and a ttl', 'h', [noRangeKey, 'a', 'b', 'c'], startSeconds + 1_000],
    ['control characters', '\u0001\u001f'.repeat(512), ['\0', '\n', '\0\0', '\b'.repeat(1_024)], startSeconds + 1_000],
    [
      'characters of two to four bytes',
      'é€\u{1f511}'.repeat(100),
      ['é', '€', '\u{1f511}', '\u2028'.repeat(300)],
      undefined,
    ],
    ['quotes and backslashes', '"\\'.repeat(512), ['"', '\\', '"\\', '/\u007f'.repeat(500)], undefined],
  ]
  for (const [what, hashKey, rangeKeys, ttlSeconds] of keyKinds) {
    it(`the items of a page are exactly 1,048,576 bytes as sent, and not one more; keys: ${what}`, async ({
      engine,
    }) => {
      const fixture = await makeFixture(engine, indices)
      const room = pageBytesMax - '[,,,]'.length
      const quarter = Math.floor(room / 4)
      const put = (rangeKey: string, bytes: number) => {
        const record = {
          hashKey,
          rangeKey,
          data: dataOfBytes(100),
          ttlSeconds: ttlSeconds ?? null,
          updatedAtMs: startMs,
        }
        const data = dataOfBytes(100 + bytes - (itemsBytes([record]) - '[]'.length))
        return fixture.put(hashKey, { rangeKey, data, ttlSeconds })
      }
      for (const [i, rangeKey] of rangeKeys.entries()) await put(rangeKey, i === 0 ? room - 3 * quarter : quarter)
      for (const scan of scansOf(hashKey)) {
        const [page, ...others] = await readPages(engine, fixture.table, scan, 1_000)
        expect([page!.length, others.length, itemsBytes(page!)]).toEqual([4, 0, pageBytesMax])
      }
      await put(rangeKeys[2]!, quarter + 1)
      for (const scan of scansOf(hashKey)) expect(await sizesOfPages(fixture, engine, scan)).toEqual([3, 1])
    })
  }

  it('a page of records that are nearly all key ends where the next would pass 1,048,576 bytes', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    // 1 kB of control characters is 6 kB as sent: there is room for a third of these.
    const hashKey = '\u0001'.repeat(1_024)
    const names = numbered(250).map((name) => `${'\u0002'.repeat(1_000)}${name}`)
    await fill(
      fixture,
      names.map((rangeKey) => putOf(fixture.table, hashKey, { rangeKey, data: { s: 'x', r: 1 } })),
    )
    for (const scan of scansOf(hashKey)) {
      const pages = await readPages(engine, fixture.table, scan, 1_000)
      expect(pages.flat().map((record) => record.rangeKey)).toEqual(scan.descending ? names.toReversed() : names)
      expect(pages.length).toBeGreaterThan(2)
      pages.forEach((page, i) => {
        expect(itemsBytes(page)).toBeLessThanOrEqual(pageBytesMax)
        const next = pages[i + 1]?.[0]
        if (next !== undefined) expect(itemsBytes([...page, next])).toBeGreaterThan(pageBytesMax)
      })
    }
  })

  it('the bytes of a page are counted behind expired records too', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    // More expired ones than the first walk of an engine may step over, so that the page is made of two.
    const live = (name: string, bytes: number) =>
      putOf(fixture.table, 'h', { rangeKey: name, data: dataOfBytes(bytes) })
    await fixture.write([live('a', 400_000)])
    const expired = numbered(600).map((rangeKey) =>
      putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: 1 }, ttlSeconds: startSeconds }),
    )
    await fillAtOnce(fixture, expired)
    const rest = pageBytesMax - itemsBytes(await fixture.list(primaryScan('h'), startMs, 1))
    const frame =
      itemsBytes([{ hashKey: 'h', rangeKey: 'z', data: '', ttlSeconds: null, updatedAtMs: startMs }]) - '[]'.length
    await fixture.write([live('z', rest - frame - ','.length)])
    const [page] = await readPages(engine, fixture.table, primaryScan('h'), 1_000)
    expect(page!.map(nameOf)).toEqual(['h/a', 'h/z'])
    expect(itemsBytes(page!)).toBe(pageBytesMax)
    await fixture.write([live('z', rest - frame - ','.length + 1)])
    expect(
      (await readPages(engine, fixture.table, primaryScan('h'), 1_000)).map((records) => records.map(nameOf)),
    ).toEqual([['h/a'], ['h/z']])
  })

  it('a page holds at least one record, however large', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const sizes = [pageBytesMax + 1, 100, pageBytesMax, 100, pageBytesMax + 1]
    for (const [i, bytes] of sizes.entries()) {
      await fixture.put('h', { rangeKey: `${i}`, data: dataOfBytes(bytes) })
    }
    for (const scan of everyScan) {
      const pages = await readPages(engine, fixture.table, scan, 1_000)
      expect(pages.map((page) => page.length)).toEqual([1, 1, 1, 1, 1])
      const wanted = sizes.map((_, i) => `h/${i}`)
      expect(pages.flat().map(nameOf)).toEqual(scan.descending ? wanted.toReversed() : wanted)
    }
  })

  it('a page is bounded by rows and bytes together', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    // The rest leaves room for the keys and all else that is sent with data.
    const third = Math.floor(pageBytesMax / 3) - 100
    for (const [i, bytes] of [third, third, third, third, 50, 50, 50].entries()) {
      await fixture.put('h', { rangeKey: `${i}`, data: dataOfBytes(bytes) })
    }
    expect(await sizesOfPages(fixture, engine, primaryScan('h'), 4)).toEqual([3, 4])
    expect(await sizesOfPages(fixture, engine, primaryScan('h'), 2)).toEqual([2, 2, 2, 1])
  })

  it('expired records between live ones are left out of pages, which meet the others exactly once', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine, indices)
    const names = numbered(40)
    // The expired ones are large: their data is no part of any page.
    const puts = names.map((rangeKey, i) =>
      i % 4 === 1
        ? putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: i >> 3 } })
        : putOf(fixture.table, 'h', {
            rangeKey,
            data: { s: 'x', r: i >> 3, pad: '.'.repeat(60_000) },
            ttlSeconds: startSeconds,
          }),
    )
    await fill(fixture, puts)
    const live = names.filter((_, i) => i % 4 === 1)
    for (const scan of everyScan) {
      for (const rowsMax of [1, 3, 10, 11, 1_000]) {
        const found = (await fixture.list(scan, startMs, rowsMax)).map((record) => record.rangeKey)
        expect(found).toEqual(scan.descending ? live.toReversed() : live)
      }
      expect(await fixture.list(scan, startMs - 1)).toHaveLength(40)
    }
  })

  it('a page looks at a bounded number of expired records, then ends early with next', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    const count = pageExpiredRowsMax + 500
    const names = numbered(count)
    const expired = names.map((rangeKey) =>
      putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', r: 1 }, ttlSeconds: startSeconds }),
    )
    await fill(fixture, [putOf(fixture.table, 'h', { rangeKey: 'a', data: { s: 'x', r: 0 } })])
    await fillAtOnce(fixture, expired)
    await fill(fixture, [putOf(fixture.table, 'h', { rangeKey: 'z', data: { s: 'x', r: 2 } })])
    for (const scan of everyScan) {
      const pages = await readPages(engine, fixture.table, scan, 50)
      const found = pages.map((page) => page.map((record) => record.rangeKey))
      const [first, last] = scan.descending ? ['z', 'a'] : ['a', 'z']
      // Short, though a live record lies ahead; and it takes no more pages than the bound makes needful.
      expect(found[0]).toEqual([first])
      expect(found.flat()).toEqual([first, last])
      expect(found.length).toBeLessThanOrEqual(3)
    }
    // From behind the first live record on, the page is empty and still has a next.
    const page = await engine.records.scan(fixture.table, primaryScan('h', { gt: 'a' }), 50, startMs)
    expect(page.records).toEqual([])
    const reached = names.indexOf(page.next!.range as string)
    expect(reached).toBeGreaterThan(0)
    expect(reached).toBeLessThan(pageExpiredRowsMax)
  }, 120_000)

  it('a page steps over fewer expired records than the bound without ending', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const expired = numbered(pageExpiredRowsMax - 100).map((rangeKey) =>
      putOf(fixture.table, 'h', { rangeKey, ttlSeconds: startSeconds }),
    )
    await fillAtOnce(fixture, expired)
    await fixture.put('h', { rangeKey: 'z' })
    const page = await engine.records.scan(fixture.table, primaryScan('h'), 50, startMs)
    expect(page.records.map(nameOf)).toEqual(['h/z'])
  }, 120_000)
}
