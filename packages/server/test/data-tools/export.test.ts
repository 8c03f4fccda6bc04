import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { cubbyCommand, makeTempDir, type Organization, removeTempDir, type Server, startServer } from '../harness.ts'
import { asClient, asOperator, expectDone, linesOf, parseLines, runCommand, startCommand } from './commands.ts'

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let dir: string

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

describe('an export while records are written', () => {
  // Without a snapshot an export would hold the debit of a transfer and not its credit: the 24 ends below are written in
  // one atomic batch, half of them at the table's beginning and half at its end, and must be equal wherever they are read.
  const ends = Array.from({ length: 24 }, (_, i) => `end-${i}`)
  const filler = 2_000
  let round = 0
  let stopped = false
  let writing: Promise<void>

  beforeAll(async () => {
    const api = server.as(org.secretKey)
    const put = (hashKeys: string[], data: object) =>
      api.post('/v1/busy/moves/batch', { operations: hashKeys.map((hashKey) => ({ op: 'put', hashKey, data })) })
    await api.post('/v1/busy/moves')
    await put(ends.slice(0, 12), { round })
    for (let i = 0; i < filler; i += 25) {
      await put(
        Array.from({ length: 25 }, (_, k) => `filler-${i + k}`),
        { text: 'x'.repeat(2_000) },
      )
    }
    await put(ends.slice(12), { round })
    const write = async (): Promise<void> => {
      while (!stopped) {
        const { status } = await put(ends, { round: round + 1 })
        expect(status).toBe(200)
        round++
      }
    }
    writing = write()
  })
  afterAll(async () => {
    stopped = true
    await writing
  })

  const roundsOf = (text: string): number[] =>
    parseLines(text).flatMap(({ data }) => (data?.round === undefined ? [] : [data.round]))

  test('straight from the store is one moment: no batch is seen in part', async () => {
    for (let run = 0; run < 5; run++) {
      const acknowledged = round
      const text = await expectDone(['export', '--db', 'busy', ...asOperator(server.dataDir, org)])
      expect(linesOf(text)).toHaveLength(1 + filler + ends.length)
      const rounds = roundsOf(text)
      expect(new Set(rounds).size).toBe(1)
      expect(rounds[0]).toBeGreaterThanOrEqual(acknowledged)
      expect(round).toBeGreaterThan(acknowledged)
    }
  })

  test('over HTTP misses no record; one written meanwhile may come again, newer', async () => {
    const acknowledged = round
    const lines = parseLines(await expectDone(['export', '--db', 'busy'], { env: asClient(server, org) })).slice(1)
    expect(new Set(lines.map(({ hashKey }) => hashKey)).size).toBe(filler + ends.length)
    const last = new Map<string, number>()
    for (const { hashKey, updatedAt } of lines) {
      expect(updatedAt!).toBeGreaterThan(last.get(hashKey!) ?? 0)
      last.set(hashKey!, updatedAt!)
    }
    for (const { data } of lines) if (data.round !== undefined) expect(data.round).toBeGreaterThanOrEqual(acknowledged)
  })
})

describe('--out', () => {
  beforeAll(async () => {
    const api = server.as(org.secretKey)
    await api.post('/v1/app/notes')
    await api.put('/v1/app/notes', { hashKey: 'a', data: { n: 1 } })
  })

  test('packs what ends in .gz, and says so nowhere else', async () => {
    const [plain, packed] = [join(dir, 'a.ndjson'), join(dir, 'a.ndjson.gz')]
    const env = asClient(server, org)
    const said = await expectDone(['export', '--db', 'app', '--out', plain], { env })
    expect(said).toMatch(/^exported 1 record in [\d.]+ s, [\d,]+ records\/s \(1 table\)\n$/)
    const summary = JSON.parse(await expectDone(['export', '--db', 'app', '--out', packed, '--json'], { env }))
    expect(summary).toMatchObject({ tables: 1, records: 1 })
    expect(gunzipSync(readFileSync(packed))).toEqual(readFileSync(plain))
  })

  const leftovers = (): string[] => readdirSync(dir).filter((name) => name.includes('partial'))

  test('a file that is there is not overwritten; the message names --force', async () => {
    const file = join(dir, 'there.ndjson')
    writeFileSync(file, 'earlier')
    for (const way of [asOperator(server.dataDir, org), ['--url', server.url, '--key', org.secretKey]]) {
      expect(await runCommand(['export', '--db', 'app', '--out', file, ...way])).toEqual({
        ...{ exitCode: 1, stdout: '', stderr: `cubby: ${file} exists and is not overwritten; --force replaces it\n` },
      })
    }
    expect(readFileSync(file, 'utf8')).toBe('earlier')
    expect(leftovers()).toEqual([])
  })

  test('nor is a link that leads nowhere; an empty name is no file', async () => {
    const link = join(dir, 'link.ndjson')
    symlinkSync(join(dir, 'nowhere.ndjson'), link)
    const exporting = (...flags: string[]) =>
      runCommand(['export', '--db', 'app', ...asOperator(server.dataDir, org), '--out', ...flags])
    expect(await exporting(link)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('exists and is not') })
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect((await exporting(link, '--force')).exitCode).toBe(0)
    expect(lstatSync(link).isSymbolicLink()).toBe(false)
    const empty = {
      exitCode: 2,
      stderr: 'cubby: --out is empty; it takes the name of a file; see cubby export --help\n',
    }
    expect(await exporting('')).toMatchObject(empty)
    expect(leftovers()).toEqual([])
  })

  test('nor is one that appears during the export', async () => {
    const file = join(dir, 'late.ndjson')
    // The server of a slow export: the file is created between the first and the last request.
    const slow = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        if (pathname.endsWith('/query')) writeFileSync(file, 'of somebody else')
        const headers = { authorization: request.headers.get('authorization')!, 'content-type': 'application/json' }
        const body = (await request.text()) || undefined
        return fetch(server.url + pathname + search, { method: request.method, headers, body })
      },
    })
    try {
      const env = { CUBBY_URL: `http://127.0.0.1:${slow.port}`, CUBBY_KEY: org.secretKey }
      const { exitCode, stderr } = await runCommand(['export', '--db', 'app', '--out', file], { env })
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('--force replaces it') })
      expect(readFileSync(file, 'utf8')).toBe('of somebody else')
      expect(leftovers()).toEqual([])
    } finally {
      await slow.stop(true)
    }
  })

  test('a pipe or a device is written to: there is nothing to overwrite', async () => {
    await expectDone(['export', '--db', 'app', '--out', '/dev/null'], { env: asClient(server, org) })
  })

  test('--force replaces it, only by a whole one', async () => {
    const file = join(dir, 'kept.ndjson')
    writeFileSync(file, 'earlier')
    const command = ['export', '--db', 'app', '--out', file, '--force']
    const env = asClient(server, { secretKey: 'svc_live_wrong' })
    expect((await runCommand(command, { env })).exitCode).toBe(1)
    expect(readFileSync(file, 'utf8')).toBe('earlier')
    await expectDone(command, { env: asClient(server, org) })
    expect(linesOf(readFileSync(file, 'utf8'))).toHaveLength(2)
    expect(leftovers()).toEqual([])
  })
})

test('a reader that goes away ends it, in one line', async () => {
  const command = ['export', '--db', 'busy', ...asOperator(server.dataDir, org)]
  const quoted = [...cubbyCommand(), ...command].map((word) => `'${word}'`)
  const child = Bun.spawn(['bash', '-c', `${quoted.join(' ')} | head -n 1; exit \${PIPESTATUS[0]}`], {
    stderr: 'pipe',
  })
  const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect(linesOf(out)).toHaveLength(1)
  expect(problems).toBe('cubby: the reader of the output has closed it before the end\n')
  expect(await child.exited).toBe(1)
})

describe('refusals, one line each', () => {
  const refused: [string, string[], () => Record<string, string | undefined>, number, RegExp][] = [
    ['no database', ['export'], () => asClient(server, org), 2, /--db NAME is missing/],
    ['a name that breaks the rule', ['export', '--db', 'App'], () => asClient(server, org), 2, /--db is "App"/],
    ['no key', ['export', '--db', 'app'], () => ({ CUBBY_URL: server.url }), 2, /CUBBY_KEY/],
    [
      'an unknown database',
      ['export', '--db', 'nope'],
      () => asClient(server, org),
      1,
      /no table in database nope; see cubby db list/,
    ],
    [
      'an unknown table',
      ['export', '--db', 'app', '--table', 'nope'],
      () => asClient(server, org),
      1,
      /there is no table nope in database app; see cubby table list --db app/,
    ],
    ['a wrong key', ['export', '--db', 'app', '--key', 'nonsense'], () => asClient(server, org), 1, /key/],
    ['a wrong address', ['export', '--db', 'app', '--url', 'localhost'], () => asClient(server, org), 2, /--url/],
    [
      'a place that cannot be written',
      ['export', '--db', 'app', '--out', '/dev/null/file'],
      () => asClient(server, org),
      1,
      /\/dev\/null\/file cannot be written/,
    ],
    [
      '--force without --out',
      ['export', '--db', 'app', '--force'],
      () => asClient(server, org),
      2,
      /--force needs --out/,
    ],
    ['--json without --out', ['export', '--db', 'app', '--json'], () => asClient(server, org), 2, /--out/],
    ['--org with a server', ['export', '--db', 'app', '--org', 'acme'], () => asClient(server, org), 2, /--org/],
    [
      'a server and a store at once',
      ['export', '--db', 'app', '--data', 'd', '--key', 'k'],
      () => ({}),
      2,
      /--key names a server and --data a store/,
    ],
    [
      'both in the environment',
      ['export', '--db', 'app'],
      () => ({ ...asClient(server, org), CUBBY_DATA: server.dataDir }),
      2,
      /CUBBY_URL names a server and CUBBY_DATA a store/,
    ],
  ]
  for (const [what, args, env, exitCode, said] of refused) {
    test(what, async () => {
      const result = await runCommand(args, { env: env() })
      expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode, stdout: '' })
      expect(result.stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(result.stderr).toMatch(said)
    })
  }

  test('an organization that is not there, a store that is not there', async () => {
    const nobody = await runCommand(['export', '--db', 'app', ...asOperator(server.dataDir, { name: 'nobody' })])
    expect(nobody).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('there is no organization nobody') })
    const nowhere = await runCommand(['export', '--db', 'app', '--data', join(dir, 'nowhere')])
    expect(nowhere).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('there is no store in') })
    expect(existsSync(join(dir, 'nowhere'))).toBe(false)
  })

  test('a flag speaks louder than the environment', async () => {
    const store = asOperator(server.dataDir, org)
    const env = { ...asClient(server, org), CUBBY_KEY: 'nonsense' }
    expect((await runCommand(['export', '--db', 'app', ...store], { env })).exitCode).toBe(0)
    const beside = { CUBBY_URL: server.url, CUBBY_DATA: '/nonexistent' }
    const child = startCommand(['export', '--db', 'app', '--key', org.secretKey], { env: beside })
    expect((await child.result).exitCode).toBe(0)
  })
})
