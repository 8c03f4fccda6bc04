import { expect } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { batchBodyBytesMax, batchOperationsMax, dataBytesMax } from '../../src/core/limits.ts'
import type { PatchResult, RecordOperation } from '../../src/store/records.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  type Fixture,
  indexScan,
  makeFixture,
  numbered,
  patchOf,
  putOf,
  startMs,
  startSeconds,
} from './fixture.ts'

const patch = async (fixture: Fixture, operation: RecordOperation, nowMs = startMs): Promise<PatchResult> => {
  const result = await fixture.write([operation], nowMs)
  if (!result.applied) throw new Error('The patch was not applied.')
  return result.results[0] as PatchResult
}

/** The error of a write that must be refused: code and field. */
const refusal = async (write: Promise<unknown>): Promise<{ code: string; field: string | undefined }> => {
  const outcome = await write.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(outcome instanceof CubbyError)) throw new Error(`The write was not refused: ${outcome}`)
  return { code: outcome.code, field: outcome.field }
}

export const patchCases = (it: Case): void => {
  it('patch: what is not named stays byte for byte, and the version rises once', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const version = await fixture.put('a', { data: '{ "n" : 1.50,"s":"\\u0061", "deep":{"x":[1, 2]},"list":[ ] }' })
    const change = { merge: { s: 'b' }, increment: { '/n': 1, '/deep/x/1': 0.5 }, append: { '/list': [3] } }
    const result = await patch(fixture, patchOf(fixture.table, 'a', change))
    const data = '{ "n" : 2.5,"s":"b", "deep":{"x":[1, 2.5]},"list":[3 ] }'
    expect(result).toEqual({ updatedAtMs: version + 1, ttlSeconds: null, length: data.length, data })
    expect(await fixture.get('a')).toMatchObject({ data, updatedAtMs: version + 1 })
  })

  it('patch: a record that does not exist is created, and its index entries are those of the result', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's', rangeField: 'n' } })
    await patch(fixture, patchOf(fixture.table, 'a', { merge: { s: 'open' }, increment: { '/n': 3 } }))
    expect(await fixture.get('a')).toMatchObject({ data: '{"s":"open","n":3}', updatedAtMs: startMs })
    expect(await fixture.names(indexScan('i1', 'open', { gte: 3 }))).toEqual(['a'])
    await patch(fixture, patchOf(fixture.table, 'a', { increment: { '/n': -1 } }))
    expect(await fixture.names(indexScan('i1', 'open', { gte: 3 }))).toEqual([])
    expect(await fixture.names(indexScan('i1', 'open', { gte: 2 }))).toEqual(['a'])
    await patch(fixture, patchOf(fixture.table, 'a', { merge: { s: null } }))
    expect(await fixture.names(indexScan('i1', 'open'))).toEqual([])
    expect(await fixture.get('a')).toMatchObject({ data: '{"n":2}' })
  })

  it('patch: ttl is set, kept and removed', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const ttlOf = async () => (await fixture.get('a'))!.ttlSeconds
    await patch(fixture, patchOf(fixture.table, 'a', { ttl: startSeconds + 100 }))
    expect(await ttlOf()).toBe(startSeconds + 100)
    expect((await patch(fixture, patchOf(fixture.table, 'a', { merge: { x: 1 } }))).ttlSeconds).toBe(startSeconds + 100)
    await patch(fixture, patchOf(fixture.table, 'a', { ttl: null }))
    expect(await ttlOf()).toBeNull()
  })

  it('patch: nothing of an expired record is kept', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a', { data: { old: 1, n: 5 }, ttlSeconds: startSeconds + 1 })
    const later = startMs + 2_000
    const absent = patchOf(fixture.table, 'a', { increment: { '/n': 1 } }, { condition: 'exists' })
    expect(await fixture.write([absent], later)).toEqual({ applied: false, failedOperation: 0, current: undefined })
    const result = await patch(fixture, patchOf(fixture.table, 'a', { increment: { '/n': 1 } }), later)
    expect(result).toMatchObject({ updatedAtMs: later, ttlSeconds: null, data: '{"n":1}' })
    expect(await fixture.get('a', '#', later)).toMatchObject({ data: '{"n":1}', ttlSeconds: null })
  })

  it('patch: conditions come first', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const version = await fixture.put('a', { data: { s: 'x' } })
    const wrong = { increment: { '/s': 1 } }
    for (const condition of ['absent', { version: version + 1 }] as const) {
      const operation = patchOf(fixture.table, 'a', wrong, { condition })
      expect(await fixture.write([operation])).toEqual({ applied: false, failedOperation: 0, current: version })
    }
    const onAbsent = patchOf(fixture.table, 'b', wrong, { condition: 'exists' })
    expect(await fixture.write([onAbsent])).toEqual({ applied: false, failedOperation: 0, current: undefined })
    const created = patchOf(fixture.table, 'b', { increment: { '/s': 1 } }, { condition: 'absent' })
    expect(await patch(fixture, created)).toMatchObject({ data: '{"s":1}' })
    const matched = patchOf(fixture.table, 'a', { merge: { s: 'y' } }, { condition: { version } })
    expect(await patch(fixture, matched)).toMatchObject({ updatedAtMs: version + 1 })
  })

  it('patch: what is refused names its field and changes nothing', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const long = 'x'.repeat(dataBytesMax - 100)
    const before = await fixture.put('a', { data: { s: 'x', stock: 1, list: [], long } })
    const cases: [change: Record<string, unknown>, code: string, field: string][] = [
      [{ merge: { s: 'y' }, increment: { '/long': 1 } }, 'not_a_number', 'increment["/long"]'],
      [{ merge: { s: 'y' }, append: { '/stock': [1] } }, 'not_an_array', 'append["/stock"]'],
      [{ increment: { '/stock': { by: -2, min: 0 } } }, 'precondition_failed', 'increment["/stock"]'],
      [{ merge: { s: [] } }, 'invalid_index_value', 'data.s'],
      [{ merge: { more: 'x'.repeat(200) } }, 'record_too_large', 'data'],
    ]
    for (const [change, code, field] of cases) {
      expect(await refusal(fixture.write([patchOf(fixture.table, 'a', change)]))).toEqual({ code, field })
      // In a batch the field names the operation, and the other operations are not applied either.
      const inBatch = [
        putOf(fixture.table, '0'),
        patchOf(fixture.table, 'a', change, { prefix: 'operations[1].' }),
        deleteOf('a', 'other'),
      ]
      expect(await refusal(fixture.write(inBatch))).toEqual({ code, field: `operations[1].${field}` })
    }
    expect(await fixture.get('a')).toMatchObject({ updatedAtMs: before })
    expect(await fixture.get('0')).toBeUndefined()
  })

  it('patch: in a batch with puts and deletes, all or none', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const version = await fixture.put('stock', { data: { cups: 5 } })
    await fixture.put('cart', { data: { open: true } })
    const order = (count: number): RecordOperation[] => [
      putOf(fixture.table, 'order', { data: { count } }),
      patchOf(fixture.table, 'stock', { increment: { '/cups': { by: -count, min: 0 } } }, { prefix: 'operations[1].' }),
      patchOf(fixture.table, 'new', { append: { '/orders': [count] } }),
      deleteOf('cart'),
    ]
    expect(await refusal(fixture.write(order(6)))).toEqual({
      code: 'precondition_failed',
      field: 'operations[1].increment["/cups"]',
    })
    expect(await fixture.get('order')).toBeUndefined()
    const result = await fixture.write(order(4))
    expect(result).toMatchObject({
      applied: true,
      results: [{ updatedAtMs: startMs }, { updatedAtMs: version + 1 }, { updatedAtMs: startMs }, { deleted: true }],
    })
    expect(await fixture.get('stock')).toMatchObject({ data: '{"cups":1}' })
    expect(await fixture.get('new')).toMatchObject({ data: '{"orders":[4]}' })
    const failing = [
      patchOf(fixture.table, 'stock', { increment: { '/cups': 1 } }),
      putOf(fixture.table, 'cart', { condition: 'exists' }),
    ]
    expect(await fixture.write(failing)).toEqual({ applied: false, failedOperation: 1, current: undefined })
    expect(await fixture.get('stock')).toMatchObject({ data: '{"cups":1}' })
  })

  it('patch: a batch of the largest records', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const names = numbered(batchOperationsMax)
    const long = 'x'.repeat(dataBytesMax - 100)
    for (const name of names) await fixture.put(name, { data: { long } })
    const patches = names.map((name) => patchOf(fixture.table, name, { increment: { '/n': 1 } }))
    expect(batchOperationsMax * dataBytesMax).toBeLessThan(batchBodyBytesMax)
    expect(await fixture.write(patches)).toMatchObject({ applied: true })
    for (const name of names) expect((await fixture.get(name))!.data).toEndWith(',"n":1}')
  })

  it('patch: racing patches are applied one after another', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const count = 200
    const results = await Promise.all(
      Array.from({ length: count }, (_, i) => {
        // A quarter of them are in batches with another record.
        const operation = patchOf(fixture.table, 'n', { increment: { '/n': 1 }, append: { '/who': [i] } })
        if (i % 4 > 1) return patch(fixture, operation)
        return fixture.write([patchOf(fixture.table, `m${i % 3}`, { increment: { '/n': 1 } }), operation])
      }),
    )
    expect(results).toHaveLength(count)
    const { n, who } = JSON.parse((await fixture.get('n'))!.data) as { n: number; who: number[] }
    expect(n).toBe(count)
    expect(who.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i))
  })

  it('patch: together with puts, deletes and conditions of other writers no increment is lost', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('n', { data: { n: 0 } })
    const increments = Array.from({ length: 60 }, () =>
      patch(fixture, patchOf(fixture.table, 'n', { increment: { '/n': 1 } })),
    )
    const guarded = Array.from({ length: 20 }, async () => {
      for (;;) {
        const { data, updatedAtMs } = (await fixture.get('n'))!
        const { n } = JSON.parse(data) as { n: number }
        const put = putOf(fixture.table, 'n', { data: { n: n + 1 }, condition: { version: updatedAtMs } })
        if ((await fixture.write([put])).applied) return
      }
    })
    await Promise.all([...increments, ...guarded])
    expect(await fixture.get('n')).toMatchObject({ data: '{"n":80}' })
  })
}
