import type { Connection } from '../connection.ts'
import { codeOf, isDamage } from '../disk/damage.ts'
import { ownSqlOf } from '../migrations/check-schema.ts'

const indexes = ['by_id', 'by_queued_key', 'by_running_key', 'due', 'by_lease', 'by_time', 'by_status']

/**
 * Changes rows that may be damaged, in the transaction that is open on `db`. SQLite looks for the index entries of a row by the
 * values in the row, and fails if it does not find them, or if a value has the wrong type. Then the indexes are dropped first,
 * and created again from the changed rows, which takes seconds per million runs.
 */
export const changeDamaged = (db: Connection, change: () => unknown, changeWithoutIndexes = change): void => {
  db.run('SAVEPOINT damaged_run')
  try {
    change()
  } catch (error) {
    if (!isDamage(error) && !codeOf(error).startsWith('SQLITE_CONSTRAINT')) throw error
    db.run('ROLLBACK TO damaged_run')
    const remake = indexes.map((name) => ownSqlOf(`runs_${name}`))
    for (const name of indexes) db.run(`DROP INDEX runs_${name}`)
    changeWithoutIndexes()
    for (const sql of remake) db.run(sql)
  }
  db.run('RELEASE damaged_run')
}

const repairEveryMs = 3_600_000
let repairedAt = Number.NEGATIVE_INFINITY

/** The rows that SQLite cannot read. After such a read it commits nothing, so the next transaction must not read them. */
const unreadable = new Set<number>()
const unreadableMax = 1_000

export const isUnreadable = (seq: number): boolean => unreadable.has(seq)

/** Reads something of a run. If it cannot be read, that is remembered and thrown. */
export const readOrNote = <T>(seq: number, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) === 'SQLITE_CORRUPT') {
      if (unreadable.size >= unreadableMax) unreadable.clear()
      unreadable.add(seq)
    }
    throw error
  }
}

/** Undefined if damage prevents the work; nothing of it is applied then. */
const attempt = <T>(db: Connection, work: () => T): { done: T } | undefined => {
  db.change('SAVEPOINT run_work')
  try {
    const done = work()
    db.change('RELEASE run_work')
    return { done }
  } catch (error) {
    // After other errors the transaction is over.
    if (!/^SQLITE_(CORRUPT_INDEX|CONSTRAINT)/.test(codeOf(error))) throw error
    db.run('ROLLBACK TO run_work')
    db.run('RELEASE run_work')
    return undefined
  }
}

/**
 * Does the work on each of the runs, in the transaction that is open on `db`. It leaves out runs that cannot be changed because
 * of damage, so that they do not block others. Before that it creates the indexes of runs again, at most once an hour: that
 * repairs them.
 */
export const onEach = <I, T>(db: Connection, items: I[], seqOf: (item: I) => number, work: (item: I) => T): T[] => {
  const readable = items.filter((item) => !unreadable.has(seqOf(item)))
  const one = (item: I): T => readOrNote(seqOf(item), () => work(item))
  const all = () => readable.map(one)
  const together = attempt(db, all)
  if (together !== undefined) return together.done
  if (performance.now() - repairedAt > repairEveryMs) {
    repairedAt = performance.now()
    const repaired = attempt(db, () => {
      db.run('REINDEX runs')
      return all()
    })
    if (repaired !== undefined) return repaired.done
  }
  return readable.flatMap((item) => attempt(db, () => one(item))?.done ?? [])
}

/** A run as its indexes have it: its row may have other values. */
interface IndexedRun {
  taskId: number
  id: string
  /** Its key, if it was running: another run may wait behind it. */
  runningKey: string | null
}

const indexed = `SELECT task_id AS taskId, id, (SELECT CAST(key AS TEXT) FROM runs INDEXED BY runs_by_running_key
    WHERE status = 'running' AND key IS NOT NULL AND seq = ?1) AS runningKey
  FROM runs INDEXED BY runs_by_id WHERE seq = ?1`

/**
 * Marks a damaged run as failed, so that it does not block the others. A read of it still reports the damage: its checksum
 * stays wrong.
 */
export const failDamaged = (db: Connection, seq: number, nowMs: number): IndexedRun => {
  const failed = `status = 'failed', held = 0, lease = NULL, lease_until = NULL, updated_at = ?2, finished_at = ?2,
    error_code = NULL, error_message = NULL`
  const unknown: IndexedRun = { taskId: 0, id: `damaged-${seq}`, runningKey: null }
  const run = db.one<IndexedRun>(indexed, seq) ?? unknown
  changeDamaged(
    db,
    () => db.change(`UPDATE runs SET ${failed} WHERE seq = ?1`, seq, nowMs),
    () =>
      db.change(
        `UPDATE runs SET ${failed}, task_id = ?3, id = ?4, key = NULL, run_at = ?2, attempt = 0, done_lease = NULL,
           created_at = ?2, progress = NULL, payload = coalesce(CAST(payload AS TEXT), ''), result = NULL WHERE seq = ?1`,
        ...[seq, nowMs, run.taskId, run.id],
      ),
  )
  db.change('DELETE FROM leases WHERE seq = ?1', seq)
  return run
}
