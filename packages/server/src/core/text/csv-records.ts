import { bodyBytesMax } from '../limits.ts'

/** A line without its line feed, or what is wrong with it. */
export type ReadLine =
  | string
  | {
      /** Empty: the line belongs to a message about an earlier one. It counts, but is not reported. */
      fault: string
      /** The text of a line that is not valid UTF-8: right in its ASCII characters. */
      lossyText?: string
    }

/** The same limit as for a line: no record that the service accepts needs more, unless most of it is white space. */
const recordBytesMax = bodyBytesMax

const encoder = new TextEncoder()

/** A record of a CSV file: its text, or what is wrong with it, and how many lines it takes. */
export interface CsvRecord {
  text: ReadLine
  lines: number
}

/** Tells whether a quoted cell is open at the end of the line. A quote opens a cell only where the cell begins. */
export const endsInQuotes = (line: string, inQuotes: boolean, delimiter: string): boolean => {
  let inside = inQuotes
  for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) {
    if (!inside) inside = at === 0 || line[at - 1] === delimiter
    else if (line[at + 1] === '"') at++
    else inside = false
  }
  return inside
}

/** A line of a record that was refused with its first line: it belongs to that message, but counts. */
const refusedWithFirst: ReadLine = { fault: '' }

const tooLong: ReadLine = {
  fault: `the record that begins here is longer than ${recordBytesMax} bytes; is a quote not closed?`,
}

const notClosed: ReadLine = { fault: 'a quote is opened in this record and not closed before the end of the file.' }

/**
 * Groups lines into records: a quoted cell may contain line feeds. The CSV parser could do it too, but not so that each
 * record has its line number, a limit of its size and strict UTF-8, and that a faulty record does not affect the others.
 */
export class CsvRecords {
  readonly #delimiter: string
  /** The lines of a record with an open quote. */
  #open: string[] = []
  #openBytes = 0
  /** Stands for the next lines of a record that was refused before its end; undefined if there is none. */
  #filler: ReadLine | undefined

  constructor(delimiter: string) {
    this.#delimiter = delimiter
  }

  take(block: readonly ReadLine[]): CsvRecord[] {
    const records: CsvRecord[] = []
    for (const line of block) this.#takeLine(line, records)
    return records
  }

  /** The caller calls it after the last line. */
  end(): CsvRecord[] {
    return this.#open.length === 0 ? [] : this.#refuseOpen(notClosed, refusedWithFirst)
  }

  #takeLine(line: ReadLine, records: CsvRecord[]): void {
    const inQuotes = this.#open.length > 0 || this.#filler !== undefined
    // A line that was too long is not known. Most likely it ends as it began.
    const text = typeof line === 'string' ? line : line.lossyText
    const goesOn = text === undefined ? inQuotes : endsInQuotes(text, inQuotes, this.#delimiter)
    if (this.#filler !== undefined) {
      records.push({ text: this.#filler, lines: 1 })
      if (!goesOn) this.#filler = undefined
    } else if (typeof line !== 'string') {
      const number = this.#open.length + 1
      const fault: ReadLine = number === 1 ? line : { fault: `line ${number} of this record: ${line.fault}` }
      this.#open.push('')
      records.push(...this.#refuseOpen(fault, ''))
      if (goesOn) this.#filler = ''
    } else if (this.#open.length === 0 && !goesOn) {
      records.push({ text: withoutReturn(line), lines: 1 })
    } else {
      this.#open.push(line)
      this.#openBytes += encoder.encode(line).length + 1
      if (this.#openBytes > recordBytesMax) {
        records.push(...this.#refuseOpen(tooLong, refusedWithFirst))
        if (goesOn) this.#filler = refusedWithFirst
      } else if (!goesOn) {
        records.push({ text: withoutReturn(this.#open.join('\n')), lines: this.#open.length })
        this.#clear()
      }
    }
  }

  #refuseOpen(fault: ReadLine, rest: ReadLine): CsvRecord[] {
    const records = this.#open.map((_, i): CsvRecord => ({ text: i === 0 ? fault : rest, lines: 1 }))
    this.#clear()
    return records
  }

  #clear(): void {
    this.#open = []
    this.#openBytes = 0
  }
}

/** Lines may end in CR LF. Inside quotes the CR stays: it is data. */
const withoutReturn = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text)
