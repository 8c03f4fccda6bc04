import type { Command, CommandResults } from './command.ts'

/** The way to the one writer of a store: in this process, or in the one that keeps it for its workers. */
export interface WriteChannel {
  /** Whether writes are taken. */
  readonly ready: boolean
  /** Throws `unavailable` when nothing more can wait. */
  submit<K extends Command['kind']>(
    orgId: number,
    bytes: number,
    command: Extract<Command, { kind: K }>,
  ): Promise<CommandResults[K]>
  submitUpkeep<K extends Command['kind']>(command: Extract<Command, { kind: K }>): Promise<CommandResults[K]>
  /** Called after each commit, before anything in it is acknowledged. */
  onCommit: (commands: Command[]) => void
  /** Called when a write meets damage in the store, with what SQLite says of it. */
  onDamage: (cause: string) => void
  close(): Promise<void>
}
