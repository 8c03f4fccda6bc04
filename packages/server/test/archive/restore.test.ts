import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import {
  type Api,
  makeTempDir,
  type Organization,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import {
  endGeneration,
  Ledger,
  type Restored,
  restoreAt,
  untilArchived,
  untilRanges,
  type Verified,
  verify,
} from './ledger.ts'

// Without this promise a restore could miss what a caller was told is stored, or have what came after the accident that it
// is to undo. Writers note when each write was sent and answered; the server is killed in between, and the WAL begins anew.

setDefaultTimeout(process.env.CUBBY_TEST_ARCHIVE === 'full' ? 1_200_000 : 120_000)

const isFull = process.env.CUBBY_TEST_ARCHIVE === 'full'
const times = isFull ? 50 : 4
const kills = isFull ? 4 : 1
const workers = isFull ? ['1', '2'] : ['1']
const seed = Number(process.env.CUBBY_TEST_SEED ?? Date.now() % 1_000_000)

/** A small generator, so that a failure can be repeated. */
const random = (() => {
  let state = seed
  return (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
})()

describe.skipIf(!storeIsEmbedded()).each(workers)('restores to random times, with %s workers', (workerCount) => {
  const table = '/v1/app/ledger'
  const ledger = new Ledger()
  let server: Server
  let org: Organization
  let archive: string
  let found: Verified
  const api = (): Api => server.as(org.secretKey)

  beforeAll(async () => {
    archive = join(makeTempDir(), 'archive')
    server = await startServer({ args: ['--archive', archive, '--workers', workerCount] })
    org = await server.createOrganization('acme')
    expect((await api().post(table)).status).toBe(201)
    await untilRanges(archive, 1)
    for (let kill = 0; kill <= kills; kill++) {
      let stopped = false
      const writing = ledger.putUntil(api(), table, 4, () => stopped)
      await endGeneration(api(), table, server.dataDir)
      await Bun.sleep(300)
      if (kill === 0 || isFull) await endGeneration(api(), table, server.dataDir)
      // Some of the last commits are not archived yet, and one may be in flight.
      if (kill < kills) await server.kill()
      stopped = true
      await writing
      await Bun.sleep(200)
      if (kill < kills) await server.start()
    }
    await untilArchived(archive)
    found = await verify(archive)
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(join(archive, '..'))
  })

  test(`each of ${times} times is a prefix of the commits, as the ledger says (seed ${seed})`, async () => {
    expect(found.findings).toEqual([])
    expect(found.gaps).toEqual([])
    const [{ fromMs, toMs }] = found.ranges as [Verified['ranges'][0]]
    const all = (await restoreAt(archive, toMs)).keys
    expect(ledger.faults(all, toMs)).toEqual([])
    expect(all.length).toBeGreaterThan(100)
    for (let i = 0; i < times; i++) {
      const atMs = Math.round(fromMs + random() * (toMs - fromMs))
      const refused = unsure.exec((await check(atMs, all)).stderr)
      // A kill may take the times of the last commits with it. Both times that the refusal names can be restored.
      const nearest = refused === null ? [] : [Date.parse(refused[1]!), Date.parse(refused[2]!) + 1]
      for (const atMs of nearest) expect(await check(atMs, all)).toMatchObject({ exitCode: 0 })
    }
  })

  const unsure = /is within the last moments before a crash, .* restore at (\S+) or earlier, or after (\S+)\n$/

  const check = async (atMs: number, all: string[]): Promise<Restored> => {
    const restored = await restoreAt(archive, atMs)
    const { exitCode, stderr, keys } = restored
    if (unsure.test(stderr)) return restored
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(ledger.faults(keys, atMs)).toEqual([])
    expect(keys).toEqual(all.slice(0, keys.length))
    return restored
  }

  test('a restored directory is a store that serves', async () => {
    const [{ toMs }] = found.ranges as [Verified['ranges'][0]]
    const dir = makeTempDir()
    const data = join(dir, 'restored')
    const at = new Date(toMs).toISOString()
    const { exitCode, stdout } = await runCubby(['backup', 'restore', '--from', archive, '--at', at, '--data', data])
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 })
    expect(stdout).toMatch(/^restored .* as of .*Z: 1 organization, 1 table, [\d,]+ records, [\d.]+ MB, verified\n$/)
    const restored = await startServer({ dataDir: data })
    try {
      const record = (await restored.as(org.secretKey).get(`${table}/k0000001`)).body
      expect(record).toMatchObject({ hashKey: 'k0000001' })
      expect((await restored.as(org.secretKey).put(table, { hashKey: 'new', data: {} })).status).toBe(200)
      const again = await runCubby(['backup', 'restore', '--from', archive, '--at', at, '--data', data])
      expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('has a store') })
    } finally {
      await restored.stop()
      removeTempDir(dir)
    }
  })

  test('a time before the first base or after the end is refused, with the nearest one', async () => {
    const [{ fromMs }] = found.ranges as [Verified['ranges'][0]]
    const early = await restoreAt(archive, fromMs - 60_000)
    expect(early.exitCode).toBe(1)
    expect(early.stderr).toContain(`is before the first base; the first time that can be restored is `)
    expect(early.stderr).toContain(new Date(fromMs).toISOString())
    const late = await restoreAt(archive, '2999-01-01T00:00:00Z')
    expect(late.exitCode).toBe(1)
    expect(late.stderr).toContain('is after the end of the archive; the last time that can be restored is ')
  })
})
