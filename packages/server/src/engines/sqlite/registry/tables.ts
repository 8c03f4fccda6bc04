import { recoveryMs } from '../../../core/limits.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { RestoreResult, Table, TableListing, Tables } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'
import { type TableRow, tableColumns, toTable } from './rows.ts'

export class SqliteTables implements Tables {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  find(orgId: number, db: string, name: string): Table | undefined {
    try {
      return this.#store.registry.findTable(orgId, db, name)
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
  }

  findDeleted(orgId: number, db: string, name: string, nowMs: number): Table | undefined {
    const stamp = this.#store.epoch()
    return this.#store
      .all<TableRow>(
        `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at > ?4 AND purging = 0 ORDER BY deleted_at DESC LIMIT 1`,
        ...[orgId, db, name, nowMs - recoveryMs],
      )
      .map((row) => toTable(row, stamp))[0]
  }

  create(caller: Caller, db: string, name: string, indices: Indices, nowMs: number) {
    const { orgId } = caller
    const command = { kind: 'createTable' as const, fence: this.#store.fence(caller), nowMs, orgId, db, name, indices }
    return this.#store.channel.submit<'createTable'>(orgId, 0, command)
  }

  delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const { orgId } = caller
    return this.#store.channel.submit<'deleteTable'>(orgId, 0, {
      kind: 'deleteTable',
      fence: this.#store.fence(caller),
      nowMs,
      orgId,
      db,
      name,
    })
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    const { orgId } = caller
    const command = {
      kind: 'restoreTable' as const,
      fence: this.#store.fence(caller),
      nowMs,
      orgId,
      db,
      name,
      deletedAtMs,
    }
    return this.#store.channel.submit<'restoreTable'>(orgId, 0, command)
  }

  list({ orgId, db, after, limit }: TableListing): Table[] {
    const stamp = this.#store.epoch()
    return this.#store
      .all<TableRow>(
        `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name > ?3 AND deleted_at IS NULL ORDER BY name LIMIT ?4`,
        ...[orgId, db, after?.name ?? '', limit],
      )
      .map((row) => toTable(row, stamp))
  }

  listDeleted({ orgId, db, after, limit }: TableListing, nowMs: number): Table[] {
    const stamp = this.#store.epoch()
    return this.#store
      .all<TableRow>(
        `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND (name, deleted_at) > (?3, ?4) AND deleted_at > ?5 AND purging = 0
       ORDER BY name, deleted_at LIMIT ?6`,
        ...[orgId, db, after?.name ?? '', after?.deletedAtMs ?? 0, nowMs - recoveryMs, limit],
      )
      .map((row) => toTable(row, stamp))
  }

  /** One index seek per database, however many tables it has. */
  listDatabases(orgId: number, after: string | undefined, limit: number): string[] {
    const next = this.#store.db.prepare<{ db: string }, [number, string]>(
      'SELECT db FROM tables WHERE org_id = ?1 AND db > ?2 AND deleted_at IS NULL ORDER BY db LIMIT 1',
    )
    const names: string[] = []
    let last = after ?? ''
    try {
      this.#store.snapshot.renew()
      while (names.length < limit) {
        const row = next.get(orgId, last)
        if (row === null) break
        last = row.db
        names.push(last)
      }
    } catch (error) {
      throw this.#store.damage.explain(error)
    }
    return names
  }
}
