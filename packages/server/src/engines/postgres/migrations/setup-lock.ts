import type { Session } from '../connection/driver.ts'

/**
 * The advisory lock of set-up and migration. The same as in version 0.1: of processes of both versions that start at
 * once on an empty database, one makes the store.
 */
export const setupLock = 0x43756279

const names = ['store', 'organization', 'api_key', 'table', 'record', 'blob', 'task', 'run']
/** The names of version 0.1 too. */
const tables = [...names, 'organizations', 'api_keys', 'tables', 'records']

/** Whose transaction a set-up or migration waits for: the oldest that holds one of the store's locks. */
export const describeLockHolder = async (session: Session): Promise<string> => {
  const [holder] = await session.run(
    `select a.pid, a.application_name, a.usename, a.state, to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS TZ')
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.granted and l.pid <> pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and (l.locktype = 'relation' and l.relation in (${tables.map((table) => `to_regclass('cubby_${table}')`).join(', ')})
         or l.locktype = 'advisory' and l.classid = 0 and l.objid = ${setupLock})
     order by a.xact_start limit 1`,
  )
  if (holder === undefined) return 'a transaction that has ended since held a lock on it'
  const [pid, application, user, state, since] = holder
  const name = application ? `${application}, ` : ''
  return `it waits for the transaction of process ${pid} (${name}user ${user}, ${state}), open since ${since}`
}
