import type { Statement } from 'bun:sqlite'
import { hashApiKey } from '../../../core/api-keys/api-key.ts'
import { apiKeyCacheEntriesMax, tableCacheEntriesMax } from '../../../core/limits.ts'
import { StoreSecrets } from '../../../core/store-secrets.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Table, TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import type { Snapshot } from '../snapshot.ts'
import { isOfActive, type KeyRow, keyColumns, type TableRow, tableColumns, toApiKey, toTable } from './rows.ts'
import { readSecrets } from './secret-rows.ts'

/** How long the cached epoch is used before it is read again. A guest's revocation waits for this time. */
export const registryLeaseMs = 100

/** A revocation waits this much longer than the lease, in case a timer of another process is late. */
export const leaseMarginMs = 50

/**
 * A cache of API keys, tables and secrets that is never stale in effect. Only a revocation, a deletion, also of an organization,
 * or a rotation of secrets moves the registry's epoch. The epoch is read again after one of our own and when the lease ends; if
 * it has moved, the cache is cleared. A missing key or table is not cached, so a new one is found at once.
 */
export class RegistryCache {
  readonly #db: Connection
  readonly #snapshot: Snapshot
  readonly #leaseMs: number
  readonly #epochRow
  readonly #keyByHash
  readonly #keyById
  readonly #tableByName
  readonly #bucketById
  readonly #keys = new Map<string, ApiKey>()
  readonly #keysById = new Map<string, ApiKey>()
  readonly #tables = new Map<string, Table>()
  #secrets: StoreSecrets | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #epoch = -1

  /** `leaseMs` is 0 for a guest: it reads the epoch every time, so that the owner never has to wait for a guest's lease. */
  constructor(db: Connection, snapshot: Snapshot, leaseMs: number) {
    this.#db = db
    this.#snapshot = snapshot
    this.#leaseMs = leaseMs
    this.#epochRow = db.prepare<{ value: number }, []>(`SELECT value FROM meta WHERE name = 'registry_epoch'`)
    const ofActive = isOfActive('org_id')
    this.#keyByHash = db.prepare<KeyRow, [string]>(`SELECT ${keyColumns} FROM api_keys WHERE hash = ?1 AND ${ofActive}`)
    this.#keyById = db.prepare<KeyRow, [string]>(`SELECT ${keyColumns} FROM api_keys WHERE id = ?1 AND ${ofActive}`)
    this.#tableByName = db.prepare<TableRow, [number, string, TableKind, string]>(
      `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name = ?4 AND deleted_at IS NULL AND ${ofActive}`,
    )
    this.#bucketById = db.prepare<TableRow, [string]>(
      `SELECT ${tableColumns} FROM tables WHERE public_id = ?1 AND deleted_at IS NULL AND ${ofActive}`,
    )
  }

  /** The current epoch. Everything in the cache is correct as of it. */
  epoch(): number {
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs >= this.#leaseMs) {
      this.#snapshot.renew()
      const epoch = this.#epochRow.get()!.value
      // The lease starts before the read, so that it ends in time for a commit after it. A failed read starts none.
      this.#readAtMs = nowMs
      if (epoch !== this.#epoch) {
        this.#epoch = epoch
        this.#keys.clear()
        this.#keysById.clear()
        this.#tables.clear()
        this.#secrets = undefined
      }
    }
    return this.#epoch
  }

  /** After a revocation or deletion by our own writer: the epoch is read again before the cache is used. */
  forgetEpoch(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY
  }

  secrets(): StoreSecrets {
    this.epoch()
    if (this.#secrets === undefined) {
      this.#snapshot.renew()
      this.#secrets = new StoreSecrets(readSecrets(this.#db))
    }
    return this.#secrets
  }

  findApiKey(text: string): ApiKey | undefined {
    const epoch = this.epoch()
    const known = this.#keys.get(text)
    if (known !== undefined) return known
    this.#snapshot.renew()
    const row = this.#keyByHash.get(hashApiKey(text))
    if (row === null) return undefined
    const key = toApiKey(row, epoch)
    remember(this.#keys, text, key, apiKeyCacheEntriesMax)
    return key
  }

  findApiKeyById(id: string): ApiKey | undefined {
    const epoch = this.epoch()
    const known = this.#keysById.get(id)
    if (known !== undefined) return known
    this.#snapshot.renew()
    const row = this.#keyById.get(id)
    if (row === null) return undefined
    const key = toApiKey(row, epoch)
    remember(this.#keysById, id, key, apiKeyCacheEntriesMax)
    return key
  }

  findTable(kind: TableKind, orgId: number, db: string, name: string): Table | undefined {
    const epoch = this.epoch()
    const place = `${kind}/${orgId}/${db}/${name}`
    return this.#tables.get(place) ?? this.#readTable(place, epoch, this.#tableByName, orgId, db, kind, name)
  }

  findBucketById(publicId: string): Table | undefined {
    const epoch = this.epoch()
    return this.#tables.get(publicId) ?? this.#readTable(publicId, epoch, this.#bucketById, publicId)
  }

  #readTable<Values extends (string | number)[]>(
    place: string,
    epoch: number,
    statement: Statement<TableRow, Values>,
    ...values: Values
  ): Table | undefined {
    this.#snapshot.renew()
    const row = statement.get(...values)
    if (row === null) return undefined
    const table = toTable(row, epoch)
    remember(this.#tables, place, table, tableCacheEntriesMax)
    return table
  }
}

const remember = <Value>(cache: Map<string, Value>, name: string, value: Value, most: number): void => {
  // Bounded: the oldest entry is removed, and is read from the store when it is needed again.
  if (cache.size >= most) cache.delete(cache.keys().next().value!)
  cache.set(name, value)
}
