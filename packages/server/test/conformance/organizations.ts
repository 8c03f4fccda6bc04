import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import type { Case } from '../engine-conformance.ts'
import { makeFixture, makeTenant, primaryScan, startMs, timeScan } from './fixture.ts'

export const organizationCases = (it: Case): void => {
  it('createOrganization: makes the organization with its first keys', async ({ engine }) => {
    const secret = makeApiKey({ kind: 'secret', name: 'one' })
    const open = makeApiKey({ kind: 'public' })
    const org = await engine.organizations.create('acme', [secret.kept, open.kept], startMs)
    expect(org).toMatchObject({ name: 'acme', createdAtMs: startMs })
    expect(await engine.apiKeys.find(secret.text)).toMatchObject({ id: secret.kept.id, orgId: org!.id, kind: 'secret' })
    expect(await engine.apiKeys.find(open.text)).toMatchObject({ id: open.kept.id, orgId: org!.id, kind: 'public' })
  })

  it('createOrganization: undefined if the name is taken, and its keys are not made', async ({ engine }) => {
    const { org } = await makeTenant(engine, 'acme')
    const key = makeApiKey({ kind: 'secret' })
    expect(await engine.organizations.create('acme', [key.kept], startMs + 1)).toBeUndefined()
    expect(await engine.apiKeys.find(key.text)).toBeUndefined()
    expect(await engine.organizations.list()).toEqual([org])
    expect(await engine.apiKeys.list(org.id, undefined, 100)).toHaveLength(1)
  })

  it('createOrganization: of several that race for one name, one has it', async ({ engine }) => {
    const keys = Array.from({ length: 8 }, () => makeApiKey({ kind: 'secret' }))
    const made = await Promise.all(keys.map((key) => engine.organizations.create('acme', [key.kept], startMs)))
    expect(made.filter((org) => org !== undefined)).toHaveLength(1)
    const found = await Promise.all(keys.map((key) => engine.apiKeys.find(key.text)))
    expect(found.map((key) => key !== undefined)).toEqual(made.map((org) => org !== undefined))
  })

  it('findOrganization: by name, undefined if there is none', async ({ engine }) => {
    expect(await engine.organizations.find('acme')).toBeUndefined()
    const { org } = await makeTenant(engine, 'acme')
    expect(await engine.organizations.find('acme')).toEqual(org)
    expect(await engine.organizations.find('acm')).toBeUndefined()
  })

  it('findById: the organization with that id, undefined if there is none', async ({ engine }) => {
    const { org } = await makeTenant(engine, 'acme')
    const { org: other } = await makeTenant(engine, 'zeta')
    expect(await engine.organizations.findById(org.id)).toEqual(org)
    expect(await engine.organizations.findById(other.id)).toEqual(other)
    expect(await engine.organizations.findById(org.id + other.id + 1_000)).toBeUndefined()
  })

  it('listOrganizations: every organization once', async ({ engine }) => {
    expect(await engine.organizations.list()).toEqual([])
    const made = [(await makeTenant(engine, 'zeta')).org, (await makeTenant(engine, 'acme')).org]
    const listed = await engine.organizations.list()
    expect(listed).toHaveLength(2)
    expect(listed).toEqual(expect.arrayContaining(made))
  })

  it('bootstrap: makes the organization only if the store has none yet', async ({ engine }) => {
    const first = makeApiKey({ kind: 'secret' })
    const org = await engine.organizations.bootstrap('default', [first.kept], startMs)
    expect(org).toMatchObject({ name: 'default', createdAtMs: startMs })
    expect(await engine.apiKeys.find(first.text)).toMatchObject({ orgId: org!.id })
    const second = makeApiKey({ kind: 'secret' })
    expect(await engine.organizations.bootstrap('other', [second.kept], startMs)).toBeUndefined()
    expect(await engine.apiKeys.find(second.text)).toBeUndefined()
    expect(await engine.organizations.list()).toEqual([org!])
  })

  it('bootstrap: undefined beside an organization that was made by name', async ({ engine }) => {
    const { org } = await makeTenant(engine, 'acme')
    expect(
      await engine.organizations.bootstrap('default', [makeApiKey({ kind: 'secret' }).kept], startMs),
    ).toBeUndefined()
    expect(await engine.organizations.list()).toEqual([org])
  })

  it('bootstrap: of several calls at once, one does', async ({ engine }) => {
    const keys = Array.from({ length: 8 }, () => makeApiKey({ kind: 'secret' }))
    const made = await Promise.all(
      keys.map((key, i) => engine.organizations.bootstrap(`default-${i}`, [key.kept], startMs)),
    )
    expect(made.filter((org) => org !== undefined)).toHaveLength(1)
    expect(await engine.organizations.list()).toHaveLength(1)
  })

  it('two organizations: tables, records and keys of one are not the other’s', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine, 'ours'), await makeTenant(engine, 'theirs')]
    const a = await makeFixture(engine, {}, { tenant: ours })
    expect(await engine.tables.find(theirs.org.id, 'app', 'orders')).toBeUndefined()
    expect(await engine.tables.list({ orgId: theirs.org.id, db: 'app', after: undefined, limit: 100 })).toEqual([])
    expect(await engine.tables.listDatabases(theirs.org.id, undefined, 100)).toEqual([])

    const b = await makeFixture(engine, {}, { tenant: theirs })
    expect(b.table.id).not.toBe(a.table.id)
    await a.put('same', { data: { whose: 'ours' } })
    expect(await b.get('same')).toBeUndefined()
    await b.put('same', { data: { whose: 'theirs' } })
    expect(await a.get('same')).toMatchObject({ data: '{"whose":"ours"}' })
    expect(await a.names(primaryScan('same'))).toEqual(['same'])
    expect(await b.names(timeScan())).toEqual(['same'])
    expect(await b.remove('same')).toBe(true)
    expect(await a.get('same')).toBeDefined()

    expect((await engine.apiKeys.list(ours.org.id, undefined, 100)).map((key) => key.id)).toEqual([ours.apiKey.id])
    expect((await engine.apiKeys.list(theirs.org.id, undefined, 100)).map((key) => key.id)).toEqual([theirs.apiKey.id])
  })

  it('two organizations: one cannot delete or restore a table of the other', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine, 'ours'), await makeTenant(engine, 'theirs')]
    const fixture = await makeFixture(engine, {}, { tenant: ours })
    await fixture.put('kept')
    expect(await engine.tables.delete(theirs.caller, 'app', 'orders', startMs)).toBeUndefined()
    expect(await fixture.get('kept')).toBeDefined()

    const deleted = await engine.tables.delete(ours.caller, 'app', 'orders', startMs)
    expect(await engine.tables.findDeleted(theirs.org.id, 'app', 'orders', startMs)).toBeUndefined()
    const listing = { orgId: theirs.org.id, db: 'app', after: undefined, limit: 100 }
    expect(await engine.tables.listDeleted(listing, startMs)).toEqual([])
    for (const deletedAtMs of [undefined, deleted!.deletedAtMs!]) {
      expect(await engine.tables.restore(theirs.caller, 'app', 'orders', deletedAtMs, startMs)).toEqual({
        outcome: 'missing',
      })
    }
    expect(await engine.tables.findDeleted(ours.org.id, 'app', 'orders', startMs)).toMatchObject({
      id: fixture.table.id,
    })
  })
}
