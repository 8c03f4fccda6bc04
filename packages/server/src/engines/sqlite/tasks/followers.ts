import { followersOfTableMax } from '../../../core/limits.ts'
import { readStoredDeclaration } from '../../../core/tasks/declaration.ts'
import { type Followed, type Follower, storedFollowers } from '../../../core/tasks/following.ts'
import type { Connection } from '../connection.ts'

// The row of a table lists the active tasks that follow it. Whoever changes which tasks or which table have a name lists them
// again, in the same transaction.

interface NamedTable {
  orgId: number
  db: string
  name: string
}

interface Writers {
  db: Connection
  registry: { moveEpoch(): number }
  followed: { forget(tableId: number): void }
}

const tasksOf = (db: Connection, { orgId, db: database, name }: NamedTable) =>
  db
    .all<{ id: number; name: string; declaration: string }>(
      `SELECT k.table_id AS id, t.name, k.declaration FROM tasks k CROSS JOIN tables t ON t.id = k.table_id
       WHERE k.org_id = ?1 AND k.follows = ?2 AND t.db = ?3 ORDER BY t.name`,
      ...[orgId, name, database],
    )
    .map((row) => ({ ...row, declaration: readStoredDeclaration(row.declaration) }))

/** The list of the active tasks that follow the table with this name, as the row of the table has it. */
export const followersNow = (db: Connection, table: NamedTable): string => storedFollowers(tasksOf(db, table))

/** The names of the tasks that follow the table of `on`, if they are so many that the task cannot be one more. */
export const fullFollowers = (
  { db }: Pick<Writers, 'db'>,
  task: NamedTable,
  taskId: number | undefined,
  on: Followed | null,
): string[] | undefined => {
  if (on === null) return undefined
  const others = tasksOf(db, { ...task, name: on.table }).filter(({ id }) => id !== taskId)
  return others.length < followersOfTableMax ? undefined : others.map(({ name }) => name)
}

/** Lists the followers of the active table with this name, if there is one, and returns them. */
export const listFollowers = ({ db, registry, followed }: Writers, table: NamedTable): Follower[] => {
  const row = db.one<{ id: number; followers: string }>(
    `SELECT id, followers FROM tables WHERE org_id = ?1 AND db = ?2 AND kind = 'table' AND name = ?3 AND deleted_at IS NULL`,
    ...[table.orgId, table.db, table.name],
  )
  if (row === undefined) return []
  const followers = followersNow(db, table)
  if (followers !== row.followers) {
    db.change('UPDATE tables SET followers = ?2 WHERE id = ?1', row.id, followers)
    registry.moveEpoch()
    followed.forget(row.id)
  }
  return JSON.parse(followers) as Follower[]
}
