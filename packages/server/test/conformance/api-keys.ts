import { expect } from 'bun:test'
import { generateApiKey, makeApiKey } from '../../src/core/api-keys/api-key.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import { makeTenant, startMs, type Tenant, withoutEpoch } from './fixture.ts'

const makeKeys = async (engine: Engine, tenant: Tenant, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const { kept } = makeApiKey({ kind: i % 2 === 0 ? 'secret' : 'public' })
    ids.push((await engine.apiKeys.create(tenant.caller, kept, startMs + i)).id)
  }
  return ids
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
