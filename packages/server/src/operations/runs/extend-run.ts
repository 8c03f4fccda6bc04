import { type Extension, parseExtension } from '../../core/tasks/parse-extend.ts'
import { type RunBody, readRunBody } from '../../core/tasks/run-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { cancel, clientLease, lease, leaseIsLost, ofRun, toFinish } from './examples.ts'
import { changeAttempt, type RunAddress } from './run-access.ts'
import { runAddressMembers, runAddressRequired, runSchemas } from './schemas.ts'

interface ExtendRunInput extends RunAddress {
  extension: Extension
}

/** Returns when the lease ends now, in epoch milliseconds. */
const extendRun = async (access: Access, { extension, ...address }: ExtendRunInput, nowMs: number): Promise<number> => {
  const { run } = await changeAttempt(access, address, nowMs, (task) =>
    access.engine.runs.extend(callerOf(access), task, address.run, extension, nowMs),
  )
  return run.leaseUntilMs!
}

const extendedJson = (leaseUntilMs: number): string => JSON.stringify({ leaseUntil: leaseUntilMs })

export const extendRunOperation = defineOperation({
  id: 'extendRun',
  area: 'runs',
  summary: 'Extend the lease of an attempt and report its progress',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: {
    method: 'POST',
    path: '/v1/:db/_tasks/:task/runs/:run/extend',
    body: { schema: 'ExtendRequest', required: true },
  },
  readBody: readRunBody,
  read: (body: RunBody) => ({ extension: parseExtension(body) }),
  run: extendRun,
  present: extendedJson,
  describe: () => ({
    title: 'Extend a lease',
    description:
      'The lease then ends `leaseSeconds` from now, even if that is earlier than before. `progress` replaces the progress that the run shows; without it the version of the run stays. It is accepted while the task is paused or deleted.',
    returns: 'When the lease ends.',
    codes: ['task_not_found', 'run_not_found', 'lease_lost'],
    input: inputOf(runSchemas.ExtendRequest, runAddressMembers, runAddressRequired),
    output: ref('ExtendResponse'),
    client: { on: 'task', method: 'extend', result: 'extended', args: clientLease },
    examples: [
      {
        name: 'progress',
        summary: 'A sign of life with progress',
        given: toFinish,
        input: { ...ofRun, lease, leaseSeconds: 60, progress: { sent: 3, of: 10 } },
        output: { leaseUntil: 1767780062000 },
      },
      {
        name: 'lost',
        summary: 'The run was cancelled',
        given: [...toFinish, { ...cancel, output: undefined }],
        input: { ...ofRun, lease },
        error: leaseIsLost,
      },
    ],
  }),
})
