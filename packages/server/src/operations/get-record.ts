import type { StoredRecord } from '../core/engine.ts'
import type { RecordKey } from '../core/record-key.ts'
import { type Access, requireTable, type TableAddress } from './access.ts'

export const getRecord = async (
  access: Access,
  address: TableAddress,
  key: RecordKey,
  nowMs: number,
): Promise<StoredRecord | undefined> => {
  const table = await requireTable(access, address, nowMs)
  return access.engine.getRecord(table, key, nowMs)
}
