import { type Members, parseObject } from '../../core/members.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { runThrough } from '../../core/steps.ts'
import { readIndexEntries } from '../../core/tables/indices.ts'
import { checkJson, isCheapToBuild, parseJson } from '../../core/text/json-scan.ts'
import { readEnvelope, type Span, valueSpan, walkObject } from '../../core/text/json-span.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, requireTable, type TableAddress, writeRecords } from '../access.ts'
import { preconditionFailed } from './condition.ts'

/** `data` is kept as the text that came: it is checked, but nothing is built of it. */
export const parsePut = (text: string, nowMs: number): RecordToPut => {
  if (isCheapToBuild(text)) return parseSmallPut(text, nowMs)
  checkJson(text)
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  return parseRecordToPut(parseObject(value), text, data, nowMs)
}

/** Of a small body everything is built, as that is the fastest. */
const parseSmallPut = (text: string, nowMs: number): RecordToPut => {
  const members = parseObject(parseJson(text))
  let span: Span | undefined
  walkObject(text, 0, '', (name, start) => {
    const value = valueSpan(text, start)
    if (name === 'data') span = value
    return value.end
  })
  const record = parseRecordToPut(members, text, span, nowMs)
  record.built = members.data as Members
  return record
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
  const entries = readIndexEntries(table.indices, record)
  const put = { op: 'put' as const, hashKey, rangeKey, data, ttlSeconds, entries, condition }
  const written = await writeRecords(access, address, table, [put], nowMs)
  if (!written.applied) throw preconditionFailed(written.current)
  const { updatedAtMs } = written.results[0] as { updatedAtMs: number }
  return { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }
}
