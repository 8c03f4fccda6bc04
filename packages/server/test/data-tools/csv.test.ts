import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type CsvFormat, readCsv } from '../../src/cli/transfer/csv.ts'
import { parseForeignLine } from '../../src/cli/transfer/foreign.ts'
import { type LineReader, type ReadLine, readLines } from '../../src/cli/transfer/read-lines.ts'
import { CsvRecords, endsInQuotes } from '../../src/core/text/csv-records.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'

const plain: CsvFormat = { delimiter: ',', numbers: [], named: [] }

/** The lines in blocks of these sizes, as if the file had been read in pieces. */
const blocksOf = (lines: ReadLine[], sizes: number[]): LineReader => ({
  async *blocks() {
    for (let at = 0, i = 0; at < lines.length; i++) {
      const size = sizes[i % sizes.length] ?? 1
      yield lines.slice(at, at + size)
      at += size
    }
  },
  fraction: () => undefined,
  stop: () => {},
})

const convert = async (reader: LineReader, format = plain): Promise<ReadLine[]> => {
  const lines: ReadLine[] = []
  for await (const block of readCsv(reader, format).blocks()) lines.push(...block)
  return lines
}

const cells = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('"', ',', ';', '\t', '\n', '\r', 'a', 'ü', '😀', ' '), maxLength: 8 }),
)

const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`

/** As a careful program writes it: quoted only where it must be. */
const written = (cell: string, delimiter: string): string =>
  /["\n\r]/.test(cell) || cell.includes(delimiter) ? quoted(cell) : cell

describe('any table of cells', () => {
  const tables = fc.record({
    rows: fc.array(fc.array(cells, { minLength: 3, maxLength: 3 }), { maxLength: 12 }),
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    end: fc.constantFrom('\n', '\r\n'),
    always: fc.boolean(),
    sizes: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
  })

  test('comes back cell by cell, each record at its first line, wherever the pieces end', async () => {
    await fc.assert(
      fc.asyncProperty(tables, async ({ rows, delimiter, end, always, sizes }) => {
        const write = (cell: string): string => (always ? quoted(cell) : written(cell, delimiter))
        const records = [['k', 'a "b"', 'c\nd'], ...rows].map((row) => row.map(write).join(delimiter))
        const lines = records
          .map((record) => record + end)
          .join('')
          .split('\n')
        const found = await convert(blocksOf(lines, sizes), { ...plain, delimiter })
        // Text after the last line end is a line too, here an empty one.
        expect(found).toHaveLength(lines.length)
        const expected: string[] = []
        rows.forEach(([k, b, d], i) => {
          const before = records
            .slice(0, i + 1)
            .join('\n')
            .split('\n').length
          const members = Object.entries({ k, 'a "b"': b, 'c\nd': d }).filter(([, cell]) => cell !== '')
          const blank = records[i + 1]!.trim() === ''
          expected[before] = blank ? '' : JSON.stringify(Object.fromEntries(members))
        })
        expect(found).toEqual(lines.map((_, i) => expected[i] ?? ''))
      }),
      { numRuns: 300 },
    )
  })

  // If the two disagreed, a line of one record would be taken for the next.
  test('ends where our search for quotes says that it ends', () => {
    fc.assert(
      fc.property(fc.array(cells, { minLength: 1, maxLength: 4 }), (row) => {
        let inside = false
        const lines = row
          .map((cell) => written(cell, ','))
          .join(',')
          .split('\n')
        lines.forEach((line, i) => {
          inside = endsInQuotes(line, inside, ',')
          if (i < lines.length - 1) expect(inside).toBe(true)
        })
        expect(inside).toBe(false)
      }),
    )
  })

  test('one faulty record is refused alone, whichever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 39 }), async (count, at) => {
        const bad = at % count
        const lines = Array.from({ length: count }, (_, i) => (i === bad ? `k${i},a"b` : `k${i},"x ${i}"`))
        const found = (await convert(blocksOf(['id,text', ...lines], [7]))).slice(1)
        found.forEach((line, i) => {
          if (i === bad) expect(line).toEqual({ fault: expect.stringContaining('does not begin with a quote') })
          else expect(line).toBe(`{"id":"k${i}","text":"x ${i}"}`)
        })
      }),
    )
  })
})

describe('the size of a record is limited', () => {
  test('lines of a quote that is not closed are dropped as they come, and all are counted', () => {
    const records = new CsvRecords(',')
    const line = 'x'.repeat(100_000)
    expect(records.take(['a,"open'])).toEqual([])
    let held = 0
    const seen: ReadLine[] = []
    for (let i = 0; i < 100; i++) {
      const taken = records.take([line])
      seen.push(...taken.map(({ text }) => text))
      if (taken.length === 0) held++
    }
    expect(held).toBe(10)
    expect(seen).toHaveLength(101)
    expect(seen[0]).toEqual({ fault: expect.stringContaining('longer than 1048576 bytes; is a quote not closed?') })
    for (const text of seen.slice(1)) expect(text).toEqual({ fault: '' })
    // The quote of the next quoted cell closes it: from the line after that on, records are read again.
    expect(records.take(['b,"c",d']).map(({ text }) => text)).toEqual([{ fault: '' }])
    expect(records.take(['e,"f"'])).toEqual([{ text: 'e,"f"', lines: 1 }])
    expect(records.end()).toEqual([])
  })

  test('of a file that is not UTF-8 only the faulty records are refused, also one of several lines', async () => {
    const dir = makeTempDir()
    try {
      const file = join(dir, 'latin1.csv')
      const text = 'id,text\na,"one\ntwo"\nb,"caf\xe9\nx,y\nz"\nc,"x\n\xe9\ny,z"\nd,"last"\n'
      writeFileSync(file, Buffer.from(text, 'latin1'))
      const toUtf8 = 'Convert the file first, for example: iconv -f WINDOWS-1252 -t UTF-8.'
      const found = await convert(readLines(file))
      expect(found.slice(0, 10)).toEqual([
        ...['', '{"id":"a","text":"one\\ntwo"}', ''],
        ...[{ fault: `the line is not valid UTF-8. ${toUtf8}`, lossyText: 'b,"caf\xe9' }, '', ''],
        ...[{ fault: `line 2 of this record: the line is not valid UTF-8. ${toUtf8}` }, '', ''],
        '{"id":"d","text":"last"}',
      ])
    } finally {
      removeTempDir(dir)
    }
  })
})

describe('cells of --numbers', () => {
  const convertNumber = async (cell: string): Promise<ReadLine> =>
    (await convert(blocksOf(['id,n', `k,${written(cell, ',')}`], [2]), { ...plain, numbers: ['n'] }))[1]!

  for (const text of ['0', '-0', '1.0', '12345678901234567890', '0.10', '1e5', '1E+400', '-2.50e-3']) {
    test(`${text} stays as it is written`, async () => {
      expect(await convertNumber(text)).toBe(`{"id":"k","n":${text}}`)
    })
  }

  test('white space around a number is dropped', async () => {
    expect(await convertNumber(' 12 ')).toBe('{"id":"k","n":12}')
  })

  for (const text of [
    '007',
    '0x10',
    '+5',
    '.5',
    '5.',
    '1,5',
    '1_000',
    '1 000',
    'NaN',
    'Infinity',
    'null',
    ' ',
    '1e',
    '٣',
  ]) {
    test(`${JSON.stringify(text)} is refused by the column's name`, async () => {
      expect(await convertNumber(text)).toEqual({
        fault: expect.stringMatching(/^n is ".*"; --numbers takes numbers as in JSON: 7, -0.5, 1e6. /),
      })
    })
  }
})

describe('lines of other programs', () => {
  const keys = { hashKey: 'id', rangeKey: 'at' }
  const parsed = (text: string) => {
    const line = parseForeignLine(text, keys)
    return line.kind === 'record' ? line.record : undefined
  }

  test('the whole object is the data, as it is written; the keys are the two fields', () => {
    const text = '{ "at" : "b\\u0041", "n": 1.0, "id":"a", "n": 12345678901234567890, "hashKey": "other", "data": {} }'
    expect(parsed(text)).toMatchObject({ hashKey: 'a', rangeKey: 'bA', data: text })
    expect(parsed(`  ${text}\r`)).toMatchObject({ data: text })
  })

  test('a number as a key is its text', () => {
    for (const text of ['1', '1.0', '1e5', '-0', '12345678901234567890', '0.1000']) {
      expect(parsed(`{"id":${text},"at":${text} }`)).toMatchObject({ hashKey: text, rangeKey: text })
    }
  })

  const refused: [string, string][] = [
    ['{"at":"x"}', 'id is missing or empty; it is the hash key (--hash-key) of the record.'],
    ['{"id":"x"}', 'at is missing or empty; it is the range key (--range-key) of the record.'],
    ['{"id":"","at":"x"}', 'id is empty; it takes 1 to 1024 bytes of UTF-8.'],
    ['{"id":null,"at":"x"}', 'id is null; as the hash key (--hash-key) it takes a string or a number.'],
    ['{"id":true,"at":"x"}', 'id is true; as the hash key'],
    ['{"id":{"a":1},"at":"x"}', 'id is an object; as the hash key'],
    ['{"id":"x","at":[1]}', 'at is an array; as the range key'],
    ['{"id":"..","at":"x"}', 'id is "..", which'],
    ['{"id":"\\ud800","at":"x"}', 'id has a lone surrogate'],
    [`{"id":"${'x'.repeat(1_025)}","at":"x"}`, 'id has 1025 bytes'],
    ['{"id":"x","at":"y","id":"z"}', 'id appears twice in the line'],
    ['[{"id":"x","at":"y"}]', 'the line is an array; it takes a JSON object.'],
    ['"x"', 'the line is "x"; it takes a JSON object.'],
    ['{"id":"x","at":"y"', 'the line is not valid JSON'],
    [`{"id":"x","at":"y","d":${'['.repeat(64)}${']'.repeat(64)}}`, 'data is 65 levels deep'],
    [`{"id":"x","at":"y","d":"${'x'.repeat(409_600)}"}`, 'data has 409626 bytes'],
  ]
  for (const [text, said] of refused) {
    test(`${text.slice(0, 40)} is refused: ${said.slice(0, 40)}`, () => {
      expect(() => parsed(text)).toThrow(said)
    })
  }
})
