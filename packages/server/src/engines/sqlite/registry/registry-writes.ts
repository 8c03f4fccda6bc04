import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import { CubbyError } from '../../../core/errors.ts'
import { recoveryMs } from '../../../core/limits.ts'
import { decodeSecrets } from '../../../core/store-secrets.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { ApiKey, KeyUse } from '../../../store/api-keys.ts'
import type { DeleteOrganizationResult, Organization, RestoreOrganizationResult } from '../../../store/organizations.ts'
import type { RestoreResult, Table, TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import {
  isOfActive,
  type KeyRow,
  keyColumns,
  type OrganizationRow,
  organizationColumns,
  type TableRow,
  tableColumns,
  toApiKey,
  toOrganization,
  toTable,
} from './rows.ts'
import { type Rotation, rotateIn, writeSecrets } from './secret-rows.ts'

type Value = string | number | null

export interface TableName {
  orgId: number
  db: string
  kind: TableKind
  name: string
}

/**
 * The registry epoch at which the caller's key and table were looked up: `stamp`. If the epoch has moved since, the
 * writer looks them up again before it writes.
 */
export interface Fence {
  stamp: number
  orgId: number
  keySeq: number | null
  /** Null for what changes the registry itself, and for attempts of runs: those of a deleted task go on. */
  tableId: number | null
}

/** Changes keys, organizations and tables inside the transaction that is open on `db`. None of these is on a hot path. */
export class RegistryWrites {
  readonly #db: Connection
  /** As of the commands of this transaction that were applied so far. */
  #epochNow = -1

  constructor(db: Connection) {
    this.#db = db
  }

  #one<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#db.prepare<Row, Value[]>(sql).get(...values) ?? undefined
  }

  #run(sql: string, ...values: Value[]): number {
    return this.#db.prepare<unknown, Value[]>(sql).run(...values).changes
  }

  /** Moved by revocations, deletions and rotations only: a missing row is not cached, so a new one is seen without it. */
  epoch(): number {
    return this.#one<{ value: number }>(`SELECT value FROM meta WHERE name = 'registry_epoch'`)!.value
  }

  /** At the start of each transaction: `checkFence` compares with it. */
  readEpoch(): void {
    this.#epochNow = this.epoch()
  }

  #moveEpoch(): number {
    const moved = this.#one<{ value: number }>(
      `UPDATE meta SET value = value + 1 WHERE name = 'registry_epoch' RETURNING value`,
    )!
    this.#epochNow = moved.value
    return moved.value
  }

  /** A key may have been revoked, or a table or organization deleted, since the caller looked it up. */
  checkFence({ stamp, orgId, keySeq, tableId }: Fence): void {
    // An operator's command and a push have no key that would tell.
    if (keySeq === null && tableId === null && !this.#organizationIsActive(orgId)) throw organizationDeleted()
    if (stamp === this.#epochNow) return
    const key = keySeq === null ? 'active' : this.#stateOfKey(keySeq)
    if (key === 'unknown') throw organizationDeleted()
    if (key === 'revoked') throw new CubbyError('revoked_api_key', 'The API key has been revoked.')
    if (tableId === null || this.tableIsActive(tableId)) return
    const kind = this.#one<{ kind: TableKind }>('SELECT kind FROM tables WHERE id = ?1', tableId)?.kind
    if (kind !== undefined && !this.#tableIsOfActive(tableId)) throw organizationDeleted()
    throw new CubbyError(`${kind ?? 'table'}_not_found`, `The ${kind ?? 'table'} has been deleted.`)
  }

  /** `unknown`: its organization is deleted. */
  #stateOfKey(seq: number): 'active' | 'revoked' | 'unknown' {
    const sql = `SELECT revoked_at FROM api_keys WHERE seq = ?1 AND ${isOfActive('org_id')}`
    const row = this.#one<{ revoked_at: number | null }>(sql, seq)
    if (row === undefined) return 'unknown'
    return row.revoked_at === null ? 'active' : 'revoked'
  }

  /** Of an organization that is not deleted. */
  tableIsActive(id: number): boolean {
    const sql = `SELECT 1 FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`
    return this.#one(sql, id) !== undefined
  }

  /** Whether the table, active or not, belongs to an organization that is not deleted. */
  #tableIsOfActive(id: number): boolean {
    return this.#one(`SELECT 1 FROM tables WHERE id = ?1 AND ${isOfActive('org_id')}`, id) !== undefined
  }

  #organizationIsActive(id: number): boolean {
    return this.#one('SELECT 1 FROM organizations WHERE id = ?1 AND deleted_at IS NULL', id) !== undefined
  }

  // ── Secrets ──────────────────────────────────────────────────────────────────────────────────────────────

  rotateSecrets(rotation: Rotation): string {
    this.#moveEpoch()
    return rotateIn(this.#db, rotation)
  }

  replaceSecrets(secrets: string): void {
    this.#moveEpoch()
    writeSecrets(this.#db, decodeSecrets(secrets))
  }

  // ── Tables ───────────────────────────────────────────────────────────────────────────────────────────────

  #activeTable({ orgId, db, kind, name }: TableName): TableRow | undefined {
    return this.#one<TableRow>(
      `SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name = ?4 AND deleted_at IS NULL`,
      ...[orgId, db, kind, name],
    )
  }

  findActive(table: TableName): Table | undefined {
    const row = this.#activeTable(table)
    return row && toTable(row, this.epoch())
  }

  createTable(
    table: TableName,
    indices: Indices,
    publicId: string | null,
    nowMs: number,
  ): { table: Table; created: boolean } {
    const { orgId, db, kind, name } = table
    const stamp = this.epoch()
    const present = this.#activeTable(table)
    if (present !== undefined) return { table: toTable(present, stamp), created: false }
    const row = this.#one<TableRow>(
      `INSERT INTO tables (org_id, db, kind, name, indices, public_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       RETURNING ${tableColumns}`,
      ...[orgId, db, kind, name, JSON.stringify(indices), publicId, nowMs],
    )
    return { table: toTable(row!, stamp), created: true }
  }

  deleteTable(table: TableName, nowMs: number): Table | undefined {
    const { orgId, db, kind, name } = table
    const present = this.#activeTable(table)
    if (present === undefined) return undefined
    // Unique among the deleted tables of this name: restore names one by it.
    const row = this.#one<TableRow>(
      `UPDATE tables SET deleted_at = max(?2, 1 + coalesce(
         (SELECT max(deleted_at) FROM tables
          WHERE org_id = ?3 AND db = ?4 AND kind = ?5 AND name = ?6 AND deleted_at IS NOT NULL), 0))
       WHERE id = ?1 RETURNING ${tableColumns}`,
      ...[present.id, nowMs, orgId, db, kind, name],
    )
    return toTable(row!, this.#moveEpoch())
  }

  restoreTable(table: TableName, deletedAtMs: number | undefined, nowMs: number): RestoreResult {
    const { orgId, db, kind, name } = table
    const active = this.#activeTable(table)
    const recoverable = `SELECT ${tableColumns} FROM tables
      WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name = ?4 AND deleted_at > ?5 AND purging = 0`
    const named = [orgId, db, kind, name, nowMs - recoveryMs]
    const newest = this.#one<TableRow>(`${recoverable} ORDER BY deleted_at DESC LIMIT 1`, ...named)
    if (active !== undefined && newest === undefined) return { outcome: 'active', table: toTable(active, this.epoch()) }
    const chosen =
      deletedAtMs === undefined
        ? newest
        : this.#one<TableRow>(`${recoverable} AND deleted_at = ?6`, ...named, deletedAtMs)
    if (chosen === undefined) return { outcome: 'missing' }
    if (active !== undefined) return { outcome: 'taken', deletedAtMs: chosen.deleted_at! }
    this.#run('UPDATE tables SET deleted_at = NULL WHERE id = ?1', chosen.id)
    return { outcome: 'restored', table: toTable({ ...chosen, deleted_at: null }, this.epoch()) }
  }

  // ── Keys and organizations ───────────────────────────────────────────────────────────────────────────────

  /** `creatorSeq`: the key that creates it. */
  createApiKey(orgId: number, key: NewApiKey, nowMs: number, creatorSeq: number | null = null): ApiKey {
    const databases = key.databases === null ? null : JSON.stringify(key.databases)
    const takesLinkEnd = key.linkExpiresAtMs !== null && this.#useLink(creatorSeq)
    const expiresAtMs = takesLinkEnd ? key.linkExpiresAtMs : key.expiresAtMs
    const row = this.#one<KeyRow>(
      `INSERT INTO api_keys (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at, link)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING ${keyColumns}`,
      ...[key.id, orgId, key.kind, key.name, key.hash, key.lastFour, databases, nowMs, expiresAtMs, key.link],
    )
    return toApiKey(row!, this.epoch())
  }

  /** False if the key is not that of a sign-in link, or was used before. */
  #useLink(seq: number | null): boolean {
    return this.#run(`UPDATE api_keys SET link = 'used' WHERE seq = ?1 AND link = 'unused'`, seq) > 0
  }

  revokeApiKey(orgId: number, id: string, nowMs: number): ApiKey | undefined {
    const present = this.#one<KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE id = ?1 AND org_id = ?2`, id, orgId)
    if (present === undefined || present.revoked_at !== null) return present && toApiKey(present, this.epoch())
    this.#run('UPDATE api_keys SET revoked_at = ?2 WHERE seq = ?1', present.seq, nowMs)
    return toApiKey({ ...present, revoked_at: nowMs }, this.#moveEpoch())
  }

  recordKeyUse(uses: KeyUse[]): void {
    for (const { id, atMs } of uses) {
      this.#run('UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, 0) < ?2', id, atMs)
    }
  }

  createOrganization(name: string, keys: NewApiKey[], nowMs: number, onlyIfFirst: boolean): Organization | undefined {
    // The first of all, also of those that were purged: AUTOINCREMENT keeps the last id.
    const taken = onlyIfFirst
      ? this.#one(`SELECT 1 FROM sqlite_sequence WHERE name = 'organizations'`)
      : this.#one('SELECT 1 FROM organizations WHERE name = ?1', name)
    if (taken !== undefined) return undefined
    const row = this.#one<OrganizationRow>(
      `INSERT INTO organizations (name, created_at) VALUES (?1, ?2) RETURNING ${organizationColumns}`,
      ...[name, nowMs],
    )
    for (const key of keys) this.createApiKey(row!.id, key, nowMs)
    return toOrganization(row!)
  }

  #organization(name: string): (OrganizationRow & { purging: number }) | undefined {
    return this.#one(`SELECT ${organizationColumns}, purging FROM organizations WHERE name = ?1`, name)
  }

  /** One row, however much the organization has: every look-up reads it. */
  deleteOrganization(name: string, nowMs: number): DeleteOrganizationResult | undefined {
    const row = this.#organization(name)
    if (row === undefined) return undefined
    if (row.deleted_at !== null) return { outcome: 'already', organization: toOrganization(row) }
    this.#run('UPDATE organizations SET deleted_at = ?2 WHERE id = ?1', row.id, nowMs)
    this.#moveEpoch()
    return { outcome: 'deleted', organization: toOrganization({ ...row, deleted_at: nowMs }) }
  }

  restoreOrganization(name: string, nowMs: number): RestoreOrganizationResult | undefined {
    const row = this.#organization(name)
    if (row === undefined) return undefined
    if (row.deleted_at === null) return { outcome: 'active', organization: toOrganization(row) }
    if (row.purging === 1 || row.deleted_at <= nowMs - recoveryMs)
      return { outcome: 'over', organization: toOrganization(row) }
    this.#run('UPDATE organizations SET deleted_at = NULL WHERE id = ?1', row.id)
    return { outcome: 'restored', organization: toOrganization({ ...row, deleted_at: null }) }
  }
}

const organizationDeleted = (): CubbyError => new CubbyError('invalid_api_key', 'The organization has been deleted.')

interface Writers {
  registry: RegistryWrites
}

interface OfCaller {
  fence: Fence
  nowMs: number
}

/** A command for a table, bucket or task by its name. */
export interface OfTable extends OfCaller {
  table: TableName
}

export const registryCommands = {
  createTable: (
    { registry }: Writers,
    { table, indices, publicId, nowMs }: OfTable & { indices: Indices; publicId: string | null },
  ) => registry.createTable(table, indices, publicId, nowMs),
  deleteTable: ({ registry }: Writers, { table, nowMs }: OfTable) => registry.deleteTable(table, nowMs),
  restoreTable: ({ registry }: Writers, { table, deletedAtMs, nowMs }: OfTable & { deletedAtMs: number | undefined }) =>
    registry.restoreTable(table, deletedAtMs, nowMs),
  createApiKey: ({ registry }: Writers, { fence, key, nowMs }: OfCaller & { key: NewApiKey }) =>
    registry.createApiKey(fence.orgId, key, nowMs, fence.keySeq),
  revokeApiKey: ({ registry }: Writers, { fence, id, nowMs }: OfCaller & { id: string }) =>
    registry.revokeApiKey(fence.orgId, id, nowMs),
  recordKeyUse: ({ registry }: Writers, { uses }: { uses: KeyUse[] }) => registry.recordKeyUse(uses),
  createOrganization: (
    { registry }: Writers,
    { name, keys, onlyIfFirst, nowMs }: { name: string; keys: NewApiKey[]; onlyIfFirst: boolean; nowMs: number },
  ) => registry.createOrganization(name, keys, nowMs, onlyIfFirst),
  deleteOrganization: ({ registry }: Writers, { name, nowMs }: { name: string; nowMs: number }) =>
    registry.deleteOrganization(name, nowMs),
  restoreOrganization: ({ registry }: Writers, { name, nowMs }: { name: string; nowMs: number }) =>
    registry.restoreOrganization(name, nowMs),
  rotateSecrets: ({ registry }: Writers, rotation: Rotation) => registry.rotateSecrets(rotation),
  loadSecrets: ({ registry }: Writers, { secrets }: { secrets: string }) => registry.replaceSecrets(secrets),
}
