import type { Awaitable } from '../core/awaitable.ts'
import type { Indices } from '../core/tables/indices.ts'
import type { Follower } from '../core/tasks/following.ts'
import type { Caller } from './api-keys.ts'

/**
 * A bucket is a table whose records are files: see `store/files.ts`. A task has runs instead of records: see `store/runs.ts`.
 */
export type TableKind = 'table' | 'bucket' | 'task'

export interface Table {
  /** An id is never reused, and always belongs to the same organization. */
  id: number
  kind: TableKind
  /** The id in URLs, which cannot be guessed. Only a bucket has one. */
  publicId: string | null
  orgId: number
  db: string
  name: string
  indices: Indices
  createdAtMs: number
  deletedAtMs: number | null
  /** The log of its changes; null if it never had one. */
  changes: TableChanges | null
  /** The active tasks that follow the table. */
  followers: Follower[]
  epoch: number
}

export interface TableChanges {
  /** A change is kept at least so long. Null while the table keeps none. */
  keepHours: number | null
  /** When the log was begun. A log that is begun again gets a later time. */
  sinceMs: number
}

export interface TableListing {
  orgId: number
  db: string
  /** The listing starts after this entry. Active tables are compared by name, deleted ones by name and deletedAt. */
  after: { name: string; deletedAtMs: number } | undefined
  limit: number
}

export type RestoreResult =
  | { outcome: 'restored' | 'active'; table: Table }
  /** The name is taken by an active table; `deletedAtMs` identifies the table that would have been restored. */
  | { outcome: 'taken'; deletedAtMs: number }
  /** So many tasks follow the table already that the task cannot be restored. */
  | { outcome: 'tooMany'; table: string; tasks: string[] }
  | { outcome: 'missing' }

export interface Tables {
  /** The active table with that name. */
  find(orgId: number, db: string, name: string): Awaitable<Table | undefined>
  /** The table with that name that was deleted last and can still be restored. */
  findDeleted(orgId: number, db: string, name: string, nowMs: number): Awaitable<Table | undefined>
  /**
   * The new table; or, with `created: false`, the existing active table, whatever indices it declares. With `keepHours` the new
   * table keeps its changes.
   */
  create(
    caller: Caller,
    db: string,
    name: string,
    indices: Indices,
    nowMs: number,
    keepHours?: number,
  ): Promise<{ table: Table; created: boolean }>
  /**
   * Begins the log of its changes, changes how long they are kept, or ends the log (null). Resolves when every process acts
   * accordingly. Undefined if there is no active table.
   */
  keepChanges(
    caller: Caller,
    db: string,
    name: string,
    keepHours: number | null,
    nowMs: number,
  ): Promise<Table | undefined>
  /** Soft-deletes the active table. `deletedAt` is unique among the tables with that name. */
  delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined>
  /** Restores the table that was deleted at `deletedAtMs`; without it the one that was deleted last. */
  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult>
  list(listing: TableListing): Awaitable<Table[]>
  /** The deleted tables that can still be restored, by name, then deletedAt. */
  listDeleted(listing: TableListing, nowMs: number): Awaitable<Table[]>
  /** The names of databases that have an active table, bucket or task, in order, starting after `after`. */
  listDatabases(orgId: number, after: string | undefined, limit: number): Awaitable<string[]>
}

/** Buckets have the same methods. A bucket and a table may have the same name. */
export interface Buckets extends Omit<Tables, 'create' | 'keepChanges' | 'listDatabases'> {
  /** The new bucket with this public id; or, with `created: false`, the existing active one, which keeps its own. */
  create(
    caller: Caller,
    db: string,
    name: string,
    publicId: string,
    nowMs: number,
  ): Promise<{ table: Table; created: boolean }>
  /** The active bucket with this public id, of any organization. Cached, as `find` is. */
  findById(publicId: string): Awaitable<Table | undefined>
}
