import { CsvError, parse } from 'csv-parse/sync'
import { describeValue } from '../../core/describe-value.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { type CsvRecord, CsvRecords } from '../../core/text/csv-records.ts'
import { UsageError } from '../arguments.ts'
import type { LineReader, ReadLine } from './read-lines.ts'

export interface CsvFormat {
  delimiter: string
  /** The columns whose cells are numbers. */
  numbers: readonly string[]
  /** The columns that must be there: each flag with its columns. */
  named: readonly (readonly [flag: string, columns: readonly string[]])[]
}

interface Column {
  name: string
  /** The name as JSON, with its colon. */
  start: string
  isNumber: boolean
}

/**
 * Turns the records of a CSV file into lines of JSON objects: the header names the members, cells become strings or
 * numbers, and empty cells are left out. A record of several lines is at its first line and followed by empty lines, so
 * that line numbers stay those of the file.
 */
export const readCsv = (reader: LineReader, format: CsvFormat): LineReader => {
  let stopped = false
  return {
    async *blocks() {
      const records = new CsvRecords(format.delimiter)
      const converter = new CsvConverter(format)
      // These empty lines come before the header. They are passed on after it was checked: until then nothing has begun.
      let emptyLines = 0
      for await (const block of reader.blocks()) {
        const lines = converter.convert(records.take(block))
        if (!converter.hasHeader) emptyLines += lines.length
        else {
          for (; emptyLines > 0; emptyLines--) yield ['']
          yield lines
        }
      }
      const last = converter.convert(records.end())
      if (converter.hasHeader) yield last
      else if (!stopped) throw new OperatorError('the file is empty; its first line names the columns')
    },
    fraction: () => reader.fraction(),
    stop() {
      stopped = true
      reader.stop()
    },
  }
}

class CsvConverter {
  readonly #format: CsvFormat
  #columns: Column[] | undefined
  #line = 0

  constructor(format: CsvFormat) {
    this.#format = format
  }

  convert(records: CsvRecord[]): ReadLine[] {
    const filled = records.filter(({ text }) => typeof text === 'string' && text.trim() !== '')
    const rows = parseRows(
      filled.map(({ text }) => text as string),
      this.#format.delimiter,
    )
    const lines: ReadLine[] = []
    let next = 0
    for (const record of records) {
      this.#line++
      lines.push(this.#convertRecord(record.text, record === filled[next] ? rows[next++] : undefined))
      for (let i = 1; i < record.lines; i++) lines.push('')
      this.#line += record.lines - 1
    }
    return lines
  }

  get hasHeader(): boolean {
    return this.#columns !== undefined
  }

  #convertRecord(text: ReadLine, row: Row | undefined): ReadLine {
    const fault = typeof text === 'string' ? undefined : text
    if (this.#columns !== undefined) {
      if (fault !== undefined) return fault
      return row === undefined ? '' : toObject(row, this.#columns)
    }
    const problem = fault?.fault ?? (row !== undefined && !Array.isArray(row) ? row.fault : undefined)
    if (problem !== undefined) throw new OperatorError(`line ${this.#line}, which names the columns: ${problem}`)
    if (row !== undefined) this.#columns = readHeader(row as string[], this.#format, this.#line)
    return ''
  }
}

// ── Cells ──────────────────────────────────────────────────────────────────────────────────────────────────

type Row = string[] | { fault: string }

/** One row per text. They are parsed together, which is much faster; if that fails, in halves, down to the faulty ones. */
const parseRows = (texts: string[], delimiter: string): Row[] => {
  if (texts.length === 0) return []
  try {
    const rows = parse(texts.join('\n'), { delimiter, record_delimiter: '\n', relax_column_count: true })
    if (rows.length !== texts.length) throw new Error(`${texts.length} records of CSV gave ${rows.length} rows`)
    return rows
  } catch (error) {
    if (texts.length === 1) return [{ fault: quoteFault(error) }]
    const half = texts.length >> 1
    return [...parseRows(texts.slice(0, half), delimiter), ...parseRows(texts.slice(half), delimiter)]
  }
}

const quoteFault = (error: unknown): string => {
  if (!(error instanceof CsvError)) throw error
  if (error.code === 'INVALID_OPENING_QUOTE') {
    return 'a cell that does not begin with a quote has one inside; quote the whole cell, and double the quote: "6"" pipe".'
  }
  if (error.code === 'CSV_INVALID_CLOSING_QUOTE') {
    return 'text follows the closing quote of a cell; double a quote that belongs to the cell: "6"" pipe".'
  }
  return `the line is not CSV: ${error.message}.`
}

const toObject = (row: Row, columns: Column[]): ReadLine => {
  if (!Array.isArray(row)) return row
  if (row.length !== columns.length) {
    const cells = `${row.length} cell${row.length === 1 ? '' : 's'}`
    return { fault: `the line has ${cells}; the header names ${columns.length} columns.` }
  }
  let members = ''
  for (let i = 0; i < row.length; i++) {
    const cell = row[i]!
    if (cell === '') continue
    const { name, start, isNumber } = columns[i]!
    const value = isNumber ? cell.trim() : JSON.stringify(cell)
    if (isNumber && !jsonNumber.test(value)) return notNumber(name, cell)
    members += members === '' ? start + value : `,${start}${value}`
  }
  return `{${members}}`
}

/** Matches numbers as JSON writes them: not 007, +5, .5, 0x10 or 1,5. The text becomes part of `data` as it is. */
const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

const notNumber = (name: string, cell: string): ReadLine => ({
  fault:
    `${shown(name)} is ${describeValue(cell)}; --numbers takes numbers as in JSON: 7, -0.5, 1e6. ` +
    'Leave the cell empty, or leave the column out of --numbers.',
})

// ── The header ─────────────────────────────────────────────────────────────────────────────────────────────

const shown = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name)

const columnsShownMax = 30

/**
 * Finds the delimiter of a header that is one cell, as spreadsheets of many countries write it. Returns it quoted for the
 * shell.
 */
const likelyDelimiter = (header: string): string | undefined => {
  if (header.includes(';')) return "';'"
  if (header.includes('\t')) return 'tab'
  return header.includes('|') ? "'|'" : undefined
}

const readHeader = (names: string[], { numbers, named }: CsvFormat, line: number): Column[] => {
  const positions = new Map<string, number>()
  names.forEach((name, i) => {
    if (name.trim() === '') throw new OperatorError(`line ${line}: column ${i + 1} has no name; give it one`)
    const first = positions.get(name)
    if (first !== undefined) {
      const both = `columns ${first + 1} and ${i + 1}`
      throw new OperatorError(`line ${line}: ${both} are both called ${describeValue(name)}; rename one of them`)
    }
    positions.set(name, i)
  })
  for (const [flag, columns] of named) {
    const missing = columns.find((name) => !positions.has(name))
    if (missing === undefined) continue
    const some = names.slice(0, columnsShownMax).map(describeValue).join(', ')
    const more = names.length > columnsShownMax ? ', …' : ''
    const delimiter = names.length === 1 ? likelyDelimiter(names[0]!) : undefined
    const tip =
      delimiter === undefined ? '' : `; if another character separates the cells, give --delimiter ${delimiter}`
    throw new UsageError(`${flag}: there is no column ${describeValue(missing)}; the columns are ${some}${more}${tip}`)
  }
  return names.map((name) => ({ name, start: `${JSON.stringify(name)}:`, isNumber: numbers.includes(name) }))
}
