import { recoveryMs } from '../../../core/limits.ts'
import type { Holder } from '../../../core/shares.ts'
import type { StoreSecret } from '../../../core/store-secrets.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Organization } from '../../../store/organizations.ts'
import type { Table, TableKind, TableListing } from '../../../store/tables.ts'
import { anybody, type Database, noOrg, organization, visitor } from '../connection/database.ts'
import type { Statement } from '../connection/driver.ts'
import {
  epochColumn,
  isOfActive,
  keyColumns,
  named,
  organizationColumns,
  secretColumns,
  tableColumns,
  toApiKey,
  toOrganization,
  toSecrets,
  toTable,
} from './rows.ts'

// ORDER BY names every column of the intended index, also those with a fixed value: in an empty store the planner would
// otherwise choose another index.

const statement = (name: string, text: string): Statement => ({ name, text })

const findKey = statement(
  'find_key',
  `select ${keyColumns}, ${epochColumn} from cubby_api_key k
   where k.hash = $1 and ${isOfActive('k.org_id')}`,
)

const findKeyById = statement(
  'find_key_by_id',
  `select ${keyColumns}, ${epochColumn} from cubby_api_key k
   where k.id = $1 and ${isOfActive('k.org_id')}`,
)

const listKeys = statement(
  'list_keys',
  `select ${keyColumns}, ${epochColumn} from cubby_api_key k
   where k.org_id = $1::bigint and k.seq < $2::bigint order by k.org_id desc, k.seq desc limit $3::bigint`,
)

const findOrganization = statement(
  'find_org',
  `select ${organizationColumns} from cubby_organization o where o.name = $1`,
)

const findOrganizationById = statement(
  'find_org_by_id',
  `select ${organizationColumns} from cubby_organization o where o.id = $1::bigint`,
)

const listOrganizations = statement(
  'list_orgs',
  `select ${organizationColumns} from cubby_organization o order by o.name`,
)

export const findTable = statement(
  'find_table',
  `select ${tableColumns}, ${epochColumn} from cubby_table t
   where ${named} and t.deleted_at_ms is null and ${isOfActive('t.org_id')}`,
)

// Not "deleted_at_ms is null": see `tableIsActive` in records/statements.ts.
export const findTableByPublicId = statement(
  'find_table_by_public_id',
  `select ${tableColumns}, ${epochColumn} from cubby_table t
   where t.public_id = $1 and ${isOfActive('t.org_id')}`,
)

const findDeletedTable = statement(
  'find_deleted_table',
  `select ${tableColumns}, ${epochColumn} from cubby_table t
   where ${named} and t.deleted_at_ms > $5::bigint and not t.purging
   order by t.org_id desc, t.db desc, t.kind desc, t.name desc, t.deleted_at_ms desc limit 1`,
)

const listTables = statement(
  'list_tables',
  `select ${tableColumns}, ${epochColumn} from cubby_table t
   where t.org_id = $1::bigint and t.db = $2 and t.kind = $3 and t.name > $4 and t.deleted_at_ms is null
   order by t.name limit $5::bigint`,
)

const listDeletedTables = statement(
  'list_deleted_tables',
  `select ${tableColumns}, ${epochColumn} from cubby_table t
   where t.org_id = $1::bigint and t.db = $2 and t.kind = $3 and (t.name, t.deleted_at_ms) > ($4, $5::bigint)
     and t.deleted_at_ms > $6::bigint and not t.purging
   order by t.name, t.deleted_at_ms limit $7::bigint`,
)

// One index seek for each database, however many tables and buckets it has.
const listDatabases = statement(
  'list_databases',
  `with recursive d (db, place) as (
     (select t.db, 1 from cubby_table t
      where t.org_id = $1::bigint and t.deleted_at_ms is null and t.db > $2 order by t.db limit 1)
     union all
     select (select t.db from cubby_table t
       where t.org_id = $1::bigint and t.deleted_at_ms is null and t.db > d.db order by t.db limit 1), d.place + 1
     from d where d.db is not null and d.place < $3::bigint
   ) select d.db from d where d.db is not null order by d.place`,
)

const readEpoch = statement('epoch', `select s.epoch, ${secretColumns} from cubby_store s`)

const isActive = statement(
  'is_active',
  `select coalesce((select t.deleted_at_ms is null from cubby_table t where t.id = $1::bigint), false),
     coalesce((select k.revoked_at is null from cubby_api_key k where k.seq = $2::bigint), false),
     coalesce(${isOfActive('$3::bigint')}, false)`,
)

// PostgreSQL's text cannot contain NUL, and neither can our names. So what sorts after `a\0…` is what sorts after `a`.
const behind = (name: string | undefined): string => name?.split('\0', 1)[0] ?? ''

interface Activity {
  table: boolean
  apiKey: boolean
  organization: boolean
}

/** Reads keys, organizations and tables from the store, without a cache. */
export class RegistryReader {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async #rows(holder: Holder, statement: Statement, ...values: (string | number)[]) {
    const [result] = await this.#db.read(holder, { statement, values })
    return result!.rows
  }

  /** For queries that run on every cache miss. */
  async #row(holder: Holder, statement: Statement, ...values: (string | number)[]) {
    return (await this.#db.lookUp(holder, { statement, values })).rows[0]
  }

  /** With the secrets, which are valid as long as the epoch is. */
  async epoch(): Promise<{ epoch: number; secrets: StoreSecret[] }> {
    const [epoch, ...secrets] = (await this.#row(noOrg, readEpoch))!
    return { epoch: Number(epoch), secrets: toSecrets(secrets) }
  }

  async findApiKey(hash: string): Promise<ApiKey | undefined> {
    const row = await this.#row(anybody, findKey, hash)
    return row && toApiKey(row)
  }

  async findApiKeyById(id: string): Promise<ApiKey | undefined> {
    const row = await this.#row(anybody, findKeyById, id)
    return row && toApiKey(row)
  }

  async listApiKeys(orgId: number, beforeSeq: number | undefined, limit: number): Promise<ApiKey[]> {
    const before = beforeSeq ?? Number.MAX_SAFE_INTEGER
    return (await this.#rows(organization(orgId), listKeys, orgId, before, limit)).map((row) => toApiKey(row))
  }

  async findOrganization(name: string): Promise<Organization | undefined> {
    if (name.includes('\0')) return undefined
    const [row] = await this.#rows(noOrg, findOrganization, name)
    return row && toOrganization(row)
  }

  async findOrganizationById(id: number): Promise<Organization | undefined> {
    const [row] = await this.#rows(organization(id), findOrganizationById, id)
    return row && toOrganization(row)
  }

  async listOrganizations(): Promise<Organization[]> {
    return (await this.#rows(noOrg, listOrganizations)).map(toOrganization)
  }

  async findTable(kind: TableKind, orgId: number, db: string, name: string): Promise<Table | undefined> {
    const row = await this.#row(organization(orgId), findTable, orgId, db, kind, name)
    return row && toTable(row)
  }

  /** The active one. Anybody may ask, without an API key. */
  async findTableByPublicId(publicId: string): Promise<Table | undefined> {
    const row = await this.#row(visitor, findTableByPublicId, publicId)
    const table = row && toTable(row)
    return table?.deletedAtMs === null ? table : undefined
  }

  async findDeletedTable(
    kind: TableKind,
    orgId: number,
    db: string,
    name: string,
    nowMs: number,
  ): Promise<Table | undefined> {
    const holder = organization(orgId)
    const [row] = await this.#rows(holder, findDeletedTable, orgId, db, kind, name, nowMs - recoveryMs)
    return row && toTable(row)
  }

  async listTables(kind: TableKind, { orgId, db, after, limit }: TableListing): Promise<Table[]> {
    const rows = await this.#rows(organization(orgId), listTables, orgId, db, kind, behind(after?.name), limit)
    return rows.map((row) => toTable(row))
  }

  async listDeletedTables(kind: TableKind, { orgId, db, after, limit }: TableListing, nowMs: number): Promise<Table[]> {
    const from = [behind(after?.name), after?.deletedAtMs ?? 0] as const
    const values = [orgId, db, kind, ...from, nowMs - recoveryMs, limit]
    return (await this.#rows(organization(orgId), listDeletedTables, ...values)).map((row) => toTable(row))
  }

  async listDatabases(orgId: number, after: string | undefined, limit: number): Promise<string[]> {
    return (await this.#rows(organization(orgId), listDatabases, orgId, behind(after), limit)).map((row) => row[0]!)
  }

  /** Whether each of them is active, by their ids. */
  async areActive(orgId: number, tableId: number, keySeq: number): Promise<Activity> {
    const [row] = await this.#rows(organization(orgId), isActive, tableId, keySeq, orgId)
    return { table: row![0] === 't', apiKey: row![1] === 't', organization: row![2] === 't' }
  }
}
