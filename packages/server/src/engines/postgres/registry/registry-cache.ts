import { hashApiKey } from '../../../core/api-keys/api-key.ts'
import { apiKeyCacheEntriesMax, tableCacheEntriesMax } from '../../../core/limits.ts'
import type { Holder } from '../../../core/shares.ts'
import { encodeSecrets, StoreSecrets } from '../../../core/store-secrets.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Table, TableKind } from '../../../store/tables.ts'
import { anybody, type Database, noOrg, organization, visitor } from '../connection/database.ts'
import type { Row, Statement, Value } from '../connection/driver.ts'
import { EpochLease } from './epoch-lease.ts'
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
 * Caches keys, tables, buckets and secrets, never stale in effect: see epoch-lease.ts. The store has an epoch, which every
 * revocation, every deletion and every rotation of secrets increments.
 * Misses are not cached, so a created or restored table is found at once.
 */
export class RegistryCache {
  readonly #db: Database
  readonly #lease: EpochLease
  readonly #keys = new Map<string, ApiKey>()
  readonly #tables = new Map<string, Table>()
  #secrets: { used: StoreSecrets; text: string; epoch: number } | undefined

  constructor(db: Database, leaseMs: number) {
    this.#db = db
    const onMove = (): void => {
      this.#keys.clear()
      this.#tables.clear()
    }
    this.#lease = new EpochLease({ leaseMs, read: () => this.#readEpoch(), onMove })
  }

  async #row(holder: Holder, statement: Statement, ...values: Value[]): Promise<Row | undefined> {
    return (await this.#db.lookup(holder, { statement, values })).rows[0]
  }

  findApiKey(text: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const kept = this.#keys.get(text)
    if (kept !== undefined && this.#lease.holds()) return kept
    return this.#lease.find(this.#keys, text, apiKeyCacheEntriesMax, async () => {
      const row = await this.#row(anybody, findKey, hashApiKey(text))
      return row && toApiKey(row)
    })
  }

  findApiKeyById(id: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    // No text of a key and no name of a table has this form.
    const name = `api_key ${id}`
    const kept = this.#keys.get(name)
    if (kept !== undefined && this.#lease.holds()) return kept
    return this.#lease.find(this.#keys, name, apiKeyCacheEntriesMax, async () => {
      const row = await this.#row(anybody, findKeyById, id)
      return row && toApiKey(row)
    })
  }

  secrets(): StoreSecrets | Promise<StoreSecrets> {
    const kept = this.#secrets
    if (kept !== undefined && this.#lease.holds() && kept.epoch === this.#lease.epoch) return kept.used
    return this.#readSecrets()
  }

  async #readSecrets(): Promise<StoreSecrets> {
    await this.#lease.renew()
    // It may have been sent before this process learned of a newer epoch.
    if (this.#secrets!.epoch < this.#lease.epoch) await this.#lease.renew()
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
    if (kept !== undefined && this.#lease.holds()) return kept
    return this.#lease.find(this.#tables, cacheKey, tableCacheEntriesMax, read)
  }

  /** Returns whether an entry with this stamp is still valid. It reads the epoch if the lease has expired. */
  async isCurrent(epoch: number): Promise<boolean> {
    if (!this.#lease.holds()) await this.#lease.renew()
    return epoch === this.#lease.epoch
  }

  /** This process itself has replaced the secrets: the epoch is read again before anything is used. */
  forgetLease(): void {
    this.#lease.forget()
  }

  /** This process itself has revoked, deleted or rotated something. */
  moveTo(epoch: number): void {
    this.#lease.moveTo(epoch)
  }

  /** Reads the secrets together with the epoch. */
  async #readEpoch(): Promise<number> {
    const [epochText, ...columns] = (await this.#row(noOrg, readEpoch))!
    const epoch = Number(epochText)
    const secrets = toSecrets(columns)
    if (epoch < (this.#secrets?.epoch ?? 0)) return epoch
    const text = encodeSecrets(secrets)
    const used = text === this.#secrets?.text ? this.#secrets.used : new StoreSecrets(secrets)
    this.#secrets = { used, text, epoch }
    return epoch
  }
}
