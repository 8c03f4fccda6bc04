import type { Awaitable } from '../../../core/awaitable.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { RestoreResult, Table, TableListing, Tables } from '../../../store/tables.ts'
import type { Registry } from './registry.ts'

export class PostgresTables implements Tables {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  find(orgId: number, db: string, name: string): Awaitable<Table | undefined> {
    return this.#registry.cache.findTable(orgId, db, name)
  }

  findDeleted(orgId: number, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    return this.#registry.reader.findDeletedTable(orgId, db, name, nowMs)
  }

  create(caller: Caller, db: string, name: string, indices: Indices, nowMs: number) {
    return this.#registry.writes.createTable(caller, db, name, indices, nowMs)
  }

  async delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const deleted = await this.#registry.writes.deleteTable(caller, db, name, nowMs)
    if (deleted === undefined) return undefined
    this.#registry.cache.moveTo(deleted.stamp)
    await this.#registry.awaitLeaseExpiry()
    return deleted
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return this.#registry.writes.restoreTable(caller, db, name, deletedAtMs, nowMs)
  }

  list(listing: TableListing): Promise<Table[]> {
    return this.#registry.reader.listTables(listing)
  }

  listDeleted(listing: TableListing, nowMs: number): Promise<Table[]> {
    return this.#registry.reader.listDeletedTables(listing, nowMs)
  }

  listDatabases(orgId: number, after: string | undefined, limit: number): Promise<string[]> {
    return this.#registry.reader.listDatabases(orgId, after, limit)
  }
}
