import { isExpired } from '../../../core/records/expiry.ts'
import { FoundRecords } from '../../../core/records/find.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import { lengthOf } from '../../../core/records/record-patch.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import type { RecordOperation, Records } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'
import { Scanner } from './scanner.ts'

interface GetRow {
  data: string
  ttl: number | null
  updated_at: number
}

/** The characters that the operations bring. */
export const bytesOf = (operations: RecordOperation[]): number => {
  let bytes = 0
  for (const operation of operations) {
    if (operation.op === 'put') bytes += operation.data.length
    else if (operation.op === 'patch') bytes += lengthOf(operation.patch)
  }
  return bytes
}

/** The most runs that a write in this table adds to the tasks that follow it. */
export const runsOfWrite = ({ followers }: Table, operations: RecordOperation[]): number =>
  followers.length * operations.length

export const sqliteRecords = (store: OpenStore): Records => {
  const scanner = new Scanner(store.db, store.rowCheck)
  const find = store.db.prepare<GetRow, [number, string, string]>(
    `SELECT data, ttl, updated_at FROM records
     WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
  )
  const readOne = (tableId: number, { hashKey, rangeKey }: RecordKey, nowMs: number): StoredRecord | undefined => {
    const row = find.get(tableId, hashKey, rangeKey)
    if (row === null) return undefined
    const record = { hashKey, rangeKey, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at }
    // The row is checked before its ttl is used: a damaged ttl could hide the record.
    store.rowCheck.take(tableId, record)
    return isExpired(row.ttl, nowMs) ? undefined : record
  }
  const get = (table: Table, key: RecordKey, nowMs: number): StoredRecord | undefined => {
    try {
      store.snapshot.refresh()
      return readOne(table.id, key, nowMs)
    } catch (error) {
      throw store.damage.explain(error)
    }
  }
  return {
    get,

    /** There is no pause between the reads, so all of them are in the snapshot of the first. */
    find(table, keys, nowMs) {
      // The first record fits into every response, so nothing is measured.
      if (keys.length === 1) return [get(table, keys[0]!, nowMs)]
      return store.read(() => {
        const found = new FoundRecords()
        for (const key of keys) if (!found.add(readOne(table.id, key, nowMs))) break
        return found.entries
      })
    },

    scan: (table, scan, rowsMax, nowMs) => store.read(() => scanner.scan(table, scan, rowsMax, nowMs)),

    scanKeys: (table, scan, rowsMax, nowMs) => store.read(() => scanner.scanKeys(table, scan, rowsMax, nowMs)),

    count: (table, scan, rowsMax, nowMs) => store.read(() => scanner.count(table, scan, rowsMax, nowMs)),

    write(caller, table, operations, nowMs) {
      if (store.role === 'guest') throw new Error('a guest of the store does not write records')
      const fence = store.fence(caller, table)
      const command = { kind: 'write' as const, fence, nowMs, operations }
      return store.channel.submit(command, bytesOf(operations), runsOfWrite(table, operations))
    },

    putAll(caller, table, puts, onlyAbsent, nowMs) {
      const fence = store.fence(caller, table)
      return store.channel.submit({ kind: 'putAll', fence, nowMs, puts, onlyAbsent }, bytesOf(puts))
    },
  }
}
