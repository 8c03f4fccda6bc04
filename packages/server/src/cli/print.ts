import { OperatorError } from '../core/operator-error.ts'
import { printable } from '../core/text/printable.ts'

// Commands print for people only with these functions and `Progress`: names chosen by others must not reach the terminal
// unescaped.

/** Throws if what was printed before could not be written: a long list is not read to its end for nobody. */
export const printLine = (line: string): void => {
  if (outputFailure !== undefined && tell === undefined) throw asError(outputFailure)
  process.stdout.write(`${printable(line)}\n`)
}

/** Prints on standard error, beside the output. */
export const printNote = (line: string): void => {
  process.stderr.write(`${printable(line)}\n`)
}

export const printJson = (value: unknown): void => printLine(JSON.stringify(value))

/** The cells as they are printed: with their escapes, which are longer than what they stand for. */
const shownCells = (rows: string[][]): string[][] => rows.map((row) => row.map(printable))

const columnWidths = (shown: string[][]): number[] =>
  shown.reduce<number[]>((widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)), [])

/** The columns of a terminal that `printTable` needs. */
export const tableWidth = (rows: string[][]): number =>
  columnWidths(shownCells(rows)).reduce((sum, width) => sum + width + 2, -2)

/** Each column is as wide as its widest cell. */
export const printTable = (rows: string[][]): void => {
  const shown = shownCells(rows)
  const widths = columnWidths(shown)
  for (const row of shown)
    printLine(
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
}

let outputFailure: Error | undefined
let tell: ((error: Error) => void) | undefined

/** Notes what fails. Without a listener, Bun prints a trace and may not end. */
export const watchOutput = (): void => {
  process.stdout.on('error', (error) => {
    outputFailure ??= error
    tell?.(error)
  })
  process.stderr.on('error', () => {})
}

/** Logs a failed write to standard output when it comes. A server goes on, because the failure is none of its own. */
export const tellOutputFailure = (log: (error: Error) => void): void => {
  tell = log
}

export const outputClosed = 'the reader of the output has closed it before the end'

const asError = (failure: Error): OperatorError => {
  const isClosed = (failure as { code?: string }).code === 'EPIPE'
  return new OperatorError(isClosed ? outputClosed : `the output cannot be written: ${failure.message}`)
}

/**
 * Ends the output; resolves to the exit code when everything printed was handed over, or nobody reads it any more: output that
 * is lost is a failure. Where the output is a socket, as under some supervisors, Bun writes in the background, and an exit
 * loses what was not written yet. (The callback of an empty `write` comes too early.)
 */
export const endOutput = async (exitCode: number): Promise<number> => {
  if (outputFailure === undefined) await ended(process.stdout)
  // The event may still be to come.
  outputFailure ??= process.stdout.errored ?? undefined
  if (outputFailure !== undefined && tell === undefined && exitCode === 0) {
    printNote(`cubby: ${asError(outputFailure).message}`)
    exitCode = 1
  }
  // Notes and the log: a process does not live on for lines that nobody takes.
  await Promise.race([ended(process.stderr), Bun.sleep(notesMsMax)])
  return exitCode
}

const notesMsMax = 1_000

/** One that has failed before never says that it has ended. */
const ended = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.errored) return resolve()
    stream.once('error', () => resolve()).once('close', () => resolve())
    stream.end(() => resolve())
  })
