import { slots } from '../../../core/tables/indices.ts'
import type { Connection } from '../connection.ts'

type Value = number | string | Uint8Array | null
type Row = Record<string, Value>

interface Index {
  name: string
  columns: string[]
  /** Rows in which this column is null are not in the index. */
  sparseBy?: string
}

const byTime: Index = { name: 'records_by_time', columns: ['table_id', 'updated_at'] }

const indexes: Index[] = [
  { name: 'records_by_key', columns: ['table_id', 'hash_key', 'range_key'] },
  byTime,
  { name: 'records_by_ttl', columns: ['ttl'], sparseBy: 'ttl' },
  ...slots.map((slot) => ({
    name: `records_by_${slot}`,
    columns: ['table_id', `${slot}_hash`, `${slot}_range`],
    sparseBy: `${slot}_hash`,
  })),
]

const columns = [...new Set(indexes.flatMap((index) => index.columns))].join(', ')

/**
 * Removes a damaged row, in the transaction that is open on `db`. SQLite looks for the index entries of a row by the
 * values in the row, and does not remove a row whose entries it does not find. So an index whose value in the row has
 * changed is rebuilt first, which takes about a second for a million records. Returns the version that the row had, if
 * the index by time still has it.
 */
export const removeDamaged = (db: Connection, tableId: number, id: number): number | undefined => {
  const row = db.prepare<Row, [number]>(`SELECT ${columns} FROM records WHERE id = ?1`).get(id)!
  const version = isIndexed(db, byTime, id, row) ? (row.updated_at as number) : findVersion(db, tableId, id)
  for (const index of indexes) if (!isIndexed(db, index, id, row)) db.run(`REINDEX ${index.name}`)
  db.prepare<unknown, [number]>('DELETE FROM records WHERE id = ?1').run(id)
  return version
}

// These read only the indexes: the row cannot be trusted.

const findVersion = (db: Connection, tableId: number, id: number): number | undefined =>
  db
    .prepare<{ updated_at: number }, [number, number]>(
      'SELECT updated_at FROM records INDEXED BY records_by_time WHERE table_id = ?1 AND id = ?2',
    )
    .get(tableId, id)?.updated_at

/** Whether the index has the entry that the row's values call for; if they call for none, whether it has none. */
const isIndexed = (db: Connection, { name, columns, sparseBy }: Index, id: number, row: Row): boolean => {
  const find = (where: string, ...values: Value[]): boolean =>
    db.prepare(`SELECT 1 FROM records INDEXED BY ${name} WHERE ${where} AND id = ?1`).get(id, ...values) !== null
  if (sparseBy !== undefined && row[sparseBy] === null) return !find(`${sparseBy} IS NOT NULL`)
  const equal = columns.map((column, i) => `${column} = ?${i + 2}`)
  return find(equal.join(' AND '), ...columns.map((column) => row[column]!))
}
