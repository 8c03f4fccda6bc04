import type { Awaitable } from '../core/awaitable.ts'
import type { LogEntry } from '../core/changes/log-entry.ts'
import type { StoredRecord } from '../core/records/stored-record.ts'
import type { StoreSecret } from '../core/store-secrets.ts'
import type { IndexEntries } from '../core/tables/indices.ts'
import type { Run } from '../core/tasks/run.ts'
import type { StoredTask } from '../core/tasks/task-changes.ts'
import type { ApiKey } from './api-keys.ts'
import type { Organization } from './organizations.ts'
import type { Table } from './tables.ts'
import type { Issuer } from './users.ts'

/** An API key with the hash of its text. */
export interface DumpedApiKey extends ApiKey {
  hash: string
}

export interface DumpedOrganization extends Organization {
  purging: boolean
}

export interface DumpedTable extends Table {
  purging: boolean
}

export interface DumpedRecord extends StoredRecord {
  id: number
  tableId: number
  entries: IndexEntries
}

/** An entry of the log of a table. */
export interface DumpedChange extends LogEntry {
  tableId: number
}

/** A live blob: the bytes of a file. */
export interface DumpedBlob {
  id: string
  /** The bucket. */
  tableId: number
}

export interface LoadedBlob extends DumpedBlob {
  /** The bytes in Base64, if the store keeps them. */
  bytes?: string
}

/** The declaration of a task, whose row is among the tables. */
export interface DumpedTask extends StoredTask {
  tableId: number
}

/** What a request with an idempotency key was answered with. */
export interface DumpedIdempotencyKey {
  /** The table, bucket or task that the key belongs to, or the organization. */
  scopeId: number
  /**
   * `table`: `scopeId` is a table, bucket or task. `organization`: keys of the organization itself. `organization/app`: keys of
   * its database `app`. Those of organizations sort before `table`.
   */
  scopeKind: string
  /** In hex, as `requestHash`. */
  keyHash: string
  requestHash: string
  orgId: number
  createdAtMs: number
  result: string
  /** See `Once`. */
  userHash: string | null
}

/** The numbers of user tokens: see store/users.ts. */
export interface UserEpochs {
  /** The user epoch. */
  epoch: number
  /** The highest epoch of a revocation that was swept, and the last time of one; 0 without one. */
  sweptEpoch: number
  sweptAtMs: number
}

export interface DumpedRevocation {
  orgId: number
  userHash: string
  epoch: number
  revokedAtMs: number
}

export interface DumpedIssuer extends Issuer {
  /** See `IssuerToPut`. */
  identity: string
}

/** A consistent snapshot of a whole store. Writes during the read do not change it. */
export interface Dump {
  /** Sorted, newest first. */
  secrets(): Awaitable<StoreSecret[]>
  /** Sorted by id, including deleted ones. */
  organizations(): Awaitable<DumpedOrganization[]>
  /** Sorted by seq. */
  apiKeys(): AsyncIterable<DumpedApiKey>
  /** Sorted by id, including buckets and tasks, and soft-deleted ones. */
  tables(): AsyncIterable<DumpedTable>
  /** The records of a table with ids above `afterId`, also expired ones, in creation order, in chunks of bounded bytes. */
  records(tableId: number, afterId: number): AsyncIterable<DumpedRecord[]>
  countRecords(tableId: number): Awaitable<number>
  /** The live blobs, sorted by id. Others are not part of a copy: nothing refers to them. */
  blobs(): AsyncIterable<DumpedBlob>
  /** The bytes of a blob that the store keeps; undefined if they are not there. */
  blobBytes(blob: DumpedBlob): Awaitable<Uint8Array | undefined>
  /** Sorted by the id of their table, including deleted ones. */
  tasks(): AsyncIterable<DumpedTask>
  /**
   * The runs of all tasks with a seq above `afterSeq`, by seq, in chunks of bounded bytes. Runs that are no longer kept are
   * included.
   */
  runs(afterSeq: number): AsyncIterable<Run[]>
  countRuns(): Awaitable<number>
  /** The runs of one task, by id, in chunks of bounded bytes. */
  runsOf(taskId: number): AsyncIterable<Run[]>
  /** Sorted by organization, time, scope and hash. */
  idempotencyKeys(): AsyncIterable<DumpedIdempotencyKey>
  userEpochs(): Awaitable<UserEpochs>
  /** Sorted by organization and user. */
  revocations(): AsyncIterable<DumpedRevocation>
  /** Sorted by organization and name. */
  issuers(): AsyncIterable<DumpedIssuer>
  /** The logs of all tables: sorted by table, then by number, in chunks of bounded bytes. */
  changes(): AsyncIterable<DumpedChange[]>
  /** See `Files.readMark`. */
  fileMark(): Awaitable<string | undefined>
  close(): Promise<void>
}

/** The rows that a copy loads. They keep their ids. */
export interface LoadRows {
  /** These replace the store's own secrets, so that cursors and signed URLs keep working in the copy. */
  secrets?: StoreSecret[]
  organizations?: DumpedOrganization[]
  apiKeys?: DumpedApiKey[]
  tables?: DumpedTable[]
  records?: DumpedRecord[]
  /** Blobs that are live in the copy. Bytes that a place has must be in the place of the copy first. */
  blobs?: LoadedBlob[]
  tasks?: DumpedTask[]
  runs?: Run[]
  idempotencyKeys?: DumpedIdempotencyKey[]
  /** No number of the store becomes lower. */
  userEpochs?: UserEpochs
  /** These replace those of the same users and names: they may have changed since an interrupted copy. */
  revocations?: DumpedRevocation[]
  issuers?: DumpedIssuer[]
  /** An entry that the log has under this number is left unchanged. */
  changes?: DumpedChange[]
}

export interface Transfer {
  /** The number of records that an import should put in one `write`: more would not be faster. */
  readonly importBatchRecords: number
  openDump(): Promise<Dump>
  /**
   * Adds rows unchanged, all or none, and raises the id counters above their ids. An existing row with the same id is left
   * unchanged, so that an interrupted copy can be repeated.
   */
  load(rows: LoadRows): Promise<void>
  /** The highest record id in the table; 0 if it is empty. An interrupted copy continues after it. */
  lastRecordId(tableId: number): Awaitable<number>
  /** The highest seq of the runs of all tasks; 0 if there are none. */
  lastRunSeq(): Awaitable<number>
}
