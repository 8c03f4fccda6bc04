import { expect } from 'bun:test'
import { batchOperationsMax } from '../../src/core/limits.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  indexScan,
  makeDesk,
  numbered,
  primaryScan,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './material.ts'

export const batchCases = (it: Case): void => {
  it('batch: puts and deletes are applied together, results in the order of operations', async ({ engine }) => {
    const desk = await makeDesk(engine)
    await desk.put('d', { data: { n: 0 } }, startMs + 100)
    await desk.put('b')
    const result = await desk.write([
      putOf(desk.table, 'd', { data: { n: 1 } }),
      deleteOf('b'),
      putOf(desk.table, 'c', { data: { n: 2 } }),
      deleteOf('a'),
      putOf(desk.table, 'c', { rangeKey: 'r', data: { n: 3 } }),
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
    expect(await desk.get('d')).toMatchObject({ data: '{"n":1}', updatedAtMs: startMs + 101 })
    expect(await desk.get('b')).toBeUndefined()
    expect(await desk.get('c')).toMatchObject({ data: '{"n":2}' })
    expect(await desk.get('c', 'r')).toMatchObject({ data: '{"n":3}' })
  })

  it('batch: of the greatest length, with ttl and index entries', async ({ engine }) => {
    const desk = await makeDesk(engine, { i1: { hashField: 's', rangeField: 'n' } })
    const names = numbered(batchOperationsMax).toReversed()
    const puts = names.map((rangeKey, n) =>
      putOf(desk.table, 'h', { rangeKey, data: { s: 'x', n }, ttlSeconds: startSeconds + 1 + n }),
    )
    expect(await desk.write(puts)).toMatchObject({ applied: true })
    expect((await desk.list(indexScan('i1', 'x'))).map((record) => record.rangeKey)).toEqual(names)
    const later = await desk.list(primaryScan('h'), startMs + 10_000)
    expect(later.map((record) => record.rangeKey)).toEqual(names.slice(10).toReversed())
  })

  it('batch: a condition that fails at any place refuses all of it', async ({ engine }) => {
    const desk = await makeDesk(engine, { i1: { hashField: 's' } })
    const version = await desk.put('b', { data: { s: 'old' } })
    await desk.put('gone', { data: { s: 'old' } })
    const others = () => [
      putOf(desk.table, 'z', { data: { s: 'new' } }),
      deleteOf('gone'),
      putOf(desk.table, 'a', { data: { s: 'new' }, condition: 'absent' }),
    ]
    const failing = [
      { operation: putOf(desk.table, 'b', { condition: { version: version + 1 } }), current: version },
      { operation: putOf(desk.table, 'b', { condition: 'absent' }), current: version },
      { operation: deleteOf('b', '#', { version: version - 1 }), current: version },
      { operation: deleteOf('m', '#', 'exists'), current: undefined },
      { operation: putOf(desk.table, 'm', { condition: { version } }), current: undefined },
    ]
    for (const { operation, current } of failing) {
      for (let place = 0; place <= 3; place++) {
        const operations = others().toSpliced(place, 0, operation)
        expect(await desk.write(operations)).toEqual({ applied: false, failedOperation: place, current })
      }
    }
    expect(await desk.names(timeScan())).toEqual(['b', 'gone'])
    expect(await desk.names(indexScan('i1', 'new'))).toEqual([])
    expect(await desk.names(indexScan('i1', 'old'))).toEqual(['b', 'gone'])
  })

  it('batch: all conditions hold, all is applied', async ({ engine }) => {
    const desk = await makeDesk(engine)
    const [a, b] = [await desk.put('a'), await desk.put('b')]
    const result = await desk.write([
      putOf(desk.table, 'c', { condition: 'absent' }),
      putOf(desk.table, 'b', { condition: { version: b } }),
      deleteOf('a', '#', { version: a }),
    ])
    expect(result).toEqual({
      applied: true,
      results: [{ updatedAtMs: startMs }, { updatedAtMs: b + 1 }, { deleted: true }],
    })
  })

  it('batch: of several that fail, one is named that did', async ({ engine }) => {
    const desk = await makeDesk(engine)
    await desk.put('b')
    const result = await desk.write([
      putOf(desk.table, 'a'),
      putOf(desk.table, 'b', { condition: 'absent' }),
      deleteOf('c', '#', 'exists'),
    ])
    expect([
      { applied: false, failedOperation: 1, current: startMs },
      { applied: false, failedOperation: 2, current: undefined },
    ]).toContainEqual(result as never)
    expect(await desk.get('a')).toBeUndefined()
  })

  it('batch: a refused one leaves its neighbours in the same commit alone', async ({ engine }) => {
    const desk = await makeDesk(engine)
    await desk.put('taken')
    const results = await Promise.all(
      numbered(40).map((name, i) =>
        desk.write([
          putOf(desk.table, name),
          putOf(desk.table, i % 2 === 0 ? `${name}-more` : 'taken', { condition: 'absent' }),
        ]),
      ),
    )
    expect(results.map((result) => result.applied)).toEqual(numbered(40).map((_, i) => i % 2 === 0))
    const found = await Promise.all(numbered(40).map(async (name) => (await desk.get(name)) !== undefined))
    expect(found).toEqual(numbered(40).map((_, i) => i % 2 === 0))
  })
}
