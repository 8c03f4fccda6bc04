import { signal } from '@preact/signals'
import { loadCatalogue } from '../../state/catalogue.ts'
import { session } from '../../state/session.ts'
import { announce } from '../../ui/announce.ts'
import { type CsvFormat, CsvReader, type CsvRow, recordOf } from './csv.ts'
import type { Refused } from './import-requests.ts'
import { Importer, type ImportOptions } from './importer.ts'
import { LineFault, type RecordLine } from './parse-line.ts'
import { linesOf, type ReadLine } from './read-lines.ts'

// The import that runs. It goes on while the reader looks at other screens.

export interface ImportState {
  organization: string | undefined
  fileName: string
  fileBytes: number
  bytesRead: number
  /** One of the file's parts, in words. */
  unit: 'row' | 'line'
  /** Rows of a CSV file, without its head, and otherwise lines. */
  unitsRead: number
  records: number
  expired: number
  refusedCount: number
  refused: Refused[]
  notes: Refused[]
  /** Tables that records were refused for, as `db/table`. */
  missingTables: string[]
  elapsedMs: number
  status: 'running' | 'stopping' | 'done' | 'stopped' | 'failed'
  error?: unknown
}

export const importState = signal<ImportState | undefined>(undefined)
/** Counts the files that were imported as a whole. */
export const wholeImports = signal(0)

/** A file of which a line was refused, or nothing came in, is not called imported. */
export const titleOf = ({ status, records, refusedCount }: ImportState): string => {
  if (status === 'running') return 'Importing'
  if (status === 'stopping') return 'Stopping'
  if (status === 'stopped') return 'Stopped'
  if (status === 'failed') return 'Import failed'
  if (records === 0) return 'Nothing imported'
  return refusedCount > 0 ? 'Imported in part' : 'Imported'
}

const shownEveryMs = 200
let stop = (): void => {}
let last: Importer | undefined
/** Runs the last import once more, and creates the tables that are missing. */
let again = (): void => {}

export const stopImport = (): void => stop()
export const createAndImportAgain = (): void => again()

const askBeforeUnload = (event: Event): void => event.preventDefault()

/** `records`, in order. The order of the refused ones is that of their batches. */
const byLine = (refused: Refused[]): Refused[] => [...refused].sort((a, b) => a.line - b.line)

export const runImport = async (
  file: File,
  options: Omit<ImportOptions, 'organization' | 'isCsv'>,
  csv: CsvFormat | undefined,
): Promise<void> => {
  const organization = session.value?.self.organization
  const importer = new Importer({ ...options, isCsv: csv !== undefined, organization })
  last = importer
  again = () => runImport(file, { ...options, createsMissing: true }, csv)
  const startMs = performance.now()
  let bytesRead = 0
  const show = (status: ImportState['status'], error?: unknown): void => {
    // The import of another organization may not have ended yet.
    if (last !== importer) return
    const { lines, rows, records, expired, refusedCount, refused, notes, missingTables } = importer
    const elapsedMs = performance.now() - startMs
    importState.value = {
      ...{ fileName: file.name, fileBytes: file.size, bytesRead, records, expired, refusedCount, elapsedMs },
      ...{ refused: byLine(refused), notes: [...notes], missingTables, status, error, organization },
      ...(csv === undefined ? { unit: 'line', unitsRead: lines } : { unit: 'row', unitsRead: rows }),
    }
  }
  stop = () => {
    importer.isStopped = true
    show('stopping')
  }
  show('running')
  const timer = setInterval(() => show(importer.isStopped ? 'stopping' : 'running'), shownEveryMs)
  addEventListener('beforeunload', askBeforeUnload)
  try {
    await takeAll(importer, file, csv, (bytes) => {
      bytesRead += bytes
    })
    show(importer.isStopped ? 'stopped' : 'done')
  } catch (error) {
    show('failed', error)
  } finally {
    clearInterval(timer)
    removeEventListener('beforeunload', askBeforeUnload)
    const state = importState.value!
    announce(`${titleOf(state)}: ${importer.records} records, ${importer.refusedCount} ${state.unit}s refused`)
    if (titleOf(state) === 'Imported') wholeImports.value++
    loadCatalogue()
  }
}

type Take = (lines: readonly ReadLine[]) => (ReadLine | RecordLine)[]

const takeCsvRow = (row: CsvRow | undefined, columns: readonly string[], csv: CsvFormat): ReadLine | RecordLine => {
  if (row === undefined) return { text: '' }
  if (row.fault !== undefined) return row
  try {
    return recordOf(row.cells, columns, csv)
  } catch (error) {
    if (error instanceof LineFault) return { fault: error.message }
    throw error
  }
}

/** Makes records of the lines. `take` is called without lines at the end. */
const takerOf = (csv: CsvFormat | undefined): Take => {
  if (csv === undefined) return (lines) => [...lines]
  const reader = new CsvReader(csv.delimiter)
  return (lines) => {
    const rows = lines.length === 0 ? reader.end() : reader.take(lines)
    return rows.map((row) => takeCsvRow(row, reader.columns ?? [], csv))
  }
}

const takeAll = async (
  importer: Importer,
  file: File,
  csv: CsvFormat | undefined,
  onRead: (bytes: number) => void,
): Promise<void> => {
  const take = takerOf(csv)
  const takeEach = async (lines: readonly ReadLine[]): Promise<void> => {
    for (const line of take(lines)) {
      if (importer.isStopped) return
      await importer.take(line)
    }
  }
  try {
    for await (const lines of linesOf(file, onRead)) {
      await takeEach(lines)
      if (importer.isStopped) return
    }
    await takeEach([])
  } finally {
    // Sends the records that were taken before a stop. After a failure this throws it.
    await importer.finish()
  }
}
