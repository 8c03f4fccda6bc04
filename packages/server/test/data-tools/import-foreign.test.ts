import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  type CommandResult,
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeArguments,
  storeIsEmbedded,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { asClient, asOperator, expectDone, linesOf, runCommand, startCommand, withoutTimes } from './commands.ts'
import { startMiddleman } from './middleman.ts'

// Files of other programs: JSON lines and CSV.

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

/** A database of the test's own, with the table notes. */
const newDb = async (): Promise<string> => {
  const db = `db-${++databases}`
  ok(await server.as(org.secretKey).post(`/v1/${db}/notes`, { indices: { i1: { hashField: 'n' } } }), 201)
  return db
}

/** A store that no server serves, with the table notes. On PostgreSQL an import may run beside the server. */
const ownStore = async (): Promise<{ store: string; db: string }> => {
  if (!storeIsEmbedded()) return { store: server.dataDir, db: await newDb() }
  const store = join(dir, `store-${++databases}`)
  await expectDone(['orgs', 'create', 'acme', ...storeArguments(store)])
  const stdin = '{"db":"app","table":"notes","indices":{"i1":{"hashField":"n"}}}\n'
  await expectDone(['import', '-', ...asOperator(store, org)], { stdin })
  return { store, db: 'app' }
}

interface Way {
  name: string
  /** Imports this text, or a file, into a new table; the result and the lines of an export of it. */
  run(input: { stdin?: string | Uint8Array; file?: string }, flags: string[]): Promise<Imported>
}

interface Imported extends CommandResult {
  /** The records without the lines that declare the table, and without times. */
  records: string[]
}

const recordsIn = async (store: string, db: string): Promise<string[]> => {
  const text = withoutTimes(await expectDone(['export', '--db', db, ...asOperator(store, org)]))
  const start = `{"db":"${db}","table":"notes",`
  return linesOf(text)
    .slice(1)
    .map((line) => line.replace(start, '{'))
    .sort()
}

const ways: Way[] = [
  {
    name: 'through the server',
    async run({ stdin, file = '-' }, flags) {
      const db = await newDb()
      const command = ['import', file, '--db', db, '--table', 'notes', ...flags]
      const result = await runCommand(command, { stdin, env: asClient(server, org) })
      return { ...result, records: await recordsIn(server.dataDir, db) }
    },
  },
  {
    name: 'straight into the store',
    async run({ stdin, file = '-' }, flags) {
      const { store, db } = await ownStore()
      const command = ['import', file, '--db', db, '--table', 'notes', ...flags, ...asOperator(store, org)]
      const result = await runCommand(command, { stdin })
      return { ...result, records: await recordsIn(store, db) }
    },
  },
]

for (const { name, run } of ways) {
  describe(`CSV, ${name}`, () => {
    const csv = (stdin: string | Uint8Array, ...flags: string[]): Promise<Imported> =>
      run({ stdin }, ['--format', 'csv', ...flags])

    test('cells are strings, empty ones are left out, --numbers are numbers as written, the keys stay in data', async () => {
      const text = [
        'id,at,n,price,remark',
        'a,1,1.0,5,"x, ""y"""',
        'a,2,12345678901234567890,,',
        'b,1,-2.50,0050,"two\nlines"',
        '',
      ].join('\n')
      const { exitCode, stdout, stderr, records } = await csv(
        text,
        '--hash-key',
        'id',
        '--range-key',
        'at',
        '--numbers',
        'n',
      )
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(stdout).toMatch(/^imported 3 records in [\d.]+ s, [\d,]+ records\/s\n$/)
      expect(records).toEqual([
        '{"hashKey":"a","rangeKey":"1","data":{"id":"a","at":"1","n":1.0,"price":"5","remark":"x, \\"y\\""}}',
        '{"hashKey":"a","rangeKey":"2","data":{"id":"a","at":"2","n":12345678901234567890}}',
        '{"hashKey":"b","rangeKey":"1","data":{"id":"b","at":"1","n":-2.50,"price":"0050","remark":"two\\nlines"}}',
      ])
    })

    test('byte order mark, CRLF, empty lines, line feeds in cells, no line end at the end', async () => {
      const text = '\ufeffid,text\r\n\r\na,"one\r\ntwo"\r\n\r\nb,x\r\nc,"y"'
      const { exitCode, stderr, records } = await csv(text, '--hash-key', 'id')
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(records).toEqual([
        '{"hashKey":"a","data":{"id":"a","text":"one\\r\\ntwo"}}',
        '{"hashKey":"b","data":{"id":"b","text":"x"}}',
        '{"hashKey":"c","data":{"id":"c","text":"y"}}',
      ])
    })

    test('faulty lines are reported with their number in the file, and do not stop the rest; exit 1', async () => {
      const text = [
        'id,n,text',
        'a,1,"of two',
        'lines"',
        'b,1',
        'c,1,x,y',
        'd,seven,x',
        ',1,x',
        'e,1,6" pipe',
        'f,1,"6" pipe',
        'g,1e400,x',
        'h,2,"a',
        'b',
        'c",more',
        'i,3,good',
        'j,4,"not closed',
        'k,5,x',
      ].join('\n')
      const { exitCode, stdout, stderr, records } = await csv(text, '--hash-key', 'id', '--numbers', 'n', '--json')
      expect(linesOf(stderr)).toEqual([
        'line 4: the line has 2 cells; the header names 3 columns.',
        'line 5: the line has 4 cells; the header names 3 columns.',
        expect.stringMatching(/^line 6: n is "seven"; --numbers takes numbers as in JSON: /),
        'line 7: id is missing or empty; it is the hash key (--hash-key) of the record.',
        expect.stringMatching(/^line 8: a cell that does not begin with a quote has one inside; /),
        expect.stringMatching(/^line 9: text follows the closing quote of a cell; /),
        expect.stringMatching(/^line 10: data.n is a number that no double can hold; /),
        'line 11: the line has 4 cells; the header names 3 columns.',
        'line 15: a quote is opened in this record and not closed before the end of the file.',
      ])
      // The two lines behind the open quote are refused both.
      expect(JSON.parse(stdout)).toMatchObject({ complete: true, lines: 16, records: 2, refused: 10 })
      expect(exitCode).toBe(1)
      expect(records.map((line) => JSON.parse(line).hashKey)).toEqual(['a', 'i'])
    })

    test('of two lines with one key the later wins; both are counted', async () => {
      const text = `id,n\n${Array.from({ length: 90 }, (_, i) => `k${i % 3},${i}`).join('\n')}\n`
      const { stdout, records } = await csv(text, '--hash-key', 'id', '--numbers', 'n', '--json')
      expect(JSON.parse(stdout)).toMatchObject({ lines: 91, records: 90, refused: 0 })
      expect(records.map((line) => JSON.parse(line).data.n)).toEqual([87, 88, 89])
    })
  })

  describe(`foreign JSON lines, ${name}`, () => {
    test('each object is the data as it is; a number as a key is its text', async () => {
      const lines = [
        '{"id":12345678901234567890,"at":1.0,"nested":{"id":"no"}}',
        '{"hashKey":"own","data":{"x":1},"id":"z","at":"2","n":1}',
        '{"id":null,"at":"x"}',
        '{"at":"x"}',
        '["id","at"]',
        '',
        '{"id":"a","at":"","n":1}',
        '{"id":"a","at":"i","n":[1]}',
      ]
      const { exitCode, stdout, stderr, records } = await run({ stdin: lines.join('\n') }, [
        ...['--hash-key', 'id', '--range-key', 'at', '--json'],
      ])
      expect(records).toEqual([
        '{"hashKey":"12345678901234567890","rangeKey":"1.0","data":{"id":12345678901234567890,"at":1.0,"nested":{"id":"no"}}}',
        '{"hashKey":"z","rangeKey":"2","data":{"hashKey":"own","data":{"x":1},"id":"z","at":"2","n":1}}',
      ])
      expect(linesOf(stderr).map((line) => line.split(';')[0])).toEqual([
        'line 3: id is null',
        'line 4: id is missing or empty',
        'line 5: the line is an array',
        'line 7: at is empty',
        'line 8: data.n is an array',
      ])
      expect(JSON.parse(stdout)).toMatchObject({ lines: 8, records: 2, refused: 5 })
      expect(exitCode).toBe(1)
    })
  })
}

test('data of JSON lines is kept byte for byte', async () => {
  const db = await newDb()
  const data = '{ "id" : "a",\t"f": 1.0, "dup": 1, "dup": 2 }'
  const command = ['import', '-', '--db', db, '--table', 'notes', '--hash-key', 'id']
  await expectDone(command, { stdin: `  ${data} \n`, env: asClient(server, org) })
  expect((await server.as(org.secretKey).get(`/v1/${db}/notes/a`)).text).toContain(`"data":${data},`)
})

describe('the format', () => {
  const records = async (file: string, content: string | Uint8Array, ...flags: string[]): Promise<string[]> => {
    const path = join(dir, file)
    writeFileSync(path, content)
    const imported = await ways[0]!.run({ file: path }, ['--hash-key', 'id', ...flags])
    expect({ exitCode: imported.exitCode, stderr: imported.stderr }).toEqual({ exitCode: 0, stderr: '' })
    return imported.records
  }
  const found = ['{"hashKey":"a","data":{"id":"a","x":"1"}}']

  test('is told by the name of the file, or by --format', async () => {
    expect(await records('a.csv', 'id,x\na,1\n')).toEqual(found)
    expect(await records('a.CSV', 'id,x\na,1\n')).toEqual(found)
    expect(await records('a.csv.gz', gzipSync('id,x\na,1\n'))).toEqual(found)
    expect(await records('a.txt', 'id,x\na,1\n', '--format', 'csv')).toEqual(found)
    expect(await records('b.ndjson', '{"id":"a","x":"1"}\n')).toEqual(found)
    expect(await records('b.csv', '{"id":"a","x":"1"}\n', '--format', 'ndjson')).toEqual(found)
  })

  test('--delimiter: a semicolon, a tab', async () => {
    expect(await records('c.csv', 'id;x\na;1\n', '--delimiter', ';')).toEqual(found)
    expect(await records('d.csv', '"id"\tx\n"a"\t1\n', '--delimiter', 'tab')).toEqual(found)
  })

  const noColumn = '--hash-key: there is no column "id"; the columns are '
  const separates = 'separates the cells, give --delimiter'
  const headers: [string, string, string[], number, string][] = [
    [
      'a key that is no column',
      'a,b\n1,2\n',
      [],
      2,
      '--hash-key: there is no column "id"; the columns are "a", "b"; see',
    ],
    ['a wrong delimiter', 'id;b\n1;2\n', [], 2, `${noColumn}"id;b"; if another character ${separates} ';'; see`],
    [
      'a wrong delimiter: tab',
      'id\tb\n1\t2\n',
      [],
      2,
      `${noColumn}"id\\tb"; if another character ${separates} tab; see`,
    ],
    ['one column', 'b\n1\n', [], 2, `${noColumn}"b"; see`],
    [
      'UTF-16',
      '\ufeffid,b\n1,2\n',
      [],
      1,
      'the file is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8\n',
    ],
    ['numbers that are no column', 'id\n1\n', ['--numbers', 'id,x'], 2, '--numbers: there is no column "x"'],
    ['a range key that is no column', 'id\n1\n', ['--range-key', 'x'], 2, '--range-key: there is no column "x"'],
    ['two columns of one name', 'id,x,"x"\n', [], 1, 'line 1: columns 2 and 3 are both called "x"; rename one of them'],
    ['a column without a name', '\nid,,x\n', [], 1, 'line 2: column 2 has no name; give it one'],
    ['a header with a stray quote', 'id,a"b\n', [], 1, 'line 1, which names the columns: a cell that does not begin'],
    ['no header', '\n\n', [], 1, 'the file is empty; its first line names the columns'],
  ]
  for (const [what, content, flags, exitCode, said] of headers) {
    test(`${what}: one line, exit ${exitCode}, nothing imported`, async () => {
      const file = join(dir, 'header.csv')
      writeFileSync(file, content, what === 'UTF-16' ? 'utf16le' : 'utf8')
      const imported = await ways[0]!.run({ file }, ['--hash-key', 'id', ...flags])
      expect(imported.stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(imported.stderr).toContain(`cubby: ${said}`)
      expect(imported).toMatchObject({ exitCode, stdout: '', records: [] })
      expect(existsSync(`${file}.import-state`)).toBe(false)
    })
  }

  test('a file of which no line was accepted: what it may be, once', async () => {
    const note = async (stdin: string, ...flags: string[]) => {
      const { exitCode, stderr } = await ways[0]!.run({ stdin }, flags)
      expect(exitCode).toBe(1)
      return linesOf(stderr).filter((line) => line.startsWith('no line was accepted'))
    }
    const foreign = ['--hash-key', 'id']
    expect(await note('{"id":"a"}\n{"id":"b"}\n')).toEqual([expect.stringContaining('give --hash-key FIELD')])
    expect(await note('[{"id":"a"},\n{"id":"b"}]\n', ...foreign)).toEqual([expect.stringContaining("jq -c '.[]'")])
    expect(await note('id,x\na,1\n', ...foreign)).toEqual([expect.stringContaining('--format csv')])
    expect(await note('id,x\n,1\n', ...foreign, '--format', 'csv')).toEqual([])
    expect(await note('{"id":"a"}\n{"id":true}\n', ...foreign)).toEqual([])
  })

  test('an export with --hash-key: its first line says so', async () => {
    const stdin = '{"db":"app","table":"notes","indices":{}}\n{"hashKey":"a","data":{"x":1}}\n'
    const { exitCode, stderr } = await ways[0]!.run({ stdin }, ['--hash-key', 'hashKey'])
    expect(stderr).toBe(
      'line 1: the line declares a table, as the lines of an export do. Import an export without --hash-key.\n',
    )
    expect(exitCode).toBe(1)
    // With the key field it is a line like any other.
    const own = '{"id":"a","db":"app","table":"notes","indices":{}}\n'
    expect(await ways[0]!.run({ stdin: own }, ['--hash-key', 'id'])).toMatchObject({ exitCode: 0, stderr: '' })
  })

  test('a table that does not exist: exit 1 at once, and how to create it', async () => {
    const command = ['import', '-', '--hash-key', 'id', '--db', 'none', '--table', 'readings']
    const { exitCode, stdout, stderr } = await runCommand(command, { stdin: '{}\n', env: asClient(server, org) })
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toBe('cubby: there is no table none/readings. Create it: cubby table create readings --db none\n')
  })

  const place = ['--db', 'app', '--table', 'notes']
  const mistakes: [string, string[], string][] = [
    ['CSV without --hash-key', ['x.csv', ...place], '--hash-key FIELD is missing'],
    ['--range-key alone', ['x.ndjson', '--range-key', 'at', ...place], '--range-key needs --hash-key'],
    ['no database', ['x.csv', '--hash-key', 'id', '--table', 'notes'], '--db NAME is missing'],
    ['no table', ['x.ndjson', '--hash-key', 'id', '--db', 'app'], '--table NAME is missing'],
    [
      'another format',
      ['x', '--hash-key', 'id', '--format', 'xml', ...place],
      '--format is "xml"; it takes csv or ndjson',
    ],
    [
      '--numbers for JSON',
      ['x', '--hash-key', 'id', '--numbers', 'n', ...place],
      '--numbers is for CSV; give --format csv',
    ],
    ['--delimiter for JSON', ['x', '--hash-key', 'id', '--delimiter', ';', ...place], '--delimiter is for CSV'],
    ['an empty name', ['x.csv', '--hash-key', 'id', '--numbers', 'a,', ...place], '--numbers takes names of columns'],
    ['two characters', ['x.csv', '--hash-key', 'id', '--delimiter', '::', ...place], '--delimiter is "::"'],
    ['a quote as delimiter', ['x.csv', '--hash-key', 'id', '--delimiter', '"', ...place], '--delimiter is "\\""'],
  ]
  for (const [what, words, said] of mistakes) {
    test(`${what}: exit 2`, async () => {
      const { exitCode, stdout, stderr } = await runCommand(['import', ...words], { env: asClient(server, org) })
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
      expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(stderr).toContain(said)
    })
  }
})

describe('a CSV import that stops and continues', () => {
  const rows = Array.from({ length: 4_000 }, (_, i) => `k${String(i).padStart(4, '0')},"a ${i}\nb"`)
  const text = `id,text\n${rows.join('\n')}\n`
  const expected = rows.map((_, i) => {
    const key = `k${String(i).padStart(4, '0')}`
    return `{"hashKey":"${key}","data":{"id":"${key}","text":"a ${i}\\nb"}}`
  })

  test('--strict names the line; --from-line goes on there, with the header of the first line', async () => {
    const db = await newDb()
    const file = join(dir, 'strict.csv')
    const env = asClient(server, org)
    writeFileSync(file, text.replace('k0050,', 'k0050,extra,'))
    const command = ['import', file, '--hash-key', 'id', '--db', db, '--table', 'notes']
    const stopped = await runCommand([...command, '--strict'], { env })
    expect(stopped.exitCode).toBe(1)
    expect(linesOf(stopped.stderr)).toEqual([
      'line 102: the line has 3 cells; the header names 2 columns.',
      'stopped at line 102; fix it, then continue with --from-line 102',
    ])
    writeFileSync(file, text)
    const done = JSON.parse(await expectDone([...command, '--from-line', '102', '--json'], { env }))
    expect(done).toMatchObject({ complete: true, lines: 8_001, records: 3_950, refused: 0 })
    expect(await recordsIn(server.dataDir, db)).toEqual(expected)
  })

  test('after kill -9, --resume gives the same table; with other flags it is refused', async () => {
    const db = await newDb()
    const file = join(dir, 'resumed.csv')
    writeFileSync(file, text)
    let child: ReturnType<typeof startCommand> | undefined
    const middleman = startMiddleman(server.url, async ({ number }) => {
      // The progress is saved every second.
      if (number === 3) {
        await eventually('the saved progress', () => existsSync(`${file}.import-state`) || undefined)
        child!.kill('SIGKILL')
      }
      return undefined
    })
    const env = asClient(middleman, org)
    const command = ['import', file, '--hash-key', 'id', '--db', db, '--table', 'notes']
    try {
      child = startCommand(command, { env })
      expect((await child.result).exitCode).toBe(137)
      const state = JSON.parse(readFileSync(`${file}.import-state`, 'utf8'))
      expect(state.line).toBeGreaterThan(0)
      const other = await runCommand([...command, '--resume', '--range-key', 'text'], { env })
      expect(other).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('range key text; start without --resume'),
      })
      await expectDone([...command, '--resume'], { env })
      expect(await recordsIn(server.dataDir, db)).toEqual(expected)
    } finally {
      await middleman.stop()
    }
  })
})
