import type { Connection } from '../connection.ts'

/** `run_at` of the due run that waits longest, also one that its key holds back. Two seeks in the index of due runs. */
export const oldestRunAt = (db: Connection, taskId: number, nowMs: number): number | null => {
  const first = db.prepare<{ at: number | null }, [number, number]>(
    `SELECT min(run_at) AS at FROM runs WHERE task_id = ?1 AND held = ?2 AND status = 'queued'`,
  )
  const due = [0, 1].map((held) => first.get(taskId, held)?.at ?? Number.POSITIVE_INFINITY)
  const oldest = Math.min(...due)
  return oldest <= nowMs ? oldest : null
}
