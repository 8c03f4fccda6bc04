import { encodeScanCursor } from '../../core/cursor.ts'
import { planQuery, type Query } from '../../core/records/query.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { type Access, requireTable, type TableAddress } from '../access.ts'

export interface QueryPage {
  records: StoredRecord[]
  cursor: string | null
}

export const queryRecords = async (
  access: Access,
  address: TableAddress,
  query: Query,
  nowMs: number,
): Promise<QueryPage> => {
  const table = await requireTable(access, address, nowMs)
  const seal = access.engine.cursorSeal
  const { whole, page, whose } = planQuery(query, table.id, table.indices, seal)
  const { records, next } = await access.engine.records.scan(table, page, query.limit, nowMs, access.apiKey.seq)
  return { records, cursor: next === undefined ? null : encodeScanCursor(seal, table.id, whole, next, whose) }
}
