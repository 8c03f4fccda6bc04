import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readHeartbeat } from '../../src/engines/sqlite/archive/archive-files.ts'
import { endWait, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import {
  type Api,
  makeTempDir,
  type Organization,
  removeTempDir,
  runCubby,
  Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { endGeneration, keysOf, Ledger, restoreAt, until, untilArchived, untilRanges, verify } from './ledger.ts'

setDefaultTimeout(120_000)

const table = '/v1/app/ledger'

describe.skipIf(!storeIsEmbedded())('an archive', () => {
  const ledger = new Ledger()
  let server: Server
  let org: Organization
  let dir: string
  let archive: string
  let faults: string
  const api = (): Api => server.as(org.secretKey)
  const putSome = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await ledger.put(api(), table)
  }
  const createKey = async (name: string): Promise<void> => {
    const of = ['--org', 'acme', '--data', server.dataDir]
    expect(await runCubby(['keys', 'create', ...of, '--kind', 'public', '--name', name])).toMatchObject({ exitCode: 0 })
  }
  const warnings = (): string[] =>
    server.log.filter(({ message }) => message.includes('the archive cannot continue')).map(({ cause }) => cause)

  beforeAll(async () => {
    dir = makeTempDir()
    archive = join(dir, 'archive')
    faults = join(dir, 'faults')
    const env = { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults }
    server = await startServer({ args: ['--archive', archive], env })
    org = await server.createOrganization('acme')
    expect((await api().post(table)).status).toBe(201)
    await putSome(5)
    await untilRanges(archive, 1)
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  test('goes on without a gap after a stop and after a kill, also over the time in between', async () => {
    await server.restart()
    await putSome(5)
    await server.kill()
    const downMs = Date.now()
    await Bun.sleep(50)
    await server.start()
    await putSome(5)
    await untilArchived(archive)
    expect(warnings()).toEqual([])
    const { ranges, gaps, findings } = await verify(archive)
    expect({ ranges: ranges.length, gaps, findings }).toEqual({ ranges: 1, gaps: [], findings: [] })
    const { keys } = await restoreAt(archive, downMs + 10)
    expect(keys).toHaveLength(10)
  })

  test('has the changes of a command that runs beside the server', async () => {
    await createKey('beside')
    const atMs = await untilArchived(archive)
    const laterMs = await until('the archive to cover half a second more', () => {
      const { coveredMs } = readHeartbeat(archive)!
      return coveredMs > atMs + 500 ? coveredMs : undefined
    })
    const data = join(dir, 'beside')
    const command = ['backup', 'restore', '--from', archive, '--at', String(laterMs), '--data', data]
    expect(await runCubby(command)).toMatchObject({ exitCode: 0 })
    const { stdout } = await runCubby(['keys', 'list', '--org', 'acme', '--data', data, '--json'])
    expect(stdout).toContain('beside')
  })

  // A power cut may take the last times of commits, which are not synced. They must not be guessed.
  test('is refused at a time of which a power cut took the times of commits', async () => {
    const sureMs = await untilArchived(archive)
    await putSome(5)
    await server.kill()
    const killedMs = Date.now()
    const [times] = readdirSync(server.dataDir).filter((name) => name.startsWith('archive-times-')) as [string]
    rmSync(join(server.dataDir, times))
    await server.start()
    const afterMs = await untilArchived(archive)
    expect(warnings()).toEqual([])
    const refused = await restoreAt(archive, killedMs)
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('before a crash, of which the times'),
    })
    for (const atMs of [sureMs, afterMs]) {
      const { exitCode, keys } = await restoreAt(archive, atMs)
      expect({ exitCode, faults: ledger.faults(keys, atMs) }).toEqual({ exitCode: 0, faults: [] })
    }
  })

  // They are the last to close the store, and SQLite would then delete what is not archived yet.
  test('goes on without a gap after commands that run when the server was killed', async () => {
    await putSome(3)
    await server.kill()
    await runCubby(['orgs', 'list', '--data', server.dataDir])
    await createKey('after the kill')
    await runCubby(['verify', '--data', server.dataDir])
    await server.start()
    await putSome(1)
    const atMs = await untilArchived(archive)
    expect(warnings()).toEqual([])
    const data = join(dir, 'after-the-kill')
    const command = ['backup', 'restore', '--from', archive, '--at', String(atMs), '--data', data]
    expect(await runCubby(command)).toMatchObject({ exitCode: 0 })
    expect(ledger.faults(keysOf(data), atMs)).toEqual([])
    const { stdout } = await runCubby(['keys', 'list', '--org', 'acme', '--data', data, '--json'])
    expect(stdout).toContain('after the kill')
  })

  test('has a gap, and a new base at once, if another program was the last to close the store', async () => {
    await putSome(3)
    await untilArchived(archive)
    await server.kill()
    const lastMs = Date.now()
    const other = new Database(join(server.dataDir, 'cubby.db'), { readwrite: true })
    other.query('SELECT count(*) FROM records').get()
    other.close(true)
    expect(existsSync(join(server.dataDir, 'cubby.db-wal'))).toBe(false)
    await server.start()
    const { ranges, gaps } = await untilRanges(archive, 2)
    expect(warnings()).toEqual(['another command was the last to close the store, or its files were replaced'])
    expect(gaps).toHaveLength(1)
    await putSome(3)
    await untilArchived(archive)
    const [before, after] = ranges as [(typeof ranges)[0], (typeof ranges)[0]]
    expect(before.toMs).toBeLessThanOrEqual(lastMs)
    const inGap = await restoreAt(archive, Math.round((before.toMs + after.fromMs) / 2))
    expect(inGap.exitCode).toBe(1)
    expect(inGap.stderr).toContain('is in a gap of the archive (another command was the last to close the store')
    expect(inGap.stderr).toContain(`restore at ${new Date(before.toMs).toISOString()} or earlier`)
    expect(inGap.stderr).toContain(`or at ${new Date(after.fromMs).toISOString()} or later`)
    for (const atMs of [before.toMs, after.fromMs]) {
      const { exitCode, keys } = await restoreAt(archive, atMs)
      expect({ exitCode, faults: ledger.faults(keys, atMs) }).toEqual({ exitCode: 0, faults: [] })
    }
  })

  test('has a gap if a command changed the store just after the server had closed it', async () => {
    const before = (await verify(archive)).ranges.length
    await putSome(2)
    planFaults(faults, [{ at: 'closed', waitMs: 60_000 }])
    const ended = server.end('SIGTERM')
    await until('the store to be closed', () => (existsSync(`${faults}.hit`) ? true : undefined))
    await createKey('after the close')
    endWait(faults)
    expect(await ended).toBe(0)
    await server.start()
    const { gaps } = await untilRanges(archive, before + 1)
    expect(warnings().at(-1)).toContain('another command was the last to close the store')
    expect(gaps).toHaveLength(before)
    const data = join(dir, 'after-the-close')
    const at = String(await untilArchived(archive))
    expect(await runCubby(['backup', 'restore', '--from', archive, '--at', at, '--data', data])).toMatchObject({
      exitCode: 0,
    })
    const { stdout } = await runCubby(['keys', 'list', '--org', 'acme', '--data', data, '--json'])
    expect(stdout).toContain('after the close')
  })

  test('has a gap if the store was served without it', async () => {
    await server.end('SIGTERM')
    const without = await startServer({ dataDir: server.dataDir })
    expect(without.log.some(({ message }) => message.includes('served without --archive'))).toBe(true)
    await without.as(org.secretKey).put(table, { hashKey: 'k-unarchived', data: {} })
    await without.kill()
    await server.start()
    await untilRanges(archive, 4)
    const { keys } = await restoreAt(archive, await untilArchived(archive))
    expect(keys).toContain('k-unarchived')
  })

  test('is refused with a missing or a damaged file, and verify names it', async () => {
    await endGeneration(api(), table, server.dataDir)
    await putSome(2)
    const atMs = await untilArchived(archive)
    const runDir = join(
      archive,
      readdirSync(archive)
        .filter((name) => name.startsWith('run-'))
        .sort()
        .at(-1)!,
    )
    const segment = join(
      runDir,
      readdirSync(runDir)
        .filter((name) => name.endsWith('.seg'))
        .sort()[0]!,
    )
    const bytes = readFileSync(segment)

    rmSync(segment)
    const missing = await restoreAt(archive, atMs)
    expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`(${segment} is missing)`) })
    const found = await runCubby(['backup', 'verify', archive])
    expect(found).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(`${segment} is missing`) })

    const damaged = Buffer.from(bytes)
    damaged[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(segment, damaged)
    const refused = await restoreAt(archive, atMs)
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toContain(`${segment} is damaged`)
    expect((await verify(archive)).findings).toEqual([expect.stringContaining(`${segment} is damaged`)])

    writeFileSync(segment, bytes)
    expect(await verify(archive)).toMatchObject({ findings: [] })
    const base = join(runDir, 'base-00000001.db')
    const pages = readFileSync(base)
    pages[5_000]! ^= 1
    writeFileSync(base, pages)
    expect((await restoreAt(archive, atMs)).stderr).toContain(`${base} is damaged`)
    pages[5_000]! ^= 1
    writeFileSync(base, pages)
    expect((await restoreAt(archive, atMs)).exitCode).toBe(0)
    expect(existsSync(segment)).toBe(true)
  })
})

// The base of such a store has commits that are later, by the clock, than the time from which it seems to be usable.
test.skipIf(!storeIsEmbedded())(
  'a restore has nothing later if the clock was set back while the server was stopped',
  async () => {
    const dir = makeTempDir()
    const [archive, dataDir] = [join(dir, 'archive'), join(dir, 'data')]
    let server = await startServer({ dataDir, args: ['--archive', archive], clock: true })
    try {
      const api = server.as((await server.createOrganization('acme')).secretKey)
      await api.post(table)
      await untilRanges(archive, 1)
      const put = async (hashKey: string, letter: string) => {
        const answer = await api.put(table, { hashKey, data: { text: letter.repeat(3_000) } })
        expect(answer.status).toBe(200)
      }
      const keys = Array.from({ length: 60 }, (_, i) => `k${100 + i}`)
      for (const hashKey of keys) await put(hashKey, 'x')
      // Another generation of the WAL: of the pages that the later puts change, it has no earlier state.
      await server.restart()
      server.setClock(60_000)
      await put('k-before', 'x')
      await Bun.sleep(20)
      const atMs = Date.now() + 60_000
      await Bun.sleep(20)
      for (const hashKey of keys) await put(hashKey, 'y')
      await server.stop()
      server = new Server({ dataDir, args: ['--archive', archive, '--archive-base', '1s'], clock: true })
      server.setClock(30_000)
      await server.start()
      await until('a second base', async () => ((await verify(archive)).ranges[0]!.bases >= 2 ? true : undefined))
      const data = join(dir, 'restored')
      const command = ['backup', 'restore', '--from', archive, '--at', String(atMs), '--data', data]
      expect(await runCubby(command)).toMatchObject({ exitCode: 0, stderr: '' })
      const db = new Database(join(data, 'cubby.db'), { readwrite: true })
      const later = db.query<{ n: number }, []>(`SELECT count(*) AS n FROM records WHERE data LIKE '%yyy%'`).get()!.n
      db.close()
      expect({ later, keys: keysOf(data) }).toEqual({ later: 0, keys: [...keys, 'k-before'] })
      expect((await verify(archive)).gaps).toEqual([])
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  },
)
