import { expect } from 'bun:test'
import { dataBytesMax, findKeysMax, keyBytesMax, pageBytesMax } from '../../src/core/limits.ts'
import { recordJson } from '../../src/core/records/record-json.ts'
import type { RecordKey } from '../../src/core/records/record-key.ts'
import type { StoredRecord } from '../../src/core/records/stored-record.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  type Fixture,
  fill,
  makeFixture,
  numbered,
  putOf,
  startMs,
  startSeconds,
  versionsOf,
} from './fixture.ts'

const keyOf = (hashKey: string, rangeKey = '#'): RecordKey => ({ hashKey, rangeKey })

const find = async (engine: Engine, fixture: Fixture, keys: RecordKey[], nowMs = startMs) =>
  engine.records.find(fixture.table, keys, nowMs)

/** The bytes of `items` as sent. */
const sentBytes = (entries: (StoredRecord | undefined)[]): number =>
  Buffer.byteLength(`[${entries.flatMap((record) => (record === undefined ? [] : [recordJson(record)])).join()}]`)

export const findCases = (it: Case): void => {
  it('find: what get returns for each key, in the order asked', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { n: 1 } })
    await fixture.put('a', { rangeKey: 'r', data: ' { "n" : 1.0 }'.trim(), ttlSeconds: startSeconds + 60 })
    await fixture.put('b', { data: { n: 3 } }, startMs + 5)
    const keys = [keyOf('b'), keyOf('a', 'r'), keyOf('nobody'), keyOf('r', 'a'), keyOf('a'), keyOf('b', 'r')]
    const expected = []
    for (const { hashKey, rangeKey } of keys) expected.push(await fixture.get(hashKey, rangeKey))
    expect(expected.map((record) => record?.data)).toEqual([
      '{"n":3}',
      '{ "n" : 1.0 }',
      undefined,
      undefined,
      '{"n":1}',
      undefined,
    ])
    expect(await find(engine, fixture, keys)).toEqual(expected)
    expect(await find(engine, fixture, keys.toReversed())).toEqual(expected.toReversed())
    expect(await find(engine, fixture, [keyOf('nobody')])).toEqual([undefined])
  })

  it('find: keys take any character, and are apart when their bytes are', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const odd = ['\0', 'a', 'a\0', 'a\0b', 'a/b', '\\', '\\x61', '{"a"}', 'é', 'e\u0301', '\u{1f511}', '\ufeff', 'null']
    for (const key of odd) await fixture.put(key, { rangeKey: `\0${key}`, data: { key } })
    const keys = odd.flatMap((key) => [keyOf(key, `\0${key}`), keyOf(key, key)])
    const found = await find(engine, fixture, keys)
    expect(found.map((record) => record?.data)).toEqual(
      odd.flatMap((key) => [JSON.stringify({ key }), undefined] as const),
    )
    expect(found.flatMap((record) => (record === undefined ? [] : [record.hashKey]))).toEqual(odd)
  })

  it('find: the greatest number of keys, each of the greatest length', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const long = (i: number): string => `${'é'.repeat(keyBytesMax / 2 - 2)}${String(i).padStart(4, '0')}`
    const keys = Array.from({ length: findKeysMax }, (_, i) => keyOf(long(i), long(findKeysMax - i)))
    const half = keys.filter((_, i) => i % 2 === 0)
    await fill(
      fixture,
      half.map(({ hashKey, rangeKey }) => putOf(fixture.table, hashKey, { rangeKey })),
    )
    const found = await find(engine, fixture, keys)
    expect(found.map((record) => record !== undefined)).toEqual(keys.map((_, i) => i % 2 === 0))
  })

  it('find: never a record of another table', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const other = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'other' })
    await fixture.put('a', { data: { n: 1 } })
    await other.put('b', { data: { n: 2 } })
    expect((await find(engine, fixture, [keyOf('a'), keyOf('b')])).map((record) => record?.data)).toEqual([
      '{"n":1}',
      undefined,
    ])
  })

  it('find: a record is gone from the instant its ttl begins', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { ttlSeconds: startSeconds + 10 })
    await fixture.put('b', { ttlSeconds: startSeconds + 11 })
    const keys = [keyOf('a'), keyOf('b')]
    const names = async (nowMs: number) => (await find(engine, fixture, keys, nowMs)).map((record) => record?.hashKey)
    expect(await names(startMs + 9_999)).toEqual(['a', 'b'])
    expect(await names(startMs + 10_000)).toEqual([undefined, 'b'])
    expect(await names(startMs + 11_000)).toEqual([undefined, undefined])
  })

  // Otherwise one request of a hundred keys would be an answer of 40 MB.
  it('find: ends before the first record that does not fit, whether or not a later one would', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const data = `{"x":"${'x'.repeat(dataBytesMax - 8)}"}`
    for (const name of ['a', 'b', 'c', 'd']) await fixture.put(name, { data })
    await fixture.put('small')
    const keys = ['a', 'none', 'b', 'missing', 'c', 'small', 'absent', 'd'].map((name) => keyOf(name))
    const found = await find(engine, fixture, keys)
    expect(found.map((record) => record?.hashKey)).toEqual(['a', undefined, 'b', undefined])
    // Asked again, the rest comes.
    const rest = await find(engine, fixture, keys.slice(found.length))
    expect(rest.map((record) => record?.hashKey)).toEqual(['c', 'small', undefined, 'd'])
  })

  it('find: takes exactly as many bytes as sent, escapes and commas included', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    // A control character takes one byte in the store and six in an answer.
    const names = Array.from({ length: 90 }, (_, i) => `${'\u0001'.repeat(900)}${String(i).padStart(3, '0')}`)
    const rows = names.map((name) => putOf(fixture.table, name, { rangeKey: '"', data: { x: 'é'.repeat(3_200) } }))
    await fill(fixture, rows)
    const found = await find(
      engine,
      fixture,
      names.map((name) => keyOf(name, '"')),
    )
    const total = found.length
    expect(total).toBeGreaterThan(80)
    expect(total).toBeLessThan(90)
    const bytes = sentBytes(found)
    expect(bytes).toBeLessThanOrEqual(pageBytesMax)
    expect(bytes + sentBytes([found[0]])).toBeGreaterThan(pageBytesMax)

    // One more record that fills the answer to the last byte, and one that has a byte too much.
    const room = pageBytesMax - bytes - 1
    const empty: StoredRecord = {
      hashKey: 'last',
      rangeKey: '#',
      data: '{"x":""}',
      ttlSeconds: null,
      updatedAtMs: startMs,
    }
    const text = 'x'.repeat(room - Buffer.byteLength(recordJson(empty)))
    const keys = [...names.slice(0, total).map((name) => keyOf(name, '"')), keyOf('last')]
    await fixture.put('last', { data: { x: `${text}x` } })
    expect(await find(engine, fixture, keys)).toHaveLength(total)
    await fixture.remove('last')
    await fixture.put('last', { data: { x: text } })
    const full = await find(engine, fixture, keys)
    expect(full).toHaveLength(total + 1)
    expect(sentBytes(full)).toBe(pageBytesMax)
    // A key without a record takes no room.
    expect(await find(engine, fixture, [...keys, keyOf('none')])).toHaveLength(total + 2)
  })

  it('find: the largest record fits, with keys that are all escapes', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const key = '\u0001'.repeat(keyBytesMax)
    await fixture.put(key, { rangeKey: key, data: `{"x":"${'x'.repeat(dataBytesMax - 8)}"}`, ttlSeconds: 253402300799 })
    expect(await find(engine, fixture, [keyOf(key, key), keyOf('none')])).toEqual([
      await fixture.get(key, key),
      undefined,
    ])
  })

  // A caller that reads an order and its lines would see an order without a line.
  it('find: sees all of a batch or nothing of it', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const names = numbered(25)
    const keys = names.map((name) => keyOf(name))
    let reading = true
    const write = async (from: number): Promise<void> => {
      for (let n = from; reading; n += 2) {
        // Every third takes all of them away.
        const operations = names.map((name) =>
          n % 3 === 2 ? deleteOf(name) : putOf(fixture.table, name, { data: { n } }),
        )
        versionsOf(await fixture.write(operations, startMs + n))
      }
    }
    const writers = [write(0), write(1)]
    const seen = new Set<string | undefined>()
    try {
      while (seen.size < 80) {
        const states = new Set((await find(engine, fixture, keys)).map((record) => record?.data))
        expect(states.size).toBe(1)
        for (const state of states) seen.add(state)
        await Bun.sleep(0)
      }
    } finally {
      reading = false
      await Promise.all(writers)
    }
    expect(seen.has(undefined)).toBe(true)
  })

  it('find: sees every write that was acknowledged before it', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const names = numbered(8)
    const keys = names.map((name) => keyOf(name))
    for (let n = 0; n < 30; n++) {
      await fixture.put(names[n % 8]!, { data: { n } })
      expect((await find(engine, fixture, keys))[n % 8]?.data).toBe(`{"n":${n}}`)
    }
  })

  it('find: sees what another process on the store has written', async ({ engine, openBeside }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { n: 1 } })
    const other = await openBeside()
    const found = await other.records.find(fixture.table, [keyOf('a'), keyOf('b')], startMs)
    expect(found.map((record) => record?.data)).toEqual(['{"n":1}', undefined])
  })
}
