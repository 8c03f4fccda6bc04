import { type Extension, parseExtension } from '../../core/tasks/parse-extend.ts'
import { readRunBody } from '../../core/tasks/run-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { changeAttempt, parseRunAddress, type RunAddress } from './run-access.ts'

export interface ExtendRunInput extends RunAddress {
  extension: Extension
}

/** Returns when the lease ends now, in epoch milliseconds. */
export const extendRun = async (
  access: Access,
  { extension, ...address }: ExtendRunInput,
  nowMs: number,
): Promise<number> => {
  const { run } = await changeAttempt(access, address, nowMs, (task) =>
    access.engine.runs.extend(callerOf(access), task, address.run, extension, nowMs),
  )
  return run.leaseUntilMs!
}

export const extendedJson = (leaseUntilMs: number): string => JSON.stringify({ leaseUntil: leaseUntilMs })

export const extendRunOperation = defineOperation({
  id: 'extendRun',
  area: 'runs',
  summary: 'Extend the lease of an attempt and report its progress',
  description:
    'The lease then ends `leaseSeconds` from now, even if that is earlier than before. `progress` replaces the progress that the run shows; without it the version of the run stays. It is accepted while the task is deleted.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'When the lease ends.',
  codes: ['task_not_found', 'run_not_found', 'lease_lost'],
  parse(text): ExtendRunInput {
    const { members, ...body } = readRunBody(text)
    const { db, task, run, ...extension } = members
    return { ...parseRunAddress(db, task, run), extension: parseExtension({ members: extension, ...body }) }
  },
  run: extendRun,
  present: extendedJson,
})
