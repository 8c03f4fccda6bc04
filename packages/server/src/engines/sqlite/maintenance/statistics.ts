import type { Statistics } from '../../../store/statistics.ts'
import type { Table } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'

/** The checksum behind each stored text has this length: see core/records/checksum.ts. */
const checksumBytes = 6

/** An estimate looks up this many random ids. */
const samples = 4_000

interface Sample {
  /** The number of random ids that belong to each table. */
  hits: Map<number, number>
  /** The number of ids that were ever given. */
  ids: number
}

interface SampledRows {
  lastId: string
  find: string
}

const sampledRecords: SampledRows = {
  lastId: "SELECT value - 1 AS value FROM meta WHERE name = 'next_record_id'",
  find: 'SELECT table_id AS tableId FROM records WHERE id = ?1',
}
const sampledRuns: SampledRows = {
  lastId: "SELECT seq AS value FROM sqlite_sequence WHERE name = 'runs'",
  find: 'SELECT task_id AS tableId FROM runs WHERE seq = ?1',
}

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

const endOfLog = (end: 'min' | 'max'): string => `coalesce((SELECT ${end}(seq) FROM changes WHERE table_id = ?1), 0)`
const changesOfLog = `SELECT ${endOfLog('max')} - ${endOfLog('min')} AS changes`

export const sqliteStatistics = (store: OpenStore): Statistics => {
  const drawn = new Map<SampledRows, Sample>()
  const draw = (rows: SampledRows): Sample => {
    const ids = store.all<{ value: number }>(rows.lastId)[0]?.value ?? 0
    const hits = new Map<number, number>()
    for (let i = 0; i < samples && ids > 0; i++) {
      const found = store.db.one<{ tableId: number }>(rows.find, 1 + Math.floor(Math.random() * ids))
      if (found !== undefined) hits.set(found.tableId, (hits.get(found.tableId) ?? 0) + 1)
    }
    const sample = { hits, ids }
    drawn.set(rows, sample)
    return sample
  }
  return {
    size({ id, kind }, { low, high, lowId, highId, descending }, rowsMax) {
      const bounds = [id, low, high, descending ? highId : lowId]
      const page = store.all<{ rows: number; bytes: number }>(sizeSql(kind, descending), ...bounds, rowsMax)[0]!
      if (page.rows < rowsMax) return { ...page, next: undefined }
      const end = store.all<{ range: number; id: number }>(endSql(kind, descending), ...bounds, rowsMax - 1)
      return { ...page, next: end[0] }
    },

    /**
     * SQLite keeps no statistics that help here. Ids of records are drawn from one counter, and those of runs from another, so
     * the share of random ids that belong to a table is its share of all ids.
     */
    estimateRows({ id, kind }) {
      const rows = kind === 'task' ? sampledRuns : sampledRecords
      const { hits, ids } = drawn.get(rows) ?? draw(rows)
      return Math.round(((hits.get(id) ?? 0) / samples) * ids)
    },

    // The numbers of a log are without gaps, and its first entry is the place before its first change.
    countChanges: ({ id }) => store.all<{ changes: number }>(changesOfLog, id)[0]!.changes,
  }
}
