import type { Log } from '../core/log.ts'
import type { Engine, WorkerChannel } from './engine.ts'
import type { StepNotes } from './maintenance.ts'
import type { StoreObserver } from './observer.ts'
import type { Dump } from './transfer.ts'

export interface OpenOptions {
  /**
   * The owner may write records, and the embedded engine has one owner at a time. A guest is an operator's command that may
   * run beside a server; it changes only API keys and organizations.
   */
  role: 'owner' | 'guest'
  /** Fail if there is no store at this place, instead of creating one. */
  mustExist?: boolean
  /** Fail if the schema is not that of the store's version, before it is migrated: it may have been made by somebody else. */
  requiresOwnSchema?: boolean
  log?: Log
  /** An engine calls it before it ends the process because its disk failed: it sends the pending responses. */
  drain?: () => Promise<unknown>
  /** Counts for the metrics. */
  observer?: StoreObserver
}

/** The contents of a backup. */
export interface BackupContents {
  bytes: number
  organizations: number
  tables: number
  records: number
  buckets: number
  files: number
  tasks: number
  runs: number
  /** Tables and indexes that are not of Cubby; absent if there are none. */
  foreign?: string[]
}

/**
 * Called with the checked copy before it gets its name. It brings the bytes of the files along, or throws. Backups of the store
 * hold the sweep of blobs meanwhile. `newMark`: the mark for the place of a restored store, which is another place than that of
 * the copy.
 */
export type WithCopy = (copy: Dump, newMark?: string) => Promise<void>

/** A file, the bytes of one with its name for messages, or a moment of an archive. */
export type BackupSource = string | BackupBytes | ArchiveMoment

export interface BackupBytes {
  name: string
  bytes: AsyncIterable<Uint8Array>
}

interface ArchiveMoment {
  /** The directory that --archive named. */
  archive: string
  /** Every write that was answered before it is restored, and none that arrived after it. */
  atMs: number
}

/** The result of a check of an archive. Times are epoch milliseconds. */
export interface ArchiveReport {
  /** Files that are damaged or missing. */
  findings: string[]
  /** Files that a copy may lack if it was made while the server wrote. */
  notes: string[]
  /** The times that can be restored. */
  ranges: { fromMs: number; toMs: number; bases: number; segments: number }[]
  /** The times between the ranges. */
  gaps: { fromMs: number; toMs: number; reason: string }[]
  /** Times within the ranges that the server's clock showed twice, because it was set back. */
  twice: { fromMs: number; toMs: number }[]
}

/** The space that `compact` needs on the disk, beside the store. */
export interface CompactRoom {
  neededBytes: number
  freeBytes: number
}

export interface CompactedStore {
  bytesBefore: number
  bytesAfter: number
  /** False if another command still reads the store: the files get smaller later. */
  isShort: boolean
}

/**
 * A store that is not open. Methods throw OperatorError for problems that the operator can fix, and for operations that the
 * engine does not support.
 */
export interface ClosedStore {
  /** The location for messages, without the password. Call it only for a store that could be opened: a URL may be malformed. */
  describe(): string
  open(options: OpenOptions): Promise<Engine>
  /**
   * Opens the store in a worker of a server with several processes. It first ensures that the worker ends when the channel
   * closes: then the owner is gone, and another process may own the store.
   */
  openWorker(channel: WorkerChannel, log: Log, observer?: StoreObserver): Promise<Engine>
  /** Advice for the operator about a worker that ended with this exit code or signal. */
  workerExitHint(reason: unknown): string | undefined
  /** Copies the whole store into a new file. A server may run on it meanwhile. The copy has been checked and synced. */
  createBackup(file: string, withCopy: WithCopy, notes?: StepNotes): Promise<BackupContents>
  /**
   * Sends the copy as a stream. Nothing is written before the copy has been checked. `write` resolves when there is room for
   * more. The receiver must sync the bytes; a restore notices if some are missing.
   */
  streamBackup(
    write: (bytes: Uint8Array) => Promise<void>,
    withCopy: WithCopy,
    notes?: StepNotes,
  ): Promise<BackupContents>
  /** Creates the store from a backup. No store may exist at this place; the copy is checked before it becomes the store. */
  restoreBackup(backup: BackupSource, withCopy: WithCopy, notes?: StepNotes): Promise<BackupContents>
  /**
   * Makes the files of the store as small as they can be. No server may run on it. A process that is killed meanwhile leaves
   * the store as it was, or compacted. `announce` is called before anything is written.
   */
  compact(announce: (room: CompactRoom) => void, notes?: StepNotes): Promise<CompactedStore>
}
