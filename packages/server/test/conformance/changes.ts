import { expect } from 'bun:test'
import type { LogPlace } from '../../src/core/changes/log-entry.ts'
import { changesLookedAtMax, keepHoursMax, sweepGraceMs } from '../../src/core/limits.ts'
import { walkAfter } from '../../src/core/records/scan.ts'
import type { Table } from '../../src/store/tables.ts'
import { type Case, expectSound } from '../engine-conformance.ts'
import { makeLog, readAfter, shown } from './change-fixture.ts'
import {
  deleteOf,
  fixtureOf,
  fixtureThrough,
  makeFixture,
  numbered,
  patchOf,
  putOf,
  startMs,
  startSeconds,
} from './fixture.ts'

export const changeCases = (it: Case): void => {
  it('changes: every write adds a change, in the order of the commits', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table, tenant } = log
    await log.put('a', { data: { n: 1 } })
    await log.put('b', { rangeKey: 'x' }, startMs + 5)
    await log.put('a', { data: { n: 2 } }, startMs + 5)
    await log.write([putOf(table, 'c'), deleteOf('b', 'x'), patchOf(table, 'd', { merge: { e: 1 } })], startMs + 6)
    expect(await log.changes()).toEqual(['put a@5 {"n":2}', 'put c@6 {}', 'delete b/x@6', 'put d@6 {"e":1}'])
    await engine.records.putAll(tenant.caller, table, [putOf(table, 'a'), putOf(table, 'e')], false, startMs + 7)
    await engine.records.putAll(tenant.caller, table, [putOf(table, 'a'), putOf(table, 'f')], true, startMs + 8)
    const page = await readAfter(engine, table, log.start)
    expect(page.changes.map(shown).slice(-3)).toEqual(['put a@7 {}', 'put e@7 {}', 'put f@8 {}'])
    expect(page.place).toEqual(page.head)
    expect(await engine.changes.head(table)).toEqual(page.head)
    const fresh = ['g', 'h', 'g'].map((key) => putOf(table, key))
    await engine.records.putAll(tenant.caller, table, fresh, false, startMs + 9)
    expect(await log.changes(page.head)).toEqual(['put h@9 {}', 'put g@10 {}'])
    expect((await engine.changes.head(table)).seq).toBe(page.head.seq + 3)
    await expectSound(engine)
  })

  it('changes: what was not applied is no change', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table } = log
    await log.put('a')
    const { head } = await readAfter(engine, table, log.start)
    await log.remove('nothing')
    await log.write([putOf(table, 'b'), putOf(table, 'a', { condition: 'absent' })])
    await log.write([{ op: 'check', hashKey: 'a', rangeKey: '#', condition: 'exists' }])
    await log.write([patchOf(table, 'a', { increment: { '/n': 1 } }, { condition: 'absent' })])
    expect(await engine.changes.head(table)).toEqual(head)
    expect(await log.changes(head)).toEqual([])
  })

  it('changes: a load tells records apart whose keys read the same one after the other', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table, tenant } = log
    const load = (onlyAbsent: boolean, nowMs: number): Promise<number> => {
      const puts = [putOf(table, 'a', { rangeKey: 'bc' }), putOf(table, 'ab', { rangeKey: 'c' })]
      return engine.records.putAll(tenant.caller, table, puts, onlyAbsent, nowMs)
    }
    await log.put('ab', { rangeKey: 'c' }, startMs + 50)
    expect(await load(false, startMs + 5)).toBe(2)
    expect(await log.changes()).toEqual(['put a/bc@50 {}', 'put ab/c@51 {}'])
    await log.remove('a', 'bc', startMs + 60)
    const before = await engine.changes.head(table)
    expect(await load(true, startMs + 70)).toBe(1)
    expect(await log.changes(before)).toEqual(['put a/bc@70 {}'])
    expect((await engine.changes.head(table)).seq).toBe(before.seq + 1)
    await expectSound(engine)
  })

  it('changes: a batch over tables adds those of each table', async ({ engine }) => {
    const log = await makeLog(engine)
    const { tenant, table } = log
    const { table: plain } = await engine.tables.create(tenant.caller, 'app', 'plain', {}, startMs)
    const { table: other } = await engine.tables.create(tenant.caller, 'app', 'other', {}, startMs, 1)
    const otherStart = await engine.changes.head(other)
    const parts = [
      { table, records: [putOf(table, 'a'), putOf(table, 'b')] },
      { table: plain, records: [putOf(plain, 'p')] },
      { table: other, records: [putOf(other, 'o'), deleteOf('none')] },
    ]
    const done = await engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, startMs + 3)
    expect(done.applied).toBe(true)
    expect(await log.changes()).toEqual(['put a@3 {}', 'put b@3 {}'])
    expect((await readAfter(engine, other, otherStart)).changes.map(shown)).toEqual(['put o@3 {}'])
    const refused = [
      { table, records: [putOf(table, 'c')] },
      { table: other, records: [putOf(other, 'o', { condition: 'absent' })] },
    ]
    expect((await engine.runs.applyBatch(tenant.caller, { parts: refused, tasks: [] }, startMs + 4)).applied).toBe(
      false,
    )
    expect(await log.changes()).toEqual(['put a@3 {}', 'put b@3 {}'])
    await log.put('d', {}, startMs + 5)
    expect((await log.changes()).at(-1)).toBe('put d@5 {}')
    await expectSound(engine)
  })

  it('changes: pages end at their bounds and go on from their places', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table } = log
    for (const key of numbered(7)) await log.put(key)
    const seen: string[] = []
    let place = log.start
    for (let pages = 1; ; pages++) {
      const page = await readAfter(engine, table, place, { changesMax: 3 })
      seen.push(...page.changes.map(shown))
      for (const change of page.changes) expect(change.seq).toBeLessThanOrEqual(page.place.seq)
      place = page.place
      if (place.seq < page.head.seq) continue
      expect(pages).toBe(3)
      break
    }
    expect(seen).toEqual(numbered(7).map((key) => `put ${key}@0 {}`))
    const none = await readAfter(engine, table, log.start, { changesMax: 0 })
    expect([none.changes, none.place, none.head]).toEqual([[], log.start, place])
    // Large records end a page earlier, but not before the first.
    const large = JSON.stringify({ text: 'x'.repeat(400_000) })
    for (const key of ['l1', 'l2', 'l3', 'l4']) await log.put(key, { data: large })
    const page = await readAfter(engine, table, place)
    expect(page.changes.length).toBe(3)
    expect((await readAfter(engine, table, page.place)).changes.length).toBe(1)
  })

  it('changes: only those of one hash key, and without data', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table } = log
    const long = JSON.stringify({ text: 'x'.repeat(10_000) })
    for (const hashKey of ['ann', 'bob', 'ann']) {
      for (const rangeKey of ['1', '2'])
        await log.put(hashKey, { rangeKey, data: rangeKey === '1' ? long : {} }, startMs + 1)
    }
    await log.remove('bob', '1', startMs + 9)
    await log.remove('ann', '2', startMs + 9)
    const page = await readAfter(engine, table, log.start, { hash: 'ann', withData: false })
    expect(page.changes.map((change) => shown(change).split(' ').slice(0, 2).join(' '))).toEqual([
      'put ann/1@2',
      'delete ann/2@9',
    ])
    expect(page.place).toEqual(page.head)
    const none = await readAfter(engine, table, log.start, { hash: 'nobody' })
    expect([none.changes, none.place]).toEqual([[], page.head])
    expect(await log.changes(log.start, { hash: 'bob' })).toEqual(['put bob/2@1 {}', 'delete bob/1@9'])
  })

  it('changes: an expired record is a delete when its put is read, and when the sweep removes it', async ({
    engine,
  }) => {
    const log = await makeLog(engine)
    const { table } = log
    await log.put('a', { ttlSeconds: startSeconds + 10 })
    await log.put('again', { ttlSeconds: startSeconds + 10 })
    await log.put('long', { data: JSON.stringify({ text: 'x'.repeat(10_000) }), ttlSeconds: startSeconds + 10 })
    const later = startMs + 20_000
    expect((await log.changes()).map((one) => one.slice(0, 5))).toEqual(['put a', 'put a', 'put l'])
    const expired = ['expire a@10000', 'expire again@10000', 'expire long@10000']
    expect(await log.changes(log.start, { nowMs: later })).toEqual(expired)
    expect(await log.changes(log.start, { nowMs: later, withData: false })).toEqual(expired)
    await log.put('again', {}, later)
    const { head } = await readAfter(engine, table, log.start, { nowMs: later })
    await engine.maintenance.sweepExpired(later + sweepGraceMs, 50)
    const swept = await log.changes(head, { nowMs: later })
    expect(swept.toSorted()).toEqual(['expire a@10000', 'expire long@10000'])
    expect(await log.changes(log.start, { nowMs: later })).toEqual(['put again@20000 {}', ...swept])
    await expectSound(engine)
  })

  it('changes: a delete is later than the version it removes, whatever the clock shows', async ({ engine }) => {
    const log = await makeLog(engine)
    await log.put('a', {}, startMs + 1_000)
    await log.remove('a', '#', startMs - 5_000)
    expect(await log.changes()).toEqual(['delete a@1001'])
  })

  it('changes: a record that is created again by a request from before is no older than it was', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table, tenant } = log
    const { caller } = tenant
    const other = (await engine.tables.create(caller, 'app', 'other', {}, startMs, 1)).table
    /** Each creates the record, as a request that waited since `startMs + 1`. */
    const ways: Record<string, (key: string) => Promise<unknown>> = {
      put: (key) => log.put(key, {}, startMs + 1),
      patch: (key) => log.write([patchOf(table, key, { merge: {} })], startMs + 1),
      load: (key) => engine.records.putAll(caller, table, [putOf(table, key)], false, startMs + 1),
      'load of absent ones': (key) => engine.records.putAll(caller, table, [putOf(table, key)], true, startMs + 1),
      'batch over tables': (key) => {
        const records = [putOf(other, key)]
        const parts = [
          { table, records: [putOf(table, key)] },
          { table: other, records },
        ]
        return engine.runs.applyBatch(caller, { parts, tasks: [] }, startMs + 1)
      },
    }
    for (const [name, create] of Object.entries(ways)) {
      const before = await engine.changes.head(table)
      await log.put(name, { data: { first: true } }, startMs + 1)
      const first = (await log.get(name))!.updatedAtMs
      // Each version is later than the one before, so they run ahead of the clock.
      for (let n = 0; n < 3; n++) await log.put(name, {}, startMs + 1)
      const last = (await log.get(name))!.updatedAtMs
      expect(await log.remove(name, undefined, startMs + 1)).toBe(true)
      await create(name)
      const again = (await log.get(name))!.updatedAtMs
      expect([name, last > first, again > last]).toEqual([name, true, true])
      // The entries of the earlier versions tell nothing of the new record.
      expect(await log.changes(before)).toEqual([
        `delete ${name}@${last + 1 - startMs}`,
        `put ${name}@${again - startMs} {}`,
      ])
    }
    await expectSound(engine)
  })

  it('changes: a clock that was set back far is taken as it is', async ({ engine }) => {
    const log = await makeLog(engine)
    await log.put('a', {}, startMs + 100_000)
    expect(await log.put('b', {}, startMs + 2)).toBe(startMs + 2)
    expect(await log.put('c', {}, startMs + 1)).toBe(startMs + 2)
    expect(await log.put('a', {}, startMs + 3)).toBe(startMs + 100_001)
    expect(await log.put('d', {}, startMs + 1)).toBe(startMs + 3)
    await expectSound(engine)
  })

  it('changes: a table keeps none before it is told to, and a log that is begun again is another', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    const { tenant, table } = fixture
    const keep = (hours: number | null, nowMs = startMs) =>
      engine.tables.keepChanges(tenant.caller, 'app', 'orders', hours, nowMs)
    expect(table.changes).toBeNull()
    await fixture.put('a')
    const begun = await keep(keepHoursMax, startMs + 1)
    expect(begun?.changes).toEqual({ keepHours: keepHoursMax, sinceMs: startMs + 1 })
    const start = await engine.changes.head(begun!)
    await fixture.put('b', {}, startMs + 2)
    expect((await readAfter(engine, begun!, start)).changes.map(shown)).toEqual(['put b@2 {}'])
    const shorter = await keep(1, startMs + 3)
    expect(shorter?.changes).toEqual({ keepHours: 1, sinceMs: startMs + 1 })
    expect((await readAfter(engine, shorter!, start)).changes.length).toBe(1)
    const ended = await keep(null, startMs + 4)
    expect(ended?.changes).toEqual({ keepHours: null, sinceMs: startMs + 1 })
    const last = await engine.changes.head(ended!)
    await fixture.put('c', {}, startMs + 5)
    expect(await engine.changes.head(ended!)).toEqual(last)
    const again = await keep(2, startMs - 50)
    expect(again?.changes).toEqual({ keepHours: 2, sinceMs: startMs + 2 })
    const next = await engine.changes.head(again!)
    expect(next.seq).toBeGreaterThan(start.seq)
    await fixture.put('d', {}, startMs + 6)
    expect((await readAfter(engine, again!, next)).changes.map(shown)).toEqual(['put d@6 {}'])
    expect(await engine.tables.keepChanges(tenant.caller, 'app', 'nothing', 1, startMs)).toBeUndefined()
    expect((await engine.tables.find(tenant.org.id, 'app', 'orders'))?.changes).toEqual(again!.changes)
    await expectSound(engine)
  })

  it('changes: those of a restored table go on; a table created anew has a log of its own', async ({ engine }) => {
    const log = await makeLog(engine)
    const { tenant } = log
    await log.put('a')
    await engine.tables.delete(tenant.caller, 'app', 'orders', startMs)
    const restored = await engine.tables.restore(tenant.caller, 'app', 'orders', undefined, startMs)
    const { table } = restored as { table: Table }
    expect(table.changes).toEqual({ keepHours: 24, sinceMs: startMs })
    await fixtureOf(engine, log.tenant, table).put('b')
    expect((await readAfter(engine, table, log.start)).changes.map(shown)).toEqual(['put a@0 {}', 'put b@0 {}'])
    await engine.tables.delete(tenant.caller, 'app', 'orders', startMs)
    const anew = await engine.tables.create(tenant.caller, 'app', 'orders', {}, startMs + 1)
    expect([anew.created, anew.table.changes]).toEqual([true, null])
    const present = await engine.tables.create(tenant.caller, 'app', 'orders', {}, startMs + 1, 5)
    expect([present.created, present.table.changes]).toEqual([false, null])
  })

  it('changes: a place that was never in this log is refused', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table } = log
    await log.put('a')
    const { head } = await readAfter(engine, table, log.start)
    const read = (after: number, seen: LogPlace) =>
      engine.changes.read(table, { after, seen, hash: undefined, withData: true, changesMax: 9 }, startMs)
    expect(await read(head.seq, { seq: head.seq, mark: head.mark ^ 1 })).toBeUndefined()
    expect(await read(head.seq + 1, { seq: head.seq + 1, mark: 1 })).toBeUndefined()
    expect(await read(log.start.seq, { seq: head.seq + 5, mark: 1 })).toBeUndefined()
    expect(await read(log.start.seq, { seq: head.seq, mark: head.mark ^ 1 })).toBeUndefined()
    expect((await read(log.start.seq, head))?.changes.length).toBe(1)
  })

  it('changes: a copy brings its log along, in steps that may be repeated', async ({ engine, openBeside, reopen }) => {
    const log = await makeLog(engine)
    for (const key of numbered(10)) await log.put(key)
    const dump = await engine.transfer.openDump()
    const entries = []
    for await (const chunk of dump.changes()) entries.push(...chunk)
    await dump.close()
    expect(entries.length).toBe(11)
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, n) => log.start.seq + n))
    expect(entries[0]).toMatchObject({ tableId: log.table.id, kind: 0, hashKey: '', version: startMs })
    // What is there stays as it is.
    await engine.transfer.load({ changes: entries.slice(0, 4) })
    expect((await log.changes()).length).toBe(10)
    void openBeside
    const again = await reopen()
    const table = (await again.tables.find(log.tenant.org.id, 'app', 'orders'))!
    expect((await readAfter(again, table, log.start)).changes.length).toBe(10)
    await expectSound(again)
  })

  it('changes: loaded entries are the log of the copy, which goes on from them', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table, tenant } = log
    const id = table.id + 100
    const { epoch: _, ...copied } = { ...table, id, name: 'copied', purging: false }
    const entry = (seq: number, hashKey: string, kind: 0 | 1 | 2) => ({
      ...{ tableId: id, seq, atMs: startMs, kind, hashKey, rangeKey: kind === 0 ? '' : '#', version: startMs },
    })
    await engine.transfer.load({ tables: [{ ...copied, epoch: 0 }] })
    await engine.transfer.load({ changes: [entry(1, '', 0), entry(2, 'old', 2)] })
    // A later copy of a log that was swept meanwhile: what is before the gap is not kept.
    await engine.transfer.load({ changes: [entry(5, 'a', 2), entry(6, 'b', 2)] })
    const loaded = (await engine.tables.find(tenant.org.id, 'app', 'copied'))!
    const head = await engine.changes.head(loaded)
    expect(head.seq).toBe(6)
    await fixtureOf(engine, tenant, loaded).put('c')
    const page = await readAfter(engine, loaded, head)
    expect([page.head.seq, ...page.changes.map(shown)]).toEqual([7, 'put c@0 {}'])
    const before = { after: 2, seen: head, hash: undefined, withData: true, changesMax: 9 }
    expect(await engine.changes.read(loaded, before, startMs)).toBeUndefined()
    await expectSound(engine)
  })

  it('changes: a page looks at 10,000 entries at most, and the next goes on behind them', async ({ engine }) => {
    const { table, start } = await makeLog(engine)
    // Puts of records that are gone, and a delete.
    const changes = Array.from({ length: changesLookedAtMax + 1 }, (_, n) => {
      const [hashKey, kind] = n < changesLookedAtMax ? (['many', 1] as const) : (['rare', 2] as const)
      return {
        tableId: table.id,
        seq: start.seq + n + 1,
        atMs: startMs,
        kind,
        hashKey,
        rangeKey: '#',
        version: startMs,
      }
    })
    for (let at = 0; at < changes.length; at += 1_000) {
      await engine.transfer.load({ changes: changes.slice(at, at + 1_000) })
    }
    for (const hash of [undefined, 'rare']) {
      const page = await readAfter(engine, table, start, { hash })
      const { place, head } = page
      expect([page.changes.length, place.seq, head.seq]).toEqual([
        ...[0, start.seq + changesLookedAtMax, start.seq + changesLookedAtMax + 1],
      ])
      const last = await readAfter(engine, table, place, { hash })
      expect([last.place, last.changes.map(shown)]).toEqual([head, ['delete rare@0']])
    }
  })

  it('changes: those who follow a table are told of its commits, until they stop', async ({ engine }) => {
    const log = await makeLog(engine)
    const { table, tenant } = log
    const { table: other } = await engine.tables.create(tenant.caller, 'app', 'other', {}, startMs, 1)
    const told: number[] = []
    const end = engine.changes.follow(table, (seq) => told.push(seq))
    await log.put('a')
    await fixtureOf(engine, tenant, other).put('a')
    const deadline = performance.now() + 5_000
    while (told.length === 0 && performance.now() < deadline) await Bun.sleep(5)
    expect(told.at(-1)).toBe(log.start.seq + 1)
    end()
    const count = told.length
    await log.put('b')
    await Bun.sleep(50)
    expect(told.length).toBe(count)
  })

  it('changes: another process adds to the same log, and tells those who follow it', async ({ engine, openBeside }) => {
    const log = await makeLog(engine)
    const beside = await fixtureThrough(await openBeside(), log)
    const told: number[] = []
    const end = engine.changes.follow(log.table, (seq) => told.push(seq))
    await Promise.all([
      ...numbered(20).map((key) => log.put(`a${key}`)),
      ...numbered(20).map((key) => beside.put(`b${key}`)),
    ])
    const deadline = performance.now() + 5_000
    while (told.at(-1) !== log.start.seq + 40 && performance.now() < deadline) await Bun.sleep(5)
    end()
    expect(told.at(-1)).toBe(log.start.seq + 40)
    const seen = await log.changes()
    expect([seen.length, new Set(seen).size]).toEqual([40, 40])
    await expectSound(engine)
  })

  it('changes: a walk has every live record once, by its key', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const keys = ['a', 'a/#', 'a/1', 'a/2', 'b', 'ab/1', 'é/ü', '\u{10000}', '\uffff', 'gone']
    for (const name of keys) {
      const [hashKey, rangeKey] = name.split('/')
      const ttl = name === 'gone' ? { ttlSeconds: startSeconds - 10 } : {}
      await fixture.put(hashKey!, { ...(rangeKey === undefined ? {} : { rangeKey }), ...ttl })
    }
    const names: string[] = []
    let scan = walkAfter()
    for (;;) {
      const { records, next } = await engine.records.scan(fixture.table, scan, 2, startMs)
      names.push(...records.map(({ hashKey, rangeKey }) => (rangeKey === '#' ? hashKey : `${hashKey}/${rangeKey}`)))
      if (next === undefined) break
      scan = walkAfter({ hashKey: next.hash!, rangeKey: next.range as string })
    }
    expect(names).toEqual(['a', 'a/1', 'a/2', 'ab/1', 'b', 'é/ü', '\uffff', '\u{10000}'])
    const { records } = await engine.records.scanKeys(fixture.table, walkAfter(), 3, startMs)
    expect(records.map(({ rangeKey }) => rangeKey)).toEqual(['#', '1', '2'])
  })
}
