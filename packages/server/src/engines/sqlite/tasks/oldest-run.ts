import type { Connection } from '../connection.ts'
import { firstQueued } from '../runs/look-statements.ts'

/** `run_at` of the due run that waits longest, also one that its key holds back. Two seeks in the index of due runs. */
export const oldestRunAt = (db: Connection, taskId: number, nowMs: number): number | null => {
  const first = db.prepare<{ at: number | null }, [number, number]>(firstQueued)
  const due = [0, 1].map((held) => first.get(taskId, held)?.at ?? Number.POSITIVE_INFINITY)
  const oldest = Math.min(...due)
  return oldest <= nowMs ? oldest : null
}
