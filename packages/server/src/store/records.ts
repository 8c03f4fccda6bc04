import type { Awaitable } from '../core/awaitable.ts'
import type { Condition } from '../core/records/condition.ts'
import type { RecordKey } from '../core/records/record-key.ts'
import type { PatchToApply } from '../core/records/record-patch.ts'
import type { Position, Scan } from '../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../core/records/stored-record.ts'
import type { IndexEntries } from '../core/tables/indices.ts'
import type { Caller } from './api-keys.ts'
import type { Table } from './tables.ts'

export type { Condition }

export interface PutOperation extends RecordKey {
  op: 'put'
  /** JSON text exactly as it was sent. */
  data: string
  ttlSeconds: number | null
  entries: IndexEntries
  condition: Condition | undefined
  /** The time of the last write, which an import keeps. Default: now. A new version is always above the old one. */
  updatedAtMs?: number
}

export interface DeleteOperation extends RecordKey {
  op: 'delete'
  condition: Condition | undefined
}

/** A patch is applied to the record as it is when it is written. A record that does not exist is created. */
export interface PatchOperation extends RecordKey, PatchToApply {
  op: 'patch'
  condition: Condition | undefined
  /** False if nobody needs the data of the result. */
  wantsData: boolean
}

/** Writes nothing. Its condition must hold when the write is committed. */
export interface CheckOperation extends RecordKey {
  op: 'check'
  condition: Condition
}

export type RecordOperation = PutOperation | DeleteOperation | PatchOperation | CheckOperation

export interface PatchResult {
  updatedAtMs: number
  ttlSeconds: number | null
  /** The characters of the data. */
  length: number
  data?: string
}

/** The result of a put is the new version, that of a delete is whether there was a record. A check has none. */
export type OperationResult = { updatedAtMs: number } | { deleted: boolean } | PatchResult | { checked: true }

export type WriteResult =
  | { applied: true; results: OperationResult[] }
  /** Nothing was written, because the condition of this operation did not hold. `current` is the version found. */
  | { applied: false; failedOperation: number; current: number | undefined }

export interface Page<R extends RecordHead = StoredRecord> {
  records: R[]
  /** The position of the last row that was read; undefined if the scan is complete. */
  next: Position | undefined
}

export interface CountPage {
  count: number
  /** See `Page`. */
  next: Position | undefined
}

export interface Records {
  /** `keySeq`, here, in `find` and in `scan`: the API key, so that an engine that queues reads can let API keys take turns. */
  get(table: Table, key: RecordKey, nowMs: number, keySeq?: number): Awaitable<StoredRecord | undefined>
  /**
   * Returns for each key, in this order, the result of `get`, all from one snapshot. The result ends before the first record
   * with which the records would exceed `pageBytesMax` bytes as they are sent (`FoundRecords`), so it may be shorter than
   * `keys`; it has at least one entry. No two keys may be equal.
   */
  find(table: Table, keys: RecordKey[], nowMs: number, keySeq?: number): Awaitable<(StoredRecord | undefined)[]>
  /**
   * Returns records that have not expired, in order: at most `rowsMax`, and at most `pageBytesMax` bytes as they are sent
   * (`PageMeter`), but at least one if there is one.
   */
  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq?: number): Awaitable<Page>
  /** Returns the same page of records without their data, which is not read if that can be avoided. */
  scanKeys(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq?: number): Awaitable<Page<RecordHead>>
  /** Counts records that have not expired, at most `rowsMax`; fewer if there are many expired ones among them. */
  count(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq?: number): Awaitable<CountPage>
  /** Applies all operations or none. No two of them may name the same record. */
  write(caller: Caller, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult>
  /**
   * Applies all puts or none, one after another: at most `loadCommitLinesMax`, without conditions. With `onlyAbsent`, records
   * that exist are left as they are. Returns how many were written.
   */
  putAll(caller: Caller, table: Table, puts: PutOperation[], onlyAbsent: boolean, nowMs: number): Promise<number>
}
