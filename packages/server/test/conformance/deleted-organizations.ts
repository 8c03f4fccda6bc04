import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { deadBlobMs, recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import { newRunId } from '../../src/core/tasks/run-id.ts'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import { makeShelf } from './files.ts'
import {
  deleteOf,
  expectRefusal,
  fill,
  fixtureThrough,
  makeFixture,
  makeTenant,
  numbered,
  putOf,
  startMs,
  type Tenant,
  timeScan,
} from './fixture.ts'
import { declared, makeBench } from './runs.ts'

// An operator ends a contract, or a key of the organization has leaked. Without these promises somebody would go on writing
// into what is deleted, the data of years would be gone by a typing error, or would never be gone at all.

const deadline = startMs + recoveryMs + sweepGraceMs

/** An organization with something of every kind. */
const furnish = async (engine: Engine, name = 'acme') => {
  const tenant = await makeTenant(engine, name)
  const fixture = await makeFixture(engine, { i1: { hashField: 's' } }, { tenant })
  await fixture.put('a', { data: { s: 'x' } })
  const shelf = await makeShelf(engine, { tenant })
  await shelf.put('tom.txt')
  const bench = await makeBench(engine, {}, { tenant })
  return { tenant, fixture, shelf, bench }
}

const newRun = (payload = '{}') => ({ id: newRunId(), isNamed: false, key: null, payload, at: { delayMs: 0 } })

const isFound = async (engine: Engine, { org, secret, apiKey }: Tenant, publicId: string) => [
  (await engine.apiKeys.find(secret)) !== undefined,
  (await engine.apiKeys.findById(apiKey.id)) !== undefined,
  (await engine.tables.find(org.id, 'app', 'orders')) !== undefined,
  (await engine.buckets.find(org.id, 'app', 'avatars')) !== undefined,
  (await engine.buckets.findById(publicId)) !== undefined,
  (await engine.tasks.find(org.id, 'app', 'mail')) !== undefined,
]
const all = Array(6).fill(true)
const none = Array(6).fill(false)

/** Steps until nothing is left to do; the most rows that one of them removed. */
const purgeAll = async (engine: Engine, nowMs: number, rowsMax: number): Promise<number> => {
  let most = 0
  for (let steps = 0; steps < 1_000; steps++) {
    const before = await countRows(engine)
    if ((await engine.maintenance.purgeOrganizations(nowMs, rowsMax)) === 0) return most
    most = Math.max(most, before - (await countRows(engine)))
  }
  throw new Error('The purge has no end.')
}

/** Records, files, runs and keys. */
const countRows = async (engine: Engine): Promise<number> => {
  const dump = await engine.transfer.openDump()
  try {
    let rows = await dump.countRuns()
    for await (const { id } of dump.tables()) rows += await dump.countRecords(id)
    for await (const _ of dump.apiKeys()) rows++
    return rows
  } finally {
    await dump.close()
  }
}

export const deletedOrganizationCases = (it: Case): void => {
  it('delete: nothing of the organization is found from then on, and another one is as it was', async ({ engine }) => {
    const { tenant, shelf } = await furnish(engine)
    const other = await furnish(engine, 'other')
    expect(await isFound(engine, tenant, shelf.bucket.publicId!)).toEqual(all)
    const deleted = await engine.organizations.delete('acme', startMs + 5)
    const organization = { ...tenant.org, deletedAtMs: startMs + 5 }
    expect(deleted).toEqual({ outcome: 'deleted', organization })
    expect(await isFound(engine, tenant, shelf.bucket.publicId!)).toEqual(none)
    expect(await isFound(engine, other.tenant, other.shelf.bucket.publicId!)).toEqual(all)
    expect(await engine.organizations.find('acme')).toEqual(organization)
    expect(await engine.organizations.findById(tenant.org.id)).toEqual(organization)
    expect(await engine.organizations.list()).toEqual([organization, other.tenant.org])
  })

  it('delete: undefined for an unknown name; a second time nothing changes', async ({ engine }) => {
    expect(await engine.organizations.delete('acme', startMs)).toBeUndefined()
    const { org } = await makeTenant(engine)
    await engine.organizations.delete('acme', startMs)
    const again = await engine.organizations.delete('acme', startMs + 1_000)
    expect(again).toEqual({ outcome: 'already', organization: { ...org, deletedAtMs: startMs } })
  })

  it('delete: the name stays taken, and the store is not at its first start', async ({ engine }) => {
    await makeTenant(engine)
    await engine.organizations.delete('acme', startMs)
    const { kept } = makeApiKey({ kind: 'secret' })
    expect(await engine.organizations.create('acme', [kept], startMs)).toBeUndefined()
    expect(await engine.organizations.bootstrap('default', [kept], startMs)).toBeUndefined()
  })

  it('delete: every write of a caller that was let in before is refused, and nothing is written', async ({
    engine,
  }) => {
    const { tenant, fixture, shelf, bench } = await furnish(engine)
    const { caller, operator, apiKey } = tenant
    const [blob, spare] = [await shelf.begin(), makeApiKey({ kind: 'public' })]
    const [first, second] = [await bench.add(), await bench.add()]
    const [claimed] = await bench.claim()
    await engine.apiKeys.create(caller, spare.kept, startMs)
    const before = await countRows(engine)
    await engine.organizations.delete('acme', startMs)

    const put = putOf(fixture.table, 'b')
    const declaration = { ...declared, keepsAuthorization: false, newSecret: newTaskSecret() }
    const finish = { lease: claimed!.lease!, result: null }
    const runInBatch = { op: 'run' as const, task: bench.task, run: newRun() }
    const finishInBatch = { op: 'finish' as const, task: bench.task, id: claimed!.id, finish }
    const now = Date.now()
    const attempts: Record<string, () => Promise<unknown>> = {
      put: () => fixture.write([put]),
      'put if absent': () => fixture.write([{ ...put, condition: 'absent' }]),
      delete: () => fixture.write([deleteOf('a')]),
      'delete of nothing': () => fixture.write([deleteOf('nothing')]),
      batch: () => fixture.write([deleteOf('a'), put]),
      'batch of puts': () => fixture.write([put, putOf(fixture.table, 'c')]),
      'put by a command': () => engine.records.write(operator, fixture.table, [put], startMs),
      'create table': () => engine.tables.create(caller, 'app', 'new', {}, startMs),
      'create table by a command': () => engine.tables.create(operator, 'app', 'new', {}, startMs),
      'delete table': () => engine.tables.delete(caller, 'app', 'orders', startMs),
      'delete table by a command': () => engine.tables.delete(operator, 'app', 'orders', startMs),
      'restore table': () => engine.tables.restore(caller, 'app', 'orders', undefined, startMs),
      'create bucket': () => engine.buckets.create(caller, 'app', 'new', newBucketId(), startMs),
      'create key': () => engine.apiKeys.create(caller, makeApiKey({ kind: 'secret' }).kept, startMs),
      'create key by a command': () => engine.apiKeys.create(operator, makeApiKey({ kind: 'secret' }).kept, startMs),
      'revoke key': () => engine.apiKeys.revoke(caller, spare.kept.id, startMs),
      'begin file': () => engine.files.begin(caller, shelf.bucket, newBlobId(startMs), startMs),
      'commit file': () => shelf.commit('late.txt', blob),
      'commit small file': () => shelf.commitSmall('late.txt', new Uint8Array([1, 2, 3])),
      'change file': () => shelf.change('tom.txt', { visibility: 'public' }),
      'remove file': () => shelf.remove('tom.txt'),
      'declare task': () => engine.tasks.declare(caller, 'app', 'new', declaration, undefined, now),
      'delete task': () => engine.tasks.delete(caller, 'app', 'mail', undefined, now),
      'add secret': () => engine.tasks.addSecret(caller, bench.task, newTaskSecret(), false, now),
      run: () => engine.runs.add(caller, bench.task, newRun(), now),
      'run of a key': () => engine.runs.add(caller, bench.task, { ...newRun(), key: 'k' }, now),
      claim: () => bench.claim(),
      extend: () => bench.extend(claimed!, 60_000),
      finish: () => bench.finish(claimed!),
      'outcome of a push': () => engine.runs.finish(operator, bench.task, claimed!.id, finish, now),
      cancel: () => bench.cancel(second),
      retry: () => bench.retry(first),
      'batch with a run': () =>
        engine.runs.applyBatch(caller, { parts: [{ table: fixture.table, records: [put] }], tasks: [runInBatch] }, now),
      'batch with a finish': () => engine.runs.applyBatch(caller, { parts: [], tasks: [finishInBatch] }, now),
    }
    for (const [name, attempt] of Object.entries(attempts)) {
      const outcome = await attempt().then(
        (value) => ({ resolved: value }),
        (error: { code?: unknown }) => error.code ?? error,
      )
      expect([name, outcome]).toEqual([name, 'invalid_api_key'])
    }
    expect(await countRows(engine)).toBe(before)

    await engine.organizations.restore('acme', startMs)
    expect(await fixture.names(timeScan())).toEqual(['a'])
    expect(await engine.apiKeys.find(spare.text)).toMatchObject({ revokedAtMs: null })
    expect((await bench.get(claimed!))!.lease).toBe(claimed!.lease)
    expect(await engine.apiKeys.findById(apiKey.id)).toMatchObject({ revokedAtMs: null })
  })

  it('delete: racing with it a write is applied or refused, as it is told', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const attempts: Promise<boolean>[] = []
    const names = numbered(120)
    let deletion: Promise<unknown> | undefined
    for (const [i, name] of names.entries()) {
      if (i === 60) deletion = engine.organizations.delete('acme', startMs)
      const attempt = fixture.write([putOf(fixture.table, name), putOf(fixture.table, name, { rangeKey: 'twin' })])
      attempts.push(
        attempt.then(
          (result) => result.applied,
          (error: { code: unknown }) => {
            expect(error.code).toBe('invalid_api_key')
            return false
          },
        ),
      )
      if (i % 10 === 0) await Bun.sleep(0)
    }
    await deletion
    await expectRefusal(fixture.write([putOf(fixture.table, 'late')]), 'invalid_api_key')
    const applied = await Promise.all(attempts)
    await engine.organizations.restore('acme', startMs)
    const wanted = names.filter((_, i) => applied[i]).flatMap((name) => [name, `${name}/twin`])
    expect((await fixture.names(timeScan())).toSorted()).toEqual(wanted.toSorted())
  })

  it('delete: its runs are not pushed, and those of others are', async ({ engine }) => {
    const push = { url: 'https://example.com/hook' }
    const ours = await makeBench(engine, push)
    const theirs = await makeBench(engine, push, { tenant: await makeTenant(engine, 'theirs') })
    for (const bench of [ours, theirs]) await bench.add()
    const due = async () => (await engine.runs.duePushes(Date.now())).tasks.map(({ id }) => id)
    expect(await due()).toEqual([ours.task.id, theirs.task.id])
    const gone = async () => engine.runs.goneAmong([ours.task.id, theirs.task.id])
    expect(await gone()).toEqual([])
    await engine.organizations.delete('acme', Date.now())
    expect(await gone()).toEqual([ours.task.id])
    expect(await due()).toEqual([theirs.task.id])
    expect(await engine.runs.claimPushes(ours.task, 10, Date.now())).toBeUndefined()
    expect((await engine.runs.claimPushes(theirs.task, 10, Date.now()))!.runs).toHaveLength(1)
    expect(await due()).toEqual([])
    await engine.organizations.restore('acme', Date.now())
    expect(await gone()).toEqual([])
    expect(await due()).toEqual([ours.task.id])
    expect((await engine.runs.claimPushes(ours.task, 10, Date.now()))!.runs).toHaveLength(1)
  })

  it('delete: its schedules create no runs and hold up no others; restored, they go on', async ({ engine }) => {
    const schedule = { every: 1, payload: '{}' }
    const tenant = await makeTenant(engine)
    const ours = await Promise.all(numbered(3).map((name) => makeBench(engine, { schedule }, { tenant, name })))
    const theirs = await makeBench(engine, { schedule }, { tenant: await makeTenant(engine, 'theirs') })
    await engine.organizations.delete('acme', Date.now())
    const nexts = await Promise.all([...ours, theirs].map(async (one) => (await one.state())!.nextRunAtMs!))
    const next = Math.max(...nexts)
    await Bun.sleep(Math.max(0, next - Date.now()) + 20)
    // Two at a time: the three of the deleted organization come first, and must not come again and again.
    const created: number[] = []
    for (let look = 0; look < 4; look++) {
      created.push(...(await engine.runs.fireSchedules(Date.now(), 2)).created.map(({ taskId }) => taskId))
    }
    expect(new Set(created)).toEqual(new Set([theirs.task.id]))
    await engine.organizations.restore('acme', Date.now())
    const [first] = ours
    const after = (await first!.state())!.nextRunAtMs!
    expect(after).toBeGreaterThan(next)
    await Bun.sleep(Math.max(0, after - Date.now()) + 20)
    const fired = await engine.runs.fireSchedules(Date.now(), 10)
    const run = fired.created.find(({ taskId }) => taskId === first!.task.id)
    expect((await first!.get(run!))!.runAtMs).toBeGreaterThanOrEqual(after)
  })

  it('restore: all is back; what was revoked or deleted before stays so', async ({ engine }) => {
    const { tenant, fixture, shelf, bench } = await furnish(engine)
    const revoked = makeApiKey({ kind: 'secret' })
    await engine.apiKeys.create(tenant.caller, revoked.kept, startMs)
    await engine.apiKeys.revoke(tenant.caller, revoked.kept.id, startMs + 1)
    await makeFixture(engine, {}, { tenant, name: 'dropped' })
    await engine.tables.delete(tenant.caller, 'app', 'dropped', startMs)
    const run = await bench.add()
    const files = await shelf.get('tom.txt')

    await engine.organizations.delete('acme', startMs)
    const restored = await engine.organizations.restore('acme', startMs + recoveryMs - 1)
    expect(restored).toEqual({ outcome: 'restored', organization: tenant.org })
    expect(await isFound(engine, tenant, shelf.bucket.publicId!)).toEqual(all)
    expect(await engine.apiKeys.find(revoked.text)).toMatchObject({ revokedAtMs: startMs + 1 })
    expect(await engine.tables.find(tenant.org.id, 'app', 'dropped')).toBeUndefined()
    await fixture.put('b', { data: { s: 'x' } })
    expect((await fixture.names(timeScan())).toSorted()).toEqual(['a', 'b'])
    expect(await shelf.get('tom.txt')).toEqual(files)
    expect((await bench.claim())[0]!.id).toBe(run.id)
    // Once more: the second deletion has its own seven days.
    await engine.organizations.delete('acme', startMs + 9)
    expect(await engine.organizations.find('acme')).toMatchObject({ deletedAtMs: startMs + 9 })
  })

  it('restore: one that is not deleted, one that is unknown, and one whose seven days are over', async ({ engine }) => {
    expect(await engine.organizations.restore('acme', startMs)).toBeUndefined()
    const { org } = await makeTenant(engine)
    expect(await engine.organizations.restore('acme', startMs)).toEqual({ outcome: 'active', organization: org })
    await engine.organizations.delete('acme', startMs)
    const over = await engine.organizations.restore('acme', startMs + recoveryMs)
    expect(over).toEqual({ outcome: 'over', organization: { ...org, deletedAtMs: startMs } })
    expect(await engine.apiKeys.list(org.id, undefined, 10)).toHaveLength(1)
  })

  it('purge: removes nothing until 5 minutes past the seven days', async ({ engine }) => {
    const { tenant, fixture } = await furnish(engine)
    expect(await engine.maintenance.purgeOrganizations(deadline * 2, 500)).toBe(0)
    await engine.organizations.delete('acme', startMs)
    for (const nowMs of [startMs, startMs + recoveryMs, deadline - 1]) {
      expect(await engine.maintenance.purgeOrganizations(nowMs, 500)).toBe(0)
    }
    // By an earlier clock it is all there.
    await engine.organizations.restore('acme', startMs + 1)
    expect(await fixture.names(timeScan())).toEqual(['a'])
    expect(await engine.apiKeys.find(tenant.secret)).toBeDefined()
  })

  it('purge: in small steps everything of the organization goes, then its name is free', async ({ engine }) => {
    const { tenant, fixture, shelf, bench } = await furnish(engine)
    const other = await furnish(engine, 'other')
    await fill(
      fixture,
      numbered(25).map((name) => putOf(fixture.table, name, { data: { s: 'x' } })),
    )
    for (const name of ['a', 'b', 'c']) await shelf.put(name)
    await shelf.commitSmall('small', new Uint8Array([1, 2, 3]))
    for (let i = 0; i < 7; i++) await bench.add()
    for (let i = 0; i < 6; i++) await engine.apiKeys.create(tenant.caller, makeApiKey({ kind: 'public' }).kept, startMs)
    await makeFixture(engine, {}, { tenant, name: 'empty' })
    const dropped = await makeFixture(engine, {}, { tenant, name: 'dropped' })
    await dropped.put('a')
    await engine.tables.delete(tenant.caller, 'app', 'dropped', startMs)
    await engine.organizations.delete('acme', startMs)

    expect(await purgeAll(engine, deadline, 4)).toBeLessThanOrEqual(4)
    expect(await engine.organizations.list()).toEqual([other.tenant.org])
    const dump = await engine.transfer.openDump()
    try {
      for await (const { orgId } of dump.tables()) expect(orgId).toBe(other.tenant.org.id)
      for await (const { orgId } of dump.apiKeys()) expect(orgId).toBe(other.tenant.org.id)
      const tasks: number[] = []
      for await (const { tableId } of dump.tasks()) tasks.push(tableId)
      expect(tasks).toEqual([other.bench.task.id])
      for (const { id } of [fixture.table, shelf.bucket, dropped.table]) expect(await dump.countRecords(id)).toBe(0)
      expect(await dump.countRuns()).toBe(0)
    } finally {
      await dump.close()
    }
    // The bytes of its five files go as those of deleted files do. The one of the other organization stays.
    const due = await engine.files.takeDue(deadline + deadBlobMs, 100)
    expect(due).toHaveLength(5)
    await engine.files.forget(due)
    expect(await isFound(engine, other.tenant, other.shelf.bucket.publicId!)).toEqual(all)
    expect(await other.fixture.names(timeScan())).toEqual(['a'])

    expect(await engine.organizations.restore('acme', startMs + 1)).toBeUndefined()
    const anew = await makeTenant(engine)
    expect(anew.org.id).not.toBe(tenant.org.id)
    expect(await engine.tables.listDatabases(anew.org.id, undefined, 10)).toEqual([])
    expect(await engine.apiKeys.find(tenant.secret)).toBeUndefined()
  })

  it('purge: what it has begun with is not restored, by whatever clock; those deleted later stay', async ({
    engine,
  }) => {
    await furnish(engine)
    const later = await furnish(engine, 'later')
    await engine.organizations.delete('acme', startMs)
    await engine.organizations.delete('later', startMs + 1_000)
    expect(await engine.maintenance.purgeOrganizations(deadline, 1)).toBeGreaterThan(0)
    expect(await engine.organizations.restore('acme', startMs + 1)).toMatchObject({ outcome: 'over' })
    await purgeAll(engine, deadline, 3)
    expect((await engine.organizations.list()).map(({ name }) => name)).toEqual(['later'])
    expect(await engine.organizations.restore('later', startMs + 1_001)).toMatchObject({ outcome: 'restored' })
    expect(await later.fixture.names(timeScan())).toEqual(['a'])
  })

  it('purge: a store whose only organization was purged does not start anew', async ({ engine }) => {
    await makeTenant(engine)
    await engine.organizations.delete('acme', startMs)
    await purgeAll(engine, deadline, 10)
    expect(await engine.organizations.list()).toEqual([])
    const { kept } = makeApiKey({ kind: 'secret' })
    expect(await engine.organizations.bootstrap('default', [kept], startMs)).toBeUndefined()
    expect(await engine.organizations.create('acme', [kept], startMs)).toMatchObject({ name: 'acme' })
  })

  it('load: an organization that was deleted in the source is deleted here, and purged here it is gone', async ({
    engine,
  }) => {
    const loaded = { id: 9, name: 'acme', createdAtMs: startMs - 1, deletedAtMs: startMs, purging: false }
    await engine.transfer.load({ organizations: [loaded] })
    const { purging: _, ...organization } = loaded
    expect(await engine.organizations.list()).toEqual([organization])
    expect(await engine.organizations.restore('acme', startMs + 1)).toMatchObject({ outcome: 'restored' })
    await engine.organizations.delete('acme', startMs)
    await purgeAll(engine, deadline, 10)
    expect(await engine.organizations.list()).toEqual([])
    const { kept } = makeApiKey({ kind: 'secret' })
    expect(await engine.organizations.bootstrap('default', [kept], startMs)).toBeUndefined()

    await engine.transfer.load({ organizations: [{ ...loaded, id: 10, purging: true }] })
    expect(await engine.organizations.restore('acme', startMs + 1)).toMatchObject({ outcome: 'over' })
  })

  it('dump: the runs of one task, and of no other', async ({ engine }) => {
    const bench = await makeBench(engine)
    const other = await makeBench(engine, {}, { tenant: bench.tenant, name: 'other' })
    const payload = `{"text":"${'x'.repeat(800_000)}"}`
    const runs = [await bench.add({ payload }), await bench.add({ payload }), await bench.add({ payload })]
    await other.add()
    const dump = await engine.transfer.openDump()
    try {
      const found: string[] = []
      let chunks = 0
      for await (const chunk of dump.runsOf(bench.task.id)) {
        chunks++
        found.push(...chunk.map(({ id }) => id))
      }
      expect(found).toEqual(runs.map(({ id }) => id).sort())
      expect(chunks).toBeGreaterThan(1)
    } finally {
      await dump.close()
    }
  })

  it('beside: an organization deleted through one engine is gone for the other; restored, it is back', async (store) => {
    const { engine } = store
    const { tenant, fixture, shelf } = await furnish(engine)
    const other = await store.openBeside()
    const publicId = shelf.bucket.publicId!
    expect(await isFound(other, tenant, publicId)).toEqual(all)
    await engine.organizations.delete('acme', startMs)
    expect(await isFound(other, tenant, publicId)).toEqual(none)
    await other.organizations.restore('acme', startMs)
    expect(await isFound(engine, tenant, publicId)).toEqual(all)
    // And the other way: this one has everything at hand when the other deletes it.
    await fixture.put('b')
    await other.organizations.delete('acme', startMs)
    expect(await isFound(engine, tenant, publicId)).toEqual(none)
    await expectRefusal(fixture.write([putOf(fixture.table, 'c')]), 'invalid_api_key')
    await engine.organizations.restore('acme', startMs)
    expect((await fixture.names(timeScan())).toSorted()).toEqual(['a', 'b'])
  })

  it('beside: a write through one engine into an organization deleted through the other is refused', async (store) => {
    const { fixture } = await furnish(store.engine)
    const other = await store.openBeside()
    const there = await fixtureThrough(other, fixture)
    await there.put('b')
    await store.engine.organizations.delete('acme', startMs)
    await expectRefusal(there.write([putOf(there.table, 'c')]), 'invalid_api_key')
    await expectRefusal(there.write([deleteOf('a'), putOf(there.table, 'c')]), 'invalid_api_key')
    await store.engine.organizations.restore('acme', startMs)
    await there.put('d')
    expect((await fixture.names(timeScan())).toSorted()).toEqual(['a', 'b', 'd'])
  })

  it('beside: two engines that purge the same organization leave nothing of it', async (store) => {
    const { tenant, fixture } = await furnish(store.engine)
    await fill(
      fixture,
      numbered(50).map((name) => putOf(fixture.table, name, { data: { s: 'x' } })),
    )
    const other = await store.openBeside()
    await store.engine.tables.delete(tenant.caller, 'app', 'orders', startMs)
    await store.engine.organizations.delete('acme', startMs)
    const purge = async (engine: Engine): Promise<void> => {
      for (let i = 0; i < 30; i++) {
        await engine.maintenance.purgeTables(deadline, 3)
        await engine.maintenance.purgeOrganizations(deadline, 3)
      }
    }
    await Promise.all([purge(store.engine), purge(other)])
    await purgeAll(store.engine, deadline, 50)
    expect(await store.engine.organizations.list()).toEqual([])
    expect(await countRows(store.engine)).toBe(0)
  })
}
