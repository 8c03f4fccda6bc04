import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Api, eventually, makeTempDir, removeTempDir, runCubby, Server, startServer } from '../harness.ts'
import { Shim, whyNoShim } from './shim.ts'
import { Ledger, tablePath, untilCopied } from './writers.ts'

// A kernel that cannot write a page of cubby.db reports it once, at the next sync, and drops the page. A server that then
// retries loses writes that were acknowledged long ago, and nobody notices.

setDefaultTimeout(120_000)

const reason = whyNoShim()
if (reason !== undefined) console.log(`tests of failing disks are skipped: ${reason}`)

const holdStore = fileURLToPath(new URL('./hold-store.ts', import.meta.url))
const ended = 'the disk failed: ending without closing the store, exit 1'
const waiting = 'the disk failed in the last run; waiting until no other process has the store open'
const recovered = 'recovered after a failed disk: the whole of cubby.db-wal is in cubby.db'

describe.skipIf(reason !== undefined)('a failed disk', () => {
  let dataDir: string
  let shim: Shim
  let server: Server
  let key: string
  let guest: Bun.Subprocess<'pipe', 'pipe', 'inherit'> | undefined

  beforeEach(() => {
    dataDir = makeTempDir()
    shim = new Shim()
    guest = undefined
  })
  afterEach(async () => {
    guest?.kill('SIGKILL')
    await server.stop()
    shim.remove()
    removeTempDir(dataDir)
  })

  const mark = () => existsSync(join(dataDir, 'sync-failed'))
  const walBytes = () => statSync(join(dataDir, 'cubby.db-wal')).size
  const dbBytes = () => statSync(join(dataDir, 'cubby.db')).size
  const logged = (message: string) => server.log.filter((entry) => entry.message === message)

  const startOnShim = async (...args: string[]): Promise<Api> => {
    server = await startServer({ dataDir, args, env: shim.env })
    key = (await server.createOrganization()).secretKey
    const api = server.as(key)
    expect((await api.post(tablePath)).status).toBe(201)
    return api
  }

  /** Another process that has the store open until the test ends it. */
  const startGuest = async (): Promise<void> => {
    guest = Bun.spawn([process.execPath, holdStore, dataDir], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
    const { value } = await guest.stdout.getReader().read()
    expect(Buffer.from(value!).toString()).toBe('open\n')
  }

  const startWithoutShim = async (): Promise<Api> => {
    server = await startServer({ dataDir })
    return server.as(key)
  }

  /** The first version of every record is in the database file, and nothing else is on its way there. */
  const fillStore = async (api: Api, ledger: Ledger): Promise<void> => {
    await ledger.fill(api)
    await untilCopied(dataDir)
  }

  /**
   * A checkpoint during commits loses its pages, and the first sync after it fails once. With `pause`, writes then pause, so
   * that the remaining pages are checkpointed and synced. Otherwise they continue until a WAL reset is due.
   */
  const losePages = async (api: Api, { pause = true } = {}): Promise<Ledger> => {
    const ledger = new Ledger()
    await fillStore(api, ledger)
    shim.set('dropDbWrites', 1)
    let done = false
    const running = ledger.overwrite(api, () => done)
    const soon = { pauseMs: 50, waitMsMax: 60_000 }
    await eventually('a checkpoint loses its pages', () => (shim.get('dropped') > 0 ? true : undefined), soon)
    const more = ledger.batches + 200
    const written = eventually('more pages to copy', () => (ledger.batches > more ? true : undefined), soon)
    // Writers that end early have met an error: on a busy machine they may pause for so long that the sync comes, and fails.
    const endedBySync = (): void => expect([ledger.batches > more, shim.get('failing') > 0]).toContain(true)
    await Promise.race([written, running.then(endedBySync)])
    done = pause
    await running
    return ledger
  }

  const expectEnded = async (): Promise<void> => {
    expect(await server.exited).toBe(1)
    expect(logged(ended)).toHaveLength(1)
    expect(logged(ended)[0]).toMatchObject({
      level: 'error',
      cause: expect.stringMatching(/./),
      next: expect.stringMatching(/Start the server again/),
    })
    expect(mark()).toBe(true)
    expect(walBytes()).toBeGreaterThan(1e6)
  }

  for (const [whose, which] of [
    ['when writes pause', { pause: true }],
    ['under load', { pause: false }],
  ] as const) {
    test(
      `a failed sync ${whose} ends the process, and a restart has all that was acknowledged`,
      async () => {
        const ledger = await losePages(await startOnShim(), which)
        await expectEnded()
        const api = await startWithoutShim()
        expect(await ledger.faults(api)).toEqual([])
        expect(ledger.size).toBe(6_400)
        expect(logged(recovered)).toHaveLength(1)
        expect(mark()).toBe(false)
        expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
        // On a slow disk the failure may be met before the test has lost what it means to lose.
      },
      { retry: 2 },
    )
  }

  // Three syncs can be the first to see the failure: SQLite's sync in the checkpoint thread, our sync before a WAL reset, and
  // SQLite's sync when the writer resets the WAL.
  for (const [whose, failOnly, pause, cause] of [
    ['in the checkpoint thread', 1, true, /^checkpoint: SQLITE_IOERR/],
    ['ahead of a WAL reset', 2, true, /^sync of cubby.db: EIO/],
    ['of a WAL reset', 1, false, /^checkpoint: SQLITE_IOERR/],
  ] as const) {
    test(`a failed sync ${whose} ends the process`, async () => {
      const api = await startOnShim()
      const ledger = new Ledger()
      await fillStore(api, ledger)
      shim.set('failOnly', failOnly)
      shim.set('failDbSyncs', 1)
      await ledger.overwrite(api, () => pause && ledger.batches > 900)
      await expectEnded()
      expect(logged(ended)[0].cause).toMatch(cause)
      expect(await ledger.faults(await startWithoutShim())).toEqual([])
    })
  }

  test('with a guest that has the store open the start waits for it, and says so', async () => {
    const api = await startOnShim()
    await startGuest()
    const ledger = await losePages(api)
    await expectEnded()

    server = new Server({ dataDir })
    const starting = server.start()
    await eventually('the start waits', () => (logged(waiting).length > 0 ? true : undefined))
    expect(logged(waiting)[0].processes.join()).toStartWith(`${guest!.pid} (`)
    const { exitCode, stderr } = await runCubby(['orgs', 'list', '--data', dataDir])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/^cubby: [^\n]*start the server first[^\n]*\n$/),
    })
    expect(logged('listening')).toEqual([])
    guest!.stdin.end()
    expect(await guest!.exited).toBe(0)
    await starting
    expect(await ledger.faults(server.as(key))).toEqual([])
    expect(logged(recovered)).toHaveLength(1)
    expect(mark()).toBe(false)
  })

  // The two syncs that can run when the server gets a stop signal: SQLite's in the checkpoint thread, and ours.
  for (const [whose, failOnly] of [
    ["SQLite's", 1],
    ['our own', 2],
  ] as const) {
    test(`a sync (${whose}) that fails while the server stops ends it the same way`, async () => {
      const api = await startOnShim()
      await startGuest()
      const ledger = new Ledger()
      await fillStore(api, ledger)
      shim.set('failedSyncMs', 1_000)
      shim.set('failOnly', failOnly)
      shim.set('failDbSyncs', 1)
      await ledger.overwrite(api, () => ledger.batches > 900)
      await eventually('a sync is about to fail', () => (shim.get('failing') > 0 ? true : undefined))
      expect(await server.end('SIGTERM')).toBe(1)
      await expectEnded()
    })
  }

  test('pages that were lost before a stop are kept if a guest has the store open', async () => {
    const api = await startOnShim()
    await startGuest()
    shim.set('failedSyncMs', 1_000)
    const ledger = await losePages(api)
    await eventually('a sync is about to fail', () => (shim.get('failing') > 0 ? true : undefined))
    expect(await server.end('SIGTERM')).toBe(1)
    server = new Server({ dataDir })
    const starting = server.start()
    await eventually('the start waits', () => (logged(waiting).length > 0 ? true : undefined))
    guest!.stdin.end()
    await starting
    expect(await ledger.faults(server.as(key))).toEqual([])
  })

  test('a guest that ends before the start leaves the WAL as it is', async () => {
    const api = await startOnShim()
    await startGuest()
    const ledger = await losePages(api)
    await expectEnded()
    const before = walBytes()
    guest!.stdin.end()
    expect(await guest!.exited).toBe(0)
    expect(walBytes()).toBe(before)
    expect(await ledger.faults(await startWithoutShim())).toEqual([])
  })

  test('with workers the owner ends, the workers with it, and a restart has all that was acknowledged', async () => {
    const api = await startOnShim('--workers', '2')
    const workers = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number)
    expect(workers).toHaveLength(2)
    const ledger = await losePages(api)
    await expectEnded()
    await eventually('the workers end', () =>
      workers.some((pid) => existsSync(`/proc/${pid}/fd/0`)) ? undefined : true,
    )
    expect(walBytes()).toBeGreaterThan(1e6)
    server = await startServer({ dataDir, args: ['--workers', '2'] })
    expect(await ledger.faults(server.as(key))).toEqual([])
    expect(logged(recovered)).toHaveLength(1)
  })

  test('a start that cannot copy the WAL is refused in one line and leaves the mark', async () => {
    const ledger = await losePages(await startOnShim())
    await expectEnded()
    shim.set('failDbSyncs', 1_000)
    const { exitCode, stderr } = await runCubby(['serve', '--data', dataDir, '--port', '0'], { env: shim.env })
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/^cubby: [^\n]*could not be copied[^\n]*\n$/),
    })
    expect(mark()).toBe(true)
    expect(walBytes()).toBeGreaterThan(1e6)
    expect(await ledger.faults(await startWithoutShim())).toEqual([])
  })

  test('a checkpoint for which the disk is full is logged and repeated', async () => {
    const api = await startOnShim()
    const ledger = new Ledger()
    shim.set('fullDbWrites', 1)
    await ledger.fill(api)
    await eventually('a checkpoint fails', () => (logged('checkpoint failed').length > 0 ? true : undefined))
    expect(logged('checkpoint failed')[0].cause).toContain('SQLITE_FULL')
    expect((await api.put(tablePath, { hashKey: 'after', data: {} })).status).toBe(200)
    await eventually('the next one copies', () => (dbBytes() > 25e6 ? true : undefined))
    expect(await ledger.faults(api)).toEqual([])
    expect(mark()).toBe(false)
  })

  for (const args of [[], ['--workers', '2']]) {
    test(`a commit that cannot be synced: outcome_unknown, then exit 1 ${args.join(' ')}`, async () => {
      const api = await startOnShim(...args)
      const put = (hashKey: string) => api.put(tablePath, { hashKey, data: {} })
      expect((await put('before')).status).toBe(200)
      // The failing sync takes so long that the server has accepted every request by then: only those are promised an answer.
      shim.set('failedSyncMs', 1_000)
      shim.set('failWalSyncs', 1)
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => put(`k${i}`)))
      const codes = answers.map((answer) => answer.body.error?.code)
      expect(codes).toContain('outcome_unknown')
      // Those that were not in the failed commit were not applied.
      expect(new Set(codes).difference(new Set(['outcome_unknown', 'unavailable'])).size).toBe(0)
      expect(await server.exited).toBe(1)
      expect(logged(ended)).toHaveLength(1)
      expect(mark()).toBe(true)
      const again = await startWithoutShim()
      expect((await again.get(`${tablePath}/before`)).status).toBe(200)
      for (const [i, code] of codes.entries()) {
        if (code === 'unavailable') expect((await again.get(`${tablePath}/k${i}`)).status).toBe(404)
      }
      expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
    })
  }

  test('requests that wait for a run are answered before the process ends', async () => {
    const api = await startOnShim()
    expect((await api.put('/v1/app/_tasks/pull', {})).status).toBe(201)
    const { body: run } = await api.post('/v1/app/_tasks/pull/run', { delaySeconds: 60 })
    const wait = api.get(`/v1/app/_tasks/pull/runs/${run.id}?waitSeconds=20`)
    await Bun.sleep(200)
    shim.set('failWalSyncs', 1)
    await api.put(tablePath, { hashKey: 'a', data: {} })
    expect(await wait).toMatchObject({ status: 200, body: { id: run.id, status: 'queued' } })
    expect(await server.exited).toBe(1)
    expect(logged(ended)).toHaveLength(1)
  })

  test('the mark is there before the answers to a failed commit have left', async () => {
    const api = await startOnShim('--workers', '2')
    shim.set('failWalSyncs', 1)
    const answer = await api.put(tablePath, { hashKey: 'a', data: {} })
    expect(answer.body.error.code).toBe('outcome_unknown')
    expect(mark()).toBe(true)
    expect(await server.exited).toBe(1)
  })

  test('a commit for which the disk is full: 507, and the next one is applied', async () => {
    const api = await startOnShim()
    const put = (hashKey: string) => api.put(tablePath, { hashKey, data: {} })
    // The very first record: its ids are reserved in the commit that fails.
    shim.set('fullWalWrites', 1)
    expect((await put('a')).body.error.code).toBe('storage_full')
    expect((await put('b')).status).toBe(200)
    expect((await api.get(`${tablePath}/a`)).status).toBe(404)
    expect((await api.get(`${tablePath}/b`)).status).toBe(200)
    // A run that the failed commit would have handed out is handed out by the next one.
    expect((await api.put('/v1/app/_tasks/pull', {})).status).toBe(201)
    const { body: run } = await api.post('/v1/app/_tasks/pull/run', {})
    shim.set('fullWalWrites', 1)
    expect((await api.post('/v1/app/_tasks/pull/claim')).body.error.code).toBe('storage_full')
    expect((await api.post('/v1/app/_tasks/pull/claim')).body.runs).toMatchObject([{ id: run.id, attempt: 1 }])
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
    expect(mark()).toBe(false)
  })

  test('a claim that cannot be synced is outcome_unknown; whether or not it was applied, the run comes back', async () => {
    const api = await startOnShim()
    expect((await api.put('/v1/app/_tasks/pull', { leaseSeconds: 1, backoffSeconds: 1 })).status).toBe(201)
    const { body: run } = await api.post('/v1/app/_tasks/pull/run', {})
    shim.set('failWalSyncs', 1)
    expect((await api.post('/v1/app/_tasks/pull/claim')).body.error.code).toBe('outcome_unknown')
    expect(await server.exited).toBe(1)
    const again = await startWithoutShim()
    const [claimed] = (await again.post('/v1/app/_tasks/pull/claim', { waitSeconds: 20, leaseSeconds: 30 })).body.runs
    expect(claimed).toMatchObject({ id: run.id })
    const done = await again.post(`/v1/app/_tasks/pull/runs/${run.id}/finish`, { lease: claimed.lease })
    expect(done).toMatchObject({ status: 200, body: { status: 'succeeded' } })
  })
})
