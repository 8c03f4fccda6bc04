import { nowSeconds } from '../../core/expiry.ts'
import { recoveryMs, sweepGraceMs } from '../../core/limits.ts'
import { bytesOfHex } from './bytes.ts'
import { type Database, noOrg } from './database.ts'
import type { Statement, Step } from './driver.ts'

const step = (statement: Statement, ...values: Step['values']): Step => ({ statement, values })

const databaseClock: Statement = {
  name: 'clock',
  text: 'select floor(extract(epoch from now()) * 1000)::bigint',
}

// Several processes sweep at once: each skips the rows that another has in hand.
const sweepInOne: Statement = {
  name: 'sweep',
  text: `delete from cubby_records as r using (
      select e.table_id, e.hash_key, e.range_key from cubby_records e where e.ttl <= $1::bigint
      order by e.ttl limit $2::bigint for update skip locked
    ) as x where r.table_id = x.table_id and r.hash_key = x.hash_key and r.range_key = x.range_key`,
}

const findExpired: Statement = {
  name: 'find_expired',
  text: `select e.table_id, e.hash_key, e.range_key from cubby_records e where e.ttl <= $1::bigint
    order by e.ttl limit $2::bigint`,
}

const removeExpired: Statement = {
  name: 'remove_expired',
  text: `delete from cubby_records as r
    where r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea and r.ttl <= $4::bigint`,
}

const takeTable: Statement = {
  name: 'take_table',
  text: `select t.id from cubby_tables t where t.deleted_at <= $1::bigint order by t.deleted_at limit 1
    for update skip locked`,
}

// Marked first: should a clock step back, a table that has lost rows must not be restored.
const markPurging: Statement = {
  name: 'mark_purging',
  text: 'update cubby_tables set purging = true where id = $1::bigint and not purging',
}

const removeRows: Statement = {
  name: 'remove_rows',
  text: `delete from cubby_records as r using (
      select e.hash_key, e.range_key from cubby_records e where e.table_id = $1::bigint limit $2::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key`,
}

const removeTable: Statement = {
  name: 'remove_table',
  text: `delete from cubby_tables where id = $1::bigint
    and not exists (select 1 from cubby_records r where r.table_id = $1::bigint)`,
}

export interface UpkeepOptions {
  db: Database
  /** Whose now it is: a process whose clock runs ahead must not remove what the database holds live. */
  clock: 'database' | 'caller'
  inOneStatement: boolean
}

export class Upkeep {
  readonly #options: UpkeepOptions

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  async #now(nowMs: number): Promise<number> {
    if (this.#options.clock === 'caller') return nowMs
    const [result] = await this.#options.db.read(noOrg, step(databaseClock))
    return Math.min(nowMs, Number(result!.rows[0]![0]))
  }

  async sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    const { db, inOneStatement } = this.#options
    const before = nowSeconds((await this.#now(nowMs)) - sweepGraceMs)
    if (inOneStatement) return (await db.write(noOrg, step(sweepInOne, before, rowsMax)))[0]!.count
    return this.#sweepOneByOne(before, rowsMax)
  }

  /** Where several processes pick the same rows, each removes what the other has not; then it looks for more. */
  async #sweepOneByOne(before: number, rowsMax: number): Promise<number> {
    const { db } = this.#options
    for (;;) {
      const [found] = await db.read(noOrg, step(findExpired, before, rowsMax))
      if (found!.rows.length === 0) return 0
      let removed = 0
      for (const [tableId, hashKey, rangeKey] of found!.rows) {
        const key = [bytesOfHex(hashKey!), bytesOfHex(rangeKey!)]
        removed += (await db.write(noOrg, step(removeExpired, tableId!, ...key, before)))[0]!.count
      }
      if (removed > 0) return removed
    }
  }

  /** Some rows of the table that has waited longest; its own row goes last. Another process takes another table. */
  async purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    const before = (await this.#now(nowMs)) - recoveryMs - sweepGraceMs
    return this.#options.db.transaction(noOrg, async ({ send, commit }) => {
      const [taken] = await send(step(takeTable, before))
      const id = taken!.rows[0]?.[0]
      if (id == null) return 0
      const [, removed] = await send(step(markPurging, id), step(removeRows, id, rowsMax))
      if (removed!.count >= rowsMax) {
        await commit()
        return removed!.count
      }
      const [table] = await commit(step(removeTable, id))
      return removed!.count + table!.count
    })
  }
}
