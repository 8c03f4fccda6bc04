import type { KeyKind, NewApiKey } from '../core/keys/api-key.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { IndexEntries, Indices } from '../core/tables/indices.ts'
import type { RecordKey } from '../core/records/record-key.ts'
import type { Position, Scan } from '../core/records/scan.ts'

export interface Organization {
  id: number
  name: string
  createdAtMs: number
}

export interface ApiKey {
  /** The key's public identifier, `key_…`. */
  id: string
  /** Grows with every key made, in any organization: the order of listings. */
  seq: number
  orgId: number
  kind: KeyKind
  name: string | null
  lastFour: string
  databases: string[] | null
  createdAtMs: number
  lastUsedAtMs: number | null
  expiresAtMs: number | null
  revokedAtMs: number | null
  /** What the engine knew of the registry when it handed this out; opaque to everyone else. */
  stamp: number
}

export interface Table {
  /** Never reused, and belongs to one organization for ever. */
  id: number
  orgId: number
  db: string
  name: string
  indices: Indices
  createdAtMs: number
  deletedAtMs: number | null
  stamp: number
}

/** Who writes. An operator's command has no API key. */
export interface Writer {
  orgId: number
  apiKey: ApiKey | undefined
}

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

export interface StoredRecord extends RecordKey {
  data: string
  ttlSeconds: number | null
  updatedAtMs: number
}

export interface Page {
  records: StoredRecord[]
  /** The place of the last row looked at; undefined when the scan came to its end. */
  next: Position | undefined
}

export interface TableListing {
  orgId: number
  db: string
  /** Exclusive; [name] for active tables, [name, deletedAt] for deleted ones. */
  after: { name: string; deletedAtMs: number } | undefined
  limit: number
}

export type RestoreResult =
  | { outcome: 'restored' | 'active'; table: Table }
  /** An active table has the name; `deletedAtMs` is the one that would have been restored. */
  | { outcome: 'taken'; deletedAtMs: number }
  | { outcome: 'missing' }

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
  organizations?: Organization[]
  apiKeys?: DumpedApiKey[]
  tables?: DumpedTable[]
  records?: DumpedRecord[]
}

export type KeyUse = { id: string; atMs: number }

/**
 * A store. Each engine passes the suite in `test/engine-conformance.ts`.
 *
 * Order is bytes: record keys and encoded index values compare by their UTF-8 bytes, and rows equal in an
 * index by their ids, which are given in creation order. Every write is durable when its promise resolves and
 * visible to every read that starts after that; a batch is seen whole or not at all. What is read of keys and
 * tables is never stale in effect: from the moment a revocation or a deletion resolves, no read finds the key
 * or table active and no write of theirs is applied, in any process on the store.
 *
 * Methods that write throw CubbyError `unavailable`, `storage_full` or `store_damaged` when nothing was applied,
 * `outcome_unknown` when that cannot be known, `revoked_api_key` or `table_not_found` when the writer's key
 * or the table is gone by the time of the write.
 */
export interface Engine {
  /** For the start-up line: `sqlite 3.53.4`. */
  readonly description: string

  // ── Keys and organizations ─────────────────────────────────────────────────────────────────────────────
  /** By the text of the key, revoked and expired ones too. Does not hash a text it has seen. */
  findApiKey(text: string): Awaitable<ApiKey | undefined>
  createApiKey(writer: Writer, key: NewApiKey, nowMs: number): Promise<ApiKey>
  /** Newest first, those before `beforeSeq`, at most `limit`. */
  listApiKeys(orgId: number, beforeSeq: number | undefined, limit: number): Awaitable<ApiKey[]>
  /** The revoked key; undefined if the organization has none of that id. A second call changes nothing. */
  revokeApiKey(writer: Writer, id: string, nowMs: number): Promise<ApiKey | undefined>
  /** Raises `lastUsedAt`; an older instant never replaces a newer one. */
  recordKeyUse(uses: KeyUse[]): Promise<void>

  /** Makes the organization with its first keys; undefined if the name is taken. */
  createOrganization(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined>
  /** The same, but only if the store has no organization yet: of several processes, one does. */
  bootstrap(name: string, keys: NewApiKey[], nowMs: number): Promise<Organization | undefined>
  findOrganization(name: string): Awaitable<Organization | undefined>
  listOrganizations(): Awaitable<Organization[]>

  // ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────
  /** The active table of that name. */
  findTable(orgId: number, db: string, name: string): Awaitable<Table | undefined>
  /** The newest recoverable deleted table of that name. */
  findDeletedTable(orgId: number, db: string, name: string, nowMs: number): Awaitable<Table | undefined>
  /** The table made, or the active one that was there with `created: false`, whatever it declares. */
  createTable(
    writer: Writer,
    db: string,
    name: string,
    indices: Indices,
    nowMs: number,
  ): Promise<{ table: Table; created: boolean }>
  /** Soft-deletes the active table. `deletedAt` is unique among the tables of that name. */
  deleteTable(writer: Writer, db: string, name: string, nowMs: number): Promise<Table | undefined>
  /** The newest recoverable one, or the one deleted at `deletedAtMs`. */
  restoreTable(
    writer: Writer,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult>
  listTables(listing: TableListing): Awaitable<Table[]>
  /** The recoverable ones, by name, then deletedAt. */
  listDeletedTables(listing: TableListing, nowMs: number): Awaitable<Table[]>
  /** Names of databases with an active table, after `after`, by name. */
  listDatabases(orgId: number, after: string | undefined, limit: number): Awaitable<string[]>

  // ── Records ────────────────────────────────────────────────────────────────────────────────────────────
  /** `keySeq` of this and of `scan`: for which API key, so that an engine that has to queue reads can give keys turns. */
  getRecord(table: Table, key: RecordKey, nowMs: number, keySeq?: number): Awaitable<StoredRecord | undefined>
  /** Live records in order, at most `rowsMax` and, as they are sent, `pageBytesMax` (`PageMeter`); at least one if there is one. */
  scan(table: Table, scan: Scan, rowsMax: number, nowMs: number, keySeq?: number): Awaitable<Page>
  /** All operations or none. No two of them name the same record. */
  write(writer: Writer, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult>

  // ── Upkeep ─────────────────────────────────────────────────────────────────────────────────────────────
  /** Removes rows past their ttl by the grace, at most `rowsMax`; how many it removed. */
  sweepExpired(nowMs: number, rowsMax: number): Promise<number>
  /** Removes rows of tables past their recovery by the grace, at most `rowsMax`; 0 when there is nothing left to do, and not a count of rows. */
  purgeTables(nowMs: number, rowsMax: number): Promise<number>
  // ── Moving data ────────────────────────────────────────────────────────────────────────────────────────
  openDump(): Promise<Dump>
  /**
   * Adds rows as they are, all or none, and raises what gives out ids above theirs. A row that is there already
   * (the same id) is left alone, so that an interrupted copy can be repeated.
   */
  load(rows: LoadRows): Promise<void>
  /** The highest record id that the table holds; 0 when it is empty. Where an interrupted copy goes on. */
  lastRecordId(tableId: number): Awaitable<number>

  /**
   * Every inconsistency found, a line each; empty when all is well. `noteTable` is told of the id of each table that a
   * finding concerns, as far as that can be known.
   */
  check(noteTable?: (tableId: number) => void): AsyncIterable<string>
  /** Whether the store can serve just now. */
  ready(): Awaitable<boolean>
  close(): Promise<void>
}
