import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import type { Caller } from '../../src/store/api-keys.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Once } from '../../src/store/idempotency.ts'
import type { RecordOperation, WriteResult } from '../../src/store/records.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  expectRefusal,
  type Fixture,
  fixtureThrough,
  makeFixture,
  makeTenant,
  patchOf,
  putOf,
  startMs,
} from './fixture.ts'
import { makeBench } from './runs.ts'

const hash = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

const onceOf = (scopeId: number, key = 'key', request = 'request', scopeKind = 'table'): Once => ({
  scopeId,
  scopeKind,
  keyHash: hash(key),
  requestHash: hash(request),
})

const writeOnce = (
  engine: Engine,
  { tenant, table }: Fixture,
  operations: RecordOperation[],
  { key, request, scopeId = table.id }: { key?: string; request?: string; scopeId?: number } = {},
  nowMs = startMs,
) => engine.records.write({ ...tenant.caller, once: onceOf(scopeId, key, request) }, table, operations, nowMs)

export const idempotencyCases = (it: Case): void => {
  it('idempotency keys: the same request is applied once, and gets the first result', async ({ engine, reopen }) => {
    const fixture = await makeFixture(engine)
    const increment = () => [patchOf(fixture.table, 'n', { increment: { '/n': 1 } })]
    const first = await writeOnce(engine, fixture, increment())
    expect(first).toMatchObject({ applied: true, results: [{ updatedAtMs: startMs, data: '{"n":1}' }] })
    const replayed = {
      applied: true,
      isReplayed: true,
      results: [{ updatedAtMs: startMs, ttlSeconds: null, length: 7 }],
    } as unknown as WriteResult
    expect(await writeOnce(engine, fixture, increment())).toEqual(replayed)
    expect(await writeOnce(engine, fixture, increment(), { key: 'other' })).toMatchObject({
      results: [{ data: '{"n":2}' }],
    })
    const opened = await reopen()
    const again = await fixtureThrough(opened, fixture)
    expect(await writeOnce(opened, again, increment(), {}, startMs + 1_000)).toEqual(replayed)
    expect(await again.get('n')).toMatchObject({ data: '{"n":2}' })
  })

  it('idempotency keys: another request under the same key is refused, and changes nothing', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await writeOnce(engine, fixture, [putOf(fixture.table, 'a')])
    await expectRefusal(
      writeOnce(engine, fixture, [putOf(fixture.table, 'b')], { request: 'other' }),
      'idempotency_key_reused',
    )
    expect(await fixture.get('b')).toBeUndefined()
    // Elsewhere the same key is another one.
    const other = await makeFixture(engine, {}, { tenant: fixture.tenant, name: 'other' })
    expect(await writeOnce(engine, other, [putOf(other.table, 'b')], { request: 'other' })).toMatchObject({
      applied: true,
    })
  })

  it('idempotency keys: what is refused keeps nothing, so the key can be used again', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const update = () => [putOf(fixture.table, 'a', { data: { n: 1 }, condition: 'exists' })]
    expect(await writeOnce(engine, fixture, update())).toMatchObject({ applied: false })
    await expectRefusal(
      writeOnce(engine, fixture, [patchOf(fixture.table, 'p', { increment: { '/n': { by: 1, max: 0 } } })]),
      'precondition_failed',
    )
    await fixture.put('a')
    expect(await writeOnce(engine, fixture, update(), { request: 'repaired' })).toMatchObject({ applied: true })
    // Its condition does not hold any more, and is not judged again.
    await fixture.remove('a')
    const repeated = await writeOnce(engine, fixture, update(), { request: 'repaired' })
    expect(repeated).toMatchObject({ applied: true, isReplayed: true })
    expect(await fixture.get('a')).toBeUndefined()
  })

  it('idempotency keys: of racing requests one is applied, and all get its result', async (store) => {
    const { engine } = store
    const fixture = await makeFixture(engine)
    const create = () => [
      putOf(fixture.table, 'a', { condition: 'absent' }),
      patchOf(fixture.table, 'n', { increment: { '/n': 1 } }),
      deleteOf('gone'),
    ]
    const results = await Promise.all(Array.from({ length: 20 }, () => writeOnce(engine, fixture, create())))
    for (const result of results)
      expect(result).toMatchObject({ applied: true, results: [{ updatedAtMs: startMs }, {}, {}] })
    expect(results.filter((result) => 'isReplayed' in result)).toHaveLength(19)
    expect(await fixture.get('n')).toMatchObject({ data: '{"n":1}' })
    const different = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        writeOnce(engine, fixture, [putOf(fixture.table, `d${i}`)], { key: 'same', request: `r${i}` }),
      ),
    )
    expect(different.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('idempotency keys: runs, batches with runs, new keys and rolled keys', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const fixture = await makeFixture(engine, {}, { tenant })
    const { task } = await makeBench(engine, {}, { tenant })
    const caller = (scopeId: number, key: string, scopeKind?: string): Caller => ({
      ...tenant.caller,
      once: onceOf(scopeId, key, 'request', scopeKind),
    })
    const run = { id: 'run_1', isNamed: false, key: null, payload: '{"to":"ada"}', at: { delayMs: 0 } }
    const added = await engine.runs.add(caller(task.id, 'run'), task, run, startMs)
    expect(added).toMatchObject({ created: true, run: { id: 'run_1' } })
    const again = await engine.runs.add(caller(task.id, 'run'), task, { ...run, id: 'run_2' }, startMs)
    expect(again).toMatchObject({ created: true, isReplayed: true, run: { id: 'run_1', status: 'queued' } })
    expect(JSON.stringify(again)).not.toContain('ada')

    const batch = (id: string) => ({
      parts: [
        {
          table: fixture.table,
          records: [patchOf(fixture.table, 'n', { increment: { '/n': 1 } }), putOf(fixture.table, 'a')],
        },
      ],
      tasks: [{ op: 'run' as const, task, run: { ...run, id } }],
    })
    const keyed = caller(fixture.table.id, 'batch')
    expect(await engine.runs.applyBatch(keyed, batch('run_3'), startMs)).toMatchObject({
      applied: true,
      runIds: ['run_3'],
    })
    expect(await engine.runs.applyBatch(keyed, batch('run_4'), startMs)).toMatchObject({
      isReplayed: true,
      runIds: ['run_3'],
    })
    expect(await fixture.get('n')).toMatchObject({ data: '{"n":1}' })
    const ofTask = caller(task.id, 'batch')
    const runs = (id: string) => ({
      parts: [],
      tasks: [{ op: 'run' as const, task, run: { ...run, id } }],
    })
    expect(await engine.runs.applyBatch(ofTask, runs('run_5'), startMs)).toMatchObject({ runIds: ['run_5'] })
    expect(await engine.runs.applyBatch(ofTask, runs('run_6'), startMs)).toMatchObject({
      isReplayed: true,
      runIds: ['run_5'],
    })

    const ofOrganization = (key: string) => caller(tenant.org.id, key, 'organization')
    const newKey = () => makeApiKey({ kind: 'public', name: 'web' }).kept
    const made = await engine.apiKeys.create(ofOrganization('create'), newKey(), startMs)
    expect(await engine.apiKeys.create(ofOrganization('create'), newKey(), startMs)).toMatchObject({
      id: made.id,
      isReplayed: true,
    })
    const roll = () => ({ id: made.id, oldEndMs: startMs + 1_000, key: newKey() })
    const rolled = await engine.apiKeys.roll(ofOrganization('roll'), roll(), startMs)
    if (rolled.outcome !== 'rolled') throw new Error(rolled.outcome)
    expect(await engine.apiKeys.roll(ofOrganization('roll'), roll(), startMs)).toMatchObject({
      ...{ outcome: 'rolled', isReplayed: true, apiKey: { id: rolled.apiKey.id } },
    })
    expect(await engine.apiKeys.list(tenant.org.id, undefined, 10)).toHaveLength(3)
  })
}
