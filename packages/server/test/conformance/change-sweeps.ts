import { expect } from 'bun:test'
import type { LogPlace } from '../../src/core/changes/log-entry.ts'
import { sweepGraceMs } from '../../src/core/limits.ts'
import { readFeed } from '../../src/operations/changes/feed-pages.ts'
import { type Case, expectSound } from '../engine-conformance.ts'
import { drainSweep, hourMs, makeLog, readAfter, shown } from './change-fixture.ts'
import { numbered, startMs } from './fixture.ts'

export const changeSweepCases = (it: Case): void => {
  it('changes: the sweep keeps what is young enough, and the newest of what is old', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table } = log
    for (let n = 0; n < 20; n++) await log.put(`k${n}`, {}, startMs + n * hourMs)
    const { changes, head } = await readAfter(engine, table, log.start, { nowMs: startMs })
    const nowMs = startMs + 33 * hourMs + sweepGraceMs
    const counted = async () => [
      await engine.statistics.countChanges(table),
      (await engine.measures.store()).changesKept,
    ]
    expect(await counted()).toEqual([20, undefined])
    await drainSweep(engine, nowMs)
    expect(await counted()).toEqual([10, 10])
    // The entry of the ninth hour is exactly 24 hours old, and stays; those before it are gone.
    const at = (n: number): LogPlace => ({ seq: changes[n]!.seq, mark: changes[n]!.mark })
    const isThere = async (place: LogPlace): Promise<boolean> =>
      (await engine.changes.read(
        table,
        { after: place.seq, seen: place, hash: undefined, withData: true, changesMax: 9 },
        nowMs,
      )) !== undefined
    expect(await isThere(at(8))).toBe(false)
    expect(await isThere(log.start)).toBe(false)
    expect(await isThere(at(9))).toBe(true)
    expect((await readAfter(engine, table, at(9))).changes.length).toBe(10)
    expect((await readAfter(engine, table, at(10))).changes.length).toBe(9)
    await drainSweep(engine, startMs + 1_000 * hourMs)
    expect(await isThere(at(18))).toBe(false)
    expect(await isThere(head)).toBe(true)
    await log.put('after', {}, startMs + 1_000 * hourMs)
    expect((await readAfter(engine, table, head)).changes.length).toBe(1)
    expect(await counted()).toEqual([1, 0])
    await expectSound(engine)
  })

  it('changes: a sweep under readers: who is up to date stays so, and an older place has ended wherever it stands', async ({
    engine,
  }) => {
    const log = await makeLog(engine)
    const { table } = log
    const places = [log.start]
    for (let n = 0; n < 30; n++) {
      await log.put(`k${n}`, {}, startMs + n * hourMs)
      places.push(await engine.changes.head(table))
    }
    const nowMs = startMs + 40 * hourMs + sweepGraceMs
    let upToDate = places.at(-1)!
    // As many entries again are written as are swept.
    for (let steps = 0; (await engine.maintenance.sweepChanges(nowMs, 4)) > 0; steps++) {
      expect((await readAfter(engine, table, upToDate)).changes).toEqual([])
      await log.put(`new${steps}`, {}, nowMs)
      const page = await readAfter(engine, table, upToDate)
      expect(page.changes.map(shown)).toEqual([`put new${steps}@${nowMs - startMs} {}`])
      upToDate = page.place
    }
    const reader = { engine, table, query: { hash: undefined, withData: true }, keySeq: 0 }
    for (const [n, place] of places.entries()) {
      // The first is the beginning of the log, so this is the place of hour n - 1.
      const isKept = n - 1 >= 16
      const reads = [
        { after: place.seq, seen: place },
        { after: place.seq, seen: upToDate },
        { after: place.seq, seen: place, walked: null },
        { after: place.seq, seen: upToDate, walked: { hashKey: 'k3', rangeKey: '#' } },
      ].map((at) =>
        readFeed(reader, at, nowMs).then(
          () => 'read',
          ({ code }) => code,
        ),
      )
      expect({ n, reads: await Promise.all(reads) }).toEqual({
        n,
        reads: Array(4).fill(isKept ? 'read' : 'cursor_expired'),
      })
    }
    await expectSound(engine)
  })

  it('changes: what is written while the clock is a year ahead is kept as long as the rest, once it is set back', async ({
    engine,
  }) => {
    const log = await makeLog(engine)
    const { table } = log
    const aheadMs = 365 * 24 * hourMs
    await log.put('before')
    await log.put('ahead', {}, startMs + aheadMs)
    await log.put('ahead', {}, startMs + aheadMs + 1)
    await log.remove('before', '#', startMs + hourMs)
    await log.put('after', {}, startMs + 2 * hourMs)
    const wanted = await log.changes()
    expect(wanted.length).toBe(3)
    const { head } = await readAfter(engine, table, log.start)
    // All of them are younger than a day, by the clock that is right.
    await drainSweep(engine, startMs + 23 * hourMs)
    expect(await log.changes()).toEqual(wanted)
    // The last entry keeps no other: those before it are older than a day.
    await log.put('last', {}, startMs + 20 * hourMs)
    await drainSweep(engine, startMs + 27 * hourMs + sweepGraceMs)
    expect(await log.changes(head)).toEqual([`put last@${20 * hourMs} {}`])
    const request = { after: log.start.seq, seen: log.start, hash: undefined, withData: true, changesMax: 9 }
    expect(await engine.changes.read(table, request, startMs)).toBeUndefined()
    await expectSound(engine)
  })

  it('changes: an entry whose time is far ahead does not keep those before it, nor is it removed early', async ({
    engine,
  }) => {
    const log = await makeLog(engine)
    await log.put('ahead', {}, startMs + 10_000 * hourMs)
    await log.put('behind', {}, startMs + 1)
    await drainSweep(engine, startMs + 20 * hourMs)
    expect((await log.changes()).length).toBe(2)
    await log.put('later', {}, startMs + 2)
    const { head } = await readAfter(engine, log.table, log.start)
    await drainSweep(engine, startMs + 40 * hourMs)
    const request = { after: log.start.seq, seen: log.start, hash: undefined, withData: true, changesMax: 9 }
    expect(await engine.changes.read(log.table, request, startMs)).toBeUndefined()
    expect(await log.changes(head)).toEqual([])
  })

  it('changes: what is written while the clock is behind does not remove what came before it', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table } = log
    for (let n = 0; n < 20; n++) await log.put(`k${n}`, {}, startMs + (100 + n) * hourMs)
    // As many that a search for the old ones finds one of them.
    for (let n = 0; n < 30; n++) await log.put(`behind${n}`, {}, startMs + 10 * hourMs)
    await log.put('after', {}, startMs + 120 * hourMs)
    await drainSweep(engine, startMs + 123 * hourMs + sweepGraceMs)
    expect((await log.changes()).length).toBe(51)
    // The third entry is exactly 24 hours old, and stays; those before it are gone.
    await drainSweep(engine, startMs + 126 * hourMs + sweepGraceMs)
    expect(await engine.statistics.countChanges(table)).toBe(48)
    // When those before them are old too, they go with them.
    await drainSweep(engine, startMs + 200 * hourMs)
    expect(await engine.statistics.countChanges(table)).toBe(0)
    await expectSound(engine)
  })

  it('changes: a log that was ended is swept but for its newest entry', async ({ engine }) => {
    const log = await makeLog(engine)
    const { tenant, table } = log
    for (const key of numbered(20)) await log.put(key)
    const { head } = await readAfter(engine, table, log.start)
    await engine.tables.keepChanges(tenant.caller, 'app', 'orders', null, startMs)
    await drainSweep(engine, startMs)
    const request = { after: log.start.seq, seen: log.start, hash: undefined, withData: true, changesMax: 9 }
    expect(await engine.changes.read(table, request, startMs)).toBeUndefined()
    expect(await engine.changes.head(table)).toEqual(head)
    await expectSound(engine)
  })

  it('changes: purging a table removes its log', async ({ engine }) => {
    const log = await makeLog(engine)
    for (const key of numbered(20)) await log.put(key)
    await engine.tables.delete(log.tenant.caller, 'app', 'orders', startMs)
    const nowMs = startMs + 8 * 24 * hourMs
    while ((await engine.maintenance.purgeTables(nowMs, 7)) > 0) {
      // It goes on.
    }
    const dump = await engine.transfer.openDump()
    const chunks = []
    for await (const chunk of dump.changes()) chunks.push(chunk)
    await dump.close()
    expect(chunks).toEqual([])
    await expectSound(engine)
  })
}
