import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  eventually,
  type Json,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { makeTable, ok, refused, type TestTable } from '../http/service.ts'

// A process keeps deleted files open, and SQLite continues to write to them. Writes acknowledged after that are lost when the
// process ends, and nobody would notice.

setDefaultTimeout(120_000)

const gone = 'files of the store were deleted, moved or replaced; nothing is served'
const back = 'the files of the store are back in their place'

let top = ''
let server: Server
let table: TestTable

const start = async (args: string[] = []): Promise<void> => {
  top = makeTempDir()
  server = await startServer({ dataDir: join(top, 'data'), args })
  const { secretKey } = await server.createOrganization('acme')
  table = await makeTable(server.as(secretKey))
  for (let i = 0; i < 20; i++) await table.put(`k${i}`, { i })
}

afterEach(async () => {
  if (top === '') return
  await server.stop()
  removeTempDir(top)
  top = ''
})

const lines = (message: string): Json[] => server.log.filter((line) => line.message === message)
const put = (hashKey: string) => table.tryPut({ hashKey, data: {} }, { connection: 'close' })

/** Polls until a put is refused, then expects every request to be. */
const expectNothingServed = async (): Promise<void> => {
  await eventually('a put to be refused', async () => ((await put('late')).status === 200 ? undefined : true))
  await eventually('every process to notice', () => (lines(gone).length === processes() ? true : undefined))
  for (let i = 0; i < 20; i++) {
    const error = refused(await put(`refused-${i}`), 503, 'unavailable')
    expect(error.message).toContain('nothing was applied')
    refused(await table.get('k1'), 503, 'unavailable')
    refused(await server.request('GET', '/readyz', { headers: { connection: 'close' } }), 503, 'unavailable')
  }
  refused(await table.api.post(`${table.path}/query`, { index: 't' }), 503, 'unavailable')
  refused(await table.api.get('/api/keys'), 503, 'unavailable')
  refused(await table.api.post('/v1/app/another'), 503, 'unavailable')
  ok(await server.request('GET', '/healthz'))
  expect(lines(gone)).toHaveLength(processes())
  for (const line of lines(gone)) {
    expect(line).toMatchObject({ level: 'error', file: expect.stringContaining(server.dataDir) })
    expect(line.hint).toContain('docs/recovering.md')
  }
}

let workers = 0
/** Each process on the store looks for itself. */
const processes = (): number => 1 + workers

const killWorkers = async (): Promise<void> => {
  const children = await Bun.file(`/proc/${server.pid}/task/${server.pid}/children`).text()
  for (const pid of children.trim().split(' ')) process.kill(Number(pid), 'SIGKILL')
}

const copyDirectory = (from: string, to: string): void => cpSync(from, to, { recursive: true })

const faults: [string, () => void][] = [
  ['the data directory is deleted', () => rmSync(server.dataDir, { recursive: true })],
  ['the data directory is renamed', () => renameSync(server.dataDir, join(top, 'away'))],
  ['cubby.db is deleted', () => rmSync(join(server.dataDir, 'cubby.db'))],
  ['cubby.db-wal is deleted', () => rmSync(join(server.dataDir, 'cubby.db-wal'))],
  ['cubby.db-shm is deleted', () => rmSync(join(server.dataDir, 'cubby.db-shm'))],
  [
    'the data directory is replaced by a copy',
    () => {
      copyDirectory(server.dataDir, join(top, 'copy'))
      renameSync(server.dataDir, join(top, 'away'))
      renameSync(join(top, 'copy'), server.dataDir)
    },
  ],
]

describe.skipIf(!storeIsEmbedded())(
  'a store whose files vanish under the server: nothing is acknowledged any more',
  () => {
    for (const [what, fault] of faults) {
      test(what, async () => {
        workers = 0
        await start()
        fault()
        await expectNothingServed()
        expect(await server.end('SIGTERM')).toBe(0)
        // Its end leaves what was put in the place of its files alone.
        if (what.includes('copy')) expect((await server.cubby('verify')).exitCode).toBe(0)
      })
    }

    for (const [what, fault] of faults.filter((_, i) => i === 0 || i === 3)) {
      test(`${what}, with --workers 2`, async () => {
        workers = 2
        await start(['--workers', '2'])
        fault()
        await expectNothingServed()
      })
    }

    test.skipIf(!existsSync('/proc/self/task'))(
      'a worker that starts later and finds the copy writes nothing either',
      async () => {
        workers = 2
        await start(['--workers', '2'])
        faults.at(-1)![1]()
        await expectNothingServed()
        const children = await Bun.file(`/proc/${server.pid}/task/${server.pid}/children`).text()
        for (const pid of children.trim().split(' ')) process.kill(Number(pid), 'SIGKILL')
        const answers = await eventually('other workers', async () => {
          const again = await Promise.all(Array.from({ length: 8 }, () => put('late').catch(() => undefined)))
          return again.every((answer) => answer !== undefined) ? again : undefined
        })
        for (const answer of answers) refused(answer!, 503, 'unavailable')
      },
    )

    test.skipIf(!existsSync('/proc/self/task'))(
      'a worker that starts later does not create an empty store in its place',
      async () => {
        workers = 2
        await start(['--workers', '2'])
        rmSync(join(server.dataDir, 'cubby.db'))
        await expectNothingServed()
        await killWorkers()
        await eventually('a worker that cannot start', () =>
          lines('a worker could not be started').length > 0 ? true : undefined,
        )
        expect(existsSync(join(server.dataDir, 'cubby.db'))).toBe(false)
      },
    )

    test('when the same files (not copies) are back, they are served again', async () => {
      workers = 0
      await start()
      renameSync(server.dataDir, join(top, 'away'))
      await expectNothingServed()
      renameSync(join(top, 'away'), server.dataDir)
      await eventually('a put to be taken', async () => ((await put('again')).status === 200 ? true : undefined))
      ok(await server.request('GET', '/readyz'))
      for (let i = 0; i < 20; i++) ok(await table.get(`k${i}`))
      await eventually('it says so', () => (lines(back).length > 0 ? true : undefined))
      expect([lines(gone).length, lines(back).length]).toEqual([1, 1])
      await server.restart()
      ok(await table.get('again'))
      expect((await server.cubby('verify')).exitCode).toBe(0)
    })

    test('only the log deleted: a stop still copies it, and nothing that was acknowledged is lost', async () => {
      workers = 0
      await start()
      rmSync(join(server.dataDir, 'cubby.db-wal'))
      await expectNothingServed()
      await server.restart()
      for (let i = 0; i < 20; i++) ok(await table.get(`k${i}`))
      expect((await server.cubby('verify')).exitCode).toBe(0)
    })

    test.skipIf(!existsSync('/proc/self/fd'))('the open files of the process still have the store', async () => {
      workers = 0
      await start()
      rmSync(server.dataDir, { recursive: true })
      await expectNothingServed()
      const rescued = join(top, 'rescued')
      const listing = Bun.spawnSync(['ls', '-l', `/proc/${server.pid}/fd`]).stdout.toString()
      for (const name of ['cubby.db', 'cubby.db-wal']) {
        const number = new RegExp(`(\\d+) -> ${join(server.dataDir, name)} \\(deleted\\)`).exec(listing)![1]
        cpSync(`/proc/${server.pid}/fd/${number}`, join(rescued, name), { dereference: true })
      }
      const db = new Database(join(rescued, 'cubby.db'))
      expect(db.query<{ n: number }, []>('SELECT count(*) AS n FROM records').get()!.n).toBeGreaterThanOrEqual(20)
      db.close()
    })
  },
)

test.skipIf(!storeIsEmbedded())(
  'normal use of a store is not reported: checkpoints, commands while the server is running',
  async () => {
    workers = 0
    await start()
    for (let i = 0; i < 40; i++) {
      const operations = Array.from({ length: 25 }, (_, n) => ({
        op: 'put',
        hashKey: `b${i}-${n}`,
        data: { text: 'x'.repeat(8_000) },
      }))
      ok(await table.api.post(`${table.path}/batch`, { operations }))
    }
    expect((await server.cubby('verify')).exitCode).toBe(0)
    expect((await server.cubby('backup', 'create', join(top, 'backup'))).exitCode).toBe(0)
    expect(lines(gone)).toEqual([])
    // The watch looks once a second. When it has seen the files leave and come back, it has found them as they are now.
    renameSync(server.dataDir, join(top, 'away'))
    await eventually('it notices', () => (lines(gone).length > 0 ? true : undefined))
    renameSync(join(top, 'away'), server.dataDir)
    await eventually('it finds them', () => (lines(back).length > 0 ? true : undefined))
    ok(await put('still'))
    expect([lines(gone).length, lines(back).length]).toEqual([1, 1])
  },
)
