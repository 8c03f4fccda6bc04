import type { Run } from '../../../core/tasks/run.ts'
import type { Connection } from '../connection.ts'

type Leased = Pick<Run, 'seq' | 'taskId' | 'leaseUntilMs'>

/** ?1 the task. 0 if it is missing, which is damage. */
const organization = 'coalesce((SELECT org_id FROM tasks WHERE table_id = ?1), 0)'

const remove = `DELETE FROM leases WHERE org_id = ${organization} AND until = ?2 AND seq = ?3`
const insert = `INSERT INTO leases VALUES (${organization}, ?2, ?3)`

/**
 * The run had the lease `before`, and has the other one now; null is none. The table `leases` is an index that we keep
 * ourselves, so every change of a lease calls this in its transaction.
 */
export const moveLease = (db: Connection, before: Leased, { leaseUntilMs }: Pick<Run, 'leaseUntilMs'>): void => {
  const { seq, taskId, leaseUntilMs: beforeMs } = before
  if (beforeMs === leaseUntilMs) return
  if (beforeMs !== null) db.prepare<unknown, number[]>(remove).run(taskId, beforeMs, seq)
  if (leaseUntilMs !== null) db.prepare<unknown, number[]>(insert).run(taskId, leaseUntilMs, seq)
}
