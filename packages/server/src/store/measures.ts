/** How the archive of a store is doing, for the log and for metrics. It is updated about four times a second. */
export interface ArchiveState {
  /** Every write that was answered before this time (epoch milliseconds) is in the archive, or in a gap before it. */
  coveredMs: number
  /** Since when the archive fails; null while it works. */
  failingSinceMs: number | null
  /** Why it fails. */
  cause: string | null
  /** Why the base that is due cannot be made; null if none is due. The commits are archived nevertheless. */
  baseCause: string | null
  /** The number of the chain of segments that is being written. */
  run: number
  /** Since the start of the server: how often a gap began, bases that were completed, frames and bytes that were archived. */
  gaps: number
  bases: number
  framesArchived: number
  bytesArchived: number
}

/** What this process holds at the moment. A member that the engine does not have is undefined. */
export interface ProcessMeasures {
  /** Writes that wait for the writer, and their bytes. */
  queuedWrites?: number
  queuedWriteBytes?: number
  /** Writes that the writer has and has not answered. */
  writesInFlight?: number
  /** Connections to the database. */
  connectionsIdle?: number
  connectionsBusy?: number
  connectionsMax?: number
  /** Requests that wait for a connection. */
  connectionWaits?: number
}

/** The store at the moment, the same for every process. A member that the engine does not have or cannot tell is undefined. */
export interface StoreMeasures {
  /** With its indexes. For the embedded engine: `cubby.db`. */
  storeBytes?: number
  /** Of these, what is free for new records. */
  storeFreeBytes?: number
  walBytes?: number
  /** Pages of the WAL that are not in the database file yet. */
  walPendingPages?: number
  /** The file system of the data directory. */
  diskBytes?: number
  diskFreeBytes?: number
  /** When the oldest record that is still there expired, or will; undefined if none expires. */
  firstExpiryMs?: number
  /** When the deleted table or organization that is purged next was deleted. */
  firstDeletedMs?: number
  /** When the first bytes that no file refers to could, or can, be removed. */
  firstDueBlobMs?: number
  /** 1 while a part of the records and runs cannot be reached, otherwise 0. */
  partLost?: number
  /** With `--archive`. */
  archive?: ArchiveState
}

/** For the metrics. Nothing is counted for it: everything is read when somebody asks. */
export interface Measures {
  process(): ProcessMeasures
  store(): Promise<StoreMeasures>
}
