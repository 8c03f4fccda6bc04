import { CubbyError } from '../../core/errors.ts'
import { batchBodyBytesMax, databaseBatchOperationsMax, databaseBatchTablesMax } from '../../core/limits.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { type RunSlices, runThrough, type Slices } from '../../core/slices.ts'
import type { ElementList } from '../../core/text/list-body.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, parseNameOf } from '../access.ts'
import { readBatch, refuseWrongCount } from '../batch-body.ts'
import { firstOrderAt, withClientCondition } from '../example.ts'
import { requireTable } from '../lifecycle.ts'
import { scopeOfDatabase } from '../once.ts'
import { defineOperation } from '../operation.ts'
import { isTaskOperation, needOfRun, refuseSameRun, type TaskBatchOperation } from '../runs/task-operations.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers } from '../tables/schemas.ts'
import {
  addToGroup,
  applyGroups,
  type BatchOutput,
  needOfOperation,
  parseOperation,
  type RecordBatchOperation,
  type TableGroup,
} from './apply-batch.ts'
import { refuseSameRecord } from './refuse-same-record.ts'
import { recordSchemas } from './schemas.ts'

type TableOperation = RecordBatchOperation & { table: string }
type DatabaseOperation = TableOperation | TaskBatchOperation

const parseOperations = (text: string, operations: unknown, list: ElementList, nowMs: number): DatabaseOperation[] => {
  refuseWrongCount(operations, list, databaseBatchOperationsMax)
  const parsed = list.first.map((envelope, i): DatabaseOperation => {
    const operation = parseOperation(envelope, text, nowMs, i, ['table'])
    if (isTaskOperation(operation)) return operation
    return { ...operation, table: parseTable((envelope.value as Members).table, `operations[${i}].table`) }
  })
  const hint = 'Send the two operations in separate requests.'
  refuseSameRecord(parsed, 'operations', hint)
  refuseSameRun(parsed)
  refuseManyTables(parsed)
  return parsed
}

const parseTable = (value: unknown, field: string): string => {
  if (value !== undefined) return parseName(value, field)
  throw new CubbyError('invalid_name', `${field} is missing; it takes the name of a table.`, {
    field,
    hint: 'Every operation on a record names its table.',
  })
}

const refuseManyTables = (operations: readonly DatabaseOperation[]): void => {
  const named = new Set(operations.map((operation) => ('table' in operation ? `t ${operation.table}` : operation.task)))
  if (named.size <= databaseBatchTablesMax) return
  throw new CubbyError(
    'batch_too_large',
    `operations names ${named.size} tables and tasks; a batch takes at most ${databaseBatchTablesMax}.`,
    { field: 'operations', hint: 'Send them in several batches; each is atomic by itself.' },
  )
}

/** Parses in slices, because a batch may have 12 MiB. */
export function* parseDatabaseBatchInSlices(text: string, nowMs: number): Slices<DatabaseOperation[]> {
  const { members, list } = yield* readBatch(text, databaseBatchOperationsMax)
  refuseUnknownMembers(members, ['operations'])
  return parseOperations(text, members.operations, list, nowMs)
}

interface ApplyDatabaseBatchInput {
  db: string
  operations: DatabaseOperation[]
}

const groupByTable = async (
  access: Access,
  { db, operations }: ApplyDatabaseBatchInput,
  nowMs: number,
): Promise<TableGroup[]> => {
  const groups = new Map<string, TableGroup>()
  for (const [position, operation] of operations.entries()) {
    if (isTaskOperation(operation)) continue
    let group = groups.get(operation.table)
    if (group === undefined) {
      const table = await requireTableOf(access, db, operation.table, position, nowMs)
      group = { table, operations: [], positions: [] }
      groups.set(operation.table, group)
    }
    addToGroup(group, operation, position)
  }
  return [...groups.values()]
}

const requireTableOf = async (
  access: Access,
  db: string,
  table: string,
  position: number,
  nowMs: number,
): Promise<Table> => {
  try {
    return await requireTable(access, { db, table }, nowMs)
  } catch (error) {
    const isMissing = error instanceof CubbyError && error.code === 'table_not_found'
    throw isMissing ? error.within(`operations[${position}].table`) : error
  }
}

/** `runSlices` runs the slow parts. */
export const applyDatabaseBatch = async (
  access: Access,
  input: ApplyDatabaseBatchInput,
  nowMs: number,
  runSlices: RunSlices = runThrough,
): Promise<BatchOutput> => {
  const { db, operations } = input
  // If the request was applied before, its tables may be gone, or have other indices.
  const groups = access.once?.kept === undefined ? await groupByTable(access, input, nowMs) : []
  const scope = scopeOfDatabase(access.apiKey.orgId, db)
  return applyGroups(access, scope, db, groups, operations, nowMs, runSlices).catch(async (error) => {
    // A table was deleted since it was looked up: looked up again, the error names it.
    if (error instanceof CubbyError && error.code === 'table_not_found') await groupByTable(access, input, nowMs)
    throw error
  })
}

export const applyDatabaseBatchOperation = defineOperation({
  id: 'applyDatabaseBatch',
  area: 'records',
  summary: 'Write records of several tables at once, and add and finish runs',
  keyNeeded: 'write',
  grants: {
    of: 'database',
    can: 'read',
    needs: ({ db, operations }: ApplyDatabaseBatchInput) =>
      operations.map((operation, i) =>
        isTaskOperation(operation) ? needOfRun(db, operation, i) : needOfOperation(db, operation.table, operation, i),
      ),
  },
  effect: 'destroys',
  route: {
    method: 'POST',
    path: '/v1/:db/_batch',
    body: { schema: 'DatabaseBatchRequest', required: true, bytesMax: batchBodyBytesMax },
  },
  idempotencyScope: 'database',
  parse(text, nowMs): ApplyDatabaseBatchInput {
    const { members, list } = runThrough(readBatch(text, databaseBatchOperationsMax))
    const { db, ...batch } = members
    refuseUnknownMembers(batch, ['operations'])
    return { db: parseNameOf(db, 'db'), operations: parseOperations(text, batch.operations, list, nowMs) }
  },
  run: (access, input, nowMs) => applyDatabaseBatch(access, input, nowMs),
  present: (output) => JSON.stringify(output),
  describe: () => ({
    title: 'Batch over several tables',
    description:
      'Applies all operations or none, on tables and tasks of one database; no reader ever sees only some of them. Operations on records name their `table`, `run` and `finish` their `task`. `check` writes nothing: it holds if the record has that version, or does not exist, when the batch is committed. In an error, `field` names the operation: `operations[3].table`.',
    returns: 'All operations were applied.',
    codes: [
      'invalid_key',
      'invalid_name',
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
    input: inputOf(recordSchemas.DatabaseBatchRequest, { db: addressMembers.db }, ['db']),
    output: ref('BatchResponse'),
    client: {
      on: 'db',
      method: 'batch',
      result: 'done',
      args: ({ operations }) => [(operations as Members[]).map(withClientCondition)],
    },
    examples: [
      {
        name: 'order',
        summary: 'An order that takes from a stock, if its customer has not changed',
        given: [
          { operation: 'createTable', input: { db: 'app', table: 'stock', indices: {} } },
          { operation: 'putRecord', input: { db: 'app', table: 'stock', hashKey: 'cup', data: { count: 3 } } },
        ],
        input: {
          db: 'app',
          operations: [
            { op: 'check', table: 'orders', hashKey: 'ada', rangeKey: 'o-1', ifUpdatedAt: firstOrderAt },
            {
              op: 'put',
              table: 'orders',
              hashKey: 'ada',
              rangeKey: 'o-3',
              data: { status: 'open' },
              ifUpdatedAt: null,
            },
            { op: 'patch', table: 'stock', hashKey: 'cup', increment: { '/count': { by: -2, min: 0 } } },
          ],
        },
        output: { count: 3 },
      },
      {
        name: 'uniqueName',
        summary: 'A name that is taken: nothing is written',
        input: {
          db: 'app',
          operations: [
            { op: 'check', table: 'orders', hashKey: 'ada', rangeKey: 'o-1', ifUpdatedAt: null },
            { op: 'delete', table: 'orders', hashKey: 'draft' },
          ],
        },
        error: {
          code: 'precondition_failed',
          message: `The record is at version ${firstOrderAt}; nothing was changed.`,
          field: 'operations[0].ifUpdatedAt',
          hint: `Read the record again, apply your change to it, and write with its new version, ${firstOrderAt}.`,
        },
      },
      {
        name: 'nullInIndex',
        summary: 'An indexed field that holds null',
        input: { db: 'app', operations: [{ op: 'put', table: 'orders', hashKey: 'bob', data: { status: null } }] },
        error: {
          code: 'invalid_index_value',
          message: 'data.status is null; index i1 takes a string, number or boolean.',
          field: 'operations[0].data.status',
          hint: 'Store it under another field, or leave data.status out: the index is sparse.',
        },
      },
    ],
  }),
})
