import { expect } from 'bun:test'
import { followersOfTableMax, recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import type { Declaration } from '../../src/core/tasks/declaration.ts'
import type { Run } from '../../src/core/tasks/run.ts'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import { type Case, expectSound } from '../engine-conformance.ts'
import {
  deleteOf,
  type Fixture,
  fixtureOf,
  fixtureThrough,
  makeFixture,
  numbered,
  patchOf,
  putOf,
  type Tenant,
  tenantThrough,
} from './fixture.ts'
import { declared } from './runs.ts'

// An engine whose database has a clock goes by that one for runs. So these cases use the real time.

const ops = ['put', 'delete', 'expire'] as const

const declare = (
  engine: Engine,
  { caller }: Tenant,
  name: string,
  more: Partial<Declaration> = { on: { table: 'orders', ops: [...ops] } },
) => {
  const whole = { ...declared, ...more, keepsAuthorization: false, newSecret: newTaskSecret() }
  return engine.tasks.declare(caller, 'app', name, whole, undefined, Date.now())
}

const follow = async (engine: Engine, tenant: Tenant, name: string, more?: Partial<Declaration>): Promise<Table> => {
  const result = await declare(engine, tenant, name, more)
  if (!result.applied) throw new Error(`the task was not declared: ${result.reason}`)
  return result.task
}

const queuedRuns = async (engine: Engine, task: Table): Promise<Run[]> => {
  const dump = await engine.transfer.openDump()
  const runs: Run[] = []
  for await (const chunk of dump.runsOf(task.id)) runs.push(...chunk)
  await dump.close()
  return runs.filter(({ status }) => status === 'queued')
}

/** The queued runs of a task, by key: what the payload says beside the names. */
const queued = async (engine: Engine, task: Table): Promise<Record<string, string>> => {
  const shown = (await queuedRuns(engine, task)).map(({ key, payload }): [string, string] => {
    const { db, table, hashKey, rangeKey, op, updatedAt, deletedAt } = JSON.parse(payload)
    expect([db, table, JSON.stringify(rangeKey === undefined ? [hashKey] : [hashKey, rangeKey])]).toEqual([
      ...['app', 'orders', key],
    ])
    return [key!, `${op} ${op === 'put' ? updatedAt - sinceMs : deletedAt - sinceMs}`]
  })
  return Object.fromEntries(shown.sort(([a], [b]) => (a < b ? -1 : 1)))
}

const sinceMs = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000

/** A table, a task that follows it, and a fixture that knows of it. */
const makeFollowed = async (engine: Engine, more?: Partial<Declaration>): Promise<Fixture & { task: Table }> => {
  const { tenant } = await makeFixture(engine)
  const task = await follow(engine, tenant, 'index', more)
  const table = (await engine.tables.find(tenant.org.id, 'app', 'orders'))!
  return { ...fixtureOf(engine, tenant, table), task }
}

const claim = (engine: Engine, { caller }: Tenant, task: Table, limit = 10): Promise<Run[]> =>
  engine.runs.claim(caller, task, { limit, leaseMs: undefined }, Date.now())

export const followingCases = (it: Case): void => {
  it('following: every applied write adds a run, and one that was not applied adds none', async ({ engine }) => {
    const { table, task, tenant, put, remove, write } = await makeFollowed(engine)
    expect(table.followers).toEqual([{ taskId: task.id, ops: [...ops] }])
    await put('a', {}, sinceMs)
    await put('b', { rangeKey: 'x"y' }, sinceMs + 1)
    await write([putOf(table, 'c'), patchOf(table, 'd', { merge: { e: 1 } })], sinceMs + 2)
    await put('e', {}, sinceMs + 3)
    await remove('e', '#', sinceMs + 4)
    await remove('nothing', '#', sinceMs + 4)
    await write([putOf(table, 'no'), putOf(table, 'a', { condition: 'absent' })], sinceMs + 5)
    await write([{ op: 'check', hashKey: 'a', rangeKey: '#', condition: 'exists' }], sinceMs + 5)
    await engine.records.putAll(tenant.caller, table, [putOf(table, 'l'), putOf(table, 'm')], false, sinceMs + 6)
    await engine.records.putAll(tenant.caller, table, [putOf(table, 'l'), putOf(table, 'n')], true, sinceMs + 7)
    expect(await queued(engine, task)).toEqual({
      ...{ '["a"]': 'put 0', '["b","x\\"y"]': 'put 1', '["c"]': 'put 2', '["d"]': 'put 2', '["e"]': 'delete 4' },
      ...{ '["l"]': 'put 6', '["m"]': 'put 6', '["n"]': 'put 7' },
    })
  })

  it('following: of one record one run is queued and one is running, and the next begins after the last write', async ({
    engine,
  }) => {
    const { tenant, task, put } = await makeFollowed(engine)
    for (const n of [0, 1, 2]) await put('a', {}, sinceMs + n)
    const [first, ...others] = await claim(engine, tenant, task)
    expect([JSON.parse(first!.payload).updatedAt, others]).toEqual([sinceMs + 2, []])
    await put('a', {}, sinceMs + 3)
    await put('a', {}, sinceMs + 4)
    expect(await claim(engine, tenant, task)).toEqual([])
    await put('b', {}, sinceMs + 5)
    expect(await queued(engine, task)).toEqual({ '["a"]': 'put 4', '["b"]': 'put 5' })
    // A claim finds only what is not held.
    const held = (await queuedRuns(engine, task)).map((run): [string | null, boolean] => [run.key, run.held])
    expect(Object.fromEntries(held)).toEqual({ '["a"]': true, '["b"]': false })
    await engine.runs.finish(tenant.caller, task, first!.id, { lease: first!.lease!, result: null }, Date.now())
    const [second] = await claim(engine, tenant, task, 1)
    expect(JSON.parse(second!.payload).updatedAt).toBe(sinceMs + 4)
    expect(await queued(engine, task)).toEqual({ '["b"]': 'put 5' })
  })

  it('following: of writes of one record at the same time the newest counts', async ({ engine }) => {
    const { table, task, put } = await makeFollowed(engine)
    for (let round = 1; round <= 3; round++) {
      await Promise.all(numbered(30).map(() => put('same', {}, sinceMs + round * 100)))
      const record = await engine.records.get(table, { hashKey: 'same', rangeKey: '#' }, sinceMs)
      expect(await queued(engine, task)).toEqual({ '["same"]': `put ${record!.updatedAtMs - sinceMs}` })
    }
  })

  it('following: a run that waits for another attempt takes the newest write, and keeps its time', async ({
    engine,
  }) => {
    const { tenant, task, put } = await makeFollowed(engine)
    await put('a', {}, sinceMs)
    const [run] = await claim(engine, tenant, task)
    const failure = { code: 'worker' as const, message: 'no' }
    const finish = { lease: run!.lease!, error: failure, retry: true, retryAfterMs: 60_000 }
    await engine.runs.finish(tenant.caller, task, run!.id, finish, Date.now())
    await put('a', {}, sinceMs + 9)
    const waiting = await engine.runs.get(task, run!.id, Date.now())
    expect([waiting?.status, waiting?.attempt, JSON.parse(waiting!.payload).updatedAt]).toEqual([
      ...['queued', 1, sinceMs + 9],
    ])
    expect(waiting!.runAtMs).toBeGreaterThan(Date.now() + 30_000)
    expect(await claim(engine, tenant, task)).toEqual([])
  })

  it('following: only the operations that it names', async ({ engine }) => {
    const fixture = await makeFollowed(engine, { on: { table: 'orders', ops: ['delete'] } })
    const { tenant, task, put, remove } = fixture
    const both = await follow(engine, tenant, 'both', { on: { table: 'orders', ops: ['put', 'delete'] } })
    await put('a', {}, sinceMs)
    await put('b', {}, sinceMs)
    await remove('b', '#', sinceMs + 1)
    expect(await queued(engine, task)).toEqual({ '["b"]': 'delete 1' })
    expect(await queued(engine, both)).toEqual({ '["a"]': 'put 0', '["b"]': 'delete 1' })
  })

  it('following: a long key is its digest', async ({ engine }) => {
    const { tenant, task, put } = await makeFollowed(engine)
    const hashKey = '"'.repeat(600)
    await put(hashKey, {}, sinceMs)
    await put('k'.repeat(1_020), {}, sinceMs)
    const [long, short] = await claim(engine, tenant, task)
    const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify([hashKey])).digest('hex')
    expect([long!.key, JSON.parse(long!.payload).hashKey]).toEqual([`sha256:${digest}`, hashKey])
    expect(short!.key).toBe(JSON.stringify(['k'.repeat(1_020)]))
  })

  it('following: a sweep adds the runs of the records that it removes', async ({ engine }) => {
    const { tenant, task, put } = await makeFollowed(engine, { on: { table: 'orders', ops: ['expire'] } })
    const { table: plain } = await engine.tables.create(tenant.caller, 'app', 'plain', {}, sinceMs)
    for (const key of numbered(7)) await put(key, { ttlSeconds: sinceMs / 1_000 + 5 }, sinceMs)
    await put('lives', {}, sinceMs)
    const other = fixtureOf(engine, tenant, plain)
    await other.put('p', { ttlSeconds: sinceMs / 1_000 + 5 }, sinceMs)
    const nowMs = sinceMs + 6_000 + sweepGraceMs
    while ((await engine.maintenance.sweepExpired(nowMs, 3)) > 0) {
      // It goes on.
    }
    expect(await queued(engine, task)).toEqual(
      Object.fromEntries(numbered(7).map((key) => [JSON.stringify([key]), 'expire 5000'])),
    )
    await expectSound(engine)
  })

  it('following: a batch that finishes a run of the task does not trigger it, but others', async ({ engine }) => {
    const { tenant, table, task, put } = await makeFollowed(engine)
    const other = await follow(engine, tenant, 'other')
    await put('a', {}, sinceMs)
    const [run] = await claim(engine, tenant, task)
    const finish = { lease: run!.lease!, result: null }
    const batch = {
      parts: [{ table, records: [putOf(table, 'a'), putOf(table, 'z')] }],
      tasks: [{ op: 'finish' as const, task, id: run!.id, finish }],
    }
    const done = await engine.runs.applyBatch(tenant.caller, batch, sinceMs + 5)
    expect(done).toMatchObject({ applied: true, runIds: [run!.id] })
    expect(await queued(engine, task)).toEqual({})
    expect(await queued(engine, other)).toEqual({ '["a"]': 'put 5', '["z"]': 'put 5' })
    // What follows is triggered again, and a batch that only adds a run is too.
    const at = { runAtMs: Date.now() + 3_600_000 }
    const add = { id: 'mine', isNamed: true, key: null, payload: '{}', at }
    const more = {
      parts: [{ table, records: [deleteOf('z')] }],
      tasks: [{ op: 'run' as const, task, run: add }],
    }
    expect((await engine.runs.applyBatch(tenant.caller, more, sinceMs + 6)).applied).toBe(true)
    const runs = await claim(engine, tenant, task)
    expect(runs.map(({ key }) => key)).toEqual(['["z"]'])
  })

  it('following: a refused batch adds no run', async ({ engine }) => {
    const { tenant, table, task } = await makeFollowed(engine)
    const { table: other } = await engine.tables.create(tenant.caller, 'app', 'other', {}, sinceMs)
    const parts = [
      { table, records: [putOf(table, 'a')] },
      { table: other, records: [putOf(other, 'o', { condition: 'exists' })] },
    ]
    expect((await engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, sinceMs)).applied).toBe(false)
    expect(await queued(engine, task)).toEqual({})
    parts[1]!.records = [putOf(other, 'o')]
    expect((await engine.runs.applyBatch(tenant.caller, { parts, tasks: [] }, sinceMs + 1)).applied).toBe(true)
    expect(await queued(engine, task)).toEqual({ '["a"]': 'put 1' })
  })

  it('following: a declaration without it, and a deletion, end it; a restore makes up for nothing', async ({
    engine,
  }) => {
    const fixture = await makeFollowed(engine)
    const { tenant, task } = fixture
    const { caller } = tenant
    const now = async () => {
      const table = (await engine.tables.find(tenant.org.id, 'app', 'orders'))!
      return fixtureOf(engine, tenant, table)
    }
    await follow(engine, tenant, 'index', { on: null })
    expect((await now()).table.followers).toEqual([])
    // Also one who has looked the table up before.
    await fixture.put('a', {}, sinceMs)
    await (await now()).put('b', {}, sinceMs)
    expect(await queued(engine, task)).toEqual({})
    await follow(engine, tenant, 'index')
    await fixture.put('c', {}, sinceMs)
    await (await now()).put('d', {}, sinceMs)
    expect(Object.keys(await queued(engine, task))).toEqual(['["c"]', '["d"]'])
    await engine.tasks.delete(caller, 'app', 'index', undefined, Date.now())
    await fixture.put('e', {}, sinceMs)
    await (await now()).put('f', {}, sinceMs)
    expect((await engine.tasks.restore(caller, 'app', 'index', undefined, Date.now())).outcome).toBe('restored')
    await fixture.put('g', {}, sinceMs)
    expect(Object.keys(await queued(engine, task))).toEqual(['["c"]', '["d"]', '["g"]'])
    expect((await now()).table.followers).toEqual([{ taskId: task.id, ops: [...ops] }])
    await expectSound(engine)
  })

  it('following: a paused task collects runs', async ({ engine }) => {
    const { tenant, task, put } = await makeFollowed(engine)
    await follow(engine, tenant, 'index', { paused: true, on: { table: 'orders', ops: [...ops] } })
    await put('a', {}, sinceMs)
    expect(await claim(engine, tenant, task)).toEqual([])
    await follow(engine, tenant, 'index')
    expect((await claim(engine, tenant, task)).length).toBe(1)
  })

  it('following: a task can be paused without its table, and is resumed with it', async ({ engine }) => {
    const { tenant, task } = await makeFollowed(engine)
    await engine.tables.delete(tenant.caller, 'app', 'orders', Date.now())
    const on = { table: 'orders', ops: [...ops] }
    await follow(engine, tenant, 'index', { on, paused: true })
    expect(await declare(engine, tenant, 'index', { on })).toEqual({ applied: false, reason: 'table' })
    const other = { on: { table: 'others', ops: [...ops] }, paused: true }
    expect(await declare(engine, tenant, 'index', other)).toEqual({ applied: false, reason: 'table' })
    const { table } = await engine.tables.create(tenant.caller, 'app', 'orders', {}, Date.now())
    await fixtureOf(engine, tenant, table).put('a', {}, sinceMs)
    expect(Object.keys(await queued(engine, task))).toEqual(['["a"]'])
    await follow(engine, tenant, 'index')
    expect((await claim(engine, tenant, task)).length).toBe(1)
  })

  it('following: the name of the table counts, whichever table has it', async ({ engine }) => {
    const { tenant, task, put } = await makeFollowed(engine)
    const { caller, org } = tenant
    await put('a', {}, sinceMs)
    await engine.tables.delete(caller, 'app', 'orders', Date.now())
    expect(Object.keys(await queued(engine, task))).toEqual(['["a"]'])
    const created = await engine.tables.create(caller, 'app', 'orders', {}, Date.now())
    expect([created.created, created.table.followers.length]).toEqual([true, 1])
    await fixtureOf(engine, tenant, created.table).put('b', {}, sinceMs)
    await engine.tables.delete(caller, 'app', 'orders', Date.now())
    const withLog = await engine.tables.create(caller, 'app', 'orders', {}, Date.now(), 24)
    expect([withLog.table.followers.length, withLog.table.changes?.keepHours]).toEqual([1, 24])
    await fixtureOf(engine, tenant, withLog.table).put('c', {}, sinceMs)
    await engine.tables.delete(caller, 'app', 'orders', Date.now())
    // While the first one is deleted, another task begins to follow it.
    await follow(engine, tenant, 'index', { on: null })
    const restored = await engine.tables.restore(
      caller,
      'app',
      'orders',
      created.table.deletedAtMs ?? undefined,
      Date.now(),
    )
    expect(restored).toMatchObject({ outcome: 'restored', table: { followers: [] } })
    await engine.tables.delete(caller, 'app', 'orders', Date.now())
    expect(await declare(engine, tenant, 'index')).toEqual({ applied: false, reason: 'table' })
    expect(Object.keys(await queued(engine, task))).toEqual(['["a"]', '["b"]', '["c"]'])
    const other = await engine.tables.create(caller, 'other', 'orders', {}, Date.now())
    await fixtureOf(engine, tenant, other.table).put('elsewhere', {}, sinceMs)
    expect((await engine.tables.find(org.id, 'other', 'orders'))?.followers).toEqual([])
    await expectSound(engine)
  })

  it('following: at most five tasks follow a table, also after a restore', async ({ engine }) => {
    const { tenant, put } = await makeFollowed(engine)
    const { caller } = tenant
    const names = ['index', 'b', 'c', 'd', 'e']
    for (const name of names.slice(1)) await follow(engine, tenant, name)
    const tasks = [...names].sort()
    expect(tasks.length).toBe(followersOfTableMax)
    expect(await declare(engine, tenant, 'f')).toEqual({ applied: false, reason: 'tooMany', tasks })
    // One of them may be declared again.
    await follow(engine, tenant, 'c', { attempts: 7, on: { table: 'orders', ops: ['put'] } })
    await engine.tasks.delete(caller, 'app', 'b', undefined, Date.now())
    await follow(engine, tenant, 'f')
    expect(await engine.tasks.restore(caller, 'app', 'b', undefined, Date.now())).toEqual({
      outcome: 'tooMany',
      table: 'orders',
      tasks: ['c', 'd', 'e', 'f', 'index'],
    })
    await put('a', {}, sinceMs)
    for (const name of ['index', 'c', 'd', 'e', 'f']) {
      const task = (await engine.tasks.find(tenant.org.id, 'app', name))!
      expect([name, await queued(engine, task)]).toEqual([name, { '["a"]': 'put 0' }])
    }
    await expectSound(engine)
  })

  it('following: a copy adds no runs, and goes on following', async ({ engine, reopen }) => {
    const { tenant, table, task } = await makeFollowed(engine)
    const record = { id: 90_001, tableId: table.id, hashKey: 'copied', rangeKey: '#', data: '{}', ttlSeconds: null }
    await engine.transfer.load({
      records: [{ ...record, updatedAtMs: sinceMs, entries: Array.from({ length: 10 }, () => null) }],
    })
    expect(await queued(engine, task)).toEqual({})
    const dump = await engine.transfer.openDump()
    const tables = []
    for await (const one of dump.tables()) tables.push(one)
    await dump.close()
    expect(tables.find(({ id }) => id === table.id)?.followers).toEqual(table.followers)
    const again = await reopen()
    const found = (await again.tables.find(tenant.org.id, 'app', 'orders'))!
    await fixtureOf(again, await tenantThrough(again, tenant), found).put('b', {}, sinceMs)
    expect(Object.keys(await queued(again, task))).toEqual(['["b"]'])
    await expectSound(again)
  })

  it('following: purging a task or a table leaves nothing behind', async ({ engine }) => {
    const { tenant, put } = await makeFollowed(engine)
    await put('a', {}, sinceMs)
    await engine.tasks.delete(tenant.caller, 'app', 'index', undefined, sinceMs)
    await engine.tables.delete(tenant.caller, 'app', 'orders', sinceMs)
    const nowMs = Date.now() + recoveryMs + sweepGraceMs + 1
    while ((await engine.maintenance.purgeTables(nowMs, 7)) > 0) {
      // It goes on.
    }
    const dump = await engine.transfer.openDump()
    const left = []
    for await (const one of dump.tables()) left.push(one)
    expect([left, await dump.countRuns()]).toEqual([[], 0])
    await dump.close()
    await expectSound(engine)
  })

  it('following: while a deleted organization is purged, its store is sound', async ({ engine }) => {
    const { put } = await makeFollowed(engine)
    for (const key of numbered(5)) await put(key, {}, sinceMs)
    await engine.organizations.delete('acme', sinceMs)
    const nowMs = Date.now() + recoveryMs + sweepGraceMs + 1
    do await expectSound(engine)
    while ((await engine.maintenance.purgeOrganizations(nowMs, 2)) > 0)
  })

  it('following: verify finds a table that does not list who follows it', async ({ engine }) => {
    const { tenant, table } = await makeFollowed(engine)
    const { epoch: _, ...rest } = table
    const id = table.id + 50
    // A copy whose lists are not those of its tasks.
    await engine.transfer.load({
      tables: [{ ...rest, id, name: 'stale', followers: [{ taskId: 1, ops: ['put'] }], purging: false, epoch: 0 }],
    })
    const findings: string[] = []
    const noted: number[] = []
    for await (const finding of engine.maintenance.check({ table: (one) => noted.push(one) })) findings.push(finding)
    expect(findings).toEqual([`table ${id} does not list the tasks that follow it`])
    expect(noted).toEqual([id])
    await engine.tables.delete(tenant.caller, 'app', 'stale', Date.now())
  })

  it('following: it holds in another process from the moment of the answer', async ({ engine, openBeside }) => {
    const fixture = await makeFixture(engine)
    const { tenant } = fixture
    const beside = await fixtureThrough(await openBeside(), fixture)
    await beside.put('before', {}, sinceMs)
    const task = await follow(engine, tenant, 'index')
    await beside.put('a', {}, sinceMs)
    expect(Object.keys(await queued(engine, task))).toEqual(['["a"]'])
    await engine.tasks.delete(tenant.caller, 'app', 'index', undefined, Date.now())
    await beside.put('b', {}, sinceMs)
    expect(Object.keys(await queued(engine, task))).toEqual(['["a"]'])
    await engine.tasks.restore(tenant.caller, 'app', 'index', undefined, Date.now())
    await Promise.all(
      numbered(20).flatMap((key) => [
        fixture.put(`f${key}`, {}, sinceMs),
        beside.put(`b${key}`, {}, sinceMs),
        beside.put('same', {}, sinceMs),
      ]),
    )
    expect(Object.keys(await queued(engine, task)).length).toBe(42)
    await expectSound(engine)
  })
}
