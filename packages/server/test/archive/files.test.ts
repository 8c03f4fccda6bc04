import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { makeTempDir, removeTempDir, runCubby, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { TestBucket } from '../http/bucket.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { until, untilRanges } from './ledger.ts'

// A restored record of a file is worth nothing without its bytes, which nobody refers to any more since the file was replaced.

setDefaultTimeout(120_000)

/** Chunked: the bytes of a small file with a declared length are in the store. */
const inPlace = { chunked: true }
const hourMs = 3_600_000

describe.skipIf(!storeIsEmbedded())('the bytes of files', () => {
  let server: Server
  const dir = makeTempDir()
  const archive = join(dir, 'archive')
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  test('are kept for --archive-keep, copied by a restore, and swept after that', async () => {
    server = await startServer({ args: ['--archive', archive, '--archive-keep', '2d', ...metricsOn], clock: true })
    const org = await server.createOrganization('acme')
    const api = server.as(org.secretKey)
    const bucket = new TestBucket(api, 'docs')
    expect((await api.post(bucket.path)).status).toBe(201)
    await untilRanges(archive, 1)
    await bucket.put('a.txt', 'the first text', inPlace)
    await Bun.sleep(20)
    const atMs = Date.now()
    await Bun.sleep(20)
    await bucket.put('a.txt', 'the second text', inPlace)
    const files = join(server.dataDir, 'files')
    const blobs = (): string[] => [...new Bun.Glob('*/*/*').scanSync(files)].sort()
    expect(blobs()).toHaveLength(2)

    // Without the archive these bytes would be swept an hour after the file was replaced.
    server.setClock(30 * hourMs)
    await bucket.put('b.txt', 'b', inPlace)
    await bucket.delete('b.txt')

    const data = join(dir, 'restored')
    const command = ['backup', 'restore', '--from', archive, '--at', String(atMs), '--data', data]
    const asked = await runCubby(command)
    expect(asked.exitCode).toBe(1)
    expect(asked.stderr).toContain('the store of that time has files: give the place of the bytes')
    const { exitCode, stdout, stderr } = await runCubby([...command, '--files', files])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain('1 bucket, 1 file (0.0 MB, 1 copied)')
    const restored = await startServer({ dataDir: data })
    try {
      const answer = await fetch(`${restored.url}${bucket.at('a.txt')}`, {
        headers: { authorization: `Bearer ${org.secretKey}` },
      })
      expect(await answer.text()).toBe('the first text')
    } finally {
      await restored.stop()
    }
    expect((await runCubby(['verify', '--data', data, '--bytes'])).exitCode).toBe(0)

    // The sweep, which looks every 200 ms, has come by several times during these commands.
    expect(blobs()).toHaveLength(3)
    // They do not wait for the sweep: an alert on its lag must not fire while the archive keeps them.
    expect(sumOf(await scrape(server), 'cubby_sweep_lag_seconds', { sweep: 'files' })).toBe(0)
    server.setClock(50 * hourMs)
    await until('the first bytes to be swept', () => (blobs().length === 2 ? true : undefined))
  })
})
