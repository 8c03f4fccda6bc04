import { hiddenAuthorization } from '../../core/tasks/parse-declaration.ts'
import type { Schedule } from '../../core/tasks/schedule.ts'
import type { Table } from '../../store/tables.ts'
import type { TaskState } from '../../store/tasks.ts'
import { presentLife } from '../tables/lifecycle.ts'

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
  const { declaration, nextRunAtMs, oldestRunAtMs, updatedAtMs } = state
  const { url, authorization, leaseSeconds, attempts, backoffSeconds, concurrency, keepSeconds, paused } = declaration
  const { status, createdAt, ...deleted } = presentLife(task)
  const before = {
    ...{ db: task.db, task: task.name, url, authorization: authorization === null ? null : hiddenAuthorization },
    ...{ leaseSeconds, attempts, backoffSeconds, concurrency, keepSeconds, paused },
  }
  const after = { oldestRunAt: oldestRunAtMs ?? null, status, createdAt, updatedAt: updatedAtMs, ...deleted, secret }
  const schedule = scheduleJson(declaration.schedule, nextRunAtMs)
  return `${JSON.stringify(before).slice(0, -1)},"schedule":${schedule},${JSON.stringify(after).slice(1)}`
}
