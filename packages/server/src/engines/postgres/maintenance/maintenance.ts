import { recoveryMs, sweepGraceMs } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import type { CheckNotes, Maintenance } from '../../../store/maintenance.ts'
import { type Database, noOrg } from '../connection/database.ts'
import type { Session, Statement, Step } from '../connection/driver.ts'
import { checkStore } from './check.ts'

const step = (statement: Statement, ...values: Step['values']): Step => ({ statement, values })

const databaseClock: Statement = {
  name: 'clock',
  text: 'select floor(extract(epoch from now()) * 1000)::bigint',
}

// Several processes sweep at once: each skips the rows that another one has locked.
const sweepInOne: Statement = {
  name: 'sweep',
  text: `delete from cubby_record as r using (
      select e.table_id, e.hash_key, e.range_key from cubby_record e where e.ttl <= $1::bigint
      order by e.ttl limit $2::bigint for update skip locked
    ) as x where r.table_id = x.table_id and r.hash_key = x.hash_key and r.range_key = x.range_key`,
}

/** A row for each expired record: the id of its table. */
const findExpired: Statement = {
  name: 'find_expired',
  text: 'select e.table_id from cubby_record e where e.ttl <= $1::bigint order by e.ttl limit $2::bigint',
}

const removeExpired: Statement = {
  name: 'remove_expired',
  text: `delete from cubby_record as r using (
      select e.hash_key, e.range_key from cubby_record e where e.table_id = $1::bigint and e.ttl <= $2::bigint
      order by e.ttl limit $3::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key and r.ttl <= $2::bigint`,
}

const takeTable: Statement = {
  name: 'take_table',
  text: `select t.id from cubby_table t where t.deleted_at <= $1::bigint order by t.deleted_at limit 1
    for update skip locked`,
}

// Marked first: if a clock steps back, a table that has lost rows must not be restored.
const markPurging: Statement = {
  name: 'mark_purging',
  text: 'update cubby_table set purging = true where id = $1::bigint and not purging',
}

const removeRows: Statement = {
  name: 'remove_rows',
  text: `delete from cubby_record as r using (
      select e.hash_key, e.range_key from cubby_record e where e.table_id = $1::bigint limit $2::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key`,
}

const anyRow: Statement = {
  name: 'any_row',
  text: 'select 1 from cubby_record r where r.table_id = $1::bigint limit 1',
}

const removeTable: Statement = { name: 'remove_table', text: 'delete from cubby_table where id = $1::bigint' }

/** How often a sweep looks again after other processes removed what it found. */
const sweepLooksMax = 10

export interface MaintenanceOptions {
  db: Database
  /** Which clock: a process whose clock runs ahead must not remove what is live by the database's clock. */
  clock: 'database' | 'caller'
  /** See `Dialect`. */
  namesManyTables: boolean
  openLongSession(): Promise<Session>
}

export class PostgresMaintenance implements Maintenance {
  readonly #options: MaintenanceOptions

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  async #now(nowMs: number): Promise<number> {
    if (this.#options.clock === 'caller') return nowMs
    const [result] = await this.#options.db.read(noOrg, step(databaseClock))
    return Math.min(nowMs, Number(result!.rows[0]![0]))
  }

  async sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    const { db, namesManyTables } = this.#options
    const before = nowSeconds((await this.#now(nowMs)) - sweepGraceMs)
    if (namesManyTables) return (await db.write(noOrg, step(sweepInOne, before, rowsMax)))[0]!.count
    return this.#sweepByTable(before, rowsMax)
  }

  /** Several processes may find the same rows: each removes those that are left, or looks again. */
  async #sweepByTable(before: number, rowsMax: number): Promise<number> {
    const { db } = this.#options
    for (let look = 1; look <= sweepLooksMax; look++) {
      const [found] = await db.read(noOrg, step(findExpired, before, rowsMax))
      if (found!.rows.length === 0) return 0
      const rowsOfTable = new Map<string, number>()
      for (const [tableId] of found!.rows) rowsOfTable.set(tableId!, (rowsOfTable.get(tableId!) ?? 0) + 1)
      let removed = 0
      for (const [tableId, rows] of rowsOfTable) {
        removed += (await db.write(noOrg, step(removeExpired, tableId, before, rows)))[0]!.count
      }
      if (removed > 0) return removed
    }
    return 0
  }

  /** Removes some rows of the table that was deleted first, and its own row last. Another process takes another table. */
  async purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    const before = (await this.#now(nowMs)) - recoveryMs - sweepGraceMs
    return this.#options.db.transaction(noOrg, async ({ send, commit }) => {
      const [taken] = await send(step(takeTable, before))
      const id = taken!.rows[0]?.[0]
      if (id == null) return 0
      const [, removed, left] = await send(step(markPurging, id), step(removeRows, id, rowsMax), step(anyRow, id))
      if (left!.rows.length > 0) {
        await commit()
        return removed!.count
      }
      const [table] = await commit(step(removeTable, id))
      return removed!.count + table!.count
    })
  }

  /** The database has checksums of its own; a start warns when they are off. */
  async addChecksums(): Promise<number> {
    return 0
  }

  check(notes: CheckNotes = {}): AsyncIterable<string> {
    const { openLongSession, namesManyTables } = this.#options
    return checkStore(openLongSession, namesManyTables, notes.table)
  }
}
