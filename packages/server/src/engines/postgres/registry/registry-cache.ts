import { hashApiKey } from '../../../core/api-keys/api-key.ts'
import { apiKeyCacheEntriesMax, tableCacheEntriesMax } from '../../../core/limits.ts'
import type { Holder } from '../../../core/shares.ts'
import { encodeSecrets, StoreSecrets } from '../../../core/store-secrets.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Table, TableKind } from '../../../store/tables.ts'
import { anybody, type Database, noOrg, organization, visitor } from '../connection/database.ts'
import type { Row, Statement, Value } from '../connection/driver.ts'
import {
  epochColumn,
  isOfActive,
  keyColumns,
  named,
  secretColumns,
  tableColumns,
  toApiKey,
  toSecrets,
  toTable,
} from './rows.ts'

const readEpoch: Statement = { name: 'epoch', text: `select s.epoch_8, ${secretColumns} from cubby_store s` }

const findKey: Statement = {
  name: 'find_key',
  text: `select ${keyColumns}, ${epochColumn} from cubby_api_key_8 k
    where k.hash = $1 and ${isOfActive('k.org_id')}`,
}

const findKeyById: Statement = {
  name: 'find_key_by_id',
  text: `select ${keyColumns}, ${epochColumn} from cubby_api_key_8 k
    where k.id = $1 and ${isOfActive('k.org_id')}`,
}

export const findTable: Statement = {
  name: 'find_table',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t
    where ${named} and t.deleted_at_ms is null and ${isOfActive('t.org_id')}`,
}

// `tableIsActive` in records/statements.ts says why this is not "deleted_at_ms is null".
export const findTableByPublicId: Statement = {
  name: 'find_table_by_public_id',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t
    where t.public_id = $1 and ${isOfActive('t.org_id')}`,
}

/**
 * Caches keys, tables, buckets and secrets, never stale in effect. The store has an epoch, which every revocation, every
 * deletion and every rotation of secrets increments. An entry that was read at an epoch is valid while the epoch is known to be
 * the same: for one lease, counted from before the query was sent. A revocation or deletion waits for longer than a lease
 * before it is answered, so by then every process has read the epoch again.
 * Misses are not cached, so a created or restored table is found at once.
 */
export class RegistryCache {
  readonly #db: Database
  readonly #leaseMs: number
  readonly #keys = new Map<string, ApiKey>()
  readonly #tables = new Map<string, Table>()
  readonly #reading = new Map<string, Promise<Reading<ApiKey | Table>>>()
  #secrets: { used: StoreSecrets; text: string; epoch: number } | undefined
  #epoch = 0
  #lease = neverRead
  #renewal: Promise<void> | undefined

  constructor(db: Database, leaseMs: number) {
    this.#db = db
    this.#leaseMs = leaseMs
  }

  async #row(holder: Holder, statement: Statement, ...values: Value[]): Promise<Row | undefined> {
    return (await this.#db.lookup(holder, { statement, values })).rows[0]
  }

  findApiKey(text: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const kept = this.#keys.get(text)
    if (kept !== undefined && this.#holds()) return kept
    return this.#find(this.#keys, text, apiKeyCacheEntriesMax, async () => {
      const row = await this.#row(anybody, findKey, hashApiKey(text))
      return row && toApiKey(row)
    })
  }

  findApiKeyById(id: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    // No text of a key and no name of a table has this form.
    const name = `api_key ${id}`
    const kept = this.#keys.get(name)
    if (kept !== undefined && this.#holds()) return kept
    return this.#find(this.#keys, name, apiKeyCacheEntriesMax, async () => {
      const row = await this.#row(anybody, findKeyById, id)
      return row && toApiKey(row)
    })
  }

  secrets(): StoreSecrets | Promise<StoreSecrets> {
    const kept = this.#secrets
    if (kept !== undefined && this.#holds() && kept.epoch === this.#epoch) return kept.used
    return this.#readSecrets()
  }

  async #readSecrets(): Promise<StoreSecrets> {
    await this.#renew()
    // It may have been sent before this process learned of a newer epoch.
    if (this.#secrets!.epoch < this.#epoch) await this.#renew()
    return this.#secrets!.used
  }

  findTable(kind: TableKind, orgId: number, db: string, name: string): Table | undefined | Promise<Table | undefined> {
    return this.#table(`${kind}/${orgId}/${db}/${name}`, async () => {
      const row = await this.#row(organization(orgId), findTable, orgId, db, kind, name)
      return row && toTable(row)
    })
  }

  /** Anybody may ask this, without an API key. */
  findTableByPublicId(publicId: string): Table | undefined | Promise<Table | undefined> {
    return this.#table(`/${publicId}`, async () => {
      const row = await this.#row(visitor, findTableByPublicId, publicId)
      const table = row && toTable(row)
      return table?.deletedAtMs === null ? table : undefined
    })
  }

  #table(cacheKey: string, read: () => Promise<Table | undefined>): Table | undefined | Promise<Table | undefined> {
    const kept = this.#tables.get(cacheKey)
    if (kept !== undefined && this.#holds()) return kept
    return this.#find(this.#tables, cacheKey, tableCacheEntriesMax, read)
  }

  /** Returns whether an entry with this stamp is still valid. It reads the epoch if the lease has expired. */
  async isCurrent(epoch: number): Promise<boolean> {
    if (!this.#holds()) await this.#renew()
    return epoch === this.#epoch
  }

  /** This process itself has replaced the secrets: the epoch is read again before anything is used. */
  forgetLease(): void {
    this.#lease = neverRead
  }

  /** This process itself has revoked, deleted or rotated something. */
  moveTo(epoch: number): void {
    this.#learn(epoch, neverRead)
  }

  #holds(): boolean {
    const age = ageOf(this.#lease)
    if (age >= this.#leaseMs) return false
    // The lease is renewed before it expires, so that no request of a busy process waits for it.
    if (age > this.#leaseMs / 2) this.#renew().catch(() => {})
    return true
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#readEpoch().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #readEpoch(): Promise<void> {
    const sent = instant()
    const [epochText, ...columns] = (await this.#row(noOrg, readEpoch))!
    const epoch = Number(epochText)
    const secrets = toSecrets(columns)
    this.#learn(epoch, sent)
    if (epoch < (this.#secrets?.epoch ?? 0)) return
    const text = encodeSecrets(secrets)
    const used = text === this.#secrets?.text ? this.#secrets.used : new StoreSecrets(secrets)
    this.#secrets = { used, text, epoch }
  }

  #learn(epoch: number, sent: Instant): void {
    // A newer answer has been processed already.
    if (epoch < this.#epoch) return
    if (epoch > this.#epoch) {
      this.#epoch = epoch
      this.#lease = sent
      this.#keys.clear()
      this.#tables.clear()
    } else if (sent.monotonicMs > this.#lease.monotonicMs) {
      this.#lease = sent
    }
  }

  async #find<T extends ApiKey | Table>(
    kept: Map<string, T>,
    name: string,
    most: number,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (kept.has(name)) {
      await this.#renew()
      const still = kept.get(name)
      if (still !== undefined && ageOf(this.#lease) < this.#leaseMs) return still
    }
    // If several callers miss at once, one reads. The others may use the row that it found, if that is not too old by then.
    // They may not use a miss: the key or table may have been created since.
    const joined = this.#reading.get(name)
    if (joined !== undefined) {
      const { value, sent } = await joined
      if (value !== undefined && ageOf(sent) < this.#leaseMs) return value as T
    }
    const reading = this.#read(kept, name, most, read)
    this.#reading.set(name, reading)
    try {
      return (await reading).value
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name)
    }
  }

  async #read<T extends ApiKey | Table>(
    kept: Map<string, T>,
    name: string,
    most: number,
    read: () => Promise<T | undefined>,
  ): Promise<Reading<T>> {
    const sent = instant()
    const value = await read()
    if (value !== undefined) {
      this.#learn(value.epoch, sent)
      if (value.epoch === this.#epoch) keep(kept, name, value, most)
    }
    return { value, sent }
  }
}

interface Reading<T> {
  value: T | undefined
  sent: Instant
}

/** The monotonic clock stops while a machine sleeps, and the wall clock may jump: the larger age counts. */
interface Instant {
  monotonicMs: number
  wallMs: number
}

const neverRead: Instant = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
const instant = (): Instant => ({ monotonicMs: performance.now(), wallMs: Date.now() })
const ageOf = (sent: Instant): number => Math.max(performance.now() - sent.monotonicMs, Date.now() - sent.wallMs)

const keep = <T>(kept: Map<string, T>, name: string, value: T, most: number): void => {
  // The oldest entry is dropped: its next use costs one look-up.
  if (kept.size >= most && !kept.has(name)) kept.delete(kept.keys().next().value!)
  kept.set(name, value)
}
