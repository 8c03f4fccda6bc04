import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeArguments,
  storeIsEmbedded,
} from '../harness.ts'
import { programOf } from '../stores/kept-stores.ts'
import {
  asClient,
  asOperator,
  expectDone,
  linesOf,
  parseLines,
  type RunOptions,
  runCommand,
  withoutTimes,
  writeLines,
} from './commands.ts'
import { errorAnswer, type Middleman, startMiddleman } from './middleman.ts'

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let dir: string
let databases = 0

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

/** A database of the test's own. */
const newDb = (): string => `db-${++databases}`
const exported = (db: string): Promise<string> => expectDone(['export', '--db', db, ...asOperator(server.dataDir, org)])
const importing = (args: string[], options: RunOptions = {}) =>
  runCommand(['import', ...args], { ...options, env: { ...asClient(server, org), ...options.env } })

const table = (db: string, name = 'notes', indices: object = {}) => ({ db, table: name, indices })
const record = (db: string, hashKey: string, data: object = {}, name = 'notes') => ({ db, table: name, hashKey, data })

const textOf = (lines: object[]): string => lines.map((line) => JSON.stringify(line)).join('\n')

/** Straight into a fresh store as well as over HTTP: what is refused is refused alike. */
const ways: [string, (lines: string, db: string, flags?: string[]) => ReturnType<typeof runCommand>][] = [
  ['over HTTP', (lines, _, flags = []) => importing(['-', ...flags], { stdin: lines })],
  [
    'straight',
    async (lines, db, flags = []) => {
      const data = join(dir, `store-${db}`)
      if (!existsSync(data)) await expectDone(['orgs', 'create', 'acme', ...storeArguments(data)])
      return runCommand(['import', '-', ...flags, ...asOperator(data, org)], { stdin: lines })
    },
  ],
]

for (const [way, importLines] of ways) {
  // An old export has records whose ttl has passed since. They are gone, which is no fault of the file.
  describe(`lines whose ttl has passed, ${way}`, () => {
    const now = Math.floor(Date.now() / 1000)
    const lines = (db: string): string =>
      [
        table(db),
        { ...record(db, 'live'), ttl: now + 3_600, updatedAt: 1_700_000_000_000 },
        { ...record(db, 'just passed'), ttl: now - 5 },
        { ...record(db, 'long passed'), ttl: 1_600_000_000, updatedAt: 1_500_000_000_000 },
        { ...record(db, 'at the epoch'), ttl: 0 },
        record(db, 'for ever'),
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join('')

    test('are skipped and counted, the rest is imported, exit 0', async () => {
      const db = newDb()
      const { exitCode, stdout, stderr } = await importLines(lines(db), db)
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(stdout).toMatch(/^imported 2 records in [^;\n]+; 3 lines expired\n$/)
      const json = await importLines(lines(db), db, ['--json'])
      expect(json.exitCode).toBe(0)
      expect(JSON.parse(json.stdout)).toMatchObject({ complete: true, lines: 6, records: 2, expired: 3, refused: 0 })
      const there = way === 'straight' ? join(dir, `store-${db}`) : server.dataDir
      const found = parseLines(await expectDone(['export', '--db', db, ...asOperator(there, org)]))
      expect(found.map(({ hashKey }) => hashKey)).toEqual([undefined, 'live', 'for ever'])
    })

    test('a line that is bad besides is refused: skipping hides no fault', async () => {
      const db = newDb()
      const text = `${lines(db)}${JSON.stringify({ ...record(db, 'x'), ttl: 60, extra: 1 })}\n`
      const { exitCode, stdout, stderr } = await importLines(text, db)
      expect(exitCode).toBe(1)
      expect(stderr).toContain('line 7: extra')
      expect(stdout).toContain('; 3 lines expired; 1 line refused')
    })
  })

  describe(`bad lines, ${way}`, () => {
    const badLines = (db: string): string =>
      [
        JSON.stringify(table(db, 'notes', { i1: { hashField: 'status' } })),
        JSON.stringify(record(db, 'good-1', { status: 'open' })),
        '{"hashKey":',
        JSON.stringify(record(db, 'bad', { status: ['open'] })),
        '',
        JSON.stringify({ ...record(db, 'bad'), ttl: 1767225600000 }),
        JSON.stringify({ ...record(db, 'bad'), extra: 1 }),
        JSON.stringify(record(db, 'good-2')),
        '',
      ].join('\n')

    test('are reported with their number and reason and do not stop the rest; exit 1', async () => {
      const db = newDb()
      const { exitCode, stdout, stderr } = await importLines(badLines(db), db)
      const lines = linesOf(stderr)
      expect(lines).toHaveLength(4)
      expect(lines[0]).toStartWith('line 3: the line is not valid JSON: ')
      expect(lines[1]).toBe(
        'line 4: data.status is an array; index i1 takes a string, number or boolean. Store it under another field, or leave data.status out: the index is sparse.',
      )
      expect(lines[2]).toContain('line 6: ttl is 1767225600000')
      expect(lines[3]).toContain('line 7: extra is not a field')
      expect(stdout).toMatch(/^imported 2 records in [\d.]+ s, [\d,]+ records\/s; 4 lines refused\n$/)
      expect(exitCode).toBe(1)
    })

    test('--strict stops at the first one; what stands before it is imported', async () => {
      const db = newDb()
      const { exitCode, stdout, stderr } = await importLines(badLines(db), db, ['--strict', '--json'])
      expect(linesOf(stderr)).toEqual([
        expect.stringContaining('line 3: '),
        'stopped at line 3; fix it, then continue with --from-line 3',
      ])
      expect(JSON.parse(stdout)).toMatchObject({ complete: false, lines: 3, records: 1, refused: 1 })
      expect(exitCode).toBe(1)
    })

    test('records of a table that nobody declared are refused, the reason said once', async () => {
      const db = newDb()
      const lines = ['a', 'b', 'c'].map((key) => JSON.stringify(record(db, key))).join('\n')
      const { exitCode, stdout, stderr } = await importLines(lines, db, ['--json'])
      expect(stderr).toMatch(new RegExp(`^line 1: there is no table ${db}/notes[^\n]+cubby table create[^\n]+\n$`))
      expect(JSON.parse(stdout)).toMatchObject({ records: 0, refused: 3 })
      expect(exitCode).toBe(1)
    })
  })

  test(`of two lines about one record the later wins, ${way}`, async () => {
    const db = newDb()
    const lines = [table(db), ...Array.from({ length: 300 }, (_, i) => record(db, `k${i % 7}`, { i }))]
    const { exitCode } = await importLines(lines.map((line) => JSON.stringify(line)).join('\n'), db)
    expect(exitCode).toBe(0)
    const store = way === 'straight' ? join(dir, `store-${db}`) : server.dataDir
    const came = parseLines(await expectDone(['export', '--db', db, ...asOperator(store, org)])).slice(1)
    expect(Object.fromEntries(came.map(({ hashKey, data }) => [hashKey, data.i]))).toEqual({
      ...{ k0: 294, k1: 295, k2: 296, k3: 297, k4: 298, k5: 299, k6: 293 },
    })
  })
}

describe('lines', () => {
  test('that are not UTF-8 or too long are refused alone; a byte order mark and CRLF are no fault', async () => {
    const db = newDb()
    const stdin = Buffer.concat([
      Buffer.from(`\ufeff${JSON.stringify(table(db))}\r\n`),
      Buffer.from(`{"db":"${db}","table":"notes","hashKey":"`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('","data":{}}\r\n'),
      Buffer.from(`${JSON.stringify(record(db, 'long', { text: 'x'.repeat(3_000_000) }))}\n`),
      Buffer.from(`${JSON.stringify(record(db, 'ä'))}\r\n`),
      Buffer.from(JSON.stringify(record(db, 'without a line feed'))),
    ])
    const { exitCode, stdout, stderr } = await importing(['-', '--json'], { stdin })
    expect(linesOf(stderr)).toEqual([
      'line 2: the line is not valid UTF-8. Convert the file first, for example: iconv -f WINDOWS-1252 -t UTF-8.',
      'line 3: the line is longer than 1048576 bytes.',
    ])
    expect(JSON.parse(stdout)).toMatchObject({ complete: true, lines: 5, records: 2, refused: 2 })
    expect(exitCode).toBe(1)
  })

  test('of any length are read whole, wherever the pieces end', async () => {
    const db = newDb()
    const sizes = [1, 10, 65_500, 65_536, 131_072, 262_100, 262_144, 400_000, 3]
    const lines = [table(db), ...sizes.map((size, i) => record(db, `ü${i}`, { text: 'ü'.repeat(size / 2) }))]
    const file = writeLines(join(dir, 'sizes.ndjson'), lines)
    expect((await importing([file])).stderr).toBe('')
    expect(withoutTimes(await exported(db))).toBe(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  })

  test('packed with gzip are read, from standard input too; a file cut short is told', async () => {
    const db = newDb()
    const packed = gzipSync(
      [table(db), record(db, 'a'), record(db, 'b')].map((line) => JSON.stringify(line)).join('\n'),
    )
    const { exitCode, stderr } = await importing(['-'], { stdin: packed })
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const file = join(dir, 'cut.ndjson.gz')
    writeFileSync(file, packed.subarray(0, packed.length - 12))
    const cut = await importing([file])
    expect(cut.exitCode).toBe(1)
    expect(linesOf(cut.stderr).at(-1)).toMatch(/^cubby: .*cut\.ndjson\.gz is damaged or cut short/)
    // What comes after a zero is not unpacked.
    const broken = await importing(['-'], { stdin: Buffer.concat([packed, Buffer.alloc(1), packed]) })
    expect(broken.exitCode).toBe(1)
    expect(linesOf(broken.stderr).at(-1)).toMatch(/^cubby: standard input is damaged or cut short: a zero follows/)
  })

  test('without names go where --db and --table say', async () => {
    const db = newDb()
    await server.as(org.secretKey).post(`/v1/${db}/people`)
    const stdin = '{"hashKey":"ada","data":{"born":1815}}\n{"hashKey":"alan","data":{"born":1912}}\n'
    expect((await importing(['-', '--db', db, '--table', 'people'], { stdin })).exitCode).toBe(0)
    expect(linesOf(await exported(db))).toHaveLength(3)
    const nameless = await importing(['-'], { stdin })
    expect(nameless.exitCode).toBe(1)
    expect(linesOf(nameless.stderr)[0]).toBe('line 1: the line names no db, and --db is not given.')
  })

  test('of two tables are not mixed into the one that --table names', async () => {
    const db = newDb()
    const lines = [table(db, 'one'), record(db, 'a', {}, 'one'), table(db, 'two'), record(db, 'b', {}, 'two')]
    const stdin = lines.map((line) => JSON.stringify(line)).join('\n')
    const { exitCode, stderr } = await importing(['-', '--table', 'both'], { stdin })
    expect(exitCode).toBe(1)
    expect(linesOf(stderr)).toEqual(
      [3, 4].map(
        (n) => `line ${n}: ${db}/both takes the records of ${db}/one; those of ${db}/two would be mixed with them.`,
      ),
    )
  })

  test('of many tables, mixed, arrive all', async () => {
    const db = newDb()
    const names = Array.from({ length: 70 }, (_, i) => `t${i}`)
    const lines = [
      ...names.map((name) => table(db, name)),
      ...Array.from({ length: 700 }, (_, i) => record(db, `k${i}`, { i }, names[i % 70]!)),
    ]
    const { exitCode } = await importing(['-'], { stdin: lines.map((line) => JSON.stringify(line)).join('\n') })
    expect(exitCode).toBe(0)
    const came = parseLines(await exported(db)).filter(({ hashKey }) => hashKey !== undefined)
    const found = came.map(({ table, data }) => `${table} ${data.i}`).sort()
    expect(found).toEqual(Array.from({ length: 700 }, (_, i) => `${names[i % 70]} ${i}`).sort())
  })

  test('into a table with other indices: they are noted, the records go in under its own', async () => {
    const db = newDb()
    await server.as(org.secretKey).post(`/v1/${db}/notes`, { indices: { i2: { hashField: 'topic' } } })
    const lines = [table(db, 'notes', { i1: { hashField: 'status' } }), record(db, 'a', { topic: 'x', status: [] })]
    const { exitCode, stderr } = await importing(['-'], { stdin: lines.map((line) => JSON.stringify(line)).join('\n') })
    expect(stderr).toBe(`line 1: ${db}/notes exists with other indices than declared here; it keeps its own.\n`)
    expect(exitCode).toBe(0)
    const { body } = await server.as(org.secretKey).post(`/v1/${db}/notes/query`, { index: 'i2', hash: 'x' })
    expect(body.count).toBe(1)
  })
})

describe('over HTTP', () => {
  const lines = (db: string, count: number) => [
    table(db),
    ...Array.from({ length: count }, (_, i) => record(db, `k${i}`, { i, text: 'x'.repeat(50) })),
  ]

  test('loads of at most 1,000 lines, two at once, never two with the same record', async () => {
    const db = newDb()
    const underWay = new Map<string, number>()
    let most = 0
    let requests = 0
    const middleman = startMiddleman(server.url, async ({ number, operations }) => {
      expect(operations.length).toBeLessThanOrEqual(1_000)
      for (const { hashKey } of operations) underWay.set(hashKey, (underWay.get(hashKey) ?? 0) + 1)
      requests++
      most = Math.max(most, requests)
      expect([...underWay.values()].filter((count) => count > 1)).toEqual([])
      // The first one is held until a second one is sent beside it.
      if (number === 1) await eventually('a second load', () => most > 1 || undefined)
      // Long enough for whatever else would be sent meanwhile.
      await Bun.sleep(5)
      for (const { hashKey } of operations) underWay.set(hashKey, underWay.get(hashKey)! - 1)
      requests--
      return undefined
    })
    try {
      const stdin = textOf([...lines(db, 6_000), ...lines(db, 60).slice(1)])
      const { exitCode } = await importing(['-'], { stdin, env: { CUBBY_URL: middleman.url } })
      expect(exitCode).toBe(0)
      expect(most).toBe(2)
      const sizes = middleman.batches.map(({ operations }) => operations.length)
      expect(sizes.sort((a, b) => b - a)).toEqual([...Array(6).fill(1_000), 60])
    } finally {
      await middleman.stop()
    }
  })

  test('an answer that does not account for every line ends the import: it is not taken for success', async () => {
    const done = { count: 1, skipped: 0, failed: 0, errors: [] }
    for (const answer of ['{}', JSON.stringify(done)]) {
      const middleman = startMiddleman(server.url, () => new Response(answer))
      const db = newDb()
      const stdin = textOf([table(db), record(db, 'a'), record(db, 'b')])
      try {
        const { exitCode, stderr } = await importing(['-'], { stdin, env: { CUBBY_URL: middleman.url } })
        expect({ answer, exitCode }).toEqual({ answer, exitCode: 1 })
        expect(stderr).toContain('did not say what became of each of the 2 lines')
      } finally {
        await middleman.stop()
      }
    }
  })

  test('a server that is busy is asked again', async () => {
    const db = newDb()
    const middleman = startMiddleman(server.url, ({ number }) =>
      number % 3 === 1 ? errorAnswer(503, 'unavailable', 'The write queue is full; nothing was applied.') : undefined,
    )
    try {
      const stdin = textOf(lines(db, 4_000))
      const { exitCode, stderr } = await importing(['-'], { stdin, env: { CUBBY_URL: middleman.url } })
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(linesOf(await exported(db))).toHaveLength(4_001)
    } finally {
      await middleman.stop()
    }
  })

  test('several imports at once wait for each other, whatever number of loads the server takes', async () => {
    const dbs = [1, 2, 3, 4].map(newDb)
    const results = await Promise.all(dbs.map((db) => importing(['-'], { stdin: textOf(lines(db, 10_000)) })))
    expect(results.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
      dbs.map(() => ({ exitCode: 0, stderr: '' })),
    )
    for (const db of dbs) expect(linesOf(await exported(db))).toHaveLength(10_001)
  })

  test('a server that goes away and comes back is asked again', async () => {
    const db = newDb()
    let again: Promise<Middleman> | undefined
    const first = startMiddleman(server.url, ({ number }) => {
      if (number === 3) again = first.stop().then(() => startMiddleman(server.url, undefined, first.port))
      return undefined
    })
    try {
      const stdin = textOf(lines(db, 5_000))
      const { exitCode, stderr } = await importing(['-'], { stdin, env: { CUBBY_URL: first.url } })
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(linesOf(await exported(db))).toHaveLength(5_001)
      expect((await again)!.batches.length).toBeGreaterThan(0)
    } finally {
      await (await again)?.stop()
    }
  })

  // The table gets an index that the import does not know, so that lines of its are refused by the server alone.
  test('lines that only the server refuses are all reported by their numbers; their neighbours arrive', async () => {
    const db = newDb()
    const owner = server.as(org.secretKey)
    const bad = (i: number): boolean => i % 4 === 0
    const records = Array.from({ length: 2_000 }, (_, i) => record(db, `k${i}`, bad(i) ? { status: null } : { i }))
    const addIndex = async () => {
      await owner.delete(`/v1/${db}/notes`)
      await owner.post(`/v1/${db}/notes`, { indices: { i1: { hashField: 'status' } } })
    }
    let added: Promise<void> | undefined
    const middleman = startMiddleman(server.url, async () => {
      added ??= addIndex()
      await added
      return undefined
    })
    try {
      const stdin = textOf([table(db), ...records])
      const { exitCode, stdout, stderr } = await importing(['-', '--json'], {
        stdin,
        env: { CUBBY_URL: middleman.url },
      })
      const expected = records.flatMap((_, i) => (bad(i) ? [i + 2] : []))
      const reported = linesOf(stderr).map((line) => Number(/^line (\d+): data\.status is null; /.exec(line)?.[1]))
      expect(reported.sort((a, b) => a - b)).toEqual(expected)
      expect(JSON.parse(stdout)).toMatchObject({ complete: true, lines: 2_001, records: 1_500, refused: 500 })
      expect(exitCode).toBe(1)
      expect(linesOf(await exported(db))).toHaveLength(1_501)
    } finally {
      await middleman.stop()
    }
  })

  test('a failure that is no line’s fault stops it, and --resume goes on', async () => {
    const db = newDb()
    let full = true
    const middleman = startMiddleman(server.url, ({ number }) =>
      full && number > 5 ? errorAnswer(507, 'storage_full', 'The disk is full; nothing was applied.') : undefined,
    )
    try {
      const file = writeLines(join(dir, 'full.ndjson'), lines(db, 10_000))
      const env = { CUBBY_URL: middleman.url }
      const stopped = await importing([file], { env })
      expect(stopped.exitCode).toBe(1)
      expect(stopped.stdout).toBe('')
      const [said, why] = linesOf(stopped.stderr)
      expect(why).toBe('cubby: The disk is full; nothing was applied.')
      const line = Number(/^stopped after line (\d+) of .*; continue with --resume$/.exec(said!)?.[1])
      // The declaration and at least 4 of the first 5 loads: another one may have been under way.
      expect(line).toBeGreaterThanOrEqual(1 + 4 * 1_000)
      expect(line).toBeLessThanOrEqual(1 + 5 * 1_000)
      full = false
      const sent = middleman.batches.length
      const { exitCode, stdout, stderr } = await importing([file, '--resume', '--json'], { env })
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(JSON.parse(stdout)).toMatchObject({ complete: true, lines: 10_001, refused: 0 })
      // It went on from there: what was settled was not sent again.
      expect(middleman.batches.slice(sent).flatMap(({ operations }) => operations)).toHaveLength(10_001 - line)
      expect(linesOf(await exported(db))).toHaveLength(10_001)
      expect(readdirSync(dir).filter((name) => name.startsWith('full.ndjson.'))).toEqual([])
    } finally {
      await middleman.stop()
    }
  })
})

describe.skipIf(!storeIsEmbedded())('through a server of 0.2', () => {
  let old: Server
  let oldOrg: Organization
  beforeAll(async () => {
    old = await startServer({ program: await programOf('v7') })
    oldOrg = await old.createOrganization('acme')
  })
  afterAll(() => old?.stop())

  const importThrough = (middleman: Middleman, stdin: string) =>
    importing(['-', '--json'], { stdin, env: { CUBBY_URL: middleman.url, CUBBY_KEY: oldOrg.secretKey } })

  test('batches of 25 are sent, several at once, and every record arrives', async () => {
    let requests = 0
    let most = 0
    const middleman = startMiddleman(old.url, async ({ operations }) => {
      const isBatch = operations[0]!.op !== undefined
      requests++
      most = Math.max(most, requests)
      if (isBatch) {
        expect(operations.length).toBeLessThanOrEqual(25)
        // The first lines were sent as loads before.
        const isLater = Number(operations[0]!.hashKey.slice(1)) >= 3_000
        if (isLater) await eventually('batches at once', () => most > 2 || undefined)
      }
      requests--
      return undefined
    })
    try {
      const records = Array.from({ length: 5_000 }, (_, i) => record('old', `k${i}`, { i }))
      const { exitCode, stdout, stderr } = await importThrough(middleman, textOf([table('old'), ...records]))
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(JSON.parse(stdout)).toMatchObject({ records: 5_000, refused: 0 })
      const { loads, batches } = Object.groupBy(middleman.batches, ({ operations }) =>
        operations[0]!.op === undefined ? 'loads' : 'batches',
      )
      expect(loads!.length).toBeLessThanOrEqual(2)
      expect(batches!.flatMap(({ operations }) => operations)).toHaveLength(5_000)
      expect(most).toBeGreaterThan(2)
      expect(most).toBeLessThanOrEqual(8)
      const { body } = await old.as(oldOrg.secretKey).post('/v1/old/notes/query', { index: 't', select: 'count' })
      expect(body.count).toBe(5_000)
    } finally {
      await middleman.stop()
    }
  })

  test('a line that only the server refuses is reported by its number; its neighbours arrive', async () => {
    const unlucky = ['k30', 'k33']
    // As a server might which knows a rule that this import does not.
    const middleman = startMiddleman(old.url, ({ operations }) => {
      const at = operations.findIndex(({ op, hashKey }) => op === 'put' && unlucky.includes(hashKey))
      if (at < 0) return undefined
      const message = `${operations[at]!.hashKey} is unlucky.`
      const error = { code: 'invalid_key', message, field: `operations[${at}].hashKey` }
      return Response.json({ error }, { status: 400 })
    })
    try {
      const records = Array.from({ length: 60 }, (_, i) => record('unlucky', `k${i}`, { i }))
      const { exitCode, stdout, stderr } = await importThrough(middleman, textOf([table('unlucky'), ...records]))
      expect(linesOf(stderr)).toEqual(['line 32: k30 is unlucky.', 'line 35: k33 is unlucky.'])
      expect(exitCode).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({ records: 58, refused: 2 })
    } finally {
      await middleman.stop()
    }
  })
})

describe('refusals', () => {
  const refused: [string, (file: string) => string[], number, string][] = [
    ['a file that is not there', () => [join(dir, 'nope')], 1, 'there is no file'],
    ['a directory', () => [dir], 1, 'is a directory'],
    ['--resume without an earlier import', (file) => [file, '--resume'], 1, 'no earlier import to continue'],
    ['--resume of standard input', () => ['-', '--resume'], 2, '--from-line'],
    ['--resume with --from-line', (file) => [file, '--resume', '--from-line', '5'], 2, 'cannot be combined'],
    ['a line number that is none', (file) => [file, '--from-line', '0'], 2, '--from-line is "0"'],
    ['a name that breaks the rule', (file) => [file, '--db', 'App'], 2, '--db is "App"'],
    ['a store that is not there', (file) => [file, '--data', join(dir, 'nowhere')], 1, 'there is no store in'],
  ]
  for (const [what, args, exitCode, said] of refused) {
    test(what, async () => {
      const file = writeLines(join(dir, 'refused.ndjson'), [table('refused'), record('refused', 'a')])
      const result = await importing(args(file))
      expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode, stdout: '' })
      expect(result.stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(result.stderr).toContain(said)
    })
  }

  test('a public key does not import', async () => {
    const file = writeLines(join(dir, 'public.ndjson'), [table('public'), record('public', 'a')])
    const { exitCode, stderr } = await importing([file], { env: { CUBBY_KEY: org.publicKey } })
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/^cubby: A public key [^\n]+\n$/),
    })
    expect(existsSync(`${file}.import-state`)).toBe(false)
  })

  test.skipIf(!storeIsEmbedded())('straight into the data directory of a running server', async () => {
    const file = writeLines(join(dir, 'running.ndjson'), [table('running'), record('running', 'a')])
    const { exitCode, stderr } = await runCommand(['import', file, ...asOperator(server.dataDir, org)])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/^cubby: another process serves the store in [^\n]+\n$/),
    })
  })
})
