import type { LogHead } from '../changes/change-log.ts'
import type { Command, CommandKind, CommandOf, CommandResult } from './command.ts'

/** The writes that wait for the writer, and the pages that a checkpoint has not copied yet. */
export interface WriterLoad {
  queuedWrites: number
  queuedWriteBytes: number
  writesInFlight: number
  walPendingPages: number
}

/** The channel to the only writer of a store: a thread of this process, or of the owner if this process is a worker. */
export interface WriteChannel {
  /** True if writes are accepted. */
  readonly ready: boolean
  /** The load for the metrics. A worker has none: its owner counts for all. */
  readonly load?: WriterLoad
  /**
   * Rejects with `unavailable` when the queue is full. `bytes`: the size of the request, for its share of the queue. `runs`: the most
   * runs that it adds to tasks that follow a table.
   */
  submit<K extends CommandKind>(command: CommandOf<K>, bytes?: number, runs?: number): Promise<CommandResult<K>>
  /** Called after each commit, before any of its requests is answered. */
  onCommit: (commands: Command[]) => void
  /** It is called with SQLite's error when a write or a checkpoint finds the store damaged. */
  onDamage: (cause: string) => void
  /** `listener` is called after each commit that has added to the logs of tables, of any process of this store. */
  onGrown(listener: (heads: LogHead[]) => void): void
  /** `listener` is called whenever `ready` changes while the channel is open. */
  onReadyChange(listener: (ready: boolean) => void): void
  close(): Promise<void>
}
