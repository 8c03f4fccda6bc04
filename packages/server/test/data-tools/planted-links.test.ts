import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import {
  closeSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ImportState } from '../../src/cli/transfer/import-state.ts'
import { writeBytesToFile } from '../../src/cli/transfer/write-bytes.ts'
import { writeToFile } from '../../src/cli/transfer/write-lines.ts'
import { openHeartbeat, writeJson } from '../../src/engines/sqlite/archive/archive-files.ts'
import { openNew } from '../../src/files/open-new.ts'
import { filesBelow } from '../files/blob-fixture.ts'
import { makeTempDir, removeTempDir, startServer, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'
import { expectDone, runCommand } from './commands.ts'

// A command may run in a directory where others can write, such as /tmp. A link that they put where it writes next would
// let it overwrite any file of the operator.

setDefaultTimeout(120_000)

let dir: string
let victim: string
beforeEach(() => {
  dir = makeTempDir()
  victim = join(dir, 'victim')
  writeFileSync(victim, 'precious')
})
afterEach(() => removeTempDir(dir))

test('an archive writes to files of its own, not through a link', () => {
  symlinkSync(victim, join(dir, 'archive.json.tmp'))
  writeJson(join(dir, 'archive.json'), { format: 1 })
  expect(readFileSync(join(dir, 'archive.json'), 'utf8')).toMatch(/^\{"format":1,"checksum":"\w+"\}\n$/)
  symlinkSync(victim, join(dir, 'base.tmp'))
  closeSync(openNew(join(dir, 'base.tmp')))
  symlinkSync(victim, join(dir, 'heartbeat'))
  expect(() => openHeartbeat(dir)).toThrow('ELOOP')
  expect(readFileSync(victim, 'utf8')).toBe('precious')
})

const progress = { line: 3, records: 2, unchanged: 0, expired: 0, refused: 1 }

const stateOf = (): ImportState => {
  const file = join(dir, 'lines.ndjson')
  writeFileSync(file, '')
  return new ImportState(file, 'a store')
}

test('the state of an import goes to a file of its own, not through a link', () => {
  const state = stateOf()
  symlinkSync(victim, `${state.path}.new`)
  symlinkSync(victim, state.path)
  state.save(progress)
  expect(state.kept).toBe(true)
  expect(readFileSync(victim, 'utf8')).toBe('precious')
  expect(lstatSync(state.path).isSymbolicLink()).toBe(false)
  expect(state.load()).toEqual(progress)
  state.save({ ...progress, line: 4 })
  expect(state.load().line).toBe(4)
  expect(readdirSync(dir).sort()).toEqual([
    'lines.ndjson',
    'lines.ndjson.import-state',
    'lines.ndjson.import-state.new',
    'victim',
  ])
})

test('a state of an import that is none is refused, and nothing of it is used', () => {
  const state = stateOf()
  state.save(progress)
  const kept = JSON.parse(readFileSync(state.path, 'utf8'))
  for (const wrong of [
    { ...kept, line: '3' },
    { ...kept, line: -1 },
    { ...kept, records: null },
    { ...kept, file: 1 },
    null,
    [],
  ]) {
    writeFileSync(state.path, JSON.stringify(wrong))
    expect(() => state.load()).toThrow(/import-state|changed/)
  }
})

test('an export is not written through a link', async () => {
  const file = join(dir, 'out.ndjson')
  symlinkSync(victim, `${file}.partial`)
  const out = writeToFile(file, { replaces: false })
  await out.write('a line\n')
  await out.end()
  expect([readFileSync(victim, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['precious', 'a line\n'])
})

test('a download is not written through a link', async () => {
  const file = join(dir, 'picture.png')
  symlinkSync(victim, `${file}.${process.pid}.partial`)
  const out = writeBytesToFile(file, { replaces: false })
  await out.write(Buffer.from('bytes'))
  await out.end()
  expect([readFileSync(victim, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['precious', 'bytes'])
})

test('a server that names a table as no table can be called gets no request with that name', async () => {
  const asked: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, search } = new URL(request.url)
      asked.push(pathname + search)
      return Response.json({ tables: [{ table: '../../v1?x=', indices: {} }], buckets: [], tasks: [], cursor: null })
    },
  })
  try {
    const env = { CUBBY_URL: `http://127.0.0.1:${server.port}`, CUBBY_KEY: 'svc_live_x' }
    const { exitCode, stdout, stderr } = await runCommand(['export', '--db', 'app', '--out', join(dir, 'out')], { env })
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^cubby: [^\n]+"\.\.\/\.\.\/v1\?x="[^\n]+\n$/)
    expect(asked.filter((path) => !/^\/v1\/app(\/_buckets|\/_tasks)?\?limit=/.test(path))).toEqual([])
    expect(existsSync(join(dir, 'out'))).toBe(false)
  } finally {
    await server.stop(true)
  }
})

test.skipIf(!storeIsEmbedded())('bytes behind a link are not served, backed up or restored', async () => {
  const data = join(dir, 'data')
  const backup = join(dir, 'backup')
  const server = await startServer({ dataDir: data, args: ['--no-small-files-in-store'] })
  try {
    const api = server.as((await server.createOrganization('acme')).secretKey)
    ok(await api.post('/v1/app/_buckets/pictures'), 201)
    ok(await api.put('/v1/app/_buckets/pictures/tom.png', 'precious'))
    await expectDone(['backup', 'create', backup, '--data', data])
    /** The same bytes are at the end of the link: nothing else tells. */
    const link = (place: string): string => {
      const path = join(place, filesBelow(place).find((name) => /\/[0-9a-f]{32}$/.test(name))!)
      rmSync(path)
      symlinkSync(victim, path)
      return path
    }
    link(`${backup}.files`)
    for (const args of [
      ['backup', 'verify', backup],
      ['backup', 'restore', backup, '--data', join(dir, 'restored')],
    ]) {
      const { exitCode, stdout, stderr } = await runCommand(args)
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
      expect(stderr).toMatch(/^cubby: file "tom.png" of app\/pictures: its bytes are not in [^\n]+\n$/)
    }
    expect(existsSync(join(dir, 'restored', 'cubby.db'))).toBe(false)
    link(join(data, 'files'))
    expect((await api.get('/v1/app/_buckets/pictures/tom.png')).body.error.code).toBe('store_damaged')
    const found = await runCommand(['verify', '--data', data])
    expect(found.exitCode).toBe(1)
    expect(found.stdout).toMatch(/^file "tom.png" of app\/pictures: its bytes are not in [^\n]+\n$/)
    expect((await runCommand(['backup', 'create', join(dir, 'next'), '--data', data])).exitCode).toBe(1)
  } finally {
    await server.stop()
  }
})
