import type { Condition, RecordOperation } from '../core/engine.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../core/envelope.ts'
import { CubbyError } from '../core/errors.ts'
import { type Indices, indexEntries } from '../core/indices.ts'
import { parseJson, type Span, valueSpan, walkArray, walkObject } from '../core/json-span.ts'
import { batchOperationsMax } from '../core/limits.ts'
import { describe } from '../core/names.ts'
import { parseRecordToPut, type RecordToPut } from '../core/record-data.ts'
import { parseRecordKey, type RecordKey } from '../core/record-key.ts'
import { type Access, requireTable, type TableAddress, writeRecords } from './access.ts'
import { preconditionFailed } from './condition.ts'

export type BatchOperation =
  | ({ op: 'put'; condition: Condition | undefined } & RecordToPut)
  | ({ op: 'delete'; condition: Condition | undefined } & RecordKey)

/** Where each operation's `data` stood in the body. Each character of it is looked at once. */
const dataSpans = (text: string): (Span | undefined)[] => {
  const spans: (Span | undefined)[] = []
  const walkOperation = (position: number, start: number): number => {
    if (text[start] !== '{') return valueSpan(text, start).end
    return walkObject(text, start, `operations[${position}]`, (name, valueStart) => {
      const value = valueSpan(text, valueStart)
      if (name === 'data') spans[position] = value
      return value.end
    })
  }
  walkObject(text, 0, '', (name, start) =>
    name === 'operations' && text[start] === '[' ? walkArray(text, start, walkOperation) : valueSpan(text, start).end,
  )
  return spans
}

const parseIfUpdatedAt = (value: unknown, prefix: string): Condition | undefined => {
  if (value === undefined) return undefined
  if (value === null) return 'absent'
  if (Number.isSafeInteger(value)) return { version: value as number }
  const field = `${prefix}ifUpdatedAt`
  throw new CubbyError('invalid_request', `${field} is ${describe(value)}; it takes an integer or null.`, {
    field,
    hint: 'Give the updatedAt that the record must have, or null if it must not exist.',
  })
}

const parseOperation = (
  value: unknown,
  text: string,
  span: Span | undefined,
  nowMs: number,
  position: number,
): BatchOperation => {
  const name = `operations[${position}]`
  const prefix = `${name}.`
  const members = parseObject(value, name)
  if (members.op === 'put') {
    const record = parseRecordToPut(members, text, span, nowMs, prefix, ['op', 'ifUpdatedAt'])
    return { op: 'put', ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, prefix) }
  }
  if (members.op === 'delete') {
    refuseOnDelete(members, prefix)
    const key = parseRecordKey(members.hashKey, members.rangeKey, prefix)
    return { op: 'delete', ...key, condition: parseIfUpdatedAt(members.ifUpdatedAt, prefix) }
  }
  throw new CubbyError('invalid_request', `${prefix}op is ${describe(members.op)}; it takes "put" or "delete".`, {
    field: `${prefix}op`,
  })
}

const refuseOnDelete = (members: Members, prefix: string): void => {
  for (const name of ['data', 'ttl']) {
    if (!Object.hasOwn(members, name)) continue
    throw new CubbyError('invalid_request', `${prefix}${name} is refused for a delete.`, {
      field: `${prefix}${name}`,
      hint: `Leave ${name} out, or make it a put.`,
    })
  }
  refuseUnknownMembers(members, ['op', 'hashKey', 'rangeKey', 'ifUpdatedAt'], prefix)
}

const refuseDuplicateKeys = (operations: BatchOperation[]): void => {
  const seen = new Map<string, number>()
  operations.forEach(({ hashKey, rangeKey }, position) => {
    const slot = JSON.stringify([hashKey, rangeKey])
    const earlier = seen.get(slot)
    if (earlier !== undefined) {
      throw new CubbyError(
        'batch_duplicate_keys',
        `operations[${position}] names the same record as operations[${earlier}].`,
        { field: `operations[${position}]`, hint: 'Send the two operations in separate requests.' },
      )
    }
    seen.set(slot, position)
  })
}

export const parseBatch = (text: string, nowMs: number): BatchOperation[] => {
  const members = parseObject(parseJson(text))
  const spans = dataSpans(text)
  refuseUnknownMembers(members, ['operations'])
  const { operations } = members
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new CubbyError(
      'invalid_request',
      `operations is ${Array.isArray(operations) ? 'empty' : describe(operations)}; it takes 1 to ${batchOperationsMax} operations.`,
      { field: 'operations' },
    )
  }
  if (operations.length > batchOperationsMax) {
    throw new CubbyError(
      'batch_too_large',
      `operations has ${operations.length} operations; a batch takes at most ${batchOperationsMax}.`,
      { field: 'operations', hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.` },
    )
  }
  const parsed = operations.map((value, i) => parseOperation(value, text, spans[i], nowMs, i))
  refuseDuplicateKeys(parsed)
  return parsed
}

const toRecordOperation = (operation: BatchOperation, indices: Indices, position: number): RecordOperation => {
  const { hashKey, rangeKey, condition } = operation
  if (operation.op === 'delete') return { op: 'delete', hashKey, rangeKey, condition }
  try {
    const entries = indexEntries(indices, operation.parsedData)
    const { data, ttlSeconds } = operation
    return { op: 'put', hashKey, rangeKey, condition, data, ttlSeconds, entries }
  } catch (error) {
    throw error instanceof CubbyError ? error.within(`operations[${position}]`) : error
  }
}

/** How many operations were applied: all of them. */
export const applyBatch = async (
  access: Access,
  address: TableAddress,
  batch: BatchOperation[],
  nowMs: number,
): Promise<number> => {
  const table = await requireTable(access, address, nowMs)
  const operations = batch.map((operation, i) => toRecordOperation(operation, table.indices, i))
  const written = await writeRecords(access, address, table, operations, nowMs)
  if (!written.applied) {
    throw preconditionFailed(written.current, `operations[${written.failedOperation}].ifUpdatedAt`)
  }
  return operations.length
}
