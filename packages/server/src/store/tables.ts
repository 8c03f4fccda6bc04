import type { Awaitable } from '../core/awaitable.ts'
import type { Indices } from '../core/tables/indices.ts'
import type { Caller } from './api-keys.ts'

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

export interface Tables {
  /** The active table of that name. */
  find(orgId: number, db: string, name: string): Awaitable<Table | undefined>
  /** The newest recoverable deleted table of that name. */
  findDeleted(orgId: number, db: string, name: string, nowMs: number): Awaitable<Table | undefined>
  /** The table made, or the active one that was there with `created: false`, whatever it declares. */
  create(
    caller: Caller,
    db: string,
    name: string,
    indices: Indices,
    nowMs: number,
  ): Promise<{ table: Table; created: boolean }>
  /** Soft-deletes the active table. `deletedAt` is unique among the tables of that name. */
  delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined>
  /** The newest recoverable one, or the one deleted at `deletedAtMs`. */
  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult>
  list(listing: TableListing): Awaitable<Table[]>
  /** The recoverable ones, by name, then deletedAt. */
  listDeleted(listing: TableListing, nowMs: number): Awaitable<Table[]>
  /** Names of databases with an active table, after `after`, by name. */
  listDatabases(orgId: number, after: string | undefined, limit: number): Awaitable<string[]>
}
