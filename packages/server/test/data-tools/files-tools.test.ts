import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  closeSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { filesBelow } from '../files/blob-fixture.ts'
import { S3TestServer } from '../files/s3-test-server.ts'
import {
  type Api,
  eventually,
  type Json,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { makeBucket, sha256, TestBucket } from '../http/bucket.ts'
import { ok } from '../http/service.ts'
import { asClient, asOperator, expectDone, parseLines, runCommand, startCommand } from './commands.ts'

// A backup that forgets the bytes of one file looks whole until the day it is needed.

setDefaultTimeout(120_000)

const markName = 'cubby-files.mark'
const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanUps.splice(0).reverse()) await clean()
})
const tempDir = (): string => {
  const dir = makeTempDir()
  cleanUps.push(() => removeTempDir(dir))
  return dir
}

const blobsIn = (place: string): string[] => filesBelow(place).filter((name) => /\/[0-9a-f]{32}(\.part)?$/.test(name))

/** The path of the blob with these bytes. */
const blobWith = (place: string, bytes: string | Uint8Array): string => {
  const wanted = sha256(bytes)
  const found = blobsIn(place).find((name) => sha256(readFileSync(join(place, name))) === wanted)
  if (found === undefined) throw new Error('no blob has these bytes')
  return join(place, found)
}

const expectRefused = async (args: string[], said: string | RegExp): Promise<void> => {
  const { exitCode, stdout, stderr } = await runCommand(args)
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  expect(stderr).toMatch(said)
}

describe.skipIf(!storeIsEmbedded())('a store with files', () => {
  const large = Buffer.alloc(300_000, 'large ')
  const contents: Record<string, string | Uint8Array> = {
    'cats/tom.png': 'the picture of tom',
    'ünï/ \u202ex.txt': 'odd name',
    empty: '',
    'large.bin': large,
    'public.txt': 'for everybody',
    'in the store': 'a small file with a declared length',
  }
  /** The bytes of all others are in the place: chunked, whatever their size. */
  const optionsOf = (name: string) => ({
    query: name === 'public.txt' ? { visibility: 'public' } : undefined,
    chunked: name !== 'in the store',
  })
  let dir: string
  let server: Server
  let org: Organization
  let place: string
  let file: string
  let permanentUrl: string
  let signedUrl: string

  beforeAll(async () => {
    dir = makeTempDir()
    server = await startServer({ dataDir: join(dir, 'data'), args: ['--small-files-in-store'] })
    org = await server.createOrganization('acme')
    const api = server.as(org.secretKey)
    ok(await api.post('/v1/app/notes'), 201)
    ok(await api.put('/v1/app/notes', { hashKey: 'a', data: {} }))
    const bucket = await makeBucket(api, 'photos')
    for (const [name, bytes] of Object.entries(contents)) {
      await bucket.put(name, bytes, optionsOf(name))
    }
    const dropped = await makeBucket(api, 'dropped')
    await dropped.put('kept', 'in a deleted bucket', { chunked: true })
    ok(await api.delete(dropped.path))
    const url = async (name: string): Promise<string> => ok(await api.post(`${bucket.path}/url`, { name })).url
    permanentUrl = await url('public.txt')
    signedUrl = await url('cats/tom.png')
    place = join(server.dataDir, 'files')
    file = join(dir, 'store.backup')
    const { exitCode, stdout, stderr } = await runCommand(['backup', 'create', file, '--data', server.dataDir])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(
      /store\.backup: 1 organization, 1 table, 1 record, 2 buckets, 7 files \(0\.3 MB, 6 copied\), [\d.]+ MB, verified\n$/,
    )
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  /** A copy of the backup that a test may change. */
  const copyOfBackup = (): string => {
    const copy = join(tempDir(), 'store.backup')
    cpSync(file, copy)
    cpSync(`${file}.files`, `${copy}.files`, { recursive: true })
    return copy
  }

  const expectAllServed = async (api: Api, from: string): Promise<void> => {
    const bucket = new TestBucket(api, 'photos')
    const { items } = await bucket.query()
    expect(items.map(({ name }: Json) => name).sort()).toEqual(Object.keys(contents).sort())
    for (const [name, bytes] of Object.entries(contents)) {
      expect([name, sha256(await bucket.read(name))]).toEqual([name, sha256(bytes)])
    }
    for (const url of [permanentUrl, signedUrl]) {
      const { pathname, search } = new URL(url)
      const answer = await fetch(from + pathname + search)
      expect([answer.status, await answer.text()]).toEqual([
        200,
        String(url === signedUrl ? contents['cats/tom.png'] : contents['public.txt']),
      ])
    }
    ok(await api.post('/v1/app/_buckets/dropped/restore'))
    expect(await new TestBucket(api, 'dropped').read('kept')).toBe('in a deleted bucket')
  }

  describe('cubby verify', () => {
    const verify = (...more: string[]) => runCommand(['verify', '--data', server.dataDir, ...more])

    test('finds it sound', async () => {
      const sound = { exitCode: 0, stdout: `ok: ${server.dataDir} is sound\n`, stderr: '' }
      expect(await verify('--bytes')).toEqual(sound)
    })

    // Each damage is of another file, so that one call finds all of them.
    test('names files whose bytes are missing or of another size; with --bytes also those with a flipped byte', async () => {
      const flip = (path: string): void => {
        const bytes = readFileSync(path)
        bytes[bytes.length - 1]! ^= 1
        writeFileSync(path, bytes)
      }
      const damages: [string | Uint8Array, (path: string) => void][] = [
        ['the picture of tom', (path) => rmSync(path)],
        [large, (path) => truncateSync(path, 299_999)],
        ['', (path) => writeFileSync(path, 'x')],
        ['for everybody', flip],
        ['in a deleted bucket', flip],
      ]
      const blobs = damages.map(([bytes, damage]) => ({ path: blobWith(place, bytes), bytes, damage }))
      for (const { path, damage } of blobs) damage(path)
      const findings = async (
        ...more: string[]
      ): Promise<{ exitCode: number; findings: string[]; tables: string[] }> => {
        const { exitCode, stdout } = await verify('--json', ...more)
        const { findings, summary } = JSON.parse(stdout)
        const tables = summary.tables.map(({ db, table }: Json) => `${db}/${table}`)
        return { exitCode, findings: findings.sort(), tables: tables.sort() }
      }
      try {
        const bySize = [
          /^file "cats\/tom\.png" of app\/photos: its bytes are not in .*files \(blob [0-9a-f]{32}\)$/,
          /^file "empty" of app\/photos: it has 0 bytes, but blob [0-9a-f]{32} has 1$/,
          /^file "large\.bin" of app\/photos: it has 300000 bytes, but blob [0-9a-f]{32} has 299999$/,
        ].map((line) => expect.stringMatching(line))
        expect(await findings()).toEqual({ exitCode: 1, findings: bySize, tables: ['app/photos'] })
        const flipped = [
          /^file "kept" of app\/dropped: its bytes in .* are not those that were uploaded/,
          /^file "public\.txt" of app\/photos: its bytes in .* are not those that were uploaded/,
        ].map((line) => expect.stringMatching(line))
        expect(await findings('--bytes')).toEqual({
          exitCode: 1,
          findings: [...bySize.slice(0, 2), flipped[0], bySize[2], flipped[1]],
          tables: ['app/dropped', 'app/photos'],
        })
      } finally {
        for (const { path, bytes } of blobs) writeFileSync(path, bytes)
      }
    })

    test('a place that is not there: one finding', async () => {
      const other = join(dir, 'nowhere')
      const { exitCode, stdout } = await verify('--files', other)
      expect(exitCode).toBe(1)
      expect(stdout).toStartWith(`files: ${other} is not where the files of this store are. It has no mark`)
      expect(existsSync(other)).toBe(false)
    })

    // The list of files is of one moment. Bytes that are replaced after it must not be missed.
    test('beside uploads, replacements and removals: sound', async () => {
      const bucket = await makeBucket(server.as(org.secretKey), 'busy')
      let stopped = false
      let writes = 0
      const write = async (name: string): Promise<void> => {
        while (!stopped) {
          await bucket.put(name, `${name} ${writes++}`)
          if (writes % 3 === 0) ok(await bucket.delete(name))
        }
      }
      const writing = Promise.all(['a', 'b', 'c'].map(write))
      try {
        for (let i = 0; i < 2; i++) expect((await verify('--bytes')).stdout).toStartWith('ok: ')
      } finally {
        stopped = true
        await writing
        // Tests after this one count files: none of these is left, whoever wrote last.
        for (const name of ['a', 'b', 'c']) await bucket.delete(name)
        expect((await bucket.query()).items).toEqual([])
        ok(await bucket.api.delete(bucket.path))
      }
      expect(writes).toBeGreaterThan(20)
    })
  })

  describe('its backup', () => {
    test('has the bytes beside it, for their owner alone', () => {
      expect(blobsIn(`${file}.files`).length).toBe(6)
      expect(readFileSync(join(`${file}.files`, markName), 'utf8')).toBe(readFileSync(join(place, markName), 'utf8'))
      for (const name of blobsIn(`${file}.files`)) {
        expect(statSync(join(`${file}.files`, name)).mode & 0o777).toBe(0o600)
      }
      expect(statSync(`${file}.files`).mode & 0o777).toBe(0o700)
    })

    test('restored is sound and serves every file; permanent and signed URLs still work', async () => {
      const data = join(tempDir(), 'restored')
      const { exitCode, stdout } = await runCommand(['backup', 'restore', file, '--data', data, '--json'])
      expect(exitCode).toBe(0)
      const fileBytes = Object.values(contents).reduce((sum, bytes) => sum + Buffer.byteLength(bytes), 0)
      expect(JSON.parse(stdout)).toMatchObject({ data, tables: 1, records: 1, buckets: 2, files: 7, filesCopied: 6 })
      expect(JSON.parse(stdout).fileBytes).toBe(fileBytes + 'in a deleted bucket'.length)
      expect((await runCommand(['verify', '--bytes', '--data', data])).stdout).toStartWith('ok: ')
      const restored = await startServer({ dataDir: data })
      cleanUps.push(() => restored.stop())
      const api = restored.as(org.secretKey)
      await expectAllServed(api, restored.url)
      await new TestBucket(api, 'photos').put('new', 'after it')
    })

    test('bytes that are there already are not copied again', async () => {
      const next = join(dir, 'next.backup')
      const name = blobsIn(`${file}.files`)[0]!
      // As cp -rl does, for one of them; the mark is not needed for it.
      mkdirSync(dirname(join(`${next}.files`, name)), { recursive: true })
      linkSync(join(`${file}.files`, name), join(`${next}.files`, name))
      const made = JSON.parse(
        await expectDone(['backup', 'create', next, '--data', server.dataDir, '--json', '--files', place]),
      )
      // One was there already, and one is in the store.
      expect(made).toMatchObject({ files: made.files, filesCopied: made.files - 2 })
      expect(statSync(join(`${next}.files`, name)).ino).toBe(statSync(join(`${file}.files`, name)).ino)
      expect(blobsIn(`${next}.files`).length).toBe(made.files - 1)
      expect((await runCommand(['backup', 'restore', next, '--data', join(tempDir(), 'r')])).exitCode).toBe(0)
    })

    test('to standard output: refused, unless the bytes are left out on purpose', async () => {
      await expectRefused(
        ['backup', 'create', '-', '--data', server.dataDir],
        /the store has files: standard output has no room for the bytes of its files; write to a FILE, or leave them out with --without-files/,
      )
      const stream = join(tempDir(), 'stream')
      const main = join(import.meta.dir, '../../src/main.ts')
      const { exitCode, stderr } = Bun.spawnSync(
        [
          'sh',
          '-c',
          `"$0" "${main}" backup create - --without-files --data "$1" > "$2"`,
          process.execPath,
          server.dataDir,
          stream,
        ],
        { stderr: 'pipe' },
      )
      expect([exitCode, stderr.toString()]).toEqual([0, expect.stringContaining('files without their bytes')])
      const data = join(tempDir(), 'restored')
      const restore = (...more: string[]) =>
        runCommand(['backup', 'restore', '-', '--data', data, ...more], { stdin: readFileSync(stream) })
      const refused = await restore()
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('--without-files')])
      expect(existsSync(data)).toBe(false)
      expect((await restore('--without-files')).exitCode).toBe(0)
    })

    test('without its bytes: refused, nothing made', async () => {
      const copy = join(tempDir(), 'store.backup')
      cpSync(file, copy)
      const data = join(tempDir(), 'restored')
      await expectRefused(
        ['backup', 'restore', copy, '--data', data],
        /there is no directory .*store\.backup\.files with the bytes of files; --without-files leaves them out/,
      )
      expect(existsSync(data)).toBe(false)
      expect(await expectDone(['backup', 'verify', copy])).toMatch(/ files? without their bytes, .* verified\n$/)
      mkdirSync(`${copy}.files`)
      await expectRefused(['backup', 'restore', copy, '--data', data], /store\.backup\.files has no mark/)
      await expectRefused(['backup', 'verify', copy], /store\.backup\.files has no mark/)
    })

    test('one file is missing or changed: refused, the file is named; no store is made', async () => {
      expect(await expectDone(['backup', 'verify', copyOfBackup()])).toMatch(/ files \([\d.]+ MB\), .* verified\n$/)
      const damages: ((path: string) => void)[] = [
        (path) => rmSync(path),
        (path) => writeFileSync(path, 'THE picture of tom'),
      ]
      for (const damage of damages) {
        const copy = copyOfBackup()
        damage(blobWith(`${copy}.files`, 'the picture of tom'))
        await expectRefused(['backup', 'verify', copy], /file "cats\/tom\.png" of app\/photos: its bytes/)
        const data = join(tempDir(), 'restored')
        await expectRefused(
          ['backup', 'restore', copy, '--data', data],
          /file "cats\/tom\.png" of app\/photos: its bytes/,
        )
        expect(existsSync(join(data, 'cubby.db'))).toBe(false)
        // The files that were copied before stay whole: a second try continues.
        expect(blobsIn(join(data, 'files')).filter((name) => name.endsWith('.part'))).toEqual([])
      }
    })

    test('the bytes of another store: refused for both, and they stay as they are', async () => {
      const copy = copyOfBackup()
      // A place of another store has another mark, and blobs of its own.
      writeFileSync(join(`${copy}.files`, markName), `${'5'.repeat(32)}\n`)
      rmSync(blobWith(`${copy}.files`, 'for everybody'))
      const before = blobsIn(`${copy}.files`)
      const data = join(tempDir(), 'restored')
      const said = /\.files has the files of another store/
      await expectRefused(['backup', 'restore', copy, '--data', data], said)
      expect(existsSync(data)).toBe(false)
      rmSync(copy)
      await expectRefused(['backup', 'create', copy, '--data', server.dataDir], said)
      expect(existsSync(copy)).toBe(false)
      expect(existsSync(`${copy}.tmp`)).toBe(false)
      expect(blobsIn(`${copy}.files`)).toEqual(before)
    })
  })

  describe('cubby export', () => {
    const note = 'records of tables only: 1 bucket of app left out, see --help\n'

    test('covers the records of tables only and says so, from a server and from the store', async () => {
      const out = join(tempDir(), 'app.ndjson')
      const ways = [
        { args: asOperator(server.dataDir, org), env: {} },
        { args: [], env: asClient(server, org) },
      ]
      for (const { args, env } of ways) {
        const { exitCode, stdout, stderr } = await runCommand(
          ['export', '--db', 'app', '--out', out, '--force', ...args],
          { env },
        )
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: note })
        expect(stdout).toContain('exported 1 record ')
        expect(parseLines(readFileSync(out, 'utf8')).map(({ table }) => table)).toEqual(['notes', 'notes'])
      }
      const one = await runCommand(['export', '--db', 'app', '--table', 'notes'], { env: asClient(server, org) })
      expect(one.stderr).not.toContain('left out')
    })
  })
})

// Without the hold, bytes that were replaced after the backup began could be swept away before they are copied.
describe.skipIf(!storeIsEmbedded())('a backup that is slow', () => {
  test('holds the sweep: what was replaced meanwhile is in it', async () => {
    const hourMs = 60 * 60_000
    const dir = tempDir()
    const server = await startServer({ dataDir: join(dir, 'data'), clock: true })
    cleanUps.push(() => server.stop())
    const place = join(server.dataDir, 'files')
    // The sweep looks every 200 ms, and what is removed at this time is due now, by the clock of the command.
    server.setClock(-2 * hourMs)
    const org = await server.createOrganization()
    const bucket = await makeBucket(server.as(org.secretKey), 'photos')
    // To open a named pipe waits for its writer, and of an empty file nothing is read: eight of them fill all places of
    // the copy.
    for (let i = 0; i < 8; i++) await bucket.put(`blocker ${i}`, '', { chunked: true })
    const pipes = blobsIn(place).map((name) => join(place, name))
    expect(pipes.length).toBe(8)
    for (const path of pipes) {
      rmSync(path)
      expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0)
    }
    await bucket.put('tom', 'the old picture', { chunked: true })
    const old = blobWith(place, 'the old picture')

    const file = join(dir, 'store.backup')
    const backup = startCommand(['backup', 'create', file, '--data', server.dataDir])
    let descriptors: number[] = []
    try {
      await eventually('the copy of the files has begun', () =>
        existsSync(join(`${file}.files`, markName)) ? true : undefined,
      )
      await bucket.put('tom', 'the new picture', { chunked: true })
      server.setClock(0)
      // Two rounds of the sweep.
      await Bun.sleep(400)
      expect(existsSync(old)).toBe(true)
    } finally {
      // For reading too: it does not wait then.
      descriptors = pipes.map((path) => openSync(path, 'r+'))
    }
    const { exitCode, stderr } = await backup.result
    for (const descriptor of descriptors) closeSync(descriptor)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    blobWith(`${file}.files`, 'the old picture')
    // Without the hold it is swept: the clock is that of this test.
    server.setClock(20 * 60_000)
    await eventually('the old bytes are swept once the hold has run out', () => (existsSync(old) ? undefined : true))

    const data = join(dir, 'restored')
    await expectDone(['backup', 'restore', file, '--data', data])
    const restored = await startServer({ dataDir: data })
    cleanUps.push(() => restored.stop())
    expect(await new TestBucket(restored.as(org.secretKey), 'photos').read('tom')).toBe('the old picture')
  })
})

describe.skipIf(!storeIsEmbedded())('a store whose files are on S3', () => {
  test('is verified, backed up into a directory, and restored to a directory and to S3', async () => {
    const s3 = await S3TestServer.start()
    cleanUps.push(() => s3.stop())
    const [dir, at] = [tempDir(), `s3://${s3.bucket}/live`]
    const env = s3.env
    const server = await startServer({ dataDir: join(dir, 'data'), files: at, env })
    cleanUps.push(() => server.stop())
    const org = await server.createOrganization()
    const bucket = await makeBucket(server.as(org.secretKey), 'photos')
    await bucket.put('tom', 'the picture of tom', { chunked: true })
    const store = ['--data', server.dataDir, '--files', at]
    expect(await expectDone(['verify', ...store, '--bytes'], { env })).toStartWith('ok: ')
    const file = join(dir, 'store.backup')
    await expectDone(['backup', 'create', file, ...store], { env })
    blobWith(`${file}.files`, 'the picture of tom')
    await expectDone(['backup', 'restore', file, '--data', join(dir, 'here')])
    blobWith(join(dir, 'here/files'), 'the picture of tom')
    const elsewhere = ['--data', join(dir, 'there'), '--files', `s3://${s3.bucket}/restored`]
    await expectDone(['backup', 'restore', file, ...elsewhere], { env })
    expect(await expectDone(['verify', ...elsewhere, '--bytes'], { env })).toStartWith('ok: ')
  })
})
