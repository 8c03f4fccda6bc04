import { readStoredDeclaration } from '../../../core/tasks/declaration.ts'
import type { TaskSecret } from '../../../core/tasks/task-secret.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import type { Row, Value } from '../connection/driver.ts'

// The columns of `cubby_task_8` in order, and their decoding.

export const taskColumns = 'k.table_id, k.declaration, k.updated_at, k.next_run_at, k.served_at, k.secrets'

export const taskColumnCount = 6

const numberOrNull = (text: string | null | undefined): number | null => (text == null ? null : Number(text))

export const toTask = (row: Row): DumpedTask => ({
  tableId: Number(row[0]),
  declaration: readStoredDeclaration(row[1]!),
  updatedAtMs: Number(row[2]),
  nextRunAtMs: numberOrNull(row[3]),
  servedAtMs: numberOrNull(row[4]),
  secrets: JSON.parse(row[5]!) as TaskSecret[],
})

export const storedTaskColumns =
  'table_id, declaration, updated_at, paused, pushes, concurrency, keep_seconds, next_run_at, served_at, secrets, follows, org_id'

/** The table that it follows: none if it is deleted. The row of its own table has the change already. */
export const follows = `(select $11::text from cubby_table_8 t where t.id = $1::bigint and coalesce(t.deleted_at_ms, 0) = 0)`

/** The row of its table is there before it, and has the organization. */
export const storedTaskParameters = `$1::bigint, $2, $3::bigint, $4::boolean, $5::boolean, $6::bigint, $7::bigint, $8::bigint,
  $9::bigint, $10, ${follows}, coalesce((select t.org_id from cubby_table_8 t where t.id = $1::bigint), 0)`

/** Returns $1 to $11. The dispatcher reads only tasks that push now. */
export const taskValues = ({ tableId, declaration, ...task }: DumpedTask): Value[] => [
  ...[tableId, JSON.stringify(declaration), task.updatedAtMs, declaration.paused ? 't' : 'f'],
  declaration.url !== null && !declaration.paused ? 't' : 'f',
  ...[declaration.concurrency, declaration.keepSeconds, task.nextRunAtMs, task.servedAtMs],
  JSON.stringify(task.secrets),
  declaration.on?.table ?? null,
]
