import type { RecordKey } from '../../../core/records/record-key.ts'
import type { Table } from '../../../store/tables.ts'
import { toBytes } from '../connection/bytes.ts'
import type { Value } from '../connection/driver.ts'

export const keyValues = (table: Table, key: RecordKey): Value[] => [
  table.id,
  toBytes(key.hashKey),
  toBytes(key.rangeKey),
]

export const compareKeys = (a: RecordKey, b: RecordKey): number => {
  if (a.hashKey !== b.hashKey) return a.hashKey < b.hashKey ? -1 : 1
  return a.rangeKey < b.rangeKey ? -1 : a.rangeKey > b.rangeKey ? 1 : 0
}

/** All processes lock the records of a batch in the same order, so that no two of them deadlock. */
export const inLockOrder = (operations: readonly RecordKey[]): number[] =>
  operations.map((_, i) => i).sort((a, b) => compareKeys(operations[a]!, operations[b]!))
