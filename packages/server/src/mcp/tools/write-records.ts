import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { batchBodyBytesMax, bodyBytesMax, toolRecordsMax } from '../../core/limits.ts'
import { parseFlag, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { shownKey } from '../../core/records/find.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { parseRecordToPatch } from '../../core/records/record-patch.ts'
import { type Slices, sliceUnits } from '../../core/slices.ts'
import { type Indices, readIndexEntries } from '../../core/tables/indices.ts'
import type { Envelope } from '../../core/text/json-span.ts'
import { type ElementList, readListBody } from '../../core/text/list-body.ts'
import { parseAddress, type TableAddress } from '../../operations/access.ts'
import { requireTable, writeRecords } from '../../operations/lifecycle.ts'
import { parseIfUpdatedAt, parseVersion } from '../../operations/records/condition.ts'
import { refuseSameRecord } from '../../operations/records/refuse-same-record.ts'
import type { Condition, OperationResult, RecordOperation } from '../../store/records.ts'
import { refuseLongKeys } from './fitting.ts'
import { refuseTooMany } from './records.ts'
import {
  anyObject,
  bool,
  closedObject,
  db,
  described,
  integer,
  keyOut,
  list,
  object,
  recordKey,
  text,
} from './schemas.ts'
import type { Tool, ToolCall } from './tool.ts'

// Several records in one commit: all are written, or none.

type Parse<T> = (envelope: Envelope, field: string) => T

const readRecords = async <T extends { hashKey: string; rangeKey: string }>(
  { text, runSlices }: ToolCall,
  parse: Parse<T>,
): Promise<TableAddress & { records: T[] }> => {
  const { members, list } = await runSlices(readListBody(text, 'records', toolRecordsMax))
  const address = parseAddress(members.db, members.table)
  refuseCount(members.records, list)
  const records = list.first.map((envelope, i) => parse(envelope, `records[${i}]`))
  refuseSameRecord(records, 'records', 'Name each record once.')
  refuseLongKeys(records, 'records')
  return { ...address, records }
}

const refuseCount = (records: unknown, { count }: ElementList): void => {
  refuseTooMany(count, 'records')
  if (Array.isArray(records) && count > 0) return
  throw new CubbyError(
    'invalid_request',
    `records is ${Array.isArray(records) ? 'empty' : describeValue(records)}; it takes 1 to ${toolRecordsMax} records.`,
    {
      field: 'records',
      hint:
        records !== null && typeof records === 'object' && !Array.isArray(records)
          ? 'Put it into a list: [ … ].'
          : 'Write it as [{ "hashKey": …, "data": { … } }].',
    },
  )
}

/** Writes all, or throws what `refused` says of the first whose condition did not hold. */
const writeAll = async (
  { access, nowMs }: ToolCall,
  address: TableAddress,
  operations: RecordOperation[],
  table: Awaited<ReturnType<typeof requireTable>>,
  refused: (field: string, current: number | undefined) => CubbyError,
): Promise<OperationResult[]> => {
  const written = await writeRecords(access, address, table, operations, nowMs)
  if (written.applied) return written.results
  throw refused(`records[${written.failedOperation}]`, written.current)
}

const conditionOfPut = (ifUpdatedAt: unknown, overwrite: unknown, field: string): Condition | undefined => {
  const condition = parseIfUpdatedAt(ifUpdatedAt, `${field}.ifUpdatedAt`)
  if (!parseFlag(overwrite, `${field}.overwrite`)) return condition ?? 'absent'
  if (condition === undefined) return undefined
  throw new CubbyError('invalid_request', `${field}.overwrite cannot be combined with ifUpdatedAt.`, {
    field: `${field}.overwrite`,
    hint: 'Give the version that is to be replaced, or overwrite: true for any.',
  })
}

const putRefused = (field: string, current: number | undefined): CubbyError =>
  current === undefined
    ? new CubbyError('precondition_failed', `The record of ${field} does not exist; nothing was written.`, {
        field: `${field}.ifUpdatedAt`,
        hint: 'Leave ifUpdatedAt out to create it.',
      })
    : new CubbyError(
        'precondition_failed',
        `The record of ${field} exists, at version ${current}; nothing was written.`,
        {
          field: `${field}.ifUpdatedAt`,
          hint: `Get the record, apply your change to it, and send "ifUpdatedAt": ${current}; or send "overwrite": true to replace it unseen.`,
        },
      )

const writtenJson = (records: readonly RecordKey[], results: OperationResult[]): string => {
  const versions = results as { updatedAtMs: number }[]
  return JSON.stringify({
    written: records.map((key, i) => ({ ...shownKey(key), updatedAt: versions[i]!.updatedAtMs })),
  })
}

type Put = RecordToPut & { condition: Condition | undefined }

/** Runs in slices: 25 records may have 10 MB. */
function* toOperations(records: readonly Put[], indices: Indices): Slices<RecordOperation[]> {
  const operations: RecordOperation[] = []
  let units = 0
  for (const { hashKey, rangeKey, data, ttlSeconds, condition } of records) {
    try {
      const entries = readIndexEntries(indices, { data })
      operations.push({ op: 'put', hashKey, rangeKey, data, ttlSeconds, entries, condition })
    } catch (error) {
      throw error instanceof CubbyError ? error.within(`records[${operations.length}]`) : error
    }
    units += data.length
    if (units < sliceUnits) continue
    yield
    units = 0
  }
  return operations
}

export const putRecordsTool: Tool = {
  name: 'put_records',
  description:
    'Write records, all or none. data is replaced as a whole. A record that exists is replaced only with ifUpdatedAt, its version, or overwrite: true.',
  keyNeeded: 'write',
  hints: { destructive: true },
  properties: {
    db,
    table: text,
    records: list(
      closedObject(
        {
          ...recordKey,
          data: anyObject,
          ttl: described(integer(0), 'epoch seconds, not a duration, at which it expires'),
          ifUpdatedAt: described({ type: ['integer', 'null'] }, 'null: must not exist'),
          overwrite: bool,
        },
        ['hashKey', 'data'],
      ),
      { minItems: 1, maxItems: toolRecordsMax },
    ),
  },
  required: ['db', 'table', 'records'],
  argumentsBytesMax: batchBodyBytesMax,
  output: object({ written: list(object({ ...recordKey, updatedAt: integer() })) }, ['written']),
  async run(call) {
    const { access, nowMs } = call
    const { records, ...address } = await readRecords(call, ({ value, data }, field) => {
      const members = parseObject(value, field)
      const known = ['ifUpdatedAt', 'overwrite']
      const record = parseRecordToPut(members, call.text, data, nowMs, `${field}.`, known)
      return { ...record, condition: conditionOfPut(members.ifUpdatedAt, members.overwrite, field) }
    })
    const table = await requireTable(access, address, nowMs)
    const operations = await call.runSlices(toOperations(records, table.indices))
    const results = await writeAll(call, address, operations, table, putRefused)
    return writtenJson(records, results)
  },
}

export const patchRecordsTool: Tool = {
  name: 'patch_records',
  description:
    'Change parts of records, all or none; what is not named stays. merge: null removes a member. increment and append: by JSON Pointer ("/total"). A record that does not exist is created.',
  keyNeeded: 'write',
  hints: { destructive: true },
  properties: {
    db,
    table: text,
    records: list(
      closedObject(
        {
          ...recordKey,
          merge: anyObject,
          increment: described(anyObject, 'numbers to add, or { by, min, max }'),
          append: described(anyObject, 'arrays of values to append'),
          ttl: { type: ['integer', 'null'] },
          ifUpdatedAt: { type: ['integer', 'null'] },
        },
        ['hashKey'],
      ),
      { minItems: 1, maxItems: toolRecordsMax },
    ),
  },
  required: ['db', 'table', 'records'],
  argumentsBytesMax: batchBodyBytesMax,
  output: object({ written: list(object({ ...recordKey, updatedAt: integer() })) }, ['written']),
  async run(toolCall) {
    const { access, nowMs, text } = toolCall
    const { records, ...address } = await readRecords(toolCall, ({ value, parts }, field) => {
      const members = parseObject(value, field)
      const record = parseRecordToPatch(members, text, parts, nowMs, `${field}.`, ['ifUpdatedAt'])
      return { ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${field}.ifUpdatedAt`) }
    })
    const table = await requireTable(access, address, nowMs)
    const { indices } = table
    const operations = records.map((record, i) => {
      return { op: 'patch' as const, ...record, indices, prefix: `records[${i}].`, wantsData: false }
    })
    return writtenJson(records, await writeAll(toolCall, address, operations, table, putRefused))
  },
}

const deleteRefused = (field: string, current: number | undefined): CubbyError =>
  current === undefined
    ? new CubbyError('precondition_failed', `The record of ${field} does not exist; nothing was deleted.`, {
        field: `${field}.ifUpdatedAt`,
        hint: 'It may be deleted already. Leave it out of records.',
      })
    : new CubbyError('precondition_failed', `The record of ${field} is at version ${current}; nothing was deleted.`, {
        field: `${field}.ifUpdatedAt`,
        hint: `Look at the record, and if it is still to be deleted, send "ifUpdatedAt": ${current}.`,
      })

export const deleteRecordsTool: Tool = {
  name: 'delete_records',
  description:
    'Delete records, all or none. ifUpdatedAt: the version of the record, from get_records or query_records.',
  keyNeeded: 'write',
  hints: { destructive: true, idempotent: true },
  properties: {
    db,
    table: text,
    records: list(closedObject({ ...recordKey, ifUpdatedAt: integer() }, ['hashKey', 'ifUpdatedAt']), {
      minItems: 1,
      maxItems: toolRecordsMax,
    }),
  },
  required: ['db', 'table', 'records'],
  argumentsBytesMax: bodyBytesMax,
  output: object({ deleted: list(keyOut) }, ['deleted']),
  async run(toolCall) {
    const { records, ...address } = await readRecords(toolCall, ({ value }, field) => {
      const members = parseObject(value, field)
      refuseUnknownMembers(members, ['hashKey', 'rangeKey', 'ifUpdatedAt'], `${field}.`)
      const key = parseRecordKey(members.hashKey, members.rangeKey, `${field}.`)
      const { ifUpdatedAt = null } = members
      if (ifUpdatedAt !== null) return { ...key, condition: parseVersion(ifUpdatedAt, `${field}.ifUpdatedAt`) }
      throw new CubbyError('invalid_request', `${field}.ifUpdatedAt is missing; it takes the version of the record.`, {
        field: `${field}.ifUpdatedAt`,
        hint: [
          'Get the record first: ',
          call('getRecord', shownKey(key) as Record<string, string>),
          '. Send its updatedAt as ifUpdatedAt.',
        ],
      })
    })
    const table = await requireTable(toolCall.access, address, toolCall.nowMs)
    const operations = records.map((record) => ({ op: 'delete' as const, ...record }))
    await writeAll(toolCall, address, operations, table, deleteRefused)
    return JSON.stringify({ deleted: records.map(shownKey) })
  },
}
