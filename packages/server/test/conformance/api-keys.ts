import { expect } from 'bun:test'
import { generateApiKey, makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { rollOverlapMs } from '../../src/core/limits.ts'
import type { Caller } from '../../src/store/api-keys.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import { expectRefusal, makeTenant, startMs, type Tenant, tenantThrough, withoutEpoch } from './fixture.ts'

const makeKeys = async (engine: Engine, tenant: Tenant, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const { kept } = makeApiKey({ kind: i % 2 === 0 ? 'secret' : 'public' })
    ids.push((await engine.apiKeys.create(tenant.caller, kept, startMs + i)).id)
  }
  return ids
}

const rollOf = async (
  engine: Engine,
  caller: Caller,
  id: string,
  { nowMs = startMs, oldEndMs = nowMs + rollOverlapMs }: { nowMs?: number; oldEndMs?: number } = {},
) => {
  const old = await engine.apiKeys.findById(id)
  const { text, kept } = makeApiKey({
    kind: 'secret',
    ...(old && { kind: old.kind, name: old.name, databases: old.databases }),
  })
  return { text, id: kept.id, result: await engine.apiKeys.roll(caller, { id, oldEndMs, key: kept }, nowMs) }
}

const listedKey = async (engine: Engine, orgId: number, id: string) =>
  (await engine.apiKeys.list(orgId, undefined, 1_000)).find((key) => key.id === id)

export const apiKeyCases = (it: Case): void => {
  it('createApiKey: the key is found by its text, with all that was asked for', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    const { text, kept } = makeApiKey({
      kind: 'public',
      name: 'web',
      databases: ['app', 'shop-2'],
      expiresAtMs: startMs + 1,
    })
    const made = await engine.apiKeys.create(caller, kept, startMs + 7)
    expect(made).toMatchObject({
      id: kept.id,
      orgId: org.id,
      kind: 'public',
      name: 'web',
      lastFour: text.slice(-4),
      databases: ['app', 'shop-2'],
      createdAtMs: startMs + 7,
      lastUsedAtMs: null,
      expiresAtMs: startMs + 1,
      revokedAtMs: null,
    })
    expect(withoutEpoch(await engine.apiKeys.find(text))).toEqual(withoutEpoch(made)!)
    expect((await engine.apiKeys.list(org.id, undefined, 1)).map(withoutEpoch)).toEqual([withoutEpoch(made)])
  })

  it('createApiKey: without a name, databases and an end these are null', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const made = await engine.apiKeys.create(caller, makeApiKey({ kind: 'secret' }).kept, startMs)
    expect(made).toMatchObject({
      name: null,
      databases: null,
      expiresAtMs: null,
      lastUsedAtMs: null,
      revokedAtMs: null,
    })
  })

  it('createApiKey: a name keeps any character, NUL and astral ones too', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const name = 'a\0b \u{1f511} "\'\\ é\uffff\u{10ffff}'
    const { text, kept } = makeApiKey({ kind: 'secret', name })
    await engine.apiKeys.create(caller, kept, startMs)
    expect((await engine.apiKeys.find(text))?.name).toBe(name)
  })

  it('createApiKey: an operator without a key may', async ({ engine }) => {
    const { operator, org } = await makeTenant(engine)
    const { text, kept } = makeApiKey({ kind: 'secret' })
    await engine.apiKeys.create(operator, kept, startMs)
    expect(await engine.apiKeys.find(text)).toMatchObject({ orgId: org.id })
  })

  it('createApiKey: of a link key, one key ends after it; which it was is known to other processes', async (store) => {
    const { engine } = store
    const { operator, org } = await makeTenant(engine)
    const { text, kept } = makeApiKey({ kind: 'secret', isLink: true, expiresAtMs: startMs + 10 })
    expect(await engine.apiKeys.create(operator, kept, startMs)).toMatchObject({ link: 'unused' })
    const ends = { expiresAtMs: startMs + 10, linkExpiresAtMs: startMs + 99 }
    const create = async (of: Engine) => {
      const apiKey = (await of.apiKeys.find(text))!
      const made = makeApiKey({ kind: 'secret', ...ends }).kept
      return (await of.apiKeys.create({ orgId: org.id, apiKey }, made, startMs)).expiresAtMs
    }
    const other = await store.openBeside()
    const made = await Promise.all([create(engine), create(other), create(engine), create(other)])
    expect(made.toSorted()).toEqual([startMs + 10, startMs + 10, startMs + 10, startMs + 99])
    expect((await engine.apiKeys.list(org.id, undefined, 100)).map(({ link }) => link)).toEqual([
      ...made.map(() => null),
      'used',
      null,
    ])
    // Another key has no such right, whatever it asks for.
    expect(await engine.apiKeys.create(operator, makeApiKey({ kind: 'secret', ...ends }).kept, startMs)).toMatchObject({
      expiresAtMs: startMs + 10,
      link: null,
    })
  })

  it('findApiKey: undefined for a text that is no key of the store', async ({ engine }) => {
    const { secret } = await makeTenant(engine)
    expect(await engine.apiKeys.find(generateApiKey('secret'))).toBeUndefined()
    expect(await engine.apiKeys.find(secret.toLowerCase())).toBeUndefined()
    expect(await engine.apiKeys.find('')).toBeUndefined()
  })

  it('findApiKeyById: the same key as by its text, of any organization; undefined for another id', async ({
    engine,
  }) => {
    const { secret, apiKey } = await makeTenant(engine)
    const other = await makeTenant(engine, 'other')
    expect(withoutEpoch(await engine.apiKeys.findById(apiKey.id))).toEqual(
      withoutEpoch(await engine.apiKeys.find(secret)),
    )
    expect(await engine.apiKeys.findById(other.apiKey.id)).toMatchObject({ orgId: other.org.id })
    expect(await engine.apiKeys.findById('key_0000000000000000')).toBeUndefined()
    expect(await engine.apiKeys.findById(secret)).toBeUndefined()
  })

  it('findApiKeyById: a revocation shows at once, also for a key that was found before', async ({ engine }) => {
    const { apiKey, operator } = await makeTenant(engine)
    expect(await engine.apiKeys.findById(apiKey.id)).toMatchObject({ revokedAtMs: null })
    await engine.apiKeys.revoke(operator, apiKey.id, startMs + 5)
    expect(await engine.apiKeys.findById(apiKey.id)).toMatchObject({ revokedAtMs: startMs + 5 })
  })

  it('findApiKey: a key that was not there a moment ago is found at once', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const { text, kept } = makeApiKey({ kind: 'secret' })
    expect(await engine.apiKeys.find(text)).toBeUndefined()
    await engine.apiKeys.create(caller, kept, startMs)
    expect(await engine.apiKeys.find(text)).toMatchObject({ id: kept.id })
  })

  it('findApiKey: revoked and expired ones too', async ({ engine }) => {
    const { operator } = await makeTenant(engine)
    const revoked = makeApiKey({ kind: 'secret' })
    const expired = makeApiKey({ kind: 'secret', expiresAtMs: startMs - 1 })
    await engine.apiKeys.create(operator, revoked.kept, startMs)
    await engine.apiKeys.create(operator, expired.kept, startMs)
    // Asked before, so that an answer kept from then would be wrong.
    expect(await engine.apiKeys.find(revoked.text)).toMatchObject({ revokedAtMs: null })
    await engine.apiKeys.revoke(operator, revoked.kept.id, startMs + 5)
    expect(await engine.apiKeys.find(revoked.text)).toMatchObject({ id: revoked.kept.id, revokedAtMs: startMs + 5 })
    expect(await engine.apiKeys.find(expired.text)).toMatchObject({ id: expired.kept.id, expiresAtMs: startMs - 1 })
  })

  it('listApiKeys: newest first, whatever the clock said', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const ids: string[] = [tenant.apiKey.id]
    for (const step of [0, 5_000, -5_000, 0]) {
      ids.push((await engine.apiKeys.create(tenant.caller, makeApiKey({ kind: 'public' }).kept, startMs + step)).id)
    }
    const listed = await engine.apiKeys.list(tenant.org.id, undefined, 100)
    expect(listed.map((key) => key.id)).toEqual(ids.reverse())
  })

  it('listApiKeys: seq grows with every key made, in any organization', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine, 'ours'), await makeTenant(engine, 'theirs')]
    const seqs = [ours.apiKey.seq, theirs.apiKey.seq]
    for (const tenant of [ours, theirs, ours]) {
      seqs.push((await engine.apiKeys.create(tenant.caller, makeApiKey({ kind: 'secret' }).kept, startMs)).seq)
    }
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b))
  })

  it('listApiKeys: those before beforeSeq, at most limit: pages meet each key once', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine, 'ours'), await makeTenant(engine, 'theirs')]
    const ids = [ours.apiKey.id]
    for (const id of await makeKeys(engine, ours, 6)) {
      ids.push(id)
      await makeKeys(engine, theirs, 1)
    }
    const met: string[] = []
    const sizes: number[] = []
    let before: number | undefined
    for (;;) {
      const page = await engine.apiKeys.list(ours.org.id, before, 3)
      if (page.length === 0) break
      sizes.push(page.length)
      met.push(...page.map((key) => key.id))
      before = page.at(-1)!.seq
    }
    expect(met).toEqual(ids.reverse())
    expect(sizes).toEqual([3, 3, 1])
  })

  it('revokeApiKey: gives the revoked key, and so do reads from then on', async ({ engine }) => {
    const { operator, org, apiKey, secret } = await makeTenant(engine)
    const revoked = await engine.apiKeys.revoke(operator, apiKey.id, startMs + 9)
    expect(withoutEpoch(revoked)).toEqual({ ...withoutEpoch(apiKey)!, revokedAtMs: startMs + 9 })
    expect(await engine.apiKeys.find(secret)).toMatchObject({ revokedAtMs: startMs + 9 })
    expect(await listedKey(engine, org.id, apiKey.id)).toMatchObject({ revokedAtMs: startMs + 9 })
  })

  it('revokeApiKey: a second call changes nothing', async ({ engine }) => {
    const { operator, apiKey } = await makeTenant(engine)
    await engine.apiKeys.revoke(operator, apiKey.id, startMs + 9)
    expect(await engine.apiKeys.revoke(operator, apiKey.id, startMs + 10)).toMatchObject({ revokedAtMs: startMs + 9 })
  })

  it('revokeApiKey: a key may revoke itself', async ({ engine }) => {
    const { caller, apiKey, secret } = await makeTenant(engine)
    expect(await engine.apiKeys.revoke(caller, apiKey.id, startMs)).toMatchObject({
      id: apiKey.id,
      revokedAtMs: startMs,
    })
    expect(await engine.apiKeys.find(secret)).toMatchObject({ revokedAtMs: startMs })
  })

  it('revokeApiKey: undefined if the organization has none of that id, and another’s stays active', async ({
    engine,
  }) => {
    const [ours, theirs] = [await makeTenant(engine, 'ours'), await makeTenant(engine, 'theirs')]
    expect(await engine.apiKeys.revoke(ours.caller, 'key_none', startMs)).toBeUndefined()
    expect(await engine.apiKeys.revoke(ours.caller, theirs.apiKey.id, startMs)).toBeUndefined()
    expect(await engine.apiKeys.find(theirs.secret)).toMatchObject({ revokedAtMs: null })
  })

  it('createApiKey: ends with the key that creates it, whose end has come nearer since it was looked up', async ({
    engine,
  }) => {
    const { caller, apiKey, operator, org } = await makeTenant(engine)
    await rollOf(engine, operator, apiKey.id, { oldEndMs: startMs + 50 })
    // The fence is of before the roll, as that of a request that is in flight.
    expect(caller.apiKey).toMatchObject({ expiresAtMs: null })
    const { kept } = makeApiKey({ kind: 'secret' })
    const made = await engine.apiKeys.create(caller, kept, startMs + 1)
    expect(made.expiresAtMs).toBe(startMs + 50)
    const sooner = makeApiKey({ kind: 'secret', expiresAtMs: startMs + 20 }).kept
    expect((await engine.apiKeys.create(caller, sooner, startMs + 1)).expiresAtMs).toBe(startMs + 20)
    expect(await listedKey(engine, org.id, made.id)).toMatchObject({ expiresAtMs: startMs + 50 })
  })

  it('rollApiKey: a new key like the old one, which ends later; both name each other', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    const old = makeApiKey({ kind: 'public', name: 'web \0', databases: ['app', 'shop'] })
    await engine.apiKeys.create(caller, old.kept, startMs)
    const { text, result } = await rollOf(engine, caller, old.kept.id, { nowMs: startMs + 5 })
    const expected = {
      ...{ kind: 'public', name: 'web \0', databases: ['app', 'shop'], lastFour: text.slice(-4), link: null },
      ...{ createdAtMs: startMs + 5, expiresAtMs: null, revokedAtMs: null, lastUsedAtMs: null, orgId: org.id },
      ...{ rolledFrom: old.kept.id, rolledTo: null },
    }
    expect(result).toMatchObject({ outcome: 'rolled', apiKey: expected })
    const made = await engine.apiKeys.find(text)
    expect(made).toMatchObject(expected)
    const ended = { expiresAtMs: startMs + 5 + rollOverlapMs, revokedAtMs: null, rolledFrom: null, rolledTo: made!.id }
    expect(await engine.apiKeys.find(old.text)).toMatchObject(ended)
    expect((await engine.apiKeys.list(org.id, undefined, 2)).map(withoutEpoch)).toEqual([
      withoutEpoch(made)!,
      expect.objectContaining(ended),
    ])
  })

  it('rollApiKey: the old key keeps an end that is sooner; the new one lives as long as the old one was meant to', async ({
    engine,
  }) => {
    const { caller } = await makeTenant(engine)
    const old = makeApiKey({ kind: 'secret', expiresAtMs: startMs + 100 })
    await engine.apiKeys.create(caller, old.kept, startMs)
    const first = await rollOf(engine, caller, old.kept.id, { nowMs: startMs + 40 })
    expect(first.result).toMatchObject({ apiKey: { expiresAtMs: startMs + 140 } })
    expect(await engine.apiKeys.find(old.text)).toMatchObject({ expiresAtMs: startMs + 100 })
    const second = await rollOf(engine, caller, first.id, { nowMs: startMs + 50, oldEndMs: startMs + 60 })
    expect(second.result).toMatchObject({ apiKey: { expiresAtMs: startMs + 150 } })
    expect(await engine.apiKeys.find(first.text)).toMatchObject({ expiresAtMs: startMs + 60 })
  })

  it('rollApiKey: no key ends after the one that asks, also if it rolls itself or never ends', async ({ engine }) => {
    const { operator, org, apiKey } = await makeTenant(engine)
    const asking = makeApiKey({ kind: 'secret', expiresAtMs: startMs + 100 })
    const endless = makeApiKey({ kind: 'secret' })
    for (const { kept } of [asking, endless]) await engine.apiKeys.create(operator, kept, startMs)
    const caller = { orgId: org.id, apiKey: await engine.apiKeys.find(asking.text) }
    const of = async (id: string) => (await rollOf(engine, caller, id, { nowMs: startMs + 10 })).result
    expect(await of(endless.kept.id)).toMatchObject({ apiKey: { expiresAtMs: startMs + 100 } })
    expect(await of(apiKey.id)).toMatchObject({ apiKey: { expiresAtMs: startMs + 100 } })
    const own = await rollOf(engine, caller, asking.kept.id, { nowMs: startMs + 10, oldEndMs: startMs + 20 })
    expect(own.result).toMatchObject({ apiKey: { expiresAtMs: startMs + 100 } })
    expect(await engine.apiKeys.find(asking.text)).toMatchObject({ expiresAtMs: startMs + 20 })
  })

  it('rollApiKey: a time of now or before revokes the old key, its own end stays', async ({ engine }) => {
    const { operator } = await makeTenant(engine)
    for (const oldEndMs of [startMs, startMs - 1, 0, -5]) {
      const old = makeApiKey({ kind: 'secret', expiresAtMs: startMs + 9 })
      await engine.apiKeys.create(operator, old.kept, startMs - 1)
      const { id } = await rollOf(engine, operator, old.kept.id, { oldEndMs })
      expect(await engine.apiKeys.find(old.text)).toMatchObject({
        ...{ revokedAtMs: startMs, expiresAtMs: startMs + 9, rolledTo: id },
      })
    }
    const old = makeApiKey({ kind: 'secret' })
    await engine.apiKeys.create(operator, old.kept, startMs)
    await rollOf(engine, operator, old.kept.id, { oldEndMs: startMs + 1 })
    expect(await engine.apiKeys.find(old.text)).toMatchObject({ revokedAtMs: null, expiresAtMs: startMs + 1 })
  })

  it('rollApiKey: a key that is revoked, expired or rolled stays as it is, and no key is made', async ({ engine }) => {
    const { operator, org } = await makeTenant(engine)
    const keys = [undefined, startMs + 3, undefined].map((expiresAtMs) => makeApiKey({ kind: 'public', expiresAtMs }))
    for (const { kept } of keys) await engine.apiKeys.create(operator, kept, startMs)
    const [revoked, expired, rolled] = keys.map(({ kept }) => kept.id) as [string, string, string]
    await engine.apiKeys.revoke(operator, revoked, startMs + 1)
    await rollOf(engine, operator, rolled, { nowMs: startMs + 2 })
    const before = (await engine.apiKeys.list(org.id, undefined, 100)).map(withoutEpoch)
    for (const id of [revoked, expired, rolled]) {
      const { result } = await rollOf(engine, operator, id, { nowMs: startMs + 3 })
      expect(result).toMatchObject({ outcome: 'inactive', old: { id } })
    }
    expect((await engine.apiKeys.list(org.id, undefined, 100)).map(withoutEpoch)).toEqual(before)
    expect((await rollOf(engine, operator, expired, { nowMs: startMs + 2 })).result.outcome).toBe('rolled')
  })

  it('rollApiKey: the key of another organization, and an unknown id, are missing', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine, 'ours'), await makeTenant(engine, 'theirs')]
    for (const id of [theirs.apiKey.id, 'key_none', 'a\0b']) {
      expect((await rollOf(engine, ours.caller, id)).result).toEqual({ outcome: 'missing' })
      expect(await engine.apiKeys.findById(id === theirs.apiKey.id ? 'key_none' : id)).toBeUndefined()
    }
    expect(await engine.apiKeys.find(theirs.secret)).toMatchObject({ rolledTo: null, expiresAtMs: null })
    expect(await engine.apiKeys.list(ours.org.id, undefined, 100)).toHaveLength(1)
  })

  it('rollApiKey: a key that was revoked since it was looked up, or whose organization was deleted, rolls nothing', async ({
    engine,
  }) => {
    const { caller, operator, apiKey, org } = await makeTenant(engine)
    const other = makeApiKey({ kind: 'secret' })
    await engine.apiKeys.create(operator, other.kept, startMs)
    await engine.apiKeys.revoke(operator, apiKey.id, startMs)
    await expectRefusal(rollOf(engine, caller, other.kept.id), 'revoked_api_key')
    await engine.organizations.delete('acme', startMs)
    await expectRefusal(rollOf(engine, operator, other.kept.id), 'invalid_api_key')
    expect(await engine.apiKeys.list(org.id, undefined, 100)).toHaveLength(2)
  })

  it('rollApiKey: of racing rolls, through several processes, one succeeds', async (store) => {
    const { engine } = store
    const tenant = await makeTenant(engine)
    const other = await store.openBeside()
    const [first] = await makeKeys(engine, tenant, 1)
    const there = await tenantThrough(other, tenant)
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        i % 2 === 0 ? rollOf(engine, tenant.caller, first!) : rollOf(other, there.caller, first!),
      ),
    )
    expect(results.filter(({ result }) => result.outcome === 'rolled')).toHaveLength(1)
    expect(results.filter(({ result }) => result.outcome === 'inactive')).toHaveLength(7)
    expect(await engine.apiKeys.list(tenant.org.id, undefined, 100)).toHaveLength(3)
  })

  it('rollApiKey: when it is done, other processes see the end of the old key', async (store) => {
    const { engine } = store
    const { operator, apiKey, secret } = await makeTenant(engine)
    const other = await store.openBeside()
    for (const [from, to] of [
      [engine, other],
      [other, engine],
    ] as const) {
      const { text, kept } = makeApiKey({ kind: 'secret' })
      await engine.apiKeys.create(operator, kept, startMs)
      for (const each of [engine, other]) expect(await each.apiKeys.find(text)).toMatchObject({ expiresAtMs: null })
      const { id } = await rollOf(from, operator, kept.id, { oldEndMs: startMs + 7 })
      expect(await to.apiKeys.find(text)).toMatchObject({ expiresAtMs: startMs + 7, rolledTo: id })
      expect(await to.apiKeys.findById(kept.id)).toMatchObject({ expiresAtMs: startMs + 7, rolledTo: id })
    }
    expect(await engine.apiKeys.find(secret)).toMatchObject({ id: apiKey.id, rolledTo: null })
  })

  it('recordKeyUse: raises lastUsedAt', async ({ engine }) => {
    const { org, caller, apiKey } = await makeTenant(engine)
    const [second] = await makeKeys(engine, { org, caller } as Tenant, 1)
    await engine.apiKeys.noteUse([
      { id: apiKey.id, atMs: startMs + 100 },
      { id: second!, atMs: startMs + 200 },
    ])
    expect(await listedKey(engine, org.id, apiKey.id)).toMatchObject({ lastUsedAtMs: startMs + 100 })
    expect(await listedKey(engine, org.id, second!)).toMatchObject({ lastUsedAtMs: startMs + 200 })
    await engine.apiKeys.noteUse([{ id: apiKey.id, atMs: startMs + 101 }])
    expect(await listedKey(engine, org.id, apiKey.id)).toMatchObject({ lastUsedAtMs: startMs + 101 })
  })

  it('recordKeyUse: an older instant never replaces a newer one', async ({ engine }) => {
    const { org, apiKey } = await makeTenant(engine)
    await engine.apiKeys.noteUse([{ id: apiKey.id, atMs: startMs + 100 }])
    await engine.apiKeys.noteUse([{ id: apiKey.id, atMs: startMs + 99 }])
    expect(await listedKey(engine, org.id, apiKey.id)).toMatchObject({ lastUsedAtMs: startMs + 100 })
  })

  it('recordKeyUse: nothing to record and unknown keys are no error', async ({ engine }) => {
    const { org, apiKey } = await makeTenant(engine)
    await engine.apiKeys.noteUse([])
    await engine.apiKeys.noteUse([
      { id: 'key_none', atMs: startMs },
      { id: apiKey.id, atMs: startMs + 1 },
    ])
    expect(await listedKey(engine, org.id, apiKey.id)).toMatchObject({ lastUsedAtMs: startMs + 1 })
  })

  it('recordKeyUse: leaves a revoked key revoked', async ({ engine }) => {
    const { operator, apiKey, secret } = await makeTenant(engine)
    await engine.apiKeys.revoke(operator, apiKey.id, startMs)
    await engine.apiKeys.noteUse([{ id: apiKey.id, atMs: startMs + 1 }])
    expect(await engine.apiKeys.find(secret)).toMatchObject({ revokedAtMs: startMs })
  })
}
