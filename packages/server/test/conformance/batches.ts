import { expect } from 'bun:test'
import { batchOperationsMax } from '../../src/core/limits.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  indexScan,
  makeFixture,
  numbered,
  primaryScan,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

export const batchCases = (it: Case): void => {
  it('batch: puts and deletes are applied together, results in the order of operations', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('d', { data: { n: 0 } }, startMs + 100)
    await fixture.put('b')
    const result = await fixture.write([
      putOf(fixture.table, 'd', { data: { n: 1 } }),
      deleteOf('b'),
      putOf(fixture.table, 'c', { data: { n: 2 } }),
      deleteOf('a'),
      putOf(fixture.table, 'c', { rangeKey: 'r', data: { n: 3 } }),
    ])
    expect(result).toEqual({
      applied: true,
      results: [
        { updatedAtMs: startMs + 101 },
        { deleted: true },
        { updatedAtMs: startMs },
        { deleted: false },
        { updatedAtMs: startMs },
      ],
    })
    expect(await fixture.get('d')).toMatchObject({ data: '{"n":1}', updatedAtMs: startMs + 101 })
    expect(await fixture.get('b')).toBeUndefined()
    expect(await fixture.get('c')).toMatchObject({ data: '{"n":2}' })
    expect(await fixture.get('c', 'r')).toMatchObject({ data: '{"n":3}' })
  })

  it('batch: of the greatest length, with ttl and index entries', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's', rangeField: 'n' } })
    const names = numbered(batchOperationsMax).toReversed()
    const puts = names.map((rangeKey, n) =>
      putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', n }, ttlSeconds: startSeconds + 1 + n }),
    )
    expect(await fixture.write(puts)).toMatchObject({ applied: true })
    expect((await fixture.list(indexScan('i1', 'x'))).map((record) => record.rangeKey)).toEqual(names)
    const later = await fixture.list(primaryScan('h'), startMs + 10_000)
    expect(later.map((record) => record.rangeKey)).toEqual(names.slice(10).toReversed())
  })

  it('batch: a condition that fails at any place refuses all of it', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const version = await fixture.put('b', { data: { s: 'old' } })
    await fixture.put('gone', { data: { s: 'old' } })
    const others = () => [
      putOf(fixture.table, 'z', { data: { s: 'new' } }),
      deleteOf('gone'),
      putOf(fixture.table, 'a', { data: { s: 'new' }, condition: 'absent' }),
    ]
    const failing = [
      { operation: putOf(fixture.table, 'b', { condition: { version: version + 1 } }), current: version },
      { operation: putOf(fixture.table, 'b', { condition: 'absent' }), current: version },
      { operation: deleteOf('b', '#', { version: version - 1 }), current: version },
      { operation: deleteOf('m', '#', 'exists'), current: undefined },
      { operation: putOf(fixture.table, 'm', { condition: { version } }), current: undefined },
    ]
    for (const { operation, current } of failing) {
      for (let place = 0; place <= 3; place++) {
        const operations = others().toSpliced(place, 0, operation)
        expect(await fixture.write(operations)).toEqual({ applied: false, failedOperation: place, current })
      }
    }
    expect(await fixture.names(timeScan())).toEqual(['b', 'gone'])
    expect(await fixture.names(indexScan('i1', 'new'))).toEqual([])
    expect(await fixture.names(indexScan('i1', 'old'))).toEqual(['b', 'gone'])
  })

  it('batch: all conditions hold, all is applied', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const [a, b] = [await fixture.put('a'), await fixture.put('b')]
    const result = await fixture.write([
      putOf(fixture.table, 'c', { condition: 'absent' }),
      putOf(fixture.table, 'b', { condition: { version: b } }),
      deleteOf('a', '#', { version: a }),
    ])
    expect(result).toEqual({
      applied: true,
      results: [{ updatedAtMs: startMs }, { updatedAtMs: b + 1 }, { deleted: true }],
    })
  })

  it('batch: of several that fail, one is named that did', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('b')
    const result = await fixture.write([
      putOf(fixture.table, 'a'),
      putOf(fixture.table, 'b', { condition: 'absent' }),
      deleteOf('c', '#', 'exists'),
    ])
    expect([
      { applied: false, failedOperation: 1, current: startMs },
      { applied: false, failedOperation: 2, current: undefined },
    ]).toContainEqual(result as never)
    expect(await fixture.get('a')).toBeUndefined()
  })

  it('batch: a refused one leaves its neighbours in the same commit alone', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('taken')
    const results = await Promise.all(
      numbered(40).map((name, i) =>
        fixture.write([
          putOf(fixture.table, name),
          putOf(fixture.table, i % 2 === 0 ? `${name}-more` : 'taken', { condition: 'absent' }),
        ]),
      ),
    )
    expect(results.map((result) => result.applied)).toEqual(numbered(40).map((_, i) => i % 2 === 0))
    const found = await Promise.all(numbered(40).map(async (name) => (await fixture.get(name)) !== undefined))
    expect(found).toEqual(numbered(40).map((_, i) => i % 2 === 0))
  })
}
