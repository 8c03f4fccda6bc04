import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { endAllServing, mainFile, type ServeProcess, spawnServe } from '../cli/serve-process.ts'
import { Shim, whyNoShim } from '../disks/shim.ts'
import {
  type Api,
  makeTempDir,
  removeTempDir,
  runCubbyJson,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { mountSmallDisk, type SmallDisk } from '../limits/small-disk.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { endGeneration, Ledger, restoreAt, until, untilArchived, untilRanges, type Verified, verify } from './ledger.ts'

// An archive that fails must not stop the server, and must not claim to have what it lost. A sync that failed is not
// repeated: it would succeed, whatever became of the bytes.

setDefaultTimeout(120_000)
afterEach(endAllServing)

const table = '/v1/app/ledger'

/** Writes go on over a reset of the WAL, which the archive misses. */
const writeThrough = async (ledger: Ledger, api: Api, dataDir: string): Promise<void> => {
  await endGeneration(api, table, dataDir)
  for (let i = 0; i < 5; i++) expect(await ledger.put(api, table)).toBe(true)
  await endGeneration(api, table, dataDir)
}

const noShim = whyNoShim()

describe.skipIf(noShim !== undefined)(`a failing sync of the archive${noShim ? ` (skipped: ${noShim})` : ''}`, () => {
  const ledger = new Ledger()
  let server: Server
  let shim: Shim
  const dir = makeTempDir()
  const archive = join(dir, 'archive')
  afterAll(async () => {
    await server?.stop()
    shim?.remove()
    removeTempDir(dir)
  })

  test('ends the segment: a gap is recorded, writes go on, and a new base begins', async () => {
    shim = new Shim()
    server = await startServer({ args: ['--archive', archive, ...metricsOn], env: shim.env })
    const org = await server.createOrganization('acme')
    const api = server.as(org.secretKey)
    await api.post(table)
    for (let i = 0; i < 5; i++) await ledger.put(api, table)
    await untilRanges(archive, 1)
    const beforeMs = await untilArchived(archive)
    shim.set('failArchiveSyncs', 1)
    await ledger.put(api, table)
    await until('a failure in the log', () => server.log.find(({ message }) => message === 'the archive failed'))
    await writeThrough(ledger, api, server.dataDir)
    const { gaps, ranges } = await untilRanges(archive, 2)
    await untilArchived(archive)
    expect(server.log.some(({ message }) => message === 'the archive works again; a new base begins')).toBe(true)
    const metrics = await scrape(server)
    const value = (name: string) => sumOf(metrics, `cubby_archive_${name}`)
    expect([value('gaps_total'), value('bases_total'), value('failing')]).toEqual([1, 2, 0])
    expect(value('bytes_total')).toBeGreaterThan(4_096)
    expect(value('lag_seconds')).toBeLessThan(60)
    expect(gaps).toEqual([expect.objectContaining({ reason: expect.stringContaining('EIO') })])
    const refused = await restoreAt(archive, Math.round((gaps[0]!.fromMs + gaps[0]!.toMs) / 2))
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/is in a gap of the archive \(EIO/) })
    // The first run ends before the block that could not be written.
    for (const atMs of [beforeMs, ranges[0]!.toMs, ranges[1]!.fromMs, (await untilArchived(archive)) - 1]) {
      const { exitCode, stderr, keys } = await restoreAt(archive, atMs)
      expect({ exitCode, stderr, faults: ledger.faults(keys, atMs) }).toEqual({ exitCode: 0, stderr: '', faults: [] })
    }
  })
})

describe.skipIf(noShim !== undefined || process.env.CUBBY_TEST_ARCHIVE !== 'full')(
  'a disk of the archive that hangs',
  () => {
    test('holds up checkpoints for ten seconds, and then nothing', async () => {
      const ledger = new Ledger()
      const shim = new Shim()
      const dir = makeTempDir()
      const archive = join(dir, 'archive')
      const server = await startServer({ args: ['--archive', archive], env: shim.env })
      try {
        const org = await server.createOrganization('acme')
        const api = server.as(org.secretKey)
        await api.post(table)
        await untilRanges(archive, 1)
        await untilArchived(archive)
        shim.set('failedSyncMs', 25_000)
        shim.set('failArchiveSyncs', 1)
        await writeThrough(ledger, api, server.dataDir)
        const { gaps } = await untilRanges(archive, 2)
        expect(gaps).toHaveLength(1)
        const atMs = await untilArchived(archive)
        expect(ledger.faults((await restoreAt(archive, atMs)).keys, atMs)).toEqual([])
      } finally {
        await server.stop()
        shim.remove()
        removeTempDir(dir)
      }
    })
  },
)

const mounted: SmallDisk | string = storeIsEmbedded()
  ? await mountSmallDisk(64 * 1_048_576)
  : 'the store is not on a disk of ours'

describe.skipIf(typeof mounted === 'string')(
  `a full disk of the archive${typeof mounted === 'string' ? ` (skipped: ${mounted})` : ''}`,
  () => {
    const disk = mounted as SmallDisk
    const ledger = new Ledger()
    let serving: ServeProcess
    const dir = makeTempDir()
    const dataDir = join(dir, 'data')
    let secretKey: string
    afterAll(async () => {
      await disk.remove()
      removeTempDir(dir)
    })

    /** Commands that read the archive have to be on its disk. */
    const cubby = async (...args: string[]) => {
      const command = [...disk.wrapper, process.execPath, mainFile, ...args]
      const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
      const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { exitCode: await child.exited, stdout, stderr }
    }
    const verified = async (ranges: number, archive = disk.dir): Promise<Verified> =>
      until(`${ranges} ranges`, async () => {
        const { stdout } = await cubby('backup', 'verify', archive, '--json')
        const found = stdout === '' ? undefined : (JSON.parse(stdout) as Verified)
        return found !== undefined && found.ranges.length >= ranges ? found : undefined
      })

    test('stops no write; once there is room a new base begins, and restore names the gap', async () => {
      serving = spawnServe({ dataDir, args: ['--no-bootstrap', '--archive', disk.dir], wrapper: disk.wrapper })
      await serving.ready
      secretKey = (await runCubbyJson(dataDir, ['orgs', 'create', 'acme'])).secretKey
      const api = serving.server.as(secretKey)
      await api.post(table)
      await verified(1)
      disk.fill()
      for (let i = 0; i < 20; i++) expect(await ledger.put(api, table, 20_000)).toBe(true)
      await until('a failure in the log', () => serving.log.find(({ message }) => message === 'the archive failed'))
      expect(serving.log.find(({ message }) => message === 'the archive failed').cause).toContain('ENOSPC')
      await writeThrough(ledger, api, dataDir)
      disk.free()
      const { gaps, ranges, findings } = await verified(2)
      expect(findings).toEqual([])
      expect(gaps[0]!.reason).toContain('ENOSPC')
      const at = String(Math.round((gaps[0]!.fromMs + gaps[0]!.toMs) / 2))
      const restored = join(dir, 'restored')
      const refused = await cubby('backup', 'restore', '--from', disk.dir, '--at', at, '--data', restored)
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is in a gap of the archive') })
      const later = String(ranges[1]!.fromMs)
      const done = await cubby('backup', 'restore', '--from', disk.dir, '--at', later, '--data', restored)
      expect(done).toMatchObject({ exitCode: 0, stderr: '' })
    })

    const failures = () => serving.log.filter(({ message }) => message === 'the archive failed')

    test('keeps no server from starting, and the archive is still of one server; once there is room a new base begins', async () => {
      const serve = () =>
        spawnServe({
          ...{ dataDir, wrapper: disk.wrapper },
          args: ['--no-bootstrap', '--archive', disk.dir, ...metricsOn],
        })
      serving = serve()
      await serving.ready
      const before = (await verified(2)).ranges.length
      expect(await serving.end()).toBe(0)
      disk.fill()
      serving = serve()
      await serving.ready
      const api = serving.server.as(secretKey)
      for (let i = 0; i < 20; i++) expect(await ledger.put(api, table, 20_000)).toBe(true)
      await until('a failure in the log', () => failures()[0])
      expect(failures()[0].cause).toContain('ENOSPC')
      serving.server.logLines.push(...serving.stderr.split('\n'))
      const value = async (name: string) => sumOf(await scrape(serving.server), `cubby_archive_${name}`)
      expect([await value('failing'), await value('gaps_total')]).toEqual([1, 1])
      const args = ['--no-bootstrap', '--archive', disk.dir]
      const second = spawnServe({ dataDir: join(dir, 'second'), args, wrapper: disk.wrapper })
      expect(await second.exited).toBe(1)
      expect(second.stderr).toContain('another server writes the archive in')
      await writeThrough(ledger, api, dataDir)
      disk.free()
      const { gaps, ranges, findings } = await verified(before + 1)
      expect(findings).toEqual([])
      expect(gaps.at(-1)!.reason).toContain('ENOSPC')
      expect(ranges).toHaveLength(before + 1)
      await until('the metric to say so', async () => ((await value('failing')) === 0 ? true : undefined))
      expect(await value('gaps_total')).toBe(1)
    })

    test('where the archive is to be created: it is, once there is room', async () => {
      const archive = join(disk.dir, 'new')
      const args = ['--no-bootstrap', '--archive', archive]
      disk.fill()
      serving = spawnServe({ dataDir: join(dir, 'other'), args, wrapper: disk.wrapper })
      await serving.ready
      await until('a failure in the log', () => failures()[0])
      expect(failures()[0].cause).toContain('ENOSPC')
      disk.free()
      const { gaps, findings } = await verified(1, archive)
      expect({ gaps, findings }).toEqual({ gaps: [], findings: [] })
    })

    describe('that has no room for a scheduled base', () => {
      const archive = join(disk.dir, 'scheduled')
      const data = join(dir, 'scheduled')
      const serve = (...args: string[]) =>
        spawnServe({
          ...{ dataDir: data, wrapper: disk.wrapper },
          // Otherwise nothing is removed in the first hour after a start.
          env: { NODE_ENV: 'test', CUBBY_TEST_ARCHIVE_HOLD_MS: '0' },
          args: ['--no-bootstrap', '--archive', archive, '--archive-base', '1s', ...metricsOn, ...args],
        })
      const value = async (name: string): Promise<number> => {
        serving.server.logLines.splice(0, Number.POSITIVE_INFINITY, ...serving.stderr.split('\n'))
        return sumOf(await scrape(serving.server), `cubby_archive_${name}`)!
      }
      /** A base is only due if something has changed. */
      const untilWithPuts = <T>(what: string, api: Api, read: () => Promise<T | undefined>): Promise<T> =>
        until(what, async () => {
          await ledger.put(api, table)
          await Bun.sleep(200)
          return read()
        })
      const untilBases = (api: Api, count: number): Promise<number> =>
        untilWithPuts(`more than ${count} bases`, api, async () => {
          const bases = await value('bases_total')
          return bases > count ? bases : undefined
        })
      let key: string

      test('goes on with its commits, says so, and makes the base when there is room', async () => {
        serving = serve('--archive-keep', '7d')
        await serving.ready
        key = (await runCubbyJson(data, ['orgs', 'create', 'acme'])).secretKey
        const api = serving.server.as(key)
        await api.post(table)
        await untilBases(api, 0)
        disk.fill(4_200_000)
        const failed = await untilWithPuts('a base that fails', api, async () =>
          (await value('base_failing')) === 1 ? await value('bases_total') : undefined,
        )
        const said = serving.log.filter(({ message }) => message === 'a base of the archive could not be made')
        expect(said).toEqual([expect.objectContaining({ cause: expect.stringMatching(/a base needs .* are free/) })])
        for (let i = 0; i < 5; i++) await ledger.put(api, table)
        const lateMs = Date.now()
        await Bun.sleep(5)
        await ledger.put(api, table)
        await until('the archive to go on', async () =>
          (await verified(1, archive)).ranges[0]!.toMs > lateMs ? true : undefined,
        )
        expect(await value('bases_total')).toBe(failed)
        const restored = join(dir, 'late')
        const done = await cubby('backup', 'restore', '--from', archive, '--at', String(lateMs), '--data', restored)
        expect(done).toMatchObject({ exitCode: 0, stderr: '' })
        disk.free()
        await untilBases(api, failed)
        expect([await value('base_failing'), await value('failing'), await value('gaps_total')]).toEqual([0, 0, 0])
        expect(failures()).toEqual([])
        expect(await verified(1, archive)).toMatchObject({ gaps: [], findings: [] })
        expect(await serving.end()).toBe(0)
      })

      test('removes what is older than --archive-keep first', async () => {
        serving = serve('--archive-keep', '2s')
        await serving.ready
        const api = serving.server.as(key)
        // A base has 7 MB then, and the server leaves 4 MB free. There is room for it as soon as an older one is removed.
        for (let i = 0; i < 80; i++) await ledger.put(api, table, 80_000)
        let bases = await value('bases_total')
        // The first may have begun before all of them were put.
        for (let i = 0; i < 3; i++) bases = await untilBases(api, bases)
        disk.fill(6_000_000)
        for (let i = 0; i < 2; i++) bases = await untilBases(api, bases)
        expect(await value('gaps_total')).toBe(0)
        expect(failures()).toEqual([])
        const { gaps, findings, ranges } = await verified(1, archive)
        expect({ gaps, findings }).toEqual({ gaps: [], findings: [] })
        expect(Date.now() - ranges[0]!.fromMs).toBeGreaterThanOrEqual(2_000)
        disk.free()
      })
    })
  },
)

// Its files stay open, so everything could still be written, and nobody would find it.
describe.skipIf(!storeIsEmbedded())('a directory of the archive', () => {
  const dir = makeTempDir()
  const archive = join(dir, 'archive')
  const away = join(dir, 'away')
  const ledger = new Ledger()
  let server: Server
  let api: Api
  const failures = () => server.log.filter(({ message }) => message === 'the archive failed')
  const untilFailures = (count: number) =>
    until(`${count} failures in the log`, () => (failures().length >= count ? failures().at(-1) : undefined))
  const faultsAt = async (place: string, atMs: number) => {
    const { stderr, keys } = await restoreAt(place, atMs)
    return { stderr, faults: ledger.faults(keys, atMs) }
  }
  beforeAll(async () => {
    server = await startServer({ args: ['--archive', archive, ...metricsOn], clock: true })
    api = server.as((await server.createOrganization('acme')).secretKey)
    await api.post(table)
    await ledger.put(api, table)
    await untilRanges(archive, 1)
    await untilArchived(archive)
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  test('that vanishes is a failure, also without a write; when it is back a new base begins', async () => {
    renameSync(archive, away)
    expect(await untilFailures(1)).toMatchObject({ cause: `${archive} was replaced, removed or unmounted` })
    expect(await ledger.put(api, table)).toBe(true)
    await until('a try that fails', () => server.log.find(({ message }) => message === 'the archive still fails'))
    expect(existsSync(archive)).toBe(false)
    expect(sumOf(await scrape(server), 'cubby_archive_failing')).toBe(1)
    // It is tried again after a time that passes, whatever the clock shows.
    server.setClock(-3_600_000)
    renameSync(away, archive)
    await until('a try that works', () =>
      server.log.find(({ message }) => message.startsWith('the archive works again')),
    )
    server.setClock(0)
    const { gaps, findings } = await untilRanges(archive, 2)
    expect({ gaps, findings }).toEqual({
      gaps: [expect.objectContaining({ reason: `${archive} was replaced, removed or unmounted` })],
      findings: [],
    })
    const atMs = await untilArchived(archive)
    expect(await faultsAt(archive, atMs)).toEqual({ stderr: '', faults: [] })
    const metrics = await scrape(server)
    expect(['failing', 'gaps_total'].map((name) => sumOf(metrics, `cubby_archive_${name}`))).toEqual([0, 1])
  })

  test('that is replaced is a failure: the new one gets a base of its own, and the old one stays as it is', async () => {
    const before = await untilArchived(archive)
    renameSync(archive, away)
    mkdirSync(archive)
    await untilFailures(2)
    await untilRanges(archive, 1)
    await ledger.put(api, table)
    const atMs = await untilArchived(archive)
    expect(await verify(archive)).toMatchObject({ gaps: [], findings: [] })
    expect(await faultsAt(archive, atMs)).toEqual({ stderr: '', faults: [] })
    const old = await verify(away)
    expect([old.findings, old.ranges.length]).toEqual([[], 2])
    expect(await faultsAt(away, before)).toEqual({ stderr: '', faults: [] })
  })
})

const unmountable: SmallDisk | string = storeIsEmbedded()
  ? await mountSmallDisk(64 * 1_048_576)
  : 'the store is not on a disk of ours'

describe.skipIf(typeof unmountable === 'string')(
  `a disk of the archive that is unmounted${typeof unmountable === 'string' ? ` (skipped: ${unmountable})` : ''}`,
  () => {
    test('is a failure, also at a start; nothing is written where it was mounted, and a disk that is mounted there is used', async () => {
      const disk = unmountable as SmallDisk
      const dir = makeTempDir()
      const mount = async (...command: string[]) =>
        expect(await Bun.spawn([...disk.wrapper, ...command, disk.dir]).exited).toBe(0)
      try {
        // Its own directory on that disk, as an operator would have it: a start would create it.
        for (const archive of [disk.dir, join(disk.dir, 'archive')]) {
          const args = ['--no-bootstrap', '--archive', archive]
          const start = () => spawnServe({ dataDir: join(dir, basename(archive)), args, wrapper: disk.wrapper })
          const logged = (serving: ServeProcess, text: string) =>
            until(text, () => serving.log.find(({ message }) => message === text))
          const running = start()
          await running.ready
          await logged(running, 'a base of the archive is complete')
          await mount('umount', '--lazy')
          await logged(running, 'the archive failed')
          expect((await logged(running, 'the archive still fails')).cause).toContain('nothing is mounted')
          expect(readdirSync(disk.dir)).toEqual([])
          expect(await running.end()).toBe(0)
          // Twice: the first of these starts must not forget it.
          for (let time = 0; time < 2; time++) {
            const again = start()
            await again.ready
            expect((await logged(again, 'the archive failed')).cause).toContain('nothing is mounted')
            expect(readdirSync(disk.dir)).toEqual([])
            if (time === 1) {
              await mount('mount', '-t', 'tmpfs', 'tmpfs')
              await logged(again, 'the archive works again; a new base begins')
              await logged(again, 'a base of the archive is complete')
            }
            expect(await again.end()).toBe(0)
          }
          await mount('umount', '--lazy')
          await mount('mount', '-t', 'tmpfs', 'tmpfs')
        }
      } finally {
        await disk.remove()
        removeTempDir(dir)
      }
    })
  },
)
