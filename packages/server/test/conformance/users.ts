import { expect } from 'bun:test'
import { newBlobId, newStoreBlobId } from '../../src/core/files/blob-id.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { issuersMax, recoveryMs, revocationMs, sweepGraceMs } from '../../src/core/limits.ts'
import { newRunId } from '../../src/core/tasks/run-id.ts'
import { hashUser } from '../../src/core/tokens/user.ts'
import { shareOfUser } from '../../src/core/tokens/user-token.ts'
import type { Caller } from '../../src/store/api-keys.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { RecordOperation } from '../../src/store/records.ts'
import type { Table } from '../../src/store/tables.ts'
import type { Dump } from '../../src/store/transfer.ts'
import type { Issuer, IssuerToPut, PutIssuerResult, TokenMark } from '../../src/store/users.ts'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  expectRefusal,
  type Fixture,
  fixtureThrough,
  makeFixture,
  makeTenant,
  numbered,
  patchOf,
  putOf,
  startMs,
  type Tenant,
  tenantThrough,
  timeScan,
} from './fixture.ts'
import { idempotencyKey } from './idempotency-keys.ts'
import { makeBench } from './runs.ts'

const [ada, bob] = ['ada', 'bob'].map(hashUser) as [string, string]

/** The mark of a token that is made now. */
export const markOf = async (engine: Engine, userHash = ada, issuer?: Issuer): Promise<TokenMark> => ({
  ...{ userHash, madeAtEpoch: await engine.users.epoch(), issuerEpoch: issuer?.epoch ?? null },
})

/** The caller with a user token that belongs to the tenant's key. */
export const userOf = ({ org, apiKey }: Tenant, mark: TokenMark): Caller => {
  const shareSeq = shareOfUser(org.id, mark.userHash)
  const user = { name: 'a user', grants: [], grantsOn: () => [], mark, expiresAtMs: startMs + 3_600_000, shareSeq }
  return { orgId: org.id, apiKey: { ...apiKey, user } }
}

const issuerOf = (name: string, declaration = '{"user":"{sub}"}', identity = name): IssuerToPut => ({
  ...{ name, declaration, identity },
})

const stored = (result: PutIssuerResult): Issuer => {
  if (result.outcome !== 'stored') throw new Error(result.outcome)
  return result.issuer
}

const withDump = async <T>(engine: Engine, read: (dump: Dump) => Promise<T>): Promise<T> => {
  const dump = await engine.transfer.openDump()
  try {
    return await read(dump)
  } finally {
    await dump.close()
  }
}

const sweepAll = async (engine: Engine, nowMs: number, rowsMax = 100): Promise<number> => {
  let sum = 0
  for (;;) {
    const count = await engine.maintenance.sweepRevocations(nowMs, rowsMax)
    expect(count).toBeLessThanOrEqual(rowsMax)
    if (count === 0) return sum
    sum += count
  }
}

/** The first time at which a revocation of `startMs` is swept. */
const sweptAt = startMs + revocationMs + sweepGraceMs

export const userCases = (it: Case): void => {
  // ── Revocations ──────────────────────────────────────────────────────────────────────────────────────────

  it('revoke: ends the tokens of the user from before, and no other', async (store) => {
    const { engine } = store
    const [ours, theirs] = [await makeTenant(engine), await makeTenant(engine, 'theirs')]
    const [ofAda, ofBob] = [await markOf(engine), await markOf(engine, bob)]
    expect(await engine.users.stateOf(ours.org.id, ofAda)).toBe('valid')
    expect(await engine.users.revoke(ours.caller, ada, startMs)).toBe(startMs)
    const after = await markOf(engine)
    const expectStates = async (of: Engine): Promise<void> => {
      expect(await of.users.stateOf(ours.org.id, ofAda)).toBe('revoked')
      expect(await of.users.stateOf(ours.org.id, ofBob)).toBe('valid')
      expect(await of.users.stateOf(ours.org.id, after)).toBe('valid')
      expect(await of.users.stateOf(theirs.org.id, ofAda)).toBe('valid')
    }
    await expectStates(engine)
    await expectStates(await store.reopen())
  })

  it('revoke: again, it ends the tokens of the meantime; its time never goes back', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    expect(await engine.users.revoke(caller, ada, startMs)).toBe(startMs)
    const between = await markOf(engine)
    expect(await engine.users.stateOf(org.id, between)).toBe('valid')
    // The clock was set back.
    expect(await engine.users.revoke(caller, ada, startMs - 60_000)).toBe(startMs)
    expect(await engine.users.stateOf(org.id, between)).toBe('revoked')
    expect(await engine.users.revoke(caller, ada, startMs + 5)).toBe(startMs + 5)
    expect(await engine.users.refusedUntilMs(org.id, ada, startMs + 1_000_000_000)).toBe(startMs + 5)
    expect(await engine.users.refusedUntilMs(org.id, bob, startMs + 1_000_000_000)).toBeUndefined()
  })

  it('revoke: whatever the clocks say, only the order counts', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    for (const nowMs of [startMs + 1_000_000_000, startMs, 0, startMs + 1]) {
      const before = await markOf(engine)
      await engine.users.revoke(caller, ada, nowMs)
      expect(await engine.users.stateOf(org.id, before)).toBe('revoked')
      expect(await engine.users.stateOf(org.id, await markOf(engine))).toBe('valid')
    }
  })

  it('revoke: many at once each end what was made before, and the epoch grows with each', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    const hashes = numbered(20, 'user').map(hashUser)
    const before = await Promise.all(hashes.map((hash) => markOf(engine, hash)))
    await Promise.all(hashes.map((hash, i) => engine.users.revoke(caller, hash, startMs + i)))
    for (const mark of before) expect(await engine.users.stateOf(org.id, mark)).toBe('revoked')
    const epochs = await withDump(engine, (dump) => Array.fromAsync(dump.revocations(), ({ epoch }) => epoch))
    expect(new Set(epochs).size).toBe(hashes.length)
    expect(await engine.users.epoch()).toBe(Math.max(...epochs))
  })

  it('revoke: a process that uses the token, or does not, knows it with the answer', async (store) => {
    const { engine } = store
    const { org, caller } = await makeTenant(engine)
    const [busy, idle] = [await store.openBeside(), await store.openBeside()]
    const before = await markOf(engine)
    const [epochHere, epochThere] = [await engine.users.epoch(), await idle.users.epoch()]
    for (const other of [busy, idle]) expect(await other.users.stateOf(org.id, before)).toBe('valid')
    let isAnswered = false
    const asking = (async () => {
      while (!isAnswered) {
        await busy.users.stateOf(org.id, before)
        await Bun.sleep(1)
      }
    })()
    await engine.users.revoke(caller, ada, startMs)
    isAnswered = true
    for (const other of [engine, busy, idle]) expect(await other.users.stateOf(org.id, before)).toBe('revoked')
    expect(await idle.users.epoch()).toBeGreaterThan(Math.max(epochHere, epochThere))
    await asking
    // And the other way round.
    const after = await markOf(idle)
    expect(await engine.users.stateOf(org.id, after)).toBe('valid')
    await idle.users.revoke((await tenantThrough(idle, await makeTenant(idle, 'more'))).operator, ada, startMs)
    expect(await engine.users.stateOf(org.id, after)).toBe('valid')
    await idle.users.revoke({ orgId: org.id, apiKey: undefined }, ada, startMs)
    expect(await engine.users.stateOf(org.id, after)).toBe('revoked')
  })

  it('revoke: the caches of keys and tables stay as they are', async ({ engine }) => {
    const { tenant } = await makeFixture(engine)
    const epochs = async () => [
      (await engine.apiKeys.find(tenant.secret))?.epoch,
      (await engine.tables.find(tenant.org.id, 'app', 'orders'))?.epoch,
    ]
    const before = await epochs()
    await engine.users.revoke(tenant.caller, ada, startMs)
    await engine.users.putIssuer(tenant.caller, issuerOf('login'), startMs)
    await engine.users.deleteIssuer(tenant.caller, 'login')
    // Caches are cleared when their epoch moves.
    expect(await epochs()).toEqual(before)
  })

  // ── Issuers ──────────────────────────────────────────────────────────────────────────────────────────────

  it('putIssuer: adds one, changes it, and writes nothing that is there', async (store) => {
    const { engine } = store
    const { org, caller } = await makeTenant(engine)
    const first = await engine.users.putIssuer(caller, issuerOf('login', '{"a":1}', 'iss\0aud'), startMs)
    const epoch = stored(first).epoch
    const times = { createdAtMs: startMs, updatedAtMs: startMs }
    const issuer = { orgId: org.id, name: 'login', declaration: '{"a":1}', ...times, epoch }
    expect(first).toEqual({ outcome: 'stored', issuer, created: true })
    const repeated = await engine.users.putIssuer(caller, issuerOf('login', '{"a":1}', 'iss\0aud'), startMs + 5)
    expect(repeated).toEqual({ outcome: 'stored', issuer, created: false })
    expect(await engine.users.epoch()).toBe(epoch)
    const changed = await engine.users.putIssuer(caller, issuerOf('login', '{"a":2}', 'iss\0other'), startMs + 9)
    expect(changed).toMatchObject({
      outcome: 'stored',
      issuer: { declaration: '{"a":2}', createdAtMs: startMs, updatedAtMs: startMs + 9 },
      created: false,
    })
    expect(stored(changed).epoch).toBeGreaterThan(epoch)
    await engine.users.putIssuer(caller, issuerOf('Another'), startMs)
    const [another, login] = await engine.users.listIssuers(org.id)
    expect([another!.name, login]).toEqual(['Another', stored(changed)])
    expect(await (await store.reopen()).users.listIssuers(org.id)).toEqual([another!, login!])
  })

  it('issuers: a change or a deletion ends the tokens of that issuer, and no other', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    const login = stored(await engine.users.putIssuer(caller, issuerOf('login'), startMs))
    const other = stored(await engine.users.putIssuer(caller, issuerOf('other'), startMs))
    const [ofLogin, ofOther, ofKey] = [
      await markOf(engine, ada, login),
      await markOf(engine, ada, other),
      await markOf(engine),
    ]
    const states = () => Promise.all([ofLogin, ofOther, ofKey].map((mark) => engine.users.stateOf(org.id, mark)))
    expect(await states()).toEqual(['valid', 'valid', 'valid'])
    await engine.users.putIssuer(caller, issuerOf('login'), startMs + 1)
    expect(await states()).toEqual(['valid', 'valid', 'valid'])
    const changed = stored(await engine.users.putIssuer(caller, issuerOf('login', '{}'), startMs + 1))
    expect(await states()).toEqual(['revoked', 'valid', 'valid'])
    const ofChanged = await markOf(engine, ada, changed)
    expect(await engine.users.stateOf(org.id, ofChanged)).toBe('valid')
    expect(await engine.users.deleteIssuer(caller, 'login')).toBe(true)
    expect(await engine.users.deleteIssuer(caller, 'login')).toBe(false)
    expect(await engine.users.stateOf(org.id, ofChanged)).toBe('revoked')
    // The same again is another issuer.
    const again = stored(await engine.users.putIssuer(caller, issuerOf('login', '{}'), startMs + 1))
    expect(await engine.users.stateOf(org.id, ofChanged)).toBe('revoked')
    expect([login.epoch, changed.epoch]).not.toContain(again.epoch)
    expect(await states()).toEqual(['revoked', 'valid', 'valid'])
    await engine.users.revoke(caller, ada, startMs)
    expect(await states()).toEqual(['revoked', 'revoked', 'revoked'])
  })

  it('issuers: no two of one organization with the same identity, and at most 20', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine), await makeTenant(engine, 'theirs')]
    await engine.users.putIssuer(ours.caller, issuerOf('a', '{}', 'same'), startMs)
    const taken = await engine.users.putIssuer(ours.caller, issuerOf('b', '{}', 'same'), startMs)
    expect(taken).toEqual({ outcome: 'taken', name: 'a' })
    const put = (name: string) => engine.users.putIssuer(ours.caller, issuerOf(name), startMs)
    const results = await Promise.all(numbered(issuersMax + 3, 'n').map(put))
    expect(results.filter(({ outcome }) => outcome === 'stored')).toHaveLength(issuersMax - 1)
    expect(results.filter(({ outcome }) => outcome === 'tooMany')).toHaveLength(4)
    expect(await engine.users.listIssuers(ours.org.id)).toHaveLength(issuersMax)
    // One that is there can be changed, and there is room again after a deletion.
    expect(await engine.users.putIssuer(ours.caller, issuerOf('a', '{}', 'new'), startMs)).toMatchObject({
      outcome: 'stored',
    })
    expect(await engine.users.putIssuer(ours.caller, issuerOf('a', '{"b":1}', 'n000000'), startMs)).toEqual({
      outcome: 'taken',
      name: 'n000000',
    })
    await engine.users.deleteIssuer(ours.caller, 'n000000')
    expect((await put('late')).outcome).toBe('stored')
    // Another organization has its own.
    const theirIssuer = await engine.users.putIssuer(theirs.caller, issuerOf('a', '{}', 'same'), startMs)
    expect(theirIssuer).toMatchObject({ outcome: 'stored', created: true })
    expect(await engine.users.listIssuers(theirs.org.id)).toEqual([stored(theirIssuer)])
    expect(await engine.users.stateOf(ours.org.id, await markOf(engine, ada, stored(theirIssuer)))).toBe('revoked')
    expect(await engine.users.deleteIssuer(theirs.caller, 'late')).toBe(false)
  })

  // A login token of both would be of none: everybody would be locked out.
  it('issuers: of many with the same identity that are put at once by two processes, one is stored', async (store) => {
    const { org, caller } = await makeTenant(store.engine)
    const engines = [store.engine, await store.openBeside()]
    const results = await Promise.all(
      numbered(12, 'n').map((name, i) =>
        engines[i % 2]!.users.putIssuer(caller, issuerOf(name, '{}', 'same'), startMs),
      ),
    )
    const count = (name: string): number => results.filter(({ outcome }) => outcome === name).length
    expect([count('stored'), count('taken')]).toEqual([1, 11])
    expect(await store.engine.users.listIssuers(org.id)).toHaveLength(1)
  })

  it('issuers: another process knows a change with the answer', async (store) => {
    const { engine } = store
    const { org, caller } = await makeTenant(engine)
    const other = await store.openBeside()
    const login = stored(await engine.users.putIssuer(caller, issuerOf('login'), startMs))
    const mark = await markOf(other, ada, login)
    expect(await other.users.listIssuers(org.id)).toEqual([login])
    expect(await other.users.stateOf(org.id, mark)).toBe('valid')
    const changed = stored(await engine.users.putIssuer(caller, issuerOf('login', '{}'), startMs))
    expect(await other.users.stateOf(org.id, mark)).toBe('revoked')
    expect(await other.users.listIssuers(org.id)).toEqual([changed])
    const next = await markOf(other, ada, changed)
    expect(await other.users.stateOf(org.id, next)).toBe('valid')
    await engine.users.deleteIssuer(caller, 'login')
    expect(await other.users.stateOf(org.id, next)).toBe('revoked')
    expect(await other.users.listIssuers(org.id)).toEqual([])
  })

  // A client repeats a deletion whose answer it has lost.
  it('issuers: a deletion that finds none is answered when no process accepts its tokens', async (store) => {
    const { engine } = store
    const { org, caller } = await makeTenant(engine)
    const other = await store.openBeside()
    const login = stored(await engine.users.putIssuer(caller, issuerOf('login'), startMs))
    const mark = await markOf(other, ada, login)
    expect(await other.users.stateOf(org.id, mark)).toBe('valid')
    const remove = async () => {
      const deleted = await engine.users.deleteIssuer(caller, 'login')
      return [deleted, await other.users.stateOf(org.id, mark)]
    }
    const answers = await Promise.all([remove(), remove()])
    expect(answers.sort()).toEqual([
      [false, 'revoked'],
      [true, 'revoked'],
    ])
  })

  it('users: nothing is changed by a key that is revoked, or in a deleted organization', async ({ engine }) => {
    const { org, caller, operator, apiKey } = await makeTenant(engine)
    const login = stored(await engine.users.putIssuer(caller, issuerOf('login'), startMs))
    const mark = await markOf(engine, ada, login)
    const change = [
      (by: Caller) => engine.users.revoke(by, ada, startMs),
      (by: Caller) => engine.users.putIssuer(by, issuerOf('login', '{}'), startMs),
      (by: Caller) => engine.users.putIssuer(by, issuerOf('new'), startMs),
      (by: Caller) => engine.users.deleteIssuer(by, 'login'),
    ]
    await engine.apiKeys.revoke(operator, apiKey.id, startMs)
    for (const one of change) await expectRefusal(one(caller), 'revoked_api_key')
    await engine.organizations.delete('acme', startMs)
    for (const one of change) await expectRefusal(one(operator), 'invalid_api_key')
    expect(await engine.users.stateOf(org.id, mark)).toBe('valid')
    expect(await engine.users.listIssuers(org.id)).toEqual([login])
  })

  // ── Sweeps ───────────────────────────────────────────────────────────────────────────────────────────────

  it('sweepRevocations: old ones go, in steps; what is older than they are is forgotten, never valid', async (store) => {
    const { engine } = store
    const { org, caller } = await makeTenant(engine)
    const [old, oldOfBob] = [await markOf(engine), await markOf(engine, bob)]
    const hashes = numbered(5, 'user').map(hashUser)
    for (const hash of [ada, ...hashes]) await engine.users.revoke(caller, hash, startMs)
    const after = await markOf(engine, bob)
    await engine.users.revoke(caller, bob, startMs + 1_000)
    const last = await markOf(engine, bob)
    expect(await sweepAll(engine, sweptAt - 1)).toBe(0)
    expect(await engine.users.stateOf(org.id, old)).toBe('revoked')
    expect(await sweepAll(engine, sweptAt, 2)).toBe(6)
    const expectStates = async (of: Engine): Promise<void> => {
      expect(await of.users.stateOf(org.id, old)).not.toBe('valid')
      expect(await of.users.stateOf(org.id, { ...old, userHash: hashUser('new') })).toBe('forgotten')
      expect(await of.users.stateOf(org.id, oldOfBob)).toBe('revoked')
      expect(await of.users.stateOf(org.id, after)).toBe('revoked')
      expect(await of.users.stateOf(org.id, last)).toBe('valid')
      expect(await of.users.refusedUntilMs(org.id, ada, startMs + 1_000_000_000)).toBe(startMs)
      expect(await of.users.refusedUntilMs(org.id, bob, startMs + 1_000_000_000)).toBe(startMs + 1_000)
    }
    await expectStates(engine)
    const again = await store.reopen()
    await expectStates(again)
    expect(await again.users.stateOf(org.id, old)).toBe('forgotten')
    // The clock is set back: what was swept does not come back.
    expect(await again.users.revoke(caller, ada, startMs - 60_000)).toBe(startMs - 60_000)
    expect(await again.users.refusedUntilMs(org.id, ada, startMs + 1_000_000_000)).toBe(startMs)
    expect(await again.users.stateOf(org.id, await markOf(again))).toBe('valid')
    const forgotten = userOf(await tenantThrough(again, await makeTenant(again, 'more')), old)
    await expectRefusal(again.tables.create(forgotten, 'app', 'orders', {}, startMs), 'expired_token')
  })

  it('sweepRevocations: by another process, a token that it has ended is never valid here', async (store) => {
    const { engine } = store
    const { org, caller } = await makeTenant(engine)
    const other = await store.openBeside()
    const mark = await markOf(engine)
    await engine.users.revoke(caller, ada, startMs)
    // This process knows the epoch of the revocation, but not yet the user.
    await other.users.epoch()
    expect(await sweepAll(engine, sweptAt)).toBe(1)
    expect(await other.users.stateOf(org.id, mark)).toBe('forgotten')
    expect(await engine.users.stateOf(org.id, mark)).not.toBe('valid')
  })

  it('sweepRevocations: a user who was revoked again later stays revoked', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    await engine.users.revoke(caller, ada, startMs)
    const between = await markOf(engine)
    await engine.users.revoke(caller, ada, startMs + 1)
    expect(await sweepAll(engine, sweptAt)).toBe(0)
    expect(await engine.users.stateOf(org.id, between)).toBe('revoked')
  })

  // ── Fences ───────────────────────────────────────────────────────────────────────────────────────────────

  it('fences: every write with a token that has ended is refused, and changes nothing', async ({ engine }) => {
    const writes = await makeWrites(engine)
    const { tenant } = writes
    const login = stored(await engine.users.putIssuer(tenant.caller, issuerOf('login'), startMs))
    const marks = { ofKey: await markOf(engine), ofLogin: await markOf(engine, bob, login) }
    for (const mark of Object.values(marks)) await writes.expectApplied(userOf(tenant, mark))
    const before = await writes.state()
    await engine.users.revoke(tenant.caller, ada, startMs)
    await writes.expectRefused(userOf(tenant, marks.ofKey), 'revoked_token')
    await engine.users.deleteIssuer(tenant.caller, 'login')
    await writes.expectRefused(userOf(tenant, marks.ofLogin), 'revoked_token')
    expect(await writes.state()).toEqual(before)
    await writes.expectApplied(userOf(tenant, await markOf(engine)))
    await writes.expectApplied(tenant.caller)
    // A revoked key is told of, whatever became of the user.
    await engine.apiKeys.revoke(tenant.operator, tenant.apiKey.id, startMs)
    await expectRefusal(writes.put(userOf(tenant, await markOf(engine))), 'revoked_api_key')
  }, 60_000)

  it('fences: a refusal of a condition tells nothing to a user who was revoked', async ({ engine }) => {
    const { tenant, table, put } = await makeFixture(engine)
    const logged = await engine.tables.create(tenant.caller, 'app', 'logged', {}, startMs, 24)
    await put('a', { data: { s: 'secret' } })
    const user = userOf(tenant, await markOf(engine))
    await engine.users.revoke(tenant.caller, ada, startMs)
    for (const where of [table, logged.table]) {
      const refused: RecordOperation[][] = [
        [putOf(where, 'a', { condition: where === table ? 'absent' : 'exists' })],
        [putOf(where, 'a', { condition: { version: 1 } }), putOf(where, 'b')],
        [patchOf(where, 'a', { increment: { '/s': 1 } }, { condition: { version: 1 } })],
        [deleteOf('a', undefined, { version: 1 })],
      ]
      for (const operations of refused)
        await expectRefusal(engine.records.write(user, where, operations, startMs), 'revoked_token')
    }
    const patch = patchOf(table, 'a', { increment: { '/s': 1 } })
    await expectRefusal(engine.records.write(user, table, [patch], startMs), 'revoked_token')
  })

  it('fences: of many writes at once only those of the revoked user are refused', async ({ engine }) => {
    const { tenant, table } = await makeFixture(engine)
    const logged = (await engine.tables.create(tenant.caller, 'app', 'logged', {}, startMs, 24)).table
    const callers = await Promise.all(
      numbered(6, 'user').map(async (name) => userOf(tenant, await markOf(engine, hashUser(name)))),
    )
    await engine.users.revoke(tenant.caller, hashUser('user000003'), startMs)
    const { caller } = tenant
    for (const where of [table, logged]) {
      const names = numbered(200)
      const applied = await Promise.all(
        names.map((name, i) =>
          engine.records.write([...callers, caller][i % 7]!, where, [putOf(where, name)], startMs).then(
            (result) => result.applied,
            (error: { code: unknown }) => {
              expect(error.code).toBe('revoked_token')
              return false
            },
          ),
        ),
      )
      expect(applied).toEqual(names.map((_, i) => i % 7 !== 3))
      const there = await engine.records.count(where, timeScan(), 1_000, startMs)
      expect(there.count).toBe(applied.filter((one) => one).length)
    }
  })

  it('fences: racing with the revocation, a write is applied or refused, as it is told', async (store) => {
    const fixture = await makeFixture(store.engine)
    const { engine } = store
    const { tenant, table } = fixture
    const user = userOf(tenant, await markOf(engine))
    const names = numbered(120)
    const attempts: Promise<boolean>[] = []
    let revocation: Promise<unknown> | undefined
    for (const [i, name] of names.entries()) {
      if (i === 60) revocation = engine.users.revoke(tenant.caller, ada, startMs)
      const operations = i % 2 === 0 ? [putOf(table, name)] : [putOf(table, name), deleteOf(`${name}/none`)]
      attempts.push(
        engine.records.write(user, table, operations, startMs).then(
          (result) => result.applied,
          (error: { code: unknown }) => {
            expect(error.code).toBe('revoked_token')
            return false
          },
        ),
      )
      if (i % 10 === 0) await Bun.sleep(0)
    }
    await revocation
    const there = await fixture.names(timeScan())
    await expectRefusal(engine.records.write(user, table, [putOf(table, 'late')], startMs), 'revoked_token')
    const applied = await Promise.all(attempts)
    expect((await fixture.names(timeScan())).toSorted()).toEqual(names.filter((_, i) => applied[i]))
    // With the answer nothing was in flight any more.
    expect(await fixture.names(timeScan())).toEqual(there)
  })

  it('fences: a write through one engine by a user who was revoked through the other is refused', async (store) => {
    const here = await makeFixture(store.engine)
    const other = await store.openBeside()
    const there = await fixtureThrough(other, here)
    const user = userOf(there.tenant, await markOf(other))
    await other.records.write(user, there.table, [putOf(there.table, 'a')], startMs)
    await store.engine.users.revoke(here.tenant.caller, ada, startMs)
    await expectRefusal(other.records.write(user, there.table, [putOf(there.table, 'b')], startMs), 'revoked_token')
    expect(await here.names(timeScan())).toEqual(['a'])
  })

  // ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────

  it('runs: the user who added one stays with it, through attempts, a retry, a reopening and a copy', async (store) => {
    const bench = await makeBench(store.engine, { attempts: 1 })
    const names = ['ada', '"', '\\', 'ä "\\" 🦉 {}', "x'}", '{"n":1}', 'a'.repeat(256)]
    const runs = await Promise.all(names.map((user) => bench.add({ user, payload: '{"n":"\\""}' })))
    const [plain, withNull] = [await bench.add({ payload: '{"a":{}}' }), await bench.add({ user: null, key: 'k' })]
    expect(runs.map(({ user }) => user)).toEqual(names)
    expect([plain.user, withNull.user]).toEqual([null, null])
    const expectUsers = async (get: (id: string) => Promise<{ user: string | null; payload: string } | undefined>) => {
      for (const [i, { id }] of runs.entries()) {
        expect(await get(id)).toMatchObject({ user: names[i]!, payload: '{"n":"\\""}' })
      }
      expect(await get(plain.id)).toMatchObject({ user: null, payload: '{"a":{}}' })
    }
    const there = (id: string) => bench.get({ id })
    await expectUsers(there)
    const claimed = await bench.claim(100)
    expect(claimed.map(({ id, user }) => [id, user]).sort()).toEqual(
      [...runs.map(({ id }, i) => [id, names[i]!]), [plain.id, null], [withNull.id, null]].sort(),
    )
    await bench.extend(claimed[0]!, 60_000, '{"half":true}')
    for (const [i, run] of claimed.entries()) await bench.finish(run, i % 2 === 0 ? { error: 'no' } : { result: '{}' })
    await expectUsers(there)
    for (const run of claimed) await bench.retry(run)
    await expectUsers(there)
    const again = await store.reopen()
    await expectUsers(async (id) => again.runs.get(bench.task, id, Date.now()))
    const dumped = await withDump(again, async (dump) => (await Array.fromAsync(dump.runs(0))).flat())
    await expectUsers(async (id) => dumped.find((run) => run.id === id))
    const copies = dumped.map((run) => ({ ...run, seq: run.seq + 1_000_000, id: `copy_${run.id}`, key: null }))
    await again.transfer.load({ runs: copies })
    await expectUsers(async (id) => again.runs.get(bench.task, `copy_${id}`, Date.now()))
  })

  it('runs: a batch and an idempotency key keep the user too', async ({ engine }) => {
    const { tenant, task } = await makeBench(engine)
    const user = userOf(tenant, await markOf(engine))
    const run = { id: newRunId(), isNamed: false, key: null, payload: '{}', at: { delayMs: 0 }, user: 'ada' }
    const once = { ...onceOf(task.id, 'k'), userHash: ada }
    const added = await engine.runs.add({ ...user, once }, task, run, Date.now())
    expect(added).toMatchObject({ run: { user: 'ada' } })
    expect(await engine.runs.add({ ...user, once }, task, run, Date.now())).toMatchObject({
      isReplayed: true,
      run: { id: run.id, user: 'ada' },
    })
    const batched = { ...run, id: newRunId(), user: 'bob' }
    await engine.runs.applyBatch(user, { parts: [], tasks: [{ op: 'run', task, run: batched }] }, Date.now())
    expect(await engine.runs.get(task, batched.id, Date.now())).toMatchObject({ user: 'bob' })
  })

  // ── Idempotency keys ─────────────────────────────────────────────────────────────────────────────────────

  it('idempotency keys: of too many of one user the oldest go, and no others', async (store) => {
    const { engine } = store
    const { tenant, table } = await makeFixture(engine)
    const theirs = await makeFixture(engine, {}, { tenant: await makeTenant(engine, 'theirs') })
    const scopeOf = (fixture: Fixture | { tenant: Tenant; table: Table }) => ({
      ...{ scopeId: fixture.table.id, scopeKind: 'table', orgId: fixture.tenant.org.id },
    })
    const ours = { tenant, table }
    const carol = hashUser('carol')
    const many = [
      ...keysOf(scopeOf(ours), ada, 25),
      ...keysOf(scopeOf(ours), bob, 10),
      ...keysOf(scopeOf(ours), carol, 11),
      ...keysOf(scopeOf(ours), null, 30),
      ...keysOf(scopeOf(theirs), ada, 10),
    ]
    await engine.transfer.load({ idempotencyKeys: many })
    let steps = 0
    while ((await engine.maintenance.sweepIdempotencyKeys(startMs, 4, 1_000_000, 10)) > 0) steps++
    expect(steps).toBeGreaterThan(3)
    const left = await withDump(engine, (dump) => Array.fromAsync(dump.idempotencyKeys()))
    const timesOf = (orgId: number, userHash: string | null) =>
      left.filter((key) => key.orgId === orgId && key.userHash === userHash).map((key) => key.createdAtMs - startMs)
    const newest = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
    expect(timesOf(tenant.org.id, ada)).toEqual(newest(15, 25))
    expect(timesOf(tenant.org.id, bob)).toEqual(newest(0, 10))
    expect(timesOf(tenant.org.id, carol)).toEqual(newest(1, 11))
    expect(timesOf(tenant.org.id, null)).toEqual(newest(0, 30))
    expect(timesOf(theirs.tenant.org.id, ada)).toEqual(newest(0, 10))
  })

  it('idempotency keys: of too many of an organization, those of a user who has too many go first', async ({
    engine,
  }) => {
    const { tenant, table } = await makeFixture(engine)
    const scope = { scopeId: table.id, scopeKind: 'table', orgId: tenant.org.id }
    const ofAda = keysOf(scope, ada, 25).map((key, i) => ({ ...key, createdAtMs: startMs + 30 + i }))
    await engine.transfer.load({ idempotencyKeys: [...keysOf(scope, null, 30), ...ofAda] })
    while ((await engine.maintenance.sweepIdempotencyKeys(startMs, 4, 40, 10)) > 0) {}
    const left = await withDump(engine, (dump) => Array.fromAsync(dump.idempotencyKeys()))
    const countOf = (userHash: string | null) => left.filter((key) => key.userHash === userHash).length
    expect([countOf(null), countOf(ada)]).toEqual([30, 10])
  })

  it('idempotency keys: that of a user is kept with the user, by every kind of write', async ({ engine }) => {
    const { tenant, table } = await makeFixture(engine)
    const user = userOf(tenant, await markOf(engine))
    const logged = (await engine.tables.create(tenant.caller, 'app', 'logged', {}, startMs, 24)).table
    const write = (where: Table, key: string, operations: RecordOperation[]) =>
      engine.records.write({ ...user, once: { ...onceOf(where.id, key), userHash: ada } }, where, operations, startMs)
    await write(table, 'one', [putOf(table, 'a')])
    await write(table, 'patch', [patchOf(table, 'a', { increment: { '/n': 1 } })])
    await write(logged, 'logged', [putOf(logged, 'a')])
    expect(await write(table, 'one', [putOf(table, 'a')])).toMatchObject({ isReplayed: true })
    await engine.records.write({ ...tenant.caller, once: onceOf(table.id, 'key') }, table, [putOf(table, 'b')], startMs)
    // A write with a key of the user, by a caller without a token, keeps the user too.
    const once = { ...onceOf(table.id, 'other'), userHash: bob }
    await engine.records.write({ ...tenant.caller, once }, table, [putOf(table, 'c')], startMs)
    const kept = await withDump(engine, (dump) => Array.fromAsync(dump.idempotencyKeys()))
    expect(kept.map(({ userHash }) => userHash ?? '').sort()).toEqual(['', ada, ada, ada, bob].sort())
  })

  // ── Copies and purges ────────────────────────────────────────────────────────────────────────────────────

  it('dump and load: epochs, revoked users and issuers; no number becomes lower', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine), await makeTenant(engine, 'theirs')]
    const { caller, org } = ours
    const before = await markOf(engine)
    await engine.users.revoke(caller, bob, startMs)
    await sweepAll(engine, sweptAt)
    await engine.users.revoke(caller, ada, startMs + 10)
    await engine.users.revoke(theirs.caller, bob, startMs + 11)
    const login = stored(await engine.users.putIssuer(caller, issuerOf('login', '{}', 'iss\0aud'), startMs))
    const read = async (dump: Dump) =>
      [
        await dump.userEpochs(),
        await Array.fromAsync(dump.revocations()),
        await Array.fromAsync(dump.issuers()),
      ] as const
    const [userEpochs, revocations, issuers] = await withDump(engine, read)
    expect(userEpochs).toMatchObject({ epoch: login.epoch, sweptAtMs: startMs })
    expect(userEpochs.sweptEpoch).toBeGreaterThan(before.madeAtEpoch)
    expect(revocations.map(({ orgId, userHash, revokedAtMs }) => [orgId, userHash, revokedAtMs])).toEqual([
      [org.id, ada, startMs + 10],
      [theirs.org.id, bob, startMs + 11],
    ])
    expect(issuers).toEqual([{ ...login, identity: 'iss\0aud' }])
    // A copy that was interrupted is repeated; what is there already stays or is replaced.
    const mark = await markOf(engine, bob, login)
    const epoch = userEpochs.epoch + 100
    const newer = { orgId: org.id, userHash: bob, epoch, revokedAtMs: startMs + 20 }
    const older = { ...revocations[0]!, epoch: 1, revokedAtMs: 5 }
    const changed = { ...login, identity: 'iss\0aud', declaration: '{"new":1}', epoch: epoch - 1 }
    await engine.transfer.load({ userEpochs: { epoch, sweptEpoch: 1, sweptAtMs: 7 } })
    await engine.transfer.load({ revocations: [newer, older], issuers: [changed] })
    expect(await withDump(engine, read)).toEqual([
      { ...userEpochs, epoch },
      [...revocations, newer].sort((a, b) => a.orgId - b.orgId || (a.userHash < b.userHash ? -1 : 1)),
      [changed],
    ])
    expect(await engine.users.stateOf(org.id, mark)).toBe('revoked')
    expect(await engine.users.stateOf(org.id, await markOf(engine, bob))).toBe('valid')
    expect(await engine.users.epoch()).toBe(epoch)
  })

  it('purge: revoked users and issuers go with their organization, and nothing of another', async ({ engine }) => {
    const [ours, theirs] = [await makeTenant(engine), await makeTenant(engine, 'theirs')]
    for (const { caller } of [ours, theirs]) {
      for (const name of numbered(7, 'user')) await engine.users.revoke(caller, hashUser(name), startMs)
      await engine.users.putIssuer(caller, issuerOf('login'), startMs)
    }
    await engine.organizations.delete('acme', startMs)
    let steps = 0
    while ((await engine.maintenance.purgeOrganizations(startMs + recoveryMs + sweepGraceMs, 3)) > 0) steps++
    expect(steps).toBeGreaterThan(2)
    expect(await engine.organizations.find('acme')).toBeUndefined()
    const revocations = await withDump(engine, (dump) => Array.fromAsync(dump.revocations()))
    const issuers = await withDump(engine, (dump) => Array.fromAsync(dump.issuers()))
    expect(revocations.map(({ orgId }) => orgId)).toEqual(numbered(7).map(() => theirs.org.id))
    expect(issuers.map(({ orgId }) => orgId)).toEqual([theirs.org.id])
  })
}

const onceOf = (scopeId: number, key: string) => {
  const hash = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')
  return { scopeId, scopeKind: 'table', keyHash: hash(key), requestHash: hash('request') }
}

/** Keys of a user, the first of which is the oldest. */
const keysOf = (scope: Parameters<typeof idempotencyKey>[0], userHash: string | null, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    ...idempotencyKey(scope, `${scope.orgId} ${userHash} ${i}`),
    ...{ userHash, createdAtMs: startMs + i },
  }))

/** Every kind of write that a user may make. */
const makeWrites = async (engine: Engine) => {
  const { tenant, table } = await makeFixture(engine)
  const logged = (await engine.tables.create(tenant.caller, 'app', 'logged', {}, startMs, 24)).table
  const bucket = (await engine.buckets.create(tenant.caller, 'app', 'files', newBucketId(), startMs)).table
  const { task } = await makeBench(engine, {}, { tenant })
  const content = (blob: string) => ({
    ...{ size: 1, contentType: 'a/b', visibility: 'private' as const, sha256: 'ab'.repeat(32), blob, metadata: '{}' },
  })
  const bytes = new Uint8Array([1])
  const newRun = () => ({ id: newRunId(), isNamed: false, key: null, payload: '{}', at: { delayMs: 0 } })
  const apply = (caller: Caller, where: Table, ...operations: RecordOperation[]) =>
    engine.records.write(caller, where, operations, startMs)
  let count = 0
  // Records and files that the writes change.
  for (const where of [table, logged]) await apply(tenant.caller, where, putOf(where, 'there', { data: { n: 1 } }))
  const put = (caller: Caller) => apply(caller, table, putOf(table, 'there', { data: { by: 'a user' } }))
  const ofTable = (where: Table): ((caller: Caller) => Promise<unknown>)[] => [
    (by) => apply(by, where, putOf(where, 'there', { data: { n: 1, s: count++ } })),
    (by) => apply(by, where, putOf(where, 'there', { data: { n: 2 }, condition: 'exists' })),
    (by) => apply(by, where, putOf(where, `new ${count++}`, { condition: 'absent' })),
    (by) => apply(by, where, deleteOf('there'), putOf(where, 'there', { rangeKey: 'r', data: { n: 3 } })),
    (by) => apply(by, where, putOf(where, 'there', { data: { n: 4 } }), putOf(where, `new ${count++}`)),
    (by) => apply(by, where, patchOf(where, 'there', { increment: { '/n': 1 } })),
    (by) => apply(by, where, deleteOf('there')),
    (by) => apply(by, where, deleteOf('never there')),
    (by) => engine.records.putAll(by, where, [putOf(where, 'there'), putOf(where, `new ${count++}`)], false, startMs),
    (by) => {
      const once = { ...onceOf(where.id, `key ${count++}`), userHash: ada }
      return engine.records.write({ ...by, once }, where, [putOf(where, 'there')], startMs)
    },
  ]
  const writes: ((caller: Caller) => Promise<unknown>)[] = [
    ...ofTable(table),
    ...ofTable(logged),
    (by) => {
      const parts = [
        { table, records: [putOf(table, `new ${count++}`)] },
        { table: logged, records: [putOf(logged, `new ${count++}`)] },
      ]
      return engine.runs.applyBatch(by, { parts, tasks: [{ op: 'run', task, run: newRun() }] }, Date.now())
    },
    (by) => engine.runs.applyBatch(by, { parts: [], tasks: [{ op: 'run', task, run: newRun() }] }, Date.now()),
    (by) => engine.runs.add(by, task, newRun(), Date.now()),
    (by) => engine.runs.add(by, task, { ...newRun(), key: 'k' }, Date.now()),
    async (by) => {
      const run = newRun()
      await engine.runs.add(tenant.operator, task, run, Date.now())
      try {
        return await engine.runs.cancel(by, task, run.id, Date.now())
      } finally {
        await engine.runs.cancel(tenant.operator, task, run.id, Date.now())
      }
    },
    (by) => engine.files.begin(by, bucket, newBlobId(startMs), startMs),
    (by) => {
      const file = { name: 'a.txt', content: content(newStoreBlobId(startMs)), ttlSeconds: null, condition: undefined }
      return engine.files.commit(by, bucket, { ...file, bytes }, startMs)
    },
    async (by) => {
      const blob = newBlobId(startMs)
      await engine.files.begin(tenant.operator, bucket, blob, startMs)
      const file = { name: 'b.txt', content: content(blob), ttlSeconds: null, condition: undefined }
      try {
        return await engine.files.commit(by, bucket, file, startMs)
      } finally {
        await engine.files.abandon(blob, startMs)
      }
    },
    (by) => engine.files.change(by, bucket, 'a.txt', { metadata: `{"n":${count++}}` }, undefined, startMs),
    (by) => engine.files.remove(by, bucket, 'a.txt', undefined, startMs),
  ]
  return {
    tenant,
    put,
    async expectApplied(caller: Caller): Promise<void> {
      for (const write of writes) {
        const result = await write(caller)
        expect(JSON.stringify(result) ?? '').not.toMatch(/"applied":false|"refused"/)
      }
    },
    async expectRefused(caller: Caller, code: 'revoked_token'): Promise<void> {
      for (const write of writes) await expectRefusal(write(caller), code)
    },
    /** The versions of all that is stored. */
    state: () =>
      withDump(engine, async (dump) => {
        const records: unknown[] = []
        for (const { id } of [table, logged, bucket]) records.push(await Array.fromAsync(dump.records(id, 0)))
        const runs = (await Array.fromAsync(dump.runs(0))).flat().filter(({ status }) => status !== 'cancelled')
        const changes = (await Array.fromAsync(dump.changes())).flat()
        return {
          records,
          runs,
          changes,
          keys: await Array.fromAsync(dump.idempotencyKeys()),
        }
      }),
  }
}
