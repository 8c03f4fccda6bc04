import { pageBytesMax } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { FoundRecords } from '../../../core/records/find.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { Scan } from '../../../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../../core/records/stored-record.ts'
import type { Holder } from '../../../core/shares.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { CountPage, Page, PutOperation, RecordOperation, Records, WriteResult } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { TableLogs } from '../changes/table-logs.ts'
import { bytesArray } from '../connection/arrays.ts'
import { toBytes } from '../connection/bytes.ts'
import type { Database } from '../connection/database.ts'
import type { Dialect } from '../dialect.ts'
import type { PostgresIdempotencyKeys } from '../registry/idempotency-keys.ts'
import { findRecords, getRecord } from './read-statements.ts'
import { RecordWrites } from './record-writes.ts'
import { countPage, readPage } from './scanner.ts'
import { LogBegun, type WriteGuard } from './write-guard.ts'

/** One statement reads all records, so they are from one snapshot. */
const findByKeys = async (
  db: Database,
  holder: Holder,
  tableId: number,
  keys: RecordKey[],
  nowMs: number,
): Promise<(StoredRecord | undefined)[]> => {
  const hashKeys = bytesArray(keys.map(({ hashKey }) => hashKey))
  const rangeKeys = bytesArray(keys.map(({ rangeKey }) => rangeKey))
  const values = [hashKeys, rangeKeys, tableId, nowSeconds(nowMs), pageBytesMax]
  const [result] = await db.read(holder, { statement: findRecords, values })
  const found = new FoundRecords()
  const skipTo = (position: number): void => {
    while (found.entries.length < position) found.add(undefined)
  }
  for (const [place, ttl, updatedAt, data] of result!.rows) {
    const position = Number(place) - 1
    skipTo(position)
    // The database counts the minimum size of records; `add` counts the escapes of their keys too.
    if (data == null) return found.entries
    const { hashKey, rangeKey } = keys[position]!
    const ttlSeconds = ttl == null ? null : Number(ttl)
    if (!found.add({ hashKey, rangeKey, data, ttlSeconds, updatedAtMs: Number(updatedAt) })) return found.entries
  }
  skipTo(keys.length)
  return found.entries
}

export class PostgresRecords implements Records {
  readonly #db: Database
  readonly #guard: WriteGuard
  readonly writes: RecordWrites

  constructor(db: Database, dialect: Dialect, guard: WriteGuard, keys: PostgresIdempotencyKeys, logs: TableLogs) {
    this.#db = db
    this.#guard = guard
    this.writes = new RecordWrites(db, dialect, keys, logs)
  }

  async get(
    table: Table,
    { hashKey, rangeKey }: RecordKey,
    nowMs: number,
    keySeq = 0,
  ): Promise<StoredRecord | undefined> {
    const { rows } = await this.#db.lookup(
      { orgId: table.orgId, keySeq },
      {
        statement: getRecord,
        values: [table.id, toBytes(hashKey), toBytes(rangeKey), nowSeconds(nowMs)],
      },
    )
    const row = rows[0]
    if (row === undefined) return undefined
    const [data, ttl, updatedAt] = row
    return {
      hashKey,
      rangeKey,
      data: data!,
      ttlSeconds: ttl == null ? null : Number(ttl),
      updatedAtMs: Number(updatedAt),
    }
  }

  find(table: Table, keys: RecordKey[], nowMs: number, keySeq = 0): Promise<(StoredRecord | undefined)[]> {
    return findByKeys(this.#db, { orgId: table.orgId, keySeq }, table.id, keys, nowMs)
  }

  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq = 0): Promise<Page> {
    return readPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs })
  }

  scanKeys(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq = 0): Promise<Page<RecordHead>> {
    return readPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs }, 'keys')
  }

  count(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq = 0): Promise<CountPage> {
    return countPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs })
  }

  write(caller: Caller, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult> {
    return this.#guarded(caller, table, (current) => this.writes.write(caller, current, operations, nowMs))
  }

  putAll(caller: Caller, table: Table, puts: PutOperation[], onlyAbsent: boolean, nowMs: number): Promise<number> {
    return this.#guarded(caller, table, (current) => this.writes.putAll(caller, current, puts, onlyAbsent, nowMs))
  }

  async #guarded<T>(caller: Caller, table: Table, write: (current: Table) => Promise<T>): Promise<T> {
    try {
      if (!this.#guard.isInWrites) await this.#guard.confirm(caller, table)
      return await write(table)
    } catch (error) {
      if (!(error instanceof LogBegun)) throw error
      return write(error.table)
    }
  }
}
