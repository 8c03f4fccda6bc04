import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileData } from '../src/core/files/file-record.ts'
import { checkFiles } from '../src/operations/transfer/copy-files.ts'
import { startCommand } from './data-tools/commands.ts'
import { filesBelow } from './files/blob-fixture.ts'
import { eventually, makeTempDir, removeTempDir, runCubby, startServer, storeIsEmbedded } from './harness.ts'
import { makeBucket, sha256, TestBucket } from './http/bucket.ts'
import { ok } from './http/service.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

setDefaultTimeout(120_000)

// A store with files moves with their bytes. A record whose bytes stayed behind is a file that is lost.

const contents: Record<string, string> = {
  'first.txt': 'first',
  'public.txt': 'for everybody',
  'large.bin': 'large '.repeat(60_000),
  'last.txt': 'last',
  'in the store': 'a small file with a declared length',
  // This file is written last, and so copied last.
  empty: '',
}
const fileCount = Object.keys(contents).length
/** The bytes of all others are in the place: chunked, whatever their size. */
const inPlaceCount = fileCount - 1

const blobsIn = (place: string): string[] => filesBelow(place).filter((name) => /\/[0-9a-f]{32}$/.test(name))

test('verify --bytes finds a file whose bytes agree with its SHA-256 and not with its CRC-32, which downloads rely on', async () => {
  const bytes = Buffer.from('bytes')
  const content = {
    size: 5,
    contentType: 'text/plain',
    visibility: 'public',
    blob: '0'.repeat(32),
    metadata: '{}',
  } as const
  const crc32 = Bun.hash.crc32(bytes)
  const datas = [crc32, crc32 + 1, undefined].map((crc32) => fileData({ ...content, sha256: sha256(bytes), crc32 }))
  const dump = {
    async *tables() {
      yield { id: 1, kind: 'bucket', db: 'app', name: 'b' }
    },
    async *records() {
      yield datas.map((data, i) => ({ rangeKey: `f${i}`, data }))
    },
  }
  const place = { description: 'a place', size: async () => 5, read: async () => [bytes] }
  const findings: string[] = []
  await checkFiles(dump as never, place as never, true, ({ line }) => findings.push(line))
  expect(findings).toEqual([
    expect.stringContaining('file "f1" of app/b: its bytes in a place are not those that were uploaded'),
  ])
})

describe.skipIf(!storeIsEmbedded())('cubby copy of a store with files', () => {
  let postgres: SharedPostgres
  let url: string
  let dir: string
  let source: string
  let place: string
  let secretKey: string
  const urls: Record<string, string> = {}

  beforeAll(async () => {
    postgres = await sharedPostgres()
    url = await postgres.createSchema()
    dir = makeTempDir()
    source = join(dir, 'source')
    place = join(dir, 'place')
    const server = await startServer({ dataDir: source, args: ['--small-files-in-store'] })
    secretKey = (await server.createOrganization('first')).secretKey
    const bucket = await makeBucket(server.as(secretKey), 'photos')
    for (const [name, bytes] of Object.entries(contents)) {
      const query = name === 'public.txt' ? { visibility: 'public' } : undefined
      await bucket.put(name, bytes, { query, chunked: name !== 'in the store' })
    }
    for (const name of ['public.txt', 'first.txt']) {
      const { pathname, search } = new URL(ok(await bucket.api.post(`${bucket.path}/url`, { name })).url)
      urls[name] = pathname + search
    }
    await server.end('SIGTERM')
  })
  afterAll(async () => {
    await postgres?.remove()
    removeTempDir(dir)
  })

  const copy = (from: string, to: string, ...more: string[]) => runCubby(['copy', '--from', from, '--to', to, ...more])

  const expectServed = async (options: Parameters<typeof startServer>[0]): Promise<void> => {
    const server = await startServer(options)
    try {
      const bucket = new TestBucket(server.as(secretKey), 'photos')
      expect((await bucket.names()).sort()).toEqual(Object.keys(contents).sort())
      for (const [name, bytes] of Object.entries(contents)) {
        expect([name, sha256(await bucket.read(name))]).toEqual([name, sha256(bytes)])
      }
      for (const [name, target] of Object.entries(urls)) {
        const answer = await fetch(server.url + target)
        expect([name, answer.status, await answer.text()]).toEqual([name, 200, contents[name]!])
      }
      // It is the place of this store: new files go there too.
      await bucket.put('new', 'new')
      ok(await bucket.delete('new'))
    } finally {
      await server.end('SIGTERM')
    }
  }

  test('needs a place for the bytes: one line, exit 2, the target stays empty', async () => {
    const refused = await copy(source, url)
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toStartWith('cubby: the source has files; give the place for their copies with --files; see')
    const listed = await runCubby(['orgs', 'list', '--store', url, '--json'])
    expect(JSON.parse(listed.stdout)).toMatchObject({ organizations: [] })
  })

  test('to PostgreSQL: equal, sound, and served with its URLs', async () => {
    const there = await copy(source, url, '--files', place, '--json')
    expect(JSON.parse(there.stdout)).toEqual({
      ok: true,
      records: 0,
      tasks: 0,
      runs: 0,
      files: fileCount,
      differences: [],
    })
    expect(blobsIn(place).length).toBe(inPlaceCount)
    const verified = await runCubby(['verify', '--store', url, '--files', place, '--bytes'])
    expect([verified.exitCode, verified.stderr]).toEqual([0, ''])
    await expectServed({ store: url, files: place })
  })

  test('verify on PostgreSQL: says that bytes were not checked without --files, and finds a changed byte', async () => {
    const unchecked = await runCubby(['verify', '--store', url])
    expect([unchecked.exitCode, unchecked.stderr]).toEqual([
      0,
      'cubby: the bytes of files were not checked: give their place with --files\n',
    ])
    const blob = blobsIn(place)
      .map((name) => join(place, name))
      .find((path) => readFileSync(path, 'utf8') === 'last')!
    writeFileSync(blob, 'lAst')
    const args = ['verify', '--store', url, '--files', place]
    expect((await runCubby(args)).exitCode).toBe(0)
    const { exitCode, stdout } = await runCubby([...args, '--bytes'])
    writeFileSync(blob, 'last')
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^file "last\.txt" of app\/photos: its bytes in .* are not those that were uploaded/)
  })

  test('from PostgreSQL back to a data directory', async () => {
    const back = join(dir, 'back')
    const { exitCode, stdout } = await copy(url, back, '--files', place)
    expect(exitCode).toBe(0)
    expect(stdout).toContain(`and ${fileCount} files\ncompared: the two stores are equal`)
    expect((await runCubby(['verify', '--data', back, '--bytes'])).exitCode).toBe(0)
    await expectServed({ dataDir: back })
  })

  test('between two PostgreSQL: --from-files and --files; another place of the source is refused', async () => {
    const [target, otherBlobStore] = [await postgres.createSchema(), join(dir, 'other-place')]
    const wrong = await copy(url, target, '--from-files', join(dir, 'nowhere'), '--files', otherBlobStore)
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      1,
      expect.stringContaining('is not where the files of this store are'),
    ])
    const missing = await copy(url, target, '--files', otherBlobStore)
    expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining('--from-files')])
    const done = await copy(url, target, '--from-files', place, '--files', otherBlobStore)
    expect([done.exitCode, done.stderr]).toEqual([0, ''])
    expect(blobsIn(otherBlobStore).length).toBe(inPlaceCount)
  })

  test('interrupted: the target has no record yet; --resume continues and copies nothing twice', async () => {
    const target = join(dir, 'resumed')
    const files = join(source, 'files')
    // The opening of a named pipe waits for a writer: the copy stops there.
    const pipe = blobsIn(files)
      .map((name) => join(files, name))
      .find((path) => statSync(path).size === 0)!
    rmSync(pipe)
    expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0)
    const child = startCommand(['copy', '--from', source, '--to', target])
    let copied: string[]
    try {
      copied = await eventually('the other files are copied', () => {
        const names = blobsIn(join(target, 'files'))
        return names.length === inPlaceCount - 1 ? names : undefined
      })
    } finally {
      child.kill('SIGKILL')
      await child.result.catch(() => {})
      rmSync(pipe)
      writeFileSync(pipe, '')
    }
    const inodes = (): number[] => copied.map((name) => statSync(join(target, 'files', name)).ino)
    const before = inodes()
    expect(JSON.parse((await runCubby(['orgs', 'list', '--data', target, '--json'])).stdout).organizations).toEqual([])
    const rest = await copy(source, target, '--resume', '--json')
    expect(JSON.parse(rest.stdout)).toEqual({
      ok: true,
      records: 0,
      tasks: 0,
      runs: 0,
      files: fileCount,
      differences: [],
    })
    expect(inodes()).toEqual(before)
    expect((await runCubby(['verify', '--data', target, '--bytes'])).exitCode).toBe(0)
  })
})
