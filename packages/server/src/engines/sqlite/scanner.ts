import type { Page, StoredRecord, Table } from '../../core/engine.ts'
import { nowSeconds } from '../../core/expiry.ts'
import { pageBytesMax, pageExpiredRowsMax } from '../../core/limits.ts'
import type { Position, Scan } from '../../core/scan.ts'
import type { Connection } from './connection.ts'

interface Row extends StoredRecord {
  id: number
  position: string | number
  /** 1 for a row past its ttl; its data is then not read. */
  expired: number
}

type Bound = Uint8Array | string | number

const columns = (position: string): string => `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  id, ${position} AS position, coalesce(ttl <= ?1, 0) AS expired, CASE WHEN ttl <= ?1 THEN NULL ELSE data END AS data`

// A row comparison resumes inside rows of equal range at the right id, and SQLite turns it into an index seek.
const between = (column: string, descending: boolean): string =>
  descending
    ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC`
    : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`

export const scanSql = (index: Scan['index'], descending: boolean): string => {
  if (index === 'primary') {
    return `SELECT ${columns('CAST(range_key AS TEXT)')} FROM records
      WHERE table_id = ?2 AND hash_key = CAST(?3 AS BLOB) AND range_key >= ?4 AND range_key < ?5
      ORDER BY range_key${descending ? ' DESC' : ''}`
  }
  if (index === 't') {
    return `SELECT ${columns('updated_at')} FROM records WHERE table_id = ?2 AND ${between('updated_at', descending)}`
  }
  return `SELECT ${columns(`CAST(${index}_range AS TEXT)`)} FROM records
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
    let last: Position | undefined
    for (const row of statement.iterate(...values)) {
      if (row.expired === 1) {
        if (++expired > pageExpiredRowsMax) return { records, next: last }
      } else {
        bytes += Buffer.byteLength(row.data)
        // This row is for the next page; that it is there tells that there is one.
        if (records.length === rowsMax || (bytes > pageBytesMax && records.length > 0)) return { records, next: last }
        records.push(row)
      }
      last = { range: row.position, id: row.id }
    }
    return { records, next: undefined }
  }
}
