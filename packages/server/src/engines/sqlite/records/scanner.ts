import type { Statement } from 'bun:sqlite'
import { pageExpiredRowsMax } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { PageMeter } from '../../../core/records/record-json.ts'
import type { Position, Scan } from '../../../core/records/scan.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import type { Page } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'

/** `data` is null in a row past its ttl: it is not even read then. */
type Row = Omit<StoredRecord, 'data'> & { data: string | null }

type Bound = Uint8Array | string | number

const columns = `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  CASE WHEN ttl <= ?1 THEN NULL ELSE data END AS data`

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

const placeOf = (range: string): string =>
  `SELECT id, ${range} AS range FROM records
   WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`

const placeSql = {
  primary: placeOf('CAST(range_key AS TEXT)'),
  t: placeOf('updated_at'),
  i1: placeOf('CAST(i1_range AS TEXT)'),
  i2: placeOf('CAST(i2_range AS TEXT)'),
  i3: placeOf('CAST(i3_range AS TEXT)'),
  i4: placeOf('CAST(i4_range AS TEXT)'),
  i5: placeOf('CAST(i5_range AS TEXT)'),
}

/** Runs scans: one statement each, stepped only as far as the page goes. */
export class Scanner {
  readonly #db: Connection
  readonly #ascending = new Map<Scan['index'], Statement<Row, Bound[]>>()
  readonly #descending = new Map<Scan['index'], Statement<Row, Bound[]>>()

  constructor(db: Connection) {
    this.#db = db
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page {
    const hash = scan.index === 't' ? '' : scan.hash
    const id = scan.descending ? scan.highId : scan.lowId
    const values: Bound[] = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high, id]
    if (scan.index === 'primary') values.pop()

    const records: StoredRecord[] = []
    const meter = new PageMeter(records)
    let expired = 0
    let last: Row | undefined
    for (const row of this.#statement(scan).iterate(...values)) {
      if (row.data === null) {
        if (++expired > pageExpiredRowsMax) return { records, next: this.#positionOf(table, last!, scan.index) }
      } else {
        // This row is for the next page; that it is there tells that there is one.
        if (records.length === rowsMax || !meter.takes(row as StoredRecord)) {
          return { records, next: this.#positionOf(table, last!, scan.index) }
        }
        records.push(row as StoredRecord)
      }
      last = row
    }
    return { records, next: undefined }
  }

  #statement({ index, descending }: Scan): Statement<Row, Bound[]> {
    const statements = descending ? this.#descending : this.#ascending
    let statement = statements.get(index)
    if (statement === undefined) {
      statement = this.#db.prepare<Row, Bound[]>(scanSql(index, descending))
      statements.set(index, statement)
    }
    return statement
  }

  /**
   * The row's place in the order that was scanned. Looked up for the last row alone: to read it with every row would
   * cost more. The snapshot is still the one that the row was read in.
   */
  #positionOf(table: Table, { hashKey, rangeKey }: Row, index: Scan['index']): Position {
    return this.#db.prepare<Position, [number, string, string]>(placeSql[index]).get(table.id, hashKey, rangeKey)!
  }
}
