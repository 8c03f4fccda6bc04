import { type EntryKind, entryKind, type LogEntry, markOf } from '../../../core/changes/log-entry.ts'
import type { Connection } from '../connection.ts'

/** The number of the newest entry of the log of a table. */
export type LogHead = [tableId: number, seq: number]

/** The newest entries of so many tables are remembered. */
const tablesMax = 10_000

/** The newest entry of a table, whether it keeps changes now or not. */
const lastSeqSql = 'SELECT seq FROM changes WHERE table_id = ?1 ORDER BY seq DESC LIMIT 1'

/**
 * Appends to the logs of tables, inside the transaction that is open on the connection. There is no other writer, so it numbers
 * the entries in memory.
 */
export class ChangeLog {
  readonly #keepHours
  readonly #last
  readonly #insert
  readonly #db: Connection
  /** The number of the newest entry by table; null for a table that keeps no changes. */
  readonly #lastSeqs = new Map<number, number | null>()
  /** The tables whose logs have grown in this transaction. */
  readonly #grown = new Set<number>()

  constructor(db: Connection) {
    this.#db = db
    this.#keepHours = db.prepare<{ keepHours: number | null }, [number]>(
      'SELECT keep_hours AS keepHours FROM tables WHERE id = ?1',
    )
    this.#last = db.prepare<{ seq: number }, [number]>(lastSeqSql)
    this.#insert = db.prepare<unknown, [number, number, number, number, string, string, number, number]>(
      'INSERT INTO changes VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BLOB), CAST(?6 AS BLOB), ?7, ?8)',
    )
  }

  /** Adds an entry, if the table keeps changes. */
  append(tableId: number, kind: EntryKind, hashKey: string, rangeKey: string, version: number, nowMs: number): void {
    const last = this.#lastSeq(tableId)
    if (last !== null) this.#add(tableId, { seq: last + 1, atMs: nowMs, kind, hashKey, rangeKey, version })
  }

  /** Begins the log of a table whose row says that it keeps changes. Entries of an earlier log are left to the sweep. */
  begin(tableId: number, sinceMs: number, nowMs: number): void {
    const seq = (this.#last.get(tableId)?.seq ?? 0) + 1
    this.#add(tableId, { seq, atMs: nowMs, kind: entryKind.begin, hashKey: '', rangeKey: '', version: sinceMs })
  }

  /** Adds an entry of a copy, unless it is there. */
  load(tableId: number, entry: LogEntry): void {
    const last = this.#last.get(tableId)?.seq ?? 0
    if (entry.seq <= last) return
    // An interrupted copy was of an older state, and the entries between have been swept since.
    if (entry.seq > last + 1) this.#db.change('DELETE FROM changes WHERE table_id = ?1', tableId)
    this.#add(tableId, entry)
  }

  /** The store is asked again whether the table keeps changes, and for the newest entry. */
  forget(tableId?: number): void {
    if (tableId !== undefined) this.#lastSeqs.delete(tableId)
    else this.#lastSeqs.clear()
  }

  /** The transaction was rolled back. */
  rolledBack(): void {
    this.forget()
    this.#grown.clear()
  }

  /** The logs that have grown since the last call. */
  takeGrown(): LogHead[] | undefined {
    if (this.#grown.size === 0) return undefined
    const heads = Array.from(this.#grown, (tableId): LogHead => [tableId, this.#lastSeq(tableId) ?? 0])
    this.#grown.clear()
    return heads
  }

  #add(tableId: number, entry: LogEntry): void {
    const { seq, atMs, kind, hashKey, rangeKey, version } = entry
    this.#insert.run(tableId, seq, atMs, kind, hashKey, rangeKey, version, markOf(entry))
    this.#lastSeqs.set(tableId, seq)
    this.#grown.add(tableId)
  }

  #lastSeq(tableId: number): number | null {
    const known = this.#lastSeqs.get(tableId)
    if (known !== undefined) return known
    const keeps = (this.#keepHours.get(tableId)?.keepHours ?? null) !== null
    const last = keeps ? (this.#last.get(tableId)?.seq ?? 0) : null
    // A table that has grown in this transaction stays: `takeGrown` tells its number.
    if (this.#lastSeqs.size >= tablesMax && this.#grown.size === 0) this.#lastSeqs.clear()
    this.#lastSeqs.set(tableId, last)
    return last
  }
}
