import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { batchOperationsMax } from '../../core/limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { type RunSteps, runThrough, type Steps, stepUnits } from '../../core/steps.ts'
import { type Indices, readIndexEntries } from '../../core/tables/indices.ts'
import type { Envelope } from '../../core/text/json-span.ts'
import { type ElementList, readListBody } from '../../core/text/list-body.ts'
import type { Condition, RecordOperation } from '../../store/records.ts'
import { type Access, parseAddress, requireTable, type TableAddress, writeRecords } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseIfUpdatedAt, preconditionFailed } from './condition.ts'
import { refuseSameRecord } from './refuse-same-record.ts'

export type BatchOperation =
  | ({ op: 'put'; condition: Condition | undefined } & RecordToPut)
  | ({ op: 'delete'; condition: Condition | undefined } & RecordKey)

const parseOperation = ({ value, data }: Envelope, text: string, nowMs: number, position: number): BatchOperation => {
  const name = `operations[${position}]`
  const prefix = `${name}.`
  const members = parseObject(value, name)
  if (members.op === 'put') {
    const record = parseRecordToPut(members, text, data, nowMs, prefix, ['op', 'ifUpdatedAt'])
    return { op: 'put', ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) }
  }
  if (members.op === 'delete') {
    refuseOnDelete(members, prefix)
    const key = parseRecordKey(members.hashKey, members.rangeKey, prefix)
    return { op: 'delete', ...key, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) }
  }
  throw new CubbyError('invalid_request', `${prefix}op is ${describeValue(members.op)}; it takes "put" or "delete".`, {
    field: `${prefix}op`,
  })
}

const refuseOnDelete = (members: Members, prefix: string): void => {
  for (const name of ['data', 'ttl']) {
    if (!Object.hasOwn(members, name)) continue
    throw new CubbyError('invalid_request', `${prefix}${name} is not allowed in a delete.`, {
      field: `${prefix}${name}`,
      hint: `Leave ${name} out, or make it a put.`,
    })
  }
  refuseUnknownMembers(members, ['op', 'hashKey', 'rangeKey', 'ifUpdatedAt'], prefix)
}

const readBatch = (text: string) => readListBody(text, 'operations', batchOperationsMax)

const parseOperations = (text: string, operations: unknown, list: ElementList, nowMs: number): BatchOperation[] => {
  if (!Array.isArray(operations) || list.count === 0) {
    throw new CubbyError(
      'invalid_request',
      `operations is ${Array.isArray(operations) ? 'empty' : describeValue(operations)}; it takes 1 to ${batchOperationsMax} operations.`,
      { field: 'operations' },
    )
  }
  if (list.count > batchOperationsMax) {
    throw new CubbyError(
      'batch_too_large',
      `operations has ${list.count} operations; a batch takes at most ${batchOperationsMax}.`,
      { field: 'operations', hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.` },
    )
  }
  const parsed = list.first.map((operation, i) => parseOperation(operation, text, nowMs, i))
  refuseSameRecord(parsed, 'operations', 'Send the two operations in separate requests.')
  return parsed
}

/** In steps of about `stepUnits` of text, because a batch may have 12 MiB. */
export function* parseBatchInSteps(text: string, nowMs: number): Steps<BatchOperation[]> {
  const { members, list } = yield* readBatch(text)
  refuseUnknownMembers(members, ['operations'])
  return parseOperations(text, members.operations, list, nowMs)
}

export const parseBatch = (text: string, nowMs: number): BatchOperation[] => runThrough(parseBatchInSteps(text, nowMs))

const toRecordOperation = (operation: BatchOperation, indices: Indices, position: number): RecordOperation => {
  const { hashKey, rangeKey, condition } = operation
  if (operation.op === 'delete') return { op: 'delete', hashKey, rangeKey, condition }
  try {
    const entries = readIndexEntries(indices, operation)
    const { data, ttlSeconds } = operation
    return { op: 'put', hashKey, rangeKey, condition, data, ttlSeconds, entries }
  } catch (error) {
    throw error instanceof CubbyError ? error.within(`operations[${position}]`) : error
  }
}

function* toRecordOperations(batch: BatchOperation[], indices: Indices): Steps<RecordOperation[]> {
  const operations: RecordOperation[] = []
  let units = 0
  for (const operation of batch) {
    operations.push(toRecordOperation(operation, indices, operations.length))
    units += operation.op === 'put' ? operation.data.length : 0
    if (units < stepUnits) continue
    yield
    units = 0
  }
  return operations
}

export interface ApplyBatchInput extends TableAddress {
  operations: BatchOperation[]
}

/** Returns the number of operations, all of which were applied. `runSteps` runs the slow parts. */
export const applyBatch = async (
  access: Access,
  input: ApplyBatchInput,
  nowMs: number,
  runSteps: RunSteps = runThrough,
): Promise<number> => {
  const table = await requireTable(access, input, nowMs)
  const operations = await runSteps(toRecordOperations(input.operations, table.indices))
  const written = await writeRecords(access, input, table, operations, nowMs)
  if (!written.applied) {
    throw preconditionFailed(written.current, `operations[${written.failedOperation}].ifUpdatedAt`)
  }
  return operations.length
}

export const applyBatchOperation = defineOperation({
  id: 'applyBatch',
  area: 'records',
  summary: 'Put and delete several records at once',
  description:
    'Applies all operations or none; no reader ever sees only some of them. In an error, `field` names the operation: `operations[3].data.status`.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'All operations were applied.',
  codes: [
    'invalid_key',
    'invalid_index_value',
    'invalid_ttl',
    'batch_too_large',
    'batch_duplicate_keys',
    'table_not_found',
    'precondition_failed',
    'record_too_large',
  ],
  parse(text, nowMs): ApplyBatchInput {
    const { members, list } = runThrough(readBatch(text))
    const { db, table, ...batch } = members
    const address = parseAddress(db, table)
    refuseUnknownMembers(batch, ['operations'])
    return { ...address, operations: parseOperations(text, batch.operations, list, nowMs) }
  },
  run: (access, input, nowMs) => applyBatch(access, input, nowMs),
  present: (count) => JSON.stringify({ count }),
})
