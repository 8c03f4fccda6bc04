import type { Awaitable } from '../../../core/awaitable.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { RestoreResult, Table, TableKind, TableListing, Tables } from '../../../store/tables.ts'
import type { Registry } from './registry.ts'

/** The reads that tables, buckets and tasks have in common. */
export class TableReads {
  protected readonly registry: Registry
  protected readonly kind: TableKind

  constructor(registry: Registry, kind: TableKind) {
    this.registry = registry
    this.kind = kind
  }

  find(orgId: number, db: string, name: string): Awaitable<Table | undefined> {
    return this.registry.cache.findTable(this.kind, orgId, db, name)
  }

  findDeleted(orgId: number, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    return this.registry.reader.findDeletedTable(this.kind, orgId, db, name, nowMs)
  }

  list(listing: TableListing): Promise<Table[]> {
    return this.registry.reader.listTables(this.kind, listing)
  }

  listDeleted(listing: TableListing, nowMs: number): Promise<Table[]> {
    return this.registry.reader.listDeletedTables(this.kind, listing, nowMs)
  }
}

/** The writes that tables and buckets have in common. */
export class TablesOfKind extends TableReads implements Omit<Tables, 'create' | 'listDatabases'> {
  async delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const deleted = await this.registry.writes.deleteTable(caller, { kind: this.kind, db, name }, nowMs)
    if (deleted === undefined) return undefined
    this.registry.cache.moveTo(deleted.stamp)
    await this.registry.awaitLeaseExpiry()
    return deleted
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return this.registry.writes.restoreTable(caller, { kind: this.kind, db, name }, deletedAtMs, nowMs)
  }
}
