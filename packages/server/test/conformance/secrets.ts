import { expect } from 'bun:test'
import { newSecret, type StoreSecret, secretLeadMs } from '../../src/core/store-secrets.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import { startMs } from './fixture.ts'

const weekMs = 7 * 24 * 60 * 60 * 1000

const sealAt = async (engine: Engine, nowMs: number): Promise<Buffer> =>
  (await engine.secrets.at(nowMs)).seal.seal(Buffer.from('a place'))

const opensAt = async (engine: Engine, sealed: Buffer, nowMs: number): Promise<boolean> =>
  (await engine.secrets.at(nowMs)).seal.open(sealed)?.toString() === 'a place'

const secretsOf = async (engine: Engine): Promise<StoreSecret[]> => {
  const dump = await engine.transfer.openDump()
  try {
    return await dump.secrets()
  } finally {
    await dump.close()
  }
}

export const secretCases = (it: Case): void => {
  it('secrets: one at first, of its own, which is there after a reopening', async (store) => {
    const [own] = await secretsOf(store.engine)
    expect(own).toMatchObject({ acceptsPlain: false, beginsAtMs: 0 })
    expect(own!.secret).toHaveLength(32)
    const sealed = await sealAt(store.engine, startMs)
    const { urlKeys } = await store.engine.secrets.at(startMs)
    const again = await store.reopen()
    expect(await opensAt(again, sealed, startMs)).toBe(true)
    expect((await again.secrets.at(startMs)).urlKeys).toEqual(urlKeys)
  })

  it('rotateSecrets: the new one is used, the earlier ones are accepted for a week, 8 of them', async (store) => {
    const { engine } = store
    const sealed: Buffer[] = []
    for (let i = 1; i <= 9; i++) {
      sealed.push(await sealAt(engine, startMs + i))
      const next = newSecret(startMs + i)
      const secrets = await engine.secrets.rotate(next, false, startMs + i)
      expect(secrets).toHaveLength(Math.min(i + 1, 9))
      expect(secrets[0]!.beginsAtMs).toBe(next.beginsAtMs)
      expect(Buffer.from(secrets[0]!.secret)).toEqual(Buffer.from(next.secret))
    }
    const accepted = async (of: Engine, nowMs: number) => {
      const opened: boolean[] = []
      for (const one of sealed) opened.push(await opensAt(of, one, nowMs))
      return opened
    }
    const [first, ...later] = sealed.map(() => true)
    expect(await accepted(engine, startMs + 9)).toEqual([!first, ...later])
    const again = await store.reopen()
    expect(await accepted(again, startMs + 9)).toEqual([!first, ...later])
    expect(await accepted(again, startMs + weekMs + 8)).toEqual([...sealed.slice(1).map(() => false), true])
  })

  it('rotateSecrets: with an end of the earlier ones, nothing of them is accepted, plain cursors neither', async ({
    engine,
  }) => {
    const [own] = await secretsOf(engine)
    await engine.transfer.load({ secrets: [{ ...own!, acceptsPlain: true }] })
    const before = await sealAt(engine, startMs)
    expect((await engine.secrets.at(startMs)).seal.acceptsPlain).toBe(true)
    await engine.secrets.rotate(newSecret(startMs), false, startMs)
    const between = await sealAt(engine, startMs)
    expect((await engine.secrets.at(startMs)).seal.acceptsPlain).toBe(true)
    expect(await engine.secrets.rotate(newSecret(startMs), true, startMs)).toHaveLength(1)
    for (const sealed of [before, between]) expect(await opensAt(engine, sealed, startMs)).toBe(false)
    expect((await engine.secrets.at(startMs)).seal.acceptsPlain).toBe(false)
    expect(await opensAt(engine, await sealAt(engine, startMs), startMs)).toBe(true)
  })

  it('rotateSecrets: several at once are all kept', async (store) => {
    const other = await store.openBeside()
    const made = Array.from({ length: 6 }, () => newSecret(startMs))
    await Promise.all(made.map((next, i) => (i % 2 === 0 ? store.engine : other).secrets.rotate(next, false, startMs)))
    const hex = ({ secret }: StoreSecret): string => Buffer.from(secret).toString('hex')
    const kept = (await secretsOf(store.engine)).map(hex)
    expect(kept).toHaveLength(7)
    expect(kept.slice(0, 6).sort()).toEqual(made.map(hex).sort())
  })

  it('rotateSecrets: another process, used or idle, knows it within the time that commands wait', async (store) => {
    const [busy, idle] = [await store.openBeside(), await store.openBeside()]
    const before = await sealAt(busy, startMs)
    expect(await opensAt(idle, before, startMs)).toBe(true)
    await store.engine.secrets.rotate(newSecret(startMs), true, startMs)
    const sealed = await sealAt(store.engine, startMs)
    for (const endMs = performance.now() + secretLeadMs; performance.now() < endMs; await Bun.sleep(20)) {
      await opensAt(busy, sealed, startMs)
    }
    for (const engine of [busy, idle]) {
      expect([await opensAt(engine, sealed, startMs), await opensAt(engine, before, startMs)]).toEqual([true, false])
    }
  })

  it('secrets: a dump has all of them, and a load replaces those of the store', async ({ engine }) => {
    await engine.secrets.rotate(newSecret(startMs), false, startMs)
    const kept = await secretsOf(engine)
    const sealed = await sealAt(engine, startMs)
    await engine.secrets.rotate(newSecret(startMs), true, startMs)
    expect(await opensAt(engine, sealed, startMs)).toBe(false)
    await engine.transfer.load({ secrets: kept })
    expect(await opensAt(engine, sealed, startMs)).toBe(true)
    expect((await secretsOf(engine)).map(({ secret, ...more }) => [Buffer.from(secret), more])).toEqual(
      kept.map(({ secret, ...more }) => [Buffer.from(secret), more]),
    )
  })
}
