import { recoveryMs } from '../../../core/limits.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Buckets, RestoreResult, Table, TableKind, TableListing, Tables } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'
import { type TableRow, tableColumns, toTable } from './rows.ts'

/** The reads that tables, buckets and tasks have in common. */
export class TableReads {
  protected readonly store: OpenStore
  readonly #kind: TableKind

  constructor(store: OpenStore, kind: TableKind) {
    this.store = store
    this.#kind = kind
  }

  find(orgId: number, db: string, name: string): Table | undefined {
    try {
      return this.store.registry.findTable(this.#kind, orgId, db, name)
    } catch (error) {
      throw this.store.damage.explain(error)
    }
  }

  findDeleted(orgId: number, db: string, name: string, nowMs: number): Table | undefined {
    const stamp = this.store.epoch()
    return this.store
      .all<TableRow>(
        `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name = ?4 AND deleted_at > ?5 AND purging = 0
       ORDER BY deleted_at DESC LIMIT 1`,
        ...[orgId, db, this.#kind, name, nowMs - recoveryMs],
      )
      .map((row) => toTable(row, stamp))[0]
  }

  protected named(caller: Caller, db: string, name: string, nowMs: number) {
    const table = { orgId: caller.orgId, db, kind: this.#kind, name }
    return { fence: this.store.fence(caller), nowMs, table }
  }

  list({ orgId, db, after, limit }: TableListing): Table[] {
    const stamp = this.store.epoch()
    return this.store
      .all<TableRow>(
        `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name > ?4 AND deleted_at IS NULL ORDER BY name LIMIT ?5`,
        ...[orgId, db, this.#kind, after?.name ?? '', limit],
      )
      .map((row) => toTable(row, stamp))
  }

  listDeleted({ orgId, db, after, limit }: TableListing, nowMs: number): Table[] {
    const stamp = this.store.epoch()
    return this.store
      .all<TableRow>(
        `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND (name, deleted_at) > (?4, ?5) AND deleted_at > ?6 AND purging = 0
       ORDER BY name, deleted_at LIMIT ?7`,
        ...[orgId, db, this.#kind, after?.name ?? '', after?.deletedAtMs ?? 0, nowMs - recoveryMs, limit],
      )
      .map((row) => toTable(row, stamp))
  }
}

/** The writes that tables and buckets have in common. */
class TablesOfKind extends TableReads {
  protected createOfKind(
    caller: Caller,
    db: string,
    name: string,
    { indices, publicId }: Pick<Table, 'indices' | 'publicId'>,
    nowMs: number,
  ) {
    return this.store.channel.submit({ kind: 'createTable', ...this.named(caller, db, name, nowMs), indices, publicId })
  }

  delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    return this.store.channel.submit({ kind: 'deleteTable', ...this.named(caller, db, name, nowMs) })
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return this.store.channel.submit({ kind: 'restoreTable', ...this.named(caller, db, name, nowMs), deletedAtMs })
  }
}

export class SqliteTables extends TablesOfKind implements Tables {
  constructor(store: OpenStore) {
    super(store, 'table')
  }

  create(caller: Caller, db: string, name: string, indices: Indices, nowMs: number) {
    return this.createOfKind(caller, db, name, { indices, publicId: null }, nowMs)
  }

  /** One index seek per database, however many tables and buckets it has. */
  listDatabases(orgId: number, after: string | undefined, limit: number): string[] {
    const next = this.store.db.prepare<{ db: string }, [number, string]>(
      'SELECT db FROM tables WHERE org_id = ?1 AND db > ?2 AND deleted_at IS NULL ORDER BY db LIMIT 1',
    )
    const names: string[] = []
    let last = after ?? ''
    try {
      this.store.snapshot.renew()
      while (names.length < limit) {
        const row = next.get(orgId, last)
        if (row === null) break
        last = row.db
        names.push(last)
      }
    } catch (error) {
      throw this.store.damage.explain(error)
    }
    return names
  }
}

export class SqliteBuckets extends TablesOfKind implements Buckets {
  constructor(store: OpenStore) {
    super(store, 'bucket')
  }

  findById(publicId: string): Table | undefined {
    try {
      return this.store.registry.findBucketById(publicId)
    } catch (error) {
      throw this.store.damage.explain(error)
    }
  }

  create(caller: Caller, db: string, name: string, publicId: string, nowMs: number) {
    return this.createOfKind(caller, db, name, { indices: {}, publicId }, nowMs)
  }
}
