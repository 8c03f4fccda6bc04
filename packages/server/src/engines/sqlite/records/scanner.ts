import type { Statement } from 'bun:sqlite'
import { CubbyError } from '../../../core/errors.ts'
import { pageExpiredRowsMax, pageRowsMax } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { PageMeter } from '../../../core/records/record-json.ts'
import type { Position, Scan } from '../../../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../../core/records/stored-record.ts'
import { entriesOf } from '../../../core/tables/entries-of.ts'
import { slots } from '../../../core/tables/indices.ts'
import type { CountPage, Page } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import { damageHint, damageMessage } from '../disk/damage.ts'
import { damagedRecord, type RowCheck } from './row-check.ts'

/** A scan with `keys` does not read the data. */
type ScanSelection = 'data' | 'keys'

/** Longer data is on pages of its own. It is not read if only the keys are wanted. */
const comparedBytesMax = 4_096

const isInTtlIndex = `EXISTS (
  SELECT 1 FROM records AS x INDEXED BY records_by_ttl WHERE x.ttl = records.ttl AND x.id = records.id)`

/**
 * True if the row and the indexes agree on its keys, version and ttl. SQLite takes values that the scanned index has from
 * there, so the row is looked at again.
 */
const isConfirmed = `EXISTS (
    SELECT 1 FROM records AS r NOT INDEXED WHERE r.id = records.id AND r.table_id = records.table_id
      AND r.hash_key = records.hash_key AND r.range_key = records.range_key AND r.updated_at = records.updated_at)
  AND EXISTS (
    SELECT 1 FROM records AS k INDEXED BY records_by_key WHERE k.table_id = records.table_id
      AND k.hash_key = records.hash_key AND k.range_key = records.range_key AND k.id = records.id)
  AND EXISTS (
    SELECT 1 FROM records AS t INDEXED BY records_by_time
    WHERE t.table_id = records.table_id AND t.updated_at = records.updated_at AND t.id = records.id)
  AND (ttl IS NULL OR ${isInTtlIndex})`

// A row past its ttl is skipped without reading its data, so its checksum cannot be compared. If the index of ttls has an
// entry for it, the ttl is right. If not, damage may have changed the ttl, and the whole row must be read.
//
// If only the keys are wanted, short data is still read, for its checksum: it is on the same page as the keys, and
// looking them up in the indexes takes three times as long. For long data the indexes confirm keys, version and ttl.
const columnsOf = (select: ScanSelection): string => `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  CASE WHEN ttl <= ?1 THEN CASE WHEN ${isInTtlIndex} THEN id ELSE -id END ${
    select === 'data'
      ? 'ELSE data'
      : `WHEN octet_length(data) <= ${comparedBytesMax} THEN CAST(data AS TEXT) ELSE CASE WHEN ${isConfirmed} THEN id ELSE -id END`
  } END AS data`

// A row comparison resumes inside rows of equal range at the right id, and SQLite turns it into an index seek.
const between = (column: string, descending: boolean): string =>
  descending
    ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC`
    : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`

const rowsOf = (index: Scan['index'], descending: boolean): string => {
  if (index === 'primary') {
    return `hash_key = CAST(?3 AS BLOB) AND range_key >= ?4 AND range_key < ?5
      ORDER BY range_key${descending ? ' DESC' : ''}`
  }
  // The bound is not used, but every statement has the same parameters.
  if (index === 'walk')
    return '(hash_key, range_key) > (CAST(?3 AS BLOB), ?4) AND ?5 IS NOT NULL ORDER BY hash_key, range_key'
  if (index === 't') return between('updated_at', descending)
  return `${index}_hash = CAST(?3 AS BLOB) AND ${between(`${index}_range`, descending)}`
}

/**
 * The parameters: ?1 now in seconds, ?2 the table, ?3 the hash, ?4 low, ?5 high; ?6 the id of the row comparison, not in
 * `primary`.
 */
const scanSql = (select: ScanSelection, index: Scan['index'], descending: boolean): string =>
  `SELECT ${columnsOf(select)} FROM records WHERE table_id = ?2 AND ${rowsOf(index, descending)}`

// Counts read no row, only the scanned index and that of ttls.

const liveIds = (index: Scan['index'], descending: boolean): string => `
  SELECT id FROM records
  WHERE table_id = ?2 AND id NOT IN (SELECT id FROM records INDEXED BY records_by_ttl WHERE ttl <= ?1)
    AND ${rowsOf(index, descending)}`

/** The parameters are those of a scan; ?7 is the largest number of records to count. */
const countSql = (index: Scan['index'], descending: boolean): string =>
  `SELECT count(*) AS count FROM (${liveIds(index, descending)} LIMIT ?7)`

/** The parameters are those of a scan; ?7 is the number of records before it. */
const nthIdSql = (index: Scan['index'], descending: boolean): string =>
  `${liveIds(index, descending)} LIMIT 1 OFFSET ?7`

/** The expired rows of all tables that the sweep has not removed yet: 0 to ?2. */
const expiredRowsSql = `
  SELECT count(*) AS count FROM (SELECT 1 FROM records INDEXED BY records_by_ttl WHERE ttl <= ?1 LIMIT ?2)`

const byKey = 'table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)'
/** Reads only the index of keys. */
const idSql = `SELECT id FROM records WHERE ${byKey}`

/** The parameter ?1 is the id. */
const inFullSql = `
  SELECT CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs,
    ttl AS ttlSeconds, data
  FROM records WHERE id = ?1`

/** If `data` is not read, it is the row's id instead, negative if a value of the row is in doubt. */
type Row = Omit<StoredRecord, 'data'> & { data: string | number }

type Bound = Uint8Array | string | number
type ScanStatement = Statement<Row, Bound[]>

const boundsOf = (table: Table, scan: Scan, nowMs: number): Bound[] => {
  const hash = scan.index === 't' ? '' : scan.hash
  const values: Bound[] = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high]
  // The row comparison of `between` has an id.
  if (scan.index !== 'primary' && scan.index !== 'walk') values.push(scan.descending ? scan.highId : scan.lowId)
  return values
}

const positionIn = (table: Table, record: StoredRecord, id: number, index: Scan['index']): Position => {
  if (index === 'primary') return { range: record.rangeKey, id }
  if (index === 'walk') return { range: record.rangeKey, id, hash: record.hashKey }
  if (index === 't') return { range: record.updatedAtMs, id }
  // The position is computed from the data: the checksum does not cover the index values in the row.
  return { range: entriesOf(table, record)[2 * slots.indexOf(index) + 1]!, id }
}

/** Counts use the list of expired rows if the whole store has at most this many. */
const fewExpiredRows = 1_000

/** Runs scans: one statement each, stepped only as far as the page goes. */
export class Scanner {
  readonly #db: Connection
  readonly #rowCheck: RowCheck
  readonly #statements = {
    data: { ascending: new Map<Scan['index'], ScanStatement>(), descending: new Map<Scan['index'], ScanStatement>() },
    keys: { ascending: new Map<Scan['index'], ScanStatement>(), descending: new Map<Scan['index'], ScanStatement>() },
  }

  constructor(db: Connection, rowCheck: RowCheck) {
    this.#db = db
    this.#rowCheck = rowCheck
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page {
    const records: StoredRecord[] = []
    return this.#fill(records, new PageMeter(records), 'data', table, scan, rowsMax, nowMs)
  }

  scanKeys(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page<RecordHead> {
    const records: StoredRecord[] = []
    return this.#fill(records, new PageMeter(records, false), 'keys', table, scan, rowsMax, nowMs)
  }

  count(table: Table, scan: Scan, rowsMax: number, nowMs: number): CountPage {
    if (this.#hasFewExpired(nowMs)) return this.#countEntries(table, scan, rowsMax, nowMs)
    // The page is short, so that it costs no more than any other.
    const { records, next } = this.scanKeys(table, scan, Math.min(rowsMax, pageRowsMax), nowMs)
    return { count: records.length, next }
  }

  /** Sweeps remove expired rows, so that there are few of them in nearly every store at nearly every time. */
  #hasFewExpired(nowMs: number): boolean {
    const found = this.#db.one<{ count: number }>(expiredRowsSql, nowSeconds(nowMs), fewExpiredRows + 1)
    return found!.count <= fewExpiredRows
  }

  /**
   * Counts the entries of the index that are not in the list of expired rows. No row is read, so damage in one does not
   * matter, unless the page ends with it. 10,000 records take about 3 ms; with their rows it would be several times that.
   */
  #countEntries(table: Table, scan: Scan, rowsMax: number, nowMs: number): CountPage {
    const { index, descending } = scan
    const bounds = boundsOf(table, scan, nowMs)
    // Parameters are numbered, and `primary` has no sixth.
    if (index === 'primary' || index === 'walk') bounds.push(0)
    const { count } = this.#db.one<{ count: number }>(countSql(index, descending), ...bounds, rowsMax + 1)!
    if (count <= rowsMax) return { count, next: undefined }
    const { id } = this.#db.one<{ id: number }>(nthIdSql(index, descending), ...bounds, rowsMax - 1)!
    return { count: rowsMax, next: this.#positionAt(table, id, index) }
  }

  #fill(
    records: StoredRecord[],
    meter: PageMeter,
    select: ScanSelection,
    table: Table,
    scan: Scan,
    rowsMax: number,
    nowMs: number,
  ): Page {
    const now = nowSeconds(nowMs)
    let expired = 0
    let last: Row | undefined
    for (const row of this.#statement(select, scan).iterate(...boundsOf(table, scan, nowMs))) {
      const isFull = records.length === rowsMax
      const isExpired = row.ttlSeconds !== null && row.ttlSeconds <= now
      // If the page is full, a row in doubt is left to the next page.
      const isInDoubt = isExpired && (row.data as number) < 0
      if (isExpired && !(isInDoubt && isFull)) {
        if (isInDoubt) this.#readInFull(table.id, -(row.data as number))
        if (++expired > pageExpiredRowsMax) return { records, next: this.#positionOf(table, last!, scan.index) }
      } else {
        if (!isFull) {
          // Damage can make anything of `data`, null too: what is not the id of a row whose keys are wanted is compared.
          if (select === 'data' || typeof row.data !== 'number') this.#rowCheck.take(table.id, row as StoredRecord)
          else if (row.data < 0) this.#confirm(table.id, row)
        }
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

  #statement(select: ScanSelection, { index, descending }: Scan): ScanStatement {
    const { [descending ? 'descending' : 'ascending']: statements } = this.#statements[select]
    let statement = statements.get(index)
    if (statement === undefined) {
      statement = this.#db.prepare<Row, Bound[]>(scanSql(select, index, descending))
      statements.set(index, statement)
    }
    return statement
  }

  /**
   * Compares a live row whose data was not read, and on which row and indexes do not agree. Throws if it is not as it was
   * written.
   */
  #confirm(tableId: number, row: Row): void {
    const id = -(row.data as number)
    row.data = id
    // The checksum is compared with the values of this row, not with those of a second read: these are sent.
    const { data } = this.#db.one<StoredRecord>(inFullSql, id)!
    this.#rowCheck.take(tableId, { ...row, data })
  }

  /** Reads a row whose data was not read, and compares it with its checksum. */
  #readInFull(tableId: number, id: number): StoredRecord {
    const record = this.#db.one<StoredRecord>(inFullSql, id)
    // An index has an entry for the row.
    if (record === undefined) throw new CubbyError('store_damaged', damageMessage, { hint: damageHint })
    this.#rowCheck.take(tableId, record)
    // The checksum does not cover the id: with one that damage changed, this may be another record, whole as it is.
    if (this.#idOf(tableId, record) !== id) throw damagedRecord(record)
    return record
  }

  /**
   * The row's position in the scanned order. It is read only for the last row, in the snapshot of that row: reading it with
   * every row costs more.
   */
  #positionOf(table: Table, row: Row, index: Scan['index']): Position {
    // The next page starts after this row, so a row whose data was not read is checked now.
    if (typeof row.data !== 'string') return this.#positionAt(table, Math.abs(row.data), index)
    const record = row as StoredRecord
    return positionIn(table, record, this.#idOf(table.id, record), index)
  }

  #positionAt(table: Table, id: number, index: Scan['index']): Position {
    return positionIn(table, this.#readInFull(table.id, id), id, index)
  }

  #idOf(tableId: number, record: StoredRecord): number {
    const { hashKey, rangeKey } = record
    const found = this.#db.one<{ id: number }>(idSql, tableId, hashKey, rangeKey)
    // The index of keys has no entry for it: its key was changed by damage.
    if (found === undefined) throw damagedRecord(record)
    return found.id
  }
}
