import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  type Api,
  eventually,
  type Json,
  makeTempDir,
  type Organization,
  removeTempDir,
  runCubby,
  runCubbyJson,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { startCommand } from './commands.ts'

// An operator hands a tenant its data, or keeps it before the seven days are over. Without these promises a part would be
// taken for the whole, or a secret or another tenant's record would be among it.

setDefaultTimeout(60_000)

let server: Server
let top: string
let org: Organization
let api: Api

const records: [string, string | undefined, string][] = [
  ['ada', undefined, '{"city":"Oslo","age":36.0,"big":12345678901234567890}'],
  ['ada', 'a\u0000/b', '{"city":"Rome"}'],
  ['../..', '"', '{ "text":"line\\nend" }'],
]
const large = 'large '.repeat(20_000)
const files: [string, string][] = [
  ['a', 'a file'],
  ['a/b', 'below the name of another'],
  ['same', 'a file'],
  ['large.bin', large],
]

beforeAll(async () => {
  top = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
  api = server.as(org.secretKey)
  ok(await api.post('/v1/app/people', { indices: { i1: { hashField: 'city' } } }), 201)
  for (const [hashKey, rangeKey, data] of records) {
    const range = rangeKey === undefined ? '' : `,"rangeKey":${JSON.stringify(rangeKey)}`
    ok(await api.put('/v1/app/people', `{"hashKey":${JSON.stringify(hashKey)}${range},"data":${data}}`))
  }
  ok(await api.post('/v1/app/empty'), 201)
  ok(await api.post('/v1/app/dropped'), 201)
  ok(await api.put('/v1/app/dropped', { hashKey: 'dropped-record', data: {} }))
  ok(await api.delete('/v1/app/dropped'))
  ok(await api.post('/v1/app/_buckets/pictures'), 201)
  for (const [name, bytes] of files) {
    ok(
      await api.put(
        `/v1/app/_buckets/pictures/${name}?visibility=public&metadata=${encodeURIComponent('{"n":1.0}')}`,
        bytes,
      ),
    )
  }
  const task = { url: 'https://example.com/hook', authorization: 'Bearer of-the-receiver', paused: true }
  ok(await api.put('/v1/worklist/_tasks/mail', task), 201)
  for (let n = 0; n < 3; n++) ok(await api.post('/v1/worklist/_tasks/mail/run', `{"payload":{"n":${n}.0}}`), 201)
  const { publicKey: jwk } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = (audience: string): Json => ({
    ...{ issuer: 'https://login.invalid', audience, keys: { keys: [jwk.export({ format: 'jwk' })] } },
    grants: [{ db: 'app', table: 'people', hash: '{sub}', can: 'read' }],
  })
  ok(await api.put('/api/issuers/login', issuer('acme')), 201)
  const other = server.as((await server.createOrganization('other')).secretKey)
  ok(await other.put('/api/issuers/stranger-issuer', issuer('other')), 201)
  ok(await other.post('/v1/app/people'), 201)
  ok(await other.put('/v1/app/people', { hashKey: 'stranger-record', data: {} }))
  ok(await other.put('/v1/worklist/_tasks/mail', {}), 201)
  ok(await other.post('/v1/worklist/_tasks/mail/run', { payload: { of: 'stranger-run' } }), 201)
})
afterAll(async () => {
  await server.stop()
  removeTempDir(top)
})

const place = () => ['--files', join(server.dataDir, 'files')]
const exportTo = (name: string, ...more: string[]) =>
  server.cubby('orgs', 'export', 'acme', '--to', join(top, name), ...more)

/** Every file of the export, by its path. */
const readTree = (name: string): Map<string, string> => {
  const dir = join(top, name)
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(dir, path)).isFile(),
  )
  return new Map(paths.sort().map((path) => [path, readFileSync(join(dir, path), 'utf8')]))
}

const lines = (text: string | undefined): Json[] =>
  text!
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

test('everything of one organization is there, as its other exports have it, without a secret or a thing of others', async () => {
  const rows = JSON.parse((await exportTo('whole', ...place(), '--json')).stdout)
  expect(rows).toEqual({
    ...{ organization: 'acme', to: join(top, 'whole'), databases: 2, tables: 2, records: 3, buckets: 1, files: 4 },
    ...{ fileBytes: files.reduce((sum, [, bytes]) => sum + bytes.length, 0), tasks: 1, runs: 3, keys: 2 },
  })
  const tree = readTree('whole')
  const bytes = [...new Set(files.map(([, text]) => sha256(text)))].map(
    (digest) => `app/_buckets/pictures/bytes/${digest.slice(0, 2)}/${digest}`,
  )
  expect([...tree.keys()]).toEqual(
    [
      ...[
        'organization.json',
        'keys.ndjson',
        'issuers.ndjson',
        'app/records.ndjson',
        'app/_buckets/pictures/files.ndjson',
        ...bytes,
      ],
      ...['worklist/_tasks/mail/task.json', 'worklist/_tasks/mail/runs.ndjson'],
    ].sort(),
  )
  for (const path of bytes) expect(sha256(tree.get(path)!)).toBe(basename(path))
  expect(JSON.parse(tree.get('organization.json')!)).toMatchObject({ name: 'acme', status: 'active' })
  expect(lines(tree.get('keys.ndjson')).map(({ kind }) => kind)).toEqual(['secret', 'public'])

  expect(lines(tree.get('issuers.ndjson'))).toEqual(ok(await api.get('/api/issuers')).issuers)

  // The records are as `cubby export` writes them.
  await server.cubby('export', '--db', 'app', '--org', 'acme', '--out', join(top, 'app.ndjson'))
  expect(tree.get('app/records.ndjson')).toBe(readFileSync(join(top, 'app.ndjson'), 'utf8'))
  const listed = ok(await api.post('/v1/app/_buckets/pictures/query', {})).items
  const withoutUrl = (items: Json[]) => items.map(({ url: _, ...item }) => item)
  const exported = lines(tree.get('app/_buckets/pictures/files.ndjson')).sort((a, b) => (a.name < b.name ? -1 : 1))
  expect(withoutUrl(exported)).toEqual(withoutUrl(listed))
  expect(tree.get('app/_buckets/pictures/files.ndjson')).toContain('"metadata":{"n":1.0}')
  expect(tree.get('worklist/_tasks/mail/runs.ndjson')).toContain('"payload":{"n":2.0}')
  const { oldestRunAt: _, ...task } = ok(await api.get('/v1/worklist/_tasks/mail'))
  expect(JSON.parse(tree.get('worklist/_tasks/mail/task.json')!)).toMatchObject(task)

  const all = [...tree.values()].join('\n')
  for (const secret of [
    org.secretKey,
    org.publicKey,
    'of-the-receiver',
    'whsec_',
    'stranger-',
    'dropped-record',
    sha256(org.secretKey),
  ]) {
    expect([secret, all.includes(secret)]).toEqual([secret, false])
  }
  expect(statSync(join(top, 'whole')).mode & 0o777).toBe(0o700)
  expect(readdirSync(top).filter((name) => name.endsWith('.partial'))).toEqual([])
})

test('another organization of another store takes it in, with import, files put and tasks declare', async () => {
  const dataDir = makeTempDir()
  try {
    await runCubbyJson(dataDir, ['orgs', 'create', 'taken-in'])
    const file = join(top, 'whole', 'app', 'records.ndjson')
    const at = [...storeArguments(dataDir), '--org', 'taken-in']
    expect(await runCubby(['import', file, ...at])).toMatchObject({ exitCode: 0 })
    const again = join(top, 'again.ndjson')
    expect(await runCubby(['export', '--db', 'app', '--out', again, ...at])).toMatchObject({ exitCode: 0 })
    expect(readFileSync(again, 'utf8').split('\n').sort()).toEqual(readFileSync(file, 'utf8').split('\n').sort())
  } finally {
    removeTempDir(dataDir)
  }
})

test('a deleted organization is exported as it was, until it is purged', async () => {
  await server.cubbyJson('orgs', 'delete', 'acme', '--confirm', 'acme')
  try {
    expect(await exportTo('deleted', ...place())).toMatchObject({ exitCode: 0, stderr: '' })
  } finally {
    await server.cubbyJson('orgs', 'restore', 'acme')
  }
  const [whole, deleted] = [readTree('whole'), readTree('deleted')]
  expect(JSON.parse(deleted.get('organization.json')!)).toMatchObject({
    status: 'deleted',
    deletedAt: expect.any(Number),
  })
  for (const tree of [whole, deleted]) {
    tree.delete('organization.json')
    // These say when the keys were last used.
    tree.delete('keys.ndjson')
  }
  expect(deleted).toEqual(whole)
})

test('a directory that exists stays as it is, and a call without one is refused', async () => {
  const { exitCode, stdout, stderr } = await exportTo('whole')
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]+ exists and is not overwritten[^\n]+\n$/)
  expect((await server.cubby('orgs', 'export', 'acme')).exitCode).toBe(2)
})

test('bytes that are missing or changed: it says which file, and leaves nothing that looks like an export', async () => {
  const blobs = join(server.dataDir, 'files')
  const path = readdirSync(blobs, { recursive: true, encoding: 'utf8' })
    .map((name) => join(blobs, name))
    .find((name) => statSync(name).isFile() && statSync(name).size === large.length)!
  const faults = [() => renameSync(path, `${path}.away`), () => writeFileSync(path, large.replace('large', 'wrong'))]
  for (const plant of faults) {
    plant()
    const { exitCode, stdout, stderr } = await exportTo('cut', ...place())
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^cubby: file "large.bin" of app\/pictures: its bytes [^\n]+\n$/)
    expect(readdirSync(top).filter((name) => name.startsWith('cut'))).toEqual([])
  }
  expect(await exportTo('without', '--without-files')).toMatchObject({ exitCode: 0 })
  expect(existsSync(join(top, 'without', 'app', '_buckets', 'pictures', 'bytes'))).toBe(false)
  expect(lines(readTree('without').get('app/_buckets/pictures/files.ndjson'))).toHaveLength(4)
  renameSync(`${path}.away`, path)
})

test('an export that is killed has no name; one that is stopped leaves nothing at all', async () => {
  const many = join(top, 'many.ndjson')
  const line = (n: number): string =>
    `{"db":"many","table":"rows","hashKey":"${n}","data":{"text":"${'x'.repeat(1_000)}"}}\n`
  writeFileSync(
    many,
    `{"db":"many","table":"rows","indices":{}}\n${Array.from({ length: 8_000 }, (_, n) => line(n)).join('')}`,
  )
  const env = { CUBBY_URL: server.url, CUBBY_KEY: org.secretKey }
  expect((await startCommand(['import', many], { env }).result).exitCode).toBe(0)
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const name = `cut-by-${signal}`
    const args = ['orgs', 'export', 'acme', '--to', join(top, name), ...storeArguments(server.dataDir), ...place()]
    const command = startCommand(args)
    const begun = await eventually(
      'its first records',
      () => {
        const partial = readdirSync(top).find((one) => one.startsWith(name))
        if (partial === undefined) return undefined
        return existsSync(join(top, partial, 'many', 'records.ndjson.partial')) ? partial : undefined
      },
      { pauseMs: 1 },
    )
    command.kill(signal)
    const { exitCode } = await command.result
    expect([signal, exitCode]).toEqual([signal, signal === 'SIGKILL' ? 137 : 143])
    expect(existsSync(join(top, name))).toBe(false)
    expect(existsSync(join(top, begun))).toBe(signal === 'SIGKILL')
  }
})
