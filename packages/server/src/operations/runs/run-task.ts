import { parseNewRun } from '../../core/tasks/parse-run.ts'
import type { NewRun, Run } from '../../core/tasks/run.ts'
import { readRunBody } from '../../core/tasks/run-body.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseTaskAddress, requireTask, type TaskAddress, writeInTask } from '../tasks/task-access.ts'
import { runJson } from './present-run.ts'
import { idTaken } from './run-access.ts'

export interface RunTaskInput extends TaskAddress {
  newRun: NewRun
}

export interface RunTaskOutput {
  task: string
  run: Run
  /** False: the run with that id, or the queued run of that key. */
  created: boolean
}

export const runTask = async (
  access: Access,
  { newRun, ...address }: RunTaskInput,
  nowMs: number,
): Promise<RunTaskOutput> => {
  const task = await requireTask(access, address, nowMs)
  const { engine, tasks } = access
  const added = await writeInTask(access, address, nowMs, () => engine.runs.add(callerOf(access), task, newRun, nowMs))
  if ('refused' in added) throw idTaken(added.run)
  tasks.signals.changed(task.id)
  return { task: address.task, ...added }
}

export const runTaskOperation = defineOperation({
  id: 'runTask',
  area: 'runs',
  summary: 'Add a run to a task',
  description: `The run is done at least once: it is pushed to the task's \`url\` or claimed by a worker, until an attempt succeeds or the attempts are used up. With \`id\` the call can be repeated: as long as the run is kept, the same id with the same payload returns that run. With \`key\` at most one run of the key is queued and at most one is running: if one is queued, it gets the new payload, and the run starts at the earlier of the two times if no attempt of it was made. So a run always starts after the last request.`,
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The run.',
  codes: ['invalid_key', 'task_not_found', 'run_exists', 'record_too_large'],
  parse(text): RunTaskInput {
    const { members, ...body } = readRunBody(text)
    const { db, task, ...run } = members
    return { ...parseTaskAddress(db, task), newRun: parseNewRun({ members: run, ...body }) }
  },
  run: runTask,
  present: ({ run, task }) => runJson(run, task),
})
