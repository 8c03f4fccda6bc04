import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readCsv } from '../../../server/src/cli/transfer/csv.ts'
import { parseForeignLine } from '../../../server/src/cli/transfer/foreign.ts'
import { readLines as readLinesOfShell } from '../../../server/src/cli/transfer/read-lines.ts'
import { makeTempDir, removeTempDir } from '../../../server/test/harness.ts'
import { type CsvFormat, CsvReader, recordOf } from '../../src/screens/import/csv.ts'
import { guessFormat, readHead } from '../../src/screens/import/csv-head.ts'
import { LineFault } from '../../src/screens/import/parse-line.ts'
import { linesOf } from '../../src/screens/import/read-lines.ts'

// If both did not read the same, a file would give other records in the console than in the shell.

/** The result of a line: a record, a refusal, or nothing. The words of a refusal are each program's own. */
type Given = { hashKey: string; rangeKey: string; data: string } | 'refused' | 'nothing'
type All = Given[] | 'the file is refused'

const inConsole = async (bytes: Uint8Array<ArrayBuffer>, format: CsvFormat): Promise<All> => {
  const reader = new CsvReader(format.delimiter)
  const all: Given[] = []
  const add = (rows: ReturnType<CsvReader['take']>): void => {
    for (const row of rows) {
      if (row === undefined) all.push('nothing')
      else if (row.fault !== undefined) all.push('refused')
      else {
        try {
          const { hashKey, rangeKey, data } = recordOf(row.cells, reader.columns!, format)
          all.push({ hashKey, rangeKey, data })
        } catch (error) {
          if (!(error instanceof LineFault)) throw error
          all.push('refused')
        }
      }
    }
  }
  try {
    for await (const lines of linesOf(new File([bytes], 'x.csv'), () => {})) add(reader.take(lines))
    add(reader.end())
    if (
      ![format.hashKey, format.rangeKey ?? format.hashKey, ...format.numbers].every((name) =>
        reader.columns!.includes(name),
      )
    )
      return 'the file is refused'
    return all
  } catch {
    return 'the file is refused'
  }
}

const inShell = async (
  bytes: Uint8Array,
  { delimiter, hashKey, rangeKey, numbers }: CsvFormat,
  directory: string,
): Promise<All> => {
  const path = `${directory}/x.csv`
  await Bun.write(path, bytes)
  const named = [
    ['--hash-key', [hashKey]],
    ['--range-key', rangeKey === undefined ? [] : [rangeKey]],
    ['--numbers', numbers],
  ] as const
  const all: Given[] = []
  try {
    for await (const lines of readCsv(readLinesOfShell(path), { delimiter, numbers, named }).blocks()) {
      for (const line of lines) {
        if (typeof line !== 'string') all.push('refused')
        else if (line === '') all.push('nothing')
        else {
          try {
            const parsed = parseForeignLine(line, { hashKey, rangeKey })
            if (parsed.kind !== 'record') throw new Error('a declaration')
            const { record } = parsed
            all.push({ hashKey: record.hashKey, rangeKey: record.rangeKey, data: record.data })
          } catch {
            all.push('refused')
          }
        }
      }
    }
    return all
  } catch {
    return 'the file is refused'
  }
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
const plain: CsvFormat = { delimiter: ',', hashKey: 'id', rangeKey: undefined, numbers: [] }

const compare = async (bytes: Uint8Array<ArrayBuffer>, format: CsvFormat): Promise<All> => {
  const directory = makeTempDir()
  try {
    const found = await inConsole(bytes, format)
    expect(found).toEqual(await inShell(bytes, format, directory))
    return found
  } finally {
    removeTempDir(directory)
  }
}

describe('CSV in the console is what it is in the shell', () => {
  const cases: [name: string, text: string, format?: Partial<CsvFormat>, records?: number][] = [
    ['plain', 'id,a\n1,x\n2,y\n', {}, 2],
    ['CRLF, a byte order mark, no end of line', '\ufeffid,a\r\n1,x\r\n2,y', {}, 2],
    ['quotes, doubled quotes, commas', 'id,a\n1,"a ""b"", c"\n"2",""\n', {}, 2],
    ['line breaks in a cell', 'id,a\n1,"x\ny\r\nz"\n2,b\n', {}, 2],
    ['a quote inside a plain cell', 'id,a\n1,6" pipe\n2,b\n', {}, 1],
    ['text behind a closing quote', 'id,a\n1,"6" pipe\n2,b\n', {}, 1],
    ['a quote that is not closed', 'id,a\n1,x\n2,"b\n3,c\n', {}, 1],
    ['too few and too many cells', 'id,a\n1\n2,b,c\n3,d\n', {}, 1],
    ['empty lines', '\n\nid,a\n\n1,x\n\n', {}, 1],
    ['an empty key', 'id,a\n,x\n2,y\n', {}, 1],
    ['the keys . and ..', 'id,a\n.,x\n..,y\n', {}, 0],
    ['a key that is too long', `id,a\n${'k'.repeat(1_025)},x\n`, {}, 0],
    ['numbers', 'id,n\na,7\nb, -0.50 \nc,007\nd,1e6\ne,\nf,0x1\n', { numbers: ['n'] }, 4],
    ['a key of numbers', 'id,n\n1.0,a\n1e0,b\nx,c\n', { numbers: ['id'] }, 2],
    ['a range key', 'id,r\na,1\na,\n', { rangeKey: 'r' }, 1],
    ['semicolons', 'id;a\n1;"x;y"\n', { delimiter: ';' }, 1],
    ['tabs', 'id\ta\n1\tx\n', { delimiter: '\t' }, 1],
    ['a name that occurs twice', 'id,a,a\n1,2,3\n'],
    ['a column without a name', 'id,\n1,2\n'],
    ['no such column', 'key,a\n1,2\n'],
    ['a header with a line break', '"i\nd",id\n1,2\n', {}, 1],
    ['nothing', ''],
    ['only a header', 'id,a\n', {}, 0],
    ['a member called __proto__', 'id,__proto__\n1,2\n', {}, 1],
  ]
  for (const [name, text, format, records] of cases) {
    test(name, async () => {
      const found = await compare(bytesOf(text), { ...plain, ...format })
      if (records === undefined) expect(found).toBe('the file is refused')
      else expect((found as Given[]).filter((each) => typeof each === 'object')).toHaveLength(records)
    })
  }

  test('bytes that are not UTF-8, also inside quotes, and UTF-16', async () => {
    const found = await compare(
      new Uint8Array([...bytesOf('id,a\n1,"x'), 0xff, 0x0a, ...bytesOf('y"\n2,b\n3,'), 0xfe, ...bytesOf('\n4,c\n')]),
      plain,
    )
    expect(
      (found as Given[])
        .filter((each) => typeof each === 'object')
        .map((each) => (each as { hashKey: string }).hashKey),
    ).toEqual(['2', '4'])
    const utf16 = new Uint8Array(Buffer.from('\ufeffid,a\n1,x\n', 'utf16le'))
    expect(await compare(utf16, plain)).toBe('the file is refused')
  })

  test('any text at all', async () => {
    const cell = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'a', 'ü', '😀', ' ', '1', '.'), maxLength: 6 })
    const row = fc.array(
      fc.oneof(
        cell,
        cell.map((text) => `"${text.replaceAll('"', '""')}"`),
      ),
      { minLength: 1, maxLength: 3 },
    )
    const file = fc.tuple(fc.constantFrom('', '\ufeff'), fc.array(row, { maxLength: 8 }), fc.constantFrom('\n', '\r\n'))
    const directory = makeTempDir()
    const seed = Date.now() % 2 ** 31
    try {
      await fc.assert(
        fc.asyncProperty(file, fc.constantFrom<readonly string[]>([], ['n']), async ([mark, rows, end], numbers) => {
          const text = mark + [['id', 'n'], ...rows].map((cells) => cells.join(',')).join(end)
          const format = { ...plain, numbers }
          expect(await inConsole(bytesOf(text), format)).toEqual(await inShell(bytesOf(text), format, directory))
        }),
        { numRuns: 400, seed },
      )
    } finally {
      removeTempDir(directory)
    }
  })
})

describe('before a CSV file is imported', () => {
  const fileOf = (text: string): File => new File([text], 'x.csv')

  test('its first 20 rows are read, and its delimiter is found', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => `${i};"a;b"`)
    const head = await readHead(fileOf(`id;text\n${rows.join('\n')}\n`))
    expect(head).toMatchObject({ delimiter: ';', columns: ['id', 'text'] })
    expect(head.rows).toHaveLength(20)
    expect(head.rows[19]).toEqual({ cells: ['19', 'a;b'] })
  })

  test('the key and the columns of numbers are offered; what looks like text stays text', async () => {
    const head = await readHead(fileOf('zip,user_id,Hash Key,n,m\n0815,1,a,7,1e6\n200,2,b,,x\n'))
    expect(guessFormat(head)).toEqual({ hashKey: 'Hash Key', rangeKey: undefined, numbers: ['user_id', 'n'] })
  })
})
