import { isExpired } from '../../../core/records/expiry.ts'
import { FoundRecords } from '../../../core/records/find.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { Scan } from '../../../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../../core/records/stored-record.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { CountPage, Page, RecordOperation, Records, WriteResult } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'
import { Scanner } from './scanner.ts'

interface GetRow {
  data: string
  ttl: number | null
  updated_at: number
}

export class SqliteRecords implements Records {
  readonly #store: OpenStore
  readonly #scanner: Scanner
  readonly #record

  constructor(store: OpenStore) {
    this.#store = store
    this.#scanner = new Scanner(store.db, store.rowCheck)
    this.#record = store.db.prepare<GetRow, [number, string, string]>(
      `SELECT data, ttl, updated_at FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
    )
  }

  get(table: Table, key: RecordKey, nowMs: number): StoredRecord | undefined {
    try {
      this.#store.snapshot.refresh()
      return this.#readOne(table.id, key, nowMs)
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
  }

  /** Without a pause between the reads, so all of them are in the snapshot of the first. */
  find(table: Table, keys: RecordKey[], nowMs: number): (StoredRecord | undefined)[] {
    // The first record fits into every answer, so nothing is measured.
    if (keys.length === 1) return [this.get(table, keys[0]!, nowMs)]
    return this.#read(() => {
      const found = new FoundRecords()
      for (const key of keys) if (!found.add(this.#readOne(table.id, key, nowMs))) break
      return found.entries
    })
  }

  #readOne(tableId: number, { hashKey, rangeKey }: RecordKey, nowMs: number): StoredRecord | undefined {
    const row = this.#record.get(tableId, hashKey, rangeKey)
    if (row === null) return undefined
    const record = { hashKey, rangeKey, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at }
    // Before the ttl is used: a damaged one could hide the record.
    this.#store.rowCheck.take(tableId, record)
    return isExpired(row.ttl, nowMs) ? undefined : record
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page {
    return this.#read(() => this.#scanner.scan(table, scan, rowsMax, nowMs))
  }

  scanKeys(table: Table, scan: Scan, rowsMax: number, nowMs: number): Page<RecordHead> {
    return this.#read(() => this.#scanner.scanKeys(table, scan, rowsMax, nowMs))
  }

  count(table: Table, scan: Scan, rowsMax: number, nowMs: number): CountPage {
    return this.#read(() => this.#scanner.count(table, scan, rowsMax, nowMs))
  }

  write(caller: Caller, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult> {
    if (this.#store.role === 'guest') throw new Error('a guest of the store does not write records')
    let bytes = 0
    for (const operation of operations) if (operation.op === 'put') bytes += operation.data.length
    return this.#store.channel.submit(
      { kind: 'write', fence: this.#store.fence(caller, table), nowMs, operations },
      bytes,
    )
  }

  #read<T>(read: () => T): T {
    try {
      this.#store.snapshot.refresh()
      return read()
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
  }
}
