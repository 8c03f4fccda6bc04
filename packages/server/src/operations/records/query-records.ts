import { encodeScanCursor } from '../../core/cursor.ts'
import { parseQuery, planQuery, type Query } from '../../core/records/query.ts'
import { pageJson } from '../../core/records/record-json.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { type Access, parseAddress, requireTable, type TableAddress } from '../access.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'

export interface QueryRecordsInput extends TableAddress {
  query: Query
}

export interface QueryPage {
  records: StoredRecord[]
  cursor: string | null
}

export const queryRecords = async (access: Access, input: QueryRecordsInput, nowMs: number): Promise<QueryPage> => {
  const { query } = input
  const seal = access.engine.cursorSeal
  const table = await requireTable(access, input, nowMs)
  const { whole, page, fingerprint } = planQuery(query, table.id, table.indices, seal)
  const { records, next } = await access.engine.records.scan(table, page, query.limit, nowMs, access.apiKey.seq)
  return { records, cursor: next === undefined ? null : encodeScanCursor(seal, table.id, whole, next, fingerprint) }
}

export const queryRecordsOperation = defineOperation({
  id: 'queryRecords',
  area: 'records',
  summary: 'Query records by key, by time of the last write or by an index',
  description: `Three forms:

- by primary key: \`hash\`, ordered by range key;
- by recency: \`index: "t"\` and no \`hash\`, ordered by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, ordered by the index's range field.

The values of an index are ordered: false, true, numbers, then strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pagesNote} A cursor is valid only with the same table, hash, index, range and direction; \`limit\` may change.`,
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'A page of records.',
  codes: [
    'invalid_key',
    'invalid_index_value',
    'index_not_declared',
    'invalid_range',
    'invalid_cursor',
    'table_not_found',
  ],
  parse(text): QueryRecordsInput {
    const { db, table, ...query } = parsePlainBody(text)
    return { ...parseAddress(db, table), query: parseQuery(query) }
  },
  run: queryRecords,
  present: ({ records, cursor }) => pageJson(records, cursor),
})
