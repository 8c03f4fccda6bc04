import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { deadBlobMs } from '../../src/core/limits.ts'
import { filesBelow } from '../files/blob-fixture.ts'
import {
  type Api,
  eventually,
  isWhole,
  makeTempDir,
  removeTempDir,
  runCubby,
  Server,
  storeIsEmbedded,
  storeUrl,
} from '../harness.ts'
import { ok } from './service.ts'

// Two stores on the files of one of them: each would remove bytes that the other needs, and no request would tell.

setDefaultTimeout(120_000)

const bucket = '/v1/app/_buckets/pictures'
const bytesOf = (name: string): string => `the bytes of ${name}`

let top = ''
let files = ''
let servers: Server[] = []
beforeEach(() => {
  top = makeTempDir()
  files = join(top, 'files')
  servers = []
})
afterEach(async () => {
  for (const server of servers) await server.stop()
  removeTempDir(top)
})

const serve = async (name: string, ...args: string[]): Promise<Server> => {
  const dataDir = join(top, name)
  const server = new Server({ dataDir, files, clock: true, args: ['--no-small-files-in-store', ...args] })
  servers.push(server)
  await server.start()
  return server
}

/** Returns what a start that fails says. */
const refusalOf = async (name: string, ...args: string[]): Promise<string> => {
  const error = await serve(name, ...args).then(
    () => undefined,
    (thrown: Error) => thrown,
  )
  expect(error?.message).toContain('is not where the files of this store are')
  return error!.message
}

const put = async (api: Api, name: string): Promise<void> => {
  ok(await api.raw('PUT', `${bucket}/${name}`, { body: bytesOf(name) }))
}
const read = async ({ url }: Server, key: string, name: string): Promise<string> =>
  (await fetch(`${url}${bucket}/${name}`, { headers: { authorization: `Bearer ${key}` } })).text()

const blobs = (): string[] => filesBelow(files).filter((name) => name.length > 32)

test('a store without files is refused on the files of another, and takes nothing over', async () => {
  const first = await serve('first')
  const { secretKey } = await first.createOrganization()
  const api = first.as(secretKey)
  ok(await api.post(bucket), 201)
  await put(api, 'a')
  const found = filesBelow(files)
  expect(await refusalOf('second')).toContain('It has the mark of another store. Give another --files; --adopt-files')
  expect(filesBelow(files)).toEqual(found)
  await first.restart()
  expect(await read(first, secretKey, 'a')).toBe(bytesOf('a'))
})

// The quick part has the refusal above, which protects the bytes.
test.skipIf(!isWhole)(
  'a copy on the files of the original is refused; with --adopt-files it removes no byte of it, and the original is refused',
  async () => {
    const original = await serve('original')
    const { secretKey } = await original.createOrganization()
    const api = original.as(secretKey)
    ok(await api.post(bucket), 201)
    for (const name of ['a', 'b']) await put(api, name)
    await original.end('SIGTERM')

    // The bytes of its files go elsewhere first; then it is given those of the original.
    const store = (name: string): string => storeUrl(join(top, name)) ?? join(top, name)
    if (storeUrl(top) !== undefined) await serve('copy', '--files', join(top, 'unused')).then((server) => server.stop())
    const copied = await runCubby([
      ...['copy', '--from', store('original'), '--to', store('copy'), '--resume'],
      ...['--from-files', files, '--files', join(top, 'copied-files')],
    ])
    expect([copied.exitCode, copied.stderr]).toEqual([0, expect.any(String)])
    await refusalOf('copy')

    const copy = await serve('copy', '--adopt-files')
    expect(copy.logLines.some((line) => line.includes('took over the files of another store'))).toBe(true)
    const theirs = copy.as(secretKey)
    expect(await read(copy, secretKey, 'a')).toBe(bytesOf('a'))
    await put(theirs, 'own')
    const before = blobs()
    expect(before).toHaveLength(3)
    for (const name of ['a', 'own']) ok(await theirs.delete(`${bucket}/${name}`))
    // It has ended before: a sweep that is stopped with what it has begun tries that again minutes later.
    await copy.kill()
    copy.setClock(deadBlobMs + 10_000_000)
    await copy.start()
    await eventually('its own bytes are removed', () => (blobs().length === 2 ? true : undefined))
    expect(before.filter((name) => !blobs().includes(name))).toHaveLength(1)
    const { exitCode, stdout } = await copy.cubby('verify', '--files', files)
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringContaining('; 2 blobs with bytes of another store, never removed'),
    ])

    expect(await refusalOf('original')).toContain('It has the mark of another store')
    await copy.end('SIGTERM')
    // The operator gives them back: both files are whole.
    const again = await serve('original', '--adopt-files')
    for (const name of ['a', 'b']) expect(await read(again, secretKey, name)).toBe(bytesOf(name))
  },
)

test.skipIf(!storeIsEmbedded() || !isWhole)(
  'a restored store is another one: it is refused on the files of the original, and has its own',
  async () => {
    const original = await serve('original')
    const { secretKey } = await original.createOrganization()
    const api = original.as(secretKey)
    ok(await api.post(bucket), 201)
    await put(api, 'a')
    const backup = join(top, 'store.backup')
    const run = async (...args: string[]): Promise<void> =>
      expect(await runCubby(['backup', ...args])).toMatchObject({ exitCode: 0 })
    await run('create', backup, '--data', join(top, 'original'), '--files', files)
    // A killed restore leaves nothing that is in the way: its bytes are there, and no mark.
    mkdirSync(join(top, 'restored'))
    cpSync(`${backup}.files`, join(top, 'restored', 'files'), { recursive: true })
    rmSync(join(top, 'restored', 'files', 'cubby-files.mark'))
    await run('restore', backup, '--data', join(top, 'restored'))
    await refusalOf('restored')
    files = join(top, 'restored', 'files')
    const restored = await serve('restored')
    expect(await read(restored, secretKey, 'a')).toBe(bytesOf('a'))
    const verified = await restored.cubby('verify')
    expect([verified.exitCode, verified.stdout]).toEqual([0, expect.not.stringContaining('another store')])
  },
)
