import type { Page, StoredRecord, Table } from '../../core/engine.ts'
import { nowSeconds } from '../../core/expiry.ts'
import { pageBytesMax, pageExpiredRowsMax } from '../../core/limits.ts'
import type { Position, Scan } from '../../core/scan.ts'
import type { Connection } from './connection.ts'

/** `data` is null in a row past its ttl: it is not even read then. */
type Row = Omit<StoredRecord, 'data'> & { id: number; data: string | null }

type Bound = Uint8Array | string | number

const columns = `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  id, CASE WHEN ttl <= ?1 THEN NULL ELSE data END AS data`

// A row comparison resumes inside rows of equal range at the right id, and SQLite turns it into an index seek.
const between = (column: string, descending: boolean): string =>
  descending
    ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC`
    : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`

export const scanSql = (index: Scan['index'], descending: boolean): string => {
  if (index === 'primary') {
    return `SELECT ${columns} FROM records
      WHERE table_id = ?2 AND hash_key = CAST(?3 AS BLOB) AND range_key >= ?4 AND range_key < ?5
      ORDER BY range_key${descending ? ' DESC' : ''}`
  }
  if (index === 't') {
    return `SELECT ${columns} FROM records WHERE table_id = ?2 AND ${between('updated_at', descending)}`
  }
  return `SELECT ${columns} FROM records
    WHERE table_id = ?2 AND ${index}_hash = CAST(?3 AS BLOB) AND ${between(`${index}_range`, descending)}`
}

/** Runs scans: one statement each, stepped only as far as the page goes. */
export class Scanner {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page {
    const statement = this.#db.prepare<Row, Bound[]>(scanSql(scan.index, scan.descending))
    const hash = scan.index === 't' ? '' : scan.hash
    const id = scan.descending ? scan.highId : scan.lowId
    const values: Bound[] = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high, id]
    if (scan.index === 'primary') values.pop()

    const records: StoredRecord[] = []
    let bytes = 0
    let expired = 0
    let last: Row | undefined
    for (const row of statement.iterate(...values)) {
      if (row.data === null) {
        if (++expired > pageExpiredRowsMax) return { records, next: this.#positionOf(last!, scan.index) }
      } else {
        bytes += Buffer.byteLength(row.data)
        // This row is for the next page; that it is there tells that there is one.
        if (records.length === rowsMax || (bytes > pageBytesMax && records.length > 0)) {
          return { records, next: this.#positionOf(last!, scan.index) }
        }
        records.push(row as StoredRecord)
      }
      last = row
    }
    return { records, next: undefined }
  }

  /** The row's place in the order that was scanned. The snapshot is still the one that the row was read in. */
  #positionOf(row: Row, index: Scan['index']): Position {
    const { id, rangeKey, updatedAtMs } = row
    if (index === 'primary') return { range: rangeKey, id }
    if (index === 't') return { range: updatedAtMs, id }
    // Looked up for the last row alone: it is in the index, but reading it with every row would cost more.
    const place = this.#db.prepare<{ place: string }, [number]>(
      `SELECT CAST(${index}_range AS TEXT) AS place FROM records WHERE id = ?1`,
    )
    return { range: place.get(id)!.place, id }
  }
}
