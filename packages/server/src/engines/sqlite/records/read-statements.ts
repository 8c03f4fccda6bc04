import type { Scan } from '../../../core/records/scan.ts'

// The statements that read pages and counts.

/** `keys`: without the data. */
export type ScanSelection = 'data' | 'keys'

/** Longer data is on pages of its own. It is not read if only the keys are wanted. */
const comparedBytesMax = 4_096

const isInTtlIndex = `EXISTS (
  SELECT 1 FROM records AS x INDEXED BY records_by_ttl WHERE x.ttl = records.ttl AND x.id = records.id)`

/**
 * Whether the row and the indexes agree on its keys, version and ttl. SQLite takes values that the scanned index has from
 * there, so the row is looked at again.
 */
const isConfirmed = `EXISTS (
    SELECT 1 FROM records AS r NOT INDEXED WHERE r.id = records.id AND r.table_id = records.table_id
      AND r.hash_key = records.hash_key AND r.range_key = records.range_key AND r.updated_at = records.updated_at)
  AND EXISTS (
    SELECT 1 FROM records AS k INDEXED BY records_by_key WHERE k.table_id = records.table_id
      AND k.hash_key = records.hash_key AND k.range_key = records.range_key AND k.id = records.id)
  AND EXISTS (
    SELECT 1 FROM records AS t INDEXED BY records_by_time
    WHERE t.table_id = records.table_id AND t.updated_at = records.updated_at AND t.id = records.id)
  AND (ttl IS NULL OR ${isInTtlIndex})`

// A row past its ttl is skipped without reading its data, so its checksum cannot be compared. If the index of ttls has an
// entry for it, the ttl is right. If not, damage may have changed the ttl, and the whole row must be read.
//
// If only the keys are wanted, short data is still read, for its checksum: it is on the same page as the keys, and
// looking them up in the indexes takes three times as long. For long data the indexes confirm keys, version and ttl.
const columnsOf = (select: ScanSelection): string => `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  CASE WHEN ttl <= ?1 THEN CASE WHEN ${isInTtlIndex} THEN id ELSE -id END ${
    select === 'data'
      ? 'ELSE data'
      : `WHEN octet_length(data) <= ${comparedBytesMax} THEN CAST(data AS TEXT) ELSE CASE WHEN ${isConfirmed} THEN id ELSE -id END`
  } END AS data`

// A row comparison resumes inside rows of equal range at the right id, and SQLite turns it into an index seek.
const between = (column: string, descending: boolean): string =>
  descending
    ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC`
    : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`

const rowsOf = (index: Scan['index'], descending: boolean): string => {
  if (index === 'primary') {
    return `hash_key = CAST(?3 AS BLOB) AND range_key >= ?4 AND range_key < ?5
      ORDER BY range_key${descending ? ' DESC' : ''}`
  }
  if (index === 't') return between('updated_at', descending)
  return `${index}_hash = CAST(?3 AS BLOB) AND ${between(`${index}_range`, descending)}`
}

/** ?1 now in seconds, ?2 the table, ?3 the hash, ?4 low, ?5 high; ?6 the id of the row comparison, not in `primary`. */
export const scanSql = (select: ScanSelection, index: Scan['index'], descending: boolean): string =>
  `SELECT ${columnsOf(select)} FROM records WHERE table_id = ?2 AND ${rowsOf(index, descending)}`

// Counts read no row, only the scanned index and that of ttls.

const liveIds = (index: Scan['index'], descending: boolean): string => `
  SELECT id FROM records
  WHERE table_id = ?2 AND id NOT IN (SELECT id FROM records INDEXED BY records_by_ttl WHERE ttl <= ?1)
    AND ${rowsOf(index, descending)}`

/** The parameters of a scan, and ?7: how many records are counted at most. */
export const countSql = (index: Scan['index'], descending: boolean): string =>
  `SELECT count(*) AS count FROM (${liveIds(index, descending)} LIMIT ?7)`

/** The same, and ?7: how many records come before it. */
export const nthIdSql = (index: Scan['index'], descending: boolean): string =>
  `${liveIds(index, descending)} LIMIT 1 OFFSET ?7`

/** The expired rows of all tables that the sweep has not removed yet: 0 to ?2. */
export const expiredRowsSql = `
  SELECT count(*) AS count FROM (SELECT 1 FROM records INDEXED BY records_by_ttl WHERE ttl <= ?1 LIMIT ?2)`

const byKey = 'table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)'
/** Reads only the index of keys. */
export const idSql = `SELECT id FROM records WHERE ${byKey}`

/** ?1 the id. */
export const inFullSql = `
  SELECT CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs,
    ttl AS ttlSeconds, data
  FROM records WHERE id = ?1`
