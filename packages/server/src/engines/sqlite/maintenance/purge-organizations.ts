import { recoveryMs, sweepGraceMs } from '../../../core/limits.ts'
import type { TableKind } from '../../../store/tables.ts'
import type { Connection } from '../connection.ts'
import { purgeTable, type SweepStep } from './sweep.ts'

/** By two indexes: one has the active tables, the other the deleted ones. */
const tableOf = (isDeleted: boolean): string =>
  `SELECT id, kind FROM tables WHERE org_id = ?1 AND deleted_at IS ${isDeleted ? 'NOT NULL' : 'NULL'} LIMIT 1`

/**
 * One step, in the transaction that is open on `db`: rows of a table, bucket or task of the organization that was deleted
 * first; when it has none left, its API keys; at last its own row. Then its name is free.
 */
export const purgeOrganizations = ({ db }: { db: Connection }, { nowMs, rowsMax }: SweepStep): number => {
  const run = (sql: string, ...values: number[]): number => db.prepare<unknown, number[]>(sql).run(...values).changes
  const found = db
    .prepare<{ id: number }, [number]>(
      'SELECT id FROM organizations WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1',
    )
    .get(nowMs - recoveryMs - sweepGraceMs)
  if (found === null) return 0
  const { id } = found
  // Marked first: an organization that has lost rows must not be restored, even if the clock steps back.
  run('UPDATE organizations SET purging = 1 WHERE id = ?1 AND purging = 0', id)
  for (const isDeleted of [false, true]) {
    const table = db.prepare<{ id: number; kind: TableKind }, [number]>(tableOf(isDeleted)).get(id)
    if (table !== null) return purgeTable(db, table, nowMs, rowsMax)
  }
  const sql = 'DELETE FROM api_keys WHERE seq IN (SELECT seq FROM api_keys WHERE org_id = ?1 LIMIT ?2)'
  const keys = run(sql, id, rowsMax)
  if (keys < rowsMax) run('DELETE FROM organizations WHERE id = ?1', id)
  return keys + 1
}
