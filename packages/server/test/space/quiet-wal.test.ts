import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { Connection } from '../../src/engines/sqlite/connection.ts'
import { prepareStore } from '../../src/engines/sqlite/migrations/prepare-store.ts'
import { eventually, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { FilledTable, walBytes } from './filled-table.ts'

// The WAL kept its largest size until the server ended: after an import, three times the size of the data.

setDefaultTimeout(60_000)

/** Ten seconds in a server that is not tested. */
const idleMs = 500
const soon = { waitMsMax: 30_000 }

test('an attempt to give the WAL back waits for no reader', async () => {
  const dir = makeTempDir()
  const path = join(dir, 'cubby.db')
  await prepareStore(path, { isHolder: true })
  const [db, reader] = [new Connection(path, 1_024), new Connection(path, 1_024)]
  const isEmpty = () => walBytes(dir) === 0
  try {
    db.run('CREATE TABLE filler (text TEXT)')
    reader.run('BEGIN')
    reader.prepare('SELECT count(*) FROM filler').get()
    // If it waited, it would be for longer than this test may take.
    db.run('PRAGMA busy_timeout = 120000')
    expect([db.checkpoint(), db.truncateWal(), isEmpty()]).toEqual([undefined, undefined, false])
    // Other statements wait as before.
    expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: 5_000 })
    reader.run('COMMIT')
    expect([db.truncateWal(), isEmpty()]).toEqual([undefined, true])
  } finally {
    reader.close()
    db.close()
    removeTempDir(dir)
  }
})

describe.skipIf(!storeIsEmbedded())('the WAL of a quiet store', () => {
  let server: Server
  afterEach(async () => {
    await server.stop()
  })

  const start = async (...args: string[]): Promise<FilledTable> => {
    server = await startServer({ args, env: { NODE_ENV: 'test', CUBBY_TEST_IDLE_MS: String(idleMs) } })
    return FilledTable.make(server.as((await server.createOrganization()).secretKey), 1_000)
  }
  const isEmpty = () => (walBytes(server.dataDir) === 0 ? true : undefined)

  for (const workers of [1, 2]) {
    test(`is given back, with ${workers} serving ${workers === 1 ? 'process' : 'processes'}, while reads go on`, async () => {
      const filled = await start('--workers', String(workers))
      let reads = 0
      let done = false
      const reading = (async () => {
        for (; !done; reads++) expect(await filled.faultOf(reads % 1_000)).toBeUndefined()
      })()
      await eventually('the WAL is empty', isEmpty, soon)
      done = true
      await reading
      expect(reads).toBeGreaterThan(0)
      expect(await filled.faults()).toEqual([])
      // And again after the next write, however small.
      let isAdded = false
      let walBytesMost = 0
      const adding = filled.add(1_000, 1).finally(() => {
        isAdded = true
      })
      // Looked at while the write is answered: a busy machine may be away for longer than the idle time afterwards.
      for (; !isAdded; await Bun.sleep(1)) walBytesMost = Math.max(walBytesMost, walBytes(server.dataDir))
      await adding
      expect(Math.max(walBytesMost, walBytes(server.dataDir))).toBeGreaterThan(0)
      await eventually('the WAL is empty again', isEmpty, soon)
      await server.restart('SIGKILL')
      expect(await filled.faults()).toEqual([])
    })
  }

  test('stays while another process reads from it, and writes go on; then it is given back', async () => {
    const filled = await start()
    const beside = new Database(join(server.dataDir, 'cubby.db'), { readwrite: true })
    const read = beside.prepare<{ n: number }, []>('SELECT count(*) AS n FROM records')
    beside.run('BEGIN')
    const { n } = read.get()!
    await filled.add(1_000, 25)
    await Bun.sleep(2 * idleMs)
    expect(walBytes(server.dataDir)).toBeGreaterThan(0)
    // The server has tried by now. A write is not held, and the reader still sees what it saw.
    await filled.add(1_025, 25)
    expect(read.get()!.n).toBe(n)
    expect(n).toBe(1_000)
    beside.run('COMMIT')
    read.finalize()
    beside.close(true)
    await eventually('the WAL is empty', isEmpty, soon)
    expect(await filled.faults()).toEqual([])
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
  })
})
