import { pageExpiredRowsMax } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { PageMeter } from '../../../core/records/record-json.ts'
import { type Position, resumeScan, type Scan } from '../../../core/records/scan.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import type { Holder } from '../../../core/shares.ts'
import type { CountPage, Page } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { asBuffer, fromHex, toBytes } from '../connection/bytes.ts'
import type { Database } from '../connection/database.ts'
import type { Row, Statement, Value } from '../connection/driver.ts'
import { scanColumn as column, countColumn, countRecords, scanRecords } from './read-statements.ts'

/** The first statement of a page may skip this many expired rows. Few are there, because sweeps remove them. */
const firstExpiredRows = 250
/** Further statements may skip more, but each must stay fast. */
const nextExpiredRows = 4_000

/** There is one statement for each index and direction. */
const statementsOf = (make: (index: Scan['index'], descending: boolean) => Statement): Map<string, Statement> =>
  new Map(
    (['primary', 't', 'i1', 'i2', 'i3', 'i4', 'i5'] as const).flatMap((index) =>
      [false, true].map((descending) => [`${index} ${descending}`, make(index, descending)] as const),
    ),
  )

const pagesOf = (select: 'data' | 'keys'): Map<string, Statement> =>
  statementsOf((index, descending) => scanRecords(index, descending, select)).set(
    'walk false',
    scanRecords('walk', false, select),
  )

const statements = { data: pagesOf('data'), keys: pagesOf('keys'), count: statementsOf(countRecords) }

const boundsOf = (scan: Scan): Value[] => {
  const id = scan.descending ? scan.highId : scan.lowId
  if (scan.index === 't') return [scan.low, scan.high, id]
  if (scan.index === 'walk') return [asBuffer(scan.low), toBytes(scan.hash)]
  const bytes = [asBuffer(scan.low), asBuffer(scan.high)]
  return scan.index === 'primary' ? [...bytes, toBytes(scan.hash)] : [...bytes, id, toBytes(scan.hash)]
}

const positionOf = (scan: Scan, row: Row): Position => {
  const id = Number(row[column.id])
  if (scan.index === 't') return { range: Number(row[column.updatedAt]), id }
  if (scan.index === 'walk') return { range: fromHex(row[column.rangeKey]!), id, hash: fromHex(row[column.hashKey]!) }
  return { range: fromHex(row[scan.index === 'primary' ? column.rangeKey : column.position]!), id }
}

const recordOf = (scan: Scan, row: Row): StoredRecord => {
  const ttl = row[column.ttl]
  return {
    hashKey: scan.index === 'primary' ? scan.hash : fromHex(row[column.hashKey]!),
    rangeKey: fromHex(row[column.rangeKey]!),
    data: row[column.data]!,
    ttlSeconds: ttl == null ? null : Number(ttl),
    updatedAtMs: Number(row[column.updatedAt]),
  }
}

interface PageRequest {
  db: Database
  holder: Holder
  table: Table
  scan: Scan
  rowsMax: number
  nowMs: number
}

/** Reads a page with one statement. After hundreds of expired rows another statement continues there, bounded too. */
export const readPage = async (
  { db, holder, table, scan, rowsMax, nowMs }: PageRequest,
  select: 'data' | 'keys' = 'data',
): Promise<Page> => {
  const statement = statements[select].get(`${scan.index} ${scan.descending}`)!
  const records: StoredRecord[] = []
  const meter = new PageMeter(records, select === 'data')
  let expiredLeft = pageExpiredRowsMax
  let rest = scan
  let position: Position | undefined
  for (let slack = firstExpiredRows; ; slack = nextExpiredRows) {
    const rowsLeft = rowsMax - records.length
    const walkRows = rowsLeft + 1 + Math.min(slack, expiredLeft)
    // A page has its first record, however large that is.
    const given = records.length === 0 ? 1 : 0
    const budget = [walkRows, expiredLeft, rowsLeft, meter.bytesLeft(), given]
    const values = [table.id, nowSeconds(nowMs), ...budget, ...boundsOf(rest)]
    const [result] = await db.read(holder, { statement, values })
    let last: Row | undefined
    for (const row of result!.rows) {
      const expired = row[column.isExpired] !== null
      // A live row without data is the first that did not fit: the page ends before it.
      if (!expired && row[column.data] === null) {
        return { records, next: last === undefined ? position : positionOf(scan, last) }
      }
      if (!expired) {
        const record = recordOf(scan, row)
        // The database counts the minimum size of records. The escapes of their keys are counted here.
        if (!meter.takes(record)) return { records, next: last === undefined ? position : positionOf(scan, last) }
        records.push(record)
      }
      last = row
      if (expired) break
    }
    if (last === undefined) return { records, next: undefined }
    expiredLeft -= Number(last[column.steppedOver])
    const gaveUp = last[column.isExpired] !== null && expiredLeft <= 0
    if (!gaveUp && last[column.endsWalk] === null) return { records, next: undefined }
    position = positionOf(scan, last)
    if (gaveUp) return { records, next: position }
    rest = resumeScan(scan, position)
  }
}

const countedPositionOf = (scan: Scan, row: Row): Position => {
  const position = row[countColumn.position]!
  return { range: scan.index === 't' ? Number(position) : fromHex(position), id: Number(row[countColumn.id]) }
}

/** Counts with one statement. After hundreds of expired rows another one continues there, as in `readPage`. */
export const countPage = async ({ db, holder, table, scan, rowsMax, nowMs }: PageRequest): Promise<CountPage> => {
  const statement = statements.count.get(`${scan.index} ${scan.descending}`)!
  let count = 0
  let expiredLeft = pageExpiredRowsMax
  let rest = scan
  let position: Position | undefined
  for (let slack = firstExpiredRows; ; slack = nextExpiredRows) {
    const rowsLeft = rowsMax - count
    const walkRows = rowsLeft + 1 + Math.min(slack, expiredLeft)
    const values = [table.id, nowSeconds(nowMs), walkRows, expiredLeft, rowsLeft, ...boundsOf(rest)]
    const [result] = await db.read(holder, { statement, values })
    const row = result!.rows[0]
    if (row === undefined) return { count, next: undefined }
    if (row[countColumn.fits] === null) return { count, next: position }
    count += Number(row[countColumn.counted])
    expiredLeft -= Number(row[countColumn.steppedOver])
    position = countedPositionOf(scan, row)
    if (row[countColumn.hasNext] !== null) return { count, next: position }
    if (row[countColumn.endsWalk] === null) return { count, next: undefined }
    rest = resumeScan(scan, position)
  }
}
