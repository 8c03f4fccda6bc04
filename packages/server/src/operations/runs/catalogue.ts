import { entry } from '../catalogue-entry.ts'
import { inputOf, ref } from '../schema.ts'
import { taskMembers, taskRequired } from '../tasks/schemas.ts'
import { applyTaskBatchOperation } from './apply-task-batch.ts'
import { cancelRunOperation, retryRunOperation } from './change-runs.ts'
import { claimRunsOperation } from './claim-runs.ts'
import * as examples from './examples.ts'
import { extendRunOperation } from './extend-run.ts'
import { finishRunOperation } from './finish-run.ts'
import { getRunOperation } from './get-run.ts'
import { queryRunsOperation } from './query-runs.ts'
import { failureExcludes, runExcludes } from './run-members.ts'
import { runTaskOperation } from './run-task.ts'
import { runAddressMembers, runAddressRequired, runSchemas, waitSeconds } from './schemas.ts'

const { FailureRequest, SuccessRequest } = runSchemas

export const runCatalogue = {
  runTask: entry(runTaskOperation, {
    input: { ...inputOf(runSchemas.RunRequest, taskMembers, taskRequired), ...runExcludes },
    output: ref('Run'),
    examples: examples.runTask,
  }),
  getRun: entry(getRunOperation, {
    input: inputOf(
      {},
      {
        ...runAddressMembers,
        waitSeconds: {
          ...waitSeconds,
          default: 0,
          description: 'How long the answer waits for the end of the run.',
        },
      },
      runAddressRequired,
    ),
    output: ref('RunView'),
    examples: examples.getRun,
  }),
  queryRuns: entry(queryRunsOperation, {
    input: inputOf(runSchemas.RunQuery, taskMembers, taskRequired),
    output: ref('RunPage'),
    examples: examples.queryRuns,
  }),
  claimRuns: entry(claimRunsOperation, {
    input: inputOf(runSchemas.ClaimRequest, taskMembers, taskRequired),
    output: ref('ClaimResponse'),
    examples: examples.claimRuns,
  }),
  extendRun: entry(extendRunOperation, {
    input: inputOf(runSchemas.ExtendRequest, runAddressMembers, runAddressRequired),
    output: ref('ExtendResponse'),
    examples: examples.extendRun,
  }),
  finishRun: entry(finishRunOperation, {
    input: {
      type: 'object',
      oneOf: [
        inputOf(SuccessRequest, runAddressMembers, runAddressRequired),
        { ...inputOf(FailureRequest, runAddressMembers, runAddressRequired), ...failureExcludes },
      ],
    },
    output: ref('Run'),
    examples: examples.finishRun,
  }),
  cancelRun: entry(cancelRunOperation, {
    input: inputOf({}, runAddressMembers, runAddressRequired),
    output: ref('Run'),
    examples: examples.cancelRun,
  }),
  retryRun: entry(retryRunOperation, {
    input: inputOf({}, runAddressMembers, runAddressRequired),
    output: ref('Run'),
    examples: examples.retryRun,
  }),
  applyTaskBatch: entry(applyTaskBatchOperation, {
    input: inputOf(runSchemas.TaskBatchRequest, taskMembers, taskRequired),
    output: ref('TaskBatchResponse'),
    examples: examples.applyTaskBatch,
  }),
}
