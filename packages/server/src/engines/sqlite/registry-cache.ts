import type { Database } from 'bun:sqlite'
import { hashApiKey } from '../../core/api-key.ts'
import type { ApiKey, Table } from '../../core/engine.ts'
import { apiKeyCacheEntriesMax, tableCacheEntriesMax } from '../../core/limits.ts'
import { type KeyRow, keyColumns, type TableRow, tableColumns, toApiKey, toTable } from './rows.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Keys and tables as the store has them now, without asking it every time. The snapshot's version moves with
 * every commit, also another process's; only then is the registry's epoch looked at, and only if that has moved
 * too is anything forgotten. What is absent is never remembered.
 */
export class RegistryCache {
  readonly #snapshot: Snapshot
  readonly #epochRow
  readonly #keyByHash
  readonly #tableByName
  readonly #keys = new Map<string, ApiKey>()
  readonly #tables = new Map<string, Table>()
  #seen = -1
  #epoch = -1

  constructor(db: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot
    this.#epochRow = db.prepare<{ value: number }, []>(`SELECT value FROM meta WHERE name = 'registry_epoch'`)
    this.#keyByHash = db.prepare<KeyRow, [string]>(`SELECT ${keyColumns} FROM api_keys WHERE hash = ?1`)
    this.#tableByName = db.prepare<TableRow, [number, string, string]>(
      `SELECT ${tableColumns} FROM tables WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at IS NULL`,
    )
  }

  /** The epoch that everything handed out from now on is true of. */
  epoch(): number {
    const { version } = this.#snapshot
    if (version !== this.#seen) {
      // In this order: a commit between the two reads is then seen again next time, never missed.
      this.#seen = version
      this.#snapshot.refresh()
      const epoch = this.#epochRow.get()!.value
      if (epoch !== this.#epoch) {
        this.#epoch = epoch
        this.#keys.clear()
        this.#tables.clear()
      }
    }
    return this.#epoch
  }

  findApiKey(text: string): ApiKey | undefined {
    const epoch = this.epoch()
    const known = this.#keys.get(text)
    if (known !== undefined) return known
    this.#snapshot.refresh()
    const row = this.#keyByHash.get(hashApiKey(text))
    if (row === null) return undefined
    const key = toApiKey(row, epoch)
    remember(this.#keys, text, key, apiKeyCacheEntriesMax)
    return key
  }

  findTable(orgId: number, db: string, name: string): Table | undefined {
    const epoch = this.epoch()
    const place = `${orgId}/${db}/${name}`
    const known = this.#tables.get(place)
    if (known !== undefined) return known
    this.#snapshot.refresh()
    const row = this.#tableByName.get(orgId, db, name)
    if (row === null) return undefined
    const table = toTable(row, epoch)
    remember(this.#tables, place, table, tableCacheEntriesMax)
    return table
  }
}

const remember = <Value>(cache: Map<string, Value>, name: string, value: Value, most: number): void => {
  // Bounded: the oldest entry makes room. It costs its owner one look-up.
  if (cache.size >= most) cache.delete(cache.keys().next().value!)
  cache.set(name, value)
}
