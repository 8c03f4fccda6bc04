import { expect } from 'bun:test'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import type { Case } from '../engine-conformance.ts'
import { expectSound } from '../engine-conformance.ts'
import { expectRefusal, makeTenant, withoutEpoch } from './fixture.ts'
import { declared, makeBench } from './runs.ts'

export const taskCases = (test: Case): void => {
  test('are declared, replaced, read, deleted and restored, apart from tables and buckets', async ({ engine }) => {
    const bench = await makeBench(engine)
    const { caller, org } = bench.tenant
    expect(await engine.tables.find(org.id, 'app', 'mail')).toBeUndefined()
    expect(withoutEpoch(await engine.tasks.find(org.id, 'app', 'mail'))).toEqual(withoutEpoch(bench.task))
    expect(bench.task).toMatchObject({ kind: 'task', db: 'app', name: 'mail', publicId: null, deletedAtMs: null })
    const first = (await bench.state())!
    expect(first).toMatchObject({ declaration: declared, nextRunAtMs: null, oldestRunAtMs: null })
    const again = await bench.declare({ attempts: 7 })
    expect(again).toMatchObject({ applied: true, created: false, secretStored: false })
    expect((await bench.state())!.declaration.attempts).toBe(7)
    expect((await bench.state())!.updatedAtMs).toBeGreaterThan(first.updatedAtMs)
    await engine.tables.create(caller, 'app', 'mail', {}, Date.now())
    expect(await engine.tables.listDatabases(org.id, undefined, 10)).toEqual(['app'])
    const only = await makeBench(engine, {}, { tenant: bench.tenant, name: 'other' })
    const listing = { orgId: org.id, db: 'app', after: undefined, limit: 10 }
    expect((await engine.tasks.list(listing)).map(({ name }) => name)).toEqual(['mail', 'other'])
    // Found, so that a cache may have it.
    expect(await engine.tasks.find(org.id, 'app', 'other')).toBeDefined()
    expect(await engine.tasks.delete(caller, 'app', 'other', undefined, Date.now())).toMatchObject({ applied: true })
    expect(await engine.tasks.find(org.id, 'app', 'other')).toBeUndefined()
    expect(await engine.tasks.delete(caller, 'app', 'other', undefined, Date.now())).toBeUndefined()
    expect(await engine.tasks.find(org.id, 'app', 'other')).toBeUndefined()
    expect((await engine.tasks.findDeleted(org.id, 'app', 'other', Date.now()))!.id).toBe(only.task.id)
    expect(await engine.tasks.listDeleted(listing, Date.now())).toHaveLength(1)
    expect(await engine.tasks.restore(caller, 'app', 'other', undefined, Date.now())).toMatchObject({
      ...{ outcome: 'restored', table: { id: only.task.id, deletedAtMs: null } },
    })
    await expectSound(engine)
  })

  test('a database with only a task is listed', async ({ engine }) => {
    const bench = await makeBench(engine)
    expect(await engine.tables.listDatabases(bench.tenant.org.id, undefined, 10)).toEqual(['app'])
  })

  test('conditions concern the version of the declaration', async ({ engine }) => {
    const bench = await makeBench(engine)
    const { caller } = bench.tenant
    const { updatedAtMs } = (await bench.state())!
    expect(await bench.declare({}, 'absent')).toEqual({ applied: false, reason: 'condition', current: updatedAtMs })
    expect(await bench.declare({}, { version: updatedAtMs })).toMatchObject({ applied: true })
    expect(await bench.declare({}, { version: updatedAtMs })).toMatchObject({ applied: false, reason: 'condition' })
    expect(await engine.tasks.delete(caller, 'app', 'mail', { version: updatedAtMs }, Date.now())).toMatchObject({
      applied: false,
    })
    const whole = { ...declared, keepsAuthorization: false, newSecret: newTaskSecret() }
    expect(await engine.tasks.declare(caller, 'app', 'none', whole, 'exists', Date.now())).toEqual({
      ...{ applied: false, reason: 'condition', current: undefined },
    })
    expect(await engine.tasks.find(bench.tenant.org.id, 'app', 'none')).toBeUndefined()
  })

  // Otherwise somebody who may declare tasks, but was never told the header, could have it sent to a server of his own.
  test('a header is kept only while the origin of the url stays', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const declare = async (task: string, url: string | null, more: object) => {
      const whole = {
        ...declared,
        url,
        concurrency: 10,
        keepsAuthorization: false,
        newSecret: newTaskSecret(),
        ...more,
      }
      return engine.tasks.declare(tenant.caller, 'app', task, whole, undefined, Date.now())
    }
    const keep = { keepsAuthorization: true }
    const moved = { applied: false, reason: 'origin' } as const
    const a = 'https://example.com/a'
    expect(await declare('pushed', a, { authorization: 'Bearer x' })).toMatchObject({ applied: true })
    const elsewhere = [
      'https://example.com:8443/a',
      'http://example.com/a',
      'https://a.example.com/a',
      'https://example.org/',
    ]
    for (const url of [...elsewhere, null]) expect(await declare('pushed', url, keep)).toEqual(moved)
    const [state] = await engine.tasks.read([(await engine.tasks.find(tenant.org.id, 'app', 'pushed'))!], Date.now())
    expect(state!.declaration).toMatchObject({ url: a, authorization: 'Bearer x' })
    for (const url of ['https://example.com/b?c', 'HTTPS://EXAMPLE.com:443/', a]) {
      expect(await declare('pushed', url, keep)).toMatchObject({
        ...{ applied: true, state: { declaration: { url, authorization: 'Bearer x' } } },
      })
    }
    expect(await declare('claimed', null, { authorization: 'Bearer y' })).toMatchObject({ applied: true })
    expect(await declare('claimed', a, keep)).toEqual(moved)
    expect(await declare('claimed', null, keep)).toMatchObject({
      ...{ applied: true, state: { declaration: { url: null, authorization: 'Bearer y' } } },
    })
    // A deleted task has nothing to keep: its name is free.
    await engine.tasks.delete(tenant.caller, 'app', 'claimed', undefined, Date.now())
    expect(await declare('claimed', null, keep)).toEqual({ applied: false, reason: 'authorization' })
  })

  test('a header is kept on request, and a secret is stored with the first url', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const url = 'https://example.com/'
    const declare = (more: object) =>
      engine.tasks.declare(
        ...([tenant.caller, 'app', 'mail'] as const),
        { ...declared, keepsAuthorization: false, newSecret: newTaskSecret(), ...more },
        ...([undefined, Date.now()] as const),
      )
    expect(await declare({ keepsAuthorization: true })).toEqual({ applied: false, reason: 'authorization' })
    expect(await engine.tasks.find(tenant.org.id, 'app', 'mail')).toBeUndefined()
    expect(await declare({ authorization: 'Bearer x' })).toMatchObject({ applied: true, secretStored: false })
    const withUrl = await declare({ url, concurrency: 10, authorization: 'Bearer x' })
    expect(withUrl).toMatchObject({ secretStored: true })
    const kept = await declare({ url: `${url}other`, concurrency: 10, keepsAuthorization: true })
    expect(kept).toMatchObject({ secretStored: false, state: { declaration: { authorization: 'Bearer x' } } })
    expect(await declare({ authorization: 'Bearer y' })).toMatchObject({ secretStored: false })
    expect(await declare({ url, concurrency: 10 })).toMatchObject({ secretStored: false })
    const task = (await engine.tasks.find(tenant.org.id, 'app', 'mail'))!
    const secrets = async () => (await engine.runs.claimPushes(task, 1, Date.now()))!.secrets
    const [first] = await secrets()
    const [second, third] = [newTaskSecret(), newTaskSecret()]
    await engine.tasks.addSecret(tenant.caller, task, second, false, Date.now())
    expect(await secrets()).toEqual([second, first!])
    await engine.tasks.addSecret(tenant.caller, task, third, true, Date.now())
    expect(await secrets()).toEqual([third])
    await engine.tasks.delete(tenant.caller, 'app', 'mail', undefined, Date.now())
    await expectRefusal(engine.tasks.addSecret(tenant.caller, task, first!, true, Date.now()), 'task_not_found')
  })
}
