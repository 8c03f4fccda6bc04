import { dataBytesMax } from '../../../../server/src/core/limits.ts'
import { CsvRecords } from '../../../../server/src/core/text/csv-records.ts'
import { recordBytes } from '../../text/check.ts'
import { keyFault } from '../record/record-key.ts'
import { LineFault, putOperation, type RecordLine } from './parse-line.ts'
import type { ReadLine } from './read-lines.ts'

// CSV as `cubby import` reads it: the first line names the columns, cells become strings or numbers, empty cells are left out. A
// test compares both on hostile files.

/** The reader's choice of how the columns are imported. */
export interface CsvFormat {
  delimiter: string
  hashKey: string
  /** The column is undefined if the records have no range key. */
  rangeKey: string | undefined
  /** The columns whose cells are numbers. */
  numbers: readonly string[]
}

/** The cells of a record, or what is wrong with it. Empty: it was said with an earlier line. */
export type CsvRow = { cells: string[]; fault?: undefined } | { fault: string }

const insideQuote =
  'a cell that does not begin with a quote has one inside; quote the whole cell, and double the quote: "6"" pipe".'
const behindQuote = 'text follows the closing quote of a cell; double a quote that belongs to the cell: "6"" pipe".'

/** The quoted cell that begins before `from`, and where it ends. CsvRecords has seen that it does. */
const quotedCell = (text: string, from: number): { cell: string; end: number } => {
  let cell = ''
  for (let start = from; ; ) {
    const quote = text.indexOf('"', start)
    if (text[quote + 1] !== '"') return { cell: cell + text.slice(start, quote), end: quote + 1 }
    cell += text.slice(start, quote + 1)
    start = quote + 2
  }
}

const cellsOf = (text: string, delimiter: string): CsvRow => {
  const cells: string[] = []
  for (let at = 0; ; at++) {
    if (text[at] === '"') {
      const { cell, end } = quotedCell(text, at + 1)
      if (end < text.length && text[end] !== delimiter) return { fault: behindQuote }
      cells.push(cell)
      at = end
    } else {
      const next = text.indexOf(delimiter, at)
      const end = next === -1 ? text.length : next
      const cell = text.slice(at, end)
      if (cell.includes('"')) return { fault: insideQuote }
      cells.push(cell)
      at = end
    }
    if (at >= text.length) return { cells }
  }
}

/** Throws the error that ends the import. */
const checkColumns = (names: string[], line: number): void => {
  names.forEach((name, i) => {
    if (name.trim() === '') throw new Error(`Line ${line}: column ${i + 1} has no name. Give it one.`)
    const first = names.indexOf(name)
    if (first !== i) {
      throw new Error(`Line ${line}: columns ${first + 1} and ${i + 1} are both called "${name}". Rename one of them.`)
    }
  })
}

/** Lines in, rows out: one for each line, undefined where a line has none of its own. */
export class CsvReader {
  /** The columns are defined once the first line has been read. */
  columns: string[] | undefined
  readonly #records: CsvRecords
  readonly #delimiter: string
  #line = 0

  constructor(delimiter: string) {
    this.#delimiter = delimiter
    this.#records = new CsvRecords(delimiter)
  }

  take(lines: readonly ReadLine[]): (CsvRow | undefined)[] {
    return this.#rowsOf(this.#records.take(lines.map((line) => (line.fault === undefined ? line.text : line))))
  }

  end(): (CsvRow | undefined)[] {
    const rows = this.#rowsOf(this.#records.end())
    if (this.columns === undefined) throw new Error('The file is empty. Its first line names the columns.')
    return rows
  }

  #rowsOf(records: ReturnType<CsvRecords['take']>): (CsvRow | undefined)[] {
    return records.flatMap(({ text, lines }) => {
      this.#line++
      const row = this.#rowOf(text)
      this.#line += lines - 1
      return [row, ...Array<undefined>(lines - 1).fill(undefined)]
    })
  }

  #rowOf(text: ReturnType<CsvRecords['take']>[number]['text']): CsvRow | undefined {
    if (typeof text === 'string' && text.trim() === '') return undefined
    const row = typeof text === 'string' ? cellsOf(text, this.#delimiter) : { fault: text.fault }
    if (this.columns === undefined) {
      if (row.fault !== undefined) throw new Error(`Line ${this.#line}, which names the columns: ${row.fault}`)
      checkColumns(row.cells, this.#line)
      this.columns = row.cells
      return undefined
    }
    if (row.fault !== undefined || row.cells.length === this.columns.length) return row
    const cells = `${row.cells.length} cell${row.cells.length === 1 ? '' : 's'}`
    return { fault: `the row has ${cells}; the first line names ${this.columns.length} columns.` }
  }
}

/** A number as JSON writes it: not 007, +5, .5, 0x10 or 1,5. The text becomes part of `data` as it is. */
export const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text)

/** A cell as JSON; undefined if it is empty. */
export const cellText = (cell: string, column: string, isNumber: boolean): string | undefined => {
  if (cell === '') return undefined
  if (!isNumber) return JSON.stringify(cell)
  const value = cell.trim()
  if (jsonNumber.test(value)) return value
  throw new LineFault(
    `${short(column)} is ${JSON.stringify(short(cell))}; a column of numbers takes them as in JSON: 7, -0.5, 1e6. Leave the cell empty, or take the column as text.`,
  )
}

/** The record of a row. Throws a LineFault. */
export const recordOf = (
  cells: readonly string[],
  columns: readonly string[],
  { hashKey, rangeKey, numbers }: CsvFormat,
): RecordLine => {
  const texts = columns.map((column, i) => cellText(cells[i]!, column, numbers.includes(column)))
  const data = `{${columns.flatMap((column, i) => (texts[i] === undefined ? [] : [`${JSON.stringify(column)}:${texts[i]}`])).join(',')}}`
  const keyOf = (column: string, role: string): string => {
    const text = texts[columns.indexOf(column)]
    if (text === undefined) throw new LineFault(`${short(column)} is empty; it is the ${role} key of the record.`)
    // A number is used as it is written: 1, 1.0 and 1e0 are three keys.
    const key = text.startsWith('"') ? (JSON.parse(text) as string) : text
    const fault = keyFault(key, short(column))
    if (fault !== undefined) throw new LineFault(fault)
    return key
  }
  const key = { hashKey: keyOf(hashKey, 'hash'), rangeKey: rangeKey === undefined ? '#' : keyOf(rangeKey, 'range') }
  const bytes = recordBytes(data)
  if (bytes > dataBytesMax) throw new LineFault(`data has ${bytes} bytes of JSON; it takes at most ${dataBytesMax}.`)
  return { kind: 'record', ...key, data, operation: putOperation({ ...key, data }) }
}
