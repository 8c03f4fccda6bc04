import type { Awaitable } from '../core/awaitable.ts'
import type { TimeScan } from '../core/records/scan.ts'
import type { Table } from './tables.ts'

export interface SizePage {
  rows: number
  bytes: number
  /** The position of the last row if there are `rowsMax`; otherwise the scan is complete. */
  next: { range: number; id: number } | undefined
}

/** The numbers of `cubby stats`. Every call is a short read, so that none delays other work for long. */
export interface Statistics {
  /**
   * Adds up the bytes of at most `rowsMax` rows of a scan by time. The bytes of a record are its keys and data as they were
   * sent; those of a file its content; those of a run its payload and result. Expired rows count until the sweep has removed
   * them.
   */
  size(table: Table, scan: TimeScan, rowsMax: number): Awaitable<SizePage>
  /** Estimates the number of its rows without counting them; undefined if nothing is known. */
  estimateRows(table: Table): Awaitable<number | undefined>
  /** Tells, without counting, how many changes the log of a table has that can be read. The table must keep changes. */
  countChanges(table: Table): Awaitable<number>
}
