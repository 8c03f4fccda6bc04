import { earlierEnd, type NewApiKey } from '../../../core/api-keys/api-key.ts'
import { canBeRolled, endsOfRoll } from '../../../core/api-keys/roll-api-key.ts'
import { CubbyError } from '../../../core/errors.ts'
import { recoveryMs } from '../../../core/limits.ts'
import { decodeSecrets, encodeSecrets, rotateSecrets, type StoreSecret } from '../../../core/store-secrets.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import { requireValidToken } from '../../../core/tokens/token-state.ts'
import type { ApiKey, KeyRoll, KeyUse, RollResult } from '../../../store/api-keys.ts'
import type { Once } from '../../../store/idempotency.ts'
import type { DeleteOrganizationResult, Organization, RestoreOrganizationResult } from '../../../store/organizations.ts'
import type { RestoreResult, Table, TableChanges, TableKind } from '../../../store/tables.ts'
import type { TokenMark } from '../../../store/users.ts'
import type { ChangeLog } from '../changes/change-log.ts'
import type { Connection } from '../connection.ts'
import type { FollowedWrites } from '../runs/followed-writes.ts'
import { listFollowers } from '../tasks/followers.ts'
import {
  isOfActive,
  type KeyRow,
  keyColumns,
  type OrganizationRow,
  organizationColumns,
  readSecrets,
  type TableRow,
  tableColumns,
  toApiKey,
  toOrganization,
  toTable,
} from './rows.ts'
import { readTokenState } from './user-rows.ts'

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
  epoch: number
  orgId: number
  keySeq: number | null
  /** Null for changes of the registry itself, and for attempts of runs: those of a deleted task go on. */
  tableId: number | null
  /** See `Once`. */
  once?: Once | undefined
  /** The user token of the caller: the writer looks its state up before it writes. */
  user?: (TokenMark & { shareSeq: number }) | undefined
}

/** The registry inside the transaction that is open on `db`: its epoch, fences, tables. None of its writes is on a hot path. */
export class RegistryWrites {
  readonly #db: Connection
  /** The epoch after the commands of this transaction that were applied so far. */
  #epochNow = -1

  constructor(db: Connection) {
    this.#db = db
  }

  /** Only revocations, deletions and rotations move it: a missing row is not cached, so a new one is seen without it. */
  epoch(): number {
    return this.#db.one<{ value: number }>(`SELECT value FROM meta WHERE name = 'epoch'`)!.value
  }

  /** Call it at the start of each transaction: `checkFence` compares with it. */
  readEpoch(): void {
    this.#epochNow = this.epoch()
  }

  moveEpoch(): number {
    const sql = `UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value`
    this.#epochNow = this.#db.one<{ value: number }>(sql)!.value
    return this.#epochNow
  }

  /** Throws if the key was revoked, or the table or organization deleted, since the caller looked it up. */
  checkFence(fence: Fence): void {
    const { epoch, orgId, keySeq, tableId, user } = fence
    // An operator's command and a push have no key that would tell.
    if (keySeq === null && tableId === null && !this.#organizationIsActive(orgId)) throw organizationDeleted()
    if (epoch !== this.#epochNow) this.#checkChanged(fence)
    if (user !== undefined) requireValidToken(readTokenState(this.#db, orgId, user))
  }

  #checkChanged({ keySeq, tableId }: Fence): void {
    const key = keySeq === null ? 'active' : this.#stateOfKey(keySeq)
    if (key === 'unknown') throw organizationDeleted()
    if (key === 'revoked') throw new CubbyError('revoked_api_key', 'The API key has been revoked.')
    if (tableId === null || this.tableIsActive(tableId)) return
    const kind = this.#db.one<{ kind: TableKind }>('SELECT kind FROM tables WHERE id = ?1', tableId)?.kind
    if (kind !== undefined && !this.tableIsOfActive(tableId)) throw organizationDeleted()
    throw new CubbyError(`${kind ?? 'table'}_not_found`, `The ${kind ?? 'table'} has been deleted.`)
  }

  /** `unknown`: its organization is deleted. */
  #stateOfKey(seq: number): 'active' | 'revoked' | 'unknown' {
    const sql = `SELECT revoked_at FROM api_keys WHERE seq = ?1 AND ${isOfActive('org_id')}`
    const row = this.#db.one<{ revoked_at: number | null }>(sql, seq)
    if (row === undefined) return 'unknown'
    return row.revoked_at === null ? 'active' : 'revoked'
  }

  /** Tells whether neither the table nor its organization is deleted. */
  tableIsActive(id: number): boolean {
    const sql = `SELECT 1 FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`
    return this.#db.one(sql, id) !== undefined
  }

  /** Tells whether the table, active or not, belongs to an organization that is not deleted. */
  tableIsOfActive(id: number): boolean {
    return this.#db.one(`SELECT 1 FROM tables WHERE id = ?1 AND ${isOfActive('org_id')}`, id) !== undefined
  }

  #organizationIsActive(id: number): boolean {
    return this.#db.one('SELECT 1 FROM organizations WHERE id = ?1 AND deleted_at IS NULL', id) !== undefined
  }

  #activeTable({ orgId, db, kind, name }: TableName): TableRow | undefined {
    return this.#db.one(
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
    changes: TableChanges | null = null,
  ): { table: Table; created: boolean } {
    const { orgId, db, kind, name } = table
    const epoch = this.epoch()
    const present = this.#activeTable(table)
    if (present !== undefined) return { table: toTable(present, epoch), created: false }
    const row = this.#db.one<TableRow>(
      `INSERT INTO tables (org_id, db, kind, name, indices, public_id, created_at, keep_hours, changes_since)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING ${tableColumns}`,
      ...[orgId, db, kind, name, JSON.stringify(indices), publicId, nowMs],
      ...[changes?.keepHours ?? null, changes?.sinceMs ?? null],
    )
    return { table: toTable(row!, epoch), created: true }
  }

  deleteTable(table: TableName, nowMs: number): Table | undefined {
    const { orgId, db, kind, name } = table
    const present = this.#activeTable(table)
    if (present === undefined) return undefined
    // The time is unique among the deleted tables of this name: a restore names one of them by it.
    const row = this.#db.one<TableRow>(
      `UPDATE tables SET deleted_at = max(?2, 1 + coalesce(
         (SELECT max(deleted_at) FROM tables
          WHERE org_id = ?3 AND db = ?4 AND kind = ?5 AND name = ?6 AND deleted_at IS NOT NULL), 0))
       WHERE id = ?1 RETURNING ${tableColumns}`,
      ...[present.id, nowMs, orgId, db, kind, name],
    )
    return toTable(row!, this.moveEpoch())
  }

  /** Changes how long the table keeps its changes. */
  keepChanges(
    table: TableName,
    keepHours: number | null,
    nowMs: number,
  ): { table: Table; begins: boolean } | undefined {
    const present = this.#activeTable(table)
    if (present === undefined) return undefined
    const begins = keepHours !== null && present.keep_hours === null
    const since = begins ? Math.max(nowMs, 1 + (present.changes_since ?? 0)) : present.changes_since
    const sql = `UPDATE tables SET keep_hours = ?2, changes_since = ?3 WHERE id = ?1 RETURNING ${tableColumns}`
    const row = this.#db.one<TableRow>(sql, present.id, keepHours, since)
    return { table: toTable(row!, this.moveEpoch()), begins }
  }

  /** `refuse` may name what prevents the restore of the table with this id. */
  restoreTable(
    table: TableName,
    deletedAtMs: number | undefined,
    nowMs: number,
    refuse: (id: number) => RestoreResult | undefined = () => undefined,
  ): RestoreResult {
    const { orgId, db, kind, name } = table
    const active = this.#activeTable(table)
    const recoverable = `SELECT ${tableColumns} FROM tables
      WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND name = ?4 AND deleted_at > ?5 AND purging = 0`
    const named = [orgId, db, kind, name, nowMs - recoveryMs]
    const newest = this.#db.one<TableRow>(`${recoverable} ORDER BY deleted_at DESC LIMIT 1`, ...named)
    if (active !== undefined && newest === undefined) return { outcome: 'active', table: toTable(active, this.epoch()) }
    const chosen =
      deletedAtMs === undefined
        ? newest
        : this.#db.one<TableRow>(`${recoverable} AND deleted_at = ?6`, ...named, deletedAtMs)
    if (chosen === undefined) return { outcome: 'missing' }
    if (active !== undefined) return { outcome: 'taken', deletedAtMs: chosen.deleted_at! }
    const refused = refuse(chosen.id)
    if (refused !== undefined) return refused
    this.#db.change('UPDATE tables SET deleted_at = NULL WHERE id = ?1', chosen.id)
    return { outcome: 'restored', table: toTable({ ...chosen, deleted_at: null }, this.epoch()) }
  }
}

const organizationDeleted = (): CubbyError => new CubbyError('invalid_api_key', 'The organization has been deleted.')

interface Writers {
  db: Connection
  log: ChangeLog
  followed: FollowedWrites
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

/** The end may be sooner than when the caller looked the key up: it may have been rolled since. */
const endOfKey = (db: Connection, seq: number): number | null =>
  db.one<{ expires_at: number | null }>('SELECT expires_at FROM api_keys WHERE seq = ?1', seq)!.expires_at

/**
 * `creatorSeq`: the key that creates it, null for a command. The new key ends with it at the latest, except for the first one
 * that the key of a sign-in link creates.
 */
const createKey = (
  { db, registry }: Writers,
  orgId: number,
  key: NewApiKey,
  nowMs: number,
  creatorSeq: number | null = null,
  rolledFrom: string | null = null,
): ApiKey => {
  const databases = key.databases === null ? null : JSON.stringify(key.databases)
  const useLink = `UPDATE api_keys SET link = 'used' WHERE seq = ?1 AND link = 'unused'`
  const takesLinkEnd = key.linkExpiresAtMs !== null && db.change(useLink, creatorSeq) > 0
  const creatorEndMs = creatorSeq === null ? null : endOfKey(db, creatorSeq)
  const expiresAtMs = takesLinkEnd ? key.linkExpiresAtMs : earlierEnd(key.expiresAtMs, creatorEndMs)
  const row = db.one<KeyRow>(
    `INSERT INTO api_keys (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at, link, rolled_from)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING ${keyColumns}`,
    ...[key.id, orgId, key.kind, key.name, key.hash, key.lastFour, databases, nowMs, expiresAtMs, key.link],
    rolledFrom,
  )
  return toApiKey(row!, registry.epoch())
}

const keyOfOrganization = `SELECT ${keyColumns} FROM api_keys WHERE id = ?1 AND org_id = ?2`

const findOrganization = (db: Connection, name: string) =>
  db.one<OrganizationRow & { purging: number }>(
    `SELECT ${organizationColumns}, purging FROM organizations WHERE name = ?1`,
    name,
  )

/** Replaces all secrets of the store. */
const replaceSecrets = ({ db, registry }: Writers, secrets: readonly StoreSecret[]): void => {
  registry.moveEpoch()
  db.change('DELETE FROM secrets')
  for (const { secret, acceptsPlain, beginsAtMs } of secrets.toReversed()) {
    db.change('INSERT INTO secrets VALUES (?1, ?2, ?3)', secret, acceptsPlain ? 1 : 0, beginsAtMs)
  }
}

export const registryCommands = {
  createTable(
    { db, registry, log, followed }: Writers,
    {
      table,
      indices,
      publicId,
      keepHours,
      nowMs,
    }: OfTable & { indices: Indices; publicId: string | null; keepHours?: number },
  ) {
    const changes = keepHours === undefined ? null : { keepHours, sinceMs: nowMs }
    const result = registry.createTable(table, indices, publicId, nowMs, changes)
    if (result.created && changes !== null) log.begin(result.table.id, changes.sinceMs, nowMs)
    if (!result.created || table.kind !== 'table') return result
    const followers = listFollowers({ db, registry, followed }, table)
    return { table: { ...result.table, followers, epoch: registry.epoch() }, created: true }
  },

  keepChanges({ registry, log }: Writers, { table: name, keepHours, nowMs }: OfTable & { keepHours: number | null }) {
    const kept = registry.keepChanges(name, keepHours, nowMs)
    if (kept === undefined) return undefined
    log.forget(kept.table.id)
    if (kept.begins) log.begin(kept.table.id, kept.table.changes!.sinceMs, nowMs)
    return kept.table
  },

  deleteTable: ({ registry }: Writers, { table, nowMs }: OfTable) => registry.deleteTable(table, nowMs),

  restoreTable(
    writers: Writers,
    { table, deletedAtMs, nowMs }: OfTable & { deletedAtMs: number | undefined },
  ): RestoreResult {
    const { registry } = writers
    const result = registry.restoreTable(table, deletedAtMs, nowMs)
    if (result.outcome !== 'restored' || table.kind !== 'table') return result
    const followers = listFollowers(writers, table)
    return { outcome: 'restored', table: { ...result.table, followers, epoch: registry.epoch() } }
  },

  createApiKey: (writers: Writers, { fence, key, nowMs }: OfCaller & { key: NewApiKey }) =>
    createKey(writers, fence.orgId, key, nowMs, fence.keySeq),

  revokeApiKey({ db, registry }: Writers, { fence, id, nowMs }: OfCaller & { id: string }): ApiKey | undefined {
    const present = db.one<KeyRow>(keyOfOrganization, id, fence.orgId)
    if (present === undefined || present.revoked_at !== null) return present && toApiKey(present, registry.epoch())
    db.change('UPDATE api_keys SET revoked_at = ?2 WHERE seq = ?1', present.seq, nowMs)
    return toApiKey({ ...present, revoked_at: nowMs }, registry.moveEpoch())
  },

  rollApiKey(writers: Writers, { fence, roll, nowMs }: OfCaller & { roll: KeyRoll }): RollResult {
    const { db, registry } = writers
    const row = db.one<KeyRow>(keyOfOrganization, roll.id, fence.orgId)
    if (row === undefined) return { outcome: 'missing' }
    const old = toApiKey(row, registry.epoch())
    if (!canBeRolled(old, nowMs)) return { outcome: 'inactive', old }
    const { newKey, oldKey } = endsOfRoll(old, roll.oldEndMs, nowMs)
    // The new key comes first: a key that rolls itself must not be limited by the end that this gives it.
    const apiKey = createKey(writers, fence.orgId, { ...roll.key, ...newKey }, nowMs, fence.keySeq, old.id)
    const sql = 'UPDATE api_keys SET expires_at = ?2, revoked_at = ?3, rolled_to = ?4 WHERE seq = ?1'
    db.change(sql, old.seq, oldKey.expiresAtMs, oldKey.revokedAtMs, apiKey.id)
    return { outcome: 'rolled', apiKey: { ...apiKey, epoch: registry.moveEpoch() } }
  },

  recordKeyUse({ db }: Writers, { uses }: { uses: KeyUse[] }): void {
    for (const { id, atMs } of uses) {
      db.change('UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, 0) < ?2', id, atMs)
    }
  },

  createOrganization(
    writers: Writers,
    { name, keys, onlyIfFirst, nowMs }: { name: string; keys: NewApiKey[]; onlyIfFirst: boolean; nowMs: number },
  ): Organization | undefined {
    const { db } = writers
    // AUTOINCREMENT keeps the last id: organizations that were purged count too.
    const taken = onlyIfFirst
      ? db.one(`SELECT 1 FROM sqlite_sequence WHERE name = 'organizations'`)
      : db.one('SELECT 1 FROM organizations WHERE name = ?1', name)
    if (taken !== undefined) return undefined
    const row = db.one<OrganizationRow>(
      `INSERT INTO organizations (name, created_at) VALUES (?1, ?2) RETURNING ${organizationColumns}`,
      ...[name, nowMs],
    )!
    for (const key of keys) createKey(writers, row.id, key, nowMs)
    return toOrganization(row)
  },

  /** Changes one row, however much the organization has: every look-up reads it. */
  deleteOrganization(
    { db, registry }: Writers,
    { name, nowMs }: { name: string; nowMs: number },
  ): DeleteOrganizationResult | undefined {
    const row = findOrganization(db, name)
    if (row === undefined) return undefined
    if (row.deleted_at !== null) return { outcome: 'already', organization: toOrganization(row) }
    db.change('UPDATE organizations SET deleted_at = ?2 WHERE id = ?1', row.id, nowMs)
    registry.moveEpoch()
    return { outcome: 'deleted', organization: toOrganization({ ...row, deleted_at: nowMs }) }
  },

  restoreOrganization(
    { db }: Writers,
    { name, nowMs }: { name: string; nowMs: number },
  ): RestoreOrganizationResult | undefined {
    const row = findOrganization(db, name)
    if (row === undefined) return undefined
    if (row.deleted_at === null) return { outcome: 'active', organization: toOrganization(row) }
    if (row.purging === 1 || row.deleted_at <= nowMs - recoveryMs)
      return { outcome: 'over', organization: toOrganization(row) }
    db.change('UPDATE organizations SET deleted_at = NULL WHERE id = ?1', row.id)
    return { outcome: 'restored', organization: toOrganization({ ...row, deleted_at: null }) }
  },

  /** Secrets are text between threads. `next` is a list of one. Returns all secrets that the store has then. */
  rotateSecrets(writers: Writers, { next, endsEarlier, nowMs }: { next: string; endsEarlier: boolean; nowMs: number }) {
    const rotated = rotateSecrets(readSecrets(writers.db), decodeSecrets(next)[0]!, endsEarlier, nowMs)
    replaceSecrets(writers, rotated)
    return encodeSecrets(rotated)
  },

  loadSecrets: (writers: Writers, { secrets }: { secrets: string }) => replaceSecrets(writers, decodeSecrets(secrets)),
}
