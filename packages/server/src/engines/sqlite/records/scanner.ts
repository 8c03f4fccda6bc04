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
import { countSql, expiredRowsSql, idSql, inFullSql, nthIdSql, type ScanSelection, scanSql } from './read-statements.ts'
import { damagedRecord, type RowCheck } from './row-check.ts'

/** If `data` is not read, it is the row's id instead, negative if a value of the row is in doubt: see read-statements.ts. */
type Row = Omit<StoredRecord, 'data'> & { data: string | number }

type Bound = Uint8Array | string | number
type ScanStatement = Statement<Row, Bound[]>

const boundsOf = (table: Table, scan: Scan, nowMs: number): Bound[] => {
  const hash = scan.index === 't' ? '' : scan.hash
  const values: Bound[] = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high]
  // The row comparison of `between` has an id.
  if (scan.index !== 'primary') values.push(scan.descending ? scan.highId : scan.lowId)
  return values
}

const positionIn = (table: Table, record: StoredRecord, id: number, index: Scan['index']): Position => {
  if (index === 'primary') return { range: record.rangeKey, id }
  if (index === 't') return { range: record.updatedAtMs, id }
  // Computed from the data, which the checksum covers. It does not cover the index values in the row.
  return { range: entriesOf(table, record)[2 * slots.indexOf(index) + 1]!, id }
}

/** Up to so many expired rows in the whole store, counts go by the list of them. */
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
    // Short, so that it costs no more than any other page.
    const { records, next } = this.scanKeys(table, scan, Math.min(rowsMax, pageRowsMax), nowMs)
    return { count: records.length, next }
  }

  /** Sweeps remove expired rows, so that there are few of them in nearly every store at nearly every time. */
  #hasFewExpired(nowMs: number): boolean {
    const statement = this.#db.prepare<{ count: number }, [number, number]>(expiredRowsSql)
    return statement.get(nowSeconds(nowMs), fewExpiredRows + 1)!.count <= fewExpiredRows
  }

  /**
   * Counts the entries of the index that are not in the list of expired rows. No row is read, so damage in one does not
   * matter, unless the page ends with it. 10,000 records take about 3 ms; with their rows it would be several times that.
   */
  #countEntries(table: Table, scan: Scan, rowsMax: number, nowMs: number): CountPage {
    const { index, descending } = scan
    const bounds = boundsOf(table, scan, nowMs)
    // Parameters are numbered, and `primary` has no sixth.
    if (index === 'primary') bounds.push(0)
    const counted = this.#db.prepare<{ count: number }, Bound[]>(countSql(index, descending))
    const { count } = counted.get(...bounds, rowsMax + 1)!
    if (count <= rowsMax) return { count, next: undefined }
    const nth = this.#db.prepare<{ id: number }, Bound[]>(nthIdSql(index, descending))
    const { id } = nth.get(...bounds, rowsMax - 1)!
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

  /** A live row whose data was not read, and which row and indexes do not agree on. Throws if it is not as it was written. */
  #confirm(tableId: number, row: Row): void {
    const id = -(row.data as number)
    row.data = id
    // Compared with the values of this row, not with those of a second look: these are what is sent.
    const { data } = this.#db.prepare<StoredRecord, [number]>(inFullSql).get(id)!
    this.#rowCheck.take(tableId, { ...row, data })
  }

  /** A row whose data was not read, compared with its checksum. */
  #readInFull(tableId: number, id: number): StoredRecord {
    const record = this.#db.prepare<StoredRecord, [number]>(inFullSql).get(id)
    // An index has an entry for it.
    if (record === null) throw new CubbyError('store_damaged', damageMessage, { hint: damageHint })
    this.#rowCheck.take(tableId, record)
    // The checksum does not cover the id: with one that damage changed, this may be another record, whole as it is.
    if (this.#idOf(tableId, record) !== id) throw damagedRecord(record)
    return record
  }

  /**
   * The row's position in the scanned order. Read only for the last row, in the snapshot that the row was read in:
   * reading it with every row costs more.
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
    const found = this.#db.prepare<{ id: number }, [number, string, string]>(idSql).get(tableId, hashKey, rangeKey)
    // The index of keys has no entry for it: its key was changed by damage.
    if (found === null) throw damagedRecord(record)
    return found.id
  }
}
