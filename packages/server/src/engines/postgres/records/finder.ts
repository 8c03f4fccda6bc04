import { pageBytesMax } from '../../../core/limits.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { FoundRecords } from '../../../core/records/find.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import type { Holder } from '../../../core/shares.ts'
import { bytesArray } from '../connection/arrays.ts'
import type { Database } from '../connection/database.ts'
import { findRecords } from './read-statements.ts'

/** One statement, so all records are from one snapshot. */
export const findByKeys = async (
  db: Database,
  holder: Holder,
  tableId: number,
  keys: RecordKey[],
  nowMs: number,
): Promise<(StoredRecord | undefined)[]> => {
  const hashKeys = bytesArray(keys.map(({ hashKey }) => hashKey))
  const rangeKeys = bytesArray(keys.map(({ rangeKey }) => rangeKey))
  const values = [hashKeys, rangeKeys, tableId, nowSeconds(nowMs), pageBytesMax]
  const [result] = await db.read(holder, { statement: findRecords, values })
  const found = new FoundRecords()
  const skipTo = (position: number): void => {
    while (found.entries.length < position) found.add(undefined)
  }
  for (const [place, ttl, updatedAt, data] of result!.rows) {
    const position = Number(place) - 1
    skipTo(position)
    // The database counts the minimum size of records; `add` counts the escapes of their keys too.
    if (data == null) return found.entries
    const { hashKey, rangeKey } = keys[position]!
    const ttlSeconds = ttl == null ? null : Number(ttl)
    if (!found.add({ hashKey, rangeKey, data, ttlSeconds, updatedAtMs: Number(updatedAt) })) return found.entries
  }
  skipTo(keys.length)
  return found.entries
}
