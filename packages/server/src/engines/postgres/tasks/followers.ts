import { followersOfTableMax } from '../../../core/limits.ts'
import { readStoredDeclaration } from '../../../core/tasks/declaration.ts'
import { type Followed, type Follower, storedFollowers } from '../../../core/tasks/following.ts'
import type { Table } from '../../../store/tables.ts'
import { addFeed } from '../changes/statements.ts'
import type { Read } from '../connection/database.ts'
import { type BoundStatement, bind, type Row, type Statement } from '../connection/driver.ts'
import { epochColumn, named, tableColumns, toTable } from '../registry/rows.ts'

// The row of a table lists the active tasks that follow it. Whoever changes which tasks or which table have a name lists them
// again, in the same transaction, which holds the lock of the organization.

/** $1 organization, $2 database, $3 the name of the table. The limit forces one seek for each task. */
export const readFollowers: Statement = {
  name: 'task_followers',
  text: `select k.table_id, d.name, k.declaration from cubby_task_8 k cross join lateral (
      select t.db, t.name from cubby_table_8 t where t.id = k.table_id limit 1
    ) as d where k.org_id = $1::bigint and k.follows = $3 and d.db = $2 order by d.name`,
}

/** $1 organization, $2 database, $3 kind, $4 name. */
export const followedTable: Statement = {
  name: 'task_followed_table',
  text: `select ${tableColumns}, ${epochColumn} from cubby_table_8 t where ${named} and t.deleted_at_ms is null`,
}

/** $1 table. */
export const setFollowers: Statement = {
  name: 'set_followers',
  text: 'update cubby_table_8 set followers = $2 where id = $1::bigint',
}

interface Following {
  id: number
  name: string
  declaration: { on: Followed | null }
}

/** Takes rows that begin with the id, the name and the declaration of a task. */
export const toFollowing = (rows: Row[]): Following[] =>
  rows.map(([id, name, declaration]) => ({
    id: Number(id),
    name: name!,
    declaration: readStoredDeclaration(declaration!),
  }))

const listStatements = (id: number, listed: Follower[], tasks: Following[]): BoundStatement[] => {
  const followers = storedFollowers(tasks)
  return followers === JSON.stringify(listed) ? [] : [bind(addFeed, id), bind(setFollowers, id, followers)]
}

interface Place {
  orgId: number
  db: string
}

const readFollowing = async (
  send: Read,
  { orgId, db }: Place,
  name: string,
): Promise<{ table: Table | undefined; tasks: Following[] }> => {
  const [found, tasks] = await send(bind(followedTable, orgId, db, 'table', name), bind(readFollowers, orgId, db, name))
  const row = found!.rows[0]
  return { table: row && toTable(row), tasks: toFollowing(tasks!.rows) }
}

/** Makes the statements that list the followers of a table that gets its name, or has it again. */
export const listFollowers = async (send: Read, table: Table): Promise<BoundStatement[]> => {
  const { tasks } = await readFollowing(send, table, table.name)
  return listStatements(table.id, table.followers, tasks)
}

/** How the lists of followers change. */
interface FollowingPlan {
  /** The table of `on` does not exist now. */
  isMissing: boolean
  /** The names of the tasks that follow it, if they are so many that this one cannot be one more. */
  full: string[] | undefined
  /** None if no list changes. */
  statementsFor(task: { id: number; name: string }): BoundStatement[]
}

/** A task, unless it is new, is to follow `on` instead of `before`. */
export const planFollowing = async (
  send: Read,
  place: Place,
  taskId: number | undefined,
  before: Followed | null,
  on: Followed | null,
): Promise<FollowingPlan> => {
  const names = new Set([before, on].flatMap((one) => one?.table ?? []))
  const read = new Map<string, Awaited<ReturnType<typeof readFollowing>>>()
  for (const name of names) {
    const { table, tasks } = await readFollowing(send, place, name)
    read.set(name, { table, tasks: tasks.filter(({ id }) => id !== taskId) })
  }
  const target = on === null ? undefined : read.get(on.table)!
  const others = target?.tasks ?? []
  return {
    isMissing: target !== undefined && target.table === undefined,
    full: others.length < followersOfTableMax ? undefined : others.map(({ name }) => name),
    statementsFor: (task) =>
      [...read.values()].flatMap(({ table, tasks }) =>
        table === undefined
          ? []
          : listStatements(
              table.id,
              table.followers,
              table.name === on?.table ? [...tasks, { ...task, declaration: { on } }] : tasks,
            ),
      ),
  }
}
