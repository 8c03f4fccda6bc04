import type { Log } from '../../../core/log.ts'
import { type Database, noOrg } from '../connection/database.ts'
import type { Statement } from '../connection/driver.ts'

// After a revocation or a deletion is committed, two things may still act on the old registry: another process that
// cached it (for one lease), and a write that started before and is still in flight. The answer waits for both.

/** This is added to the lease, because clock rates differ and timers fire late. */
const marginMs = (leaseMs: number): number => 20 + leaseMs / 5

/** With a lease of one second, both together stay below the three seconds that the contract allows. */
const inFlightMsMax = 900
const cancelledMsMax = 500

// A transaction that changes records or runs takes one of these locks before it checks the guard, and holds it until it ends.
// On runs and logs the first lock is that of SELECT FOR UPDATE.
const writingNow: Statement = {
  name: 'writing_now',
  text: `select l.pid, l.virtualtransaction from pg_locks l
    where l.locktype = 'relation' and l.granted
      and (l.relation = 'cubby_record_8'::regclass and l.mode = 'RowExclusiveLock'
        or l.relation in ('cubby_run_8'::regclass, 'cubby_feed'::regclass)
          and l.mode in ('RowShareLock', 'RowExclusiveLock'))
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.pid <> pg_backend_pid()`,
}

const cancel: Statement = {
  name: 'cancel',
  text: `select pg_cancel_backend(a.pid) from pg_stat_activity a
    where a.pid = $1::int and a.application_name = 'cubby' and a.state = 'active'`,
}

interface LeaseExpiryOptions {
  db: Database
  leaseMs: number
  log: Log
}

/** Resolves when no process can still use a key or table that was revoked or deleted before the call. */
export const awaitLeaseExpiry = async ({ db, leaseMs, log }: LeaseExpiryOptions): Promise<void> => {
  await Bun.sleep(leaseMs + marginMs(leaseMs))
  try {
    // These are all transactions that write now. Those that started before the revocation are among them; the others end soon.
    let left = await writers(db)
    left = await stillWriting(db, left, inFlightMsMax)
    if (left.size === 0) return
    for (const pid of left.values()) await db.read(noOrg, { statement: cancel, values: [pid] })
    left = await stillWriting(db, left, cancelledMsMax)
    if (left.size > 0) {
      log('warn', 'a write from before a revocation or deletion is still in flight', { count: left.size })
    }
  } catch (error) {
    // The change is committed and the lease has expired. A database that is gone now does not undo that.
    log('warn', 'could not look for writes from before a revocation or deletion', { cause: String(error) })
  }
}

/** Reads process ids by virtual transaction, which is never the same twice. */
const writers = async (db: Database): Promise<Map<string, string>> => {
  const [result] = await db.read(noOrg, { statement: writingNow, values: [] })
  return new Map(result!.rows.map(([pid, transaction]) => [transaction!, pid!]))
}

/** Returns the transactions of `begun` that have not ended after `msMax`. */
const stillWriting = async (db: Database, begun: Map<string, string>, msMax: number): Promise<Map<string, string>> => {
  const end = performance.now() + msMax
  let left = begun
  for (let pauseMs = 5; left.size > 0 && performance.now() < end; pauseMs = Math.min(pauseMs * 2, 100)) {
    await Bun.sleep(pauseMs)
    const now = await writers(db)
    left = new Map([...left].filter(([transaction]) => now.has(transaction)))
  }
  return left
}
