import {
  type EntryKind,
  entryKind,
  entryTime,
  type LogEntry,
  markOf,
  timeInLog,
} from '../../../core/changes/log-entry.ts'
import type { Connection } from '../connection.ts'

/** The number of the newest entry of the log of a table. */
export type LogHead = [tableId: number, seq: number]

/** The newest entries of so many tables are remembered. */
const tablesMax = 10_000

/** The newest entry of a table, whether it keeps changes now or not. */
const newestSql = 'SELECT seq, at AS atMs FROM changes WHERE table_id = ?1 ORDER BY seq DESC LIMIT 1'

type Newest = Pick<LogEntry, 'seq' | 'atMs'>

const nothing: Newest = { seq: 0, atMs: 0 }

/**
 * Appends to the logs of tables, inside the transaction that is open on the connection. There is no other writer, so it numbers
 * the entries in memory.
 */
export class ChangeLog {
  readonly #keepHours
  readonly #newest
  readonly #insert
  readonly #db: Connection
  /** The newest entry by table; null for a table that keeps no changes. */
  readonly #newestByTable = new Map<number, Newest | null>()
  /** The tables whose logs have grown in this transaction. */
  readonly #grown = new Set<number>()

  constructor(db: Connection) {
    this.#db = db
    this.#keepHours = db.prepare<{ keepHours: number | null }, [number]>(
      'SELECT keep_hours AS keepHours FROM tables WHERE id = ?1',
    )
    this.#newest = db.prepare<Newest, [number]>(newestSql)
    this.#insert = db.prepare<unknown, [number, number, number, number, string, string, number, number]>(
      'INSERT INTO changes VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BLOB), CAST(?6 AS BLOB), ?7, ?8)',
    )
  }

  /** Adds an entry, if the table keeps changes. */
  append(tableId: number, kind: EntryKind, hashKey: string, rangeKey: string, version: number, nowMs: number): void {
    const newest = this.#newestOf(tableId)
    if (newest === null) return
    const atMs = entryTime(nowMs, version, newest.atMs)
    this.#add(tableId, { seq: newest.seq + 1, atMs, kind, hashKey, rangeKey, version })
  }

  /** The time for the version of a put: that of the log, if the table keeps changes. */
  timeFor(tableId: number, nowMs: number): number {
    const newest = this.#newestOf(tableId)
    return newest === null ? nowMs : timeInLog(nowMs, newest.atMs)
  }

  /** Begins the log of a table whose row says that it keeps changes. Entries of an earlier log are left to the sweep. */
  begin(tableId: number, sinceMs: number, nowMs: number): void {
    const seq = (this.#newest.get(tableId) ?? nothing).seq + 1
    this.#add(tableId, { seq, atMs: nowMs, kind: entryKind.begin, hashKey: '', rangeKey: '', version: sinceMs })
  }

  /** Adds an entry of a copy, unless it is there. */
  load(tableId: number, entry: LogEntry): void {
    const last = (this.#newest.get(tableId) ?? nothing).seq
    if (entry.seq <= last) return
    // An interrupted copy was of an older state, and the entries between have been swept since.
    if (entry.seq > last + 1) this.#db.change('DELETE FROM changes WHERE table_id = ?1', tableId)
    this.#add(tableId, entry)
  }

  /** The store is asked again whether the table keeps changes, and for the newest entry. */
  forget(tableId?: number): void {
    if (tableId !== undefined) this.#newestByTable.delete(tableId)
    else this.#newestByTable.clear()
  }

  /** The transaction was rolled back. */
  rolledBack(): void {
    this.forget()
    this.#grown.clear()
  }

  /** The logs that have grown since the last call. */
  takeGrown(): LogHead[] | undefined {
    if (this.#grown.size === 0) return undefined
    const heads = Array.from(this.#grown, (tableId): LogHead => [tableId, this.#newestOf(tableId)?.seq ?? 0])
    this.#grown.clear()
    return heads
  }

  #add(tableId: number, entry: LogEntry): void {
    const { seq, atMs, kind, hashKey, rangeKey, version } = entry
    this.#insert.run(tableId, seq, atMs, kind, hashKey, rangeKey, version, markOf(entry))
    this.#newestByTable.set(tableId, { seq, atMs })
    this.#grown.add(tableId)
  }

  #newestOf(tableId: number): Newest | null {
    const known = this.#newestByTable.get(tableId)
    if (known !== undefined) return known
    const keeps = (this.#keepHours.get(tableId)?.keepHours ?? null) !== null
    const newest = keeps ? (this.#newest.get(tableId) ?? nothing) : null
    // A table that has grown in this transaction stays: `takeGrown` tells its number.
    if (this.#newestByTable.size >= tablesMax && this.#grown.size === 0) this.#newestByTable.clear()
    this.#newestByTable.set(tableId, newest)
    return newest
  }
}
