import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeRunDir, pathsOfRun, writeJson } from '../../src/engines/sqlite/archive/archive-files.ts'
import { Bases } from '../../src/engines/sqlite/archive/bases.ts'
import type { ArchiveState } from '../../src/store/measures.ts'
import { type Api, makeTempDir, removeTempDir, Server, storeIsEmbedded } from '../harness.ts'
import { restoreAt, until, untilArchived, untilRanges, verify } from './ledger.ts'

// The clock of a machine is set back and ahead, and at a start it may be years behind.

setDefaultTimeout(120_000)

const table = '/v1/app/ledger'
const [hourMs, dayMs, yearMs] = [3_600_000, 86_400_000, 31_536_000_000]

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe.skipIf(!storeIsEmbedded())('an archive whose clock is set', () => {
  let server: Server
  let archive: string
  let api: Api
  let offsetMs = 0

  const start = async (...args: string[]): Promise<void> => {
    const dir = makeTempDir()
    archive = join(dir, 'archive')
    offsetMs = 0
    server = new Server({ dataDir: join(dir, 'data'), args: ['--archive', archive, ...args], clock: true })
    ends.push(
      () => removeTempDir(dir),
      () => server.stop(),
    )
    await server.start()
    api = server.as((await server.createOrganization('acme')).secretKey)
    await api.post(table)
    await untilRanges(archive, 1)
  }
  const setClock = (ms: number): void => {
    offsetMs = ms
    server.setClock(ms)
  }
  /** Puts a record, and returns a time after it that is archived, by the clock of the server. */
  const put = async (hashKey: string): Promise<number> => {
    expect((await api.put(table, { hashKey, data: {} })).status).toBe(200)
    return untilArchived(archive, offsetMs)
  }
  const restored = async (atMs: number): Promise<string> => {
    const { exitCode, stderr, keys } = await restoreAt(archive, atMs)
    return exitCode === 0 ? keys.join(' ') : stderr
  }

  test.each(['while it runs', 'while it is stopped'])(
    'a start years behind, set right %s, makes no time unrestorable',
    async (when) => {
      await start()
      const first = await put('k1')
      const second = await put('k2')
      await server.end('SIGTERM')
      setClock(-6 * yearMs)
      await server.start()
      const behind = await put('k3')
      if (when === 'while it is stopped') await server.end('SIGTERM')
      setClock(0)
      if (when === 'while it is stopped') await server.start()
      const third = await put('k4')
      const fourth = await put('k5')
      expect(await restored(first)).toBe('k1')
      expect(await restored(second)).toBe('k1 k2')
      expect(await restored(behind)).toBe('k1 k2 k3')
      expect(await restored(third)).toBe('k1 k2 k3 k4')
      expect(await restored(fourth)).toBe('k1 k2 k3 k4 k5')
      expect(await restored(behind + yearMs)).toContain('is in a gap of the archive (the clock of the server was set)')
      expect(await verify(archive)).toMatchObject({ findings: [], gaps: [], twice: [] })
    },
  )

  test('set back, it refuses what was twice and nothing else, verify lists it, and a base begins', async () => {
    await start()
    const first = await put('k1')
    setClock(hourMs)
    const ahead = await put('k2')
    setClock(hourMs - 90_000)
    const second = await put('k3')
    await until('another base', async () => ((await verify(archive)).ranges[0]!.bases === 2 ? true : undefined))
    // The clock passes the same time again in steps that may be corrections.
    setClock(hourMs - 45_000)
    await put('k4')
    setClock(hourMs + 10_000)
    const last = await put('k5')
    expect(await restored(first)).toBe('k1')
    expect(await restored(ahead)).toContain('was twice: the clock of the server was set back')
    expect(await restored(second)).toBe('k1 k2 k3')
    expect(await restored(last)).toBe('k1 k2 k3 k4 k5')
    const { twice, findings, gaps } = await verify(archive)
    expect({ findings, gaps }).toEqual({ findings: [], gaps: [] })
    expect(twice).toHaveLength(1)
    expect(twice[0]!.fromMs).toBeLessThanOrEqual(ahead)
    expect(twice[0]!.toMs).toBeGreaterThanOrEqual(ahead)
  })

  test('a jump ahead for a moment removes nothing', async () => {
    await start('--archive-keep', '1d', '--archive-base', '1s')
    const first = await put('k1')
    setClock(30 * dayMs)
    await put('k2')
    await until('a base by that clock', async () =>
      (await verify(archive)).ranges.at(-1)!.bases > 1 ? true : undefined,
    )
    setClock(0)
    await put('k3')
    expect(await restored(first)).toBe('k1')
  })
})

test('retention waits after a start, and for a jump of the clock to last', () => {
  const dir = makeTempDir()
  const databaseFile = openSync(join(dir, 'database'), 'w+')
  ends.push(
    () => removeTempDir(dir),
    () => closeSync(databaseFile),
  )
  const runDir = makeRunDir(dir, 1)
  let nowMs = Date.now()
  const position = { segment: 1, generation: 1, frame: 1, chain: '' }
  for (const [number, ageMs] of [
    [1, 3 * dayMs],
    [2, 2 * hourMs],
    [3, hourMs],
  ] as const) {
    const info = { firstSegment: number, startedAtMs: nowMs, keptFromMs: nowMs - ageMs, usableFromMs: nowMs - ageMs }
    writeJson(pathsOfRun(runDir).baseInfo(number), { ...info, pageBytes: 4_096, bytes: 0, sha256: '', end: position })
  }
  const holdMs = 300
  const log = (): void => {}
  const bases = new Bases(
    { dir, databaseFile, keepMs: dayMs, baseEveryMs: dayMs, holdMs, now: () => nowMs, log },
    {} as ArchiveState,
  )
  const left = (): number => {
    bases.makeRoom()
    return readdirSync(runDir).length
  }
  const wait = (): void => {
    Bun.sleepSync(holdMs + 20)
    nowMs += holdMs + 20
  }
  nowMs += 4 * dayMs
  expect(left()).toBe(3)
  // The start is over; the clock is back.
  nowMs -= 4 * dayMs
  wait()
  expect(left()).toBe(3)
  // It jumps once more, and this time it stays so.
  nowMs += 4 * dayMs
  expect(left()).toBe(3)
  wait()
  expect(left()).toBe(1)
})
