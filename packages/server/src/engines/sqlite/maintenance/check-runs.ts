import { faultsOfRun } from '../../../core/tasks/run-faults.ts'
import type { CheckNotes } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
import { orDamage, walkRows } from '../disk/damage.ts'
import { type RunRow, readRun, runColumns } from '../runs/run-rows.ts'

const rowsPerStep = 500

const findTask = 'SELECT table_id FROM tasks WHERE table_id = ?1'
const findRun = 'SELECT seq FROM runs WHERE seq = ?1'

/**
 * Checks that each task has a declaration, and that each run has a task, the members that its status needs, and its texts
 * as they were written. Each lease must have its entry in `leases`, and each entry its lease.
 */
export async function* checkRuns(db: Connection, { table }: Required<CheckNotes>): AsyncIterable<string> {
  const lost = db.all<{ id: number; line: string }>(
    `SELECT id, 'task ' || id || ' has no declaration' AS line FROM tables
       WHERE kind = 'task' AND id NOT IN (SELECT table_id FROM tasks)
     UNION ALL SELECT table_id, 'the declaration ' || table_id || ' belongs to no task' FROM tasks
       WHERE table_id NOT IN (SELECT id FROM tables WHERE kind = 'task')
     UNION ALL SELECT table_id, 'task ' || table_id || ': its declaration names another organization' FROM tasks k
       JOIN tables t ON t.id = k.table_id WHERE t.org_id <> k.org_id`,
  )
  for (const { id, line } of lost) {
    table(id)
    yield line
  }
  // A task may be declared or purged between two steps, so it is looked up after its run was read. If it is missing, the
  // run is read again: it may have been purged too.
  const known = new Map<number, boolean>()
  const hasTask = (id: number): boolean => {
    if (!known.has(id)) known.set(id, orDamage(() => db.one(findTask, id)) !== undefined)
    return known.get(id)!
  }
  const step = `SELECT ${runColumns}, (r.key IS NOT NULL AND r.status = 'queued' AND EXISTS (SELECT 1 FROM runs o
       WHERE o.task_id = r.task_id AND o.key = r.key AND o.status = 'running')) AS isHeld,
     (r.lease_until IS NULL OR EXISTS (SELECT 1 FROM leases WHERE until = r.lease_until AND seq = r.seq
       AND org_id = coalesce((SELECT org_id FROM tasks WHERE table_id = r.task_id), 0))) AS isListed
   FROM runs r WHERE seq > ?1 ORDER BY seq LIMIT ?2`
  const findingsOf = (row: CheckedRow): string[] => {
    const isTaskKnown = hasTask(row.task_id)
    if (!isTaskKnown && orDamage(() => db.one(findRun, row.seq)) === undefined) return []
    const findings = faultsOf(row, isTaskKnown)
    if (findings.length > 0) table(row.task_id)
    return findings.map((finding) => `run ${row.id} (task ${row.task_id}): ${finding}`)
  }
  yield* walkRows(
    (afterSeq, rowsMax) => db.all<CheckedRow>(step, afterSeq, rowsMax),
    ({ seq }) => seq,
    { rowsPerStep, unread: 'runs of the numbers', unordered: 'runs', findingsOf },
  )
  const strays = db.all<{ seq: number }>(
    'SELECT seq FROM leases l WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.seq = l.seq AND r.lease_until = l.until)',
  )
  for (const { seq } of strays) yield `the entry of a lease belongs to no run: ${seq}`
}

interface CheckedRow extends RunRow {
  isHeld: number
  isListed: number
}

const faultsOf = (row: CheckedRow, isTaskKnown: boolean): string[] => {
  const findings: string[] = []
  if (!isTaskKnown) findings.push('its task does not exist')
  if (readRun(row) === undefined) findings.push('it is not as it was written: its checksum does not match')
  if (row.isListed === 0) findings.push('its lease is not among those of its organization')
  const times = { leaseUntilMs: row.lease_until, finishedAtMs: row.finished_at }
  findings.push(...faultsOfRun({ ...row, ...times, held: row.held === 1 }, row.isHeld === 1))
  return findings
}
