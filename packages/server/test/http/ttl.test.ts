import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { between, graceMs, minuteMs, readClock, secondMs, setNow } from './clock.ts'
import { inParallel, ok, refused, type TestTable, useService } from './service.ts'

const service = useService({ clock: true })

/** A table whose records show the server's time. */
let clock: TestTable
beforeAll(async () => {
  clock = await service.table()
})

let start = 0
beforeEach(() => {
  service.server.setClock(0)
  start = Math.ceil(Date.now() / 1000)
})

const setSecond = (epochSeconds: number) => setNow(service.server, epochSeconds * 1000)

/** All ways to ask whether a record is there. */
const sightings: [string, (table: TestTable) => Promise<boolean>][] = [
  ['get', async (table) => (await table.get('a')).status === 200],
  ['query by primary key', async (table) => (await table.query({ hash: 'a' })).count === 1],
  ['query by recency', async (table) => (await table.query({ index: 't' })).count === 1],
  ['query by declared index', async (table) => (await table.query({ index: 'i1', hash: 1 })).count === 1],
  ['query for keys', async (table) => (await table.query({ hash: 'a', select: 'keys' })).count === 1],
  ['count', async (table) => ok(await table.tryQuery({ index: 'i1', hash: 1, select: 'count' })).count === 1],
  [
    'find',
    async (table) => ok(await table.api.post(`${table.path}/find`, { keys: [{ hashKey: 'a' }] })).items.length === 1,
  ],
]

describe('gone for every read and condition from the instant now >= ttl', () => {
  for (const [what, isThere] of sightings) {
    test(`${what}: there before, gone at the instant`, async () => {
      const table = await service.table({ i1: { hashField: 'n' } })
      const ttl = start + 100
      await table.put('a', { n: 1 }, { ttl })
      expect(await isThere(table)).toBe(true)
      setNow(service.server, ttl * 1000 - 150)
      for (let there = true; there; ) {
        const poll = await between(clock, () => isThere(table))
        there = poll.found
        if (there) expect(poll.before).toBeLessThan(ttl * 1000)
        else expect(poll.after).toBeGreaterThanOrEqual(ttl * 1000)
      }
      expect(await isThere(table)).toBe(false)
    })
  }

  test('a second before it is there, at the second it is not, and so back and forth', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const ttl = start + 100
    await table.put('a', { n: 1 }, { ttl })
    for (let round = 0; round < 2; round++) {
      setSecond(ttl - 5)
      for (const [, isThere] of sightings) expect(await isThere(table)).toBe(true)
      setSecond(ttl)
      for (const [, isThere] of sightings) expect(await isThere(table)).toBe(false)
    }
  })

  test('conditions', async () => {
    const table = await service.table()
    const ttl = start + 100
    const { updatedAt } = await table.put('a', {}, { ttl })
    setSecond(ttl)
    const put = { hashKey: 'a', data: {} }
    refused(await table.tryPut(put, { 'if-match': `"${updatedAt}"` }), 412, 'precondition_failed')
    refused(await table.tryPut(put, { 'if-match': '*' }), 412, 'precondition_failed')
    refused(await service.api.delete(table.at('a'), { 'if-match': '*' }), 412, 'precondition_failed')
    const operation = { op: 'put', ...put, ifUpdatedAt: updatedAt }
    refused(await table.tryBatch([operation]), 412, 'precondition_failed')
    expect(ok(await table.delete('a'))).toEqual({ deleted: false })
    ok(await table.tryPut(put, { 'if-none-match': '*' }))
    setSecond(ttl - 5)
    ok(await table.get('a'))
  })

  test('If-None-Match: * finds it there until the instant', async () => {
    const table = await service.table()
    const ttl = start + 100
    await table.put('a', {}, { ttl })
    setSecond(ttl - 5)
    refused(await table.tryPut({ hashKey: 'a', data: {} }, { 'if-none-match': '*' }), 412, 'precondition_failed')
    setSecond(ttl)
    ok(await table.tryPut({ hashKey: 'a', data: {} }, { 'if-none-match': '*' }))
  })

  test('a delete of an expired record says that there was none, and what is gone does not return', async () => {
    const table = await service.table()
    const ttl = start + 100
    await table.put('a', {}, { ttl })
    expect(ok(await table.delete('a'))).toEqual({ deleted: true })
    await table.put('a', {}, { ttl })
    setSecond(ttl + 1)
    expect(ok(await table.delete('a'))).toEqual({ deleted: false })
  })

  test('a ttl that has passed by less than a day: the put answers, the record is gone', async () => {
    const table = await service.table()
    for (const ttl of [start - 10, start - 86_300]) {
      expect(ok(await table.tryPut({ hashKey: 'a', data: {}, ttl })).ttl).toBe(ttl)
      refused(await table.get('a'), 404, 'record_not_found')
      await table.batch([{ op: 'put', hashKey: 'a', data: {}, ttl }])
      refused(await table.get('a'), 404, 'record_not_found')
    }
  })

  // Without this, a client that sends a duration as ttl gets 200 for a record that nobody can ever read.
  test('a ttl more than a day in the past is refused, and nothing is written', async () => {
    const table = await service.table()
    const kept = await table.put('a', { n: 1 })
    for (const ttl of [0, 60, 86_400, start - 86_500]) {
      refused(await table.tryPut({ hashKey: 'a', data: {}, ttl }), 400, 'invalid_ttl', 'ttl')
      const operations = [
        { op: 'put', hashKey: 'b', data: {} },
        { op: 'put', hashKey: 'a', data: {}, ttl },
      ]
      refused(await table.tryBatch(operations), 400, 'invalid_ttl', 'operations[1].ttl')
    }
    expect(ok(await table.get('a'))).toEqual(kept)
    refused(await table.get('b'), 404, 'record_not_found')
  })

  test('its hint gives the second that was probably meant, by the clock of the server: it works', async () => {
    const table = await service.table()
    setSecond(start + 1_000_000)
    const { hint } = refused(await table.tryPut({ hashKey: 'a', data: {}, ttl: 60 }), 400, 'invalid_ttl')
    const meant = Number(/(\d+)\.$/.exec(hint)![1])
    expect(meant).toBeGreaterThanOrEqual(start + 1_000_060)
    expect(meant).toBeLessThan(start + 1_000_090)
    ok(await table.tryPut({ hashKey: 'a', data: {}, ttl: meant }))
    ok(await table.get('a'))
    setSecond(meant)
    refused(await table.get('a'), 404, 'record_not_found')
    // A ttl that was fine when the clock stood elsewhere is judged by the clock that is.
    refused(await table.tryPut({ hashKey: 'a', data: {}, ttl: start }), 400, 'invalid_ttl')
  })

  test('expired records between live ones do not disturb paging', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const ttl = start + 100
    const keys = Array.from({ length: 120 }, (_, i) => String(i).padStart(3, '0'))
    const record = (rangeKey: string, i: number) => ({
      hashKey: 'h',
      rangeKey,
      data: { n: 1 },
      ...(i % 3 === 0 ? {} : { ttl }),
    })
    await table.fill(keys.map(record))
    setSecond(ttl)
    const live = keys.filter((_, i) => i % 3 === 0)
    for (const form of [{ hash: 'h' }, { index: 't', ascending: true }, { index: 'i1', hash: 1 }]) {
      for (const limit of [1, 7, 100]) expect(await table.ranges({ ...form, limit })).toEqual(live)
    }
    for (const form of [{ hash: 'h', ascending: false }, { index: 't' }]) {
      expect(await table.ranges({ ...form, limit: 7 })).toEqual(live.toReversed())
    }
  })
})

describe('many expired records before a live one', () => {
  test('a page may be short, even empty, and still carry a cursor that leads to it', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const ttl = start + 100
    const keys = Array.from({ length: 10_500 }, (_, i) => String(i).padStart(5, '0'))
    const batches = Array.from({ length: keys.length / 25 }, (_, i) => keys.slice(i * 25, i * 25 + 25))
    await inParallel(batches, 16, (batch) =>
      table.fill(batch.map((rangeKey) => ({ hashKey: 'h', rangeKey, data: { n: 1 }, ttl }))),
    )
    await table.put('h', { n: 1 }, { rangeKey: 'live' })
    setSecond(ttl)
    for (const form of [{ hash: 'h' }, { index: 't', ascending: true }, { index: 'i1', hash: 1 }]) {
      expect(await table.ranges({ ...form, limit: 10 })).toEqual(['live'])
      expect(await table.ranges({ ...form, limit: 10, ascending: false })).toEqual(['live'])
    }
  })
})

describe('the sweep', () => {
  /** Lets the sweep run at `instantMs`, then looks from before every deadline. */
  const sweepUntil = async (instantMs: number, isDone: () => Promise<boolean>) => {
    // Ever longer, should the machine be so busy that none comes by.
    for (let pauseMs = 250; pauseMs < 10_000; pauseMs *= 1.3) {
      setNow(service.server, instantMs)
      await Bun.sleep(pauseMs)
      service.server.setClock(0)
      if (await isDone()) return
    }
    throw new Error('the sweep did not come by')
  }

  test('removes nothing until 5 minutes past the deadline, then for good', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const ttl = start + 600
    const record = await table.put('a', { n: 1 }, { ttl })
    // Its grace is over when that of `a` has 30 seconds left: once it is gone, the sweep has passed `a` by.
    await table.put('canary', { n: 1 }, { ttl: ttl - 60 })
    const gone = async (key: string) => (await table.get(key)).status === 404
    await sweepUntil(ttl * 1000 + graceMs - 30 * secondMs, () => gone('canary'))
    expect(ok(await table.get('a'))).toEqual(record)
    expect(await table.items({ index: 'i1', hash: 1 })).toEqual([record])
    await sweepUntil(ttl * 1000 + graceMs + secondMs, () => gone('a'))
    for (const query of [{ hash: 'a' }, { index: 't' }, { index: 'i1', hash: 1 }] as Json[]) {
      expect(await table.items(query)).toEqual([])
    }
  })

  test('removes any number, and nothing that is live', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const ttl = start + 600
    const kept = { ttl: ttl + 3600 }
    const records = Array.from({ length: 1300 }, (_, i) => ({
      hashKey: `k${i}`,
      data: { n: 1 },
      ...(i % 13 === 0 ? (i % 2 === 0 ? kept : {}) : { ttl }),
    }))
    const batches = Array.from({ length: records.length / 25 }, (_, i) => records.slice(i * 25, i * 25 + 25))
    await inParallel(batches, 8, (batch) => table.fill(batch))
    await sweepUntil(
      ttl * 1000 + graceMs + minuteMs,
      async () => (await table.hashes({ index: 't', limit: 1000 })).length === 100,
    )
    expect((await table.hashes({ index: 'i1', hash: 1 })).length).toBe(100)
    const verified = await service.server.cubby('verify')
    expect(verified).toMatchObject({ exitCode: 0 })
  })

  test('a record that gets a later ttl, or none, before the sweep stays', async () => {
    const table = await service.table()
    const ttl = start + 600
    for (const key of ['later', 'none', 'canary']) await table.put(key, {}, { ttl })
    await table.put('later', {}, { ttl: ttl + 3600 })
    await table.put('none')
    await sweepUntil(ttl * 1000 + graceMs + secondMs, async () => (await table.get('canary')).status === 404)
    ok(await table.get('later'))
    ok(await table.get('none'))
  })
})

test('the server runs on the clock that the test sets', async () => {
  setSecond(start + 1000)
  const now = await readClock(clock)
  expect(now).toBeGreaterThanOrEqual((start + 1000) * 1000)
  expect(now).toBeLessThan((start + 1010) * 1000)
})
