import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { Ledger, tablePath, untilCopied } from './writers.ts'

// SQLite does not checkpoint into a database file that was truncated. That is damage, not a failed sync: nothing was copied,
// so the WAL still has all pages, and the next start could not recover either.

setDefaultTimeout(120_000)

/** Waits until no reader is left that would make the next commit append to the WAL. */
const untilRestarted = async (file: string): Promise<void> => {
  const beside = new Database(file)
  const restart = beside.prepare<{ busy: number }, []>('PRAGMA wal_checkpoint(RESTART)')
  await eventually('the WAL begins anew', () => restart.get()!.busy === 0 || undefined)
  restart.finalize()
  beside.close()
}

describe.skipIf(!storeIsEmbedded())('a checkpoint that meets damage', () => {
  let dataDir = ''
  let server: Server

  afterEach(async () => {
    await server.stop()
    removeTempDir(dataDir)
  })

  test('is reported as damage: the process continues, and verify and a restart work', async () => {
    dataDir = makeTempDir()
    const file = join(dataDir, 'cubby.db')
    server = await startServer({ dataDir, args: ['--no-mmap'] })
    const api = server.as((await server.createOrganization()).secretKey)
    expect((await api.post(tablePath)).status).toBe(201)
    await new Ledger().fill(api)
    await eventually('most is copied', () => (statSync(file).size > 25e6 ? true : undefined))
    await untilCopied(dataDir)
    // SQLite notices it if more is missing than the WAL holds, copied pages included: the next commit must begin it anew.
    await untilRestarted(file)
    truncateSync(file, Math.floor(statSync(file).size / 16_384) * 4_096)
    const operations = (batch: number) =>
      Array.from({ length: 20 }, (_, i) => ({
        op: 'put',
        hashKey: `new-${batch}-${i}`,
        data: { text: 'y'.repeat(4_000) },
      }))
    for (let batch = 0; batch < 100; batch++) {
      expect((await api.post(`${tablePath}/batch`, { operations: operations(batch) })).status).toBe(200)
    }
    const damaged = () => server.log.filter(({ message }) => message === 'the store is damaged')
    await eventually('a checkpoint meets it', () => (damaged().length > 0 ? true : undefined))
    expect(damaged()).toHaveLength(1)
    expect(damaged()[0].cause).toContain('checkpoint: SQLITE_CORRUPT')
    expect((await server.request('GET', '/readyz')).status).toBe(503)
    expect((await api.get(`${tablePath}/new-0-0`)).status).toBe(200)
    expect((await api.put(tablePath, { hashKey: 'after', data: {} })).status).toBe(200)
    expect(existsSync(join(dataDir, 'sync-failed'))).toBe(false)
    expect((await server.cubby('verify')).stderr).toContain('damaged tables: app/disks')
    await server.restart()
    expect((await server.as(api.key).get(`${tablePath}/after`)).status).toBe(200)
  })
})
