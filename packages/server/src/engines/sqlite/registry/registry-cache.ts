import { hashApiKey } from '../../../core/api-keys/api-key.ts'
import { apiKeyCacheEntriesMax, tableCacheEntriesMax } from '../../../core/limits.ts'
import { remember } from '../../../core/remember.ts'
import { StoreSecrets } from '../../../core/store-secrets.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Table, TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import type { Snapshot } from '../snapshot.ts'
import {
  isOfActive,
  type KeyRow,
  keyColumns,
  readSecrets,
  type TableRow,
  tableColumns,
  toApiKey,
  toTable,
} from './rows.ts'
import { UserStates } from './user-states.ts'

/** The cached epoch is used this long before it is read again. A guest's revocation waits for this time. */
export const registryLeaseMs = 100

/** A revocation waits this much longer than the lease, in case a timer of another process is late. */
export const leaseMarginMs = 50

const epochsSql = `SELECT (SELECT value FROM meta WHERE name = 'epoch') AS epoch,
  (SELECT value FROM meta WHERE name = 'user_epoch') AS userEpoch`
const ofActive = isOfActive('org_id')
const keyByHash = `SELECT ${keyColumns} FROM api_keys WHERE hash = ?1 AND ${ofActive}`
const keyById = `SELECT ${keyColumns} FROM api_keys WHERE id = ?1 AND ${ofActive}`
const tableByName = `SELECT ${tableColumns} FROM tables
  WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name = ?4 AND deleted_at IS NULL AND ${ofActive}`
const bucketById = `SELECT ${tableColumns} FROM tables WHERE public_id = ?1 AND deleted_at IS NULL AND ${ofActive}`

/**
 * A cache of API keys, tables and secrets that is never stale in effect. Only these changes move the registry's epoch: a
 * revocation, a deletion (also of an organization), a rotation of secrets, and others of who follows a table or keeps changes. The epoch is read again after such a change of
 * our own, and when the lease ends. If it has moved, the cache is cleared. A missing key or table is not cached, so a new one
 * is found at once. The user epoch is read together with it.
 */
export class RegistryCache {
  readonly #db: Connection
  readonly #snapshot: Snapshot
  readonly #leaseMs: number
  readonly #keys = new Map<string, ApiKey>()
  readonly #keysById = new Map<string, ApiKey>()
  readonly #tables = new Map<string, Table>()
  #secrets: StoreSecrets | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #epoch = -1
  readonly #users: UserStates

  /** `leaseMs` is 0 for a guest: it reads the epoch every time, so that the owner never has to wait for a guest's lease. */
  constructor(db: Connection, snapshot: Snapshot, leaseMs: number) {
    this.#db = db
    this.#snapshot = snapshot
    this.#leaseMs = leaseMs
    this.#users = new UserStates(db, snapshot)
  }

  /** The current epoch. Everything in the cache is correct as of it. */
  epoch(): number {
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs >= this.#leaseMs) {
      this.#snapshot.renew()
      const { epoch, userEpoch } = this.#db.one<{ epoch: number; userEpoch: number }>(epochsSql)!
      // The lease starts before the read, so that it ends in time for a commit after it. A failed read starts none.
      this.#readAtMs = nowMs
      if (epoch !== this.#epoch) {
        this.#epoch = epoch
        this.#keys.clear()
        this.#keysById.clear()
        this.#tables.clear()
        this.#secrets = undefined
      }
      this.#users.moveTo(userEpoch)
    }
    return this.#epoch
  }

  /** The states of user tokens as of now. */
  users(): UserStates {
    this.epoch()
    return this.#users
  }

  /** Call it after a revocation or deletion by our own writer: the epoch is read again before the cache is used. */
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
    return this.#keys.get(text) ?? this.#readKey(this.#keys, text, epoch, keyByHash, hashApiKey(text))
  }

  findApiKeyById(id: string): ApiKey | undefined {
    const epoch = this.epoch()
    return this.#keysById.get(id) ?? this.#readKey(this.#keysById, id, epoch, keyById, id)
  }

  findTable(kind: TableKind, orgId: number, db: string, name: string): Table | undefined {
    const epoch = this.epoch()
    const cacheKey = `${kind}/${orgId}/${db}/${name}`
    return this.#tables.get(cacheKey) ?? this.#readTable(cacheKey, epoch, tableByName, orgId, db, kind, name)
  }

  findBucketById(publicId: string): Table | undefined {
    const epoch = this.epoch()
    return this.#tables.get(publicId) ?? this.#readTable(publicId, epoch, bucketById, publicId)
  }

  #readKey(
    cache: Map<string, ApiKey>,
    cacheKey: string,
    epoch: number,
    sql: string,
    value: string,
  ): ApiKey | undefined {
    this.#snapshot.renew()
    const row = this.#db.one<KeyRow>(sql, value)
    return row && remember(cache, cacheKey, toApiKey(row, epoch), apiKeyCacheEntriesMax)
  }

  #readTable(cacheKey: string, epoch: number, sql: string, ...values: (string | number)[]): Table | undefined {
    this.#snapshot.renew()
    const row = this.#db.one<TableRow>(sql, ...values)
    return row && remember(this.#tables, cacheKey, toTable(row, epoch), tableCacheEntriesMax)
  }
}
