import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { batchBodyBytesMax } from '../../core/limits.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { runThrough, type Slices } from '../../core/slices.ts'
import type { Envelope } from '../../core/text/json-span.ts'
import type { ElementList } from '../../core/text/list-body.ts'
import { type Access, parseTaskAddress, type TaskAddress } from '../access.ts'
import { readBatch, refuseWrongCount } from '../batch-body.ts'
import { requireTaskOrDeleted } from '../lifecycle.ts'
import { scopeOfTable } from '../once.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { taskMembers, taskRequired } from '../tasks/schemas.ts'
import { applyOperations } from './apply-operations.ts'
import { id, lease, leaseIsLost, ofMail, result, toFinish } from './examples.ts'
import { runSchemas } from './schemas.ts'
import { needOfRun, parseTaskOperation, refuseSameRun, type TaskBatchOperation } from './task-operations.ts'

interface ApplyTaskBatchInput extends TaskAddress {
  operations: TaskBatchOperation[]
}

interface TaskBatchOutput {
  count: number
  /** One for each operation. */
  runs: string[]
}

const parseOperation = (envelope: Envelope, text: string, position: number, task: string): TaskBatchOperation => {
  const operation = parseTaskOperation(envelope, text, position, task)
  if (operation !== undefined) return operation
  const field = `operations[${position}].op`
  const op = describeValue((envelope.value as { op?: unknown }).op)
  throw new CubbyError('invalid_request', `${field} is ${op}; it takes "run" or "finish".`, {
    field,
    hint: ['Records are written together with runs by ', { operation: 'applyBatch', input: {} }, '.'],
  })
}

const parseOperations = (text: string, operations: unknown, list: ElementList, task: string): TaskBatchOperation[] => {
  refuseWrongCount(operations, list)
  const parsed = list.first.map((envelope, i) => parseOperation(envelope, text, i, task))
  refuseSameRun(parsed)
  return parsed
}

/** `task`: of the operations that name none. */
export function* parseTaskBatchInSlices(text: string, task: string): Slices<TaskBatchOperation[]> {
  const { members, list } = yield* readBatch(text)
  refuseUnknownMembers(members, ['operations'])
  return parseOperations(text, members.operations, list, task)
}

export const applyTaskBatch = async (
  access: Access,
  { operations, ...address }: ApplyTaskBatchInput,
  nowMs: number,
): Promise<TaskBatchOutput> => {
  const task = await requireTaskOrDeleted(access, address, nowMs)
  const positioned = operations.map((operation, position) => ({ operation, position }))
  const result = await applyOperations(access, scopeOfTable(task), address.db, [], positioned, nowMs)
  if (!result.applied) throw new Error('a batch without records has no conditions')
  return { count: operations.length, runs: result.runIds }
}

export const applyTaskBatchOperation = defineOperation({
  id: 'applyTaskBatch',
  area: 'runs',
  summary: 'Add and finish several runs at once',
  keyNeeded: 'write',
  grants: {
    of: 'task',
    can: 'read',
    needs: ({ db, operations }) => operations.map((operation, i) => needOfRun(db, operation, i)),
  },
  effect: 'writes',
  route: {
    method: 'POST',
    path: '/v1/:db/_tasks/:task/batch',
    body: { schema: 'TaskBatchRequest', required: true, bytesMax: batchBodyBytesMax },
  },
  idempotencyScope: 'task',
  parse(text): ApplyTaskBatchInput {
    const { members, list } = runThrough(readBatch(text))
    const { db, task, ...batch } = members
    const address = parseTaskAddress(db, task)
    refuseUnknownMembers(batch, ['operations'])
    return { ...address, operations: parseOperations(text, batch.operations, list, address.task) }
  },
  run: applyTaskBatch,
  present: (output) => JSON.stringify(output),
  describe: () => ({
    title: 'Batch of runs',
    description:
      'Applies all operations or none. They may be about other tasks of the database; one that names no `task` is about this one. In an error, `field` names the operation: `operations[3].lease`. A `finish` that was applied before is rejected.',
    returns: 'All operations were applied.',
    codes: [
      'invalid_key',
      'batch_too_large',
      'batch_duplicate_keys',
      'task_not_found',
      'run_not_found',
      'run_exists',
      'lease_lost',
      'record_too_large',
    ],
    input: inputOf(runSchemas.TaskBatchRequest, taskMembers, taskRequired),
    output: ref('TaskBatchResponse'),
    client: { on: 'task', method: 'batch', result: 'done', args: ({ operations }) => [operations] },
    examples: [
      {
        name: 'next',
        summary: 'Finish a run and add the next one',
        given: toFinish,
        input: {
          ...ofMail,
          operations: [
            { op: 'finish', run: id, lease, result },
            { op: 'run', id: 'order-o-2', payload: { to: 'ada@example.com', order: 'o-2' } },
          ],
        },
        output: { count: 2, runs: [id, 'order-o-2'] },
      },
      {
        name: 'lost',
        summary: 'The lease of another attempt: nothing is applied',
        given: toFinish,
        input: { ...ofMail, operations: [{ op: 'finish', run: id, lease: 'lease_0' }] },
        error: { ...leaseIsLost, field: 'operations[0].lease' },
      },
    ],
  }),
})
