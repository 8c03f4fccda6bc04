import type { Awaitable } from '../core/awaitable.ts'
import type { TimeScan } from '../core/records/scan.ts'
import type { Table } from './tables.ts'

export interface SizePage {
  rows: number
  bytes: number
  /** The position of the last row if there are `rowsMax`; otherwise the scan is complete. */
  next: { range: number; id: number } | undefined
}

/** For `cubby stats`. Every call is a short read, so that none holds up the store. */
export interface Statistics {
  /**
   * The bytes of at most `rowsMax` rows of a scan by time. Of a record: its keys and data as they were sent; of a file: the
   * file; of a run: its payload and result. Expired rows count until the sweep has removed them.
   */
  size(table: Table, scan: TimeScan, rowsMax: number): Awaitable<SizePage>
  /** About how many rows it has, without counting them; undefined if nothing is known. */
  estimateRows(table: Table): Awaitable<number | undefined>
}
