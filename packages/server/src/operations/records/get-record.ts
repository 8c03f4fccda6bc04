import { type Awaitable, andThen } from '../../core/awaitable.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { type Access, requireTable, type TableAddress } from '../access.ts'

export const getRecord = (
  access: Access,
  address: TableAddress,
  key: RecordKey,
  nowMs: number,
): Awaitable<StoredRecord | undefined> =>
  andThen(requireTable(access, address, nowMs), (table) =>
    access.engine.records.get(table, key, nowMs, access.apiKey.seq),
  )
