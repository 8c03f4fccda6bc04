import type { Awaitable } from '../core/awaitable.ts'
import type { RecordKey } from '../core/records/record-key.ts'
import type { Position, Scan } from '../core/records/scan.ts'
import type { StoredRecord } from '../core/records/stored-record.ts'
import type { IndexEntries } from '../core/tables/indices.ts'
import type { Caller } from './api-keys.ts'
import type { Table } from './tables.ts'

/**
 * What must hold of the present record, or nothing is written. A record past its ttl does not exist.
 * `{ version }`: its updatedAt is exactly this. 'exists': any version. 'absent': none.
 */
export type Condition = { version: number } | 'exists' | 'absent'

export interface PutOperation extends RecordKey {
  op: 'put'
  /** JSON text exactly as it came. */
  data: string
  ttlSeconds: number | null
  entries: IndexEntries
  condition: Condition | undefined
  /** An import keeps the time of the last write; without it that is now. Still later than the version it replaces. */
  updatedAtMs?: number
}

export interface DeleteOperation extends RecordKey {
  op: 'delete'
  condition: Condition | undefined
}

export type RecordOperation = PutOperation | DeleteOperation

/** The new version for a put; for a delete whether there was a record. */
export type OperationResult = { updatedAtMs: number } | { deleted: boolean }

export type WriteResult =
  | { applied: true; results: OperationResult[] }
  /** Nothing was written: the condition of this operation did not hold; `current` is the version found. */
  | { applied: false; failedOperation: number; current: number | undefined }

export interface Page {
  records: StoredRecord[]
  /** The place of the last row looked at; undefined when the scan came to its end. */
  next: Position | undefined
}

export interface Records {
  /** `keySeq` of this and of `scan`: for which API key, so that an engine that has to queue reads can give keys turns. */
  get(table: Table, key: RecordKey, nowMs: number, keySeq?: number): Awaitable<StoredRecord | undefined>
  /** Live records in order, at most `rowsMax` and, as they are sent, `pageBytesMax` (`PageMeter`); at least one if there is one. */
  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq?: number): Awaitable<Page>
  /** All operations or none. No two of them name the same record. */
  write(caller: Caller, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult>
}
