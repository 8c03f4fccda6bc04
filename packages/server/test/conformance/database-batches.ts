import { expect } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { dataBytesMax, databaseBatchOperationsMax } from '../../src/core/limits.ts'
import type { CheckOperation, Condition, RecordOperation } from '../../src/store/records.ts'
import type { BatchPart, BatchResult } from '../../src/store/runs.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  expectRefusal,
  type Fixture,
  makeFixture,
  makeTenant,
  numbered,
  patchOf,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from './fixture.ts'

const checkOf = (hashKey: string, condition: Condition): CheckOperation => ({
  op: 'check',
  hashKey,
  rangeKey: '#',
  condition,
})

export const databaseBatchCases = (it: Case): void => {
  it('batches over tables: all or none', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const [orders, stock, names] = await Promise.all(
      ['orders', 'stock', 'names'].map((name) => makeFixture(engine, {}, { tenant, name })),
    )
    const apply = (parts: BatchPart[]): Promise<BatchResult> =>
      engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, startMs)
    const part = ({ table }: Fixture, ...records: RecordOperation[]): BatchPart => ({ table, records })
    const version = await stock!.put('cup', { data: { n: 3 } })
    await orders!.put('cart')
    const order = (count: number) => [
      part(
        stock!,
        patchOf(stock!.table, 'cup', { increment: { '/n': { by: -count, min: 0 } } }, { prefix: 'operations[0].' }),
      ),
      part(orders!, putOf(orders!.table, 'o-1', { data: { count }, condition: 'absent' }), deleteOf('cart')),
      part(names!, checkOf('ada', 'absent')),
    ]
    const refused = await apply(order(4)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(CubbyError)
    expect(refused).toMatchObject({ code: 'precondition_failed', field: 'operations[0].increment["/n"]' })
    expect(await orders!.names(timeScan())).toEqual(['cart'])
    expect(await apply(order(2))).toMatchObject({ applied: true, runIds: [] })
    expect(await orders!.names(timeScan())).toEqual(['o-1'])
    expect(await stock!.get('cup')).toMatchObject({ data: '{"n":1}', updatedAtMs: version + 1 })
    // The check of a record that is not there has left nothing behind.
    expect(await names!.names(timeScan())).toEqual([])
    expect(await names!.put('ada')).toBe(startMs)
    const later = await apply([part(orders!, deleteOf('o-1')), part(names!, checkOf('ada', 'absent'))])
    expect(later).toEqual({ applied: false, failedPart: 1, failedRecord: 0, current: startMs })
    expect(await orders!.names(timeScan())).toEqual(['o-1'])
  })

  it('batches over tables: a condition of any table is judged before all patches', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const [stock, names] = await Promise.all(
      ['stock', 'names'].map((name) => makeFixture(engine, {}, { tenant, name })),
    )
    await stock!.put('cup', { data: { n: 3 } })
    const tooMany = { increment: { '/n': { by: -4, min: 0 } } }
    const apply = (condition: Condition) =>
      engine.runs.applyBatch(
        tenant.caller,
        {
          parts: [
            { table: stock!.table, records: [patchOf(stock!.table, 'cup', tooMany, { prefix: 'operations[0].' })] },
            { table: names!.table, records: [checkOf('ada', condition)] },
          ],
          tasks: [],
        },
        startMs,
      )
    expect(await apply({ version: 1 })).toEqual({ applied: false, failedPart: 1, failedRecord: 0, current: undefined })
    const refused = await apply('absent').catch((error: unknown) => error)
    expect(refused).toMatchObject({ field: 'operations[0].increment["/n"]' })
  })

  it('batches over tables: checks', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const version = await fixture.put('a')
    await fixture.put('gone', { ttlSeconds: startSeconds - 10 })
    const check = (...operations: RecordOperation[]) => fixture.write(operations)
    expect(await check(checkOf('a', { version }), checkOf('b', 'absent'), checkOf('gone', 'absent'))).toEqual({
      applied: true,
      results: [{ checked: true }, { checked: true }, { checked: true }],
    })
    expect(await check(checkOf('a', { version: version + 1 }))).toEqual({
      applied: false,
      failedOperation: 0,
      current: version,
    })
    expect(await check(putOf(fixture.table, 'c'), checkOf('a', 'absent'))).toMatchObject({ failedOperation: 1 })
    expect(await check(checkOf('b', { version }))).toEqual({ applied: false, failedOperation: 0, current: undefined })
    expect((await fixture.get('a'))!.updatedAtMs).toBe(version)
    expect(await fixture.names(timeScan())).toEqual(['a'])
  })

  // Without a lock of what is checked, each would see that the other's record is not there.
  it('batches over tables: of two that check what the other writes, one is applied', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const [left, right] = await Promise.all(['left', 'right'].map((name) => makeFixture(engine, {}, { tenant, name })))
    const claim = (own: Fixture, other: Fixture, name: string): Promise<BatchResult> => {
      const parts = [
        { table: own.table, records: [putOf(own.table, name)] },
        { table: other.table, records: [checkOf(name, 'absent')] },
      ]
      return engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, startMs)
    }
    const rounds = numbered(20, 'r').map(async (name) => {
      const results = await Promise.all([claim(left!, right!, name), claim(right!, left!, name)])
      expect(results.filter(({ applied }) => applied)).toHaveLength(1)
    })
    await Promise.all(rounds)
    const written = [...(await left!.names(timeScan())), ...(await right!.names(timeScan()))]
    expect(written.sort()).toEqual(numbered(20, 'r'))
  })

  it('batches over tables: of racing batches that want the same absent name one is applied', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const people = await makeFixture(engine, {}, { tenant, name: 'people' })
    const names = await makeFixture(engine, {}, { tenant, name: 'names' })
    const results = await Promise.all(
      numbered(20, 'p').map((person) =>
        engine.runs.applyBatch(
          tenant.caller,
          {
            parts: [
              { table: people.table, records: [putOf(people.table, person, { data: { name: 'ada' } })] },
              { table: names.table, records: [putOf(names.table, 'ada', { data: { person }, condition: 'absent' })] },
            ],
            tasks: [],
          },
          startMs,
        ),
      ),
    )
    expect(results.filter(({ applied }) => applied)).toHaveLength(1)
    const [winner] = await people.names(timeScan())
    expect(await people.names(timeScan())).toEqual([winner!])
    expect(await names.get('ada')).toMatchObject({ data: JSON.stringify({ person: winner }) })
  })

  it('batches over tables: moves between tables never lose or double anything', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const tables = await Promise.all(['a', 'b', 'c'].map((name) => makeFixture(engine, {}, { tenant, name })))
    for (const table of tables) await table.put('n', { data: { n: 100 } })
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const [from, to] = [tables[i % 3]!, tables[(i + 1 + (i % 2)) % 3]!]
        const move = ({ table }: Fixture, by: number) => ({
          table,
          records: [patchOf(table, 'n', { increment: { '/n': by } })],
        })
        const batch = { parts: [move(from, -1), move(to, 1)], tasks: [] }
        expect(await engine.runs.applyBatch(tenant.caller, batch, startMs)).toMatchObject({ applied: true })
      }),
    )
    const numbers = await Promise.all(tables.map(async (table) => JSON.parse((await table.get('n'))!.data).n as number))
    expect(numbers[0]! + numbers[1]! + numbers[2]!).toBe(300)
  })

  it('batches over tables: 100 operations on one table keep their order', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const names = numbered(databaseBatchOperationsMax).toReversed()
    const parts = [{ table: fixture.table, records: names.map((name) => putOf(fixture.table, name)) }]
    expect(await engine.runs.applyBatch(fixture.tenant.caller, { parts, tasks: [] }, startMs)).toMatchObject({
      applied: true,
    })
    expect(await fixture.names(timeScan())).toEqual(names)
    const deletes = [{ table: fixture.table, records: names.map((name) => deleteOf(name)) }]
    await engine.runs.applyBatch(fixture.tenant.caller, { parts: deletes, tasks: [] }, startMs)
    expect(await fixture.names(timeScan())).toEqual([])
  })

  it('batches over tables: the results of patches have a limit together', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const other = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'other' })
    const names = numbered(16)
    const long = 'x'.repeat(dataBytesMax - 100)
    for (const { put } of [fixture, other]) for (const name of names) await put(name, { data: { long } })
    const parts = [fixture, other].map(({ table }) => ({
      table,
      records: names.map((name) => patchOf(table, name, { increment: { '/n': 1 } })),
    }))
    await expectRefusal(
      engine.runs.applyBatch(fixture.tenant.caller, { parts, tasks: [] }, startMs),
      'record_too_large',
    )
    expect((await fixture.get(names[0]!))!.data).not.toContain('"n"')
  })

  it('batches over tables: a table that is gone, and a key that is revoked', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const [here, gone] = await Promise.all(['here', 'gone'].map((name) => makeFixture(engine, {}, { tenant, name })))
    await engine.tables.delete(tenant.caller, 'app', 'gone', startMs)
    const parts = [here!, gone!].map(({ table }) => ({ table, records: [putOf(table, 'a')] }))
    await expectRefusal(engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, startMs), 'table_not_found')
    expect(await here!.get('a')).toBeUndefined()
    await engine.apiKeys.revoke(tenant.caller, tenant.apiKey.id, startMs)
    const only = [{ table: here!.table, records: [putOf(here!.table, 'a')] }]
    await expectRefusal(engine.runs.applyBatch(tenant.caller, { parts: only, tasks: [] }, startMs), 'revoked_api_key')
  })
}
