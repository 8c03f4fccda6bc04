import { faultsOfRun } from '../../../core/tasks/run-faults.ts'
import type { Read } from '../connection/database.ts'
import { bind, type Row, type Statement } from '../connection/driver.ts'
import { idStride } from '../records/statements.ts'
import { runColumnCount, runColumns, toRun } from '../runs/run-rows.ts'

/** A statement reads few rows, because each may be large. */
const runsPerStep = 100

const declaration: Statement = {
  name: 'check_task',
  text: `select k.declaration, k.secrets from cubby_table_8 t left join cubby_task_8 k on k.table_id = t.id
    where t.id = $1::bigint`,
}

/**
 * Reads the runs of a task after $2, and for each whether a run of its key is running at the same moment. Unique indexes
 * exclude two queued or two running runs of a key.
 */
export const nextRuns: Statement = {
  name: 'check_runs',
  text: `select ${runColumns}, coalesce((select true from cubby_run_8 as o
      where o.task_id = $1::bigint and o.key = r.key and o.status = 'running' limit 1), false)
    from cubby_run_8 as r where r.task_id = $1::bigint and r.id > $2 order by r.id limit $3::bigint`,
}

/** Runs are numbered from the sequence of record ids. */
export const lastDrawnId: Statement = { name: 'check_ids', text: 'select last_value from cubby_record_id' }

/** Finds runs and declarations that belong to no task. */
const strayRuns: Statement = {
  name: 'check_stray_runs',
  text: `select r.task_id, 'run ' || r.id || ' (task ' || r.task_id || '): its task does not exist' from cubby_run_8 r
    where not exists (select 1 from cubby_table_8 t where t.id = r.task_id and t.kind = 'task')
    union all
    select k.table_id, 'the declaration ' || k.table_id || ' belongs to no task' from cubby_task_8 k
    where not exists (select 1 from cubby_table_8 t where t.id = k.table_id and t.kind = 'task')`,
}

export async function* checkRunsOf(read: Read, taskId: number): AsyncIterable<string> {
  const [declared] = await read(bind(declaration, taskId))
  const row = declared!.rows[0]
  // A task that was purged since it was listed has no row here.
  if (row === undefined) return
  if (row[0] === null) yield `task ${taskId} has no declaration`
  else if (!row.every((text) => isJson(text!))) yield `task ${taskId}: its declaration is not JSON`
  for (let last = ''; ; ) {
    // The last id is read after the runs, so that no run has a higher one: those created in between had theirs before.
    const [found, ids] = await read(bind(nextRuns, taskId, last, runsPerStep), bind(lastDrawnId))
    for (const run of found!.rows) {
      for (const finding of findingsOf(run, Number(ids!.rows[0]![0])))
        yield `run ${run[2]} (task ${taskId}): ${finding}`
    }
    if (found!.rows.length < runsPerStep) return
    last = found!.rows.at(-1)![2]!
  }
}

export async function* checkStrayRuns(read: Read): AsyncIterable<[taskId: number, finding: string]> {
  const [found] = await read(bind(strayRuns))
  for (const [taskId, finding] of found!.rows) yield [Number(taskId), finding!]
}

const isJson = (text: string | null): boolean => {
  if (text === null) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const findingsOf = (row: Row, lastId: number): string[] => {
  if (!isJson(row[14]!)) return ['its error is not JSON']
  const run = toRun(row)
  const findings: string[] = []
  if (run.seq >= lastId + idStride) findings.push('its number was never given out')
  for (const name of ['payload', 'progress', 'result'] as const) {
    if (!isJson(run[name])) findings.push(`its ${name} is not JSON`)
  }
  findings.push(...faultsOfRun(run, row[runColumnCount] === 't'))
  return findings
}
