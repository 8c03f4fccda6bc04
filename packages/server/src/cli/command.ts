import type { Arguments, CallForm } from './arguments.ts'

export interface CliCommand extends CallForm {
  /** The words that call it: `orgs create`. The first one is the name of its file in `commands/`. */
  name: string
  summary: string
  details?: string
  /** A call of it, as it is typed: `cubby orgs create acme`. */
  example: string
  /** Resolves to the exit code. */
  run(args: Arguments): Promise<number>
}

/** The summary of the operation that a command runs, in the style of the help. */
export const summaryOf = ({ summary }: { summary: string }): string => summary[0]!.toLowerCase() + summary.slice(1)
