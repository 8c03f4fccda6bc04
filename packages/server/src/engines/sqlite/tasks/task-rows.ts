import { type Declaration, readStoredDeclaration } from '../../../core/tasks/declaration.ts'
import type { RunCounts } from '../../../core/tasks/run.ts'
import type { TaskSecret } from '../../../core/tasks/task-secret.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import type { Connection } from '../connection.ts'
import { countByStatus, firstQueued } from '../runs/due-statements.ts'

export interface TaskRow {
  table_id: number
  declaration: string
  updated_at: number
  next_run_at: number | null
  served_at: number | null
  secrets: string
}

export const taskColumns = 'table_id, declaration, updated_at, next_run_at, served_at, secrets'

export const taskById = `SELECT ${taskColumns} FROM tasks WHERE table_id = ?1`

export const toTask = (row: TaskRow): DumpedTask =>
  taskOf(row, readStoredDeclaration(row.declaration), JSON.parse(row.secrets) as TaskSecret[])

const taskOf = (row: TaskRow, declaration: Declaration, secrets: TaskSecret[]): DumpedTask => ({
  tableId: row.table_id,
  declaration,
  updatedAtMs: row.updated_at,
  nextRunAtMs: row.next_run_at,
  servedAtMs: row.served_at,
  secrets,
})

const parsedMax = 1_000

/** Does the same as `toTask`, but keeps the parsed objects until the text of the row is another. */
export class ParsedTasks {
  readonly #parsed = new Map<number, { row: TaskRow; declaration: Declaration; secrets: TaskSecret[] }>()

  toTask(row: TaskRow): DumpedTask {
    const known = this.#parsed.get(row.table_id)
    if (known?.row.declaration === row.declaration && known.row.secrets === row.secrets)
      return taskOf(row, known.declaration, known.secrets)
    const task = toTask(row)
    if (this.#parsed.size >= parsedMax) this.#parsed.clear()
    this.#parsed.set(row.table_id, { row, declaration: task.declaration, secrets: task.secrets })
    return task
  }
}

/** The parameters ?1 to ?9 of `putTask`. The dispatcher reads only tasks that push now. */
export const taskValues = (task: DumpedTask): (string | number | null)[] => [
  ...[task.tableId, JSON.stringify(task.declaration), task.updatedAtMs],
  task.declaration.url !== null && !task.declaration.paused ? 1 : 0,
  ...[task.declaration.keepSeconds, task.nextRunAtMs, task.servedAtMs, JSON.stringify(task.secrets)],
  task.declaration.on?.table ?? null,
]

/** The row of its table is there before it. A deleted task follows nothing. */
export const putTask = (verb: 'INSERT OR REPLACE' | 'INSERT OR IGNORE') =>
  `${verb} INTO tasks (table_id, declaration, updated_at, pushes, keep_seconds, next_run_at, served_at, secrets, org_id, follows)
   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce((SELECT org_id FROM tables WHERE id = ?1), 0),
     (SELECT ?9 FROM tables WHERE id = ?1 AND deleted_at IS NULL))`

/**
 * `run_at` of the due run that waits longest; a run that its key holds back counts too. It takes two seeks in the index of due
 * runs.
 */
export const oldestRunAt = (db: Connection, taskId: number, nowMs: number): number | null => {
  const due = [0, 1].map(
    (held) => db.one<{ at: number | null }>(firstQueued, taskId, held)?.at ?? Number.POSITIVE_INFINITY,
  )
  const oldest = Math.min(...due)
  return oldest <= nowMs ? oldest : null
}

export const countRuns = (db: Connection, taskId: number, keptAfterMs: number, countedMax: number): RunCounts =>
  db.one<RunCounts>(countByStatus, taskId, keptAfterMs, countedMax)!
