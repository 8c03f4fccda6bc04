import type { Awaitable } from '../core/awaitable.ts'
import type { CursorKey } from '../core/cursor-seal.ts'
import type { StoredRecord } from '../core/records/stored-record.ts'
import type { IndexEntries } from '../core/tables/indices.ts'
import type { ApiKey } from './api-keys.ts'
import type { Organization } from './organizations.ts'
import type { Table } from './tables.ts'

/** An API key with what is kept of its text. */
export interface DumpedApiKey extends ApiKey {
  hash: string
}

export interface DumpedTable extends Table {
  purging: boolean
}

export interface DumpedRecord extends StoredRecord {
  id: number
  tableId: number
  entries: IndexEntries
}

/** One consistent view of a whole store, however long it takes to read and whoever writes meanwhile. */
export interface Dump {
  cursorKey(): Awaitable<CursorKey>
  organizations(): Awaitable<Organization[]>
  /** By seq. */
  apiKeys(): AsyncIterable<DumpedApiKey>
  /** By id, soft-deleted ones too. */
  tables(): AsyncIterable<DumpedTable>
  /** One table's records in creation order, expired ones too, those with a higher id than `afterId`, in chunks of bounded bytes. */
  records(tableId: number, afterId: number): AsyncIterable<DumpedRecord[]>
  countRecords(tableId: number): Awaitable<number>
  close(): Promise<void>
}

/** What a copy brings along, every id as it was. */
export interface LoadRows {
  /** Replaces the store's own, so that cursors go on working in the copy. */
  cursorKey?: CursorKey
  organizations?: Organization[]
  apiKeys?: DumpedApiKey[]
  tables?: DumpedTable[]
  records?: DumpedRecord[]
}

export interface Transfer {
  /** How many records an import should put in one `write`: more would not be faster. */
  readonly importBatchRecords: number
  openDump(): Promise<Dump>
  /**
   * Adds rows as they are, all or none, and raises what gives out ids above theirs. A row that is there already
   * (the same id) is left alone, so that an interrupted copy can be repeated.
   */
  load(rows: LoadRows): Promise<void>
  /** The highest record id that the table holds; 0 when it is empty. Where an interrupted copy goes on. */
  lastRecordId(tableId: number): Awaitable<number>
}
