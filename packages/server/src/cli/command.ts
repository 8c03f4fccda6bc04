import { CubbyError } from '../core/errors.ts'
import type { StoreLocation } from '../engines/open-engine.ts'
import { errorLine } from './hint-text.ts'
import { printable } from './printable.ts'

export interface Flag {
  type: 'string' | 'boolean'
  /** What stands for the value in help: `DIR`. */
  value?: string
  help: string
  default?: string
}

export interface Arguments {
  positionals: string[]
  /** Flags as given, else from CUBBY_…, else the default. */
  text(name: string): string | undefined
  /** Whether it stands on the command line, where it says more than the environment. */
  isGiven(name: string): boolean
  flag(name: string): boolean
}

export interface CliCommand {
  /** The words that call it: `orgs create`. */
  name: string
  /** What follows the words, for help: `NAME`. */
  positionals?: string[]
  summary: string
  details?: string
  flags: Record<string, Flag>
  /** The exit code; 0 when undefined. */
  run(args: Arguments): Promise<number | undefined>
}

/** What a command does that runs an operation: as the catalogue says it, in the style of help. */
export const summaryOf = ({ summary }: { summary: string }): string => summary[0]!.toLowerCase() + summary.slice(1)

/** A mistake in the call itself: shown in one line, exit 2. */
export class UsageError extends Error {}

/** What stops a command and is no bug of ours: shown in one line, exit 1. */
export class CommandFailed extends Error {}

export const storeFlags: Record<string, Flag> = {
  data: { type: 'string', value: 'DIR', help: 'the data directory of the embedded engine', default: './cubby-data' },
  store: { type: 'string', value: 'URL', help: 'another engine instead: postgres://user:password@host/db' },
}

export const jsonFlag: Flag = { type: 'boolean', help: 'print JSON' }

/** `--data DIR` is that directory, although CUBBY_STORE is set. */
export const storeLocation = (args: Arguments): StoreLocation => ({
  data: args.text('data')!,
  store: args.isGiven('data') && !args.isGiven('store') ? undefined : args.text('store'),
})

/** What the service's own rules refuse in a flag or a name is a mistake in the call. */
export const orUsageError = <T>(parse: () => T): T => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    throw new UsageError(errorLine(error).replace(/\.$/, ''))
  }
}

// All that a command prints for people goes through these and `Progress`: what others have named must not reach the
// terminal raw.

export const printLine = (line: string): void => {
  process.stdout.write(`${printable(line)}\n`)
}

/** Beside the output, on standard error. */
export const printNote = (line: string): void => {
  process.stderr.write(`${printable(line)}\n`)
}

export const printJson = (value: unknown): void => printLine(JSON.stringify(value))

/** Columns as wide as their widest cell. */
export const printTable = (rows: string[][]): void => {
  const widths = rows.reduce<number[]>((widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)), [])
  for (const row of rows)
    printLine(
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
}
