import type { Statement } from 'bun:sqlite'
import { pageExpiredRowsMax } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { PageMeter } from '../../../core/records/record-json.ts'
import type { Position, Scan } from '../../../core/records/scan.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import { readIndexEntries, slots } from '../../../core/tables/indices.ts'
import type { Page } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import { damagedRecord, type RowCheck } from './row-check.ts'

/** For a row past its ttl, `data` is not read. It is the row's id instead, negative if that ttl is in doubt: see `columns`. */
type Row = Omit<StoredRecord, 'data'> & { data: string | number }

type Bound = Uint8Array | string | number

// A row past its ttl is skipped without reading its data, so its checksum cannot be compared. If the index of ttls has an
// entry for it, the ttl is right. If not, damage may have changed the ttl, and the whole row must be read.
const columns = `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  CASE WHEN ttl <= ?1 THEN CASE WHEN EXISTS (
    SELECT 1 FROM records AS x INDEXED BY records_by_ttl WHERE x.ttl = records.ttl AND x.id = records.id
  ) THEN id ELSE -id END ELSE data END AS data`

// A row comparison resumes inside rows of equal range at the right id, and SQLite turns it into an index seek.
const between = (column: string, descending: boolean): string =>
  descending
    ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC`
    : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`

const scanSql = (index: Scan['index'], descending: boolean): string => {
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

const byKey = 'table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)'
/** Reads only the index of keys. */
const idSql = `SELECT id FROM records WHERE ${byKey}`

const inFullSql = `
  SELECT CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs,
    ttl AS ttlSeconds, data
  FROM records WHERE id = ?1`

/** Runs scans: one statement each, stepped only as far as the page goes. */
export class Scanner {
  readonly #db: Connection
  readonly #rowCheck: RowCheck
  readonly #ascending = new Map<Scan['index'], Statement<Row, Bound[]>>()
  readonly #descending = new Map<Scan['index'], Statement<Row, Bound[]>>()

  constructor(db: Connection, rowCheck: RowCheck) {
    this.#db = db
    this.#rowCheck = rowCheck
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page {
    const hash = scan.index === 't' ? '' : scan.hash
    const id = scan.descending ? scan.highId : scan.lowId
    const values: Bound[] = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high, id]
    if (scan.index === 'primary') values.pop()

    const records: StoredRecord[] = []
    const meter = new PageMeter(records)
    const now = nowSeconds(nowMs)
    let expired = 0
    let last: Row | undefined
    for (const row of this.#statement(scan).iterate(...values)) {
      const isFull = records.length === rowsMax
      const isExpired = row.ttlSeconds !== null && row.ttlSeconds <= now
      // If the page is full, a row in doubt is left to the next page.
      const isInDoubt = isExpired && (row.data as number) < 0
      if (isExpired && !(isInDoubt && isFull)) {
        if (isInDoubt) this.#readInFull(table.id, row)
        if (++expired > pageExpiredRowsMax) return { records, next: this.#positionOf(table, last!, scan.index) }
      } else {
        if (!isFull) this.#rowCheck.take(table.id, row as StoredRecord)
        // This row belongs to the next page. It shows that there is one.
        if (isFull || !meter.takes(row as StoredRecord)) {
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

  /** A row past its ttl, compared with its checksum. */
  #readInFull(tableId: number, { data }: Row): StoredRecord {
    const record = this.#db.prepare<StoredRecord, [number]>(inFullSql).get(Math.abs(data as number))!
    this.#rowCheck.take(tableId, record)
    return record
  }

  /**
   * The row's position in the scanned order. Read only for the last row, in the snapshot that the row was read in:
   * reading it with every row costs more.
   */
  #positionOf(table: Table, row: Row, index: Scan['index']): Position {
    // The next page starts after this row, so a row that was skipped unread is checked now.
    const record = typeof row.data === 'string' ? (row as StoredRecord) : this.#readInFull(table.id, row)
    const id = typeof row.data === 'string' ? this.#idOf(table, record) : Math.abs(row.data)
    if (index === 'primary') return { range: record.rangeKey, id }
    if (index === 't') return { range: record.updatedAtMs, id }
    // Computed from the data, which the checksum covers. It does not cover the index values in the row.
    return { range: readIndexEntries(table.indices, record)[2 * slots.indexOf(index) + 1]!, id }
  }

  #idOf(table: Table, record: StoredRecord): number {
    const { hashKey, rangeKey } = record
    const found = this.#db.prepare<{ id: number }, [number, string, string]>(idSql).get(table.id, hashKey, rangeKey)
    // The index of keys has no entry for it: its key was changed by damage.
    if (found === null) throw damagedRecord(record)
    return found.id
  }
}
