import type { Measures, ProcessMeasures, StoreMeasures } from '../../store/measures.ts'
import { type Database, noOrg } from './connection/database.ts'
import type { Statement } from './connection/driver.ts'
import type { Pool } from './connection/pool.ts'
import type { Dialect } from './dialect.ts'

// Each of these reads one entry of each index that it needs.
const firstExpiry: Statement = {
  name: 'first_expiry',
  text: `select r.ttl_seconds * 1000 from cubby_record_8 as r where r.ttl_seconds is not null
    order by r.ttl_seconds limit 1`,
}
const firstDeletedOf = (table: string): string =>
  `(select d.deleted_at_ms as ms from ${table} as d where d.deleted_at_ms is not null order by d.deleted_at_ms limit 1)`
const firstDeleted: Statement = {
  name: 'first_deleted',
  text: `${firstDeletedOf('cubby_table_8')} union all ${firstDeletedOf('cubby_organization_8')} order by ms limit 1`,
}
const firstDueBlob: Statement = {
  name: 'first_due_blob',
  text: `select b.due_at_ms from cubby_blob_8 as b where b.due_at_ms is not null order by b.due_at_ms limit 1`,
}

/** The size includes indexes and long values. The server adds the sizes of files and reads no file. */
const relationBytes: Statement = {
  name: 'relation_bytes',
  text: `select sum(pg_total_relation_size(c.oid)) from pg_class c
    where c.relkind = 'r' and c.relname like 'cubby\\_%' and pg_table_is_visible(c.oid)`,
}

export class PostgresMeasures implements Measures {
  readonly #db: Database
  readonly #pool: Pool
  readonly #isDistributed: boolean
  readonly #changesKept: () => number | undefined

  constructor(db: Database, pool: Pool, { distributesRecords }: Dialect, changesKept: () => number | undefined) {
    this.#db = db
    this.#pool = pool
    this.#isDistributed = distributesRecords
    this.#changesKept = changesKept
  }

  process(): ProcessMeasures {
    return this.#pool.load
  }

  async store(): Promise<StoreMeasures> {
    // The queries run one after another, so that a scrape takes one connection.
    const [firstExpiryMs, firstDeletedMs, firstDueBlobMs] = await this.#read(firstExpiry, firstDeleted, firstDueBlob)
    // Citus keeps the records elsewhere.
    const [storeBytes] = this.#isDistributed ? [] : await this.#read(relationBytes)
    const partLost = this.#isDistributed ? Number(this.#db.lostPart.isLost) : undefined
    return { storeBytes, firstExpiryMs, firstDeletedMs, firstDueBlobMs, partLost, changesKept: this.#changesKept() }
  }

  /** A value is undefined if there is nothing to measure. All are undefined if the database does not answer. */
  async #read(...statements: Statement[]): Promise<(number | undefined)[]> {
    try {
      const results = await this.#db.read(noOrg, ...statements.map((statement) => ({ statement, values: [] })))
      return results.map(({ rows }) => (rows[0]?.[0] == null ? undefined : Number(rows[0][0])))
    } catch {
      return []
    }
  }
}
