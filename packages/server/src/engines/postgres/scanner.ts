import type { Page, StoredRecord, Table } from '../../core/engine.ts'
import { nowSeconds } from '../../core/expiry.ts'
import { pageBytesMax, pageExpiredRowsMax } from '../../core/limits.ts'
import { type Position, resumeScan, type Scan } from '../../core/scan.ts'
import { asBuffer, fromHex, toBytes } from './bytes.ts'
import type { Database } from './database.ts'
import type { Row, Value } from './driver.ts'
import { scanRecords } from './statements.ts'

/** Expired rows that the first statement of a page may meet: few, as sweeps remove them. */
const firstExpiredRows = 250
/** Further statements take longer walks, but not so long that one is felt. */
const nextExpiredRows = 4_000

interface Budget {
  rows: number
  bytes: number
  expired: number
}

const statements = new Map(
  (['primary', 't', 'i1', 'i2', 'i3', 'i4', 'i5'] as const).flatMap((index) =>
    [false, true].map((descending) => [`${index} ${descending}`, scanRecords(index, descending)] as const),
  ),
)

const boundsOf = (scan: Scan): Value[] => {
  const id = scan.descending ? scan.highId : scan.lowId
  if (scan.index === 't') return [scan.low, scan.high, id]
  const bytes = [asBuffer(scan.low), asBuffer(scan.high)]
  return scan.index === 'primary' ? [...bytes, toBytes(scan.hash)] : [...bytes, id, toBytes(scan.hash)]
}

const placeOf = (scan: Scan, row: Row): Position => ({
  range: scan.index === 't' ? Number(row[1]) : fromHex(row[1]!),
  id: Number(row[0]),
})

const recordOf = (scan: Scan, row: Row): StoredRecord => ({
  hashKey: scan.index === 'primary' ? scan.hash : fromHex(row[5]!),
  rangeKey: fromHex(row[6]!),
  data: row[9]!,
  ttlSeconds: row[4] === null ? null : Number(row[4]),
  updatedAtMs: Number(row[3]),
})

/** One statement a page, unless it meets hundreds of expired rows: then it goes on from there, bounded too. */
export const readPage = async (
  db: Database,
  table: Table,
  scan: Scan,
  rowsMax: number,
  nowMs: number,
): Promise<Page> => {
  const statement = statements.get(`${scan.index} ${scan.descending}`)!
  const records: StoredRecord[] = []
  const left: Budget = { rows: rowsMax, bytes: pageBytesMax, expired: pageExpiredRowsMax }
  let rest = scan
  let place: Position | undefined
  for (let slack = firstExpiredRows; ; slack = nextExpiredRows) {
    const walkRows = left.rows + 1 + Math.min(slack, left.expired)
    // However large the first record is, a page has it.
    const given = records.length === 0 ? 1 : 0
    const budget = [walkRows, left.expired, left.rows, left.bytes, given]
    const values = [table.id, nowSeconds(nowMs), ...budget, ...boundsOf(rest)]
    const [result] = await db.read(table.orgId, { statement, values })
    let last: Row | undefined
    for (const row of result!.rows) {
      const expired = row[2] === 't'
      // A live row without data is the first that did not fit: the page ends before it.
      if (!expired && row[9] === null) return { records, next: last === undefined ? place : placeOf(scan, last) }
      last = row
      if (expired) break
      records.push(recordOf(scan, row))
      left.rows--
      left.bytes -= Buffer.byteLength(row[9]!)
    }
    if (last === undefined) return { records, next: undefined }
    const walkEnded = Number(last[7]) === walkRows
    const expiredEnded = last[2] === 't' && Number(last[8]) === left.expired
    if (!walkEnded && !expiredEnded) return { records, next: undefined }
    place = placeOf(scan, last)
    if (expiredEnded) return { records, next: place }
    left.expired -= Number(last[8])
    rest = resumeScan(scan, place)
  }
}
