import { expect } from 'bun:test'
import type { Condition, RecordOperation } from '../../src/store/records.ts'
import type { Case } from '../engine-conformance.ts'
import { deleteOf, type Fixture, indexScan, makeFixture, putOf, startMs, startSeconds, timeScan } from './fixture.ts'

/** The two verbs under one condition, each on the record `a`. */
const bothVerbs = (fixture: Fixture, condition: Condition): RecordOperation[] => [
  putOf(fixture.table, 'a', { data: { n: 'new' }, condition }),
  deleteOf('a', '#', condition),
]

export const conditionCases = (it: Case): void => {
  it('version: a write is applied only if that is the current version', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const first = await fixture.put('a', { data: { n: 1 } })
    const put = (version: number) =>
      fixture.write([putOf(fixture.table, 'a', { data: { n: 2 }, condition: { version } })])
    for (const version of [first - 1, first + 1, 0]) {
      expect(await put(version)).toEqual({ applied: false, failedOperation: 0, current: first })
    }
    expect(await fixture.get('a')).toMatchObject({ data: '{"n":1}', updatedAtMs: first })
    expect(await put(first)).toEqual({ applied: true, results: [{ updatedAtMs: first + 1 }] })
    expect(await put(first)).toEqual({ applied: false, failedOperation: 0, current: first + 1 })

    const remove = (version: number) => fixture.write([deleteOf('a', '#', { version })])
    expect(await remove(first)).toEqual({ applied: false, failedOperation: 0, current: first + 1 })
    expect(await fixture.get('a')).toMatchObject({ data: '{"n":2}' })
    expect(await remove(first + 1)).toEqual({ applied: true, results: [{ deleted: true }] })
    expect(await remove(first + 1)).toEqual({ applied: false, failedOperation: 0, current: undefined })
  })

  it('version: a conditional put is a put in all else', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const version = await fixture.put('a', { data: { s: 'x' }, ttlSeconds: startSeconds + 9 })
    const operation = putOf(fixture.table, 'a', { data: { s: 'y' }, condition: { version } })
    // The clock went back: the version still grows.
    expect(await fixture.write([operation], startMs - 5_000)).toEqual({
      applied: true,
      results: [{ updatedAtMs: version + 1 }],
    })
    expect(await fixture.get('a')).toMatchObject({ ttlSeconds: null })
    expect(await fixture.names(indexScan('i1', 'x'))).toEqual([])
    expect(await fixture.names(indexScan('i1', 'y'))).toEqual(['a'])
  })

  it('exists: any version will do, none will not', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    for (const operation of bothVerbs(fixture, 'exists')) {
      expect(await fixture.write([operation])).toEqual({ applied: false, failedOperation: 0, current: undefined })
    }
    expect(await fixture.get('a')).toBeUndefined()
    const version = await fixture.put('a')
    const [put, remove] = bothVerbs(fixture, 'exists')
    expect(await fixture.write([put!])).toEqual({ applied: true, results: [{ updatedAtMs: version + 1 }] })
    expect(await fixture.write([remove!])).toEqual({ applied: true, results: [{ deleted: true }] })
  })

  it('absent: only where there is no record', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const [put, remove] = bothVerbs(fixture, 'absent')
    expect(await fixture.write([remove!])).toEqual({ applied: true, results: [{ deleted: false }] })
    expect(await fixture.write([put!])).toEqual({ applied: true, results: [{ updatedAtMs: startMs }] })
    for (const operation of [put!, remove!]) {
      expect(await fixture.write([operation])).toEqual({ applied: false, failedOperation: 0, current: startMs })
    }
    expect(await fixture.get('a')).toMatchObject({ updatedAtMs: startMs })
  })

  it('a record past its ttl does not exist for any condition, from the very second', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const ttlSeconds = startSeconds + 10
    const endMs = ttlSeconds * 1000
    const version = await fixture.put('a', { data: { n: 'old' }, ttlSeconds })
    for (const condition of [{ version }, 'exists'] as const) {
      for (const operation of bothVerbs(fixture, condition)) {
        expect(await fixture.write([operation], endMs)).toEqual({
          applied: false,
          failedOperation: 0,
          current: undefined,
        })
      }
    }
    for (const operation of bothVerbs(fixture, 'absent')) {
      expect(await fixture.write([operation], endMs - 1)).toEqual({
        applied: false,
        failedOperation: 0,
        current: version,
      })
    }
    // Refused writes left the old row as it was.
    expect(await fixture.get('a', '#', endMs - 1)).toMatchObject({ data: '{"n":"old"}', updatedAtMs: version })

    const [put, remove] = bothVerbs(fixture, 'absent')
    expect(await fixture.write([remove!], endMs)).toEqual({ applied: true, results: [{ deleted: false }] })
    expect(await fixture.write([put!], endMs)).toMatchObject({ applied: true })
    expect(await fixture.get('a', '#', endMs)).toMatchObject({ data: '{"n":"new"}', ttlSeconds: null })
  })

  it('a record is there for every condition until the last millisecond before its ttl', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const ttlSeconds = startSeconds + 10
    const nowMs = ttlSeconds * 1000 - 1
    for (const condition of ['version', 'exists'] as const) {
      for (const verb of [0, 1]) {
        const version = await fixture.put('a', { ttlSeconds })
        const operation = bothVerbs(fixture, condition === 'version' ? { version } : 'exists')[verb]!
        expect(await fixture.write([operation], nowMs)).toMatchObject({ applied: true })
      }
    }
  })

  it('a refused write changes no index and not the order', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    await fixture.put('a', { data: { s: 'x' } })
    await fixture.put('b', { data: { s: 'x' } })
    const refused = putOf(fixture.table, 'a', { data: { s: 'y' }, condition: { version: 1 } })
    expect(await fixture.write([refused], startMs + 9)).toMatchObject({ applied: false })
    expect(await fixture.names(indexScan('i1', 'x'))).toEqual(['a', 'b'])
    expect(await fixture.names(indexScan('i1', 'y'))).toEqual([])
    expect(await fixture.names(timeScan())).toEqual(['a', 'b'])
  })
}
