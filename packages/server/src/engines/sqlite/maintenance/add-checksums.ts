import { storedData, takeChecksum } from '../../../core/records/checksum.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import type { Connection } from '../connection.ts'
import { damaged, firstReadable, orDamage } from '../disk/damage.ts'

// Rows of version 0.1 have no checksum. Their ids are below `unchecked_end`; those below `unchecked_next` have got one.
// When all have one, both are removed, and after the next start a row without a checksum counts as damaged.

/** A step ends with the row that reaches this many bytes: whole rows are rewritten. */
const stepBytesMax = 1024 * 1024

/** A range of ids whose rows cannot be read. `to` is not among them. */
interface DamagedRows {
  from: number
  to: number
}

interface Row extends StoredRecord {
  id: number
  tableId: number
}

/** The first row with an id from ?1 to below ?2. */
const firstRow = `SELECT id, table_id AS tableId, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
    updated_at AS updatedAtMs, ttl AS ttlSeconds, data
  FROM records WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1`

const readMeta = (db: Connection, name: string): number | undefined =>
  db.one<{ value: number }>('SELECT value FROM meta WHERE name = ?1', name)?.value

const setMeta = (db: Connection, name: string, value: number): void => {
  db.change('INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)', name, value)
}

/** Tells whether the store may still have rows without a checksum. */
export const acceptsUnchecked = (db: Connection): boolean => readMeta(db, 'unchecked_next') !== undefined

/**
 * See `Maintenance.addChecksums`. It runs in the transaction that is open on `db`, so it must not read a damaged page:
 * after that no COMMIT succeeds. It stops before the `skipped` rows, or continues after them.
 */
export const addChecksums = (
  { db }: { db: Connection },
  { rowsMax, skipped }: { rowsMax: number; skipped?: DamagedRows },
): number => {
  let next = readMeta(db, 'unchecked_next') ?? 0
  const end = readMeta(db, 'unchecked_end') ?? 0
  if (next >= end) return 0
  if (skipped?.from === next) {
    // The skipped rows never get a checksum, so rows without one stay accepted.
    setMeta(db, 'unchecked_left', 1)
    next = skipped.to
  }
  const stop = skipped === undefined || skipped.from < next ? end : skipped.from
  let rows = 0
  for (let bytes = 0; rows < rowsMax && bytes < stepBytesMax && next < stop; rows++) {
    const row = db.one<Row>(firstRow, next, stop)
    if (row === undefined) next = stop
    else {
      if (takeChecksum(row.tableId, row) === 'unchecked') {
        db.change('UPDATE records SET data = ?2 WHERE id = ?1', row.id, storedData(row.tableId, row))
        bytes += row.data.length
      }
      next = row.id + 1
    }
  }
  if (next < end || readMeta(db, 'unchecked_left') !== undefined) setMeta(db, 'unchecked_next', next)
  else db.run(`DELETE FROM meta WHERE name IN ('unchecked_next', 'unchecked_end')`)
  return Math.max(1, rows)
}

/** Finds the rows at which the next step would fail. It needs a connection that only reads. */
export const findDamagedRows = (db: Connection, rowsMax: number): DamagedRows | undefined => {
  const end = readMeta(db, 'unchecked_end') ?? 0
  const read = (id: number) => orDamage(() => db.one<Row>(firstRow, id, end))
  let from = readMeta(db, 'unchecked_next') ?? end
  for (let rows = 0; rows < rowsMax; rows++) {
    const row = read(from)
    if (row === undefined) return undefined
    if (row === damaged) {
      const last = firstReadable(from - 1, (id) => read(id + 1) !== damaged)
      return { from, to: last === undefined ? end : last + 1 }
    }
    from = row.id + 1
  }
  return undefined
}
