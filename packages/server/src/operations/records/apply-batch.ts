import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { batchBodyBytesMax } from '../../core/limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { parseRecordToPatch, type RecordToPatch } from '../../core/records/record-patch.ts'
import { type RunSlices, runThrough, type Slices, sliceUnits } from '../../core/slices.ts'
import { readIndexEntries } from '../../core/tables/indices.ts'
import type { Envelope } from '../../core/text/json-span.ts'
import type { ElementList } from '../../core/text/list-body.ts'
import type { Need } from '../../core/tokens/grants.ts'
import type { Condition, RecordOperation } from '../../store/records.ts'
import type { BatchPart } from '../../store/runs.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, type IdempotencyScope, parseAddress, type TableAddress } from '../access.ts'
import { readBatch, refuseWrongCount } from '../batch-body.ts'
import { inOrders, laterAt, secondOrderAt, withClientCondition } from '../example.ts'
import { notFound, requireTable, writeRecords } from '../lifecycle.ts'
import { scopeOfTable } from '../once.ts'
import { defineOperation } from '../operation.ts'
import { applyOperations, type Positioned } from '../runs/apply-operations.ts'
import { orderWithMail } from '../runs/examples.ts'
import {
  isTaskOperation,
  needOfRun,
  parseTaskOperation,
  refuseSameRun,
  type TaskBatchOperation,
} from '../runs/task-operations.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { parseIfUpdatedAt, preconditionFailed } from './condition.ts'
import { overtaken } from './examples.ts'
import { patchedBytesMax } from './patch-record.ts'
import { refuseSameRecord } from './refuse-same-record.ts'
import { recordSchemas } from './schemas.ts'

export type RecordBatchOperation =
  | ({ op: 'put'; condition: Condition | undefined } & RecordToPut)
  | ({ op: 'delete'; condition: Condition | undefined } & RecordKey)
  | ({ op: 'check'; condition: Condition } & RecordKey)
  | ({ op: 'patch'; condition: Condition | undefined } & RecordToPatch)

type BatchOperation = RecordBatchOperation | TaskBatchOperation

/** `alsoKnown`: members that the operations on records have, besides their own. */
export const parseOperation = (
  envelope: Envelope,
  text: string,
  nowMs: number,
  position: number,
  alsoKnown: readonly string[] = [],
): BatchOperation => {
  const { value, data, parts } = envelope
  const name = `operations[${position}]`
  const prefix = `${name}.`
  const members = parseObject(value, name)
  const known = ['op', 'ifUpdatedAt', ...alsoKnown]
  if (members.op === 'put') {
    const record = parseRecordToPut(members, text, data, nowMs, prefix, known)
    return { op: 'put', ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) }
  }
  if (members.op === 'patch') {
    const record = parseRecordToPatch(members, text, parts, nowMs, prefix, known)
    return { op: 'patch', ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) }
  }
  if (members.op === 'delete') {
    refuseOnDelete(members, prefix, known)
    const key = parseRecordKey(members.hashKey, members.rangeKey, prefix)
    return { op: 'delete', ...key, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) }
  }
  if (members.op === 'check') return parseCheck(members, prefix, known)
  const operation = parseTaskOperation(envelope, text, position)
  if (operation !== undefined) return operation
  throw new CubbyError(
    'invalid_request',
    `${prefix}op is ${describeValue(members.op)}; it takes "put", "patch", "delete", "check", "run" or "finish".`,
    {
      field: `${prefix}op`,
      hint: 'Write it as "put" to write a record as a whole, as "patch" to change a part of one, or as "delete" to delete one. A batch reads nothing.',
    },
  )
}

const parseCheck = (members: Members, prefix: string, known: readonly string[]): RecordBatchOperation => {
  refuseUnknownMembers(members, ['hashKey', 'rangeKey', ...known], prefix)
  const key = parseRecordKey(members.hashKey, members.rangeKey, prefix)
  const field = `${prefix}ifUpdatedAt`
  const condition = parseIfUpdatedAt(members.ifUpdatedAt, field)
  if (condition !== undefined) return { op: 'check', ...key, condition }
  throw new CubbyError('invalid_request', `${field} is missing; it takes an integer or null.`, {
    field,
    hint: 'Give the updatedAt that the record must have, or null if it must not exist.',
  })
}

const refuseOnDelete = (members: Members, prefix: string, known: readonly string[]): void => {
  for (const name of ['data', 'ttl']) {
    if (!Object.hasOwn(members, name)) continue
    throw new CubbyError('invalid_request', `${prefix}${name} is not allowed in a delete.`, {
      field: `${prefix}${name}`,
      hint: `Leave ${name} out, or make it a put.`,
    })
  }
  refuseUnknownMembers(members, ['hashKey', 'rangeKey', ...known], prefix)
}

const parseOperations = (text: string, operations: unknown, list: ElementList, nowMs: number): BatchOperation[] => {
  refuseWrongCount(operations, list)
  const parsed = list.first.map((operation, i) => parseOperation(operation, text, nowMs, i))
  refuseSameRecord(parsed, 'operations', 'Send the two operations in separate requests.')
  refuseSameRun(parsed)
  return parsed
}

/** Parses in slices of about `sliceUnits` of text, because a batch may have 12 MiB. */
export function* parseBatchInSlices(text: string, nowMs: number): Slices<BatchOperation[]> {
  const { members, list } = yield* readBatch(text)
  refuseUnknownMembers(members, ['operations'])
  return parseOperations(text, members.operations, list, nowMs)
}

export const parseBatch = (text: string, nowMs: number): BatchOperation[] => runThrough(parseBatchInSlices(text, nowMs))

const toRecordOperation = (
  access: Access,
  table: Table,
  operation: RecordBatchOperation,
  position: number,
): RecordOperation => {
  const { hashKey, rangeKey, condition } = operation
  const { indices } = table
  if (operation.op === 'check') return { op: 'check', hashKey, rangeKey, condition: operation.condition }
  if (operation.op === 'delete') return { op: 'delete', hashKey, rangeKey, condition }
  if (operation.op === 'patch') {
    const { patch } = operation
    const prefix = `operations[${position}].`
    const sizeMax = patchedBytesMax(access, table, hashKey)
    return { op: 'patch', hashKey, rangeKey, condition, patch, indices, prefix, sizeMax, wantsData: false }
  }
  try {
    const entries = readIndexEntries(indices, operation)
    const { data, ttlSeconds } = operation
    return { op: 'put', hashKey, rangeKey, condition, data, ttlSeconds, entries }
  } catch (error) {
    throw error instanceof CubbyError ? error.within(`operations[${position}]`) : error
  }
}

/** `positions`: those of the operations in the request; absent if they are all. */
function* toRecordOperations(
  access: Access,
  table: Table,
  batch: RecordBatchOperation[],
  positions?: number[],
): Slices<RecordOperation[]> {
  const operations: RecordOperation[] = []
  let units = 0
  for (const operation of batch) {
    const position = positions === undefined ? operations.length : positions[operations.length]!
    operations.push(toRecordOperation(access, table, operation, position))
    units += operation.op === 'put' ? operation.data.length : 0
    if (units < sliceUnits) continue
    yield
    units = 0
  }
  return operations
}

/** What an operation on a record needs of a user token. */
export const needOfOperation = (db: string, table: string, operation: RecordBatchOperation, position: number): Need => {
  const can = operation.op === 'check' ? 'read' : 'write'
  const data = operation.op === 'put' ? { data: operation.data } : {}
  return { of: 'table', db, table, can, hash: operation.hashKey, ...data, field: `operations[${position}]` }
}

interface ApplyBatchInput extends TableAddress {
  operations: BatchOperation[]
}

export interface BatchOutput {
  /** The number of operations, all of which were applied. */
  count: number
  /** The ids of runs, one for each `run` and `finish`. Undefined if there are none. */
  runs?: string[]
}

/** `runSlices` runs the slow parts. */
export const applyBatch = async (
  access: Access,
  input: ApplyBatchInput,
  nowMs: number,
  runSlices: RunSlices = runThrough,
): Promise<BatchOutput> => {
  const table = await requireTable(access, input, nowMs)
  if (input.operations.some(isTaskOperation)) return applyWithRuns(access, input, table, nowMs, runSlices)
  const batch = input.operations as RecordBatchOperation[]
  const operations = await runSlices(toRecordOperations(access, table, batch))
  const written = await writeRecords(access, input, table, operations, nowMs)
  if (!written.applied) {
    throw preconditionFailed(written.current, `operations[${written.failedOperation}].ifUpdatedAt`)
  }
  return { count: operations.length }
}

/** A batch that also adds or finishes runs. */
const applyWithRuns = async (
  access: Access,
  { db, ...input }: ApplyBatchInput,
  table: Table,
  nowMs: number,
  runSlices: RunSlices,
): Promise<BatchOutput> => {
  const group: TableGroup = { table, operations: [], positions: [] }
  for (const [position, operation] of input.operations.entries()) {
    if (!isTaskOperation(operation)) addToGroup(group, operation, position)
  }
  const scope = scopeOfTable(table)
  return applyGroups(access, scope, db, [group], input.operations, nowMs, runSlices).catch(async (error) => {
    // The table was deleted since it was looked up.
    const isGone = error instanceof CubbyError && error.code === 'table_not_found'
    throw isGone ? await notFound('table', access, { db, table: input.table }, nowMs) : error
  })
}

/** The operations of a batch on the records of one table, and their places in the request. */
export interface TableGroup {
  table: Table
  operations: RecordBatchOperation[]
  positions: number[]
}

export const addToGroup = (group: TableGroup, operation: RecordBatchOperation, position: number): void => {
  group.operations.push(operation)
  group.positions.push(position)
}

/** Writes the records of tables together with the runs of the batch `operations`. Throws what refuses one of them. */
export const applyGroups = async (
  access: Access,
  scope: IdempotencyScope,
  db: string,
  groups: TableGroup[],
  operations: readonly (TaskBatchOperation | { op: RecordBatchOperation['op'] })[],
  nowMs: number,
  runSlices: RunSlices,
): Promise<BatchOutput> => {
  const parts: BatchPart[] = []
  for (const { table, operations: batch, positions } of groups) {
    parts.push({ table, records: await runSlices(toRecordOperations(access, table, batch, positions)) })
  }
  const tasks = operations.flatMap((operation, position): Positioned<TaskBatchOperation>[] =>
    isTaskOperation(operation) ? [{ position, operation }] : [],
  )
  const written = await applyOperations(access, scope, db, parts, tasks, nowMs)
  if (!written.applied) {
    const position = groups[written.failedPart]!.positions[written.failedRecord]
    throw preconditionFailed(written.current, `operations[${position}].ifUpdatedAt`)
  }
  const count = operations.length
  return tasks.length === 0 ? { count } : { count, runs: written.runIds }
}

export const batchJson = (output: BatchOutput): string => JSON.stringify(output)

export const applyBatchOperation = defineOperation({
  id: 'applyBatch',
  area: 'records',
  summary: 'Put and delete several records at once, and add and finish runs',
  keyNeeded: 'write',
  grants: {
    of: 'table',
    can: 'read',
    needs: ({ db, table, operations }: ApplyBatchInput) =>
      operations.map((operation, i) =>
        isTaskOperation(operation) ? needOfRun(db, operation, i) : needOfOperation(db, table, operation, i),
      ),
  },
  effect: 'destroys',
  route: {
    method: 'POST',
    path: '/v1/:db/:table/batch',
    body: { schema: 'BatchRequest', required: true, bytesMax: batchBodyBytesMax },
  },
  idempotencyScope: 'table',
  parse(text, nowMs): ApplyBatchInput {
    const { members, list } = runThrough(readBatch(text))
    const { db, table, ...batch } = members
    const address = parseAddress(db, table)
    refuseUnknownMembers(batch, ['operations'])
    return { ...address, operations: parseOperations(text, batch.operations, list, nowMs) }
  },
  run: (access, input, nowMs) => applyBatch(access, input, nowMs),
  present: batchJson,
  describe: () => ({
    title: 'Batch',
    description:
      'Applies all operations or none; no reader ever sees only some of them. `run` adds a run to a task of the database, and `finish` finishes an attempt, together with the records: work is never without its data, and what a worker writes is written once. In an error, `field` names the operation: `operations[3].data.status`.',
    returns: 'All operations were applied.',
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'batch_too_large',
      'batch_duplicate_keys',
      'table_not_found',
      'task_not_found',
      'run_not_found',
      'run_exists',
      'lease_lost',
      'not_a_number',
      'not_an_array',
      'precondition_failed',
      'record_too_large',
    ],
    tag: 'Queries and batches',
    input: inputOf(recordSchemas.BatchRequest, addressMembers, addressRequired),
    output: ref('BatchResponse'),
    client: {
      on: 'table',
      method: 'batch',
      result: 'done',
      args: ({ operations }) => [(operations as Members[]).map(withClientCondition)],
    },
    examples: [
      {
        name: 'mixed',
        summary: 'Create one record, replace one, delete one',
        input: {
          ...inOrders,
          operations: [
            { op: 'put', hashKey: 'bob', rangeKey: 'o-3', data: { status: 'open' }, ifUpdatedAt: null },
            { op: 'put', hashKey: 'draft', data: { total: 12 }, ttl: 4102444800 },
            { op: 'delete', hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
          ],
        },
        output: { count: 3 },
      },
      orderWithMail,
      {
        name: 'wrongVersion',
        summary: 'One condition that does not hold',
        given: overtaken,
        input: {
          ...inOrders,
          operations: [
            { op: 'delete', hashKey: 'draft' },
            { op: 'delete', hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
          ],
        },
        error: {
          code: 'precondition_failed',
          message: `The record is at version ${laterAt}; nothing was changed.`,
          field: 'operations[1].ifUpdatedAt',
          hint: `Read the record again, apply your change to it, and write with its new version, ${laterAt}.`,
        },
      },
      {
        name: 'sameRecordTwice',
        summary: 'Two operations on one record',
        input: {
          ...inOrders,
          operations: [
            { op: 'delete', hashKey: 'draft' },
            { op: 'put', hashKey: 'draft', rangeKey: '#', data: {} },
          ],
        },
        error: {
          code: 'batch_duplicate_keys',
          message: 'operations[1] names the same record as operations[0].',
          field: 'operations[1]',
          hint: 'Send the two operations in separate requests.',
        },
      },
      {
        name: 'noOperations',
        summary: 'No operations',
        input: { ...inOrders, operations: [] },
        error: {
          code: 'invalid_request',
          message: 'operations is empty; it takes 1 to 25 operations.',
          field: 'operations',
        },
      },
      {
        name: 'noKey',
        summary: 'An operation without a hash key',
        input: { ...inOrders, operations: [{ op: 'delete' }] },
        error: {
          code: 'invalid_key',
          message: 'operations[0].hashKey is missing; it takes a string.',
          field: 'operations[0].hashKey',
          hint: 'Give operations[0].hashKey as a string of 1 to 1024 bytes.',
        },
      },
      {
        name: 'nullInIndex',
        summary: 'An indexed field that holds null',
        input: { ...inOrders, operations: [{ op: 'put', hashKey: 'bob', data: { status: null } }] },
        error: {
          code: 'invalid_index_value',
          message: 'data.status is null; index i1 takes a string, number or boolean.',
          field: 'operations[0].data.status',
          hint: 'Store it under another field, or leave data.status out: the index is sparse.',
        },
      },
      {
        name: 'millisecondsAsTtl',
        summary: 'A ttl in milliseconds',
        input: { ...inOrders, operations: [{ op: 'put', hashKey: 'bob', data: {}, ttl: 4102444800000 }] },
        error: {
          code: 'invalid_ttl',
          message: 'operations[0].ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
          field: 'operations[0].ttl',
          hint: 'It looks like milliseconds; give seconds: 4102444800.',
        },
      },
    ],
  }),
})
