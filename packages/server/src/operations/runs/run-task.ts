import { CubbyError } from '../../core/errors.ts'
import { bodyBytesMax } from '../../core/limits.ts'
import { parseNewRun } from '../../core/tasks/parse-run.ts'
import type { NewRun, Run } from '../../core/tasks/run.ts'
import { type RunBody, readRunBody } from '../../core/tasks/run-body.ts'
import type { Access, TaskAddress } from '../access.ts'
import { requireTask, writeIn } from '../lifecycle.ts'
import { scopeOfTable, writeOnce } from '../once.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { taskMembers, taskRequired } from '../tasks/schemas.ts'
import { declare, id, idIsTaken, ofMail, payload, queued, taskMissing, toClaim } from './examples.ts'
import { runJson } from './present-run.ts'
import { idTaken } from './run-access.ts'
import { runExcludes } from './run-members.ts'
import { runSchemas } from './schemas.ts'

interface RunTaskInput extends TaskAddress {
  newRun: NewRun
}

interface RunTaskOutput {
  task: string
  run: Run
  /** False: the run with that id, or the queued run of that key. */
  created: boolean
}

const refuseBoth = (): never => {
  throw new CubbyError('invalid_request', 'Idempotency-Key is not allowed with id.', {
    field: 'Idempotency-Key',
    hint: 'Send one of the two: a run with an id can be repeated as it is.',
  })
}

export const runTask = async (
  access: Access,
  { newRun, ...address }: RunTaskInput,
  nowMs: number,
): Promise<RunTaskOutput> => {
  if (access.once !== undefined && newRun.isNamed) refuseBoth()
  const task = await requireTask(access, address, nowMs)
  const { engine, apiKey, tasks } = access
  const run = { ...newRun, user: apiKey.user?.name ?? null }
  const added = await writeIn('task', access, address, nowMs, () =>
    writeOnce(access, scopeOfTable(task), (caller) => engine.runs.add(caller, task, run, nowMs)),
  )
  if ('refused' in added) throw idTaken(added.run)
  // A result that was kept has no payload.
  if (access.once?.isReplayed) return { task: address.task, ...added, run: { ...added.run, payload: newRun.payload } }
  tasks.signals.changed(task.id)
  return { task: address.task, ...added }
}

export const runTaskOperation = defineOperation({
  id: 'runTask',
  area: 'runs',
  summary: 'Add a run to a task',
  keyNeeded: 'write',
  grants: {
    of: 'task',
    can: 'read',
    needs: ({ db, task, newRun: { option } }) => ({ of: 'task', db, task, option }),
  },
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/run', body: { schema: 'RunRequest', bytesMax: bodyBytesMax } },
  idempotencyScope: 'task',
  command: 'tasks run {task} --db {db}',
  tool: 'run_task',
  readBody: readRunBody,
  read: (body: RunBody) => ({ newRun: parseNewRun(body) }),
  run: runTask,
  present: ({ run, task }) => runJson(run, task),
  describe: () => ({
    title: 'Add a run',
    description: `The run is done at least once: it is pushed to the task's \`url\` or claimed by a worker, until an attempt succeeds or the attempts are used up. With \`id\` the call can be repeated: as long as the run is kept, the same id with the same payload returns that run. With \`key\` at most one run of the key is queued and at most one is running: if one is queued, it gets the new payload, and the run starts at the earlier of the two times if no attempt of it was made. So a run always starts after the last request.`,
    returns: 'The run.',
    codes: ['invalid_key', 'task_not_found', 'run_exists', 'record_too_large'],
    responses: { existing: 'The run with that id, or the queued run of that key.', created: 'Created.' },
    input: { ...inputOf(runSchemas.RunRequest, taskMembers, taskRequired), ...runExcludes },
    output: ref('Run'),
    client: { on: 'task', method: 'run', result: 'run', args: ({ payload = {}, ...options }) => [payload, options] },
    examples: [
      {
        name: 'once',
        summary: 'A run with an id, so that the call can be repeated',
        given: [declare],
        input: { ...ofMail, id, payload },
        output: queued,
      },
      {
        name: 'repeated',
        summary: 'The same call again',
        given: toClaim,
        input: { ...ofMail, id, payload },
        output: queued,
        unchanged: true,
      },
      {
        name: 'keyed',
        summary: 'Bring one thing up to date',
        given: [declare],
        input: { ...ofMail, key: 'ada', payload: { customer: 'ada' } },
        output: { ...queued, id: 'run_5Yb2VtKx8QmZ1nWc4RdJ7s', payload: { customer: 'ada' }, key: 'ada' },
      },
      {
        name: 'otherPayload',
        summary: 'An id that another run has',
        given: toClaim,
        input: { ...ofMail, id, payload: { to: 'bob@example.com' } },
        error: idIsTaken,
      },
      {
        name: 'noTask',
        summary: 'A task that was not declared',
        input: { ...ofMail, task: 'invoices', payload },
        error: taskMissing,
      },
    ],
  }),
})
