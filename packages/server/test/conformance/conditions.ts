import { expect } from 'bun:test'
import type { Condition, RecordOperation } from '../../src/store/records.ts'
import type { Case } from '../engine-conformance.ts'
import { type Desk, deleteOf, indexScan, makeDesk, putOf, startMs, startSeconds, timeScan } from './material.ts'

/** The two verbs under one condition, each on the record `a`. */
const bothVerbs = (desk: Desk, condition: Condition): RecordOperation[] => [
  putOf(desk.table, 'a', { data: { n: 'new' }, condition }),
  deleteOf('a', '#', condition),
]

export const conditionCases = (it: Case): void => {
  it('version: a write is applied only if that is the current version', async ({ engine }) => {
    const desk = await makeDesk(engine)
    const first = await desk.put('a', { data: { n: 1 } })
    const put = (version: number) => desk.write([putOf(desk.table, 'a', { data: { n: 2 }, condition: { version } })])
    for (const version of [first - 1, first + 1, 0]) {
      expect(await put(version)).toEqual({ applied: false, failedOperation: 0, current: first })
    }
    expect(await desk.get('a')).toMatchObject({ data: '{"n":1}', updatedAtMs: first })
    expect(await put(first)).toEqual({ applied: true, results: [{ updatedAtMs: first + 1 }] })
    expect(await put(first)).toEqual({ applied: false, failedOperation: 0, current: first + 1 })

    const remove = (version: number) => desk.write([deleteOf('a', '#', { version })])
    expect(await remove(first)).toEqual({ applied: false, failedOperation: 0, current: first + 1 })
    expect(await desk.get('a')).toMatchObject({ data: '{"n":2}' })
    expect(await remove(first + 1)).toEqual({ applied: true, results: [{ deleted: true }] })
    expect(await remove(first + 1)).toEqual({ applied: false, failedOperation: 0, current: undefined })
  })

  it('version: a conditional put is a put in all else', async ({ engine }) => {
    const desk = await makeDesk(engine, { i1: { hashField: 's' } })
    const version = await desk.put('a', { data: { s: 'x' }, ttlSeconds: startSeconds + 9 })
    const operation = putOf(desk.table, 'a', { data: { s: 'y' }, condition: { version } })
    // The clock went back: the version still grows.
    expect(await desk.write([operation], startMs - 5_000)).toEqual({
      applied: true,
      results: [{ updatedAtMs: version + 1 }],
    })
    expect(await desk.get('a')).toMatchObject({ ttlSeconds: null })
    expect(await desk.names(indexScan('i1', 'x'))).toEqual([])
    expect(await desk.names(indexScan('i1', 'y'))).toEqual(['a'])
  })

  it('exists: any version will do, none will not', async ({ engine }) => {
    const desk = await makeDesk(engine)
    for (const operation of bothVerbs(desk, 'exists')) {
      expect(await desk.write([operation])).toEqual({ applied: false, failedOperation: 0, current: undefined })
    }
    expect(await desk.get('a')).toBeUndefined()
    const version = await desk.put('a')
    const [put, remove] = bothVerbs(desk, 'exists')
    expect(await desk.write([put!])).toEqual({ applied: true, results: [{ updatedAtMs: version + 1 }] })
    expect(await desk.write([remove!])).toEqual({ applied: true, results: [{ deleted: true }] })
  })

  it('absent: only where there is no record', async ({ engine }) => {
    const desk = await makeDesk(engine)
    const [put, remove] = bothVerbs(desk, 'absent')
    expect(await desk.write([remove!])).toEqual({ applied: true, results: [{ deleted: false }] })
    expect(await desk.write([put!])).toEqual({ applied: true, results: [{ updatedAtMs: startMs }] })
    for (const operation of [put!, remove!]) {
      expect(await desk.write([operation])).toEqual({ applied: false, failedOperation: 0, current: startMs })
    }
    expect(await desk.get('a')).toMatchObject({ updatedAtMs: startMs })
  })

  it('a record past its ttl does not exist for any condition, from the very second', async ({ engine }) => {
    const desk = await makeDesk(engine)
    const ttlSeconds = startSeconds + 10
    const endMs = ttlSeconds * 1000
    const version = await desk.put('a', { data: { n: 'old' }, ttlSeconds })
    for (const condition of [{ version }, 'exists'] as const) {
      for (const operation of bothVerbs(desk, condition)) {
        expect(await desk.write([operation], endMs)).toEqual({ applied: false, failedOperation: 0, current: undefined })
      }
    }
    for (const operation of bothVerbs(desk, 'absent')) {
      expect(await desk.write([operation], endMs - 1)).toEqual({ applied: false, failedOperation: 0, current: version })
    }
    // Refused writes left the old row as it was.
    expect(await desk.get('a', '#', endMs - 1)).toMatchObject({ data: '{"n":"old"}', updatedAtMs: version })

    const [put, remove] = bothVerbs(desk, 'absent')
    expect(await desk.write([remove!], endMs)).toEqual({ applied: true, results: [{ deleted: false }] })
    expect(await desk.write([put!], endMs)).toMatchObject({ applied: true })
    expect(await desk.get('a', '#', endMs)).toMatchObject({ data: '{"n":"new"}', ttlSeconds: null })
  })

  it('a record is there for every condition until the last millisecond before its ttl', async ({ engine }) => {
    const desk = await makeDesk(engine)
    const ttlSeconds = startSeconds + 10
    const nowMs = ttlSeconds * 1000 - 1
    for (const condition of ['version', 'exists'] as const) {
      for (const verb of [0, 1]) {
        const version = await desk.put('a', { ttlSeconds })
        const operation = bothVerbs(desk, condition === 'version' ? { version } : 'exists')[verb]!
        expect(await desk.write([operation], nowMs)).toMatchObject({ applied: true })
      }
    }
  })

  it('a refused write changes no index and not the order', async ({ engine }) => {
    const desk = await makeDesk(engine, { i1: { hashField: 's' } })
    await desk.put('a', { data: { s: 'x' } })
    await desk.put('b', { data: { s: 'x' } })
    const refused = putOf(desk.table, 'a', { data: { s: 'y' }, condition: { version: 1 } })
    expect(await desk.write([refused], startMs + 9)).toMatchObject({ applied: false })
    expect(await desk.names(indexScan('i1', 'x'))).toEqual(['a', 'b'])
    expect(await desk.names(indexScan('i1', 'y'))).toEqual([])
    expect(await desk.names(timeScan())).toEqual(['a', 'b'])
  })
}
