import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Api,
  type ApiResponse,
  eventually,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  type StartOptions,
  startServer,
  storeArguments,
  storeIsEmbedded,
} from '../harness.ts'
import { ok, refused } from '../http/service.ts'
import { S3TestServer } from './s3-test-server.ts'

// The place of the bytes as a server uses it. Without its checks, a server that was started with the wrong directory, or before
// a disk was mounted, would answer that all files are damaged, and write new bytes where other servers do not find them.

setDefaultTimeout(120_000)

const markName = 'cubby-files.mark'
const hourMs = 60 * 60_000
const unusable = 'the place of the files cannot be used; requests for files are answered with 503'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanUps.splice(0).reverse()) await clean()
})

const tempDir = (): string => {
  const dir = makeTempDir()
  cleanUps.push(() => removeTempDir(dir))
  return dir
}

interface Stage {
  server: Server
  api: Api
  place: string
}

const inPlace = '--no-small-files-in-store'

/** A server with one file, `cats/tom`, in the bucket `avatars`. It is small; its bytes are in the place unless `args` are given. */
const withFile = async (options: StartOptions = {}): Promise<Stage> => {
  const server = await startServer({ dataDir: tempDir(), args: [inPlace], ...options })
  cleanUps.push(() => server.stop())
  const api = server.as((await server.createOrganization()).secretKey)
  ok(await api.post('/v1/app/_buckets/avatars'), 201)
  ok(await api.post('/v1/app/notes'), 201)
  ok(await put(api, 'tom'))
  return { server, api, place: options.files ?? join(server.dataDir, 'files') }
}

const file = '/v1/app/_buckets/avatars/cats/tom'
const put = (api: Api, text: string, at = file): Promise<ApiResponse> =>
  api.put(at, text, { 'content-type': 'text/plain' })

/** The status and the text: `checkResponse` of the harness expects JSON. */
const get = async ({ server, api }: Pick<Stage, 'server' | 'api'>): Promise<[number, string]> => {
  const answer = await fetch(server.url + file, { headers: { authorization: `Bearer ${api.key}` } })
  return [answer.status, await answer.text()]
}

const code = (text: string): string => JSON.parse(text).error.code

const blobsIn = (place: string): string[] =>
  readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) => /\/[0-9a-f]{32}(\.part)?$/.test(name))

/** Starts on the store of a server that has ended; the exit code and what it printed. */
const startAgain = async ({ server }: Stage, ...args: string[]) => {
  const call = ['serve', ...storeArguments(server.dataDir), '--port', '0', '--no-bootstrap', ...args]
  return runCubby(call)
}

describe('the first upload', () => {
  test('makes the directory with its mark, for their owner alone; before it there is none', async () => {
    const server = await startServer({ dataDir: tempDir(), args: [inPlace] })
    cleanUps.push(() => server.stop())
    const api = server.as((await server.createOrganization()).secretKey)
    const place = join(server.dataDir, 'files')
    ok(await api.post('/v1/app/_buckets/avatars'), 201)
    expect(existsSync(place)).toBe(false)
    ok(await put(api, 'tom'))
    expect(readFileSync(join(place, markName), 'utf8').trim()).toMatch(/^[0-9a-f]{64}$/)
    expect(statSync(place).mode & 0o777).toBe(0o700)
    expect(blobsIn(place).length).toBe(1)
    expect(statSync(join(place, blobsIn(place)[0]!)).mode & 0o777).toBe(0o600)
  })

  test('marks the place also if the store keeps its bytes: a server does not start on another one', async () => {
    const stage = await withFile({ args: [] })
    expect([existsSync(join(stage.place, markName)), blobsIn(stage.place)]).toEqual([true, []])
    await stage.server.end('SIGTERM')
    const { exitCode, stderr } = await startAgain(stage, '--files', tempDir())
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('is not where the files of this store are')])
  })

  test('after a restart the place is the same one, also by CUBBY_FILES', async () => {
    const place = join(tempDir(), 'elsewhere')
    const stage = await withFile({ files: place })
    expect(stage.server.log.find(({ message }) => message === 'listening')).toMatchObject({ files: place })
    expect(existsSync(join(stage.server.dataDir, 'files'))).toBe(false)
    await stage.server.end('SIGTERM')
    const again = await startServer({ dataDir: stage.server.dataDir, files: null, env: { CUBBY_FILES: place } })
    cleanUps.push(() => again.stop())
    expect(await get({ server: again, api: again.as(stage.api.key) })).toEqual([200, 'tom'])
  })
})

describe('a server does not start, with one line and exit code 1', () => {
  for (const workers of [[], ['--workers', '2']]) {
    const name = workers.join(' ')
    test(`on a place without a mark although the store has one ${name}`, async () => {
      const stage = await withFile()
      await stage.server.end('SIGTERM')
      for (const other of [join(stage.server.dataDir, 'not-mounted'), tempDir()]) {
        const { exitCode, stdout, stderr } = await startAgain(stage, '--files', other, ...workers)
        expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
        expect(stderr.trim().split('\n')).toEqual([
          `cubby: ${other} is not where the files of this store are. It has no mark, and the store has files: their bytes are elsewhere. Give every process on a store the same --files; if it is right, check that its disk is mounted.`,
        ])
        // It must not look like a place afterwards.
        expect(existsSync(join(other, markName))).toBe(false)
      }
    })
  }

  test('on the place of another store', async () => {
    const [mine, theirs] = [await withFile(), await withFile()]
    await mine.server.end('SIGTERM')
    const { exitCode, stderr } = await startAgain(mine, '--files', theirs.place)
    expect(exitCode).toBe(1)
    expect(stderr).toContain(
      `${theirs.place} is not where the files of this store are. It has the mark of another store.`,
    )
    expect(stderr.trim().split('\n').length).toBe(1)
    expect(await get(theirs)).toEqual([200, 'tom'])
  })

  test('with a --files that cannot be one: exit code 2', async () => {
    for (const value of ['', 'ftp://me:hunter2@example.com/x', 'http://127.0.0.1/']) {
      const { exitCode, stderr } = await runCubby(['serve', '--data', tempDir(), '--port', '0', '--files', value])
      expect([value, exitCode]).toEqual([value, 2])
      expect(stderr).toMatch(
        /^cubby: --files [^\n]*; it takes a directory or s3:\/\/BUCKET\/PREFIX; see cubby serve --help\n$/,
      )
      expect(stderr).not.toContain('hunter2')
    }
  })
})

describe('a place that is not there', () => {
  test('while the server runs: 503 for bytes and one line in the log; tables work; it is used again when it is back', async () => {
    const stage = await withFile()
    const { server, api, place } = stage
    renameSync(place, `${place}.away`)
    for (let i = 0; i < 3; i++) {
      const [status, text] = await get(stage)
      expect([status, code(text)]).toEqual([503, 'unavailable'])
      refused(await put(api, 'new'), 503, 'unavailable')
    }
    ok(await api.get(`${file}?record=true`))
    ok(await api.put('/v1/app/notes', { hashKey: 'a', data: {} }))
    expect(existsSync(place)).toBe(false)
    renameSync(`${place}.away`, place)
    expect(await get(stage)).toEqual([200, 'tom'])
    ok(await put(api, 'new'))
    expect(await get(stage)).toEqual([200, 'new'])
    expect(server.log.filter(({ message }) => message === unusable).length).toBe(1)
  })

  test('at the start, but perhaps later: the server starts, says so, and uses it when it is there', async () => {
    const stage = await withFile()
    const { server, place } = stage
    await server.end('SIGTERM')
    renameSync(place, `${place}.away`)
    // Not absent: something else is there, as below a mount point that fails.
    writeFileSync(place, '')
    await server.start()
    expect((await get(stage))[0]).toBe(503)
    ok(await stage.api.get('/v1/app/notes'))
    expect(server.log.filter(({ message }) => message === unusable).length).toBe(1)
    rmSync(place)
    renameSync(`${place}.away`, place)
    expect(await get(stage)).toEqual([200, 'tom'])
  })

  test('replaced by another while the server runs: 503, and nothing is written there', async () => {
    const stage = await withFile()
    const { server, api, place } = stage
    renameSync(place, `${place}.away`)
    mkdirSync(place)
    for (let n = 0; n < 3; n++) refused(await put(api, 'new'), 503, 'unavailable')
    expect(readdirSync(place)).toEqual([])
    expect(server.log.filter(({ message }) => message === unusable)).toMatchObject([
      { cause: expect.stringContaining('has lost its mark') },
    ])
    rmSync(place, { recursive: true })
    renameSync(`${place}.away`, place)
    expect(await get(stage)).toEqual([200, 'tom'])
  })
})

describe('the sweep', () => {
  for (const args of [[inPlace], [inPlace, '--workers', '2']]) {
    if (args.length > 1 && process.platform !== 'linux') continue
    test(`removes replaced and removed bytes after an hour, not before ${args.join(' ')}`, async () => {
      const stage = await withFile({ clock: true, args })
      const { server, api, place } = stage
      const [first] = blobsIn(place)
      // Replaced ten minutes earlier: when its bytes are gone, the sweep has come by.
      const witness = `${file}-witness`
      ok(await put(api, 'witness', witness))
      const replaced = blobsIn(place).find((blob) => blob !== first)!
      ok(await put(api, 'witness anew', witness))
      server.setClock(10 * 60_000)
      ok(await put(api, 'new'))
      expect(blobsIn(place).length).toBe(4)
      server.setClock(hourMs + 9 * 60_000)
      await eventually('the sweep has come by', () => !blobsIn(place).includes(replaced) || undefined)
      expect(blobsIn(place)).toContain(first!)
      server.setClock(hourMs + 16 * 60_000)
      await eventually('the old bytes are gone', () => (blobsIn(place).length === 2 ? true : undefined))
      expect(blobsIn(place)).not.toContain(first)
      expect(await get(stage)).toEqual([200, 'new'])
      for (const at of [file, witness]) expect(ok(await api.delete(at))).toEqual({ deleted: true })
      server.setClock(2 * hourMs + 22 * 60_000)
      await eventually('all bytes are gone', () => (blobsIn(place).length === 0 ? true : undefined))
      expect(existsSync(join(place, markName))).toBe(true)
    })
  }

  test('does not run on a place that is not the store’s: nothing is forgotten, and it goes on when the place is back', async () => {
    const stage = await withFile({ clock: true })
    const { server, api, place } = stage
    ok(await api.delete(file))
    renameSync(place, `${place}.away`)
    server.setClock(hourMs + 6 * 60_000)
    await eventually('the sweep has tried', () =>
      server.log.find(({ message }) => message === 'bytes of files could not be removed; it is retried later'),
    )
    expect(blobsIn(`${place}.away`).length).toBe(1)
    renameSync(`${place}.away`, place)
    // A removal that failed is tried again after a while.
    server.setClock(3 * hourMs)
    await eventually('the bytes are gone', () => (blobsIn(place).length === 0 ? true : undefined))
  })
})

describe('--files s3://…', () => {
  test('is used as a directory is: uploads, reads, the sweep, the mark', async () => {
    const s3 = await S3TestServer.start()
    cleanUps.push(() => s3.stop())
    const files = `s3://${s3.bucket}/cubby`
    const stage = await withFile({ files, env: s3.env, clock: true, args: [] })
    const { server, api } = stage
    expect(server.log.find(({ message }) => message === 'listening')).toMatchObject({ files })
    expect(existsSync(join(server.dataDir, 'files'))).toBe(false)
    ok(await put(api, 'new'))
    expect(await get(stage)).toEqual([200, 'new'])
    const blobs = () => [...s3.objects.keys()].filter((key) => /\/[0-9a-f]{32}$/.test(key))
    expect(blobs().length).toBe(2)
    server.setClock(hourMs + 6 * 60_000)
    await eventually('the old bytes are removed', () => (blobs().length === 1 ? true : undefined))
    expect(await get(stage)).toEqual([200, 'new'])
    await server.end('SIGTERM')
    const wrong = await runCubby(
      ['serve', ...storeArguments(server.dataDir), '--port', '0', '--files', `s3://${s3.bucket}/other`],
      { env: s3.env },
    )
    expect(wrong.exitCode).toBe(1)
    expect(wrong.stderr).toMatch(/^cubby: s3:\/\/\S+\/other is not where the files of this store are[^\n]*\n$/)
    const unset = await startAgain(stage, '--files', files)
    expect(unset.exitCode).toBe(1)
    expect(unset.stderr).toMatch(/^cubby: --files s3:\/\/… needs AWS_\w+ in the environment[^\n]*\n$/)
    await server.start()
    expect(await get(stage)).toEqual([200, 'new'])
  })

  test('with --small-files-in-store a small file is no object, and is read without S3', async () => {
    const s3 = await S3TestServer.start()
    cleanUps.push(() => s3.stop())
    const files = `s3://${s3.bucket}/cubby`
    const stage = await withFile({ files, env: s3.env, args: ['--small-files-in-store'] })
    expect([...s3.objects.keys()]).toEqual([expect.stringMatching(/\/cubby-mark$/)])
    expect(await get(stage)).toEqual([200, 'tom'])
  })
})

describe('--files s3://… while S3 fails', () => {
  const outage = ['GET', 'HEAD', 'PUT', 'DELETE'].map((method) => ({
    ...{ method, times: Number.POSITIVE_INFINITY, answer: { status: 503, code: 'SlowDown' } },
  }))

  /** Without this, an outage of S3 would end the service of tables at the next start of a process. */
  const servesTablesOnly = async (stage: Stage): Promise<void> => {
    ok(await stage.api.put('/v1/app/notes', { hashKey: 'a', data: {} }))
    const [status, text] = await get(stage)
    expect([status, code(text)]).toEqual([503, 'unavailable'])
  }

  test('a server starts, says so and serves tables; files are served when S3 is back', async () => {
    const s3 = await S3TestServer.start()
    cleanUps.push(() => s3.stop())
    const stage = await withFile({ files: `s3://${s3.bucket}`, env: s3.env, args: [] })
    s3.faults = outage
    await stage.server.restart()
    await servesTablesOnly(stage)
    const lines = stage.server.log.filter(({ message }) => message === unusable)
    expect(lines[0]).toMatchObject({
      cause: expect.stringMatching(/^s3:\S+ cannot be used: .* failed \(503 SlowDown\)$/),
    })
    s3.faults = []
    expect(await get(stage)).toEqual([200, 'tom'])
    // Wrong settings do not become right by themselves.
    s3.faults = [{ method: 'GET', answer: { status: 403, code: 'AccessDenied' } }]
    await stage.server.end('SIGTERM')
    const call = ['serve', ...storeArguments(stage.server.dataDir), '--port', '0', '--files', `s3://${s3.bucket}`]
    const { exitCode, stderr } = await runCubby(call, { env: s3.env })
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^cubby: s3:\S+ cannot be used: access is denied .*\n$/),
    ])
  })

  test.skipIf(process.platform !== 'linux')('workers that end are replaced, and serve tables', async () => {
    const s3 = await S3TestServer.start()
    cleanUps.push(() => s3.stop())
    const stage = await withFile({ files: `s3://${s3.bucket}`, env: s3.env, args: ['--workers', '2'] })
    const { server } = stage
    const workers = (): string[] =>
      readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ')
    const old = workers()
    s3.faults = outage
    for (const pid of old) process.kill(Number(pid), 'SIGKILL')
    await eventually('a new worker that serves', async () =>
      (await stage.api.get('/v1/app/notes').catch(() => undefined))?.status === 200 ? true : undefined,
    )
    await eventually('two new workers', () =>
      workers().filter((pid) => !old.includes(pid)).length === 2 ? true : undefined,
    )
    await servesTablesOnly(stage)
    expect(server.log.filter(({ message }) => message === 'a worker ended; starting another').length).toBe(2)
    s3.faults = []
    expect(await get(stage)).toEqual([200, 'tom'])
  })
})

describe.skipIf(process.platform !== 'linux')('--workers 3', () => {
  test('an upload through one process is read through all; each checks the place by itself', async () => {
    const stage = await withFile({ args: [inPlace, '--workers', '3'] })
    for (let i = 0; i < 4; i++) {
      ok(await put(stage.api, `version ${i}`))
      // Each of these takes a connection of its own, and the system gives them to different processes.
      const reads = await Promise.all(Array.from({ length: 12 }, () => get(stage)))
      for (const read of reads) expect(read).toEqual([200, `version ${i}`])
    }
    expect(storeIsEmbedded() ? existsSync(join(stage.server.dataDir, 'files', markName)) : true).toBe(true)
  })
})
