import type { KeyKind, LinkState } from '../../../core/api-keys/api-key.ts'
import { decodeSecrets, encodeSecrets, type StoreSecret } from '../../../core/store-secrets.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { Follower } from '../../../core/tasks/following.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Organization } from '../../../store/organizations.ts'
import type { Table, TableKind } from '../../../store/tables.ts'
import { asBuffer } from '../connection/bytes.ts'
import type { Row, Statement, Value } from '../connection/driver.ts'

// The columns of the registry's rows, in order, and their decoding. The epoch is the column after them.

const numberOrNull = (text: string | null | undefined): number | null => (text == null ? null : Number(text))
const jsonOrNull = <T>(text: string | null | undefined): T | null => (text == null ? null : (JSON.parse(text) as T))

export const keyColumns = `k.seq, k.id, k.org_id, k.kind, k.name, k.last_four, k.databases, k.created_at, k.last_used_at,
  k.expires_at, k.revoked_at, k.link, k.rolled_from, k.rolled_to`

const keyColumnCount = 14

export const toApiKey = (row: Row, epoch = Number(row[keyColumnCount])): ApiKey => ({
  seq: Number(row[0]),
  id: row[1]!,
  orgId: Number(row[2]),
  kind: row[3] as KeyKind,
  name: jsonOrNull<string>(row[4]),
  lastFour: row[5]!,
  databases: jsonOrNull<string[]>(row[6]),
  createdAtMs: Number(row[7]),
  lastUsedAtMs: numberOrNull(row[8]),
  expiresAtMs: numberOrNull(row[9]),
  revokedAtMs: numberOrNull(row[10]),
  link: (row[11] ?? null) as LinkState | null,
  rolledFrom: row[12] ?? null,
  rolledTo: row[13] ?? null,
  epoch,
})

export const tableColumns =
  't.id, t.org_id, t.db, t.name, t.indices, t.created_at, t.deleted_at_ms, t.kind, t.public_id, t.keep_hours, t.changes_since, t.followers'

const tableColumnCount = 12

export const toTable = (row: Row, epoch = Number(row[tableColumnCount])): Table => ({
  id: Number(row[0]),
  orgId: Number(row[1]),
  db: row[2]!,
  name: row[3]!,
  indices: JSON.parse(row[4]!) as Indices,
  createdAtMs: Number(row[5]),
  deletedAtMs: numberOrNull(row[6]),
  kind: row[7] as TableKind,
  publicId: row[8] ?? null,
  changes: row[10] == null ? null : { keepHours: numberOrNull(row[9]), sinceMs: Number(row[10]) },
  followers: JSON.parse(row[11]!) as Follower[],
  epoch,
})

// $1 organization, $2 database, $3 kind, $4 name.
export const named = 't.org_id = $1::bigint and t.db = $2 and t.kind = $3 and t.name = $4'

export const organizationColumns = 'o.id, o.name, o.created_at, o.deleted_at_ms'

export const toOrganization = (row: Row): Organization => ({
  id: Number(row[0]),
  name: row[1]!,
  createdAtMs: Number(row[2]),
  deletedAtMs: numberOrNull(row[3]),
})

/** Reads the secrets of the store: the newest, then the earlier ones. */
export const secretColumns = `encode(s.cursor_key, 'hex'), s.accepts_plain_cursors, s.secret_begins_at, s.earlier_secrets`

export const toSecrets = ([secret, acceptsPlain, beginsAtMs, earlier]: Row): StoreSecret[] => [
  { secret: Buffer.from(secret!, 'hex'), acceptsPlain: acceptsPlain === 't', beginsAtMs: Number(beginsAtMs) },
  ...decodeSecrets(earlier!),
]

/** Replaces the secrets and increments the epoch, because every process has cached them. */
export const writeSecrets: Statement = {
  name: 'write_secrets',
  text: `update cubby_store set cursor_key = $1::bytea, accepts_plain_cursors = $2::boolean, secret_begins_at = $3::bigint,
    earlier_secrets = $4, epoch_8 = epoch_8 + 1 returning epoch_8`,
}

export const secretValues = ([newest, ...earlier]: readonly StoreSecret[]): Value[] => [
  ...[asBuffer(newest!.secret), newest!.acceptsPlain ? 't' : 'f', newest!.beginsAtMs, encodeSecrets(earlier)],
]

/** True if the organization `orgId` is not deleted. It looks the organization up by its id. */
export const isOfActive = (orgId: string): string =>
  `(select o.deleted_at_ms is null from cubby_organization_8 o where o.id = ${orgId})`

/** The epoch at the time of the read. Only revocations, deletions and rotations increment it. */
export const epochColumn = '(select s.epoch_8 from cubby_store s)'
