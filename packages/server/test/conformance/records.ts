import { expect } from 'bun:test'
import { dataBytesMax, keyBytesMax } from '../../src/core/limits.ts'
import type { Case } from '../engine-conformance.ts'
import { indexScan, makeFixture, primaryScan, putOf, startMs, startSeconds, timeScan } from './fixture.ts'

const oddKeys = [
  '\0',
  'a',
  'a\0',
  'a\0b',
  'a/b',
  'a b',
  '%2F',
  "'; drop table records; --",
  '\\',
  '#',
  'é',
  'e\u0301',
  '\uffff',
  '\u{10000}',
  '\u{1f511}',
  '\u{10ffff}',
  '\ufeff',
  'A',
]

export const recordCases = (it: Case): void => {
  it('put: the record is read back by its key', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    expect(await fixture.get('a')).toBeUndefined()
    await fixture.put('a', { rangeKey: 'r', data: '{"x":1}', ttlSeconds: startSeconds + 60 })
    expect(await fixture.get('a', 'r')).toEqual({
      hashKey: 'a',
      rangeKey: 'r',
      data: '{"x":1}',
      ttlSeconds: startSeconds + 60,
      updatedAtMs: startMs,
    })
    expect(await fixture.get('a')).toBeUndefined()
    expect(await fixture.get('a', 'R')).toBeUndefined()
    expect(await fixture.get('r', 'a')).toBeUndefined()
  })

  it('put: replaces the whole record, an earlier ttl too', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { x: 1, y: 2 }, ttlSeconds: startSeconds + 60 })
    await fixture.put('a', { data: { z: 3 } })
    expect(await fixture.get('a')).toMatchObject({ data: '{"z":3}', ttlSeconds: null })
    expect(await fixture.get('a', '#', startMs + 61_000)).toBeDefined()
    await fixture.put('a', { data: { z: 4 }, ttlSeconds: startSeconds + 5 })
    expect(await fixture.get('a')).toMatchObject({ data: '{"z":4}', ttlSeconds: startSeconds + 5 })
  })

  it('put: data is kept verbatim', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const texts = [
      '{}',
      '{ "b" : 1.0 ,\n\t"a": 12345678901234567890, "b": -0, "c": 1E400 }',
      '{"nul":"\\u0000","lone":"\\ud800","pair":"\\ud83d\\ude00","quote":"\\"\\\\"}',
      '{"text":"é\u{1f511}\u2028\uffff\u007f"}',
      '{"":{"__proto__":[null,true,false,[],{}]}}',
    ]
    for (const [i, data] of texts.entries()) await fixture.put(`k${i}`, { data })
    for (const [i, data] of texts.entries()) expect((await fixture.get(`k${i}`))?.data).toBe(data)
    expect((await fixture.list(timeScan())).map((record) => record.data)).toEqual(texts)
  })

  it('put: data of the greatest size comes back whole', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const data = `{"x":"${'é'.repeat((dataBytesMax - 8) / 2)}"}`
    expect(Buffer.byteLength(data)).toBe(dataBytesMax)
    await fixture.put('a', { data })
    expect((await fixture.get('a'))?.data).toBe(data)
  })

  it('put: keys take any character, NUL and astral ones too, and are apart when their bytes are', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    for (const hashKey of oddKeys) await fixture.put(hashKey, { rangeKey: `\0${hashKey}`, data: { hashKey } })
    for (const hashKey of oddKeys) {
      expect(await fixture.get(hashKey, `\0${hashKey}`)).toMatchObject({
        hashKey,
        rangeKey: `\0${hashKey}`,
        data: JSON.stringify({ hashKey }),
      })
      expect(await fixture.list(primaryScan(hashKey))).toHaveLength(1)
    }
  })

  it('put: keys and index values of 1,024 bytes', async ({ engine }) => {
    const fixture = await makeFixture(engine, {
      i1: { hashField: 'a', rangeField: 'b' },
      i5: { hashField: 'b', rangeField: 'a' },
    })
    const long = (last: string) => `${'é'.repeat(keyBytesMax / 2 - 1)}${last}`
    const [one, two] = [long('xy'), long('xz')]
    expect(Buffer.byteLength(one)).toBe(keyBytesMax)
    await fixture.put(one, { rangeKey: one, data: { a: one, b: two } })
    await fixture.put(one, { rangeKey: two, data: { a: one, b: one } })
    await fixture.put(two, { rangeKey: one, data: { a: two, b: one } })
    expect(await fixture.get(one, two)).toBeDefined()
    expect(await fixture.get(two, two)).toBeUndefined()
    expect((await fixture.list(primaryScan(one), startMs, 1)).map((record) => record.rangeKey)).toEqual([one, two])
    const found = await fixture.list(indexScan('i1', one), startMs, 1)
    expect(found.map((record) => record.rangeKey)).toEqual([two, one])
    expect(await fixture.list(indexScan('i5', one, { eq: two }))).toHaveLength(1)
  })

  it('put: no range key is the slot #', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { n: 1 } })
    await fixture.put('a', { rangeKey: '#', data: { n: 2 } })
    expect(await fixture.list(primaryScan('a'))).toHaveLength(1)
    expect(await fixture.get('a', '#')).toMatchObject({ data: '{"n":2}' })
  })

  it('put: updatedAt is now for a record that was not there', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    expect(await fixture.put('a', {}, startMs + 1)).toBe(startMs + 1)
    expect(await fixture.put('b', {}, startMs)).toBe(startMs)
    expect(await fixture.get('a')).toMatchObject({ updatedAtMs: startMs + 1 })
  })

  it('put: updatedAt strictly increases while the record exists, whatever the clock does', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    let last = 0
    for (const step of [0, 0, -10_000, 1, 0, -1, 60_000, 59_999, 60_001, -1_000_000_000]) {
      const version = await fixture.put('a', { data: { step } }, startMs + step)
      expect(version).toBeGreaterThan(last)
      expect(version).toBeGreaterThanOrEqual(startMs + step)
      expect(await fixture.get('a', '#', startMs + step)).toMatchObject({ updatedAtMs: version })
      last = version
    }
    // It follows the clock as soon as that is ahead again.
    expect(await fixture.put('a', {}, startMs + 120_000)).toBe(startMs + 120_000)
  })

  it('put: a record deleted and created again starts anew', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', {}, startMs + 50_000)
    await fixture.remove('a')
    expect(await fixture.put('a', {}, startMs)).toBe(startMs)
  })

  it('put: a record without the index field leaves no index entry', async ({ engine }) => {
    const fixture = await makeFixture(engine, {
      i1: { hashField: 'status', rangeField: 'rank' },
      i2: { hashField: 'rank' },
    })
    await fixture.put('none', { data: { other: 1 } })
    await fixture.put('hash-only', { data: { status: 'open' } })
    await fixture.put('range-only', { data: { rank: 1 } })
    await fixture.put('both', { data: { status: 'open', rank: 1 } })
    expect(await fixture.names(indexScan('i1', 'open'))).toEqual(['both'])
    expect(await fixture.names(indexScan('i2', 1))).toEqual(['range-only', 'both'])
    expect(await fixture.names(timeScan())).toEqual(['none', 'hash-only', 'range-only', 'both'])
  })

  it('put: moves its index entries, and takes away those it no longer has', async ({ engine }) => {
    const fixture = await makeFixture(engine, {
      i1: { hashField: 'status', rangeField: 'rank' },
      i2: { hashField: 'owner' },
    })
    await fixture.put('a', { data: { status: 'open', rank: 1, owner: 'eve' } })
    await fixture.put('a', { data: { status: 'done', rank: 2 } })
    expect(await fixture.names(indexScan('i1', 'open'))).toEqual([])
    expect(await fixture.names(indexScan('i1', 'done'))).toEqual(['a'])
    expect(await fixture.names(indexScan('i2', 'eve'))).toEqual([])
    await fixture.put('a', { data: { status: 'done', rank: 3, owner: 'bob' } })
    expect(await fixture.names(indexScan('i1', 'done', { eq: 2 }))).toEqual([])
    expect(await fixture.names(indexScan('i1', 'done', { eq: 3 }))).toEqual(['a'])
    expect(await fixture.names(indexScan('i2', 'bob'))).toEqual(['a'])
  })

  it('delete: true if there was a record, false if there was none', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 'status' } })
    await fixture.put('a', { rangeKey: 'r', data: { status: 'open' } })
    await fixture.put('a', { rangeKey: 's', data: { status: 'open' } })
    expect(await fixture.remove('a')).toBe(false)
    expect(await fixture.remove('a', 'r')).toBe(true)
    expect(await fixture.remove('a', 'r')).toBe(false)
    expect(await fixture.get('a', 'r')).toBeUndefined()
    expect(await fixture.names(indexScan('i1', 'open'))).toEqual(['a/s'])
    expect(await fixture.names(timeScan())).toEqual(['a/s'])
  })

  it('write: what resolves is seen by every read that starts after it', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 'n' } })
    for (let n = 0; n < 50; n++) {
      const version = await fixture.put('a', { data: { n } })
      expect(await fixture.get('a')).toMatchObject({ data: `{"n":${n}}`, updatedAtMs: version })
      expect(await fixture.names(indexScan('i1', n))).toEqual(['a'])
      expect((await fixture.list(timeScan({ eq: version }))).map((record) => record.data)).toEqual([`{"n":${n}}`])
    }
  })

  it('write: one table’s record is not another’s', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const other = await makeFixture(engine, { i1: { hashField: 's' } }, { tenant: fixture.tenant, name: 'orders2' })
    await fixture.put('a', { data: { s: 'x' } })
    expect(await other.get('a')).toBeUndefined()
    expect(await other.names(primaryScan('a'))).toEqual([])
    expect(await other.names(indexScan('i1', 'x'))).toEqual([])
    expect(await other.names(timeScan())).toEqual([])
    expect(await other.remove('a')).toBe(false)
    expect(await fixture.get('a')).toBeDefined()
  })

  it('write: an operator without a key may', async ({ engine }) => {
    const { tenant, table, get } = await makeFixture(engine)
    expect(await engine.records.write(tenant.operator, table, [putOf(table, 'a')], startMs)).toMatchObject({
      applied: true,
    })
    expect(await get('a')).toBeDefined()
  })

  it('ready and description: an open store says that it can serve, and what it is', async ({ engine }) => {
    expect(await engine.ready()).toBe(true)
    expect(engine.description).toMatch(/^\S+ \d/)
  })
}
