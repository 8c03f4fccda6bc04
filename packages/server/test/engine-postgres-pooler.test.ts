import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { StoreRefused } from '../src/core/store-refused.ts'
import { shareConnections } from '../src/engines/postgres/connection/connect.ts'
import { PipelineFailure, type Session } from '../src/engines/postgres/connection/driver.ts'
import { toCallersError } from '../src/engines/postgres/connection/failure.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { endAllServing, spawnServe } from './cli/serve-process.ts'
import { makeFixture } from './conformance/fixture.ts'
import { freePort, type PostgresServer, startPostgres } from './postgres-server.ts'
import { findPgBouncer } from './tools.ts'

// Behind a pooler in transaction mode a session's settings and statements are those of somebody else. Unnoticed, the first
// requests would fail with an error that says nothing of a pooler, and a put would be answered before it is synced.

setDefaultTimeout(120_000)

const whatToDo = 'give the direct port of the database, or one of the pooler in session mode'

describe('without a pooler to try it on', () => {
  test('a statement that is there before it was prepared, or is not there afterwards, tells of a pooler', () => {
    for (const sqlState of ['42P05', '26000']) {
      const message = 'prepared statement "begin" already exists'
      const told = toCallersError(new PipelineFailure(message, { sqlState, sent: true, executed: false }), true)
      expect(told).toBeInstanceOf(StoreRefused)
      expect((told as Error).message).toContain(whatToDo)
    }
  })

  test('two sessions share connections if they are one process of the server, or one of them is two', async () => {
    const session = (...ids: string[]) => ({ run: async () => [[ids.shift()!]] }) as unknown as Session
    expect(await shareConnections(session('7', '7'), session('8'))).toBe(false)
    expect(await shareConnections(session('7', '7'), session('7'))).toBe(true)
    expect(await shareConnections(session('7', '8'), session('9'))).toBe(true)
  })
})

const pgbouncer = findPgBouncer()
if (pgbouncer === null) console.warn('engine-postgres-pooler: skipped in part, because there is no pgbouncer here')

describe.skipIf(pgbouncer === null)('behind PgBouncer', () => {
  let server: PostgresServer
  let folder = ''
  const poolers: Bun.Subprocess[] = []

  beforeAll(async () => {
    server = await startPostgres({ auth: 'password' })
    folder = mkdtempSync(join(tmpdir(), 'cubby-pgbouncer-'))
  }, 120_000)

  afterAll(async () => {
    await endAllServing()
    for (const pooler of poolers) {
      pooler.kill('SIGKILL')
      await pooler.exited
    }
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  /** The URL of a new database through a pooler of its own. */
  const startPooler = async (mode: 'session' | 'transaction', setting = ''): Promise<string> => {
    const database = new URL(await server.createDatabase()).pathname.slice(1)
    const port = await freePort()
    const file = join(folder, `${mode}-${port}.ini`)
    writeFileSync(
      file,
      `[databases]
* = host=127.0.0.1 port=${server.port} user=postgres password='${server.password}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
${setting}
`,
    )
    // It refuses to run as root.
    const asRoot = userInfo().uid === 0
    if (asRoot) {
      const { uid, gid } = statSync(server.directory)
      for (const path of [folder, file]) chownSync(path, uid, gid)
    }
    const pooler = Bun.spawn([pgbouncer!, ...(asRoot ? ['-u', 'postgres'] : []), file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    poolers.push(pooler)
    const url = `postgres://postgres@127.0.0.1:${port}/${database}`
    for (let attempt = 1; ; attempt++) {
      try {
        await server.query('select 1', url)
        return url
      } catch (error) {
        if (attempt >= 100 || pooler.exitCode !== null) throw error
        await Bun.sleep(50)
      }
    }
  }

  test('in transaction mode the server does not start, and says what to do', async () => {
    const store = await startPooler('transaction')
    const serving = spawnServe({ dataDir: folder, bare: true, args: ['--store', store, '--port', '0'] })
    expect(await serving.exited).toBe(1)
    expect(serving.stderr).toMatch(/^cubby: [^\n]+\n$/)
    expect(serving.stderr).toContain(whatToDo)
    expect(await server.query(`select to_regclass('cubby_store') as made`, store)).toEqual([{ made: null }])
  })

  test('in transaction mode with connections in rotation, no start goes through', async () => {
    const store = await startPooler('transaction', 'server_round_robin = 1')
    // Two connections to the server are open, of transactions that ran at once.
    await Promise.all(Array.from({ length: 2 }, () => server.query('select pg_sleep(0.3)', store)))
    const starts: string[] = []
    for (let i = 0; i < 8; i++) {
      const opening = openPostgresEngine({ url: store })
      starts.push(
        await opening.then(
          (engine) => engine.close().then(() => 'opened'),
          (error: Error) => error.message,
        ),
      )
    }
    expect(starts.filter((said) => !said.includes(whatToDo))).toEqual([])
  })

  test('in transaction mode a call that meets another’s statements is told so, should the start not have noticed', async () => {
    const engine = await openPostgresEngine({
      url: await startPooler('transaction'),
      refusesPooler: false,
    })
    const calls = Array.from({ length: 50 }, (_, i) => engine.organizations.find(`org ${i}`))
    const refused = (await Promise.allSettled(calls)).flatMap((call) =>
      call.status === 'rejected' ? [call.reason] : [],
    )
    await engine.close()
    expect(refused.length).toBeGreaterThan(0)
    for (const reason of refused) {
      expect(reason).toBeInstanceOf(StoreRefused)
      expect(reason.message).toContain(whatToDo)
    }
  })

  test('in session mode all is well', async () => {
    const engine = await openPostgresEngine({ url: await startPooler('session'), leaseMs: 20 })
    const { put, get } = await makeFixture(engine)
    await Promise.all(Array.from({ length: 50 }, (_, i) => put(`k${i}`)))
    expect((await get('k7'))?.data).toBe('{}')
    await engine.close()
  })
})
