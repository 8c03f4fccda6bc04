import type { Arguments, CallForm } from './arguments.ts'

export interface CliCommand extends CallForm {
  /** The words that call it: `orgs create`. The first one is the name of its file in `commands/`. */
  name: string
  summary: string
  details?: string
  /** Resolves to the exit code. */
  run(args: Arguments): Promise<number>
}
