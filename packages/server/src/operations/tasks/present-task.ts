import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { hiddenAuthorization } from '../../core/tasks/parse-declaration.ts'
import type { Schedule } from '../../core/tasks/schedule.ts'
import type { Table } from '../../store/tables.ts'
import type { TaskState } from '../../store/tasks.ts'
import type { TaskAddress } from '../access.ts'
import { presentLife } from '../lifecycle.ts'

/** A task with its declaration. */
export interface TaskAndState {
  task: Table
  state: TaskState
}

/** The payload is the text that was sent, so the JSON is put together from texts. */
const scheduleJson = (schedule: Schedule | null, nextRunAt: number | null): string => {
  if (schedule === null) return 'null'
  const { payload, ...when } = schedule
  return `${JSON.stringify(when).slice(0, -1)},"payload":${payload},"nextRunAt":${nextRunAt}}`
}

/** The client's type `ActiveTask` or `DeletedTask`; with `secret`: `DeclaredTask`. */
export const taskJson = ({ task, state }: TaskAndState, secret?: string): string => {
  const { declaration, nextRunAtMs, oldestRunAtMs, updatedAtMs, counts } = state
  const { url, authorization, leaseSeconds, attempts, backoffSeconds, concurrency, keepSeconds, paused, on } =
    declaration
  const { status, createdAt, ...deleted } = presentLife(task)
  const before = {
    ...{ db: task.db, task: task.name, url, authorization: authorization === null ? null : hiddenAuthorization },
    ...{ leaseSeconds, attempts, backoffSeconds, concurrency, keepSeconds, paused },
  }
  const life = { status, createdAt, updatedAt: updatedAtMs, ...deleted }
  const after = { on, oldestRunAt: oldestRunAtMs ?? null, ...life, counts, secret }
  const schedule = scheduleJson(declaration.schedule, nextRunAtMs)
  return `${JSON.stringify(before).slice(0, -1)},"schedule":${schedule},${JSON.stringify(after).slice(1)}`
}

/** `current` is the version of the declaration that was found; undefined if there is no task. */
export const taskConditionFailed = ({ db, task }: TaskAddress, current: number | undefined): CubbyError => {
  if (current === undefined) {
    return new CubbyError('precondition_failed', 'The task does not exist; nothing was changed.', {
      hint: ['Declare it without the condition: ', call('declareTask', { db, task }), '.'],
    })
  }
  return new CubbyError('precondition_failed', `The task is at version ${current}; nothing was changed.`, {
    hint: ['Read it again (', call('describeTask', { db, task }), '), and name its version.'],
  })
}
