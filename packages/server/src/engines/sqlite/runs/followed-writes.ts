import { type FollowedWrite, type Follower, runOfWrite } from '../../../core/tasks/following.ts'
import type { NewRun } from '../../../core/tasks/run.ts'
import type { ChangeLog } from '../changes/change-log.ts'
import type { Connection } from '../connection.ts'

/** The followers of so many tables are remembered. */
const tablesMax = 10_000

/** The part of `RunWrites` that adds runs. */
interface KeyedRuns {
  addOfKey(taskId: number, run: NewRun & { key: string }, nowMs: number): { created: boolean }
}

interface FollowedTable {
  db: string
  name: string
  followers: Follower[]
}

const none: ReadonlySet<number> = new Set()

/** What every applied write of a record brings along, in its transaction: the entry in the log, and the runs of followers. */
export class FollowedWrites {
  readonly #log: ChangeLog
  readonly #runs: KeyedRuns
  readonly #find
  /** Null for a table that nobody follows. */
  readonly #tables = new Map<number, FollowedTable | null>()
  #leftOut = none
  /** The new runs since the last `takeAdded`. */
  added = 0

  constructor(db: Connection, log: ChangeLog, runs: KeyedRuns) {
    this.#log = log
    this.#runs = runs
    this.#find = db.prepare<{ db: string; name: string; followers: string }, [number]>(
      'SELECT db, name, followers FROM tables WHERE id = ?1',
    )
  }

  note(tableId: number, write: FollowedWrite, nowMs: number): void {
    const { kind, hashKey, rangeKey, version } = write
    this.#log.append(tableId, kind, hashKey, rangeKey, version, nowMs)
    const table = this.#table(tableId)
    if (table === null) return
    for (const follower of table.followers) {
      const run = this.#leftOut.has(follower.taskId) ? undefined : runOfWrite(table, follower, write)
      if (run === undefined) continue
      if (this.#runs.addOfKey(follower.taskId, { ...run, key: run.key! }, nowMs).created) this.added++
    }
  }

  /** See `ChangeLog.timeFor`. */
  timeFor(tableId: number, nowMs: number): number {
    return this.#log.timeFor(tableId, nowMs)
  }

  /** Writes what a batch writes that finishes runs of these tasks: it adds none to them. */
  without<T>(taskIds: readonly number[], write: () => T): T {
    this.#leftOut = new Set(taskIds)
    try {
      return write()
    } finally {
      this.#leftOut = none
    }
  }

  /** The store is asked again who follows the table. */
  forget(tableId: number): void {
    this.#tables.delete(tableId)
  }

  takeAdded(): number {
    const { added } = this
    this.added = 0
    return added
  }

  /** The transaction, or a part of it, was rolled back to where `added` had this value. */
  rolledBack(added: number): void {
    this.#tables.clear()
    this.added = added
  }

  #table(tableId: number): FollowedTable | null {
    const known = this.#tables.get(tableId)
    if (known !== undefined) return known
    const row = this.#find.get(tableId)
    const followers = row === null ? [] : (JSON.parse(row.followers) as Follower[])
    const table = row === null || followers.length === 0 ? null : { ...row, followers }
    if (this.#tables.size >= tablesMax) this.#tables.clear()
    this.#tables.set(tableId, table)
    return table
  }
}
