import type { Condition, StoredRecord } from '../core/engine.ts'
import { parseObject } from '../core/envelope.ts'
import { indexEntries } from '../core/indices.ts'
import { parseJson, type Span, valueSpan, walkObject } from '../core/json-span.ts'
import { parseRecordToPut, type RecordToPut } from '../core/record-data.ts'
import { type Access, requireTable, type TableAddress, writeRecords } from './access.ts'
import { preconditionFailed } from './condition.ts'

/** Parsed once, to check it and to take index values; `data` is kept as the text that came. */
export const parsePut = (text: string, nowMs: number): RecordToPut => {
  const members = parseObject(parseJson(text))
  let span: Span | undefined
  walkObject(text, 0, '', (name, start) => {
    const value = valueSpan(text, start)
    if (name === 'data') span = value
    return value.end
  })
  return parseRecordToPut(members, text, span, nowMs)
}

export const putRecord = async (
  access: Access,
  address: TableAddress,
  record: RecordToPut,
  condition: Condition | undefined,
  nowMs: number,
): Promise<StoredRecord> => {
  const table = await requireTable(access, address, nowMs)
  const { hashKey, rangeKey, data, ttlSeconds } = record
  const entries = indexEntries(table.indices, record.parsedData)
  const put = { op: 'put' as const, hashKey, rangeKey, data, ttlSeconds, entries, condition }
  const written = await writeRecords(access, address, table, [put], nowMs)
  if (!written.applied) throw preconditionFailed(written.current)
  const { updatedAtMs } = written.results[0] as { updatedAtMs: number }
  return { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }
}
