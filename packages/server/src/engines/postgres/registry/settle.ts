import type { Log } from '../../../core/log.ts'
import { type Database, noOrg } from '../connection/database.ts'
import type { Statement } from '../connection/driver.ts'

// A revocation or a deletion is committed, but two things may still be under way: another process that believes
// what it read before (for a lease), and a write that began before and has not ended. Both are waited for before
// the answer is sent.

/** Beyond the lease: for clocks that do not run quite alike, and timers that come late. */
const marginMs = (leaseMs: number): number => 20 + leaseMs / 5

/** Together with a lease of a second this stays below the three seconds that the contract gives. */
const politeMsMax = 900
const cancelledMsMax = 500

// Whoever changes records holds this lock from before it looks at the guard until it has ended.
const writingNow: Statement = {
  name: 'writing_now',
  text: `select l.pid, l.virtualtransaction from pg_locks l
    where l.locktype = 'relation' and l.relation = 'cubby_records'::regclass and l.mode = 'RowExclusiveLock' and l.granted
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.pid <> pg_backend_pid()`,
}

const cancel: Statement = {
  name: 'cancel',
  text: `select pg_cancel_backend(a.pid) from pg_stat_activity a
    where a.pid = $1::int and a.application_name = 'cubby' and a.state = 'active'`,
}

interface SettleOptions {
  db: Database
  leaseMs: number
  listsWriters: boolean
  log: Log
}

export const settle = async ({ db, leaseMs, listsWriters, log }: SettleOptions): Promise<void> => {
  await Bun.sleep(leaseMs + marginMs(leaseMs))
  if (!listsWriters) return
  try {
    // All that writes now: those that began before are among them, and the rest is done in a moment.
    let left = await writers(db)
    left = await outlive(db, left, politeMsMax)
    if (left.size === 0) return
    for (const pid of left.values()) await db.read(noOrg, { statement: cancel, values: [pid] })
    left = await outlive(db, left, cancelledMsMax)
    if (left.size > 0)
      log('warn', 'a write from before a revocation or deletion is still under way', { count: left.size })
  } catch (error) {
    // It is committed and the lease is over: the database being gone now does not take that back.
    log('warn', 'could not look for writes from before a revocation or deletion', { cause: String(error) })
  }
}

/** By their transactions, which are never the same twice; the process id of each. */
const writers = async (db: Database): Promise<Map<string, string>> => {
  const [result] = await db.read(noOrg, { statement: writingNow, values: [] })
  return new Map(result!.rows.map(([pid, transaction]) => [transaction!, pid!]))
}

/** Those of `begun` that are still there after `msMax`. */
const outlive = async (db: Database, begun: Map<string, string>, msMax: number): Promise<Map<string, string>> => {
  const end = performance.now() + msMax
  let left = begun
  for (let pauseMs = 5; left.size > 0 && performance.now() < end; pauseMs = Math.min(pauseMs * 2, 100)) {
    await Bun.sleep(pauseMs)
    const now = await writers(db)
    left = new Map([...left].filter(([transaction]) => now.has(transaction)))
  }
  return left
}
