import { CubbyError } from '../../core/errors.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { readScalar } from '../../core/scalar.ts'
import { claimLimitRule, leaseSecondsRule, waitSecondsRule } from '../../core/tasks/parse-numbers.ts'
import type { Run } from '../../core/tasks/run.ts'
import type { ClaimOptions } from '../../store/runs.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, type TaskAddress } from '../access.ts'
import { requireTask, writeIn } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { taskMembers, taskRequired } from '../tasks/schemas.ts'
import { claimed, declare, ofMail, toClaim } from './examples.ts'
import { runJson } from './present-run.ts'
import type { WaitEnd } from './run-waits.ts'
import { runSchemas } from './schemas.ts'
import { plainWaiting, type Waiting } from './waiting.ts'

interface Claim extends ClaimOptions {
  waitSeconds: number
}

interface ClaimRunsInput extends TaskAddress {
  claim: Claim
}

interface ClaimRunsOutput {
  task: string
  runs: Run[]
}

export const parseClaim = (members: Members): Claim => {
  refuseUnknownMembers(members, ['limit', 'leaseSeconds', 'waitSeconds'])
  const leaseSeconds = readScalar(leaseSecondsRule, members.leaseSeconds, 'leaseSeconds')
  return {
    limit: readScalar(claimLimitRule, members.limit, 'limit') ?? 1,
    leaseMs: leaseSeconds === undefined ? undefined : leaseSeconds * 1000,
    waitSeconds: readScalar(waitSecondsRule, members.waitSeconds, 'waitSeconds') ?? 0,
  }
}

const pushed = (task: string): CubbyError =>
  new CubbyError('invalid_request', `The task ${task} has a url: its runs are pushed there and cannot be claimed.`, {
    hint: 'Declare the task without url to claim its runs.',
  })

const claimNow = async (access: Access, input: ClaimRunsInput, task: Table, nowMs: number): Promise<Run[]> => {
  try {
    return await writeIn('task', access, input, nowMs, () =>
      access.engine.runs.claim(callerOf(access), task, input.claim, nowMs),
    )
  } catch (error) {
    throw error instanceof CubbyError && error.code === 'invalid_request' ? pushed(input.task) : error
  }
}

/** Claims no runs while the process hands out none, with the same refusals and the same wait. */
const claimNothing = async (access: Access, input: ClaimRunsInput, task: Table, waiting: Waiting): Promise<Run[]> => {
  const [state] = await access.engine.tasks.read([task], waiting.nowMs)
  if (state !== undefined && state.declaration.url !== null) throw pushed(input.task)
  const ms = input.claim.waitSeconds * 1000
  if (ms > 0) await waiting.pause(() => access.tasks.waits.untilOver(access.apiKey, ms, waiting.signal))
  return []
}

/**
 * Due runs, each with a lease. With `waitSeconds` it waits for the first one. Nothing is claimed for a caller that has gone.
 */
export const claimRuns = async (
  access: Access,
  input: ClaimRunsInput,
  nowMs: number,
  waiting: Waiting = plainWaiting(access, nowMs),
): Promise<ClaimRunsOutput> => {
  const task = await requireTask(access, input, nowMs)
  const none = { task: input.task, runs: [] }
  if (!access.tasks.handsOut) return { ...none, runs: await claimNothing(access, input, task, waiting) }
  const { waits } = access.tasks
  const endsAtMs = performance.now() + input.claim.waitSeconds * 1000
  for (let isAgain = false; ; isAgain = true) {
    if (waiting.signal?.aborted === true) return none
    const runs = await claimNow(waiting.access, input, task, waiting.nowMs)
    const leftMs = endsAtMs - performance.now()
    if (runs.length > 0 || leftMs <= 0) return { task: input.task, runs }
    const wait = (): Promise<WaitEnd> => waits.untilDue(access.apiKey, task.id, leftMs, waiting.signal, isAgain)
    if ((await waiting.pause(wait)) === 'over') return none
  }
}

export const claimedJson = ({ task, runs }: ClaimRunsOutput): string =>
  `{"runs":[${runs.map((run) => runJson(run, task, { withLease: true })).join(',')}]}`

export const claimRunsOperation = defineOperation({
  id: 'claimRuns',
  area: 'runs',
  summary: 'Claim due runs of a task, each with a lease',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/claim', body: { schema: 'ClaimRequest' } },
  read: ({ members }) => ({ claim: parseClaim(members) }),
  run: (access, input: ClaimRunsInput, nowMs) => claimRuns(access, input, nowMs),
  present: claimedJson,
  describe: () => ({
    title: 'Claim runs',
    description:
      'For workers. Each run is handed to one caller only, in the order of `runAt`, then creation. The caller finishes it, or extends its lease, before `leaseUntil`; otherwise the attempt has failed. With `waitSeconds` the answer comes with the first run, or after that time without one. One answer has at most 1 MiB of payload, but at least one run if there is one. A task with a `url` is rejected: its runs are pushed.',
    returns: 'The claimed runs.',
    codes: ['task_not_found'],
    note: 'For a caller that closes its connection while it waits, nothing is claimed.',
    input: inputOf(runSchemas.ClaimRequest, taskMembers, taskRequired),
    output: ref('ClaimResponse'),
    client: { on: 'task', method: 'claim', result: 'runs' },
    examples: [
      {
        name: 'one',
        summary: 'The run that is due longest',
        given: toClaim,
        input: { ...ofMail, waitSeconds: 20 },
        output: { runs: [claimed] },
      },
      {
        name: 'none',
        summary: 'No run is due',
        given: [declare],
        input: { ...ofMail, limit: 10 },
        output: { runs: [] },
      },
      {
        name: 'tooMany',
        summary: 'A limit that is too large',
        given: [declare],
        input: { ...ofMail, limit: 1000 },
        error: {
          code: 'invalid_request',
          message: 'limit is 1000; it takes an integer from 1 to 100.',
          field: 'limit',
          hint: 'Claim 100 at a time.',
        },
      },
    ],
  }),
})
