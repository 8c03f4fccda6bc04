/** The state of a store's archive, for the log and for metrics. It is updated about four times a second. */
export interface ArchiveState {
  /** Every write that was answered before this time (epoch milliseconds) is in the archive, or in a gap before it. */
  coveredMs: number
  /** The time since which the archive fails; null while it works. */
  failingSinceMs: number | null
  /** The reason for which it fails. */
  cause: string | null
  /** The reason for which the base that is due cannot be made; null if none is due. The commits are archived nevertheless. */
  baseCause: string | null
  /** The number of the chain of segments that is being written. */
  run: number
  /** Counts since the start of the server: gaps that began, bases that were completed, frames and bytes that were archived. */
  gaps: number
  bases: number
  framesArchived: number
  bytesArchived: number
}

/** The queues and connections of this process at the moment. A member that the engine does not have is undefined. */
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
  /** The size of the database with its indexes; for the embedded engine the size of `cubby.db`. */
  storeBytes?: number
  /** The part of these bytes that is free for new records. */
  storeFreeBytes?: number
  walBytes?: number
  /** Pages of the WAL that are not in the database file yet. */
  walPendingPages?: number
  /** The changes in all logs that can be read, as the last round of their sweep found them; undefined before its end. */
  changesKept?: number
  /** The file system of the data directory. */
  diskBytes?: number
  diskFreeBytes?: number
  /** The time at which the oldest record that is still there expired, or will; undefined if none expires. */
  firstExpiryMs?: number
  /** The time at which the table or organization that is purged next was deleted. */
  firstDeletedMs?: number
  /** The time at which the first bytes that no file refers to could, or can, be removed. */
  firstDueBlobMs?: number
  /** 1 while a part of the records and runs cannot be reached, otherwise 0. */
  partLost?: number
  /** Set with `--archive`. */
  archive?: ArchiveState
}

/** The measurements for the metrics. Nothing is counted for them: everything is read when somebody asks. */
export interface Measures {
  process(): ProcessMeasures
  store(): Promise<StoreMeasures>
}
