import { expect } from 'bun:test'
import { createHash } from 'node:crypto'
import { idempotencyCountEveryMs, idempotencyKeyMs, recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { DumpedIdempotencyKey } from '../../src/store/transfer.ts'
import type { Case } from '../engine-conformance.ts'
import { makeFixture, makeTenant, startMs } from './fixture.ts'
import { makeBench } from './runs.ts'

const deadline = startMs + recoveryMs + sweepGraceMs

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

type Scope = Pick<DumpedIdempotencyKey, 'scopeId' | 'scopeKind' | 'orgId'>

/** An entry for the key `name`. */
export const idempotencyKey = (scope: Scope, name: string, result = '{}'): DumpedIdempotencyKey => ({
  ...scope,
  keyHash: sha256(name),
  requestHash: sha256(`request ${name}`),
  createdAtMs: startMs,
  result,
  userHash: null,
})

const several = (scope: Scope, count: number): DumpedIdempotencyKey[] =>
  Array.from({ length: count }, (_, i) => idempotencyKey(scope, `k${i}`))

const dumped = async (engine: Engine): Promise<DumpedIdempotencyKey[]> => {
  const dump = await engine.transfer.openDump()
  try {
    return await Array.fromAsync(dump.idempotencyKeys())
  } finally {
    await dump.close()
  }
}

const scopesIn = async (engine: Engine): Promise<string[]> => [
  ...new Set((await dumped(engine)).map(({ scopeKind, scopeId }) => `${scopeKind} ${scopeId}`)),
]

export const idempotencyKeyCases = (it: Case): void => {
  it('load and dump: sorted by time, scope and hash, unchanged, and an entry that is there stays', async ({
    engine,
  }) => {
    const { tenant, table } = await makeFixture(engine)
    const orgId = tenant.org.id
    const rows = [
      ...several({ scopeId: table.id, scopeKind: 'table', orgId }, 1_200),
      idempotencyKey({ scopeId: orgId, scopeKind: 'organization', orgId }, 'k0', '{"a":"\\u0000 é 😀"}'),
      idempotencyKey({ scopeId: orgId, scopeKind: 'organization/app', orgId }, 'k0'),
    ].map((row, i) => ({ ...row, createdAtMs: startMs - (i % 3) }))
    for (let at = 0; at < rows.length; at += 500) {
      await engine.transfer.load({ idempotencyKeys: rows.slice(at, at + 500) })
    }
    const placeOf = ({ createdAtMs, scopeId, scopeKind, keyHash }: DumpedIdempotencyKey): string =>
      [createdAtMs, String(scopeId).padStart(20, '0'), scopeKind, keyHash].join('\0')
    const sorted = rows.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    expect(await dumped(engine)).toEqual(sorted)
    await engine.transfer.load({ idempotencyKeys: rows.slice(0, 3).map((row) => ({ ...row, result: 'another' })) })
    expect(await dumped(engine)).toEqual(sorted)
  })

  it('purge: go with their table or task, in steps, and no others that are kept', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const kept = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'kept' })
    const bench = await makeBench(engine, {}, { tenant: fixture.tenant })
    const orgId = fixture.tenant.org.id
    const of = (scopeId: number, scopeKind = 'table'): DumpedIdempotencyKey[] =>
      several({ scopeId, scopeKind, orgId }, 23)
    const young = (rows: DumpedIdempotencyKey[]) => rows.map((row) => ({ ...row, createdAtMs: deadline }))
    await engine.transfer.load({
      idempotencyKeys: [
        ...[fixture.table.id, bench.task.id].flatMap((id) => of(id)),
        ...young(of(kept.table.id)),
        // The id of an organization may be that of a table.
        ...young(of(orgId, 'organization')),
      ],
    })
    await fixture.put('a')
    await bench.add()
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    await engine.tasks.delete(fixture.tenant.caller, 'app', bench.task.name, undefined, startMs)
    expect(await dumped(engine)).toHaveLength(4 * 23)
    let steps = 0
    for (let left = 4 * 23; (await engine.maintenance.purgeTables(deadline, 5)) > 0; steps++) {
      const now = (await dumped(engine)).length
      expect(left - now).toBeLessThanOrEqual(5)
      left = now
    }
    expect(steps).toBeGreaterThanOrEqual(10)
    expect(await scopesIn(engine)).toEqual(
      [`organization ${orgId}`, `table ${kept.table.id}`].toSorted(
        (a, b) => Number(a.split(' ')[1]) - Number(b.split(' ')[1]),
      ),
    )
  })

  it('purge: all of a deleted organization go with it, none of another', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const other = await makeTenant(engine, 'other')
    const all = (orgId: number, tableId?: number): DumpedIdempotencyKey[] => [
      ...several({ scopeId: orgId, scopeKind: 'organization', orgId }, 12),
      ...several({ scopeId: orgId, scopeKind: 'organization/app', orgId }, 12),
      ...(tableId === undefined ? [] : several({ scopeId: tableId, scopeKind: 'table', orgId }, 12)),
    ]
    await engine.transfer.load({
      idempotencyKeys: [...all(fixture.tenant.org.id, fixture.table.id), ...all(other.org.id)],
    })
    await engine.organizations.delete('acme', startMs)
    while ((await engine.maintenance.purgeOrganizations(deadline, 5)) > 0) {}
    expect(await engine.organizations.list()).toEqual([other.org])
    expect(await scopesIn(engine)).toEqual([`organization ${other.org.id}`, `organization/app ${other.org.id}`])
    expect(await dumped(engine)).toHaveLength(24)
  })

  it('sweep: a key goes after a day and 5 minutes, in steps, and not before', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const other = await makeTenant(engine, 'other')
    const rows = [
      ...several({ scopeId: fixture.table.id, scopeKind: 'table', orgId: fixture.tenant.org.id }, 12),
      ...several({ scopeId: other.org.id, scopeKind: 'organization/app', orgId: other.org.id }, 12),
    ]
    const young = rows.map((row, i) => ({ ...row, createdAtMs: startMs + (i % 2) }))
    await engine.transfer.load({ idempotencyKeys: young })
    const sweptAtMs = startMs + idempotencyKeyMs + sweepGraceMs
    const sweep = async (nowMs: number): Promise<number> => {
      let most = 0
      for (let left = (await dumped(engine)).length; (await engine.maintenance.sweepIdempotencyKeys(nowMs, 5)) > 0; ) {
        const now = (await dumped(engine)).length
        most = Math.max(most, left - now)
        left = now
      }
      return most
    }
    expect(await sweep(sweptAtMs - 1)).toBe(0)
    expect(await dumped(engine)).toHaveLength(24)
    expect(await sweep(sweptAtMs)).toBe(5)
    expect(new Set((await dumped(engine)).map(({ createdAtMs }) => createdAtMs))).toEqual(new Set([startMs + 1]))
    expect(await dumped(engine)).toHaveLength(12)
    await sweep(sweptAtMs + 1)
    expect(await dumped(engine)).toEqual([])
  })

  it('sweep: of an organization with too many keys the oldest go, and none of another', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const [few, many, last] = [await makeTenant(engine, 'few'), await makeTenant(engine, 'many'), fixture.tenant]
    const of = (orgId: number, count: number) =>
      several({ scopeId: orgId, scopeKind: 'organization', orgId }, count).map((row, i) => ({
        ...row,
        createdAtMs: startMs + i,
      }))
    await engine.transfer.load({
      idempotencyKeys: [...of(few.org.id, 19), ...of(many.org.id, 57), ...of(last.org.id, 21)],
    })
    const timesOf = async ({ org }: typeof many): Promise<number[]> =>
      (await dumped(engine))
        .filter(({ orgId }) => orgId === org.id)
        .map(({ createdAtMs }) => createdAtMs - startMs)
        .sort((a, b) => a - b)
    const first = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)
    const sweep = async (nowMs: number): Promise<number[]> => {
      const firsts: number[] = []
      while ((await engine.maintenance.sweepIdempotencyKeys(nowMs, 5, 20)) > 0) firsts.push((await timesOf(many))[0]!)
      return firsts
    }
    const steps = await sweep(startMs)
    expect(new Set(steps)).toEqual(new Set([0, 5, 10, 15, 20, 25, 30, 35, 37]))
    expect(await timesOf(many)).toEqual(first(37, 57))
    expect(await timesOf(few)).toEqual(first(0, 19))
    expect(await timesOf(last)).toEqual(first(1, 21))
    // Counting is not free: the next count comes later, also after the clock was set back.
    const more = of(many.org.id, 60).slice(57)
    await engine.transfer.load({ idempotencyKeys: more })
    expect(await sweep(startMs + idempotencyCountEveryMs - 1)).toEqual([])
    expect(await timesOf(many)).toEqual(first(37, 60))
    await sweep(startMs - 1)
    expect(await timesOf(many)).toEqual(first(40, 60))
  })
}
