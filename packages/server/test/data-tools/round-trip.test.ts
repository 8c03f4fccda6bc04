import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import {
  type Api,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { justPast } from '../http/service.ts'
import {
  asClient,
  asOperator,
  expectDone,
  linesOf,
  parseLines,
  readText,
  runCommand,
  withoutTimes,
  writeLines,
} from './commands.ts'

// Users rely on exports. Without these tests a number could lose digits, a key its NUL, or a record its expiry, and nobody
// would notice until the export is needed.

setDefaultTimeout(120_000)

const inYearMs = 365 * 24 * 60 * 60 * 1000
const ttl = Math.floor((Date.now() + inYearMs) / 1000)

/** Bodies of puts: the data as text, since no JavaScript value says it exactly. */
const puts: [key: string, data: string, ttl?: number][] = [
  ['"hashKey":"plain"', '{"a":1}'],
  ['"hashKey":"nul\\u0000in","rangeKey":"\\u0000"', '{"a":2}'],
  ['"hashKey":"a/b\\\\c","rangeKey":"%2F?#"', '{"a":3}'],
  ['"hashKey":"😀","rangeKey":"ä 字"', '{"text":"😀\\ud83d\\ude00 \\ud800 \u2028 \\u0000"}'],
  ['"hashKey":"numbers"', '{"big":12345678901234567890,"one":1.0,"e":1E5,"zero":-0,"tiny":0.10,"far":1e400}'],
  ['"hashKey":"twice"', '{"status":"open","b":1,"a":2,"b":3,"\\u0061":4,"status":"paid"}'],
  ['"hashKey":"spaced"', '{ "a" : [ 1 , 2 ] ,\n\t"b" : " two  words \\n" }'],
  ['"hashKey":"expiring","rangeKey":"r"', '{"a":5}', ttl],
  ['"hashKey":"empty"', '{}'],
  ['"hashKey":"indexed"', '{"status":"open","at":"2026-01-05T10:00:00Z"}'],
  ['"hashKey":"large"', `{"text":"${'ü'.repeat(150_000)}"}`],
]

let server: Server
let org: Organization
let api: Api
let dir: string
/** The export of a fresh store that was made of the export. */
let straight: string
let overHttp: string

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
  api = server.as(org.secretKey)
  await api.post('/v1/app/orders', { indices: { i1: { hashField: 'status', rangeField: 'at' } } })
  await api.post('/v1/app/an-empty-one', { indices: { i2: { hashField: 'x' } } })
  await api.post('/v1/other/notes')
  await api.put('/v1/other/notes', { hashKey: 'n', data: {} })
  for (const [key, data, ttl] of puts) {
    const answer = await api.put('/v1/app/orders', `{${key},"data":${data}${ttl === undefined ? '' : `,"ttl":${ttl}`}}`)
    expect(answer.status).toBe(200)
  }
  // Gone for every reader, though its row is still there.
  await api.put('/v1/app/orders', { hashKey: 'expired', data: {}, ttl: justPast() })
  straight = await expectDone(['export', '--db', 'app', ...asOperator(server.dataDir, org)])
  overHttp = await expectDone(['export', '--db', 'app'], { env: asClient(server, org) })
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

describe('an export', () => {
  test('begins each table with a line that declares it, tables by name', () => {
    const lines = linesOf(straight)
    expect(lines[0]).toBe('{"db":"app","table":"an-empty-one","indices":{"i2":{"hashField":"x"}}}')
    expect(lines[1]).toBe('{"db":"app","table":"orders","indices":{"i1":{"hashField":"status","rangeField":"at"}}}')
    expect(lines).toHaveLength(2 + puts.length)
  })

  test('has one record per line, in the order of creation, with data as it was put except for white space outside strings', () => {
    const expected = puts.map(([key, data, ttl]) => {
      const tight = data.startsWith('{ ') ? '{"a":[1,2],"b":" two  words \\n"}' : data
      return `{"db":"app","table":"orders",${key},"data":${tight}${ttl === undefined ? '' : `,"ttl":${ttl}`}}`
    })
    expect(linesOf(withoutTimes(straight)).slice(2)).toEqual(expected)
  })

  test('carries updatedAt as the service answers it', async () => {
    const { body } = await api.get('/v1/app/orders/plain')
    expect(parseLines(straight).find(({ hashKey }) => hashKey === 'plain')?.updatedAt).toBe(body.updatedAt)
  })

  test('over HTTP has the same lines', () => {
    expect(linesOf(overHttp).sort()).toEqual(linesOf(straight).sort())
  })

  test('of one table has that table only', async () => {
    const env = asClient(server, org)
    const lines = parseLines(await expectDone(['export', '--db', 'app', '--table', 'an-empty-one'], { env }))
    expect(lines).toEqual([{ db: 'app', table: 'an-empty-one', indices: { i2: { hashField: 'x' } } }])
  })

  test('with a public key works: it only reads', async () => {
    const env = asClient(server, { secretKey: org.publicKey })
    expect(await expectDone(['export', '--db', 'app'], { env })).toBe(overHttp)
  })

  test('prints the rate on standard error, so that standard output is the records only', async () => {
    const { stderr } = await runCommand(['export', '--db', 'app'], { env: asClient(server, org) })
    expect(stderr).toMatch(/^exported 11 records in [\d.]+ s, [\d,]+ records\/s \(2 tables\)\n$/)
  })
})

describe('an import of an export', () => {
  const makeStore = async (name: string): Promise<string> => {
    const data = join(dir, name)
    await expectDone(['orgs', 'create', 'acme', ...storeArguments(data)])
    return data
  }

  for (const ending of ['ndjson', 'ndjson.gz']) {
    test(`straight into a fresh store ends byte for byte equal, updatedAt and order of creation too (${ending})`, async () => {
      const data = await makeStore(`fresh-${ending}`)
      const file = join(dir, `app.${ending}`)
      await expectDone(['export', '--db', 'app', '--out', file, ...asOperator(server.dataDir, org)])
      expect(readText(file)).toBe(straight)
      const done = await expectDone(['import', file, '--json', ...asOperator(data, org)])
      expect(JSON.parse(done)).toMatchObject({ complete: true, lines: 13, records: 11, unchanged: 0, refused: 0 })
      expect(await expectDone(['export', '--db', 'app', ...asOperator(data, org)])).toBe(straight)
      expect((await runCommand(['verify', ...storeArguments(data)])).exitCode).toBe(0)
    })
  }

  test('over HTTP ends equal but for updatedAt, which is new', async () => {
    const other = await server.createOrganization('other')
    const env = asClient(server, other)
    const startedAt = Date.now()
    await expectDone(['import', '-'], { env, stdin: straight })
    const came = await expectDone(['export', '--db', 'app', ...asOperator(server.dataDir, other)])
    expect(withoutTimes(came)).toBe(withoutTimes(straight))
    for (const { hashKey, updatedAt } of parseLines(came)) {
      if (hashKey !== undefined) expect(updatedAt).toBeGreaterThanOrEqual(startedAt)
    }
  })

  test('its indices find what they found', async () => {
    const other = await server.createOrganization('third')
    await expectDone(['import', '-'], { env: asClient(server, other), stdin: straight })
    const ask = (key: string) =>
      server.as(key).post('/v1/app/orders/query', { index: 'i1', hash: 'open', range: { gte: '2026-01-01T00:00:00Z' } })
    const [before, after] = [await ask(org.secretKey), await ask(other.secretKey)]
    expect(before.body.items.map(({ hashKey }: { hashKey: string }) => hashKey)).toEqual(['indexed'])
    expect(after.body.items.map(({ data }: { data: unknown }) => data)).toEqual(
      before.body.items.map(({ data }: { data: unknown }) => data),
    )
  })

  test('repeated straight into the store changes nothing, versions neither', async () => {
    const data = await makeStore('repeated')
    const file = writeLines(join(dir, 'repeated.ndjson'), [straight.trimEnd()])
    await expectDone(['import', file, ...asOperator(data, org)])
    const again = JSON.parse(await expectDone(['import', file, '--json', ...asOperator(data, org)]))
    expect(again).toMatchObject({ records: 11, unchanged: 11, refused: 0 })
    expect(await expectDone(['export', '--db', 'app', ...asOperator(data, org)])).toBe(straight)
  })

  test('into another database and table, and from one organization into another', async () => {
    const data = await makeStore('renamed')
    await expectDone(['orgs', 'create', 'beta', ...storeArguments(data)])
    const only = straight.split('\n').slice(1).join('\n')
    const flags = ['--db', 'copy', '--table', 'orders-2026', ...asOperator(data, { name: 'beta' })]
    await expectDone(['import', '-', ...flags], { stdin: only })
    const came = await expectDone(['export', '--db', 'copy', ...asOperator(data, { name: 'beta' })])
    expect(came).toBe(only.replaceAll('"db":"app","table":"orders"', '"db":"copy","table":"orders-2026"'))
    const { exitCode, stderr } = await runCommand(['export', '--db', 'copy', ...asOperator(data, org)])
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'cubby: there is no table in database copy\n' })
  })
})
