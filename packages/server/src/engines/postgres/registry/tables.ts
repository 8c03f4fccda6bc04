import type { Awaitable } from '../../../core/awaitable.ts'
import { isBucketId } from '../../../core/files/bucket-id.ts'
import { recoveryMs } from '../../../core/limits.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Buckets, RestoreResult, Table, TableKind, TableListing, Tables } from '../../../store/tables.ts'
import { addFeed } from '../changes/statements.ts'
import type { TableLogs } from '../changes/table-logs.ts'
import { type Database, holderOf, organization, type Transaction } from '../connection/database.ts'
import { type BoundStatement, bind, type Row, type Statement, type Value } from '../connection/driver.ts'
import { listFollowers } from '../tasks/followers.ts'
import { changeRegistry, openings, type Registry, refusingGone } from './registry.ts'
import { epochColumn, named, tableColumns, toTable } from './rows.ts'

// ORDER BY names every column of the intended index, also those with a fixed value: in an empty store the planner would
// otherwise choose another index.

const findDeleted: Statement = {
  name: 'find_deleted_table',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t
    where ${named} and t.deleted_at_ms > $5::bigint and not t.purging
    order by t.org_id desc, t.db desc, t.kind desc, t.name desc, t.deleted_at_ms desc limit 1`,
}

const list: Statement = {
  name: 'list_tables',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t
    where t.org_id = $1::bigint and t.db = $2 and t.kind = $3 and t.name > $4 and t.deleted_at_ms is null
    order by t.name limit $5::bigint`,
}

const listDeleted: Statement = {
  name: 'list_deleted_tables',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t
    where t.org_id = $1::bigint and t.db = $2 and t.kind = $3 and (t.name, t.deleted_at_ms) > ($4, $5::bigint)
      and t.deleted_at_ms > $6::bigint and not t.purging
    order by t.name, t.deleted_at_ms limit $7::bigint`,
}

// Each database takes one index seek, however many tables and buckets it has.
const listDatabases: Statement = {
  name: 'list_databases',
  text: `with recursive d (db, place) as (
      (select t.db, 1 from cubby_table_8 t
       where t.org_id = $1::bigint and t.deleted_at_ms is null and t.db > $2 order by t.db limit 1)
      union all
      select (select t.db from cubby_table_8 t
        where t.org_id = $1::bigint and t.deleted_at_ms is null and t.db > d.db order by t.db limit 1), d.place + 1
      from d where d.db is not null and d.place < $3::bigint
    ) select d.db from d where d.db is not null order by d.place`,
}

export const insertTable: Statement = {
  name: 'insert_table',
  text: `insert into cubby_table_8 as t (org_id, db, kind, name, indices, public_id, created_at)
    values ($1::bigint, $2, $3, $4, $5, $6, $7::bigint)
    on conflict (org_id, db, kind, name) where deleted_at_ms is null do nothing returning t.id`,
}

export const activeTable: Statement = {
  name: 'active_table',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t where ${named} and t.deleted_at_ms is null`,
}

export const moveEpochForTable: Statement = {
  name: 'move_epoch_table',
  text: `update cubby_store set epoch_8 = epoch_8 + 1
    where exists (select 1 from cubby_table_8 t where ${named} and t.deleted_at_ms is null)`,
}

// `deletedAt` is unique among the tables of one name, so that a restore can name one of them.
export const markDeleted: Statement = {
  name: 'mark_deleted',
  text: `update cubby_table_8 as t set deleted_at_ms = greatest($5::bigint, 1 + coalesce((select max(d.deleted_at_ms)
      from cubby_table_8 d where ${named.replaceAll('t.', 'd.')} and d.deleted_at_ms is not null), 0))
    where ${named} and t.deleted_at_ms is null returning ${tableColumns}, ${epochColumn}`,
}

const recoverableTables: Statement = {
  name: 'recoverable_tables',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t
    where ${named} and t.deleted_at_ms > $5::bigint and not t.purging and ($6::bigint is null or t.deleted_at_ms = $6::bigint)
    order by t.org_id desc, t.db desc, t.kind desc, t.name desc, t.deleted_at_ms desc limit 1`,
}

const unmarkDeleted: Statement = {
  name: 'unmark_deleted',
  text: 'update cubby_table_8 as t set deleted_at_ms = null where t.id = $1::bigint and not t.purging returning t.id',
}

export const moveEpoch: Statement = { name: 'move_epoch', text: 'update cubby_store set epoch_8 = epoch_8 + 1' }

/** $1 table, $2 how long it keeps its changes, $3 since when. */
const setChanges: Statement = {
  name: 'set_changes',
  text: `update cubby_table_8 as t set keep_hours = $2::bigint, changes_since = $3::bigint where t.id = $1::bigint
    returning ${tableColumns}, ${epochColumn}`,
}

// PostgreSQL's text cannot contain NUL, and neither can our names. So the names after `a\0…` are those after `a`.
const behind = (name: string | undefined): string => name?.split('\0', 1)[0] ?? ''

/** The values of `named`, which name a table, bucket or task of an organization. */
type TableNameValues = [orgId: number, db: string, kind: TableKind, name: string]

/** Tables, buckets and tasks have these reads in common. */
export class TableReads {
  protected readonly registry: Registry
  readonly #kind: TableKind

  constructor(registry: Registry, kind: TableKind) {
    this.registry = registry
    this.#kind = kind
  }

  protected nameValues(orgId: number, db: string, name: string): TableNameValues {
    return [orgId, db, this.#kind, name]
  }

  protected async rows(orgId: number, statement: Statement, ...values: Value[]): Promise<Row[]> {
    const [result] = await this.registry.db.read(organization(orgId), { statement, values })
    return result!.rows
  }

  find(orgId: number, db: string, name: string): Awaitable<Table | undefined> {
    return this.registry.cache.findTable(this.#kind, orgId, db, name)
  }

  async findDeleted(orgId: number, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const [row] = await this.rows(orgId, findDeleted, ...this.nameValues(orgId, db, name), nowMs - recoveryMs)
    return row && toTable(row)
  }

  async list({ orgId, db, after, limit }: TableListing): Promise<Table[]> {
    const rows = await this.rows(orgId, list, orgId, db, this.#kind, behind(after?.name), limit)
    return rows.map((row) => toTable(row))
  }

  async listDeleted({ orgId, db, after, limit }: TableListing, nowMs: number): Promise<Table[]> {
    const from = [behind(after?.name), after?.deletedAtMs ?? 0] as const
    const rows = await this.rows(orgId, listDeleted, orgId, db, this.#kind, ...from, nowMs - recoveryMs, limit)
    return rows.map((row) => toTable(row))
  }
}

/** Tables and buckets have these writes in common. */
class TablesOfKind extends TableReads {
  async delete(caller: Caller, db: string, name: string, nowMs: number): Promise<Table | undefined> {
    const nameValues = this.nameValues(caller.orgId, db, name)
    const bound = [bind(moveEpochForTable, ...nameValues), bind(markDeleted, ...nameValues, nowMs)]
    const [, changed] = await changeRegistry(this.registry.db, caller, ...bound)
    const row = changed!.rows[0]
    if (row === undefined) return undefined
    const deleted = toTable(row)
    this.registry.cache.moveTo(deleted.epoch)
    await this.registry.awaitLeaseExpiry()
    return deleted
  }

  restore(
    caller: Caller,
    db: string,
    name: string,
    deletedAtMs: number | undefined,
    nowMs: number,
  ): Promise<RestoreResult> {
    return restoreTable(this.registry.db, caller, this.nameValues(caller.orgId, db, name), deletedAtMs, nowMs)
  }
}

/** `alsoFor` makes further writes of the transaction if the table is restored, or says why it cannot be. */
export const restoreTable = (
  db: Database,
  caller: Caller,
  nameValues: TableNameValues,
  deletedAtMs: number | undefined,
  nowMs: number,
  alsoFor: (table: Table, send: Transaction['send']) => Promise<BoundStatement[] | RestoreResult> = async () => [],
): Promise<RestoreResult> => {
  const recoverable = (at: number | null) => bind(recoverableTables, ...nameValues, nowMs - recoveryMs, at)
  const restoring = db.transaction(holderOf(caller), async ({ send, commit }): Promise<RestoreResult> => {
    const [, , active, newest, chosen] = await send(
      ...openings(caller),
      bind(activeTable, ...nameValues),
      recoverable(null),
      recoverable(deletedAtMs ?? null),
    )
    const present = active!.rows[0]
    if (present !== undefined && newest!.rows.length === 0) return { outcome: 'active', table: toTable(present) }
    const row = chosen!.rows[0]
    if (row === undefined) return { outcome: 'missing' }
    const table = toTable(row)
    if (present !== undefined) return { outcome: 'taken', deletedAtMs: table.deletedAtMs! }
    const also = await alsoFor(table, send)
    if (!Array.isArray(also)) return also
    const written = await commit(bind(unmarkDeleted, table.id), ...also, bind(activeTable, ...nameValues))
    // A purge by a process whose clock runs ahead may have been faster.
    if (written[0]!.rows.length === 0) return { outcome: 'missing' }
    return { outcome: 'restored', table: toTable(written.at(-1)!.rows[0]!) }
  })
  return refusingGone(db, caller, restoring)
}

export class PostgresTables extends TablesOfKind implements Tables {
  readonly #logs: TableLogs

  constructor(registry: Registry, logs: TableLogs) {
    super(registry, 'table')
    this.#logs = logs
  }

  create(caller: Caller, db: string, name: string, indices: Indices, nowMs: number, keepHours?: number) {
    const nameValues = this.nameValues(caller.orgId, db, name)
    const insert = bind(insertTable, ...nameValues, JSON.stringify(indices), null, nowMs)
    const creating = this.registry.db.transaction(holderOf(caller), async ({ send, commit }) => {
      const [, , made, found] = await send(...openings(caller), insert, bind(activeTable, ...nameValues))
      const table = toTable(found!.rows[0]!)
      if (made!.rows.length === 0) return { table, created: false }
      const { id } = table
      const begun =
        keepHours === undefined
          ? []
          : [bind(setChanges, id, keepHours, nowMs), ...(await this.#begin(send, id, nowMs, nowMs))]
      const written = await commit(...begun, ...(await listFollowers(send, table)), bind(activeTable, ...nameValues))
      return { table: toTable(written.at(-1)!.rows[0]!), created: true }
    })
    return refusingGone(this.registry.db, caller, creating)
  }

  override restore(caller: Caller, db: string, name: string, deletedAtMs: number | undefined, nowMs: number) {
    const nameValues = this.nameValues(caller.orgId, db, name)
    return restoreTable(this.registry.db, caller, nameValues, deletedAtMs, nowMs, (table, send) =>
      listFollowers(send, table),
    )
  }

  /** Locks the counter of the log, and returns the statements that begin the log. Entries of an earlier one are left to the sweep. */
  async #begin(send: Transaction['send'], id: number, sinceMs: number, nowMs: number): Promise<BoundStatement[]> {
    const logs = this.#logs.open([id], nowMs)
    const [, ...locked] = await send(bind(addFeed, id), ...logs.locks)
    logs.takeLocks(locked)
    logs.begin(id, sinceMs, nowMs)
    return logs.statements
  }

  async keepChanges(
    caller: Caller,
    db: string,
    name: string,
    keepHours: number | null,
    nowMs: number,
  ): Promise<Table | undefined> {
    const nameValues = this.nameValues(caller.orgId, db, name)
    const changing = this.registry.db.transaction(holderOf(caller), async ({ send, commit }) => {
      const [, , active] = await send(...openings(caller), bind(activeTable, ...nameValues))
      const row = active!.rows[0]
      if (row === undefined) return undefined
      const { id, changes } = toTable(row)
      const begins = keepHours !== null && (changes === null || changes.keepHours === null)
      const sinceMs = begins ? Math.max(nowMs, 1 + (changes?.sinceMs ?? 0)) : (changes?.sinceMs ?? null)
      const entry = begins ? await this.#begin(send, id, sinceMs!, nowMs) : []
      const written = await commit(...entry, bind(moveEpoch), bind(setChanges, id, keepHours, sinceMs))
      return toTable(written.at(-1)!.rows[0]!)
    })
    const changed = await refusingGone(this.registry.db, caller, changing)
    if (changed === undefined) return undefined
    this.registry.cache.moveTo(changed.epoch)
    await this.registry.awaitLeaseExpiry()
    return changed
  }

  async listDatabases(orgId: number, after: string | undefined, limit: number): Promise<string[]> {
    return (await this.rows(orgId, listDatabases, orgId, behind(after), limit)).map((row) => row[0]!)
  }
}

export class PostgresBuckets extends TablesOfKind implements Buckets {
  constructor(registry: Registry) {
    super(registry, 'bucket')
  }

  async create(caller: Caller, db: string, name: string, publicId: string, nowMs: number) {
    const nameValues = this.nameValues(caller.orgId, db, name)
    const insert = bind(insertTable, ...nameValues, '{}', publicId, nowMs)
    const [made, active] = await changeRegistry(this.registry.db, caller, insert, bind(activeTable, ...nameValues))
    return { table: toTable(active!.rows[0]!), created: made!.rows.length > 0 }
  }

  findById(publicId: string): Awaitable<Table | undefined> {
    // A URL may contain anything, also characters that PostgreSQL's text cannot contain.
    return isBucketId(publicId) ? this.registry.cache.findTableByPublicId(publicId) : undefined
  }
}
