import { entryKind, type LogEntry, type LogPlace, markOf } from '../../../core/changes/log-entry.ts'
import { CubbyError } from '../../../core/errors.ts'
import { changesLookedAtMax, pageBytesMax } from '../../../core/limits.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { Change, Changes, ChangesPage, ChangesToRead } from '../../../store/changes.ts'
import type { Table } from '../../../store/tables.ts'
import { damageHint } from '../disk/damage.ts'
import type { OpenStore } from '../open-store.ts'
import { damagedRecord } from '../records/row-check.ts'

export interface EntryRow extends LogEntry {
  checksum: number
}

export const entryColumns = `seq, at AS atMs, kind, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
  version, checksum`

/** An entry with the record that has its key, if there is one. */
interface ReadRow extends EntryRow {
  id: number | null
  updatedAtMs: number
  ttlSeconds: number | null
  /** Null if the record was written again since, or if it is long and its data is not wanted. */
  data: string | null
}

/** Longer data is not read if it is not wanted: see `isConfirmed`. */
const comparedBytesMax = 4_096

/** The parameters: ?1 the table, ?2 and ?3 the numbers between which it reads, ?4 the hash key. */
const readSql = (withData: boolean, withHash: boolean): string => `
  SELECT ${entryColumns.replaceAll(/\b(at|hash_key|range_key)\b(?= AS)/g, 'c.$1')}, r.id, r.updated_at AS updatedAtMs,
    r.ttl AS ttlSeconds, CASE WHEN r.updated_at = c.version ${
      withData ? '' : `AND octet_length(r.data) <= ${comparedBytesMax}`
    } THEN r.data END AS data
  FROM changes c LEFT JOIN records r INDEXED BY records_by_key
    ON c.kind = ${entryKind.put} AND r.table_id = c.table_id AND r.hash_key = c.hash_key AND r.range_key = c.range_key
  WHERE c.table_id = ?1 AND c.seq > ?2 AND c.seq <= ?3 ${withHash ? 'AND c.hash_key = CAST(?4 AS BLOB)' : ''}
  ORDER BY c.seq`

const damagedLog = ({ name }: Table): CubbyError =>
  new CubbyError('store_damaged', `The store is damaged: the log of changes of ${name} is not as it was written.`, {
    hint: damageHint,
  })

export const sqliteChanges = (store: OpenStore): Changes => {
  const { db } = store
  const entryAt = db.prepare<EntryRow, [number, number]>(
    `SELECT ${entryColumns} FROM changes WHERE table_id = ?1 AND seq = ?2`,
  )
  const newest = db.prepare<EntryRow, [number]>(
    `SELECT ${entryColumns} FROM changes WHERE table_id = ?1 ORDER BY seq DESC LIMIT 1`,
  )
  const byTime = db.prepare<unknown, [number, number, number]>(
    'SELECT 1 FROM records INDEXED BY records_by_time WHERE table_id = ?1 AND updated_at = ?2 AND id = ?3',
  )
  const byTtl = db.prepare<unknown, [number, number]>(
    'SELECT 1 FROM records INDEXED BY records_by_ttl WHERE ttl = ?1 AND id = ?2',
  )
  const statements = [false, true].map((withData) =>
    [false, true].map((withHash) => db.prepare<ReadRow, (number | string)[]>(readSql(withData, withHash))),
  )

  const placeOf = (table: Table, row: EntryRow): LogPlace => {
    if (markOf(row) !== row.checksum) throw damagedLog(table)
    return { seq: row.seq, mark: row.checksum }
  }
  const headOf = (table: Table): LogPlace => {
    const row = newest.get(table.id)
    if (row === null) throw damagedLog(table)
    return placeOf(table, row)
  }
  const placeAt = (table: Table, seq: number): LogPlace | undefined => {
    const row = entryAt.get(table.id, seq)
    return row === null ? undefined : placeOf(table, row)
  }

  /** Only the indexes can tell whether the version and ttl of a record are as they were written, if its data is not read. */
  const confirm = ({ id: tableId }: Table, { id, updatedAtMs, ttlSeconds, hashKey, rangeKey }: ReadRow): void => {
    const isConfirmed =
      byTime.get(tableId, updatedAtMs, id!) !== null && (ttlSeconds === null || byTtl.get(ttlSeconds, id!) !== null)
    if (!isConfirmed) throw damagedRecord({ hashKey, rangeKey })
  }

  /** Undefined if a later entry tells what became of the record. */
  const putOf = (table: Table, row: ReadRow, place: LogPlace, nowMs: number): Change | undefined => {
    if (row.id === null) return undefined
    const { hashKey, rangeKey, updatedAtMs, ttlSeconds, data } = row
    if (data === null) confirm(table, row)
    if (updatedAtMs !== row.version) return undefined
    const key = { hashKey, rangeKey }
    const record = { ...key, ttlSeconds, updatedAtMs, data: data ?? '' }
    if (data !== null) store.rowCheck.take(table.id, record)
    if (isExpired(ttlSeconds, nowMs))
      return { ...place, op: 'delete', key, deletedAtMs: ttlSeconds! * 1000, isExpired: true }
    return { ...place, op: 'put', record }
  }

  const read = (table: Table, request: ChangesToRead, nowMs: number): ChangesPage | undefined => {
    const { after, seen, hash, withData, changesMax } = request
    const from = placeAt(table, after)
    const known = seen.seq === after ? from : placeAt(table, seen.seq)
    if (from === undefined || known?.mark !== seen.mark) return undefined
    const page: ChangesPage = { changes: [], place: from, head: headOf(table) }
    if (changesMax === 0) return page
    const to = Math.min(after + changesLookedAtMax, page.head.seq)
    const bounds = hash === undefined ? [table.id, after, to] : [table.id, after, to, hash]
    let characters = 0
    for (const row of statements[withData ? 1 : 0]![hash === undefined ? 0 : 1]!.iterate(...bounds)) {
      const place = placeOf(table, row)
      // Numbers have no gaps: an entry is missing.
      if (hash === undefined && row.seq !== page.place.seq + 1) throw damagedLog(table)
      page.place = place
      const change = changeOf(table, row, place, nowMs)
      if (change === undefined) continue
      page.changes.push(change)
      if (row.data !== null) characters += row.data.length
      if (page.changes.length >= changesMax || characters >= pageBytesMax) return page
    }
    if (page.place.seq < to) {
      if (hash === undefined) throw damagedLog(table)
      page.place = to === page.head.seq ? page.head : (placeAt(table, to) ?? page.place)
    }
    return page
  }

  const changeOf = (table: Table, row: ReadRow, place: LogPlace, nowMs: number): Change | undefined => {
    if (row.kind === entryKind.put) return putOf(table, row, place, nowMs)
    if (row.kind === entryKind.begin) return undefined
    const key: RecordKey = { hashKey: row.hashKey, rangeKey: row.rangeKey }
    return { ...place, op: 'delete', key, deletedAtMs: row.version, isExpired: row.kind === entryKind.expire }
  }

  return {
    head: (table) => store.read(() => headOf(table)),
    read: (table, request, nowMs) => store.read(() => read(table, request, nowMs)),
    follow: (table, noted) => store.followers.follow(table.id, noted),
  }
}
