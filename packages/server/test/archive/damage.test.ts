import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readHeartbeat } from '../../src/engines/sqlite/archive/archive-files.ts'
import {
  type Api,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { endGeneration, restoreAt, until, untilArchived, untilRanges, verify } from './ledger.ts'

// An archive that restores a wrong state and says nothing is worse than none. So whatever happens to any of its files, a restore
// gives what was there at that time, or is refused.

setDefaultTimeout(300_000)

const table = '/v1/app/ledger'

describe.skipIf(!storeIsEmbedded())('an archive with a file that is lost or changed', () => {
  const dir = makeTempDir()
  const archive = join(dir, 'archive')
  const copy = join(dir, 'copy')
  let server: Server
  let api: Api
  let number = 0
  /** Times in the order in which they were, each with the number of records of that time. */
  const moments: { atMs: number; records: number }[] = []
  const [first, second] = ['run-000001', 'run-000002'] as const

  const putThree = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      expect((await api.put(table, { hashKey: `k${++number}`, data: { number } })).status).toBe(200)
    }
    moments.push({ atMs: await untilArchived(archive), records: number })
  }
  /** A copy of the archive, which the test may change. */
  const copied = (): string => {
    rmSync(copy, { recursive: true, force: true })
    cpSync(archive, copy, { recursive: true })
    return copy
  }
  const segmentsOf = (run: string): string[] => readdirSync(join(archive, run)).filter((name) => /^\d/.test(name))
  const restored = async ({ atMs }: { atMs: number }): Promise<number | string> => {
    const { exitCode, stderr, keys } = await restoreAt(copy, atMs)
    return exitCode === 0 ? keys.length : stderr
  }

  beforeAll(async () => {
    server = await startServer({ args: ['--archive', archive] })
    api = server.as((await server.createOrganization('acme')).secretKey)
    await api.post(table)
    await untilRanges(archive, 1)
    await putThree()
    await endGeneration(api, table, server.dataDir)
    await putThree()
    // Each start begins another segment.
    await server.restart()
    await putThree()
    await server.restart()
    await putThree()
    // Without its token, the next start begins another run.
    await server.kill()
    rmSync(join(server.dataDir, 'archive-token'))
    await server.start()
    await untilRanges(archive, 2)
    await putThree()
    await server.restart()
    await putThree()
    await until('the heartbeat to have the last commit', () => {
      const beat = readHeartbeat(archive)
      return beat !== undefined && beat.coveredMs > moments.at(-1)!.atMs ? true : undefined
    })
    await server.end('SIGTERM')
    copied()
    for (const moment of moments) expect(await restored(moment)).toBe(moment.records)
  })
  afterAll(() => {
    server?.remove()
    removeTempDir(dir)
  })

  describe.each(['removed', 'empty'] as const)('the last segment of an ended run is %s', (how) => {
    test('verify names it, later times are refused, and earlier ones work', async () => {
      const path = join(copied(), first, segmentsOf(first).at(-1)!)
      if (how === 'removed') rmSync(path)
      else truncateSync(path)
      const { exitCode, stdout } = await runCubby(['backup', 'verify', copy])
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringContaining(path) })
      expect(stdout).not.toContain('ok:')
      const [one, two, three, four, five] = moments as [(typeof moments)[0], ...typeof moments]
      for (const moment of [one, two!, three!]) expect(await restored(moment)).toBe(moment.records)
      expect(await restored(four!)).toContain(path)
      expect(await restored(five!)).toBe(five!.records)
    })
  })

  test('the end of the newest run is missing: it is covered until where it goes, and verify says so in one line', async () => {
    const path = join(copied(), second, segmentsOf(second).at(-1)!)
    rmSync(path)
    const { exitCode, stdout } = await runCubby(['backup', 'verify', copy])
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining(`${path} is missing`) })
    const { ranges, findings, notes } = await verify(copy)
    expect({ findings, notes: notes.length }).toEqual({ findings: [], notes: 1 })
    const [last, before] = moments.toReversed() as [(typeof moments)[0], (typeof moments)[0]]
    expect(ranges.at(-1)!.toMs).toBeLessThan(last.atMs)
    expect(await restored(last)).toContain(`is after the end of the archive (${path} is missing)`)
    expect(await restored(before)).toBe(before.records)
  })

  test('a segment in the middle is missing: times from the next base on work, and those before it', async () => {
    const [, middle] = segmentsOf(first)
    rmSync(join(copied(), first, middle!))
    expect((await verify(copy)).findings).toEqual([`${join(copy, first, middle!)} is missing`])
    expect(await restored(moments[0]!)).toBe(moments[0]!.records)
    expect(await restored(moments[3]!)).toContain('is missing')
    expect(await restored(moments[4]!)).toBe(moments[4]!.records)
  })

  test('the time of a commit is changed: it is not believed', async () => {
    const path = join(copied(), first, segmentsOf(first)[0]!)
    const bytes = readFileSync(path)
    const at = bytes.indexOf('"commits":[[') + '"commits":[[12,1'.length
    bytes[at]! ^= 1
    writeFileSync(path, bytes)
    expect((await verify(copy)).findings).toEqual([expect.stringContaining(`${path} is damaged`)])
    expect(await restored(moments[0]!)).toContain(`${path} is damaged`)
  })

  test('a newer base is that of another run: it is not used, and verify names it', async () => {
    const [from, to] = [join(copied(), first), join(copy, second)]
    for (const kind of ['db', 'json']) cpSync(join(from, `base-00000001.${kind}`), join(to, `base-00000002.${kind}`))
    const path = join(to, 'base-00000002.json')
    expect((await verify(copy)).findings).toEqual([`${path} is not of this run`])
    for (const moment of moments) expect(await restored(moment)).toBe(moment.records)
  })

  test('a description has a member that is none: it is refused, whatever its checksum says', async () => {
    const path = join(copied(), second, 'base-00000001.json')
    const { checksum, ...info } = JSON.parse(readFileSync(path, 'utf8'))
    for (const changed of [
      { ...info, number: '../../../etc/passwd' },
      { ...info, firstSegment: -1 },
      { ...info, sha256: undefined },
    ]) {
      const text = JSON.stringify(changed)
      const sealed = JSON.stringify({ ...changed, checksum: Bun.hash.xxHash3(text).toString(16) })
      writeFileSync(path, `${sealed}\n`)
      expect((await verify(copy)).findings).toEqual([expect.stringContaining(`${path} is damaged`)])
      expect(await restored(moments.at(-1)!)).toContain('is damaged')
    }
  })

  /** Every file, and what is done to it. */
  const damages = ['removed', 'empty', 'cut', 'flipped'] as const
  const damage = (path: string, how: (typeof damages)[number], random: () => number): void => {
    if (how === 'removed') {
      rmSync(path)
      return
    }
    // The heartbeat is one line, and white space behind it.
    const size = path.endsWith('heartbeat') ? readFileSync(path).indexOf('\n') : statSync(path).size
    if (how !== 'flipped') {
      truncateSync(path, how === 'empty' ? 0 : Math.floor(size * random()))
      return
    }
    const bytes = readFileSync(path)
    if (size > 0) bytes[Math.floor(size * random())]! ^= 1 << Math.floor(8 * random())
    writeFileSync(path, bytes)
  }

  test('whatever becomes of one file: every time has its state or is refused, and verify tells', async () => {
    const seed = Number(process.env.CUBBY_TEST_SEED ?? Date.now() % 1_000_000)
    let state = seed
    const random = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    }
    const files = [...new Bun.Glob('**/*').scanSync(archive)].filter((name) => name !== 'archive.lock').sort()
    expect(files.length).toBeGreaterThan(10)
    for (const file of files) {
      for (const how of damages) {
        const path = join(copied(), file)
        damage(path, how, random)
        const context = { file, how, seed }
        const found = await runCubby(['backup', 'verify', copy])
        // The heartbeat is not synced, and the newest run may be a copy: these lower what is covered.
        const mayLower = file === 'heartbeat' || file === join(second, segmentsOf(second).at(-1)!)
        const tells = found.exitCode === 1 || (mayLower && !found.stdout.startsWith('restorable'))
        expect({ ...context, tells }).toEqual({ ...context, tells: true })
        const moment = moments[Math.floor(random() * moments.length)]!
        const got = await restored(moment)
        const isRight = typeof got === 'string' || got === moment.records
        expect({ ...context, got, isRight }).toEqual({ ...context, got, isRight: true })
      }
    }
  })
})

describe.skipIf(!storeIsEmbedded())('a start with an archive whose newest run lost something', () => {
  test.each([
    ['its last segment is removed', (path: string) => rmSync(path), 'is missing'],
    ['its last segment is empty', (path: string) => truncateSync(path), 'is damaged'],
    ['its last segment is cut', (path: string) => truncateSync(path, statSync(path).size - 1), 'is damaged'],
  ])('%s: a gap, a new base, and verify tells', async (_, damage, said) => {
    const dir = makeTempDir()
    const archive = join(dir, 'archive')
    const server = await startServer({ args: ['--archive', archive] })
    try {
      const api = server.as((await server.createOrganization('acme')).secretKey)
      await api.post(table)
      await untilRanges(archive, 1)
      await api.put(table, { hashKey: 'k1', data: {} })
      const earlyMs = await untilArchived(archive)
      await server.restart()
      await api.put(table, { hashKey: 'k2', data: {} })
      const lostMs = await untilArchived(archive)
      await server.end('SIGTERM')
      const segments = readdirSync(join(archive, 'run-000001')).filter((name) => name.endsWith('.seg'))
      const path = join(archive, 'run-000001', segments.at(-1)!)
      damage(path)
      await server.start()
      await untilRanges(archive, 2)
      await api.put(table, { hashKey: 'k3', data: {} })
      const lateMs = await untilArchived(archive)
      expect((await verify(archive)).findings).toEqual([expect.stringContaining(`${path} ${said}`)])
      expect((await restoreAt(archive, earlyMs)).keys).toEqual(['k1'])
      expect((await restoreAt(archive, lostMs)).stderr).toContain(path)
      expect((await restoreAt(archive, lateMs)).keys).toEqual(['k1', 'k2', 'k3'])
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  })
})
