import type { TimeScan } from '../../../core/records/scan.ts'
import type { SizePage, Statistics } from '../../../store/statistics.ts'
import type { Table } from '../../../store/tables.ts'
import { endsOfLog } from '../changes/statements.ts'
import { type Database, organization } from '../connection/database.ts'
import { bind, type Statement } from '../connection/driver.ts'

/** The length of data that is stored out of line is known without reading it. The data of a file begins with its size. */
const sizes = {
  table: 'octet_length(r.hash_key) + octet_length(r.range_key) + octet_length(r.data)',
  bucket: `substring(r.data from '^\\{"size":([0-9]+)')::bigint`,
  task: 'octet_length(r.payload) + coalesce(octet_length(r.result), 0)',
}

/**
 * $1 table, $2 rows at most, $3 low, $4 high, $5 the id of the row comparison. It returns one row: the number of rows, their
 * bytes, and the position of the last.
 */
const sizeOf = (kind: Table['kind'], descending: boolean): Statement => {
  const [from, owner, id] = kind === 'task' ? ['cubby_run_8', 'task_id', 'seq'] : ['cubby_record_8', 'table_id', 'id']
  const down = descending ? ' desc' : ''
  const bounds = descending
    ? `r.updated_at >= $3::bigint and (r.updated_at, r.${id}) < ($4::bigint, $5::bigint)`
    : `(r.updated_at, r.${id}) > ($3::bigint, $5::bigint) and r.updated_at < $4::bigint`
  return {
    name: `size_${kind}${descending ? '_down' : ''}`,
    text: `
      select count(*), coalesce(sum(w.bytes), 0), (array_agg(w.updated_at order by w.updated_at${down}, w.id${down}))[$2::int],
        (array_agg(w.id order by w.updated_at${down}, w.id${down}))[$2::int]
      from (
        select r.updated_at, r.${id} as id, ${sizes[kind]} as bytes from ${from} as r
        where r.${owner} = $1::bigint and ${bounds} order by r.updated_at${down}, r.${id}${down} limit $2::int
      ) as w`,
  }
}

const kinds = ['table', 'bucket', 'task'] as const
const statements = new Map(
  kinds.flatMap((kind) => [false, true].map((down) => [`${kind} ${down}`, sizeOf(kind, down)] as const)),
)

/**
 * Reads autovacuum's statistics: the share of the table among all rows, and their number. Only the largest tables are in them.
 */
const estimateOf = (relation: string, owner: string): Statement => ({
  name: `estimate_${relation}`,
  text: `
    select round(c.reltuples * f.share) from pg_class c
    join pg_stats s on s.tablename = c.relname and s.attname = '${owner}'
    cross join lateral unnest(s.most_common_vals::text::bigint[], s.most_common_freqs) as f (id, share)
    where c.relname = '${relation}' and pg_table_is_visible(c.oid) and s.schemaname = c.relnamespace::regnamespace::text
      and c.reltuples > 0 and f.id = $1::bigint`,
})
const estimateRecords = estimateOf('cubby_record_8', 'table_id')
const estimateRuns = estimateOf('cubby_run_8', 'task_id')

export class PostgresStatistics implements Statistics {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async size({ id, kind, orgId }: Table, scan: TimeScan, rowsMax: number): Promise<SizePage> {
    const { low, high, lowId, highId, descending } = scan
    const statement = statements.get(`${kind} ${descending}`)!
    const values = [id, rowsMax, low, high, descending ? highId : lowId]
    const [result] = await this.#db.read(organization(orgId), { statement, values })
    const [rows, bytes, range, last] = result!.rows[0]!
    const next = range == null ? undefined : { range: Number(range), id: Number(last) }
    return { rows: Number(rows), bytes: Number(bytes), next }
  }

  async estimateRows({ id, kind, orgId }: Table): Promise<number | undefined> {
    const statement = kind === 'task' ? estimateRuns : estimateRecords
    try {
      const [result] = await this.#db.read(organization(orgId), { statement, values: [id] })
      const rows = result!.rows[0]?.[0]
      return rows == null ? undefined : Number(rows)
    } catch {
      // Databases other than PostgreSQL have other statistics.
      return undefined
    }
  }

  /** The numbers of a log are without gaps, and its first entry is the place before its first change. */
  async countChanges({ id, orgId }: Table): Promise<number> {
    const [result] = await this.#db.read(organization(orgId), bind(endsOfLog, id))
    const [first, last] = [result!.rows[0], result!.rows.at(-1)]
    return first === undefined ? 0 : Number(last![0]) - Number(first[0])
  }
}
