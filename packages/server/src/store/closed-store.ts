import type { Log } from '../core/log.ts'
import type { Engine } from './engine.ts'
import type { WorkerChannel } from './worker-channel.ts'

export interface OpenOptions {
  /**
   * The owner may write records, and the embedded engine has one owner at a time. A guest, an operator's command beside a
   * running server, changes API keys and organizations only.
   */
  role: 'owner' | 'guest'
  /** Refuse a place without a store instead of making one. */
  mustExist?: boolean
  log?: Log
  /** Called before an engine ends the process because its disk failed: sends the pending answers. */
  drain?: () => Promise<unknown>
}

/** What a backup holds. */
export interface BackupContents {
  bytes: number
  organizations: number
  tables: number
  records: number
}

/**
 * A store that is not open, and what can be done with it. Methods throw OperatorError for what the operator can fix,
 * and for what the engine cannot do.
 */
export interface ClosedStore {
  /** Where it is, for messages: without the password. Only for a store that could be opened: a URL may be malformed. */
  describe(): string
  open(options: OpenOptions): Promise<Engine>
  /**
   * Opens it in a worker of a server with several processes. Before anything else it sees to it that the worker ends when
   * the channel closes: the owner is gone, and another process may own the store.
   */
  openWorker(channel: WorkerChannel, log: Log): Promise<Engine>
  /** What the operator should know about a worker that ended with this exit code or signal. */
  workerExitHint(reason: unknown): string | undefined
  /** Copies the whole store into a new file, also beside a running server. The copy has been checked and synced. */
  createBackup(file: string): Promise<BackupContents>
  /** Makes the store from a backup. The place must hold no store; the copy is checked before it becomes one. */
  restoreBackup(file: string): Promise<BackupContents>
}
