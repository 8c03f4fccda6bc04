import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { applyTaskBatchOperation } from '../../operations/runs/apply-task-batch.ts'
import { cancelRunOperation, retryRunOperation } from '../../operations/runs/change-runs.ts'
import { claimRunsOperation } from '../../operations/runs/claim-runs.ts'
import { extendRunOperation } from '../../operations/runs/extend-run.ts'
import { finishRunOperation } from '../../operations/runs/finish-run.ts'
import { getRunOperation } from '../../operations/runs/get-run.ts'
import { queryRunsOperation } from '../../operations/runs/query-runs.ts'
import { runTaskOperation } from '../../operations/runs/run-task.ts'
import type { OperationRoute } from './route.ts'

const task = '/v1/:db/_tasks/:task'
const run = `${task}/runs/:run`

export const runRoutes = {
  runTask: {
    operation: runTaskOperation,
    method: 'POST',
    paths: [`${task}/run`],
    body: { schema: 'RunRequest', required: false, bytesMax: bodyBytesMax },
  },
  getRun: { operation: getRunOperation, method: 'GET', paths: [run], query: ['waitSeconds'] },
  queryRuns: {
    operation: queryRunsOperation,
    method: 'POST',
    paths: [`${task}/query`],
    body: { schema: 'RunQuery', required: false, bytesMax: plainBodyBytesMax },
  },
  claimRuns: {
    operation: claimRunsOperation,
    method: 'POST',
    paths: [`${task}/claim`],
    body: { schema: 'ClaimRequest', required: false, bytesMax: plainBodyBytesMax },
  },
  extendRun: {
    operation: extendRunOperation,
    method: 'POST',
    paths: [`${run}/extend`],
    body: { schema: 'ExtendRequest', required: true, bytesMax: plainBodyBytesMax },
  },
  finishRun: {
    operation: finishRunOperation,
    method: 'POST',
    paths: [`${run}/finish`],
    body: { schema: 'FinishRequest', required: true, bytesMax: bodyBytesMax },
  },
  cancelRun: {
    operation: cancelRunOperation,
    method: 'POST',
    paths: [`${run}/cancel`],
    body: { schema: 'NoMembers', required: false, bytesMax: plainBodyBytesMax },
  },
  retryRun: {
    operation: retryRunOperation,
    method: 'POST',
    paths: [`${run}/retry`],
    body: { schema: 'NoMembers', required: false, bytesMax: plainBodyBytesMax },
  },
  applyTaskBatch: {
    operation: applyTaskBatchOperation,
    method: 'POST',
    paths: [`${task}/batch`],
    body: { schema: 'TaskBatchRequest', required: true, bytesMax: batchBodyBytesMax },
  },
} satisfies Record<string, OperationRoute>
