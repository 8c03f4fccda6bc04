import { type Arguments, type Flag, UsageError } from '../arguments.ts'
import type { CsvFormat } from './csv.ts'
import type { KeyFields } from './foreign.ts'
import { type LineReader, readLines } from './read-lines.ts'

// The flags of `cubby import` that say what the lines of a file are.

export const formatFlags: Record<string, Flag> = {
  'hash-key': { type: 'string', value: 'FIELD', help: 'for lines of other programs: the field that is the hash key' },
  'range-key': { type: 'string', value: 'FIELD', help: 'the same for the range key; without it there is none' },
  format: { type: 'string', value: 'FORMAT', help: 'csv or ndjson (by the name of FILE: .csv, .csv.gz are csv)' },
  numbers: { type: 'string', value: 'A,B', help: 'CSV: these columns are numbers; the others are strings' },
  delimiter: { type: 'string', value: 'CHAR', help: 'CSV: what separates the cells, a character or "tab" (,)' },
}

interface ImportFormat {
  /** undefined: the lines of an export. */
  foreign: KeyFields | undefined
  csv: CsvFormat | undefined
  /** Identifies an import that is continued. */
  description: string[]
}

export const parseFormat = (args: Arguments, file: string): ImportFormat => {
  const [hashKey, rangeKey] = [args.text('hash-key'), args.text('range-key')]
  const isCsv = parseFormatName(args.text('format'), file) === 'csv'
  for (const flag of ['numbers', 'delimiter']) {
    if (!isCsv && args.isGiven(flag)) throw new UsageError(`--${flag} is for CSV; give --format csv if ${file} is CSV`)
  }
  if (hashKey === undefined) {
    if (isCsv) throw new UsageError('--hash-key FIELD is missing: the column of a CSV file that is the hash key')
    if (rangeKey !== undefined) throw new UsageError('--range-key needs --hash-key')
    return { foreign: undefined, csv: undefined, description: [] }
  }
  for (const flag of ['db', 'table']) {
    if (args.text(flag) === undefined) {
      throw new UsageError(`--${flag} NAME is missing: with --hash-key the lines name no database and no table`)
    }
  }
  const csv = isCsv ? parseCsvFormat(args, hashKey, rangeKey) : undefined
  const description = [
    ...[isCsv ? 'CSV' : 'NDJSON', `hash key ${hashKey}`, ...(rangeKey === undefined ? [] : [`range key ${rangeKey}`])],
    ...(csv === undefined || csv.numbers.length === 0 ? [] : [`numbers ${csv.numbers.join(',')}`]),
    ...(csv === undefined || csv.delimiter === ',' ? [] : [`delimiter ${JSON.stringify(csv.delimiter)}`]),
  ]
  return { foreign: { hashKey, rangeKey }, csv, description }
}

const parseFormatName = (text: string | undefined, file: string): string => {
  if (text === undefined) return /\.csv(\.gz)?$/i.test(file) ? 'csv' : 'ndjson'
  if (text === 'csv' || text === 'ndjson') return text
  throw new UsageError(`--format is "${text}"; it takes csv or ndjson`)
}

const parseCsvFormat = (args: Arguments, hashKey: string, rangeKey: string | undefined): CsvFormat => {
  const numbers = args.text('numbers')?.split(',') ?? []
  if (numbers.includes('')) throw new UsageError('--numbers takes names of columns, separated by commas')
  const text = args.text('delimiter') ?? ','
  const delimiter = text === 'tab' ? '\t' : text
  if (!/^[\t\x20-\x7e]$/.test(delimiter) || delimiter === '"') {
    throw new UsageError(`--delimiter is ${JSON.stringify(text)}; it takes one character, such as ; or |, or "tab"`)
  }
  const named: CsvFormat['named'] = [
    ['--hash-key', [hashKey]],
    ['--range-key', rangeKey === undefined ? [] : [rangeKey]],
    ['--numbers', numbers],
  ]
  return { delimiter, numbers, named }
}

export const openLines = async (file: string, { csv }: ImportFormat): Promise<LineReader> => {
  const reader = readLines(file)
  if (csv === undefined) return reader
  // Loaded only here: the parser would delay the start of every command.
  const { readCsv } = await import('./csv.ts')
  return readCsv(reader, csv)
}
