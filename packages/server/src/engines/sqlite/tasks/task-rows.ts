import type { Declaration } from '../../../core/tasks/declaration.ts'
import type { TaskSecret } from '../../../core/tasks/task-secret.ts'
import type { DumpedTask } from '../../../store/transfer.ts'

export interface TaskRow {
  table_id: number
  declaration: string
  updated_at: number
  next_run_at: number | null
  served_at: number | null
  secrets: string
}

export const taskColumns = 'table_id, declaration, updated_at, next_run_at, served_at, secrets'

export const toTask = (row: TaskRow): DumpedTask => ({
  tableId: row.table_id,
  declaration: JSON.parse(row.declaration) as Declaration,
  updatedAtMs: row.updated_at,
  nextRunAtMs: row.next_run_at,
  servedAtMs: row.served_at,
  secrets: JSON.parse(row.secrets) as TaskSecret[],
})

/** ?1 to ?8 of `putTask`. The dispatcher looks only at tasks that push now. */
export const taskValues = (task: DumpedTask): (string | number | null)[] => [
  ...[task.tableId, JSON.stringify(task.declaration), task.updatedAtMs],
  task.declaration.url !== null && !task.declaration.paused ? 1 : 0,
  ...[task.declaration.keepSeconds, task.nextRunAtMs, task.servedAtMs, JSON.stringify(task.secrets)],
]

export const putTask = (verb: 'INSERT OR REPLACE' | 'INSERT OR IGNORE') =>
  `${verb} INTO tasks (table_id, declaration, updated_at, pushes, keep_seconds, next_run_at, served_at, secrets)
   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`
