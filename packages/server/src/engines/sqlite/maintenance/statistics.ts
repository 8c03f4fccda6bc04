import type { TimeScan } from '../../../core/records/scan.ts'
import type { SizePage, Statistics } from '../../../store/statistics.ts'
import type { Table } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'

/** Of the checksum behind each stored text: see core/records/checksum.ts. */
const checksumBytes = 6

/** How many random ids an estimate looks up. */
const samples = 4_000

/** How many of the random ids were of each table, and how many ids were ever given. */
interface Sample {
  hits: Map<number, number>
  ids: number
}

const sampledRecords = {
  lastId: "SELECT value - 1 AS value FROM meta WHERE name = 'next_record_id'",
  find: 'SELECT table_id AS tableId FROM records WHERE id = ?1',
}
const sampledRuns: SampledRows = {
  lastId: "SELECT seq AS value FROM sqlite_sequence WHERE name = 'runs'",
  find: 'SELECT task_id AS tableId FROM runs WHERE seq = ?1',
}
type SampledRows = typeof sampledRecords

/** `octet_length` reads no overflow pages. The data of a file begins with its size: see `fileData`. */
const sizes = {
  table: `octet_length(hash_key) + octet_length(range_key) + octet_length(data) - ${checksumBytes}`,
  bucket: `CAST(substr(data, ${'{"size":'.length + 1}, 20) AS INTEGER)`,
  task: `octet_length(payload) + coalesce(octet_length(result) - ${checksumBytes}, 0) - ${checksumBytes}`,
}

const rowsOf = (kind: Table['kind'], descending: boolean): string => {
  const [from, owner, id] =
    kind === 'task'
      ? ['runs INDEXED BY runs_by_time', 'task_id', 'seq']
      : ['records INDEXED BY records_by_time', 'table_id', 'id']
  const bounds = descending
    ? `updated_at >= ?2 AND (updated_at, ${id}) < (?3, ?4) ORDER BY updated_at DESC, ${id} DESC`
    : `(updated_at, ${id}) > (?2, ?4) AND updated_at < ?3 ORDER BY updated_at, ${id}`
  return `FROM ${from} WHERE ${owner} = ?1 AND ${bounds}`
}

const sizeSql = (kind: Table['kind'], descending: boolean): string =>
  `SELECT count(*) AS rows, coalesce(sum(bytes), 0) AS bytes
   FROM (SELECT ${sizes[kind]} AS bytes ${rowsOf(kind, descending)} LIMIT ?5)`

/** The last row of the page. */
const endSql = (kind: Table['kind'], descending: boolean): string =>
  `SELECT updated_at AS range, ${kind === 'task' ? 'seq' : 'id'} AS id ${rowsOf(kind, descending)} LIMIT 1 OFFSET ?5`

export class SqliteStatistics implements Statistics {
  readonly #store: OpenStore
  readonly #samples = new Map<SampledRows, Sample>()

  constructor(store: OpenStore) {
    this.#store = store
  }

  size({ id, kind }: Table, { low, high, lowId, highId, descending }: TimeScan, rowsMax: number): SizePage {
    const bounds = [id, low, high, descending ? highId : lowId]
    const page = this.#store.all<{ rows: number; bytes: number }>(sizeSql(kind, descending), ...bounds, rowsMax)[0]!
    if (page.rows < rowsMax) return { ...page, next: undefined }
    const end = this.#store.all<{ range: number; id: number }>(endSql(kind, descending), ...bounds, rowsMax - 1)
    return { ...page, next: end[0] }
  }

  /**
   * SQLite keeps no statistics that are worth it. Ids of records are drawn from one counter, and those of runs from another, so
   * the share of random ids that belong to a table is its share of all ids.
   */
  estimateRows({ id, kind }: Table): number {
    const rows = kind === 'task' ? sampledRuns : sampledRecords
    const { hits, ids } = this.#samples.get(rows) ?? this.#draw(rows)
    return Math.round(((hits.get(id) ?? 0) / samples) * ids)
  }

  #draw(rows: SampledRows): Sample {
    const ids = this.#store.all<{ value: number }>(rows.lastId)[0]?.value ?? 0
    const hits = new Map<number, number>()
    const find = this.#store.db.prepare<{ tableId: number }, [number]>(rows.find)
    for (let i = 0; i < samples && ids > 0; i++) {
      const found = find.get(1 + Math.floor(Math.random() * ids))
      if (found !== null) hits.set(found.tableId, (hits.get(found.tableId) ?? 0) + 1)
    }
    const sample = { hits, ids }
    this.#samples.set(rows, sample)
    return sample
  }
}
