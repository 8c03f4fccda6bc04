import { CsvReader, type CsvRow, jsonNumber } from './csv.ts'
import { linesOf } from './read-lines.ts'

// The part of a CSV file that is shown before it is imported.

export interface CsvHead {
  delimiter: string
  columns: string[]
  /** The first rows. */
  rows: CsvRow[]
}

const rowsMax = 20

const readWith = async (file: File, delimiter: string): Promise<CsvHead> => {
  const reader = new CsvReader(delimiter)
  const rows: CsvRow[] = []
  const add = (found: (CsvRow | undefined)[]): void => {
    for (const row of found) if (row !== undefined && row.fault !== '' && rows.length < rowsMax) rows.push(row)
  }
  for await (const lines of linesOf(file, () => {})) {
    add(reader.take(lines))
    if (rows.length === rowsMax) break
  }
  if (rows.length < rowsMax) add(reader.end())
  return { delimiter, columns: reader.columns ?? [], rows }
}

export const delimiters = [
  [',', 'comma'],
  [';', 'semicolon'],
  ['\t', 'tab'],
  ['|', 'vertical bar'],
] as const

/** Reads the head with the delimiter, or with the one that the first line most likely has: many spreadsheets write a semicolon. */
export const readHead = async (file: File, delimiter?: string): Promise<CsvHead> => {
  const head = await readWith(file, delimiter ?? ',')
  const [only] = head.columns
  if (delimiter !== undefined || head.columns.length !== 1) return head
  const other = delimiters.find(([character]) => only!.includes(character))
  return other === undefined ? head : readWith(file, other[0])
}

const named = (columns: readonly string[], names: readonly string[]): string | undefined =>
  columns.find((column) => names.includes(column.toLowerCase().replaceAll(/[^a-z]/g, '')))

/** The format that is offered at first. The reader sees it and may change it. */
export const guessFormat = ({ columns, rows }: CsvHead) => {
  const hashKey = named(columns, ['hashkey', 'id', 'key']) ?? columns[0]!
  const rangeKey = named(columns, ['rangekey'])
  const isNumber = (at: number): boolean => {
    const cells = rows.flatMap((row) => (row.fault === undefined && row.cells[at] !== '' ? [row.cells[at]!] : []))
    return cells.length > 0 && cells.every((cell) => jsonNumber.test(cell.trim()))
  }
  const numbers = columns.filter((column, at) => column !== hashKey && column !== rangeKey && isNumber(at))
  return { hashKey, rangeKey, numbers }
}
