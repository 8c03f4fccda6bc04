import { entryKind } from '../../../core/changes/log-entry.ts'
import { deadUntilMs } from '../../../core/files/file-changes.ts'
import {
  idempotencyKeysMax,
  idempotencyKeysOfUserMax,
  recoveryMs,
  revocationMs,
  sweepGraceMs,
  sweepRowsMax,
} from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import type { CheckNotes, Maintenance } from '../../../store/maintenance.ts'
import { ChangeSweep } from '../changes/change-sweep.ts'
import { removeFeed, removeOldest } from '../changes/statements.ts'
import type { TableLogs } from '../changes/table-logs.ts'
import { bigintArray } from '../connection/arrays.ts'
import { fromHex } from '../connection/bytes.ts'
import { type Database, noOrg, type Transaction } from '../connection/database.ts'
import { type BoundStatement, bind, type Row, type Session, type Statement, type Value } from '../connection/driver.ts'
import { isRaised } from '../connection/failure.ts'
import { Postponed } from '../connection/lost-part.ts'
import { blobOfEntry, isFile, makeDead, makeDeadAll } from '../files/statements.ts'
import { isLoggedSql, raising } from '../records/statements.ts'
import { epochValues, raiseUserEpochs } from '../registry/user-rows.ts'
import { anyRun, removeRuns } from '../runs/statements.ts'
import { removeTask } from '../tasks/statements.ts'
import { checkStore } from './check.ts'
import { IdempotencyKeySweep } from './idempotency-key-sweep.ts'
import * as organizations from './purge-organizations.ts'

const databaseClock: Statement = {
  name: 'clock',
  text: 'select floor(extract(epoch from now()) * 1000)::bigint',
}

// Several processes sweep at once: each skips the rows that another one has locked. The blobs of files become dead, due
// at $3, in the same statement; the result is the number of rows removed, and the tables that have others, whose
// removals are counted: the counters must be locked before the rows.
export const sweepInOne: Statement = {
  name: 'sweep',
  text: `with found as (
      select e.table_id, e.hash_key, e.range_key,
        coalesce((select ${isLoggedSql} from cubby_table_8 t where t.id = e.table_id), false) as is_logged
      from cubby_record_8 e where e.ttl_seconds <= $1::bigint
      order by e.ttl_seconds limit $2::bigint for update of e skip locked
    ), gone as (
      delete from cubby_record_8 as r using found as x
      where not x.is_logged and r.table_id = x.table_id and r.hash_key = x.hash_key and r.range_key = x.range_key
      returning r.table_id, r.i3_hash
    ), dead as (${makeDeadAll('gone', 3)})
    select (select count(*) from gone), (select string_agg(distinct f.table_id::text, ' ') from found f where f.is_logged)`,
}

/** Returns a row for each expired record: the id of its table, and whether it is a file. */
const findExpired: Statement = {
  name: 'find_expired',
  text: `select e.table_id, coalesce(${isFile('e')}, false) from cubby_record_8 e
    where e.ttl_seconds <= $1::bigint order by e.ttl_seconds limit $2::bigint`,
}

/** Buckets use it: the next statements of the transaction make the blobs of the removed files dead. */
const returningBlobs = ' returning r.i3_hash'

const removeExpired = (returning: string): Statement => ({
  name: `remove_expired${returning === '' ? '' : returning === returningBlobs ? '_files' : '_logged'}`,
  text: `delete from cubby_record_8 as r using (
      select e.hash_key, e.range_key from cubby_record_8 e where e.table_id = $1::bigint and e.ttl_seconds <= $2::bigint
      order by e.ttl_seconds limit $3::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key
      and r.ttl_seconds <= $2::bigint${returning}`,
})

/** Fails if removals from the table are counted. It follows the statement that removes rows: from then on `awaitLeaseExpiry` finds this write. */
const requirePlain: Statement = {
  name: 'require_plain',
  text: `select ${raising(`coalesce((select not ${isLoggedSql} from cubby_table_8 t where t.id = $1::bigint), true)`)}`,
}

/** Reads at most $2 tables and buckets after the id $1. */
const tablesToSweep: Statement = {
  name: 'tables_to_sweep',
  text: `select t.id, t.kind from cubby_table_8 t where t.id > $1::bigint and t.kind <> 'task'
    order by t.id limit $2::bigint`,
}

/** $1 deleted before this time, $2 without these tables. */
const takeTable: Statement = {
  name: 'take_table',
  text: `select t.id, t.kind from cubby_table_8 t where t.deleted_at_ms <= $1::bigint
    and t.id <> all ($2::bigint[]) order by t.deleted_at_ms limit 1 for update skip locked`,
}

// The mark is written first: if a clock steps back, a table that has lost rows must not be restored.
const markPurging: Statement = {
  name: 'mark_purging',
  text: 'update cubby_table_8 set purging = true where id = $1::bigint and not purging',
}

const removeRows = (returning: string): Statement => ({
  name: `remove_rows${returning === '' ? '' : '_files'}`,
  text: `delete from cubby_record_8 as r using (
      select e.hash_key, e.range_key from cubby_record_8 e where e.table_id = $1::bigint limit $2::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key${returning}`,
})

const removals = {
  table: removeExpired(''),
  bucket: removeExpired(returningBlobs),
  logged: removeExpired(' returning r.hash_key, r.range_key, r.ttl_seconds'),
}

const deadStatements = (tableId: string, removed: Row[], dueMs: number): BoundStatement[] =>
  removed.flatMap(([entry]) => {
    const blob = blobOfEntry(entry)
    return blob === undefined ? [] : [bind(makeDead, tableId, blob, dueMs)]
  })

const anyRow: Statement = {
  name: 'any_row',
  text: 'select 1 from cubby_record_8 r where r.table_id = $1::bigint limit 1',
}

/** $1 the table, bucket or task, $2 rows at most. */
const removeIdempotencyKeys: Statement = {
  name: 'remove_idempotency_keys',
  text: `delete from cubby_idempotency_key as i using (
      select e.key_hash from cubby_idempotency_key e
      where e.scope_id = $1::bigint and e.scope_kind = 'table' limit $2::bigint
    ) as x where i.scope_id = $1::bigint and i.scope_kind = 'table' and i.key_hash = x.key_hash`,
}

/**
 * `rows` removes rows of a purged table, and `any` finds out whether some are left. `more` removes other rows. `alsoLast` runs
 * before the table's own row goes.
 */
const purges = {
  table: { rows: removeRows(''), any: anyRow, more: [removeIdempotencyKeys, removeOldest], alsoLast: [removeFeed] },
  bucket: { rows: removeRows(returningBlobs), any: anyRow, more: [removeIdempotencyKeys], alsoLast: [] },
  task: { rows: removeRuns, any: anyRun, more: [removeIdempotencyKeys], alsoLast: [removeTask] },
}

type PurgedKind = keyof typeof purges

/** $1 before this time, $2 rows at most. It returns their epochs and times. */
export const removeOldRevocations: Statement = {
  name: 'remove_old_revocations',
  text: `delete from cubby_revoked_user as u using (
      select e.org_id, e.user_hash from cubby_revoked_user e where e.revoked_at <= $1::bigint
      order by e.revoked_at limit $2::bigint for update skip locked
    ) as x where u.org_id = x.org_id and u.user_hash = x.user_hash returning u.epoch, u.revoked_at`,
}

const removeTable: Statement = { name: 'remove_table', text: 'delete from cubby_table_8 where id = $1::bigint' }

/** A sweep looks again this often after other processes removed what it found. */
const sweepPollsMax = 10

/**
 * Each step asks all servers first, so it removes many rows. A bucket loses fewer files at once: each blob takes a statement of
 * its own.
 */
const distributedStepRows = 1_000
const bucketStepRows = 50

/**
 * While a server cannot be reached, a step asks at most this many tables, for this long. The next step continues after them.
 */
const tablesAskedMax = 200
const tablesAskedMs = 5_000

interface MaintenanceOptions {
  db: Database
  logs: TableLogs
  /** A process whose clock runs ahead must not remove what is live by the database's clock. Tests move the caller's clock. */
  clock: 'database' | 'caller'
  /** See `Dialect`. */
  namesManyTables: boolean
  openLongSession(): Promise<Session>
}

export class PostgresMaintenance implements Maintenance {
  readonly sweepStepRows: number
  readonly #options: MaintenanceOptions
  readonly #postponed = { tables: new Postponed(), organizations: new Postponed() }
  readonly #idempotencyKeys: IdempotencyKeySweep
  readonly #changes: ChangeSweep
  #lastTableId = 0

  constructor(options: MaintenanceOptions) {
    this.#options = options
    this.#idempotencyKeys = new IdempotencyKeySweep(options.db)
    this.#changes = new ChangeSweep(options.db)
    this.sweepStepRows = options.namesManyTables ? sweepRowsMax : distributedStepRows
  }

  async #now(nowMs: number): Promise<number> {
    if (this.#options.clock === 'caller') return nowMs
    const [result] = await this.#options.db.read(noOrg, bind(databaseClock))
    return Math.min(nowMs, Number(result!.rows[0]![0]))
  }

  async sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    const { db, namesManyTables } = this.#options
    const now = await this.#now(nowMs)
    const before = nowSeconds(now - sweepGraceMs)
    if (!namesManyTables) return this.#sweepByTable(before, rowsMax, now)
    const [swept] = await db.write(noOrg, bind(sweepInOne, before, rowsMax, deadUntilMs(now)))
    const [removed, logged] = swept!.rows[0]!
    let sum = Number(removed)
    for (const tableId of logged?.split(' ') ?? []) sum += await this.#sweepLogged(tableId, before, rowsMax - sum, now)
    return sum
  }

  /** Removes expired records of a table whose writes are counted. */
  #sweepLogged(tableId: string, before: number, rowsMax: number, now: number): Promise<number> {
    const id = Number(tableId)
    return this.#options.logs.run(noOrg, [id], now, async ({ send, commit }, logs) => {
      const [removed] = logs.takeLocks(await send(...logs.locks, bind(removals.logged, id, before, rowsMax)))
      const entries = removed!.rows.map(([hash, range, ttl]) => ({
        ...{ hashKey: fromHex(hash!), rangeKey: fromHex(range!), atMs: now },
        ...{ kind: entryKind.expire, version: Number(ttl) * 1000 },
      }))
      logs.append(id, entries)
      await commit(...logs.statements)
      return removed!.count
    })
  }

  /** Several processes may find the same rows: each removes those that are left, or looks again. */
  async #sweepByTable(before: number, rowsMax: number, now: number): Promise<number> {
    const { db } = this.#options
    for (let poll = 1; poll <= sweepPollsMax; poll++) {
      let found: Row[]
      try {
        found = (await db.read(noOrg, bind(findExpired, before, rowsMax)))[0]!.rows
      } catch (error) {
        return this.#sweepSomeTables(before, rowsMax, now, error)
      }
      if (found.length === 0) return 0
      let removed = 0
      for (const [tableId, rows] of Map.groupBy(found, ([id]) => id!)) {
        const hasFiles = rows.some(([, isFile]) => isFile === 't')
        removed += await this.#sweepTable(tableId, hasFiles, before, rows.length, now)
      }
      if (removed > 0) return removed
    }
    return 0
  }

  /** Sweeps tables in the order of their ids, while a server cannot be reached. */
  async #sweepSomeTables(before: number, rowsMax: number, now: number, error: unknown): Promise<number> {
    const { db } = this.#options
    const [found] = await db.read(noOrg, bind(tablesToSweep, this.#lastTableId, tablesAskedMax))
    db.requirePart(error)
    const endsAt = performance.now() + tablesAskedMs
    let removed = 0
    for (const [id, kind] of found!.rows) {
      removed += await this.#sweepTable(id!, kind === 'bucket', before, rowsMax - removed, now)
      this.#lastTableId = Number(id)
      if (removed >= rowsMax || performance.now() >= endsAt) return removed
    }
    if (found!.rows.length < tablesAskedMax) this.#lastTableId = 0
    return removed
  }

  async #sweepTable(tableId: string, hasFiles: boolean, before: number, rowsMax: number, now: number): Promise<number> {
    const { db } = this.#options
    const removed = await db.reach(async () =>
      hasFiles
        ? this.#sweepBucket(tableId, [tableId, before, Math.min(rowsMax, bucketStepRows)], deadUntilMs(now))
        : this.#sweepRecords(tableId, before, rowsMax, now),
    )
    return removed ?? 0
  }

  async #sweepRecords(tableId: string, before: number, rowsMax: number, now: number): Promise<number> {
    const removing = bind(removals.table, tableId, before, rowsMax)
    try {
      const [removed] = await this.#options.db.write(noOrg, removing, bind(requirePlain, tableId))
      return removed!.count
    } catch (error) {
      if (!isRaised(error)) throw error
      return this.#sweepLogged(tableId, before, rowsMax, now)
    }
  }

  #sweepBucket(tableId: string, values: Value[], dueMs: number): Promise<number> {
    return this.#options.db.transaction(noOrg, async ({ send, commit }) => {
      const [removed] = await send(bind(removals.bucket, ...values))
      await commit(...deadStatements(tableId, removed!.rows, dueMs))
      return removed!.count
    })
  }

  /**
   * Removes some rows of the table, bucket or task that was deleted first, and its own row last. Another process takes another
   * table.
   */
  async purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    const now = await this.#now(nowMs)
    const before = now - recoveryMs - sweepGraceMs
    return this.#purgeOne(this.#postponed.tables, async ({ send, commit }, take) => {
      const [id, kind] = await take(takeTable, before)
      if (id == null) return 0
      return this.#purgeTable({ send, commit }, id, kind as PurgedKind, now, rowsMax, bind(markPurging, id))
    })
  }

  /**
   * Skips a table or organization for a while if its server cannot be reached. The failed attempt counts as one removed row.
   */
  async #purgeOne(
    postponed: Postponed,
    purge: (transaction: Transaction, take: (statement: Statement, before: number) => Promise<Row>) => Promise<number>,
  ): Promise<number> {
    const { db } = this.#options
    let takenId: string | null | undefined
    try {
      return await db.transaction(noOrg, (transaction) =>
        purge(transaction, async (statement, before) => {
          const [taken] = await transaction.send(bind(statement, before, bigintArray(postponed.ids)))
          const row = taken!.rows[0] ?? []
          takenId = row[0]
          return row
        }),
      )
    } catch (error) {
      if (takenId == null) throw error
      db.requirePart(error)
      postponed.add(Number(takenId))
      return 1
    }
  }

  /** Purges a table whose row is locked, and which nobody can restore. */
  async #purgeTable(
    { send, commit }: Transaction,
    id: string,
    kind: PurgedKind,
    now: number,
    rowsMax: number,
    ...before: BoundStatement[]
  ): Promise<number> {
    const { rows, any, more, alsoLast } = purges[kind]
    const steps = [bind(rows, id, rowsMax), bind(any, id), ...more.map((statement) => bind(statement, id, rowsMax))]
    const [removed, left, ...others] = (await send(...before, ...steps)).slice(before.length)
    const dead = deadStatements(id, removed!.rows, deadUntilMs(now))
    const count = others.reduce((sum, other) => sum + other.count, removed!.count)
    if (left!.rows.length > 0 || others.some((other) => other.count === rowsMax)) {
      await commit(...dead)
      return count
    }
    await commit(...dead, ...alsoLast.map((statement) => bind(statement, id)), bind(removeTable, id))
    return count + 1
  }

  /**
   * Takes the organization that was deleted first, and removes its tables, then its keys of both kinds, then its own row. Another process
   * takes another organization.
   */
  async purgeOrganizations(nowMs: number, rowsMax: number): Promise<number> {
    const now = await this.#now(nowMs)
    const before = now - recoveryMs - sweepGraceMs
    return this.#purgeOne(this.#postponed.organizations, async ({ send, commit }, take) => {
      const [id] = await take(organizations.takeOrganization, before)
      if (id == null) return 0
      const [, ...found] = await send(
        bind(organizations.markPurging, id),
        ...organizations.takeTables.map((statement) => bind(statement, id)),
        ...organizations.anyTables.map((statement) => bind(statement, id)),
      )
      const rows = found.flatMap((result) => result!.rows)
      const table = rows.find(([, kind]) => kind !== null)
      if (table !== undefined) {
        return this.#purgeTable({ send, commit }, table[0]!, table[1] as PurgedKind, now, rowsMax)
      }
      // Another process purges the ones that are left: the next round finds the rest.
      if (rows.length > 0) return 0
      const removed = await send(
        bind(organizations.removeKeys, id, rowsMax),
        bind(organizations.removeIdempotencyKeys, id, rowsMax),
        bind(organizations.removeRevocations, id, rowsMax),
      )
      const isLast = removed.every(({ count }) => count < rowsMax)
      const last = [bind(organizations.removeIssuers, id), bind(organizations.removeOrganization, id)]
      await commit(...(isLast ? last : []))
      return removed.reduce((sum, { count }) => sum + count, 1)
    })
  }

  async sweepIdempotencyKeys(
    nowMs: number,
    rowsMax: number,
    keysMax = idempotencyKeysMax,
    keysOfUserMax = idempotencyKeysOfUserMax,
  ): Promise<number> {
    return this.#idempotencyKeys.step(await this.#now(nowMs), rowsMax, keysMax, keysOfUserMax)
  }

  /** Several processes sweep at once: each skips the rows that another one has locked. */
  async sweepRevocations(nowMs: number, rowsMax: number): Promise<number> {
    const beforeMs = (await this.#now(nowMs)) - revocationMs - sweepGraceMs
    return this.#options.db.transaction(noOrg, async ({ send, commit }) => {
      const [removed] = await send(bind(removeOldRevocations, beforeMs, rowsMax))
      const { rows, count } = removed!
      if (count === 0) return 0
      const [sweptEpoch, sweptAtMs] = [0, 1].map((column) => Math.max(...rows.map((row) => Number(row[column]))))
      await commit(bind(raiseUserEpochs, ...epochValues({ epoch: 0, sweptEpoch: sweptEpoch!, sweptAtMs: sweptAtMs! })))
      return count
    })
  }

  async sweepChanges(nowMs: number, rowsMax: number): Promise<number> {
    return this.#changes.step(await this.#now(nowMs), rowsMax)
  }

  get changesKept(): number | undefined {
    return this.#changes.kept
  }

  /** The database has checksums of its own. A start warns when they are off. */
  async addChecksums(): Promise<number> {
    return 0
  }

  check(notes: CheckNotes = {}): AsyncIterable<string> {
    const { openLongSession, namesManyTables } = this.#options
    return checkStore(openLongSession, namesManyTables, notes)
  }
}
