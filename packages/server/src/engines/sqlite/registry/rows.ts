import type { KeyKind, LinkState } from '../../../core/api-keys/api-key.ts'
import type { StoreSecret } from '../../../core/store-secrets.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { Follower } from '../../../core/tasks/following.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Organization } from '../../../store/organizations.ts'
import type { Table, TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'

// Rows of the registry as SQLite returns them, and their conversion.

export interface KeyRow {
  seq: number
  id: string
  org_id: number
  kind: KeyKind
  name: string | null
  last_four: string
  databases: string | null
  created_at: number
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
  link: LinkState | null
  rolled_from: string | null
  rolled_to: string | null
}

export const keyColumns = `seq, id, org_id, kind, name, last_four, databases, created_at, last_used_at, expires_at, revoked_at,
  link, rolled_from, rolled_to`

export const toApiKey = (row: KeyRow, epoch: number): ApiKey => ({
  id: row.id,
  seq: row.seq,
  orgId: row.org_id,
  kind: row.kind,
  name: row.name,
  lastFour: row.last_four,
  databases: row.databases === null ? null : (JSON.parse(row.databases) as string[]),
  createdAtMs: row.created_at,
  lastUsedAtMs: row.last_used_at,
  expiresAtMs: row.expires_at,
  revokedAtMs: row.revoked_at,
  link: row.link,
  rolledFrom: row.rolled_from,
  rolledTo: row.rolled_to,
  epoch,
})

export interface TableRow {
  id: number
  org_id: number
  db: string
  name: string
  indices: string
  created_at: number
  deleted_at: number | null
  kind: TableKind
  public_id: string | null
  keep_hours: number | null
  changes_since: number | null
  followers: string
}

export const tableColumns =
  'id, org_id, db, name, indices, created_at, deleted_at, kind, public_id, keep_hours, changes_since, followers'

export const toTable = (row: TableRow, epoch: number): Table => ({
  id: row.id,
  kind: row.kind,
  publicId: row.public_id,
  orgId: row.org_id,
  db: row.db,
  name: row.name,
  indices: JSON.parse(row.indices) as Indices,
  createdAtMs: row.created_at,
  deletedAtMs: row.deleted_at,
  changes: row.changes_since === null ? null : { keepHours: row.keep_hours, sinceMs: row.changes_since },
  followers: JSON.parse(row.followers) as Follower[],
  epoch,
})

export interface OrganizationRow {
  id: number
  name: string
  created_at: number
  deleted_at: number | null
}

export const organizationColumns = 'id, name, created_at, deleted_at'

export const toOrganization = (row: OrganizationRow): Organization => ({
  id: row.id,
  name: row.name,
  createdAtMs: row.created_at,
  deletedAtMs: row.deleted_at,
})

/** A condition on rows of keys or tables: the organization in the column `orgId` is not deleted. */
export const isOfActive = (orgId: string): string =>
  `EXISTS (SELECT 1 FROM organizations o WHERE o.id = ${orgId} AND o.deleted_at IS NULL)`

/** Newest first: each rotation adds the last row. */
export const readSecrets = (db: Connection): StoreSecret[] =>
  db
    .all<{ secret: Uint8Array; accepts_plain: number; begins_at: number }>(
      'SELECT secret, accepts_plain, begins_at FROM secrets ORDER BY rowid DESC',
    )
    .map((row) => ({ secret: row.secret, acceptsPlain: row.accepts_plain === 1, beginsAtMs: row.begins_at }))
