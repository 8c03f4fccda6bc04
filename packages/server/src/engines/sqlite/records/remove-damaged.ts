import { takeChecksum } from '../../../core/records/checksum.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import { slots } from '../../../core/tables/indices.ts'
import type { Connection } from '../connection.ts'
import { isDamage } from '../disk/damage.ts'
import { ownSqlOf } from '../migrations/check-schema.ts'

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
 * Removes a damaged row, in the transaction that is open on `db`. Returns the version that the row had, if the index by
 * time still has it.
 */
export const removeDamaged = (db: Connection, tableId: number, id: number): number | undefined => {
  const row = readRow(db, id)
  const version = isIndexed(db, byTime, id, row) ? (row.updated_at as number) : findVersion(db, tableId, id)
  removeRow(db, id, row)
  return version
}

const readRow = (db: Connection, id: number): Row => db.one<Row>(`SELECT ${columns} FROM records WHERE id = ?1`, id)!

/**
 * SQLite looks for the index entries of a row by the values in the row, and does not remove a row whose entries it does
 * not find. So an index whose value in the row has changed is dropped first and created again without the row, which takes
 * one to two seconds per million records. REINDEX is not enough: the changed key can equal that of another record, and the
 * index of keys is unique.
 */
const removeRow = (db: Connection, id: number, row = readRow(db, id)): void => {
  const wrong = indexes.filter((index) => !isIndexed(db, index, id, row)).map(({ name }) => name)
  const remake = wrong.map(ownSqlOf)
  for (const name of wrong) db.run(`DROP INDEX ${name}`)
  db.change('DELETE FROM records WHERE id = ?1', id)
  for (const sql of remake) db.run(sql)
}

/**
 * Removes expired or purged rows and returns how many. If one of them is damaged, the rows that `mayRemove` allows are
 * removed one by one: a single statement would fail, and so would every later sweep.
 */
export const removeRows = (db: Connection, ids: number[], mayRemove = (_id: number): boolean => true): number => {
  const list = JSON.stringify(ids)
  // The index of keys is unique: SQLite removes the entry for the key in the row, even if it belongs to another row.
  const changed = `SELECT 1 FROM records AS r WHERE id IN (SELECT value FROM json_each(?1)) AND NOT EXISTS (
      SELECT 1 FROM records AS x INDEXED BY records_by_key
      WHERE x.table_id = r.table_id AND x.hash_key = r.hash_key AND x.range_key = r.range_key AND x.id = r.id
    ) LIMIT 1`
  if (db.one(changed, list) === undefined) {
    db.run('SAVEPOINT removal')
    try {
      const changes = db.change('DELETE FROM records WHERE id IN (SELECT value FROM json_each(?1))', list)
      db.run('RELEASE removal')
      return changes
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    db.run('ROLLBACK TO removal')
    db.run('RELEASE removal')
  }
  const removable = ids.filter(mayRemove)
  for (const id of removable) removeRow(db, id)
  return removable.length
}

/** Tells whether a row that an index lists for the table belongs to it, by its own table id or by its checksum. */
export const belongsTo = (db: Connection, tableId: number, id: number): boolean => {
  const row = db.one<StoredRecord & { tableId: number }>(
    `SELECT table_id AS tableId, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
       updated_at AS updatedAtMs, ttl AS ttlSeconds, data
     FROM records WHERE id = ?1`,
    id,
  )
  return row !== undefined && (row.tableId === tableId || takeChecksum(tableId, row) === 'intact')
}

// These read only the indexes: the row cannot be trusted.

const findVersion = (db: Connection, tableId: number, id: number): number | undefined =>
  db.one<{ updated_at: number }>(
    'SELECT updated_at FROM records INDEXED BY records_by_time WHERE table_id = ?1 AND id = ?2',
    ...[tableId, id],
  )?.updated_at

/** Tells whether the index has the entry that the row's values call for; if they call for none, whether it has none. */
const isIndexed = (db: Connection, { name, columns, sparseBy }: Index, id: number, row: Row): boolean => {
  const find = (where: string, ...values: Value[]): boolean =>
    db.one(`SELECT 1 FROM records INDEXED BY ${name} WHERE ${where} AND id = ?1`, id, ...values) !== undefined
  if (sparseBy !== undefined && row[sparseBy] === null) return !find(`${sparseBy} IS NOT NULL`)
  const equal = columns.map((column, i) => `${column} = ?${i + 2}`)
  return find(equal.join(' AND '), ...columns.map((column) => row[column]!))
}
