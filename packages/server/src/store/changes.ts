import type { Awaitable } from '../core/awaitable.ts'
import type { LogPlace } from '../core/changes/log-entry.ts'
import type { RecordKey } from '../core/records/record-key.ts'
import type { RecordHead, StoredRecord } from '../core/records/stored-record.ts'
import type { Table } from './tables.ts'

export type Change = LogPlace &
  (
    | { op: 'put'; record: StoredRecord | RecordHead }
    | { op: 'delete'; key: RecordKey; deletedAtMs: number; isExpired: boolean }
  )

export interface ChangesToRead {
  /** The entries after this one are read. */
  after: number
  /** The newest place that the reader knows of, at `after` or later. */
  seen: LogPlace
  /** Only the changes of records with this hash key. */
  hash: string | undefined
  /** Without data, records are read as `RecordHead`, and long data is not read if that can be avoided. */
  withData: boolean
  changesMax: number
}

export interface ChangesPage {
  changes: Change[]
  /** The last entry that was looked at. */
  place: LogPlace
  /** The newest entry. */
  head: LogPlace
}

/**
 * The logs of tables that keep changes: `Table.changes`. Every commit that writes or removes a record of such a table adds an
 * entry for it, by every way in, except for a copy, which brings its entries along, and for files, which no log has. An entry
 * has no data: a put is read with the record as it is now.
 *
 * A log begins with an entry of its own kind and always keeps its newest entry, so that every place is that of an entry.
 */
export interface Changes {
  /** The newest place. The table must have a log. */
  head(table: Table, keySeq?: number): Awaitable<LogPlace>
  /**
   * The changes after a place, in the order of the log, all from one snapshot. It looks at `changesLookedAtMax` entries at most
   * and returns at most `changesMax` changes, and no more after those that have `pageBytesMax` characters together. A put is
   * left out if the record is no longer the one that was put: a later entry tells. A record that has expired since is a
   * delete.
   *
   * Undefined if the place is no longer in the log, or if the log has another entry at `seen`: then the store has gone back to
   * a time before it, and what the reader has may never have been. Throws `store_damaged` if an entry cannot be trusted.
   */
  read(table: Table, request: ChangesToRead, nowMs: number, keySeq?: number): Awaitable<ChangesPage | undefined>
  /**
   * Calls `noted` with the number of the newest entry soon after each commit that adds to the log of the table: at once after
   * commits of this process, within 200 ms after those of others. It may be called more often, also with a number that
   * was told before. Ends when the returned function is called.
   */
  follow(table: Table, noted: (seq: number) => void): () => void
}
