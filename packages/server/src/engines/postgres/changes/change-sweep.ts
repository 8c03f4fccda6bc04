import { type LogEnds, type LogTimes, oldestKeptSeq } from '../../../core/changes/old-entries.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { bind, type Row, type Statement } from '../connection/driver.ts'
import { endsOfLog, firstEntryBetween, nextLog, removeEntries, timeOfEntry } from './statements.ts'

/** One step looks at so many tables. */
const tablesMax = 100

/** Removes old entries of logs. Several processes do it at once: each removes those that are left. */
export class ChangeSweep {
  readonly #db: Database
  /** The last table that was looked at in this round. */
  #lastTableId = 0
  /** Something was removed in this round. */
  #hasRemoved = false
  /** The changes that were found in this round. */
  #found = 0
  /** The changes that the last complete round found. */
  kept: number | undefined

  constructor(db: Database) {
    this.#db = db
  }

  async step(nowMs: number, rowsMax: number): Promise<number> {
    for (let looked = 0; looked < tablesMax; looked++) {
      const [found] = await this.#db.read(noOrg, bind(nextLog, this.#lastTableId))
      const row = found!.rows[0]
      if (row === undefined) {
        const isMore = this.#hasRemoved
        this.kept = this.#found
        this.#lastTableId = 0
        this.#hasRemoved = false
        this.#found = 0
        return isMore ? 1 : 0
      }
      const [id, keepHours] = row
      // One step for each log: one that grows as fast as it is swept keeps no other waiting.
      this.#lastTableId = Number(id)
      const hours = keepHours == null ? null : Number(keepHours)
      const removed = (await this.#db.reach(() => this.#sweep(Number(id), hours, nowMs, rowsMax))) ?? 0
      if (removed === 0) continue
      this.#hasRemoved = true
      return removed
    }
    return 1
  }

  async #sweep(tableId: number, keepHours: number | null, nowMs: number, rowsMax: number): Promise<number> {
    const [found] = await this.#db.read(noOrg, bind(endsOfLog, tableId))
    const ends = endsOf(found!.rows, keepHours)
    if (ends !== undefined) this.#found += ends.last.seq - ends.first.seq
    const beforeSeq = ends && (await oldestKeptSeq(ends, nowMs, rowsMax, this.#timesOf(tableId)))
    if (beforeSeq === undefined) return 0
    const [removed] = await this.#db.write(
      noOrg,
      bind(removeEntries, tableId, Math.min(beforeSeq, ends!.first.seq + rowsMax)),
    )
    return removed!.count
  }

  #timesOf(tableId: number): LogTimes {
    const read = async (statement: Statement, ...values: number[]): Promise<number | undefined> => {
      const [found] = await this.#db.read(noOrg, bind(statement, tableId, ...values))
      const row = found!.rows[0]
      return row && Number(row[0])
    }
    return {
      timeOf: (seq) => read(timeOfEntry, seq),
      firstBetween: (...bounds) => read(firstEntryBetween, ...bounds),
    }
  }
}

const endsOf = (rows: Row[], keepHours: number | null): LogEnds | undefined => {
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return { first: { seq: Number(first[0]), atMs: Number(first[1]) }, last: { seq: Number(last[0]) }, keepHours }
}
